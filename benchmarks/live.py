"""One step at a time from Python: what a loop around the simulator pays, beside MuJoCo's mj_step if that is installed.

A chain of hinges with a motor on each; in every step all inputs are set and all coordinates and rates read. CPU time of
the calling thread, best of many, all ways in turn in one run: pin it (`taskset -c 1 python benchmarks/live.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from catena import Live, Motor, Simulator, scenes

STEPS, ROUNDS, DT = 1000, 30, 1e-3

Way = Callable[[int], None]


def catena_ways(n: int) -> dict[str, Way]:
    m = scenes.pendulum(n, "revolute", angle=0.5)
    for joint in m.joints:
        m.add_force(Motor(joint, 0.0))
    simulate = Simulator(m, DT)
    live, torque = simulate.start(), np.zeros(n)

    def step(count: int) -> None:
        for _ in range(count):
            live.step()

    def closed_loop(count: int) -> None:
        for _ in range(count):
            live.input[:] = torque
            live.step()
            live.coordinates, live.rates  # noqa: B018

    def run(count: int) -> None:
        simulate.run(steps=count, record_every=count)

    def empty(t: float, live: Live) -> None:
        pass

    def reading(t: float, live: Live) -> None:
        live.input[0] = -0.1 * live.coordinates[0]

    def under(control: Callable[[float, Live], None]) -> Way:
        return lambda count: (simulate.run(steps=count, record_every=count, control=control), None)[1]

    return {
        "run": run,
        "run, empty control": under(empty),
        "run, control that reads and sets": under(reading),
        "live.step": step,
        "live, inputs and joint space": closed_loop,
        "run of one step": lambda count: [simulate.run(steps=1) for _ in range(max(count // 100, 1))] and None,
    }


def mujoco_ways(n: int) -> dict[str, Way]:
    try:
        import mujoco
    except ImportError:
        return {}
    links = "".join(
        f'<body pos="0 0 {0 if k == 0 else -1}"><joint name="j{k}" type="hinge" axis="1 0 0"/>'
        f'<geom type="box" size="0.05 0.05 0.5" pos="0 0 -0.5" mass="1" contype="0" conaffinity="0"/>'
        for k in range(n)
    )
    motors = "".join(f'<motor joint="j{k}"/>' for k in range(n))
    xml = f'<mujoco><option timestep="{DT}"/><worldbody>{links}{"</body>" * n}</worldbody><actuator>{motors}</actuator>'
    model = mujoco.MjModel.from_xml_string(xml + "</mujoco>")
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


def main() -> None:
    for n in (2, 10, 50):
        ways = catena_ways(n) | mujoco_ways(n)
        best = dict.fromkeys(ways, np.inf)
        for _ in range(ROUNDS):
            for name, way in ways.items():
                begun = time.thread_time()
                way(STEPS)
                best[name] = min(best[name], time.thread_time() - begun)
        print(f"{n} links")
        for name, seconds in best.items():
            steps = STEPS // 100 if name == "run of one step" else STEPS
            print(f"  {name:34}{1e6 * seconds / steps:8.2f} us")


if __name__ == "__main__":
    main()
