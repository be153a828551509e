"""Armatures, bushings, and bodies on which gravity does not pull."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from catena import (
    Armature,
    Ball,
    Bushing,
    Cylindrical,
    Damper,
    Gear,
    Inertia,
    Mechanism,
    Motor,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Simulator,
    Spring,
    State,
    Trajectory,
    Universal,
    rod,
    scenes,
)
from catena._util import rotation as rot
from laws import SOLVERS, assert_same, simulate

GRAVITY = 9.81
AXIS = rot.normalised(np.array((0.3, -0.5, 1.0)))


def order(errors: list[float]) -> float:
    """Of two errors, the second at half the step."""
    return float(np.log2(errors[0] / errors[1]))


def lump(mass: float = 1.0) -> Inertia:
    turn = rot.to_matrix(rot.normalised(np.array((1.0, 0.4, -0.3, 0.2))))
    return Inertia(mass, turn @ np.diag((0.1, 0.14, 0.2)) @ turn.T)


def assert_momentum_kept(run: Trajectory) -> None:
    for momentum in (run.momentum(), run.angular_momentum()):
        assert np.linalg.norm(momentum[0]) > 0.1
        np.testing.assert_allclose(momentum, momentum[:1].repeat(len(run), 0), rtol=0, atol=1e-10)


def distance(state: State, other: State) -> float:
    turn = rot.rotation_vector(rot.multiply(rot.conjugate(other.orientation), state.orientation))
    pairs = (state.position - other.position, turn, state.velocity - other.velocity)
    return max(float(np.abs(d).max()) for d in (*pairs, state.angular_velocity - other.angular_velocity))


# ---- armatures


def pair(kind: str, coordinate: str | None, *, grounded: bool = False) -> State:
    """Two bodies on a joint with a rotor, moving."""
    m = Mechanism(gravity=(0, 0, -3.0 if grounded else 0))
    m.add_body("a", lump(), position=(-0.3, 0.1, 0.2))
    m.add_body("b", lump(1.5), position=(0.4, 0.3, -0.3), orientation=rot.normalised(np.array((1.0, 2, 0, 1))))
    if grounded:
        m.add_joint(Ball("world", "a", at=(-0.5, 0, 0.3), name="pivot"))
    at = (0.1, 0.25, -0.2)
    joints = {
        "revolute": lambda: Revolute("a", "b", axis=AXIS, at=at, name="joint"),
        "flipped": lambda: Revolute("b", "a", axis=AXIS, at=at, name="joint"),
        "prismatic": lambda: Prismatic("a", "b", axis=AXIS, at=at, name="joint"),
        "screw": lambda: Screw("a", "b", axis=AXIS, at=at, pitch=0.8, name="joint"),
        "cylindrical": lambda: Cylindrical("a", "b", axis=AXIS, at=at, name="joint"),
        "planar": lambda: Planar("a", "b", axis=AXIS, at=at, name="joint"),
        "universal": lambda: Universal("a", "b", axes=((1, 0, 0), (0, 1, 0)), at=at, name="joint"),
    }
    joint = m.add_joint(joints[kind]())
    m.add_force(Armature("joint", 0.3, coordinate=coordinate))
    state = m.state()
    state.velocity[:] = (0.3, -0.2, 0.1)
    state.angular_velocity[:] = (0.5, 1.0, -0.4)
    state = m.assemble(state)
    state.joint("joint").rates = 0.7 * np.ones(joint.dof)
    return m.assemble(state)


COORDINATES = [
    ("revolute", None),
    ("flipped", None),
    ("prismatic", None),
    ("screw", None),
    ("cylindrical", "angle"),
    ("cylindrical", "displacement"),
    ("planar", "x"),
    ("planar", "y"),
    ("planar", "angle"),
    ("universal", "first"),
    ("universal", "second"),
]
every_coordinate = pytest.mark.parametrize(("kind", "coordinate"), COORDINATES)


@every_coordinate
def test_solvers_agree(kind: str, coordinate: str | None) -> None:
    state = pair(kind, coordinate, grounded=True)
    runs = [simulate(state, solver) for solver in SOLVERS]
    for other in runs[1:]:
        assert_same(other, runs[0])

    bare = state.mechanism.copy()
    bare._forces.clear()
    start = bare.state()
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        setattr(start, name, getattr(state, name))
    assert np.abs(simulate(start).position - runs[0].position).max() > 1e-3, "the rotor tells"


@every_coordinate
def test_momentum_is_kept(kind: str, coordinate: str | None) -> None:
    """Of the bodies alone: the rotor's own angular momentum is none of the joint's business."""
    state = pair(kind, coordinate)
    state.mechanism.add_force(Motor("joint", 0.4, coordinate=coordinate))
    state.mechanism.add_force(Damper("joint", 0.2, coordinate=coordinate))
    assert_momentum_kept(simulate(state, steps=500))


@every_coordinate
def test_energy_with_the_rotors(kind: str, coordinate: str | None) -> None:
    state = pair(kind, coordinate, grounded=True)
    bands = []
    for dt in (0.01, 0.005):
        run = simulate(state, dt=dt, steps=round(3 / dt))
        error = np.abs(run.energy() - run.energy()[0])
        assert np.ptp(run.kinetic_energy()) > 0.05
        bands.append(float(error.max()))
        half = len(error) // 2
        assert error[half:].max() < 3 * error[:half].max()
    assert order(bands) == pytest.approx(2, abs=0.35)


@pytest.mark.parametrize("higher", [2, 4, 6])
@pytest.mark.parametrize(("kind", "coordinate"), [("revolute", None), ("planar", "x"), ("universal", "second")])
def test_orders(kind: str, coordinate: str, higher: int) -> None:
    state = pair(kind, coordinate, grounded=True)
    fine = Simulator(state.mechanism, 0.005, order=6, tolerance=1e-14).run(0.64, state=state)[-1]
    errors = []
    for dt in {2: (0.02, 0.01), 4: (0.04, 0.02), 6: (0.08, 0.04)}[higher]:
        run = Simulator(state.mechanism, dt, order=higher, tolerance=1e-14).run(0.64, state=state)
        assert run.halved_count == 0
        errors.append(distance(run[-1], fine))
    assert order(errors) > higher - 0.35


def test_pendulum_with_a_rotor() -> None:
    """Period 2 pi sqrt((J + m l^2 + I) / (m g l)), for small swings."""
    inertia, mass, length, rotor = 0.05, 2.0, 0.5, 0.4
    m = Mechanism()
    m.add_body("bob", Inertia(mass, inertia * np.eye(3)), position=(0, 0, -length))
    m.add_joint(Revolute("world", "bob", axis=(0, 1, 0), at=(0, 0, 0), name="pivot"))
    m.add_force(Armature("pivot", rotor))
    state = m.state()
    state.joint("pivot").angle = 0.01
    run = Simulator(m, 0.002).run(10.0, state=state)
    w = np.sqrt(mass * GRAVITY * length / (inertia + mass * length**2 + rotor))
    np.testing.assert_allclose(run.joint("pivot").coordinates[:, 0], 0.01 * np.cos(w * run.time), rtol=0, atol=2e-6)
    rate = run.joint("pivot").rates[:, 0]
    total = 0.5 * (inertia + mass * length**2 + rotor) * rate**2
    np.testing.assert_allclose(run.kinetic_energy(), total, rtol=0, atol=1e-12)
    assert m.report().freedom == 1


def test_mass_on_a_slide_with_a_rotor() -> None:
    """A prismatic joint's armature is a mass that gravity does not pull."""
    m = Mechanism()
    m.add_body("block", lump(2.0))
    m.add_joint(Prismatic("world", "block", axis=(0, 0, 1), at=(0, 0, 0), name="slide"))
    m.add_force(Armature("slide", 3.0))
    run = Simulator(m, 0.01).run(1.0)
    np.testing.assert_allclose(run.joint("slide").rates[:, 0], -GRAVITY * 2 / 5 * run.time, rtol=0, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_as_a_geared_flywheel(solver: str) -> None:
    """A wheel J on a fixed shaft, geared by n to a pendulum, is an armature of n^2 J."""
    ratio, wheel = -5.0, 0.02
    rotor, geared = (scenes.pendulum(1, "revolute", angle=1.2) for _ in range(2))
    rotor.add_force(Armature("joint1", ratio**2 * wheel))
    geared.add_body("wheel", Inertia(1.0, wheel * np.eye(3)), position=(3, 0, 0), gravity=False)
    geared.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(3, 0, 0), name="shaft"))
    geared.add_coupling(Gear("joint1", "shaft", ratio))
    errors = []
    for dt in (0.004, 0.002):
        runs = [simulate(m.state(), solver, dt=dt, steps=round(2 / dt)) for m in (rotor, geared)]
        angles = [run.joint("joint1").coordinates[:, 0] for run in runs]
        errors.append(float(np.abs(angles[0] - angles[1]).max()))
        energies = [run.kinetic_energy() for run in runs]
        np.testing.assert_allclose(*energies, rtol=0, atol=0.02 * energies[0].max())
    # a wheel's own turn in a step counts as its sine, a rotor's as itself: dt^2 apart
    assert errors[1] < 2e-2
    assert order(errors) == pytest.approx(2, abs=0.2)


def test_a_huge_rotor_holds_the_joint() -> None:
    state = pair("revolute", None)
    m = state.mechanism
    m.add_force(Armature("joint", 1e9, name="huge"))
    m.add_force(Motor("joint", 1.0))
    state.joint("joint").rate = 0.0
    run = simulate(state)
    assert np.abs(run.joint("joint").rates).max() < 1e-6
    assert_momentum_kept(run)


def test_rotors_in_a_loop_and_after_going_on() -> None:
    m = scenes.four_bar()
    names = list(m.joints)
    for k, name in enumerate(names):
        m.add_force(Armature(name, 0.1 * (k + 1)))
    runs = [simulate(m.state(), solver, dt=0.002, steps=300) for solver in SOLVERS]
    for other in runs[1:]:
        assert_same(other, runs[0])
    error = np.abs(runs[0].energy() - runs[0].energy()[0])
    assert error.max() < 1e-3 * np.ptp(runs[0].kinetic_energy())
    on = simulate(runs[0][150], dt=0.002, steps=150)
    np.testing.assert_allclose(on.position, runs[0].position[150:], rtol=0, atol=1e-9)


@pytest.mark.parametrize("how", [{"control": lambda t, s: None}, {"record_every": 7}])
def test_looking_does_not_disturb_rotors(how: dict) -> None:
    state = pair("revolute", None, grounded=True)
    simulator = Simulator(state.mechanism, 0.01, tolerance=1e-13)
    plain, looked = simulator.run(steps=140, state=state), simulator.run(steps=140, state=state, **how)
    np.testing.assert_allclose(looked[-1].position, plain[-1].position, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*had to be halved:catena.AccuracyWarning")
def test_rotors_through_rescued_steps() -> None:
    """Halved steps, here because Newton's method is cut short, keep the rotor's momentum."""
    state = pair("revolute", None, grounded=True)
    run = Simulator(state.mechanism, 0.02, max_iterations=2, tolerance=1e-14).run(2.0, state=state)
    whole = Simulator(state.mechanism, 0.02).run(2.0, state=state)
    fine = Simulator(state.mechanism, 0.01, order=4).run(2.0, state=state)
    assert run.halved_count > 0
    assert whole.halved_count == 0
    errors = [distance(r[-1], fine[-1]) for r in (run, whole)]
    assert errors[0] < 1.2 * errors[1]
    assert np.abs(run.energy() - run.energy()[0]).max() < 1.5 * np.abs(whole.energy() - whole.energy()[0]).max()


# ---- bushings


@pytest.mark.parametrize("axis", range(3))
def test_bushing_frequencies(axis: int) -> None:
    """Along and about each of its axes, turned against the world, it swings as a spring of its own stiffness."""
    turn = rot.normalised(np.array((1.0, 0.3, -0.5, 0.7)))
    stiffness, bending = np.array((100.0, 200.0, 400.0)), np.array((1.0, 2.0, 5.0))
    mass, inertia = 2.0, 0.05
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("block", Inertia(mass, inertia * np.eye(3)), position=(0.3, 0.1, 0.2), orientation=turn)
    m.add_force(
        Bushing("world", "block", at=(0.3, 0.1, 0.2), orientation=turn, stiffness=stiffness, turn_stiffness=bending)
    )
    direction = rot.rotate(turn, np.eye(3)[axis])
    slid = m.state()
    slid.body("block").position = slid.body("block").position + 0.1 * direction
    run = simulate(slid, dt=0.002, steps=1000)
    along = (run.body("block").position - m.bodies["block"].position) @ direction
    np.testing.assert_allclose(along, 0.1 * np.cos(np.sqrt(stiffness[axis] / mass) * run.time), rtol=0, atol=2e-4)
    off = run.body("block").position - m.bodies["block"].position - along[:, None] * direction
    assert np.abs(off).max() < 1e-12

    turned = m.state()
    turned.body("block").orientation = rot.multiply(rot.from_rotation_vector(0.02 * direction), turn)
    run = simulate(turned, dt=0.002, steps=1000)
    found = 2 * np.sum(rot.multiply(run.body("block").orientation, rot.conjugate(turn))[:, 1:] * direction, axis=1)
    w = np.sqrt(bending[axis] / inertia)
    np.testing.assert_allclose(found, 0.02 * np.cos(w * run.time), rtol=0, atol=5e-5)


def rubber(*, damped: bool = False, implicit: bool = False, grounded: bool = False) -> State:
    """Two bodies far from rest on a bushing with six different stiffnesses."""
    m = Mechanism(gravity=(0, 0, -3.0 if grounded else 0))
    m.add_body("a", lump(), position=(-0.3, 0.1, 0.2), orientation=(0.8, 0, 0.6, 0))
    m.add_body("b", lump(1.5), position=(0.4, 0.3, -0.3), orientation=rot.normalised(np.array((1.0, 2, 0, 1))))
    if grounded:
        m.add_joint(Ball("world", "a", at=(-0.5, 0, 0.3), name="pivot"))
    damping = {"damping": (0.5, 1.0, 0.3), "turn_damping": 0.1} if damped else {}
    m.add_force(
        Bushing(
            "a",
            "b",
            at=(0.1, 0.25, -0.2),
            orientation=rot.normalised(np.array((1.0, -0.3, 0.2, 0.1))),
            stiffness=(20, 40, 60),
            turn_stiffness=(1, 2, 3),
            implicit=implicit,
            **damping,
        )
    )
    state = m.state()
    state.velocity[:] = ((0.3, 0.1, 0), (-0.4, 0.2, 0.5))
    state.angular_velocity[:] = ((0.5, 1.0, -0.4), (-1.0, 0.5, 1.2))
    state.body("b").position += np.array((0.2, -0.1, 0.15))
    turn = rot.from_rotation_vector((0.6, -0.4, 0.7))
    state.body("b").orientation = rot.multiply(turn, state.body("b").orientation)
    return state


def test_bushing_energy_in_large_motion() -> None:
    """Only an exact gradient keeps energy: bands shrink with dt^2, and do not drift."""
    bands = []
    for dt in (0.004, 0.002):
        run = simulate(rubber(grounded=True), dt=dt, steps=round(4 / dt))
        error = np.abs(run.energy() - run.energy()[0])
        bands.append(float(error.max()))
        half = len(error) // 2
        assert error[half:].max() < 3 * error[:half].max()
        assert np.ptp(run.potential_energy()) > 0.5
    assert order(bands) == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("damped", [False, True])
def test_bushing_keeps_momentum(damped: bool, implicit: bool) -> None:
    state = rubber(damped=damped, implicit=implicit)
    runs = [simulate(state, solver, steps=300) for solver in SOLVERS]
    for other in runs[1:]:
        assert_same(other, runs[0])
    assert_momentum_kept(runs[0])
    lost = runs[0].energy()[0] - runs[0].energy()
    if damped:
        assert lost[-1] > 0.1
        # never gained, but for the band of the scheme
        assert np.diff(runs[0].energy()).max() < 5e-3
    else:
        assert np.abs(lost).max() < 0.02 * runs[0].energy()[0]


@pytest.mark.parametrize("higher", [2, 4, 6])
def test_bushing_orders(higher: int) -> None:
    state = rubber(grounded=True)
    fine = Simulator(state.mechanism, 0.0025, order=6, tolerance=1e-14).run(0.64, state=state)[-1]
    errors = []
    for dt in {2: (0.01, 0.005), 4: (0.02, 0.01), 6: (0.02, 0.01)}[higher]:
        errors.append(
            distance(Simulator(state.mechanism, dt, order=higher, tolerance=1e-14).run(0.64, state=state)[-1], fine)
        )
    assert order(errors) == pytest.approx(higher, abs=0.4)


def test_bushing_damps_each_axis() -> None:
    """m x'' = -c x': the speed falls by exp(-c t / m) along each axis."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("block", lump(2.0), velocity=(1, 1, 1))
    m.add_force(Bushing("world", "block", at=(0, 0, 0), damping=(1, 2, 4)))
    run = simulate(m.state(), steps=200)
    np.testing.assert_allclose(run.body("block").velocity, np.exp(-np.outer(run.time, (0.5, 1, 2))), rtol=0, atol=1e-5)


def test_bushing_that_is_refused() -> None:
    for message, more in (
        ("give it a stiffness or a damping", {}),
        ("stiffness must not be negative", {"stiffness": -1}),
        ("slide must be finite", {"damping": np.nan}),
        ("orientation", {"stiffness": 1, "orientation": (0, 0, 0, 0)}),
    ):
        with pytest.raises(ValueError, match=f"bushing 'bushing a-b'.*{message}"):
            Bushing("a", "b", at=(0, 0, 0), **more)
    with pytest.raises(ValueError, match="joins 'a' to itself"):
        Bushing("a", "a", at=(0, 0, 0), stiffness=1.0)
    m = Mechanism()
    m.add_body("a", lump())
    with pytest.raises(ValueError, match="bushing 'bushing a-b': there is no body called 'b'"):
        m.add_force(Bushing("a", "b", at=(0, 0, 0), stiffness=1.0))


def test_armature_that_is_refused() -> None:
    m = Mechanism()
    m.add_body("a", lump())
    m.add_joint(Ball("world", "a", at=(0, 0, 0), name="socket"))
    for message, act in (
        ("inertia must not be negative", lambda: Armature("socket", -1.0)),
        ("inertia must be finite", lambda: Armature("socket", np.inf)),
        ("inertia must be a number", lambda: Armature("socket", np.sin)),
        ("ball joint 'socket' has no single coordinate", lambda: m.add_force(Armature("socket", 1.0))),
    ):
        with pytest.raises(ValueError, match=f"armature 'armature on socket': {message}"):
            act()


# ---- dampers in steps backwards


@pytest.mark.filterwarnings("ignore:.*had to be halved:catena.AccuracyWarning")
def test_stiff_dampers_and_higher_orders() -> None:
    """Steps backwards, in which a stiff damper has no answer, are halved, and the result is right."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("block", lump(1.0), velocity=(1, 0, 0))
    m.add_joint(Prismatic("world", "block", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_force(Damper("rail", 60.0))
    for order_ in (4, 6):
        run = Simulator(m, 0.05, order=order_).run(0.5)
        assert run.halved_count > 0
        np.testing.assert_allclose(run.joint("rail").coordinates[:, 0], (1 - np.exp(-60 * run.time)) / 60, atol=3e-4)
        soft = Simulator(m, 0.002, order=order_).run(0.1)
        assert soft.halved_count == 0
        exact = (1 - np.exp(-60 * soft.time)) / 60
        np.testing.assert_allclose(soft.joint("rail").coordinates[:, 0], exact, atol=1e-6)


# ---- gravity, body by body


def test_only_some_fall(tmp_path: Path) -> None:
    m = Mechanism()
    m.add_body("stone", lump())
    m.add_body("balloon", lump(), position=(1, 0, 0), velocity=(0, 1, 0), gravity=False)
    run = Simulator(m, 0.01).run(1.0)
    np.testing.assert_allclose(run.body("stone").position[:, 2], -GRAVITY * run.time**2 / 2, atol=1e-9)
    np.testing.assert_allclose(run.body("balloon").position[:, 2], 0, atol=1e-13)
    np.testing.assert_allclose(run.body("balloon").position[:, 1], run.time, atol=1e-10)
    np.testing.assert_allclose(run.potential_energy(), -GRAVITY * (GRAVITY * run.time**2 / 2), atol=1e-8)
    run.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz")
    assert [body.has_gravity for body in again.mechanism.bodies.values()] == [True, False]
    np.testing.assert_array_equal(again.energy(), run.energy())


@pytest.mark.parametrize("solver", SOLVERS)
def test_double_pendulum_of_which_one_is_heavy(solver: str) -> None:
    m = Mechanism()
    points = ((0, 0, 0), (0.8, 0, -0.3), (1.2, 0.5, -0.6))
    m.add_body("upper", rod(points[0], points[1], mass=1.0))
    m.add_body("lower", rod(points[1], points[2], mass=1.0), gravity=False)
    m.add_joint(Ball("world", "upper", at=points[0], name="top"))
    m.add_joint(Ball("upper", "lower", at=points[1], name="elbow"))
    run = simulate(m.state(), solver, steps=400)
    error = np.abs(run.energy() - run.energy()[0])
    assert error.max() < 1e-3 * np.ptp(run.kinetic_energy())
    # at rest the top carries one weight in the mean, not two
    assert run.energy()[0] == pytest.approx(GRAVITY * points[1][2] / 2)

    lifted = m.copy()
    lifted.bodies["lower"].has_gravity = True
    weight = {"lower": (0, 0, GRAVITY * lifted.bodies["lower"].inertia.mass)}
    other = Simulator(lifted, 0.005, solver=solver, tolerance=1e-13).run(steps=400, loads=weight)
    assert_same(other, run)


def test_spring_and_rotor_survive_a_file(tmp_path: Path) -> None:
    state = pair("universal", "first", grounded=True)
    state.mechanism.add_force(Spring("joint", 2.0, coordinate="second"))
    state.mechanism.add_force(Bushing("a", "b", at=(0, 0, 0), stiffness=3.0, turn_stiffness=0.2))
    run = simulate(state, steps=50)
    run.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.energy(), run.energy())
    assert_same(simulate(again[0], steps=50), run, 1e-9)
