"""Drake's MultibodyPlant: discrete, or continuous with one of its integrators. Loops need the discrete plant (SAP).

Ball joints are BallRpyJoint, Drake's only one, in roll, pitch and yaw.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from measure import Engine, Variant
from pydrake.all import (
    AddMultibodyPlantSceneGraph,
    ApplySimulatorConfig,
    BallRpyJoint,
    DiagramBuilder,
    DiscreteContactApproximation,
    FixedOffsetFrame,
    RevoluteJoint,
    RigidTransform,
    RollPitchYaw,
    RotationalInertia,
    RotationMatrix,
    Simulator,
    SimulatorConfig,
    SpatialInertia,
)
from scenes import GRAVITY, Bodies, Scene, matrix

VERSION = version("drake")
VARIANTS = {
    "discrete": Variant("plant with a time step; SAP, ball constraints for loops"),
    "RK3": Variant("runge_kutta3, the Simulator's default, fixed steps", loops=False),
    "RK5": Variant("runge_kutta5, fixed steps", loops=False),
    "radau3": Variant("radau3, implicit, fixed steps", loops=False),
    "semi-explicit": Variant("semi_explicit_euler", loops=False),
    "RK3 controlled": Variant("runge_kutta3 with error control, the default", loops=False, knob="accuracy"),
    "RK5 controlled": Variant("runge_kutta5 with error control", loops=False, knob="accuracy"),
    "CENIC": Variant("cenic, convex and error-controlled", loops=False, knob="accuracy"),
}
_SCHEME = {
    "RK3": "runge_kutta3",
    "RK5": "runge_kutta5",
    "radau3": "radau3",
    "semi-explicit": "semi_explicit_euler",
    "CENIC": "cenic",
}


class Sim(Engine):
    """A plant and its simulator; link frames sit at the joints."""

    def __init__(self, scene: Scene, variant: str, dt: float) -> None:
        controlled, discrete = VARIANTS[variant].knob == "accuracy", variant == "discrete"
        builder = DiagramBuilder()
        # CENIC asks its scene graph for contacts, of which there are none
        plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=dt if discrete else 0.0)
        self.plant = plant
        if discrete:
            plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
        self.scene, self.ball = scene, scene.joint == "ball"
        self.links, self.joints, self.along = [], [], []
        for i, link in enumerate(scene.links):
            inertia = RotationalInertia(*link.moments)
            body = plant.AddRigidBody(
                f"link{i}", SpatialInertia.MakeFromCentralInertia(link.mass, scene.center(i), inertia)
            )
            parent = self.links[link.parent] if link.parent >= 0 else plant.world_body()
            # roll is about the link, so that its spin does not lead a ball joint to the singularity of its pitch
            along = RotationMatrix.MakeFromOneVector(link.grip, 0) if self.ball else RotationMatrix()
            hook = FixedOffsetFrame(f"hook{i}", parent.body_frame(), RigidTransform(along, scene.anchor(i)))
            grip = FixedOffsetFrame(f"grip{i}", body.body_frame(), RigidTransform(along, [0, 0, 0]))
            ends = (f"joint{i}", plant.AddFrame(hook), plant.AddFrame(grip))
            joint: Any = BallRpyJoint(*ends, 0.0) if self.ball else RevoluteJoint(*ends, [1, 0, 0], 0.0)
            self.along.append(along)
            self.links.append(body)
            self.joints.append(plant.AddJoint(joint))
        unit = SpatialInertia.MakeFromCentralInertia(1.0, np.zeros(3), RotationalInertia(1.0, 1.0, 1.0))
        for k, loop in enumerate(scene.loops):
            if loop.b >= 0:
                other = self.links[loop.b]
            else:
                # a constraint on world_body() itself ends the process
                other = plant.AddRigidBody(f"ground{k}", unit)
                plant.WeldFrames(plant.world_frame(), other.body_frame())
            points = scene.from_joint(loop.a, loop.at_a), scene.from_joint(loop.b, loop.at_b)
            plant.AddBallConstraint(self.links[loop.a], points[0], other, points[1])
        plant.Finalize()
        self.diagram = builder.Build()
        self.simulator = Simulator(self.diagram)
        self.dt = 0.01 if controlled else dt
        if not discrete:
            config = SimulatorConfig(
                integration_scheme=_SCHEME[variant.split()[0]],
                max_step_size=0.1 if controlled else dt,
                accuracy=dt if controlled else 1e-3,
                use_error_control=controlled,
            )
            ApplySimulatorConfig(config, self.simulator)
        self.whole = self.simulator.get_mutable_context()
        self.context = plant.GetMyMutableContextFromRoot(self.whole)
        self.reset()

    def reset(self) -> None:
        """Go back to the start."""
        self.whole.SetTime(0.0)
        for joint, link, along in zip(self.joints, self.scene.links, self.along, strict=True):
            if self.ball:
                turn, back = RotationMatrix(matrix(link.turn)), along.inverse()
                joint.set_angles(self.context, RollPitchYaw(back @ turn @ along).vector())
                joint.set_angular_velocity(self.context, back @ (turn @ np.array(link.spin)))
            else:
                joint.set_angle(self.context, link.turn[0])
                joint.set_angular_rate(self.context, link.spin[0])
        self.simulator.Initialize()
        self.taken = 0

    def run(self, steps: int) -> None:
        """Take steps in one call."""
        self.taken += steps
        self.simulator.AdvanceTo(self.taken * self.dt)

    def bodies(self) -> Bodies:
        """The links now."""
        poses = [self.plant.EvalBodyPoseInWorld(self.context, b) for b in self.links]
        motions = [self.plant.EvalBodySpatialVelocityInWorld(self.context, b) for b in self.links]
        turn = np.array([p.rotation().matrix() for p in poses])
        w = np.array([m.rotational() for m in motions])
        arm = np.array([r @ self.scene.center(i) for i, r in enumerate(turn)])
        x = np.array([p.translation() for p in poses]) + arm
        return Bodies(x, turn, np.array([m.translational() for m in motions]) + np.cross(w, arm), w)


make = Sim
