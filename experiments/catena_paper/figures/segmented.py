"""(g) Segmented chains: rhombi in a row, through singular poses, where minimal coordinates were said to fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import catena as ct

from .. import drawing, rivals
from ..figure import Curves, Figure, Finding, Row, Rows, Sizes, Word, column, curve, line, pick, values
from ..progress import Progress
from ..setups import STEP, simulator, stepping
from ..timing import race

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

ATTACHED = {"bottom": "rhombus on the lowest corner", "elbow": "rhombus on a side corner"}
OURS = {"catena": "auto", "catena, ldu": "ldu"}
RIVALS = ("minimal, articulated", "minimal, Baumgarte", "minimal, tuned")
_PALETTE = (drawing.OURS, drawing.OURS_TOO, drawing.RIVAL, drawing.RIVAL_TOO, drawing.RIVAL_FOUR)
COLORS = dict(zip((*OURS, *RIVALS), _PALETTE, strict=True))

# a run is of use if no joint opens by more than a hundredth of a link and a tenth of the energy stays
WIDE, WILD = 0.01, 0.1


def measure(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """Seconds of ours; gaps and energy of ours and of the rivals, by their step."""
    steps = sizes["steps"]
    for attach in ATTACHED:
        for k in sizes["rhombi"]:
            mechanism = ct.scenes.segmented_chain(k, attach)  # type: ignore[arg-type]
            sims = {name: simulator(mechanism, solver=solver) for name, solver in OURS.items()}
            times = race(
                {name: stepping(sim) for name, sim in sims.items()},
                steps,
                rounds=sizes["rounds"],
                seconds=sizes["seconds"],
            )
            for name, sim in sims.items():
                run = sim.run(steps=steps)
                yield {
                    "contestant": name,
                    "attach": attach,
                    "links": 4 * k,
                    "dt": STEP,
                    "seconds_per_1000_steps": 1000 * times[name] / steps,
                    "reached_s": STEP * len(run.iterations),
                    "gap_m": float(run.drift().max()),
                    "energy_error": float(run.energy_error().max()),
                    "halved": run.halved_count,
                    "iterations_per_step": float(run.iterations.mean()),
                    "of_use": _of_use(run.status.ok, float(run.drift().max()), float(run.energy_error().max())),
                }
            progress.step(k)
            if 4 * k > sizes["most_rival_links"]:
                continue
            for name in RIVALS:
                for dt in sizes["rival_dt"]:
                    facts = rivals.Continuous(mechanism, name, dt=dt).facts(round(steps * STEP / dt))
                    yield {
                        "contestant": name,
                        "attach": attach,
                        "links": 4 * k,
                        "dt": dt,
                        **{key: facts[key] for key in ("reached_s", "gap_m", "energy_error")},
                        "of_use": _of_use(facts["ok"], facts["gap_m"], facts["energy_error"]),
                    }


def _of_use(ended: bool, gap: float, energy_error: float) -> int:
    return int(ended and gap < WIDE and energy_error < WILD)


def weight(sizes: Sizes) -> int:
    """Rhombi of all chains."""
    return len(ATTACHED) * int(sum(sizes["rhombi"]))


# ---- what it shows


def plot(rows: Rows, published: Curves) -> Picture:
    """Time, gap, and energy error by length."""
    figure, (time, gap, energy) = drawing.page(3)
    for attach, style in zip(ATTACHED, ("-", ":"), strict=True):
        for name in OURS:
            n, seconds = curve(rows, "links", "seconds_per_1000_steps", contestant=name, attach=attach)
            drawing.ours(time, n, 1e3 * seconds, f"{name}, {attach}", color=COLORS[name], linestyle=style)
    x, y = published["maximal revolute"]
    drawing.paper(time, x, 1e3 * y, "paper, bottom", marker="s", markersize=3.5)
    time.set_yscale("log")
    steps = sorted({float(row["dt"]) for row in rows}, reverse=True)
    for name, color in COLORS.items():
        for dt, marker in zip(steps, "os^v", strict=False):
            some = pick(rows, contestant=name, attach="bottom", dt=dt)
            n, size, error = (column(some, key) for key in ("links", "gap_m", "energy_error"))
            if some and name != "catena, ldu":
                label = name if name in OURS else f"{name}, {1e3 * dt:g} ms"
                look: dict[str, Any] = {"color": color, "marker": marker, "markersize": 4}
                drawing.ours(gap, n, np.clip(size, 1e-17, 1e3), label, **look)
                drawing.ours(energy, n, np.clip(error, 1e-17, 1e3), label, **look)
    gap.axhline(WIDE, color="#444444", linewidth=0.8, linestyle=(0, (1, 2)))
    energy.axhline(WILD, color="#444444", linewidth=0.8, linestyle=(0, (1, 2)))
    for axis in (gap, energy):
        axis.set_yscale("log")
    drawing.name_axes(time, "links", "1000 steps (ms)", "time")
    drawing.name_axes(gap, "links", "largest gap (m)", "on the lowest corner: gaps")
    drawing.name_axes(energy, "links", "largest energy error", "and energy, in parts of that in motion")
    drawing.legend(time)
    drawing.legend_below(figure, gap, 4)
    return figure


def table(rows: Rows, published: Curves) -> Rows:
    """Who is of use, to what length."""
    result = []
    for name in COLORS:
        for dt in sorted({float(row["dt"]) for row in pick(rows, contestant=name)}, reverse=True):
            for attach in ATTACHED:
                some = pick(rows, contestant=name, attach=attach, dt=dt)
                if not some:
                    continue
                failed = [row["links"] for row in some if not row["of_use"]]
                result.append(
                    {
                        "integrator": name,
                        "step (ms)": 1e3 * dt,
                        "attached": attach,
                        "lengths tried": f"{some[0]['links']} to {some[-1]['links']}",
                        "not usable at": ", ".join(map(str, failed)) or "none",
                        "largest gap (m)": float(column(some, "gap_m").max()),
                        "largest energy error": float(column(some, "energy_error").max()),
                    }
                )
    return result


def findings(rows: Rows, published: Curves) -> list[Finding]:
    """Ours is linear and closed; what smaller steps do for the rival."""
    result = [_ours(rows, published)]
    for name in RIVALS:
        some = [row for row in pick(rows, contestant=name) if row["links"] >= 8]
        if not some:
            result.append(Finding("not measured", f"{name}: no chain of two or more rhombi was tried."))
            continue
        good_at, saved = [], False
        steps = sorted({float(row["dt"]) for row in some}, reverse=True)
        for dt in steps:
            tried = [row for row in some if row["dt"] == dt]
            good = sum(int(row["of_use"]) for row in tried)
            good_at.append(f"{good} of {len(tried)} chains at {1e3 * dt:g} ms")
            saved = saved or (good == len(tried) and dt <= STEP)
        if not saved:
            word: Word = "reproduced"
            what = "cannot reliably simulate two or more rhombi, and smaller steps do not help"
        elif all(row["of_use"] for row in some if row["dt"] == steps[0]):
            word, what = "different", "simulates two or more rhombi, which the paper's could not"
        else:
            word, what = "different", "fails as published at long steps, but not at short ones"
        result.append(Finding(word, f"{name} {what}: usable in {', '.join(good_at)}."))
    return result


def _ours(rows: Rows, published: Curves) -> Finding:
    own = [row for name in OURS for row in pick(rows, contestant=name)]
    useful = all(row["of_use"] for row in own)
    steps, iterations = {}, {}
    for attach in values(rows, "attach"):
        n, seconds = curve(rows, "links", "seconds_per_1000_steps", contestant="catena", attach=attach)
        _, count = curve(rows, "links", "iterations_per_step", contestant="catena", attach=attach)
        steps[attach], iterations[attach] = line(n, seconds), line(n, seconds / count)
    of_step, of_iteration = (min(fit.r2 for fit in fits.values()) > 0.99 for fits in (steps, iterations))
    told = " and ".join(f"{fit.r2:.4f} ({attach})" for attach, fit in steps.items())
    each = " and ".join(f"{fit.r2:.4f} ({attach})" for attach, fit in iterations.items())
    if of_step:
        grows = f"the time of a step grows in proportion to the links, R² = {told}"
    elif of_iteration:
        grows = f"the time of an iteration grows in proportion to the links, R² = {each} (of a step {told})"
    else:
        grows = f"time does not grow in proportion to the links, R² = {told} a step and {each} an iteration"
    x, y = published["maximal revolute"]
    n, seconds = curve(rows, "links", "seconds_per_1000_steps", contestant="catena", attach="bottom")
    longest = max(set(x) & set(n))
    ratio = y[x == longest][0] / seconds[n == longest][0]
    return Finding(
        "reproduced" if useful and (of_step or of_iteration) else "not reproduced",
        f"catena {'completes' if useful else 'does not always complete'} every chain, with no gap above "
        f"{column(own, 'gap_m').max():.0e} m and an energy error of {column(own, 'energy_error').max():.1g} or less; "
        f"{grows}; at {longest:.0f} links a step takes {ratio:.0f} times less than in the paper, where a linear "
        f"fit through all lengths has R² = {line(x, y).r2:.3f}.",
    )


FIGURE = Figure(
    letter="g",
    title="Segmented chains",
    setup="Chains of rhombi, each of four boxes of 0.1 x 0.1 x 1 m and 1 kg, all joints hinges, released at rest: in "
    "the paper's pose, in which each rhombus hangs from the lowest corner of the one above (half-angle π/8, inclined "
    "by π/4, the last by another π/4), and hung from side corners, where loops are not connected in series. 1000 "
    "steps of 10 ms. Other integrators: minimal coordinates with loops at acceleration level, without and with "
    "Baumgarte's stabilization, and tuned so that rows with pivots below 1e-6 (instead of 1e-10) of the largest "
    "count as redundant, over the same 10 s with steps of 10 ms and less. A run counts as usable if it completes, no "
    "joint opens by 1 cm and the energy error stays below a tenth of the energy in motion.",
    sizes={
        "full": {
            "rhombi": list(range(1, 11)),
            "steps": 1000,
            "rounds": 100,
            "seconds": 4.0,
            "rival_dt": [0.01, 0.001, 0.0001],
            "most_rival_links": 20,
        },
        "quick": {
            "rhombi": [1, 2, 3, 5, 8, 10],
            "steps": 1000,
            "rounds": 30,
            "seconds": 1.0,
            "rival_dt": [0.01, 0.001],
            "most_rival_links": 12,
        },
        "tiny": {
            "rhombi": [1, 2, 3],
            "steps": 50,
            "rounds": 1,
            "seconds": 0.0,
            "rival_dt": [0.01, 0.005],
            "most_rival_links": 8,
        },
    },
    measure=measure,
    weight=weight,
    plot=plot,
    table=table,
    findings=findings,
    published="segmented_chains",
    caption="Dotted lines: limits of a usable run. Values above 1000, or not finite, are drawn at 1000.",
    contestants=tuple(COLORS),
)
