"""Models that others made: what each is here, how well it closes, what a step costs, and whether it moves as it should.

Writes docs/models.md. Trees are compared with MuJoCo, Runge-Kutta at 0.1 ms without contacts and limits: MJCF files as
they are, others as `to_mjcf` writes them. Loops, which are soft in MuJoCo, are compared with themselves at steps
sixteen times as short. Pin it: `taskset -c 1 python benchmarks/models.py`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import catena as ct

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from known_models import MODELS, MissingModelError, Model  # noqa: E402

DURATION, SPAN = 10.0, 0.4
HEAD = """# Models of others

Made by `python benchmarks/models.py`. Every model is read, assembled and run for 10 s; robots are in the air or hung
up, because there is no contact. Files come from the wheels of example-robot-data, pybullet and gymnasium, and from
`tests/models`.

- **misfit**: by how much redundant numbers of the loops disagree in the assembled pose (`report().misfits`).
- **us/step**: CPU time of a step of the given length, on one core, records of every node included.
- **gap**: the largest of all joints and steps in 10 s (`run.drift()`).
- **agreement**: the largest difference of any joint coordinate (rad, m) or place of a body (m) after 0.4 s, and the
  factor by which it shrinks when the step is halved: 4 is second order. "MuJoCo" is its Runge-Kutta rule at 0.1 ms,
  without contacts and limits, from a random pose with random rates and inputs, against steps of 2 ms; it runs the MJCF
  itself, or what `to_mjcf` writes of others, with fixed links merged and without dry friction, which is a constraint
  there and smooth here. "itself" is the same run at a sixteenth of the step: for loops and couplings, which MuJoCo
  holds by soft constraints.

The feet of two Cassies cannot move: their files turn the plantar rods by 0.1 rad against the cranks they hang on.

| model | load ms | bodies | freedoms | loops | misfit m, rad | dt ms | us/step | gap m | agreement |
|---|---|---|---|---|---|---|---|---|---|
"""


def row(model: Model) -> str:
    load, mechanism = timed(model.load)
    state = model.set_up(mechanism)
    report = mechanism.report(state)
    simulator = ct.Simulator(mechanism, dt=model.dt)
    spent, run = timed(lambda: simulator.run(duration=DURATION, state=state))
    misfit = (
        "0"
        if not report.misfits
        else ", ".join(f"{max(found[k] for found in report.misfits.values()):.1g}" for k in range(2))
    )
    cells = (
        model.name,
        f"{1e3 * load:.0f}",
        f"{report.body_count}" + (f" ({len(report.massless)} massless)" if report.massless else ""),
        f"{report.freedom}",
        f"{len(report.loops)}",
        misfit,
        f"{1e3 * model.dt:g}",
        f"{1e6 * spent * model.dt / DURATION:.0f}",
        f"{run.drift()[1:].max():.0e}",
        agreement(model, mechanism, state),
    )
    return "| " + " | ".join(cells) + " |"


def timed(work):  # type: ignore[no-untyped-def]
    """CPU time and result, the best of three."""
    best = np.inf
    for _ in range(3):
        begin = time.thread_time()
        result = work()
        best = min(best, time.thread_time() - begin)
    return best, result


def agreement(model: Model, mechanism: ct.Mechanism, state: ct.State) -> str:
    if model.has_loops or mechanism.couplings:
        dt = model.dt

        def end(step: float) -> np.ndarray:
            return ct.Simulator(mechanism, dt=step).run(duration=SPAN, state=state).position[-1]

        fine = end(dt / 16)
        coarse, half = (float(np.abs(end(step) - fine).max()) for step in (dt, dt / 2))
        return f"itself {coarse:.0e}, {coarse / half:.2f}"
    coarse, half = (max(found.values()) for found in against_mujoco(model))
    return f"MuJoCo {coarse:.0e}, {coarse / half:.2f}"


def against_mujoco(model: Model) -> list[dict[str, float]]:
    """By how much every joint and body is elsewhere, at 2 ms and at 1 ms."""
    from mujoco_reference import Reference

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ModelWarning)
        path, mechanism = model.path(), model.load(merge_fixed=True)
        if path.suffix != ".xml":
            path = Path(folder) / "written.xml"
            for name in [name for name, force in mechanism.forces.items() if isinstance(force, ct.Friction)]:
                mechanism.remove_force(name)
            for body in mechanism.bodies.values():
                body.clear_shapes()  # meshes are not needed, and not all are of kinds that MuJoCo reads
            mechanism.to_mjcf(path)
            mechanism = ct.Mechanism.from_mjcf(path)
        reference, rng = Reference(path, mechanism), np.random.default_rng(7)
        state = reference.start(rng, angle=0.3, rate=1.0)
        inputs = reference.control(rng, model.control)
        reference.run(SPAN)
        found = []
        for dt in (0.002, 0.001):
            live = ct.Simulator(mechanism, dt=dt).start(state)
            live.inputs.update(inputs)
            for _ in range(round(SPAN / dt)):
                live.step()
            found.append(reference.differences(live.state()))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "models.md")
    parser.add_argument("--only", default="", help="models whose names hold this; then nothing is written")
    arguments = parser.parse_args()
    rows = []
    for model in MODELS:
        if arguments.only not in model.name:
            continue
        try:
            rows.append(row(model))
        except MissingModelError as missing:
            print(f"{model.name}: {missing}")
            continue
        print(rows[-1], flush=True)
    if not arguments.only:
        arguments.out.write_text(HEAD + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
