"""Whether `Simulator(m, accuracy=)` keeps what it promises: no node further off than was asked for, and what it tells.

`python benchmarks/accuracy.py promise` runs every scene below at three accuracies and compares all nodes with a run
that errs by a thousandth of it (half the step, by order 8 where nothing dissipates).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from math import pi
from typing import NamedTuple

import numpy as np

import catena as ct
from catena import Mechanism, Simulator, State, Trajectory, scenes
from catena._util import rotation as rot
from catena.simulate.refinement import apart
from catena.simulate.run_steps import run_steps

PROMISE = "The promise of an accuracy"
ACCURACIES = (1e-3, 1e-5, 1e-7)


class Promised(NamedTuple):
    """A motion, its durations (s), and what kind it is: loop, rolls, tree, damped or robot."""

    start: Callable[[], State]
    durations: tuple[float, ...]
    kind: str


def crank() -> State:
    """A slider-crank at 8 rad/s."""
    return scenes.slider_crank().assemble(rates={"shaft": 8.0})


def spatial_crank() -> State:
    """An RSSR linkage: a crank about z drives a rocker about x by a rod between a ball and a cross."""
    m = Mechanism()
    m.add_body("crank", ct.rod((0, 0, 0), (0.3, 0, 0), mass=1.0))
    m.add_body("rod", ct.rod((0.3, 0, 0), (0.8, 0.2, 0.7), mass=1.0))
    m.add_body("rocker", ct.rod((0.8, 0.2, 0.7), (0.8, 0.9, 0.2), mass=1.0))
    m.add_joint(ct.Revolute("world", "crank", axis=(0, 0, 1), at=(0, 0, 0), name="shaft"))
    m.add_joint(ct.Ball("crank", "rod", at=(0.3, 0, 0)))
    m.add_joint(ct.Universal("rod", "rocker", axes=((0, 0, 1), (1, 0, 0)), at=(0.8, 0.2, 0.7)))
    m.add_joint(ct.Revolute("world", "rocker", axis=(1, 0, 0), at=(0.8, 0.9, 0.2), name="axle"))
    return m.assemble(rates={"shaft": 5.0})


def bicycle() -> State:
    """Frame, fork and two wheels at 2 m/s, leaning a little: it falls after a second and a half."""
    m = Mechanism()
    m.add_body("frame", ct.Inertia(15.0, np.diag((1.5, 2.5, 1.2))), position=(0.4, 0, 0.8))
    m.add_body("fork", ct.Inertia(2.0, np.diag((0.1, 0.1, 0.05))), position=(0.95, 0, 0.6))
    radius, upright = 0.33, rot.from_rotation_vector((-pi / 2, 0, 0))
    for name, x in (("rear", 0.0), ("front", 1.0)):
        wheel = ct.Inertia(2.0, np.diag((0.06, 0.06, 0.12)))
        m.add_body(name, wheel, position=(x, 0, radius), orientation=upright)
    m.add_joint(ct.Revolute("frame", "rear", axis=(0, 1, 0), at=(0, 0, radius), name="rear axle"))
    m.add_joint(ct.Revolute("frame", "fork", axis=(-np.sin(0.3), 0, np.cos(0.3)), at=(0.9, 0, 0.7), name="steering"))
    m.add_joint(ct.Revolute("fork", "front", axis=(0, 1, 0), at=(1, 0, radius), name="front axle"))
    for name in ("rear", "front"):
        m.add_joint(ct.RollingDisk("world", name, radius=radius, name=name))
    speed, state, turn = 2.0, m.state(), rot.from_rotation_vector((0.02, 0, 0))
    for name in m.bodies:
        body = state.body(name)
        body.position, body.orientation = rot.rotate(turn, body.position), rot.multiply(turn, body.orientation)
        body.velocity = (speed, 0, 0)
        rate = speed / radius if name in ("rear", "front") else 0.0
        body.angular_velocity = rot.rotate(turn, np.array((0, rate, 0)))
    return m.assemble(state)


def damped(law: Callable[[str], ct.describe.forces.Force]) -> State:
    """Two pendulums with a force on each hinge."""
    m = scenes.pendulum(2, "revolute", angle=1.0)
    for joint in m.joints:
        m.add_force(law(joint))
    return m.state()


def damped_loop() -> State:
    """A four-bar whose crank is held at 3 rad/s, and a damper."""
    m = scenes.four_bar()
    first, second = list(m.joints)[:2]
    m.add_force(ct.Servo(first, kd=5.0, target_rate=3.0, name="servo"))
    m.add_force(ct.Damper(second, 0.05, name="damper"))
    return m.state()


def arm(kp: float, kd: float, inertia: float) -> State:
    """Seven hinges with servos, as of an industrial arm."""
    m, last = Mechanism(), "world"
    for k in range(7):
        m.add_body(f"l{k}", ct.box((0.1, 0.1, 0.2), mass=4.0 - 0.4 * k), position=(0, 0, 0.2 * k + 0.1))
        axis = ((0, 0, 1), (0, 1, 0))[k % 2]
        m.add_joint(ct.Revolute(last, f"l{k}", axis=axis, at=(0, 0, 0.2 * k), name=f"j{k}"))
        m.add_force(ct.Servo(f"j{k}", kp=kp, kd=kd, target=0.3 * (-1) ** k))
        if inertia:
            m.add_force(ct.Armature(f"j{k}", inertia))
        last = f"l{k}"
    return m.state()


def promised() -> dict[str, Promised]:
    """All scenes; those of the warnings' part that suit are among them."""
    from accuracy import gimbals, leaning_catenary, screwed_arm, sprung_scissor, weighted_ball, wobbling_disk

    return {
        "slider-crank": Promised(crank, (2.0, 10.0), "loop"),
        "four-bar": Promised(lambda: scenes.four_bar().state(), (2.0, 10.0, 50.0), "loop"),
        "RSSR": Promised(spatial_crank, (1.0, 5.0), "loop"),
        "Bricard": Promised(lambda: scenes.bricard().state(), (5.0,), "loop"),
        "scissor on a spring": Promised(sprung_scissor, (3.0,), "loop"),
        "minitaur leg": Promised(lambda: scenes.minitaur_leg((1.2, 0.8)).state(), (1.0,), "loop"),
        "closed chain": Promised(lambda: scenes.closed_chain(11).state(), (2.0,), "loop"),
        "catenary, gravity tilted": Promised(leaning_catenary, (2.0,), "loop"),
        "rope ladder": Promised(lambda: scenes.ladder(3, angle=0.6).state(), (2.0,), "loop"),
        "n-four-bar": Promised(lambda: scenes.n_four_bar(2, speed=2.0).state(), (0.5,), "loop"),
        "Strandbeest": Promised(lambda: scenes.strandbeest(2, rate=4.0).state(), (1.0,), "loop"),
        "Stewart platform": Promised(lambda: scenes.stewart_platform().state(), (0.5,), "loop"),
        "heavy top": Promised(lambda: scenes.heavy_top().state(), (2.0, 10.0), "rolls"),
        "bicycle": Promised(bicycle, (1.0,), "rolls"),
        "rolling disk": Promised(wobbling_disk, (1.6,), "rolls"),
        "weighted ball": Promised(weighted_ball, (3.0,), "rolls"),
        "gimbals": Promised(gimbals, (1.0,), "rolls"),
        "free body": Promised(lambda: scenes.free_body().state(), (10.0,), "rolls"),
        "nut on a screw": Promised(screwed_arm, (1.6,), "rolls"),
        "pendulum": Promised(lambda: scenes.pendulum(1, angle=2.5).state(), (10.0, 50.0), "tree"),
        "double pendulum": Promised(lambda: scenes.double_pendulum().state(), (3.0,), "tree"),
        "chain of 10": Promised(lambda: scenes.pendulum(10, "revolute", angle=0.6).state(), (3.0,), "tree"),
        "damper 1000": Promised(lambda: damped(lambda j: ct.Damper(j, 1000.0)), (2.0,), "damped"),
        "damper 10": Promised(lambda: damped(lambda j: ct.Damper(j, 10.0)), (2.0,), "damped"),
        "damper 1": Promised(lambda: damped(lambda j: ct.Damper(j, 1.0)), (2.0,), "damped"),
        "friction 3": Promised(lambda: damped(lambda j: ct.Friction(j, 3.0)), (2.0,), "damped"),
        "four-bar, servo and damper": Promised(damped_loop, (2.0,), "damped"),
        "arm 1000/50, rotors": Promised(lambda: arm(1000.0, 50.0, 0.5), (1.0,), "robot"),
        "arm 5000/500, rotors": Promised(lambda: arm(5000.0, 500.0, 0.5), (1.0,), "robot"),
        "arm 5000/50": Promised(lambda: arm(5000.0, 50.0, 0.0), (1.0,), "robot"),
        "quadruped": Promised(lambda: scenes.quadruped().state(), (1.0,), "robot"),
        "humanoid": Promised(lambda: scenes.humanoid().state(), (1.0,), "robot"),
    }


class Kept(NamedTuple):
    """How far off a run is and says to be, in parts of what was asked for; its steps, order and CPU time (s)."""

    scene: str
    kind: str
    duration: float
    accuracy: float
    off: float
    told: float | None
    steps: int
    order: int
    seconds: float
    said: bool


def true_run(run: Trajectory, accuracy: float) -> Trajectory:
    """The same motion, a thousand times better."""
    simulator = Simulator(run.mechanism, accuracy=accuracy, on_inaccurate="ignore")
    steps = len(run.substeps)
    if simulator.order == 2:
        plain = simulator.plan.with_step(run.dt / 2, rate=1e-3 * accuracy, tolerance=1e-13)
        return run_steps(plain, 2 * steps, state=run[0], record_every=2)
    composed = simulator.plan.with_step(run.dt / 2, rate=1e-3 * accuracy, order=8)
    return run_steps(composed, 2 * steps, state=run[0], record_every=2)


def kept(name: str, scene: Promised, duration: float, accuracy: float) -> Kept:
    """One run, and how well it keeps what was asked for."""
    state = scene.start()
    simulator = Simulator(state.mechanism, accuracy=accuracy)
    begun = time.process_time()
    run = simulator.run(duration, state=state)
    seconds = time.process_time() - begun
    off = apart(run, true_run(run, accuracy), simulator.plan.extent) / accuracy
    told = None if run.checked_error is None else run.checked_error / accuracy
    order = 0 if run.info is None else run.info.order
    warned = bool(run.accuracy_warning)
    return Kept(name, scene.kind, duration, accuracy, off, told, int(run.substeps.sum()), order, seconds, warned)


def judged(only: str = "") -> list[Kept]:
    """All of them."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, scene in promised().items():
            for duration in scene.durations:
                for accuracy in ACCURACIES:
                    if only in name:
                        found.append(kept(name, scene, duration, accuracy))
                        print(_row(found[-1]), flush=True)
    return found


def _row(run: Kept) -> str:
    told = "none" if run.told is None else f"{run.told:.2g}"
    said = "said" if run.said else ""
    numbers = f"{run.off:.2g} | {told} | {run.order} | {run.steps} | {1e3 * run.seconds:.0f} | {said}"
    return f"| {run.scene} | {run.duration:g} | {run.accuracy:g} | {numbers} |"


def report(found: list[Kept]) -> str:
    """As a section of the report."""
    quiet = [run for run in found if not run.said]
    told = [run.told / run.off for run in found if run.told and run.off > 1e-6]
    kinds = {kind: len({run.scene for run in found if run.kind == kind}) for kind in ("loop", "rolls", "tree")}
    kinds["damped"] = len({run.scene for run in found if run.kind in ("damped", "robot")})
    good = sum(run.off <= 1 for run in quiet)
    lines = [
        f"{len({run.scene for run in found})} scenes ({kinds['loop']} with loops, {kinds['rolls']} that roll or spin, "
        f"{kinds['tree']} other trees, {kinds['damped']} that dissipate), {len(found)} runs at 1e-3, 1e-5 and 1e-7.",
        f"The true error and the estimate are relative to the requested accuracy, over all nodes. "
        f"{len(found) - len(quiet)} runs warn that they did not reach it.",
        f"Of the {len(quiet)} others, {good} ({100 * good / max(len(quiet), 1):.0f} %) have a true error of at most 1;",
        f"the largest is {max(run.off for run in quiet):.2g}.",
        f"Estimate / true error: median {np.median(told):.2g}, {min(told):.2g} to {max(told):.2g}.",
        "",
        "| scene | s | accuracy | true error | estimate | order | substeps | CPU (ms) | |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(run) for run in found),
    ]
    return "\n".join(lines)
