"""Members with lengths, anchors and axes of their own equal runs of mechanisms that are built with these numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena import Batch, BatchError, Mechanism, Simulator, scenes
from mechanisms import tree

MEMBERS = 5
Numbers = dict[str, dict[str, np.ndarray]]


def chain() -> Mechanism:
    m = scenes.pendulum(4, "revolute", angle=0.4)
    m.add_force(ct.Spring("joint2", stiffness=3.0, damping=0.2))
    return m


def moved(m: Mechanism, name: str, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Places of a joint that differ a little from the described ones, in all of its frames."""
    joint = m.joints[name]
    found = {side: getattr(joint, side) + rng.normal(0, 0.03, (MEMBERS, 3)) for side in ("anchor_a", "anchor_b")}
    return found | {"axis_a": np.array((0.1, 0.2, 1.0)) + rng.normal(0, 0.05, (MEMBERS, 3))}


def of_all_joints(m: Mechanism) -> Numbers:
    rng = np.random.default_rng(2)
    return {name: moved(m, name, rng) for name in m.joints}


TREES: dict[str, Callable[[], Mechanism]] = {
    "hinges with a spring": chain,
    "balls": lambda: scenes.pendulum(3, "ball", angle=0.4),
    "tree": tree,
}


@pytest.mark.parametrize("scene", TREES)
@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_members_of_trees_equal_single_runs(scene: str, solver: Any) -> None:
    m = TREES[scene]()
    batch = Simulator(m, 0.005, solver=solver).run_batch(steps=40, states=MEMBERS, joint_parameters=of_all_joints(m))
    assert np.ptp(batch.position[:, -1], axis=0).max() > 0.01
    for k, run in enumerate(batch):
        alone = Simulator(run.mechanism, 0.005, solver=solver).run(steps=40, state=run[0])
        # the size by which errors are measured is that of the described mechanism: a few roundings
        np.testing.assert_allclose(run.position, alone.position, rtol=0, atol=1e-12)
        np.testing.assert_allclose(run.orientation, alone.orientation, rtol=0, atol=1e-12)
        np.testing.assert_allclose(batch.coordinates[k], alone.coordinates, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(batch.coordinates[k], run.coordinates)
        assert max(run.joint(name).gap.max() for name in m.joints) < 1e-13


def built(length: float) -> Mechanism:
    """A rod on a hinge in the world, with a second one that its length moves."""
    m = Mechanism()
    first = m.add_body("first", ct.box((0.1, 0.1, 1.0), mass=1.0), position=(0, 0, -length / 2))
    second = m.add_body("second", ct.box((0.1, 0.1, 1.0), mass=1.0), position=(0, 0, -length - 0.5))
    m.add_joint(ct.Revolute(m.world, first, axis=(1, 0, 0), at=(0, 0, 0), name="hip"))
    m.add_joint(ct.Revolute(first, second, axis=(1, 0, 0), at=(0, 0, -length), name="knee"))
    return m


def test_lengths_are_those_of_a_mechanism_that_is_built_with_them() -> None:
    lengths, angles = np.linspace(0.4, 2.0, MEMBERS), (0.3, -0.5)
    batch = Simulator(built(1.0), 0.002).run_batch(
        steps=100, states=MEMBERS, coordinates=angles, lengths={"first": lengths}
    )
    for k, length in enumerate(lengths):
        m = built(float(length))
        state = m.state()
        state.coordinates = angles
        # the described lengths differ in their last digits
        np.testing.assert_allclose(
            batch.position[k], Simulator(m, 0.002).run(steps=100, state=state).position, atol=1e-12
        )


def random_bars(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.1, 2.4, (count, 3))


def test_four_bars_close_where_geometry_lets_them_and_fail_with_a_sentence_elsewhere() -> None:
    bars = random_bars(400)
    batch = Simulator(scenes.four_bar(), 0.005, on_failure="stop", on_inaccurate="ignore").run_batch(
        steps=0, states=len(bars), lengths={f"link{k + 1}": bars[:, k] for k in range(3)}
    )
    four = np.column_stack((bars, np.ones(len(bars))))
    closes = 2 * four.max(axis=1) < four.sum(axis=1)
    assert np.count_nonzero(~closes) > 20
    np.testing.assert_array_equal([status.ok for status in batch.status], closes)
    for k in np.flatnonzero(batch.failed):
        assert "the loops cannot be closed: revolute joint 'joint4' stays open by" in batch.status[k].message
        assert np.isnan(batch.position[k]).all()


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_loops_equal_single_runs(solver: Any) -> None:
    m, bars = scenes.four_bar(), 0.8 + 0.2 * random_bars(4)
    lengths = {f"link{k + 1}": bars[:, k] for k in range(3)}
    batch = Simulator(m, 0.002, solver=solver).run_batch(steps=100, states=4, lengths=lengths)
    assert batch.warnings == ("members ran one by one, not several at a time in lanes: their geometry differs",) or (
        solver != "articulated"
    )
    for k, run in enumerate(batch):
        # its rows are combined anew, so that rounding differs
        alone = Simulator(run.mechanism, 0.002, solver=solver).run(steps=100, state=run[0])
        np.testing.assert_allclose(run.position, alone.position, atol=1e-11)
        np.testing.assert_allclose(batch.coordinates[k], alone.coordinates, atol=1e-10)
        np.testing.assert_allclose(batch.joint("joint4").angle[k], run.joint("joint4").angle, atol=1e-14)
        assert max(run.joint(name).gap.max() for name in m.joints) < 1e-10
        assert np.ptp(run.energy()) < 2e-3


def test_what_is_no_longer_redundant_ends_a_member() -> None:
    m = scenes.four_bar()
    tilt = np.tile((0.0, 0.0, 1.0), (3, 1))
    tilt[1] = 0.0, 0.3, 1.0
    frames = {side: getattr(m.joints["joint2"], f"frame_{side}") for side in "ab"}
    axes = {f"axis_{side}": _turned(frames[side], tilt) for side in "ab"}
    batch = Simulator(m, 0.005, on_failure="stop").run_batch(steps=200, states=3, joint_parameters={"joint2": axes})
    assert np.flatnonzero(batch.failed).tolist() == [1]
    assert "contradicts the rest of its loop" in batch.status[1].message


def _turned(frame: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    w, u = frame[0], frame[1:]
    t = 2 * np.cross(u, vectors)
    found: np.ndarray = vectors + w * t + np.cross(u, t)
    return found


def test_live_batches_files_parts_and_summaries_have_the_members_geometry(tmp_path: Path) -> None:
    m, lengths = chain(), {"link2": np.linspace(0.5, 1.5, MEMBERS)}
    simulate = Simulator(m, 0.005)
    batch = simulate.run_batch(steps=20, states=MEMBERS, lengths=lengths)
    live = simulate.start_batch(MEMBERS, lengths=lengths)
    live.step(20)
    np.testing.assert_array_equal(live.position, batch.position[:, -1])
    np.testing.assert_array_equal(live.coordinates, batch.coordinates[:, -1])
    state = live.state(3)
    assert np.linalg.norm(state.mechanism.joints["joint3"].anchor_a) == pytest.approx(lengths["link2"][3] / 2)
    live.reset([0, 3])
    live.step(20)
    np.testing.assert_array_equal(live.position[[0, 3]], batch.position[[0, 3], -1])
    live.reset([3], states=[state])
    np.testing.assert_array_equal(live.position[3], batch.position[3, -1])

    batch.save(tmp_path / "batch.npz")
    again = Batch.load(tmp_path / "batch.npz")
    both = ct.join([again, simulate.run_batch(steps=20, states=2)])
    np.testing.assert_array_equal(both.coordinates[:MEMBERS], batch.coordinates)
    assert both[1].energy()[-1] == batch[1].energy()[-1]

    kept = simulate.run_batch(steps=20, states=MEMBERS, lengths=lengths, keep=lambda part: {"c": part.coordinates})
    np.testing.assert_array_equal(kept["c"], batch.coordinates)


def test_a_batch_goes_on_where_members_have_ended() -> None:
    m, lengths = scenes.four_bar(), {"link1": np.linspace(0.9, 1.1, 3)}
    simulate = Simulator(m, 0.002)
    whole = simulate.run_batch(steps=40, states=3, lengths=lengths)
    half = simulate.run_batch(steps=20, states=3, lengths=lengths)
    rest = simulate.run_batch(steps=20, states=[run[-1] for run in half], lengths=lengths)
    np.testing.assert_allclose(rest.position[:, -1], whole.position[:, -1], atol=1e-10)
    with pytest.raises(BatchError, match=r"stays open|is not closed"):
        simulate.run_batch(steps=20, states=[m.state()] * 3, lengths={"link1": np.full(3, 1.2)})


def four_bars(numbers: dict[str, Any]) -> dict[str, Any]:
    return {"lengths": {f"link{k + 1}": numbers["bars"][:, k] for k in range(3)}}


def angles(batch: Batch) -> dict[str, Any]:
    return {"angle": batch.joint("joint1").angle[:, -1]}


def test_a_sweep_over_lengths_has_a_row_for_every_linkage(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    simulate, bars = Simulator(scenes.four_bar(), 0.005, on_inaccurate="ignore"), random_bars(60)
    arguments: dict[str, Any] = {"table": {"bars": bars}, "setup": four_bars, "keep": angles, "steps": 10}
    for chunk in (60, 7):
        ct.Sweep(simulate, **arguments, chunk=chunk).run(tmp_path / str(chunk), workers=1)
    whole, parts = (ct.open_sweep(tmp_path / str(chunk)).load() for chunk in (60, 7))
    np.testing.assert_array_equal(whole.angle, parts.angle)
    four = np.column_stack((bars, np.ones(len(bars))))
    closes = 2 * four.max(axis=1) < four.sum(axis=1)
    np.testing.assert_array_equal(whole.status == "done", closes)
    assert all("joint 'joint4' stays open" in said for said in whole.message.values[~closes])


def test_rotors_are_found_anew_in_every_member() -> None:
    """A disk that may spin fast about its axis is none where its bearing is off it, whoever sat there before."""
    m = Mechanism(gravity=(0, 0, 0))
    disk = m.add_body("disk", ct.cylinder(0.1, 0.02, mass=1.0))
    m.add_joint(ct.Revolute(m.world, disk, axis=(0, 0, 1), at=(0, 0, 0), name="shaft"))
    off = np.array([[0.0, 0, 0], [0.05, 0, 0], [0.0, 0, 0]])
    batch = Simulator(m, 0.01, on_inaccurate="ignore").run_batch(
        steps=10, states=3, rates=[60.0], threads=1, joint_parameters={"shaft": {"anchor_b": off}}
    )
    assert batch.substeps[:, -1].tolist() == [1, batch.substeps[1, -1], 1]
    assert batch.substeps[1, -1] > 1


BAD: dict[str, tuple[Callable[[Mechanism], dict[str, object]], str]] = {
    "joint": (lambda m: {"joint_parameters": {"joint9": {"anchor_a": np.zeros((2, 3))}}}, "joint_parameters: .*joint9"),
    "key": (lambda m: {"joint_parameters": {"joint1": {"anchor": np.zeros((2, 3))}}}, "has no 'anchor', only anchor_a"),
    "shape": (lambda m: {"joint_parameters": {"joint1": {"anchor_a": np.zeros((3, 3))}}}, r"anchor_a of .* shape"),
    "axis": (lambda m: {"joint_parameters": {"joint1": {"axis_a": np.zeros((2, 3))}}}, "must not be zero"),
    "body": (lambda m: {"lengths": {"link9": np.ones(2)}}, "lengths: .*link9"),
    "sign": (lambda m: {"lengths": {"link2": -np.ones(2)}}, "must be positive"),
    "end": (lambda m: {"lengths": {"link4": np.ones(2)}}, "needs joints at two points"),
    "twice": (
        lambda m: {"lengths": {"link2": np.ones(2)}, "joint_parameters": {"joint3": {"anchor_a": np.zeros((2, 3))}}},
        "follows from lengths= of 'link2'",
    ),
    "scalar": (lambda m: {"lengths": {"link2": 1.0}}, "lengths of 'link2'"),
    "too long": (lambda m: {"lengths": {"link2": np.ones(3)}}, "lengths of 'link2'"),
    "numbers": (lambda m: {"joint_parameters": {"joint1": 3.0}}, "must be a mapping"),
    "mapping": (lambda m: {"lengths": [1.0, 2.0]}, "lengths must be a mapping"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said(case: str) -> None:
    make, sentence = BAD[case]
    m = chain()
    with pytest.raises(ValueError, match=sentence):
        Simulator(m, 0.005).run_batch(steps=1, states=2, **make(m))  # type: ignore[call-overload]


def test_it_needs_a_dt_and_joints_without_functions() -> None:
    m = scenes.pendulum(2)
    with pytest.raises(ValueError, match="give the simulator a dt"):
        Simulator(m).run_batch(1.0, states=2, joint_parameters={"joint2": {"anchor_b": np.ones((2, 3))}})
    m.joints["joint1"].ground = lambda t: (0.0, 0.0, 0.1 * t)
    with pytest.raises(ValueError, match="it stands on moving ground"):
        Simulator(m, 0.01).run_batch(1.0, states=2, joint_parameters={"joint1": {"anchor_b": np.ones((2, 3))}})
