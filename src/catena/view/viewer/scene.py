"""Scenes: all that is to be seen of a run, as plain names, triangles, colors and poses over time.

Nothing here knows who draws it: the page (page.py), the server (server.py), the file for other tools (gltf.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..._util.rotation import Array, multiply, rotate, z_to
from ...describe.shapes import Color
from ...results.analysis import keeps_energy
from ...results.interpolation import resampled
from ..notebooks import size_of
from . import solids
from .looks import COLORS, GROUND, INK, Looks, joint_side, joint_sign, massless_lines, reach_of, rgb, shape_meshes
from .solids import Mesh
from .stops import StopMarks

if TYPE_CHECKING:
    from ...describe.joint import Joint
    from ...describe.mechanism import Mechanism
    from ...results.trajectory import Trajectory

_AXES = ("#d9483b", "#4ca64c", "#3b6fd9")

# the row of what stands still
WORLD = -1

# shapes of the world count for the view if they make it no larger than this many times what moves and holds it
_MOST_GROUND = 3.0

# nodes of a run that are shown in a second of it: no screen is faster
_PER_SECOND, _MOST_MOMENTS = 60, 6000


@dataclass(frozen=True, eq=False)
class Part:
    """Triangles of one color that go with a body, in its frame; `kind` is bodies, joints, limits or frames.

    `mark` is the number of the stop that it lights up with, or -1.
    """

    name: str
    kind: str
    body: int
    mesh: Mesh
    color: Color
    mark: int = -1


@dataclass(frozen=True, eq=False)
class Point:
    """A point (3,) of a body with a name: a label to be read, or what leaves a trace."""

    name: str
    kind: str
    body: int
    place: Array


@dataclass(frozen=True, eq=False)
class Line:
    """A line between points of two bodies: a rod without mass, a spring."""

    name: str
    a: Point
    b: Point


@dataclass(frozen=True, eq=False)
class Arrow:
    """The force (step, 3) in N that a joint exerts on its body b, at a point of b or of the other side."""

    joint: str
    at: Point
    force: Array


@dataclass(frozen=True, eq=False)
class Plot:
    """Numbers over time, (label, values (step,)) each, drawn beside the scene."""

    title: str
    curves: tuple[tuple[str, Array], ...]
    logarithmic: bool = False


@dataclass(frozen=True, eq=False)
class Scene:
    """What is seen: parts, lines and points at the poses position (step, n, 3), orientation (step, n, 4) of n bodies.

    `low` and `high` are corners of a box around all that is seen at any time, `newtons` the force of an arrow that is
    as long as its diagonal, `sight` the direction from which to look, `hidden` the kinds of things that are shown only
    if asked for, and `notes` sentences about what is not drawn. `lit` (step, mark) says when stops of joints act.
    """

    title: str
    bodies: tuple[str, ...]
    time: Array
    position: Array
    orientation: Array
    parts: list[Part] = field(default_factory=list)
    labels: list[Point] = field(default_factory=list)
    traces: list[Point] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    low: Array = field(default_factory=lambda: np.full(3, -0.5))
    high: Array = field(default_factory=lambda: np.full(3, 0.5))
    newtons: float = 1.0
    hidden: tuple[str, ...] = ()
    lit: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((1, 0), dtype=bool))
    sight: Array = field(default_factory=lambda: np.array((0.0, 1.0, 0.0)))

    @property
    def center(self) -> Array:
        """The middle of all that is seen (m)."""
        return 0.5 * (self.low + self.high)

    @property
    def size(self) -> float:
        """How large it is (m)."""
        return float(np.linalg.norm(self.high - self.low)) or 1.0

    def places(self, point: Point) -> Array:
        """Where a point is in the world, (step, 3)."""
        if point.body == WORLD:
            return np.broadcast_to(point.place, (len(self.time), 3))
        return self.position[:, point.body] + rotate(self.orientation[:, point.body], point.place)

    def color_of(self, body: int) -> str:
        """The color of a body that was given none."""
        return INK if body == WORLD else COLORS[body % len(COLORS)]


def scene_of(run: Trajectory, traces: Iterable[str] | None = ()) -> Scene:
    """The scene of a run; `traces` names bodies and frames whose way is drawn."""
    if not len(run):
        raise ValueError("nothing to show: the trajectory has no nodes")
    mechanism = run.mechanism
    run = run[:: _stride(run.time)]
    times = _moments(run.time)
    seen = run if times is run.time else resampled(run, times)
    rows = {name: row for row, name in enumerate(mechanism.bodies)} | {mechanism.world.name: WORLD}
    bare = Scene(size_of(mechanism), tuple(mechanism.bodies), times, seen.position, seen.orientation)
    marks = StopMarks(mechanism, reach_of(mechanism))
    parts, notes = _parts(bare, mechanism, rows)
    parts += [Part(p.joint, "limits", rows[p.body], p.mesh, rgb(p.color), p.mark) for p in marks.pieces]
    lines = [
        Line(name, Point(name, "lines", rows[a], anchor_a), Point(name, "lines", rows[b], anchor_b))
        for name, a, b, anchor_a, anchor_b in massless_lines(mechanism)
    ]
    try:
        names = [traces] if isinstance(traces, str) else [] if traces is None else list(traces)
    except TypeError:
        raise ValueError(f"traces must be names of bodies and frames, got {traces!r}") from None
    traced = [mechanism.frame(name) for name in names]
    labels = _labels(mechanism, rows)
    low, high = _bounds(bare, parts, lines)
    arrows = [replace(arrow, force=_between(times, run.time, arrow.force)) for arrow in arrows_of(run)]
    strongest = max((float(np.linalg.norm(arrow.force, axis=1).max()) for arrow in arrows), default=0.0)
    weight = float(np.linalg.norm(mechanism.gravity)) * sum(body.mass for body in mechanism.bodies.values())
    # files give every link a frame of its own, which is too much to see
    has_references = any(mark.name == mark.body for mark in mechanism.frames.values())
    return replace(
        bare,
        parts=parts,
        labels=labels,
        traces=[Point(mark.name, "traces", rows[mark.body], mark.position) for mark in traced],
        lines=lines,
        arrows=arrows,
        plots=_plots(run, times) if len(run) > 1 else [],
        notes=notes,
        low=low,
        high=high,
        # a single moment says little of what is to come
        newtons=max(3 * strongest, 3 * weight if len(run) == 1 else 0.0) or 1.0,
        lit=marks.lit(run, times),
        hidden=("names", "forces", "frames") if has_references else ("names", "forces"),
        sight=_sight(bare, labels),
    )


def _parts(bare: Scene, mechanism: Mechanism, rows: Mapping[str, int]) -> tuple[list[Part], list[str]]:
    """Bodies, joints and frames, and sentences about what cannot be drawn."""
    looks = Looks(mechanism)
    parts, notes = [], []
    for row, body in enumerate(mechanism.bodies.values()):
        seen, said = looks.of(body)
        parts += [Part(body.name, "bodies", row, mesh, color or rgb(bare.color_of(row))) for mesh, color in seen]
        notes += said
    seen, said = shape_meshes(mechanism.world)
    parts += [Part(mechanism.world.name, "bodies", WORLD, mesh, color or rgb(GROUND)) for mesh, color in seen]
    notes += said
    for joint in mechanism.joints.values():
        if joint._carries and joint.row_count:
            side, anchor, frame = joint_side(joint)
            mesh = joint_sign(joint, 0.12 * looks.reach).placed(anchor, frame)
            parts.append(Part(joint.name, "joints", rows[side.name], mesh, rgb(INK)))
            parts += _bearing(joint, 0.12 * looks.reach)
    for mark in mechanism.frames.values():
        parts += _axes(mark.name, rows[mark.body], mark.position, mark.orientation, 0.3 * looks.reach)
    return parts, notes


def _labels(mechanism: Mechanism, rows: Mapping[str, int]) -> list[Point]:
    """Names of bodies, of joints, and of frames that are not called like their body."""
    labels = [Point(name, "bodies", rows[name], np.zeros(3)) for name in mechanism.bodies]
    for joint in mechanism.joints.values():
        if joint.row_count:
            side, anchor, _ = joint_side(joint)
            labels.append(Point(joint.name, "joints", rows[side.name], anchor))
    for mark in mechanism.frames.values():
        if mark.name != mark.body:
            labels.append(Point(mark.name, "frames", rows[mark.body], mark.position))
    return labels


def _stride(time: Array) -> int:
    """Every how many nodes there are enough."""
    seconds = float(time[-1] - time[0])
    return max(1, ceil((len(time) - 1) / (_PER_SECOND * seconds) - 1e-6)) if seconds > 0 else 1


def _moments(time: Array) -> Array:
    """The nodes, or as many moments between them as it takes to see them move."""
    seconds = float(time[-1] - time[0])
    count = min(int(_PER_SECOND * seconds), _MOST_MOMENTS)
    return time if len(time) < 2 or 2 * len(time) >= count else np.linspace(time[0], time[-1], count + 1)


def _between(times: Array, nodes: Array, values: Array) -> Array:
    """Numbers (node, ...) of the nodes at all moments."""
    if times is nodes:
        return values
    flat = values.reshape(len(nodes), -1)
    columns = [np.interp(times, nodes, column) for column in flat.T]
    return np.stack(columns, axis=1).reshape(len(times), *values.shape[1:])


# ---- joints, frames, forces


def _bearing(joint: Joint, size: float) -> Iterator[Part]:
    """What a joint stands on in the world, if that does not move."""
    if (joint.a.is_world or joint.b.is_world) and joint.ground is None:
        anchor, frame = (joint.anchor_a, joint.frame_a) if joint.a.is_world else (joint.anchor_b, joint.frame_b)
        yield Part(
            joint.name, "joints", WORLD, solids.cylinder(0.9 * size, 0.9 * size).placed(anchor, frame), rgb(GROUND)
        )


def _axes(name: str, body: int, position: Array, orientation: Array, length: float) -> Iterator[Part]:
    for axis, color in zip(np.eye(3), _AXES, strict=True):
        turn = multiply(orientation, z_to(axis))
        place = position + 0.5 * length * rotate(orientation, axis)
        yield Part(name, "frames", body, solids.cylinder(0.03 * length, length).placed(place, turn), rgb(color))


def arrows_of(run: Trajectory) -> list[Arrow]:
    """What joints exert, if the run recorded it."""
    if not run.multipliers.shape[1]:
        return []
    rows = {name: row for row, name in enumerate(run.mechanism.bodies)}
    arrows = []
    for joint in run.mechanism.joints.values():
        if not joint.row_count:
            continue
        side, anchor, _ = joint_side(joint)
        sign = -1.0 if joint.b.is_world else 1.0
        at = Point(joint.name, "forces", rows[side.name], anchor)
        arrows.append(Arrow(joint.name, at, sign * run.joint(joint.name).force))
    return arrows


# ---- beside and around


def _plots(run: Trajectory, times: Array) -> list[Plot]:
    energies = (
        ("kinetic", run.kinetic_energy()),
        ("potential", run.potential_energy()),
        ("total", run.energy()),
    )
    gaps = run.drift().max(axis=1, initial=0.0)
    plots = [Plot("energy [J]", energies)]
    if keeps_energy(run):
        plots.append(Plot("energy error / energy in motion", (("error", run.energy_error()),)))
    plots.append(Plot("largest joint gap [m]", (("gap", np.maximum(gaps, 1e-18)),), logarithmic=True))
    # of the step that ends at a node, where every node is there
    if run.error is not None and len(run.error) == len(run) - 1:
        errors = np.maximum(np.concatenate((run.error[:1], run.error)), 1e-18)
        plots.append(Plot("error of the step [of the size, rad]", (("error", errors),), logarithmic=True))
    # between nodes they are drawn, not computed: joints are closed at the nodes
    return [
        replace(p, curves=tuple((name, _between(times, run.time, curve)) for name, curve in p.curves)) for p in plots
    ]


def _bounds(scene: Scene, parts: list[Part], lines: list[Line]) -> tuple[Array, Array]:
    """Corners of a box around all that is seen, at some of the moments, but for frames and vast shapes of the world."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    ground = []
    for part in parts:
        if part.kind in ("frames", "limits"):
            continue
        if part.kind == "bodies" and part.body == WORLD:
            ground.append(part.mesh.vertices)
            continue
        if part.body == WORLD:
            points = part.mesh.vertices
        else:
            # the corners of its own box will do
            corner = np.stack((part.mesh.vertices.min(axis=0), part.mesh.vertices.max(axis=0)))
            local = np.array([corner[[i, j, k], [0, 1, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
            some = np.unique(np.linspace(0, len(scene.time) - 1, 200).astype(int))
            x, q = scene.position[some, part.body, None], scene.orientation[some, part.body, None]
            points = (x + rotate(q, local[None])).reshape(-1, 3)
        low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    for line in lines:
        for end in (line.a, line.b):
            points = scene.places(end)
            low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    low, high = with_ground(low, high, ground)
    return (low, high) if np.isfinite(low).all() else (np.full(3, -0.5), np.full(3, 0.5))


def fits(low: Array, high: Array, points: Array) -> bool:
    """Whether points (k, d) of a shape of the world leave what a box holds large enough to be seen beside it."""
    size = np.linalg.norm(np.maximum(high, points.max(axis=0)) - np.minimum(low, points.min(axis=0)))
    return bool(size <= _MOST_GROUND * np.linalg.norm(high - low))


def with_ground(low: Array, high: Array, ground: Iterable[Array]) -> tuple[Array, Array]:
    """Corners of a box that is grown around those shapes of the world, points (k, d) each, that fit beside it."""
    for points in [shape for shape in ground if fits(low, high, shape)]:
        low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    return low, high


def _sight(scene: Scene, labels: list[Point]) -> Array:
    """Where to look from: see sight."""
    return sight(
        np.concatenate([scene.places(point) for point in labels if point.kind != "frames"] or [np.zeros((1, 3))])
    )


def sight(points: Array) -> Array:
    """The horizontal direction in which points (k, 3) are the nearest to each other: to look from, a little aside."""
    spread = np.cov(points[:, :2].T) if len(points) > 1 else np.zeros((2, 2))
    moments, axes = np.linalg.eigh(spread)
    if moments[1] <= 1e-9:
        return np.array((0.0, -1.0, 0.0))
    x, y = axes[:, 0]
    # from the side from which x, or else y, runs to the right
    sign = np.sign(x if abs(x) > abs(y) else -y)
    return np.array((sign * x, sign * y, 0.0))
