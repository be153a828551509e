"""What loops cost: chains of loops, one long loop, ladders and nets, against an open chain and against themselves.

Times are CPU time of this thread, pinned to one core, the best of many runs; simulators that are compared take turns,
so that all meet the same noise, and the fixed cost of a call of run() is subtracted. Instructions are counted by
callgrind as in count_instructions.py. The command fails if a limit is missed.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from machine import folder

import catena
from catena import Mechanism, Simulator, scenes

Row = dict[str, Any]

COLUMNS = (
    "scene",
    "joint",
    "size",
    "links",
    "solver",
    "dt",
    "iterations_per_step",
    "ns_per_link_step",
    "ns_per_link_iteration",
    "ms_per_step",
    "multiplications_per_iteration",
    "instructions_per_link_iteration",
    "largest_gap_m",
    "ratio",
    "against",
    "limit",
    "kernel",
)

# callgrind of valgrind 3.19 knows no AVX-512, and not every form of AVX2: the first kernel that it can run
COUNTED_KERNELS = ("x86-64-v3", "x86-64")

# scene, solver, size, links, dt, and steps of the two counted runs: the first steps, whose guesses have no history, are
# in both; by pairs, of which the second is the larger
COUNTED = (
    ("segmented_chain", "articulated", 10, 40, 1e-3, (20, 120)),
    ("segmented_chain", "articulated", 100, 400, 1e-3, (20, 120)),
    ("segmented_chain", "ldu", 10, 40, 1e-3, (20, 120)),
    ("segmented_chain", "ldu", 100, 400, 1e-3, (20, 120)),
    ("ladder", "ldu", 100, 300, 5e-4, (6, 14)),
    ("ladder", "ldu", 1000, 3000, 5e-4, (6, 14)),
)


def measure(cases: Sequence[tuple[Row, Mechanism, str, float, int]], budget: float) -> list[Row]:
    """Time all cases in turns: (labels, mechanism, solver, dt, steps); three rounds or more, about `budget` seconds."""
    simulators = [Simulator(m, dt, solver=solver) for _, m, solver, dt, _ in cases]  # type: ignore[arg-type]
    states = [m.state() for _, m, _, _, _ in cases]
    best = [[float("inf"), float("inf")] for _ in cases]
    end = time.perf_counter() + budget
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        for k, (_, _, _, _, steps) in enumerate(cases):
            for which, count in enumerate((0, steps)):
                start = time.thread_time()
                simulators[k].run(steps=count, state=states[k], record_every=steps)
                best[k][which] = min(best[k][which], time.thread_time() - start)
        rounds += 1

    rows = []
    for (labels, m, solver, dt, steps), simulator, (call, whole) in zip(cases, simulators, best, strict=True):
        run = simulator.run(steps=steps)
        each = (whole - call) / steps
        iterations = float(run.iterations.mean())
        rows.append(
            labels
            | {
                "links": m.body_count,
                "solver": solver,
                "dt": dt,
                "iterations_per_step": round(iterations, 3),
                "ns_per_link_step": round(1e9 * each / m.body_count, 1),
                "ns_per_link_iteration": round(1e9 * each / m.body_count / iterations, 1),
                "ms_per_step": round(1e3 * each, 4),
                "multiplications_per_iteration": round(simulator.info()["estimated_work"][solver]),
                "largest_gap_m": f"{run.drift().max():.1e}",
                "kernel": simulator.info()["kernel"],
            }
        )
    return rows


def compare(row: Row, other: Row, name: str, limit: float | None, what: str = "ns_per_link_step") -> None:
    """Note the ratio of two rows in the first."""
    row |= {"ratio": round(row[what] / other[what], 3), "against": name, "limit": "" if limit is None else limit}


def segmented(budget: float) -> list[Row]:
    """Loops in a row, the paper's pose, 10 s: the cost of a link does not grow with their number."""
    rows = []
    for solver in ("articulated", "ldu"):
        labels = {"scene": "segmented_chain", "joint": "revolute"}
        cases = [(labels | {"size": k}, scenes.segmented_chain(k), solver, 0.01, 1000) for k in range(1, 11)]
        part = measure(cases, budget * len(cases))
        compare(part[9], part[1], "k = 2", 1.5)
        rows += part
    return rows


def closed(budget: float) -> list[Row]:
    """One loop through all of a chain, against the same chain open, from the paper's poses."""
    rows = []
    for joint, limit in (("revolute", 2.0), ("ball", 1.7)):
        for solver in ("articulated", "ldu"):
            labels = {"joint": joint, "size": 101}
            pair = {"pendulum": scenes.pendulum(101, joint), "closed_chain": scenes.closed_chain(101, joint)}  # type: ignore[arg-type]
            cases = [({"scene": name} | labels, m, solver, 0.01, 1000) for name, m in pair.items()]
            part = measure(cases, 2 * budget)
            compare(part[1], part[0], "open chain", limit if solver == "articulated" else None)
            rows += part
    return rows


def ladders(budget: float) -> list[Row]:
    """Loops that share links, in a row. 1000 rungs hang on their rails with 15 kN: steps of 0.5 ms.

    The work is linear, which the counted instructions show; the time of the longest also says where a cache ends.
    """
    cases = [
        ({"scene": "ladder", "joint": "revolute", "size": k}, scenes.ladder(k), "ldu", 5e-4, steps)
        for k, steps in ((10, 1000), (30, 300), (100, 100), (300, 50), (1000, 20))
    ]
    rows = measure(cases, 5 * budget)
    compare(rows[4], rows[2], "k = 100", None, "ns_per_link_iteration")
    return rows


def nets(budget: float) -> list[Row]:
    """Loops that share links, in two directions: the work of the block order grows like that of any plane grid."""
    cases = [
        ({"scene": "net", "joint": "ball", "size": f"{n} x {n}"}, scenes.net(n, n), "ldu", 5e-3, steps)
        for n, steps in ((6, 200), (15, 50), (30, 20))
    ]
    return measure(cases, 3 * budget)


def instructions(budget: float) -> list[Row]:
    """Instructions of a link in an iteration, in a mechanism and in one ten times as large."""
    if not shutil.which("valgrind"):
        print("no valgrind on this machine: instructions are not counted", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        tool = ["valgrind", "--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={out}"]
        for kernel in COUNTED_KERNELS:
            done = subprocess.run(
                [*tool, sys.executable, __file__, "--drive"],
                env=os.environ | {"CATENA_KERNEL": kernel, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
                capture_output=True,
                text=True,
            )
            if "Unrecognised instruction" not in done.stderr:
                break
        if done.returncode:
            raise RuntimeError(f"the driver failed:\n{done.stderr}")

        # dump 1 is the start-up, 2 the first run, 3 what comes between two runs, and so on
        iterations = json.loads(done.stdout)
        totals = [_total(Path(f"{out}.{2 * k + 2}")) for k in range(len(iterations))]
    rows: list[Row] = []
    for k, (scene, solver, size, links, dt, (short, long)) in enumerate(COUNTED):
        rounds = iterations[2 * k + 1] - iterations[2 * k]
        rows.append(
            {
                "scene": f"{scene} counted",
                "joint": "revolute",
                "size": size,
                "links": links,
                "solver": solver,
                "dt": dt,
                "iterations_per_step": round(rounds / (long - short), 3),
                "instructions_per_link_iteration": round((totals[2 * k + 1] - totals[2 * k]) / links / rounds),
                "kernel": kernel,
            }
        )
        if k % 2:
            compare(rows[k], rows[k - 1], f"k = {rows[k - 1]['size']}", 1.1, "instructions_per_link_iteration")
    return rows


def drive() -> None:
    """Make the runs that are counted; print the Newton iterations of each as JSON."""
    # what Python and numpy do only once must not fall into the first short run
    Simulator(scenes.segmented_chain(1), 1e-3).run(steps=5)
    iterations = []
    for scene, solver, size, _, dt, both in COUNTED:
        m = getattr(scenes, scene)(size)
        state = m.state()
        simulator = Simulator(m, dt, solver=solver, rescue=False)  # type: ignore[arg-type]
        for steps in both:
            os.getppid()
            run = simulator.run(steps=steps, state=state, record_every=steps)
            os.getppid()
            iterations.append(int(run.iterations.sum()))
    json.dump(iterations, sys.stdout)


def _total(dump: Path) -> int:
    for line in dump.read_text().splitlines():
        if line.startswith("totals:"):
            return int(line.split()[1])
    raise RuntimeError(f"callgrind wrote no total into {dump.name}")


PARTS: dict[str, Callable[[float], list[Row]]] = {
    "segmented": segmented,
    "closed": closed,
    "ladders": ladders,
    "nets": nets,
    "instructions": instructions,
}


def main() -> int:
    """Measure, write, and say whether the limits are kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"from {', '.join(PARTS)}; default all")
    parser.add_argument("--seconds", type=float, default=2.0, help="to spend on one case (default %(default)s)")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="to run on (default the last)")
    parser.add_argument("--output", type=Path, help="default results/<machine>/loops.csv")
    parser.add_argument("--drive", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.sched_setaffinity(0, {args.core})
    if args.drive:
        drive()
        return 0
    unknown = set(args.parts) - PARTS.keys()
    if unknown:
        parser.error(f"there is no part {min(unknown)!r}, only {', '.join(PARTS)}")

    output = args.output or folder() / "loops.csv"
    output.parent.mkdir(parents=True, exist_ok=True)
    print(f"catena {catena.__version__}, kernel {catena.info()['kernel']}, core {args.core}")
    missed = 0
    with output.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        for name in args.parts or PARTS:
            for row in PARTS[name](args.seconds):
                writer.writerow(row)
                print(f"{name}:", ", ".join(f"{key} {value}" for key, value in row.items() if value != ""), flush=True)
                missed += row.get("limit", "") != "" and row["ratio"] > row["limit"]
    print("all limits kept" if not missed else f"{missed} limits missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
