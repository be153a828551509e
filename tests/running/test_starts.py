"""Members that start from joint coordinates and rates, given as arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from batches import MEMBERS
from catena import Mechanism, Simulator, scenes
from mechanisms import tree

TREES: dict[str, Callable[[], Mechanism]] = {
    "chain of hinges": lambda: scenes.pendulum(6, "revolute"),
    "chain of balls": lambda: scenes.pendulum(4, "ball"),
    "tree": tree,
}
NODE = ("time", "position", "orientation", "velocity", "angular_velocity")


def random_rows(m: Mechanism, count: int = MEMBERS, size: float = 0.5) -> np.ndarray:
    return np.random.default_rng(3).uniform(-size, size, size=(count, len(m.coordinates)))


@pytest.mark.parametrize("scene", TREES)
@pytest.mark.parametrize("threads", [1, 3])
def test_trees_start_bit_for_bit_as_single_states(scene: str, threads: int) -> None:
    m = TREES[scene]()
    coordinates, simulate = random_rows(m, 200), Simulator(m, 0.002)
    states = []
    for row in coordinates:
        states.append(m.state())
        states[-1].coordinates = row
    found = simulate.run_batch(steps=3, coordinates=coordinates, threads=threads)
    expected = simulate.run_batch(states, steps=3)
    for name in NODE:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_a_row_serves_all_members() -> None:
    m = TREES["tree"]()
    simulate, row = Simulator(m, 0.002), random_rows(m, 1)[0]
    one = simulate.run_batch(3, steps=2, coordinates=row)
    rows = simulate.run_batch(steps=2, coordinates=np.tile(row, (3, 1)))
    by_rates = simulate.run_batch(steps=2, coordinates=row, rates=np.zeros((3, len(row))))
    for name in NODE:
        np.testing.assert_array_equal(getattr(one, name), getattr(rows, name))
        np.testing.assert_array_equal(getattr(one, name), getattr(by_rates, name))


def test_a_live_batch_starts_where_a_run_does() -> None:
    m = TREES["chain of hinges"]()
    coordinates, rates = random_rows(m), random_rows(m, size=2.0)
    simulate = Simulator(m, 0.002)
    live = simulate.start_batch(coordinates=coordinates, rates=rates)
    live.step(4)
    run = simulate.run_batch(steps=4, coordinates=coordinates, rates=rates)
    np.testing.assert_array_equal(live.position, run.position[:, -1])
    np.testing.assert_allclose(run.coordinates[:, 0], coordinates, rtol=0, atol=1e-14)
    # they are measured in the velocities of bodies that are some meters away
    np.testing.assert_allclose(run.rates[:, 0], rates, rtol=0, atol=1e-12)


def test_wrong_arrays_are_explained() -> None:
    simulate = Simulator(TREES["chain of hinges"](), 0.002)
    with pytest.raises(ValueError, match=r"coordinates must have shape \(4, 6\), got \(4, 5\)"):
        simulate.run_batch(steps=1, coordinates=np.zeros((4, 5)))
    with pytest.raises(ValueError, match="a row per member"):
        simulate.run_batch(steps=1, coordinates=np.zeros(6))
    with pytest.raises(ValueError, match="not both"):
        simulate.run_batch([simulate.mechanism.state()], steps=1, coordinates=np.zeros((1, 6)))
    with pytest.raises(ValueError, match="states, a number of members, or coordinates"):
        simulate.run_batch(steps=1)
    with pytest.raises(ValueError, match="rates must be finite"):
        simulate.run_batch(2, steps=1, rates=np.full(6, np.nan))
    with pytest.raises(ValueError, match="turns by"):
        simulate.run_batch(2, steps=1, rates=np.full(6, 1e9))
