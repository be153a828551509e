"""What the integrator keeps: momentum, energy without drift, closed joints, time's two directions."""

from __future__ import annotations

import numpy as np
import pytest

from catena import Simulator, State, Trajectory, scenes

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


def masses(state: State) -> np.ndarray:
    return np.array([body.inertia.mass for body in state.mechanism.bodies.values()])


def floating_chain(n: int) -> State:
    """The spinning chain with 1 % of its drift, around the origin.

    After 1000 s the whole drift would take it 1.7 km away, where rounding of positions alone is 1e-11 of its angular
    momentum about the origin.
    """
    state = scenes.spinning_chain(n).state()
    m = masses(state) / masses(state).sum()
    state.velocity = state.velocity - 0.99 * (m @ state.velocity)
    state.position = state.position - m @ state.position
    return state


def assert_kept(vectors: np.ndarray, rtol: float) -> None:
    """A vector (step, 3) that does not change, against its own length."""
    error = np.linalg.norm(vectors - vectors[0], axis=-1).max() / np.linalg.norm(vectors[0])
    assert error < rtol, f"relative error {error:.2e}"


@pytest.mark.parametrize(("solver", "n"), [("articulated", 5), ("articulated", 20), ("ldu", 5)])
def test_momentum_of_a_floating_chain(solver: str, n: int) -> None:
    """At the default tolerance: what Newton leaves over does not add up either."""
    state = floating_chain(n)
    run = Simulator(state.mechanism, 0.01, solver=solver).run(steps=100_000, state=state, record_every=25)
    assert run.status.step == 100_000

    # 1e-11 is the promise; 1e5 steps of rounding 1e-16 at random give 1e-13 of the momenta of the links
    assert_kept(run.momentum(), 1e-11)
    assert_kept(run.angular_momentum(), 1e-11)

    # it does move: every link turns and the shape changes
    assert np.ptp(run.joint("joint1").coordinates, axis=0).min() > 1

    # energy stays in a band; how wide it gets in 1e5 chaotic steps depends on rounding: measured
    # 0.56 % (x86-64), 0.98 % (v3, v4) and 1.16 % (an earlier sanitized build)
    assert run.energy_error().max() < 3e-2


def test_momentum_about_the_vertical() -> None:
    """A ball chain hung at the origin keeps its angular momentum about the vertical, and only that."""
    m = scenes.pendulum(3, "ball", angle=0.5)
    state = m.state()
    rng = np.random.default_rng(1)
    for name in m.joints:
        state.joint(name).rates = rng.normal(size=3)
    run = Simulator(m, 0.01).run(steps=20_000, state=state, record_every=10)
    spin = run.angular_momentum()

    # a grounded tree has no root to take over what Newton leaves: measured 1.2e-9 of 6.2 at the default tolerance
    np.testing.assert_allclose(spin[:, 2], spin[0, 2], rtol=0, atol=1e-8)
    assert np.ptp(spin[:, :2]) > 1


@pytest.fixture(scope="module")
def hour() -> Trajectory:
    """The paper's double pendulum, 60 minutes."""
    return Simulator(scenes.double_pendulum(), 0.01).run(3600.0)


def test_energy_of_an_hour(hour: Trajectory) -> None:
    energy = hour.energy()
    assert len(energy) == 360_001
    five = 30_000

    # Released from horizontal the total energy is zero, so the scale is the range of the potential energy, 29.4 J of
    # the 58.9 J between hanging and standing.
    scale = np.ptp(hour.potential_energy())
    assert scale > 25
    assert abs(energy[-five:].mean() - energy[:five].mean()) < 1e-3 * scale

    # no drift, and a bounded ripple of order (w dt)^2 at every node
    assert np.abs(energy - energy[0]).max() < 1e-2 * scale


def test_joints_stay_closed_for_an_hour(hour: Trajectory) -> None:
    assert hour.drift().shape == (360_001, 2)

    # positions of size 2 m have a rounding of 2e-16
    assert hour.drift().max() <= 1e-12
    assert hour.misalignment().max() <= 1e-12
    np.testing.assert_allclose(np.linalg.norm(hour.orientation, axis=-1), 1, rtol=0, atol=1e-14)

    # the hinges are along x: it stays in its plane
    assert np.abs(hour.position[..., 0]).max() < 1e-12
    assert hour.halved_count == 0


@pytest.mark.parametrize("solver", ["ldu", "dense"])
def test_joints_stay_closed_in_the_other_solvers(solver: str) -> None:
    run = Simulator(scenes.double_pendulum(), 0.01, solver=solver, tolerance=1e-12).run(600.0)

    # their gaps are what Newton leaves over: dt times 1e-12 m/s, and arms of 1 m; a drift would grow
    assert run.drift().max() <= 1e-12
    assert run.misalignment().max() <= 1e-12


@pytest.mark.parametrize("solver", ["ldu", "dense"])
def test_tolerance_bounds_what_newton_leaves(solver: str) -> None:
    dt, tolerance = 0.01, 1e-10
    run = Simulator(scenes.double_pendulum(), dt, solver=solver, tolerance=tolerance).run(600.0)

    # a gap is at most sqrt(3) of the increment that would close it: both displacements, and a turn at 1 m
    assert run.drift().max() <= np.sqrt(3) * dt * tolerance


def test_energy_ripple_is_of_second_order() -> None:
    ripple = []
    for dt in (0.01, 0.005):
        run = Simulator(scenes.pendulum(2, "ball", angle=1.0), dt).run(5.0)
        ripple.append(np.abs(run.energy() - run.energy()[0]).max())

    # a quarter each, a regular motion being much the same at both steps
    assert ripple[0] / ripple[1] == pytest.approx(4, rel=0.1)


# ---- parts of a run, and the way back


def moving_tree() -> State:
    m = scenes.tree(3, 2, "ball", seed=2)
    state = m.state()
    rng = np.random.default_rng(3)
    for name in m.joints:
        state.joint(name).rates = rng.normal(size=3)
    return state


@pytest.mark.parametrize("order", [2, 1])
def test_a_run_in_two_parts_is_the_same_run(order: int) -> None:
    state = moving_tree()
    # a tight tolerance, since the second part has no earlier steps to guess from and iterates differently
    simulator = Simulator(state.mechanism, 0.005, order=order, tolerance=1e-13)
    whole = simulator.run(steps=200, state=state)
    first = simulator.run(steps=90, state=state)
    second = simulator.run(steps=110, state=first[-1])
    assert second.time[0] == first.time[-1]
    for name in ("time", "position", "orientation", "velocity", "angular_velocity"):
        expected = getattr(whole, name)
        np.testing.assert_array_equal(getattr(first, name), expected[:91], err_msg=name)

        # rounding, multiplied by what 110 steps of a chaotic tree do to it
        np.testing.assert_allclose(getattr(second, name), expected[90:], rtol=0, atol=1e-10, err_msg=name)

    # the same over dt^2, for forces; those of the seam have a test of their own
    np.testing.assert_allclose(second.multipliers[1:], whole.multipliers[91:], rtol=0, atol=1e-6)


def test_reactions_at_the_seam_of_two_runs() -> None:
    """The node where a run goes on has the reaction that it had at the end of the run before."""
    state = moving_tree()
    simulator = Simulator(state.mechanism, 0.005, tolerance=1e-13)
    first = simulator.run(steps=90, state=state)
    second = simulator.run(steps=1, state=first[-1])
    np.testing.assert_allclose(second.multipliers[0], first.multipliers[-1], rtol=0, atol=1e-6)


def test_step_by_step_is_the_same_run() -> None:
    state = moving_tree()
    simulator = Simulator(state.mechanism, 0.005, tolerance=1e-13)
    run = simulator.run(steps=20, state=state)
    for k in range(20):
        state = simulator.step(state)
        np.testing.assert_allclose(state.position, run.position[k + 1], rtol=0, atol=1e-12)
        assert state.time == pytest.approx(run.time[k + 1], abs=1e-15)


@pytest.mark.parametrize("joint", ["revolute", "ball"])
def test_the_way_back(joint: str) -> None:
    """The scheme is symmetric: with all velocities reversed it runs back to where it began."""
    m = scenes.tree(3, 2, joint, seed=2)
    state = m.state()
    rng = np.random.default_rng(3)
    for name, j in m.joints.items():
        state.joint(name).rates = rng.normal(size=j.dof)
    simulator = Simulator(m, 0.01, tolerance=1e-13)
    there = simulator.run(steps=100, state=state)
    turning = there[-1]
    turning.velocity, turning.angular_velocity = -turning.velocity, -turning.angular_velocity
    back = simulator.run(steps=100, state=turning)

    # measured 4e-14 m and 9e-13 m/s; with the paper's start at both ends, which is not symmetric, 0.02 m
    np.testing.assert_allclose(back.position[::-1], there.position, rtol=0, atol=1e-11)
    np.testing.assert_allclose(back.velocity[::-1], -there.velocity, rtol=0, atol=1e-10)
    assert np.abs(there.position[-1] - there.position[0]).max() > 0.5


def test_rotating_the_world_rotates_the_run() -> None:
    """No direction is special: a mechanism and its gravity turned by 2 rad about x move alike."""
    upright = scenes.pendulum(3, "ball", angle=0.5)
    turned = scenes.pendulum(3, "ball", angle=2.5)
    turned.gravity = 9.81 * np.array((0.0, np.sin(2.0), -np.cos(2.0)))
    a = Simulator(upright, 0.01, tolerance=1e-13).run(2.0)
    b = Simulator(turned, 0.01, tolerance=1e-13).run(2.0)
    c, s = np.cos(2.0), np.sin(2.0)
    matrix = np.array(((1, 0, 0), (0, c, -s), (0, s, c)))

    # the same numbers up to rounding, and what 200 steps make of it
    np.testing.assert_allclose(b.position, a.position @ matrix.T, rtol=0, atol=1e-11)
