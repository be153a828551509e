"""One look for all pictures; the only file here that needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catena._util.rotation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# ours are blue and green, rivals warm, the published curves grey and dashed
OURS, OURS_TOO, OURS_THREE = "#0b6fb8", "#2a9d5c", "#6a4fb3"
RIVAL, RIVAL_TOO, RIVAL_THREE, RIVAL_FOUR = "#d1495b", "#e08e1b", "#a35c2c", "#c54fa0"
PAPER = "#888888"


def page(panels: int = 1, *, height: float = 3.6, ratios: Sequence[float] | None = None) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side, in rows of two, or of three if there are three; `ratios` of heights."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("the report draws with matplotlib, which is not installed: pip install matplotlib") from None
    columns = 3 if panels == 3 else min(panels, 2)
    rows = -(-panels // columns)
    width = {1: 6.4, 2: 10.4, 3: 12.6}[columns]
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    grid = figure.add_gridspec(rows, columns, height_ratios=ratios)
    axes = [figure.add_subplot(grid[k // columns, k % columns]) for k in range(panels)]
    for axis in axes:
        axis.grid(True, color="#e6e6e6", linewidth=0.7)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    return figure, axes


def name_axes(axis: Axes, x: str, y: str, title: str = "") -> None:
    """Labels with units, and a title."""
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    if title:
        axis.set_title(title, fontsize=10, loc="left")


def ours(axis: Axes, x: Array, y: Array, label: str, *, color: str = OURS, **options: Any) -> None:
    """A curve that was measured here, with its points."""
    axis.plot(x, y, **{"color": color, "marker": "o", "markersize": 3, "linewidth": 1.6, "label": label, **options})


def paper(axis: Axes, x: Array, y: Array, label: str, **options: Any) -> None:
    """A published curve."""
    axis.plot(x, y, **{"color": PAPER, "linestyle": "--", "linewidth": 1.3, "label": label, **options})


def ticks(axis: Axes, x: Array) -> None:
    """Name exactly these places of a logarithmic x axis."""
    axis.set_xticks(x, labels=[f"{value:.3g}" for value in x])
    axis.set_xticks([], minor=True)


def legend(axis: Axes, **options: Any) -> None:
    """A small legend that lets the curves through."""
    axis.legend(**{"fontsize": 7.5, "framealpha": 0.8, "edgecolor": "#dddddd", **options})


def legend_below(figure: Figure, axis: Axes, columns: int) -> None:
    """One legend for panels that show the same curves, below them."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


def save(figure: Figure, path: Path) -> None:
    """Write a small PNG: lines need few colors."""
    # it comes with matplotlib
    from PIL import Image

    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    picture = Image.open(buffer).convert("RGB").quantize(256)
    picture.save(path, format="PNG", optimize=True)
