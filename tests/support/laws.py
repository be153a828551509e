"""Runs to the rounding floor, and the laws that tests hold them to."""

from __future__ import annotations

import numpy as np

from catena import Mechanism, Simulator, State, Trajectory

SOLVERS = ("articulated", "ldu", "dense")
# what a run records, and gives back from a file
ARRAYS = ("time", "position", "orientation", "velocity", "angular_velocity", "multipliers", "iterations", "substeps")


def simulate(state: State, solver: str = "auto", *, dt: float = 0.005, steps: int = 200, order: int = 2) -> Trajectory:
    """A run in which Newton's method goes on to the rounding floor, and no step is halved."""
    simulator = Simulator(state.mechanism, dt, solver=solver, order=order, tolerance=1e-13, rescue=False)
    return simulator.run(steps=steps, state=state)


def assert_same(a: Trajectory, b: Trajectory, atol: float = 1e-9) -> None:
    """Equal motions at every node."""
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=atol, err_msg=name)


def assert_solvers_agree(m: Mechanism) -> None:
    """All solvers give the motion and the reactions of the first, to what Newton's method and their scales leave."""
    runs = [Simulator(m, 0.005, solver=solver).run(steps=100) for solver in SOLVERS]
    for run in runs[1:]:
        np.testing.assert_allclose(run.position, runs[0].position, atol=1e-9)
        np.testing.assert_allclose(run.angular_velocity, runs[0].angular_velocity, atol=1e-7)
        np.testing.assert_allclose(run.multipliers, runs[0].multipliers, atol=1e-5, rtol=1e-6)


def assert_batches_agree_with_runs(m: Mechanism) -> None:
    """Members of a batch, in lanes or one by one, move as a single run does."""
    simulator = Simulator(m, 0.005)
    alone = simulator.run(steps=60)
    batch = simulator.run_batch(states=[m.state()] * 5, steps=60)
    np.testing.assert_allclose(batch.position, np.broadcast_to(alone.position, batch.position.shape), atol=1e-10)
