"""How far errors of steps can be trusted: hits and false alarms of the warning, and work against precision.

`python benchmarks/accuracy.py warnings` runs scenes on which neither the estimate nor its threshold were made, over steps
that are too coarse and steps that are not. `precision` compares `Simulator(m, accuracy=)` with equal steps, and with
SciPy's DOP853 and Radau on equations of motion in minimal coordinates, written down here. Without a name both are done.
Each writes its section of results/accuracy.md; precision also draws results/accuracy.svg. SciPy and matplotlib are needed
for precision only.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from math import pi, sin
from typing import Any, NamedTuple

import numpy as np
from machine import RESULTS

import catena as ct
from catena import Mechanism, Simulator, State, Trajectory, scenes
from catena import _rotation as rot

Array = np.ndarray[Any, np.dtype[np.float64]]

ORDERS = (2, 4, 8)
# plain steps of one composed step
PARTS = {2: 1, 4: 5, 8: 17}
TIGHT = 1e-13

REPORT = RESULTS / "accuracy.md"
PICTURE = RESULTS / "accuracy.svg"


def off(run: Trajectory, true: Trajectory, size: float) -> Array:
    """How far the nodes of two runs are apart (node,), in parts of a size or rad, whichever is larger."""
    turn = rot.rotation_vector(rot.multiply(run.orientation, rot.conjugate(true.orientation)))
    way: Array = np.linalg.norm(run.position - true.position, axis=-1).max(axis=1) / size
    return np.maximum(way, np.linalg.norm(turn, axis=-1).max(axis=1))


def write(heading: str, text: str) -> None:
    """Put a section into the report, in place of the one of that heading."""
    parts = REPORT.read_text(encoding="utf-8").split("\n## ") if REPORT.exists() else []
    sections = {part.split("\n", 1)[0]: part.split("\n", 1)[1].strip() for part in parts[1:]}
    sections[heading] = text.strip()
    title = "# Accuracy: what it says and what it costs\n\nWritten by `python benchmarks/accuracy.py`."
    ordered = [f"## {name}\n\n{sections[name]}" for name in (WARNINGS, PRECISION) if name in sections]
    REPORT.write_text("\n\n".join((title, *ordered)) + "\n", encoding="utf-8")
    print(f"\n{text}\n\nwritten to {REPORT}")


# ---- warnings

WARNINGS = "Hits and false alarms of the warning"
# a run is bad if its end or its energy are off by more
END, ENERGY = 0.03, 0.05
# two references in a row agree to this
REFERENCE = 1e-4


class Scene(NamedTuple):
    """A motion, its duration and the longest step of order 2 (s), and whether its energy should stay."""

    start: Callable[[], State]
    duration: float
    longest: float
    conserves: bool = True


def leaning_catenary() -> State:
    m = scenes.catenary_chain(8)
    m.gravity = (0.0, 4.0, -9.0)
    return m.state()


def sprung_scissor() -> State:
    """A scissor lift on a spring that is too weak for it, so that it bounces."""
    m = scenes.scissor(2)
    m.add_force(ct.PointSpring("world", "platform", 120.0, anchors=((0, 0, 0), (0, 0, 0)), length=1.8))
    return m.state()


def crouching_dog() -> State:
    """Falling, while its servos straighten the legs."""
    state = scenes.quadruped().state()
    for name in ("front_left", "front_right", "back_left", "back_right"):
        state.joint(f"{name} hip").coordinates = (0.7,)
        state.joint(f"{name} knee").coordinates = (-1.2,)
    return state


def kicking_human() -> State:
    """Hung by the pelvis, servos against a leg and an arm that are thrown."""
    state = scenes.humanoid(hung=True, universals=False).state()
    state.joint("left hip pitch").rates = (-6.0,)
    state.joint("left knee").rates = (5.0,)
    state.joint("right shoulder pitch").rates = (-8.0,)
    return state


def falling_pole() -> State:
    state = scenes.cart_pole(pole=0.8).state()
    state.joint("hinge").coordinates = (0.2,)
    return state


def wobbling_disk() -> State:
    """A coin that rolls and wobbles, 40 degrees from upright."""
    m = Mechanism()
    tilt = rot.from_axis_angle((1.0, 0.0, 0.0), np.radians(50))
    m.add_body(
        "coin",
        ct.cylinder(0.3, 0.01, mass=1.0),
        position=(0.0, 0.0, 0.3 * sin(np.radians(50))),
        orientation=tilt,
    )
    m.add_joint(ct.RollingDisk("world", "coin", radius=0.3, name="rim"))
    state = m.state()
    state.joint("rim").rates = (*_rolling(tilt, np.array((0.3, 1.0, 5.0))),)
    return state


def _rolling(tilt: Array, spin: Array) -> Array:
    """Rates of a disk whose rim does not slip, of the angular velocity in its own frame."""
    turn = rot.rotate(tilt, spin)
    axis = rot.rotate(tilt, np.array((0.0, 0.0, 1.0)))
    lowest = axis * axis[2] - np.array((0.0, 0.0, 1.0))
    velocity = np.cross(turn, -0.3 * lowest / np.linalg.norm(lowest))
    return np.concatenate((velocity[:2], turn))


def weighted_ball() -> State:
    """A ball with its centre of mass off its middle, rolling and swaying."""
    m = Mechanism()
    m.add_body("ball", ct.Inertia(1.0, (0.02, 0.03, 0.035)), position=(0.0, 0.1, 0.3))
    m.add_joint(ct.RollingBall("world", "ball", radius=0.3, centre=(0.0, -0.1, 0.0), name="roll"))
    state = m.state()
    state.joint("roll").rates = (0.6, 0.0, 0.0, 2.0, 1.0)
    return state


def stiff_springs() -> State:
    """Three bars on hinges with stiff springs, bent at the start: slow swinging and fast vibration."""
    m = scenes.pendulum(3, angle=0.9)
    for k in (2, 3):
        m.add_force(ct.Spring(f"joint{k}", 400.0, rest=0.1, implicit=True))
    return m.state()


def driven_shaft() -> State:
    """Two legs of a Strandbeest whose shaft is brought to 10 rad/s and back, once a second."""
    m = scenes.strandbeest(2)
    at = float(m.state().joint("shaft").coordinates[0])
    m.add_coupling(ct.Drive("shaft", lambda t: at + 5.0 * (t - sin(2 * pi * t) / (2 * pi)), name="drive"))
    return m.state()


def gimbals() -> State:
    """A rotor at 60 rad/s in two rings, the inner one with a weight."""
    m = Mechanism()
    m.add_body("outer", ct.box((0.5, 0.02, 0.5), mass=0.4))
    m.add_body("inner", ct.box((0.4, 0.4, 0.02), mass=0.3))
    m.add_body("rotor", ct.cylinder(0.15, 0.05, mass=1.0))
    m.add_body("weight", ct.sphere(0.03, mass=0.3), position=(0.0, 0.2, 0.0))
    m.add_joint(ct.Revolute("world", "outer", axis=(0, 0, 1), at=(0, 0, 0), name="azimuth"))
    m.add_joint(ct.Revolute("outer", "inner", axis=(1, 0, 0), at=(0, 0, 0), name="tilt"))
    m.add_joint(ct.Fixed("inner", "weight", at=(0, 0.2, 0), name="bolt"))
    m.add_joint(ct.Revolute("inner", "rotor", axis=(0, 0, 1), at=(0, 0, 0), name="spin"))
    state = m.state()
    state.joint("tilt").coordinates = (0.6,)
    state.joint("spin").rates = (60.0,)
    return state


def screwed_arm() -> State:
    """A nut that sinks on a steep thread, with a pendulum on its arm."""
    m = Mechanism()
    m.add_body("nut", ct.rod((0, 0, 0), (0.5, 0, 0), mass=1.0))
    m.add_body("bob", ct.rod((0.5, 0, 0), (0.5, 0, -0.4), mass=0.5))
    m.add_joint(ct.Screw("world", "nut", axis=(0, 0, 1), at=(0, 0, 0), pitch=1.0, name="thread"))
    m.add_joint(ct.Revolute("nut", "bob", axis=(1, 0, 0), at=(0.5, 0, 0), name="hinge"))
    state = m.state()
    state.joint("hinge").coordinates = (0.8,)
    return state


SCENES = {
    "catenary, gravity tilted": Scene(leaning_catenary, 1.6, 0.08),
    "rope ladder": Scene(lambda: scenes.ladder(3, angle=0.6).state(), 1.6, 0.08),
    "net": Scene(lambda: scenes.net(2, 3, angle=1.0).state(), 1.28, 0.08),
    "n-four-bar": Scene(lambda: scenes.n_four_bar(2, speed=2.0).state(), 0.48, 0.04),
    "scissor on a spring": Scene(sprung_scissor, 1.6, 0.08),
    "Strandbeest": Scene(lambda: scenes.strandbeest(4, rate=4.0).state(), 1.28, 0.04),
    "quadruped, falling": Scene(crouching_dog, 0.64, 0.02, conserves=False),
    "humanoid, hung": Scene(kicking_human, 0.64, 0.02, conserves=False),
    "cart and pole": Scene(falling_pole, 3.2, 0.08),
    "floating chain": Scene(lambda: scenes.spinning_chain(5, rate=4.0).state(), 1.92, 0.08),
    "tree": Scene(lambda: scenes.tree(3, 2).state(), 1.28, 0.08),
    "rolling disk": Scene(wobbling_disk, 1.6, 0.08),
    "weighted ball": Scene(weighted_ball, 3.2, 0.16),
    "stiff springs, implicit": Scene(stiff_springs, 0.96, 0.04),
    "driven shaft": Scene(driven_shaft, 1.92, 0.08, conserves=False),
    "flyball governor": Scene(lambda: scenes.flyball_governor().state(), 1.28, 0.04, conserves=False),
    "gimbals": Scene(gimbals, 0.8, 0.02),
    "screw": Scene(screwed_arm, 1.6, 0.08),
}
LADDER = 5
# longest steps of the orders, in those of order 2
FACTORS = (1, 2, 4)


class Outcome(NamedTuple):
    """Of one run: how far its end, its nodes and its energy are off, errors of its steps, and what it said."""

    scene: str
    order: int
    dt: float
    end: float
    way: float
    energy: float
    summed: float
    largest: float
    warned: bool
    sure: bool

    @property
    def bad(self) -> bool:
        """Whether it should have warned."""
        return self.end > END or self.energy > ENERGY

    @property
    def conserves(self) -> bool:
        """Whether nothing drives or brakes the scene."""
        return SCENES[self.scene].conserves

    def row(self) -> str:
        """Its figures in a table."""
        energy = f"{self.energy:.2g}" if self.conserves else ""
        figures = " | ".join(f"{value:.2g}" for value in (self.end, self.way))
        return (
            f"| {self.scene} | {self.order} | {1e3 * self.dt:g} | {figures} | {energy} | {self.largest:.2g} | "
            f"{self.summed:.2g} |"
        )


def reference(name: str, scene: Scene, start: State, size: float) -> tuple[Trajectory, float]:
    """A motion by order 8 at steps that are halved until nothing changes any more, and how far its end can be trusted.

    Its nodes are those of the shortest step of the ladder at order 2.
    """
    shortest = 2 ** (LADDER - 1)
    before = None
    for part in (1, 2, 4, 8, 16):
        dt = scene.longest / shortest / part
        simulator = Simulator(start.mechanism, dt, order=8, tolerance=TIGHT, on_coarse="ignore")
        run = simulator.run(scene.duration, state=start, record_every=part)
        if before is not None and (apart := off(before, run, size)).max() < REFERENCE:
            return run, float(apart[-1])
        before = run
    raise RuntimeError(f"{name}: no reference to {REFERENCE:g} was found")


def tried(name: str, scene: Scene) -> Iterator[Outcome | str]:
    """Every order and step of a scene, and a name for a run that does not come to its end."""
    start = scene.start()
    m = start.mechanism
    size = Simulator(m, 1.0).size
    true, doubt = reference(name, scene, start, size)
    for order, factor in zip(ORDERS, FACTORS, strict=True):
        for k in range(LADDER):
            dt = factor * scene.longest / 2**k
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ct.AccuracyWarning)
                run = Simulator(m, dt, order=order, on_failure="stop").run(scene.duration, state=start)  # type: ignore[arg-type]
            if not run.status.ok:
                yield f"{name}, order {order}, dt = {1e3 * dt:g} ms"
                continue
            assert run.error is not None
            apart = off(run, true[:: factor * 2 ** (LADDER - 1 - k)], size)
            energy = float(run.energy_error().max()) if scene.conserves else 0.0
            figures = map(float, (apart[-1], apart.max(), energy, run.error.sum(), run.error.max()))
            yield Outcome(name, order, dt, *figures, bool(run.coarse), float(apart[-1]) > 10 * doubt)


def judge_warnings() -> None:
    outcomes: list[Outcome] = []
    failed: list[str] = []
    for name, scene in SCENES.items():
        print(name, flush=True)
        for outcome in tried(name, scene):
            failed.append(outcome) if isinstance(outcome, str) else outcomes.append(outcome)
    counted = [_counted(f"order {order}", [o for o in outcomes if o.order == order]) for order in ORDERS]
    counted.append(_counted("all", outcomes))
    counted.append(_counted("all, conservative scenes", [o for o in outcomes if o.conserves]))
    misses = [o for o in outcomes if o.bad and not o.warned]
    alarms = [o for o in outcomes if o.warned and not o.bad]
    near = sum(o.conserves and o.end > END / 10 for o in alarms)
    added = sum(o.summed > END for o in misses)
    calm = sum(o.conserves for o in alarms)
    free, driven = (sum(o.conserves == conserves and not o.bad for o in outcomes) for conserves in (True, False))
    astray = sum(o.way > END for o in alarms)
    scales = "; ".join(f"{name} {s.duration:g} s, {1e3 * s.longest:g} ms" for name, s in SCENES.items())
    stopped = f" {len(failed)} more ended with an error of their own ({'; '.join(failed)})." if failed else ""
    write(
        WARNINGS,
        f"""\
{len(SCENES)} scenes on which the estimate was not made, {LADDER} steps each (factor 2) at orders 2, 4 and 8: {len(outcomes)} runs.{stopped}
A run is bad if its end is off by more than {END:g} (parts of the size, or rad; against order 8 at a fine step) or the energy
of a conservative one by more than {ENERGY:g}. A hit is a bad run that warns. The last columns are the error of the end divided
by the sum of the steps' errors, of runs that end between 1e-9 and 0.3 off.

| | hits | misses | false alarms | silent and good | end / sum: median | 5 % | 95 % |
|---|---|---|---|---|---|---|---|
{_lines(counted)}

- Of {len(misses)} misses {added} have a sum of errors above {END:g}, which `repr(run)` prints: many small errors add up, as those of a spin.
- Of {len(alarms)} false alarms {near} are conservative runs that end off by more than {END / 10:g}; {astray} were off by more than {END:g} on the way.
- Servos, stiff dampers and drives alarm for nothing most often: {len(alarms) - calm} of {driven} good runs, against {calm} of {free} of conservative
  scenes. They forget errors; of what a drive prescribes there are none; and a step within which a servo leaves its limit, or a
  stiff damper acts at order 8, errs by less than is estimated.

Misses:

{_table(misses)}

False alarms:

{_table(alarms)}

Duration and longest step of order 2 (order 4 begins with twice, order 8 with four times that): {scales}.""",
    )


def _lines(rows: list[str]) -> str:
    return "\n".join(rows)


def _table(outcomes: list[Outcome]) -> str:
    head = "| scene | order | dt (ms) | end | largest on the way | energy | largest error of a step | sum |"
    return _lines([head, "|---|---|---|---|---|---|---|---|", *(o.row() for o in outcomes)]) if outcomes else "None."


def _counted(title: str, outcomes: list[Outcome]) -> str:
    counts = [sum(o.bad == bad and o.warned == warned for o in outcomes) for bad, warned in KINDS]
    ratios = [o.end / o.summed for o in outcomes if o.sure and 1e-9 < o.end < 0.3]
    spread = " | ".join(f"{value:.2g}" for value in np.percentile(ratios, (50, 5, 95)))
    return f"| {title} | {' | '.join(map(str, counts))} | {spread} |"


# hits, misses, false alarms, silent and good: bad, warned
KINDS = ((True, True), (True, False), (False, True), (False, False))

# ---- precision

PRECISION = "Work against precision"


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=("warnings", "precision"), help="default: both")
    part = parser.parse_args().part
    if part != "precision":
        judge_warnings()
    return 0


if __name__ == "__main__":
    sys.exit(main())
