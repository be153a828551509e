"""Sweeps: every member is there once, with the same bits however it was computed, or with a sentence on why not."""

from __future__ import annotations

import errno
import json
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import studies
from catena import (
    Batch,
    CatenaWarning,
    Mechanism,
    Revolute,
    Simulator,
    Sweep,
    SweepError,
    open_sweep,
    rod,
    sample,
    scenes,
)
from catena.sweep import chunk as chunk_module
from catena.sweep import planning
from catena.sweep.fingerprint import fingerprint
from catena.sweep.folder import Folder
from studies import CHUNK, MEMBERS, chunk_bytes, manifest, study

SUPPORT = Path(studies.__file__).parent


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the shared study, computed in this process."""
    folder = tmp_path_factory.mktemp("sweep") / "done"
    study().run(folder, workers=1)
    return folder


def column(folder: Path, name: str) -> np.ndarray:
    place = Folder(folder)
    count = len(list(folder.glob("chunk-*.npz")))
    return np.concatenate([place.read_chunk(number, name) for number in range(count)])


def messages(folder: Path, chunk: int = 0) -> dict[int, str]:
    return Folder(folder).read_messages(chunk)


# ---- parameters


def test_members_are_what_run_batch_makes_of_them(done: Path) -> None:
    sweep = study()
    numbers = sweep.numbers(0, MEMBERS)
    simulator = Simulator(studies.arm(), 0.005, on_inaccurate="ignore")
    expected = studies.keep(simulator.run_batch(states=MEMBERS, steps=40, record_every=40, **studies.setup(numbers)))
    for name, values in (*numbers.items(), *expected.items()):
        np.testing.assert_array_equal(column(done, name), values)
    assert (column(done, "status") == "done").all()
    assert column(done, "member").tolist() == list(range(MEMBERS))
    alone = sweep.member(417)
    assert alone.joint("joint1").angle[-1] == expected["angle"][417]


@pytest.mark.parametrize("stop", [1, 255, 256, 257, 700])
def test_draws_depend_on_the_seed_and_the_member_alone(stop: int) -> None:
    sweep, longer, other = study(), study(members=5 * MEMBERS), study(seed=4)
    whole = sweep.numbers(0, MEMBERS)
    for first in (0, stop // 2, stop - 1):
        for name, values in sweep.numbers(first, stop).items():
            np.testing.assert_array_equal(values, whole[name][first:stop])
            np.testing.assert_array_equal(values, longer.numbers(first, stop)[name])
            assert not np.array_equal(values, other.numbers(first, stop)[name])
    rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(256,)))
    np.testing.assert_array_equal(studies.draw(rng, 256)["mass"], whole["mass"][256:512])


def test_a_grid_has_every_combination_once() -> None:
    sweep = study(grid={"mass": [1.0, 2.0], "target": [0.1, 0.2, 0.3]}, setup=studies.without("coordinates"))
    numbers = sweep.numbers(0, 6)
    assert list(zip(numbers["mass"], numbers["target"], strict=True)) == [
        (mass, target) for mass in (1.0, 2.0) for target in (0.1, 0.2, 0.3)
    ]
    assert len(sweep) == 6


def test_a_table_may_be_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"mass": [1.0, 2.0], "kind": ["a", "bb"]})
    numbers = study(table=frame).numbers(0, 2)
    assert numbers["mass"].tolist() == [1.0, 2.0]
    assert numbers["kind"].tolist() == ["a", "bb"]


@pytest.mark.parametrize("method", ["monte_carlo", "latin_hypercube", "sobol", "halton"])
def test_samples_fill_their_ranges(method: Any) -> None:
    if method != "monte_carlo":
        pytest.importorskip("scipy")
    table = sample({"a": (1.0, 3.0), "b": (-2.0, 0.0)}, 100, method, seed=5)
    again = sample({"a": (1.0, 3.0), "b": (-2.0, 0.0)}, 100, method, seed=5)
    for name, lower in (("a", 1.0), ("b", -2.0)):
        np.testing.assert_array_equal(table[name], again[name])
        tenths = np.histogram(table[name], 10, (lower, lower + 2.0))[0]
        assert tenths.sum() == 100
        # even sequences differ from ten by less than random numbers do, whose deviation is three
        assert method == "monte_carlo" or np.abs(tenths - 10).max() <= {"latin_hypercube": 0}.get(method, 3)
    assert abs(np.corrcoef(table["a"], table["b"])[0, 1]) < 0.3  # three deviations of what independent ones have


# ---- folders


def test_a_line_that_was_never_written_is_written_by_who_finds_the_chunk(tmp_path: Path) -> None:
    """Every chunk is computed, its line lost, and the chunk asked for again."""
    folder = tmp_path / "twice"

    class Twice:
        def submit(self, function: Callable[[Any], Any], chunk: Any) -> Future[Any]:
            function(chunk)
            (folder / "manifest.jsonl").unlink()
            found: Future[Any] = Future()
            found.set_result(function(chunk))
            return found

    study().run(folder, Twice())
    assert len(manifest(folder)) == 1
    assert len(chunk_bytes(folder)) == -(-MEMBERS // CHUNK)


@pytest.mark.parametrize("retry", [None, "failed"])
def test_a_line_that_was_lost_is_written_by_the_next_run(retry: Any, done: Path, tmp_path: Path) -> None:
    """As where a process was killed between the file of a chunk and its line."""
    folder = tmp_path / "lost"
    shutil.copytree(done, folder)
    lines = (folder / "manifest.jsonl").read_text().splitlines(keepends=True)
    (folder / "manifest.jsonl").write_text("".join(lines[:2] + lines[3:]))
    summary = study().run(folder, workers=1, retry=retry)
    assert (summary.missing, summary.failed) == (0, 0)
    assert sorted(line["chunk"] for line in manifest(folder)) == list(range(5))
    assert chunk_bytes(folder) == chunk_bytes(done)


def test_the_manifest_has_a_line_per_chunk(done: Path) -> None:
    lines = manifest(done)
    assert sorted(line["chunk"] for line in lines) == list(range(5))
    assert sum(line["members"] for line in lines) == MEMBERS
    assert all(line["failed"] == 0 and line["kernel"] == Folder(done).plan()["identity"]["kernel"] for line in lines)


@pytest.mark.parametrize("size", [1, 77, 1000])
def test_chunks_do_not_change_a_bit(size: int, done: Path, tmp_path: Path) -> None:
    members = 40 if size == 1 else MEMBERS
    study(chunk=size, members=members).run(tmp_path / "other", workers=1)
    for name in ("start", "mass", "angle", "tip", "status"):
        np.testing.assert_array_equal(column(tmp_path / "other", name), column(done, name)[:members])


def test_a_folder_is_continued_where_it_ended(done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "part"
    first = study().run(folder, workers=1, part=(1, 2))
    assert (first.finished, first.missing, first.failed) == (3 * CHUNK - 100, MEMBERS - 3 * CHUNK + 100, 0)
    # what a crash of the machine may leave behind
    (folder / "chunk-000001.npz").write_bytes(b"")
    before = chunk_bytes(folder)
    summary = study().run(folder, workers=1)
    assert summary.missing == 0
    assert chunk_bytes(folder) == chunk_bytes(done)
    assert before["chunk-000001.npz"] == b""
    assert sorted(line["chunk"] for line in manifest(folder)) == list(range(5))
    assert str(summary) == f"{MEMBERS} of {MEMBERS} members: {folder}"


def changed_keep(batch: Any) -> dict[str, Any]:
    return {"angle": batch.joint("joint1").coordinates[:, -1, 0], "tip": 2 * batch.position[:, -1, -1]}


OTHERS: dict[str, tuple[Callable[[], Sweep], str]] = {
    "seed": (lambda: study(seed=4), "parameters"),
    "members": (lambda: study(members=901), r"members \(900 there, 901 here\)"),
    "chunk": (lambda: study(chunk=100), "chunk"),
    "steps": (lambda: study(steps=41), r"steps \(40 there, 41 here\)"),
    "keep": (lambda: study(keep=changed_keep), "keep"),
    "setup": (lambda: study(setup=studies.without("masses")), "setup"),
    "table": (lambda: study(table=study().numbers(0, MEMBERS)), "parameters"),
    "mechanism": (lambda: study_of(scenes.pendulum(3, "revolute", angle=0.1)), "mechanism"),
}


def study_of(m: Mechanism) -> Sweep:
    simulator = Simulator(m, 0.005, on_inaccurate="ignore")
    given = {"draw": studies.draw, "members": MEMBERS, "setup": studies.setup, "keep": studies.keep}
    return Sweep(simulator, **given, steps=40, record_every=40, chunk=CHUNK, seed=3)


@pytest.mark.parametrize("what", OTHERS)
def test_another_sweep_is_refused(what: str, done: Path) -> None:
    make, words = OTHERS[what]
    with pytest.raises(ValueError, match=f"another sweep, which differs in .*{words}"):
        make().run(done, workers=1)


def test_a_function_is_known_by_what_it_does_and_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(factor: float) -> Callable[[float], float]:
        return lambda value: factor * value

    assert fingerprint(scaled(2.0)) == fingerprint(scaled(2.0)) != fingerprint(scaled(3.0))
    before = fingerprint(studies.fussy)
    assert fingerprint(studies.fussy) == before
    # fussy calls setup
    monkeypatch.setattr(studies, "setup", studies.keep)
    assert fingerprint(studies.fussy) != before


def test_fingerprints_are_the_same_in_every_process() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(SUPPORT)!r}); import studies; from catena.sweep.fingerprint import *;"
    )
    script += "print(fingerprint([studies.fussy, studies.arm(), {'a', 'b', 'c'}, 1.5, None]))"
    found = {
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert found == {fingerprint([studies.fussy, studies.arm(), {"a", "b", "c"}, 1.5, None]) + "\n"}


def test_other_versions_are_refused(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "versions", lambda: {"catena": "9.9"})
    with pytest.raises(ValueError, match=r"versions .*'catena': '9.9'} here"):
        study().run(done, workers=1)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match=r"not of a sweep, such as 'letter.txt'"):
        study().run(tmp_path, workers=1)
    with pytest.raises(ValueError, match="is a file"):
        study().run(tmp_path / "letter.txt", workers=1)
    with pytest.raises(ValueError, match=r"no plan.json"):
        open_sweep(tmp_path)


# ---- members that fail


def test_a_refused_member_is_a_row_with_a_sentence(done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "fussy"
    summary = study(setup=studies.fussy).run(folder, workers=1)
    light = column(done, "mass") < 0.51
    assert summary.failed == np.count_nonzero(light) > 0
    for name in ("angle", "tip"):
        np.testing.assert_array_equal(column(folder, name)[~light], column(done, name)[~light])
        assert np.isnan(column(folder, name)[light]).all()
    assert set(column(folder, "status")[light]) == {"refused"}
    said = {key: value for chunk in range(5) for key, value in messages(folder, chunk).items()}
    assert set(said.values()) == {"a mass is below 0.51 kg"}


def test_a_member_without_a_solution_is_a_row_with_a_sentence(tmp_path: Path) -> None:
    m = scenes.pendulum(2, "revolute", angle=0.3)
    fast = np.zeros((8, 2))
    fast[5] = 90.0, -90.0
    fast[6] = 1e6
    simulator = Simulator(m, 0.01, rescue=False, on_inaccurate="ignore")
    sweep = Sweep(simulator, table={"rate": fast}, setup=with_rates, keep=last_position, steps=5)
    summary = sweep.run(tmp_path / "fast", workers=1)
    status = column(tmp_path / "fast", "status").tolist()
    assert summary.failed == 2
    assert status == ["done"] * 5 + ["diverged", "refused", "done"]
    assert "no solution of the step at t = 0.01 s" in messages(tmp_path / "fast")[5]
    assert "body 'link2' rotates by |w| dt" in messages(tmp_path / "fast")[6]
    assert np.isnan(column(tmp_path / "fast", "position")).all(axis=1).tolist() == [word != "done" for word in status]


def with_rates(numbers: dict[str, Any]) -> dict[str, Any]:
    return {"rates": numbers["rate"]}


def last_position(batch: Any) -> dict[str, Any]:
    return {"position": batch.position[:, -1, -1]}


def test_a_member_over_its_budget_is_a_row_and_can_be_retried(tmp_path: Path) -> None:
    sweep_of = {
        budget: Sweep(
            Simulator(scenes.pendulum(3, "revolute"), 0.001),
            table={"mass": np.linspace(1, 2, 3)},
            keep=last_position,
            steps=20_000,
            record_every=20_000,
            budget=budget,
        )
        for budget in (0.001, 100.0)
    }
    folder = tmp_path / "slow"
    # the first member shows what is kept, and has all the time it needs
    sweep_of[100.0].run(folder, workers=1, part=(2, 2))
    assert sweep_of[0.001].run(folder, workers=1).failed == 3
    assert set(column(folder, "status")) == {"budget"}
    assert messages(folder)[1] == "it took more than its budget of 0.001 s of CPU time"
    assert sweep_of[100.0].run(folder, workers=1).failed == 3
    assert sweep_of[100.0].run(folder, workers=1, retry="failed").failed == 0
    assert messages(folder) == {}
    assert np.isfinite(column(folder, "position")).all()


def test_retrying_computes_failed_members_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "fussy"
    sweep = study(setup=studies.fussy)
    failed = sweep.run(folder, workers=1).failed
    before, seen = chunk_bytes(folder), []
    run = chunk_module.MemberRows._compute
    monkeypatch.setattr(
        chunk_module.MemberRows, "_compute", lambda self, s, n, rows: seen.append(len(rows)) or run(self, s, n, rows)
    )
    sweep.run(folder, workers=1, retry="failed")
    assert seen[0] <= failed < CHUNK
    assert chunk_bytes(folder) == before


def test_nothing_can_be_simulated(tmp_path: Path) -> None:
    with pytest.raises(
        SweepError, match=r"were tried first, and none could be simulated; member 0: KeyError: 'weight'"
    ):
        study(setup=lambda numbers: {"masses": {"link3": numbers["weight"]}}).run(tmp_path / "a", workers=1)
    assert not (tmp_path / "a").exists()


KEEPS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nothing": (lambda batch: None, "keep must return names and arrays"),
    "one number": (lambda batch: {"a": 1.0}, "'a' must be an array of numbers with 1 rows"),
    "words": (lambda batch: {"a": ["x"] * len(batch)}, "'a' must be an array of numbers"),
    "a taken name": (lambda batch: {"status": np.zeros(len(batch))}, "cannot be called 'status'"),
}


@pytest.mark.parametrize("what", KEEPS)
def test_what_cannot_be_kept_is_said_before_anything_is_computed(what: str, tmp_path: Path) -> None:
    keep, words = KEEPS[what]
    with pytest.raises(SweepError, match=words):
        study(keep=keep).run(tmp_path / "a", workers=1)


def test_whole_numbers_are_kept_as_floats(tmp_path: Path) -> None:
    study(keep=lambda batch: {"steps": batch.iterations.sum(axis=1)}, members=5).run(tmp_path / "a", workers=1)
    assert column(tmp_path / "a", "steps").dtype == np.float64


def test_warnings_of_members_are_messages(tmp_path: Path) -> None:
    m = scenes.pendulum(2, "revolute", angle=1.5)
    sweep = Sweep(Simulator(m, 0.1), table={"k": np.arange(3)}, keep=last_position, steps=20)
    with pytest.warns(CatenaWarning, match="chunk 0: 3 of 3 members"):
        sweep.run(tmp_path / "coarse", workers=1)
    assert set(column(tmp_path / "coarse", "status")) == {"done"}
    assert sorted(messages(tmp_path / "coarse")) == [0, 1, 2]


# ---- mechanisms of their own


def built(numbers: dict[str, Any]) -> Mechanism:
    if numbers["links"] > 4:
        raise ValueError(f"{numbers['links']} links are too many")
    return scenes.pendulum(int(numbers["links"]), "revolute", angle=float(numbers["angle"]))


def test_mechanisms_may_differ_in_structure(tmp_path: Path) -> None:
    simulator = Simulator(scenes.pendulum(1, "revolute"), 0.01, on_inaccurate="ignore")
    grid = {"links": [1, 2, 3, 5], "angle": [0.1, 0.2]}
    sweep = Sweep(simulator, grid=grid, build=built, keep=last_position, steps=10)
    assert sweep.run(tmp_path / "a", workers=1).failed == 2
    assert messages(tmp_path / "a")[7] == "5 links are too many"
    for member in (0, 3, 5):
        expected = Simulator(built({name: x[0] for name, x in sweep.numbers(member, member + 1).items()}), 0.01)
        position = expected.run_batch(states=1, steps=10).position[0, -1, -1]
        np.testing.assert_array_equal(column(tmp_path / "a", "position")[member], position)
        np.testing.assert_array_equal(sweep.member(member).position[-1, -1], position)


def askew() -> Mechanism:
    """A parallelogram with a tilted axis: where members start has a say in which rows are redundant."""
    corners = [(0.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, -1.0), (0.0, 1.0, 0.0)]
    names = ["world", "left", "coupler", "right", "world"]
    m = Mechanism()
    for name, start, end in zip(names[1:], corners, corners[1:], strict=False):
        m.add_body(name, rod(start, end, mass=1.0))
    for k, at in enumerate(corners):
        m.add_joint(Revolute(names[k], names[k + 1], axis=(1, 1e-3 * (k == 3), 0), at=at, name=f"hinge{k}"))
    return m


def hinge(batch: Batch) -> dict[str, Any]:
    return {"angle": batch.joint("hinge0").coordinates[:, -1, 0]}


@pytest.mark.filterwarnings("ignore::catena.LoopWarning")
def test_starts_select_rows_of_loops_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a batch all members select them together, so that a chunk's others would matter."""
    simulator = Simulator(askew(), 0.005, on_inaccurate="ignore")
    assert simulator.plan.rows_depend_on_poses
    angles = np.full((6, 4), np.nan)
    angles[:, 0] = np.linspace(-0.5, 0.5, 6)
    sizes: list[int] = []
    run = Simulator.run_batch

    def counted(self: Simulator, *args: Any, **named: Any) -> Any:
        batch = run(self, *args, **named)
        sizes.append(len(batch))
        return batch

    monkeypatch.setattr(Simulator, "run_batch", counted)
    sweep = Sweep(simulator, table={"coordinates": angles}, setup=dict, keep=hinge, steps=10, record_every=10)
    assert sweep.run(tmp_path / "a", workers=1).failed == 0
    assert set(sizes) == {1}
    for member in range(6):
        assert column(tmp_path / "a", "angle")[member] == sweep.member(member).joint("hinge0").angle[-1]


# ---- where chunks are computed


def test_processes_give_the_same_bytes(done: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    scale = 1.0
    # functions that cannot be pickled can be inherited
    inherited = study(keep=lambda batch: {"angle": scale * batch.joint("joint1").coordinates[:, -1, 0]})
    study().run(tmp_path / "two", workers=2, progress=lambda *count: seen.append(count))
    assert chunk_bytes(tmp_path / "two") == chunk_bytes(done)
    assert seen[-1] == (MEMBERS, MEMBERS)
    if sys.platform == "linux":
        inherited.run(tmp_path / "lambda", workers=2)
        np.testing.assert_array_equal(column(tmp_path / "lambda", "angle"), column(done, "angle"))


def test_a_table_gives_the_same_rows_by_any_engine(done: Path, tmp_path: Path) -> None:
    sweep = study(table=study().numbers(0, MEMBERS))
    with ThreadPoolExecutor(2) as executor:
        sweep.run(tmp_path / "threads", executor)
    assert chunk_bytes(tmp_path / "threads") == chunk_bytes(done)


def test_functions_that_do_not_pickle_are_named(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as executor, pytest.raises(SweepError, match=r"cannot be sent to workers.*lambda"):
        study(keep=lambda batch: studies.keep(batch)).run(tmp_path / "a", executor)


def deadly(numbers: dict[str, Any]) -> dict[str, Any]:
    """Kills the process that simulates several members, once or always."""
    import os

    mark = Path(os.environ["DEADLY"])
    if len(numbers["mass"]) > 1 and (mark.name == "always" or not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return studies.setup(numbers)


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_killed_process_costs_its_chunks_and_no_more(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLY", str(tmp_path / "once"))
    summary = study(setup=deadly).run(tmp_path / "a", workers=2)
    assert summary.missing == summary.failed == 0
    np.testing.assert_array_equal(column(tmp_path / "a", "tip"), column(done, "tip"))
    monkeypatch.setenv("DEADLY", str(tmp_path / "always"))
    with pytest.raises(SweepError, match=r"was lost 3 times with its worker.*finished chunks are kept"):
        study(setup=deadly).run(tmp_path / "b", workers=2)


def test_a_full_disk_is_a_sentence_and_loses_nothing(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, left = Folder.write_chunk, [2]

    def full(self: Folder, *arguments: Any) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= 1
        return write(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "write_chunk", full)
        with pytest.raises(SweepError, match=r"chunk-000002.npz could not be written .*No space left on device"):
            study().run(tmp_path / "a", workers=1)
    assert len(chunk_bytes(tmp_path / "a")) == 2
    study().run(tmp_path / "a", workers=1)
    assert chunk_bytes(tmp_path / "a") == chunk_bytes(done)


class Workers:
    """An executor like a Client of Dask, whose workers have some kernels."""

    def __init__(self, **kernels: list[str]) -> None:
        self._kernels = kernels
        self._pool = ThreadPoolExecutor(1)

    def run(self, function: Callable[[], list[str]]) -> dict[str, list[str]]:
        assert function()
        return self._kernels

    def submit(self, function: Callable[[Any], Any], chunk: Any) -> Any:
        return self._pool.submit(function, chunk)


def test_the_plan_has_the_best_kernel_that_all_workers_have(tmp_path: Path) -> None:
    mine = chunk_module.usable_kernels()
    study(members=5).run(tmp_path / "a", Workers(one=[*mine, "x86-64-v9"], two=mine))
    assert Folder(tmp_path / "a").plan()["identity"]["kernel"] == mine[-1]
    with pytest.raises(SweepError, match=r"no kernel in common \(one: v8; two: v9\)"):
        study(members=5).run(tmp_path / "b", Workers(one=["v8"], two=["v9"]))


def test_a_worker_without_the_kernel_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study(members=5, chunk=1).run(tmp_path / "a", workers=1, part=(1, 2))
    monkeypatch.setattr(chunk_module, "usable_kernels", lambda: ["v0"])
    with pytest.raises(SweepError, match=r"the worker on \S+ has no kernel \S+, only v0: plan the sweep in a new"):
        study(members=5, chunk=1).run(tmp_path / "a", workers=1)


def test_workers_compute_all_by_the_kernel_of_the_plan(done: Path, tmp_path: Path) -> None:
    """A worker that would choose another one starts, selects rows of loops and reads results by that of the plan."""

    class Elsewhere(Workers):
        def submit(self, function: Callable[[Any], Any], chunk: Any) -> Any:
            def there(chunk: Any) -> Any:
                with pytest.MonkeyPatch.context() as patched:
                    # whatever is computed by this one fails
                    patched.setenv("CATENA_KERNEL", "none such")
                    return function(chunk)

            return super().submit(there, chunk)

    study().run(tmp_path / "a", Elsewhere(one=chunk_module.usable_kernels()))
    assert chunk_bytes(tmp_path / "a") == chunk_bytes(done)


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Away(Workers):
        def submit(self, function: Callable[[Any], Any], chunk: Any) -> Any:
            (tmp_path / "a" / "plan.json").rename(tmp_path / "elsewhere")
            return super().submit(function, chunk)

    mine = chunk_module.usable_kernels()
    with pytest.raises(SweepError, match=r"does not find .*must be on a file system that all workers share"):
        study(members=5).run(tmp_path / "a", Away(one=mine))


# ---- processes that are killed, interrupted, or meet

SCRIPT = """
import sys
sys.path.insert(0, {support!r})
from studies import study
study(steps=4000, record_every=4000, chunk=20).run({folder!r}, workers={workers})
"""


def start(folder: Path, workers: int) -> subprocess.Popen[str]:
    script = textwrap.dedent(SCRIPT.format(support=str(SUPPORT), folder=str(folder), workers=workers))
    return subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)


def wait_for_chunks(folder: Path, count: int) -> None:
    while len(list(folder.glob("chunk-*.npz"))) < count:
        time.sleep(0.01)


def long_study() -> Sweep:
    return study(steps=4000, record_every=4000, chunk=20)


@pytest.fixture(scope="module")
def long_done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long") / "done"
    long_study().run(folder, workers=2)
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_sweep_killed_twice_goes_on_with_another_engine(long_done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    for workers, count in ((2, 2), (1, 5)):
        process = start(folder, workers)
        wait_for_chunks(folder, count)
        process.kill()
        process.communicate()
    assert len(chunk_bytes(folder)) >= 5
    with ThreadPoolExecutor(2) as executor:
        long_study().run(folder, executor)
    assert chunk_bytes(folder) == chunk_bytes(long_done)
    assert sorted({line["chunk"] for line in manifest(folder)}) == list(range(45))


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_leaves_a_folder_that_goes_on(workers: int, long_done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "interrupted"
    process = start(folder, workers)
    wait_for_chunks(folder, 2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    # on a busy machine it may be done before the signal is sent
    assert process.returncode == 0 or "KeyboardInterrupt" in said
    assert len(chunk_bytes(folder)) >= 2
    long_study().run(folder, workers=2)
    assert chunk_bytes(folder) == chunk_bytes(long_done)


def test_two_processes_may_share_a_folder(long_done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    both = [start(folder, 1), start(folder, 1)]
    assert [(process.communicate()[1], process.returncode) for process in both] == [("", 0), ("", 0)]
    assert chunk_bytes(folder) == chunk_bytes(long_done)
    # on a busy machine one of them may be done before the other begins
    assert {line["process"] for line in manifest(folder)} <= {process.pid for process in both}


# ---- reading


def test_a_dataset_reads_what_is_used_and_no_more(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xarray")
    read, seen = Folder.read_chunk, []
    monkeypatch.setattr(Folder, "read_chunk", lambda self, *what: seen.append(what) or read(self, *what))
    found = open_sweep(done)
    assert found.sizes["member"] == MEMBERS
    assert not seen
    some = found.isel(member=slice(190, 210))
    assert not seen
    np.testing.assert_array_equal(some.tip, column(done, "tip")[190:210])
    assert set(seen[:2]) == {(0, "tip"), (1, "tip")}
    np.testing.assert_array_equal(found.tip[3:5, 1], column(done, "tip")[3:5, 1])
    np.testing.assert_array_equal(found.tip[[7, 3, 450], [2, 0]], column(done, "tip")[[7, 3, 450]][:, [2, 0]])
    np.testing.assert_array_equal(found.mass[::-7], column(done, "mass")[::-7])
    assert float(found.angle[417]) == column(done, "angle")[417]
    assert found.status[899].item() == "done"
    assert found.message[0].item() == ""
    assert found.attrs["chunk"] == CHUNK


def test_an_unfinished_sweep_says_what_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    study(setup=studies.fussy).run(tmp_path / "a", workers=1, part=(1, 2))
    found = open_sweep(tmp_path / "a")
    assert (found.status[CHUNK : 2 * CHUNK] == "missing").all()
    assert np.isnan(found.tip[CHUNK : 2 * CHUNK]).all()
    refused = found.where(found.status == "refused", drop=True)
    assert set(refused.message.values) == {"a mass is below 0.51 kg"}


def test_results_larger_than_memory_are_computed_by_chunk(done: Path) -> None:
    pytest.importorskip("xarray")
    pytest.importorskip("dask.array")
    found = open_sweep(done)[["angle", "tip"]].chunk(member=CHUNK)
    assert found.angle.data.npartitions == 5
    # sums in another order
    np.testing.assert_allclose(found.tip.mean("member").compute(), column(done, "tip").mean(axis=0), rtol=1e-12)


# ---- the command line


def catena(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "catena", "sweep", *words], cwd=folder, capture_output=True, text=True)


def test_parts_on_the_command_line_make_a_whole(done: Path, tmp_path: Path) -> None:
    (tmp_path / "my_study.py").write_text(
        f"import sys\nsys.path.insert(0, {str(SUPPORT)!r})\nfrom studies import study\nsweep = study()\n"
    )
    first = catena("my_study.py", "--part", "2/2", "--workers", "2", folder=tmp_path)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == "400 of 900 members, 500 missing: my_study\n"
    rest = catena("my_study.py", "--part", "1/2", "--workers", "1", "--json", folder=tmp_path)
    found = json.loads(rest.stdout)
    assert found == {"folder": "my_study", "members": 900, "finished": 900, "failed": 0, "missing": 0, "warnings": []}
    assert chunk_bytes(tmp_path / "my_study") == chunk_bytes(done)


WRONG = {
    "no file": (["other.py"], "other.py: there is no such file"),
    "no module": (["a-b.py"], "could be that of a module"),
    "no sweep": (["empty.py"], "must assign a catena.Sweep to the name `sweep`"),
    "no part": (["fine.py", "--part", "3"], "--part takes K/N"),
    "no such part": (["fine.py", "--part", "3/2"], "with k from 1 to n"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_command_line_is_explained(what: str, tmp_path: Path) -> None:
    words, sentence = WRONG[what]
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "fine.py").write_text(
        f"import sys\nsys.path.insert(0, {str(SUPPORT)!r})\nfrom studies import study\nsweep = study()\n"
    )
    found = catena(*words, folder=tmp_path)
    assert found.returncode == 2
    assert sentence in found.stderr
    assert "Traceback" not in found.stderr


# ---- mistakes

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "no parameters": (lambda: study(draw=None, members=None), "needs parameters: give grid=, table= or draw="),
    "two sources": (lambda: study(grid={"a": [1]}, draw=studies.draw, members=3), "one source .* grid and draw"),
    "draws of none": (lambda: study(members=None), "draw needs members="),
    "members of a grid": (lambda: study(grid={"a": [1]}, members=3), "members= belongs to draw="),
    "an empty grid": (lambda: study(grid={"a": []}), "'a' must be a list of values"),
    "rows that differ": (lambda: study(table={"a": [1, 2], "b": [1]}), "same number of rows"),
    "a taken name": (lambda: study(table={"member": [1, 2]}), "cannot be called 'member'"),
    "objects": (lambda: study(table={"a": [object()]}), "'a' must be an array of numbers or strings"),
    "no dt": (lambda: Sweep(Simulator(studies.arm()), grid={"a": [1]}, keep=studies.keep, steps=1), "give the .* a dt"),
    "no keep": (lambda: study(keep=None), "keep must be a function"),
    "no duration": (lambda: study(steps=None), "exactly one of duration and steps"),
    "no range": (lambda: sample({"a": (2.0, 1.0)}, 3), "'a' must be .lower, upper. with lower < upper"),
    "no engine": (lambda: study().run("unused", executor="dask"), "executor must have submit"),
    "two engines": (lambda: study().run("unused", executor=Workers(), workers=3), "an executor has its own"),
    "another retry": (lambda: study().run("unused", retry="all"), "retry must be one of 'failed'"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_are_explained(what: str) -> None:
    make, words = MISTAKES[what]
    with pytest.raises(ValueError, match=words):
        make()
    assert not Path("unused").exists()
