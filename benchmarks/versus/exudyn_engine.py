"""Exudyn: redundant coordinates with implicit solvers, and minimal coordinates (KinematicTree) for hinges.

Tolerance 1e-8, its default, at steps of 10 ms and more, where loops fail more often with 1e-10; else 1e-10. Modified
Newton, failing steps halved at most eight times, sparse matrices from six links on, the rest at its defaults.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
from measure import Engine, Variant
from scenes import GRAVITY, Bodies, Scene

sys.exudynFast = True  # type: ignore[attr-defined]  # the build without range checks
import exudyn as exu  # noqa: E402
import exudyn.utilities as eu  # noqa: E402

VERSION = version("exudyn")
_HINGES = ("revolute",)
VARIANTS = {
    "alpha": Variant("generalized-alpha, spectral radius 0.9 (default), Euler parameters, index 3"),
    "alpha 0.7": Variant("as alpha, spectral radius 0.7: more damping, fewer failures"),
    "trapezoidal": Variant("TrapezoidalIndex2, Euler parameters"),
    "tree alpha": Variant("generalized-alpha 0.9 in minimal coordinates", joints=_HINGES),
    "tree RK44": Variant("Runge-Kutta 4 in minimal coordinates", joints=_HINGES, loops=False),
    "tree RK67": Variant("Runge-Kutta 6 in minimal coordinates", joints=_HINGES, loops=False),
}


class Sim(Engine):
    """One system; every run starts from its initial state."""

    def __init__(self, scene: Scene, variant: str, dt: float) -> None:
        self.scene, self.dt, self.tree = scene, dt, variant.startswith("tree")
        self.system = exu.SystemContainer().AddSystem()
        self.ground = self.system.AddObject(eu.ObjectGround())
        (self._tree if self.tree else self._redundant)()
        self.system.Assemble()
        kinds = exu.DynamicSolverType
        solvers = {"trapezoidal": kinds.TrapezoidalIndex2, "tree RK44": kinds.RK44, "tree RK67": kinds.RK67}
        self.solver = solvers.get(variant, kinds.GeneralizedAlpha)
        settings = self.settings = exu.SimulationSettings()
        time = settings.timeIntegration
        time.minimumStepSize = dt / 256
        time.verboseMode, time.newton.useModifiedNewton = 0, True
        time.newton.relativeTolerance = 1e-8 if dt >= 0.01 else 1e-10
        time.generalizedAlpha.spectralRadius = 0.7 if "0.7" in variant else 0.9
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = 1e9
        settings.parallel.numberOfThreads = 1
        settings.displayStatistics = False
        sparse = len(scene.links) > 5 and not self.tree
        settings.linearSolverType = exu.LinearSolverType.EigenSparse if sparse else exu.LinearSolverType.EXUdense
        self.seen: Any = None

    def _tree(self) -> None:
        scene, links, add = self.scene, self.scene.links, self.system
        n = len(links)
        start = {"initialCoordinates": [k.turn[0] for k in links], "initialCoordinates_t": [k.spin[0] for k in links]}
        node = add.AddNode(eu.NodeGenericODE2(numberOfODE2Coordinates=n, referenceCoordinates=[0.0] * n, **start))
        tree = add.AddObject(
            eu.ObjectKinematicTree(
                nodeNumber=node,
                jointTypes=[exu.JointType.RevoluteX] * n,
                linkParents=[k.parent for k in links],
                jointTransformations=exu.Matrix3DList([np.eye(3)] * n),
                jointOffsets=exu.Vector3DList([scene.anchor(i) for i in range(n)]),
                linkInertiasCOM=exu.Matrix3DList([np.diag(k.moments) for k in links]),
                linkCOMs=exu.Vector3DList([scene.center(i) for i in range(n)]),
                linkMasses=[k.mass for k in links],
                gravity=[0, 0, -GRAVITY],
            )
        )

        def marker(i: int, point: Any) -> int:
            place = {"localPosition": scene.from_joint(i, point)}
            if i < 0:
                return add.AddMarker(eu.MarkerBodyRigid(bodyNumber=self.ground, **place))
            return add.AddMarker(eu.MarkerKinematicTreeRigid(objectNumber=tree, linkNumber=i, **place))

        for loop in scene.loops:
            ends = [marker(loop.a, loop.at_a), marker(loop.b, loop.at_b)]
            # in the plane, for the third equation would be redundant
            add.AddObject(eu.SphericalJoint(markerNumbers=ends, constrainedAxes=[0, 1, 1]))

    def _redundant(self) -> None:
        scene, start, add = self.scene, self.scene.start(), self.system
        hinge = scene.joint == "revolute"
        self.nodes, bodies = [], []
        for i, link in enumerate(scene.links):
            made = add.CreateRigidBody(
                inertia=eu.RigidBodyInertia(mass=link.mass, inertiaTensor=np.diag(link.moments)),
                referencePosition=start.position[i],
                referenceRotationMatrix=start.rotation[i],
                initialVelocity=start.velocity[i],
                initialAngularVelocity=start.angular_velocity[i],
                gravity=[0, 0, -GRAVITY],
                nodeType=exu.NodeType.RotationEulerParameters,
                returnDict=True,
            )
            self.nodes.append(made["nodeNumber"])
            bodies.append(made["bodyNumber"])
        for i, link in enumerate(scene.links):
            ends = [bodies[link.parent] if link.parent >= 0 else self.ground, bodies[i]]
            place = {"position": start.position[i] + start.rotation[i] @ link.grip, "useGlobalFrame": True}
            if hinge:
                add.CreateRevoluteJoint(itemNumbers=ends, axis=[1, 0, 0], **place)
            else:
                add.CreateSphericalJoint(itemNumbers=ends, **place)
        for loop in scene.loops:
            ends = [bodies[loop.b] if loop.b >= 0 else self.ground, bodies[loop.a]]
            place = {"position": start.position[loop.a] + start.rotation[loop.a] @ loop.at_a, "useGlobalFrame": True}
            add.CreateSphericalJoint(itemNumbers=ends, constrainedAxes=[0, 1, 1] if hinge else [1, 1, 1], **place)

    def reset(self) -> None:
        """Every run starts from the start."""
        self.seen = None

    def run(self, steps: int) -> None:
        """Take steps in one call."""
        if not steps:
            return
        integration = self.settings.timeIntegration
        integration.numberOfSteps, integration.endTime = steps, steps * self.dt
        if not self.system.SolveDynamic(self.settings, solverType=self.solver, showHints=False):
            raise RuntimeError("SolveDynamic gave up")
        self.seen = steps

    def bodies(self) -> Bodies:
        """The links now, or at the start."""
        return self.scene.start() if self.seen is None else self._current()

    def _current(self) -> Bodies:
        if self.tree:
            now = exu.ConfigurationType.Current
            q, v = self.system.systemData.GetODE2Coordinates(now), self.system.systemData.GetODE2Coordinates_t(now)
            return self.scene.at(q, v)
        kinds = exu.OutputVariableType
        wanted = (kinds.Position, kinds.RotationMatrix, kinds.Velocity, kinds.AngularVelocity)
        x, r, v, w = (np.array([self.system.GetNodeOutput(i, kind) for i in self.nodes]) for kind in wanted)
        return Bodies(x, r.reshape(-1, 3, 3), v, w)

    def sample(self, steps: int, every: int) -> Iterator[Bodies]:
        """One run, looked at after every so many steps; a failing one ends in NaN."""
        self.reset()
        out: list[Bodies] = []

        def look(_: Any, t: float) -> bool:
            if t > (len(out) + 1) * every * self.dt - 1e-9:
                out.append(self._current())
            return True

        self.system.SetPostStepUserFunction(look)
        try:
            self.run(steps)
        except Exception:
            out.append(Bodies(*(np.full_like(a, np.nan) for a in self.scene.start())))
        finally:
            self.system.SetPostStepUserFunction(0)
        yield from out


make = Sim
