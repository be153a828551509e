"""Bad input to simulators and runs: one clear ValueError each, before anything is computed."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

import catena
from catena import Load, Mechanism, Revolute, Simulator, State, scenes, sphere
from catena._util import memory

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

STEPS = 4


@pytest.fixture
def pendulum() -> Mechanism:
    return scenes.pendulum(2)


def two_links(first: str = "link1") -> Mechanism:
    m = Mechanism()
    m.add_body(first, sphere(0.1, mass=1.0))
    m.add_body("link2", sphere(0.1, mass=1.0))
    return m


# ---- making a simulator


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dt": 0.0}, "dt must be a positive number, got 0"),
        ({"dt": -0.01}, "dt must be a positive number, got -0.01"),
        ({"dt": nan}, "dt must be a positive number, got nan"),
        ({"dt": inf}, "dt must be a positive number, got inf"),
        ({"tolerance": 0.0}, "tolerance must be a positive number"),
        ({"tolerance": nan}, "tolerance must be a positive number"),
        ({"solver": "magic"}, "solver must be one of .*'articulated', 'ldu', 'dense', got 'magic'"),
        ({"solver": None}, "solver must be one of .*, got None"),
        ({"on_failure": "ignore"}, "on_failure must be one of 'raise', 'stop', got 'ignore'"),
        ({"max_iterations": 0}, "max_iterations must be a whole number, at least 1, got 0"),
        ({"max_iterations": 2.5}, "max_iterations must be a whole number"),
        ({"max_iterations": nan}, "max_iterations must be a whole number"),
        ({"kernel": "abacus"}, "this machine has no kernel 'abacus', only: "),
    ],
)
def test_bad_simulator(pendulum: Mechanism, change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Simulator(pendulum, **{"dt": 0.01} | change)


@pytest.mark.parametrize("dt", ["0.01", (0.01, 0.02)])
def test_dt_is_a_number(pendulum: Mechanism, dt: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        Simulator(pendulum, dt)  # type: ignore[arg-type]


def test_the_names_of_all_kernels_are_told(pendulum: Mechanism) -> None:
    with pytest.raises(ValueError, match=", ".join(catena.info()["kernels"])):
        Simulator(pendulum, 0.01, kernel="abacus")


def test_nothing_to_simulate() -> None:
    with pytest.raises(ValueError, match="the mechanism has no bodies"):
        Simulator(Mechanism(), 0.01)


# ---- how long


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give exactly one of duration and steps"),
        ({"duration": 1.0, "steps": 10}, "give exactly one of duration and steps"),
        ({"duration": -1.0}, "duration must be a finite number of seconds, not negative"),
        ({"duration": nan}, "duration must be a finite number of seconds"),
        ({"duration": inf}, "duration must be a finite number of seconds"),
        ({"steps": -1}, "steps must be a whole number, at least 0, got -1"),
        ({"steps": 1.5}, "steps must be a whole number"),
        ({"steps": nan}, "steps must be a whole number"),
        ({"steps": inf}, "steps must be a whole number"),
        ({"steps": 1, "record_every": 0}, "record_every must be a whole number, at least 1"),
        ({"steps": 1, "record_every": -3}, "record_every must be a whole number"),
    ],
)
def test_bad_length(pendulum: Mechanism, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Simulator(pendulum, 0.01).run(**arguments)


def test_a_state_is_no_duration(pendulum: Mechanism) -> None:
    with pytest.raises(ValueError, match=r"given by name: run\(duration, state=...\)"):
        Simulator(pendulum, 0.01).run(pendulum.state())  # type: ignore[arg-type]


def test_more_than_memory_holds(pendulum: Mechanism) -> None:
    with pytest.raises(ValueError, match=r"needs \d+\.\d GiB, but only \d+\.\d GiB are free; raise record_every"):
        Simulator(pendulum, 0.01).run(steps=10**14)


def test_more_than_is_free(pendulum: Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same question for a run and for a batch, before anything is taken."""
    monkeypatch.setattr(memory, "_free", lambda: 2**27)
    sim = Simulator(pendulum, 0.01)
    message = r"needs \d+\.\d GiB, but only 0\.1 GiB are free; raise record_every"
    with pytest.raises(ValueError, match=f"recording 1000001 nodes of .*{message}"):
        sim.run(steps=10**6)
    with pytest.raises(ValueError, match=f"recording 1000 members x 1001 nodes x .*{message}"):
        sim.run_batch(states=1000, steps=1000)
    assert sim.run(steps=10**3, record_every=100).status.ok


# ---- where from


def refuse(mechanism: Mechanism, state: State, message: str, dt: float = 0.01) -> None:
    with pytest.raises(ValueError, match=message):
        Simulator(mechanism, dt).run(steps=STEPS, state=state)


@pytest.mark.parametrize("name", ["position", "orientation", "velocity", "angular_velocity"])
@pytest.mark.parametrize("value", [nan, inf])
def test_smuggled_numbers(pendulum: Mechanism, name: str, value: float) -> None:
    """Writing into an array is not checked; using the state is."""
    state = pendulum.state()
    getattr(state, name)[1, 2] = value
    refuse(pendulum, state, f"state: {name} must be finite")


def test_smuggled_time(pendulum: Mechanism) -> None:
    state = pendulum.state()
    with pytest.raises(ValueError, match="state: time must be finite"):
        state.time = nan
    assert state.time == 0.0


def test_smuggled_quaternion(pendulum: Mechanism) -> None:
    state = pendulum.state()
    state.orientation[0] *= 2
    refuse(pendulum, state, "state: orientation must be a unit quaternion")


def test_state_of_another_mechanism(pendulum: Mechanism) -> None:
    refuse(pendulum, scenes.pendulum(3).state(), "the state belongs to another mechanism")
    refuse(pendulum, two_links("other").state(), "the state belongs to another mechanism")

    # same names, other joints: it is the poses that tell
    refuse(pendulum, two_links().state(), "not closed: revolute joint 'joint")


def test_open_joint(pendulum: Mechanism) -> None:
    state = pendulum.state()
    state.position[1] += (0, 1e-3, 0)
    refuse(pendulum, state, "the initial state is not closed: revolute joint 'joint2' stays open by 0.001 m")


def test_misaligned_joint() -> None:
    m = two_links()
    m.add_joint(Revolute(m.world, "link1", axis=(0, 0, 1), at=(0, 0, 0), name="hinge"))
    state = m.state()
    state.orientation[0] = (np.cos(5e-4), np.sin(5e-4), 0, 0)
    refuse(m, state, "the initial state is not closed: revolute joint 'hinge' stays open by 0 m, 0.001 rad")


def test_nearly_closed_joint_is_closed(pendulum: Mechanism) -> None:
    """Six digits, as read from a file, are enough; the caller's state stays as it is."""
    state = pendulum.state()
    state.position[1] += (1e-7, 2e-7, 0)
    given = state.position.copy()
    run = Simulator(pendulum, 0.01).run(steps=STEPS, state=state)
    assert run.drift()[0].max() < 1e-12
    np.testing.assert_allclose(run.position[0], given, rtol=0, atol=3e-7)
    np.testing.assert_array_equal(state.position, given)


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_too_fast_for_dt(solver: str) -> None:
    m = scenes.free_body(angular_velocity=(0, 0, 199.0))
    with pytest.raises(ValueError, match=r"body 'body' rotates by \|w\| dt = 2\.09 rad in a step; it must be below 2"):
        Simulator(m, 0.0105, solver=solver, rescue=False).run(steps=STEPS)
    with pytest.raises(ValueError, match=r"\|w\| dt = 2 rad"):
        Simulator(scenes.free_body(angular_velocity=(0, 0, 2.0)), 1.0, solver=solver, rescue=False).run(steps=STEPS)
    # where steps may be halved they are
    assert Simulator(m, 0.0105, solver=solver).run(steps=3).halved_count == 3


def test_bad_state_leaves_the_simulator_usable(pendulum: Mechanism) -> None:
    simulator = Simulator(pendulum, 0.01)
    good = simulator.run(steps=STEPS)
    state = pendulum.state()
    state.position[0, 0] = nan
    with pytest.raises(ValueError, match="finite"):
        simulator.run(steps=STEPS, state=state)
    np.testing.assert_array_equal(simulator.run(steps=STEPS).position, good.position)


# ---- forces, given or returned by a control

BAD_FORCES: list[tuple[object, str]] = [
    ({"nobody": (0, 0, 1)}, "force: there is no body called 'nobody'"),
    ({"world": (0, 0, 1)}, "force: there is no body called 'world': 'world' is the world, not a body"),
    ({"link1": (0, 1)}, r"force on body 'link1' must be a force \(3,\) .*got shape \(2,\)"),
    ({"link1": 5.0}, r"force on body 'link1' must be a force \(3,\) .*got shape \(\)"),
    ({"link1": np.zeros((1, 1, 3))}, r"force on body 'link1' must be .*got shape \(1, 1, 3\)"),
    ({"link1": (0, nan, 1)}, "force on body 'link1' must be finite"),
    ({"link1": (0, 0, 1, 0, inf, 0)}, "torque on body 'link1' must be finite"),
    ({"link1": "up"}, "force on body 'link1'"),
    ({"link1": Load(force=(1, 2))}, r"force on body 'link1' must have shape \(3,\), got \(2,\)"),
    ({"link1": Load(force=(1, nan, 2))}, "force on body 'link1' must be finite"),
    ({"link1": Load(torque=(1, 2))}, r"torque on body 'link1' must have shape \(3,\)"),
    ({"link1": Load(force=1.0)}, "force on body 'link1' must have shape"),
    ({"link1": Load(at=(0, 0))}, r"force on body 'link1': at must have shape \(3,\)"),
    ({"link1": Load(at=(0, 0, nan))}, "force on body 'link1': at must be finite"),
    ({"link1": Load(frame="moon")}, "force on body 'link1': frame must be 'world' or 'body', got 'moon'"),  # type: ignore[arg-type]
    (np.zeros((3, 3)), r"forces must have shape \(2, 3\).*got \(3, 3\)"),
    (np.zeros((2, 4)), r"forces must have shape \(2, 3\).*got \(2, 4\)"),
    (np.zeros(3), r"forces must have shape .*got \(3,\)"),
    (np.full((2, 3), nan), "force on body 'link1' must be finite"),
    ("push", "forces? "),
]


@pytest.mark.parametrize(("forces", "message"), BAD_FORCES, ids=range(len(BAD_FORCES)))
def test_bad_force(pendulum: Mechanism, forces: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Simulator(pendulum, 0.01).run(steps=STEPS, loads=forces)  # type: ignore[arg-type]


@pytest.mark.parametrize(("forces", "message"), BAD_FORCES, ids=range(len(BAD_FORCES)))
def test_bad_control(pendulum: Mechanism, forces: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Simulator(pendulum, 0.01).run(steps=STEPS, control=lambda t, state: forces)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("rows", [0, 1, STEPS - 1, STEPS + 2])
@pytest.mark.parametrize(
    "make",
    [
        lambda rows: {"link1": np.zeros((rows, 3))},
        lambda rows: {"link1": np.zeros((rows, 6))},
        lambda rows: {"link1": Load(torque=np.zeros((rows, 3)))},
        lambda rows: np.zeros((rows, 2, 3)),
    ],
    ids=["force", "force and torque", "load", "all bodies"],
)
def test_rows_must_fit_the_steps(pendulum: Mechanism, make: Callable[[int], object], rows: int) -> None:
    with pytest.raises(ValueError, match=r"on body 'link1' must have shape \(5, 3\)"):
        Simulator(pendulum, 0.01).run(steps=STEPS, loads=make(rows))  # type: ignore[arg-type]


def test_rows_are_not_for_a_control(pendulum: Mechanism) -> None:
    with pytest.raises(ValueError, match=r"force on body 'link1' must have shape \(3,\) here, got \(5, 3\)"):
        Simulator(pendulum, 0.01).run(steps=STEPS, control=lambda t, state: {"link1": np.zeros((5, 3))})


# ---- what is meant is understood, and told in short


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, lambda value: np.array(value, dtype=np.float32)])
def test_a_number_of_less_precision_is_the_decimal_it_stands_for(kind: Callable[[float], float]) -> None:
    simulator = Simulator(scenes.pendulum(1), kind(0.01))
    assert simulator.dt == 0.01
    assert len(simulator.run(1.0)) == 101
    assert len(Simulator(scenes.pendulum(1), 0.01).run(kind(0.3))) == 31


TABLE = np.sin(np.linspace(0, 1, 1000))


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: catena.PrescribedMotion("joint1", TABLE), "an array of shape (1000,)"),
        (lambda: catena.PrescribedMotion("joint1", (TABLE, TABLE)), "a tuple of 2"),
        (lambda: catena.PrescribedMotion("joint1", list(TABLE)), "a list of 1000"),
        (lambda: catena.Motor("joint1", TABLE), "an array of shape (1000,)"),
        (lambda: catena.Servo("joint1", kp=1.0, target=list(TABLE)), "a list of 1000"),
        (lambda: Simulator(scenes.pendulum(1), TABLE), "an array of shape (1000,)"),
        (lambda: Mechanism(gravity={"x": TABLE}), "a dict of 1"),
    ],
)
def test_errors_do_not_print_tables(make: Callable[[], object], what: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"got {what}") + "$"):
        make()


def test_a_mechanism_without_bodies() -> None:
    for ask in (Mechanism().assemble, Mechanism().report, lambda: Simulator(Mechanism(), 0.01)):
        with pytest.raises(ValueError, match="the mechanism has no bodies"):
            ask()


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.npz.gz"])
def test_a_run_is_saved_as_what_it_is(name: str, pendulum: Mechanism, tmp_path: Path) -> None:
    run = Simulator(pendulum, 0.01).run(steps=1)
    with pytest.raises(ValueError, match=r"a run is saved as \.npz"):
        run.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_no_traces_are_none(pendulum: Mechanism, tmp_path: Path) -> None:
    run = Simulator(pendulum, 0.01).run(steps=5)
    with_none, with_empty = (run.save_html(tmp_path / name, traces=t) for name, t in (("a", None), ("b", ())))
    assert with_none.read_bytes() == with_empty.read_bytes()
