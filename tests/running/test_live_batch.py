"""Live batches: every member is a live mechanism of its own, whoever its neighbours are."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Callable

import numpy as np
import pytest

from batches import SCENES, simulator, starts
from catena import (
    Gear,
    LiveBatch,
    Mechanism,
    Motor,
    PrescribedMotion,
    Prismatic,
    Revolute,
    Servo,
    Simulator,
    Spring,
    State,
    box,
    info,
    scenes,
)
from held import DT, FORCES, OwnError, V, X, steps_of_two_threads
from mechanisms import slider, tree

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

ARRAYS = ("position", "orientation", "velocity", "angular_velocity", "_counted")


def same(one: LiveBatch, other: LiveBatch, members: object = slice(None)) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name)[members], getattr(other, name)[members])


def acted() -> Mechanism:
    """A tree with motors and servos on freedoms of all kinds."""
    m = tree()
    m.add_force(Motor("slide", 0.0, name="push"))
    m.add_force(Servo("hinge", kp=3.0, kd=0.3, target=0.1, name="servo"))
    m.add_force(Motor("thread", 0.01, name="drive"))
    return m


def worked() -> Mechanism:
    """A loop with a motor on every hinge: one of them is no freedom of the tree."""
    m = scenes.four_bar()
    for joint in m.joints:
        m.add_force(Motor(joint, 0.1, name=f"on {joint}"))
    return m


# ---- it goes on as a batch does, and as each member would alone


@pytest.mark.parametrize("kernel", info()["kernels"])
@pytest.mark.parametrize("scene", [*SCENES, "acted", "humanoid"])
def test_steps_of_a_live_batch_are_those_of_a_batch(scene: str, kernel: str) -> None:
    """Bit for bit, one by one or many at a time, whatever the number of threads."""
    m = {**SCENES, "acted": acted, "humanoid": scenes.humanoid}[scene]()
    states = starts(m, 7)
    sim = simulator(m, kernel=kernel)
    batch = sim.run_batch(states=states, steps=30)
    for threads, count in ((1, 1), (2, 6), (2, 30)):
        live = sim.start_batch(states, threads=threads)
        np.testing.assert_array_equal(live.position, batch.position[:, 0])
        for _ in range(30 // count):
            live.step(count)
        for name in ARRAYS[:-1]:
            np.testing.assert_array_equal(getattr(live, name), getattr(batch, name)[:, -1])
        np.testing.assert_allclose(live.time, 0.3, rtol=1e-14)
        # a finished batch asks the best kernel, whichever ran it
        atol = 0 if kernel == info()["kernel"] else 1e-13
        np.testing.assert_allclose(live.coordinates, batch.coordinates[:, -1], rtol=0, atol=atol)
        np.testing.assert_allclose(live.rates, batch.rates[:, -1], rtol=0, atol=atol)
        assert not live.failed.any()


def driven() -> Mechanism:
    m = scenes.four_bar()
    m.add_coupling(PrescribedMotion(next(iter(m.joints)), lambda t: 0.3 * np.sin(5 * t)))
    return m


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (acted, {}),
        (worked, {}),
        (acted, {"order": 4}),
        (acted, {"solver": "ldu"}),
        (acted, {"solver": "dense", "order": 1}),
        (driven, {}),
        (lambda: scenes.scissor(8), {}),
    ],
    ids=["lanes", "loop", "order 4", "ldu", "dense 1", "driven", "many loops"],
)
def test_members_are_live_mechanisms(make: Callable[[], Mechanism], options: dict[str, object]) -> None:
    """Each with inputs of its own, that change from step to step."""
    m = make()
    sim = simulator(m, **options)
    states = starts(m, 5)
    batch = sim.start_batch(states, threads=2)
    alone = [sim.start(state) for state in states]
    rng = np.random.default_rng(1)
    for _ in range(20):
        given = batch.inputs + 0.3 * rng.normal(size=batch.inputs.shape)
        batch.inputs[:] = given
        batch.step()
        for k, live in enumerate(alone):
            live.inputs[:] = given[k]
            live.step()
    # bit for bit where the same code runs; in lanes the sums are ordered otherwise
    atol = 1e-11 if batch.in_lanes else 0
    for k, live in enumerate(alone):
        for name in ("position", "orientation"):
            np.testing.assert_allclose(getattr(batch, name)[k], getattr(live, name), rtol=0, atol=atol)
        for name in ("velocity", "angular_velocity", "coordinates", "rates"):
            np.testing.assert_allclose(getattr(batch, name)[k], getattr(live, name), rtol=0, atol=100 * atol)
        assert batch.time[k] == live.time


@pytest.mark.parametrize("order", [2, 4])
def test_the_closed_form_of_held_inputs(order: int) -> None:
    batch = Simulator(slider(), DT, order=order).start_batch(3)
    for k, f in enumerate(FORCES):
        batch.set(push=(f, 0.0, 2 * f))
        batch.step()
        # rounding alone
        np.testing.assert_allclose(batch.position[:, 0, 0], X[k + 1] * np.array((1, 0, 2)), rtol=0, atol=1e-14)
        np.testing.assert_allclose(batch.velocity[:, 0, 0], V[k + 1] * np.array((1, 0, 2)), rtol=0, atol=1e-14)


@pytest.mark.parametrize("options", [{}, {"order": 4}])
def test_own_numbers(options: dict[str, int]) -> None:
    m = acted()
    states = starts(m, 6)
    sim = simulator(m, **options)
    rng = np.random.default_rng(3)
    numbers = {
        "masses": {"hand": rng.uniform(0.2, 0.4, 6)},
        "gravity": rng.normal(size=(6, 3)),
        "force_parameters": {"servo": {"target": rng.normal(size=6)}, "spring": {"stiffness": rng.uniform(5, 30, 6)}},
        "loads": [{"arm0": (f, 0, 0)} for f in rng.normal(size=6)],
    }
    batch = sim.run_batch(states=states, steps=20, **numbers)  # type: ignore[arg-type]
    live = sim.start_batch(states, threads=2, **numbers)  # type: ignore[arg-type]
    np.testing.assert_array_equal(live.inputs_by_name["servo"], numbers["force_parameters"]["servo"]["target"])  # type: ignore[index,call-overload]
    for _ in range(20):
        live.step()
    np.testing.assert_array_equal(live.position, batch.position[:, -1])


def test_turns_are_counted() -> None:
    m = scenes.pendulum(2, "revolute")
    state = m.state()
    state.joint("joint1").rate = 30.0
    live = Simulator(m, 0.01).start_batch([state] * 3)
    for _ in range(100):
        live.step()
    alone = Simulator(m, 0.01).run(steps=100, state=state)
    assert alone.coordinates[-1, 0] > 10
    np.testing.assert_allclose(live.coordinates[2], alone.coordinates[-1], rtol=0, atol=1e-8)


# ---- beginning anew


@pytest.mark.parametrize("options", [{}, {"solver": "ldu"}], ids=["lanes", "alone"])
def test_reset_of_some_members(options: dict[str, str]) -> None:
    """They begin as in a new batch; the others do not notice."""
    m = acted()
    states = starts(m, 9)
    sim = simulator(m, **options)
    batch, other, fresh = (sim.start_batch(states, threads=2) for _ in range(3))
    for live in (batch, other):
        live.set(motor=0.3)
        live.step(7)
    mask = np.zeros(9, dtype=bool)
    mask[[0, 3, 8]] = True
    batch.reset(mask)
    same(batch, other, ~mask)
    same(batch, fresh, mask)
    np.testing.assert_array_equal(batch.time, np.where(mask, 0, other.time))
    np.testing.assert_array_equal(batch.inputs_by_name["motor"], np.where(mask, 0.05, 0.3))
    batch.step(5)
    other.step(5)
    fresh.step(5)
    same(batch, other, ~mask)
    same(batch, fresh, mask)

    # elsewhere, and later
    state = batch.state(4)
    batch.reset([1, -1], [state, states[2]])
    np.testing.assert_allclose(batch.position[1], batch.position[4], rtol=0, atol=1e-12)
    assert batch.time[1] == batch.time[4]
    np.testing.assert_array_equal(batch.position[8], fresh.simulator.start(states[2]).position)
    batch.reset([2, 5], state)
    np.testing.assert_array_equal(batch.position[2], batch.position[5])
    batch.reset([])


@pytest.mark.parametrize("options", [{}, {"rescue": False}, {"order": 4}], ids=str)
def test_members_that_fail_stay_where_they_are(options: dict[str, object]) -> None:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("wheel", box((0.1, 0.2, 0.3), mass=1.0))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    m.add_force(Motor("axle", 0.01, name="motor"))
    batch = Simulator(m, 0.01, **options).start_batch(6)  # type: ignore[arg-type]
    batch.step()
    batch.inputs_by_name["motor"][2] = 1e6
    batch.step(3)
    assert batch.failed.tolist() == [False, False, True, False, False, False]
    assert 0.01 <= batch.time[2] < 0.02
    np.testing.assert_allclose(np.delete(batch.time, 2), 0.04)
    assert "'wheel'" in batch.status[2].message
    assert batch.status[3].ok
    assert "1 failed" in repr(batch)
    # there it stays
    stood = batch.orientation[2].copy(), batch.time[2]
    batch.set(motor=0.01)
    batch.step(4)
    np.testing.assert_array_equal(batch.orientation[2], stood[0])
    assert batch.time[2] == stood[1]
    assert batch.failed.sum() == 1
    assert np.isfinite(batch.angular_velocity).all()
    batch.reset(batch.failed)
    assert not batch.failed.any()
    batch.step(2)
    assert batch.time[2] == pytest.approx(0.02)


def test_springs_that_become_too_stiff() -> None:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("cart", box((0.1, 0.1, 0.1), mass=1.0))
    m.add_joint(Prismatic("world", "cart", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_force(Spring("rail", 1e4, name="coil"))
    batch = Simulator(m, 0.01).start_batch(3, masses={"cart": (1.0, 0.01, 1.0)})
    assert batch.failed.tolist() == [False, True, False]
    assert "'coil'" in batch.status[1].message


# ---- hostile use


def test_what_is_refused() -> None:
    sim = Simulator(slider(), DT)
    with pytest.raises(ValueError, match="at least one member"):
        sim.start_batch([])
    batch = sim.start_batch(4)
    batch.inputs[:, 0] = (1.0, 1.0, np.nan, 1.0)
    with pytest.raises(ValueError, match="input 0 of member 2"):
        batch.step()
    assert (batch.time == 0).all()
    with pytest.raises(ValueError, match="input 'push' must be a finite number, or 4 of them, got"):
        batch.set(push=(1.0, 1.0, np.nan, 1.0))
    batch.set(push=1.0)
    with pytest.raises(ValueError, match=r"or 4 of them, got \(1.0, 2.0\)"):
        batch.set(push=(1.0, 2.0))
    with pytest.raises(KeyError, match="'push'"):
        batch.set(pull=1.0)
    with pytest.raises((TypeError, ValueError)):
        batch.step(-1)
    with pytest.raises(ValueError, match="read-only"):
        batch.position[0] = 0
    for members, states, sentence in (
        ([True], None, "mask"),
        ([4], None, "4 members"),
        ([0, 0], None, "only once"),
        (["a"], None, "whole numbers"),
        ([0, 1], [sim.mechanism.state()], "1 states for 2"),
        ([0], [3], "must be a State"),
    ):
        with pytest.raises(ValueError, match=sentence):
            batch.reset(members, states)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="4 members"):
        batch.state(4)
    with pytest.raises(ValueError, match="threads"):
        sim.start_batch(2, threads=0)
    batch.step()
    np.testing.assert_allclose(batch.velocity[:, 0, 0], DT)


def test_one_caller_at_a_time() -> None:
    batch = Simulator(scenes.pendulum(20, "ball", angle=1.0), 0.001).start_batch(8, threads=2)
    taken = steps_of_two_threads(batch, 50)
    assert taken > 0
    np.testing.assert_allclose(batch.time, taken * 0.001)


def test_views_outlive_their_batch() -> None:
    batch = Simulator(slider(3.0), DT).start_batch(5)
    gc.collect()
    batch.step(2)
    views = batch.position, batch.coordinates, batch.failed, batch.inputs_by_name["push"]
    kept = [view.copy() for view in views]
    del batch
    gc.collect()
    for view, copy in zip(views, kept, strict=True):
        np.testing.assert_array_equal(view, copy)


@pytest.mark.parametrize("threads", [1, 2])
def test_exceptions_of_functions_come_through(threads: int) -> None:
    """Every member stands where it was, or where it has got to, and can go on."""
    m = scenes.pendulum(1)
    trouble = [False]

    def torque(t: float) -> float:
        if trouble[0]:
            raise OwnError("no more")
        return 0.1

    m.add_force(Motor("joint1", torque))
    sim = Simulator(m, 0.01)
    batch = sim.start_batch(3, threads=threads)
    batch.step(5)
    trouble[0] = True
    with pytest.raises(OwnError):
        batch.step()
    np.testing.assert_allclose(batch.time, 0.05)
    assert np.isfinite(batch.position).all()
    trouble[0] = False
    batch.step(5)
    np.testing.assert_array_equal(batch.position, sim.run(steps=10).position[-1:].repeat(3, 0))


def _step_in_a_fork(batch: LiveBatch, found: object) -> None:
    batch.step(3)
    found.put(batch.position.copy())  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_no_threads_but_goes_on() -> None:
    batch = Simulator(scenes.pendulum(2, angle=1.0), 0.01).start_batch(20, threads=2)
    batch.step()
    context = multiprocessing.get_context("fork")
    found = context.Queue()
    process = context.Process(target=_step_in_a_fork, args=(batch, found))
    process.start()
    position = found.get(timeout=600)
    process.join(timeout=600)
    assert process.exitcode == 0
    batch.step(3)
    np.testing.assert_array_equal(batch.position, position)


def test_states_with_times_of_their_own() -> None:
    m = scenes.pendulum(1)
    states = [m.state(), m.state()]
    states[1].time = 2.0
    batch = Simulator(m, 0.01).start_batch(states)
    batch.step(3)
    np.testing.assert_allclose(batch.time, (0.03, 2.03), rtol=1e-14)
    assert isinstance(batch.state(1), State)
    assert batch.state(1).time == batch.time[1]


def test_reset_in_joint_space() -> None:
    """Members whose coordinates and rates are given begin as from states in which they are set."""
    m = acted()
    sim = simulator(m)
    batch, other = (sim.start_batch(9) for _ in range(2))
    for live in (batch, other):
        live.step(3)
    rng = np.random.default_rng(0)
    wanted, speeds = rng.uniform(-7, 7, size=(2, 3, len(m.coordinates)))
    states = [m.state() for _ in wanted]
    for state, row, rates in zip(states, wanted, speeds, strict=True):
        state.coordinates, state.rates = row, rates
    batch.reset([1, 4, -1], coordinates=wanted, rates=speeds)
    other.reset([1, 4, -1], states)
    # states are normalised once more
    for _ in range(2):
        for name in ("position", "velocity", "coordinates", "rates", "time", "inputs"):
            np.testing.assert_allclose(getattr(batch, name), getattr(other, name), rtol=0, atol=1e-11)
        for live in (batch, other):
            live.step(5)
    np.testing.assert_allclose(batch.coordinates, other.coordinates, rtol=0, atol=1e-9)

    # the same for all, and what is not given as described; where they began is kept
    batch.reset(np.arange(9) < 2, rates=speeds[0])
    np.testing.assert_allclose(
        batch.coordinates[:2], np.tile(sim.plan.described.coordinates, (2, 1)), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(batch.rates[:2], np.tile(speeds[0], (2, 1)), rtol=0, atol=1e-11)
    batch.step()
    batch.reset([0, 4])
    np.testing.assert_allclose(batch.rates[[0, 4]], speeds[[0, 1]], rtol=0, atol=1e-11)
    batch.reset([], coordinates=wanted[:0])

    with pytest.raises(ValueError, match=r"reset: coordinates must have shape \(2, \d\), got \(3, \d\)"):
        batch.reset([0, 1], coordinates=wanted)
    with pytest.raises(ValueError, match="reset: rates must be finite"):
        batch.reset([0], rates=np.full(len(m.coordinates), np.nan))
    with pytest.raises(ValueError, match="give states, or coordinates and rates"):
        batch.reset([0], states[0], rates=speeds[0])
    with pytest.raises(ValueError, match="rotates by"):
        batch.reset([0], rates=np.full(len(m.coordinates), 1e9))


def test_reset_without_rates_takes_those_of_the_description() -> None:
    m = acted()
    state = m.state()
    speeds = state.rates = np.linspace(-1, 1, len(m.coordinates))
    for k, body in enumerate(m.bodies.values()):
        body.velocity, body.angular_velocity = state.velocity[k], state.angular_velocity[k]
    batch = simulator(m).start_batch(3)
    batch.step(2)
    batch.reset([0, 2], coordinates=np.zeros(len(m.coordinates)))
    np.testing.assert_allclose(batch.rates[[0, 2]], np.tile(speeds, (2, 1)), rtol=0, atol=1e-11)


@pytest.mark.parametrize("options", [{}, {"solver": "ldu"}], ids=["lanes", "alone"])
def test_errors_are_counted_from_a_reset_on(options: dict[str, str]) -> None:
    m = acted()
    batch, fresh = (simulator(m, **options).start_batch(starts(m, 5)) for _ in range(2))
    batch.step(20)
    before = batch.error.copy()
    assert (before > 0).all()
    batch.reset([1, 3])
    np.testing.assert_array_equal(batch.error, before * [1, 0, 1, 0, 1])
    batch.step(4)
    fresh.step(4)
    np.testing.assert_array_equal(batch.error[[1, 3]], fresh.error[[1, 3]])


def test_reset_in_joint_space_keeps_what_else_holds() -> None:
    """Loops and gears are checked as they are of states."""
    m = Mechanism(gravity=(0, 0, 0))
    for k, name in enumerate(("small", "large")):
        m.add_body(name, box((0.1, 0.2, 0.3), mass=1.0), position=(k, 0, 0))
        m.add_joint(Revolute("world", name, axis=(0, 0, 1), at=(k, 0, 0), name=f"axle of {name}"))
    m.add_coupling(Gear("axle of small", "axle of large", ratio=-2.0, name="teeth"))
    batch = Simulator(m, 0.01).start_batch(3)
    turned = np.array(m.state().coordinates)
    batch.reset([0, 2], coordinates=turned, rates=(0.0, 0.0))
    # the last coordinate follows
    batch.reset([0, 2], coordinates=turned + np.array((1.0, 0.0)))
    np.testing.assert_allclose(batch.coordinates[[0, 2]], np.tile((1.0, -2.0), (2, 1)), rtol=0, atol=1e-10)


def test_the_state_of_a_member_at_order_1_that_has_not_moved() -> None:
    """A first step of that order is another than those that follow, also from the state of a member."""
    simulate = Simulator(scenes.pendulum(3, "revolute", angle=0.5), 0.01, order=1)
    begun = simulate.mechanism.state()
    batch = simulate.start_batch([begun, begun])
    first = batch.state(1)
    batch.step(4)
    later = batch.state(1)
    batch.step(6)
    np.testing.assert_array_equal(simulate.run(steps=10, state=first).position[-1], batch.position[1])
    # what its steps have taught the solver is not part of a member's state
    np.testing.assert_allclose(simulate.run(steps=6, state=later).position[-1], batch.position[1], atol=1e-10)
    with pytest.raises(ValueError, match="order 1"):
        simulate.start_batch([begun, later])
    with pytest.raises(ValueError, match="order 1"):
        batch.reset([0], later)
