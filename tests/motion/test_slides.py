"""Joints that slide: links that have gone far from each other, and lines that are held twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from catena import Mechanism, Planar, PointOnLine, SimulationError, Simulator, box


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
@pytest.mark.parametrize("ends", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("far", [1.0, 100.0])
def test_angular_momentum_of_links_that_have_slid_apart(far: float, ends: tuple[str, str], solver: Any) -> None:
    """A plane hands over no force along itself, so what it holds must not be lost in the inertia it does not."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("a", box((0.3, 0.2, 0.1), mass=1.0))
    m.add_body("b", box((0.1, 0.2, 0.4), mass=2.0), position=(0.5, 0.3, 0.1))
    m.add_joint(Planar(*ends, axis=(0.3, 1, 0.2), at=(0.2, 0.1, 0), name="table"))
    state = m.state()
    state.joint("table").coordinates = (far, 0.5 * far, 0.3)
    state = m.assemble(state)
    state.velocity[:] = 0
    state.angular_velocity[:] = (0.3, 0.2, 0.5)
    run = Simulator(m, 0.01, solver=solver).run(5.0, state=m.assemble(state))
    momentum = run.angular_momentum()
    # a body's angular momentum about a point that far is known to the rounding of its arm, and is added up in 500 steps
    tolerance = 500 * np.finfo(float).eps * (1 + far**2)
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), rtol=0, atol=tolerance)


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
@pytest.mark.parametrize("dt", [1e-2, 1e-3, 1e-4])
def test_two_branches_that_cross(dt: float, solver: Any) -> None:
    """Two points side by side on parallel lines: they may slide apart to first order, and not to second.

    A velocity that does so leads nowhere, and must not be taken away in silence.
    """
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("a", box((0.3, 0.2, 0.1), mass=1.0))
    m.add_body("b", box((0.1, 0.2, 0.4), mass=2.0), position=(0.5, 0.3, 0.1))
    m.add_joint(PointOnLine("a", "b", axis=(1, 0, 0), at=(0, 0, 0), name="one"))
    m.add_joint(PointOnLine("a", "b", axis=(1, 0, 0), at=(0, 0.3, 0), name="other"))
    rng = np.random.default_rng(1)
    state = m.state()
    state.velocity, state.angular_velocity = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    state = m.assemble(state)
    with pytest.raises(SimulationError, match=r"the (step|mechanism|equations) .*t = .*'(a|b|one|other)'"):
        Simulator(m, dt, solver=solver).run(steps=20, state=state)

    # with points that are not side by side the lines let the bodies slide, and energy is kept
    m.remove_joint("other")
    m.add_joint(PointOnLine("a", "b", axis=(1, 0, 0), at=(0.2, 0.3, 0), name="other"))
    run = Simulator(m, dt, solver=solver).run(steps=20, state=m.assemble(state))
    assert run.energy_error().max() < 10 * dt**2
