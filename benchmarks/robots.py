"""What a step of a robot costs beside MuJoCo's mj_step: arms, hands and legs, with loops and ties or without.

Reads the MJCF files that are given on the command line, starts both where the file puts the bodies, and lets three ways
take turns: `run` (one call for all steps), `Live.step` and `mj_step` (one call a step; Euler, contacts
and limits off). CPU time of this thread, the least of many rounds; the ratios of one line belong to the same rounds.

    taskset -c 1 python benchmarks/robots.py MENAGERIE/agility_cassie/cassie.xml MENAGERIE/unitree_go1/go1.xml
"""

from __future__ import annotations

import argparse
import csv
import re
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np

import catena as ct
from catena.describe.limits import without_limits

DT = 0.002

Way = Callable[[], object]


def read(path: Path, folder: Path) -> tuple[ct.Mechanism, mujoco.MjModel]:
    """The robot here and there; meshes, which neither needs, are left out, as they may be missing."""
    source = path.read_text()
    source = re.sub(r"<geom[^>]*\bmesh=[^>]*/>", "", source)
    source = re.sub(r"<geom[^>]*\bclass=\"(visual|collision)\"[^>]*type=\"mesh\"[^>]*/>", "", source)
    source = re.sub(r"<(mesh|texture|material|exclude)\b[^>]*/>", "", source)
    source = re.sub(r"\bmaterial=\"[^\"]*\"", "", source)
    source = re.sub(r"<keyframe>.*?</keyframe>", "", source, flags=re.DOTALL)
    source = re.sub(r"<sensor>.*?</sensor>", "", source, flags=re.DOTALL)
    plain = folder / path.name
    plain.write_text(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mechanism = ct.Mechanism.from_mjcf(plain)
    model = mujoco.MjModel.from_xml_path(str(plain))
    model.opt.timestep = DT
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT)
    return mechanism, model


def at_rest(mechanism: ct.Mechanism) -> ct.State:
    """The pose of the file, closed, whatever its limits."""
    mechanism = without_limits(mechanism)
    return mechanism.assemble() if mechanism.spanning_tree().loops or mechanism.couplings else mechanism.state()


def spent(work: Way) -> float:
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def least(mechanism: ct.Mechanism, model: mujoco.MjModel, steps: int, rounds: int) -> dict[str, float]:
    """CPU time of a step (us) by each way, without what a call or a start costs once."""
    state = at_rest(mechanism)
    simulate = ct.Simulator(mechanism, DT, limits="ignore", on_inaccurate="ignore")
    first, data = simulate.start(state), mujoco.MjData(model)
    short = steps // 10

    def run(count: int) -> int:
        return int(simulate.run(steps=count, state=state, record_every=count).iterations.sum())

    def step(live: ct.Live) -> None:
        for _ in range(steps):
            live.step()

    def mj() -> None:
        for _ in range(steps):
            mujoco.mj_step(model, data)

    loops, ties = len(mechanism.spanning_tree().loops), len(mechanism.couplings)
    increments = (run(steps) - run(short)) / (steps - short)
    print(f"{len(mechanism.bodies)} bodies, {loops} loops, {ties} ties, {increments:.2f} increments a step")
    best = dict.fromkeys(("long", "short", "live", "mj_step"), np.inf)
    for _ in range(rounds):
        live = first.copy()
        mujoco.mj_resetData(model, data)
        found = {
            "long": spent(lambda: run(steps)),
            "short": spent(lambda: run(short)),
            "live": spent(lambda live=live: step(live)),
            "mj_step": spent(mj),
        }
        best = {name: min(value, found[name]) for name, value in best.items()}
    return {
        "run": 1e6 * (best["long"] - best["short"]) / (steps - short),
        "live": 1e6 * best["live"] / steps,
        "mj_step": 1e6 * best["mj_step"] / steps,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs="+", help="MJCF files of robots")
    parser.add_argument("--steps", type=int, default=500, help="in a round, all from the file's pose")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", type=Path, help="a csv to write")
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    for path in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{path.stem}: ", end="")
            us = least(*read(path, Path(folder)), arguments.steps, arguments.rounds)
        row: dict[str, object] = {"model": path.stem} | {f"{name}_us": round(value, 2) for name, value in us.items()}
        row |= {f"{name}_ratio": round(us[name] / us["mj_step"], 3) for name in ("run", "live")}
        print("  " + ", ".join(f"{name} {value:.2f} us" for name, value in us.items()), end="; beside mj_step: ")
        print(f"run {row['run_ratio']}, live {row['live_ratio']}", flush=True)
        rows.append(row)
    if arguments.out:
        with arguments.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
