"""How fast catena is on the machine at hand: `python -m catena bench`.

Times are CPU time of the calling thread, the best of many runs, without the fixed cost of a call of run(), which is
taken from a run without steps. Batches on several threads are timed by the clock on the wall.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from math import pi
from typing import Any

import numpy as np

from .. import scenes
from .._util.progress import bar
from ..describe.mechanism import Mechanism
from ..kinematics.state import State
from ..results.trajectory import Trajectory
from ..simulate.simulator import Simulator

Rows = Iterator[dict[str, Any]]

_LOOPS: list[tuple[str, Callable[[], Mechanism]]] = [
    ("closed chain of 101 hinges", lambda: scenes.closed_chain(101, "revolute")),
    ("closed chain of 101 balls", lambda: scenes.closed_chain(101, "ball")),
    ("10 rhombi in a row", lambda: scenes.segmented_chain(10)),
]


def seconds(
    simulator: Simulator, budget: float, *, steps: tuple[int, int], record_every: int, state: State | None = None
) -> tuple[float, float]:
    """Time of the steps between steps[0] and steps[1], and of a call of run() without them, both the best of many."""
    state = simulator.mechanism.state() if state is None else state
    best = [float("inf"), float("inf")]
    end = time.perf_counter() + budget
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        # the two take turns, so that both meet the same noise
        for k, count in enumerate(steps):
            start = time.thread_time()
            simulator.run(steps=count, state=state, record_every=record_every)
            best[k] = min(best[k], time.thread_time() - start)
        rounds += 1
    return best[1] - best[0], best[0]


def chain(budget: float, solvers: Sequence[str], counts: Sequence[int]) -> Rows:
    """The cost of a link per step, in chains released at 45 degrees; steps of 10 ms, or 1 ms from 1000 links on."""
    for solver in solvers:
        for joint in ("revolute", "ball"):
            for n in counts:
                steps = 1000
                dt = 0.001 if n >= 1000 else 0.01
                simulator = Simulator(scenes.pendulum(n, joint, angle=pi / 4), dt, solver=solver)  # type: ignore[arg-type]
                ends, call = seconds(simulator, budget, steps=(0, steps), record_every=steps)
                # records of more links would not fit into the memory of a small machine
                every = seconds(simulator, budget, steps=(0, steps), record_every=1)[0] if n <= 1000 else None
                run = simulator.run(steps=steps, record_every=steps)
                about = simulator.info()
                yield {
                    "solver": solver,
                    "joint": joint,
                    "links": n,
                    "dt": dt,
                    "steps": steps,
                    "tolerance": simulator.tolerance,
                    "iterations_per_step": round(float(run.iterations.mean()), 3),
                    "errors_of_steps": _error(run),
                    "ns_per_link_step": round(1e9 * ends / steps / n, 1),
                    "ns_per_link_step_recording_all": "" if every is None else round(1e9 * every / steps / n, 1),
                    "us_per_call": round(1e6 * call, 1),
                    "bytes_per_link": round(about["workspace_bytes"] / n),
                    "kernel": about["kernel"],
                }


def _error(run: Trajectory) -> str:
    """What steps err by together, in parts of the mechanism's size or rad."""
    return "" if run.error is None else f"{run.error.sum():.1e}"


def loops(budget: float) -> Rows:
    """Closed chains, and rhombi in a row, every joint closed to rounding."""
    for name, build in _LOOPS:
        simulator = Simulator(build(), 0.01)
        steps = 200
        taken, _ = seconds(simulator, budget, steps=(0, steps), record_every=steps)
        run = simulator.run(steps=steps)
        links = simulator.mechanism.body_count
        yield {
            "scene": name,
            "links": links,
            "solver": simulator.solver,
            "iterations_per_step": round(float(run.iterations.mean()), 3),
            "errors_of_steps": _error(run),
            "ns_per_link_step": round(1e9 * taken / steps / links, 1),
            "largest_gap_m": f"{run.drift().max():.0e}",
        }


def batch(budget: float, members: int, links: int = 10) -> Rows:
    """Many chains from different starts, on one thread and on all, against some of them one by one."""
    mechanism = scenes.pendulum(links, "revolute", angle=pi / 4)
    simulator = Simulator(mechanism, 0.01)
    steps = 1000
    states = starts(mechanism, members)
    sample = states[:: max(1, members // 16)]
    singles = [seconds(simulator, budget / len(sample), steps=(0, steps), record_every=steps, state=s) for s in sample]
    alone = sum(taken for taken, _ in singles) / (len(sample) * steps * links)
    for threads in _thread_counts():
        best = [float("inf"), float("inf")]
        end = time.perf_counter() + budget
        rounds = 0
        while rounds < 2 or time.perf_counter() < end:
            for k, count in enumerate((0, steps)):
                start = time.perf_counter()
                simulator.run_batch(states=states, steps=count, record_every=steps, threads=threads)
                best[k] = min(best[k], time.perf_counter() - start)
            rounds += 1
        each = (best[1] - best[0]) / (members * steps * links)
        yield {
            "members": members,
            "links": links,
            "threads": threads,
            "ns_per_link_step": round(1e9 * each, 1),
            "ns_per_link_step_alone": round(1e9 * alone, 1),
            "times_the_throughput": round(alone / each, 2),
            "ms_per_call": round(1e3 * best[0], 1),
        }


def _thread_counts() -> list[int]:
    """One and all, where these differ."""
    return list(dict.fromkeys((1, os.cpu_count() or 1)))


def starts(mechanism: Mechanism, members: int) -> list[State]:
    """States of a chain whose joints are bent by a few degrees, otherwise for every member."""
    rng = np.random.default_rng(0)
    result = []
    for _ in range(members):
        state = mechanism.state()
        for name in mechanism.joints:
            state.joint(name).angle = 0.05 * rng.normal()
        result.append(state)
    return result


def start_up() -> Rows:
    """Importing the package in a fresh interpreter, and compiling a mechanism of 1000 links."""
    code = "import time; t = time.perf_counter(); import catena; print(time.perf_counter() - t)"
    imported = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))
    mechanism = scenes.pendulum(1000)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        Simulator(mechanism, 0.001)
        best = min(best, time.perf_counter() - start)
    yield {"import_ms": round(1e3 * imported, 1), "compile_1000_links_ms": round(1e3 * best, 1)}


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as text in columns."""
    cells = [[str(key) for key in rows[0]], *([str(value) for value in row.values()] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)


def run(full: bool = False, *, silent: bool = False, progress: bool = False) -> dict[str, list[dict[str, Any]]]:
    """Measure everything, and print it unless `silent`; about a minute, or several with `full`."""
    budget = 2.0 if full else 0.4
    counts = (1, 2, 5, 10, 20, 50, 100, 200, 1000, 10000) if full else (1, 10, 100, 1000)
    solvers = ("articulated", "ldu") if full else ("articulated",)
    # with so many rows each
    parts: dict[str, tuple[int, Rows]] = {
        "chain": (2 * len(solvers) * len(counts), chain(budget, solvers, counts)),
        "loops": (len(_LOOPS), loops(budget)),
        "batch": (len(_thread_counts()), batch(budget, 1024 if full else 256)),
        "start_up": (1, start_up()),
    }
    results: dict[str, list[dict[str, Any]]] = {}
    for name, (count, rows) in parts.items():
        found = results[name] = []
        if progress:
            bar(0, count)
        for row in rows:
            found.append(row)
            if progress:
                bar(len(found), count)
        if progress:
            sys.stderr.write("\n")
        if not silent:
            print(f"\n{name}\n{table(found)}", flush=True)
    return results
