"""Between nodes: times that are asked for are as good as nodes, polynomials nearly so, and events are found in time."""

from __future__ import annotations

from math import pi, sin, sqrt

import numpy as np
import pytest

import catena as ct
from catena import Event, Live, Mechanism, Simulator, State, scenes
from catena._util.rotation import conjugate, multiply, rotation_vector
from catena.results.interpolation import interpolation_error, resampled
from catena.simulate.run_steps import run_steps

TIMES = np.array((0.0, 0.013, 0.1, 0.1 + 1e-5, 0.333, 0.5, 0.77, 1.0))


def exact(m: Mechanism) -> np.ndarray:
    return Simulator(m, 0.0025, order=8).run(t_eval=TIMES).position


@pytest.mark.parametrize(("order", "dt"), [(2, 0.01), (4, 0.05), (8, 0.05)])
def test_times_have_the_order_of_the_run(order: int, dt: float) -> None:
    m = scenes.double_pendulum()
    off = [
        np.abs(Simulator(m, h, order=order, tolerance=1e-13).run(1.0, t_eval=TIMES).position - exact(m)).max()
        for h in (dt, dt / 2)
    ]
    # half a power for times that lie otherwise among the nodes
    assert np.log2(off[0] / off[1]) > order - 0.5


@pytest.mark.parametrize("scene", [scenes.double_pendulum, scenes.four_bar, lambda: scenes.slider_crank(rate=8.0)])
@pytest.mark.parametrize("order", [2, 4, 8])
def test_times_are_as_good_as_nodes(scene, order: int) -> None:
    """Joints are closed, energy is that of nodes, reactions are there, and the run is not disturbed."""
    m = scene()
    simulator = Simulator(m, 0.005, order=order)
    plain, run = simulator.run(1.0), simulator.run(t_eval=TIMES)
    np.testing.assert_array_equal(run.time, TIMES)
    assert run.drift().max() < 1e-12
    np.testing.assert_array_equal(run.position[-1], plain.position[-1])
    np.testing.assert_array_equal(run.error, plain.error)
    np.testing.assert_array_equal(run.position[2], plain.position[20])
    np.testing.assert_allclose(run.multipliers[2], plain.multipliers[20], rtol=1e-6, atol=1e-8)
    # just behind a node nothing has changed yet but the side from which second order sees a reaction
    scale = np.abs(plain.multipliers).max()
    np.testing.assert_allclose(run.multipliers[3], run.multipliers[2], atol=(0.05 if order == 2 else 1e-3) * scale)
    assert run.energy_error().max() <= 1.5 * plain.energy_error().max() + 1e-12
    assert run.checkpoints is None


def test_times_with_drives_and_control() -> None:
    m = scenes.pendulum(2, angle=0.3)
    m.add_force(ct.Motor("joint2", 0.0, name="motor"))
    m.add_coupling(ct.PrescribedMotion("joint1", lambda t: 0.2 * sin(3 * t), name="drive"))

    def control(t: float, live: Live) -> None:
        live.set(motor=sin(5 * t))

    simulator = Simulator(m, 0.01, order=4)
    plain = simulator.run(1.0, control=control)
    run = simulator.run(1.0, control=control, t_eval=[0.005, 0.5, 0.505, 1.0])
    np.testing.assert_array_equal(run.position[[1, 3]], plain.position[[50, 100]])
    assert abs(run.joint("joint1").angle[2] - 0.2 * sin(3 * 0.505)) < 1e-12
    # what holds from the node before
    np.testing.assert_array_equal(run.inputs[:, 0], np.sin(5 * np.array((0.0, 0.5, 0.5, 1.0))))


def test_times_with_an_accuracy() -> None:
    m = scenes.pendulum(5, angle=pi / 2)
    run = Simulator(m, accuracy=1e-6).run(t_eval=TIMES)
    assert np.abs(run.position - exact(m)).max() < 1e-5


@pytest.mark.parametrize("times", [[], [0.5, 0.5], [1.0, 0.5], [-1.0], [np.nan], "soon", [[0.1]]])
def test_times_that_cannot_be(times: object) -> None:
    with pytest.raises(ValueError, match="t_eval"):
        Simulator(scenes.pendulum(1), 0.01).run(1.0, t_eval=times)


def test_times_and_what_else_says_how_long_or_what() -> None:
    simulator = Simulator(scenes.pendulum(1), 0.01)
    with pytest.raises(ValueError, match=r"t_eval ends at 3 s, after the run, which ends at 1 s"):
        simulator.run(1.0, t_eval=[3.0])
    with pytest.raises(ValueError, match="exactly one of duration and steps"):
        simulator.run(1.0, steps=100, t_eval=[0.5])
    with pytest.raises(ValueError, match="duration must be"):
        simulator.run("long", t_eval=[0.5])
    for how in ({"record_every": 2}, {"checkpoints": True}):
        with pytest.raises(ValueError, match="t_eval cannot be combined"):
            simulator.run(1.0, t_eval=[0.5], **how)
    with pytest.raises(ValueError, match="must be a State"):
        simulator.run(1.0, t_eval=[0.5], state="here")


# ---- polynomials


def between_nodes(order: int, dt: float) -> tuple[np.ndarray, float]:
    """Errors of position, orientation, velocity and angular velocity of polynomials, and of positions at the nodes."""
    m = scenes.pendulum(2, "ball", angle=0.7)
    state = m.state()
    state.joint("joint1").rates = (0.5, 1.0, 3.0)
    times = np.linspace(0.0, 1.0, 173)
    run = Simulator(m, dt, order=order).run(1.0, state=state)
    true = Simulator(m, 0.002, order=8).run(1.0, state=state, t_eval=times)
    at_nodes = np.abs(run.position - Simulator(m, 0.002, order=8).run(1.0, state=state, t_eval=run.time).position).max()
    between = run.at(times)
    names = ("position", "orientation", "velocity", "angular_velocity")
    return np.array([np.abs(getattr(between, name) - getattr(true, name)).max() for name in names]), float(at_nodes)


@pytest.mark.parametrize(("order", "dt", "bound"), [(2, 0.01, 1.1), (4, 0.02, 1.5)])
def test_polynomials_are_as_good_as_nodes(order: int, dt: float, bound: float) -> None:
    """Velocities are those of nodes too: their error is that of positions times a rate of some 10/s."""
    errors, at_nodes = between_nodes(order, dt)
    assert (errors < bound * at_nodes * np.array((1, 3, 30, 60))).all()


def test_polynomials_of_order_eight_have_an_error_of_their_own() -> None:
    """That of degree 7 over four nodes: it falls with the seventh power of the step and more."""
    coarse, fine = between_nodes(8, 0.04)[0], between_nodes(8, 0.02)[0]
    assert (np.log2(coarse / fine) > 7).all()
    # positions; the nodes have 2e-13
    assert fine[0] < 1e-10


def test_nodes_are_on_the_polynomial() -> None:
    run = Simulator(scenes.double_pendulum(), 0.02).run(1.0)
    again = run.at(run.time)
    np.testing.assert_allclose(again.position, run.position, atol=1e-13)
    np.testing.assert_allclose(again.angular_velocity, run.angular_velocity, atol=1e-11)
    one = run.at(0.5)
    assert isinstance(one, State)
    assert one.time == 0.5
    with pytest.raises(ValueError, match="within the run, which was from 0 to 1 s"):
        run.at(1.5)


@pytest.mark.filterwarnings("ignore:.*had to be halved:catena.AccuracyWarning")
def test_spinning_bodies_turn_on_between_nodes() -> None:
    """A rotor that turns by 1.5 rad from node to node, and by more than half a turn over a window of four."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("rotor", ct.cylinder(0.1, 0.1, mass=1.0), angular_velocity=(0, 0, 100.0))
    run = Simulator(m, 0.015, order=8).run(0.51)
    state = run.at(0.26)
    assert state.angular_velocity[0, 2] == pytest.approx(100.0, rel=1e-5)
    half = np.array((np.cos(13.0), 0, 0, np.sin(13.0)))
    assert abs(abs(state.orientation[0] @ half) - 1) < 1e-6


# ---- events


def quarter_period(amplitude: float, length: float) -> float:
    """Of a point pendulum, by the arithmetic-geometric mean."""
    a, b = 1.0, np.cos(amplitude / 2)
    for _ in range(8):
        a, b = (a + b) / 2, sqrt(a * b)
    return float(0.5 * pi / a * sqrt(length / 9.81))


def point_pendulum(amplitude: float) -> Mechanism:
    m = Mechanism()
    at = (0.0, sin(amplitude), -np.cos(amplitude))
    m.add_body("bob", ct.Inertia(1.0, 1e-9 * np.eye(3)), position=at)
    m.add_joint(ct.Revolute("world", "bob", axis=(1, 0, 0), at=(0, 0, 0), name="hinge"))
    return m


def test_passages_of_a_pendulum() -> None:
    m = point_pendulum(1.2)
    low = Event(lambda s: s.body("bob").position[1])
    rising = Event(lambda s: s.body("bob").position[1], direction=1)
    run = Simulator(m, 0.05, order=8).run(6.0, events=[low, rising])
    quarter = quarter_period(1.2, 1.0)
    found = [happened.state.time for happened in run.events if happened.event is low]
    # the inertia of the bob lengthens the period by half of its part
    np.testing.assert_allclose(found, quarter * np.arange(1, 2 * len(found), 2), rtol=0, atol=1e-8)
    assert [happened.state.time for happened in run.events if happened.event is rising] == found[1::2]
    assert all(abs(happened.state.body("bob").position[1]) < 1e-10 for happened in run.events)
    assert len(run) == 121


def test_an_event_ends_a_run() -> None:
    m = point_pendulum(1.2)
    stop = Event(lambda s: s.body("bob").position[1], stop=True)
    simulator = Simulator(m, 0.05, order=8)
    run = simulator.run(6.0, events=[stop])
    assert run.status.ok
    assert run.status.reason == "event"
    assert run.time[-1] == pytest.approx(quarter_period(1.2, 1.0), abs=1e-8)
    assert len(run.events) == 1
    assert len(run.error) == len(run.substeps) == len(run) - 1 == run.status.step
    assert abs(run.position[-1, 0, 1]) < 1e-10
    assert run.control is None
    # and another one goes on from there
    assert simulator.run(1.0, state=run[-1]).energy_error().max() < 1e-9


def test_events_of_a_controlled_mechanism() -> None:
    """Steps to an event have the inputs and forces of the run."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("mass", ct.sphere(0.1, mass=2.0))
    m.add_joint(ct.Prismatic("world", "mass", axis=(1, 0, 0), at=(0, 0, 0), name="slide"))
    m.add_force(ct.Motor("slide", 0.0, name="motor"))

    def control(t: float, live: Live) -> dict[str, tuple[float, float, float]]:
        live.set(motor=4.0)
        return {"mass": (2.0, 0.0, 0.0)}

    event = Event(lambda s: s.joint("slide").coordinates[0] - 1.0, stop=True)
    run = Simulator(m, 0.1).run(2.0, control=control, events=[event])
    # 3 m/s^2
    assert run.time[-1] == pytest.approx(sqrt(2 / 3), abs=1e-10)
    assert run.velocity[-1, 0, 0] == pytest.approx(3 * sqrt(2 / 3), abs=1e-9)


def test_times_up_to_the_event_are_kept() -> None:
    """Those too that lie between it and the node before."""
    m = point_pendulum(1.2)
    stop = Event(lambda s: s.body("bob").position[1], stop=True)
    end = quarter_period(1.2, 1.0)
    times = np.array((0.0, 0.3, end - 0.01, end - 0.005, end + 0.005, 2.0))
    run = Simulator(m, 0.1, order=8).run(t_eval=times, events=[stop])
    np.testing.assert_allclose(run.time, (*times[:4], end), rtol=0, atol=1e-8)


def test_the_first_of_two_events_stops() -> None:
    m = point_pendulum(1.2)
    early = Event(lambda s: s.body("bob").position[1] - 0.2, stop=True)
    late = Event(lambda s: s.body("bob").position[1] - 0.1, stop=True)
    run = Simulator(m, 0.2, order=8).run(6.0, events=[late, early])
    assert [happened.event for happened in run.events] == [early]
    assert run.position[-1, 0, 1] == pytest.approx(0.2, abs=1e-9)


def test_events_that_cannot_be() -> None:
    m = point_pendulum(1.0)
    simulator = Simulator(m, 0.01)
    with pytest.raises(ValueError, match="function of the state"):
        Event(3.0)
    with pytest.raises(ValueError, match="direction"):
        Event(lambda s: 0.0, direction=2)
    with pytest.raises(ValueError, match="list of Event"):
        simulator.run(1.0, events=[lambda s: 0.0])
    with pytest.raises(ValueError, match="finite number, got None"):
        simulator.run(1.0, events=[Event(lambda s: None)])
    with pytest.raises(ValueError, match="not one row per node"):
        simulator.run(1.0, events=[Event(lambda s: 1.0)], loads={"bob": np.ones((101, 3))})


# ---- rounding


@pytest.mark.parametrize(("order", "dt", "steps"), [(2, 5e-4, 400_000), (8, 2e-3, 20_000)])
def test_spins_do_not_drift(order: int, dt: float, steps: int) -> None:
    """The spin of the heavy top, whose momentum every step makes anew."""
    run = Simulator(scenes.heavy_top(), dt, order=order, on_inaccurate="ignore").run(
        steps=steps, record_every=steps // 4
    )
    spin, vertical = run.angular_velocity_body[:, 0, 1], run.angular_momentum()[:, 2]
    # before, 8e-12 and 1e-12
    assert np.abs(spin / spin[0] - 1).max() < 2e-13
    assert np.abs(vertical / vertical[0] - 1).max() < 5e-13


def test_a_rotor_on_an_arm_does_not_drift() -> None:
    m = Mechanism()
    m.add_body("arm", ct.rod((0, 0, 0), (0.5, 0, 0), mass=0.5))
    m.add_body(
        "rotor",
        ct.cylinder(0.1, 0.05, mass=1.0),
        position=(0.5, 0, 0),
        orientation=(sqrt(0.5), 0, sqrt(0.5), 0),
        angular_velocity=(300.0, 0, 0),
    )
    m.add_joint(ct.Ball("world", "arm", at=(0, 0, 0), name="base"))
    m.add_joint(ct.Revolute("arm", "rotor", axis=(1, 0, 0), at=(0.5, 0, 0), name="shaft"))
    run = Simulator(m, 5e-4, on_inaccurate="ignore").run(steps=200_000, record_every=50_000)
    spin = run.angular_velocity_body[:, 1, 2]
    assert np.abs(spin / spin[0] - 1).max() < 5e-13


@pytest.mark.parametrize("accuracy", [1e-3, 1e-6])
@pytest.mark.parametrize("scene", ["double_pendulum", "four_bar", "bricard"])
def test_polynomials_keep_an_accuracy_that_was_asked_for(scene: str, accuracy: float) -> None:
    """Nodes are not further apart than that, though steps of order 8 could be."""
    m = getattr(scenes, scene)()
    run = Simulator(m, accuracy=accuracy).run(2.0)
    fine = Simulator(m, run.dt / 4, accuracy=accuracy / 100, order=8, on_inaccurate="ignore")
    true = run_steps(fine.plan.with_step(run.dt / 4, rate=1e-3 * accuracy), 4 * len(run.substeps))
    between = resampled(run, np.minimum(true.time, run.time[-1]))
    assert np.abs(between.position - true.position).max() < 2 * accuracy * fine.plan.extent


def servo_arm() -> ct.Mechanism:
    """Servos whose fast time constant, 0.2 ms, is far below the distance of nodes."""
    m, last = ct.Mechanism(), "world"
    for k in range(7):
        m.add_body(f"l{k}", ct.box((0.1, 0.1, 0.2), mass=4.0 - 0.4 * k), position=(0, 0, 0.2 * k + 0.1))
        m.add_joint(ct.Revolute(last, f"l{k}", axis=((0, 0, 1), (0, 1, 0))[k % 2], at=(0, 0, 0.2 * k), name=f"j{k}"))
        m.add_force(ct.Servo(f"j{k}", kp=5000.0, kd=50.0, target=0.3 * (-1) ** k))
        last = f"l{k}"
    return m


def test_interpolation_across_a_fast_transient_says_so() -> None:
    """Between nodes of a given dt it is 20 times off the accuracy at first; later it is within it, and silent."""
    run = Simulator(servo_arm(), 0.002, accuracy=1e-4).run(0.5)
    first = 0.5 * (run.time[0] + run.time[1])
    with pytest.warns(ct.AccuracyWarning, match=r"error of interpolation .*t_eval"):
        run.at(first)
    # warnings are errors here
    run.at(run.time[20:-1] + 0.4 * np.diff(run.time[20:]))


@pytest.mark.parametrize("accuracy", [1e-4, 1e-6])
def test_nodes_are_dense_where_a_transient_is_fast(accuracy: float) -> None:
    """Poses and work are known between them: at equal distances off by 150 times the accuracy, and by 3e-3."""
    m = servo_arm()
    run = Simulator(m, accuracy=accuracy).run(0.5)
    length = np.diff(run.time)
    assert length.max() == pytest.approx(run.dt)
    assert length.min() == pytest.approx(run.dt / 16)
    assert run.time[-1] == pytest.approx(0.5)
    # in the first intervals, against a run that computes the same instants; warnings are errors here
    middles = (0.5 * (run.time[1:] + run.time[:-1]))[:60]
    between, fine = run.at(middles), Simulator(m, accuracy=0.1 * accuracy).run(t_eval=middles)
    turned = rotation_vector(multiply(between.orientation, conjugate(fine.orientation)))
    assert np.linalg.norm(turned, axis=-1).max() < accuracy
    # servos feed all the energy that there is
    fed = sum(run.force(name).work for name in m.forces)
    assert np.abs(run.energy() - run.energy()[0] - fed).max() < accuracy * np.abs(fed).max()
    # and it goes on from its last node as from any other
    more = Simulator(m, 0.002, order=2, accuracy=accuracy).run(0.1, state=run[-1])
    assert more.time[0] == run.time[-1]


@pytest.mark.parametrize("accuracy", [1e-4, 1e-6])
@pytest.mark.parametrize(
    "scene", [servo_arm, scenes.quadruped, lambda: scenes.slider_crank(rate=8.0), scenes.heavy_top]
)
def test_the_estimate_of_interpolation_is_of_the_right_size(scene, accuracy: float) -> None:
    """Within a factor of ten where it matters: against a run that computes the same instants."""
    m = scene()
    simulator = Simulator(m, accuracy=accuracy)
    run = simulator.run(0.4)
    middles = 0.5 * (run.time[1:] + run.time[:-1])
    fine = Simulator(m, accuracy=0.1 * accuracy).run(t_eval=middles)
    size = simulator.plan.extent
    estimate = interpolation_error(run.nodes, middles, size)
    between = resampled(run, middles)
    turned = rotation_vector(multiply(between.orientation, conjugate(fine.orientation)))
    shifted = (between.position - fine.position) / size
    error = np.maximum(np.linalg.norm(shifted, axis=-1), np.linalg.norm(turned, axis=-1)).max(axis=1)
    assert (error <= 10 * np.maximum(estimate, accuracy)).all()
    assert (estimate <= 10 * np.maximum(error, accuracy)).all()
