"""Every kind of joint: what it holds, what it lets move, and that all solvers agree on it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import catena
from catena import (
    Ball,
    ConstantVelocity,
    Custom,
    Cylindrical,
    Distance,
    Fixed,
    FixedOrientation,
    Free,
    Inertia,
    Joint,
    KnifeEdge,
    Mechanism,
    ParallelAxes,
    PinInSlot,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    RollingBall,
    RollingDisk,
    Screw,
    Simulator,
    State,
    Trajectory,
    Universal,
    VelocityRows,
)
from catena._util import rotation as rot
from catena.kinematics import geometry
from catena.results.trajectory import single_node
from catena.validate.case import reference
from laws import assert_same, simulate

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

AXIS = rot.normalised(np.array((0.3, -0.5, 1.0)))
ACROSS = rot.normalised(np.cross(AXIS, (0.2, 1.0, 0.4)))
PLACE = np.array((0.1, 0.25, -0.2))

# what a kind needs beside the two bodies, and its degrees of freedom
KINDS: dict[type[Joint], tuple[dict[str, object], int]] = {
    Fixed: ({"at": PLACE}, 0),
    Revolute: ({"at": PLACE, "axis": AXIS}, 1),
    Prismatic: ({"at": PLACE, "axis": AXIS}, 1),
    Screw: ({"at": PLACE, "axis": AXIS, "pitch": 0.8}, 1),
    Cylindrical: ({"at": PLACE, "axis": AXIS}, 2),
    Universal: ({"at": PLACE, "axes": (AXIS, ACROSS)}, 2),
    PinInSlot: ({"at": PLACE, "axes": (AXIS, ACROSS)}, 2),
    ConstantVelocity: ({"at": PLACE, "axis": AXIS}, 2),
    Ball: ({"at": PLACE}, 3),
    Planar: ({"at": PLACE, "axis": AXIS}, 3),
    FixedOrientation: ({"at": PLACE}, 3),
    PointOnLine: ({"at": PLACE, "axis": AXIS}, 4),
    ParallelAxes: ({"at": PLACE, "axis": AXIS}, 4),
    PointOnPlane: ({"at": PLACE, "axis": AXIS}, 5),
    Distance: ({"points": (PLACE, PLACE + np.array((0.3, 0.2, -0.4)))}, 5),
    Free: ({}, 6),
}
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)

# coordinates that are angles and lengths, so that rates are their derivatives; rotation vectors are not
PLAIN = {Revolute: 1, Prismatic: 1, Screw: 1, Cylindrical: 2, Universal: 2, PinInSlot: 2, Planar: 3, ParallelAxes: 4}
PLAIN |= {FixedOrientation: 3, PointOnLine: 1, PointOnPlane: 2, Distance: 2}


def lump(seed: int) -> Inertia:
    """A body without symmetry."""
    rng = np.random.default_rng(seed)
    turn = rot.to_matrix(rot.normalised(rng.normal(size=4)))
    return Inertia(1.0 + 0.5 * seed, turn @ np.diag((0.1, 0.14, 0.2)) @ turn.T)


def make(kind: type[Joint], *, grounded: bool = False, flipped: bool = False, count: int = 1) -> Mechanism:
    """Two bodies with the joint between them; grounded: the first on another such joint, in gravity."""
    m = Mechanism() if grounded else Mechanism(gravity=(0, 0, 0))
    rng = np.random.default_rng(3)
    for k, place in enumerate(((-0.3, 0.1, 0.2), (0.4, 0.3, -0.3))):
        m.add_body(f"body{k}", lump(k), position=place, orientation=rot.normalised(rng.normal(size=4)))
    more, _ = KINDS[kind]
    pairs = [("body0", "body1")] * count + [("world", "body0")] * grounded
    if flipped:
        # axes and points belong to a and b, in this order
        more = {key: value[::-1] if key in ("axes", "points") else value for key, value in more.items()}
    for k, pair in enumerate(pairs):
        m.add_joint(kind(*(pair[::-1] if flipped else pair), name=f"joint{k}", **more))
    return m


def moving(m: Mechanism, size: float = 0.8) -> State:
    """Away from the described pose, turning, all joints moving as far as they are not in a loop."""
    state = m.state()
    rng = np.random.default_rng(7)
    if all(not joint.a.is_world for joint in m.joints.values()):
        state.velocity += rng.normal(size=3)
        w = rng.normal(size=3)
        state.velocity += np.cross(w, state.position)
        state.angular_velocity += w
    for name, joint in m.joints.items():
        state.joint(name).coordinates = state.joint(name).coordinates + 0.3 * size * rng.normal(size=joint.dof)
        state.joint(name).rates = size * rng.normal(size=joint.dof)
    return state


def displaced(state: State, row: int, step: np.ndarray) -> State:
    """One body moved by (displacement, world rotation vector)."""
    new = state.copy()
    new.position[row] += step[:3]
    new.orientation[row] = rot.multiply(rot.from_rotation_vector(step[3:]), new.orientation[row])
    return new


# ---- freedom, coordinates, rows


@every_kind
def test_degrees_of_freedom(kind: type[Joint]) -> None:
    _, dof = KINDS[kind]
    assert kind.dof == dof

    floating, grounded = make(kind), make(kind, grounded=True)
    assert floating.report().freedom == 6 + dof
    assert grounded.report().freedom == 2 * dof
    assert floating.report().row_count == floating.report().rank == 6 - dof
    assert grounded.report(grounded.assemble(moving(grounded))).freedom == 2 * dof, "at any pose"


def test_all_kinds_are_here() -> None:
    public = {value for value in vars(catena).values() if isinstance(value, type) and issubclass(value, Joint)}
    elsewhere = {Joint, KnifeEdge, RollingBall, RollingDisk, Custom, VelocityRows}
    assert public - elsewhere == set(KINDS)


@every_kind
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("grounded", [False, True])
def test_coordinates_and_rates_come_back(kind: type[Joint], grounded: bool, flipped: bool) -> None:
    m = make(kind, grounded=grounded, flipped=flipped)
    state = m.state()
    rng = np.random.default_rng(1)
    given = {}
    for name, joint in m.joints.items():
        given[name] = rng.uniform(-1, 1, size=joint.dof), rng.normal(size=joint.dof)
        state.joint(name).coordinates, state.joint(name).rates = given[name]
    for name, (coordinates, rates) in given.items():
        view = state.joint(name)

        # a dozen roundings of numbers of size one
        np.testing.assert_allclose(view.coordinates, coordinates, rtol=0, atol=1e-13)
        np.testing.assert_allclose(view.rates, rates, rtol=0, atol=1e-13)
        assert view.gap < 1e-14
        assert view.misalignment < 1e-7, "the arc cosine of a rounded one"
        lengths, angles = geometry.gaps(m.joints[name], *geometry.poses(single_node(state), m.joints[name]))
        assert max(lengths[0], angles[0]) < 1e-14


@every_kind
@pytest.mark.parametrize("flipped", [False, True])
def test_rows_are_the_derivative_of_the_gap(kind: type[Joint], flipped: bool) -> None:
    m = make(kind, flipped=flipped)
    joint, state = m.joints["joint0"], moving(m)
    rng = np.random.default_rng(5)
    if kind is Screw:
        # open along its axis alone: its angle is that about both axes only where they are parallel
        axis = rot.rotate(rot.multiply(state.orientation[0], m.joints["joint0"].frame_a), np.array((0, 0, 1.0)))
        if flipped:
            axis = rot.rotate(rot.multiply(state.orientation[0], m.joints["joint0"].frame_b), np.array((0, 0, 1.0)))
        state.position[1] += 0.05 * axis
    else:
        for row in range(2):
            # a little open: there the rows count as well
            state = displaced(state, row, 0.05 * rng.normal(size=6))

    def gap(at: State) -> np.ndarray:
        return geometry.joint_rows(joint, *geometry.poses(single_node(at), joint))[0][0]

    _, wrench, point = geometry.joint_rows(joint, *geometry.poses(single_node(state), joint))
    assert wrench.shape == (1, 6 - kind.dof, 6)
    eps = 1e-5
    for row, name in enumerate(m.bodies):
        sign = 1.0 if joint.b.name == name else -1.0
        force = sign * wrench[0, :, :3]
        torque = sign * wrench[0, :, 3:] + np.cross(point[0] - state.position[row], force)
        found = [(gap(displaced(state, row, e)) - gap(displaced(state, row, -e))) / (2 * eps) for e in eps * np.eye(6)]

        # rounding over eps, 1e-11, and eps^2
        np.testing.assert_allclose(np.array(found).T, np.hstack((force, torque)), rtol=0, atol=1e-9)


@every_kind
@pytest.mark.parametrize("flipped", [False, True])
def test_rates_are_what_the_rows_allow(kind: type[Joint], flipped: bool) -> None:
    m = make(kind, flipped=flipped)
    joint, state = m.joints["joint0"], moving(m)
    _, wrench, point = geometry.joint_rows(joint, *geometry.poses(single_node(state), joint))
    a, b = state.body(joint.a.name), state.body(joint.b.name)
    v = b.velocity - a.velocity + np.cross(b.angular_velocity, point[0] - b.position)
    v -= np.cross(a.angular_velocity, point[0] - a.position)
    twist = np.concatenate((v, b.angular_velocity - a.angular_velocity))

    # a dozen roundings
    np.testing.assert_allclose(wrench[0] @ twist, 0, atol=1e-13)


@every_kind
def test_rates_are_the_motion_of_the_coordinates(kind: type[Joint]) -> None:
    m = make(kind)
    joint, state = m.joints["joint0"], moving(m)
    eps = 1e-5

    def after(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        moved = state
        for row in range(2):
            step = np.concatenate((state.velocity[row], state.angular_velocity[row]))
            moved = displaced(moved, row, t * step)
        coordinates = moved.joint("joint0").coordinates
        return coordinates, *joint.relative(coordinates)

    (c0, x0, q0), (c1, x1, q1) = after(-eps), after(eps)
    velocity, spin = joint.twist(state.joint("joint0").rates, state.joint("joint0").coordinates)

    # rounding over eps, 1e-11, and eps^2; frame a turns, and what it sees of b's point is the twist
    np.testing.assert_allclose((x1 - x0) / (2 * eps), velocity, rtol=0, atol=2e-9)
    turned = rot.rotation_vector(rot.multiply(q1, rot.conjugate(q0))) / (2 * eps)
    np.testing.assert_allclose(turned, spin, rtol=0, atol=2e-9)
    plain = PLAIN.get(kind, 0)
    np.testing.assert_allclose((c1 - c0)[:plain] / (2 * eps), state.joint("joint0").rates[:plain], rtol=0, atol=2e-9)


# ---- motion


@every_kind
@pytest.mark.parametrize("grounded", [False, True])
def test_solvers_agree_either_way_round(kind: type[Joint], grounded: bool) -> None:
    state = moving(make(kind, grounded=grounded))
    # in gravity the constant-velocity joints fold up after 0.6 s, where they are singular
    steps = 100 if kind is ConstantVelocity else 200
    run = simulate(state, "articulated", steps=steps)

    # closed to the rounding of poses of a few metres
    assert run.drift().max() <= 1e-12
    assert run.misalignment().max() <= 1e-12
    assert np.ptp(run.position, axis=0).max() > 0.05 or (kind is Fixed and grounded)

    # a second of calm motion: Newton's last increments, 1e-13 each
    for solver in ("ldu", "dense"):
        assert_same(simulate(state, solver, steps=steps), run, 1e-10)
    turned = make(kind, grounded=grounded, flipped=True)
    if kind in (PointOnLine, PointOnPlane, PinInSlot):
        # line, plane and slot are those of a: another mechanism
        start = moving(turned)
        run = simulate(start, "articulated", steps=steps)
    else:
        start = State(turned, state.position, state.orientation, state.velocity, state.angular_velocity)
    for solver in ("articulated", "ldu", "dense"):
        assert_same(simulate(start, solver, steps=steps), run, 1e-10)


@every_kind
def test_momentum_and_energy_of_a_floating_pair(kind: type[Joint]) -> None:
    m = make(kind)
    state = moving(m)
    runs = [simulate(state, dt=dt, steps=round(1 / dt)) for dt in (0.01, 0.005)]
    for run in runs:
        # momenta of a few kg m/s: Newton's last increments, 1e-13 each, add up like a random walk
        for momentum in (run.momentum(), run.angular_momentum()):
            assert np.linalg.norm(momentum[0]) > 0.3
            np.testing.assert_allclose(momentum, momentum[:1].repeat(len(run), 0), rtol=0, atol=1e-12)
    band, half = (np.ptp(run.energy()) for run in runs)

    if kind in (Fixed, FixedOrientation, Free):
        # rigid or free bodies keep their energy to rounding
        assert band < 1e-12
        return

    # second order, next terms four times smaller again
    assert band / half == pytest.approx(4, rel=0.1)
    assert band < 2e-3 * runs[0].energy()[0]


@every_kind
def test_joint_as_loop_closure(kind: type[Joint]) -> None:
    """The same joint twice: nothing new is said, so nothing changes."""
    state = moving(make(kind))
    run = simulate(state, "articulated")
    double = make(kind, count=2)
    start = State(double, state.position, state.orientation, state.velocity, state.angular_velocity)
    for solver in ("articulated", "ldu", "dense"):
        both = simulate(start, solver)

        # redundant rows are solved to 1e-12 a step
        assert_same(both, run, 1e-9)
        assert both.drift().max() <= 1e-12
        assert both.misalignment().max() <= 1e-12
    if kind is not Free:
        with pytest.raises(ValueError, match="is part of a loop"):
            start.joint("joint0").coordinates = np.zeros(kind.dof)


@every_kind
def test_report_of_the_same_joint_twice(kind: type[Joint]) -> None:
    report = make(kind, count=2).report()
    assert report.freedom == 6 + kind.dof
    assert report.redundant_count == 6 - kind.dof
    assert report.redundant_joints == (("joint0", "joint1") if kind is not Free else ())
    assert len(report.loops) == (2 - kind._carries if kind is not Free else 0)


def test_a_door_on_two_hinges_swings() -> None:
    """In line, but askew in space, so that rounding enters: still one degree of freedom."""
    m = Mechanism()
    m.add_body("door", lump(1))
    for k in range(2):
        m.add_joint(Revolute("world", "door", at=PLACE + k * AXIS, axis=AXIS))
    run = simulate(m.state())
    assert np.ptp(run.position, axis=0).max() > 0.05
    report = m.report()
    assert (report.freedom, report.redundant_count) == (1, 5)


@every_kind
def test_files_and_pickles_keep_the_joint(kind: type[Joint], tmp_path: Path) -> None:
    run = simulate(moving(make(kind)), steps=5)
    run.save(tmp_path / "run.npz")
    for other in (Trajectory.load(tmp_path / "run.npz"), pickle.loads(pickle.dumps(run))):
        joint, found = run.mechanism.joints["joint0"], other.mechanism.joints["joint0"]
        assert type(found) is kind
        assert found.parameter == joint.parameter
        for name in ("anchor_a", "anchor_b", "frame_a", "frame_b"):
            np.testing.assert_array_equal(getattr(found, name), getattr(joint, name))
        np.testing.assert_array_equal(other.joint("joint0").coordinates, run.joint("joint0").coordinates)

        # the same numbers into the same arithmetic
        assert_same(simulate(other[-1], steps=5), simulate(run[-1], steps=5), 0)


# ---- motions that are known


@pytest.mark.parametrize(
    ("kind", "force_along"),
    [
        (Prismatic, "axis"),
        (Cylindrical, "axis"),
        (PointOnLine, "axis"),
        (PointOnPlane, "plane"),
        (Planar, "plane"),
        (FixedOrientation, "space"),
        (ParallelAxes, "space"),
    ],
)
def test_a_body_slides_as_on_a_slope(kind: type[Joint], force_along: str) -> None:
    m = Mechanism()
    m.add_body("bead", Inertia(2.0, np.diag((0.1, 0.2, 0.3))))
    axis = {} if kind is FixedOrientation else {"axis": AXIS}
    m.add_joint(kind("world", "bead", at=(0, 0, 0), **axis))
    run = Simulator(m, 0.01, tolerance=1e-13).run(1.0)
    along = {"axis": np.outer(AXIS, AXIS), "plane": np.eye(3) - np.outer(AXIS, AXIS), "space": np.eye(3)}
    acceleration = along[force_along] @ m.gravity

    # constant acceleration is exact in this scheme, the orientation stays
    np.testing.assert_allclose(run.position[:, 0], 0.5 * run.time[:, None] ** 2 * acceleration, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.velocity[:, 0], run.time[:, None] * acceleration, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.angular_velocity, 0, atol=1e-11)


@pytest.mark.parametrize("pitch", [0.5, -2.0])
def test_a_nut_runs_down_its_thread(pitch: float) -> None:
    m = Mechanism()
    m.add_body("nut", Inertia(2.0, np.diag((0.1, 0.2, 0.3))))
    m.add_joint(Screw("world", "nut", at=(0, 0, 0), axis=(0, 0, 1), pitch=pitch, name="thread"))
    lead = pitch / (2 * np.pi)
    acceleration = -2.0 * 9.81 * lead / (0.3 + 2.0 * lead**2)
    errors = []
    for dt in (0.004, 0.002):
        run = Simulator(m, dt, tolerance=1e-13).run(2.0)
        angle = run.joint("thread").coordinates[:, 0]
        assert abs(angle[-1]) > 2 * np.pi, "turns are counted"
        np.testing.assert_allclose(run.position[:, 0, 2], lead * angle, rtol=0, atol=1e-12)
        errors.append(np.abs(angle - 0.5 * acceleration * run.time**2).max())
        np.testing.assert_allclose(run.joint("thread").rates[-1], acceleration * 2.0, rtol=1e-3)

    # second order, up to the next terms
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)


def test_a_body_on_a_rod_without_mass_is_a_pendulum() -> None:
    """Held at its center of mass it swings like a point mass."""
    table = np.array(reference("simple_pendulum")["trajectory_start_minus_x"])[:21]
    m = Mechanism()
    m.add_body("bob", lump(1), position=(-1, 0, 0))
    m.add_joint(Distance("world", "bob", points=((0, 0, 0), (-1, 0, 0))))
    errors = []
    for dt in (0.01, 0.005):
        run = Simulator(m, dt, tolerance=1e-13).run(2.0)[:: round(0.1 / dt)]
        errors.append(np.abs(run.position[:, 0][:, (0, 2)] - table[:, 3:5]).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)
    assert errors[0] < 2e-3


def test_a_rod_of_given_length_pulls_its_bodies_there() -> None:
    m = Mechanism()
    m.add_body("bob", lump(1), position=(-1, 0, 0))
    m.add_joint(Distance("world", "bob", anchors=((0, 0, 0), (0.1, 0, 0)), length=1.25, name="rod"))
    state = m.assemble()
    assert np.linalg.norm(state.body("bob").point((0.1, 0, 0))) == pytest.approx(1.25, abs=1e-12)
    with pytest.raises(catena.AssemblyError, match="'rod'"):
        Simulator(m, 0.01).run(steps=1, state=m.state())


def shafts(bend: float) -> Mechanism:
    """Two shafts on bearings that meet at the origin at an angle, without the joint between them."""
    m = Mechanism(gravity=(0, 0, 0))
    tilt = rot.from_axis_angle(np.array((1.0, 0, 0)), bend)
    m.add_body("drive", Inertia(1.0, np.diag((0.1, 0.1, 0.02))), position=(0, 0, -1))
    out = rot.rotate(tilt, np.array((0, 0, 1.0)))
    m.add_body("driven", Inertia(1.0, np.diag((0.1, 0.1, 0.03))), position=out, orientation=tilt)
    m.add_joint(Revolute("world", "drive", axis=(0, 0, 1), at=(0, 0, -1), name="in"))
    m.add_joint(Revolute("world", "driven", axis=out, at=out, name="out"))
    return m


def turning(m: Mechanism, rate: float) -> Trajectory:
    state = m.state()
    state.body("drive").angular_velocity = (0, 0, rate)
    assert m.report().freedom == 1
    return simulate(m.assemble(state), dt=0.002, steps=1000)


def test_a_cross_joint_turns_its_shaft_unevenly() -> None:
    bend = 0.5
    m = shafts(bend)
    # fork of the drive along x, that of the driven shaft across, in the plane of the bend
    y = m.bodies["driven"].orientation
    m.add_joint(Universal("drive", "driven", at=(0, 0, 0), axes=((1, 0, 0), rot.rotate(y, np.array((0, 1.0, 0))))))
    run = turning(m, 12.0)
    angle, rate = (np.unwrap(run.joint("in").coordinates[:, 0]), run.joint("in").rates[:, 0])
    assert angle[-1] > 2 * np.pi
    assert rate.min() < 0.97 * rate.max(), "the kinetic energy goes to and fro"

    # the textbook ratio; exact, as poses and velocities obey the joint
    ratio = np.cos(bend) / (1 - np.sin(bend) ** 2 * np.sin(angle) ** 2)
    np.testing.assert_allclose(run.joint("out").rates[:, 0], ratio * rate, rtol=0, atol=1e-10)


def test_a_constant_velocity_joint_turns_its_shaft_evenly() -> None:
    m = shafts(0.5)
    m.add_joint(ConstantVelocity("drive", "driven", anchors=((0, 0, 1), (0, 0, -1)), axis=((0, 0, 1), (0, 0, 1))))
    run = turning(m, 12.0)
    angle = np.unwrap(run.joint("in").coordinates[:, 0])
    assert angle[-1] > 2 * np.pi
    out = np.unwrap(run.joint("out").coordinates[:, 0])

    # a thousand closures to 1e-13 or better
    np.testing.assert_allclose(out - out[0], angle - angle[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.joint("out").rates, run.joint("in").rates, rtol=0, atol=1e-10)


# ---- what is refused

BAD: dict[str, tuple[Callable[[], Joint], str]] = {
    "no place": (lambda: Cylindrical("a", "b", axis=AXIS), "give at="),
    "two places": (lambda: Planar("a", "b", axis=AXIS, at=PLACE, anchors=(PLACE, PLACE)), "not both"),
    "itself": (lambda: Ball("a", "a", at=PLACE), "to itself"),
    "no axis": (lambda: PointOnLine("a", "b", at=PLACE, axis=(0, 0, 0)), "axis must not be zero"),
    "axis of two": (lambda: PointOnPlane("a", "b", at=PLACE, axis=(0, 1)), "axis"),
    "axis of nan": (lambda: ParallelAxes("a", "b", at=PLACE, axis=(0, np.nan, 1)), "axis"),
    "place of nan": (lambda: FixedOrientation("a", "b", at=(0, 0, np.inf)), "at"),
    "pitch of zero": (lambda: Screw("a", "b", at=PLACE, axis=AXIS, pitch=0), "pitch must not be zero"),
    "pitch of nan": (lambda: Screw("a", "b", at=PLACE, axis=AXIS, pitch=np.nan), "pitch"),
    "oblique axes": (lambda: Universal("a", "b", at=PLACE, axes=((1, 0, 0), (0.1, 1, 0))), "perpendicular"),
    "one axis": (lambda: Universal("a", "b", at=PLACE, axes=(1, 0, 0)), "axes"),
    "zero axes": (lambda: Universal("a", "b", at=PLACE, axes=((1, 0, 0), (0, 0, 0))), "axes must not be zero"),
    "constant velocity without axis": (lambda: ConstantVelocity("a", "b", at=PLACE, axis=(0, 0, 0)), "not be zero"),
    "rod without points": (lambda: Distance("a", "b"), "give points="),
    "rod twice": (lambda: Distance("a", "b", points=(PLACE, AXIS), anchors=(PLACE, AXIS)), "give points="),
    "rod of one point": (lambda: Distance("a", "b", points=PLACE), "points"),
    "rod of no length": (lambda: Distance("a", "b", points=(PLACE, PLACE)), "must not coincide"),
    "rod of negative length": (lambda: Distance("a", "b", points=(PLACE, AXIS), length=-1), "distance joint 'a-b'"),
    "rod of infinite length": (lambda: Distance("a", "b", points=(PLACE, AXIS), length=np.inf), "length"),
    "unknown body": (lambda: Fixed("a", "c"), "no body called 'c'"),
    "empty name": (lambda: Revolute("a", "b", at=PLACE, axis=AXIS, name=" "), "name"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_joints(case: str) -> None:
    m = Mechanism()
    m.add_body("a", lump(0))
    m.add_body("b", lump(1))
    build, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        m.add_joint(build())
    assert not m.joints


@every_kind
def test_bad_coordinates(kind: type[Joint]) -> None:
    view = make(kind).state().joint("joint0")
    for bad in (np.zeros(kind.dof + 1), np.full(kind.dof or 1, np.nan)):
        with pytest.raises(ValueError, match="joint 'joint0': coordinates"):
            view.coordinates = bad
        with pytest.raises(ValueError, match="joint 'joint0': rates"):
            view.rates = bad
    if len(kind.names) != 1:
        with pytest.raises(AttributeError, match="use coordinates"):
            _ = view.angle
