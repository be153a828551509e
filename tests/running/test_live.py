"""Live: inputs, what is held over a step, joint space as arrays, and hostile use."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from catena import (
    AssemblyError,
    Live,
    Load,
    Mechanism,
    Motor,
    PrescribedMotion,
    Servo,
    SimulationError,
    Simulator,
    Spring,
    box,
    scenes,
)
from held import DT, FORCES, OwnError, V, X, steps_of_two_threads
from mechanisms import arm, slider, tree

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

# ---- what is held


def by_steps(simulate: Simulator) -> list[tuple[float, float]]:
    states = [simulate.mechanism.state()]
    for f in FORCES:
        states.append(simulate.step(states[-1], loads={"cart": (f, 0, 0)}))
    return [(s.position[0, 0], s.velocity[0, 0]) for s in states]


def by_control(simulate: Simulator) -> list[tuple[float, float]]:
    given = iter((*FORCES, 0.0))
    run = simulate.run(steps=3, control=lambda t, live: {"cart": (next(given), 0, 0)})
    return list(zip(run.position[:, 0, 0], run.velocity[:, 0, 0], strict=True))


def by_control_of_inputs(simulate: Simulator) -> list[tuple[float, float]]:
    given = iter((*FORCES, 0.0))

    def control(t: float, live: Live) -> None:
        live.set(push=next(given))

    run = simulate.run(steps=3, control=control)
    return list(zip(run.position[:, 0, 0], run.velocity[:, 0, 0], strict=True))


def by_live(simulate: Simulator, apply: Callable[[Live, float], None]) -> list[tuple[float, float]]:
    live = simulate.start()
    found = [(live.position[0, 0], live.velocity[0, 0])]
    for f in FORCES:
        apply(live, f)
        live.step()
        found.append((live.position[0, 0], live.velocity[0, 0]))
    return found


def by_inputs(simulate: Simulator) -> list[tuple[float, float]]:
    return by_live(simulate, lambda live, f: live.set(push=f))


def by_input_array(simulate: Simulator) -> list[tuple[float, float]]:
    return by_live(simulate, lambda live, f: live.inputs.fill(f))


def by_held_forces(simulate: Simulator) -> list[tuple[float, float]]:
    return by_live(simulate, lambda live, f: live.hold({"cart": (f, 0, 0)}))


def by_copies(simulate: Simulator) -> list[tuple[float, float]]:
    live = simulate.start()
    found = [(live.position[0, 0], live.velocity[0, 0])]
    for f in FORCES:
        live = live.copy()
        live.set(push=f)
        live.step()
        found.append((live.position[0, 0], live.velocity[0, 0]))
    return found


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize(
    "way", [by_steps, by_control, by_control_of_inputs, by_inputs, by_input_array, by_held_forces, by_copies]
)
def test_the_closed_form_of_held_forces(
    way: Callable[[Simulator], list[tuple[float, float]]], order: int, solver: str
) -> None:
    found = np.array(way(Simulator(slider(), DT, order=order, solver=solver)))
    # rounding alone
    np.testing.assert_allclose(found, np.stack((X, V), axis=1), rtol=0, atol=1e-14)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_a_controlled_arm_by_control_and_by_live(solver: str) -> None:
    simulate = Simulator(arm(), 0.01, solver=solver)

    def drive(live: Live) -> None:
        live.inputs[:] = -4 * live.coordinates - 0.5 * live.rates

    run = simulate.run(steps=200, control=lambda t, live: drive(live))
    live = simulate.start()
    for k in range(200):
        drive(live)
        live.step()
        np.testing.assert_array_equal(live.position, run.position[k + 1])
        np.testing.assert_array_equal(live.velocity, run.velocity[k + 1])
    # it was driven: without motors it swings elsewhere
    assert np.abs(run.position[-1] - simulate.run(steps=200).position[-1]).max() > 0.1


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_inputs_are_forces_and_targets_of_the_mechanism(solver: str) -> None:
    """A constant input is the number that the mechanism could have been described with."""
    m = scenes.pendulum(2, "revolute", angle=0.4)
    m.add_force(Motor("joint1", 0.0, name="motor"))
    m.add_force(Servo("joint2", kp=30.0, kd=3.0, target=0.0, name="servo"))
    m.add_force(Servo("joint1", kd=1.0, name="speed"))
    assert m.inputs == ("motor", "servo", "speed")
    live = Simulator(m, 0.01, solver=solver).start()
    assert dict(live.inputs_by_name) == {"motor": 0.0, "servo": 0.0, "speed": 0.0}
    live.set(motor=2.0, servo=0.7, speed=-0.5)
    live.step(100)
    other = scenes.pendulum(2, "revolute", angle=0.4)
    other.add_force(Motor("joint1", 2.0))
    other.add_force(Servo("joint2", kp=30.0, kd=3.0, target=0.7))
    other.add_force(Servo("joint1", kd=1.0, target_rate=-0.5))
    run = Simulator(other, 0.01, solver=solver).run(steps=100)
    # Newton's tolerance over 100 steps
    np.testing.assert_allclose(live.position, run.position[-1], rtol=0, atol=1e-9)


def test_what_a_live_mechanism_does_not_remember_is_said() -> None:
    m = scenes.pendulum(1, "revolute")
    m.add_force(Motor("joint1", 1.0, name="motor"))
    live = Simulator(m, 0.01).start()
    live.step(5)
    assert live.force("motor").power.shape == (1,)
    with pytest.raises(ValueError, match="motor 'motor' of a live mechanism has no work"):
        _ = live.force("motor").work
    with pytest.raises(ValueError, match="input 'motor' must be a finite number, got nan"):
        live.set(motor=np.nan)


def test_functions_of_time_are_no_inputs() -> None:
    m = scenes.pendulum(2)
    m.add_force(Motor("joint1", lambda t: t))
    m.add_force(Spring("joint2", 1.0))
    assert m.inputs == ()
    live = Simulator(m, 0.01).start()
    assert live.inputs.shape == (0,)
    with pytest.raises(KeyError, match="no input 'motor'"):
        live.set(motor=1.0)


def test_views_go_with_the_node() -> None:
    live = Simulator(tree(), 0.01).start()
    views = (live.position, live.orientation, live.velocity, live.angular_velocity, live.coordinates, live.rates)
    before = [view.copy() for view in views]
    live.step(3)
    for view, old in zip(views, before, strict=True):
        assert not np.array_equal(view, old)
        assert not view.flags.writeable
    assert views[0] is live.position
    np.testing.assert_array_equal(live.body(next(iter(live.mechanism.bodies))).position, live.position[0])


def test_a_step_leaves_velocities_to_who_reads_them() -> None:
    """To find them is a fifth to a third of a step: their memory is written to when they are asked for, or kept."""
    live = Simulator(scenes.four_bar(), 0.01).start()
    live.step()
    address = live.velocity.ctypes.data
    memory = (ctypes.c_double * live.velocity.size).from_address(address)
    before = list(memory)
    live.step()
    assert list(memory) == before
    assert live.velocity.ctypes.data == address
    assert list(memory) != before


# ---- failures and hostile use


def test_a_failure_is_the_sentence_of_run() -> None:
    m = scenes.pendulum(2, "revolute", angle=1.0)
    simulate = Simulator(m, 0.05, rescue=False, max_iterations=1)
    with pytest.raises(SimulationError) as one:
        simulate.run(steps=20)
    live = simulate.start()
    with pytest.raises(SimulationError) as other:
        live.step(20)
    assert str(one.value) == str(other.value)
    assert not live.status.ok
    assert live.failed
    np.testing.assert_array_equal(live.position, one.value.trajectory.position[-1])
    np.testing.assert_array_equal(other.value.trajectory.position[0], live.position)
    # it stands there until it is put somewhere else
    with pytest.raises(SimulationError):
        live.step()
    assert "stopped" in repr(live)
    live.restart()
    assert live.status.ok
    assert not live.failed
    assert live.time == 0

    quiet = Simulator(m, 0.05, rescue=False, max_iterations=1, on_failure="stop").start()
    quiet.step(20)
    assert not quiet.status.ok
    assert quiet.failed


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_inputs_that_are_no_numbers(value: float) -> None:
    live = Simulator(slider(), DT).start()
    live.inputs[0] = value
    with pytest.raises(ValueError, match="finite"):
        live.step()
    live.inputs[0] = 1.0
    live.step()
    assert live.velocity[0, 0] == pytest.approx(DT)
    with pytest.raises(ValueError, match="input 'push' must be a finite number, got 'x'"):
        live.set(push="x")
    with pytest.raises(ValueError, match="broadcast"):
        live.inputs[:] = (1.0, 2.0)
    for bad in ({"cart": (np.nan, 0, 0)}, {"nobody": (1, 0, 0)}, {"cart": (1, 2)}):
        with pytest.raises(ValueError, match=r"\w+ \w+"):
            live.hold(bad)
    with pytest.raises((TypeError, ValueError)):
        live.step(-1)
    with pytest.raises(TypeError):
        live.step("x")  # type: ignore[arg-type]


def test_one_caller_at_a_time() -> None:
    """Steps from two threads at once: each is taken or refused, and none is lost."""
    live = Simulator(scenes.pendulum(30, "ball", angle=1.0), 0.001).start()
    taken = steps_of_two_threads(live, 300)
    assert taken > 0
    assert live.time == pytest.approx(taken * 0.001)


def test_views_and_lives_that_outlive_their_makers() -> None:
    live = Simulator(slider(3.0), DT).start()
    gc.collect()
    live.step(2)
    assert live.inputs_by_name["push"] == 3.0
    view, gone = live.position, weakref.ref(live)
    kept = view.copy()
    del live
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(view, kept)


def test_exceptions_of_functions_come_through() -> None:
    m = scenes.pendulum(1)
    trouble = [False]

    def torque(t: float) -> float:
        if trouble[0]:
            raise OwnError("no more")
        return 0.1

    m.add_force(Motor("joint1", torque))
    live = Simulator(m, 0.01).start()
    live.step(5)
    trouble[0] = True
    with pytest.raises(OwnError):
        live.step()
    # it stands where it was
    assert live.time == pytest.approx(0.05)
    trouble[0] = False
    live.step(5)
    np.testing.assert_array_equal(live.position, Simulator(m, 0.01).run(steps=10).position[-1])


# ---- what a run leaves, and what goes on from there


def final(simulate: Simulator, **given: object) -> float:
    return float(simulate.run(steps=2, **given).velocity[-1, 0, 0])  # type: ignore[arg-type]


def test_a_live_of_a_run_takes_no_steps() -> None:
    kept: list[Live] = []
    simulate = Simulator(slider(1.0), DT)
    run = simulate.run(steps=3, control=lambda t, live: kept.append(live))  # type: ignore[func-returns-value]
    times = run.time.copy()
    with pytest.raises(RuntimeError, match="its run has ended"):
        kept[0].step()
    kept[0].restart()
    kept[0].step(5)
    np.testing.assert_array_equal(run.time, times)
    assert kept[0].time == pytest.approx(5 * DT)


@pytest.mark.parametrize("checkpoints", [False, True])
@pytest.mark.parametrize("steps", [0, 5])
def test_forces_that_end_at_a_checkpoint(checkpoints: bool, steps: int) -> None:
    """10 N over ten steps make 10 m/s, whatever is kept on the way and wherever the run goes on."""
    simulate = Simulator(slider(), DT)
    part = simulate.run(steps=10, loads={"cart": (10.0, 0, 0)}, checkpoints=checkpoints)
    rest = simulate.run(steps=steps, state=part[-1], checkpoints=checkpoints)
    assert final(simulate, state=rest[-1]) == pytest.approx(10.0)


def test_other_functions_of_time_act_at_once() -> None:
    simulate = Simulator(slider(), DT)
    state, speeds = simulate.mechanism.state(), []
    for f in FORCES:
        state = simulate.step(state, loads={"cart": Load(force=lambda t, f=f: (f, 0, 0))})  # type: ignore[misc]
        speeds.append(state.velocity[0, 0])
    np.testing.assert_allclose(speeds, V[1:], rtol=0, atol=1e-14)


def test_restart_goes_to_where_it_began() -> None:
    m = slider(2.0)
    m.add_force(Motor("rail", lambda t: 1.0))
    simulate = Simulator(m, DT)
    begun = simulate.run(steps=4)[-1]
    live = simulate.start(begun)
    live.multipliers()
    live.step(3)
    live.restart()
    assert live.time == begun.time
    np.testing.assert_array_equal(live.position, begun.position)


def test_forces_are_not_held_after_a_restart() -> None:
    live = Simulator(slider(), DT).start()
    live.hold({"cart": (10.0, 0, 0)})
    live.step()
    begun = live.state()
    live.restart(begun)
    live.hold(None)
    live.step()
    assert live.velocity[0, 0] == pytest.approx(1.0)


def test_a_failed_step_can_be_tried_again() -> None:
    m = slider()
    trouble = [False]

    def torque(t: float) -> float:
        if trouble[0]:
            raise OwnError("no more")
        return 0.0

    m.add_force(Motor("rail", torque))
    live = Simulator(m, DT).start()
    live.step()
    live.hold({"cart": (10.0, 0, 0)})
    trouble[0] = True
    with pytest.raises(OwnError):
        live.step()
    assert np.isfinite(live.rates).all()
    trouble[0] = False
    live.step()
    assert live.velocity[0, 0] == pytest.approx(1.0)


def test_stiff_springs_are_judged_after_dt_has_changed() -> None:
    m = slider()
    m.add_force(Spring("rail", 400.0))
    state = Simulator(m, 0.001).run(steps=5000)[-1]
    with pytest.raises(SimulationError, match="too stiff"):
        Simulator(m, 0.25).run(steps=5, state=state)


def test_drives_that_were_exchanged() -> None:
    def driven(by: float) -> Simulator:
        m = slider()
        m.add_coupling(PrescribedMotion("rail", lambda t: t + by))
        return Simulator(m, DT)

    with pytest.raises(AssemblyError):
        driven(0.7).run(steps=1, state=driven(0.0).run(steps=5)[-1])


def test_copies_go_on_in_the_same_way() -> None:
    live = Simulator(slider(), DT).start()
    live.hold({"cart": (3.0, 1.0, 0)})
    live.step(2)
    live.set(push=5.0)
    other = live.copy()
    for one in (live, other):
        one.step(7)
    np.testing.assert_array_equal(live.position, other.position)
    np.testing.assert_array_equal(live.velocity, other.velocity)


def test_copies_hold_what_was_held_and_what_is_wanted() -> None:
    """Other forces wanted since the last step, and a mistake after them."""
    live = Simulator(arm(), 0.01).start()
    live.hold({"link2": (3.0, 1.0, 0.3)})
    live.step(2)
    live.hold({"link2": Load(force=(0.1, 2.0, 0.7), at=(0, 0, 0.2)), "link1": (0.3, 0.1, 0.7)})
    for mistake in ({"link2": (1.0, np.nan, 0.0)}, {"link7": (1, 0, 0)}, np.zeros((1, 3)), np.full((2, 6), np.inf)):
        with pytest.raises(ValueError, match=r"force|link7"):
            live.hold(mistake)
    other = live.copy()
    alone = Simulator(arm(), 0.01).start()
    for one in (live, other):
        one.step(7)
    np.testing.assert_array_equal(live.position, other.position)
    np.testing.assert_array_equal(live.velocity, other.velocity)
    alone.step(9)
    assert not np.allclose(alone.position, live.position, atol=1e-6)


def python_calls(work: Callable[[], None]) -> int:
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("width", [3, 6])
def test_arrays_of_forces_are_taken_whole(width: int) -> None:
    """As many calls of Python for forty bodies as for two, in a loop of the user's and under control."""

    def calls(n: int) -> tuple[int, int]:
        live = Simulator(scenes.pendulum(n, "revolute"), 0.001).start()
        forces = np.ones((n, width))
        live.hold(forces)

        def under_control() -> None:
            live.simulator.run(steps=20, control=lambda t, live: forces)

        under_control()
        return python_calls(lambda: live.hold(forces)), python_calls(under_control)

    few, many = calls(2), calls(40)
    assert many[0] == few[0] < 5
    # a run says as much of forty bodies as of two, but for a call here and there
    assert many[1] - few[1] < 20


def test_forces_are_the_same_in_whatever_way_they_are_given() -> None:
    m = arm()
    names = list(m.bodies)
    values = np.random.default_rng(1).normal(size=(len(names), 6))
    ends = []
    for forces in (
        values,
        values.tolist(),
        np.asfortranarray(values),
        dict(zip(names, values, strict=True)),
        {name: tuple(row) for name, row in zip(names, values, strict=True)},
        {name: Load(row[:3], row[3:]) for name, row in zip(names, values, strict=True)},
    ):
        live = Simulator(m, 0.01).start()
        live.hold(forces)
        live.step(20)
        ends.append(live.position.copy())
    for end in ends[1:]:
        np.testing.assert_array_equal(end, ends[0])


def test_held_forces_one_by_one_or_at_once() -> None:
    lives = [Simulator(arm(), 0.01).start() for _ in range(2)]
    for live in lives:
        live.hold({"link2": Load(force=(1.0, 2.0, 0.5), at=(0, 0, 0.3), frame="body")})
    lives[0].step(50)
    for _ in range(50):
        lives[1].step()
    np.testing.assert_array_equal(lives[0].position, lives[1].position)


@pytest.mark.parametrize("order", [2, 4])
def test_reactions_and_efforts_know_the_inputs(order: int) -> None:
    def control(t: float, live: Live) -> None:
        live.inputs[:] = (3 * t, -2.0, 5.0 * np.sin(9 * t))

    runs = [
        Simulator(arm(), 0.01, solver=solver, order=order).run(steps=30, control=control)
        for solver in ("articulated", "ldu")
    ]
    # Newton's tolerance, over dt^2
    np.testing.assert_allclose(runs[0].multipliers, runs[1].multipliers, rtol=0, atol=1e-5)
    np.testing.assert_allclose(runs[0].force("motor1").effort, 3 * runs[0].time, rtol=0, atol=1e-12)
    assert runs[0].inputs is not None
    np.testing.assert_array_equal(runs[0].inputs[:, 1], -2.0)


def knowing_its_live() -> weakref.ref[Live]:
    seen: list[Live] = []
    m = slider()
    m.add_force(Motor("rail", lambda t: float(len(seen))))
    seen.append(Simulator(m, DT).start())
    return weakref.ref(seen[0])


def test_a_function_that_knows_its_live_is_collected() -> None:
    gone = knowing_its_live()
    gc.collect()
    assert gone() is None


def test_restart_takes_inputs_and_forces_back() -> None:
    live = Simulator(slider(1.0), DT).start()
    live.hold({"cart": (10.0, 0, 0)})
    live.set(push=4.0)
    live.step(3)
    live.restart()
    assert live.inputs_by_name["push"] == 1.0
    live.step()
    assert live.velocity[0, 0] == pytest.approx(DT)


@pytest.mark.parametrize("order", [2, 4])
def test_the_node_tells_its_multipliers_and_its_tally(order: int) -> None:
    simulate = Simulator(arm(), 0.01, order=order)
    run = simulate.run(steps=20)
    live = simulate.start()
    live.step(12)
    assert live.tally.substeps == run.substeps[:12].sum()
    assert live.tally.iterations == run.iterations[:12].sum()
    assert live.tally.newton_residual == run.newton_residual[:12].max()
    # the same step, or for order 4 short ones, with other guesses: Newton's tolerance over dt^2
    np.testing.assert_allclose(live.multipliers(), run.multipliers[12], rtol=0, atol=1e-5)
    live.step(8)
    np.testing.assert_array_equal(live.position, run.position[20])


def test_short_runs_of_several_orders() -> None:
    """What a run keeps for the next fits that one: a higher order needs more room."""
    m = arm()
    simulate, fresh = Simulator(m, 0.01), Simulator(m, 0.01, order=8)
    wanted = simulate.run(steps=2).position
    higher = Simulator.of(simulate.plan.with_step(0.01, order=8))
    np.testing.assert_array_equal(higher.run(steps=3).position, fresh.run(steps=3).position)
    np.testing.assert_array_equal(simulate.run(steps=2).position, wanted)
    with pytest.raises(AttributeError, match="order"):
        simulate.order = 8  # type: ignore[misc]


def test_runs_of_one_simulator_on_many_threads() -> None:
    simulate = Simulator(arm(), 0.01)
    wanted, found = simulate.run(steps=3).position, []

    def work() -> None:
        found.extend(np.array_equal(simulate.run(steps=3).position, wanted) for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 800
    assert all(found)


# ---- accelerations


def test_accelerations_are_those_of_what_acts_from_the_node_on() -> None:
    """Of a force that has just been set, of free fall, and of points of a body that turns."""
    live = Simulator(slider(), DT).start()
    live.set(push=3.0)
    # the scheme has uniform acceleration exactly; differences of velocities of 1 m/s over 0.1 s
    np.testing.assert_allclose(live.body("cart").acceleration, (3, 0, 0), rtol=0, atol=1e-13)
    live.step()
    live.set(push=0.0)
    live.hold({"cart": (-2.0, 0, 0)})
    np.testing.assert_allclose(live.accelerations()[0], [(-2, 0, 0)], rtol=0, atol=1e-13)

    m = Mechanism()
    m.add_body("top", box((0.3, 0.3, 0.3), mass=1.0), velocity=(1, 0, 2), angular_velocity=(0, 0, 5))
    top = Simulator(m, 0.001).start().body("top")
    np.testing.assert_allclose(top.acceleration, (0, 0, -9.81), rtol=0, atol=1e-10)
    np.testing.assert_allclose(top.angular_acceleration, 0, rtol=0, atol=1e-10)
    # w^2 r = 2.5 m/s^2 towards the center
    np.testing.assert_allclose(top.point_acceleration((0.1, 0, 0)), (-2.5, 0, -9.81), rtol=0, atol=1e-10)


def tally_of(live: Live) -> tuple[float, ...]:
    tally = live.tally
    return tally.iterations, tally.substeps, tally.newton_residual, tally.error, tally.worst


@pytest.mark.parametrize("order", [2, 4])
def test_accelerations_are_those_of_a_run_from_there(order: int) -> None:
    """And whoever asks for them goes on as if nothing had been asked: inputs, forces and functions of time too."""
    m = tree()
    m.add_force(Motor("slide", 0.0, name="push"))
    m.add_coupling(PrescribedMotion("hinge", lambda t: 0.1 * np.sin(3 * t), name="crank"))
    simulate = Simulator(m, 0.002, order=order)
    asked, other = simulate.start(), simulate.start()
    for k in range(12):
        for live in (asked, other):
            live.set(push=np.sin(k))
            if k in (5, 8):
                # the next ones replace what acts at the node, which is in another frame
                frame = "body" if k == 5 else "world"
                live.hold({body: Load(force=(0.0, 1.0, 0.5), at=(0.1, 0, 0), frame=frame) for body in m.bodies})
        before = tally_of(asked)
        linear, angular = asked.accelerations()
        assert tally_of(asked) == before
        if k == 3:
            ahead = Simulator(m, 1e-4, order=4, tolerance=1e-13).start(other.state())
            ahead.inputs[:] = other.inputs
            nodes = [(ahead.velocity.copy(), ahead.angular_velocity.copy())]
            for _ in range(4):
                ahead.step()
                nodes.append((ahead.velocity.copy(), ahead.angular_velocity.copy()))
            for found, which in ((linear, 0), (angular, 1)):
                # of order four in 0.1 ms, and rounding of velocities over it
                expected = (
                    np.einsum("k,knj->nj", (-25 / 12, 4, -3, 4 / 3, -1 / 4), [node[which] for node in nodes]) / 1e-4
                )
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
        for live in (asked, other):
            live.step()
        for name in ("position", "orientation", "velocity", "angular_velocity", "coordinates", "inputs"):
            np.testing.assert_array_equal(getattr(asked, name), getattr(other, name))
    np.testing.assert_array_equal(asked.checkpoint(), other.checkpoint())


def test_accelerations_that_cannot_be_had() -> None:
    m = scenes.pendulum(2, "revolute", angle=1.0)
    with pytest.raises(RuntimeError, match="in use"):
        Simulator(m, 0.01).run(steps=2, control=lambda t, live: (live.accelerations(), None)[1])
    live = Simulator(m, 0.05, rescue=False, max_iterations=1, on_failure="stop").start()
    assert np.isfinite(live.accelerations()).all()
    live.step(20)
    with pytest.raises(SimulationError, match="finds no solution"):
        live.body("link1").point_acceleration((0, 0, 0))
    assert live.failed


@pytest.mark.parametrize("state", [0.5, "start", (1, 2), np.zeros(3), object()])
def test_it_restarts_from_states_alone(state: object) -> None:
    live = Simulator(scenes.pendulum(2), 0.01).start()
    with pytest.raises(ValueError, match="restarts from a State"):
        live.restart(state)  # type: ignore[arg-type]
    live.step(3)


# ---- what is left where a user's function, or the user, has broken in


@pytest.mark.parametrize("order", [2, 4])
def test_a_failing_function_leaves_it_where_it_was(order: Any) -> None:
    """It can be read and goes on as if nobody had asked: the function, not the mechanism, has failed."""
    last = [np.inf]

    def effort(t: float) -> float:
        if t > last[0]:
            raise ZeroDivisionError
        return 0.1 * t

    m = tree()
    m.add_force(Motor(next(j for j in m.joints.values() if j.dof == 1), effort))
    live = Simulator(m, 0.01, order=order).start()
    live.step(3)
    undisturbed = live.copy()
    last[0] = live.time
    for ask in (live.step, live.accelerations, live.multipliers):
        with pytest.raises(ZeroDivisionError):
            ask()
        assert live.status.ok
        assert not live.failed
        assert live.status.time == live.time == undisturbed.time
        assert live.energy() == undisturbed.energy()
    last[0] = np.inf
    joint = next(iter(m.joints))
    np.testing.assert_array_equal(live.joint(joint).force, undisturbed.joint(joint).force)
    live.step(5)
    undisturbed.step(5)
    np.testing.assert_array_equal(live.position, undisturbed.position)


@pytest.mark.parametrize("ask", [Live.step, Live.accelerations])
def test_a_failing_function_leaves_the_ground_where_it_was(ask: Callable[[Live], object]) -> None:
    """Coordinates and rates are relative to ground that moves, at the node and not where a step would have ended."""
    last = [np.inf]

    def ground(t: float) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
        if t > last[0]:
            raise ZeroDivisionError
        return (t + t**3, 0, 0), (1, 0, 0, 0)

    m = slider()
    m.remove_force("push")
    m.joints["rail"].ground = ground
    live = Simulator(m, 0.1).start()
    live.step(3)
    coordinates, rates = live.coordinates.copy(), live.rates.copy()
    # it fails in the step after the next, when the values of the first are known; or just after the node
    last[0] = live.time + (0.11 if ask is Live.step else 0.0)
    with pytest.raises(ZeroDivisionError):
        ask(live) if ask is Live.accelerations else live.step(2)
    np.testing.assert_array_equal(live.coordinates, coordinates)
    np.testing.assert_array_equal(live.rates, rates)


def test_of_a_run_that_was_broken_off_it_says_so() -> None:
    kept: list[Live] = []

    def control(_time: float, live: Live) -> None:
        kept.append(live)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Simulator(slider(), 0.01).run(1.0, control=control)
    assert kept[0].status.reason == "interrupted"
    assert "interrupted at t = 0 s" in kept[0].status.message
    kept[0].restart()
    assert kept[0].status.ok


def test_of_a_run_that_has_ended_it_has_no_reactions() -> None:
    """They take a step to find, from where it no longer stands; looking for them wrote into the records of the run."""
    kept: list[Live] = []
    run = Simulator(slider(), 0.01).run(0.1, control=lambda _time, live: kept.append(live))
    before = run.position.copy()
    joint = next(iter(run.mechanism.joints))
    for read in (kept[-1].multipliers, lambda: kept[-1].joint(joint).force, lambda: kept[-1].joint(joint).torque):
        with pytest.raises(RuntimeError, match="its run has ended; call restart first"):
            read()
    np.testing.assert_array_equal(run.position, before)
    kept[-1].restart()
    np.testing.assert_array_equal(kept[-1].multipliers(), run.multipliers[0])
