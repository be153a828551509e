"""Bodies without mass: they join others and change nothing else, and must be held by what they join."""

from __future__ import annotations

from collections.abc import Callable
from math import sin
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catena import (
    Armature,
    Ball,
    Damper,
    Fixed,
    Friction,
    Gear,
    Inertia,
    Live,
    Load,
    Mechanism,
    Motor,
    PlaceholderWarning,
    PointSpring,
    Revolute,
    Servo,
    Simulator,
    Spring,
    State,
    Trajectory,
    Universal,
    box,
    rod,
    scenes,
)
from catena._util.rotation import Array

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

Solver = Literal["articulated", "ldu", "dense"]
Order = Literal[1, 2, 4]
SOLVERS: list[Solver] = ["articulated", "ldu", "dense"]

# what is left of a step is below 1e-13, and the motions are calm: measured differences are below 2e-12 m
SAME = 1e-9
TOLERANCE = 1e-13

# Newton's method leaves a reaction as it leaves a pose, over dt^2; measured 2e-8 N of some 10 N
SAME_REACTION = 1e-6


def join(m: Mechanism, a: str, b: str, at: tuple[float, float, float], kind: str) -> None:
    """A cardan joint about x and y, or a ball: as one joint, or as hinges with massless bodies between them."""
    axes = {"cardan": ((1, 0, 0), (0, 1, 0)), "ball": ((1, 0, 0), (0, 1, 0), (0, 0, 1))}[
        kind.removesuffix(" of hinges")
    ]
    if kind == "cardan":
        m.add_joint(Universal(a, b, axes=axes, at=at, name=f"{a}-{b}"))
    elif kind == "ball":
        m.add_joint(Ball(a, b, at=at, name=f"{a}-{b}"))
    else:
        names = [a, *(f"{a}-{b} {k}" for k in range(len(axes) - 1)), b]
        for name in names[1:-1]:
            m.add_body(name, Inertia.massless(), position=at)
        for k, axis in enumerate(axes):
            m.add_joint(Revolute(names[k], names[k + 1], axis=axis, at=at, name=f"{a}-{b} hinge {k}"))


def tree(kind: str) -> Mechanism:
    """An arm on a hinge, and two that hang on it by joints of a kind and swing to where gravity points, aslant."""
    m = Mechanism(gravity=(5, 4, -7))
    m.add_body("arm", box((0.1, 0.1, 0.5), mass=1.3), position=(0, 0, -0.25))
    m.add_body("left", box((0.1, 0.08, 0.3), mass=0.7), position=(0.02, 0.1, -0.65), angular_velocity=(1, 0.5, 0))
    m.add_body("right", box((0.12, 0.08, 0.4), mass=0.4), position=(0.0, -0.1, -0.7), angular_velocity=(-0.5, 0.5, 0))
    m.add_joint(Revolute(m.world, "arm", axis=(0, 1, 0), at=(0, 0, 0), name="root"))
    join(m, "arm", "left", (0, 0.1, -0.5), kind)
    join(m, "arm", "right", (0, -0.1, -0.5), kind)
    return m


def loop(kind: str) -> Mechanism:
    """A spatial linkage that moves in one way, or two with the spin of its rod: hinge, joint of a kind, ball, hinge."""
    m = Mechanism()
    m.add_body("crank", rod((0, 0, 0), (0, 0.3, 0.1), mass=0.5, radius=0.05), angular_velocity=(0.5, 0, 0))
    m.add_body("coupler", rod((0, 0.3, 0.1), (0.4, 0.9, 0.6), mass=0.8, radius=0.05))
    m.add_body("rocker", rod((0.4, 0.9, 0.6), (0.4, 1.1, 0), mass=1.1, radius=0.05))
    m.add_joint(Revolute(m.world, "crank", axis=(1, 0, 0), at=(0, 0, 0), name="drive"))
    join(m, "crank", "coupler", (0, 0.3, 0.1), kind)
    m.add_joint(Ball("coupler", "rocker", at=(0.4, 0.9, 0.6), name="ball"))
    m.add_joint(Revolute("rocker", m.world, axis=(0.2, 1, 0), at=(0.4, 1.1, 0), name="root"))
    return m


def run(
    m: Mechanism, solver: Solver = "articulated", order: Order = 2, steps: int = 1000, dt: float = 2e-3
) -> Trajectory:
    return Simulator(m, dt, solver=solver, order=order, tolerance=TOLERANCE).run(steps=steps)


def assert_same(one: Trajectory, other: Trajectory, atol: float = SAME) -> None:
    """The bodies that have a mass, at every node."""
    assert one.status.ok
    assert other.status.ok
    for name, body in one.mechanism.bodies.items():
        if body.mass > 0:
            np.testing.assert_allclose(one.body(name).position, other.body(name).position, rtol=0, atol=atol)
            np.testing.assert_allclose(one.body(name).velocity, other.body(name).velocity, rtol=0, atol=100 * atol)
    for run in (one, other):
        for array in (run.position, run.orientation, run.velocity, run.angular_velocity, run.multipliers):
            assert np.isfinite(array).all()


# ---- a joint made of hinges is the joint


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["cardan", "ball"])
@pytest.mark.parametrize("mechanism", [tree, loop])
def test_hinges_with_massless_bodies_between_them_are_the_joint(
    mechanism: Callable[[str], Mechanism], kind: str, solver: Solver
) -> None:
    assert_same(run(mechanism(kind)), run(mechanism(f"{kind} of hinges"), solver))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", [1, 4])
@pytest.mark.parametrize("mechanism", [tree, loop])
def test_they_are_at_other_orders(mechanism: Callable[[str], Mechanism], order: Order, solver: Solver) -> None:
    whole = run(mechanism("cardan"), "articulated", order, steps=200, dt=5e-3)
    assert_same(whole, run(mechanism("cardan of hinges"), solver, order, steps=200, dt=5e-3))


def batch_states(m: Mechanism, count: int = 5) -> list[State]:
    states = [m.assemble() for _ in range(count)]
    for k, state in enumerate(states):
        state.velocity *= 1 + 0.1 * k
        state.angular_velocity *= 1 + 0.1 * k
    return states


@pytest.mark.parametrize("mechanism", [tree, loop])
@pytest.mark.parametrize("kind", ["cardan of hinges", "ball of hinges"])
def test_members_of_a_batch_are_single_runs(mechanism: Callable[[str], Mechanism], kind: str) -> None:
    m = mechanism(kind)
    simulator = Simulator(m, 2e-3, tolerance=TOLERANCE)
    states = batch_states(m)
    gravity = np.array([(0, 0, -9.81 + k) for k in range(5)])
    heavy = "arm" if mechanism is tree else "crank"
    batch = simulator.run_batch(states=states, steps=300, gravity=gravity, masses={heavy: np.full(5, 2.0)})
    for k, state in enumerate(states):
        own = m.copy()
        own.gravity = gravity[k]
        own.bodies[heavy].mass = 2.0
        arrays = (state.position, state.orientation, state.velocity, state.angular_velocity)
        assert_same(Simulator(own, 2e-3, tolerance=TOLERANCE).run(steps=300, state=State(own, *arrays)), batch[k])


# ---- forces


def with_forces(m: Mechanism, first: str, second: str, coordinates: tuple[str | None, str | None]) -> Mechanism:
    """One of every kind on the two angles of a cardan joint."""
    (one, two) = coordinates
    m.add_force(Spring(first, stiffness=3.0, rest_length=0.2, coordinate=one, name="spring"))
    m.add_force(Damper(first, damping=0.02, coordinate=one, name="damper"))
    m.add_force(Motor(first, 0.1, coordinate=one, name="motor"))
    m.add_force(Servo(second, target=0.3, kp=2.0, kd=0.05, coordinate=two, name="servo"))
    m.add_force(Friction(second, 0.01, coordinate=two, name="friction"))
    m.add_force(Armature(second, 2e-3, coordinate=two, name="rotor"))
    return m


def forced(mechanism: Callable[[str], Mechanism], hinges: bool) -> Mechanism:
    a, b = ("arm", "left") if mechanism is tree else ("crank", "coupler")
    if hinges:
        return with_forces(mechanism("cardan of hinges"), f"{a}-{b} hinge 0", f"{a}-{b} hinge 1", (None, None))
    return with_forces(mechanism("cardan"), f"{a}-{b}", f"{a}-{b}", ("first", "second"))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("mechanism", [tree, loop])
def test_forces_on_the_hinges_are_forces_on_the_joint(mechanism: Callable[[str], Mechanism], solver: Solver) -> None:
    assert_same(run(forced(mechanism, False), steps=500), run(forced(mechanism, True), solver, steps=500))


def test_members_of_a_batch_have_them_too() -> None:
    m = forced(tree, True)
    simulator = Simulator(m, 2e-3, tolerance=TOLERANCE)
    batch = simulator.run_batch(states=3, steps=200, force_parameters={"spring": {"stiffness": np.full(3, 3.0)}})
    assert_same(simulator.run(steps=200), batch[1])


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_acts_on_a_massless_body_acts_on_its_neighbours(solver: Solver) -> None:
    """A force and a torque, a load that is held, and a spring to a point: as on a body that is welded to its parent."""
    runs = []
    for inertia in (Inertia.massless(), None):
        m = tree("cardan")
        held = "arm"
        if inertia is not None:
            held = "plate"
            m.add_body(held, inertia, position=(0.2, 0, -0.4))
            m.add_joint(Fixed("arm", held))
        point = np.array((0.2, 0, -0.4)) - m.bodies[held].position
        m.add_force(
            PointSpring("world", held, 20.0, anchors=[(0.5, 0.3, 0), tuple(point)], damping=0.5, rest_length=0.1)
        )

        def control(t: float, live: Live, held: str = held, point: Array = point) -> dict[str, Load]:
            return {held: Load((np.sin(9 * t), 0, 1.0), (0, 0.1, 0.2), at=point, frame="body")}

        force = {held: Load((2.0, 0, 1.0), (0, 0.3, 0), at=point)}
        runs.append(Simulator(m, 2e-3, solver=solver, tolerance=TOLERANCE).run(steps=300, loads=force, control=control))
    assert_same(runs[0], runs[1])


def test_gravity_does_not_pull_on_it() -> None:
    m = Mechanism()
    m.add_body("top", Inertia.massless(), position=(0, 0, 1))
    m.add_body("weight", box((0.1, 0.1, 0.1), mass=2.0))
    m.add_joint(Fixed("top", "weight"))
    free = run(m, steps=100)
    np.testing.assert_allclose(
        free.position[-1, :, 2], np.array((1, 0)) - 9.81 / 2 * free.time[-1] ** 2, rtol=0, atol=1e-12
    )
    assert free.momentum()[-1, 2] == pytest.approx(-2.0 * 9.81 * free.time[-1], rel=1e-12)


# ---- laws of conservation


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("root", ["massless", "massive"])
def test_a_floating_system_keeps_momentum_and_energy(solver: Solver, root: str) -> None:
    """A massless body that is described first, and would be the root, between massive ones; momentum to rounding."""
    m = Mechanism(gravity=(0, 0, 0))
    for name in ("hub", "one", "two") if root == "massless" else ("one", "hub", "two"):
        if name == "hub":
            m.add_body(name, Inertia.massless())
        else:
            side = 1 if name == "one" else -1
            m.add_body(name, box((0.1, 0.2, 0.3), mass=1.0), position=(0.3 * side, 0, 0), angular_velocity=(side, 1, 2))
    m.add_joint(Revolute("one", "hub", axis=(0, 0, 1), at=(0, 0, 0)))
    m.add_joint(Revolute("hub", "two", axis=(0, 1, 0), at=(0, 0, 0)))
    result = Simulator(m, 5e-3, solver=solver).run(steps=2000)
    assert np.abs(result.momentum() - result.momentum()[0]).max() < 1e-13
    assert np.abs(result.angular_momentum() - result.angular_momentum()[0]).max() < 1e-13
    # the step keeps a neighbour of the energy: a band of order dt^2
    assert np.abs(result.energy() / result.energy()[0] - 1).max() < 1e-4
    assert (result.position[:, result.row("hub")] != 0).any()


@pytest.mark.parametrize("solver", SOLVERS)
def test_energy_stays_in_the_band_of_the_joint(solver: Solver) -> None:
    bands = [np.ptp(run(m, solver, steps=2000).energy()) for m in (tree("ball"), tree("ball of hinges"))]
    assert bands[1] == pytest.approx(bands[0], rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("mechanism", [tree, loop])
def test_a_massless_body_hands_on_what_it_is_given(mechanism: Callable[[str], Mechanism], solver: Solver) -> None:
    """Reactions of the joints on either side, and of the one joint, are equal: force, and torque about the point."""
    a, b = ("arm", "left") if mechanism is tree else ("crank", "coupler")
    whole, made = run(mechanism("cardan"), steps=200), run(mechanism("cardan of hinges"), solver, steps=200)
    first, second, one = made.joint(f"{a}-{b} hinge 0"), made.joint(f"{a}-{b} hinge 1"), whole.joint(f"{a}-{b}")
    for joint in (second, one):
        np.testing.assert_allclose(first.force, joint.force, rtol=0, atol=SAME_REACTION)
        np.testing.assert_allclose(first.torque, joint.torque, rtol=0, atol=SAME_REACTION)


# ---- loops of massless rods


def rods(*, massless: bool) -> Mechanism:
    """A plate on two parallel rods."""
    m = Mechanism()
    for name, x in (("left", 0.0), ("right", 1.0)):
        inertia = Inertia.massless() if massless else rod((x, 0, 0), (x, 0, -1), mass=1e-9).inertia
        m.add_body(name, inertia, position=(x, 0, -0.5))
        m.add_joint(Revolute(m.world, name, axis=(0, 1, 0), at=(x, 0, 0)))
    m.add_body("plate", box((1, 0.1, 0.1), mass=2.0), position=(0.5, 0, -1), velocity=(1, 0, 0))
    for name, x in (("left", 0.0), ("right", 1.0)):
        m.add_joint(Revolute(name, "plate", axis=(0, 1, 0), at=(x, 0, -1)))
    return m


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_plate_on_massless_rods_is_a_pendulum(solver: Solver) -> None:
    """What closes the loop is at a rod: it has no inertia but what is lent to it."""
    simulator = Simulator(rods(massless=True), 2e-3, solver=solver)
    result = simulator.run(steps=1000)
    # rods of 1e-9 of the mass change that much of the motion, and count as massless
    with pytest.warns(PlaceholderWarning, match=r"2 bodies of 1e-09 kg or less count as massless \('left', 'right'\)"):
        light = run(rods(massless=False))
    np.testing.assert_allclose(result.body("plate").position, light.body("plate").position, rtol=0, atol=1e-8)
    pendulum = Mechanism()
    pendulum.add_body("bob", Inertia(2.0, np.full(3, 1e-12)), position=(0, 0, -1), velocity=(1, 0, 0))
    pendulum.add_joint(Ball(pendulum.world, "bob", at=(0, 0, 0)))
    bob = run(pendulum).body("bob").position
    np.testing.assert_allclose(result.body("plate").position - (0.5, 0, 0), bob, rtol=0, atol=1e-6)
    # both rods pull, and nothing else does
    pull = result.joint("left-plate").force + result.joint("right-plate").force
    acceleration = np.gradient(result.body("plate").velocity, result.time, axis=0)
    wanted = 2.0 * (acceleration - np.array((0, 0, -9.81)))
    # differences of velocities are good to dt^2
    np.testing.assert_allclose(pull[2:-2], wanted[2:-2], rtol=0, atol=2e-3)


def test_members_of_a_batch_borrow_too() -> None:
    simulator = Simulator(rods(massless=True), 2e-3)
    assert_same(simulator.run(steps=300), simulator.run_batch(states=3, steps=300)[2], atol=1e-12)


def lattice() -> Mechanism:
    """A loop of nothing but massless rods, with weights welded to two of them."""
    m = Mechanism()
    corners = np.array([(0, 0, 0), (1, 0, -0.5), (0, 0, -1), (-1, 0, -0.5)])
    for k in range(4):
        m.add_body(f"rod {k}", Inertia.massless(), position=(corners[k] + corners[(k + 1) % 4]) / 2)
    for k in range(4):
        m.add_joint(Revolute(f"rod {k - 1 if k else 3}", f"rod {k}", axis=(0, 1, 0), at=corners[k]))
    m.add_joint(Revolute(m.world, "rod 0", axis=(0, 1, 0), at=corners[0], name="root"))
    for k in (0, 1):
        m.add_body(f"weight {k}", box((0.1, 0.1, 0.1), mass=1.0), position=corners[k + 1])
        m.add_joint(Fixed(f"rod {k}", f"weight {k}"))
    return m


def test_a_loop_of_massless_bodies_alone_is_for_the_other_solvers() -> None:
    with pytest.raises(ValueError, match=r"solver 'articulated' cannot simulate massless bodies .*'rod 3'.*use 'ldu'"):
        Simulator(lattice(), 2e-3, solver="articulated")
    auto = Simulator(lattice(), 2e-3, tolerance=TOLERANCE)
    assert auto.solver == "ldu" == lattice().report().solver
    assert_same(auto.run(steps=200), run(lattice(), "dense", steps=200))


# ---- going on


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_run_goes_on_as_if_it_had_never_ended(solver: Solver, order: Order) -> None:
    m = forced(loop, True)
    simulator = Simulator(m, 2e-3, solver=solver, order=order)
    whole, first = simulator.run(steps=60), simulator.run(steps=30)
    np.testing.assert_array_equal(simulator.run(steps=30, state=first[-1]).position[-1], whole.position[-1])


@pytest.mark.parametrize("solver", SOLVERS)
def test_it_runs_step_by_step_and_under_control(solver: Solver) -> None:
    simulator = Simulator(forced(tree, True), 2e-3, solver=solver)

    def torque(t: float) -> float:
        return 0.2 * sin(20 * t)

    def control(t: float, live: Live) -> None:
        live.set(motor=torque(t))

    result = simulator.run(steps=100, control=control)
    live = simulator.start()
    for k in range(100):
        live.set(motor=torque(k * simulator.dt))
        live.step()
    # both hold the same numbers over the same steps
    np.testing.assert_allclose(live.state().position, result.position[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(live.state().velocity, result.velocity[-1], rtol=0, atol=1e-11)


def test_rates_and_coordinates_are_set_through_it() -> None:
    m = tree("ball of hinges")
    state = m.state()
    state.joint("arm-left hinge 1").coordinates = 0.4
    state.joint("arm-left hinge 1").rates = 2.0
    state = m.assemble(state, rates={"arm-left hinge 0": 0.5, "arm-left hinge 2": -1.0})
    assert state.joint("arm-left hinge 1").coordinates[0] == pytest.approx(0.4, abs=1e-12)
    assert state.joint("arm-left hinge 0").rates[0] == pytest.approx(0.5, abs=1e-9)
    first = Simulator(m, 1e-3).run(steps=1, state=state)[0]
    # what the joints allow is left as it is
    np.testing.assert_allclose(first.velocity, state.velocity, rtol=0, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_coupling_acts_on_its_hinges(solver: Solver) -> None:
    """A gear between the two hinges leaves the cross one motion."""
    m = tree("cardan of hinges")
    m.add_coupling(Gear("arm-left hinge 0", "arm-left hinge 1", ratio=2.0))
    result = run(m, solver, steps=300)
    first, second = (result.joint(f"arm-left hinge {k}").angle for k in (0, 1))
    assert np.ptp(first) > 0.05
    # a gap that Newton's method leaves, and rounding
    np.testing.assert_allclose(second, 2.0 * first, rtol=0, atol=1e-12)


# ---- what is not held


def base() -> Mechanism:
    m = Mechanism()
    m.add_body("arm", box((0.1, 0.2, 0.4), mass=1.3), position=(0, 0, -0.2))
    m.add_joint(Revolute(m.world, "arm", axis=(0, 1, 0), at=(0, 0, 0), name="root"))
    m.add_body("flap", Inertia.massless(), position=(0, 0, -0.4))
    return m


def leaf() -> Mechanism:
    m = base()
    m.add_joint(Revolute("arm", "flap", axis=(1, 0, 0), at=(0, 0, -0.4)))
    return m


def collinear() -> Mechanism:
    m = leaf()
    m.add_body("blade", box((0.1, 0.1, 0.3), mass=1.0), position=(0.1, 0, -0.5))
    m.add_joint(Revolute("flap", "blade", axis=(1, 0, 0), at=(0.2, 0, -0.4)))
    return m


def spun() -> Mechanism:
    """A rod on two balls, one of which closes a loop."""
    m = base()
    m.add_joint(Ball("arm", "flap", at=(0, 0, -0.4)))
    m.add_joint(Ball("flap", "world", at=(1, 0, -0.4)))
    return m


def geared() -> Mechanism:
    """Collinear hinges, one of which is geared to the other: held."""
    m = collinear()
    m.add_coupling(Gear("arm-flap", "flap-blade", ratio=2.0))
    return m


@pytest.mark.parametrize("mechanism", [base, leaf, collinear, spun])
@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
def test_a_massless_body_that_is_not_held_is_named(mechanism: Callable[[], Mechanism], solver: Solver) -> None:
    with pytest.raises(ValueError, match="body 'flap' is massless and not held"):
        Simulator(mechanism(), 1e-3, solver=solver)
    with pytest.raises(ValueError, match="body 'flap' is massless and not held"):
        mechanism().report()


@pytest.mark.parametrize("solver", ["auto", "ldu", "dense"])
def test_a_coupling_may_hold_it(solver: Solver) -> None:
    """Not for the joint-space solver, which sees couplings at one massless body and one other only."""
    result = Simulator(geared(), 1e-3, solver=solver).run(steps=100)
    assert np.isfinite(result.velocity).all()
    with pytest.raises(ValueError, match="'flap'"):
        Simulator(geared(), 1e-3, solver="articulated")


def wrist(bend: float) -> State:
    """Three hinges, of which the first and the last are aligned in the described pose."""
    m = base()
    m.add_body("second", Inertia.massless(), position=(0, 0, -0.4))
    m.add_body("hand", box((0.1, 0.1, 0.3), mass=0.5), position=(0, 0, -0.6))
    for a, b, axis in (("arm", "flap", (0, 0, 1)), ("flap", "second", (0, 1, 0)), ("second", "hand", (0, 0, 1))):
        m.add_joint(Revolute(a, b, axis=axis, at=(0, 0, -0.4)))
    state = m.state()
    state.joint("flap-second").coordinates = bend
    return state


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_pose_may_be_singular_that_is_not_started_from(solver: Solver) -> None:
    simulator = Simulator(wrist(0.0).mechanism, 1e-3, solver=solver)
    with pytest.raises(ValueError, match="bodies 'flap', 'second' are massless and not held in the initial pose"):
        simulator.run(steps=10)
    bent = wrist(0.5)
    result = Simulator(bent.mechanism, 1e-3, solver=solver).run(steps=100, state=bent)
    assert np.isfinite(result.velocity).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_run_into_a_singular_pose_ends_or_passes_without_nan(solver: Solver) -> None:
    state = wrist(0.3)
    state.joint("flap-second").rates = -3.0
    result = Simulator(state.mechanism, 1e-3, solver=solver, on_failure="stop").run(steps=300, state=state)
    for array in (result.position, result.velocity, result.angular_velocity, result.multipliers):
        assert np.isfinite(array).all()


# ---- what is said and kept of it


def test_a_mass_is_zero_with_the_inertia_or_not_at_all() -> None:
    with pytest.raises(ValueError, match="massless body must have zero inertia"):
        Inertia(0.0, (1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match="must be positive definite"):
        Inertia(1.0, (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="mass must be positive, or zero"):
        Inertia(-1.0, (1.0, 1.0, 1.0))
    body = Mechanism().add_body("b", box((1, 1, 1), mass=2.0))
    body.mass = 0
    assert body.mass == 0
    assert not body.inertia.tensor.any()
    with pytest.raises(ValueError, match="body 'b' is massless, so its inertia cannot be scaled"):
        body.mass = 1.0


def test_members_of_a_batch_have_the_same_massless_bodies() -> None:
    simulator = Simulator(tree("cardan of hinges"), 1e-3)
    for name, masses, inertias in (
        ("arm", np.zeros(2), np.zeros((2, 3, 3))),
        ("arm-left 0", np.ones(2), np.tile(np.eye(3), (2, 1, 1))),
    ):
        with pytest.raises(ValueError, match=f"body '{name}' must be massless in all members or in none"):
            simulator.run_batch(states=2, steps=1, masses={name: masses}, inertias={name: inertias})


def test_report_and_files_know_it(tmp_path: Path) -> None:
    m = tree("cardan of hinges")
    report = m.report()
    assert report.massless == ("arm-left 0", "arm-right 0")
    assert "massless bodies: arm-left 0, arm-right 0" in str(report)
    assert report.freedom == tree("cardan").report().freedom == 5
    m.save(tmp_path / "m.json")
    assert Mechanism.load(tmp_path / "m.json").bodies["arm-left 0"].mass == 0
    result = run(m, steps=10)
    result.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.energy(), result.energy())


# ---- whatever the tree


AXES = (
    np.array([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (1, 0, 1)]) / np.sqrt([1, 1, 1, 2, 2, 2])[:, None]
)


@st.composite
def connected(draw: st.DrawFn) -> list[tuple[int, bool, int, tuple[float, float, float]]]:
    """Bodies: which they hang on, whether a massless one is between, about which axes, and where."""
    numbers = st.floats(-0.3, 0.3)
    return [
        (
            draw(st.integers(-1, k - 1)),
            draw(st.booleans()),
            draw(st.integers(0, len(AXES) - 1)),
            (draw(numbers), draw(numbers), draw(st.floats(-0.5, -0.2))),
        )
        for k in range(draw(st.integers(2, 5)))
    ]


def grown(bodies: list[tuple[int, bool, int, tuple[float, float, float]]], mass: float, floats: bool) -> Mechanism:
    """A tree in which the massless bodies have the given mass; a connector is a little way off the joints beside it."""
    m = Mechanism()
    points = [np.zeros(3)]
    for k, (parent, between, axis, step) in enumerate(bodies):
        above = "world" if parent < 0 else f"body {parent}"
        start = points[parent + 1]
        points.append(start + step)
        shape = rod(start, points[-1], mass=1.0, radius=0.1)
        m.add_body(f"body {k}", shape, angular_velocity=(0.5 * (-1) ** k, 0.3, 0.2 * k))
        if floats and parent < 0:
            if k > 0:
                m.add_joint(Ball("body 0", f"body {k}", at=start))
            continue
        if between:
            inertia = Inertia(mass, np.full(3, 1e-2 * mass)) if mass else Inertia.massless()
            m.add_body(f"between {k}", inertia, position=start + np.array((0.02, 0.01, 0.03)))
            m.add_joint(Revolute(above, f"between {k}", axis=AXES[axis], at=start))
            m.add_joint(Revolute(f"between {k}", f"body {k}", axis=AXES[axis - 1], at=start))
        else:
            m.add_joint(Revolute(above, f"body {k}", axis=AXES[axis], at=start))
    return m


@given(bodies=connected(), floats=st.booleans(), solver=st.sampled_from(SOLVERS))
@settings(max_examples=25)
def test_massless_is_the_limit_of_light(
    bodies: list[tuple[int, bool, int, tuple[float, float, float]]], floats: bool, solver: Solver
) -> None:
    """As connectors get lighter by tens the motion comes nearer by as much, to that of massless ones."""
    limit = run(grown(bodies, 0.0, floats), solver, steps=100)
    light = run(grown(bodies, 1e-9, floats), "articulated", steps=100)
    # parts of 1e-9 of the mass move the bodies by that times how much a step amplifies; measured below 1e-7
    assert_same(limit, light, atol=1e-6)


def network(seed: int) -> Mechanism:
    """Floating bodies, tied to each other and to the world by massless ones, each on two or three joints."""
    random = np.random.default_rng(seed)
    m = Mechanism(gravity=(0, 0, -2))
    massive = [f"body {k}" for k in range(random.integers(2, 6))]
    for name in massive:
        position, velocity, spin = random.normal(size=(3, 3))
        shape = box(0.3 + random.random(3), mass=0.5 + random.random())
        m.add_body(name, shape, position=position, velocity=0.3 * velocity, angular_velocity=0.3 * spin)
    light: list[str] = []
    for k in range(random.integers(1, 4)):
        center = random.normal(size=3)
        name = m.add_body(f"tie {k}", Inertia.massless(), position=center).name
        for other in random.permutation([*massive, "world", *light])[: random.integers(2, 4)]:
            point, (one, two, _) = center + 0.4 * random.normal(size=3), np.linalg.qr(random.normal(size=(3, 3)))[0]
            kind = random.integers(3)
            if kind == 0:
                m.add_joint(Ball(str(other), name, at=point))
            elif kind == 1:
                m.add_joint(Revolute(str(other), name, axis=one, at=point))
            else:
                m.add_joint(Universal(str(other), name, axes=(one, two), at=point))
        light.append(name)
    return m


@pytest.mark.filterwarnings("ignore::catena.StuckWarning")  # some networks are trusses
@pytest.mark.filterwarnings("ignore::catena.LoopWarning")  # and some hold directions weakly
@given(seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_solvers_agree_on_any_network(seed: int) -> None:
    """Or all find that a massless body is not held, or that the motion runs into a pose where it is not."""
    m = network(seed)
    try:
        dense = Simulator(m, 2e-3, solver="dense", tolerance=TOLERANCE, on_failure="stop").run(steps=30)
    except ValueError as error:
        assert "massless and not held" in str(error)  # noqa: PT017
        return
    solvers: list[Solver] = ["ldu", "articulated"]
    try:
        Simulator(m, 2e-3, solver="articulated")
    except ValueError as error:
        assert "use 'ldu'" in str(error)  # noqa: PT017
        solvers.remove("articulated")
    for solver in solvers:
        result = Simulator(m, 2e-3, solver=solver, tolerance=TOLERANCE, on_failure="stop").run(steps=30)
        assert result.status.reason == dense.status.reason
        if dense.status.ok:
            assert_same(result, dense)


# ---- placeholder masses: so light that no motion shows it


def four_bar_of(masses: tuple[float, float, float], tensor: float = 1.0) -> Mechanism:
    """Crank, rod and rocker of these masses, moments of inertia of the rod times `tensor`."""
    m = scenes.four_bar()
    for body, mass in zip(m.bodies.values(), masses, strict=True):
        whole = body.inertia
        scale = mass / whole.mass
        body.inertia = Inertia(mass, scale * whole.tensor * (tensor if mass == min(masses) else 1.0))
    return m


@pytest.mark.parametrize("rod_mass", [1e-9, 1e-12])
def test_a_placeholder_in_a_loop_counts_as_massless(rod_mass: float) -> None:
    """A rod as exporters write it: the motion is that of a rod without mass."""
    m = four_bar_of((1.0, rod_mass, 1.0))
    with pytest.warns(PlaceholderWarning, match=r"'link2' counts as massless: at most \d") as caught:
        simulator = Simulator(m, 0.01)
    assert len(caught) == 1
    # once told, it is known
    Simulator(m, 0.01)
    assert [name for name, body in simulator.mechanism.bodies.items() if body.mass == 0] == ["link2"]
    assert m.bodies["link2"].mass == rod_mass
    found = simulator.run(2.0)
    none = four_bar_of((1.0, 1.0, 1.0))
    none.bodies["link2"].inertia = Inertia.massless()
    np.testing.assert_array_equal(found.position, Simulator(none, 0.01).run(2.0).position)
    assert found.drift().max() < 1e-10


@pytest.mark.filterwarnings("ignore::catena.PlaceholderWarning")
def test_a_feather_between_two_mountains() -> None:
    m = four_bar_of((1e6, 1e-6, 1e6))
    run = Simulator(m, 0.01).run(1.0)
    assert run.status.ok
    assert run.drift().max() < 1e-10


def test_a_light_body_that_moves_alone_keeps_its_mass() -> None:
    """A feather on a hinge has a motion of its own, of which all the energy is its."""
    m = four_bar_of((1.0, 1.0, 1.0))
    m.add_body("feather", rod((0, 0, 0), (0, 0, 0.1), mass=1e-9))
    m.add_joint(Revolute(next(iter(m.bodies)), "feather", axis=(1, 0, 0), at=(0, 0, 0)))
    assert all(body.mass > 0 for body in Simulator(m, 0.01).mechanism.bodies.values())


def test_what_shows_in_the_motion_keeps_its_mass() -> None:
    """A rod of 1e-6 of the others' mass has about that share of the energy."""
    assert all(body.mass > 0 for body in Simulator(four_bar_of((1.0, 1e-6, 1.0)), 0.01).mechanism.bodies.values())


def test_a_tree_needs_no_placeholders() -> None:
    m = scenes.pendulum(3)
    m.bodies[list(m.bodies)[1]].mass = 1e-9
    assert all(body.mass > 0 for body in Simulator(m, 0.01).mechanism.bodies.values())
