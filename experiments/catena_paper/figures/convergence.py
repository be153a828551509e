"""(d) How Newton's method converges within one step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .. import drawing
from ..figure import Curves, Figure, Finding, Row, Rows, Sizes, column, curve, pick, values
from ..progress import Progress
from ..setups import TOLERANCE, pendulum, simulator

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

COLORS = (drawing.OURS, drawing.OURS_TOO, drawing.OURS_THREE)
MOST = 8


def measure(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """The size of every increment of the first step, and what is left after the last, by length of the pendulum."""
    for n in sizes["links"]:
        for solver in ("ldu", "articulated"):
            # asked for more than there are digits, so that all increments are seen
            sim = simulator(pendulum(n), solver=solver, tolerance=1e-18, rescue=False)
            step = sim.run(steps=1, increments=True).convergence(0)
            for k, size in enumerate(step.increments, start=1):
                yield {
                    "solver": solver,
                    "links": n,
                    "iteration": k,
                    "increment": float(size),
                    "left": float(step.newton_residual) if k == len(step.increments) else "",
                }
            progress.step()


def weight(sizes: Sizes) -> int:
    """Lengths and solvers."""
    return 2 * len(sizes["links"])


# ---- what it shows


def plot(rows: Rows, published: Curves) -> Picture:
    """Increments per iteration, and the published ones."""
    figure, (axis,) = drawing.page(1)
    for n, color in zip(values(rows, "links"), COLORS, strict=False):
        for solver, style in (("ldu", "-"), ("articulated", ":")):
            k, size = curve(rows, "iteration", "increment", solver=solver, links=n)
            drawing.ours(axis, k, size, f"{n} link{'s' * (n > 1)}, {solver}", color=color, linestyle=style)
    for (name, (k, size)), marker in zip(published.items(), "x+1", strict=False):
        drawing.paper(axis, k, size, f"paper, {name} link{'s' * (name != '1')}", marker=marker, markersize=6)
    axis.axhline(TOLERANCE, color="#444444", linewidth=0.8, linestyle=(0, (1, 2)))
    axis.annotate("tolerance", (0.01, TOLERANCE), xycoords=("axes fraction", "data"), fontsize=7.5, va="bottom")
    axis.set_yscale("log")
    axis.set_ylim(1e-18, 1e3)
    drawing.name_axes(axis, "iteration", "size of the increment (m/s, rad/s)")
    axis.set_xticks(np.arange(0, 1 + max(values(rows, "iteration"))))
    drawing.legend(axis, ncols=2)
    return figure


def table(rows: Rows, published: Curves) -> Rows:
    """One line per pendulum."""
    result = []
    for solver in values(rows, "solver"):
        for n in values(rows, "links"):
            _, size = curve(rows, "iteration", "increment", solver=solver, links=n)
            shown = {f"increment {k + 1}": float(size[k]) if k < len(size) else np.nan for k in range(4)}
            result.append({"solver": solver, "links": n, **shown})
    return result


def findings(rows: Rows, published: Curves) -> list[Finding]:
    """Quadratic: every increment is at most the square of the last one, down to rounding."""
    needed, worst = [], 0.0
    for solver in values(rows, "solver"):
        for n in values(rows, "links"):
            some = pick(rows, solver=solver, links=n)
            size, left = column(some, "increment"), column(some, "left")[-1]
            # below this it is rounding that is seen
            real = size[1:] > 1e-14 * n
            worst = max(worst, float((size[1:] / size[:-1] ** 2)[real].max(initial=0.0)))
            below = np.flatnonzero(size < TOLERANCE)
            # the last increment need not be small itself, if the next one is known to be
            ended = len(size) if left < TOLERANCE else MOST + 1
            needed.append(int(below[0]) + 1 if len(below) else ended)
    most = max(needed)
    lengths = ", ".join(str(n) for n in values(rows, "links"))
    theirs = max(int(np.flatnonzero(size < TOLERANCE)[0]) for _, size in published.values())
    if most <= 4 and worst < 1:
        return [
            Finding(
                "reproduced",
                f"quadratic for {lengths} links: no increment is larger than {worst:.1g} times the square of the one "
                f"before, and after {most} of them at most the step is known to 1e-10, whatever the length; after "
                f"{theirs} in the paper, which counts from zero and shows a residual in N at first.",
            )
        ]
    reached = f"reach 1e-10 at iteration {most}" if most <= MOST else f"do not reach 1e-10 in {MOST} iterations"
    return [
        Finding(
            "not reproduced",
            f"not quadratic for {lengths} links: increments are up to {worst:.2g} times the square of the one before, "
            f"and {reached}.",
        )
    ]


FIGURE = Figure(
    letter="d",
    title="Convergence of Newton's method",
    setup="The first step of 10 ms of pendulums of 1, 10 and 100 hinges at 45 degrees, at rest, so there are no "
    "earlier steps from which to extrapolate the guess. Plotted is the size of every Newton increment, the 2-norm of "
    "the change of all velocities, as recorded by `run(increments=True)`.",
    sizes={
        "full": {"links": [1, 10, 100]},
        "quick": {"links": [1, 10, 100]},
        "tiny": {"links": [1, 10]},
    },
    measure=measure,
    weight=weight,
    plot=plot,
    table=table,
    findings=findings,
    published="convergence",
    caption="The paper's first value is the weight of the links in N, so it is a residual. The paper does not say "
    "what its later values are.",
    contestants=("ldu", "articulated"),
)
