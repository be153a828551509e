"""Links and edges, what every file of a robot comes down to, and the mechanism that is built of them.

A link counts from its own origin: center of mass, shapes, frames and joints are given there, while a body of catena
sits at its center of mass; every link leaves a frame of its name where its origin was. An edge is a joint with a frame
on each of its links, which coincide where its coordinates are zero. In that pose the mechanism is described: every link
is put on its parent, and what has neither a parent nor a pose of its own stands at the origin. Edges that close loops
place nothing: they only measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log10
from typing import Any

import numpy as np

from ..._util.rotation import Array, between, conjugate, multiply, normalised, rotate, to_matrix
from ...describe.body_forces import Drag
from ...describe.inertia import Inertia
from ...describe.joint import Joint, Pose
from ...describe.joint_forces import Armature, Damper, Friction, Spring
from ...describe.joints import Ball, Cylindrical, Fixed, Free, Planar, Prismatic, Revolute, Screw, Universal
from ...describe.limits import Limits
from ...describe.mechanism import Mechanism
from .markup import identity_pose
from .notes import Notes

_X, _Y, _Z = np.eye(3)
_ORIGINS = np.zeros((2, 3))

WORLD = "world"

# a moment of inertia below this part of mass x 1 m^2 is none, and becomes that of a radius of gyration of a millimetre
_NO_MOMENT = 1e-9
_LEAST_MOMENT = 1e-6

# springs that swing faster than this (rad/s) are implicit in the step: steps of 0.1 s would be too long for them
_FAST = 10.0

_KINDS: dict[str, Callable[[str, str, str, float], Joint]] = {
    "fixed": lambda a, b, name, _: Fixed(a, b, anchors=_ORIGINS, name=name),
    "revolute": lambda a, b, name, _: Revolute(a, b, axis=_Z, anchors=_ORIGINS, name=name),
    "prismatic": lambda a, b, name, _: Prismatic(a, b, axis=_Z, anchors=_ORIGINS, name=name),
    "cylindrical": lambda a, b, name, _: Cylindrical(a, b, axis=_Z, anchors=_ORIGINS, name=name),
    "planar": lambda a, b, name, _: Planar(a, b, axis=_Z, anchors=_ORIGINS, name=name),
    "screw": lambda a, b, name, pitch: Screw(a, b, axis=_Z, pitch=pitch, anchors=_ORIGINS, name=name),
    "universal": lambda a, b, name, _: Universal(a, b, axes=(_X, _Y), anchors=_ORIGINS, name=name),
    "ball": lambda a, b, name, _: Ball(a, b, anchors=_ORIGINS, name=name),
    "free": lambda a, b, name, _: Free(a, b, anchors=_ORIGINS, name=name),
}


def together(a: Pose, b: Pose) -> Pose:
    """The pose b, given in the frame that a is the pose of."""
    return a[0] + rotate(a[1], b[0]), normalised(multiply(a[1], b[1]))


def inverse(a: Pose) -> Pose:
    """The pose that undoes another."""
    back = conjugate(a[1])
    return -rotate(back, a[0]), back


@dataclass
class Link:
    """A rigid body as files have it; `shapes` are arguments of `add_shape`, with poses in the link's frame."""

    name: str
    mass: float = 0.0
    center: Array = field(default_factory=lambda: np.zeros(3))
    tensor: Array = field(default_factory=lambda: np.zeros((3, 3)))  # about the center, along the axes of the link
    shapes: list[dict[str, Any]] = field(default_factory=list)
    frames: dict[str, Pose] = field(default_factory=dict)
    merged: dict[str, Pose] = field(default_factory=dict)  # where the links are that are part of it now
    pose: Pose | None = None  # in the world, where the file says so
    gravity: bool = True


@dataclass
class Law:
    """What acts along a coordinate of an edge."""

    coordinate: str | None = None
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0


@dataclass
class Edge:
    """A joint: kind, the two links it joins and its frames there, z along the axis; x and y of a universal joint.

    It carries b on a, or closes a loop. Where only `points` are given, the frames are parallel in the pose of the file.
    """

    name: str
    kind: str
    a: str
    b: str
    frame_a: Pose = field(default_factory=identity_pose)
    frame_b: Pose = field(default_factory=identity_pose)
    pitch: float = 0.0
    limits: dict[str, Limits] = field(default_factory=dict)
    laws: list[Law] = field(default_factory=list)
    closes: bool = False
    points: bool = False


@dataclass
class Graph:
    """All links by name, the world among them, and all edges, those of trees before those that close loops."""

    notes: Notes
    links: dict[str, Link] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def link(self, name: str, asker: str) -> Link:
        """The link of that name."""
        if name not in self.links:
            raise ValueError(f"{asker}: there is no link called {name!r}")
        return self.links[name]

    # ---- where everything is

    def place(self) -> None:
        """Give every link its pose in the world: those that have one keep it, all others follow their parents."""
        carries: dict[str, list[Edge]] = {name: [] for name in self.links}
        carried = set()
        for edge in self.edges:
            for name in (edge.a, edge.b):
                self.link(name, f"joint {edge.name!r}")
            if not edge.closes:
                carries[edge.a].append(edge)
                carried.add(edge.b)
        for name, link in self.links.items():
            if link.pose is None and name not in carried:
                link.pose = identity_pose()
        placed = [link for link in self.links.values() if link.pose is not None]
        for link in placed:
            assert link.pose is not None
            for edge in carries[link.name]:
                child = self.links[edge.b]
                if child.pose is None:
                    child.pose = together(together(link.pose, edge.frame_a), inverse(edge.frame_b))
                    placed.append(child)
        lost = [repr(name) for name, link in self.links.items() if link.pose is None]
        if lost:
            raise ValueError(f"the parents of links form a cycle: {', '.join(lost[:6])}")
        for edge in self.edges:
            a, b = self.links[edge.a].pose, self.links[edge.b].pose
            if edge.points and a is not None and b is not None:
                edge.frame_b = edge.frame_b[0], between(a[1], b[1], edge.frame_a[1])

    def merge_fixed(self) -> None:
        """Make one link of those that fixed joints carry on others; the first keeps its name, all keep a frame."""
        whole: dict[str, str] = {}

        def host(name: str) -> str:
            while name in whole:
                name = whole[name]
            return name

        kept = []
        for edge in self.edges:
            a, b = host(edge.a), host(edge.b)
            if edge.kind != "fixed" or edge.closes or WORLD in (a, b) or a == b:
                kept.append(edge)
                continue
            place = together(self._in(edge.a, a, edge.frame_a), inverse(self._in(edge.b, b, edge.frame_b)))
            self._join(self.links[a], self.links[b], place)
            whole[b] = a
        for edge in kept:
            for side in ("a", "b"):
                name = getattr(edge, side)
                setattr(edge, f"frame_{side}", self._in(name, host(name), getattr(edge, f"frame_{side}")))
                setattr(edge, side, host(name))
        for edge in kept:
            if edge.a == edge.b and edge.kind != "fixed":
                raise ValueError(f"joint {edge.name!r} connects links that fixed joints merge into one body")
            if edge.a == edge.b:
                self.notes.skip("redundant fixed joint between merged links", edge.name)
        self.edges = [edge for edge in kept if edge.a != edge.b]
        for name in whole:
            del self.links[name]

    def _in(self, name: str, host: str, pose: Pose) -> Pose:
        """A pose of a link in the frame of the one it was merged into."""
        return pose if name == host else together(self.links[host].merged[name], pose)

    @staticmethod
    def _join(host: Link, guest: Link, place: Pose) -> None:
        """Add a link that sits at a place of another to it."""
        turn = to_matrix(place[1])
        center = place[0] + turn @ guest.center
        mass = host.mass + guest.mass
        both = (host.mass * host.center + guest.mass * center) / mass if mass > 0 else host.center
        tensor = np.zeros((3, 3))
        for part, at, moments in (
            (host.mass, host.center, host.tensor),
            (guest.mass, center, turn @ guest.tensor @ turn.T),
        ):
            arm = at - both
            tensor += moments + part * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        host.mass, host.center, host.tensor = mass, both, tensor
        for shape in guest.shapes:
            at, turned = together(place, (shape["position"], shape["orientation"]))
            host.shapes.append(shape | {"position": at, "orientation": turned})
        host.merged[guest.name] = place
        for mine, theirs in ((host.merged, guest.merged), (host.frames, guest.frames)):
            mine |= {name: together(place, pose) for name, pose in theirs.items()}

    # ---- the mechanism

    def build(self, gravity: Array | None, loop_tolerance: float) -> Mechanism:
        """The mechanism of these links and edges, in the pose in which all coordinates are zero."""
        self.place()
        mechanism = (
            Mechanism(loop_tolerance=loop_tolerance)
            if gravity is None
            else Mechanism(gravity, loop_tolerance=loop_tolerance)
        )
        for link in self.links.values():
            if link.mass == 0 or link.name == WORLD:
                # what weighs nothing has no center: its body sits at the origin of the link, and so does the world
                link.center = np.zeros(3)
            if link.name != WORLD:
                self._add_body(mechanism, link)
        self._furnish(mechanism)
        # a link's own frame has its name, whatever else is called so
        for link in self.links.values():
            own = {} if link.name == WORLD else {link.name: identity_pose()}
            self._add_frames(mechanism, link, own | link.merged)
        for link in self.links.values():
            self._add_frames(mechanism, link, link.frames)
        for edge in self.edges:
            self._add_joint(mechanism, edge)
        return mechanism

    def _add_body(self, mechanism: Mechanism, link: Link) -> None:
        assert link.pose is not None
        position, orientation = together(link.pose, (link.center, identity_pose()[1]))
        body = mechanism.add_body(
            link.name,
            checked_inertia(link, self.notes),
            position=position,
            orientation=orientation,
            gravity=link.gravity,
        )
        for shape in link.shapes:
            body.add_shape(**(shape | {"position": shape["position"] - link.center}))

    def _furnish(self, mechanism: Mechanism) -> None:
        """Put into the world what its link has."""
        if self.links[WORLD].mass:
            self.notes.skip("mass of the world")
        for shape in self.links[WORLD].shapes:
            mechanism.world.add_shape(**shape)

    def _add_frames(self, mechanism: Mechanism, link: Link, frames: Mapping[str, Pose]) -> None:
        for name, (position, orientation) in frames.items():
            # frames share their names with bodies, which files often do not
            while name in mechanism.frames or (name in mechanism.bodies and name != link.name) or name == WORLD:
                name = f"{name} of {link.name}"
            mechanism.add_frame(name, link.name, position=position - link.center, orientation=orientation)

    def _add_joint(self, mechanism: Mechanism, edge: Edge) -> None:
        joint = mechanism.add_joint(_KINDS[edge.kind](edge.a, edge.b, edge.name, edge.pitch))
        for side, (position, orientation) in (("a", edge.frame_a), ("b", edge.frame_b)):
            center = self.links[getattr(edge, side)].center
            setattr(joint, f"anchor_{side}", position - center)
            setattr(joint, f"frame_{side}", orientation)
        joint.limits = edge.limits
        joint.closes_loop = edge.closes
        for law in edge.laws:
            stiff = law.stiffness > 0 and self._compliance(edge, law) * law.stiffness > _FAST**2
            add_laws(mechanism, joint, law, implicit=stiff)

    def _compliance(self, edge: Edge, law: Law) -> float:
        """What a force along an edge meets at most: two bodies that nothing else holds, and the rotor."""
        free = 0.0
        for name, frame in ((edge.a, edge.frame_a), (edge.b, edge.frame_b)):
            axis = rotate(frame[1], _X if law.coordinate == "first" else _Y if law.coordinate == "second" else _Z)
            free += max((_yields(link, edge.kind, axis) for link in self._massive(name, edge)), default=0.0)
        return 1 / (1 / free + law.armature) if free else 0.0

    def _massive(self, name: str, through: Edge) -> list[Link]:
        """A link, or those that a massless one hangs on beside the given edge."""
        found, massive = [name], []
        for at in found:
            if at == WORLD or self.links[at].mass > 0:
                massive += [self.links[at]] if at != WORLD else []
                continue
            for edge in self.edges:
                if edge is not through and at in (edge.a, edge.b):
                    other = edge.b if edge.a == at else edge.a
                    found += [other] if other not in found else []
        return massive


def _yields(link: Link, kind: str, axis: Array) -> float:
    """What a free link gives way to a unit force or torque."""
    if kind == "prismatic":
        return 1 / link.mass
    moments, axes = np.linalg.eigh(0.5 * (link.tensor + link.tensor.T))
    return float((axes.T @ axis) ** 2 @ (1 / np.maximum(moments, _LEAST_MOMENT * link.mass)))


def add_laws(mechanism: Mechanism, joint: Joint, law: Law, *, implicit: bool) -> None:
    """The forces along a coordinate of a joint, named after it."""
    where = joint.name if law.coordinate is None or joint.dof == 1 else f"{joint.name} {law.coordinate}"
    along = law.coordinate
    if law.stiffness:
        numbers = {"rest_length": law.rest, "damping": law.damping}
        name = f"spring of {where}"
        mechanism.add_force(Spring(joint, law.stiffness, **numbers, implicit=implicit, name=name, coordinate=along))
    elif law.damping and joint.code == "free":
        mechanism.add_force(Drag(joint.b, law.damping, law.damping, name=f"damping of {where}"))
    elif law.damping:
        mechanism.add_force(Damper(joint, law.damping, name=f"damping of {where}", coordinate=along))
    if law.friction:
        mechanism.add_force(Friction(joint, law.friction, name=f"friction of {where}", coordinate=along))
    if law.armature:
        mechanism.add_force(Armature(joint, law.armature, name=f"armature of {where}", coordinate=along))


def checked_inertia(link: Link, notes: Notes) -> Inertia:
    """The inertia of a link; what no real body has is flagged, and mended where it must be."""
    mass, tensor = link.mass, 0.5 * (link.tensor + link.tensor.T)
    if mass < 0:
        raise ValueError(f"link {link.name!r}: mass must not be negative, got {mass:g}")
    if mass == 0:
        if tensor.any():
            notes.flag("an inertia without a mass, ignored", link.name)
        return Inertia.massless()
    moments, axes = np.linalg.eigh(tensor)
    if moments[0] < _NO_MOMENT * mass:
        notes.flag("a mass without inertia about some axis, given a radius of gyration of 1 mm there", link.name)
        moments = np.maximum(moments, _LEAST_MOMENT * mass)
        tensor = axes @ np.diag(moments) @ axes.T
    elif _is_dummy(link, moments):
        notes.flag("an inertia that looks like a placeholder", link.name)
    physical = bool(moments[0] + moments[1] >= moments[2] * (1 - 1e-9))
    if not physical:
        notes.flag("moments of inertia that violate the triangle inequality", link.name)
    return Inertia(mass, 0.5 * (tensor + tensor.T), physical=physical)


def _is_dummy(link: Link, moments: Array) -> bool:
    """Whether moments are all one round number, or belong to a body far larger than the link's shapes."""
    if moments[0] == moments[2] and log10(moments[0]).is_integer():
        return True
    radius = max((_radius(shape, link.center) for shape in link.shapes if shape["kind"] != "mesh"), default=0.0)
    meshes = any(shape["kind"] == "mesh" for shape in link.shapes)
    return radius > 0 and not meshes and bool(moments[2] > link.mass * (2 * radius) ** 2)


def _radius(shape: Mapping[str, Any], center: Array) -> float:
    """How far a shape reaches from the center of mass, at most."""
    return float(np.linalg.norm(shape["position"] - center) + np.linalg.norm(np.atleast_1d(shape["size"])))
