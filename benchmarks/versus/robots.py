"""Time per step of the quadruped and the humanoid in catena, MuJoCo and Pinocchio: python robots.py.

All run in this interpreter and take turns, so that all meet the same noise; an engine that cannot be imported is
skipped with a line. First they must agree: at small steps the others, which are of first order, tend to catena's
motion.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import os
import sys
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from measure import Engine, distance
from robot_model import Robot, Start, describe, moving, start_of
from scenes import Bodies

import catena as ct
from catena._util.rotation import to_matrix

sys.path.append(str(Path(__file__).resolve().parent.parent))
from machine import folder

SCENES: dict[str, Callable[[], ct.Mechanism]] = {
    "quadruped": ct.scenes.quadruped,
    "quadruped, hung": lambda: ct.scenes.quadruped(hung=True),
    "humanoid": ct.scenes.humanoid,
    "humanoid, hung": lambda: ct.scenes.humanoid(hung=True),
    "humanoid of hinges": lambda: ct.scenes.humanoid(universals=False),
}
# increments are counted for the first steps as well, where none before them help to guess the next: a new target for
# the servos is like that, and a call of fewer steps cannot be timed beside what it costs without any
STEPS, FIRST, MEMBERS = 500, 25, 256
CLOSE = 1e-5  # m or rad


class Catena(Engine):
    """Simulator.run, recording the two ends."""

    def __init__(self, state: ct.State, robot: Robot, dt: float) -> None:
        self.simulator = ct.Simulator(state.mechanism, dt, limits="ignore")
        self.start = state
        self.rows = [list(state.mechanism.bodies).index(link.name) for link in robot.links]

    def reset(self) -> None:
        """Nothing to do: run() begins at the start."""

    def run(self, steps: int) -> None:
        """Take steps in one call."""
        self.done = self.simulator.run(steps=steps, state=self.start, record_every=max(steps, 1))

    def bodies(self) -> Bodies:
        """The links now."""
        s = self.done[-1]
        both = Bodies(s.position, to_matrix(s.orientation), s.velocity, s.angular_velocity)
        return Bodies(*(rows[self.rows] for rows in both))


class CatenaBatch(Engine):
    """Simulator.run_batch on one thread, every member from its own start."""

    def __init__(self, state: ct.State, robot: Robot, dt: float) -> None:
        self.simulator = ct.Simulator(state.mechanism, dt, limits="ignore")
        self.starts = [moving(state.mechanism, k) for k in range(MEMBERS)]

    def reset(self) -> None:
        """Nothing to do: run() begins at the start."""

    def run(self, steps: int) -> None:
        """Take steps in one call."""
        self.done = self.simulator.run_batch(states=self.starts, steps=steps, record_every=max(steps, 1), threads=1)


class MuJoCo(Engine):
    """mj_step, which loops natively; position actuators with the servos' gains, contacts and constraints off."""

    def __init__(self, robot: Robot, start: Start, dt: float, integrator: str) -> None:
        import mujoco as mj

        self.mj = mj
        self.model = mj.MjModel.from_xml_string(robot.mjcf(dt, integrator))
        self.data = mj.MjData(self.model)
        self.target = np.array([drive.target for drive in robot.drives])
        floats = robot.links[0].joint is None
        pose, twist = [start.position, start.orientation], [start.velocity, start.local[1]]
        self.q0 = np.concatenate([*(pose if floats else []), start.angles])
        self.v0 = np.concatenate([*(twist if floats else []), start.rates])

    def reset(self) -> None:
        """Go back to the start."""
        self.mj.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:], self.data.ctrl[:] = self.q0, self.v0, self.target

    def run(self, steps: int) -> None:
        """Take steps in one call."""
        if steps:
            self.mj.mj_step(self.model, self.data, nstep=steps)

    def bodies(self) -> Bodies:
        """The links now; velocities are not asked for."""
        self.mj.mj_kinematics(self.model, self.data)
        n = self.model.nbody - 1
        none = np.zeros((n, 3))
        return Bodies(self.data.xipos[1:].copy(), self.data.xmat[1:].reshape(n, 3, 3).copy(), none, none)


class Pinocchio(Engine):
    """The compiled loop of pinocchio_robot.cpp."""

    def __init__(self, robot: Robot, start: Start, dt: float, convention: str) -> None:
        from pinocchio_engine import _pointer, library

        self.library, self.pointer, self.dt, self.count = library("pinocchio_robot"), _pointer, dt, len(robot.links)
        self.library.make_robot.restype = ctypes.c_void_p
        links = [
            [*k.place, *to_matrix(k.turn).ravel(), *k.center, *k.inertia.ravel(), k.mass, len(k.axes)]
            for k in robot.links
        ]
        axes = [np.concatenate([*k.axes, np.zeros(6)])[:6] for k in robot.links]
        drives = [[d.kp, d.kd, d.target, d.limit] for d in robot.drives]
        pose: list[Any] = []
        twist: list[Any] = []
        if robot.links[0].joint is None:
            links[0][-1] = -1
            pose, twist = [start.position, np.roll(start.orientation, -1)], list(start.local)
        given = [
            np.array([k.parent for k in robot.links], dtype=np.int32),
            *(np.array(rows, dtype=float) for rows in (links, axes, drives)),
            np.concatenate([*pose, start.angles, *twist, start.rates]),
            robot.gravity,
        ]
        parents, link, axis, drive, begin, gravity = map(_pointer, given)
        world = int(convention == "world")
        make = self.library.make_robot
        self.handle = ctypes.c_void_p(make(self.count, parents, link, axis, len(drives), drive, begin, gravity, world))

    def reset(self) -> None:
        """Go back to the start."""
        self.library.reset_robot(self.handle)

    def run(self, steps: int) -> None:
        """Take steps in one call."""
        self.library.run_robot(self.handle, steps, ctypes.c_double(self.dt))

    def bodies(self) -> Bodies:
        """The links now."""
        n = self.count
        out = Bodies(np.empty((n, 3)), np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 3)))
        self.library.robot_bodies(self.handle, *map(self.pointer, out))
        return out


OTHERS: dict[str, Callable[[Robot, Start, float], Engine]] = {
    "mujoco Euler": lambda robot, start, dt: MuJoCo(robot, start, dt, "Euler"),
    "mujoco implicitfast": lambda robot, start, dt: MuJoCo(robot, start, dt, "implicitfast"),
    "pinocchio Euler": lambda robot, start, dt: Pinocchio(robot, start, dt, "local"),
    "pinocchio Euler, world": lambda robot, start, dt: Pinocchio(robot, start, dt, "world"),
}


def importable() -> list[str]:
    """The other engines that are there."""
    found = []
    for name, module in (("mujoco", "mujoco"), ("pinocchio", "pinocchio_engine")):
        try:
            __import__(module)
            found.append(name)
        except ImportError as error:
            print(f"{name}: skipped ({error})")
    return [name for name in OTHERS if name.split()[0] in found]


def agreement(scene: str, names: list[str], duration: float = 0.2, dt: float = 1e-4) -> dict[str, tuple[float, ...]]:
    """How far the others are from catena at a small step, at half of it, and where the two lead to (m, rad)."""
    state = moving(SCENES[scene]())
    robot = describe(state.mechanism)
    start = start_of(robot, state)

    def end(sim: Engine, h: float) -> Bodies:
        sim.reset()
        sim.run(round(duration / h))
        return sim.bodies()

    truth = end(Catena(state, robot, dt), dt)
    result = {}
    for name in names:
        one, two = (end(OTHERS[name](robot, start, h), h) for h in (dt, dt / 2))
        limit = Bodies(*(2 * b - a for a, b in zip(one, two, strict=True)))
        result[name] = tuple(distance(b, truth.position, truth.rotation) for b in (one, two, limit))
    return result


def times(scene: str, names: list[str], dt: float, budget: float) -> dict[str, dict[str, float]]:
    """Microseconds per step, of every member in a batch, and per call without steps; catena's increments per step.

    The best of many rounds in which all take turns.
    """
    state = moving(SCENES[scene]())
    robot = describe(state.mechanism)
    start = start_of(robot, state)
    sims: dict[str, Engine] = {"catena": Catena(state, robot, dt)}
    sims |= {name: OTHERS[name](robot, start, dt) for name in names}
    best: dict[tuple[str, int], float] = {}

    def time_one(name: str, sim: Engine, steps: int) -> None:
        sim.reset()
        # of the whole process, so that no engine hides a second thread
        begun = time.process_time()
        sim.run(steps)
        taken = time.process_time() - begun
        best[name, steps] = min(best.get((name, steps), inf), taken)

    batch = CatenaBatch(state, robot, dt)
    end = time.perf_counter() + budget
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        # a batch takes as long as all others together
        turn = sims | ({"catena batch": batch} if rounds % 4 == 0 else {})
        for name, sim in turn.items():
            # after the others its code and data are cold, which must not fall to the call without steps alone
            sim.reset()
            sim.run(FIRST)
            for steps in (0, STEPS):
                time_one(name, sim, steps)
        rounds += 1
    result = {}
    for name, sim in (sims | {"catena batch": batch}).items():
        call, whole = best[name, 0], best[name, STEPS]
        members = MEMBERS if sim is batch else 1
        result[name] = {"us_per_step": 1e6 * (whole - call) / (STEPS * members), "us_per_call": 1e6 * call}
        if isinstance(sim, Catena | CatenaBatch):
            counts = sim.done.iterations
            result[name]["increments"] = float(counts.mean())
            result[name][f"increments_first_{FIRST}"] = float(counts[..., :FIRST].mean())
    return result


def main() -> int:
    """Check, measure, print and write versus_robots.csv."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", help=f"from {', '.join(map(repr, SCENES))}; default all")
    parser.add_argument("--seconds", type=float, default=10.0, help="per scene and step (default %(default)s)")
    parser.add_argument("--core", type=int, default=(os.cpu_count() or 1) - 1, help="to run on (default the last)")
    parser.add_argument("--output", type=Path, help="folder; default results/<machine>")
    args = parser.parse_args()
    unknown = set(args.scenes) - SCENES.keys()
    if unknown:
        parser.error(f"there is no scene {min(unknown)!r}, only {', '.join(map(repr, SCENES))}")
    os.sched_setaffinity(0, {args.core})

    names = importable()
    place = args.output or folder()
    place.mkdir(parents=True, exist_ok=True)
    print(f"catena {ct.__version__}, kernel {ct.info()['kernel']}")
    rows = []
    for scene in args.scenes or SCENES:
        off = agreement(scene, names)
        for name, (one, two, limit) in off.items():
            print(f"{scene}: {name} is {one:.1e} from catena at 0.1 ms, {two:.1e} at 0.05 ms, tends to {limit:.1e}")
            if not limit < CLOSE:
                raise AssertionError(f"{scene}: {name} moves otherwise than catena")
        for dt in (2e-3, 1e-3):
            taken = times(scene, names, dt, args.seconds)
            us = {name: row["us_per_step"] for name, row in taken.items()}
            fastest = min((t for name, t in us.items() if not name.startswith("catena")), default=inf)
            for name, t in us.items():
                row: dict[str, Any] = {"scene": scene, "dt": dt, "engine": name, "us_per_step": round(t, 3)}
                row["of_the_fastest_other"] = round(t / fastest, 3) if fastest < inf else ""
                row["of_catena_alone"] = round(t / us["catena"], 3)
                row["us_per_call"] = round(taken[name]["us_per_call"], 1)
                for key in ("increments", f"increments_first_{FIRST}"):
                    row[key] = round(taken[name][key], 3) if key in taken[name] else ""
                row["off_at_small_steps"] = f"{off[name][2]:.1e}" if name in off else ""
                row["kernel"] = ct.info()["kernel"] if name.startswith("catena") else ""
                rows.append(row)
                print(", ".join(f"{key} {value}" for key, value in row.items() if value != ""), flush=True)
    with (place / "versus_robots.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
