"""Whether public robots stay within their limits: each hangs and swings passively, with its limits and without.

What drives a robot is taken out (motors and servos), and its base is held: there is no ground, and robots that float
would only fall. It starts in the pose of its file, or in the nearest one within its limits, `m.assemble()`, under a
gravity that points aside and down. See public_models.py for the files.

    python benchmarks/model_limits.py [--duration 10] [--collections FOLDER]
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from public_models import PUBLIC, MissingModelError, Public

import catena as ct

DT = 0.002

# m/s^2: aside as well, or legs that hang would stay where they are
GRAVITY = (4.0, 2.0, -8.7)

# of the wheels example-robot-data, dm_control and gymnasium
MODELS = [
    "panda.urdf",
    "ur5_robot.urdf",
    "kinova.urdf",
    "baxter.urdf",
    "allegro_left_hand.urdf",
    "xarm7.urdf",
    "tiago.urdf",
    "anymal.urdf",
    "solo12.urdf",
    "icub_reduced.urdf",
    "talos_reduced.urdf",
    "ant.xml",
    "half_cheetah.xml",
    "walker2d_v5.xml",
    "humanoid.xml",
    "dog.xml",
    "humanoid_CMU.xml",
]


def passive(model: Public, collections: Path | None) -> ct.Mechanism:
    """The robot without what drives it, held by its base."""
    mechanism = model.load(collections)[0]
    mechanism.gravity = GRAVITY
    for name in [name for name in mechanism.joints if name.startswith("root")]:
        mechanism.remove_joint(name)
    for base in mechanism.spanning_tree().floating:
        place = mechanism.bodies[base.name].position
        mechanism.add_joint(ct.Fixed("world", base.name, at=place, name=f"stand of {base.name}"))
    for name in [name for name, force in mechanism.forces.items() if isinstance(force, ct.Motor | ct.Servo)]:
        mechanism.remove_force(name)
    return mechanism


def beyond(run: ct.Trajectory) -> tuple[float, float, float]:
    """Parts of the nodes beyond a limit by more than 1e-9, and the largest amounts in rad and in m."""
    out, most = np.zeros(len(run), dtype=bool), {True: 0.0, False: 0.0}
    for name, joint in run.mechanism.joints.items():
        for key, limits in joint.limits.items():
            index = joint.names.index(key)
            q = run.joint(name).coordinates[:, index]
            over = np.maximum(np.maximum(q - limits.upper, limits.lower - q), 0.0)
            out |= over > 1e-9
            most[index in joint.angles] = max(most[index in joint.angles], float(over.max()))
    return float(out.mean()), most[True], most[False]


def row(model: Public, duration: float, collections: Path | None) -> str:
    """A line of the table."""
    mechanism = passive(replace(model, floating=False), collections)
    state = mechanism.assemble()
    cells = []
    for limits in ("enforce", "ignore"):
        simulator = ct.Simulator(mechanism, DT, limits=limits, on_inaccurate="ignore", on_failure="stop")  # type: ignore[arg-type]
        begin = time.thread_time()
        run = simulator.run(duration=duration, state=state)
        spent = time.thread_time() - begin
        whole = "" if run.status.ok else f", ended at {run.time[-1]:.2f} s ({run.status.reason})"
        # limits are those of the file, whether the run has them or not
        seen = ct.Trajectory(mechanism.snapshot("trajectory"), run.nodes, run.made) if limits == "ignore" else run
        part, angle, length = beyond(seen)
        amounts = f"{angle:.1e} rad" if angle < 1e-6 else f"{angle:.3g} rad"
        amounts += f", {length:.2g} m" if length > 0 else ""
        counts = f"{len(run.impacts)} ({run.caught_count})" if limits == "enforce" else ""
        cells += [f"{100 * part:.3g} %", amounts + whole, *([counts] if counts else []), f"{spent / duration:.3f}"]
    ranges = len(mechanism.report(state).ranges)
    return f"| {model.file.split('/')[-1]} | {ranges} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=10.0, help="s")
    parser.add_argument("--collections", type=Path)
    parser.add_argument("--models", nargs="*", default=MODELS, help="names of files")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| model | limits | beyond | most | impacts (caught) | real time | ignored: beyond | most | real time |")
    print("|---|---|---|---|---|---|---|---|---|")
    for model in PUBLIC:
        if model.file.split("/")[-1] not in arguments.models:
            continue
        try:
            print(row(model, arguments.duration, arguments.collections), flush=True)
        except MissingModelError as error:
            print(f"{model.name}: {error}")


if __name__ == "__main__":
    main()
