"""Pictures of a run, drawn with matplotlib: the only file that needs it, and not before a function is called."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._rotation import Array, rotate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from .bodies import Body
    from .mechanism import Mechanism
    from .trajectory import Trajectory

# drawn poses of the mechanism in a picture of its motion
_POSES = 25

# gaps below this (m) are drawn here: a logarithm has no room for zero
_SMALLEST_GAP = 1e-18

# bodies of a stage, one after the other
_COLOURS = ("#4c78a8", "#f2a65a", "#6aa97b", "#b07aa1", "#d9695f", "#76b7b2", "#9c755f")
_INK = "#2f3640"


def motion(run: Trajectory) -> Figure:
    """The mechanism at moments of the run, from early (pale) to late (dark), and the path of its last body."""
    figure = _figure(6, 6)
    _motion(figure.add_subplot(), run)
    return figure


def energy(run: Trajectory) -> Figure:
    """Kinetic, potential and total energy over time."""
    figure = _figure(7, 3.5)
    _energy(figure.add_subplot(), run)
    return figure


def energy_error(run: Trajectory) -> Figure:
    """Energy gained or lost since the first node, in parts of the energy in motion."""
    figure = _figure(7, 3.5)
    _energy_error(figure.add_subplot(), run)
    return figure


def drift(run: Trajectory) -> Figure:
    """The largest gap of all joints over time."""
    figure = _figure(7, 3.5)
    _drift(figure.add_subplot(), run)
    return figure


def overview(run: Trajectory) -> Figure:
    """Motion, energy, energy error and drift on one page."""
    figure = _figure(12, 6)
    grid = figure.add_gridspec(3, 2, width_ratios=(1, 1.15))
    _motion(figure.add_subplot(grid[:, 0]), run)
    axes = [figure.add_subplot(grid[row, 1]) for row in range(3)]
    for axis, draw in zip(axes, (_energy, _energy_error, _drift), strict=True):
        draw(axis, run)
    for axis in axes[:-1]:
        axis.set_xlabel("")
        axis.tick_params(labelbottom=False)
    return figure


class Stage:
    """A mechanism drawn pose by pose into the same window, as pixels for a film.

    Seen along the axis that `plane` does not name. `window` (left, right, bottom, top) in m stays the same; by default
    all that joints let the bodies reach fits into it. `paths` are lines (k, 3) in the world behind the mechanism: a
    rail, a way to follow. The longer side of the picture has `pixels`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        plane: str = "yz",
        window: tuple[float, float, float, float] | None = None,
        paths: Sequence[ArrayLike] = (),
        pixels: int = 480,
    ) -> None:
        if len(plane) != 2 or len(set(plane) & set("xyz")) != 2:
            raise ValueError(f"plane must name two axes, such as 'yz', got {plane!r}")
        self._mechanism = mechanism
        self._plane = ["xyz".index(letter) for letter in plane]
        across, up = np.eye(3)[self._plane]
        self._towards = np.cross(across, up)
        left, right, bottom, top = _reached(mechanism, self._plane) if window is None else window
        if not (left < right and bottom < top):
            raise ValueError(f"window must be (left, right, bottom, top), got {window!r}")
        self._window = left, right, bottom, top
        self._paths = [np.asarray(path, dtype=float)[:, self._plane] for path in paths]
        self._scale = pixels / max(right - left, top - bottom)

        # in body frames: what is seen of every body, and the pins of the joints; those to the world stand still
        bodies = list(mechanism.bodies.values())
        self._skins = [_skin(mechanism, body) for body in bodies]
        self._bones = [_skeleton(mechanism, body) for body in bodies]
        rows = {body.name: row for row, body in enumerate(bodies)}
        pins = [joint for joint in mechanism.joints.values() if joint.dof and not joint.motion[:3].any()]
        sides = [(j.a, j.anchor_a) if j.b.is_world else (j.b, j.anchor_b) for j in pins]
        self._pins = [rows[body.name] for body, _ in sides], np.reshape([anchor for _, anchor in sides], (-1, 3))
        self._grounded = np.array([joint.a.is_world or joint.b.is_world for joint in pins], dtype=bool)
        self._figure: Figure | None = None

    def draw(self, position: Array, orientation: Array, *, title: str = "", marks: ArrayLike = ()) -> NDArray[np.uint8]:
        """Pixels (height, width, 3) of the bodies at position (n, 3), orientation (n, 4); marks (k, 3) are ringed."""
        from matplotlib.collections import LineCollection, PolyCollection

        figure = self._opened()
        axis = figure.axes[0]
        drawn: list[Any] = []
        # the nearest last; what lies in one plane but for rounding, in the order of the bodies
        for row in np.argsort(np.round(position @ self._towards, 6), kind="stable"):
            colour = _COLOURS[row % len(_COLOURS)]
            bones, skin = (
                position[row] + rotate(orientation[row][(None,) * (local.ndim - 1)], local)
                for local in (self._bones[row], self._skins[row])
            )
            outline = _hull(skin[:, self._plane])
            drawn += [
                LineCollection(list(bones[..., self._plane]), colors=colour, linewidths=4, capstyle="round", zorder=2),
                PolyCollection([outline], facecolors=colour, edgecolors=_INK, joinstyle="round", zorder=2),
            ]
        rows, anchors = self._pins
        y, z = (position[rows] + rotate(orientation[rows], anchors))[:, self._plane].T
        for item in drawn:
            axis.add_collection(item, autolim=False)
        others: list[Any] = [
            axis.scatter(y[self._grounded], z[self._grounded], s=110, marker="s", c=_INK, zorder=3),
            axis.scatter(y, z, s=32, c="white", edgecolors=_INK, linewidths=1.2, zorder=4),
            axis.text(0.02, 0.98, title, transform=axis.transAxes, va="top", color=_INK, fontsize=11),
        ]
        y, z = np.reshape(np.asarray(marks, dtype=float), (-1, 3))[:, self._plane].T
        others.append(axis.scatter(y, z, s=150, facecolors="none", edgecolors="#c0392b", linewidths=2, zorder=5))
        canvas: Any = figure.canvas
        canvas.draw()
        pixels = np.array(canvas.buffer_rgba())[..., :3].copy()
        for item in (*drawn, *others):
            item.remove()
        return pixels

    def _opened(self) -> Figure:
        """The figure with what stays the same."""
        if self._figure is None:
            left, right, bottom, top = self._window
            width, height = (max(1, round(self._scale * length)) / 100 for length in (right - left, top - bottom))
            figure = _figure(width, height, layout=None)
            from matplotlib.backends.backend_agg import FigureCanvasAgg

            FigureCanvasAgg(figure)
            figure.set_dpi(100)
            axis = figure.add_axes((0, 0, 1, 1), xlim=(left, right), ylim=(bottom, top), aspect="equal")
            axis.set_facecolor("#fafaf7")
            axis.grid(color="#e6e6e0", linewidth=0.8)
            axis.set_axisbelow(True)
            axis.tick_params(length=0, labelbottom=False, labelleft=False)
            for edge in axis.spines.values():
                edge.set_visible(False)
            for path in self._paths:
                axis.plot(*path.T, color="#a9b0b8", linewidth=2.5, solid_capstyle="round", zorder=0.5)
            self._figure = figure
        return self._figure


# ---- how


def _figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("pictures need matplotlib, which is not installed: pip install matplotlib") from None

    class Picture(Figure):
        """A figure that notebooks show by themselves, without pyplot, which would choose a backend and keep it open."""

        def _repr_png_(self) -> bytes:
            buffer = BytesIO()
            self.savefig(buffer, format="png")
            return buffer.getvalue()

    return Picture(figsize=(width, height), layout=layout)


def _energy(axis: Axes, run: Trajectory) -> None:
    for values, label, colour in (
        (run.kinetic_energy(), "kinetic", "tab:orange"),
        (run.potential_energy(), "potential", "tab:blue"),
        (run.energy(), "total", "black"),
    ):
        axis.plot(run.time, values, label=label, color=colour, linewidth=1.6 if label == "total" else 0.8)
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize="small", frameon=False, borderpad=0)
    _over_time(axis, run, "energy [J]")


def _energy_error(axis: Axes, run: Trajectory) -> None:
    axis.plot(run.time, run.energy_error(), color="tab:red", linewidth=0.8)
    axis.ticklabel_format(axis="y", scilimits=(-2, 3), useMathText=True)
    axis.set_ylim(bottom=0)
    _over_time(axis, run, "energy error /\nenergy in motion")


def _drift(axis: Axes, run: Trajectory) -> None:
    gaps = run.drift()
    largest = gaps.max(axis=1) if gaps.shape[1] else np.zeros(len(run))
    axis.semilogy(run.time, np.maximum(largest, _SMALLEST_GAP), color="tab:green", linewidth=0.8)
    axis.set_ylim(1e-17, max(1e-11, 10 * largest.max(initial=0.0)))
    _over_time(axis, run, "largest joint gap [m]")


def _over_time(axis: Axes, run: Trajectory, label: str) -> None:
    axis.set_xlabel("time [s]")
    axis.set_ylabel(label)
    axis.grid(alpha=0.3)
    if len(run) > 1:
        axis.set_xlim(run.time[0], run.time[-1])


def _motion(axis: Axes, run: Trajectory) -> None:
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    across, up = _view(run)
    names = list(run.mechanism.bodies)
    nodes = np.unique(np.linspace(0, len(run) - 1, _POSES).astype(int))
    shades = colormaps["viridis"](np.linspace(0.95, 0.15, len(nodes)))

    # every body as lines, at all the chosen moments at once: (moment, line, end, 3)
    lines = []
    for row, body in enumerate(run.mechanism.bodies.values()):
        local = _skeleton(run.mechanism, body)
        turn = run.orientation[nodes][:, row, None, None]
        lines.append(run.position[nodes][:, row, None, None] + rotate(turn, local))
    ends = np.concatenate(lines, axis=1)[..., [across, up]]
    for moment, shade in zip(ends, shades, strict=True):
        axis.add_collection(LineCollection(list(moment), colors=[shade], linewidths=1.2, capstyle="round"))

    tip = run.body(names[-1]).position
    axis.plot(tip[:, across], tip[:, up], color="grey", linewidth=0.4, alpha=0.7, zorder=0)
    axis.set_aspect("equal", adjustable="datalim")
    axis.autoscale_view()
    axis.set_xlabel(f"{'xyz'[across]} [m]")
    axis.set_ylabel(f"{'xyz'[up]} [m]")
    axis.set_title(f"{len(nodes)} moments, yellow to violet, and the path of {names[-1]!r}", fontsize="medium")
    axis.grid(alpha=0.3)


def _view(run: Trajectory) -> tuple[int, int]:
    """The two world axes to look along the third: z is up, unless nothing moves that way."""
    spread = np.ptp(run.position, axis=(0, 1))
    across = int(spread[0] <= spread[1])
    return (across, 2) if spread[2] > 1e-3 * spread.max() else (0, 1)


def _skeleton(mechanism: Mechanism, body: Body) -> Array:
    """Lines (line, 2, 3) in the body frame: the long axis of its shape, and from its centre to its joints."""
    ends: list[tuple[Any, Any]] = []
    if body.shape is not None and body.shape.kind != "sphere":
        size = body.shape.size
        axis = int(np.argmax(size)) if body.shape.kind == "box" else 2
        half = 0.5 * (size[axis] if body.shape.kind == "box" else size[1]) * np.eye(3)[axis]
        ends.append((-half, half))
    for joint in mechanism.joints.values():
        if joint.a is body:
            ends.append((np.zeros(3), joint.anchor_a))
        if joint.b is body:
            ends.append((np.zeros(3), joint.anchor_b))
    return np.reshape(ends, (-1, 2, 3)).astype(float)


def _skin(mechanism: Mechanism, body: Body) -> Array:
    """Points (k, 3) in the body frame whose hull is seen; without a shape its joints, or the box of its inertia."""
    corners: Array = 0.5 * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    if body.shape is None:
        joints = _skeleton(mechanism, body).reshape(-1, 3)
        if len(joints) or not body.mass:
            return np.concatenate((np.zeros((1, 3)), joints))
        moments, axes = np.linalg.eigh(body.inertia.tensor)
        edges = np.sqrt(np.maximum(0.0, 12 / body.mass * (0.5 * moments.sum() - moments)))
        corners = corners * edges @ axes.T
        return corners
    kind, size = body.shape.kind, body.shape.size
    if kind == "box":
        corners *= size
        return corners
    turn = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    if kind == "cylinder":
        circle = size[0] * np.stack((np.cos(turn), np.sin(turn), np.zeros(16)), axis=1)
        return np.concatenate([circle + np.array((0, 0, end)) for end in (-0.5 * size[1], 0.5 * size[1])])
    # a ball is round from all sides, and a capsule has one at either end
    tilt = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 9)[:, None]
    across = np.cos(tilt) * np.ones(16)
    ball = size[0] * np.stack((across * np.cos(turn), across * np.sin(turn), np.sin(tilt) * np.ones(16)), axis=-1)
    ends = (-0.5 * size[1], 0.5 * size[1]) if kind == "capsule" else (0.0,)
    return np.concatenate([ball.reshape(-1, 3) + np.array((0, 0, end)) for end in ends])


def _hull(points: Array) -> Array:
    """Corners (k, 2) of the convex hull, counterclockwise."""

    def half(ordered: list[list[float]]) -> list[list[float]]:
        found: list[list[float]] = []
        for x, y in ordered:
            while len(found) > 1:
                (a, b), (c, d) = found[-2:]
                if (c - a) * (y - b) > (d - b) * (x - a):
                    break
                found.pop()
            found.append([x, y])
        return found[:-1]

    ordered = sorted(points.tolist())
    return np.array(half(ordered) + half(ordered[::-1]) or ordered[:1])


def _reached(mechanism: Mechanism, plane: list[int]) -> tuple[float, float, float, float]:
    """A square window around the joints to the world, or all bodies if there are none, that holds what they reach."""
    joints = mechanism.joints.values()
    bodies = mechanism.bodies.values()
    size = {body.name: np.linalg.norm(_skin(mechanism, body), axis=1).max() for body in bodies}

    # how far the centre of a body can be from the ground: over joint after joint, the shortest way
    far = {body.name: np.inf for body in bodies} | {mechanism.world.name: 0.0}
    before: dict[str, float] = {}
    while far != before:
        before = dict(far)
        for joint in joints:
            ends = (joint.a, joint.anchor_a), (joint.b, joint.anchor_b)
            for (a, from_a), (b, to_b) in (ends, ends[::-1]):
                way = float(np.linalg.norm(to_b) + (0.0 if a.is_world else np.linalg.norm(from_a)))
                far[b.name] = min(far[b.name], far[a.name] + way)
    ground = [j.anchor_a if j.a.is_world else j.anchor_b for j in joints if j.a.is_world or j.b.is_world]
    places = np.array(ground or [body.position for body in bodies])
    middle = 0.5 * (places.min(axis=0) + places.max(axis=0))
    spread = np.linalg.norm(places - middle, axis=1).max()
    most = spread + max((0.0 if np.isinf(far[name]) else far[name]) + size[name] for name in size)
    # a margin, and something around a lonely point
    reach = 1.1 * most or 1.0
    x, y = middle[plane]
    return x - reach, x + reach, y - reach, y + reach
