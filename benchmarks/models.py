"""Models that others made: what each is here, how it stands, closes, runs and agrees, and what a step costs.

Writes docs/models.md. How to get the models is said in public_models.py:

    pip install --no-deps example-robot-data pybullet gymnasium dm_control
    taskset -c 1 python benchmarks/models.py FOLDER_OF_COLLECTIONS

Every model has a process of its own; one that fails, or takes too long, has a row that says why.
"""

from __future__ import annotations

import argparse
import copy
import json
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import catena as ct
from catena._util import rotation as rot
from catena.io.models.folders import Folders
from catena.io.models.mjcf_files import harmless
from catena.io.models.notes import Notes

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "benchmarks")]

import file_poses  # noqa: E402
from public_models import PUBLIC, MissingModelError, Public  # noqa: E402

from mujoco_reference import Reference  # noqa: E402

DURATION = 2.0  # s of a run by Simulator(m)
PATIENCE = 10  # s of CPU time that each cell may take
SPAN, LOOP_SPAN = 0.4, 0.1  # s of a run beside MuJoCo
CALLS, STEPS, DT = 400, 1000, 0.002
MOST = 150  # s for everything about one model
HEAD = """# Public robot models

Made by `python benchmarks/models.py FOLDER` on {processor}, one core. The files are those of the wheels
example-robot-data, pybullet, gymnasium and dm_control (`pip install --no-deps ...`), and of the GitHub repositories
google-deepmind/mujoco_menagerie and Gepetto/example-parallel-robots, checked out into FOLDER. Robots fall freely
or have a fixed base, because their geoms do not collide. Times were measured on a machine under load: they are
approximate, ratios less so.

{summary}

- **loops, ties**: joints that close loops, and couplings (mimics, equalities of joints).
- **pose**: the largest difference of any link's position (m) or rotation matrix between `m.state()` and the file, by
  forward kinematics along the file's parents, or by MuJoCo for MJCF.
- **assembles**: how far loops are open in the file's pose (m), and the CPU time in which `m.assemble()` closes them.
- **real time**: CPU time of `Simulator(m, limits="ignore").run(duration=2)` over 2 s, including compilation and the
  trial run; below 1 is faster than real time.
- **gap**: the largest gap of all joints and nodes of that run (m, `run.drift()`).
- **agreement**: the largest difference of any joint coordinate (rad, m) or body position (m) from MuJoCo. MuJoCo runs
  the MJCF file itself, or the output of `to_mjcf` for other files, without contacts, limits, dry friction and parts
  that catena does not read. Trees: after 0.4 s from a random pose with random rates, with steps of 2 ms, against
  MuJoCo's Runge-Kutta integrator at 0.1 ms; the second number is the factor by which the difference decreases when
  the step is halved (4 is second order). If servos are too stiff for this integrator: steps of 1 ms against MuJoCo's
  implicit integrator, of first order, at 0.02 ms. Loops and ties: after 0.1 s from rest, with steps of 0.5 ms,
  against MuJoCo's soft constraints with solref 0.5 ms and steps of 0.05 ms, which are of first order. In the file of
  5bar_linkage, the spheres have a mass of 654 t each, which soft constraints cannot hold.
- **step**: CPU time of a step, and its ratio to that of `mj_step` (Euler, contacts and limits off), both at 2 ms: for
  the first 400 steps, with one call from Python per step; and for the next 1000 in one run, in which hanging and
  falling robots move fast, and errors are estimated.

| {columns} |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""
COLUMNS = (
    *("model", "load ms", "bodies", "freedoms", "loops, ties", "pose", "assembles", "real time", "gap", "agreement"),
    *("step, by calls", "step, in runs"),
)


class SlowError(Exception):
    """What takes too long."""


def short(error: BaseException | str) -> str:
    """A sentence that fits into a cell."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) < 140 else text[:137] + "..."


def attempt(cells: dict[str, Any], key: str, work: Callable[[], Any]) -> Any:
    """What comes out, kept as a cell; where nothing does, or too late, the cell says why."""

    def stop(*_: object) -> None:
        raise SlowError(f"not done after {PATIENCE} s of CPU time")

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        found = work()
    except (ValueError, RuntimeError, ct.CatenaError, SlowError, mujoco.FatalError, ArithmeticError) as error:
        cells[key] = f"no: {short(error)}"
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    cells[key] = found
    return found


def compiled(path: Path) -> mujoco.MjModel:
    """The file as MuJoCo compiles it, without meshes that are not there and what moves nothing."""
    files = harmless(Folders(path, None), Notes(str(path)))
    mujoco.set_mju_user_warning(lambda _: None)
    return mujoco.MjSpec.from_string(files.text, assets=files.assets).compile()


def examine(public: Public, collections: Path | None) -> dict[str, Any]:
    """All cells of a model's row."""
    cells: dict[str, Any] = {}
    begin = time.process_time()
    path = public.path(collections)
    loaded = attempt(cells, "load", lambda: public.load(collections))
    if loaded is None:
        cells["load"] = cells["load"].replace(f"{path}: ", "")
        return cells
    mechanism, said = loaded
    cells |= {"load": 1e3 * (time.process_time() - begin), "said": said}
    loops = [joint for joint in mechanism.described_tree().loops if joint.code != "free"]
    cells |= {
        "bodies": mechanism.body_count,
        "massless": sum(body.mass == 0 for body in mechanism.bodies.values()),
        "loops": len(loops),
        "ties": len(mechanism.couplings),
    }
    model = attempt(cells, "model", lambda: compiled(path)) if path.suffix == ".xml" else None
    cells.pop("model", None)
    attempt(cells, "pose", lambda: pose(mechanism, path, model))
    described = mechanism.state()
    cells["open"] = max((described.joint(joint.name).gap for joint in loops), default=0.0)
    begin = time.process_time()
    state = attempt(cells, "assembles", mechanism.assemble)
    cells["assembles"] = cells["assembles"] if state is None else 1e3 * (time.process_time() - begin)
    if state is None:
        return cells
    attempt(cells, "freedoms", lambda: mechanism.report(state).freedom)
    attempt(cells, "default", lambda: by_default(cells, mechanism, state))
    tied = bool(loops or mechanism.couplings)
    attempt(cells, "agreement", lambda: agreement(public, collections, mechanism, model, tied))
    attempt(cells, "step", lambda: beside(mechanism, state, model))
    return cells


def pose(mechanism: ct.Mechanism, path: Path, model: mujoco.MjModel | None) -> float:
    if model is not None:
        poses = file_poses.of_mjcf(model)
    else:
        poses = file_poses.of_urdf(path) if path.suffix == ".urdf" else file_poses.of_sdf(path)
    return file_poses.difference(mechanism.state(), poses)


def by_default(cells: dict[str, Any], mechanism: ct.Mechanism, state: ct.State) -> float:
    """CPU time of what a plain simulator takes, over the time it simulates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        run = ct.Simulator(mechanism, limits="ignore").run(duration=DURATION, state=state)
        spent = time.process_time() - begin
    cells["gap"] = float(run.drift()[1:].max(initial=0.0))
    return spent / DURATION


# ---- beside MuJoCo


def written(mechanism: ct.Mechanism, folder: str) -> Path:
    """The mechanism as MJCF, without shapes, which move nothing."""
    for body in mechanism.bodies.values():
        body.clear_shapes()
    path = Path(folder) / "written.xml"
    mechanism.to_mjcf(path)
    return path


def agreement(
    public: Public, collections: Path | None, mechanism: ct.Mechanism, model: mujoco.MjModel | None, tied: bool
) -> list[float]:
    """By how much things are elsewhere than in MuJoCo; of trees also by which factor less at half the step."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model is None:
            path = written(public.load(collections, merge_fixed=True)[0], folder)
            model, mechanism = compiled(path), ct.Mechanism.from_mjcf(path)
        else:
            model, mechanism = copy.copy(model), mechanism.copy()
        for name in [name for name, force in mechanism.forces.items() if isinstance(force, ct.Friction)]:
            mechanism.remove_force(name)
        switch_off(model, mechanism)
        reference = Reference(model, mechanism, dt=5e-5 if tied else 1e-4)
        if tied:
            return [held(reference, mechanism)]
        state = reference.start(np.random.default_rng(7), angle=0.3, rate=1.0)
        reference.run(SPAN)
        steps = (DT, DT / 2)
        ends = [
            ct.Simulator(mechanism, dt=dt, limits="ignore", on_inaccurate="ignore").run(duration=SPAN, state=state)[-1]
            for dt in steps
        ]
        coarse, half = (max(reference.differences(end).values()) for end in ends)
        if coarse > 1e-4 and coarse < 2 * half:
            # servos too stiff for Runge-Kutta steps ring there for ever: its implicit rule, of first order, does not
            reference = Reference(model, mechanism, dt=2e-5)
            model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
            state = reference.start(np.random.default_rng(7), angle=0.3, rate=1.0)
            reference.run(SPAN)
            return [max(reference.differences(ends[1]).values())]
        if not np.isfinite(reference.data.qpos).all():
            raise ValueError("MuJoCo diverges")
        return [coarse, coarse / half if half else 0.0]


def switch_off(model: mujoco.MjModel, mechanism: ct.Mechanism) -> None:
    """What is not read, and dry friction, which is a constraint there and smooth here."""
    model.dof_frictionloss[:] = 0
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    for k in range(model.nu):
        if (model.actuator(k).name or f"actuator{k}") not in mechanism.forces:
            model.actuator_gainprm[k] = model.actuator_biasprm[k] = 0
    for part in (model.tendon_stiffness, model.tendon_damping, model.tendon_frictionloss, model.opt.wind):
        part[:] = 0
    model.opt.density = model.opt.viscosity = 0
    for k in np.flatnonzero(model.jnt_type < int(mujoco.mjtJoint.mjJNT_SLIDE)):
        dofs = slice(model.jnt_dofadr[k], model.jnt_dofadr[k] + (6 if model.jnt_type[k] == 0 else 3))
        model.dof_damping[dofs] = model.dof_armature[dofs] = model.jnt_stiffness[k] = 0


def held(reference: Reference, mechanism: ct.Mechanism) -> float:
    model = reference.model
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.eq_solref[:] = (5e-4, 1.0)
    model.eq_solimp[:, :3] = (0.9999, 0.9999, 0.001)
    state = mechanism.assemble()
    put(reference, state)
    reference.run(LOOP_SPAN)
    run = ct.Simulator(mechanism, dt=5e-4, limits="ignore", on_inaccurate="ignore").run(duration=LOOP_SPAN, state=state)
    if not np.isfinite(reference.data.qpos).all() or reference.data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
        raise ValueError("MuJoCo diverges")
    return max(reference.differences(run[-1]).values())


def put(reference: Reference, state: ct.State) -> None:
    """Set MuJoCo's coordinates to those of a state at rest."""
    model, data, kinds = reference.model, reference.data, mujoco.mjtJoint
    mujoco.mj_resetData(model, data)
    for k in range(model.njnt):
        at, kind = model.jnt_qposadr[k], int(model.jnt_type[k])
        joint = state.joint(model.joint(k).name or f"joint{k}")
        if kind == int(kinds.mjJNT_FREE):
            place = state.frame(model.body(model.jnt_bodyid[k]).name or f"body{model.jnt_bodyid[k]}")
            data.qpos[at : at + 7] = np.concatenate(place)
        elif kind == int(kinds.mjJNT_BALL):
            data.qpos[at : at + 4] = rot.multiply(model.qpos0[at : at + 4], rot.from_rotation_vector(joint.coordinates))
        else:
            data.qpos[at] = model.qpos0[at] + joint.coordinates[0]
    mujoco.mj_forward(model, data)


def beside(mechanism: ct.Mechanism, state: ct.State, model: mujoco.MjModel | None) -> list[float]:
    """CPU time (us) of a step here and of mj_step, one a call, then here and there in runs; the best of three."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = state
        if model is None:
            path = written(mechanism.copy(), folder)
            model, start = compiled(path), ct.Mechanism.from_mjcf(path).assemble()
        reference = Reference(model, mechanism, dt=DT)
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        simulator = ct.Simulator(mechanism, dt=DT, limits="ignore", on_inaccurate="ignore")
        best = np.full(6, np.inf)
        for _ in range(3):
            live = simulator.start(state)
            here = timed(lambda step=live.step: [step() for _ in range(CALLS)])  # type: ignore[misc]
            put(reference, start)
            there = timed(lambda: [mujoco.mj_step(model, reference.data) for _ in range(CALLS)])
            runs, theirs = [], []
            for count in (CALLS, CALLS + STEPS):
                runs.append(timed(lambda count=count: simulator.run(steps=count, state=state)))  # type: ignore[misc]
                put(reference, start)
                theirs.append(timed(lambda count=count: mujoco.mj_step(model, reference.data, nstep=count)))  # type: ignore[misc]
            best = np.minimum(best, (here, there, *runs, *theirs))
    long = np.diff(best[2:].reshape(2, 2))[:, 0] / STEPS
    return [float(value) for value in 1e6 * np.concatenate((best[:2] / CALLS, long))]


def timed(work: Callable[[], object]) -> float:
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


# ---- the page


def cell(value: Any, form: str) -> str:
    return "" if value is None else value.replace("|", "/") if isinstance(value, str) else format(value, form)


def row(name: str, cells: dict[str, Any]) -> str:
    bodies = f"{cells.get('bodies', '')}" + (f" ({cells['massless']} massless)" if cells.get("massless") else "")
    joined = f"{cells['loops']}, {cells['ties']}" if "loops" in cells else ""
    closed = cells.get("assembles")
    if isinstance(closed, float):
        closed = f"open by {cells['open']:.1g}, {closed:.0f} ms" if cells["open"] > 1e-9 else f"{closed:.0f} ms"
    agreed = cells.get("agreement")
    if isinstance(agreed, list):
        agreed = f"{agreed[0]:.0e}" + (f", {agreed[1]:.2f}" if len(agreed) > 1 else "")
    step = cells.get("step")
    pairs = (
        [f"{a:.1f} us, {a / b:.2f}" for a, b in zip(step[::2], step[1::2], strict=True)]
        if isinstance(step, list)
        else [step, ""]
    )
    texts = (
        *(name, cell(cells.get("load"), ".0f"), bodies, cell(cells.get("freedoms"), ""), joined),
        *(cell(cells.get("pose"), ".0e"), cell(closed, ""), cell(cells.get("default"), ".2f")),
        *(cell(cells.get("gap"), ".0e"), cell(agreed, ""), *(cell(pair, "") for pair in pairs)),
    )
    return "| " + " | ".join(texts) + " |"


def summary(found: dict[str, dict[str, Any]]) -> str:
    """How many do what, in a sentence each."""
    rows = list(found.values())
    read = [cells for cells in rows if "bodies" in cells]
    posed = [cells for cells in read if isinstance(cells.get("pose"), float)]
    shut = [cells for cells in read if isinstance(cells.get("assembles"), float)]
    ran = [cells for cells in shut if isinstance(cells.get("default"), float)]
    agreed = [cells["agreement"][0] for cells in shut if isinstance(cells.get("agreement"), list)]
    looped = [cells for cells in read if cells["loops"] or cells["ties"]]
    lines = [
        f"{len(rows)} models, {sum(bool(c['loops']) for c in read)} of them with loops and "
        f"{sum(bool(c['ties']) for c in read)} with ties; {len(read)} can be read.",
        f"{sum(c['pose'] < 1e-12 for c in posed)} of {len(posed)} have the pose of their file, to 1e-12.",
        f"{len(shut)} assemble, {len(ran)} run; {sum(c['default'] < 1 for c in ran)} run with `Simulator(m)` faster "
        f"than real time on one core; the largest gap is {max((c['gap'] for c in ran), default=0.0):.0e} m.",
        f"{len(agreed)} are compared with MuJoCo; {sum(a < 1e-3 for a in agreed)} of them agree within 1e-3.",
    ]
    for title, chosen in (("Trees", [c for c in read if c not in looped]), ("Loops and ties", looped)):
        steps = [c["step"] for c in chosen if isinstance(c.get("step"), list)]
        if steps:
            calls, runs = (np.array([s[k] / s[k + 1] for s in steps]) for k in (0, 2))
            lines.append(
                f"{title}: a step takes {np.median(calls):.2f} (median; {calls.min():.2f} to {calls.max():.2f}) of "
                f"`mj_step` with one call per step, "
                f"{np.median(runs):.2f} ({runs.min():.2f} to {runs.max():.2f}) in runs."
            )
    return "\n".join(f"- {line}" for line in lines)


def processor() -> str:
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return names[0] if names else "an unknown processor"


def in_a_process(k: int, collections: Path | None) -> dict[str, Any]:
    """The cells of a model; none if it is not there."""
    try:
        PUBLIC[k].path(collections)
    except MissingModelError as missing:
        print(missing, flush=True)
        return {}
    command = [sys.executable, __file__, *([str(collections)] if collections else []), "--one", str(k)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST)
    except subprocess.TimeoutExpired:
        return {"load": f"no: not done after {MOST} s"}
    if done.returncode != 0:
        return {"load": f"no: {short(done.stderr[-130:])}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collections", type=Path, nargs="?", help="the folder of checked out collections")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "models.md")
    parser.add_argument(
        "--only", default="", help="models whose names hold this; then nothing is written, but with --rows"
    )
    parser.add_argument("--rows", type=Path, help="a file that keeps rows from run to run")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time, each on one core")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        print(json.dumps(examine(PUBLIC[arguments.one], arguments.collections)))
        return
    chosen = {public.name: k for k, public in enumerate(PUBLIC) if arguments.only in public.name}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = pool.map(lambda k: in_a_process(k, arguments.collections), chosen.values())
        found = json.loads(arguments.rows.read_text()) if arguments.rows and arguments.rows.exists() else {}
        for name, cells in zip(chosen, rows, strict=True):
            print(row(name, cells), flush=True)
            if cells:
                found[name] = cells
            if arguments.rows:
                arguments.rows.write_text(json.dumps(found))
    if arguments.only and not arguments.rows:
        print(summary(found))
        return
    found = {public.name: found[public.name] for public in PUBLIC if public.name in found}
    page = HEAD.format(summary=summary(found), processor=processor(), columns=" | ".join(COLUMNS))
    page += "\n".join(row(name, cells) for name, cells in found.items())
    page += "\n\n## What is not read, and what looks odd\n\n"
    page += "\n".join(f"- {name}: {cells.get('said') or 'all is read'}" for name, cells in found.items())
    arguments.out.write_text(page + "\n")


if __name__ == "__main__":
    main()
