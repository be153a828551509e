"""One step at a time from Python: what a loop around the simulator pays, beside MuJoCo's mj_step if that is installed.

A chain of hinges with a motor on each; in every step all inputs are set and all coordinates and rates read. Then 1024
chains at once, beside a whole `run_batch` and MuJoCo's `rollout`, all on one thread. CPU time, best of many, all ways
in turn in one run: pin it (`taskset -c 1 python benchmarks/live.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from catena import Live, LiveBatch, Motor, Simulator, scenes

STEPS, ROUNDS, DT = 1000, 30, 1e-3

Way = Callable[[int], None]


def chain(n: int) -> Simulator:
    m = scenes.pendulum(n, "revolute", angle=0.5)
    for joint in m.joints:
        m.add_force(Motor(joint, 0.0))
    return Simulator(m, DT)


def loops_around(live: Live | LiveBatch) -> tuple[Way, Way]:
    """Steps alone, and with inputs set and joint space read."""
    torque = np.zeros_like(live.inputs)

    def step(count: int) -> None:
        for _ in range(count):
            live.step()

    def closed(count: int) -> None:
        for _ in range(count):
            live.inputs[:] = torque
            live.step()
            live.coordinates, live.rates  # noqa: B018

    return step, closed


def catena_ways(n: int) -> dict[str, Way]:
    simulate = chain(n)
    step, closed_loop = loops_around(simulate.start())

    def run(count: int) -> None:
        simulate.run(steps=count, record_every=count)

    def empty(t: float, live: Live) -> None:
        pass

    def reading(t: float, live: Live) -> None:
        live.inputs[0] = -0.1 * live.coordinates[0]

    def under(control: Callable[[float, Live], object]) -> Way:
        return lambda count: (simulate.run(steps=count, record_every=count, control=control), None)[1]

    forces, by_name = np.zeros((n, 6)), {name: (0.0, 0.0, 0.0) for name in simulate.mechanism.bodies}
    holding = simulate.start()

    def hold(count: int) -> None:
        for _ in range(count):
            holding.hold(forces)
            holding.step()

    return {
        "run": run,
        "run, empty control": under(empty),
        "run, control that reads and sets": under(reading),
        "run, control that returns an array": under(lambda t, live: forces),
        "run, control that returns by name": under(lambda t, live: by_name),
        "live.step": step,
        "live, hold and step": hold,
        "live, inputs and joint space": closed_loop,
        "run of one step": lambda count: [simulate.run(steps=1) for _ in range(max(count // 100, 1))] and None,
    }


def mujoco_model(n: int) -> Any:
    """The same chain, or None without MuJoCo."""
    try:
        import mujoco
    except ImportError:
        return None
    links = "".join(
        f'<body pos="0 0 {0 if k == 0 else -1}"><joint name="j{k}" type="hinge" axis="1 0 0"/>'
        f'<geom type="box" size="0.05 0.05 0.5" pos="0 0 -0.5" mass="1" contype="0" conaffinity="0"/>'
        for k in range(n)
    )
    motors = "".join(f'<motor joint="j{k}"/>' for k in range(n))
    xml = f'<mujoco><option timestep="{DT}"/><worldbody>{links}{"</body>" * n}</worldbody><actuator>{motors}</actuator>'
    return mujoco.MjModel.from_xml_string(xml + "</mujoco>")


def mujoco_ways(n: int) -> dict[str, Way]:
    model = mujoco_model(n)
    if model is None:
        return {}
    import mujoco

    data, torque = mujoco.MjData(model), np.zeros(n)
    data.qpos[0] = 0.5

    def step(count: int) -> None:
        for _ in range(count):
            mujoco.mj_step(model, data)

    def closed_loop(count: int) -> None:
        for _ in range(count):
            data.ctrl[:] = torque
            mujoco.mj_step(model, data)
            data.qpos, data.qvel  # noqa: B018

    return {"mj_step": step, "mj_step, ctrl, qpos and qvel": closed_loop}


MEMBERS, BATCH_LINKS, BATCH_STEPS = 1024, 10, 40


def batch_ways() -> dict[str, Way]:
    simulate = chain(BATCH_LINKS)
    states, torque = [simulate.mechanism.state()] * MEMBERS, np.zeros((MEMBERS, BATCH_LINKS))
    step, closed_loop = loops_around(simulate.start_batch(states, threads=1))
    sizes = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}
    room: dict[int, dict[str, np.ndarray]] = {}

    def whole(count: int) -> None:
        # into arrays that are there: new ones would have the system clear as many pages
        if count not in room:
            room[count] = {name: np.zeros((MEMBERS, count + 1, BATCH_LINKS, size)) for name, size in sizes.items()}
            room[count]["time"] = np.zeros((MEMBERS, count + 1))
        simulate.run_batch(states=states, steps=count, threads=1, out=room[count])

    ways: dict[str, Way] = {
        "run_batch, every node recorded": whole,
        "live batch": step,
        "live batch, inputs and joint space": closed_loop,
    }
    model = mujoco_model(BATCH_LINKS)
    if model is None:
        return ways
    import mujoco
    from mujoco import rollout

    data = mujoco.MjData(model)
    data.qpos[0] = 0.5
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    first = np.empty(size)
    mujoco.mj_getState(model, data, first, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    members = np.tile(first, (MEMBERS, 1))
    out = np.empty((MEMBERS, 1, size))

    def roll(count: int) -> None:
        now = members
        for _ in range(count):
            rollout.rollout(model, data, now, torque[:, None], state=out)
            now = out[:, 0].copy()

    return ways | {
        "rollout, one step at a time": roll,
        "rollout": lambda count: (
            rollout.rollout(model, data, members, np.zeros((MEMBERS, count, BATCH_LINKS))),
            None,
        )[1],
    }


def best_of(ways: dict[str, Way], steps: int, rounds: int) -> dict[str, float]:
    """CPU seconds of every way."""
    best = dict.fromkeys(ways, np.inf)
    for _ in range(rounds):
        for name, way in ways.items():
            # of all threads: run_batch computes on one of its own
            begun = time.process_time()
            way(steps)
            best[name] = min(best[name], time.process_time() - begun)
    return best


def main() -> None:
    for n in (2, 10, 50):
        print(f"{n} links")
        for name, seconds in best_of(catena_ways(n) | mujoco_ways(n), STEPS, ROUNDS).items():
            steps = STEPS // 100 if name == "run of one step" else STEPS
            print(f"  {name:34}{1e6 * seconds / steps:8.2f} us")
    print(f"{MEMBERS} chains of {BATCH_LINKS} links, per link and step")
    ways = batch_ways()
    few, many = best_of(ways, BATCH_STEPS, ROUNDS // 3), best_of(ways, 4 * BATCH_STEPS, ROUNDS // 3)
    for name in ways:
        # without what a call costs by itself
        spent = (many[name] - few[name]) / (3 * BATCH_STEPS * MEMBERS * BATCH_LINKS)
        print(f"  {name:34}{1e9 * spent:8.1f} ns")


if __name__ == "__main__":
    main()
