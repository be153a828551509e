"""Drives, moving ground, and motors, servos and loads that are functions of time."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from catena import (
    AssemblyError,
    Ball,
    ConstantVelocity,
    Coupling,
    Cylindrical,
    Fixed,
    FixedOrientation,
    Gear,
    Inertia,
    Load,
    Mechanism,
    Motor,
    ParallelAxes,
    Planar,
    PointOnLine,
    PointOnPlane,
    PrescribedMotion,
    Prismatic,
    Revolute,
    Screw,
    Servo,
    SimulationError,
    Simulator,
    Spring,
    Universal,
    box,
    rod,
    scenes,
)
from catena._util import rotation as rot
from laws import SOLVERS, assert_same, simulate
from mechanisms import crank_rocker

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

GRAVITY = 9.81


def order(errors: list[float]) -> float:
    """Of two errors, the second at half the step."""
    return float(np.log2(errors[0] / errors[1]))


def crank(inertia: float = 0.3, *, gravity: float = 0.0) -> Mechanism:
    """A body on a shaft along y, its center of mass 0.5 m away from it, hanging."""
    m = Mechanism(gravity=(0, 0, -gravity))
    m.add_body("arm", Inertia(2.0, np.diag((0.1, inertia, 0.2))), position=(0, 0, -0.5))
    m.add_joint(Revolute("world", "arm", axis=(0, 1, 0), at=(0, 0, 0), name="shaft"))
    return m


# ---- drives


def test_drive_gives_angle_rate_and_torque() -> None:
    m = crank(gravity=GRAVITY)
    m.add_coupling(PrescribedMotion("shaft", lambda t: 0.7 * np.sin(2 * t), name="drive"))
    run = Simulator(m, 0.002).run(4.0)
    t = run.time
    angle = 0.7 * np.sin(2 * t)
    shaft = run.joint("shaft")
    np.testing.assert_allclose(shaft.coordinates[:, 0], angle, rtol=0, atol=1e-12)
    # the derivative is taken by differences of fourth order over dt/32
    np.testing.assert_allclose(shaft.rates[:, 0], 1.4 * np.cos(2 * t), rtol=0, atol=1e-10)
    torque = (0.3 + 2 * 0.25) * -2.8 * np.sin(2 * t) + 2 * GRAVITY * 0.5 * np.sin(angle)
    # dt^2 / 12 times fourth derivatives
    np.testing.assert_allclose(run.coupling("drive").effort, torque, rtol=0, atol=2e-5)
    np.testing.assert_allclose(run.coupling("drive").gap, 0, atol=1e-12)


def test_work_of_the_drive_is_the_energy_gained() -> None:
    errors = []
    for dt in (0.01, 0.005):
        m = crank(gravity=GRAVITY)
        m.add_coupling(PrescribedMotion("shaft", lambda t: 0.7 * np.sin(2 * t) + 0.3 * t**2, name="drive"))
        run = Simulator(m, dt).run(2.0)
        power = run.coupling("drive").effort * run.joint("shaft").rates[:, 0]
        work = np.concatenate(((0.0,), np.cumsum(0.5 * dt * (power[1:] + power[:-1]))))
        gained = run.energy() - run.energy()[0]
        assert np.ptp(gained) > 1
        errors.append(float(np.abs(work - gained).max()))
    assert errors[1] < 1e-3
    assert order(errors) == pytest.approx(2, abs=0.15)


def test_uniform_drive_through_many_turns() -> None:
    m = crank(gravity=GRAVITY)
    m.add_coupling(PrescribedMotion("shaft", lambda t: -15.0 * t, name="drive"))
    run = Simulator(m, 0.01).run(60.0)
    np.testing.assert_allclose(run.joint("shaft").coordinates[:, 0], -15 * run.time, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.coupling("drive").gap, 0, atol=2e-12)
    assert run.joint("shaft").coordinates[-1, 0] < -140 * 2 * np.pi
    torque = GRAVITY * np.sin(-15 * run.time)
    np.testing.assert_allclose(run.coupling("drive").effort, torque, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("kind", "which"), [("prismatic", "displacement"), ("planar", "x"), ("planar", "y"), ("universal", "second")]
)
def test_drive_of_other_coordinates(kind: str, which: str) -> None:
    m = Mechanism()
    m.add_body("base", Inertia(2.0, np.diag((0.3, 0.4, 0.5))), angular_velocity=(0.1, 0.2, 0.3))
    m.add_joint(Ball("world", "base", at=(0, 0.2, 0.5), name="pivot"))
    m.add_body("part", Inertia(1.0, np.diag((0.1, 0.12, 0.15))), position=(0.4, 0.1, 0), orientation=(0.6, 0, 0.8, 0))
    at, axis = (0.3, 0, 0.1), (0.3, 1, 0.2)
    if kind == "universal":
        m.add_joint(Universal("base", "part", axes=((1, 0, 0), (0, 1, 0)), at=at, name="joint"))
    else:
        m.add_joint({"prismatic": Prismatic, "planar": Planar}[kind]("base", "part", axis=axis, at=at, name="joint"))
    m.add_coupling(PrescribedMotion(("joint", which), lambda t: 0.4 * np.sin(3 * t), name="drive"))
    state = m.assemble()
    runs = [simulate(state, solver) for solver in SOLVERS]
    for other in runs[1:]:
        assert_same(other, runs[0])
    run = runs[0]
    index = m.joints["joint"].names.index(which)
    np.testing.assert_allclose(run.joint("joint").coordinates[:, index], 0.4 * np.sin(3 * run.time), atol=1e-12)
    np.testing.assert_allclose(run.joint("joint").rates[:, index], 1.2 * np.cos(3 * run.time), atol=1e-9)
    power = run.coupling("drive").effort * run.joint("joint").rates[:, index]
    work = np.concatenate(((0.0,), np.cumsum(0.5 * run.dt * (power[1:] + power[:-1]))))
    np.testing.assert_allclose(work, run.energy() - run.energy()[0], atol=2e-3 * np.ptp(run.kinetic_energy()))


@pytest.mark.parametrize("higher", [2, 4, 6])
def test_order_with_a_smooth_drive(higher: int) -> None:
    m = scenes.pendulum(3, "revolute", angle=0.5)
    m.add_coupling(PrescribedMotion("joint1", lambda t: 0.3 * np.sin(3 * t)))
    state = m.assemble()
    fine = Simulator(m, 0.0025, order=6, tolerance=1e-14).run(0.64, state=state)[-1]
    errors = []
    for dt in {2: (0.02, 0.01), 4: (0.02, 0.01), 6: (0.04, 0.02)}[higher]:
        end = Simulator(m, dt, order=higher, tolerance=1e-14).run(0.64, state=state)[-1]
        pairs = (("position", 1), ("velocity", 1), ("angular_velocity", 1))
        errors.append(max(float(np.abs(getattr(end, k) - getattr(fine, k)).max()) for k, _ in pairs))
    assert order(errors) == pytest.approx(higher, abs=0.3)


def test_reaction_wheel() -> None:
    """A driven wheel on a floating body turns it back by the ratio of inertias; momentum stays zero, or what it was."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("craft", Inertia(3.0, 0.4 * np.eye(3)))
    m.add_body("wheel", Inertia(1.0, 0.1 * np.eye(3)))
    m.add_joint(Revolute("craft", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="bearing"))
    m.add_coupling(PrescribedMotion("bearing", lambda t: 2 * t**2 - t**3 / 3, name="drive"))
    run = Simulator(m, 0.005, tolerance=1e-13).run(4.0)
    np.testing.assert_allclose(run.angular_momentum(), 0, atol=1e-12)
    rate = 4 * run.time - run.time**2
    np.testing.assert_allclose(run.body("craft").angular_velocity[:, 2], -0.2 * rate, rtol=0, atol=1e-4)
    np.testing.assert_allclose(run.coupling("drive").effort, 0.08 * (4 - 2 * run.time), rtol=0, atol=1e-4)

    state = m.assemble()
    state.velocity[:] = (0.1, 0.2, 0.3)
    state.angular_velocity[:] = (0.5, 0.3, 0)
    tumbling = simulate(m.assemble(state), steps=500)
    for momentum in (tumbling.momentum(), tumbling.angular_momentum()):
        np.testing.assert_allclose(momentum, momentum[:1].repeat(501, 0), rtol=0, atol=1e-12)


def test_start_off_the_drive_is_refused_and_assembled() -> None:
    m = crank()
    m.add_coupling(PrescribedMotion("shaft", lambda t: 0.4 + 2 * t, name="drive"))
    with pytest.raises(
        AssemblyError, match=r"prescribed motion 'drive' stays open by 0 m, 0.4 rad; mechanism.assemble\(\) may"
    ):
        Simulator(m, 0.01).run(steps=1)
    state = m.assemble()
    assert state.joint("shaft").angle == pytest.approx(0.4, abs=1e-12)
    # velocities follow too
    assert state.joint("shaft").rate == pytest.approx(2, abs=1e-9)
    run = Simulator(m, 0.01).run(steps=10, state=state)
    np.testing.assert_allclose(run.joint("shaft").coordinates[:, 0], 0.4 + 2 * run.time, atol=1e-12)

    # another instant is another pose
    state.time = 1.0
    with pytest.raises(AssemblyError, match="prescribed motion 'drive' stays open by 0 m, 2 rad"):
        Simulator(m, 0.01).run(steps=1, state=state)
    late = m.assemble(state)
    assert late.joint("shaft").angle == pytest.approx(2.4, abs=1e-12)


def test_velocity_off_the_drive_is_projected() -> None:
    m = crank()
    m.add_coupling(PrescribedMotion("shaft", lambda t: 2 * t))
    run = Simulator(m, 0.01).run(steps=10)
    np.testing.assert_allclose(run.joint("shaft").rates[:, 0], 2, atol=1e-9)


@pytest.mark.parametrize("which", ["crank", "pin", "knee"])
def test_drive_of_a_loop(which: str) -> None:
    """At the crank, or at joints of which one closes the loop."""
    m = crank_rocker()
    start = m.assemble(coordinates={"crank": 1.0})
    first = start.joint(which).angle
    angle = (lambda t: 1 + 4 * np.pi * t) if which == "crank" else (lambda t: first + 0.1 * np.sin(5 * t))
    m.add_coupling(PrescribedMotion(which, angle, name="motor"))
    state = m.assemble(start)
    assert m.report(state).freedom == 0
    runs = [simulate(state, solver, steps=400) for solver in SOLVERS]
    for other in runs[1:]:
        assert_same(other, runs[0])
    run = runs[0]
    assert run.drift().max() < 1e-12
    assert np.abs(run.coupling("motor").gap).max() < 1e-12
    assert run.joint(which).coordinates[-1, 0] == pytest.approx(angle(2.0), abs=1e-11)
    power = run.coupling("motor").effort * run.joint(which).rates[:, 0]
    work = np.concatenate(((0.0,), np.cumsum(0.5 * run.dt * (power[1:] + power[:-1]))))
    np.testing.assert_allclose(work, run.energy() - run.energy()[0], atol=1e-2 * np.ptp(run.kinetic_energy()))


def test_drive_beyond_the_reach_of_a_loop() -> None:
    """The rocker swings and cannot go round: at the end of its reach the run ends with a sentence."""
    m = crank_rocker()
    m.add_coupling(PrescribedMotion("rocker", lambda t: 0.5 * t, name="push"))
    with pytest.raises(SimulationError, match=r"locks in the step|finds no solution") as caught:
        Simulator(m, 0.01).run(12.0)
    assert caught.value.status.reason in ("locked", "diverged")
    assert caught.value.trajectory.drift().max() < 1e-10


def test_function_of_time_in_a_coupling_of_several() -> None:
    """A gear whose phase is shifted as it runs."""
    m = Mechanism(gravity=(0, 0, 0))
    for k in range(2):
        m.add_body(f"w{k}", Inertia(1.0, (0.2 + k) * np.diag((0.6, 0.6, 1.0))), position=(k, 0, 0))
        m.add_joint(Revolute("world", f"w{k}", axis=(0, 0, 1), at=(k, 0, 0), name=f"s{k}"))
    m.add_coupling(Coupling([("s0", 1.0), ("s1", 2.0)], offset=0.1, function=lambda t: 0.5 * t**2 - 0.1, name="sum"))
    run = Simulator(m, 0.002).run(2.0)
    # w0' = f / J0, w1' = 2 f / J1, w0' + 2 w1' = 1
    effort = 1 / (1 / 0.2 + 4 / 1.2)
    np.testing.assert_allclose(run.coupling("sum").effort, effort, rtol=1e-4)
    np.testing.assert_allclose(run.joint("s0").rates[:, 0], effort / 0.2 * run.time, rtol=0, atol=1e-5)
    np.testing.assert_allclose(run.coupling("sum").gap, 0, atol=1e-12)


def test_going_on_from_a_node_is_going_on() -> None:
    m = scenes.pendulum(2, "revolute", angle=0.5)
    m.add_coupling(PrescribedMotion("joint1", lambda t: 0.3 * np.sin(3 * t)))
    m.add_force(Motor("joint2", lambda t: 0.2 * np.cos(5 * t)))
    simulator = Simulator(m, 0.01, tolerance=1e-13)
    run = simulator.run(steps=200, state=m.assemble())
    again = simulator.run(steps=100, state=run[100])
    np.testing.assert_allclose(again.time, run.time[100:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(again.position, run.position[100:], rtol=0, atol=1e-9)


def test_rescue_keeps_the_clock() -> None:
    """Steps that are halved ask the drive at the right instants: at the nodes it is met as ever."""
    m = scenes.pendulum(2, "revolute", angle=2.5)
    m.add_coupling(PrescribedMotion("joint1", lambda t: 3.0 * np.sin(8 * t), name="drive"))
    run = Simulator(m, 0.04).run(4.0, state=m.assemble())
    assert run.halved_count > 0
    np.testing.assert_allclose(run.coupling("drive").gap, 0, atol=1e-11)
    np.testing.assert_allclose(run.joint("joint1").rates[:, 0], 24 * np.cos(8 * run.time), rtol=0, atol=1e-5)


# ---- moving ground


def test_ground_is_met_at_every_node() -> None:
    m = Mechanism()
    m.add_body("body", box((0.3, 0.2, 0.1), mass=1.0), position=(0.4, 0, 0))
    weld = m.add_joint(Fixed("world", "body", at=(0.1, 0.2, 0.3), name="weld"))

    def motion(t: float) -> tuple[np.ndarray, np.ndarray]:
        turn = rot.from_rotation_vector(0.8 * np.sin(2 * t) * np.array((0.3, -0.5, 0.6)))
        return np.array((0.2 * t**2, 0.1 * np.sin(3 * t), 0)), turn

    weld.ground = motion
    run = Simulator(m, 0.01).run(2.0)
    place = np.array((0.1, 0.2, 0.3))
    for k in range(0, len(run), 20):
        t = run.time[k]
        shift, turn = motion(t)
        # about the joint's place
        expected = place + shift + rot.rotate(turn, np.array((0.4, 0, 0)) - place)
        np.testing.assert_allclose(run.body("body").position[k], expected, atol=1e-12)
        rate = 1.6 * np.cos(2 * t) * np.array((0.3, -0.5, 0.6))
        np.testing.assert_allclose(run.body("body").angular_velocity[k], rate, atol=1e-7)
        velocity = np.array((0.4 * t, 0.3 * np.cos(3 * t), 0)) + np.cross(
            rate, run.body("body").position[k] - place - shift
        )
        np.testing.assert_allclose(run.body("body").velocity[k], velocity, atol=1e-7)
    assert run.drift().max() < 1e-12
    assert run.misalignment().max() < 1e-12


@pytest.mark.parametrize("flipped", [False, True])
def test_support_that_accelerates_is_gravity(flipped: bool) -> None:
    """A double pendulum on a support with acceleration a(t) is one in gravity g - a(t), seen from the support."""
    shift = lambda t: np.array((0.3 * np.sin(2 * t), 0.1 * (np.cos(3 * t) - 1), 0.2 * np.sin(t)))  # noqa: E731
    acceleration = lambda t: np.array((-1.2 * np.sin(2 * t), -0.9 * np.cos(3 * t), -0.2 * np.sin(t)))  # noqa: E731

    def pendulum() -> Mechanism:
        m = Mechanism()
        points = ((0, 0, 0), (0.5, 0, -0.8), (0.9, 0.4, -1.2))
        m.add_body("upper", rod(points[0], points[1], mass=1.0))
        m.add_body("lower", rod(points[1], points[2], mass=0.7))
        m.add_joint(Ball(*(("upper", "world") if flipped else ("world", "upper")), at=points[0], name="top"))
        m.add_joint(Ball("upper", "lower", at=points[1], name="elbow"))
        return m

    moving, still = pendulum(), pendulum()
    moving.joints["top"].ground = shift
    first = moving.state()
    # at rest against the support
    first.velocity[:] = (0.6, 0, 0.2)
    dt, errors = 0.01, []
    for dt in (0.01, 0.005):
        here = simulate(first, dt=dt, steps=round(2 / dt))
        pull = {
            name: Load(force=lambda t, mass=body.inertia.mass: -mass * acceleration(t))
            for name, body in still.bodies.items()
        }
        there = Simulator(still, dt, tolerance=1e-13).run(2.0, loads=pull)
        seen = here.position - np.array([shift(t) for t in here.time])[:, None]
        errors.append(float(np.abs(seen - there.position).max()))
    # discrete accelerations of the support are not the exact ones
    assert errors[1] < 1e-4
    assert order(errors) == pytest.approx(2, abs=0.2)


Y = (0, 1, 0)
ON_GROUND = {
    "revolute": lambda a, b: Revolute(a, b, axis=Y, at=(0, 0, 0), name="joint"),
    "prismatic": lambda a, b: Prismatic(a, b, axis=(1, 0, 0.3), at=(0, 0, 0), name="joint"),
    "cylindrical": lambda a, b: Cylindrical(a, b, axis=Y, at=(0, 0, 0), name="joint"),
    "planar": lambda a, b: Planar(a, b, axis=Y, at=(0, 0, 0), name="joint"),
    "screw": lambda a, b: Screw(a, b, axis=Y, at=(0, 0, 0), pitch=0.3, name="joint"),
    "universal": lambda a, b: Universal(a, b, axes=((1, 0, 0), Y), at=(0, 0, 0), name="joint"),
    "ball": lambda a, b: Ball(a, b, at=(0, 0, 0), name="joint"),
    "line": lambda a, b: PointOnLine(a, b, axis=Y, at=(0, 0, 0), name="joint"),
    "plane": lambda a, b: PointOnPlane(a, b, axis=(0, 0, 1), at=(0, 0, 0), name="joint"),
    "parallel": lambda a, b: ParallelAxes(a, b, axis=Y, at=(0, 0, 0), name="joint"),
    "orientation": lambda a, b: FixedOrientation(a, b, name="joint"),
    "constant velocity": lambda a, b: ConstantVelocity(a, b, axis=Y, at=(0, 0, 0), name="joint"),
}


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("kind", ON_GROUND)
def test_every_joint_on_moving_ground(kind: str, flipped: bool) -> None:
    m = Mechanism()
    m.add_body("b", Inertia(1.0, np.diag((0.1, 0.12, 0.15))), position=(0.3, 0.1, -0.2))
    joint = m.add_joint(ON_GROUND[kind](*(("b", "world") if flipped else ("world", "b"))))
    joint.ground = lambda t: (
        (0.2 * np.sin(2 * t), 0.1 * t**2, 0.3 * t),
        rot.from_rotation_vector((0.3 * np.sin(t), 0.2 * t, -0.4 * t)),
    )
    assert m.report().freedom == joint.dof
    state = m.assemble()
    run = simulate(state, dt=0.01, steps=80)
    assert run.drift().max() < 1e-12
    assert run.misalignment().max() < 1e-12
    for solver in SOLVERS[1:]:
        assert_same(simulate(state, solver, dt=0.01, steps=80), run)
    # the node's velocity is that of the motion
    speed = np.gradient(run.position[:, 0], 0.01, axis=0)[3:-3]
    np.testing.assert_allclose(run.velocity[3:-3, 0], speed, rtol=0, atol=5e-3)
    on = simulate(run[40], dt=0.01, steps=40)
    np.testing.assert_allclose(on.position, run.position[40:], rtol=0, atol=1e-10)


def test_a_quaternion_and_its_opposite_are_the_same_ground() -> None:
    runs = []
    for flips in (False, True):
        m = scenes.pendulum(1, "revolute", angle=0.5)

        def ground(t: float, flips: bool = flips) -> tuple[np.ndarray, np.ndarray]:
            # of another sign ten times in a step
            sign = -1 if flips and np.floor(t / 0.001) % 2 else 1
            return np.array((0.1 * t, 0, 0)), sign * np.array((np.cos(0.3 * t), 0, 0, np.sin(0.3 * t)))

        m.joints["joint1"].ground = ground
        runs.append(Simulator(m, 0.01).run(steps=100, state=m.assemble()))
    assert_same(runs[1], runs[0], 1e-12)


def test_it_may_change_sides_at_any_instant() -> None:
    """Also between the instants at which it is differentiated."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("arm", box((1.0, 0.2, 0.1), mass=1.0), position=(0.5, 0.3, 0))
    m.add_joint(Fixed(m.world, "arm", at=(0, 0, 0), name="weld"))

    def ground(t: float) -> tuple[tuple[float, float, float], np.ndarray]:
        return (0.2 * t, 0, 0), (-1) ** round(1e4 * t) * rot.from_axis_angle((1, 0, 0), 2 * t)

    m.joints["weld"].ground = ground
    for state in (m.assemble(), Simulator(m, 0.01).run(steps=3)[0]):
        np.testing.assert_allclose(state.angular_velocity, [(2, 0, 0)], rtol=0, atol=1e-9)
        np.testing.assert_allclose(state.velocity, [(0.2, 0, 0.6)], rtol=0, atol=1e-9)
        np.testing.assert_allclose(state.joint("weld").rates, np.zeros(0))


# joints without a rotation vector among their coordinates, whose rates would be angular velocities
DERIVATIVES = ("revolute", "prismatic", "cylindrical", "planar", "screw", "universal", "parallel", "orientation")


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("kind", DERIVATIVES)
def test_rates_on_moving_ground_are_those_of_the_coordinates(kind: str, flipped: bool) -> None:
    """In a run, in its states and in a batch; the ground's own velocity is taken off."""
    m = Mechanism()
    m.add_body("b", Inertia(1.0, np.diag((0.1, 0.12, 0.15))), position=(0.3, 0.1, -0.2))
    joint = m.add_joint(ON_GROUND[kind](*(("b", "world") if flipped else ("world", "b"))))
    joint.ground = lambda t: (
        (0.2 * np.sin(2 * t), 0.1 * t**2, 0.3 * t),
        rot.from_rotation_vector((0.3 * np.sin(t), 0.2 * t, -0.4 * t)),
    )
    simulator, state = Simulator(m, 0.005, tolerance=1e-13), m.assemble()
    run = simulator.run(steps=100, state=state)
    rates, angles = run.joint("joint").rates, run.joint("joint").coordinates
    # central differences, and the scheme itself, are of second order
    slopes = (angles[2:] - angles[:-2]) / 0.01
    np.testing.assert_allclose(rates[1:-1], slopes, rtol=0, atol=2e-3)
    assert np.abs(rates).max() > 0.05
    batch = simulator.run_batch(states=[state], steps=100)
    np.testing.assert_allclose(batch.joint("joint").rates[0], rates, rtol=0, atol=1e-10)
    for k in (0, 50, 100):
        np.testing.assert_allclose(run[k].joint("joint").rates, rates[k], rtol=0, atol=1e-10)


def test_a_frame_of_constant_velocity_is_no_other() -> None:
    moving, still = scenes.pendulum(2, "ball", angle=0.8), scenes.pendulum(2, "ball", angle=0.8)
    speed = np.array((1.0, -2.0, 0.5))
    moving.joints["joint1"].ground = lambda t: speed * t
    state = moving.state()
    state.velocity[:] = speed
    runs = [simulate(state, steps=300), simulate(still.state(), steps=300)]
    np.testing.assert_allclose(runs[0].position - (speed * runs[0].time[:, None])[:, None], runs[1].position, atol=1e-9)
    np.testing.assert_allclose(runs[0].velocity - speed, runs[1].velocity, atol=1e-9)
    np.testing.assert_allclose(runs[0].joint("joint1").force, runs[1].joint("joint1").force, atol=1e-7)
    np.testing.assert_allclose(runs[0].joint("joint1").rates, runs[1].joint("joint1").rates, atol=1e-7)


@pytest.mark.parametrize(("speed", "upright"), [(60.0, True), (12.0, False)])
def test_kapitza_pendulum(speed: float, upright: bool) -> None:
    """A pendulum stands upright on a support that shakes fast: (a w)^2 > 2 g l."""
    length, stroke = 0.5, 0.1
    m = Mechanism()
    m.add_body("bob", Inertia(1.0, 1e-9 * np.eye(3)), position=(length * np.sin(0.1), 0, length * np.cos(0.1)))
    joint = m.add_joint(Revolute("world", "bob", axis=(0, 1, 0), at=(0, 0, 0), name="pivot"))
    joint.ground = lambda t: (0, 0, stroke * np.cos(speed * t) - stroke)
    assert ((stroke * speed) ** 2 > 2 * GRAVITY * length) == upright
    run = Simulator(m, 0.002).run(2.5)
    lean = np.abs(run.joint("pivot").coordinates[:, 0])
    # the angle is measured from the described pose, 0.1 rad off upright
    assert lean.max() < 0.5 if upright else lean.max() > 2


def test_solvers_agree_on_moving_ground() -> None:
    """Two chains on one moving platform each, and a loop between two grounds."""
    m = scenes.four_bar()
    ends = [joint for joint in m.joints.values() if joint.a.is_world or joint.b.is_world]
    for joint in ends:
        joint.ground = lambda t: (0.1 * np.sin(4 * t), 0.05 * np.sin(3 * t), 0)
    assert m.report().freedom == 1
    state = m.assemble()
    runs = [simulate(state, solver) for solver in SOLVERS]
    for other in runs[1:]:
        assert_same(other, runs[0])
    assert runs[0].drift().max() < 1e-12


@pytest.mark.parametrize("higher", [2, 4, 6])
def test_order_on_moving_ground(higher: int) -> None:
    m = scenes.pendulum(2, "ball", angle=0.8)
    m.joints["joint1"].ground = lambda t: (
        (0.2 * np.sin(3 * t), 0.1 * np.sin(2 * t), 0),
        rot.from_rotation_vector((0.3 * np.sin(t), 0, 0)),
    )
    state = m.assemble()
    fine = Simulator(m, 0.0025, order=6, tolerance=1e-14).run(0.64, state=state)[-1]
    errors = []
    for dt in {2: (0.02, 0.01), 4: (0.02, 0.01), 6: (0.04, 0.02)}[higher]:
        end = Simulator(m, dt, order=higher, tolerance=1e-14).run(0.64, state=state)[-1]
        errors.append(float(np.abs(end.position - fine.position).max()))
    assert order(errors) == pytest.approx(higher, abs=0.3)


def test_states_on_moving_ground() -> None:
    m = crank()
    m.joints["shaft"].ground = lambda t: (t, 0, 0)
    state = m.state()
    state.time = 2.0
    assert state.joint("shaft").gap == pytest.approx(2)
    state.joint("shaft").angle = 0.3
    np.testing.assert_allclose(state.body("arm").position, (2 - 0.5 * np.sin(0.3), 0, -0.5 * np.cos(0.3)), atol=1e-12)
    state.joint("shaft").rate = 0
    np.testing.assert_allclose(state.body("arm").velocity, (1, 0, 0), atol=1e-9)
    run = Simulator(m, 0.01).run(steps=10, state=state)
    np.testing.assert_allclose(run.joint("shaft").coordinates, 0.3, atol=1e-9)

    state.time = 3.0
    with pytest.raises(AssemblyError, match="revolute joint 'shaft' stays open by 1 m"):
        Simulator(m, 0.01).run(steps=1, state=state)
    np.testing.assert_allclose(m.assemble(state).joint("shaft").gap, 0, atol=1e-11)


def test_ground_that_is_refused() -> None:
    m = scenes.pendulum(2, "revolute")
    with pytest.raises(ValueError, match="revolute joint 'joint2': ground can only be set for a joint to the world"):
        m.joints["joint2"].ground = lambda t: (0, 0, 0)
    with pytest.raises(ValueError, match="a joint to the world that has been added to a mechanism"):
        Ball("world", "link1", at=(0, 0, 0)).ground = lambda t: (0, 0, 0)
    with pytest.raises(ValueError, match="revolute joint 'joint1': ground must be a function of time, got 3"):
        m.joints["joint1"].ground = 3
    for bad, message in (
        (lambda t: (0, 0), r"shape \(3,\), got \(2,\)"),
        (lambda t: (np.nan, 0, 0), "must be finite"),
        (lambda t: ((0, 0, 0), (0, 0, 0, 0)), "quaternion|zero|length|unit"),
    ):
        m.joints["joint1"].ground = bad
        with pytest.raises(ValueError, match="the ground of revolute joint 'joint1' at t = 0 s.*" + message):
            Simulator(m, 0.01).run(steps=1)
    m.joints["joint1"].ground = lambda t: (0, 0, 0)
    for item in (Spring("joint1", 1.0), Gear("joint1", "joint2", 1.0)):
        other = m.copy()
        if isinstance(item, Spring):
            other.add_force(item)
        else:
            other.add_coupling(item)
        with pytest.raises(ValueError, match=f"{item.label}: revolute joint 'joint1' has a moving ground"):
            Simulator(other, 0.01)
        other.joints["joint1"].ground = None
        Simulator(other, 0.01)


# ---- forces that are functions of time


def test_motor_of_time() -> None:
    errors = []
    for dt in (0.01, 0.005):
        m = crank()
        m.add_force(Motor("shaft", lambda t: 0.8 * 0.6 * np.cos(3 * t)))
        run = Simulator(m, dt).run(2.0)
        exact = 0.6 / 9 * (1 - np.cos(3 * run.time))
        errors.append(float(np.abs(run.joint("shaft").coordinates[:, 0] - exact).max()))
    assert errors[1] < 1e-5
    assert order(errors) == pytest.approx(2, abs=0.1)


def test_motor_of_time_keeps_momentum() -> None:
    m = Mechanism(gravity=(0, 0, 0))
    for k in range(2):
        m.add_body(f"b{k}", Inertia(1.0 + k, np.diag((0.1, 0.12, 0.15))), position=(k, 0.2, 0))
    m.add_joint(Revolute("b0", "b1", axis=(0.2, 1, 0.3), at=(0.5, 0, 0), name="joint"))
    m.add_force(Motor("joint", lambda t: np.sin(7 * t)))
    m.add_force(Servo("joint", kp=3.0, kd=0.2, target=lambda t: 0.5 * np.sin(t)))
    state = m.state()
    state.velocity[:] = (0.1, 0.3, -0.2)
    state.angular_velocity[:] = (0.5, 0.2, 0.1)
    run = simulate(m.assemble(state), steps=500)
    for momentum in (run.momentum(), run.angular_momentum()):
        np.testing.assert_allclose(momentum, momentum[:1].repeat(len(run), 0), rtol=0, atol=1e-12)
    assert np.ptp(run.joint("joint").coordinates) > 0.3


def test_servo_follows_a_target_of_time() -> None:
    """J q'' = k (s - q) + c (s' - q'): it lags a sine by what the linear equation says."""
    inertia, kp, kd, w = 0.8, 40.0, 6.0, 3.0
    m = crank()
    m.add_force(Servo("shaft", kp=kp, kd=kd, target=lambda t: 0.2 * np.sin(w * t)))
    run = Simulator(m, 0.002).run(8.0)
    answer = (kp + 1j * w * kd) / (kp - inertia * w**2 + 1j * w * kd)
    exact = 0.2 * np.imag(answer * np.exp(1j * w * run.time))
    late = run.time > 5
    np.testing.assert_allclose(run.joint("shaft").coordinates[late, 0], exact[late], rtol=0, atol=2e-5)


@pytest.mark.parametrize("frame", ["world", "body"])
def test_load_of_time(frame: str) -> None:
    """On a body without turn, force(t); with an arm, a torque."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("body", box((0.4, 0.4, 0.4), mass=2.0))
    load = Load(force=lambda t: (2 * np.sin(t), 0, 4 * t), frame=frame)
    run = Simulator(m, 0.005).run(2.0, loads={"body": load})
    exact = np.stack((run.time - np.sin(run.time), 0 * run.time, run.time**3 / 3), axis=1)
    np.testing.assert_allclose(run.body("body").position, exact, rtol=0, atol=2e-5)

    spun = Simulator(m, 0.005).run(2.0, loads={"body": Load(torque=lambda t: (0, 0, 0.1 * t), frame=frame)})
    inertia = m.bodies["body"].inertia.tensor[2, 2]
    np.testing.assert_allclose(spun.body("body").angular_velocity[:, 2], 0.05 * spun.time**2 / inertia, atol=1e-4)

    arm = Load(force=lambda t: (0, 1.0, 0), at=(0.1, 0, 0), frame="body")
    same = Load(force=(0, 1.0, 0), at=(0.1, 0, 0), frame="body")
    runs = [Simulator(m, 0.005).run(2.0, loads={"body": which}) for which in (arm, same)]
    assert_same(runs[0], runs[1], 0)


@pytest.mark.parametrize("higher", [4, 6])
def test_order_with_forces_of_time(higher: int) -> None:
    m = scenes.pendulum(2, "revolute", angle=0.5)
    m.add_force(Motor("joint2", lambda t: 2 * np.sin(4 * t)))
    load = {"link2": Load(force=lambda t: (np.cos(3 * t), 0, 0), at=(0, 0, 0.3), frame="body")}
    fine = Simulator(m, 0.0025, order=6, tolerance=1e-14).run(0.64, loads=load)[-1]
    errors = []
    for dt in {4: (0.02, 0.01), 6: (0.04, 0.02)}[higher]:
        end = Simulator(m, dt, order=higher, tolerance=1e-14).run(0.64, loads=load)[-1]
        errors.append(float(np.abs(end.position - fine.position).max()))
    assert order(errors) == pytest.approx(higher, abs=0.3)


@pytest.mark.parametrize("what", ["motor", "servo", "load", "ground", "drive"])
def test_functions_that_fail(what: str) -> None:
    """Not a number: an error that names the joint or body; an exception comes out as it is."""
    for bad, error, message in (
        (lambda t: 0.0 if t < 0.5 else np.nan, ValueError, "(shaft|arm)'.*"),
        (lambda t: 0.0 if t < 0.5 else 1 // 0, ZeroDivisionError, "by zero"),
        (lambda t: 0.0 if t < 0.5 else (1.0, 2.0), ValueError, "(shaft|arm)'.*"),
    ):
        m, force = crank(), None
        if what == "motor":
            m.add_force(Motor("shaft", bad))
        elif what == "servo":
            m.add_force(Servo("shaft", kp=1.0, target=bad))
        elif what == "load":
            force = {"arm": Load(force=lambda t, f=bad: np.append(f(t), (0, 0)))}
        elif what == "ground":
            m.joints["shaft"].ground = lambda t, f=bad: np.append(f(t), (0, 0))
        else:
            m.add_coupling(PrescribedMotion("shaft", bad))
        with pytest.raises(error, match=message):
            Simulator(m, 0.01).run(1.0, loads=force)


def test_numbers_and_functions_of_servos() -> None:
    with pytest.raises(ValueError, match="determines target_rate; leave it out"):
        Servo("shaft", kp=1.0, target=np.sin, target_rate=1.0)
    with pytest.raises(ValueError, match="kp must be a number"):
        Servo("shaft", kp=np.sin)
    with pytest.raises(ValueError, match="stiffness must be a number"):
        Spring("shaft", np.sin)


def test_pickles_with_named_functions() -> None:
    m = crank()
    m.add_coupling(PrescribedMotion("shaft", np.sin))
    m.add_force(Motor("shaft", np.cos))
    again = pickle.loads(pickle.dumps(m))
    assert_same(simulate(again.state()), simulate(m.state()), 0)


def test_copies_with_ground() -> None:
    m = crank()
    m.joints["shaft"].ground = lambda t: (0.1 * t**2, 0, 0)
    assert_same(simulate(m.copy().state()), simulate(m.state()), 0)


@pytest.mark.parametrize("which", ["drive", "ground"])
def test_paper_start(which: str) -> None:
    m = scenes.pendulum(2, "revolute", angle=0.5)
    if which == "drive":
        m.add_coupling(PrescribedMotion("joint1", lambda t: 0.3 * np.sin(2 * t)))
    else:
        m.joints["joint1"].ground = lambda t: (0.3 * np.sin(2 * t), 0, 0)
    state = m.assemble()
    fine = Simulator(m, 0.002, order=4).run(1.0, state=state)
    errors = []
    for dt in (0.01, 0.005):
        run = Simulator(m, dt, order=1).run(1.0, state=state)
        errors.append(float(np.abs(run[-1].position - fine[-1].position).max()))
        assert run.drift().max() < 1e-12
    assert order(errors) == pytest.approx(1, abs=0.3)
