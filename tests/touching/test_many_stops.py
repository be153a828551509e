"""Many stops at one instant: which of them act does not hang on rounding, and their equations are solved."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest

import catena as ct
from catena import Limits, Mechanism, Simulator

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


def arm(restitution: float) -> Mechanism:
    """Four joints with seven coordinates in a row, and one beside them, all between stops."""
    m, last, at = Mechanism(), "world", np.zeros(3)
    joints = (
        lambda a, b, p, name: ct.Prismatic(a, b, axis=(1, 0, 0), at=p, name=name),
        lambda a, b, p, name: ct.Revolute(a, b, axis=(0, 1, 0), at=p, name=name),
        lambda a, b, p, name: ct.Cylindrical(a, b, axis=(0, 1, 0), at=p, name=name),
        lambda a, b, p, name: ct.Universal(a, b, at=p, axes=((0, 1, 0), (1, 0, 0)), name=name),
    )
    for k, join in enumerate(joints):
        end = at + np.array((0.4, 0.1 * k, 0.1))
        m.add_body(f"link{k}", ct.rod(at, end, mass=1.0))
        m.add_joint(join(last, f"link{k}", at, f"joint{k}"))
        last, at = f"link{k}", end
    m.add_body("fork", ct.rod(at, at + np.array((0.3, 0, 0)), mass=0.5))
    m.add_joint(ct.Revolute("link1", "fork", axis=(0, 1, 0), at=m.bodies["link1"].position, name="side"))
    for joint in m.joints.values():
        joint.limits = {key: Limits(-0.2, 0.15, restitution=restitution) for key in joint.names}
    return m


def test_solvers_agree_on_who_takes_part_in_an_impact() -> None:
    """Half of the coordinates rest on their stops while others arrive with 100 rad/s.

    Velocities of those at rest are rounding, 1e-13 of the others, and must not count as arriving.
    """
    m, rng = arm(0.5), np.random.default_rng(0)
    at = np.where(rng.random((40, len(m.coordinates))) < 0.5, 0.15, 0.0)
    rates = np.where(at > 0, 0.0, rng.uniform(-100, 100, at.shape))
    simulators = [Simulator(m, 5e-4, solver=solver) for solver in ("articulated", "ldu", "dense")]  # type: ignore[arg-type]
    first, *others = [each.run_batch(steps=6, coordinates=at, rates=rates) for each in simulators]
    assert np.count_nonzero(first.impact_counts) > 20
    for other in others:
        np.testing.assert_allclose(other.position, first.position, rtol=0, atol=1e-8)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("bounds", [(-0.0125, 0.0125), (0.0, 0.025)])
def test_long_chains_in_narrow_ranges(bounds: tuple[float, float], restitution: float) -> None:
    """A hundred hinges that fall from 0.5 rad below the horizontal, most of them at their limits again and again."""
    m, last, at = Mechanism(), "world", np.zeros(3)
    for k in range(100):
        end = at + 0.2 * np.array((cos(0.5), 0.0, -sin(0.5)))
        m.add_body(f"link{k}", ct.rod(at, end, mass=1.0, radius=0.02))
        m.add_joint(ct.Revolute(last, f"link{k}", axis=(0, 1, 0), at=at, name=f"hinge{k}"))
        m.joints[f"hinge{k}"].limits = Limits(*bounds, restitution=restitution)
        last, at = f"link{k}", end
    run = Simulator(m, 0.002).run(2.0 if bounds[0] == 0 else 0.7)
    assert run.status.ok
    angles = run.coordinates
    assert max(bounds[0] - angles.min(), angles.max() - bounds[1]) <= 1e-12
    assert (run.energy() - run.energy()[0]).max() < 0.01


def test_no_impact_adds_energy_where_restitutions_differ() -> None:
    """What moves away from a stop that gives back nothing is not held back by what others are hit for."""
    m, last = Mechanism(), "world"
    for k in range(12):
        m.add_body(f"link{k}", ct.rod((k, 0, 0), (k + 1, 0, 0), mass=1.0))
        m.add_joint(ct.Revolute(last, f"link{k}", axis=(0, 1, 0), at=(k, 0, 0), name=f"hinge{k}"))
        m.joints[f"hinge{k}"].limits = Limits(-0.3, 0.3, restitution=(0.0, 0.9, 0.5, 1.0)[k % 4])
        last = f"link{k}"
    run = Simulator(m, 0.004).run(2.0)
    lost: dict[float, float] = {}
    for impact in run.impacts:
        lost[impact.time] = lost.get(impact.time, 0.0) + impact.loss
    assert len(lost) > 50
    assert min(lost.values()) > -1e-9 * run.kinetic_energy().max()


def test_with_an_accuracy_impacts_are_located_and_not_caught() -> None:
    """Steps are as long as the motion allows, and so have more impacts than a step of a given length."""
    m, last = Mechanism(), "world"
    for k in range(3):
        m.add_body(f"link{k}", ct.rod((k, 0, 0), (k + 1, 0, 0), mass=1.0))
        m.add_joint(ct.Revolute(last, f"link{k}", axis=(0, 1, 0), at=(k, 0, 0), name=f"hinge{k}"))
        m.joints[f"hinge{k}"].limits = Limits(-0.3, 0.3, restitution=0.9)
        last = f"link{k}"
    run = Simulator(m, accuracy=1e-5).run(2.0)
    assert len(run.impacts) > 10
    assert run.caught_count == 0
