"""Steps that have no solution: halved and counted with rescue, without it a sentence with the time and the body."""

from __future__ import annotations

from math import pi
from typing import Literal

import numpy as np
import pytest

from catena import (
    Inertia,
    Mechanism,
    PointSpring,
    PrescribedMotion,
    Revolute,
    SimulationError,
    Simulator,
    State,
    Trajectory,
    scenes,
)
from mechanisms import crank_rocker

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

# released horizontally the chain whips until a step of 10 ms has no solution
LENGTHS = (10, 20, 50, 100)


def whip(n: int) -> Mechanism:
    return scenes.pendulum(n, angle=pi / 2)


def assert_honest(error: SimulationError) -> None:
    """The sentence, the status and what was computed tell the same story."""
    status, part = error.status, error.trajectory
    assert str(error) == status.message
    assert not status.ok
    assert part.status is status
    assert f"t = {status.time:.6g} s" in status.message
    assert f"body {status.body!r}" in status.message
    assert status.body in part.mechanism.bodies
    assert part.time[-1] == pytest.approx(status.time, abs=1e-12)
    assert len(part.iterations) == len(part.substeps) == status.step
    for name in ("position", "orientation", "velocity", "angular_velocity", "multipliers"):
        assert np.isfinite(getattr(part, name)).all(), name


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("n", LENGTHS)
def test_rescue_finishes_and_counts(n: int, solver: str) -> None:
    run = Simulator(whip(n), 0.01, solver=solver).run(10.0)
    assert run.status.ok
    assert run.status.message == ""
    np.testing.assert_allclose(run.time, 0.01 * np.arange(1001), rtol=0, atol=1e-12)

    # says how many steps were halved
    assert run.halved_count >= 1
    assert run.halved_count == np.count_nonzero(run.substeps > 1)
    assert len(run.substeps) == 1000
    assert run.substeps.min() == 1
    assert f"{run.halved_count} steps halved" in repr(run)

    # closed; Newton's leftovers of the LDU solver at a tolerance of 1e-10 m/s times 10 ms, and arms of 0.5 m
    assert run.drift().max() < 5e-12

    # the ripple of violent motion at 10 ms is a few per cent; a step that lands on a wrong root gains as much at once
    assert run.energy_error().max() < 0.15


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("n", LENGTHS)
def test_without_rescue_a_sentence(n: int, solver: str) -> None:
    simulator = Simulator(whip(n), 0.01, solver=solver, rescue=False)
    with pytest.raises(SimulationError, match=r"the step at t = \d+\.\d+ s; body 'link\d+'.*rescue=True") as caught:
        simulator.run(10.0)
    assert_honest(caught.value)
    status, part = caught.value.status, caught.value.trajectory
    assert status.reason in ("diverged", "singular", "too_far")
    assert 4 < status.time < 10
    assert status.step == round(status.time / 0.01)
    assert len(part) == status.step + 1
    assert part.energy_error().max() < 0.15


def test_rescue_changes_nothing_before_it_is_needed() -> None:
    with pytest.raises(SimulationError) as caught:
        Simulator(whip(10), 0.01, rescue=False).run(10.0)
    part = caught.value.trajectory
    rescued = Simulator(whip(10), 0.01).run(10.0)
    # a step is halved before it has no solution: where it turns a body too far
    first = np.flatnonzero(rescued.substeps > 1)[0]
    assert first <= caught.value.status.step
    np.testing.assert_array_equal(rescued.position[: first + 1], part.position[: first + 1])


def test_stop_returns_what_was_computed() -> None:
    with pytest.raises(SimulationError) as caught:
        Simulator(whip(10), 0.01, rescue=False).run(10.0)
    run = Simulator(whip(10), 0.01, rescue=False, on_failure="stop").run(10.0)
    assert run.status == caught.value.status
    np.testing.assert_array_equal(run.position, caught.value.trajectory.position)
    assert f"stopped: {run.status.message}" in repr(run)


def test_failure_between_records_keeps_the_last_node() -> None:
    run = Simulator(whip(10), 0.01, rescue=False, on_failure="stop").run(10.0, record_every=100)
    assert run.time[-1] == run.status.time
    np.testing.assert_allclose(run.time[:-1], np.arange(8.0), atol=1e-12)


def test_halved_steps_keep_momentum() -> None:
    state = scenes.spinning_chain(6, rate=5.0).state()
    run = Simulator(state.mechanism, 0.02).run(steps=300, state=state)
    assert 20 < run.halved_count < 280
    for vectors in (run.momentum(), run.angular_momentum()):
        # the promise for whole steps; measured 2e-14 over 433 substeps
        error = np.linalg.norm(vectors - vectors[0], axis=-1).max() / np.linalg.norm(vectors[0])
        assert error < 1e-11


def test_a_halved_step_is_as_good_as_its_neighbours() -> None:
    coarse = Simulator(whip(10), 0.01).run(10.0)
    step = int(np.flatnonzero(coarse.substeps > 1)[0])

    def error(k: int) -> float:
        """How far a step leads from where 64 short ones lead, against the way it goes."""
        fine = Simulator(coarse.mechanism, 0.01 / 64, tolerance=1e-12).run(0.01, state=coarse[k])
        way = np.linalg.norm(fine.position[-1] - fine.position[0], axis=-1).max()
        return float(np.linalg.norm(coarse.position[k + 1] - fine.position[-1], axis=-1).max()) / way

    # a wrong momentum at a seam would be off by a good part of the way
    assert error(step) < 2 * max(error(k) for k in range(step - 5, step))
    assert error(step) < 0.1


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_pieces_are_as_long_again_as_fit(solver: Literal["articulated", "ldu", "dense"]) -> None:
    """A wheel driven by 3.2 rad in the first quarter of a step, then not at all: no piece turns it by over 0.25 rad."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("wheel", Inertia(1.0, (0.1, 0.12, 0.15)))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    m.add_coupling(PrescribedMotion("axle", lambda t: 12.8 * min(t, 0.25)))
    run = Simulator(m, 1.0, solver=solver).run(steps=2, state=m.assemble())
    # sixteen of a sixty-fourth, 0.2 rad each, a quarter and a half; the next step is whole
    assert run.substeps.tolist() == [18, 1]


# ---- one rotor, spun up until a step cannot hold the turn


def rotor() -> Mechanism:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("rotor", Inertia(1.0, (0.1, 0.1, 0.1)))
    return m


def spin_up(torque: float, *, duration: float = 3.0, **how: object) -> Trajectory:
    return Simulator(rotor(), 0.01, **how).run(duration, loads={"rotor": (0, 0, 0, 0, 0, torque)})


def test_too_fast_for_the_step() -> None:
    """Momentum of an interval, J w sqrt(1 - (w dt/2)^2), is at most J/dt: 100 rad/s at 10 ms, reached after 1 s."""
    with pytest.raises(SimulationError, match="body 'rotor'") as caught:
        spin_up(10.0, rescue=False)
    assert_honest(caught.value)
    assert caught.value.status.time == pytest.approx(1.0, abs=0.011)

    # with rescue the intervals get shorter as it gets faster, and its momentum is the impulse
    run = spin_up(10.0)
    assert run.status.ok
    assert run.substeps[-1] == 4
    np.testing.assert_allclose(run.angular_velocity[:, 0, 2], 100 * run.time, rtol=1e-10)


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_rotors_may_spin_faster(solver: Literal["articulated", "ldu", "dense"]) -> None:
    """A round body on its own axis may turn by 1 rad in a step; out of balance or out of center by 0.25 rad, as all."""

    def halved(inertia: tuple[float, float, float], pin: tuple[float, float, float], rate: float) -> bool:
        m = Mechanism(gravity=(0, 0, 0))
        m.add_body("frame", Inertia(5.0, (1, 1, 1)))
        m.add_body("wheel", Inertia(1.0, inertia), position=-np.array(pin))
        m.add_joint(Revolute("frame", "wheel", at=(0, 0, 0), axis=(0, 0, 1), name="axle"))
        state = m.state()
        state.joint("axle").rate = rate
        run = Simulator(m, 0.01, solver=solver).run(steps=5, state=state)
        (batch,) = Simulator(m, 0.01, solver=solver).run_batch(states=[state], steps=5)
        assert batch.halved_count == run.halved_count
        assert run.angular_velocity[-1] == pytest.approx(run.angular_velocity[0], abs=1e-9 if pin == center else 1)
        return run.halved_count > 0

    center, round_, flat = (0, 0, 0.2), (0.1, 0.1, 0.15), (0.1, 0.12, 0.15)
    assert not halved(round_, center, 80.0)
    assert halved(round_, center, 150.0)
    assert halved(flat, center, 80.0)
    assert halved(round_, (0.1, 0, 0), 80.0)
    assert not halved(flat, center, 20.0)


def spun_wheel(*, tied: bool = False, cranked: bool = False) -> State:
    """A round wheel, and a round frame that carries it on its axis or across; both turn by 0.8 rad in 10 ms."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("frame", Inertia(5.0, (1, 1, 1.5)))
    m.add_body("wheel", Inertia(1.0, (0.1, 0.1, 0.15)), position=(0, 0, 0.2))
    m.add_joint(Revolute("frame", "wheel", at=(0, 0, 0.2), axis=(1, 0, 0) if cranked else (0, 0, 1), name="axle"))
    if tied:
        m.add_force(PointSpring("world", "wheel", 1e-3, points=((1, 0, 0), (0.1, 0, 0.2))))
    state = m.state()
    state.angular_velocity[:] = (0, 0, 80.0)
    return state


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_what_turns_with_a_rotor_must_not_tell(solver: Literal["articulated", "ldu", "dense"]) -> None:
    """Neither the axis of a hinge across it nor a spring at its rim."""
    for more, halves in (({}, False), ({"tied": True}, True), ({"cranked": True}, True)):
        state = spun_wheel(**more)
        run = Simulator(state.mechanism, 0.01, solver=solver).run(steps=5, state=state)
        assert (run.halved_count == 5) == halves, more
        assert run.halved_count in (0, 5)


@pytest.mark.parametrize("torque", [1e5, 1e12])
@pytest.mark.parametrize("rescue", [True, False])
def test_beyond_rescue(torque: float, rescue: bool) -> None:
    """Nothing helps, and it still says where and with whom; the last node reached is there."""
    with pytest.raises(SimulationError) as caught:
        spin_up(torque, rescue=rescue)
    assert_honest(caught.value)
    helped = "after halving the step 12 times" in str(caught.value) or caught.value.status.reason == "exhausted"
    assert helped == rescue


def test_iteration_limit_is_kept() -> None:
    with pytest.raises(SimulationError, match="Newton's method finds no solution of the step at t = 0 s"):
        Simulator(scenes.pendulum(3), 0.01, max_iterations=1, rescue=False).run(1.0)
    run = Simulator(scenes.pendulum(3), 0.01, max_iterations=20).run(1.0)
    assert 1 <= run.iterations.min() <= run.iterations.max() <= 20


def test_reactions_after_a_failure_in_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every record is written: memory that was never written to would be NaN here."""
    m = crank_rocker()
    start = m.assemble(coordinates={"rocker": 1.2})
    m.add_coupling(PrescribedMotion("rocker", lambda t: 1.2 + 0.5 * t, name="push"))
    simulator, start = Simulator(m, 0.5, on_failure="stop"), m.assemble(start)
    empty = np.empty

    def marked(shape: object, **kind: object) -> np.ndarray:
        array = empty(shape, **kind)  # type: ignore[call-overload]
        if array.dtype == float:
            array.fill(np.nan)
        return array

    monkeypatch.setattr(np, "empty", marked)
    run = simulator.run(steps=2, state=start)
    assert run.status.step == 0
    assert run.time[-1] > 0
    assert np.isfinite(run.multipliers).all()


@pytest.mark.parametrize("seed", [3, 36, 37])
def test_solutions_that_were_far_off_are_no_guesses(seed: int) -> None:
    """A long step of a violent loop may end on another branch: it is discarded, and so is what it was guessed from.

    Otherwise Newton's method finds that branch again in shorter and shorter steps, until none is left to discard.
    """
    m, rng = scenes.delta_robot(), np.random.default_rng(seed)
    still = m.state()
    spin = (len(m.bodies), 3)
    start = State(m, still.position, still.orientation, 6 * rng.normal(size=spin), 20 * rng.normal(size=spin))
    simulator = Simulator(m, 0.1, order=4, accuracy=1e-4)
    # in one pass, as a live mechanism goes
    run = simulator.run(0.4, state=start, control=lambda _time, _live: None)
    assert run.substeps.sum() > 10 * len(run.substeps)
    assert run.energy_error().max() < 1e-4
