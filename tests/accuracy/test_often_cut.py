"""Plain runs of mechanisms whose limits act all the time, and runs that only longer steps can make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import catena as ct
from catena import Mechanism, Simulator, Trajectory, scenes
from catena._util.status import Status
from catena.simulate import refinement
from catena.simulate.refinement import apart, refined
from catena.simulate.run_steps import run_steps

USUAL = 1e-4


def narrow(count: int, width: float) -> Mechanism:
    """A chain whose joints go from stop to stop, all but the first."""
    m = scenes.pendulum(count, "revolute", angle=1.0)
    for joint in list(m.joints.values())[1:]:
        joint.limits = ct.Limits(-width, width)
    return m


def hand() -> Mechanism:
    """Five fingers of three joints with narrow ranges on a palm that swings."""
    m = Mechanism()
    m.add_body("palm", ct.rod((0, 0, 0), (0, 0, -0.1), mass=0.5))
    m.add_joint(ct.Revolute("world", "palm", axis=(0, 1, 0), at=(0, 0, 0), name="wrist"))
    for k in range(5):
        last = "palm"
        for i in range(3):
            here, end = ((0, 0.02 * k, -0.1 - 0.03 * n) for n in (i, i + 1))
            m.add_body(f"{k} {i}", ct.rod(here, end, mass=0.02))
            joint = m.add_joint(ct.Revolute(last, f"{k} {i}", axis=(0, 1, 0), at=here, name=f"finger {k} {i}"))
            joint.limits = ct.Limits(-0.1 - 0.02 * k, 0.9)
            last = f"{k} {i}"
    return m


@pytest.mark.parametrize(("count", "width"), [(8, 0.2), (12, 0.1)])
def test_frequent_impacts_are_accurate(count: int, width: float) -> None:
    """One run of steps of order 8 is off by 2e-3 and 4e-3, and does not say so."""
    m = narrow(count, width)
    simulator = Simulator(m)
    run = simulator.run(1.0)
    assert run.info is not None
    assert run.info.order == 2
    assert run.checked_error is not None
    assert run.checked_error <= USUAL
    fine = run_steps(simulator.plan.with_step(run.dt / 16, order=2), 16 * round(1.0 / run.dt))
    # half of its step leads to within 5e-6
    assert apart(run, fine, simulator.plan.extent) <= 0.5 * USUAL


def test_frequent_impacts_are_not_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs of plain steps together take less than the one of order 8, and what they do not reach is said."""
    m = hand()
    state = m.assemble(rates={"wrist": 6.0})
    composed = Simulator(m, order=8, on_inaccurate="ignore").run(1.0, state=state)
    taken: list[int] = []

    def counting(*given: Any, **how: Any) -> Trajectory:
        run = run_steps(*given, **how)
        taken.append(int(run.iterations.sum()))
        return run

    monkeypatch.setattr("catena.simulate.simulator.run_steps", counting)
    monkeypatch.setattr(refinement, "run_steps", counting)
    run = Simulator(m, on_inaccurate="ignore").run(1.0, state=state)
    assert sum(taken) < composed.iterations.sum()
    assert run.checked_error is not None
    assert (run.checked_error > USUAL) == bool(run.accuracy_warning)


def test_impacts_now_and_then_and_what_was_asked_for_leave_the_order() -> None:
    rare, often = narrow(3, 0.3), narrow(10, 0.1)
    for simulator, order in (
        (Simulator(rare), 8),
        (Simulator(often, order=4), 4),
        (Simulator(often, accuracy=1e-3), 4),
        (Simulator(often, limits="ignore"), 8),
    ):
        run = simulator.run(0.2)
        assert run.info is not None
        assert run.info.order == order


@pytest.mark.parametrize("agrees", [True, False])
def test_shorter_steps_are_no_remedy_for_long(agrees: bool) -> None:
    """Two in a row are singular where longer ones came to the end: what these agree on is kept, with a warning."""
    m = scenes.pendulum(2, "revolute", angle=0.3)
    m.add_force(ct.Damper("joint1", 0.01))
    plan = Simulator(m).plan
    made: list[float] = []

    def attempt(plan: Any, steps: int, per: int) -> Trajectory:
        run = run_steps(plan, steps)
        made.append(run.dt)
        if len(made) <= (2 if agrees else 1):
            return run
        singular = Status(ok=False, reason="singular", message="the equations are singular")
        return Trajectory(run.mechanism, run.nodes, replace(run.made, status=singular))

    run = refined(plan, attempt, m.state(), 0.2, None)[0]
    assert len(made) == (4 if agrees else 3)
    assert run.status.ok == agrees
    assert ("with shorter steps the equations are singular" in run.accuracy_warning) == agrees
    assert run.checked_error is None
