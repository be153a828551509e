"""PyBullet: Featherstone multibodies, the usual way, or free bodies with point constraints (ball joints only)."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import pybullet as pb
from measure import Engine, NotOfferedError, Variant
from scenes import GRAVITY, Bodies, Scene, quaternion

VERSION = version("pybullet")
VARIANTS = {
    "multibody": Variant("createMultiBody, damping off; Python loop over stepSimulation"),
    "maximal": Variant("a rigid body per link and point constraints, 1000 solver iterations", joints=("ball",)),
}


def _xyzw(turn: Any) -> list[float]:
    return [float(x) for x in np.roll(quaternion(turn), -1)]


class Sim(Engine):
    """One scene in a server of its own."""

    def __init__(self, scene: Scene, variant: str, dt: float) -> None:
        if pb.isConnected():
            pb.disconnect()
        pb.connect(pb.DIRECT)
        pb.setGravity(0, 0, -GRAVITY)
        pb.setTimeStep(dt)
        self.scene, self.multi = scene, variant == "multibody"
        self.angles = np.array([k.turn[0] for k in scene.links])
        (self._multibody if self.multi else self._free_bodies)()
        self.saved = pb.saveState()

    def _multibody(self) -> None:
        scene, n = self.scene, len(self.scene.links)
        hinge = scene.joint == "revolute"
        body = self.body = pb.createMultiBody(
            baseMass=0,
            linkMasses=[k.mass for k in scene.links],
            linkCollisionShapeIndices=[-1] * n,
            linkVisualShapeIndices=[-1] * n,
            linkPositions=[scene.anchor(i).tolist() for i in range(n)],
            linkOrientations=[_xyzw(k.turn) for k in scene.links],
            linkInertialFramePositions=[scene.center(i).tolist() for i in range(n)],
            linkInertialFrameOrientations=[[0, 0, 0, 1]] * n,
            linkParentIndices=[k.parent + 1 for k in scene.links],
            linkJointTypes=[pb.JOINT_REVOLUTE if hinge else pb.JOINT_SPHERICAL] * n,
            linkJointAxis=[[1, 0, 0]] * n,
        )
        if pb.getNumJoints(body) != n:
            raise NotOfferedError(f"only {pb.getNumJoints(body)} joints of {n} were created")
        off = {"linearDamping": 0, "angularDamping": 0}
        pb.changeDynamics(body, -1, **off)
        for i, link in enumerate(scene.links):
            pb.changeDynamics(body, i, jointDamping=0, localInertiaDiagonal=link.moments, **off)
            if hinge:
                # the default is 100 rad/s; raised for a ball joint it makes everything NaN
                pb.changeDynamics(body, i, maxJointVelocity=1e6)
                pb.setJointMotorControl2(body, i, pb.VELOCITY_CONTROL, force=0)
                pb.resetJointState(body, i, 0.0, link.spin[0])
            else:
                still = {"targetPosition": [0, 0, 0, 1], "positionGain": 0, "velocityGain": 0, "force": [0, 0, 0]}
                pb.setJointMotorControlMultiDof(body, i, pb.POSITION_CONTROL, **still)
                pb.resetJointStateMultiDof(body, i, [0, 0, 0, 1], list(link.spin))
        for loop in scene.loops:
            other = (body, loop.b) if loop.b >= 0 else (-1, -1)
            pb.createConstraint(body, loop.a, *other, pb.JOINT_POINT2POINT, [0, 0, 0], loop.at_a, loop.at_b)

    def _free_bodies(self) -> None:
        pb.setPhysicsEngineParameter(numSolverIterations=1000, solverResidualThreshold=0)
        start = self.scene.start()
        dot = pb.createCollisionShape(pb.GEOM_SPHERE, radius=0.01)
        ground = pb.createMultiBody(0, dot, useMaximalCoordinates=1)
        pb.setCollisionFilterGroupMask(ground, -1, 0, 0)
        self.links: list[int] = []
        frames: list[list[float]] = []
        for i, link in enumerate(self.scene.links):
            turn = _xyzw(link.turn)
            if link.parent >= 0:
                turn = list(pb.multiplyTransforms([0, 0, 0], frames[link.parent], [0, 0, 0], turn)[1])
            frames.append(turn)
            # the shape decides the moments, so it has to be a box with those of the link
            squares = [6 * (sum(link.moments) - 2 * m) / link.mass for m in link.moments]
            if min(squares) <= 0:
                raise NotOfferedError("no box has these moments")
            box = pb.createCollisionShape(pb.GEOM_BOX, halfExtents=[s**0.5 / 2 for s in squares])
            where = {"basePosition": start.position[i].tolist(), "baseOrientation": turn}
            body = pb.createMultiBody(link.mass, box, useMaximalCoordinates=1, **where)
            pb.setCollisionFilterGroupMask(body, -1, 0, 0)
            pb.changeDynamics(body, -1, linearDamping=0, angularDamping=0)
            pb.resetBaseVelocity(body, start.velocity[i].tolist(), start.angular_velocity[i].tolist())
            self.links.append(body)
        pairs = [(k.parent, k.hook, i, k.grip) for i, k in enumerate(self.scene.links)]
        pairs += [(k.b, k.at_b, k.a, k.at_a) for k in self.scene.loops]
        for a, at_a, b, at_b in pairs:
            first = self.links[a] if a >= 0 else ground
            pb.createConstraint(first, -1, self.links[b], -1, pb.JOINT_POINT2POINT, [0, 0, 0], at_a, at_b)

    def reset(self) -> None:
        """Go back to the start."""
        pb.restoreState(self.saved)

    def run(self, steps: int) -> None:
        """Take steps, each a call."""
        step = pb.stepSimulation
        for _ in range(steps):
            step()

    def bodies(self) -> Bodies:
        """The links now."""
        if self.multi and self.scene.joint == "revolute":
            # link states would be in single precision
            states = pb.getJointStates(self.body, range(len(self.scene.links)))
            return self.scene.at(self.angles + [s[0] for s in states], np.array([s[1] for s in states]))
        if self.multi:
            states = [pb.getLinkState(self.body, i, 1, 1) for i in range(len(self.scene.links))]
            x, q, v, w = (np.array([s[k] for s in states]) for k in (0, 1, 6, 7))
        else:
            states = [(*pb.getBasePositionAndOrientation(b), *pb.getBaseVelocity(b)) for b in self.links]
            x, q, v, w = (np.array([s[k] for s in states]) for k in range(4))
        return Bodies(x, np.array([pb.getMatrixFromQuaternion(k) for k in q]).reshape(-1, 3, 3), v, w)


make = Sim
