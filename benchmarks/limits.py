"""Cost of joint limits beside MuJoCo's, and by how much each is passed, when all of them act.

A chain of hinges begins straight, 0.5 rad below the horizontal, with every hinge at its upper limit, 0 rad: gravity
presses all of them against it. Both engines settle for two seconds and then take steps in turns. CPU time of this
thread, the least of many rounds; one call a step (`Live.step`, `mj_step`).

    taskset -c 1 python benchmarks/limits.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import mujoco
import numpy as np

import catena as ct

DT, SETTLE = 0.002, 1000
MASS, LENGTH, RADIUS = 1.0, 0.2, 0.02
START = 0.5


def chain(count: int) -> ct.Mechanism:
    """Rods in a row, whose hinges may turn up by 2 / count rad."""
    m, last = ct.Mechanism(), "world"
    along = np.array((np.cos(START), 0.0, -np.sin(START)))
    for k in range(count):
        start = k * LENGTH * along
        m.add_body(f"link{k}", ct.rod(start, start + LENGTH * along, mass=MASS, radius=RADIUS))
        m.add_joint(ct.Revolute(last, f"link{k}", axis=(0, 1, 0), at=start, name=f"hinge{k}"))
        m.joints[f"hinge{k}"].limits = ct.Limits(-2 / count, 0.0)
        last = f"link{k}"
    return m


def same_chain(count: int, timeconst: float) -> mujoco.MjModel:
    """The same for MuJoCo, its limits with this time constant (s)."""
    m = chain(count)
    body = m.bodies["link0"]
    moments = np.linalg.eigvalsh(body.inertia.tensor)
    # a rod along x
    inertia = f"{moments[0]:.17g} {moments[1]:.17g} {moments[2]:.17g}"
    text, ends = "", ""
    for k in range(count):
        turn = f' euler="0 {START} 0"' if k == 0 else ""
        text += f'<body pos="{LENGTH if k else 0} 0 0"{turn}><joint type="hinge" axis="0 1 0" limited="true" '
        text += f'range="{-2 / count} 0" solreflimit="{timeconst} 1"/>'
        text += f'<inertial pos="{0.5 * LENGTH} 0 0" mass="{MASS}" diaginertia="{inertia}"/>'
        ends += "</body>"
    option = f'<option timestep="{DT}" integrator="Euler" gravity="0 0 -9.81"/><compiler angle="radian"/>'
    return mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{text}{ends}</worldbody></mujoco>")


def spent(work: Callable[[], object]) -> float:
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def measure(count: int, steps: int, rounds: int) -> None:
    """Print the times of a chain, and by how much limits are passed."""
    m = chain(count)
    simulator = ct.Simulator(m, DT, on_inaccurate="ignore")
    settled = simulator.run(steps=SETTLE, record_every=SETTLE)[-1]
    first = simulator.start(settled)
    models = {f"timeconst {t:g} s": same_chain(count, t) for t in (0.02, 2 * DT)}
    data = {name: mujoco.MjData(model) for name, model in models.items()}
    for name, model in models.items():
        mujoco.mj_step(model, data[name], SETTLE)
    kept = {name: mujoco.MjData(model) for name, model in models.items()}
    for name, model in models.items():
        mujoco.mj_copyData(kept[name], model, data[name])

    def live_steps(live: ct.Live) -> None:
        for _ in range(steps):
            live.step()

    def mj_steps(name: str) -> None:
        for _ in range(steps):
            mujoco.mj_step(models[name], data[name])

    best: dict[str, float] = {}
    for _ in range(rounds):
        live = first.copy()
        found = {"live": spent(lambda live=live: live_steps(live))}
        for name, model in models.items():
            mujoco.mj_copyData(data[name], model, kept[name])
            found[name] = spent(lambda name=name: mj_steps(name))
        best = {name: min(value, best.get(name, np.inf)) for name, value in found.items()}

    upper = 0.0
    whole = simulator.run(steps=SETTLE + steps)
    angles = np.stack([whole.joint(name).angle for name in m.joints], axis=1)
    held = int(whole.joint("hinge0").stop[-2] != 0) and int(sum(whole.joint(name).stop[-2] != 0 for name in m.joints))
    print(f"{count} hinges, {held} held: live {1e6 * best['live'] / steps:.2f} us")
    print(f"  limits passed by at most {max(angles.max() - upper, -2 / count - angles.min(), 0):.1e} rad at any node")
    for name, model in models.items():
        us = 1e6 * best[name] / steps
        over = kept[name].qpos.max() - upper
        fresh, most = mujoco.MjData(model), 0.0
        for _ in range(SETTLE):
            mujoco.mj_step(model, fresh)
            most = max(most, fresh.qpos.max() - upper, -2 / count - fresh.qpos.min())
        print(
            f"  mj_step, {name}: {us:.2f} us; live {best['live'] / best[name]:.2f} "
            f"of it; {kept[name].nefc} limits active, passed by {over:.1e} rad at rest, {most:.1e} rad on the way"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=25)
    arguments = parser.parse_args()
    print(f"catena {ct.__version__}, MuJoCo {mujoco.__version__}, dt {DT} s, order 2 and Euler")
    for count in (10, 100):
        measure(count, arguments.steps, arguments.rounds)


if __name__ == "__main__":
    main()
