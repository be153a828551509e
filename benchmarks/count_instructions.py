"""Instructions per link and step: linear time shown without a clock.

Counted by callgrind, which does not know AVX-512: a driver process makes, for every case, a short and a long run of the
same simulator. It calls getppid between them, on which callgrind is told to dump and zero its counters, so that each
run has a count of its own; the difference of the two is the cost of the steps alone.

Or with --single-steps by the processor itself, whatever the kernel, at some 20 us an instruction: the driver stops
where the core begins and ends a run, and from one to the other is led by single steps.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from machine import folder

import catena

# callgrind of valgrind 3.19 knows no AVX-512
KERNEL = "x86-64"

# steps of the two runs: the first steps, whose guesses have no history, are in both
SHORT, LONG = 20, 120

# a machine that counts to n = 1000 within this factor of n = 100 is linear
LIMIT = 1.10


def drive(solvers: list[str], joint: str, links: list[int], dt: float, on_inaccurate: str) -> None:
    """Make the runs; print the Newton iterations of each as JSON."""
    # what Python and numpy do only once must not fall into the first short run
    catena.Simulator(catena.scenes.pendulum(2), dt).run(steps=SHORT)
    iterations = []
    for n in links:
        mechanism = catena.scenes.pendulum(n, joint)  # type: ignore[arg-type]
        state = mechanism.state()
        for solver in solvers:
            simulator = catena.Simulator(mechanism, dt, solver=solver, rescue=False, on_inaccurate=on_inaccurate)  # type: ignore[arg-type]
            # what a simulator finds out once belongs to neither
            simulator.run(steps=SHORT, state=state, record_every=SHORT)
            for steps in (SHORT, LONG):
                os.getppid()
                run = simulator.run(steps=steps, state=state, record_every=steps)
                os.getppid()
                iterations.append(int(run.iterations.sum()))
    json.dump(iterations, sys.stdout)


def count(
    solvers: list[str], joint: str, links: list[int], dt: float, kernel: str, on_inaccurate: str
) -> Iterator[dict[str, object]]:
    """Run the driver under callgrind and read its counters."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        tool = ["valgrind", "--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={out}"]
        case = ["--drive", "--joint", joint, "--dt", repr(dt), "--on-inaccurate", on_inaccurate]
        case += ["--solvers", *solvers, "--links", *map(str, links)]
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
        yield _row(solver, joint, n, dt, kernel, instructions, rounds, steps)


# of the run that is made by single steps
STEPS = 1000

_SINGLE_STEP, _CONTINUE = 9, 7  # of ptrace


def drive_to_stops(solver: str, joint: str, n: int, dt: float) -> None:
    """Make a run that stops where the core begins and ends, and print its iterations."""
    simulator = catena.Simulator(catena.scenes.pendulum(n, joint), dt, solver=solver)  # type: ignore[arg-type]
    run = catena.Live._run

    def stopping(*args: Any, **named: Any) -> Any:
        os.kill(os.getpid(), signal.SIGSTOP)
        result = run(*args, **named)
        os.kill(os.getpid(), signal.SIGSTOP)
        return result

    catena.Live._run = stopping  # type: ignore[method-assign]
    print(int(simulator.run(steps=STEPS, record_every=STEPS).iterations.sum()))


def single_steps(solver: str, joint: str, n: int, dt: float, kernel: str) -> dict[str, object]:
    """Run the driver and count what it does between its two stops."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_long]
    case = ["--drive", "--single-steps", "--joint", joint, "--dt", repr(dt), "--solvers", solver, "--links", str(n)]
    with tempfile.TemporaryFile() as out:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            ptrace(0, 0, None, 0)
            os.execve(sys.executable, [sys.executable, __file__, *case], os.environ | {"CATENA_KERNEL": kernel})
        counting, instructions = False, 0
        while True:
            _, status = os.waitpid(child, 0)
            if not os.WIFSTOPPED(status):
                break
            sent = os.WSTOPSIG(status)
            if sent == signal.SIGSTOP:
                counting = not counting
            elif counting and sent == signal.SIGTRAP:
                instructions += 1
            ptrace(
                _SINGLE_STEP if counting else _CONTINUE,
                child,
                None,
                0 if sent in (signal.SIGSTOP, signal.SIGTRAP) else sent,
            )
        if status:
            raise RuntimeError(f"the driver failed with status {status}")
        out.seek(0)
        iterations = int(out.read())
    return _row(solver, joint, n, dt, kernel, instructions, iterations, STEPS)


def _row(
    solver: str, joint: str, n: int, dt: float, kernel: str, instructions: int, iterations: int, steps: int
) -> dict[str, object]:
    return {
        "solver": solver,
        "joint": joint,
        "links": n,
        "dt": dt,
        "iterations_per_step": iterations / steps,
        "instructions_per_link_step": round(instructions / n / steps),
        "instructions_per_link_iteration": round(instructions / n / iterations),
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
    parser.add_argument("--on-inaccurate", default="warn", choices=["warn", "ignore"])
    parser.add_argument("--single-steps", action="store_true", help="of the processor; print only, minutes per case")
    parser.add_argument("--output", type=Path, help="default results/<machine>/instructions.csv")
    parser.add_argument("--drive", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.drive and args.single_steps:
        drive_to_stops(args.solvers[0], args.joint, args.links[0], args.dt)
        return 0
    if args.drive:
        drive(args.solvers, args.joint, args.links, args.dt, args.on_inaccurate)
        return 0
    if args.single_steps:
        for solver, n in product(args.solvers, args.links):
            print(single_steps(solver, args.joint, n, args.dt, args.kernel), flush=True)
        return 0
    if not shutil.which("valgrind"):
        parser.error("valgrind is not on this machine")

    rows = list(count(args.solvers, args.joint, args.links, args.dt, args.kernel, args.on_inaccurate))
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
