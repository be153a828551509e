"""DART: World.step, a semi-implicit Euler step, its only one; loops by dynamic ball joint constraints."""

from __future__ import annotations

from importlib.metadata import version

import dartpy as dart
import numpy as np
from measure import Engine, Variant
from scenes import GRAVITY, Bodies, Scene

VERSION = version("dartpy")
VARIANTS = {"Euler": Variant("semi-implicit Euler; everything at its defaults, Python loop over World.step")}


class Sim(Engine):
    """One skeleton in a world; link frames sit at the joints."""

    def __init__(self, scene: Scene, variant: str, dt: float) -> None:
        kinds = dart.dynamics
        self.skeleton = kinds.Skeleton("scene")
        self.links = []
        hinge = scene.joint == "revolute"
        add = getattr(self.skeleton, f"create{'Revolute' if hinge else 'Ball'}JointAndBodyNodePair")
        for i, link in enumerate(scene.links):
            joint = kinds.RevoluteJointProperties() if hinge else kinds.BallJointProperties()
            if hinge:
                joint.mAxis = [1, 0, 0]
            joint.mName = f"joint{i}"
            joint.mT_ParentBodyToJoint.set_translation(scene.anchor(i))
            body = kinds.BodyNodeProperties(kinds.BodyNodeAspectProperties(f"link{i}"))
            _, node = add(self.links[link.parent] if link.parent >= 0 else None, joint, body)
            node.setInertia(kinds.Inertia(link.mass, scene.center(i), np.diag(link.moments)))
            self.links.append(node)
        self.world = dart.simulation.World()
        self.world.setTimeStep(dt)
        self.world.setGravity([0, 0, -GRAVITY])
        self.world.addSkeleton(self.skeleton)
        # positions of a ball joint are a rotation vector, velocities are in the child's frame
        self.q0 = np.concatenate([k.turn[:1] if hinge else k.turn for k in scene.links])
        self.v0 = np.concatenate([k.spin[:1] if hinge else k.spin for k in scene.links])
        self.reset()
        for loop in scene.loops:
            point = self.links[loop.a].getWorldTransform().multiply(scene.from_joint(loop.a, loop.at_a))
            ends = (self.links[loop.a],) if loop.b < 0 else (self.links[loop.a], self.links[loop.b])
            self.world.getConstraintSolver().addConstraint(dart.constraint.BallJointConstraint(*ends, point))

    def reset(self) -> None:
        """Go back to the start."""
        self.world.reset()
        self.skeleton.setPositions(self.q0)
        self.skeleton.setVelocities(self.v0)

    def run(self, steps: int) -> None:
        """Take steps, each a call."""
        step = self.world.step
        for _ in range(steps):
            step()

    def bodies(self) -> Bodies:
        """The links now."""
        return Bodies(
            np.array([b.getCOM() for b in self.links]),
            np.array([b.getWorldTransform().rotation() for b in self.links]),
            np.array([b.getCOMLinearVelocity() for b in self.links]),
            np.array([b.getAngularVelocity() for b in self.links]),
        )


make = Sim
