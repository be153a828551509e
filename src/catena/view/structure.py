"""Drawings of what a mechanism is made of: its bodies in space, its graph, the blocks of its matrix; see plot.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.lookup import how_many
from .._util.rotation import Array, multiply, to_matrix
from .notebooks import size_of
from .viewer.looks import COLORS, GROUND, INK, Looks, joint_side, shape_meshes
from .viewer.scene import fits, sight, with_ground

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ..describe.mechanism import Mechanism
    from ..describe.spanning_tree import SpanningTree
    from ..kinematics.state import State

# most bodies whose names are written into a picture
_MOST_NAMES = 60

# axes of joints, joints that close loops, blocks that elimination adds
LOOP = "#c0392b"

# in front of whatever is sorted by its distance
_ABOVE = 1000


def draw_in_space(axis: Any, seen: Mechanism | State, names: bool) -> None:
    """Bodies, joints with their axes, and names, into three-dimensional axes; see plot.mechanism."""
    from matplotlib.colors import LightSource
    from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection  # type: ignore[import-untyped]

    from ..kinematics.state import State

    state = seen if isinstance(seen, State) else seen.state()
    everything = [np.zeros((0, 3))]
    skins: list[tuple[Array, Any]] = []
    names = names and len(state.position) <= _MOST_NAMES
    looks = Looks(state.mechanism)
    for row, body in enumerate(state.mechanism.bodies.values()):
        place = state.body(body)
        for mesh, color in looks.of(body)[0]:
            points = place.point(mesh.vertices)
            everything.append(points)
            skins.append((points[mesh.triangles], color or COLORS[row % len(COLORS)]))
        if names:
            axis.text(*place.position, body.name, fontsize=8, color=INK, ha="center", zorder=_ABOVE)
    pins, lines = [], []
    size = float(np.linalg.norm(np.ptp(np.concatenate(everything), axis=0))) if len(everything) > 1 else 1.0
    for joint in state.mechanism.joints.values():
        if not joint.row_count:
            continue
        side, anchor, frame = joint_side(joint)
        point, turn = anchor, frame
        if not side.is_world:
            point = state.body(side.name).point(anchor)
            turn = multiply(state.body(side.name).orientation, frame)
        pins.append(point)
        everything.append(point[None])
        way = joint.twists()
        if way.any() and np.linalg.matrix_rank(way[3:]) < 2:
            lines.append(point + 0.06 * size * np.outer((-1, 1), to_matrix(turn)[:, 2]))
        if names:
            x, y, z = point
            axis.text(x, y, z + 0.02 * size, joint.name, fontsize=7, color="#5b6470", ha="center", zorder=_ABOVE)
    if lines:
        axis.add_collection3d(Line3DCollection(lines, colors=LOOP, linewidths=1.6))
    if pins:
        axis.scatter(*np.transpose(pins), s=14, color=INK, depthshade=False)
    points = np.concatenate(everything)
    low, high = points.min(axis=0, initial=np.inf), points.max(axis=0, initial=-np.inf)
    ground, _ = shape_meshes(state.mechanism.world)
    for mesh, color in ground:
        # what is vast would cover the whole figure: nothing is cut off at the end of three axes
        if fits(low, high, mesh.vertices):
            skins.append((mesh.vertices[mesh.triangles], color or GROUND))
    low, high = with_ground(low, high, [mesh.vertices for mesh, _ in ground])
    low, high = (low, high) if np.isfinite(low).all() else (np.zeros(3), np.ones(3))
    middle, half = 0.5 * (low + high), 0.55 * np.maximum(high - low, max(0.25 * float((high - low).max()), 1e-9))
    axis.set(**{f"{name}lim": (a, b) for name, a, b in zip("xyz", middle - half, middle + half, strict=True)})
    axis.set_box_aspect(half, zoom=0.82)
    # what is thin is seen from its thin side, in light from the left, and has no room there for many numbers
    x, y, _ = sight(points) if len(points) else (0.0, -1.0, 0.0)
    azimuth = float(np.degrees(np.arctan2(y, x))) + 20
    axis.view_init(elev=55 if 4 * (high - low)[2] < (high - low)[:2].min() else 20, azim=azimuth)
    light = LightSource(azdeg=90 - (azimuth - 40), altdeg=40)
    for triangles, tint in skins:
        axis.add_collection3d(
            Poly3DCollection(triangles, facecolors=tint, shade=True, lightsource=light, linewidths=0, alpha=0.75)
        )
    for name, share in zip("xyz", half / half.max(), strict=True):
        axis.locator_params(axis=name, nbins=max(1, round(5 * share)), min_n_ticks=1)
    axis.set_xlabel("x [m]", labelpad=6)
    axis.set_ylabel("y [m]", labelpad=6)
    axis.set_zlabel("z [m]", labelpad=6)


def draw_graph(axis: Axes, mechanism: Mechanism) -> None:
    """The spanning tree, and what closes loops; see plot.graph."""
    tree = mechanism.spanning_tree()
    places = _laid_out(mechanism, tree)
    named = mechanism.body_count <= _MOST_NAMES
    for branch in tree.branches:
        _edge(axis, places[branch.parent.name], places[branch.child.name], branch.joint.name if named else "", False)
    for joint in tree.loops:
        _edge(axis, places[joint.a.name], places[joint.b.name], joint.name if named else "", True)
    for name, (x, y) in places.items():
        is_world = name == mechanism.world.name
        axis.plot(x, y, "s" if is_world else "o", color=INK if is_world else COLORS[0], markersize=8, zorder=3)
        if named:
            axis.annotate(
                name, (x, y), (0, 7), textcoords="offset points", ha="center", fontsize=8, color=INK, zorder=4
            )
    closing = how_many(len(tree.loops), "closes a loop", "close loops")
    axis.set_title(f"{size_of(mechanism)}, {closing}", fontsize="medium")
    axis.margins(0.12)
    axis.set_axis_off()


def _edge(axis: Axes, a: tuple[float, float], b: tuple[float, float], name: str, closes: bool) -> None:
    """A joint between two places; one that closes a loop goes around what lies between."""
    style = {"color": LOOP, "linestyle": "--"} if closes else {"color": "#a9b0b8"}
    bend = 0.25 if closes else 0.0
    axis.annotate(
        "", b, a, arrowprops={"arrowstyle": "-", "connectionstyle": f"arc3,rad={bend}", "linewidth": 1.4, **style}
    )
    # the middle of the curve: half of how far its control point is away
    (x, y), (u, v) = a, b
    middle = 0.5 * (x + u) + 0.5 * bend * (v - y), 0.5 * (y + v) - 0.5 * bend * (u - x)
    color = LOOP if closes else "#7b8490"
    paper = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    if name:
        axis.annotate(name, middle, fontsize=7, color=color, ha="center", va="center", zorder=2, bbox=paper)


def _laid_out(mechanism: Mechanism, tree: SpanningTree) -> dict[str, tuple[float, float]]:
    """A place for the world and every body: as deep as it hangs in the tree, above the middle of what hangs on it."""
    below: dict[str, list[str]] = {name: [] for name in (mechanism.world.name, *mechanism.bodies)}
    depth = {mechanism.world.name: 0} | {body.name: 0 for body in tree.floating}
    for branch in tree.branches:
        below[branch.parent.name].append(branch.child.name)
        depth[branch.child.name] = depth[branch.parent.name] + 1
    across: dict[str, float] = {}
    leaves = 0
    stack = [*(body.name for body in reversed(tree.floating)), mechanism.world.name]
    while stack:
        name = stack[-1]
        waiting = [child for child in below[name] if child not in across]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        if below[name]:
            across[name] = float(np.mean([across[child] for child in below[name]]))
        else:
            across[name] = float(leaves)
            leaves += 1
    return {name: (across[name], -float(depth[name])) for name in below}


def draw_sparsity(before: Axes, after: Axes, mechanism: Mechanism) -> None:
    """The matrix of a step before and after it is ordered for elimination; see plot.sparsity."""
    from ..assemble.core import build_core

    locked = mechanism.snapshot()
    nodes, touched, later = build_core(locked).core.elimination()
    # as described: bodies, joints, couplings, and forces that are rows
    many = len(nodes)
    keys = [(0, body) if body >= 0 else (1, joint) if joint >= 0 else (2, k) for k, (body, joint) in enumerate(nodes)]
    described = np.argsort(np.array([kind * (many + locked.body_count) + which for kind, which in keys]), kind="stable")
    first = np.zeros((many, many), dtype=bool)
    filled = np.eye(many, dtype=bool)
    for k in range(many):
        first[k, [k, *touched[k]]] = True
        filled[k, later[k]] = filled[later[k], k] = True
    picture = np.where(first, 1, np.where(filled, 2, 0))
    _blocks(before, np.where(first, 1, 0)[np.ix_(described, described)])
    before.set_title(f"as described: {np.count_nonzero(first)} blocks", fontsize="medium")
    _blocks(after, picture)
    extra = np.count_nonzero(filled & ~first)
    after.set_title(f"as eliminated: {extra} more by fill", fontsize="medium")


def _blocks(axis: Axes, kinds: NDArray[np.integer[Any]]) -> None:
    from matplotlib.colors import ListedColormap

    colors = ListedColormap(["#ffffff", COLORS[0], LOOP])
    axis.imshow(kinds, cmap=colors, vmin=0, vmax=2, interpolation="nearest")
    axis.set_xlabel("bodies and constraints")
