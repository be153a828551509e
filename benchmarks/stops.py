"""What hard limits cost, how many solves find a touch, and what violent chains do.

    taskset -c 1 python benchmarks/stops.py cost       # chains and batches, in parts of the same without limits
    python benchmarks/stops.py touches                 # solves for each touch that is located
    python benchmarks/stops.py violent --seconds 5     # chains thrown into stops of 0.3 rad: stops.csv, about an hour

Costs are CPU times of this process, the least of many rounds in which all variants take turns. `violent` compares with
the same chain without limits in the same minute.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from itertools import product

import machine
import numpy as np

import catena as ct

warnings.simplefilter("ignore", ct.AccuracyWarning)


def spent(work: Callable[[], object]) -> float:
    # of all threads: batches have their own, also if it is one
    begin = time.process_time()
    work()
    return time.process_time() - begin


def least(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each, the least of so many rounds."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(rounds):
        for name, work in works.items():
            best[name] = min(best[name], spent(work))
    return best


def chain(count: int, angle: float = 0.0, limits: ct.Limits | None = None) -> ct.Mechanism:
    """Rods of 1 m and 1 kg in a row, so far below the horizontal (rad)."""
    m, last = ct.Mechanism(), "world"
    along = np.array((np.cos(angle), 0.0, -np.sin(angle)))
    for k in range(count):
        name = f"link{k}"
        m.add_body(name, ct.rod(k * along, (k + 1) * along, mass=1.0))
        joint = m.add_joint(ct.Revolute(last, name, axis=(0, 1, 0), at=k * along, name=f"hinge{k}"))
        if limits is not None:
            joint.limits = limits
        last = name
    return m


# ---- cost


def cost(rounds: int) -> None:
    """Chains, then batches."""
    for count, steps in ((10, 400), (100, 100)):

        def run(m: ct.Mechanism, steps: int = steps) -> Callable[[], object]:
            simulator = ct.Simulator(m, 0.001, on_inaccurate="ignore")
            # the first step finds out which stops are held
            state = simulator.run(steps=10)[-1]
            return lambda: simulator.run(steps=steps, state=state, record_every=steps)

        damped, held = chain(count, np.pi / 4), chain(count, 0.0, ct.Limits(-1.0, 0.0))
        for name in damped.joints:
            damped.add_force(ct.Damper(name, 0.01))
        best = least(
            {
                "plain": run(chain(count, np.pi / 4)),
                "far": run(chain(count, np.pi / 4, ct.Limits(-3.0, 3.0))),
                "damped": run(damped),
                "held": run(held),
            },
            rounds,
        )
        print(
            f"{count} hinges: limits never reached {best['far'] / best['plain']:.3f} of the plain chain, "
            f"all at their limits {best['held'] / best['damped']:.3f} of the damped one"
        )
    batches(rounds)


def clapper() -> ct.Mechanism:
    """Seven hinges, and a light clapper on the last one that goes to and fro between its limits."""
    m = chain(7, np.pi / 4)
    at = m.bodies["link6"].position
    m.add_body("clapper", ct.rod(at, at + np.array((0.1, 0, 0)), mass=1e-3))
    m.add_joint(ct.Revolute("link6", "clapper", axis=(0, 1, 0), at=at, name="clapper"))
    m.joints["clapper"].limits = ct.Limits(-0.1, 0.1, restitution=1.0)
    return m


def batches(rounds: int) -> None:
    """Lanes on one thread: limits that are never reached, and a touch every 20 steps of each member."""

    def run(m: ct.Mechanism, steps: int, limits: str, rates: np.ndarray) -> Callable[[], ct.Batch]:
        simulator = ct.Simulator(m, 0.001, limits=limits, on_inaccurate="ignore")  # type: ignore[arg-type]
        at = np.zeros_like(rates)
        keep = {"steps": steps, "record_every": steps, "threads": 1}
        return lambda: simulator.run_batch(coordinates=at, rates=rates, **keep)  # type: ignore[arg-type]

    random = np.random.default_rng(1)
    rates = random.uniform(-0.5, 0.5, (256, 10))
    far = chain(10, np.pi / 4, ct.Limits(-3.0, 3.0))
    best = least({limits: run(far, 200, limits, rates) for limits in ("ignore", "enforce")}, rounds)
    print(f"lanes, 256 chains of 10 hinges: limits never reached {best['enforce'] / best['ignore']:.3f} of no limits")
    rates = random.uniform(-0.2, 0.2, (1024, 8))
    # 0.2 rad in 20 steps
    rates[:, -1] = random.choice((-10.0, 10.0), 1024) * random.uniform(0.95, 1.05, 1024)
    works = {limits: run(clapper(), 100, limits, rates) for limits in ("ignore", "enforce")}
    batch = works["enforce"]()
    assert isinstance(batch, ct.Batch)
    assert not batch.alone
    best = least(works, max(rounds // 3, 3))
    every = 100 * 1024 / batch.impact_counts.sum()
    print(
        f"lanes, 1024 arms of 8 hinges, an impact every {every:.1f} steps of a member: "
        f"{best['enforce'] / best['ignore']:.3f} of no limits"
    )


# ---- touches


def bouncing(restitution: float) -> dict[str, tuple[ct.Mechanism, float]]:
    """Mechanisms that touch, with a step for each."""
    falls = ct.Mechanism()
    falls.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0, 0, 1.0), angular_velocity=(1.0, 2.0, 3.0))
    falls.add_contact("ball", radius=0.1, restitution=restitution)
    leg = chain(3, 0.3)
    leg.add_contact("link2", at=(3 * np.cos(0.3), 0, -3 * np.sin(0.3)), point=(0, 0, -1.8), restitution=restitution)
    arm = chain(3, 0.3)
    for name, (low, high) in {"hinge1": (-1.0, 0.4), "hinge2": (-1.2, 0.7)}.items():
        arm.joints[name].limits = ct.Limits(low, high, restitution=restitution)
    bars = ct.scenes.four_bar()
    bars.joints["joint3"].limits = ct.Limits(-2.9, 1.0, restitution=restitution)
    shoulder = ct.Mechanism()
    shoulder.add_body("arm", ct.rod((0, 0, 0), (0, 0, -0.5), mass=1.0), angular_velocity=(2.0, 1.0, 3.0))
    shoulder.add_joint(ct.Ball("world", "arm", at=(0, 0, 0), name="shoulder"))
    shoulder.joints["shoulder"].limits = {
        "swing": ct.Limits(upper=0.3, restitution=restitution),
        "twist": ct.Limits(-0.5, 0.5, restitution=restitution),
    }
    return {
        "ball": (falls, 0.01),
        "leg": (leg, 0.005),
        "arm": (arm, 0.005),
        "four-bar": (bars, 0.005),
        "shoulder": (shoulder, 0.005),
        "chain of 5": (chain(5, 0.0, ct.Limits(-0.3, 0.3, restitution=restitution)), 0.002),
    }


def touches() -> None:
    """Steps solved for each touch, the whole step and the last one included."""
    for order in (2, 4):
        located = tries = 0
        for restitution in (0.0, 0.5, 1.0):
            for name, (m, dt) in bouncing(restitution).items():
                live = ct.Simulator(m, dt, order=order, on_inaccurate="ignore").start()  # type: ignore[arg-type]
                live.step(round(3.0 / dt))
                tally = live.tally
                located, tries = located + tally.located, tries + tally.tries
                mean = tally.tries / max(tally.located, 1)
                print(f"order {order}, {name}, restitution {restitution}: {tally.located} touches, {mean:.2f} solves")
        print(f"order {order}: {located} touches, {tries / located:.2f} solves for each")


# ---- violent


def violent(seconds: float, counts: list[int]) -> None:
    """Every row as soon as it is there."""
    path = machine.folder() / "stops.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    names = "links restitution dt_ms seconds ends impacts cut caught most_substeps passed_rad energy_rise_J"
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*names.split(), "ns_per_link_step", "of_plain_chain"])
        for count, dt, restitution in product(counts, (0.001, 0.004, 0.01), (0.0, 0.5, 1.0)):
            table.writerow(_thrown(count, dt, restitution, seconds))
            file.flush()


def _thrown(count: int, dt: float, restitution: float, seconds: float) -> list[object]:
    runs: dict[str, ct.Trajectory] = {}

    def go(limits: str) -> None:
        m = chain(count, 0.0, ct.Limits(-0.3, 0.3, restitution=restitution))
        simulator = ct.Simulator(m, dt, limits=limits, on_failure="stop", on_inaccurate="ignore")  # type: ignore[arg-type]
        runs[limits] = simulator.run(duration=seconds)

    took = {limits: spent(lambda limits=limits: go(limits)) for limits in ("ignore", "enforce")}
    run = runs["enforce"]
    angles = np.stack([run.joint(name).angle for name in run.mechanism.joints])
    energy = run.energy()
    steps = {limits: len(each) - 1 for limits, each in runs.items()}
    row = [count, restitution, 1000 * dt, seconds, run.status.reason if not run.status.ok else "yes", len(run.impacts)]
    row += [run.cut_count, run.caught_count, int(run.substeps.max()), f"{max(np.abs(angles).max() - 0.3, 0):.1e}"]
    row += [f"{max(energy.max() - energy[0], 0):.2e}", round(1e9 * took["enforce"] / steps["enforce"] / count)]
    row.append(round(took["enforce"] / steps["enforce"] / (took["ignore"] / steps["ignore"]), 1))
    print(*row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("cost", "touches", "violent"))
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--links", type=int, nargs="+", default=[5, 20, 100])
    arguments = parser.parse_args()
    if arguments.what == "cost":
        cost(arguments.rounds)
    elif arguments.what == "touches":
        touches()
    else:
        violent(arguments.seconds, arguments.links)


if __name__ == "__main__":
    main()
