"""Batches of which only summaries are kept."""

from __future__ import annotations

from weakref import ref

import numpy as np
import pytest

from catena import AccuracyWarning, Batch, BatchError, Limits, Simulator, Summaries, scenes
from catena.simulate import summaries


def peaks(batch: Batch) -> dict[str, np.ndarray]:
    return {"peak": batch.position[:, :, -1, 2].max(axis=1), "end": batch.position[:, -1]}


def test_summaries_are_those_of_the_whole_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    m = scenes.pendulum(3, "revolute")
    m.joints["joint2"].limits = Limits(-4.0, 4.0)
    rng, simulate = np.random.default_rng(0), Simulator(m, 0.005, on_inaccurate="ignore")
    arrays = {
        "limits": {"joint2": {"upper": rng.uniform(1.0, 1.05, 50)}},
        "coordinates": rng.uniform(-1, 1, (50, 3)),
        "rates": rng.uniform(0, (1.0, 18.0, 1.0), (50, 3)),
        "masses": {list(m.bodies)[1]: rng.uniform(0.5, 2, 50)},
        "gravity": rng.uniform(-10, 0, (50, 3)),
    }
    whole = simulate.run_batch(steps=20, **arrays)
    # some come to limits of their own
    uppers = arrays["limits"]["joint2"]["upper"]
    assert np.count_nonzero(np.abs(whole.joint("joint2").angle.max(axis=1) - uppers) < 1e-9) > 2
    # several chunks, the last one shorter
    monkeypatch.setattr(summaries, "_LEAST", 7)
    monkeypatch.setattr(summaries, "_MOST", 7)
    sizes, done = [], []

    def keep(batch: Batch) -> dict[str, np.ndarray]:
        sizes.append(len(batch))
        return peaks(batch)

    kept = simulate.run_batch(steps=20, keep=keep, progress=lambda k, n: done.append((k, n)), **arrays)
    assert isinstance(kept, Summaries)
    assert sizes == [7] * 7 + [1]
    assert done[-1] == (50, 50)
    assert list(dict(kept)) == ["peak", "end"]
    for name, expected in peaks(whole).items():
        np.testing.assert_array_equal(kept[name], expected)
    assert kept.status == whole.status


@pytest.mark.parametrize("step", [{"dt": 0.002}, {"accuracy": 1e-3}])  # without a dt, all members have a say in it
def test_members_that_fail_keep_their_row(monkeypatch: pytest.MonkeyPatch, step: dict[str, float]) -> None:
    monkeypatch.setattr(summaries, "_LEAST", 2)
    monkeypatch.setattr(summaries, "_MOST", 2)
    m = scenes.four_bar((1.0, 0.4, 0.5), ground=1.0, angle=3.3)
    coordinates = np.full((5, 4), np.nan)
    coordinates[:, 0] = (0.0, -0.01, -0.02, 2.5, -0.03)
    kept = Simulator(m, **step, on_failure="stop").run_batch(0.004, coordinates=coordinates, keep=peaks)
    assert np.flatnonzero(kept.failed).tolist() == [3]
    assert "cannot be closed" in kept.status[3].message
    assert np.isnan(kept["peak"]).tolist() == [False, False, False, True, False]
    with pytest.raises(BatchError, match="1 of 5 members failed: member 3") as error:
        Simulator(m, **step).run_batch(0.004, coordinates=coordinates, keep=peaks)
    np.testing.assert_array_equal(error.value.batch["peak"], kept["peak"])


def test_a_chunk_that_is_inaccurate_is_said_whichever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "_LEAST", 2)
    monkeypatch.setattr(summaries, "_MOST", 2)
    simulate = Simulator(scenes.pendulum(1, "revolute"), 0.05)
    for fast in range(3):
        coordinates, rates = np.zeros((6, 1)), np.zeros((6, 1))
        rates[2 * fast] = 15.0
        with pytest.warns(AccuracyWarning, match=f"1 of 6 members, the worst is {2 * fast}: the steps"):
            simulate.run_batch(steps=4, coordinates=coordinates, rates=rates, keep=peaks)


def test_summaries_that_do_not_fit_are_explained() -> None:
    simulate = Simulator(scenes.pendulum(2, "revolute"), 0.005)
    with pytest.raises(ValueError, match=r"'peak' must have a row per member, \(3, ...\), got \(2,\)"):
        simulate.run_batch(states=3, steps=1, keep=lambda batch: {"peak": np.zeros(2)})
    with pytest.raises(ValueError, match="keep must return a mapping"):
        simulate.run_batch(states=3, steps=1, keep=lambda batch: np.zeros(3))  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="keep must be a function"):
        simulate.run_batch(states=3, steps=1, keep="peak")  # type: ignore[call-overload]
    with pytest.raises(KeyError, match="no summary is called 'low', only 'peak', 'end'"):
        simulate.run_batch(states=3, steps=1, keep=peaks)["low"]


def test_trajectories_of_a_chunk_are_gone_when_the_next_one_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary that is a view of them would keep all."""
    monkeypatch.setattr(summaries, "_LEAST", 2)
    monkeypatch.setattr(summaries, "_MOST", 2)
    seen: list[ref[np.ndarray]] = []

    def last(batch: Batch) -> dict[str, np.ndarray]:
        assert all(earlier() is None for earlier in seen)
        seen.append(ref(batch.position))
        return {"end": batch.position[:, -1]}

    simulate = Simulator(scenes.pendulum(2, "revolute"), 0.005)
    assert simulate.run_batch(steps=4, coordinates=np.zeros((6, 2)), keep=last)["end"].shape == (6, 2, 3)
    assert len(seen) == 3


def test_rows_that_do_not_fit_each_other_are_explained() -> None:
    simulate = Simulator(scenes.pendulum(2, "revolute"), 0.005)
    with pytest.raises(ValueError, match="rates must have a row for each of 3 members, got 2"):
        simulate.run_batch(steps=4, coordinates=np.zeros((3, 2)), rates=np.zeros((2, 2)), keep=peaks)


def test_summaries_as_a_table() -> None:
    pytest.importorskip("pandas")
    m = scenes.four_bar((1.0, 0.4, 0.5), ground=1.0, angle=3.3)
    coordinates = np.full((2, 4), np.nan)
    coordinates[:, 0] = (0.0, 2.5)
    simulate = Simulator(m, 0.002, on_failure="stop")

    def tip(batch: Batch) -> dict[str, np.ndarray]:
        return {"peak": peaks(batch)["peak"], "tip": batch.position[:, -1, -1]}

    kept = simulate.run_batch(0.004, coordinates=coordinates, keep=tip)
    frame = kept.to_dataframe()
    assert list(frame.columns) == ["peak", "tip.0", "tip.1", "tip.2", "status", "message"]
    assert frame.index.name == "member"
    np.testing.assert_array_equal(frame[["tip.0", "tip.1", "tip.2"]], kept["tip"])
    assert frame.status.tolist() == ["done", "open"]
    assert "cannot be closed" in frame.message[1]
    taken = simulate.run_batch(0.004, states=1, keep=lambda batch: {"status": batch.time[:, -1]})
    with pytest.raises(ValueError, match="a column cannot be called 'status'"):
        taken.to_dataframe()
