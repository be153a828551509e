"""What accuracy costs: error after 2 s against CPU time, for orders 1, 2, 4, 6 and 8 over a range of time steps.

The error is against order 6 with a small step, solved as tightly as rounding allows: the largest of all bodies'
differences in position (m) and orientation (rad). Times are CPU time of the calling thread, the best of several runs,
without the fixed cost of a call of run(); only the two ends of a run are recorded. Tolerances are the defaults.

On the heavy top order 1 looks better than order 2 until the step is small: its fast spin runs ahead by w^3 dt^2 t/24
with the publication's start, which takes w for that of the first interval, and by four times that if w is the node's.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Callable, Iterator
from math import pi
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import folder

import catena
from catena import Simulator, State, scenes
from catena._util import rotation as rot
from catena.validate import case as problems

DURATION = 2.0
ORDERS = (1, 2, 4, 6, 8)
TIGHT = 1e-14

# smaller errors are rounding, and not the scheme's
FLOOR = 3e-11


Row = dict[str, Any]


class Case(NamedTuple):
    """A motion: what it is, where it starts, its largest step and that of the reference (s)."""

    title: str
    start: Callable[[], State]
    largest: float
    reference: float


def ball_pendulum() -> State:
    """Start two boxes on ball joints, swinging in space, both spinning about themselves."""
    state = scenes.pendulum(2, "ball", angle=0.7).state()
    state.joint("joint1").rates = (0.5, 1.0, 3.0)
    state.joint("joint2").rates = (-1.0, 0.7, 2.0)
    return state


CASES = {
    "ball_pendulum": Case("double pendulum on balls, with spin", ball_pendulum, 0.04, 1e-3),
    "chain": Case("chain of 10 hinges, from 45 degrees", lambda: scenes.pendulum(10, angle=pi / 4).state(), 0.04, 5e-4),
    "four_bar": Case("four-bar", lambda: scenes.four_bar().state(), 0.04, 5e-4),
    "heavy_top": Case("heavy top, 150 rad/s", lambda: scenes.heavy_top().state(), 0.004, 1.25e-4),
}


def errors(state: State, other: State) -> tuple[float, float]:
    """Largest difference in position (m) and in orientation (rad) of all bodies."""
    turn = rot.rotation_vector(rot.multiply(rot.conjugate(other.orientation), state.orientation))
    return tuple(float(np.linalg.norm(d, axis=1).max()) for d in (state.position - other.position, turn))  # type: ignore[return-value]


def reference(name: str, start: State) -> State:
    """Where the motion ends, by order 6; the heavy top's is held against its published motion on the way."""
    dt = CASES[name].reference
    every = round(0.5 / dt)
    run = Simulator(start.mechanism, dt, order=6, tolerance=TIGHT).run(DURATION, state=start, record_every=every)
    if name == "heavy_top":
        row = problems.reference("heavy_top")["trajectory"][-1]
        then = State(start.mechanism, [row[8:11]], [row[1:5]], np.zeros((1, 3)), np.zeros((1, 3)))
        if row[0] != run.time[1] or max(errors(run[1], then)) > FLOOR:
            raise RuntimeError(f"the reference of {name} is off its published motion by {errors(run[1], then)}")
    return run[-1]


def milliseconds(simulator: Simulator, start: State, steps: int, budget: float) -> float:
    """CPU time of the steps of a run, without that of the call around them, both the best of several."""
    best = [float("inf"), float("inf")]
    end = time.perf_counter() + budget
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        # the two take turns, so that both meet the same noise
        for k, count in enumerate((0, steps)):
            before = time.thread_time()
            simulator.run(steps=count, state=start, record_every=steps)
            best[k] = min(best[k], time.thread_time() - before)
        rounds += 1
    return 1e3 * (best[1] - best[0])


def measure(name: str, budget: float, longest: float) -> Iterator[Row]:
    """Halve the step until the error is rounding, or a run takes longer than `longest` ms."""
    case = CASES[name]
    start = case.start()
    then = reference(name, start)
    for order in ORDERS:
        dt = case.largest
        while True:
            steps = round(DURATION / dt)
            simulator = Simulator(start.mechanism, dt, order=order, on_failure="stop")  # type: ignore[arg-type]
            run = simulator.run(steps=steps, state=start, record_every=steps)

            # a step that had to be halved is not one of this length
            if run.status.ok and run.halved_count == 0:
                position, orientation = errors(run[-1], then)
                if max(position, orientation) < FLOOR:
                    break
                taken = milliseconds(simulator, start, steps, budget)
                yield {
                    "scene": name,
                    "order": order,
                    "dt": dt,
                    "steps": steps,
                    "tolerance": simulator.tolerance,
                    "iterations_per_step": round(float(run.iterations.mean()), 3),
                    "ms": round(taken, 4),
                    "position_error_m": f"{position:.3e}",
                    "orientation_error_rad": f"{orientation:.3e}",
                    "solver": simulator.solver,
                    "kernel": simulator.info()["kernel"],
                }
                if taken > longest:
                    break
            dt /= 2


def draw(table: Path) -> None:
    """Draw the table next to it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("plots need matplotlib", file=sys.stderr)
        return
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    colors = dict(zip(ORDERS, ("tab:grey", "tab:blue", "tab:orange", "tab:green", "tab:red"), strict=True))
    marks = dict(zip(ORDERS, "vos^D", strict=True))
    figure = Figure(figsize=(10, 7.5), layout="constrained")
    for axis, (name, case) in zip(figure.subplots(2, 2, sharex=True, sharey=True).flat, CASES.items(), strict=True):
        for order in ORDERS:
            part = [row for row in rows if row["scene"] == name and int(row["order"]) == order]
            x = [float(row["ms"]) for row in part]
            y = [max(float(row["position_error_m"]), float(row["orientation_error_rad"])) for row in part]
            axis.loglog(x, y, marks[order] + "-", color=colors[order], markersize=4, label=f"order {order}")
        axis.set_title(case.title, fontsize="medium")
        axis.grid(alpha=0.3)
        axis.label_outer()
    axis.legend()
    figure.supxlabel(f"CPU time for {DURATION:g} s [ms]", fontsize="medium")
    figure.supylabel(f"largest error after {DURATION:g} s [m, rad]", fontsize="medium")
    figure.savefig(table.with_suffix(".png"), dpi=110)


def main() -> int:
    """Measure, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="to spend on one point (default %(default)s)")
    parser.add_argument("--longest", type=float, default=50.0, help="ms of a run, then stop (default %(default)s)")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="to run on (default the last)")
    parser.add_argument("--output", type=Path, help="default results/<machine>/work_precision.csv")
    parser.add_argument("--draw", action="store_true", help="only draw what was measured before")
    args = parser.parse_args()
    os.sched_setaffinity(0, {args.core})

    output = args.output or folder() / "work_precision.csv"
    if not args.draw:
        output.parent.mkdir(parents=True, exist_ok=True)
        print(f"catena {catena.__version__}, kernel {catena.info()['kernel']}, core {args.core}")
        with output.open("w", newline="") as file:
            writer: csv.DictWriter[str] | None = None
            for name in CASES:
                for row in measure(name, args.seconds, args.longest):
                    if writer is None:
                        writer = csv.DictWriter(file, list(row), lineterminator="\n")
                        writer.writeheader()
                    writer.writerow(row)
                    print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    draw(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
