"""Springs, dampers, motors, servos and friction: momentum, energy, and motions that are known."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from math import atanh, exp, pi
from pathlib import Path

import numpy as np
import pytest

from catena import (
    Ball,
    Bumper,
    Cable,
    Cylindrical,
    Damper,
    Fixed,
    Friction,
    Inertia,
    Joint,
    Mechanism,
    Motor,
    PinInSlot,
    Planar,
    PointSpring,
    Prismatic,
    Revolute,
    Screw,
    Servo,
    SimulationError,
    Simulator,
    Spring,
    State,
    Trajectory,
    Universal,
    scenes,
    sphere,
)
from catena._util import rotation as rot
from catena.describe.forces import Force
from catena.results import analysis
from laws import assert_same, simulate

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

AXIS = rot.normalised(np.array((0.3, -0.5, 1.0)))
PLACE = (0.1, 0.25, -0.2)
SLOPE = 9.81 * 0.6  # m/s^2 along a slope with sine 0.6

ACROSS = rot.normalised(np.cross(AXIS, (0.2, 1.0, 0.4)))
JOINTS: dict[str, tuple[type[Joint], dict[str, object]]] = {
    "revolute": (Revolute, {"axis": AXIS}),
    "prismatic": (Prismatic, {"axis": AXIS}),
    "screw": (Screw, {"axis": AXIS, "pitch": 0.8}),
    "cylindrical": (Cylindrical, {"axis": AXIS}),
    "planar": (Planar, {"axis": AXIS}),
    "pin in slot": (PinInSlot, {"axes": (AXIS, ACROSS)}),
    "universal": (Universal, {"axes": (AXIS, ACROSS)}),
}
ON_JOINT: dict[str, Callable[..., Force]] = {
    "spring": lambda **on: Spring("joint", 3.0, rest_length=0.2, **on),
    "spring and damper": lambda **on: Spring("joint", 3.0, rest_length=-0.1, damping=0.4, **on),
    "implicit spring": lambda **on: Spring("joint", 3.0, implicit=True, **on),
    "damper": lambda **on: Damper("joint", 0.5, **on),
    "motor": lambda **on: Motor("joint", 0.7, **on),
    "servo": lambda **on: Servo("joint", kp=4.0, kd=0.3, target=0.5, effort_limit=1.2, **on),
    "speed servo": lambda **on: Servo("joint", kd=0.5, target_rate=1.0, **on),
    "friction": lambda **on: Friction("joint", 0.3, threshold=0.2, **on),
}
ACTING: list[tuple[str, str, dict[str, str]]] = [
    (law, joint, {}) for law in ON_JOINT for joint in JOINTS if joint != "universal"
]
OTHERS = [("cylindrical", "displacement"), ("planar", "x"), ("planar", "y"), ("pin in slot", "x")]
OTHERS += [("universal", "first"), ("universal", "second")]
ACTING += [(law, joint, {"coordinate": coordinate}) for law in ON_JOINT for joint, coordinate in OTHERS]


def lump(mass: float = 1.0) -> Inertia:
    turn = rot.to_matrix(rot.normalised(np.array((1.0, 0.4, -0.3, 0.2))))
    return Inertia(mass, turn @ np.diag((0.1, 0.14, 0.2)) @ turn.T)


def pair(*, gravity: float = 0.0, grounded: bool = False) -> Mechanism:
    m = Mechanism(gravity=(0, 0, -gravity))
    m.add_body("a", lump(), position=(-0.3, 0.1, 0.2), velocity=(0.3, 0.1, 0), angular_velocity=(0.5, 1.0, -0.4))
    m.add_body("b", lump(1.5), position=(0.4, 0.3, -0.3), orientation=rot.normalised(np.array((1.0, 2, 0, 1))))
    if grounded:
        m.add_joint(Ball("world", "a", at=(-0.5, 0, 0.3)))
    return m


def jointed(law: str, joint: str, on: dict[str, str], *, grounded: bool = False, flipped: bool = False) -> State:
    """Two bodies on a joint with a force in it, moving; grounded, a carries b, or b is the joint's first (flipped)."""
    m = pair(gravity=3.0 if grounded else 0.0, grounded=grounded)
    kind, more = JOINTS[joint]
    m.add_joint(kind(*("ba" if flipped else "ab"), at=PLACE, name="joint", **more))
    m.add_force(ON_JOINT[law](**on))
    state = m.assemble()
    state.joint("joint").rates = 0.4 * np.ones(kind.dof)
    return state


def assert_momentum_kept(run: Trajectory) -> None:
    # momenta of about 1 kg m/s: Newton's last increments, 1e-13 each, add up like a random walk
    for momentum in (run.momentum(), run.angular_momentum()):
        assert np.linalg.norm(momentum[0]) > 0.1
        np.testing.assert_allclose(momentum, momentum[:1].repeat(len(run), 0), rtol=0, atol=1e-12)


def order(errors: list[float]) -> float:
    """Of two errors, the second at half the step."""
    return float(np.log2(errors[0] / errors[1]))


def slider(*forces: Force, mass: float = 2.0, speed: float = 0.0, slope: bool = False) -> Mechanism:
    """A body on a rail along x, with gravity of SLOPE along it, or none."""
    m = Mechanism(gravity=(SLOPE if slope else 0, 0, 0))
    m.add_body("body", lump(mass), velocity=(speed, 0, 0))
    m.add_joint(Prismatic("world", "body", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    for force in forces:
        m.add_force(force)
    return m


def along(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    return run.position[:, 0, 0], run.velocity[:, 0, 0]


# ---- solvers, momentum


@pytest.mark.parametrize(("law", "joint", "on"), ACTING)
def test_force_on_a_joint(law: str, joint: str, on: dict[str, str]) -> None:
    floating = jointed(law, joint, on)
    run = simulate(floating, "articulated")
    assert_momentum_kept(run)

    # it does act: without it the motion is another
    kind, more = JOINTS[joint]
    bare = pair()
    bare.add_joint(kind("a", "b", at=PLACE, name="joint", **more))
    without = State(bare, floating.position, floating.orientation, floating.velocity, floating.angular_velocity)
    assert np.abs(simulate(without).position - run.position).max() > 1e-3
    grounded = [jointed(law, joint, on, grounded=True, flipped=flipped) for flipped in (False, True)]
    for state in (floating, *grounded):
        run = simulate(state, "articulated")

        # closed to rounding
        assert run.drift().max() <= 1e-12
        assert run.misalignment().max() <= 1e-12
        for solver in ("ldu", "dense"):
            # a second of calm motion: Newton's last increments, 1e-13 each
            other = simulate(state, solver)
            assert_same(other, run, 1e-10)
            # reactions are those increments over the step
            np.testing.assert_allclose(other.joint("joint").force, run.joint("joint").force, rtol=0, atol=1e-7)
            np.testing.assert_allclose(other.joint("joint").torque, run.joint("joint").torque, rtol=0, atol=1e-7)
        # in lanes sums are ordered otherwise
        simulator = Simulator(state.mechanism, 0.005, tolerance=1e-13, rescue=False)
        assert_same(simulator.run_batch(states=[state, state], steps=200)[1], run, 1e-10)


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize("held", [False, True])
def test_spring_between_points(held: bool, damping: float, implicit: bool) -> None:
    """With and without a joint beside it; in the last case the force is all that acts between the two."""
    m = pair()
    if held:
        m.add_joint(Ball("a", "b", at=PLACE))
    ends = ((-0.2, 0.2, 0.3), (0.5, 0.1, -0.5))
    force = m.add_force(PointSpring("a", "b", 20.0, points=ends, rest_length=0.6, damping=damping, implicit=implicit))
    state = m.assemble()
    run = simulate(state, "articulated")
    assert_momentum_kept(run)
    assert np.ptp(analysis.measured(run, force.parts[0].measure)) > 0.1
    for solver in ("ldu", "dense"):
        assert_same(simulate(state, solver), run, 1e-10)


def test_spring_measures_what_it_says() -> None:
    m = pair()
    force = m.add_force(PointSpring("a", "b", 1.0, points=((0, 0, 0), (0.3, 0, 0.4))))
    assert force.parts[0].law["rest_length"] == pytest.approx(0.5, abs=1e-15), "at rest in the described pose"
    run = simulate(m.state(), steps=50)
    a, b = (run.body(name).point(force.parts[0].measure.anchors[k]) for k, name in enumerate("ab"))
    np.testing.assert_allclose(
        analysis.measured(run, force.parts[0].measure), np.linalg.norm(b - a, axis=1), rtol=0, atol=1e-14
    )


# ---- oscillators


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("damping", [0.0, 0.8, 40.0])
@pytest.mark.parametrize("kind", ["rail", "hinge", "screw", "points"])
def test_damped_oscillator(kind: str, damping: float, implicit: bool) -> None:
    """m x'' = -k (x - rest) - c x' from rest at 0: the exact solution, to second order."""
    stiffness, rest, lead = 30.0, 0.4, 0.3
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("body", Inertia(2.0, np.diag((0.5, 0.6, 0.7))))
    mass = {"rail": 2.0, "hinge": 0.7, "screw": 0.7 + 2.0 * lead**2, "points": 2.0}[kind]
    if kind == "points":
        # the spring pulls along x through the center of mass
        law = {"anchors": ((-1, 0, 0), (0, 0, 0)), "rest_length": 1 + rest}
        m.add_force(PointSpring("world", "body", stiffness, damping=damping, implicit=implicit, **law))
    else:
        joint = {"rail": Prismatic, "hinge": Revolute, "screw": Screw}[kind]
        more = {"pitch": 2 * pi * lead} if kind == "screw" else {}
        m.add_joint(joint("world", "body", axis=(0, 0, 1), at=(0, 0, 0), name="joint", **more))
        m.add_force(Spring("joint", stiffness, rest_length=rest, damping=damping, implicit=implicit))
    roots = np.roots((mass, damping, stiffness)).astype(complex)
    weight = np.array((roots[1], -roots[0])) / (roots[1] - roots[0])

    errors: dict[str, list[float]] = {"place": [], "speed": []}
    for dt in (0.01, 0.005):
        run = Simulator(m, dt, tolerance=1e-13).run(2.0)
        if kind == "points":
            x, v = along(run)
        else:
            x, v = run.joint("joint").coordinates[:, 0], run.joint("joint").rates[:, 0]
        modes = weight * np.exp(roots * run.time[:, None])
        errors["place"].append(np.abs(x - rest * (1 - modes.sum(axis=1).real)).max())
        errors["speed"].append(np.abs(v + rest * (modes * roots).sum(axis=1).real).max())
    for what, found in errors.items():
        # order two, up to the next terms; absolutely below (w dt)^2 of the amplitude per radian
        assert order(found) == pytest.approx(2, abs=0.1), what
        assert found[1] < 0.05


def test_spring_counts_turns() -> None:
    """A torsion spring wound up by three turns: one harmonic oscillation, no jump at pi."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("body", Inertia(1.0, np.diag((0.1, 0.2, 0.3))), angular_velocity=(0, 0, 20))
    m.add_joint(Revolute("world", "body", axis=(0, 0, 1), at=(0, 0, 0), name="joint"))
    force = m.add_force(Spring("joint", 0.3))
    errors = []
    for dt in (0.004, 0.002):
        run = Simulator(m, dt, tolerance=1e-13).run(8.0)
        errors.append(np.abs(analysis.measured(run, force.parts[0].measure) - 20 * np.sin(run.time)).max())
        assert np.ptp(run.energy()) < 1e-3 * run.energy()[0]
    assert order(errors) == pytest.approx(2, abs=0.1)
    assert errors[0] < 0.1


def test_a_wound_spring_goes_on_from_a_state() -> None:
    """A run in two parts is the run in one, wound up or not."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("body", Inertia(1.0, np.diag((0.1, 0.2, 0.3))), angular_velocity=(0, 0, 20))
    m.add_joint(Revolute("world", "body", axis=(0, 0, 1), at=(0, 0, 0), name="joint"))
    m.add_force(Spring("joint", 0.3))
    run = Simulator(m, 0.005).run(steps=400)
    rest = Simulator(m, 0.005).run(steps=100, state=run[300])

    # Newton's last increments
    np.testing.assert_allclose(rest.orientation, run.orientation[300:], rtol=0, atol=1e-9)


# ---- dampers


def test_damped_pendulum_loses_energy_at_the_analytic_rate() -> None:
    """Small swings of I q'' = -m g l q - c q': the amplitude falls as exp(-c t / 2 I)."""
    m = scenes.pendulum(1, angle=0.01)
    hinge = next(iter(m.joints))
    inertia = m.bodies["link1"].inertia
    about_hinge = inertia.tensor[0, 0] + 0.25 * inertia.mass
    damping = 0.1
    m.add_force(Damper(hinge, damping))
    run = Simulator(m, 0.001).run(10.0)
    energy = run.energy() + 0.5 * 9.81 * inertia.mass

    # whole periods of the damped swing
    natural = np.sqrt(0.5 * 9.81 * inertia.mass / about_hinge)
    period = 2 * pi / np.sqrt(natural**2 - (damping / (2 * about_hinge)) ** 2)
    for k in (1, 3, 6):
        found = np.interp(k * period, run.time, energy) / energy[0]

        # amplitude^2/16 = 6e-6, (w dt)^2/24 = 6e-7, interpolation of E 1e-6
        assert found == pytest.approx(exp(-damping / about_hinge * k * period), rel=2e-5)


@pytest.mark.parametrize("n", [1, 5])
def test_dampers_take_what_they_say(n: int) -> None:
    """Energy lost is the integral of c rate^2, to second order, in large motion."""
    m = scenes.pendulum(n, angle=0.5)
    for k, name in enumerate(m.joints):
        m.add_force(Damper(name, 0.3 + 0.1 * k))
    constants = [force.parts[0].law["damping"] for force in m.forces.values()]
    errors = []
    for dt in (0.004, 0.002):
        run = Simulator(m, dt, tolerance=1e-13).run(2.0)
        power = sum(c * run.joint(j).rates[:, 0] ** 2 for c, j in zip(constants, m.joints, strict=True))
        lost = run.energy()[0] - run.energy()[-1]
        assert lost > 0.4
        errors.append(abs(lost - dt * (power.sum() - 0.5 * (power[0] + power[-1]))))
    assert order(errors) == pytest.approx(2, abs=0.3)
    assert errors[1] < 1e-3


def test_stiff_damper_holds() -> None:
    """C dt / m = 5e4: far beyond what an explicit damper bears."""
    run = Simulator(slider(Damper("rail", 1e6), speed=1.0), 0.1).run(steps=500)
    x, v = along(run)

    # m v / c = 2e-6 m is all it may move
    assert np.abs(x).max() < 4.1e-6
    assert (np.abs(v) <= 1).all()
    energy = run.kinetic_energy()
    assert (np.diff(energy) < 0).all()


def test_stiff_implicit_spring_is_stable() -> None:
    """Stepped at 50/w; the explicit one is unstable from 2/w on."""
    dt = 0.1
    stiffness = 2.0 * (50 / dt) ** 2
    x, v = along(Simulator(slider(Spring("rail", stiffness, implicit=True), speed=1.0), dt).run(steps=2000))
    energy = 0.5 * 2.0 * v**2 + 0.5 * stiffness * x**2
    assert energy.max() <= 1.0 * (1 + 1e-6)

    with pytest.raises(SimulationError, match=r"spring 'spring on rail' is too stiff.*w dt = 50, .*implicit=True"):
        Simulator(slider(Spring("rail", stiffness), speed=1.0), dt).run(steps=5)


# ---- motors and servos


def test_work_of_a_motor_is_the_energy_gained() -> None:
    m = scenes.double_pendulum((0.3, 0.5))
    first, second = m.joints
    torque = {first: 15.0, second: -4.0}
    turns = {name: m.add_force(Motor(name, value)) for name, value in torque.items()}
    errors = []
    for dt in (0.004, 0.002):
        run = Simulator(m, dt, tolerance=1e-13).run(1.5)
        turned = {
            name: np.ptp(analysis.measured(run, force.parts[0].measure)[[0, -1]]) for name, force in turns.items()
        }
        assert min(turned.values()) > 0.3
        work = sum(
            torque[n] * np.diff(analysis.measured(run, f.parts[0].measure)[[0, -1]])[0] for n, f in turns.items()
        )
        gained = run.energy()[-1] - run.energy()[0]
        assert abs(gained) > 0.5
        errors.append(abs(work - gained))
    assert order(errors) == pytest.approx(2, abs=0.3)
    assert errors[1] < 1e-3 * abs(gained)


def test_motor_accelerates_a_slider() -> None:
    run = Simulator(slider(Motor("rail", 3.0)), 0.02, tolerance=1e-13).run(1.0)
    x, v = along(run)

    # constant acceleration is exact in this scheme
    np.testing.assert_allclose(x, 0.75 * run.time**2, rtol=0, atol=1e-11)
    np.testing.assert_allclose(v, 1.5 * run.time, rtol=0, atol=1e-11)


def test_servo_stands_where_gravity_and_gain_balance() -> None:
    m = scenes.pendulum(1, angle=0.0)
    hinge = next(iter(m.joints))
    kp, target = 20.0, 1.2
    m.add_force(Servo(hinge, kp=kp, kd=8.0, target=target))
    run = Simulator(m, 0.01).run(30.0)
    angle = run.joint(hinge).coordinates[-1, 0]

    # gain (target - q) = m g l sin q; at rest the scheme has no error but Newton's
    mass = m.bodies["link1"].inertia.mass
    assert kp * (target - angle) == pytest.approx(mass * 9.81 * 0.5 * np.sin(angle), abs=1e-8)
    assert 0.05 < target - angle < 0.5
    assert np.abs(run.angular_velocity[-1]).max() < 1e-8


def test_servo_never_exceeds_its_limit() -> None:
    limit = 3.0
    run = Simulator(slider(Servo("rail", kp=500, kd=300, target=1.0, effort_limit=limit)), 0.002).run(8.0)
    x, v = along(run)
    force = 2.0 * np.diff(v) / 0.002

    # velocities differ by forces over dt, Newton's last increment 1e-10 over dt
    assert np.abs(force).max() <= limit * (1 + 1e-6)
    np.testing.assert_allclose(force[:100], limit, rtol=1e-6)
    assert x[-1] == pytest.approx(1.0, abs=1e-3)

    # too weak for the slope: it slides at what is left
    weak = Simulator(slider(Servo("rail", kp=500, effort_limit=limit), slope=True), 0.002).run(1.0)
    x, _ = along(weak)
    past = x > 2 * limit / 500
    np.testing.assert_allclose(np.diff(x, 2)[past[:-2]] / 0.002**2, SLOPE - limit / 2.0, rtol=1e-3)


@pytest.mark.parametrize("slope", [False, True])
def test_speed_servo_holds_its_speed(slope: bool) -> None:
    run = Simulator(slider(Servo("rail", kd=40.0, target_rate=0.7), slope=slope), 0.01).run(3.0)
    _, v = along(run)

    # on the slope faster by the force over the gain; the start is forgotten by exp(-60), steps are steady exactly
    np.testing.assert_allclose(v[-100:], 0.7 + (2.0 * SLOPE / 40.0 if slope else 0.0), rtol=0, atol=1e-8)


# ---- friction


def test_friction_stops_a_slider_and_does_not_drive_it() -> None:
    run = Simulator(slider(Friction("rail", 4.0, threshold=1e-3), speed=1.5), 0.002).run(3.0)
    x, v = along(run)

    # v^2 m / 2 F; the last millimetre a second is slow, and takes F/m per second till then
    assert x[-1] == pytest.approx(1.5**2 * 2.0 / (2 * 4.0), abs=2e-3)
    assert np.diff(run.kinetic_energy()).max() < 1e-20, "the rounding of what is left"
    assert np.diff(x).min() > -1e-3 * 0.002, "it does not turn back, but for a fraction of the threshold"
    assert abs(v[-1]) < 1e-6
    assert np.abs(np.diff(v)).max() <= 4.0 / 2.0 * 0.002 * (1 + 1e-6)
    slowing = run.time < 0.7
    np.testing.assert_allclose(v[slowing], 1.5 - 2.0 * run.time[slowing], rtol=0, atol=1e-6)

    still = Simulator(slider(Friction("rail", 4.0)), 0.002).run(steps=100)
    assert np.abs(along(still)[0]).max() == 0


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_friction_is_a_hyperbolic_tangent_to_rounding(solver: str) -> None:
    """One step at speeds of 1e-6 to 50 thresholds, either way: half of the first interval's impulse is at its start."""
    m, dt, speeds = slider(Friction("rail", 4.0, threshold=1.0), speed=1.0), 0.01, np.logspace(-6, 1.7, 60)
    for sign in (1, -1):
        for speed in sign * speeds:
            state = m.state()
            state.velocity[0, 0] = speed
            run = Simulator(m, dt, solver=solver, tolerance=1e-14).run(steps=1, state=state)
            rate = (run.position[1, 0, 0] - run.position[0, 0, 0]) / dt
            mass = m.bodies["body"].mass
            # one rounding of the position, of the momentum and of the force each, and what Newton leaves
            assert rate == pytest.approx(speed - dt / 2 / mass * 4.0 * np.tanh(rate), rel=2e-15)


@pytest.mark.parametrize("threshold", [0.1, 1e-2, 1e-3, 1e-4])
def test_friction_far_above_its_threshold_needs_no_rescue(threshold: float) -> None:
    """There the force is constant, the easiest of steps: Newton's method takes it whole, the first one included."""
    m = slider(Friction("rail", 4.0, threshold=threshold), speed=1.5)
    run = Simulator(m, 0.002, rescue=False).run(steps=100)
    np.testing.assert_allclose(along(run)[1], 1.5 - 2.0 * run.time, rtol=0, atol=1e-9)


def test_friction_holds_on_a_slope_but_for_a_creep() -> None:
    force, threshold = 1.5 * 2.0 * SLOPE, 0.01
    run = Simulator(slider(Friction("rail", force, threshold=threshold), slope=True), 0.005).run(2.0)
    _, v = along(run)

    # tanh(v / threshold) = weight / friction; a steady speed is exact
    np.testing.assert_allclose(v[-20:], threshold * atanh(1 / 1.5), rtol=1e-6)


# ---- energy for long


def test_energy_of_springs_stays_for_a_hundred_thousand_steps() -> None:
    m = scenes.double_pendulum((0.5, 0.9))
    for name in m.joints:
        m.add_force(Spring(name, 4.0, rest_length=0.3))
    bodies = list(m.bodies)
    m.add_force(PointSpring("world", bodies[1], 10.0, points=((0, 1, 0), m.bodies[bodies[1]].position)))
    run = Simulator(m, 0.01).run(steps=100_000, record_every=7)
    energy = run.energy()
    parts = np.array_split(energy, 10)
    band = np.ptp(parts[0])
    assert 0 < band < 0.02 * np.ptp(run.kinetic_energy())

    # no drift: the last tenth lies where the first did
    assert abs(parts[-1].mean() - parts[0].mean()) < 0.1 * band
    assert np.ptp(energy) < 1.5 * band
    assert run.drift().max() <= 1e-12


# ---- files, bad input


def everything() -> Mechanism:
    m = pair(gravity=2.0, grounded=True)
    m.add_joint(Cylindrical("a", "b", axis=AXIS, at=PLACE, name="joint"))
    for law, build in ON_JOINT.items():
        m.add_force(build(name=law))
        m.add_force(build(name=f"{law} along", coordinate="displacement"))
    m.add_force(PointSpring("world", "b", 3.0, points=((1, 1, 0), PLACE), damping=0.2, name="points"))
    return m


def test_files_pickles_and_copies_keep_forces(tmp_path: Path) -> None:
    m = everything()
    run = simulate(m.assemble(), steps=20)
    run.save(tmp_path / "run.npz")
    others = {
        "file": Trajectory.load(tmp_path / "run.npz").mechanism,
        "pickle": pickle.loads(pickle.dumps(run)).mechanism,
        "copy": m.copy(),
    }
    for way, other in others.items():
        assert list(other.forces) == list(m.forces), way
        for name, force in m.forces.items():
            for found, part in zip(other.forces[name].parts, force.parts, strict=True):
                assert found.law == part.law
                for what in ("code", "a", "b", "joint", "index"):
                    assert getattr(found.measure, what) == getattr(part.measure, what)
                np.testing.assert_array_equal(found.measure.anchors, part.measure.anchors)
                np.testing.assert_array_equal(found.measure.frames, part.measure.frames)

        # the same but for the velocities at the start, which are projected once more
        first = run[0]
        state = State(other, first.position, first.orientation, first.velocity, first.angular_velocity)
        assert_same(simulate(state, steps=20), run, 1e-13)
    assert "17 forces" in repr(m)


BAD: dict[str, tuple[Callable[[], Force], str]] = {
    "negative stiffness": (lambda: Spring("joint", -1.0), "stiffness must not be negative"),
    "stiffness of nan": (lambda: Spring("joint", np.nan), "stiffness must be finite"),
    "infinite rest": (lambda: Spring("joint", 1.0, rest_length=np.inf), "rest_length must be finite"),
    "negative damping": (lambda: Damper("joint", -0.1), "damping must not be negative"),
    "infinite motor": (lambda: Motor("joint", np.inf), "effort must be finite"),
    "servo of nothing": (lambda: Servo("joint", target=1.0), "give kp, kd or both"),
    "negative gain": (lambda: Servo("joint", kp=-1.0), "kp must not be negative"),
    "negative limit": (lambda: Servo("joint", kp=1.0, effort_limit=-1.0), "effort_limit must not be negative"),
    "limit of nan": (lambda: Servo("joint", kp=1.0, effort_limit=np.nan), "limit"),
    "negative friction": (lambda: Friction("joint", -1.0), "friction must not be negative"),
    "threshold of zero": (lambda: Friction("joint", 1.0, threshold=0.0), "threshold must be positive"),
    "unknown joint": (lambda: Spring("hinge", 1.0), "no joint called 'hinge'"),
    "a ball": (lambda: Spring("ball", 1.0), "ball joint 'ball' has no single coordinate"),
    "a weld": (lambda: Damper("weld", 1.0), "no single coordinate"),
    "a cross": (lambda: Motor("cross", 1.0), "choose a coordinate of universal joint 'cross': 'first' or 'second'"),
    "slide of a hinge": (lambda: Motor("joint", 1.0, coordinate="displacement"), "has no 'displacement', only 'angle'"),
    "no points": (lambda: PointSpring("a", "b", 1.0), "give points="),
    "points twice": (lambda: PointSpring("a", "b", 1.0, points=np.eye(3)[:2], anchors=np.eye(3)[:2]), "give points="),
    "one point": (lambda: PointSpring("a", "b", 1.0, points=(0, 0, 0)), "points"),
    "negative length": (
        lambda: PointSpring("a", "b", 1.0, points=np.eye(3)[:2], rest_length=-1.0),
        "must not be negative",
    ),
    "one body": (lambda: PointSpring("a", "a", 1.0, points=np.eye(3)[:2]), "to itself"),
    "unknown body": (lambda: PointSpring("a", "c", 1.0, points=np.eye(3)[:2]), "no body called 'c'"),
    "name twice": (lambda: Damper("joint", 1.0, name="there"), "already a force called 'there'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_forces(case: str) -> None:
    m = pair()
    m.add_joint(Revolute("a", "b", axis=AXIS, at=PLACE, name="joint"))
    m.add_joint(Ball("world", "a", at=PLACE, name="ball"))
    m.add_joint(Fixed("world", "b", name="weld"))
    m.add_joint(Universal("world", "b", at=PLACE, axes=((1, 0, 0), (0, 1, 0)), name="cross"))
    m.add_force(Damper("joint", 1.0, name="there"))
    build, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        m.add_force(build())
    assert list(m.forces) == ["there"]


def test_forces_are_forces() -> None:
    with pytest.raises(ValueError, match="add_force takes a force"):
        pair().add_force("spring")


# ---- springs of one side


def hung(kind: type[PointSpring], at: float, **law: float) -> Mechanism:
    """A ball of 1 kg above or below a hook at the origin, on a cable or a bumper of 1 m."""
    m = Mechanism()
    m.add_body("ball", sphere(0.1, mass=1.0), position=(0, 0, at))
    m.add_force(kind("world", "ball", 400.0, anchors=((0, 0, 0), (0, 0, 0)), rest_length=1.0, name="line", **law))
    return m


@pytest.mark.parametrize("implicit", [False, True])
def test_a_cable_is_slack_until_it_is_long(implicit: bool) -> None:
    """Dropped from 0.5 m below its hook: a free fall, then half a swing of a spring, and up again as high as it was."""
    run = Simulator(hung(Cable, -0.5, implicit=implicit), 1e-4).run(0.8)
    fallen = 0.5 * 9.81 * run.time**2
    free = run.time < np.sqrt(2 * 0.5 / 9.81) - 1e-3
    np.testing.assert_allclose(-0.5 - run.position[free, 0, 2], fallen[free], atol=1e-9)
    force = run.force("line")
    assert (force.effort[free] == 0).all()
    assert (force.effort <= 0).all()
    # m g (0.5 + x) = 400 x^2 / 2 at the lowest point
    deep = (9.81 + np.sqrt(9.81**2 + 4 * 200 * 9.81 * 0.5)) / 400
    assert -run.position[:, 0, 2].min() == pytest.approx(1 + deep, abs=1e-5)
    # energy is kept, through both kinks, to second order in the step
    assert run.energy_error().max() < 1e-4
    assert force.work[-1] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("order", [2, 4])
def test_a_bumper_only_pushes(order: int) -> None:
    """Dropped from 1.3 m above: it stops a ball within its length, and lets it go."""
    run = Simulator(hung(Bumper, 1.3), 1e-4, order=order).run(0.6)
    assert (run.force("line").effort >= 0).all()
    high = run.position[:, 0, 2]
    assert 0.7 < high.min() < 1
    assert high.max() == pytest.approx(1.3, abs=1e-4)
    assert run.energy_error().max() < 1e-4


def test_a_damped_cable_never_pushes() -> None:
    m = hung(Cable, -0.5, damping=30.0)
    for solver in ("articulated", "ldu", "dense"):
        run = Simulator(m, 1e-3, solver=solver).run(3.0)
        assert (run.force("line").effort <= 0).all()
        # at rest where 400 N/m carry 9.81 N
        assert run.position[-1, 0, 2] == pytest.approx(-1 - 9.81 / 400, abs=1e-6)
    batch = Simulator(m, 1e-3).run_batch(3.0, states=3)
    np.testing.assert_allclose(batch.position[1], run.position, atol=1e-9)


def test_springs_of_one_side_are_kept(tmp_path: Path) -> None:
    m = hung(Bumper, 1.3)
    m.save(tmp_path / "bumper.json")
    read = Mechanism.load(tmp_path / "bumper.json")
    assert isinstance(read.forces["line"], Bumper)
    np.testing.assert_array_equal(Simulator(read, 0.01).run(0.5).position, Simulator(m, 0.01).run(0.5).position)


@pytest.mark.parametrize("kind", [Cable, Bumper])
def test_a_damper_of_one_side_knows_the_pull_of_its_spring(kind: type[PointSpring]) -> None:
    """Both are implicit in the step then; without a damper the spring acts at the nodes and keeps energy."""
    laws = [hung(kind, -1.0, damping=damping).forces["line"].parts[0].law for damping in (0.0, 2.0)]
    assert [law["implicit"] for law in laws] == [0.0, 1.0]
