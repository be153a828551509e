"""Batches as files and tables, and joined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from catena import Batch, Simulator, Spring, join, scenes

ARRAYS = ("time", "position", "orientation", "velocity", "angular_velocity", "coordinates", "rates", "efforts")


def simulator() -> Simulator:
    m = scenes.pendulum(3, "revolute")
    m.add_force(Spring(list(m.joints)[1], stiffness=2.0, name="spring"))
    return Simulator(m, 0.005)


def own_numbers(count: int) -> dict[str, Any]:
    rng = np.random.default_rng(count)
    return {
        "coordinates": rng.uniform(-1, 1, (count, 3)),
        "gravity": rng.uniform(-9, 0, (count, 3)),
        "force_parameters": {"spring": {"stiffness": rng.uniform(1, 3, count)}},
    }


def failing() -> Batch:
    coordinates = np.full((3, 4), np.nan)
    coordinates[:, 0] = (0.0, 2.5, -0.01)
    m = scenes.four_bar((1.0, 0.4, 0.5), ground=1.0, angle=3.3)
    return Simulator(m, 0.002, on_failure="stop").run_batch(steps=4, coordinates=coordinates)


def assert_same(found: Batch, expected: Batch) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("status", "accuracy_warnings", "bodies", "dt", "alone"):
        assert getattr(found, name) == getattr(expected, name)
    np.testing.assert_array_equal(found.counts, expected.counts)
    for k in range(len(found)):
        np.testing.assert_array_equal(found[k].energy(), expected[k].energy())


def test_a_batch_is_read_back_as_it_was(tmp_path: Path) -> None:
    batch = simulator().run_batch(steps=6, **own_numbers(4))
    batch.save(tmp_path / "runs.npz")
    assert_same(Batch.load(tmp_path / "runs.npz"), batch)


def test_failed_members_are_read_back(tmp_path: Path) -> None:
    batch = failing()
    batch.save(tmp_path / "runs.npz")
    found = Batch.load(tmp_path / "runs.npz")
    assert np.flatnonzero(found.failed).tolist() == [1]
    assert found.status == batch.status
    np.testing.assert_array_equal(found.position, batch.position)


def test_files_that_are_no_batches_are_refused(tmp_path: Path) -> None:
    simulator().run(steps=2).save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match="not a batch that catena wrote"):
        Batch.load(tmp_path / "run.npz")
    batch = failing()
    batch.save(tmp_path / "runs.npz")
    good = dict(np.load(tmp_path / "runs.npz"))
    for name, value, why in (
        ("position", good["position"][:, :, :1], "position must have shape"),
        ("counts", good["counts"] + 5, "more computed steps than it contains"),
        ("velocity", np.full_like(good["velocity"], np.nan), "velocity must be finite"),
        ("status_step", good["status_step"] - 9, "status_step must be a row of whole numbers"),
        ("document", np.zeros(9), "its document is not text"),
    ):
        np.savez(tmp_path / "bad.npz", **(good | {name: value}))
        with pytest.raises(ValueError, match=why):
            Batch.load(tmp_path / "bad.npz")
    with pytest.raises(ValueError, match=r"a batch is saved as \.npz"):
        batch.save(tmp_path / "runs.csv")


def test_joined_batches_are_one_batch() -> None:
    simulate = simulator()
    numbers = own_numbers(5)
    parts = [
        simulate.run_batch(
            steps=6,
            coordinates=numbers["coordinates"][members],
            gravity=numbers["gravity"][members],
            force_parameters={"spring": {"stiffness": numbers["force_parameters"]["spring"]["stiffness"][members]}},
        )
        for members in (slice(0, 2), slice(2, 5))
    ]
    assert_same(join(parts), simulate.run_batch(steps=6, **numbers))
    # those that have no numbers of their own have those of the mechanism
    plain = simulate.run_batch(states=2, steps=6)
    mixed = join([parts[0], plain])
    np.testing.assert_array_equal(mixed[3].energy(), plain[1].energy())
    np.testing.assert_array_equal(mixed[0].mechanism.gravity, numbers["gravity"][0])


def test_batches_that_differ_are_not_joined() -> None:
    first = simulator().run_batch(states=2, steps=6)
    with pytest.raises(ValueError, match="batch 1 has other nodes"):
        join([first, simulator().run_batch(states=2, steps=5)])
    with pytest.raises(ValueError, match="batch 1 has another mechanism"):
        join([first, failing()])
    with pytest.raises(ValueError, match="batch 1 has other recorded bodies"):
        join([first, simulator().run_batch(states=2, steps=6, bodies=list(first.bodies)[:1])])
    with pytest.raises(ValueError, match="join takes batches"):
        join([])


def test_tables_have_a_row_per_member_and_node() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    batch = simulator().run_batch(steps=6, **own_numbers(4))
    frame = batch.to_dataframe()
    assert frame.index.names == ["member", "time"]
    for k in range(4):
        own = batch[k].to_dataframe()
        # joints are measured in the core here, and there by numpy
        np.testing.assert_allclose(frame.loc[k].to_numpy(), own[list(frame.columns)].to_numpy(), rtol=0, atol=1e-13)
    data = failing().to_xarray()
    assert data["position"].dims == ("member", "node", "body", "axis")
    assert data["failed"].values.tolist() == [False, True, False]
    assert "cannot be closed" in str(data["message"].values[1])
