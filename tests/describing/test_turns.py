"""Angles of joints count their turns: in states and runs, however seldom recorded, sliced, saved or continued."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from catena import (
    Cylindrical,
    Gear,
    Inertia,
    Joint,
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
)
from catena._util import rotation as rot
from catena.results import analysis
from catena.results.trajectory import single_node

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

AXIS = rot.normalised(np.array((0.3, -0.5, 1.0)))
TURN = 2 * np.pi

# a joint, its rates, and which of its coordinates turns
JOINTS: dict[str, tuple[Callable[[str, str], Joint], tuple[float, ...], int]] = {
    "revolute": (lambda a, b: Revolute(a, b, axis=AXIS, at=(0, 0, 0), name="joint"), (7.0,), 0),
    "backwards": (lambda a, b: Revolute(b, a, axis=AXIS, at=(0, 0, 0), name="joint"), (-7.0,), 0),
    "cylindrical": (lambda a, b: Cylindrical(a, b, axis=AXIS, at=(0, 0, 0), name="joint"), (0.01, 7.0), 1),
    "planar": (lambda a, b: Planar(a, b, axis=AXIS, at=(0, 0, 0), name="joint"), (0.0, 0.0, -7.0), 2),
    "screw": (lambda a, b: Screw(a, b, axis=AXIS, at=(0, 0, 0), pitch=0.01, name="joint"), (7.0,), 0),
    "first": (
        lambda a, b: Universal(a, b, axes=((1, 0, 0), (0, 1, 0)), at=(0, 0, 0), name="joint"),
        (7.0, 0.0),
        0,
    ),
    "second": (
        lambda a, b: Universal(a, b, axes=((1, 0, 0), (0, 1, 0)), at=(0, 0, 0), name="joint"),
        (0.0, 7.0),
        1,
    ),
}
every_joint = pytest.mark.parametrize("name", JOINTS)


def spinning(name: str, base: str = "world") -> State:
    """A ball of inertia, its center on the joint, that turns steadily."""
    m = Mechanism(gravity=(0, 0, 0))
    if base != "world":
        m.add_body(base, Inertia(1e3, 1e3 * np.eye(3)))
    m.add_body("body", Inertia(1.0, 0.1 * np.eye(3)), orientation=rot.normalised(np.array((1.0, 2, 0, 1))))
    make, rates, _ = JOINTS[name]
    m.add_joint(make(base, "body"))
    state = m.state()
    state.joint("joint").rates = rates
    return state


@every_joint
@pytest.mark.parametrize("every", [1, 250])
def test_a_hundred_turns(name: str, every: int) -> None:
    state = spinning(name)
    _, rates, which = JOINTS[name]
    run = Simulator(state.mechanism, 0.01).run(100.0, state=state, record_every=every)
    angle = run.joint("joint").coordinates[:, which]
    assert len(run) == 10000 / every + 1
    assert abs(angle[-1]) > 100 * TURN
    # steady: a step turns by asin(w dt), a little more than w dt; a nut slides as well, by w dt itself
    exact = np.arcsin(rates[which] * 0.01) / 0.01 * run.time
    np.testing.assert_allclose(angle, exact, rtol=0, atol=3e-5 if name == "screw" else 1e-8)
    assert run[-1].joint("joint").coordinates[which] == pytest.approx(angle[-1], abs=1e-11)
    assert np.abs(run.joint("joint").wrapped[:, which]).max() <= np.pi + 1e-12 or name == "screw"


@every_joint
def test_record_every_changes_nothing(name: str) -> None:
    state = spinning(name, "base")
    simulator = Simulator(state.mechanism, 0.02)
    every, seldom = (simulator.run(steps=2000, state=state, record_every=k) for k in (1, 173))
    found = every[::173].joint("joint").coordinates
    np.testing.assert_allclose(seldom.joint("joint").coordinates[: len(found)], found, rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        seldom.joint("joint").coordinates[-1], every.joint("joint").coordinates[-1], rtol=0, atol=1e-11
    )


@every_joint
@pytest.mark.parametrize("every", [1, 20])
def test_slices_files_and_going_on(name: str, every: int, tmp_path: Path) -> None:
    state = spinning(name)
    simulator = Simulator(state.mechanism, 0.01)
    run = simulator.run(steps=2000, state=state, record_every=every)
    angles = run.joint("joint").coordinates
    for part in (slice(None, None, 7), slice(40, 5, -3), slice(60, None), slice(-3, None)):
        np.testing.assert_array_equal(run[part].joint("joint").coordinates, angles[part])
    np.testing.assert_array_equal(run[::7][2:].joint("joint").coordinates, angles[::7][2:])
    for k in (0, 30, -1):
        np.testing.assert_allclose(run[k].joint("joint").coordinates, angles[k], rtol=0, atol=1e-12)
        np.testing.assert_allclose(run[::7][k % 3].joint("joint").coordinates, angles[::7][k % 3], atol=1e-12)

    run.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.joint("joint").coordinates, angles)
    np.testing.assert_allclose(again[-1].joint("joint").coordinates, angles[-1], atol=1e-12)
    run[50:].save(tmp_path / "part.npz")
    np.testing.assert_array_equal(Trajectory.load(tmp_path / "part.npz").joint("joint").coordinates, angles[50:])

    whole = simulator.run(steps=4000, state=state, record_every=every).joint("joint").coordinates
    for end in (run[-1], again[-1], run[::4][-1] if every == 20 else run[-1]):
        on = simulator.run(steps=2000, state=end, record_every=every).joint("joint").coordinates
        np.testing.assert_allclose(on, whole[len(angles) - 1 :], rtol=0, atol=1e-8)


def test_setting_an_angle_beyond_a_turn() -> None:
    state = spinning("revolute")
    view = state.joint("joint")
    for angle in (4 * np.pi + 0.1, -7.0, 0.0, 100.0):
        view.angle = angle
        assert view.angle == pytest.approx(angle, abs=1e-12)
        assert state.copy().joint("joint").angle == pytest.approx(angle, abs=1e-12)
    view.angle = 4 * np.pi + 0.1
    assert view.rate == pytest.approx(7.0)
    run = Simulator(state.mechanism, 0.01).run(1.0, state=state)
    assert run.joint("joint").coordinates[0, 0] == pytest.approx(4 * np.pi + 0.1, abs=1e-12)
    assert run.joint("joint").coordinates[-1, 0] == pytest.approx(4 * np.pi + 7.1, abs=0.01)

    # other joints of the same state are none the wiser, and another state begins anew
    assert state.mechanism.state().joint("joint").angle == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("name", "wanted"), [("cylindrical", (0.2, 20.0)), ("planar", (0.1, 0.2, -9.0))])
def test_setting_coordinates_beyond_a_turn(name: str, wanted: tuple[float, ...]) -> None:
    state = spinning(name)
    state.joint("joint").coordinates = wanted
    np.testing.assert_allclose(state.joint("joint").coordinates, wanted, atol=1e-12)


def test_setting_both_angles_of_a_universal() -> None:
    state = spinning("first")
    state.joint("joint").coordinates = (9.0, -0.4)
    np.testing.assert_allclose(state.joint("joint").coordinates, (9.0, -0.4), atol=1e-12)
    state.joint("joint").coordinates = (0.3, 7.0)
    np.testing.assert_allclose(state.joint("joint").coordinates, (0.3, 7.0), atol=1e-12)


@pytest.mark.parametrize("every", [1, 100])
def test_a_spring_knows_how_far_it_is_wound(every: int) -> None:
    """Wound by three turns, it unwinds as a cosine, its energy kept."""
    inertia, stiffness, angle = 0.1, 0.02, 3 * TURN + 0.5
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("body", Inertia(1.0, inertia * np.eye(3)))
    m.add_joint(Revolute("world", "body", axis=AXIS, at=(0, 0, 0), name="joint"))
    m.add_force(Spring("joint", stiffness))
    state = m.state()
    state.joint("joint").angle = angle
    assert analysis.potential_energy(single_node(state))[0] == pytest.approx(0.5 * stiffness * angle**2)
    run = Simulator(m, 0.005).run(20.0, state=state, record_every=every)
    w = np.sqrt(stiffness / inertia)
    np.testing.assert_allclose(run.joint("joint").coordinates[:, 0], angle * np.cos(w * run.time), rtol=0, atol=0.02)
    assert np.abs(run.energy() / run.energy()[0] - 1).max() < 2e-4

    # from any node on
    middle = len(run) // 3
    on = Simulator(m, 0.005).run(1.0, state=run[middle])
    assert on.joint("joint").coordinates[0, 0] == pytest.approx(run.joint("joint").coordinates[middle, 0], abs=1e-11)
    assert on.energy()[0] == pytest.approx(run.energy()[middle], rel=1e-10)


def test_gears_from_a_state_of_many_turns() -> None:
    m = Mechanism(gravity=(0, 0, 0))
    for k in range(2):
        m.add_body(f"w{k}", Inertia(1.0, 0.1 * np.eye(3)), position=(k, 0, 0))
        m.add_joint(Revolute("world", f"w{k}", axis=(0, 0, 1), at=(k, 0, 0), name=f"s{k}"))
    m.add_coupling(Gear("s0", "s1", -3.0, name="gear"))
    state = m.state()
    state.joint("s0").angle, state.joint("s1").angle = 21.0, -63.0
    state.joint("s0").rate, state.joint("s1").rate = 2.0, -6.0
    run = Simulator(m, 0.01).run(10.0, state=state, record_every=50)
    np.testing.assert_allclose(run.joint("s1").coordinates, -3 * run.joint("s0").coordinates, rtol=0, atol=1e-11)
    assert np.abs(run.coupling("gear").gap).max() < 1e-12
    on = Simulator(m, 0.01).run(10.0, state=run[7])
    assert np.abs(on.coupling("gear").gap).max() < 1e-12
    assert run.joint("s1").coordinates[-1, 0] == pytest.approx(-63 - 60, abs=0.1)


def test_a_loop_joint_counts_too() -> None:
    """The pin of a crank that goes round, with the rod on a slider: it turns back and forth, the crank on and on."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("crank", Inertia(1.0, 0.1 * np.eye(3)))
    m.add_body("rod", Inertia(0.1, 0.01 * np.eye(3)), position=(0.7, 0, 0))
    m.add_body("block", Inertia(0.1, 0.01 * np.eye(3)), position=(1.2, 0, 0))
    y = (0, 1, 0)
    m.add_joint(Revolute("world", "crank", axis=y, at=(0, 0, 0), name="shaft"))
    m.add_joint(Prismatic("world", "block", axis=(1, 0, 0), at=(1.2, 0, 0), name="slide"))
    m.add_joint(Revolute("rod", "block", axis=y, at=(1.2, 0, 0), name="wrist"))
    m.add_joint(Revolute("crank", "rod", axis=y, at=(0.2, 0, 0), name="pin"))
    state = m.state()
    state.angular_velocity[0] = (0, 8.0, 0)
    state = m.assemble(state)
    run = Simulator(m, 0.005).run(30.0, state=state, record_every=400)
    shaft, pin = (run.joint(name).coordinates[:, 0] for name in ("shaft", "pin"))
    assert shaft[-1] > 30 * TURN
    # what the shaft turns on, the pin turns back, but for the rod's swing of asin(0.2)
    assert np.abs(shaft + pin).max() < 0.25
    assert np.abs(run.joint("wrist").coordinates).max() < 0.25


def test_an_empty_run_and_one_node() -> None:
    state = spinning("revolute")
    state.joint("joint").angle = 9.0
    run = Simulator(state.mechanism, 0.01).run(steps=0, state=state)
    assert run.joint("joint").coordinates[0, 0] == pytest.approx(9.0)
    assert len(run[:0].joint("joint").coordinates) == 0


# ---- steps that turn joints by more than half a turn


def counter_rotors(torque: float = 0.0) -> Mechanism:
    """Two equal wheels on one axle, the first on a hinge to the world, the second on one to the first."""
    m = Mechanism(gravity=(0, 0, 0))
    for k, name in enumerate("ab"):
        m.add_body(name, Inertia(1.0, (0.01, 0.01, 0.005)), position=(0, 0, 0.2 * k))
    m.add_joint(Revolute("world", "a", axis=(0, 0, 1), at=(0, 0, 0), name="first"))
    m.add_joint(Revolute("a", "b", axis=(0, 0, 1), at=(0, 0, 0.1), name="second"))
    if torque:
        m.add_force(Motor("second", torque))
    return m


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_turns_in_halved_steps(order: int, every: int) -> None:
    """Driven apart until a step turns them by several turns, in pieces; some composed steps fail in their last part."""
    run = Simulator(counter_rotors(0.5), 0.01, order=order).run(steps=400, record_every=every)
    assert run.halved_count > 100
    first, second = (run.joint(name).coordinates[:, 0] for name in ("first", "second"))
    assert second[-1] > 200 * TURN

    # equal and opposite; a turn lost in one of them would show
    np.testing.assert_allclose(second, -2 * first, rtol=0, atol=1e-6)
    if order > 2:
        return
    # a piece whose momentum is the sine of its turn turns more than the torque's integral, at most 1 rad for sin 1
    wanted = 0.5 / 0.005 * run.time[-1] ** 2
    assert wanted < second[-1] < wanted / np.sin(1)


@pytest.mark.parametrize("order", [4, 6, 8])
@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_a_spring_in_composed_steps_that_fail(order: int, solver: str) -> None:
    m = counter_rotors()
    m.add_force(Spring("second", 0.01))
    state = m.state()
    state.joint("first").rate, state.joint("second").rate = 190.0, -380.0
    run = Simulator(m, 0.01, order=order, solver=solver).run(steps=60, state=state)
    assert run.halved_count > 20

    # measured 2.2 % for order 4, of steps of several lengths; every turn lost from a spring of 150 rad would be 5 %
    assert run.energy_error().max() < 3e-2
