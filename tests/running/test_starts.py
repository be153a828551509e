"""Members that start from joint coordinates and rates, given as arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from batches import MEMBERS
from catena import BatchError, Mechanism, Simulator, scenes
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
    expected = simulate.run_batch(states=states, steps=3)
    for name in NODE:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_a_row_serves_all_members() -> None:
    m = TREES["tree"]()
    simulate, row = Simulator(m, 0.002), random_rows(m, 1)[0]
    one = simulate.run_batch(states=3, steps=2, coordinates=row)
    rows = simulate.run_batch(steps=2, coordinates=np.tile(row, (3, 1)))
    by_rates = simulate.run_batch(steps=2, coordinates=row, rates=np.tile(simulate.plan.described.rates, (3, 1)))
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
    with pytest.raises(ValueError, match="one row per member"):
        simulate.run_batch(steps=1, coordinates=np.zeros(6))
    with pytest.raises(ValueError, match="not both"):
        simulate.run_batch(states=[simulate.mechanism.state()], steps=1, coordinates=np.zeros((1, 6)))
    with pytest.raises(ValueError, match="states, a number of members, or coordinates"):
        simulate.run_batch(steps=1)
    with pytest.raises(ValueError, match="rates must be finite"):
        simulate.run_batch(states=2, steps=1, rates=np.full(6, np.nan))
    with pytest.raises(ValueError, match="rotates by"):
        simulate.run_batch(states=2, steps=1, rates=np.full(6, 1e9))


def test_rates_follow_where_coordinates_do() -> None:
    m = crank_rocker()
    simulate = Simulator(m, 0.002)
    coordinates, rates = np.full((3, 4), np.nan), np.full((3, 4), np.nan)
    coordinates[:, 0], rates[:, 0] = (0.1, 0.5, 2.0), (1.0, -2.0, 0.3)
    found = simulate.run_batch(steps=1, coordinates=coordinates, rates=rates)
    np.testing.assert_allclose(found.rates[:, 0, 0], rates[:, 0], rtol=1e-12)
    same = simulate.run_batch(steps=1, coordinates=coordinates, rates=np.where(np.isnan(rates), 0.0, rates))
    np.testing.assert_array_equal(found.rates, same.rates)
    with pytest.raises(
        ValueError, match=r"rates must be finite where coordinates are given, but that of 'joint1.angle'"
    ):
        simulate.run_batch(steps=1, coordinates=coordinates, rates=np.full((3, 4), np.nan))


def crank_rocker() -> Mechanism:
    return scenes.four_bar((0.4, 1.0, 0.9), ground=1.0, angle=3.3)


def turned(m: Mechanism, count: int = MEMBERS) -> np.ndarray:
    rows = np.full((count, len(m.coordinates)), np.nan)
    rows[:, 0] = np.random.default_rng(5).uniform(-np.pi, np.pi, count)
    return rows


def test_loops_follow_the_coordinates_that_are_given() -> None:
    m = crank_rocker()
    coordinates, rates = turned(m), np.zeros((MEMBERS, 4))
    rates[:, 0] = np.linspace(-2, 2, MEMBERS)
    run = Simulator(m, 0.002).run_batch(steps=0, coordinates=coordinates, rates=rates)
    np.testing.assert_allclose(run.coordinates[:, 0, 0], coordinates[:, 0], rtol=0, atol=1e-14)
    # rates of a loop are solved for with a small term that keeps redundant rows apart
    np.testing.assert_allclose(run.rates[:, 0, 0], rates[:, 0], rtol=0, atol=1e-10)
    for k in range(MEMBERS):
        state = m.assemble(coordinates={"joint1": coordinates[k, 0]}, rates={"joint1": rates[k, 0]})
        # gaps of 5e-11 are closed for both
        np.testing.assert_allclose(run.position[k, 0], state.position, rtol=0, atol=1e-9)
        np.testing.assert_allclose(run.velocity[k, 0], state.velocity, rtol=0, atol=1e-9)


def test_loops_start_the_same_alone_and_among_others() -> None:
    m = crank_rocker()
    coordinates = turned(m, 150)
    simulate = Simulator(m, 0.002)
    run = simulate.run_batch(steps=3, coordinates=coordinates, threads=2)
    states = [simulate.start_batch(coordinates=row[None]).state(0) for row in coordinates]
    alone = simulate.run_batch(states=states, steps=3, threads=1)
    for name in NODE:
        np.testing.assert_array_equal(getattr(run, name), getattr(alone, name))


def test_dependent_coordinates_are_a_guess() -> None:
    m = crank_rocker()
    simulate = Simulator(m, 0.002)
    first = simulate.run_batch(steps=0, coordinates=turned(m)).coordinates[:, 0]
    again = simulate.run_batch(steps=0, coordinates=first + np.array((0.0, 0.01, -0.01, 0.01))).coordinates[:, 0]
    np.testing.assert_allclose(again, first, rtol=0, atol=1e-9)


def test_members_that_cannot_be_closed_fail_with_a_sentence_and_the_others_run() -> None:
    m = scenes.four_bar((1.0, 0.4, 0.5), ground=1.0, angle=3.3)
    coordinates = np.full((9, 4), np.nan)
    coordinates[:, 0] = -0.01 * np.arange(9)
    coordinates[4, 0] = 2.5
    simulate = Simulator(m, 0.002, on_failure="stop")
    run = simulate.run_batch(steps=5, coordinates=coordinates)
    assert np.flatnonzero(run.failed).tolist() == [4]
    assert run.status[4].reason == "open"
    assert "cannot be closed" in run.status[4].message
    assert "revolute joint 'joint" in run.status[4].message
    assert np.isnan(run.position[4]).all()
    assert run.counts[4] == 0
    kept = [k for k in range(9) if k != 4]
    others = simulate.run_batch(steps=5, coordinates=coordinates[kept])
    np.testing.assert_array_equal(run.position[kept], others.position)
    with pytest.raises(BatchError, match="member 4: the loops cannot be closed"):
        Simulator(m, 0.002).run_batch(steps=5, coordinates=coordinates)

    live = simulate.start_batch(coordinates=coordinates)
    live.step(5)
    assert live.failed.tolist() == [k == 4 for k in range(9)]
    assert live.status[4] == run.status[4]
    assert np.isnan(live.position[4]).all()
    np.testing.assert_array_equal(live.position[kept], run.position[kept, -1])
    live.reset([4], coordinates=coordinates[3])
    live.reset([3])
    live.step(5)
    assert not live.failed.any()
    np.testing.assert_array_equal(live.position[4], live.position[3])


def test_free_bodies_and_gears_are_placed_too() -> None:
    m = scenes.humanoid()
    rows = random_rows(m, 5, 0.1)
    run = Simulator(m, 0.002).run_batch(steps=0, coordinates=rows)
    np.testing.assert_allclose(run.coordinates[:, 0], rows, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"must be nan in all members \(not prescribed\) or in none"):
        Simulator(crank_rocker(), 0.002).run_batch(steps=0, coordinates=[(0, 0, 0, np.nan), (0, 0, 0, 0)])
