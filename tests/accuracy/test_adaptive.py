"""An accuracy in place of a step: runs keep it, stay reversible, and nobody has to know dt."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena import Mechanism, Simulator, State, Trajectory, scenes
from catena.results.interpolation import resampled
from catena.simulate import refinement as refining
from catena.simulate.refinement import apart
from catena.simulate.run_steps import run_steps

BUILD = {
    "pendulum": lambda: scenes.pendulum(1, angle=2.5),
    "double pendulum": scenes.double_pendulum,
    "chain": lambda: scenes.pendulum(10, angle=pi / 4),
    "whip": lambda: scenes.pendulum(5, angle=pi / 2),
    "tree": lambda: scenes.tree(3, 2),
    "heavy top": scenes.heavy_top,
    "free body": scenes.free_body,
    "spinning chain": lambda: scenes.spinning_chain(5),
    "cart-pole": scenes.cart_pole,
    "closed chain": lambda: scenes.closed_chain(11),
    "segmented chain": lambda: scenes.segmented_chain(3),
    "four-bar": scenes.four_bar,
    "slider-crank": lambda: scenes.slider_crank(rate=8.0),
    "bricard": scenes.bricard,
    "delta robot": scenes.delta_robot,
    "stewart platform": scenes.stewart_platform,
    "minitaur leg": lambda: scenes.minitaur_leg((1.2, 0.8)),
    "scissor": scenes.scissor,
}
SHORT = {"heavy top": 0.3, "stewart platform": 0.5, "delta robot": 1.0}


def turned_round(state: State) -> State:
    return State(
        state.mechanism, state.position, state.orientation, -state.velocity, -state.angular_velocity, time=state.time
    )


def nothing(_time: float, _live: ct.Live) -> None:
    """A control that leaves a mechanism to itself, which then runs in one pass."""


def kept(m: Mechanism, name: str, **how: float) -> float:
    run = Simulator(m, **how).run(SHORT.get(name, 2.0))
    assert run.status.ok
    assert run.accuracy_warning == ""
    return float(run.energy_error().max())


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("with_dt", [False, True], ids=["no dt", "dt"])
def test_energy_is_kept_to_the_accuracy(accuracy: float, with_dt: bool) -> None:
    """No failure on any scene, and energy within twice the accuracy in nine of ten."""
    errors = {
        name: kept(build(), name, accuracy=accuracy, **({"dt": 0.02} if with_dt else {}))
        for name, build in BUILD.items()
    }
    far = {name: error for name, error in errors.items() if error > 2 * accuracy}
    assert len(far) <= len(errors) // 10, far
    assert max(errors.values()) < 30 * accuracy, far


@pytest.mark.parametrize("scene", ["four-bar", "slider-crank", "minitaur leg", "whip"])
@pytest.mark.parametrize("order", [4, 8])
def test_runs_are_reversible(scene: str, order: int) -> None:
    m = BUILD[scene]()
    simulator = Simulator(m, 0.04, accuracy=1e-5, order=order, tolerance=1e-13)
    # in one pass, as a live mechanism goes
    there = simulator.run(1.0, control=nothing)
    assert there.halved_count > 0
    back = simulator.run(1.0, state=turned_round(there[-1]), control=nothing)
    # the same pieces in the opposite order
    np.testing.assert_array_equal(back.substeps, there.substeps[::-1])
    # 4e-13 at most was seen
    assert np.abs(back.position[-1] - there.position[0]).max() < 1e-11


def test_energy_does_not_drift() -> None:
    """Over twelve starts the mean shift is within two of its standard errors."""
    shifts = []
    for k in range(12):
        m = scenes.double_pendulum()
        state = m.state()
        state.joint("joint1").rates = (0.1 * k,)
        simulator = Simulator(m, 0.1, accuracy=1e-6, order=8)
        run = simulator.run(60.0, state=state, record_every=600, control=nothing)
        energy = run.energy()
        shifts.append((energy[-1] - energy[0]) / run.kinetic_energy().max())
    assert abs(np.mean(shifts)) < 2.5 * np.std(shifts) / len(shifts) ** 0.5 + 1e-9
    assert np.abs(shifts).max() < 1e-4


@pytest.mark.parametrize("order", [4, 8])
def test_servos_and_dampers_converge(order: int) -> None:
    """The second half of what a damper did on a piece that is taken back must not be added again."""
    m = scenes.four_bar()
    crank = next(iter(m.joints))
    m.add_force(ct.Servo(crank, kd=5.0, target_rate=3.0, name="servo"))
    m.add_force(ct.Damper(list(m.joints)[1], 0.05, name="damper"))
    ends = {a: Simulator(m, 0.02, accuracy=a, order=order).run(1.0)[-1].position for a in (1e-3, 1e-5, 1e-7, 1e-9)}
    off = [np.abs(ends[a] - ends[1e-9]).max() for a in (1e-3, 1e-5, 1e-7)]
    # the accuracy itself: nothing is chaotic here
    assert off[0] < 1e-3
    assert off[1] < 1e-5
    assert off[2] < 1e-7


def test_what_is_found_is_told() -> None:
    m = scenes.double_pendulum()
    simulator = Simulator(m)
    assert simulator.accuracy == 1e-4
    assert simulator.info()["dt"] is None
    assert "dt" not in repr(simulator)
    with pytest.raises(ValueError, match="every run chooses its own"):
        _ = simulator.dt
    run = simulator.run(10.0)
    assert run.dt == pytest.approx(10.0 / len(run.substeps), rel=1e-12)
    # the simulator is none the wiser: runs do not depend on those before
    assert simulator.info()["dt"] is None
    assert run.info.accuracy == 1e-4
    assert run.info.order == simulator.order == 8
    # a whole number of steps
    assert run.time[-1] == pytest.approx(10.0, abs=1e-12)
    assert run.energy_error().max() < 2e-4
    assert Simulator(m, accuracy=1e-2).order == 4


@pytest.mark.parametrize("make", [partial(scenes.pendulum, 1, angle=3.0), scenes.double_pendulum, scenes.four_bar])
def test_a_fifth_of_the_first_steps_err_by_more_than_allowed(make: Callable[[], Mechanism]) -> None:
    """A longer step would be halved nearly everywhere, and one that never is would be shorter than most need."""
    m, duration = make(), 3.0
    simulator, rate = Simulator(m, order=4, accuracy=1e-5), 1e-6
    dt, failed = refining._pilot(simulator.plan, run_steps, m.assemble(), duration, rate, None)
    assert failed is None
    first = run_steps(simulator.plan.with_step(dt, rate=refining._NEVER), round(duration / 8 / dt))
    assert 0.1 < np.mean(first.error > rate * dt) < 0.35


def test_what_is_at_rest_has_a_step_too() -> None:
    """It may be set in motion later."""
    m = scenes.pendulum(2, angle=0.0)
    assert Simulator(m).run(10.0).time[1] <= 0.5
    assert len(Simulator(m).run(0.0)) == 1


def test_live_mechanisms_and_batches_keep_it_too() -> None:
    m = scenes.pendulum(5, angle=pi / 2)
    simulator = Simulator(m, 0.02, accuracy=1e-4)
    run = simulator.run(1.0, control=nothing)
    live = simulator.start()
    live.step(50)
    np.testing.assert_array_equal(live.position, run.position[-1])
    assert live.error == pytest.approx(run.error.sum(), rel=1e-12)
    batch = simulator.run_batch(1.0, states=2)
    np.testing.assert_array_equal(batch.position[1], run.position)
    # without a dt members take that of the first, whose nodes would be denser in some intervals than in others
    found = Simulator(m).run_batch(1.0, states=2)
    alone = Simulator(m).run(t_eval=found.time[1])
    np.testing.assert_allclose(found.position[1], alone.position, rtol=0, atol=1e-4 * simulator.plan.extent)


def test_equal_steps_would_be_worse() -> None:
    """At the same dt, ten starts: what is halved now and then is ten times better in the middle."""
    equal, halved = [], []
    for k in range(10):
        m = scenes.pendulum(10, angle=pi / 2)
        state = m.state()
        state.joint("joint1").rates = (0.01 * k,)
        for errors, how in ((equal, {"on_inaccurate": "ignore"}), (halved, {"accuracy": 1e-4})):
            errors.append(Simulator(m, 0.01, order=4, **how).run(6.0, state=state).energy_error().max())
    assert np.median(halved) < 1e-3
    assert np.median(halved) < 0.1 * np.median(equal)


def test_an_accuracy_out_of_reach_is_said() -> None:
    """A step of 20 s cannot be cut into pieces that are short enough."""
    m = scenes.pendulum(10, angle=pi / 2)
    with pytest.warns(ct.AccuracyWarning, match=r"the accuracy was not reached: \d+ substeps"):
        Simulator(m, 20.0, accuracy=1e-12, order=4).run(steps=1)


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"accuracy": 0}, "between"),
        ({"accuracy": 1.0}, "between"),
        ({"accuracy": np.nan}, "between"),
        ({"accuracy": "1e-4"}, "between"),
        ({"accuracy": 1e-4, "order": 1}, "order 2, 4, 6 or 8"),
        ({"accuracy": 1e-4, "rescue": False}, "rescue=True"),
    ],
)
def test_what_cannot_be_is_refused(how: dict[str, object], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        Simulator(scenes.pendulum(2), **how)


def test_scenes_are_all_that_move_by_themselves() -> None:
    """A new scene belongs into this file, unless it needs forces to be of interest."""
    known = {"andrews_squeezer", "catenary_chain", "flyball_governor", "humanoid", "ladder", "minitaur", "n_four_bar",
             "net", "quadruped", "standing_leg", "strandbeest"}  # fmt: skip
    every = set(scenes.__all__)
    here = {name.replace("-", "_").replace(" ", "_") for name in BUILD} | {"pendulum"}
    assert every - known - here == set()


# ---- the promise: no node is further off than was asked for


def turning_crank() -> State:
    return scenes.slider_crank().assemble(rates={"shaft": 8.0})


def spatial_crank() -> State:
    """An RSSR linkage: a crank about z drives a rocker about x by a rod between two balls."""
    m = Mechanism()
    m.add_body("crank", ct.rod((0, 0, 0), (0.3, 0, 0), mass=1.0))
    m.add_body("rod", ct.rod((0.3, 0, 0), (0.8, 0.2, 0.7), mass=1.0))
    m.add_body("rocker", ct.rod((0.8, 0.2, 0.7), (0.8, 0.9, 0.2), mass=1.0))
    m.add_joint(ct.Revolute("world", "crank", axis=(0, 0, 1), at=(0, 0, 0), name="shaft"))
    m.add_joint(ct.Ball("crank", "rod", at=(0.3, 0, 0)))
    m.add_joint(ct.Universal("rod", "rocker", axes=((0, 0, 1), (1, 0, 0)), at=(0.8, 0.2, 0.7)))
    m.add_joint(ct.Revolute("world", "rocker", axis=(1, 0, 0), at=(0.8, 0.9, 0.2), name="axle"))
    return m.assemble(rates={"shaft": 5.0})


PROMISED = {
    "slider-crank": (turning_crank, 2.0, 10.0),
    "four-bar": (lambda: scenes.four_bar().state(), 2.0, 50.0),
    "heavy top": (lambda: scenes.heavy_top().state(), 0.5, 10.0),
    "pendulum": (lambda: scenes.pendulum(1, angle=2.5).state(), 5.0, 50.0),
    "chain": (lambda: scenes.pendulum(5, "revolute", angle=0.6).state(), 1.0, 3.0),
    "RSSR": (spatial_crank, 1.0, 5.0),
}


def off(run: Trajectory, accuracy: float) -> float:
    """The largest error over nodes in parts of the accuracy, seen from a run that errs by a thousandth of it."""
    finer = Simulator(run.mechanism, run.dt / 2, accuracy=max(accuracy / 100, 1e-11), order=8, on_inaccurate="ignore")
    true = run_steps(finer.plan.with_step(run.dt / 2, rate=1e-3 * accuracy), 2 * len(run.substeps), state=run[0])
    return apart(run, true, finer.plan.extent) / accuracy


def keeps(state: State, duration: float, accuracy: float) -> None:
    run = Simulator(state.mechanism, accuracy=accuracy).run(duration, state=state)
    true = off(run, accuracy)
    assert true <= 1
    # what is told is kept with the run; where nearly nothing is off the truth is not known as well
    assert run.checked_error is not None
    assert run.checked_error <= accuracy
    if true > 1e-3:
        assert 1 / 30 < run.checked_error / accuracy / true < 30
    assert run.warnings == ()


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("scene", PROMISED)
def test_no_node_is_further_off_than_asked_for(scene: str, accuracy: float) -> None:
    state, short, _ = PROMISED[scene]
    keeps(state(), short, accuracy)


@pytest.mark.slow
@pytest.mark.parametrize("accuracy", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("scene", PROMISED)
def test_nor_in_long_runs(scene: str, accuracy: float) -> None:
    state, _, long = PROMISED[scene]
    keeps(state(), long, accuracy)


def damped(law: Callable[[str], ct.describe.forces.Force]) -> Mechanism:
    m = scenes.pendulum(2, "revolute", angle=1.0)
    for joint in m.joints:
        m.add_force(law(joint))
    return m


DISSIPATING = {
    "stiff damper": lambda: damped(lambda j: ct.Damper(j, 1000.0)),
    "soft damper": lambda: damped(lambda j: ct.Damper(j, 1.0)),
    "friction": lambda: damped(lambda j: ct.Friction(j, 3.0)),
    "servos": lambda: damped(lambda j: ct.Servo(j, kp=2000.0, kd=50.0, target=1.2)),
    "limited servos": lambda: damped(lambda j: ct.Servo(j, kp=500.0, kd=20.0, target=1.2, effort_limit=20.0)),
}


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
@pytest.mark.parametrize("scene", DISSIPATING)
def test_what_dissipates_is_as_accurate(scene: str, accuracy: float) -> None:
    """By plain steps, of which there are not many times as many as would do."""
    m = DISSIPATING[scene]()
    simulator = Simulator(m, accuracy=accuracy)
    assert simulator.order == 2
    run = simulator.run(1.0)
    per = 32 * int(run.substeps.max())
    fine = run_steps(simulator.plan.with_step(run.dt / per), per * len(run.substeps), record_every=per)
    assert apart(run, fine, simulator.plan.extent) <= accuracy
    assert run.checked_error is not None
    assert run.checked_error <= accuracy
    assert run.info.order == 2
    # a quarter of them, equally long, where there are not many nodes for so few
    few = int(run.substeps.sum()) // (4 * len(run.substeps))
    if few > 0:
        quarter = run_steps(simulator.plan.with_step(run.dt / few), few * len(run.substeps), record_every=few)
        assert apart(quarter, fine, simulator.plan.extent) > accuracy / 4


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Substeps of every run that is made, those of pilots below zero."""
    made: list[int] = []

    def by(sign: int) -> Callable[..., Trajectory]:
        def counting(*given: Any, **how: Any) -> Trajectory:
            run = run_steps(*given, **how)
            made.append(sign * int(run.substeps.sum()))
            return run

        return counting

    monkeypatch.setattr("catena.simulate.simulator.run_steps", by(1))
    monkeypatch.setattr(refining, "run_steps", by(-1))
    return made


def test_a_stiff_start_is_not_dear(counted: list[int]) -> None:
    """Servos of time constants 0.2 and 10 ms, the fast one over in the first nodes: equal steps took 28000."""
    m, last = Mechanism(), "world"
    for k in range(7):
        m.add_body(f"l{k}", ct.box((0.1, 0.1, 0.2), mass=4.0 - 0.4 * k), position=(0, 0, 0.2 * k + 0.1))
        m.add_joint(ct.Revolute(last, f"l{k}", axis=((0, 0, 1), (0, 1, 0))[k % 2], at=(0, 0, 0.2 * k), name=f"j{k}"))
        m.add_force(ct.Servo(f"j{k}", kp=5000.0, kd=50.0, target=0.3 * (-1) ** k))
        last = f"l{k}"
    simulator = Simulator(m, accuracy=1e-4)
    run = simulator.run(1.0)
    assert sum(counted) < 8000
    assert run.checked_error <= 1e-4
    fine = run_steps(simulator.plan.with_step(run.dt, rate=1e-6, tolerance=1e-13), len(run.substeps))
    assert apart(run, fine, simulator.plan.extent) <= 1e-4


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("scene", ["pendulum", "double pendulum", "heavy top", "free body", "four-bar"])
def test_no_pilot_takes_longer_than_its_run(scene: str, accuracy: float, counted: list[int]) -> None:
    run = Simulator(BUILD[scene](), accuracy=accuracy).run(2.0)
    pilot = -sum(substeps for substeps in counted if substeps < 0)
    assert 0 < pilot <= run.substeps.sum()


def test_nodes_are_dense_where_a_linkage_whips(counted: list[int]) -> None:
    """A plain run has more nodes in a few intervals, which costs less than the second run that it made of all."""
    state = spatial_crank()
    simulator = Simulator(state.mechanism)
    run = simulator.run(1.0, state=state)
    extra, whole = -sum(substeps for substeps in counted if substeps < 0), [n for n in counted if n > 0]
    assert len(whole) == 1
    assert 0 < extra < whole[0]
    assert len(run.substeps) + 1 < len(run) < 1.2 * len(run.substeps)
    assert (np.diff(run.time) > 0).all()
    assert run.drift().max() < 1e-10
    assert run.energy_error().max() < 1e-4
    # between the nodes of equal steps
    even = run_steps(simulator.plan.with_step(run.dt, rate=0.3e-4), len(run.substeps), state=state)
    middles = 0.5 * (even.time[1:] + even.time[:-1])
    fine = Simulator(state.mechanism, accuracy=1e-6).run(t_eval=middles, state=state)
    before, now = (np.abs(resampled(one, middles).position - fine.position).max(axis=(1, 2)) for one in (even, run))
    assert now.max() < 0.3 * before.max()
    assert (now > 1e-4).sum() < 0.3 * (before > 1e-4).sum()


@pytest.mark.parametrize("damping", [0.0, 1.0])
def test_a_start_beyond_a_limit_is_refused_at_once(damping: float, counted: list[int]) -> None:
    """No step is short enough: the second kind of run went on until it needed more memory than there is."""
    m = scenes.pendulum(2)
    m.joints["joint1"].limits = ct.Limits(1.0, 2.0)
    m.add_force(ct.Damper("joint2", damping))
    with pytest.raises(ct.SimulationError, match=r"'joint1'.*starts .* beyond its limits"):
        Simulator(m).run(2.0)
    assert len(counted) <= 2


def test_a_moment_without_solutions_does_not_shorten_all_steps() -> None:
    """The rocker whips round in a few hundredths of a second, where long steps are halved; it took 7259 substeps."""
    state = spatial_crank()
    run = Simulator(state.mechanism, accuracy=1e-7).run(1.0, state=state)
    assert run.substeps.max() > 4
    assert run.substeps.sum() < 3000


def test_a_stiff_damper_is_not_dear() -> None:
    """The orders above 2 took pieces of 0.2 ms, because a damper refuses longer steps backwards."""
    run = Simulator(DISSIPATING["stiff damper"](), accuracy=1e-4).run(2.0)
    assert run.substeps.sum() < 1000


def test_a_given_dt_keeps_its_nodes() -> None:
    m = DISSIPATING["servos"]()
    run = Simulator(m, 0.01, accuracy=1e-4).run(1.0)
    assert run.dt == 0.01
    assert len(run) == len(run.substeps) + 1 == len(run.error) + 1 == 101
    # plain steps that together make up a node's, most of them where the servos pull first
    assert run.substeps.min() > 1
    assert run.substeps.argmax() == 0
    fine = Simulator(m, 1e-5, on_inaccurate="ignore").run(1.0, record_every=1000)
    assert apart(run, fine, Simulator(m, 1.0).plan.extent) <= 1e-4


def test_runs_do_not_depend_on_those_before() -> None:
    m = scenes.pendulum(2, angle=1.0)
    simulator = Simulator(m)
    first = simulator.run(1.0)
    fast = m.state()
    fast.joint("joint1").rates = (15.0,)
    assert simulator.run(3.0, state=fast).dt != first.dt
    again = simulator.run(1.0)
    assert again.dt == first.dt
    np.testing.assert_array_equal(again.position, first.position)


def test_chaos_says_so() -> None:
    with pytest.warns(ct.AccuracyWarning, match="the accuracy of 1e-08 was not reached: .* nodes have errors of"):
        run = Simulator(scenes.pendulum(4, angle=3.0), accuracy=1e-8).run(20.0)
    assert run.checked_error > 1e-8
    assert run.warnings[0] == run.accuracy_warning
    assert "error at nodes at most" in repr(run)


def test_what_is_told_is_kept(tmp_path: Path) -> None:
    run = Simulator(DISSIPATING["soft damper"]()).run(0.5)
    run.save(tmp_path / "run.npz")
    assert Trajectory.load(tmp_path / "run.npz").checked_error == run.checked_error
    assert run[::2].checked_error == run.checked_error
    # one pass, which nothing was compared with
    assert Simulator(scenes.pendulum(2)).run(0.5).checked_error is None


def test_what_ends_a_run_is_told() -> None:
    """A wheel that falls flat ends every run, however short its steps; no pilot hides that."""
    m = Mechanism()
    m.add_body("disk", ct.cylinder(0.1, 0.01, mass=1.0), position=(0, 0, 0.1), orientation=(0.5**0.5, 0.5**0.5, 0, 0))
    m.add_joint(ct.RollingDisk("world", "disk", radius=0.1, name="rim"))
    for accuracy in (None, 1e-5):
        with pytest.raises(ct.SimulationError, match="lies flat") as caught:
            Simulator(m, accuracy=accuracy).run(10.0, state=leaning(m))
        assert len(caught.value.trajectory) > 1


def leaning(m: Mechanism) -> State:
    state = m.state()
    state.angular_velocity[0] = (0.5, 0.0, 0.0)
    state.velocity[0] = np.cross(state.angular_velocity[0], (0, 0, 0.1))
    return state


# ---- a controller's period is its owner's


def pd(_time: float, live: ct.Live) -> dict[str, tuple[float, ...]]:
    return {"link1": (0, 0, 0, 0, -0.5 * float(live.rates[0]), 0)}


def test_a_control_needs_a_period() -> None:
    m = scenes.pendulum(2, angle=0.5)
    with pytest.raises(ValueError, match=r"every=0\.001"):
        Simulator(m).run(1.0, control=pd)
    with pytest.raises(ValueError, match="give the simulator a dt"):
        Simulator(m).start()
    with pytest.raises(ValueError, match="give the simulator a dt"):
        Simulator(m).start_batch(2)
    with pytest.raises(ValueError, match="give the simulator a dt"):
        Simulator(m).step()
    with pytest.raises(ValueError, match="give the simulator a dt"):
        Simulator(m).run(steps=10)
    with pytest.raises(ValueError, match="give a control"):
        Simulator(m).run(1.0, every=0.01)
    with pytest.raises(ValueError, match="whole number of steps"):
        Simulator(m, 0.01).run(1.0, control=pd, every=0.015)


def test_a_control_is_called_at_its_period() -> None:
    m = scenes.pendulum(2, angle=0.5)
    for simulator, nodes in ((Simulator(m), 101), (Simulator(m, 0.002), 501), (Simulator(m, 0.01, accuracy=1e-6), 101)):
        calls: list[float] = []

        def control(time: float, live: ct.Live, calls: list[float] = calls) -> dict[str, tuple[float, ...]]:
            calls.append(time)
            return pd(time, live)

        run = simulator.run(1.0, control=control, every=0.01)
        assert len(run) == nodes
        np.testing.assert_allclose(calls, np.linspace(0, 1, 101), atol=1e-9)
        # held in between
        held = run.control[:-1].reshape(100, -1, 2, 6)
        np.testing.assert_array_equal(held, np.broadcast_to(held[:, :1], held.shape))


@pytest.mark.parametrize("scene", ["stiff damper", "friction", "servos"])
def test_live_mechanisms_that_dissipate_are_accurate(scene: str) -> None:
    """Every interval by n and 2n plain steps, from its state alone."""
    m = DISSIPATING[scene]()
    simulator = Simulator(m, 0.02, accuracy=1e-4)
    run = simulator.run(1.0, control=nothing, checkpoints=True)
    fine = Simulator(m, 1e-5, on_inaccurate="ignore").run(1.0, record_every=2000)
    # friction turns round in kinks; 2e-5 and less for the others
    assert apart(run, fine, simulator.plan.extent) < (5e-4 if scene == "friction" else 1e-4)
    assert run.substeps.max() > 1
    live = simulator.start()
    live.step(50)
    np.testing.assert_array_equal(live.position, run.position[-1])
    half = simulator.start(run[25])
    half.step(25)
    np.testing.assert_array_equal(half.position, run.position[-1])
    assert live.error == pytest.approx(run.error.sum(), rel=1e-12)
