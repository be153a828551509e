"""What bodies and joints look like: colors, and triangles in the frames of the bodies.

A body is seen as its visible shapes, or as bars to its joints, or as the box that has its inertia; a joint as a sign of
what it lets move. Pictures (plot.py, film.py) and scenes (scene.py) share this.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..._util.rotation import Array
from ...describe.shapes import Color, Shaped
from . import solids
from .solids import Mesh

if TYPE_CHECKING:
    from ...describe.bodies import Body
    from ...describe.joint import BodyLike, Joint
    from ...describe.mechanism import Mechanism

# of bodies that have none of their own, one after the other
COLORS = ("#4c78a8", "#f2a65a", "#6aa97b", "#b07aa1", "#d9695f", "#76b7b2", "#9c755f")
INK = "#2f3640"
FORCE = "#c0392b"
GROUND = "#a9b0b8"


def rgb(color: str) -> Color:
    """Red, green, blue and alpha from 0 to 1 of "#rrggbb"."""
    red, green, blue = (int(color[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue, 1.0


class Looks:
    """What bodies of a mechanism look like."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.reach = reach_of(mechanism)
        self._ends: dict[str, list[Array]] = {name: [] for name in (mechanism.world.name, *mechanism.bodies)}
        for name, anchor in _ends(mechanism):
            self._ends[name].append(anchor)
        # links of a file that shows some of them are seen as they are there, or not at all
        any_drawn = any(map(_is_drawn, mechanism.bodies.values()))
        self._shown_as_they_are = set(mechanism.frames) if any_drawn else set()

    def of(self, body: Body) -> tuple[list[tuple[Mesh, Color | None]], list[str]]:
        """What is seen of a body, with colors if it has some, and sentences about what of it cannot be.

        Its visible shapes, and bars to joints and springs outside of them; without shapes the bars alone, or the box
        that has its inertia.
        """
        seen, notes = shape_meshes(body)
        if body.name in self._shown_as_they_are and (seen or not _is_drawn(body)):
            return seen, notes
        anchors = self._ends[body.name]
        if seen:
            points = np.concatenate([mesh.vertices for mesh, _ in seen])
            low, high = points.min(axis=0) - 0.05 * self.reach, points.max(axis=0) + 0.05 * self.reach
            anchors = [end for end in anchors if (end < low).any() or (end > high).any()]
        far = [end for end in anchors if np.linalg.norm(end) > 1e-6 * self.reach]
        if far:
            bars = [solids.bone(np.zeros(3), end, 0.04 * self.reach) for end in far]
            seen.append((solids.joined(bars), None))
        if not seen and body.mass:
            seen.append((inertia_box(body, 0.02 * self.reach), None))
        if not seen:
            seen.append((solids.sphere(0.06 * self.reach), None))
        return seen, notes


def _is_drawn(body: Body) -> bool:
    return any(shape.visible for shape in body.shapes)


def shape_meshes(thing: Shaped) -> tuple[list[tuple[Mesh, Color | None]], list[str]]:
    """The visible shapes of a body or the world, with colors if they have some, and sentences about unread meshes."""
    seen: list[tuple[Mesh, Color | None]] = []
    notes = []
    for shape in thing.shapes:
        if shape.visible:
            try:
                seen += solids.solid(shape)
            except ValueError as error:
                notes.append(f"{thing.label}: its mesh is not drawn: {error}.")
    return seen, notes


def inertia_box(body: Body, least: float = 0.0) -> Mesh:
    """The box that has a body's mass and inertia, with edges of `least` (m) or more."""
    moments, axes = np.linalg.eigh(body.inertia.tensor)
    edges = np.sqrt(np.maximum(0.0, 12 / body.mass * (0.5 * moments.sum() - moments)))
    mesh = solids.box(np.maximum(edges, least))
    return Mesh(mesh.vertices @ (axes * np.sign(np.linalg.det(axes))).T, mesh.triangles)


def _ends(mechanism: Mechanism) -> Iterator[tuple[str, Array]]:
    """Where joints, rods and springs hold on to bodies, in their frames, by the name of the body."""
    for joint in mechanism.joints.values():
        if joint.row_count:
            yield joint.a.name, joint.anchor_a
            yield joint.b.name, joint.anchor_b
    for _, a, b, anchor_a, anchor_b in massless_lines(mechanism):
        yield a, anchor_a
        yield b, anchor_b


def reach_of(mechanism: Mechanism) -> float:
    """Typical distance of joints from the center of their body, or half the size of bodies without any (m)."""
    joints = [joint for joint in mechanism.joints.values() if joint.row_count]
    sides = [(joint.a, joint.anchor_a) for joint in joints] + [(joint.b, joint.anchor_b) for joint in joints]
    lengths = [float(np.linalg.norm(anchor)) for body, anchor in sides if not body.is_world and anchor.any()]
    if not lengths:
        lengths = [
            float(np.sqrt(np.trace(body.inertia.tensor) / body.mass)) for body in mechanism.bodies.values() if body.mass
        ]
    return float(np.median(lengths)) if lengths else 1.0


def joint_side(joint: Joint) -> tuple[BodyLike, Array, Array]:
    """The body a joint is drawn on, b unless that is the world, with anchor and frame there."""
    return (joint.a, joint.anchor_a, joint.frame_a) if joint.b.is_world else (joint.b, joint.anchor_b, joint.frame_b)


def joint_sign(joint: Joint, size: float) -> Mesh:
    """What stands for a joint, by what it lets move: a pin, a ball, a block, a plate; its axis is z."""
    way = joint.twists()
    slides, turns = (int(np.linalg.matrix_rank(part)) for part in (way[:3], way[3:]))
    if not joint.dof:
        return solids.box((size, size, size))
    if slides >= 2:
        return solids.box((4 * size, 4 * size, 0.2 * size))
    if turns >= 2:
        return solids.sphere(0.7 * size)
    if turns == 1 and slides == 0:
        return solids.cylinder(0.4 * size, 2.4 * size)
    if turns == 0:
        return solids.box((0.9 * size, 0.9 * size, 4 * size))
    return solids.cylinder(0.4 * size, 5 * size)


def massless_lines(mechanism: Mechanism) -> Iterator[tuple[str, str, str, Array, Array]]:
    """Rods without mass, and springs between points."""
    for joint in mechanism.joints.values():
        if joint.code == "distance":
            yield joint.name, joint.a.name, joint.b.name, joint.anchor_a, joint.anchor_b
    for force in mechanism.forces.values():
        for part in force.parts:
            if part.measure.code == "measured_distance":
                yield force.name, part.measure.a, part.measure.b, *part.measure.anchors
