"""Batches: every member is a run of its own, whoever its neighbours are and however many threads there are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi

import numpy as np
import pytest

from batches import LANES, MEMBERS, SCENES, simulator, starts
from catena import (
    Armature,
    BatchError,
    Damper,
    Friction,
    Gear,
    Inertia,
    Load,
    Mechanism,
    Motor,
    PrescribedMotion,
    Prismatic,
    Revolute,
    Servo,
    SimulationError,
    Simulator,
    Spring,
    State,
    box,
    info,
    scenes,
)
from catena.describe.forces import Force
from mechanisms import tree

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


@pytest.mark.parametrize("kernel", info()["kernels"])
@pytest.mark.parametrize("scene", SCENES)
def test_members_are_single_runs(scene: str, kernel: str) -> None:
    m = SCENES[scene]()
    states = starts(m)
    sim = simulator(m, kernel=kernel)
    batch = sim.run_batch(states=states, steps=60)
    for k, state in enumerate(states):
        alone = sim.run(steps=60, state=state)
        member = batch[k]
        assert len(member) == len(alone)
        np.testing.assert_array_equal(member.time, alone.time)
        # bit for bit where the same code runs; in lanes the sums are ordered otherwise, and rounding grows with motion
        atol = 1e-12 if scene in LANES else 0
        np.testing.assert_allclose(member.position, alone.position, rtol=0, atol=atol)
        np.testing.assert_allclose(member.orientation, alone.orientation, rtol=0, atol=atol)
        np.testing.assert_allclose(member.velocity, alone.velocity, rtol=0, atol=100 * atol)
        np.testing.assert_allclose(member.angular_velocity, alone.angular_velocity, rtol=0, atol=100 * atol)
        np.testing.assert_allclose(member.energy(), alone.energy(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", info()["kernels"])
def test_loops_pass_singular_poses_in_lanes(kernel: str) -> None:
    """Squares that fold flat at different times: there a lane hands over to the solver for one, and comes back."""
    m = scenes.n_four_bar(1)
    states = []
    for speed in np.linspace(3.0, 9.0, 7):
        state = m.state()
        state.velocity *= speed
        state.angular_velocity *= speed
        states.append(state)
    batch = Simulator(m, 0.005, kernel=kernel).run_batch(4.0, states=states)
    assert not batch.failed.any()
    for member in batch:
        flat = np.abs(member.position[:, 0, 2]).min()
        assert flat < 0.05, "it folds"
        assert member.drift().max() < 1e-11
        # at the flat pose two motions cross, and rounding decides which goes on; both keep the energy to second order
        assert member.energy_error().max() < 0.02


@pytest.mark.parametrize("scene", SCENES)
def test_neighbours_and_threads_do_not_matter(scene: str) -> None:
    m = SCENES[scene]()
    states = starts(m)
    sim = simulator(m)
    whole = sim.run_batch(states=states, steps=40, threads=1)
    for threads in (2, 3):
        again = sim.run_batch(states=states, steps=40, threads=threads)
        np.testing.assert_array_equal(again.position, whole.position)
        np.testing.assert_array_equal(again.velocity, whole.velocity)
        np.testing.assert_array_equal(again.iterations, whole.iterations)
    for k in (0, 3, MEMBERS - 1):
        alone = sim.run_batch(states=[states[k]], steps=40)
        np.testing.assert_array_equal(alone.position[0], whole.position[k])
        np.testing.assert_array_equal(alone.angular_velocity[0], whole.angular_velocity[k])
    backwards = sim.run_batch(states=states[::-1], steps=40)
    np.testing.assert_array_equal(backwards.position[::-1], whole.position)


@pytest.mark.parametrize("scene", ["chain of hinges", "tree", "loop"])
def test_records(scene: str) -> None:
    m = SCENES[scene]()
    sim = simulator(m)
    states = starts(m, 3)
    whole = sim.run_batch(states=states, steps=23)
    sparse = sim.run_batch(states=states, steps=23, record_every=7, bodies=[list(m.bodies)[-1]])
    kept = [0, 7, 14, 21, 23]
    assert sparse.position.shape == (3, 5, 1, 3)
    assert sparse.orientation.shape == (3, 5, 1, 4)
    np.testing.assert_array_equal(sparse.time, whole.time[:, kept])
    np.testing.assert_array_equal(sparse.position[:, :, 0], whole.position[:, kept, -1])
    np.testing.assert_array_equal(sparse.velocity[:, :, 0], whole.velocity[:, kept, -1])
    with pytest.raises(ValueError, match="only 1 of"):
        sparse[0]

    out = {name: np.zeros_like(getattr(whole, name)) for name in ("time", "position", "velocity")}
    given = sim.run_batch(states=states, steps=23, out=out)
    assert given.position is out["position"]
    np.testing.assert_array_equal(out["velocity"], whole.velocity)
    with pytest.raises(ValueError, match="out: position must be an array of floats of shape"):
        sim.run_batch(states=states, steps=24, out=out)


def test_turns_are_counted() -> None:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("wheel", Inertia(1.0, np.eye(3)))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    states = []
    for rate in (24.0, -20.0, 0.5):
        state = m.state()
        state.joint("axle").angle = 6 * pi
        state.joint("axle").rate = rate
        states.append(state)
    batch = Simulator(m, 0.01).run_batch(states=states, steps=1000, record_every=500)
    for k, rate in enumerate((24.0, -20.0, 0.5)):
        # by the discrete momentum of a step a constant rate w turns by asin(w dt) in it
        turned = 6 * pi + 1000 * np.arcsin(rate * 0.01)
        assert batch[k].joint("axle").coordinates[-1, 0] == pytest.approx(turned, abs=1e-8)


# ---- what differs between members


@pytest.mark.parametrize("scene", ["chain of hinges", "tree", "damped"])
def test_own_numbers(scene: str) -> None:
    m = SCENES[scene]()
    body = list(m.bodies)[1]
    count = 5
    masses = np.linspace(0.5, 1.5, count)
    tensor = m.bodies[body].inertia.tensor
    inertias = np.linspace(0.8, 1.2, count)[:, None, None] * tensor
    gravity = np.linspace(1, 9, count)[:, None] * np.array((0, 0.1, -1.0))
    force = [{body: Load(force=(0, 0.1 * k, 0), at=(0.1, 0, 0), frame="body")} for k in range(count)]
    options = {"masses": {body: masses}, "inertias": {body: inertias}, "gravity": gravity}
    sim = simulator(m)
    batch = sim.run_batch(states=count, steps=50, loads=force, **options)  # type: ignore[arg-type]
    for k in range(count):
        own = m.copy()
        own.bodies[body].inertia = Inertia(masses[k], inertias[k])
        own.gravity = gravity[k]
        alone = simulator(own).run(steps=50, loads=force[k])
        np.testing.assert_allclose(batch.position[k], alone.position, rtol=0, atol=1e-12)
        np.testing.assert_allclose(batch[k].energy(), alone.energy(), rtol=0, atol=1e-10)
    assert np.ptp(batch.position[:, -1], axis=0).max() > 1e-3


def test_an_inertia_goes_with_the_mass() -> None:
    m = tree()
    body = list(m.bodies)[1]
    batch = simulator(m).run_batch(states=3, steps=20, masses={body: (0.5, 1.0, 3.0)})
    for k, mass in enumerate((0.5, 1.0, 3.0)):
        own = m.copy()
        own.bodies[body].mass = mass
        np.testing.assert_allclose(batch.position[k], simulator(own).run(steps=20).position, rtol=0, atol=1e-12)


def test_own_forces() -> None:
    m = tree()
    stiffness, torque = np.array((5.0, 20.0, 80.0)), np.array((-0.1, 0.0, 0.2))
    laws = {"spring": {"stiffness": stiffness}, "motor": {"effort": torque}}
    batch = simulator(m).run_batch(states=3, steps=50, force_parameters=laws)
    for k in range(3):
        own = m.copy()
        own.forces["spring"].parts[0].law["stiffness"] = stiffness[k]
        own.forces["motor"].parts[0].law["effort"] = torque[k]
        alone = simulator(own).run(steps=50)
        np.testing.assert_allclose(batch.position[k], alone.position, rtol=0, atol=1e-12)
        assert batch[k].mechanism.forces["spring"].parts[0].law["stiffness"] == stiffness[k]


# every number of a law: a force with it, the number's name, and its values in three members
NUMBERS: dict[str, tuple[Callable[[], Force], str, tuple[float, float, float]]] = {
    "stiffness": (lambda: Spring("joint2", 2.0, rest_length=0.3, name="law"), "stiffness", (0.5, 2.0, 9.0)),
    "rest_length": (lambda: Spring("joint2", 5.0, name="law"), "rest_length", (-0.5, 0.0, 0.7)),
    "damping": (lambda: Damper("joint2", 0.1, name="law"), "damping", (0.1, 0.5, 2.0)),
    "implicit": (lambda: Spring("joint2", 30.0, implicit=True, name="law"), "stiffness", (5.0, 30.0, 90.0)),
    "friction": (lambda: Friction("joint2", 0.3, threshold=0.1, name="law"), "effort", (0.1, 0.3, 1.0)),
    "threshold": (lambda: Friction("joint2", 0.8, threshold=0.1, name="law"), "threshold", (0.05, 0.2, 1.0)),
    "kp": (lambda: Servo("joint2", kp=5.0, target=0.4, name="law"), "kp", (1.0, 5.0, 20.0)),
    "kd": (lambda: Servo("joint2", kd=0.5, name="law"), "kd", (0.1, 0.5, 2.0)),
    "target": (lambda: Servo("joint2", kp=5.0, name="law"), "target", (-0.4, 0.1, 0.6)),
    "target_rate": (lambda: Servo("joint2", kd=1.0, name="law"), "target_rate", (-1.0, 0.5, 2.0)),
    "effort_limit": (
        lambda: Servo("joint2", kp=50.0, target=1.0, effort_limit=1.0, name="law"),
        "effort_limit",
        (0.5, 1.0, 3.0),
    ),
    "effort": (lambda: Motor("joint2", 1.0, name="law"), "effort", (-1.0, 0.5, 2.0)),
    "rotor": (lambda: Armature("joint2", 0.2, name="law"), "inertia", (0.05, 0.2, 2.0)),
}


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("number", NUMBERS)
def test_own_numbers_of_every_law(number: str, looped: bool) -> None:
    """In lanes, and one by one beside a loop."""
    force, name, values = NUMBERS[number]

    def make(value: float | None = None) -> Mechanism:
        m = scenes.pendulum(3, "revolute", angle=0.7)
        if looped:
            m.add_body("rider", box((0.1, 0.1, 0.1), mass=0.2))
            m.add_joint(Revolute("world", "rider", axis=(1, 0, 0), at=(0, 0, 0), name="axle"))
            m.add_coupling(Gear("joint1", "axle", 2.0))
        m.add_force(force())
        if value is not None:
            law = m.forces["law"]
            law.parts[0].law[law.parameters[name]] = value
        return m

    def spun(m: Mechanism) -> State:
        state = m.state()
        state.joint("joint2").rate = 1.5
        return m.assemble(state)

    m = make()
    batch = simulator(m).run_batch(states=[spun(m)] * 3, steps=50, force_parameters={"law": {name: values}})
    for k, value in enumerate(values):
        own = make(value)
        alone = simulator(own).run(steps=50, state=spun(own))
        # as of members and single runs
        np.testing.assert_allclose(batch.position[k], alone.position, rtol=0, atol=1e-11)
        np.testing.assert_allclose(batch.angular_velocity[k], alone.angular_velocity, rtol=0, atol=1e-9)
        np.testing.assert_allclose(batch[k].energy(), alone.energy(), rtol=0, atol=1e-9)
    assert np.ptp(batch.position[:, -1], axis=0).max() > 1e-3, "the number tells"


def test_members_have_only_what_their_force_has() -> None:
    """Arguments of the force itself; and a spring that acts at the nodes cannot become implicit in some members."""
    m = scenes.pendulum(2)
    m.add_force(Damper("joint1", 0.2, name="damper"))
    m.add_force(Spring("joint2", 2.0, name="spring"))
    for given, sentence in (
        ({"damper": {"friction": (0.1, 0.3)}}, "damper 'damper' has no 'friction', only damping"),
        ({"damper": {"effort": (0.1, 0.3)}}, "damper 'damper' has no 'effort', only damping"),
        ({"spring": {"damping": (0.0, 0.3)}}, "spring 'spring' has no damping, so it cannot differ between members"),
    ):
        with pytest.raises(ValueError, match=f"force_parameters: {sentence}"):
            simulator(m).run_batch(states=2, steps=3, force_parameters=given)


def test_forces_by_step() -> None:
    m = scenes.pendulum(2)
    rng = np.random.default_rng(0)
    force = [{"link2": rng.normal(size=(31, 3))} for _ in range(3)]
    sim = simulator(m)
    batch = sim.run_batch(states=3, steps=30, loads=force)
    for k in range(3):
        alone = sim.run(steps=30, loads=force[k])
        np.testing.assert_allclose(batch.position[k], alone.position, rtol=0, atol=1e-12)
    same = sim.run_batch(states=3, steps=30, loads=force[1])
    np.testing.assert_array_equal(same.position, np.broadcast_to(batch.position[1], same.position.shape))


def test_functions_of_time_and_orders() -> None:
    m = scenes.pendulum(2)
    m.add_coupling(PrescribedMotion("joint1", lambda t: 0.2 * np.sin(3 * t)))
    for order in (2, 4):
        sim = simulator(m, order=order)
        batch = sim.run_batch(states=4, steps=20, threads=2)
        alone = sim.run(steps=20)
        np.testing.assert_array_equal(batch.position, np.broadcast_to(alone.position, batch.position.shape))


# ---- members in trouble


def whip(count: int) -> tuple[Mechanism, list[State]]:
    """Members of a long chain of which some crack like a whip, and need halved steps."""
    m = scenes.pendulum(20, angle=pi / 2)
    states = [m.state() for _ in range(count)]
    for k, state in enumerate(states):
        state.joint("joint1").angle = -0.2 * k
    return m, states


def test_rescued_members_do_not_disturb_the_others() -> None:
    m, states = whip(9)
    sim = Simulator(m, 0.01, solver="articulated")
    batch = sim.run_batch(states=states, steps=1000, record_every=100)
    halved = (batch.substeps > 1).any(axis=1)
    assert halved.any()
    assert not halved.all()
    for k in (int(np.flatnonzero(halved)[0]), int(np.flatnonzero(~halved)[0])):
        alone = sim.run_batch(states=[states[k]], steps=1000, record_every=100)
        np.testing.assert_array_equal(alone.position[0], batch.position[k])
        assert alone[0].energy_error().max() < 0.1


def wheels(grounded: bool) -> Mechanism:
    """Two equal wheels on one axle, the first on a hinge to the world or afloat."""
    m = Mechanism(gravity=(0, 0, 0))
    for k, name in enumerate("ab"):
        m.add_body(name, Inertia(1.0, (0.01, 0.01, 0.005)), position=(0, 0, 0.2 * k))
    if grounded:
        m.add_joint(Revolute("world", "a", axis=(0, 0, 1), at=(0, 0, 0), name="first"))
    m.add_joint(Revolute("a", "b", axis=(0, 0, 1), at=(0, 0, 0.1), name="second"))
    return m


def test_a_floating_member_is_rescued() -> None:
    m = wheels(grounded=False)
    m.add_force(Motor("second", 0.2))
    sim = Simulator(m, 0.01)
    alone, batch = sim.run(steps=260), sim.run_batch(states=1, steps=260)
    assert alone.halved_count > 0
    assert batch.status[0].ok
    np.testing.assert_allclose(batch[0].angular_velocity, alone.angular_velocity, rtol=0, atol=1e-9)


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("stiffness", [0.0, 0.01])
def test_rescued_steps_count_turns_and_wind_springs(every: int, stiffness: float) -> None:
    m = wheels(grounded=True)
    if stiffness:
        m.add_force(Spring("second", stiffness))
    state = m.state()
    state.joint("first").rate, state.joint("second").rate = 170.0, -340.0
    sim = Simulator(m, 0.01, tolerance=1e-13)
    alone = sim.run(steps=30, state=state, record_every=every)
    member = sim.run_batch(states=[state], steps=30, record_every=every)[0]
    assert alone.halved_count > 0
    for name in m.joints:
        np.testing.assert_allclose(member.joint(name).coordinates, alone.joint(name).coordinates, rtol=0, atol=1e-8)
        np.testing.assert_allclose(member.joint(name).rates, alone.joint(name).rates, rtol=0, atol=1e-7)


@pytest.mark.parametrize("every", [1, 7])
def test_a_failed_member_ends_like_a_single_run(every: int) -> None:
    m = scenes.pendulum(3, angle=pi / 2)
    state = m.state()
    state.joint("joint3").rate = 10.0
    sim = Simulator(m, 0.05, tolerance=1e-13, rescue=False, on_failure="stop")
    alone = sim.run(steps=200, state=state, record_every=every)
    member = sim.run_batch(states=[state], steps=200, record_every=every)[0]
    assert not alone.status.ok
    # the last node is where it ended, seen once, with the turns of the run
    np.testing.assert_array_equal(member.time, alone.time)
    assert alone.joint("joint3").coordinates[-1, 0] > 2 * pi
    for name in m.joints:
        np.testing.assert_allclose(member.joint(name).coordinates, alone.joint(name).coordinates, rtol=0, atol=1e-6)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_a_member_that_fails_within_a_step_ends_like_a_single_run(every: int) -> None:
    """The last node is as far as the halved steps went, recorded once."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("wheel", Inertia(1.0, (0.1, 0.12, 0.15)))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    sim = Simulator(m, 0.01, on_failure="stop")
    force = {"wheel": (0, 0, 0, 0, 0, 1e6)}
    alone, batch = (
        run(steps=30, loads=force, record_every=every) for run in (sim.run, partial(sim.run_batch, states=1))
    )
    assert alone.status.step == batch.status[0].step == 1
    assert 0.01 < alone.time[-1] < 0.02
    np.testing.assert_array_equal(batch[0].time, alone.time)
    np.testing.assert_allclose(batch[0].angular_velocity, alone.angular_velocity, rtol=1e-9)


def test_a_spring_that_becomes_too_stiff_for_one_member() -> None:
    """A weight slides in along an arm that a coil spring holds, in one member faster than in the other."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("slider", box((0.1, 0.1, 0.1), mass=1.0), position=(1.0, 0, 0))
    m.add_body("arm", box((0.02, 0.02, 0.1), mass=1e-3))
    m.add_joint(Revolute("world", "arm", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    m.add_joint(Prismatic("arm", "slider", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_force(Spring("axle", 5000.0, name="coil"))
    states = [m.state(), m.state()]
    for state, rate in zip(states, (-0.5, 0.0), strict=True):
        state.joint("axle").angle = 1e-4
        state.joint("rail").rate = rate
    sim = Simulator(m, 0.01, on_failure="stop")
    batch, alone = sim.run_batch(1.9, states=states), sim.run(1.9, state=states[0])
    assert [status.reason for status in batch.status] == ["stiff", "done"]
    # looked at every few nodes, a lane with its neighbours
    assert batch.status[0].time == pytest.approx(alone.status.time, abs=0.2)


def test_floating_members_keep_momentum_whatever_the_tolerance() -> None:
    m = scenes.spinning_chain(5, rate=4.0)
    member = Simulator(m, 0.02, tolerance=1e-5).run_batch(states=1, steps=1000)[0]
    for momentum in (member.momentum(), member.angular_momentum()):
        # rounding of a thousand steps, far below what Newton leaves of each
        np.testing.assert_allclose(momentum, momentum[:1].repeat(len(member), 0), rtol=0, atol=1e-10)


@pytest.mark.parametrize("flat", [1.0, 1.2])
def test_a_member_out_of_round_is_no_rotor(flat: float) -> None:
    """Round ones may turn by 1 rad in a step, others by 0.25 rad; here by 0.8 rad."""
    inertias = np.array([np.diag((0.1, 0.1 * factor, 0.15)) for factor in (1.0, flat)])
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("wheel", Inertia(1.0, inertias[0]), angular_velocity=(0, 0, 80.0))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    batch = Simulator(m, 0.01).run_batch(states=2, steps=5, inertias={"wheel": inertias})
    halved = (batch.substeps > 1).all(axis=1)
    assert halved.tolist() == [False, flat > 1]


@pytest.mark.parametrize("every", [1, 3])
def test_members_know_the_turns_they_start_with(every: int) -> None:
    m = scenes.pendulum(2)
    state = m.state()
    state.joint("joint1").angle = 10.0
    assert (
        Simulator(m, 0.01).run_batch(states=[state], steps=3, record_every=every)[0].joint("joint1").coordinates[0]
        == 10.0
    )


def test_failing_member() -> None:
    m, states = whip(9)
    sim = Simulator(m, 0.01, solver="articulated", rescue=False)
    with pytest.raises(BatchError, match=r"of 9 members failed: member 0: .* at t = ") as caught:
        sim.run_batch(states=states, steps=1000)
    batch = caught.value.batch
    assert 0 < batch.failed.sum() < 9
    for k in range(9):
        count = batch.counts[k]
        assert np.isfinite(batch.position[k, :count]).all()
        assert np.isnan(batch.position[k, count:]).all()
        assert len(batch[k]) == count
        assert (count == 1001) == batch.status[k].ok
    k = int(np.flatnonzero(batch.failed)[0])
    with pytest.raises(SimulationError) as alone:
        sim.run(steps=1000, state=states[k])
    # the same whip; Newton's last digits decide when exactly it cracks
    assert batch.status[k].time == pytest.approx(alone.value.status.time, abs=0.05)
    stopped = Simulator(m, 0.01, solver="articulated", rescue=False, on_failure="stop").run_batch(
        states=states, steps=1000
    )
    assert (stopped.failed == batch.failed).all()
    assert "failed" in repr(stopped)


# ---- what is refused


def test_bad_batches() -> None:
    m = tree()
    sim = Simulator(m, 0.01)
    with pytest.raises(ValueError, match="at least one member"):
        sim.run_batch(states=[], steps=3)
    with pytest.raises(ValueError, match="states must be a whole number"):
        sim.run_batch(states=0, steps=3)
    with pytest.raises(ValueError, match="there is no body called 'leg'"):
        sim.run_batch(states=2, steps=3, masses={"leg": (1, 2)})
    with pytest.raises(ValueError, match="body 'hand' of member 1"):
        sim.run_batch(states=2, steps=3, masses={"hand": (1, -2)})
    with pytest.raises(ValueError, match="masses of 'hand'"):
        sim.run_batch(states=2, steps=3, masses={"hand": (1, 2, 3)})
    with pytest.raises(ValueError, match="no force called 'glue'"):
        sim.run_batch(states=2, steps=3, force_parameters={"glue": {"stiffness": (1, 2)}})
    with pytest.raises(ValueError, match="has no 'color'"):
        sim.run_batch(states=2, steps=3, force_parameters={"spring": {"color": (1, 2)}})
    with pytest.raises(ValueError, match="has no damping, so it cannot differ between members"):
        sim.run_batch(states=2, steps=3, force_parameters={"spring": {"damping": (1, 2)}})
    with pytest.raises(ValueError, match="must not be negative"):
        sim.run_batch(states=2, steps=3, force_parameters={"spring": {"stiffness": (1, -2)}})
    with pytest.raises(ValueError, match="3 given for 2 members"):
        sim.run_batch(states=2, steps=3, loads=[{"hand": (1, 0, 0)}] * 3)
    with pytest.raises(ValueError, match="must act on the same bodies"):
        sim.run_batch(states=2, steps=3, loads=[{"hand": (1, 0, 0)}, {"trunk": (1, 0, 0)}])
    with pytest.raises(ValueError, match="there is no body called 'leg'"):
        sim.run_batch(states=2, steps=3, bodies=["leg"])
    later = m.state()
    later.time = 1.0
    with pytest.raises(ValueError, match="the same time"):
        sim.run_batch(states=[m.state(), later], steps=3)
    with pytest.raises(ValueError, match=r"needs \d+\.\d GiB, but only .* GiB are free; raise record_every"):
        sim.run_batch(states=1_000_000, steps=10_000_000)


def test_progress_and_interrupts() -> None:
    m = scenes.pendulum(3)
    seen: list[tuple[int, int]] = []
    Simulator(m, 0.01).run_batch(states=16, steps=10, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (16, 16)

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Simulator(m, 0.01).run_batch(states=64, steps=200_000, record_every=1000, progress=stop)


# ---- what members are asked


def test_bodies_recorded_in_another_order() -> None:
    m = tree()
    sim = Simulator(m, 0.01)
    names = list(m.bodies)[::-1]
    usual, turned = sim.run_batch(states=3, steps=5), sim.run_batch(states=3, steps=5, bodies=names)
    assert turned.bodies == tuple(names)
    np.testing.assert_array_equal(turned.position, usual.position[:, :, ::-1])
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(turned[1], name), getattr(usual[1], name))
    np.testing.assert_array_equal(turned.joint("slide").coordinates, usual.joint("slide").coordinates)
    with pytest.raises(ValueError, match="each can be recorded once"):
        sim.run_batch(states=3, steps=5, bodies=["trunk", "hand", "trunk"])


def test_members_have_no_reactions() -> None:
    m = scenes.four_bar()
    member = Simulator(m, 0.01).run_batch(states=2, steps=3)[0]
    with pytest.raises(ValueError, match="reactions were not recorded: they exist only in single runs"):
        _ = member.joint(next(iter(m.joints))).force


def carriage() -> Mechanism:
    """A pendulum on ground that shakes, with a rotor that goes round."""
    m = scenes.pendulum(2)
    joint = m.joints["joint1"]
    joint.ground = lambda t: ((0.1 * np.sin(5 * t), 0.0, 0.0), (np.cos(0.2 * t), 0.0, 0.0, np.sin(0.2 * t)))
    m.add_body("rotor", box((0.1, 0.1, 0.2), mass=0.2), position=(3, 0, 0), angular_velocity=(0, 0, 30.0))
    m.add_joint(Revolute(m.world, "rotor", axis=(0, 0, 1), at=(3, 0, 0), name="spindle"))
    return m


@pytest.mark.parametrize("make", [tree, carriage])
def test_joints_of_all_members(make: Callable[[], Mechanism]) -> None:
    m = make()
    states = []
    for k in range(3):
        state = m.state()
        state.velocity[:] += 0.1 * k
        states.append(m.assemble(state))
    batch = Simulator(m, 0.02).run_batch(states=states, steps=40, record_every=3)
    for name, joint in m.joints.items():
        found = batch.joint(name)
        assert found.coordinates.shape == (3, batch.time.shape[1], joint.dof)
        for k, member in enumerate(batch):
            np.testing.assert_allclose(found.coordinates[k], member.joint(name).coordinates, rtol=0, atol=1e-13)
            np.testing.assert_allclose(found.rates[k], member.joint(name).rates, rtol=0, atol=1e-10)
    if make is carriage:
        # about four turns, counted
        assert batch.joint("spindle").coordinates[0, -1, 0] > 6 * pi


def test_joints_of_members_that_were_not_recorded() -> None:
    batch = Simulator(tree(), 0.01).run_batch(states=2, steps=3, bodies=["trunk", "arm0"])
    assert batch.joint("hinge").rates.shape == (2, 4, 1)
    # given by name or itself, and with the readings of a joint of a single run
    hinge = batch.joint(batch.mechanism.joints["hinge"])
    np.testing.assert_array_equal(hinge.rate, batch.joint("hinge").rates[..., 0])
    np.testing.assert_array_equal(hinge.angle, hinge.coordinates[..., 0])
    assert (np.abs(hinge.wrapped) <= pi).all()
    with pytest.raises(ValueError, match="revolute joint 'wrist': its body 'hand' was not recorded"):
        batch.joint("wrist")
    with pytest.raises(ValueError, match="there is no joint called 'elbow' in this batch"):
        batch.joint("elbow")


def test_joints_of_failed_members_end_with_them() -> None:
    m = scenes.pendulum(10, angle=pi / 2)
    batch = Simulator(m, 0.01, rescue=False, on_failure="stop").run_batch(10.0, states=2)
    count = batch.counts[0]
    angles = batch.joint("joint3").coordinates[0]
    assert count < len(angles)
    np.testing.assert_array_equal(angles[:count], batch[0].joint("joint3").coordinates)
    assert np.isnan(angles[count:]).all()
