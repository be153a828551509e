"""Instructions per link and step, counted by callgrind: linear time shown without a clock.

A driver process makes, for every case, a short and a long run of the same simulator. It calls getppid between them, on
which callgrind is told to dump and zero its counters, so that each run has a count of its own; the difference of the
two is the cost of the steps alone.
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
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from machine import folder

import catena

# callgrind of valgrind 3.19 knows no AVX-512
KERNEL = "x86-64"

# steps of the two runs: the first steps, whose guesses have no history, are in both
SHORT, LONG = 20, 120

# a machine that counts to n = 1000 within this factor of n = 100 is linear
LIMIT = 1.10


def drive(solvers: list[str], joint: str, links: list[int], dt: float) -> None:
    """Make the runs; print the Newton iterations of each as JSON."""
    # what Python and numpy do only once must not fall into the first short run
    catena.Simulator(catena.scenes.pendulum(2), dt).run(steps=SHORT)
    iterations = []
    for n in links:
        mechanism = catena.scenes.pendulum(n, joint)  # type: ignore[arg-type]
        state = mechanism.state()
        for solver in solvers:
            simulator = catena.Simulator(mechanism, dt, solver=solver, rescue=False)  # type: ignore[arg-type]
            for steps in (SHORT, LONG):
                os.getppid()
                run = simulator.run(steps=steps, state=state, record_every=steps)
                os.getppid()
                iterations.append(int(run.iterations.sum()))
    json.dump(iterations, sys.stdout)


def count(solvers: list[str], joint: str, links: list[int], dt: float, kernel: str) -> Iterator[dict[str, object]]:
    """Run the driver under callgrind and read its counters."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        tool = ["valgrind", "--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={out}"]
        case = ["--drive", "--joint", joint, "--dt", repr(dt), "--solvers", *solvers, "--links", *map(str, links)]
        done = subprocess.run(
            [*tool, sys.executable, __file__, *case],
            env=os.environ | {"CATENA_KERNEL": kernel, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"the driver failed:\n{done.stderr}")

        # dump 1 is the start-up, 2 the first run, 3 what comes between two runs, and so on
        iterations = json.loads(done.stdout)
        totals = [_total(Path(f"{out}.{2 * k + 2}")) for k in range(len(iterations))]

    steps = LONG - SHORT
    for k, (n, solver) in enumerate(product(links, solvers)):
        instructions = totals[2 * k + 1] - totals[2 * k]
        rounds = iterations[2 * k + 1] - iterations[2 * k]
        yield {
            "solver": solver,
            "joint": joint,
            "links": n,
            "dt": dt,
            "iterations_per_step": rounds / steps,
            "instructions_per_link_step": round(instructions / n / steps),
            "instructions_per_link_iteration": round(instructions / n / rounds),
            "kernel": kernel,
        }


def _total(dump: Path) -> int:
    for line in dump.read_text().splitlines():
        if line.startswith("totals:"):
            return int(line.split()[1])
    raise RuntimeError(f"callgrind wrote no total into {dump.name}")


def main() -> int:
    """Count, write, and say whether time is linear."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solvers", nargs="+", default=["articulated", "ldu"])
    parser.add_argument("--joint", default="revolute", choices=["revolute", "ball"])
    parser.add_argument("--links", nargs="+", type=int, default=[10, 100, 1000])
    parser.add_argument("--dt", type=float, default=1e-3, help="the same for all, so that iteration counts agree")
    parser.add_argument("--kernel", default=KERNEL)
    parser.add_argument("--output", type=Path, help="default results/<machine>/instructions.csv")
    parser.add_argument("--drive", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.drive:
        drive(args.solvers, args.joint, args.links, args.dt)
        return 0
    if not shutil.which("valgrind"):
        parser.error("valgrind is not on this machine")

    rows = list(count(args.solvers, args.joint, args.links, args.dt, args.kernel))
    output = args.output or folder() / "instructions.csv"
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)

    linear = True
    for solver in args.solvers:
        cost = {row["links"]: row["instructions_per_link_step"] for row in rows if row["solver"] == solver}
        print(f"{solver}: " + ", ".join(f"n = {n}: {value}" for n, value in cost.items()), "per link-step")
        if {100, 1000} <= cost.keys():
            ratio = cost[1000] / cost[100]
            print(f"  n = 1000 against n = 100: {ratio:.3f}, limit {LIMIT}")
            linear &= ratio <= LIMIT
    return 0 if linear else 1


if __name__ == "__main__":
    sys.exit(main())
