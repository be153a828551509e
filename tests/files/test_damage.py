"""Damaged files and hostile calls: a result, or a sentence; never an internal error, a crash or nonsense kept quiet."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from catena import (
    Custom,
    Distance,
    Gear,
    Limits,
    Mechanism,
    Motor,
    PointSpring,
    PrescribedMotion,
    Revolute,
    Screw,
    Servo,
    SimulationError,
    Simulator,
    Spring,
    State,
    Trajectory,
    Universal,
    VelocityRows,
    box,
    scenes,
    sphere,
)
from catena.io.rebuild import rebuild
from catena.io.serialize import describe
from damage import ODD_VALUES, damaged_array, damaged_document

# steps are coarse on purpose
# damage throws joints past their limits
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


def plant() -> Mechanism:
    """Joints, forces and couplings of many kinds, functions of time among them."""
    m = Mechanism()
    for k in range(4):
        m.add_body(f"b{k}", box((0.2, 0.3, 0.4), mass=1.0), position=(k, 0, 0), angular_velocity=(0, 0, 0.1))
    m.add_joint(Revolute(m.world, "b0", axis=(0, 0, 1), at=(0, 0, 0), name="h0"))
    m.add_joint(Revolute(m.world, "b1", axis=(0, 0, 1), at=(1, 0, 0), name="h1"))
    m.add_joint(Screw(m.world, "b2", axis=(0, 0, 1), pitch=0.1, at=(2, 0, 0), name="screw"))
    m.add_joint(Universal("b0", "b3", axes=((1, 0, 0), (0, 1, 0)), at=(3, 0, 0), name="cross"))
    m.add_joint(Distance("b2", "b3", points=((2, 0, 0.2), (3, 0, 0.2)), name="bar"))
    m.add_joint(Custom(m.world, "b1", lambda a, b: [b.position[2]], name="own"))
    m.add_coupling(Gear("h0", "h1", -1.0, name="gear"))
    m.add_force(Spring("h0", 2.0, damping=0.1, name="spring"))
    m.add_force(Servo("screw", kp=1.0, kd=0.1, effort_limit=5.0, name="servo"))
    m.add_force(PointSpring("b1", "b2", 3.0, points=((1, 0, 0.2), (2, 0, 0.2)), name="rope"))
    m.add_force(Motor("h1", lambda t: 0.1 * t, name="motor"))
    m.add_frame("tool", "b3", position=(0, 0, 0.2))
    m.bodies["b3"].add_shape("mesh", mesh="hook.stl", color=(1, 0, 0, 0.5), name="hook")
    m.world.add_shape("box", (3, 3, 0.1), position=(0, 0, -1), color=(0, 1, 0), name="floor", collides=True)
    m.joints["h0"].limits = Limits(-1.0, 1.0, effort=5.0)
    return m


def rods() -> Mechanism:
    m = scenes.four_bar()
    m.add_force(Spring(next(iter(m.joints)), 1.0))
    return m


SCENES: dict[str, Callable[[], Mechanism]] = {
    "chain": lambda: scenes.pendulum(3, joint="revolute"),
    "loop": rods,
    "plant": plant,
}


def use(run: Trajectory) -> None:
    """Everything a run can be asked, and simulating on."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        repr(run)
        for ask in (run.energy, run.momentum, run.angular_momentum, run.drift, run.misalignment, run.energy_error):
            spared(ask)
        for name in run.mechanism.joints:
            spared(lambda name=name: (run.joint(name).coordinates, run.joint(name).rates, run.joint(name).force))
        for name in run.mechanism.couplings:
            spared(lambda name=name: (run.coupling(name).gap, run.coupling(name).effort))
        spared(lambda: Simulator(run.mechanism, 0.01, max_iterations=10).run(steps=2, state=run[-1]))
        spared(lambda: Simulator(run.mechanism, 0.01, solver="ldu", max_iterations=10).run(steps=1))


def loaded(path: Path, done: str) -> Trajectory | None:
    """What a damaged file holds, used in every way, or None if it is refused."""
    try:
        with np.errstate(all="ignore"):
            run = Trajectory.load(path)
    except ValueError as error:
        sentence(error)
        if "run.npz: " not in str(error):
            raise AssertionError(f"{done}: the file is not named") from error
        return None
    use(run)
    return run


def spared(ask: Callable[[], object]) -> None:
    """Ask; a sentence is an answer."""
    try:
        ask()
    except (ValueError, SimulationError) as error:
        sentence(error)


def sentence(error: Exception) -> None:
    """See that an error speaks to the user: some words, and none of numpy's or Python's own complaints."""
    text = str(error)
    assert len(text.split()) >= 3, text
    for word in ("broadcast", "operand", "ambiguous", "object is not", "has no attribute", "tuple.index", "unhashable"):
        assert word not in text, text


@pytest.mark.parametrize("scene", SCENES)
def test_damaged_documents(scene: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    mechanism = SCENES[scene]()
    run = Simulator(mechanism, 0.01).run(steps=3)
    path = tmp_path / "run.npz"
    run.save(path)
    with np.load(path) as file:
        contents = dict(file)
    document = json.loads(contents["document"].tobytes())
    outcomes = {"read": 0, "refused": 0}
    for _ in range(120):
        changed, done = damaged_document(document, rng)
        text = np.frombuffer(json.dumps(changed).encode(), dtype=np.uint8)
        np.savez(path, **contents | {"document": text})
        found = loaded(path, done)
        outcomes["refused" if found is None else "read"] += 1
    # the damage is neither harmless nor always fatal
    assert min(outcomes.values()) > 5


@pytest.mark.parametrize("scene", SCENES)
def test_damaged_arrays(scene: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    run = Simulator(SCENES[scene](), 0.01).run(steps=3)
    path = tmp_path / "run.npz"
    run.save(path)
    with np.load(path) as file:
        contents = dict(file)
    for _ in range(80):
        name = list(contents)[rng.integers(len(contents))]
        changed, done = damaged_array(contents[name], rng)
        rest = {key: value for key, value in contents.items() if key != name}
        np.savez(path, **rest if changed is None else rest | {name: changed})
        loaded(path, f"{name}: {done}")


def test_damaged_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    path = tmp_path / "run.npz"
    Simulator(plant(), 0.01).run(steps=3).save(path)
    whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    for _ in range(120):
        broken = whole.copy()
        broken[rng.integers(len(broken), size=rng.integers(1, 20))] = rng.integers(256)
        path.write_bytes(broken[: rng.integers(len(broken))].tobytes() if rng.random() < 0.2 else broken.tobytes())
        loaded(path, "bytes")


# ---- the core's own door: what Python never hands over is refused all the same


def handed_over(changes: dict[str, Callable[[Any], Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the core of the plant with the arrays changed whose names begin with those given."""
    from catena import _core
    from catena.compile import compile as compiling

    real = _core.Core

    def core(**arrays: Any) -> Any:
        # where redundant rows are looked for there are no laws to damage
        damaged = {
            name: change(value)
            for prefix, change in changes.items()
            for name, value in arrays.items()
            if name.startswith(prefix) and np.size(value)
        }
        return real(**{**arrays, **damaged})

    monkeypatch.setattr(compiling._core, "Core", core)
    Simulator(plant(), 0.01)


def first(value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        # the search for redundant rows is handed no forces
        result = array.copy()
        result.reshape(-1)[:1] = value
        return result

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mass", first(-1.0)),
        ("mass", lambda a: a[:-1]),
        ("inertia", first(np.nan)),
        ("gravity", lambda a: a[:1]),
        ("joint_kind", first(99)),
        ("joint_kind", first(-5)),
        ("joint_kind", first(21)),
        ("joint_bodies", first(4)),
        ("joint_bodies", first(-2)),
        ("joint_bodies", lambda a: a.reshape(-1)),
        ("joint_anchors", first(np.inf)),
        ("joint_frames", lambda a: a[:-1]),
        ("joint_rows", lambda a: np.where(a == a[5], 7, a).astype(np.int32)),
        ("joint_signal", lambda a: np.full_like(a, 10**6)),
        ("joint_ground", lambda a: np.full_like(a, 10**6)),
        ("measure_kind", first(0)),
        ("measure_kind", first(10**6)),
        ("measure_kind", lambda a: a[:2]),
        ("measure_", lambda a: a[:2]),
        ("law_numbers", lambda a: a[:, :-1]),
        ("law_numbers", first(np.nan)),
        ("law_target", first(3)),
        ("law_coordinate", lambda a: a[:-1]),
        ("coupling_terms", first(7)),
        ("coupling_terms", first(0)),
        ("coupling_terms", first(-1)),
        ("coupling_terms", first(3)),
        ("term_coefficient", lambda a: a[:-1]),
        ("coupling_offset", lambda a: a[:0]),
        ("coupling_signal", first(1)),
        ("counter_ground", first(0)),
        ("signal_count", lambda n: -1),
        ("signal_count", lambda n: n - 1),
    ],
)
def test_the_core_checks_what_it_is_handed(name: str, change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+ \w+"):
        handed_over({name: change}, monkeypatch)


@pytest.mark.parametrize(
    ("struct", "name", "change"),
    [
        ("Settings", "order", lambda _: 3),
        ("Settings", "dt", lambda _: np.nan),
        ("Settings", "tolerance", lambda _: 0.0),
        ("Settings", "rescue_depth", lambda _: 31),
        ("Settings", "steps", lambda _: -1),
        ("Settings", "record_every", lambda _: 0),
        ("Start", "position", lambda a: a[:, :1]),
        ("Start", "orientation", lambda a: a[0]),
        ("Start", "velocity", first(np.nan)),
        ("Start", "angular_velocity", lambda a: a[..., :2]),
        ("Start", "counter_start", lambda a: a[:, :1]),
        ("Start", "law_start", lambda a: np.zeros((1, 1))),
        ("LoadArrays", "body", first(2)),
        ("LoadArrays", "point", lambda a: a[:-1]),
        ("LoadArrays", "signal", first(0)),
        ("LoadArrays", "values", lambda a: a[0]),
        ("LoadArrays", "values", lambda a: np.repeat(a, 3, axis=0)),
        ("LoadArrays", "values", lambda a: np.repeat(a, 2, axis=1)),
        ("MemberArrays", "mass", first(0.0)),
        ("MemberArrays", "inertia", lambda a: a[:1]),
    ],
)
def test_the_core_checks_what_a_run_is_handed(
    struct: str, name: str, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from catena import _core

    sim = Simulator(scenes.pendulum(2), 0.01)
    real = getattr(_core, struct)
    monkeypatch.setattr(_core, struct, lambda **given: real(**given | {name: change(given[name])}))
    calls = {"MemberArrays": lambda: sim.run_batch(states=2, steps=2, masses={"link1": (1.0, 2.0)})}
    with pytest.raises(ValueError, match=r"\w+ \w+ \w+"):
        calls.get(struct, lambda: sim.run(steps=2, loads={"link1": (1.0, 0, 0)}))()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("time", lambda a: a[:, :1]),
        ("position", lambda a: a[:, :, :1]),
        ("counted", lambda a: a[0]),
        ("iterations", lambda a: a[:, :1]),
    ],
)
def test_the_core_checks_where_a_batch_is_recorded(name: str, change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sim = Simulator(scenes.pendulum(2), 0.01)
    core = sim.plan.core

    class Handed:
        def __getattr__(self, other: str) -> Any:
            return getattr(core, other)

        def run_batch(self, *, records: dict[str, Any], **more: Any) -> Any:
            return core.run_batch(records=records | {name: change(records[name])}, **more)

    monkeypatch.setitem(vars(sim.plan.compiled), "core", Handed())
    with pytest.raises(ValueError, match=r"\w+ \w+ \w+"):
        sim.run_batch(states=2, steps=2)


def test_the_core_checks_the_block_it_writes_into() -> None:
    live = Simulator(scenes.pendulum(2), 0.01).start()
    for block in (np.empty(live._room(False) - 1), np.empty((2, live._room(False)))):
        with pytest.raises(ValueError, match="block that a run is written into"):
            live._run(block)


@pytest.mark.parametrize("scene", SCENES)
def test_damaged_continuations(scene: str) -> None:
    """What the core is to go on from may come from a file: it is refused, or the run goes on or fails, and no more."""
    from catena.kinematics.nodes import Checkpoints

    rng = np.random.default_rng(3)
    sim = Simulator(SCENES[scene](), 0.01, on_failure="stop")
    run = sim.run(steps=3)
    assert run.checkpoints is not None
    refused = 0
    for _ in range(60):
        numbers = run.checkpoints.numbers.copy()
        where = rng.integers(numbers.size, size=rng.integers(1, 4))
        numbers[0, where] = rng.choice([-1.0, 0.0, 0.5, 7.0, 1e6, -1e15, 1e300], size=where.size)
        nodes = replace(run.nodes, checkpoints=Checkpoints(numbers, run.checkpoints.key))
        damaged = Trajectory(run.mechanism, nodes, run.made)
        try:
            sim.run(steps=3, state=damaged[-1])
        except ValueError:
            refused += 1
    assert refused > 0


# ---- hostile calls


def sims() -> tuple[Simulator, State]:
    sim = Simulator(scenes.pendulum(2), 0.01, on_failure="stop")
    return sim, sim.mechanism.state()


OBJECTS: list[Any] = [
    *ODD_VALUES,
    np.array([1.0, np.nan]),
    np.array("x"),
    np.zeros((2, 3)),
    object(),
    len,
    lambda *_: None,
    lambda *_: "x",
    (1, 2, 3),
    b"bytes",
    1j,
    {1: 2},
    {"link1": None},
    {"link1": "x"},
    {"link1": (1, 2)},
    {"nobody": (1, 2, 3)},
    Mechanism,
]

CALLS: dict[str, Callable[[Any], object]] = {
    "mechanism": lambda x: Simulator(x, 0.01),
    **{
        name: lambda x, name=name: Simulator(scenes.pendulum(2), **{"dt": 0.01} | {name: x})
        for name in ("dt", "solver", "order", "tolerance", "max_iterations", "rescue", "on_failure", "kernel")
    },
    "duration": lambda x: sims()[0].run(x),
    **{
        f"run {name}": lambda x, name=name: sims()[0].run(**{"steps": 1} | {name: x})
        for name in ("steps", "state", "loads", "record_every", "progress")
    },
    "step state": lambda x: sims()[0].step(x),
    "step force": lambda x: sims()[0].step(loads=x),
    "states": lambda x: sims()[0].run_batch(states=x, steps=1),
    **{
        f"batch {name}": lambda x, name=name: sims()[0].run_batch(states=2, **{"steps": 1} | {name: x})
        for name in (
            *(
                "steps",
                "duration",
                "loads",
                "masses",
                "inertias",
                "gravity",
                "force_parameters",
                "threads",
                "record_every",
            ),
            *("record_every", "bodies", "out", "progress"),
        )
    },
    "masses of a body": lambda x: sims()[0].run_batch(states=2, steps=1, masses={"link1": x}),
    "inertias of a body": lambda x: sims()[0].run_batch(states=2, steps=1, inertias={"link1": x}),
    "forces of members": lambda x: sims()[0].run_batch(states=2, steps=1, loads=[x, x]),
    "arrays of a batch": lambda x: sims()[0].run_batch(states=2, steps=1, out={"position": x}),
    "member": lambda x: sims()[0].run_batch(states=2, steps=1)[x],
    "joint of a batch": lambda x: sims()[0].run_batch(states=2, steps=1).joint(x),
    "turned": lambda x: sims()[0].run(steps=1, state=turned(x)),
    "load": lambda x: Trajectory.load(x),
    "load mechanism": lambda x: Mechanism.load(x),
    "rebuild": lambda x: rebuild(x),
    **{
        f"custom {name}": lambda x, name=name: custom(**{"gap": lambda a, b: b.position[:1]} | {name: x})
        for name in ("gap", "jacobian", "name")
    },
    "custom rows": lambda x: custom(gap=lambda a, b: x),
    "custom jacobian rows": lambda x: custom(gap=lambda a, b: b.position[:1], jacobian=lambda a, b: x),
    **{
        f"velocity {name}": lambda x, name=name: velocity(**{"rows": lambda a, b: np.eye(12)[6]} | {name: x})
        for name in ("rows", "value", "name")
    },
    "velocity rows of": lambda x: velocity(rows=lambda a, b: x),
    "function of time": lambda x: driven(lambda t: x),
}


def turned(x: Any) -> State:
    state = sims()[1]
    state.turned["joint1"] = x
    return state


def custom(**given: Any) -> None:
    m = Mechanism()
    m.add_body("ball", sphere(0.1, mass=1.0))
    m.add_joint(Custom(m.world, "ball", **given))
    Simulator(m, 0.01).run(steps=1)


def velocity(**given: Any) -> None:
    m = Mechanism()
    m.add_body("ball", sphere(0.1, mass=1.0))
    m.add_joint(VelocityRows(m.world, "ball", **given))
    Simulator(m, 0.01).run(steps=1)


def driven(function: Any) -> None:
    m = scenes.pendulum(1)
    m.add_coupling(PrescribedMotion(next(iter(m.joints)), function))
    Simulator(m, 0.01).run(steps=1)


# what the user's own function raises when it is called is the user's
FUNCTIONS = ("run progress", "batch progress", "custom gap", "custom jacobian", "velocity rows", "velocity value")


@pytest.mark.parametrize("call", CALLS)
def test_hostile_calls(call: str) -> None:
    for value in OBJECTS:
        if callable(value) and call in FUNCTIONS:
            continue
        with np.errstate(all="ignore"):
            try:
                CALLS[call](value)
            except (FileNotFoundError, IsADirectoryError, SimulationError):
                pass
            except IndexError:
                # a member that is not there
                if call != "member":
                    raise
            except ValueError as error:
                sentence(error)


@pytest.mark.parametrize("kind", ["Servo", "Motor", "Spring", "Bushing"])
def test_forces_without_parts_are_refused(kind: str) -> None:
    m = scenes.pendulum(2)
    m.add_force(Servo("joint1", kp=1.0, kd=0.1, name="servo"))
    document = describe(m)
    document["forces"][0] |= {"kind": kind, "parts": []}
    with pytest.raises(ValueError, match="'servo': consists of no parts"):
        rebuild(document)


@pytest.mark.parametrize("kind", ["Servo", "Motor", "Spring"])
def test_forces_of_joints_act_along_joints(kind: str) -> None:
    m = scenes.pendulum(2)
    m.add_force(PointSpring("world", "link2", 1.0, points=((0, 0, 0), (0, 1, 0)), name="string"))
    document = describe(m)
    assert list(rebuild(document).forces) == ["string"]
    document["forces"][0]["kind"] = kind
    with pytest.raises(ValueError, match="'string': acts along no joint"):
        rebuild(document)
