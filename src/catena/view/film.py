"""The stage on which videos are drawn, frame by frame, with matplotlib; see plot.py."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._util.rotation import Array, rotate
from .viewer.looks import COLORS, GROUND, INK, inertia_box, shape_meshes
from .viewer.scene import with_ground

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from ..describe.bodies import Body
    from ..describe.mechanism import Mechanism


class Stage:
    """Renders poses of a mechanism to pixels, as frames of a video.

    The view is a projection onto `plane`, such as "xz". The visible area `window` (left, right, bottom, top) in m is
    constant; by default it contains everything that the joints allow the bodies to reach, and shapes of the world that
    are not much larger. These shapes are drawn behind the mechanism, and so are `paths`: lines (k, 3) in the world
    frame. The longer side of the picture has `pixels`.
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
        self._mechanism = mechanism
        self._plane = plane_axes(plane)
        across, up = np.eye(3)[self._plane]
        self._towards = np.cross(across, up)
        left, right, bottom, top = _window_around(mechanism, self._plane) if window is None else window
        if not (left < right and bottom < top):
            raise ValueError(f"window must be (left, right, bottom, top), got {window!r}")
        self._window = left, right, bottom, top
        self._paths = [np.asarray(path, dtype=float)[:, self._plane] for path in paths]
        ground, _ = shape_meshes(mechanism.world)
        self._ground = [(mesh.vertices[:, self._plane], tint or GROUND) for mesh, tint in ground]
        self._scale = pixels / max(right - left, top - bottom)

        # in body frames: what is seen of every body, and the pins of the joints; those to the world stand still
        bodies = list(mechanism.bodies.values())
        self._skins = [_skins(mechanism, body) for body in bodies]
        self._bones = [skeleton(mechanism, body) for body in bodies]
        rows = {body.name: row for row, body in enumerate(bodies)}
        pins = [joint for joint in mechanism.joints.values() if joint.dof and not joint.twists()[:3].any()]
        sides = [(j.a, j.anchor_a) if j.b.is_world else (j.b, j.anchor_b) for j in pins]
        self._pins = [rows[body.name] for body, _ in sides], np.reshape([anchor for _, anchor in sides], (-1, 3))
        self._grounded = np.array([joint.a.is_world or joint.b.is_world for joint in pins], dtype=bool)
        self._figure: Figure | None = None

    def draw(self, position: Array, orientation: Array, *, title: str = "", marks: ArrayLike = ()) -> NDArray[np.uint8]:
        """Return pixels (height, width, 3) of bodies at position (n, 3) and orientation (n, 4).

        `marks` (k, 3) are points in the world frame that are marked with rings.
        """
        from matplotlib.collections import LineCollection, PolyCollection

        figure = self._opened()
        axis = figure.axes[0]
        drawn: list[Any] = []
        # the nearest last; what lies in one plane but for rounding, in the order of the bodies
        for row in np.argsort(np.round(position @ self._towards, 6), kind="stable"):
            color = COLORS[row % len(COLORS)]
            bones, *skins = (
                position[row] + rotate(orientation[row][(None,) * (local.ndim - 1)], local)
                for local in (self._bones[row], *(points for points, _ in self._skins[row]))
            )
            outlines = [_hull(skin[:, self._plane]) for skin in skins]
            tints = [tint or color for _, tint in self._skins[row]]
            drawn += [
                LineCollection(list(bones[..., self._plane]), colors=color, linewidths=4, capstyle="round", zorder=2),
                PolyCollection(outlines, facecolors=tints, edgecolors=INK, linewidths=0.7, joinstyle="round", zorder=2),
            ]
        rows, anchors = self._pins
        y, z = (position[rows] + rotate(orientation[rows], anchors))[:, self._plane].T
        for item in drawn:
            axis.add_collection(item, autolim=False)
        others: list[Any] = [
            axis.scatter(y[self._grounded], z[self._grounded], s=110, marker="s", c=INK, zorder=3),
            axis.scatter(y, z, s=32, c="white", edgecolors=INK, linewidths=1.2, zorder=4),
            axis.text(0.02, 0.98, title, transform=axis.transAxes, va="top", color=INK, fontsize=11),
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
            figure = new_figure(width, height, layout=None)
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.collections import PolyCollection

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
                axis.plot(*path.T, color=GROUND, linewidth=2.5, solid_capstyle="round", zorder=0.5)
            outlines, tints = [_hull(points) for points, _ in self._ground], [tint for _, tint in self._ground]
            axis.add_collection(PolyCollection(outlines, facecolors=tints, edgecolors=INK, zorder=1), autolim=False)
            self._figure = figure
        return self._figure


def plane_axes(plane: str) -> list[int]:
    """Return the two axes of a plane such as "xz"."""
    if len(plane) != 2 or len(set(plane) & set("xyz")) != 2:
        raise ValueError(f"plane must name two axes, such as 'yz', got {plane!r}")
    return ["xyz".index(letter) for letter in plane]


# ---- how


def skeleton(mechanism: Mechanism, body: Body) -> Array:
    """Lines (line, 2, 3) in the body frame: long axes of its shapes, and from its center to joints beside them."""
    lines: list[tuple[Array, Array]] = []
    for shape in body.shapes:
        if shape.visible and shape.kind in ("box", "cylinder", "capsule"):
            axis = int(np.argmax(shape.size)) if shape.kind == "box" else 2
            along = rotate(
                shape.orientation, (shape.size[axis] if shape.kind == "box" else shape.size[1]) * np.eye(3)[axis]
            )
            lines.append((shape.position - 0.5 * along, shape.position + 0.5 * along))
    axes = list(lines)
    for joint in mechanism.joints.values():
        for side, anchor in ((joint.a, joint.anchor_a), (joint.b, joint.anchor_b)):
            if side is body and not any(_passes(line, anchor) for line in axes):
                lines.append((np.zeros(3), anchor))
    return np.reshape(lines, (-1, 2, 3)).astype(float)


def _passes(line: tuple[Array, Array], point: Array) -> bool:
    """Whether a point lies on a line between two others, but for rounding."""
    start, end = line
    length, detour = np.linalg.norm(end - start), np.linalg.norm(point - start) + np.linalg.norm(point - end)
    return bool(detour < (1 + 1e-6) * length)


def _skins(mechanism: Mechanism, body: Body) -> list[tuple[Array, Any]]:
    """Points (k, 3) in the body frame whose hulls are seen, each with its color, or None.

    Its visible shapes; of a body without any its joints, or the box of its inertia.
    """
    seen, _ = shape_meshes(body)
    if seen:
        return [(mesh.vertices, color) for mesh, color in seen]
    joints = skeleton(mechanism, body).reshape(-1, 3)
    if len(joints) or not body.mass:
        return [(np.concatenate((np.zeros((1, 3)), joints)), None)]
    return [(inertia_box(body).vertices, None)]


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


def _window_around(mechanism: Mechanism, plane: list[int]) -> tuple[float, float, float, float]:
    """A square window around the joints to the world, or all bodies if there are none, that holds what they reach.

    Shapes of the world that fit beside it make it larger.
    """
    joints = mechanism.joints.values()
    bodies = mechanism.bodies.values()
    points = {body.name: np.concatenate([points for points, _ in _skins(mechanism, body)]) for body in bodies}
    size = {name: np.linalg.norm(found, axis=1).max() for name, found in points.items()}

    # how far the center of a body can be from the ground: over joint after joint, the shortest way
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
    # something around a lonely point, and a margin
    most = most or 1.0
    seen, _ = shape_meshes(mechanism.world)
    low, high = with_ground(middle[plane] - most, middle[plane] + most, [mesh.vertices[:, plane] for mesh, _ in seen])
    (left, bottom), (right, top) = low - 0.05 * (high - low), high + 0.05 * (high - low)
    return left, right, bottom, top


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """A figure (inches) that notebooks show by themselves."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib, which is not installed: pip install matplotlib") from None

    class Picture(Figure):
        """A figure that notebooks show by themselves, without pyplot, which would choose a backend and keep it open."""

        def _repr_png_(self) -> bytes:
            buffer = BytesIO()
            self.savefig(buffer, format="png")
            return buffer.getvalue()

    return Picture(figsize=(width, height), layout=layout)
