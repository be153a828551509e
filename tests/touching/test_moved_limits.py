"""Limits that are moved while a mechanism runs: doors that are locked, stops that go away or come near."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena import Limits, Mechanism, Simulator

pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

SOLVERS = ("articulated", "ldu", "dense")


def door(restitution: float = 0.0) -> Mechanism:
    """A door on a vertical hinge, with a handle that turns."""
    m = Mechanism()
    m.add_body("door", ct.box((1.0, 0.05, 2.0), mass=20.0), position=(0.5, 0, 0))
    m.add_joint(ct.Revolute("world", "door", axis=(0, 0, 1), at=(0, 0, 0), name="hinge"))
    m.add_body("handle", ct.rod((0.9, 0.1, 0), (0.7, 0.1, 0), mass=0.3))
    m.add_joint(ct.Revolute("door", "handle", axis=(0, 1, 0), at=(0.9, 0.1, 0), name="latch"))
    m.joints["hinge"].limits = Limits(-1.5, 1.5, restitution=restitution)
    return m


def swinging(m: Mechanism, solver: str = "articulated", order: int = 2) -> ct.Live:
    state = m.state()
    state.joint("hinge").rate = 2.0
    return Simulator(m, 0.01, solver=solver, order=order).start(state)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limit_that_comes_near_is_met(solver: str, order: int) -> None:
    live = swinging(door(), solver, order)
    live.step(10)
    live.set_limits("hinge", upper=0.5)
    most = -np.inf
    for _ in range(100):
        live.step()
        most = max(most, live.joint("hinge").angle)
    assert 0.49 < most <= 0.5 + 1e-12
    assert live.mechanism.joints["hinge"].limits == {"angle": Limits(-1.5, 1.5)}


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_door_is_locked_and_opened(solver: str) -> None:
    """What it moved with is lost at once, as in an impact; a push opens it when it is free again."""
    m = door()
    m.add_force(ct.Motor("hinge", 0.0, name="push"))
    live = swinging(m, solver)
    live.step(10)
    at, energy = live.joint("hinge").angle, live.kinetic_energy()
    live.set_limits("hinge", lower=at, upper=at)
    assert abs(live.joint("hinge").rate) < 1e-12
    assert live.kinetic_energy() < 0.05 * energy
    live.set(push=10.0)
    live.step(100)
    assert live.joint("hinge").angle == pytest.approx(at, abs=1e-12)
    live.set_limits("hinge", lower=-1.5, upper=1.5)
    live.step(20)
    assert live.joint("hinge").angle > at + 0.01


def test_a_limit_that_is_put_where_the_door_is_gives_back_its_speed() -> None:
    live = swinging(door(0.5))
    live.step(10)
    rate = live.joint("hinge").rate
    live.set_limits("hinge", upper=live.joint("hinge").angle)
    assert live.joint("hinge").rate == pytest.approx(-0.5 * rate, rel=1e-9)


def test_a_stop_on_which_something_rests_goes_away() -> None:
    m = Mechanism()
    m.add_body("weight", ct.box((0.1, 0.1, 0.1), mass=2.0))
    m.add_joint(ct.Prismatic("world", "weight", axis=(0, 0, 1), at=(0, 0, 0), name="slide"))
    m.joints["slide"].limits = Limits(lower=0.0)
    live = Simulator(m, 0.01).start()
    live.step(50)
    assert live.coordinates[0] == pytest.approx(0.0, abs=1e-15)
    live.set_limits("slide", lower=-0.2)
    live.step(10)
    assert live.coordinates[0] == pytest.approx(-9.81 * 0.1**2 / 2, abs=1e-12)
    live.step(100)
    assert live.coordinates[0] == pytest.approx(-0.2, abs=1e-12)


def test_copies_and_restarts() -> None:
    live = swinging(door())
    live.step(10)
    live.set_limits("hinge", upper=0.4)
    live.step(3)
    other = live.copy()
    for each in (live, other):
        each.step(60)
    np.testing.assert_array_equal(other.position, live.position)
    assert live.joint("hinge").angle <= 0.4 + 1e-12
    live.restart()
    live.step(60)
    assert live.joint("hinge").angle > 1.0


@pytest.mark.parametrize(("upper", "moved"), [(0.5, 1.5), (1.5, 0.5)])
def test_a_state_with_moved_limits_goes_on_with_those_of_the_description(upper: float, moved: float) -> None:
    """What the state knows of distances to stops is of other stops."""
    m = door()
    m.joints["hinge"].limits = Limits(-1.5, upper)
    live = swinging(m)
    live.set_limits("hinge", upper=moved)
    live.step(10)
    run = Simulator(m, 0.01).run(steps=80, state=live.state())
    assert upper - 0.03 < run.joint("hinge").angle.max() <= upper + 1e-12


def test_limits_that_cannot_be_moved() -> None:
    live = swinging(door())
    live.step(10)
    with pytest.raises(ValueError, match=r"'hinge' \(angle\) is at 0\.\d+, 0\.\d+ beyond the limits -1\.5 to 0\.1"):
        live.set_limits("hinge", upper=0.1)
    with pytest.raises(ValueError, match="lower 1 is above upper"):
        live.set_limits("hinge", lower=1.0, upper=0.5)
    with pytest.raises(ValueError, match="'latch' has no hard limits"):
        live.set_limits("latch", upper=0.5)
    with pytest.raises(ValueError, match="hinges"):
        live.set_limits("hinges", upper=0.5)
    live.step(60)
    assert live.joint("hinge").angle > 1.0


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_control_moves_limits_as_a_live_mechanism_does(restitution: float, order: int) -> None:
    """Bit for bit: a stop that is put where the door is, then away from it, and one that comes near."""
    bounds = {10: {"upper": None}, 40: {"upper": 1.5}, 55: {"lower": -0.4}, 90: {"lower": -1.5}}

    def move(k: int, live: ct.Live) -> None:
        if k in bounds:
            at = live.joint("hinge").angle
            live.set_limits("hinge", **{side: at if to is None else to for side, to in bounds[k].items()})

    live = swinging(door(restitution), order=order)
    poses, rates = [], []
    for k in range(120):
        poses.append(live.position.copy())
        move(k, live)
        rates.append(live.joint("hinge").rate)
        live.step()
    state = door().state()
    state.joint("hinge").rate = 2.0
    run = Simulator(door(restitution), 0.01, order=order).run(
        steps=120, state=state, control=lambda t, live: move(round(t / 0.01), live)
    )
    np.testing.assert_array_equal(run.position[:-1], poses)
    # a node that a control looks at is the one before its limits act
    assert run.joint("hinge").rate[10] == pytest.approx(2.0, rel=0.1)
    assert rates[10] == pytest.approx(-restitution * run.joint("hinge").rate[10], abs=1e-9)
    assert run.joint("hinge").rate[11] == pytest.approx(rates[11], abs=1e-9)
    assert len(run.impacts) >= 1


def test_a_control_cannot_put_a_limit_beyond_the_door() -> None:
    m = door()
    with pytest.raises(ValueError, match="move it there first"):
        Simulator(m, 0.01).run(0.1, control=lambda t, live: live.set_limits("hinge", upper=-0.5))
