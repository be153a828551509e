"""Timings of catena on the machine at hand, one small CSV per scene.

Times are CPU time of the calling thread, the best of many runs, without the fixed cost of a call of run() (taken from a
run of few steps), which has a column of its own where it matters.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from math import inf, log, pi
from pathlib import Path

from machine import folder

import catena
from catena import Armature, Damper, Mechanism, Servo, Simulator, Spring, scenes
from catena.cli import bench
from catena.cli.bench import Rows, seconds
from catena.describe.forces import Force


def chain(budget: float) -> Rows:
    """Measure the cost of a link per step, in chains of one to ten thousand links."""
    yield from bench.chain(budget, ("articulated", "ldu"), (1, 2, 5, 10, 50, 100, 1000, 10000))


def batch(budget: float) -> Rows:
    """Measure a thousand chains at once, on one thread and on all."""
    yield from bench.batch(budget, 1024)


# so gentle that a step takes as many increments as without: damping that is felt saves some, which would hide the cost
ACTING: dict[str, Callable[[str], Force] | None] = {
    "nothing": None,
    "damper": lambda joint: Damper(joint, 1e-4),
    "spring": lambda joint: Spring(joint, 1e-3),
    "servo": lambda joint: Servo(joint, kp=1e-3, kd=1e-4, effort_limit=5.0),
    "rotor": lambda joint: Armature(joint, 1e-5),
}


def acted(budget: float) -> Rows:
    """Measure what a force on every hinge of a chain adds to a step, one by one and in batches on one thread."""
    steps, members, batch_steps = 1000, 64, 100
    for n in (10, 100):
        alone, starts = {}, {}
        for name, force in ACTING.items():
            mechanism = scenes.pendulum(n, "revolute", angle=pi / 4)
            for joint in mechanism.joints if force else ():
                mechanism.add_force(force(joint))  # type: ignore[misc]
            alone[name] = Simulator(mechanism, 0.01)
            starts[name] = bench.starts(mechanism, members)
        best: dict[tuple[str, str], float] = {}

        def take(name: str, way: str, run: Callable[[], object], best: dict[tuple[str, str], float] = best) -> None:
            # batches run on a thread of their own
            begun = time.process_time()
            run()
            best[name, way] = min(best.get((name, way), inf), time.process_time() - begun)

        end = time.perf_counter() + 10 * budget
        rounds = 0
        # all take turns, so that all meet the same noise
        while rounds < 3 or time.perf_counter() < end:
            for name, simulator in alone.items():
                run = partial(simulator.run, record_every=steps)
                batch = partial(simulator.run_batch, states=starts[name], record_every=steps, threads=1)
                # after the others its code and data are cold, which must not fall to the call without steps alone
                run(steps=steps)
                for count in (0, steps):
                    take(name, f"alone {count}", partial(run, steps=count))
                batch(steps=10)
                for count in (0, batch_steps):
                    take(name, f"batch {count}", partial(batch, steps=count))
            rounds += 1
        ns = {name: 1e9 * (best[name, f"alone {steps}"] - best[name, "alone 0"]) / (steps * n) for name in alone}
        each = members * batch_steps * n
        lanes = {name: 1e9 * (best[name, f"batch {batch_steps}"] - best[name, "batch 0"]) / each for name in alone}
        for name, simulator in alone.items():
            together = simulator.run_batch(states=starts[name], steps=batch_steps, record_every=steps, threads=1)
            yield {
                "links": n,
                "acting": name,
                "ns_per_link_step": round(ns[name], 1),
                "times_nothing": round(ns[name] / ns["nothing"], 2),
                "iterations_per_step": round(float(simulator.run(steps=steps).iterations.mean()), 3),
                "ns_per_link_step_in_batch": round(lanes[name], 1),
                "times_nothing_in_batch": round(lanes[name] / lanes["nothing"], 2),
                "iterations_per_step_in_batch": round(float(together.iterations.mean()), 3),
                "kernel": simulator.info()["kernel"],
            }


def dense(budget: float) -> Rows:
    """Measure the cost of a step without sparsity; the exponent from row to row approaches 3."""
    before: tuple[int, float] | None = None
    for n in (2, 4, 8, 16, 32, 64):
        simulator = Simulator(scenes.pendulum(n), 0.01, solver="dense")
        steps = (4, 14 + 10000 // n**2)
        taken, _ = seconds(simulator, budget, steps=steps, record_every=steps[1])
        iterations = simulator.run(steps=steps[1]).iterations[steps[0] :].sum()
        each = taken / int(iterations)
        yield {
            "links": n,
            "us_per_step": round(1e6 * taken / (steps[1] - steps[0]), 2),
            "us_per_iteration": round(1e6 * each, 2),
            "exponent": "" if before is None else round(log(each / before[1]) / log(n / before[0]), 2),
            "kernel": simulator.info()["kernel"],
        }
        before = n, each


def release(budget: float) -> Rows:
    """Release a chain horizontally, which cracks like a whip, and count the steps that had to be halved."""
    for joint in ("revolute", "ball"):
        for n in (10, 20, 50, 100):
            mechanism = scenes.pendulum(n, joint, angle=pi / 2)  # type: ignore[arg-type]
            run = Simulator(mechanism, 0.01, on_failure="stop").run(duration=10)
            alone = Simulator(mechanism, 0.01, on_failure="stop", rescue=False).run(duration=10)
            yield {
                "joint": joint,
                "links": n,
                "finished": run.status.ok,
                "halved_steps": run.halved_count,
                "most_pieces": int(run.substeps.max()),
                "iterations_per_step": round(float(run.iterations.mean()), 3),
                "largest_energy_error": f"{run.energy_error().max():.2e}",
                "largest_gap_m": f"{run.drift().max():.1e}",
                "without_rescue_fails_at_s": "" if alone.status.ok else round(alone.status.time, 2),
                "without_rescue_worst_body": alone.status.body,
            }


def loop_batch(budget: float) -> Rows:
    """Measure batches of mechanisms with loops on one thread against one by one."""
    steps, members = 200, 32
    loops: dict[str, Callable[[], Mechanism]] = {
        "four-bar": scenes.four_bar,
        "slider-crank": scenes.slider_crank,
        "Minitaur leg": scenes.minitaur_leg,
        "closed chain 11": lambda: scenes.closed_chain(11),
        "closed chain 41": lambda: scenes.closed_chain(41),
    }
    for name, make in loops.items():
        simulator = Simulator(make(), 0.005)
        ways = {"alone": simulator.run, "batch": partial(simulator.run_batch, states=members, threads=1)}
        best: dict[tuple[str, int], float] = {}
        end = time.perf_counter() + 2 * budget
        rounds = 0
        while rounds < 3 or time.perf_counter() < end:
            for (way, run), count in product(ways.items(), (0, steps)):
                # a batch runs on a thread of its own
                begun = time.process_time()
                run(steps=count, record_every=steps)
                best[way, count] = min(best.get((way, count), inf), time.process_time() - begun)
            rounds += 1
        alone, each = (best[way, steps] - best[way, 0] for way in ways)
        each /= members
        yield {
            "loop": name,
            "us_per_step_alone": round(1e6 * alone / steps, 2),
            "us_per_step_and_member": round(1e6 * each / steps, 2),
            "times_the_throughput": round(alone / each, 2),
        }


SCENES: dict[str, Callable[[float], Rows]] = {
    "chain": chain,
    "batch": batch,
    "acted": acted,
    "loop_batch": loop_batch,
    "dense": dense,
    "release": release,
}


def main() -> int:
    """Run the scenes asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", metavar="scene", help=f"from {', '.join(SCENES)}; default all")
    parser.add_argument("--seconds", type=float, default=2.0, help="to spend on one measurement (default %(default)s)")
    parser.add_argument("--output", type=Path, help="folder; default results/<machine>")
    args = parser.parse_args()
    unknown = set(args.scenes) - SCENES.keys()
    if unknown:
        parser.error(f"there is no scene {min(unknown)!r}, only {', '.join(SCENES)}")

    place = args.output or folder()
    place.mkdir(parents=True, exist_ok=True)
    print(f"catena {catena.__version__}, kernel {catena.info()['kernel']}")
    for name in args.scenes or SCENES:
        with (place / f"{name}.csv").open("w", newline="") as file:
            writer: csv.DictWriter[str] | None = None
            for row in SCENES[name](args.seconds):
                if writer is None:
                    writer = csv.DictWriter(file, list(row), lineterminator="\n")
                    writer.writeheader()
                writer.writerow(row)
                print(f"{name}:", ", ".join(f"{key} {value}" for key, value in row.items() if value != ""), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
