"""Trajectories in files: all comes back, an old file is never lost, a bad one is told by its name."""

from __future__ import annotations

import json
import os
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from time import thread_time

import numpy as np
import pytest

import catena
from catena import Custom, Mechanism, Revolute, Servo, SimulationError, Simulator, Spring, Trajectory, scenes, sphere
from catena.compile.row_selection import select_all
from catena.io import trajectory_file as files
from catena.io.document import FORMAT
from catena.kinematics.nodes import Nodes
from laws import ARRAYS
from mechanisms import zoo


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


# ---- nothing is lost on the way


def full_run() -> Trajectory:
    """One that has all that a run can have."""
    m = scenes.pendulum(2)
    m.add_force(Servo("joint2", kp=5.0, kd=0.5, name="knee"))

    def control(t: float, live: catena.Live) -> dict[str, tuple[float, float, float]]:
        live.set(knee=t)
        return {"link1": (0.0, 0.1, 0.0)}

    events = [catena.Event(lambda s: s.joint("joint1").rate), catena.Event(lambda s: s.position[1, 1], direction=-1)]
    simulator = Simulator(m, 0.01, on_inaccurate="ignore")
    return replace_error(simulator.run(4.0, control=control, events=events, increments=True, checkpoints=True))


def replace_error(run: Trajectory) -> Trajectory:
    """With an estimate, and a sentence on it, as if it had been asked for, and rows of its own."""
    selection = select_all(run.mechanism, run.mechanism.loop_tolerance)
    error = np.zeros(len(run.substeps))
    return Trajectory(
        run.mechanism,
        run.nodes,
        replace(run.made, error=error, accuracy_warning="coarse", checked_error=1e-3, selection=selection),
    )


def assert_same(one: object, other: object, where: str) -> None:
    if is_dataclass(one):
        assert type(one) is type(other), where
        for each in fields(one):
            assert_same(getattr(one, each.name), getattr(other, each.name), f"{where}.{each.name}")
    elif isinstance(one, Mapping):
        assert list(one) == list(other), where
        for key in one:
            assert_same(one[key], other[key], f"{where}[{key}]")
    elif isinstance(one, catena.Occurrence):
        assert (one.event.direction, one.event.stop) == (other.event.direction, other.event.stop)
        assert_same(Nodes.of(one.state), Nodes.of(other.state), f"{where}.state")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for k, item in enumerate(one):
            assert_same(item, other[k], f"{where}[{k}]")
    else:
        np.testing.assert_array_equal(one, other, where)


def whole(run: Trajectory, tmp_path: Path) -> Trajectory:
    run.save(tmp_path / "run.npz")
    return Trajectory.load(tmp_path / "run.npz")


WAYS: dict[str, Callable[[Trajectory, Path], Trajectory]] = {
    "part": lambda run, _: run[:],
    "mask": lambda run, _: run[run.time >= 0],
    "file": whole,
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_lost(way: str, tmp_path: Path) -> None:
    run = full_run()
    absent = [f.name for part in (run.nodes, run.made) for f in fields(part) if getattr(part, f.name) is None]
    assert not absent
    assert len(run.events) > 2
    same = WAYS[way](run, tmp_path)
    assert_same(run.nodes, same.nodes, "nodes")
    assert_same(run.made, same.made, "made")
    assert repr(same) == repr(run)
    assert str(same.convergence(3)) == str(run.convergence(3))
    # one event that happened twice is one event
    assert [o.event is same.events[0].event for o in same.events] == [
        o.event is run.events[0].event for o in run.events
    ]


def test_events_go_on_from_a_file(tmp_path: Path) -> None:
    """Where one happened, a run goes on as it would have before it was written, and its function is gone."""
    run = full_run()
    read = whole(run, tmp_path)
    simulator = Simulator(run.mechanism, 0.01, on_inaccurate="ignore")
    one, other = (simulator.run(steps=20, state=r.events[1].state) for r in (run, read))
    np.testing.assert_array_equal(one.position, other.position)
    with pytest.raises(ValueError, match="functions are not written"):
        read.events[0].event.function(read[0])


def test_between_nodes_what_belongs_to_the_run_is_kept() -> None:
    run = full_run()
    times = np.array([0.005, 0.5, 1.999])
    part = run.at(times)
    assert_same(run.made, part.made, "made")
    before = np.searchsorted(run.time, times, side="right") - 1
    np.testing.assert_array_equal(part.inputs, run.inputs[before])
    np.testing.assert_array_equal(part.control, run.control[before])
    np.testing.assert_allclose(part.efforts[0], run.at(0.005).efforts, rtol=1e-12)
    assert part.efforts[2, 0] != pytest.approx(run.mechanism.state().efforts[0])


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
    with pytest.raises(ValueError, match=r"run\.npz: ") as error:
        Trajectory.load(path)
    assert "allow_pickle" not in str(error.value)


def reworded(path: Path, change: Callable[[dict], object]) -> None:
    """Write the file again with its document changed."""
    with np.load(path) as file:
        document = json.loads(file["document"].tobytes())
    change(document)
    rewritten(path, document=np.frombuffer(json.dumps(document).encode(), dtype=np.uint8))


@pytest.mark.parametrize("name", ["position", "multipliers", "counted", "iterations", "document"])
def test_incomplete_files(run: Trajectory, tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    rewritten(path, **{name: None})
    with pytest.raises(ValueError, match=rf"run\.npz: incomplete, {name} missing"):
        Trajectory.load(path)


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        (lambda d: d.pop("dt"), "the document has no dt"),
        (lambda d: d["status"].pop("ok"), "the status has no ok"),
        (lambda d: d["mechanism"]["bodies"][0].pop("name"), "a body has no name"),
        (lambda d: d["mechanism"]["joints"][0].pop("frames"), ".* joint .* has no frames"),
    ],
)
def test_incomplete_documents(run: Trajectory, tmp_path: Path, drop: Callable[[dict], object], message: str) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    reworded(path, drop)
    with pytest.raises(ValueError, match=rf"run\.npz: incomplete, {message}"):
        Trajectory.load(path)


@pytest.mark.parametrize(
    "changes", [{"position": np.zeros((51, 4, 3))}, {"velocity": np.zeros((7, 5, 3))}], ids=["bodies", "steps"]
)
def test_inconsistent_files(run: Trajectory, tmp_path: Path, changes: dict) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    rewritten(path, **changes)
    with pytest.raises(ValueError, match=r"run\.npz: "):
        Trajectory.load(path)


def test_unknown_kinds(run: Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    reworded(path, lambda d: d["mechanism"]["joints"][0].update(kind="Magic"))
    with pytest.raises(ValueError, match=r"run\.npz: joint .* there is no kind 'Magic'"):
        Trajectory.load(path)


def test_newer_format(run: Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    rewritten(path, format=files.FORMAT + 1)
    with pytest.raises(
        ValueError, match=rf"run\.npz: has format {files.FORMAT + 1}, this catena reads .* {files.FORMAT}"
    ):
        Trajectory.load(path)


def test_files_hold_no_code(run: Trajectory, tmp_path: Path) -> None:
    """Nothing pickled: a file from a stranger is safe to open."""
    path = tmp_path / "run.npz"
    run.save(path)
    with zipfile.ZipFile(path) as file:
        assert all(b"|O" not in file.read(name)[:128] for name in file.namelist())
    rewritten(path, document=np.array([{"evil": 1}] * 5, dtype=object))
    with pytest.raises(ValueError, match=r"run\.npz: "):
        Trajectory.load(path)


# ---- what a file says of itself


def test_a_run_says_how_it_was_computed(tmp_path: Path) -> None:
    sim = Simulator(scenes.pendulum(2), 0.02, order=4, solver="ldu", tolerance=1e-11)
    before = datetime.now(timezone.utc)
    run = sim.run(steps=3)
    assert run.info is not None
    # dates are in whole seconds
    assert before - timedelta(seconds=1) < datetime.fromisoformat(run.info.date) <= datetime.now(timezone.utc)
    assert (run.info.version, run.info.kernel) == (catena.__version__, sim.info()["kernel"])
    assert (run.info.solver, run.info.order, run.info.dt, run.info.tolerance) == ("ldu", 4, 0.02, 1e-11)
    run[1:].save(tmp_path / "run.npz")
    assert Trajectory.load(tmp_path / "run.npz").info == run.info
    assert sim.run_batch(states=2, steps=2)[1].info.solver == "ldu"


@pytest.mark.parametrize(
    "name", ["nul\0in it", "\0", "tail\0", "new\nline", "lone \ud800 half", "a" * 10_000, "ü \U0001f600"]
)
def test_any_name_survives(name: str, tmp_path: Path) -> None:
    m = Mechanism()
    m.add_body(name, sphere(0.1, mass=1.0))
    m.add_joint(Revolute(m.world, name, axis=(0, 1, 0), at=(0, 0, 0.5), name=f"{name}."))
    run = Simulator(m, 0.01).run(steps=2)
    run.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz").mechanism
    assert list(again.bodies) == [name]
    assert list(again.joints) == [f"{name}."]
    m.save(tmp_path / "m.json")
    assert list(Mechanism.load(tmp_path / "m.json").bodies) == [name]


def test_saving_and_loading_take_time_and_room_in_proportion(tmp_path: Path) -> None:
    """Four times the links: four times the seconds and bytes, with room for noise, not sixteen times."""
    cost = []
    for count in (200, 800):
        run = Simulator(scenes.pendulum(count), 0.01).run(steps=1)
        run.save(tmp_path / "run.npz")
        tries = []
        for _ in range(2):
            tracemalloc.start()
            started = thread_time()
            again = Trajectory.load(tmp_path / "run.npz")
            tries.append((thread_time() - started, tracemalloc.get_traced_memory()[1]))
            tracemalloc.stop()
        cost.append(min(tries))
        np.testing.assert_array_equal(again.position, run.position)
    assert cost[1][0] < 8 * cost[0][0]
    assert cost[1][1] < 6 * cost[0][1]


def test_members_of_a_batch_are_saved_without_reactions(tmp_path: Path) -> None:
    member = Simulator(scenes.pendulum(2), 0.01).run_batch(states=2, steps=3)[1]
    member.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.position, member.position)
    with pytest.raises(ValueError, match="reactions were not recorded"):
        _ = again.joint("joint1").force


def test_what_a_control_did_is_saved(tmp_path: Path) -> None:
    sim = Simulator(scenes.pendulum(2), 0.01)
    run = sim.run(steps=5, control=lambda t, state: {"link1": (0.0, 0.0, 1.0 + t)})
    run.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz")
    assert again.control is not None
    assert run.control is not None
    np.testing.assert_array_equal(again.control, run.control)
    assert run.control[-1].any()
    sim.run(steps=5).save(tmp_path / "free.npz")
    assert Trajectory.load(tmp_path / "free.npz").control is None
    rewritten(tmp_path / "run.npz", control=np.zeros((6, 2, 5)))
    with pytest.raises(ValueError, match=r"run\.npz: control must have shape \(6, 2, 6\)"):
        Trajectory.load(tmp_path / "run.npz")


# ---- mechanisms by themselves


def test_a_mechanism_is_a_readable_document(tmp_path: Path) -> None:
    m = zoo()
    m.loop_tolerance = 1e-4
    m.add_force(Spring("elbow", 3.0, damping=0.5, rest_length=0.1, name="spring"))
    m.add_force(Servo("rail", kp=2.0, kd=1.0, target=lambda t: t, effort_limit=4.0, name="servo"))
    path = tmp_path / "zoo.json"
    m.save(path)
    document = json.loads(path.read_text())
    assert (document["mark"], document["format"]) == ("catena mechanism", FORMAT)
    assert document["version"] == catena.__version__
    assert [body["name"] for body in document["bodies"]] == list(m.bodies)
    law = document["forces"][1]["parts"][0]["law"]
    assert law == {"kp": 2.0, "kd": 1.0, "effort_limit": 4.0, "target": "a function, not saved"}
    again = Mechanism.load(path)
    assert_same_mechanism(again, m)
    assert repr(again) == repr(m)
    assert again.loop_tolerance == 1e-4
    assert again.forces["spring"].parts[0].law == m.forces["spring"].parts[0].law
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == path.read_text()
    with pytest.raises(ValueError, match="servo 'servo': its function was not saved"):
        Simulator(again, 0.01).run(steps=1)


def test_functions_of_poses_are_said_to_be_missing(tmp_path: Path) -> None:
    m = Mechanism()
    m.add_body("bead", sphere(0.1, mass=1.0))
    m.add_joint(Custom(m.world, "bead", lambda a, b: b.position[:2], name="wire"))
    m.save(tmp_path / "bead.json")
    again = Mechanism.load(tmp_path / "bead.json")
    assert again.joints["wire"].row_count == 2
    with pytest.raises(ValueError, match="custom joint 'wire': its function was not saved"):
        Simulator(again, 0.01).run(steps=1)


def test_a_kind_of_the_users_own_is_refused(tmp_path: Path) -> None:
    class Hinge(Revolute):
        pass

    m = Mechanism()
    m.add_body("bob", sphere(0.1, mass=1.0))
    m.add_joint(Hinge(m.world, "bob", axis=(0, 1, 0), at=(0, 0, 1), name="h"))
    with pytest.raises(ValueError, match="'h' is of the user-defined class Hinge"):
        m.save(tmp_path / "m.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("text", [b"", b"{}", b"[1, 2]", b"[" * 100_000, b"\xff\xfe", b'{"mark": "catena mechanism"}'])
def test_broken_documents(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(text)
    with pytest.raises(ValueError, match=r"m\.json: "):
        Mechanism.load(tmp_path / "m.json")
    with pytest.raises(FileNotFoundError):
        Mechanism.load(tmp_path / "none.json")
    for path in (None, 3, "", "a\0b"):
        with pytest.raises(ValueError, match="path must be the name of a file"):
            Mechanism.load(path)  # type: ignore[arg-type]
