"""A mechanism as writers need it: every tree joint as single turns and slides, one after the other.

Each motion is along or about an axis of the joint's frame, with the coordinate and the sign it has in the mechanism,
whichever way round the tree runs through the joint. Where all coordinates are zero, the joint's two frames coincide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..._util.rotation import Array
from ...describe.bodies import Body
from ...describe.forces import Force, Part
from ...describe.joint import Joint, Pose
from ...describe.joint_forces import JointForce
from ...describe.limits import Limits
from ...describe.mechanism import Mechanism
from ...describe.spanning_tree import Branch
from .graph import Law, inverse, together
from .markup import identity_pose
from .notes import Notes

_X, _Y, _Z = np.eye(3)

# what joints are made of, from a to b: kind, axis, coordinate
_MOTIONS: dict[str, tuple[tuple[str, Array, str], ...]] = {
    "fixed": (),
    "revolute": (("turn", _Z, "angle"),),
    "prismatic": (("slide", _Z, "displacement"),),
    "cylindrical": (("slide", _Z, "displacement"), ("turn", _Z, "angle")),
    "universal": (("turn", _X, "first"), ("turn", _Y, "second")),
    "pin_in_slot": (("slide", _X, "x"), ("turn", _Z, "angle")),
    "planar": (("slide", _X, "x"), ("slide", _Y, "y"), ("turn", _Z, "angle")),
    "screw": (("screw", _Z, "angle"),),
    "ball": (("ball", _Z, ""),),
}


@dataclass
class Motion:
    """One freedom of a joint, or the three of a ball: kind, axis in the joint's frame, name, limits and laws."""

    kind: str
    axis: Array
    joint: Joint
    coordinate: str
    limits: Limits = field(default_factory=Limits)
    law: Law = field(default_factory=Law)

    @property
    def name(self) -> str:
        """The joint's name, with the coordinate's where there are several."""
        return self.joint.name if len(_MOTIONS[self.joint.code]) == 1 else f"{self.joint.name} {self.coordinate}"


@dataclass
class Limb:
    """A body and how its parent carries it: the joint's name and motions, and its frame on either side."""

    name: str
    body: Body
    parent: str
    motions: list[Motion]
    on_parent: Pose
    on_body: Pose
    is_free: bool = False

    def at_zero(self) -> Pose:
        """The pose of the body in its parent where all coordinates are zero."""
        return together(self.on_parent, inverse(self.on_body))


class Tree:
    """Limbs, parents first, the joints that close loops, and the laws that are no part of a limb."""

    def __init__(self, mechanism: Mechanism, notes: Notes) -> None:
        self.mechanism = mechanism
        tree = mechanism.described_tree()
        self.laws, self.forces = _laws(mechanism)
        self.limbs: list[Limb] = []
        free = {joint.b.name: joint.name for joint in mechanism.joints.values() if joint.code == "free"}
        for root in tree.floating:
            pose, name = (root.position, root.orientation), free.pop(root.name, f"{root.name} to world")
            self.limbs.append(Limb(name, root, mechanism.world.name, [], pose, identity_pose(), is_free=True))
        for branch in tree.branches:
            self.limbs.append(self._limb(branch))
        self.loops = tree.loops
        closing = {joint.name for joint in tree.loops}
        for name in sorted({name for name, _ in self.laws} & closing):
            notes.skip("spring, damping, friction or armature of a joint that closes a loop", name)
        for joint in mechanism.joints.values():
            if joint.ground is not None:
                raise ValueError(f"{joint.label} is on moving ground, which a file cannot represent")
        for name in mechanism.contacts:
            notes.skip("contact", name)
        for name in free.values():
            notes.skip("free joint between bodies that others carry", name)

    def _limb(self, branch: Branch) -> Limb:
        joint, forward = branch.joint, branch.child is branch.joint.b
        if joint.code not in _MOTIONS:
            raise ValueError(f"{joint.label} is of a kind that a file cannot represent")
        motions = [
            Motion(
                kind,
                axis if forward else -axis,
                joint,
                coordinate,
                joint.limits.get(coordinate, Limits()),
                self.laws.get((joint.name, coordinate), Law()),
            )
            for kind, axis, coordinate in _MOTIONS[joint.code]
        ]
        frames = [(joint.anchor_a, joint.frame_a), (joint.anchor_b, joint.frame_b)]
        on_parent, on_child = frames if forward else frames[::-1]
        return Limb(
            joint.name, branch.child, branch.parent.name, motions if forward else motions[::-1], on_parent, on_child
        )

    def origin(self, body: str) -> Pose:
        """The reference frame of a body."""
        frame = self.mechanism.frame(body)
        return frame.position, frame.orientation

    def other_frames(self) -> Iterator[tuple[str, str, Pose]]:
        """Frames that are no body's own: name, body, pose on it."""
        for frame in self.mechanism.frames.values():
            if frame.name != frame.body:
                yield frame.name, frame.body, (frame.position, frame.orientation)


def _laws(mechanism: Mechanism) -> tuple[Mapping[tuple[str, str], Law], list[Force]]:
    """Springs, dampers, friction and armature added up by joint and coordinate, and all other forces."""
    laws: dict[tuple[str, str], Law] = {}
    others: list[Force] = []
    for force in mechanism.forces.values():
        balls = [rotary for rotary in force._rotaries if mechanism.joints[rotary.joint].code == "ball"]
        for rotary in balls:
            laws.setdefault((rotary.joint, ""), Law()).damping += rotary.damping
        if balls:
            continue
        if not isinstance(force, JointForce) or force.slows or force.input or force.parts[0].functions:
            others.append(force)
            continue
        # all parts of one that has several are the same but for their coordinate
        given = force.parts[0].law
        if given["kp"] or given["kd"] or given["effort"]:
            others.append(force)
            continue
        for part in force.parts:
            _add_law(laws, mechanism, part)
    return laws, others


def _add_law(laws: dict[tuple[str, str], Law], mechanism: Mechanism, part: Part) -> None:
    given, measure = part.law, part.measure
    law = laws.setdefault((measure.joint, mechanism.joints[measure.joint].names[measure.index]), Law())
    total = law.stiffness + given["stiffness"]
    if total > 0:
        law.rest = (law.stiffness * law.rest + given["stiffness"] * given["rest_length"]) / total
    law.stiffness = total
    law.damping += given["damping"]
    law.friction += given["friction"]
    law.armature += given["inertia"]
