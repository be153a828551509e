"""Trajectories in files: all comes back, an old file is never lost, a bad one is told by its name."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from test_trajectory import ARRAYS, zoo

from catena import Mechanism, SimulationError, Simulator, Trajectory, files, scenes, sphere


@pytest.fixture(scope="module")
def run() -> Trajectory:
    return Simulator(zoo(), 0.01).run(0.5)


def assert_same_mechanism(a: Mechanism, b: Mechanism) -> None:
    assert list(a.bodies) == list(b.bodies)
    assert list(a.joints) == list(b.joints)
    np.testing.assert_array_equal(a.gravity, b.gravity)
    for one, other in zip(a.bodies.values(), b.bodies.values(), strict=True):
        assert one.inertia.mass == other.inertia.mass
        np.testing.assert_array_equal(one.inertia.tensor, other.inertia.tensor)
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert (one.shape is None) == (other.shape is None)
        if one.shape is not None and other.shape is not None:
            assert (one.shape.kind, one.shape.size) == (other.shape.kind, other.shape.size)
    for j, k in zip(a.joints.values(), b.joints.values(), strict=True):
        assert (type(j), j.name, j.a.name, j.b.name) == (type(k), k.name, k.a.name, k.b.name)
        for name in ("anchor_a", "anchor_b", "frame_a", "frame_b"):
            np.testing.assert_array_equal(getattr(j, name), getattr(k, name))


def test_save_and_load(run: Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    again = Trajectory.load(str(path))
    assert os.listdir(tmp_path) == ["run.npz"]
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name), err_msg=name)
    assert again.dt == run.dt
    assert again.status == run.status
    with np.load(path, allow_pickle=False) as file:
        assert int(file["format"]) == files.FORMAT
    assert_same_mechanism(again.mechanism, run.mechanism)
    np.testing.assert_array_equal(again.joint("socket").force, run.joint("socket").force)

    # and it can be simulated on, bit by bit
    more, expected = (Simulator(r.mechanism, 0.01).run(steps=5, state=r[-1]) for r in (again, run))
    np.testing.assert_array_equal(more.position, expected.position)


def test_failed_run_and_odd_names_survive(tmp_path: Path) -> None:
    m = scenes.pendulum(10, angle=np.pi / 2)
    with pytest.raises(SimulationError) as caught:
        Simulator(m, 0.01, rescue=False).run(10.0)
    caught.value.trajectory.save(tmp_path / "failed")
    assert Trajectory.load(tmp_path / "failed").status == caught.value.status

    odd = Mechanism()
    odd.add_body("Bügel 1/2 é", sphere(0.1, mass=1.0))
    short = Simulator(odd, 0.01).run(steps=2)
    short.save(tmp_path / "odd.npz")
    assert list(Trajectory.load(tmp_path / "odd.npz").mechanism.bodies) == ["Bügel 1/2 é"]


def test_saving_replaces_all_or_nothing(run: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.npz"
    run[:3].save(path)
    before = path.read_bytes()

    def full_disk(file: object, **arrays: object) -> None:
        file.write(b"half of it")  # type: ignore[attr-defined]
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full_disk)
        with pytest.raises(OSError, match="No space left"):
            run.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.npz"]
    run.save(path)
    assert len(Trajectory.load(path)) == len(run)


def test_missing_places() -> None:
    with pytest.raises(FileNotFoundError):
        Trajectory.load("/nowhere/run.npz")
    with pytest.raises(FileNotFoundError):
        Simulator(scenes.pendulum(1), 0.01).run(steps=1).save("/nowhere/run.npz")


def rewritten(path: Path, **changes: object) -> None:
    """Write the file again with some arrays changed, or dropped where None."""
    with np.load(path) as file:
        contents = dict(file)
    contents |= {name: np.asarray(value) for name, value in changes.items() if value is not None}
    np.savez(path, **{name: value for name, value in contents.items() if changes.get(name, 0) is not None})


@pytest.mark.parametrize("damage", ["text", "empty", "truncated", "flipped", "foreign", "npy", "pickle", "folder"])
def test_broken_and_foreign_files(run: Trajectory, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    if damage == "text":
        path.write_text("time,x,y\n0,1,2\n")
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "truncated":
        path.write_bytes(whole[:middle])
    elif damage == "flipped":
        path.write_bytes(whole[:middle] + bytes(b ^ 255 for b in whole[middle : middle + 64]) + whole[middle + 64 :])
    elif damage == "foreign":
        np.savez(path, position=run.position, time=run.time)
    elif damage == "npy":
        with path.open("wb") as file:
            np.save(file, run.position)
    elif damage == "pickle":
        path.write_bytes(pickle.dumps({"mark": "catena trajectory"}))
    else:
        path.unlink()
        path.mkdir()
    with pytest.raises(ValueError, match=r"run\.npz: "):
        Trajectory.load(path)


@pytest.mark.parametrize(
    "name", ["position", "multipliers", "body_name", "joint_frames", "dt", "shape_kind", "status_ok"]
)
def test_incomplete_files(run: Trajectory, tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    rewritten(path, **{name: None})
    with pytest.raises(ValueError, match=rf"run\.npz: incomplete, {name} missing"):
        Trajectory.load(path)


@pytest.mark.parametrize(
    "changes",
    [{"position": np.zeros((51, 4, 3))}, {"velocity": np.zeros((7, 5, 3))}, {"joint_kind": np.array(["Magic"] * 5)}],
    ids=["bodies", "steps", "joints"],
)
def test_inconsistent_files(run: Trajectory, tmp_path: Path, changes: dict) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    rewritten(path, **changes)
    with pytest.raises(ValueError, match=r"run\.npz: "):
        Trajectory.load(path)


def test_newer_format(run: Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    rewritten(path, format=files.FORMAT + 1)
    with pytest.raises(ValueError, match=r"run\.npz: has format 3, this catena reads format 2"):
        Trajectory.load(path)


def test_files_hold_no_code(run: Trajectory, tmp_path: Path) -> None:
    """Nothing pickled: a file from a stranger is safe to open."""
    path = tmp_path / "run.npz"
    run.save(path)
    with zipfile.ZipFile(path) as file:
        assert all(b"|O" not in file.read(name)[:128] for name in file.namelist())
    rewritten(path, body_name=np.array([{"evil": 1}] * 5, dtype=object))
    with pytest.raises(ValueError, match=r"run\.npz: "):
        Trajectory.load(path)
