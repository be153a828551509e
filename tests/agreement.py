"""The same motion, whoever computes it: solvers, and batches beside runs."""

import numpy as np

from catena import Mechanism, Simulator

SOLVERS = ("articulated", "ldu", "dense")


def assert_solvers_agree(m: Mechanism) -> None:
    """All solvers give the motion and the reactions of the first, to what Newton's method and their scales leave."""
    runs = [Simulator(m, 0.005, solver=solver).run(steps=100) for solver in SOLVERS]
    for run in runs[1:]:
        np.testing.assert_allclose(run.position, runs[0].position, atol=1e-9)
        np.testing.assert_allclose(run.angular_velocity, runs[0].angular_velocity, atol=1e-7)
        np.testing.assert_allclose(run.multipliers, runs[0].multipliers, atol=1e-5, rtol=1e-6)


def assert_batches_agree_with_runs(m: Mechanism) -> None:
    """Members of a batch, in lanes or one by one, move as a single run does."""
    simulate = Simulator(m, 0.005)
    alone = simulate.run(steps=60)
    batch = simulate.run_batch([m.state()] * 5, steps=60)
    np.testing.assert_allclose(batch.position, np.broadcast_to(alone.position, batch.position.shape), atol=1e-10)
