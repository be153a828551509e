"""Trajectories: reading, what a run records, and that a run is always the same."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest

from catena import (
    Ball,
    BodyReader,
    BodyView,
    ConstantVelocity,
    Custom,
    Distance,
    Joint,
    JointReader,
    JointView,
    Mechanism,
    Motor,
    PointOnLine,
    PrescribedMotion,
    Prismatic,
    Revolute,
    RollingDisk,
    Screw,
    Simulator,
    Trajectory,
    Universal,
    box,
    cylinder,
    scenes,
)
from catena._util import rotation as rot
from catena.results.trajectory import single_node
from laws import ARRAYS
from mechanisms import zoo

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


@pytest.fixture(scope="module")
def run() -> Trajectory:
    return Simulator(zoo(), 0.01).run(0.5)


# ---- reading


def test_shapes(run: Trajectory) -> None:
    assert len(run) == 51
    assert run.time.shape == (51,)
    assert run.position.shape == run.velocity.shape == run.angular_velocity.shape == (51, 5, 3)
    assert run.orientation.shape == (51, 5, 4)
    assert run.multipliers.shape == (51, 5 + 5 + 3 + 6)
    assert len(run.iterations) == len(run.substeps) == 50
    np.testing.assert_allclose(run.time, 0.01 * np.arange(51), rtol=0, atol=1e-14)
    assert run.energy().shape == run.kinetic_energy().shape == (51,)
    assert run.momentum().shape == run.angular_momentum().shape == (51, 3)
    assert run.drift().shape == run.misalignment().shape == (51, 5)
    assert repr(run).startswith("Trajectory(5 bodies, 51 nodes, 0 to 0.5 s, sum of step errors ")


def test_nodes_are_states(run: Trajectory) -> None:
    state = run[-1]
    assert state.time == run.time[-1]
    np.testing.assert_array_equal(state.position, run.position[-1])
    np.testing.assert_array_equal(state.multipliers, run.multipliers[-1])
    assert [s.time for s in run] == list(run.time)
    with pytest.raises(IndexError):
        run[51]

    # a node is a copy
    state.position[0] = 5
    assert run.position[-1, 0, 0] != 5


def test_slices_are_trajectories(run: Trajectory) -> None:
    part = run[10:31:5]
    assert isinstance(part, Trajectory)
    assert len(part) == 5
    np.testing.assert_array_equal(part.time, run.time[10:31:5])
    np.testing.assert_array_equal(part.energy(), run.energy()[10:31:5])
    np.testing.assert_array_equal(part.joint("elbow").force, run.joint("elbow").force[10:31:5])
    assert part.halved_count == run.halved_count
    early = run[run.time < run.time[20]]
    np.testing.assert_array_equal(early.position, run.position[:20])
    np.testing.assert_array_equal(early[-1].velocity, run[19].velocity)
    for key in (1.5, [1, 2], run.time[:2] < 1, None):
        with pytest.raises(TypeError, match=r"a trajectory is indexed by node, as in run\[-1\]"):
            run[key]  # type: ignore[call-overload]
    assert len(run[:0]) == 0
    assert repr(run[:0]) == "Trajectory(5 bodies, 0 nodes, empty)"


def test_names(run: Trajectory) -> None:
    for k, name in enumerate(run.mechanism.bodies):
        assert run.row(name) == k
        np.testing.assert_array_equal(run.body(name).position, run.position[:, k])
    tip = run.body("arm").point((0.0, 0.0, 0.5))
    for k, state in enumerate(run):
        body = state.body("arm")
        np.testing.assert_allclose(tip[k], body.point((0, 0, 0.5)), rtol=0, atol=1e-15)
        speed = run.body("arm").point_velocity((0.0, 0.0, 0.5))[k]
        np.testing.assert_allclose(speed, body.point_velocity((0, 0, 0.5)), rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match="no body called 'leg' in this trajectory"):
        run.body("leg")
    with pytest.raises(ValueError, match="no joint called 'knee' in this trajectory"):
        run.joint("knee")


@pytest.mark.parametrize("name", ["rail", "elbow", "socket", "glue", "air"])
def test_joint_histories_are_those_of_the_states(run: Trajectory, name: str) -> None:
    history = run.joint(name)
    for k, state in enumerate(run):
        joint = state.joint(name)
        np.testing.assert_allclose(history.coordinates[k], joint.coordinates, rtol=0, atol=1e-13)
        np.testing.assert_allclose(history.rates[k], joint.rates, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(history.gap, run.drift()[:, list(run.mechanism.joints).index(name)])
    if history.coordinates.size:
        assert np.ptp(history.coordinates, axis=0).max() > 0.05


# ---- what a run records


HOW: dict[str, Callable[[], Joint]] = {
    "revolute": lambda: Revolute("a", "b", axis=(0, 1, 0), at=(0, 0, 0)),
    "prismatic": lambda: Prismatic("a", "b", axis=(0, 1, 0), at=(0, 0, 0)),
    "screw": lambda: Screw("a", "b", axis=(0, 1, 0), pitch=0.5, at=(0, 0, 0)),
    "universal": lambda: Universal("a", "b", axes=((1, 0, 0), (0, 1, 0)), at=(0, 0, 0)),
    "ball": lambda: Ball("a", "b", at=(0, 0, 0)),
    "distance": lambda: Distance("a", "b", points=((0, 0, 0), (0, 0, 1))),
    "line": lambda: PointOnLine("a", "b", axis=(0, 1, 0), at=(0, 0, 0)),
    "velocity": lambda: ConstantVelocity("a", "b", axis=(0, 1, 0), at=(0, 0, 0)),
    "disk": lambda: RollingDisk("a", "b", radius=1.0, axis=(0, 1, 0)),
    "custom": lambda: Custom("a", "b", lambda a, b: [b.position[0] - a.position[0] ** 2]),
}


@pytest.mark.parametrize("kind", HOW)
def test_an_open_joint_is_as_open_in_a_state_as_in_a_run(kind: str) -> None:
    m = Mechanism()
    m.add_body("a", box((0.1, 0.2, 0.3), mass=1.0))
    m.add_body("b", box((0.1, 0.2, 0.3), mass=1.0), position=(0, 0, 1))
    joint = m.add_joint(HOW[kind]())
    state = m.state()
    state.position += np.random.default_rng(0).normal(scale=0.1, size=(2, 3))
    turn = np.random.default_rng(1).normal(scale=0.2, size=(2, 3))
    state.orientation = rot.multiply(rot.from_rotation_vector(turn), state.orientation)
    run, view = single_node(state), state.joint(joint.name)
    assert view.gap == pytest.approx(run.joint(joint.name).gap[0], abs=1e-15)
    assert view.misalignment == pytest.approx(run.joint(joint.name).misalignment[0], abs=1e-15)
    assert view.gap + view.misalignment > 1e-3


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if name[0] != "_"}


def test_a_joint_of_a_state_and_of_a_run_have_the_same_names() -> None:
    assert public(JointView) == public(JointReader)
    assert public(BodyView) == public(BodyReader)


@pytest.mark.parametrize("make", [scenes.four_bar, scenes.slider_crank, lambda: scenes.pendulum(3)])
def test_and_the_same_numbers(make: Callable[[], Mechanism]) -> None:
    run = Simulator(make(), 0.01).run(steps=20)
    for name in run.mechanism.joints:
        view, history = run[-1].joint(name), run.joint(name)
        for what in ("wrapped", "coordinates", "rates", "gap", "misalignment"):
            np.testing.assert_allclose(getattr(view, what), getattr(history, what)[-1], rtol=0, atol=1e-12)
        for what in ("force", "torque"):
            np.testing.assert_allclose(getattr(view, what), getattr(history, what)[-1], rtol=1e-9, atol=1e-9)
        assert (view.name, view.label) == (history.name, history.label)
    for name in run.mechanism.bodies:
        view, history = run[-1].body(name), run.body(name)
        assert (view.name, view.label) == (history.name, history.label)
        np.testing.assert_allclose(view.angular_velocity_body, history.angular_velocity_body[-1], rtol=0, atol=1e-13)


def test_a_state_that_no_run_came_by_has_no_reactions() -> None:
    m = scenes.four_bar()
    with pytest.raises(ValueError, match="reactions were not recorded"):
        print(m.state().joint("joint1").force)


@pytest.mark.parametrize("every", [1, 7, 40])
def test_a_fast_screw_does_not_seem_open(every: int) -> None:
    """It turns by up to 30 rad between two records; which turn it is on is told by where it is."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("nut", cylinder(0.1, 0.1, mass=1.0))
    m.add_joint(Screw("world", "nut", axis=(0, 0, 1), pitch=0.02, at=(0, 0, 0), name="thread"))
    state = m.state()
    state.joint("thread").rate = 15.0
    run = Simulator(m, 0.05).run(10.0, state=state, record_every=every)
    assert run.joint("thread").coordinates[-1, 0] > 100
    assert run.drift().max() < 1e-13


# ---- energy


def test_energy_error_is_in_parts_of_the_energy_in_motion() -> None:
    """Of a pendulum that falls from rest: the largest kinetic energy, which is what it has fallen."""
    run = Simulator(scenes.pendulum(1, "revolute", angle=1.0), 0.01).run(3.0)
    energy = run.energy()
    expected = np.abs(energy - energy[0]) / run.kinetic_energy().max()
    # the two differ by the error itself
    np.testing.assert_allclose(run.energy_error(), expected, rtol=1e-3, atol=0)
    assert 0 < run.energy_error().max() < 1e-2
    assert not Simulator(scenes.pendulum(1, "revolute", angle=0.0), 0.01).run(0.1).energy_error().any()


def test_energy_that_a_drive_feeds_is_not_called_zero() -> None:
    m = scenes.pendulum(1, "revolute", angle=0.0)
    m.add_coupling(PrescribedMotion("joint1", lambda t: 0.5 - 0.5 * np.cos(t)))
    run = Simulator(m, 0.01).run(3, state=m.assemble())
    moving = max(run.kinetic_energy().max(), np.ptp(run.potential_energy()))
    assert run.energy_error().max() == pytest.approx(np.ptp(run.energy()) / moving)


def test_energy_that_explodes_is_a_large_error() -> None:
    """The scale is that of the motion before it went wrong, however far it goes."""
    run = Simulator(scenes.pendulum(1, "revolute", angle=1.0), 0.01).run(3.0)
    good = run.energy_error()
    for factor in (1e3, 1e9, 1e30):
        broken = copy.deepcopy(run)
        broken.velocity[200:] *= np.sqrt(factor)
        gained = (factor - 1) * 0.5 * np.sum(run.velocity[250] ** 2)
        assert broken.energy_error()[250] == pytest.approx(gained / run.kinetic_energy().max(), rel=0.05)
        np.testing.assert_allclose(broken.energy_error()[:200], good[:200], rtol=0.05)


def test_work_of_a_motor_from_rest_is_all_there_is() -> None:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("wheel", cylinder(0.1, 0.1, mass=1.0))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="shaft"))
    m.add_force(Motor("shaft", 0.1))
    assert Simulator(m, 0.01).run(1.0).energy_error()[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(("steps", "every"), [(50, 7), (50, 10), (50, 50), (50, 80), (0, 1), (1, 1), (1, 3)])
def test_record_every(run: Trajectory, steps: int, every: int) -> None:
    """Every k-th node, the first and the last; the trajectory is the same."""
    sparse = Simulator(zoo(), 0.01).run(steps=steps, record_every=every)
    nodes = sorted({*range(0, steps + 1, every), steps})
    for name in ("time", "position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(sparse, name), getattr(run, name)[nodes], err_msg=name)

    # those of the last node come from a step ahead, alone: Newton's tolerance 1e-10 m/s over dt
    np.testing.assert_allclose(sparse.multipliers, run.multipliers[nodes], rtol=0, atol=1e-7)
    assert len(sparse.iterations) == steps


def test_duration_is_rounded_up_to_steps() -> None:
    simulator = Simulator(scenes.pendulum(1), 0.01)
    assert [len(simulator.run(t)) - 1 for t in (0.0, 0.01, 0.011, 0.02, 0.07, 0.3, 1.0)] == [0, 1, 2, 2, 7, 30, 100]


def test_no_steps_are_the_start() -> None:
    m = zoo()
    start = Simulator(m, 0.01).run(steps=0)
    assert len(start) == 1

    # joints are closed anew, to rounding
    np.testing.assert_allclose(start.position[0], m.state().position, rtol=0, atol=1e-15)
    assert np.isfinite(start.multipliers).all()


def test_step_is_a_run_of_one() -> None:
    simulator = Simulator(zoo(), 0.01)
    once, run = simulator.step(loads={"odd": (1, 0, 0)}), simulator.run(steps=1, loads={"odd": (1, 0, 0)})
    assert once.time == run.time[-1]
    np.testing.assert_array_equal(once.position, run.position[-1])


def test_time_goes_on_from_the_state() -> None:
    m = scenes.pendulum(1)
    state = m.state()
    state.time = 5.0
    times: list[float] = []
    run = Simulator(m, 0.25).run(steps=2, state=state, control=lambda t, s: times.append(t))  # type: ignore[arg-type]
    assert list(run.time) == times == [5.0, 5.25, 5.5]


def test_progress_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[tuple[int, int]] = []
    simulator = Simulator(scenes.pendulum(100), 0.01)
    simulator.run(steps=2000, progress=lambda done, steps: calls.append((done, steps)))
    assert calls[0] == (0, 2000)
    assert calls[-1] == (2000, 2000)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    simulator.run(steps=10)
    assert capsys.readouterr().err == ""


def test_a_bar_is_for_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file gets one line."""
    simulator = Simulator(scenes.pendulum(1), 0.01)
    simulator.run(steps=10, progress=True)
    simulator.run_batch(states=4, steps=10, progress=True)
    assert capsys.readouterr().err == "10 of 10 done\n4 of 4 done\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    simulator.run(steps=10, progress=True)
    assert "100 %" in capsys.readouterr().err


def test_progress_may_stop_the_run() -> None:
    def stop(done: int, steps: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Simulator(scenes.pendulum(1), 0.01).run(steps=10**6, record_every=10**6, progress=stop)


# ---- always the same


def test_a_run_can_be_repeated_bit_by_bit(run: Trajectory) -> None:
    for mechanism in (zoo(), pickle.loads(pickle.dumps(zoo())), zoo().copy()):
        again = Simulator(mechanism, 0.01).run(0.5)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(again, name), getattr(run, name), err_msg=name)


def test_a_simulator_remembers_nothing(run: Trajectory) -> None:
    simulator = Simulator(zoo(), 0.01)
    simulator.run(0.3, loads={"odd": (1, 2, 3)})
    np.testing.assert_array_equal(simulator.run(0.5).position, run.position)


def test_a_run_leaves_its_state_alone() -> None:
    m = zoo()
    state = m.state()
    before = state.copy()
    Simulator(m, 0.01).run(steps=5, state=state)
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(state, name), getattr(before, name))
    assert state.time == 0


def test_threads_do_not_disturb_each_other() -> None:
    """Two simulators, and one simulator twice, at once: the core holds no lock and shares only constants."""
    mechanisms = [scenes.pendulum(30), scenes.spinning_chain(20)]
    shared = Simulator(mechanisms[0], 0.005)
    jobs = [shared, shared, Simulator(mechanisms[1], 0.005), Simulator(mechanisms[0], 0.005, solver="ldu")]
    alone = [simulator.run(steps=400) for simulator in jobs]
    together: list[Trajectory | None] = [None] * len(jobs)
    ready = threading.Barrier(len(jobs))

    def work(k: int) -> None:
        ready.wait()
        together[k] = jobs[k].run(steps=400)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, b in zip(alone, together, strict=True):
        assert b is not None
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
