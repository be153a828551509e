"""Springs that act at the nodes explode where w dt > 2: such runs end with a sentence, all others go on."""

from __future__ import annotations

from math import pi, sin
from typing import Any

import numpy as np
import pytest

from catena import Mechanism, PointSpring, Prismatic, Revolute, SimulationError, Simulator, Spring, box, cylinder

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

DT = 0.01


def carts(count: int, frequency: float, *, implicit: bool = False) -> Mechanism:
    """Carts of 1 kg on a rail in a row of equal springs, whose fastest mode has the given frequency (rad/s)."""
    m = Mechanism(gravity=(0, 0, 0))
    fastest = 2 * sin(pi * (2 * count - 1) / (2 * (2 * count + 1)))
    stiffness = frequency**2 / fastest**2
    for k in range(count):
        m.add_body(f"cart{k}", box((0.1, 0.1, 0.1), mass=1.0), position=(k + 1, 0, 0))
        m.add_joint(Prismatic("world", f"cart{k}", axis=(1, 0, 0), at=(k + 1, 0, 0), name=f"rail{k}"))
    for k in range(count):
        ends = [(k, 0, 0), (k + 1, 0, 0)]
        before = f"cart{k - 1}" if k else "world"
        m.add_force(PointSpring(before, f"cart{k}", stiffness, points=ends, implicit=implicit, name=f"spring{k}"))
    return m


def pushed(m: Mechanism, joint: str = "rail0") -> Any:
    state = m.state()
    state.joint(joint).coordinates = 1e-3
    return state


# a chain of five is near its limit by a row of modes, and the power method finds the fastest from below
@pytest.mark.parametrize(("order", "limit"), [(1, 2.0), (2, 2.0), (4, 2.6)])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_the_limit_is_that_of_the_scheme(count: int, order: Any, limit: float, solver: Any) -> None:
    calm = carts(count, 0.97 * limit / DT)
    run = Simulator(calm, DT, order=order, solver=solver).run(5.0, state=pushed(calm))
    assert np.abs(run.position - run.position[0]).max() < 0.05
    wild = carts(count, 1.2 * limit / DT)
    with pytest.raises(
        SimulationError, match=r"pointspring 'spring\d' is too stiff for dt = 0.01 s at t = 0 s"
    ) as error:
        Simulator(wild, DT, order=order, solver=solver).run(5.0, state=pushed(wild))
    assert error.value.status.reason == "stiff"
    told = float(str(error.value).split("w dt = ")[1].split(",")[0])
    assert told == pytest.approx(1.2 * limit, rel=0.01)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_run_that_never_takes_a_step_has_its_first_node(order: Any) -> None:
    """And a batch, in lanes and one by one, has that of every member."""
    m = carts(1, 3 / DT)
    state = pushed(m)
    simulator = Simulator(m, DT, order=order, on_failure="stop")
    run = simulator.run(1.0, state=state)
    assert run.status.reason == "stiff"
    assert len(run) == 1
    # poses follow along the tree, to rounding
    np.testing.assert_allclose(run[0].position, state.position, atol=1e-15)
    assert run.multipliers.shape == (1, 5)
    batch = simulator.run_batch(1.0, states=[state, state], force_parameters={"spring0": {"stiffness": (1.0, 1e9)}})
    np.testing.assert_array_equal(batch.counts, (101, 1))
    np.testing.assert_allclose(batch[1][0].position, state.position, atol=1e-15)


def test_implicit_springs_may_be_as_stiff_as_they_like() -> None:
    m = carts(3, 100 / DT, implicit=True)
    run = Simulator(m, DT).run(1.0, state=pushed(m))
    assert np.abs(run.position - run.position[0]).max() < 0.05


def test_members_of_a_batch_one_by_one() -> None:
    """The stiff one ends, the others are what they are alone."""
    m = carts(2, 1.0 / DT)
    soft = m.forces["spring0"].parts[0].law["stiffness"]
    sim = Simulator(m, DT, on_failure="stop")
    batch = sim.run_batch(
        1.0, states=[pushed(m)] * 3, force_parameters={"spring0": {"stiffness": (soft, 20 * soft, 0.5 * soft)}}
    )
    assert np.flatnonzero(batch.failed).tolist() == [1]
    assert batch.status[1].reason == "stiff"
    assert "'spring0' is too stiff" in batch.status[1].message
    np.testing.assert_allclose(batch[0].position, sim.run(1.0, state=pushed(m)).position, rtol=0, atol=1e-12)


def test_the_joints_decide_what_a_spring_moves() -> None:
    """A feather between a wheel and its spring: alone it would be far too light, fixed to the wheel it is not."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("wheel", box((1, 1, 0.1), mass=10.0))
    m.add_body("feather", cylinder(0.01, 0.2, mass=1e-6), position=(0.5, 0, 0))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    m.add_joint(Revolute("wheel", "feather", axis=(0, 0, 1), at=(0.5, 0, 0), name="hinge"))
    m.add_force(PointSpring("world", "feather", 1000.0, points=[(0.5, 1, 0), (0.5, 0, 0)], name="pull"))
    state = m.state()
    state.joint("axle").rates = 0.1
    run = Simulator(m, DT).run(2.0, state=state)
    assert run.energy_error().max() < 0.01


def test_a_spring_that_becomes_too_stiff_on_the_way() -> None:
    """A weight slides in along the arm that a coil spring holds."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("slider", box((0.1, 0.1, 0.1), mass=1.0), position=(1.0, 0, 0))
    m.add_body("arm", cylinder(0.01, 0.1, mass=1e-3))
    m.add_joint(Revolute("world", "arm", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    m.add_joint(Prismatic("arm", "slider", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_force(Spring("axle", 5000.0, name="coil"))
    state = m.state()
    state.joint("axle").coordinates = 1e-4
    # with the slider at 1 m w dt is 0.7, at 0.1 m it is 7
    state.joint("rail").rates = -0.5
    with pytest.raises(SimulationError, match="spring 'coil' is too stiff") as error:
        Simulator(m, DT).run(1.9, state=state)
    assert 0 < error.value.status.time <= 1.9
