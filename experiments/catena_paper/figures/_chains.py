"""What the figures of chains by length have in common: the race, the table and the comparison with print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

import catena as ct
from catena._util.rotation import Array

from .. import drawing, rivals
from ..figure import Curves, Finding, Row, Rows, Sizes, Word, column, curve, line, pick, values
from ..progress import Progress
from ..setups import STEP, Kind, simulator, stepping
from ..timing import Contestant, race

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

KINDS: tuple[Kind, ...] = ("revolute", "ball")
OURS = {"catena": "auto", "catena, ldu": "ldu"}
COLORS = {"catena": drawing.OURS, "catena, ldu": drawing.OURS_TOO} | {
    name: color
    for name, color in zip(
        ("minimal, articulated", "minimal, Cholesky"), (drawing.RIVAL, drawing.RIVAL_TOO), strict=True
    )
}
CONTESTANTS = tuple(COLORS)


def measure(
    sizes: Sizes, progress: Progress, build: Callable[[int, Kind], ct.Mechanism], kinds: Sequence[Kind] = KINDS
) -> Iterator[Row]:
    """Seconds of the steps of every contestant, by joint and length, and what became of the mechanism."""
    for kind in kinds:
        for n in sizes["links"]:
            mechanism = build(n, kind)
            steps = sizes["steps"]
            simulators = {name: simulator(mechanism, solver=solver) for name, solver in OURS.items()}
            others = {name: rivals.Continuous(mechanism, name, dt=STEP) for name in CONTESTANTS if name not in OURS}
            contestants: dict[str, Contestant] = {name: stepping(sim) for name, sim in simulators.items()}
            contestants |= {name: rival.run for name, rival in others.items()}
            times = race(contestants, steps, rounds=sizes["rounds"], seconds=sizes["seconds"])
            for name, sim in simulators.items():
                run = sim.run(steps=steps)
                yield {
                    "contestant": name,
                    "joint": kind,
                    "links": n,
                    "steps": steps,
                    "seconds": times[name] if run.status.ok else np.nan,
                    "iterations_per_step": float(run.iterations.mean()),
                    "halved": run.halved_count,
                    "gap_m": float(run.drift().max()),
                    "energy_error": float(run.energy_error().max()),
                }
            for name, rival in others.items():
                facts = rival.facts(steps)
                yield {
                    "contestant": name,
                    "joint": kind,
                    "links": n,
                    "steps": steps,
                    "seconds": times[name] if facts["ok"] else np.nan,
                    "gap_m": facts["gap_m"],
                    "energy_error": facts["energy_error"],
                }
            progress.step(n)


def weight(sizes: Sizes, kinds: Sequence[Kind] = KINDS) -> int:
    """Links of all mechanisms."""
    return len(kinds) * int(sum(sizes["links"]))


def per_1000(rows: Rows, name: str, kind: str) -> tuple[Array, Array]:
    """Links, and seconds of 1000 steps, where all of them were made."""
    some = pick(rows, contestant=name, joint=kind)
    n, seconds = column(some, "links"), 1000 * column(some, "seconds") / column(some, "steps")
    there = np.isfinite(seconds)
    return n[there], seconds[there]


def plot(rows: Rows, published: Curves) -> Picture:
    """A panel for each joint: ours and the rivals in color, print in grey."""
    figure, axes = drawing.page(2)
    for axis, kind in zip(axes, KINDS, strict=True):
        for name, color in COLORS.items():
            n, seconds = per_1000(rows, name, kind)
            drawing.ours(axis, n, 1e3 * seconds, name, color=color)
        for coordinates, marker in (("maximal", "s"), ("minimal", "x")):
            x, y = published[f"{coordinates} {kind}"]
            drawing.paper(axis, x, 1e3 * y, f"paper, {coordinates}", marker=marker, markersize=3.5)
        axis.set_xscale("log")
        axis.set_yscale("log")
        drawing.name_axes(axis, "links", "1000 steps (ms)", f"{kind} joints")
        drawing.legend(axis)
    return figure


def table(rows: Rows, published: Curves) -> Rows:
    """Milliseconds of 1000 steps, by length."""
    lengths = [n for n in values(rows, "links") if n in _shown(values(rows, "links"))]
    result = []
    for kind in values(rows, "joint"):
        for n in lengths:
            row: Row = {"joint": kind, "links": n}
            for name in CONTESTANTS:
                x, seconds = per_1000(rows, name, kind)
                row[f"{name} (ms)"] = float(1e3 * seconds[x == n][0]) if (x == n).any() else np.nan
            x, y = published[f"maximal {kind}"]
            row["paper, maximal (ms)"] = float(1e3 * y[x == n][0]) if (x == n).any() else np.nan
            result.append(row)
    return result


def _shown(lengths: Sequence[int]) -> list[int]:
    """The first, the last and a few between."""
    places = np.unique(np.geomspace(1, len(lengths), 6).round().astype(int) - 1)
    return [lengths[k] for k in places]


def linear(rows: Rows, published: Curves) -> Finding:
    """Whether our time is a straight line in the length, and if not, whether the number of iterations is why."""
    steps, iterations, counts = {}, {}, []
    for kind in values(rows, "joint"):
        n, seconds = per_1000(rows, "catena", kind)
        _, per_step = curve(rows, "links", "iterations_per_step", contestant="catena", joint=kind)
        steps[kind], iterations[kind] = line(n, seconds), line(n, seconds / per_step)
        counts += per_step.tolist()
    print_r2 = min(line(*published[f"maximal {kind}"]).r2 for kind in steps)
    told = " and ".join(
        f"{1e6 * fit.slope:.0f} ns a link and step, R² = {fit.r2:.4f} ({kind})" for kind, fit in steps.items()
    )
    told += f", {print_r2:.3f} or more in the paper"
    each = " and ".join(f"{fit.r2:.4f} ({kind})" for kind, fit in iterations.items())
    if min(fit.r2 for fit in steps.values()) > 0.99:
        return Finding("reproduced", f"time grows in proportion to the links: {told}.")
    if min(fit.r2 for fit in iterations.values()) > 0.99:
        return Finding(
            "reproduced",
            f"the time of an iteration grows in proportion to the links, R² = {each}; that of a step less so, for "
            f"longer chains take more iterations, {min(counts):.1f} to {max(counts):.1f}: {told}.",
        )
    return Finding(
        "not reproduced", f"time is not a linear function of the number of links: {told}; of an iteration {each}."
    )


def against_print(rows: Rows, published: Curves) -> Finding:
    """The published algorithm here and there, at the longest chain that both have."""
    told, factors = [], []
    for kind in values(rows, "joint"):
        x, y = published[f"maximal {kind}"]
        n, seconds = per_1000(rows, "catena, ldu", kind)
        at, best = per_1000(rows, "catena", kind)
        both = set(x) & set(n) & set(at)
        if not both:
            return Finding("not measured", f"catena completes no chain of {kind} joints that the paper has.")
        most = max(both)
        theirs, same, fast = y[x == most][0], seconds[n == most][0], best[at == most][0]
        factors.append(theirs / same)
        told.append(
            f"{most:.0f} links on {kind} joints take {1e3 * same:.3g} ms with the published algorithm (`ldu`) and "
            f"{1e3 * fast:.3g} ms with `articulated`, {1e3 * theirs:.0f} ms in the paper"
        )
    word: Word = "better" if min(factors) > 1.5 else "different"
    return Finding(word, f"{'; '.join(told)}: newer hardware and compiled code explain a large part of this.")


def rival_against_print(rows: Rows, published: Curves) -> Finding:
    """Whether our rival is as good as the one in print: composite inertias with a Cholesky factor."""
    told, factors = [], []
    for kind in values(rows, "joint"):
        x, y = published[f"minimal {kind}"]
        n, seconds = per_1000(rows, "minimal, Cholesky", kind)
        both = set(x) & set(n)
        if not both:
            return Finding("not measured", f"the integrator in minimal coordinates completes no run on {kind} joints.")
        most = max(both)
        theirs, here = y[x == most][0], seconds[n == most][0]
        factors.append(theirs / here)
        told.append(
            f"{1e3 * here:.3g} ms at {most:.0f} links on {kind} joints, {theirs / here:.2g} times less than in the "
            "paper"
        )
    better = min(factors) > 1
    return Finding(
        "better" if better else "different",
        f"our implementation of minimal coordinates is {'faster' if better else 'not always faster'} than that of "
        f"the paper, which also uses a dense factorization: {'; '.join(told)}.",
    )


def against_rivals(rows: Rows, published: Curves) -> list[Finding]:
    """Ratios of one run at the greatest length, for each joint."""
    result = []
    for kind in values(rows, "joint"):
        n, seconds = per_1000(rows, "catena", kind)
        most = n.max()
        ours = seconds[-1]
        ratios, drifts = {}, {}
        for name in CONTESTANTS:
            if name in OURS:
                continue
            x, y = per_1000(rows, name, kind)
            if len(x) and x[-1] == most:
                ratios[name] = y[-1] / ours
            found = pick(rows, contestant=name, joint=kind, links=int(most))
            drifts[name] = float(found[0]["energy_error"]) if found else np.nan
        failed = [name for name in CONTESTANTS if name not in OURS and name not in ratios]
        told = [f"{name} takes {ratio:.3g} times the time of catena" for name, ratio in ratios.items()]
        told += [f"{name} does not complete the run" for name in failed]
        faster = all(ratio > 1 for ratio in ratios.values())
        own = pick(rows, contestant="catena", joint=kind, links=int(most))[0]
        print_max, print_min = (published[f"{c} {kind}"][1][-1] for c in ("maximal", "minimal"))
        there = print_min / print_max
        better = faster and there < 1
        word: Word = "better" if better else ("reproduced" if faster == (there > 1) else "different")
        result.append(
            Finding(
                word,
                f"{most:.0f} links, {kind} joints, one run: {'; '.join(told)} (in the paper, minimal coordinates took "
                f"{there:.2g} times the maximal ones). Largest energy error: catena {float(own['energy_error']):.1g}, "
                + ", ".join(f"{name} {drift:.1g}" for name, drift in drifts.items())
                + " of the energy in motion.",
            )
        )
    return result
