"""(c) What a step costs, and a Newton iteration: sparse against dense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .. import drawing
from ..figure import Curves, Figure, Finding, Row, Rows, Sizes, Word, curve, line, power, values
from ..progress import Progress
from ..setups import pendulum, simulator, stepping
from ..timing import race

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SOLVERS = {"articulated": drawing.OURS, "ldu": drawing.OURS_TOO, "dense": drawing.RIVAL}


def measure(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """Time of a step and of an iteration of pendulums of hinges, by solver."""
    for n in sizes["links"]:
        # what swings in a long chain is too fast for 10 ms
        dt = 0.01 if n <= 100 else 0.001
        simulators = {
            solver: simulator(pendulum(n), dt=dt, solver=solver)
            for solver in SOLVERS
            if solver != "dense" or n <= sizes["most_dense"]
        }
        # one step of the dense solver costs as much as thousands of the others
        parts: dict[int, list[str]] = {}
        for solver in simulators:
            slow = solver == "dense" and n > 10
            parts.setdefault(sizes["dense_steps" if slow else "steps"], []).append(solver)
        for steps, names in parts.items():
            times = race(
                {name: stepping(simulators[name]) for name in names},
                steps,
                rounds=sizes["rounds"],
                seconds=sizes["seconds"],
            )
            for name in names:
                run = simulators[name].run(steps=steps, record_every=steps)
                iterations = float(run.iterations.mean())
                yield {
                    "solver": name,
                    "links": n,
                    "dt": dt,
                    "steps": steps,
                    "iterations_per_step": iterations,
                    "ms_per_step": 1e3 * times[name] / steps,
                    "us_per_iteration": 1e6 * times[name] / steps / iterations,
                }
        progress.step(n)


def weight(sizes: Sizes) -> int:
    """Links of all sizes."""
    return int(sum(sizes["links"]))


# ---- what it shows


def plot(rows: Rows, published: Curves) -> Picture:
    """The published range as it was printed, and all sizes on logarithmic axes."""
    figure, (near, far) = drawing.page(2)
    for solver, color in SOLVERS.items():
        n, ms = curve(rows, "links", "ms_per_step", solver=solver)
        few = n <= 10
        drawing.ours(near, n[few], ms[few], f"catena, {solver}", color=color)
        n, us = curve(rows, "links", "us_per_iteration", solver=solver)
        drawing.ours(far, n, us, f"catena, {solver}", color=color)
    for name, marker in (("sparse", "s"), ("dense", "x")):
        x, y = published[name]
        drawing.paper(near, x, y, f"paper, {name}", marker=marker, markersize=4)
    near.set_yscale("log")
    far.set_xscale("log")
    far.set_yscale("log")
    drawing.name_axes(near, "links", "time of a step (ms)", "a whole time step, as published")
    drawing.name_axes(far, "links", "time of an iteration (µs)", "one Newton iteration proper")
    drawing.legend_below(figure, near, 5)
    return figure


def table(rows: Rows, published: Curves) -> Rows:
    """Some sizes, all solvers."""
    shown = [n for n in values(rows, "links") if n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)]
    result = []
    for n in shown:
        line_of: Row = {"links": n}
        for solver in SOLVERS:
            found = [row for row in rows if row["links"] == n and row["solver"] == solver]
            line_of[f"{solver}: step (ms)"] = float(found[0]["ms_per_step"]) if found else np.nan
            line_of[f"{solver}: iteration (µs)"] = float(found[0]["us_per_iteration"]) if found else np.nan
        result.append(line_of)
    return result


def findings(rows: Rows, published: Curves) -> list[Finding]:
    """Sparse solvers are linear, the dense one is not."""
    result = []
    fits = {}
    for solver in ("articulated", "ldu"):
        n, us = curve(rows, "links", "us_per_iteration", solver=solver)
        fits[solver] = line(n, us)
    least = min(fit.r2 for fit in fits.values())
    most = max(values(rows, "links"))
    told = "; ".join(
        f"{1e3 * fit.slope:.0f} ns a link and iteration with `{solver}`, R² = {fit.r2:.4f}"
        for solver, fit in fits.items()
    )
    paper_fit = line(*published["sparse"])
    if least > 0.99:
        result.append(
            Finding(
                "reproduced",
                f"the time of an iteration grows in proportion to the links, from 1 to {most}: {told}; the published "
                f"curve, 1 to 10 links, has R² = {paper_fit.r2:.3f}.",
            )
        )
    else:
        result.append(
            Finding(
                "not reproduced",
                f"the time of an iteration is not a linear function of the links, 1 to {most}: {told}.",
            )
        )
    n, us = curve(rows, "links", "us_per_iteration", solver="dense")
    large = n >= min(20, n.max() / 4)
    exponent = power(n[large], us[large])
    ten = n == 10
    _, sparse = curve(rows, "links", "us_per_iteration", solver="ldu", links=10)
    theirs = published["dense"][1][-1] / published["sparse"][1][-1]
    ratio = f"{us[ten][0] / sparse[0]:.3g}" if ten.any() and len(sparse) else "?"
    top = n.max()
    _, last = curve(rows, "links", "us_per_iteration", solver="ldu", links=int(top))
    word: Word = "reproduced" if exponent > 2 and len(last) and us[-1] > 2 * last[0] else "different"
    result.append(
        Finding(
            word,
            f"the dense solver grows with the links to the power {exponent:.1f}; at 10 links it takes {ratio} times "
            f"the sparse one (`ldu`), {theirs:.3g} times in the paper, whose dense curve is that of the inversion of "
            f"a random 9n x 9n matrix, and whose sparse curve is a whole step; at {top:.0f} links "
            f"{us[-1] / last[0]:.3g} times.",
        )
    )
    x, y = published["sparse"]
    n, ms = curve(rows, "links", "ms_per_step", solver="ldu")
    both = sorted(set(n) & set(x))
    factors = [y[x == k][0] / ms[n == k][0] for k in both]
    result.append(
        Finding(
            "better" if min(factors) > 1.5 else "different",
            f"the published algorithm (`ldu`) takes {min(factors):.2g} to {max(factors):.2g} times less time per "
            f"step here than in the paper, on newer hardware and in compiled C++.",
        )
    )
    return result


FIGURE = Figure(
    letter="c",
    title="Time of one step, sparse against dense",
    setup="Pendulums of hinges, all links at 45 degrees and at rest, with the published inertia; steps of 10 ms (1 ms "
    "for more than 100 links) solved to 1e-10. `ldu` is the published algorithm, `articulated` eliminates the joints "
    "first, `dense` is the published dense factorization. What the paper calls a Newton step is a whole time step; "
    "the time of one iteration is that of a step divided by its number of iterations.",
    sizes={
        "full": {
            "links": [*range(1, 11), 20, 50, 100, 200, 500, 1000],
            "most_dense": 100,
            "steps": 1000,
            "dense_steps": 10,
            "rounds": 100,
            "seconds": 8.0,
        },
        "quick": {
            "links": [1, 2, 3, 5, 7, 10, 20, 50, 100, 300, 1000],
            "most_dense": 50,
            "steps": 300,
            "dense_steps": 5,
            "rounds": 30,
            "seconds": 1.5,
        },
        "tiny": {
            "links": [1, 2, 5, 10],
            "most_dense": 10,
            "steps": 200,
            "dense_steps": 2,
            "rounds": 1,
            "seconds": 0.0,
        },
    },
    measure=measure,
    weight=weight,
    plot=plot,
    table=table,
    findings=findings,
    published="step_time",
    contestants=tuple(SOLVERS),
)
