"""What a step of public robots costs beside MuJoCo: one at a time from Python, in one call, and in batches.

Both read the same MJCF files, with their servos, from a checkout of google-deepmind/mujoco_menagerie, and start in the
pose of the file; contacts and limits are off in both. All ways take turns. CPU time of the process, which has one
thread, the least of many rounds:

    taskset -c 1 python benchmarks/versus/public_robots.py MENAGERIE
"""

from __future__ import annotations

import argparse
import copy
import csv
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import mujoco.batch
import mujoco.rollout
import numpy as np
from numpy.typing import NDArray

import catena as ct

# before this folder, whose robots.py is another
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from machine import folder
from robots import DT, at_rest, read

ROBOTS = {
    "Panda": "franka_emika_panda/panda.xml",
    "ANYmal C": "anybotics_anymal_c/anymal_c.xml",
    "Cassie": "agility_cassie/cassie.xml",
    "H1 (humanoid)": "unitree_h1/h1.xml",
}
# what MuJoCo 4 has for such models; `implicit` and RK4 cost more
INTEGRATORS = ("EULER", "IMPLICITFAST", "DISCRETE")
# members start where one motion is after so many steps each
MEMBERS, APART = 64, 5

Way = Callable[[], object]


def single_ways(mechanism: ct.Mechanism, model: mujoco.MjModel, steps: int) -> dict[str, Way]:
    """One mechanism, from its pose: every way takes so many steps."""
    state = at_rest(mechanism)
    simulator = ct.Simulator(mechanism, DT, limits="ignore", on_inaccurate="ignore")
    first = simulator.start(state)

    def live() -> None:
        one = first.copy()
        for _ in range(steps):
            one.step()

    def step(own: mujoco.MjModel, data: mujoco.MjData) -> None:
        mujoco.mj_resetData(own, data)
        for _ in range(steps):
            mujoco.mj_step(own, data)

    def native(own: mujoco.MjModel, data: mujoco.MjData) -> None:
        mujoco.mj_resetData(own, data)
        mujoco.mj_step(own, data, nstep=steps)

    ways: dict[str, Way] = {
        "catena Live.step": live,
        "catena Live.step(n)": lambda: first.copy().step(steps),
    }
    for name in INTEGRATORS:
        own = with_integrator(model, name)
        data = mujoco.MjData(own)
        ways[f"mj_step, {name.lower()}"] = partial(step, own, data)
        ways[f"mj_step(nstep), {name.lower()}"] = partial(native, own, data)
    return ways


def batch_ways(mechanism: ct.Mechanism, model: mujoco.MjModel, steps: int) -> dict[str, Way]:
    """Many members on one thread: every way takes so many steps of each."""
    simulator = ct.Simulator(mechanism, DT, limits="ignore", on_inaccurate="ignore")
    run = simulator.run(steps=MEMBERS * APART, state=at_rest(mechanism), record_every=APART)
    states = [run[k].copy() for k in range(MEMBERS)]
    for state in states:
        state.time = 0.0
    batch = simulator.start_batch(states=states, threads=1)

    def live() -> None:
        batch.reset(range(MEMBERS))
        batch.step(steps)

    ways: dict[str, Way] = {
        "catena run_batch": lambda: simulator.run_batch(states=states, steps=steps, record_every=steps, threads=1),
        "catena LiveBatch": live,
    }
    for name in INTEGRATORS:
        own = with_integrator(model, name)
        data = mujoco.MjData(own)
        rows, poses, rates = [], [], []
        for _ in range(MEMBERS):
            row = np.empty(mujoco.mj_stateSize(own, mujoco.mjtState.mjSTATE_FULLPHYSICS))
            mujoco.mj_getState(own, data, row, mujoco.mjtState.mjSTATE_FULLPHYSICS)
            rows.append(row)
            poses.append(data.qpos.copy())
            rates.append(data.qvel.copy())
            mujoco.mj_step(own, data, nstep=APART)
        starts = np.array(rows)
        ways[f"mujoco.rollout, {name.lower()}"] = partial(
            mujoco.rollout.rollout, [own], [data], starts, nstep=steps, persistent_pool=False
        )
        many = mujoco.batch.Batch(own, MEMBERS, nthread=1, persistent=True)
        ways[f"mujoco.batch, {name.lower()}"] = partial(step_batch, many, np.array(poses), np.array(rates), steps)
    return ways


def step_batch(many: mujoco.batch.Batch, poses: NDArray[np.float64], rates: NDArray[np.float64], steps: int) -> None:
    """Every member from its start."""
    many.reset(stage=0)
    many.bind("qpos")[:], many.bind("qvel")[:] = poses, rates
    many.step(nstep=steps)


def with_integrator(model: mujoco.MjModel, name: str) -> mujoco.MjModel:
    """A copy of a model that steps otherwise."""
    own = copy.copy(model)
    own.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{name}")
    return own


def least(ways: dict[str, Way], rounds: int, number: int) -> dict[str, float]:
    """CPU time of a step (us) by each way, which take turns."""
    best = dict.fromkeys(ways, np.inf)
    for _ in range(rounds):
        for name, way in ways.items():
            begun = time.process_time()
            way()
            best[name] = min(best[name], 1e6 * (time.process_time() - begun) / number)
    return best


def main() -> int:
    """Measure, print and write versus_public_robots.csv."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("menagerie", type=Path, help="a checkout of google-deepmind/mujoco_menagerie")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--steps", type=int, default=500, help="of one mechanism; of members a fifth of that")
    parser.add_argument("--output", type=Path, help="folder; default results/<machine>")
    args = parser.parse_args()
    place = args.output or folder()
    place.mkdir(parents=True, exist_ok=True)
    versions = f"catena {ct.__version__}, kernel {ct.info()['kernel']}; MuJoCo {mujoco.__version__}"
    print(versions)
    rows: list[dict[str, Any]] = []
    for robot, file in ROBOTS.items():
        with tempfile.TemporaryDirectory() as scratch:
            mechanism, model = read(args.menagerie / file, Path(scratch))
        members = args.steps // 5
        groups = {
            "one": least(single_ways(mechanism, model, args.steps), args.rounds, args.steps),
            "batch": least(batch_ways(mechanism, model, members), max(3, args.rounds // 3), members * MEMBERS),
        }
        for group, found in groups.items():
            for way, us in found.items():
                row: dict[str, Any] = {"robot": robot, "group": group, "way": way, "us_per_step": round(us, 2)}
                for other in [name for name in found if "euler" in name]:
                    kind = other.split(",")[0].replace("mujoco.", "")
                    row[f"of_{kind}"] = round(us / found[other], 3)
                rows.append(row | {"dt": DT, "versions": versions})
                print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    names = list(dict.fromkeys(key for row in rows for key in row))
    with (place / "versus_public_robots.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, names, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
