"""(a) Energy of a double pendulum over an hour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

import catena as ct
from catena._util.rotation import Array

from .. import drawing, rivals
from ..figure import Curves, Figure, Finding, Row, Rows, Sizes, Word, column, curve, line, pick, values
from ..progress import Progress
from ..setups import STEP, simulator

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

OURS = {"catena, order 1": 1, "catena, order 2": 2, "catena, order 4": 4}
RIVALS = ("Heun", "RK4")

# both cubes straight below their hinges against lying along the horizontal: 1 kg 1 m and 1 kg 2 m down
IN_MOTION = 9.81 * (1.0 + 2.0)  # J


def measure(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """The lowest and highest energy in every window, of every step."""
    mechanism = ct.scenes.double_pendulum()
    steps = round(sizes["window"] / STEP)
    windows = round(60 * sizes["minutes"] / sizes["window"])
    runs = {name: _ours(mechanism, order, steps) for name, order in OURS.items()}
    runs |= {name: _rival(mechanism, name, steps) for name in RIVALS}
    for name, energies in runs.items():
        for k in range(windows):
            energy = next(energies)
            yield {
                "curve": name,
                "minute": (k + 1) * sizes["window"] / 60,
                "lowest_J": float(energy.min()),
                "highest_J": float(energy.max()),
                "mean_J": float(energy.mean()),
            }
            progress.step()
            if not np.isfinite(energy).all():
                break


def _ours(mechanism: ct.Mechanism, order: int, steps: int) -> Iterator[Array]:
    """Energy beyond that of the start, at every step, window by window."""
    sim = simulator(mechanism, order=order, tolerance=None)
    state = mechanism.state()
    start = float(sim.run(steps=0).energy()[0])
    while True:
        run = sim.run(steps=steps, state=state)
        state = run[-1]
        yield run.energy()[1:] - start


def _rival(mechanism: ct.Mechanism, name: str, steps: int) -> Iterator[Array]:
    rival = rivals.Continuous(mechanism, name, dt=STEP)
    start = float(rival.trajectory(0).energy()[0])
    while True:
        run = rival.trajectory(steps)
        rival.go_on(run)
        yield run.energy()[1:] - start


def weight(sizes: Sizes) -> int:
    """Windows of all curves."""
    return len((*OURS, *RIVALS)) * int(60 * sizes["minutes"] / sizes["window"])


# ---- what it shows


def plot(rows: Rows, published: Curves) -> Picture:
    """All energies between their extremes, wide and close."""
    figure, (wide, close) = drawing.page(2)
    colors = (drawing.OURS, drawing.OURS_TOO, drawing.OURS_THREE, drawing.RIVAL, drawing.RIVAL_TOO)
    for name, color in zip((*OURS, *RIVALS), colors, strict=True):
        some = pick(rows, curve=name)
        minute, low, high = (column(some, key) for key in ("minute", "lowest_J", "highest_J"))
        for axis in (wide, close):
            axis.fill_between(minute, low, high, color=color, alpha=0.35, linewidth=0)
            axis.plot(minute, column(some, "mean_J"), color=color, linewidth=1.5, label=name)
    spread = max(np.abs(_extremes(rows, name)).max() for name in OURS)
    close.set_ylim(-2.5 * spread, 2.5 * spread)
    drawing.name_axes(wide, "time (min)", "energy gained (J)", "all of it")
    drawing.name_axes(close, "time (min)", "energy gained (J)", "the same, close to zero")
    drawing.legend(wide)
    return figure


def _extremes(rows: Rows, name: str) -> Array:
    some = pick(rows, curve=name)
    return np.stack((column(some, "lowest_J"), column(some, "highest_J")))


def table(rows: Rows, published: Curves) -> Rows:
    """Band and end of every curve."""
    return [
        {
            "integrator": name,
            "lowest (J)": float(_extremes(rows, name)[0].min()),
            "highest (J)": float(_extremes(rows, name)[1].max()),
            "mean of the last window (J)": float(column(pick(rows, curve=name), "mean_J")[-1]),
            "trend (J per hour)": 60 * line(*curve(rows, "minute", "mean_J", curve=name)).slope,
        }
        for name in values(rows, "curve")
    ]


def findings(rows: Rows, published: Curves) -> list[Finding]:
    """Ours stays in its band, Heun's leaves; the others beside."""
    minutes = column(rows, "minute").max()
    result = []
    band = np.abs(_extremes(rows, "catena, order 1")).max()
    trend = abs(line(*curve(rows, "minute", "mean_J", curve="catena, order 1")).slope) * minutes
    others = " and ".join(
        f"{np.abs(_extremes(rows, name)).max():.2g} J at order {order}" for name, order in OURS.items() if order > 1
    )
    if band < 0.1 * IN_MOTION and trend < 0.5 * band:
        result.append(
            Finding(
                "reproduced",
                f"over {minutes:g} min the energy of the published first-order scheme stays within {band:.2g} J of its "
                f"start, {100 * band / IN_MOTION:.1f} % of the {IN_MOTION:.1f} J in motion, with a trend of "
                f"{trend:.1g} J in all; within {others}. No filter is used: every step is in the bands.",
            )
        )
    else:
        result.append(
            Finding(
                "not reproduced",
                f"over {minutes:g} min the energy of the first-order scheme leaves its start by {band:.2g} J, "
                f"{100 * band / IN_MOTION:.0f} % of the {IN_MOTION:.1f} J in motion, with a trend of {trend:.2g} J.",
            )
        )
    heun = pick(rows, curve="Heun")
    kp, end = float(column(heun, "mean_J")[-1]), float(column(heun, "minute")[-1])
    word: Word = "not reproduced"
    what = "does not gain energy beyond our band"
    if kp > 3 * band and kp > 0.01 * IN_MOTION:
        word, what = "reproduced", "gains energy steadily, as published"
    result.append(
        Finding(
            word,
            f"Heun's method {what}: {kp:.3g} J after {end:g} min, {kp / band:.2g} times the width of the first-order "
            "band of catena. The paper prints this plot without numbers, so that its size cannot be compared.",
        )
    )
    rk4 = column(pick(rows, curve="RK4"), "mean_J")
    moves = np.diff(rk4)
    one_way = max((moves > 0).mean(), (moves < 0).mean()) > 0.8
    result.append(
        Finding(
            "new",
            f"classical RK4, which the paper leaves out, changes the energy by {rk4[-1]:.2g} J in the same time, "
            f"{'less' if abs(rk4[-1]) < band else 'more'} than the first-order band of catena, "
            + ("and steadily in one direction." if one_way else "back and forth."),
        )
    )
    return result


FIGURE = Figure(
    letter="a",
    title="Energy of a double pendulum",
    setup="Two cubes of 0.1 m and 1 kg, each 1 m below its hinge, released from the horizontal (the paper does not say "
    "from where), steps of 10 ms. catena: the published first-order scheme, and orders 2 and 4. Other integrators, "
    "in minimal coordinates: Heun's method, as in the paper, and RK4. The published plot was median-filtered; with "
    "velocities of the nodes no filter is needed, and none is used.",
    sizes={
        "full": {"minutes": 60, "window": 30.0},
        "quick": {"minutes": 20, "window": 10.0},
        "tiny": {"minutes": 0.5, "window": 5.0},
    },
    measure=measure,
    weight=weight,
    plot=plot,
    table=table,
    findings=findings,
    caption="Bands are the lowest and highest energy of all steps of a window, lines their mean. The paper's source "
    "has no numbers for this plot, so no published curve is drawn.",
    contestants=(*OURS, *RIVALS),
)
