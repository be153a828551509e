"""Where numbers are coarse: far away, fast, unlike masses. Joints stay closed to rounding, and a floor is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena
from catena import Damper, Mechanism, Revolute, Simulator, box, scenes
from laws import SOLVERS

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

EPS = np.finfo(float).eps


def ring(masses: tuple[float, float, float, float] = (1, 1, 1, 1)) -> Mechanism:
    """Four bars of 1 m in a square, hinged at the corners about x, held by nothing."""
    m = Mechanism()
    middles = [(0, 0, 0.5), (0, 0.5, 1), (0, 1, 0.5), (0, 0.5, 0)]
    for k, (middle, mass) in enumerate(zip(middles, masses, strict=True)):
        m.add_body(f"bar{k}", box((0.05, 0.05, 1) if k % 2 == 0 else (0.05, 1, 0.05), mass=mass), position=middle)
    for k, corner in enumerate([(0, 0, 1), (0, 1, 1), (0, 1, 0), (0, 0, 0)]):
        m.add_joint(Revolute(f"bar{k}", f"bar{(k + 1) % 4}", axis=(1, 0, 0), at=corner, name=f"corner{k}"))
    return m


def moved(m: Mechanism, by: float) -> Mechanism:
    out = Mechanism(gravity=m.gravity)
    out.add(m, at=np.array((by, by, 0.0)))
    return out


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scene", ["four_bar", "slider_crank", "delta_robot", "bricard"])
def test_loops_far_from_the_origin(scene: str, solver: Any) -> None:
    """The motion is that at the origin; joints are closed as well as numbers of that size allow."""
    far = 3e5
    near = getattr(scenes, scene)()
    there = moved(near, far)
    expected = Simulator(near, 0.01, solver=solver).run(0.5, state=near.assemble())
    run = Simulator(there, 0.01, solver=solver).run(0.5, state=there.assemble())
    assert run.halved_count == 0
    # rows of Bricard's six hinges that say the same share out what rounding opens among all joints (ldu)
    roundings = 300 if (scene, solver) == ("bricard", "ldu") else 8
    assert run.drift().max() < roundings * EPS * far
    # what rounding does in a step, over 50 of them
    np.testing.assert_allclose(run.position - (far, far, 0), expected.position, rtol=0, atol=1e4 * EPS * far)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", [2, 4])
def test_a_loop_that_falls_for_kilometres(order: Any, solver: Any) -> None:
    """70 km in two minutes, and every node is there: steps are tried again with coarser numbers on the way."""
    m = ring()
    run = Simulator(m, 0.02, order=order, solver=solver).run(120.0, state=m.assemble(rates={"corner0": 1.0}))
    center = run.position.mean(axis=1)
    assert center[-1, 2] < -70e3
    np.testing.assert_allclose(center[:, 2], 0.5 - 0.5 * 9.81 * run.time**2, rtol=1e-12, atol=1e-9)
    assert run.halved_count == 0
    assert (run.drift() <= 16 * EPS * (1 + np.abs(center[:, 2:]))).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", [2, 4, 8])
def test_a_fast_loop(order: Any, solver: Any) -> None:
    """At 1 km/s a loop moves within itself as it does at rest."""
    m = ring()
    state = m.assemble(rates={"corner0": 1.0})
    expected = Simulator(m, 0.01, order=order, solver=solver).run(1.0, state=state)
    state.velocity += (1000.0, 0.0, 0.0)
    run = Simulator(m, 0.01, order=order, solver=solver).run(1.0, state=state)
    away = 1000.0 * run.time[:, None, None] * (1, 0, 0)
    np.testing.assert_allclose(run.position - away, expected.position, rtol=0, atol=1e4 * EPS * 1000)
    assert run.drift().max() < 8 * EPS * 1000


@pytest.mark.filterwarnings("ignore::catena.PlaceholderWarning")  # a bar of 1e-9 of the others counts as massless
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("heavy", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("which", [(3,), (1,), (0, 2, 3)])
def test_unlike_masses_in_a_loop(which: tuple[int, ...], heavy: float, solver: Any) -> None:
    """Free from gravity's scale: the ring folds as its masses tell it, closed to rounding and without a false lock."""
    m = ring(tuple(heavy if k in which else 1.0 for k in range(4)))  # type: ignore[arg-type]
    run = Simulator(m, 0.01, solver=solver).run(2.0, state=m.assemble(rates={"corner0": 1.0}))
    # a light body's share of a gap is closed by what it weighs against the others: nine digits are lost at 1e9
    assert run.drift().max() < max(1e-12, heavy * EPS)
    assert run.energy_error().max() < 1e-8


def test_what_attempts_leave_is_not_counted() -> None:
    """Steps that are replaced by shorter ones leave up to the tolerance; those that are kept a hundredth of that."""
    m = scenes.pendulum(3, "revolute", angle=1.5)
    m.add_force(Damper("joint1", 0.1))
    whole = Simulator(m, 0.05, order=2, tolerance=1e-3, on_inaccurate="ignore").run(1.0)
    assert whole.newton_residual.max() > 5e-4
    # in one pass, as a control asks for it
    parts = Simulator(m, 0.05, order=2, tolerance=1e-3, accuracy=1e-6).run(1.0, control=lambda time, live: None)
    assert parts.substeps.min() > 8
    assert parts.newton_residual.max() < 1e-2 * whole.newton_residual.max()


def test_a_floor_is_reported() -> None:
    """At 1e7 m rounding allows no increments of 1e-10 m/s, and the result says so."""
    m = moved(scenes.four_bar(), 1e7)
    run = Simulator(m, 0.01).run(0.5, state=m.assemble())
    assert run.floor_count > 0
    # a pose is known to a few roundings, a velocity to that over dt
    assert 1e-10 < run.newton_residual.max() < 100 * EPS * 1e7 / 0.01
    assert "Newton's method at rounding" in repr(run)
    assert "rounding" in run._repr_html_()
    again = m.assemble()
    assert Simulator(m, 0.01).run_batch(0.5, states=[again, again])[1].floor_count > 0


@pytest.mark.parametrize("order", [1, 2, 4, 8])
def test_no_floor_where_numbers_are_fine(order: Any) -> None:
    m = scenes.four_bar()
    run = Simulator(m, 0.01, order=order).run(1.0)
    assert run.floor_count == 0
    assert (run.newton_residual <= run.info.tolerance).all()
    assert "rounding" not in repr(run)


def test_increments_of_a_step() -> None:
    """They are those of Newton's method: each about the square of the one before, and as many as were counted."""
    m = scenes.pendulum(10, "revolute")
    sim = Simulator(m, 0.05, tolerance=1e-11)
    run = sim.run(0.5, increments=True)
    assert run.increments.shape == (10, sim.max_iterations)
    np.testing.assert_array_equal((run.increments > 0).sum(axis=1), run.iterations)
    told = run.convergence(4)
    assert told.is_quadratic
    assert told.newton_residual <= sim.tolerance
    assert str(told).startswith(f"{run.iterations[4]} increments (")
    assert "conditioned" in str(told)
    with pytest.raises(ValueError, match="increments=True"):
        sim.run(0.5).convergence(0)
    with pytest.raises(ValueError, match="increments must be True or False"):
        sim.run(0.5, increments=3)  # type: ignore[arg-type]


def test_slow_increments_are_called_so() -> None:
    slow = catena.Convergence(np.array([1.0, 0.2, 0.05, 0.02]), 1e-10, 1e-3)
    assert not slow.is_quadratic
    assert "ill conditioned" in str(slow)
    assert "above the tolerance" in str(slow)
    assert "far off" in str(catena.Convergence(np.array([1.0, 0.6, 0.1]), 1e-10, 1e-11))


@pytest.mark.filterwarnings("ignore::catena.StuckWarning")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("tilt", [1e-4, 1e-5, 3e-6])
def test_velocities_of_a_door_that_jams(tilt: float, solver: Any) -> None:
    """On two hinges out of line by so little that an increment takes away only a part of what they forbid."""
    m = Mechanism(gravity=(0, 0, 0), loop_tolerance=0)
    swing = {"velocity": (0, 0.45, 0), "angular_velocity": (0, 0, 1)}
    m.add_body("door", box((0.9, 0.05, 2.0), mass=30.0), position=(0.45, 0, 0), **swing)
    m.add_joint(Revolute("world", "door", axis=(0, 0, 1), at=(0, 0, 0.8)))
    m.add_joint(Revolute("world", "door", axis=(np.sin(tilt), 0, np.cos(tilt)), at=(0, 0, -0.8)))
    run = Simulator(m, 0.01, solver=solver).run(steps=3)
    # rounding over the tilt
    assert np.abs(run.angular_velocity).max() < 1e-9
    assert np.abs(run.velocity).max() < 1e-9
