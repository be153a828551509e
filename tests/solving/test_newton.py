"""Newton's method on a step: exact derivatives, steps that are not too long, guesses that are not too bold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

from catena import Armature, Damper, Friction, Inertia, Mechanism, Prismatic, Servo, Simulator, Spring, scenes
from catena.describe.forces import Force

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

Solver = Literal["articulated", "ldu", "dense"]
SOLVERS: tuple[Solver, ...] = ("articulated", "ldu", "dense")

LINEAR: dict[str, Callable[[], Force]] = {
    "damper": lambda: Damper("rail", 300.0),
    "implicit spring": lambda: Spring("rail", 3e4, implicit=True),
    "implicit spring and damper": lambda: Spring("rail", 3e4, damping=300.0, implicit=True),
    "servo": lambda: Servo("rail", kp=1e4, kd=100.0, target=0.3),
    "speed servo": lambda: Servo("rail", kd=300.0, target_rate=2.0),
    "rotor": lambda: Armature("rail", 5.0),
}


# ---- derivatives


def slider(force: Force) -> Mechanism:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("body", Inertia(2.0, np.diag((0.1, 0.14, 0.2))), velocity=(1, 0, 0))
    m.add_joint(Prismatic("world", "body", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_force(force)
    return m


def jolts(steps: int) -> dict[str, np.ndarray]:
    """A force that no guess foresees."""
    return {"body": np.random.default_rng(1).normal(scale=100.0, size=(steps + 1, 1)) * np.array((1.0, 0, 0))}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("law", LINEAR)
def test_a_linear_step_takes_one_increment(law: str, solver: Solver) -> None:
    """However stiff the law: the first increment is the solution, a second one sees that."""
    run = Simulator(slider(LINEAR[law]()), 0.02, solver=solver).run(steps=30, loads=jolts(30), increments=True)
    assert run.iterations.max() == 2
    for k in range(30):
        increments = run.convergence(k).increments
        if len(increments) == 2:
            # rounding of velocities of a few m/s, and of places over dt
            assert increments[1] < 1e-12
            assert increments[0] > 1e-3


@pytest.mark.parametrize("law", LINEAR)
def test_a_linear_step_takes_one_increment_in_a_batch(law: str) -> None:
    batch = Simulator(slider(LINEAR[law]()), 0.02).run_batch(states=5, steps=30, loads=jolts(30))
    assert batch.iterations.max() == 2


# ---- step lengths


BENT: dict[str, Callable[[str], Force]] = {
    "friction": lambda joint: Friction(joint, 1.0, threshold=0.01),
    "servo with a limit": lambda joint: Servo(joint, kp=1e4, kd=100.0, target=1.0, effort_limit=30.0),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("law", BENT)
def test_forces_that_bend_need_no_rescue(law: str, solver: Solver) -> None:
    """Full increments go to and fro over the bend for ever; where one leads too far, half of it does not."""
    m = scenes.pendulum(3, angle=1.0)
    for joint in m.joints:
        m.add_force(BENT[law](joint))
    run = Simulator(m, 0.02, solver=solver, rescue=False).run(steps=100)
    assert run.status.ok
    # four or so in the mean; without it most steps would take all they may
    assert run.iterations.mean() < 8
    halved = Simulator(m, 0.02, solver=solver).run(steps=100)
    assert halved.halved_count == 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("threshold", [1e-2, 1e-3])
def test_sharp_friction_is_reached_gently(threshold: float, solver: Solver) -> None:
    """A pendulum let go against friction: the bend is a thousandth of the speed that a step may gain."""
    m = scenes.pendulum(1, angle=1.0)
    m.add_force(Friction("joint1", 2.0, threshold=threshold))
    run = Simulator(m, 0.02, solver=solver, rescue=False).run(steps=150)
    assert run.status.ok
    # against the exact friction, of which both are as far away as the step is long
    fine = Simulator(m, 0.001, solver=solver).run(3.0, record_every=20)
    np.testing.assert_allclose(run.position, fine.position, rtol=0, atol=2e-3)


# ---- guesses


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("damping", [30.0, 1000.0])
def test_a_first_step_is_guessed_from_the_first_velocities(damping: float, solver: Solver) -> None:
    """Also where the step backwards, which comes first, is refused because dampers would feed it."""
    first = []
    for c in (0.0, damping):
        m = scenes.pendulum(4, angle=0.75)
        for joint in m.joints if c else ():
            m.add_force(Damper(joint, c))
        run = Simulator(m, 0.02, solver=solver).run(steps=2, increments=True)
        first.append(run.convergence(0).increments[0])
    # from rest it is what gravity gives in a step, and a damper leaves less of it
    assert first[1] < first[0]


def test_guesses_in_a_violent_loop_are_timid() -> None:
    """Where a step is as long as the motion, many differences lead one of the solvers to another root."""
    m = scenes.andrews_squeezer()
    runs = [Simulator(m, 0.001, solver=solver, rescue=False).run(steps=18) for solver in SOLVERS[:2]]
    # the root of the articulated solver is that of short steps, as far as long ones can tell
    np.testing.assert_allclose(runs[1].position, runs[0].position, rtol=0, atol=1e-9)
    fine = Simulator(m, 0.0001).run(steps=180, record_every=10)
    assert np.abs(runs[0].position - fine.position).max() < 0.25 * np.ptp(fine.position, axis=0).max()
