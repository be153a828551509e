"""(k) What the paper left for later: higher orders, loops with little fill, many at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import catena as ct
from catena.cli.bench import starts

from .. import drawing
from ..elimination import stacked_work
from ..figure import Curves, Figure, Finding, Row, Rows, Sizes, column, curve, line, pick, power, values
from ..progress import Progress
from ..setups import simulator, stepping
from ..timing import race

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

ORDERS = (2, 4, 6, 8)


def measure(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """Error against time by order; multiplications by order of elimination; chains per second by threads."""
    yield from _orders(sizes, progress)
    for k in sizes["rhombi"]:
        mechanism = ct.scenes.segmented_chain(k)
        yield {
            "kind": "fill",
            "links": 4 * k,
            "stacked": stacked_work(mechanism),
            "spread": simulator(mechanism, solver="ldu").info()["estimated_work"]["ldu"],
        }
        progress.step()
    yield from _batches(sizes, progress)


def _orders(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    mechanism = ct.scenes.double_pendulum()
    duration = sizes["duration"]
    last = simulator(mechanism, dt=min(sizes["dt"]) / 4, order=8, tolerance=1e-14).run(duration, record_every=10**6)
    for order in ORDERS:
        for dt in sizes["dt"]:
            # whole steps alone show the order: coarse ones would be halved
            sim = simulator(mechanism, dt=dt, order=order, tolerance=1e-13, rescue=False)
            steps = round(duration / dt)
            run = sim.run(steps=steps, record_every=steps)
            taken = race(
                {"": stepping(sim)},
                steps,
                rounds=10 * sizes["rounds"],
                seconds=1.0,
            )
            yield {
                "kind": "order",
                "order": order,
                "dt": dt,
                "error_m": float(np.abs(run.position[-1] - last.position[-1]).max()),
                "ms": 1e3 * taken[""],
            }
            progress.step()


def _batches(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """By the clock on the wall: threads have no CPU time in common."""
    links, steps, members = 10, int(sizes["batch_steps"]), int(sizes["members"])
    mechanism = ct.scenes.pendulum(links)
    sim = simulator(mechanism)
    states = starts(mechanism, members)
    few = states[:: max(1, members // 16)]

    def one_by_one() -> int:
        for state in few:
            sim.run(steps=steps, state=state, record_every=steps)
        return len(few)

    def together(threads: int) -> int:
        sim.run_batch(states=states, steps=steps, record_every=steps, threads=threads)
        return members

    cores = os.cpu_count() or 1
    ways: dict[str, Callable[[], int]] = {"one by one": one_by_one, "batch, 1 thread": partial(together, 1)}
    if cores > 1:
        ways[f"batch, {cores} threads"] = partial(together, cores)
    best = dict.fromkeys(ways, 0.0)
    for _ in range(max(2, sizes["rounds"])):
        for name, run in ways.items():
            begun = time.perf_counter()
            count = run()
            best[name] = max(best[name], count * steps * links / (time.perf_counter() - begun))
    for name, rate in best.items():
        yield {"kind": "batch", "way": name, "members": members, "links": links, "link_steps_per_s": rate}
    progress.step()


def weight(sizes: Sizes) -> int:
    """Runs and counts."""
    return len(ORDERS) * len(sizes["dt"]) + len(sizes["rhombi"]) + 1


# ---- what it shows


def plot(rows: Rows, published: Curves) -> Picture:
    """Three panels, one for each."""
    figure, (orders, fill, batch) = drawing.page(3)
    colors = (drawing.OURS, drawing.OURS_TOO, drawing.OURS_THREE, drawing.RIVAL_FOUR)
    for order, color in zip(ORDERS, colors, strict=True):
        some = pick(rows, kind="order", order=order)
        drawing.ours(orders, column(some, "ms"), column(some, "error_m"), f"order {order}", color=color)
    orders.set_xscale("log")
    orders.set_yscale("log")
    drawing.name_axes(orders, "CPU time (ms)", "error at the end (m)", "a double pendulum")
    drawing.legend(orders)
    links = column(pick(rows, kind="fill"), "links")
    drawing.paper(fill, links, column(pick(rows, kind="fill"), "stacked"), "loops in one last node, as in the paper")
    drawing.ours(fill, links, column(pick(rows, kind="fill"), "spread"), "loops where they close")
    fill.set_xscale("log")
    fill.set_yscale("log")
    drawing.name_axes(fill, "links of a segmented chain", "multiplications", "one factorization")
    drawing.legend(fill)
    some = pick(rows, kind="batch")
    batch.barh([row["way"] for row in some], 1e-6 * column(some, "link_steps_per_s"), color=drawing.OURS, height=0.55)
    batch.invert_yaxis()
    drawing.name_axes(batch, "million links and steps per second", "", "chains of 10 hinges")
    return figure


def table(rows: Rows, published: Curves) -> Rows:
    """The orders."""
    result = []
    for dt in values(pick(rows, kind="order"), "dt"):
        some = pick(rows, kind="order", dt=dt)
        errors = {f"order {row['order']}: error (m)": row["error_m"] for row in some}
        result.append({"step (ms)": 1e3 * dt, **errors})
    return result


def findings(rows: Rows, published: Curves) -> list[Finding]:
    """Orders are what they are called, fill stays linear, batches pay."""
    found = {}
    for order in ORDERS:
        dt, error = curve(rows, "dt", "error_m", kind="order", order=order)
        # between chaos at long steps and rounding at short ones
        clean = (error < 1e-2) & (error > 1e-10)
        found[order] = power(dt[clean], error[clean]) if clean.sum() > 1 else np.nan
    good = all(not slope < order - 0.5 for order, slope in found.items()) and found[2] > 1.5
    told = ", ".join(f"{slope:.1f} for {order}" for order, slope in found.items() if np.isfinite(slope))
    best = column(pick(rows, kind="order"), "error_m").min()
    result = [
        Finding(
            "new" if good else "not reproduced",
            f"composition {'has' if good else 'does not have'} the expected orders, which the paper left open: "
            f"errors fall with the step to the power {told}, down to {best:.0e} m.",
        )
    ]
    some = pick(rows, kind="fill")
    links = column(some, "links")
    stacked, spread = column(some, "stacked"), column(some, "spread")
    fit = line(links, spread)
    large = links >= links.max() / 4
    growth = power(links[large], stacked[large])
    result.append(
        Finding(
            "better" if fit.r2 > 0.99 and stacked[-1] > spread[-1] else "different",
            f"with loops eliminated where they close, a factorization takes {fit.slope:.0f} multiplications a link "
            f"(R² = {fit.r2:.4f}), while with the paper's last node for all loops they grow with the number of links "
            f"to the power {growth:.1f}: {stacked[-1] / spread[-1]:.3g} times as many at {links[-1]:.0f} links.",
        )
    )
    rates = {row["way"]: float(row["link_steps_per_s"]) for row in pick(rows, kind="batch")}
    alone, most = rates["one by one"], max(rates, key=lambda way: rates[way])
    result.append(
        Finding(
            "new" if rates[most] > 1.2 * alone else "different",
            f"the paper suggests parallel computation: {most} makes {1e-6 * rates[most]:.0f} million links and steps "
            f"per second, {rates[most] / alone:.2g} times the rate of single runs.",
        )
    )
    return result


FIGURE = Figure(
    letter="k",
    title="Future work of the paper",
    setup="Orders 4, 6 and 8 by composition, on the double pendulum of (a): the error of positions at the end against "
    "order 8 at a quarter of the shortest step. Multiplications of one factorization of segmented chains: with loops "
    "eliminated where they close (`ldu`), and with all loop constraints in one dense last node as in the paper. Many "
    "chains of 10 hinges with different initial states, one by one and as a batch, in wall-clock time.",
    sizes={
        "full": {
            "duration": 2.0,
            "dt": [0.08, 0.04, 0.02, 0.01, 0.005, 0.0025, 0.00125],
            "rhombi": [1, 2, 5, 10, 20, 50, 100],
            "members": 512,
            "batch_steps": 1000,
            "rounds": 10,
        },
        "quick": {
            "duration": 2.0,
            "dt": [0.08, 0.04, 0.02, 0.01, 0.005, 0.0025],
            "rhombi": [1, 2, 5, 10, 20, 50],
            "members": 256,
            "batch_steps": 300,
            "rounds": 3,
        },
        "tiny": {
            "duration": 0.8,
            "dt": [0.02, 0.01],
            "rhombi": [1, 2, 5],
            "members": 16,
            "batch_steps": 20,
            "rounds": 1,
        },
    },
    measure=measure,
    weight=weight,
    plot=plot,
    table=table,
    findings=findings,
    contestants=("catena",),
)
