"""What contacts with friction cost: chains with one on every link, and a quadruped on its feet, compared with MuJoCo.

    taskset -c 1 python benchmarks/friction.py chains    # in parts of the same chain without contacts
    taskset -c 1 python benchmarks/friction.py dog       # in parts of its own step in the air, and of mj_step

Costs are CPU times of this thread, the least of many rounds in which all variants take turns.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable

import numpy as np

import catena as ct

warnings.simplefilter("ignore", ct.AccuracyWarning)


def least(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each, the least of so many rounds."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(rounds):
        for name, work in works.items():
            begin = time.thread_time()
            work()
            best[name] = min(best[name], time.thread_time() - begin)
    return best


def chain(count: int, friction: float | None, height: float, speed: float) -> ct.Mechanism:
    """Rods of 1 m and 1 kg in a row on hinges, with a ball of 0.05 m at each joint, so high above the floor."""
    m, last = ct.Mechanism(), ""
    inertia = ct.Inertia(1.0, np.diag((0.02 / 12, 1.01 / 12, 1.01 / 12)))
    for k in range(count):
        name = f"rod{k}"
        m.add_body(name, inertia, position=(k + 0.5, 0, height + 0.05), velocity=(speed, 0, 0))
        if last:
            m.add_joint(ct.Revolute(last, name, axis=(0, 1, 0), at=(k, 0, height + 0.05)))
        for x in (k, k + 1) if k == 0 else (k + 1,):
            if friction is not None:
                m.add_contact(name, at=(x, 0, height + 0.05), radius=0.05, friction=friction)
        last = name
    return m


def chains(rounds: int) -> None:
    """Of 10, 100 and 1000 links: far above the floor, lying on it, and sliding along it."""
    for count, steps in ((10, 1000), (100, 100), (1000, 20)):

        def run(m: ct.Mechanism, steps: int = steps) -> Callable[[], object]:
            simulator = ct.Simulator(m, 0.001, on_inaccurate="ignore")
            return lambda: simulator.run(steps=steps, record_every=steps)

        best = least(
            {
                "none": run(chain(count, None, 1000.0, 0.0)),
                "open": run(chain(count, 0.5, 1000.0, 0.0)),
                "sticking": run(chain(count, 0.5, 0.0, 0.0)),
                "sliding": run(chain(count, 0.1, 0.0, 30.0)),
            },
            rounds,
        )
        parts = ", ".join(f"{name} {best[name] / best['none']:.2f}" for name in ("open", "sticking", "sliding"))
        print(
            f"{count:5d} links: {1e9 * best['none'] / steps / count:.0f} ns a link and step without; {parts}",
            flush=True,
        )


def dog(height: float, *, feet: bool = True) -> ct.Mechanism:
    """The quadruped with balls of 0.02 m as feet, so high above the floor."""
    m = ct.scenes.quadruped()
    for name in [name for name in m.bodies if name.endswith("shank") and feet]:
        at = m.bodies[name].position - (0, 0, 0.1)
        m.add_contact(name, at=at, radius=0.02, point=(0, 0, at[2] - 0.02 - height), friction=0.8)
    return m


def dogs(rounds: int) -> None:
    """Standing, in the air with feet and without, and MuJoCo's step of the same model."""
    steps, dt = 500, 0.002

    def run(m: ct.Mechanism, settle: float) -> Callable[[], object]:
        simulator = ct.Simulator(m, dt, on_inaccurate="ignore")
        start = simulator.run(duration=settle)[-1] if settle else None
        return lambda: simulator.run(state=start, steps=steps, record_every=steps)

    works = {
        "air": run(dog(1000.0, feet=False), 0),
        "open": run(dog(1000.0), 0),
        "stands": run(dog(0.02), 2.0),
    }
    works |= mujoco_steps(dt, steps)
    best = least(works, rounds)
    for name, seconds in best.items():
        print(f"{name:20s} {1e6 * seconds / steps:.2f} us a step, {seconds / best['air']:.2f} of that in the air")


def mujoco_steps(dt: float, steps: int) -> dict[str, Callable[[], object]]:
    """Of the standing quadruped with both kinds of friction cones; nothing if MuJoCo is missing."""
    try:
        import mujoco
    except ImportError:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "dog.xml")
        ct.scenes.quadruped().to_mjcf(path)
        found: dict[str, Callable[[], object]] = {}
        for cone in (mujoco.mjtCone.mjCONE_PYRAMIDAL, mujoco.mjtCone.mjCONE_ELLIPTIC):
            spec = mujoco.MjSpec.from_file(path)
            for geom in spec.geoms:
                geom.contype = geom.conaffinity = 0
            lowest = 0.0
            for body in spec.bodies:
                if body.name.endswith("shank"):
                    body.add_geom(
                        type=mujoco.mjtGeom.mjGEOM_SPHERE,
                        size=(0.02, 0, 0),
                        pos=(0, 0, -0.1),
                        mass=0.0,
                        friction=(0.8, 0, 0),
                    )
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_PLANE, size=(5, 5, 0.1), pos=(0, 0, lowest - 0.44), friction=(0.8, 0, 0)
            )
            model = spec.compile()
            model.opt.timestep, model.opt.cone = dt, cone
            data = mujoco.MjData(model)
            for _ in range(1000):
                mujoco.mj_step(model, data)

            def go(model: object = model, data: object = data) -> None:
                for _ in range(steps):
                    mujoco.mj_step(model, data)

            found[f"mj_step {cone.name[7:].lower()}"] = go
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("chains", "dog"))
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    {"chains": chains, "dog": dogs}[given.what](given.rounds)


if __name__ == "__main__":
    main()
