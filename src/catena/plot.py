"""Pictures of a run, drawn with matplotlib: the only file that needs it, and not before a function is called."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ._rotation import Array, rotate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .bodies import Body
    from .trajectory import Trajectory

# drawn poses of the mechanism in a picture of its motion
_POSES = 25

# gaps below this (m) are drawn here: a logarithm has no room for zero
_SMALLEST_GAP = 1e-18


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


# ---- how


def _figure(width: float, height: float) -> Figure:
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

    return Picture(figsize=(width, height), layout="constrained")


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
        local = _skeleton(run, body)
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


def _skeleton(run: Trajectory, body: Body) -> Array:
    """Lines (line, 2, 3) in the body frame: the long axis of its shape, and from its centre to its joints."""
    ends: list[tuple[Any, Any]] = []
    if body.shape is not None and body.shape.kind != "sphere":
        size = body.shape.size
        axis = int(np.argmax(size)) if body.shape.kind == "box" else 2
        half = 0.5 * (size[axis] if body.shape.kind == "box" else size[1]) * np.eye(3)[axis]
        ends.append((-half, half))
    for joint in run.mechanism.joints.values():
        if joint.a is body:
            ends.append((np.zeros(3), joint.anchor_a))
        if joint.b is body:
            ends.append((np.zeros(3), joint.anchor_b))
    return np.reshape(ends, (-1, 2, 3)).astype(float)
