"""Plots of mechanisms and runs, drawn with matplotlib.

Every function returns its figure, which notebooks display, or draws into the axes given as `ax`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.rotation import Array, rotate
from ..describe.limits import joint_stops
from ..results.accuracy import INACCURATE
from ..results.analysis import keeps_energy
from ..results.interpolation import resampled
from .film import Stage, new_figure, skeleton
from .structure import LOOP, draw_graph, draw_in_space, draw_sparsity
from .viewer.looks import COLORS, INK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..describe.joint import Joint
    from ..describe.mechanism import Mechanism
    from ..kinematics.state import State
    from ..results.trajectory import Trajectory

__all__ = [
    "Stage",
    "angular_momentum",
    "convergence",
    "coordinates",
    "drift",
    "energy",
    "energy_error",
    "error",
    "graph",
    "mechanism",
    "momentum",
    "motion",
    "overview",
    "phase_portrait",
    "reactions",
    "sparsity",
]

# drawn poses of the mechanism in a picture of its motion
_POSES = 25

# gaps below this (m) are drawn here: a logarithm has no room for zero
_SMALLEST_GAP = 1e-18

# most curves that have an entry in the legend of a picture
_MOST_CURVES = 12

# nodes through which straight lines have corners
_FEW_NODES = 400


def __dir__() -> list[str]:
    return [*__all__]


# ---- of a mechanism


def mechanism(seen: Mechanism | State, *, names: bool = True, ax: Axes | None = None) -> Figure:
    """Plot a mechanism, or a state, in three dimensions: bodies, joints with their axes, and names.

    `ax` must be three-dimensional: figure.add_subplot(projection="3d").
    """
    axis = _axes(ax, 7, 6, projection="3d")
    draw_in_space(axis, seen, names)
    return _whole(axis)


def graph(mechanism: Mechanism, *, ax: Axes | None = None) -> Figure:
    """Plot the graph of a mechanism: bodies as nodes, tree joints as lines, and loop closures as red dashed lines."""
    axis = _axes(ax, 7, 5)
    draw_graph(axis, mechanism)
    return _whole(axis)


def sparsity(mechanism: Mechanism, *, ax: Sequence[Axes] | None = None) -> Figure:
    """Plot the block sparsity of a step's matrix, in the described order and in the elimination order of `ldu`.

    Blocks of the mechanism are blue, fill-in of the elimination is red. `ax` are two axes, side by side.
    """
    axes = new_figure(10, 5).subplots(1, 2) if ax is None else ax
    if len(axes) != 2:
        raise ValueError(f"sparsity draws into two axes, got {len(axes)}")
    draw_sparsity(axes[0], axes[1], mechanism)
    return _whole(axes[0])


# ---- of a run


def motion(run: Trajectory, *, ax: Axes | None = None) -> Figure:
    """Plot the mechanism at several times, from early (pale) to late (dark), and the path of its last body."""
    axis = _axes(ax, 6, 6)
    _motion(axis, run)
    return _whole(axis)


def energy(run: Trajectory, *, ax: Axes | None = None) -> Figure:
    """Plot the kinetic, potential and total energy over time."""
    axis = _axes(ax)
    _energy(axis, run)
    return _whole(axis)


def energy_error(run: Trajectory, *, ax: Axes | None = None) -> Figure:
    """Plot the energy gained or lost since the first node, relative to the energy in motion, over time."""
    axis = _axes(ax)
    _energy_error(axis, run)
    return _whole(axis)


def momentum(run: Trajectory, *, ax: Axes | None = None) -> Figure:
    """Plot the linear momentum over time."""
    axis = _axes(ax)
    _curves(axis, run.time, dict(zip("xyz", run.momentum().T, strict=True)))
    _over_time(axis, run, "momentum [kg m/s]")
    return _whole(axis)


def angular_momentum(run: Trajectory, *, ax: Axes | None = None) -> Figure:
    """Plot the angular momentum about the origin over time."""
    axis = _axes(ax)
    _curves(axis, run.time, dict(zip("xyz", run.angular_momentum().T, strict=True)))
    _over_time(axis, run, "angular momentum [kg m²/s]")
    return _whole(axis)


def drift(run: Trajectory, *, ax: Axes | None = None) -> Figure:
    """Plot the largest joint gap over time."""
    axis = _axes(ax)
    _drift(axis, run)
    return _whole(axis)


def error(run: Trajectory, *, ax: Axes | None = None) -> Figure:
    """Plot the estimated error of every step, and the limit above which steps are too coarse."""
    if run.error is None:
        raise ValueError('this run has no error estimates: its simulator has on_inaccurate="ignore"; use "warn"')
    axis = _axes(ax)
    start = float(run.time[0]) if len(run) else 0.0
    axis.semilogy(start + run.dt * np.arange(len(run.error)), np.maximum(run.error, _SMALLEST_GAP), linewidth=0.8)
    axis.axhline(INACCURATE, color="tab:red", linewidth=0.8, linestyle=":", label="too coarse")
    axis.legend(loc="best", fontsize="small")
    _over_time(axis, run, "error of a step [of the size, rad]")
    return _whole(axis)


def coordinates(run: Trajectory, joints: Sequence[str | Joint] | None = None, *, ax: Axes | None = None) -> Figure:
    """Plot joint coordinates over time, of all or named joints: angles in rad with full turns, lengths in m.

    Limits that a coordinate comes near to are dashed lines in its color.
    """
    axis = _axes(ax)
    run = _smooth(run)
    found: dict[str, Array] = {}
    for joint in _chosen(run, joints):
        if joint.has_coordinates:
            ways = run.joint(joint).coordinates.T
            found |= {f"{joint.name}.{name}": way for name, way in zip(joint.coordinate_names, ways, strict=True)}
    _curves(axis, run.time, found)
    _limit_lines(axis, run, found)
    _over_time(axis, run, "joint coordinates [rad, m]")
    return _whole(axis)


def phase_portrait(run: Trajectory, joint: str | Joint, coordinate: str = "", *, ax: Axes | None = None) -> Figure:
    """Plot the rate of a joint over its coordinate, from early (pale) to late (dark).

    `coordinate` selects one if the joint has several.
    """
    axis = _axes(ax, 5, 5)
    _phase_portrait(axis, _smooth(run), joint, coordinate)
    return _whole(axis)


def reactions(run: Trajectory, joints: Sequence[str | Joint] | None = None, *, ax: Axes | None = None) -> Figure:
    """Plot the magnitude of the reaction force of all or the named joints over time."""
    axis = _axes(ax)
    chosen = [joint for joint in _chosen(run, joints) if joint.row_count]
    _curves(axis, run.time, {joint.name: np.linalg.norm(run.joint(joint).force, axis=1) for joint in chosen})
    _over_time(axis, run, "force [N]")
    return _whole(axis)


def convergence(run: Trajectory, step: int, *, ax: Axes | None = None) -> Figure:
    """Plot the increments of Newton's method in a step; requires run(..., increments=True)."""
    axis = _axes(ax, 5, 4)
    _convergence(axis, run, step)
    return _whole(axis)


def overview(run: Trajectory) -> Figure:
    """Plot motion, energy, energy error (if energy is conserved) and drift on one page."""
    figure = new_figure(12, 6)
    curves = (_energy, *([_energy_error] if keeps_energy(run) else []), _drift)
    grid = figure.add_gridspec(len(curves), 2, width_ratios=(1, 1.15))
    _motion(figure.add_subplot(grid[:, 0]), run)
    axes = [figure.add_subplot(grid[row, 1]) for row in range(len(curves))]
    for axis, draw in zip(axes, curves, strict=True):
        draw(axis, run)
    for axis in axes[:-1]:
        axis.set_xlabel("")
        axis.tick_params(labelbottom=False)
    return figure


# ---- how


def _axes(ax: Axes | None, width: float = 7, height: float = 3.5, projection: str | None = None) -> Any:
    """The axes given, or those of a new figure."""
    if ax is not None and projection == "3d" and not hasattr(ax, "set_zlim"):
        raise ValueError('ax must be three-dimensional here: figure.add_subplot(projection="3d")')
    return new_figure(width, height).add_subplot(projection=projection) if ax is None else ax


def _whole(axis: Any) -> Figure:
    """The figure that axes belong to."""
    figure: Figure = axis.get_figure()
    return figure


def _energy(axis: Axes, run: Trajectory) -> None:
    for values, label, color in (
        (run.kinetic_energy(), "kinetic", "tab:orange"),
        (run.potential_energy(), "potential", "tab:blue"),
        (run.energy(), "total", "black"),
    ):
        axis.plot(run.time, values, label=label, color=color, linewidth=1.6 if label == "total" else 0.8)
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


def _curves(axis: Axes, moments: Array, curves: dict[str, Array]) -> None:
    """Curves by name, the names beside them as long as there is room."""
    for name, values in curves.items():
        axis.plot(moments, values, label=name, linewidth=1.0)
    if 0 < len(curves) <= _MOST_CURVES:
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)


def _limit_lines(axis: Axes, run: Trajectory, curves: dict[str, Array]) -> None:
    """Bounds of the coordinates that are drawn, where they do not make their ways small."""
    # the axes may have had others before
    lines = dict(zip(curves, axis.get_lines()[-len(curves) :], strict=True)) if curves else {}
    low, high = axis.get_ylim()
    for joint, name, limits in joint_stops(run.mechanism):
        line = lines.get(f"{joint.name}.{name}")
        for bound in (limits.lower, limits.upper):
            if line is not None and low - 0.3 * (high - low) <= bound <= high + 0.3 * (high - low):
                axis.axhline(bound, color=line.get_color(), linewidth=0.8, linestyle=(0, (4, 3)), alpha=0.7)


def _chosen(run: Trajectory, joints: Sequence[str | Joint] | None) -> list[Joint]:
    if joints is None:
        return list(run.mechanism.joints.values())
    if isinstance(joints, str):
        raise ValueError(f"joints takes a list of names, such as [{joints!r}], got {joints!r}")
    return [run.mechanism.joints[run.joint(joint).name] for joint in joints]


def _phase_portrait(axis: Axes, run: Trajectory, joint: str | Joint, coordinate: str) -> None:
    from matplotlib.collections import LineCollection

    history = run.joint(joint)
    names = run.mechanism.joints[history.name].coordinate_names
    if not coordinate and len(names) == 1:
        coordinate = names[0]
    if coordinate not in names:
        known = ", ".join(map(repr, names)) or "none"
        raise ValueError(f"{history.label}: choose the coordinate to draw, one of {known}; got {coordinate!r}")
    place = names.index(coordinate)
    points = np.stack((history.coordinates[:, place], history.rates[:, place]), axis=1)
    lines = LineCollection(list(np.stack((points[:-1], points[1:]), axis=1)), cmap="viridis_r", linewidths=1.0)
    lines.set_array(run.time[:-1])
    axis.add_collection(lines)
    axis.autoscale_view()
    axis.plot(*points[-1], "o", color=INK, markersize=4)
    axis.set_xlabel(f"{history.name}.{coordinate}")
    axis.set_ylabel("rate")
    axis.grid(alpha=0.3)


def _convergence(axis: Axes, run: Trajectory, step: int) -> None:
    found = run.convergence(step)
    count = np.arange(1, len(found.increments) + 1)
    axis.semilogy(count, found.increments, "o-", color=COLORS[0], label="increments")
    axis.axhline(found.tolerance, color=LOOP, linestyle="--", linewidth=1, label="tolerance")
    if found.newton_residual > 0:
        axis.semilogy(
            len(count) + 1, found.newton_residual, "o", color=COLORS[0], fillstyle="none", label="what may be left"
        )
    axis.set_xticks(np.arange(1, len(count) + 2))
    axis.set_xlabel("iteration")
    axis.set_ylabel("change of velocities [m/s, rad/s]")
    axis.set_title(f"step {step}", fontsize="medium")
    axis.grid(alpha=0.3)
    axis.legend(fontsize="small", frameon=False)


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
        local = skeleton(run.mechanism, body)
        turn = run.orientation[nodes][:, row, None, None]
        lines.append(run.position[nodes][:, row, None, None] + rotate(turn, local))
    ends = np.concatenate(lines, axis=1)[..., [across, up]]
    for moment, shade in zip(ends, shades, strict=True):
        axis.add_collection(LineCollection(list(moment), colors=[shade], linewidths=1.2, capstyle="round"))

    tip = _smooth(run).body(names[-1]).position
    axis.plot(tip[:, across], tip[:, up], color="grey", linewidth=0.4, alpha=0.7, zorder=0)
    axis.set_aspect("equal", adjustable="datalim")
    axis.autoscale_view()
    axis.set_xlabel(f"{'xyz'[across]} [m]")
    axis.set_ylabel(f"{'xyz'[up]} [m]")
    axis.set_title(f"{len(nodes)} moments, yellow to violet, and the path of {names[-1]!r}", fontsize="medium")
    axis.grid(alpha=0.3)


def _smooth(run: Trajectory) -> Trajectory:
    """The run with moments between its nodes if there are few, through which lines would have corners.

    Not where steps in between were left out: what happened there is not known. Energies and gaps are those of nodes.
    """
    if not 2 <= len(run) < _FEW_NODES or np.diff(run.time).max() > 1.01 * run.dt:
        return run
    return resampled(run, np.union1d(run.time, np.linspace(run.time[0], run.time[-1], _FEW_NODES)))


def _view(run: Trajectory) -> tuple[int, int]:
    """The two world axes to look along the third: z is up, unless nothing moves that way."""
    spread = np.ptp(run.position, axis=(0, 1))
    across = int(spread[0] <= spread[1])
    return (across, 2) if spread[2] > 1e-3 * spread.max() else (0, 1)
