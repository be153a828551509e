"""(h) Pendulums by length and tolerance, against variational integrators in minimal coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from catena._util.rotation import Array

from .. import drawing, rivals
from ..figure import Curves, Figure, Finding, Row, Rows, Sizes, Word, column, curve, line, pick, values
from ..progress import Progress
from ..setups import STEP, pendulum, simulator, stepping
from ..timing import Contestant, race

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

OURS = {"catena": "auto", "catena, ldu": "ldu"}
COLORS = {
    "catena": drawing.OURS,
    "catena, ldu": drawing.OURS_TOO,
    "second order, as published": drawing.RIVAL,
    "second order, quasi-Newton": "#e58aa0",
    "second order, exact Newton": drawing.RIVAL_TOO,
    "third order, as published": drawing.RIVAL_THREE,
    "third order, exact Newton": drawing.RIVAL_FOUR,
    "fourth order, exact Newton": "#7a7a2a",
}
RIVALS = tuple(name for name in COLORS if name not in OURS)
EXACT = tuple(name for name in RIVALS if name.endswith("exact Newton"))
PRINTED = {"second order": "second order, as published", "third order": "third order, as published"}


def measure(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """Seconds, iterations and failures by tolerance, length and contestant."""
    steps = sizes["steps"]
    for tolerance in sizes["tolerances"]:
        for n in sizes["links"]:
            mechanism = pendulum(n)
            sims = {
                name: simulator(mechanism, solver=solver, tolerance=tolerance, rescue=False)
                for name, solver in OURS.items()
            }
            others = {
                name: rivals.variational(mechanism, name, dt=STEP, tolerance=tolerance)
                for name in COLORS
                if name not in OURS
            }
            facts: dict[str, Row] = {}
            for name, sim in sims.items():
                run = sim.run(steps=steps, record_every=steps)
                facts[name] = {
                    "failures": int(not run.status.ok),
                    "failed_at_step": "" if run.status.ok else run.status.step,
                    "iterations_per_step": float(run.iterations.mean()) if len(run.iterations) else np.nan,
                }
            facts |= {name: rival.facts(steps) for name, rival in others.items()}
            # only who gets to the end has a time
            contestants: dict[str, Contestant] = {
                name: stepping(sim) for name, sim in sims.items() if not facts[name]["failures"]
            }
            contestants |= {name: rival.run for name, rival in others.items() if not facts[name]["failures"]}
            times = race(contestants, steps, rounds=sizes["rounds"], seconds=sizes["seconds"])
            for name in COLORS:
                yield {
                    "contestant": name,
                    "tolerance": tolerance,
                    "links": n,
                    "steps": steps,
                    "seconds": times.get(name, np.nan),
                    **facts[name],
                }
            progress.step(n)
    yield from _floor(sizes)


def _floor(sizes: Sizes) -> Iterator[Row]:
    """How far down ours can be asked to go, at the greatest length."""
    n = max(sizes["links"])
    for tolerance in (1e-12, 1e-14, 1e-16, 1e-18):
        run = simulator(pendulum(n), tolerance=tolerance, rescue=False).run(steps=sizes["steps"], record_every=10**6)
        yield {
            "contestant": "catena, beyond",
            "tolerance": tolerance,
            "links": n,
            "steps": sizes["steps"],
            "seconds": np.nan,
            "failures": int(not run.status.ok),
            "iterations_per_step": float(run.iterations.mean()) if len(run.iterations) else np.nan,
            "floor_steps": run.floor_count,
            "newton_residual": float(run.newton_residual.max(initial=0.0)),
        }


def weight(sizes: Sizes) -> int:
    """Links of all mechanisms, at all tolerances."""
    return len(sizes["tolerances"]) * int(sum(sizes["links"]))


# ---- what it shows


def _milliseconds(rows: Rows, name: str, tolerance: float) -> tuple[Array, Array]:
    """Links and milliseconds of 1000 steps, where there was a solution."""
    some = [row for row in pick(rows, contestant=name, tolerance=tolerance) if not row["failures"]]
    n, seconds = curve(some, "links", "seconds")
    return n, 1e6 * seconds / (column(some, "steps") if some else 1.0)


def plot(rows: Rows, published: Curves) -> Picture:
    """A panel for each tolerance; a curve ends with a cross where its integrator fails first."""
    tolerances = _tolerances(rows)
    figure, axes = drawing.page(3, height=4.4)
    for axis, tolerance in zip(axes, tolerances, strict=False):
        for name, color in COLORS.items():
            n, ms = _milliseconds(rows, name, tolerance)
            drawing.ours(axis, n, ms, name, color=color)
            if len(n) and n[-1] < max(values(rows, "links")):
                axis.plot(n[-1], ms[-1], marker="X", markersize=9, color=color)
        for (label, key), marker in zip(
            (("maximal", "maximal"), ("2nd order", "second order"), ("3rd order", "third order")), "sx^", strict=True
        ):
            x, y = published[f"{key} {_short(tolerance)}"]
            drawing.paper(axis, x, 1e3 * y, f"paper, {label}", marker=marker, markersize=3.5)
        axis.set_xscale("log")
        axis.set_yscale("log")
        drawing.name_axes(axis, "links", "1000 steps (ms)", f"tolerance {_short(tolerance)}")
    drawing.legend_below(figure, axes[0], 5)
    return figure


def _tolerances(rows: Rows) -> list[float]:
    return [float(t) for t in values(pick(rows, contestant="catena"), "tolerance")]


def _short(tolerance: float) -> str:
    return f"1e-{round(-np.log10(tolerance))}"


def table(rows: Rows, published: Curves) -> Rows:
    """Time, iterations and failures at the greatest length."""
    most = max(values(rows, "links"))
    result = []
    for tolerance in _tolerances(rows):
        for name in COLORS:
            row = pick(rows, contestant=name, tolerance=tolerance, links=most)[0]
            result.append(
                {
                    "tolerance": _short(tolerance),
                    "integrator": name,
                    f"1000 steps of {most} links (ms)": 1e6 * float(row["seconds"]) / row["steps"],
                    "iterations a step": float(row["iterations_per_step"]),
                    "first length that fails": _first_failure(rows, name, tolerance) or "none",
                }
            )
    return result


def _first_failure(rows: Rows, name: str, tolerance: float) -> int | None:
    failing = [row["links"] for row in pick(rows, contestant=name, tolerance=tolerance) if row["failures"]]
    return min(failing) if failing else None


def findings(rows: Rows, published: Curves) -> list[Finding]:
    """No failure of ours; quasi-Newton fails, exact Newton does not; who is fastest."""
    return [_ours(rows), *_quasi(rows, published), _rivals_in_print(rows, published), _exact(rows), _fastest(rows)]


def _ours(rows: Rows) -> Finding:
    failed = [row for name in OURS for row in pick(rows, contestant=name) if row["failures"]]
    beyond = pick(rows, contestant="catena, beyond")
    reached = [row for row in beyond if not row["failures"]]
    lengths = values(rows, "links")
    span = f"{min(lengths)} to {max(lengths)} links"
    if failed:
        worst = failed[0]
        return Finding(
            "not reproduced",
            f"{worst['contestant']} fails at {worst['links']} links and a tolerance of "
            f"{float(worst['tolerance']):.0e}; {len(failed)} of the runs with {span} end early.",
        )
    floor = "it goes no further"
    if reached:
        last = reached[-1]
        left = f"rounding leaves up to {float(last['newton_residual']):.0e} m/s in {last['floor_steps']} of its steps"
        met = "every step meets it" if not last["floor_steps"] else f"reports that {left}"
        floor = f"with a tolerance of {float(last['tolerance']):.0e}, it still completes, and {met}"
    fits = [line(*_milliseconds(rows, "catena", tolerance)) for tolerance in _tolerances(rows)]
    return Finding(
        "reproduced",
        f"catena solves every step of {span} at all tolerances of the paper, in a time linear in the number of links "
        f"(R² of {min(fit.r2 for fit in fits):.3f} or more); with {max(lengths)} links, {floor}.",
    )


def _quasi(rows: Rows, published: Curves) -> list[Finding]:
    result = []
    for printed, name in PRINTED.items():
        told, alike = [], []
        for tolerance in _tolerances(rows):
            x, y = published[f"{printed} {_short(tolerance)}"]
            theirs = x[np.isfinite(y)].max() if np.isnan(y).any() else None
            first = _first_failure(rows, name, tolerance)
            here = "no failure" if first is None else f"fails from {first} links on"
            there = "none" if theirs is None else f"beyond {theirs:.0f}"
            told.append(f"{_short(tolerance)}: {here} ({there} in the paper)")
            alike.append((first is not None) == (theirs is not None))
        failing = any(_first_failure(rows, name, tolerance) for tolerance in _tolerances(rows))
        word: Word = "reproduced" if all(alike) else ("different" if failing else "not reproduced")
        result.append(Finding(word, f"{name}: {'; '.join(told)}."))
    return result


def _rivals_in_print(rows: Rows, published: Curves) -> Finding:
    """Whether the rivals are as good as their authors': the longest chains that both found, not asked for much."""
    loose = max(_tolerances(rows))
    told, factors = [], []
    for printed, name in PRINTED.items():
        x, y = published[f"{printed} {_short(loose)}"]
        n, ms = _milliseconds(rows, name, loose)
        both = set(x[np.isfinite(y)]) & set(n)
        if not both:
            return Finding("not measured", f"{name} finds no chain at {_short(loose)} that the paper has.")
        most = max(both)
        theirs, here = 1e3 * y[x == most][0], ms[n == most][0]
        factors.append(theirs / here)
        told.append(f"{here:.3g} ms at {most:.0f} links ({name}), {theirs / here:.2g} times less than in the paper")
    better = min(factors) > 1
    return Finding(
        "better" if better else "different",
        f"these implementations are {'faster' if better else 'not always faster'} than those of their authors at "
        f"{_short(loose)}: {'; '.join(told)}.",
    )


def _exact(rows: Rows) -> Finding:
    """Whether it is the coordinates that fail, or what solves for them."""
    tight, most = min(_tolerances(rows)), max(values(rows, "links"))
    told, failing = [], []
    for name in EXACT:
        failed = [row["links"] for row in pick(rows, contestant=name) if row["failures"]]
        count = float(pick(rows, contestant=name, tolerance=tight, links=most)[0]["iterations_per_step"])
        good = f" solves every step, in {count:.1f} iterations each at {most} links and {_short(tight)}"
        told.append(f"{name} {f'fails from {min(failed)} links on' if failed else good}")
        failing += [name] if failed else []
    if "second order, exact Newton" in failing:
        return Finding("reproduced", f"minimal coordinates fail with an exact Newton's method too: {'; '.join(told)}.")
    as_published, quasi = (
        any(row["failures"] for row in pick(rows, contestant=name))
        for name in ("second order, as published", "second order, quasi-Newton")
    )
    why = ""
    if as_published and not quasi:
        why = (
            " The quasi-Newton method at second order does not fail either if it solves for increments of the "
            "angles: the cause was the rounding of absolute angles, compared with a tolerance that is not scaled by "
            "inertia."
        )
    return Finding(
        "different",
        f"minimal coordinates need not fail: with an exact Newton's method, in linear time, {'; '.join(told)}.{why}",
    )


def _fastest(rows: Rows) -> Finding:
    most = max(values(rows, "links"))
    told, wins = [], []
    for tolerance in _tolerances(rows):
        n, ours = _milliseconds(rows, "catena", tolerance)
        if not (n == most).any():
            told.append(f"{_short(tolerance)}: catena does not complete the run")
            wins.append(False)
            continue
        times = {}
        for name in COLORS:
            x, ms = _milliseconds(rows, name, tolerance)
            if name not in OURS and (x == most).any():
                times[name] = ms[x == most][0] / ours[n == most][0]
        if times:
            best = min(times, key=lambda name: times[name])
            told.append(f"{_short(tolerance)}: {times[best]:.2f} ({best})")
            wins.append(times[best] > 1)
        else:
            told.append(f"{_short(tolerance)}: no other integrator completes the run")
            wins.append(True)
    lost = [
        n
        for n in values(rows, "links")
        if any(
            row["seconds"] < pick(rows, contestant="catena", tolerance=row["tolerance"], links=n)[0]["seconds"]
            for row in rows
            if row["links"] == n and row["contestant"] in RIVALS and not row["failures"]
        )
    ]
    where = (
        f"Another integrator is faster at {', '.join(map(str, lost))} links."
        if lost
        else "No other integrator is faster at any length."
    )
    return Finding(
        "better" if all(wins) else "different",
        f"at {most} links, time of the fastest other integrator that solves all steps, relative to catena: "
        f"{'; '.join(told)}. "
        f"{where} Maximal coordinates have an advantage with loops and velocity constraints, which these integrators "
        "do not support. On open chains, the cost of an iteration decides, not the choice of coordinates.",
    )


FIGURE = Figure(
    letter="h",
    title="Solver tolerance, compared with variational integrators",
    setup="The pendulums of (e) on hinges, 1000 steps of 10 ms, solved to 1e-6, 1e-8 and 1e-10, no step halved. "
    "Other integrators, in minimal coordinates and linear time: the second-order integrator of Lee et al. 2016 with "
    "its "
    "recursive impulse quasi-Newton method as published (it solves for absolute angles until an unscaled residual is "
    "small), the same for increments of angles, and with an exact Newton's method; Galerkin integrators of "
    "order 3 (Radau) and 4 (Gauss) after Fan et al. 2018. Variants that are not marked 'as published' use the "
    "initial guess and the stopping criterion of catena, the size of the increment. Radau's quadrature is unstable "
    "for long chains at this step size, with any solver. A run fails if a step does not converge in 100 iterations.",
    sizes={
        "full": {
            "links": [*range(1, 11), *range(20, 101, 10)],
            "tolerances": [1e-6, 1e-8, 1e-10],
            "steps": 1000,
            "rounds": 100,
            "seconds": 4.0,
        },
        "quick": {
            "links": [1, 2, 5, 10, 20, 50, 100],
            "tolerances": [1e-6, 1e-8, 1e-10],
            "steps": 1000,
            "rounds": 30,
            "seconds": 1.0,
        },
        "tiny": {"links": [1, 2, 5], "tolerances": [1e-6, 1e-8, 1e-10], "steps": 200, "rounds": 1, "seconds": 0.0},
    },
    measure=measure,
    weight=weight,
    plot=plot,
    table=table,
    findings=findings,
    published="tolerance",
    caption="A curve that ends with a cross fails at the next length.",
    contestants=tuple(COLORS),
)
