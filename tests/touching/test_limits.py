"""Joint limits: never passed at a node, in every solver and order, with the right torques, energies and times."""

from __future__ import annotations

from math import cos, log2, sin, sqrt

import numpy as np
import pytest

import catena as ct
from catena import Limits, Mechanism, Simulator

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

G = 9.81
SOLVERS = ("articulated", "ldu", "dense")


def drop(height: float, restitution: float) -> Mechanism:
    """A weight on a vertical slide, whose floor is where it ends."""
    m = Mechanism()
    m.add_body("weight", ct.box((0.1, 0.1, 0.1), mass=2.0), position=(0, 0, height))
    m.add_joint(ct.Prismatic("world", "weight", axis=(0, 0, 1), at=(0, 0, height), name="slide"))
    m.joints["slide"].limits = Limits(lower=-height, restitution=restitution)
    return m


def rod(upper: float, restitution: float = 0.0, *, flipped: bool = False, **soft: float) -> Mechanism:
    """A rod of 1 m and 1 kg that falls from 0.2 rad below the horizontal; its angle is measured from there."""
    m = Mechanism()
    m.add_body("rod", ct.rod((0, 0, 0), (cos(0.2), 0, -sin(0.2)), mass=1.0))
    ends = ("rod", "world") if flipped else ("world", "rod")
    m.add_joint(ct.Revolute(*ends, axis=(0, -1, 0) if flipped else (0, 1, 0), at=(0, 0, 0), name="hinge"))
    m.joints["hinge"].limits = Limits(-1.0, upper, restitution=restitution, **soft)
    return m


def elbow(restitution: float) -> Mechanism:
    """A double pendulum whose elbow hits its limit once in the first second."""
    m, last, start, angle = Mechanism(), "world", np.zeros(3), 0.3
    for name in ("upper", "lower"):
        end = start + np.array((cos(angle), 0, -sin(angle)))
        m.add_body(name, ct.rod(start, end, mass=1.0))
        m.add_joint(ct.Revolute(last, name, axis=(0, 1, 0), at=start, name=f"{name} hinge"))
        last, start, angle = name, end, angle + 0.2
    m.joints["lower hinge"].limits = Limits(-1.6, 0.3, restitution=restitution)
    return m


def linkage(restitution: float, joint: str = "joint3") -> Mechanism:
    """A four-bar; joint3 closes its loop."""
    m = ct.scenes.four_bar()
    at = {"joint1": (-0.49, 0.38), "joint2": (-1.0, 2.9), "joint3": (-2.9, 1.0), "joint4": (-0.23, 0.63)}[joint]
    m.joints[joint].limits = Limits(*at, restitution=restitution)
    return m


def chain(count: int, most: float, restitution: float = 0.0) -> Mechanism:
    m, last = Mechanism(), "world"
    for k in range(count):
        m.add_body(f"link{k}", ct.rod((k, 0, 0), (k + 1, 0, 0), mass=1.0))
        m.add_joint(ct.Revolute(last, f"link{k}", axis=(0, 1, 0), at=(k, 0, 0), name=f"hinge{k}"))
        m.joints[f"hinge{k}"].limits = Limits(-most, most, restitution=restitution)
        last = f"link{k}"
    return m


def passed(run: ct.Trajectory) -> float:
    """By how much limits are passed at nodes, at most."""
    most = -np.inf
    for name, joint in run.mechanism.joints.items():
        for key, limits in joint.limits.items():
            q = run.joint(name).coordinates[:, joint.names.index(key)]
            most = max(most, q.max() - limits.upper, limits.lower - q.min())
    return most


# ---- closed forms


@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize("restitution", [0.5, 0.8, 1.0])
def test_heights_of_bounces(restitution: float, order: int) -> None:
    """A fall is a parabola, which every order follows exactly: what is left is the time of the touch, to 1e-12 m."""
    run = Simulator(drop(1.0, restitution), 0.01, order=order).run(1.7)
    fall, speed = sqrt(2 / G), sqrt(2 * G)
    start, v, expected = fall, restitution * speed, []
    for t in run.time:
        while v > 1e-9 and t > start + 2 * v / G:
            start, v = start + 2 * v / G, restitution * v
        expected.append(1 - G * t * t / 2 if t < fall else v * (t - start) - G * (t - start) ** 2 / 2)
    # where bounces are shorter than a step the last of them ends it
    clear = run.time < fall * (1 + restitution) / (1 - restitution) - 0.1 if restitution < 1 else run.time >= 0
    np.testing.assert_allclose(run.position[clear, 0, 2], np.array(expected)[clear], rtol=0, atol=2e-12)
    times = [impact.time for impact in run.impacts[:2]]
    np.testing.assert_allclose(times, [fall, fall + 2 * restitution * speed / G], rtol=0, atol=1e-12)


def test_endless_bounces_end() -> None:
    """Within one step of Zeno's time; what is lost then is less than (g dt)^2 / 8 per kg."""
    run = Simulator(drop(0.3, 0.6), 0.01).run(3.0)
    zeno = sqrt(2 * 0.3 / G) * (1 + 0.6) / (1 - 0.6)
    still = (np.abs(run.velocity[:, 0, 2]) < 1e-12) & (run.time > 0)
    assert abs(run.time[np.argmax(still)] - zeno) <= 0.01
    assert still[np.argmax(still) :].all()
    assert passed(run) <= 1e-12
    np.testing.assert_allclose(run.joint("slide").stop[-10:], 2.0 * G, rtol=1e-12)


LAWS = {
    "nothing": (lambda: None, 0.0),
    "spring": (lambda: ct.Spring("hinge", 0.5), -0.5),
    "damper": (lambda: ct.Damper("hinge", 0.3), 0.0),
    "servo": (lambda: ct.Servo("hinge", kp=40.0, kd=4.0, target=1.8), None),
    "rotor": (lambda: ct.Armature("hinge", 0.2), 0.0),
    "friction": (lambda: ct.Friction("hinge", 0.5), 0.0),
}


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("law", LAWS)
def test_torques_of_a_stop_are_those_of_statics(law: str, solver: str, flipped: bool) -> None:
    m = rod(1.0, flipped=flipped)
    make, stiffness = LAWS[law]
    force = make()
    if force is not None:
        m.add_force(force)
    run = Simulator(m, 0.005, solver=solver).run(6.0)
    assert passed(run) <= 1e-12
    expected = -G * 0.5 * cos(1.2) - (stiffness * 1.0 if stiffness is not None else 40.0 * 0.8)
    np.testing.assert_allclose(run.joint("hinge").stop[-20:-1], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.joint("hinge").rate[-20:], 0, atol=1e-12)


# ---- laws


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", [1, 2, 4, 6, 8])
@pytest.mark.parametrize("scene", [lambda: elbow(0.5), lambda: linkage(0.5), lambda: linkage(0.0, "joint1")])
def test_no_limit_is_passed_at_a_node(scene, order: int, solver: str) -> None:
    run = Simulator(scene(), 0.01, order=order, solver=solver).run(2.0)
    assert passed(run) <= 1e-12
    assert len(run.impacts) > 0
    assert run.drift().max() < 1e-11


@pytest.mark.parametrize("joint", ["joint1", "joint2", "joint3", "joint4"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_solvers_agree_on_loops_at_their_limits(restitution: float, joint: str) -> None:
    runs = [Simulator(linkage(restitution, joint), 0.005, solver=solver).run(2.0) for solver in SOLVERS]
    for run in runs[1:]:
        np.testing.assert_allclose(run.position, runs[0].position, rtol=0, atol=1e-8)
        assert len(run.impacts) == len(runs[0].impacts) > 0


def shoulder(restitution: float) -> Mechanism:
    """An upper arm on a universal joint, one of whose angles meets its limit twice, and a forearm across."""
    m = Mechanism()
    m.add_body("upper", ct.rod((0, 0, 0), (0.5, 0, 0), mass=1.0, radius=0.05))
    m.add_body("lower", ct.rod((0.5, 0, 0), (0.9, 0.1, 0.1), mass=0.7, radius=0.05))
    m.add_joint(ct.Universal("world", "upper", axes=((0, 1, 0), (0, 0, 1)), at=(0, 0, 0), name="shoulder"))
    m.add_joint(ct.Revolute("upper", "lower", axis=(0, 1, 0.3), at=(0.5, 0, 0), name="elbow"))
    m.joints["shoulder"].limits = {"first": Limits(-1.5, 0.9, restitution=restitution)}
    return m


@pytest.mark.parametrize("restitution", [0.0, 0.7, 1.0])
@pytest.mark.parametrize(("scene", "end", "steps"), [(elbow, 1.0, 100), (linkage, 1.33, 200), (shoulder, 0.7, 100)])
@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_impacts_keep_the_order(order: int, scene, end: float, steps: int, restitution: float) -> None:
    """Down to a floor of 1e-11, where the time of the touch is what is left; order 8 may come from above."""
    m = scene(restitution)
    true = Simulator(m, end / 4000, order=8).run(end)
    assert true.impacts
    counts = [count if order < 8 else count // 2 for count in (steps, 2 * steps)]
    ends = [Simulator(m, end / count, order=order).run(steps=count).position[-1] for count in counts]
    errors = [np.abs(found - true.position[-1]).max() for found in ends]
    rate = log2(errors[0] / errors[1])
    assert errors[1] < 1e-11 or (abs(rate - order) < 0.2 if order < 8 else rate > 7.8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("order", "least"), [(2, 2), (4, 4), (6, 4), (8, 4)])
def test_letting_go_keeps_the_order(order: int, least: int, solver: str) -> None:
    """An elbow that is pressed onto its stop for a while; up to order 4, where the instant is found to O(dt^2)."""
    m = elbow(0.0)
    true = Simulator(m, 0.0005, order=8).run(1.6)
    pressed = np.flatnonzero(true.joint("lower hinge").stop)
    assert pressed[0] * 0.0005 > 1.3
    assert pressed[-1] * 0.0005 < 1.45
    ends = [Simulator(m, dt, order=order, solver=solver).run(1.6).position[-1] for dt in (0.01, 0.005)]
    errors = [np.abs(end - true.position[-1]).max() for end in ends]
    assert errors[1] < 1e-11 or log2(errors[0] / errors[1]) > least - 0.2
    assert errors[1] < 1e-11 or order > 4 or log2(errors[0] / errors[1]) < least + 0.2


def test_stops_that_let_go_at_one_instant() -> None:
    """Two equal arms, whose stops press and let go alike."""
    m = elbow(0.0)
    for name in ("upper", "lower"):
        body = m.bodies[name]
        m.add_body(f"{name} twin", body.inertia, position=body.position, orientation=body.orientation)
    for name, (a, b) in {"first": ("world", "upper twin"), "second": ("upper twin", "lower twin")}.items():
        of = m.joints["upper hinge" if name == "first" else "lower hinge"]
        at = (0, 0, 0) if name == "first" else np.array((cos(0.3), 0, -sin(0.3)))
        m.add_joint(ct.Revolute(a, b, axis=(0, 1, 0), at=at, name=name))
        m.joints[name].limits = of.limits
    alone = Simulator(elbow(0.0), 0.01, order=4).run(1.6)
    both = Simulator(m, 0.01, order=4).run(1.6)
    np.testing.assert_allclose(both.position[:, :2], alone.position, rtol=0, atol=1e-10)
    np.testing.assert_allclose(both.position[:, 2:], alone.position, rtol=0, atol=1e-10)
    assert passed(both) <= 1e-12


def test_elastic_impacts_are_reversible() -> None:
    simulator = Simulator(elbow(1.0), 0.005, order=4)
    there = simulator.run(1.0)
    assert there.impacts
    turned = there[-1]
    turned.velocity *= -1
    turned.angular_velocity *= -1
    back = simulator.run(1.0, state=turned)
    np.testing.assert_allclose(back.position[-1], there.position[0], rtol=0, atol=1e-9)


def test_elastic_impacts_keep_energy() -> None:
    """For 20 000 steps, without a trend: no more than the scheme's own oscillation."""
    run = Simulator(rod(1.0, 1.0), 0.005).run(100.0, record_every=7)
    energy = run.energy()
    first, last = energy[: len(energy) // 4], energy[-len(energy) // 4 :]
    assert len(run.impacts) > 50
    assert np.ptp(energy) < 2e-3
    assert abs(first.mean() - last.mean()) < 0.2 * np.ptp(energy)
    assert run.dissipated()[-1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_elastic_impacts_keep_energy_for_a_million_steps() -> None:
    """No trend: the slope through a hundred means is none within three times its uncertainty."""
    run = Simulator(rod(1.0, 1.0), 0.005).run(steps=10**6, record_every=101)
    count = len(run) // 100 * 100
    energy, time = (values[:count].reshape(100, -1).mean(axis=1) for values in (run.energy(), run.time))
    (slope, _), covariance = np.polyfit(time, energy, 1, cov=True)
    assert len(run.impacts) > 6000
    assert abs(slope) < 3 * sqrt(covariance[0, 0])
    assert abs(slope) * run.time[-1] < 2e-6
    assert run.dissipated()[-1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("count", [5, 20])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("dt", [0.001, 0.01])
def test_violent_chains_stay_within_their_limits(dt: float, restitution: float, count: int) -> None:
    m = chain(count, 0.3, restitution)
    run = Simulator(m, dt, on_inaccurate="ignore").run(2.0 if count == 5 else 0.6)
    assert run.status.ok
    assert passed(run) <= 1e-12
    # of thousands of J: no impact adds any, and the scheme's own error is of second order
    assert run.energy().max() - run.energy()[0] < 1e-4 * count * count * (dt / 0.001)
    # to rounding, also where those that give back speed and those that have spent it are hit in one instant
    lost: dict[float, float] = {}
    for impact in run.impacts:
        lost[impact.time] = lost.get(impact.time, 0.0) + impact.loss
    assert min(lost.values()) > -1e-9 * run.kinetic_energy().max()


@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("dt", [0.001, 0.01])
@pytest.mark.parametrize("solver", SOLVERS)
def test_soft_stops_never_raise_the_energy(solver: str, dt: float, stiffness: float) -> None:
    run = Simulator(rod(1.0, stiffness=stiffness), dt, solver=solver).run(4.0)
    depth = np.maximum(run.joint("hinge").angle - 1.0, 0)
    total = run.energy() + 0.5 * stiffness * depth**2
    assert total.max() <= total[0] + 1e-3


@pytest.mark.parametrize("order", [2, 4])
def test_touches_are_found_with_few_solves(order: int) -> None:
    """The whole step and the last one included. A fall is a parabola, so the third one hits."""
    found = {}
    for name, m, dt in (("drop", drop(1.0, 0.5), 0.01), ("arm", chain(3, 0.3, 0.9), 0.002)):
        live = Simulator(m, dt, order=order, on_inaccurate="ignore").start()
        live.step(round(1.7 / dt))
        found[name] = live.tally
    assert all(tally.located <= tally.cut for tally in found.values())
    assert found["drop"].located >= 5
    assert found["drop"].tries <= 3 * found["drop"].located
    assert found["arm"].located > 20
    assert found["arm"].tries <= 4.5 * found["arm"].located


# ---- instants that coincide


def test_a_stop_that_is_hit_at_a_node() -> None:
    """It falls for exactly 20 steps."""
    dt = sqrt(2 * 0.5 / G) / 20
    run = Simulator(drop(0.5, 0.5), dt).run(steps=60)
    assert run.impacts[0].time == pytest.approx(20 * dt, abs=1e-12)
    assert passed(run) <= 1e-12
    assert run.velocity[21, 0, 2] > 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("rate", [4.0, 20.0])
def test_the_first_step_passes_no_limit(rate: float, solver: str) -> None:
    """However fast it begins, and whatever was looked at before."""
    m = rod(1.0)
    state = m.state()
    state.joint("hinge").angle = 0.97
    state.joint("hinge").rate = rate
    run = Simulator(m, 0.01, solver=solver).run(steps=3, state=state)
    assert run.impacts[0].time < 0.01
    assert passed(run) <= 1e-12


def test_with_an_accuracy_a_step_is_cut_more_often_before_it_is_caught() -> None:
    """Six stops that are touched one after the other in one step."""
    m = Mechanism(gravity=(0, 0, 0))
    for k in range(6):
        m.add_body(f"bob{k}", ct.sphere(0.1, mass=1.0), position=(0, k, 0))
        rail = m.add_joint(ct.Prismatic("world", f"bob{k}", axis=(1, 0, 0), at=(0, k, 0), name=f"rail{k}"))
        rail.limits = Limits(upper=0.001 * (k + 1), restitution=0.5)
    state = m.state()
    state.rates = np.ones(6)
    plain = Simulator(m, 0.01).run(steps=1, state=state)
    assert (plain.cut_count, plain.caught_count) == (4, 1)
    exact = Simulator(m, 0.01, accuracy=1e-3).run(steps=1, state=state)
    assert (exact.cut_count, exact.caught_count) == (6, 0)
    assert [impact.time for impact in exact.impacts] == pytest.approx(0.001 * np.arange(1, 7), abs=1e-12)


def test_an_event_and_a_time_at_an_impact() -> None:
    """The instant of the touch is asked for, and an event happens there: the state is the one after it, or at it."""
    m = drop(0.5, 0.5)
    touch = sqrt(2 * 0.5 / G)
    for order in (2, 4):
        simulator = Simulator(m, 0.013, order=order)
        times = [touch - 1e-4, touch, touch + 1e-4]
        found = simulator.run(t_eval=times)
        np.testing.assert_allclose(
            found.position[:, 0, 2],
            [0.5 - G * times[0] ** 2 / 2, 0.0, 0.5 * G * touch * 1e-4 - G * 1e-8 / 2],
            rtol=0,
            atol=1e-9,
        )
        assert len(simulator.run(duration=0.4).impacts) == 1
        crossed = simulator.run(duration=0.4, events=[ct.Event(lambda s: s.velocity[0, 2], direction=1)])
        assert crossed.events[0].state.time == pytest.approx(touch, abs=1e-6)
        assert passed(crossed) <= 1e-12


def test_a_servo_drives_into_its_stop_for_an_hour() -> None:
    """With the largest effort that it has, and no drift."""
    m = rod(1.0)
    m.add_force(ct.Servo("hinge", kp=400.0, kd=20.0, target=3.0, effort_limit=30.0))
    run = Simulator(m, 0.02).run(3600.0, record_every=500)
    assert passed(run) <= 1e-12
    hinge = run.joint("hinge")
    np.testing.assert_allclose(hinge.angle[10:], 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(hinge.stop[10:-1], -30.0 - G * 0.5 * cos(1.2), rtol=0, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_motion_that_is_prescribed_beyond_a_limit(solver: str) -> None:
    """No motion does both, and the message names the drive or the limit."""
    m = rod(1.0)
    m.add_coupling(ct.PrescribedMotion("hinge", lambda t: 2 * t))
    run = Simulator(m, 0.01, solver=solver, on_failure="stop").run(1.0)
    assert run.status.reason in ("locked", "singular")
    assert run.status.time == pytest.approx(0.5, abs=0.011)
    if run.status.reason == "locked":
        assert "'prescribed motion hinge'" in run.status.message or "joint 'hinge' (angle)" in run.status.message
    assert passed(run) <= 1e-12


def test_a_start_at_a_limit() -> None:
    """Moving against it, it bounces at once; moving away, or at rest under its weight, nothing is told."""
    m = drop(0.5, 0.5)
    state = m.state()
    state.joint("slide").displacement = -0.5
    assert not Simulator(m, 0.01).run(0.1, state=state).impacts
    state.joint("slide").rate = -2.0
    run = Simulator(m, 0.01).run(0.1, state=state)
    assert run.impacts[0][:1] + run.impacts[0][4:] == pytest.approx((0.0, -2.0, 1.0))
    state.joint("slide").rate = 1.0
    assert not Simulator(m, 0.01).run(0.1, state=state).impacts


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("speed", [13.0, 100.0, 1000.0])
def test_a_fast_fall_with_joints_at_their_limits(speed: float, solver: str) -> None:
    """Stops press with nothing but rounding, which grows with the speed; they must not be held and let go for ever."""
    m = Mechanism()
    m.add_body("base", ct.box((0.1, 0.1, 0.1), mass=15.0))
    for arm in range(4):
        last = "base"
        for k in range(6):
            start, end = (0.05 + 0.1 * k, 0.05 * arm, 0.0), (0.15 + 0.1 * k, 0.05 * arm, 0.02 * arm)
            m.add_body(f"{arm} {k}", ct.rod(start, end, mass=0.5 / (k + 1) ** 2))
            joint = ct.Revolute(last, f"{arm} {k}", axis=np.eye(3)[(arm + k) % 3], at=start, name=f"joint {arm} {k}")
            joint.limits = Limits(0.0, 1.0) if k % 2 else Limits(-1.0, 0.0)
            m.add_joint(joint)
            last = f"{arm} {k}"
    state = m.state()
    state.velocity = state.velocity + np.array((0.0, 0.0, -speed))
    run = Simulator(m, 0.002, solver=solver).run(0.5, state=state)  # type: ignore[arg-type]
    for joint in m.joints.values():
        angle = run.joint(joint.name).angle
        assert max(joint.limits["angle"].beyond(value) for value in angle) <= 1e-12
        # speeds of 1e-9 rad/s are let pass
        assert np.abs(angle).max() < 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_range_of_no_width_locks_the_joint(solver: str) -> None:
    m = elbow(0.0)
    m.joints["lower hinge"].limits = Limits(0.0, 0.0)
    run = Simulator(m, 0.01, solver=solver).run(2.0)
    assert np.abs(run.joint("lower hinge").angle).max() < 1e-12


def test_many_stops_at_once() -> None:
    """A hundred hinges without any play hold up their weight at the same instant."""
    m = chain(100, 0.0)
    run = Simulator(m, 0.005, on_inaccurate="ignore").run(0.1)
    assert passed(run) <= 1e-12
    weight = np.array([100 - k for k in range(100)]) ** 2 * G / 2
    stops = np.array([run.joint(f"hinge{k}").stop[-2] for k in range(100)])
    # a beam that sticks out of a wall
    np.testing.assert_allclose(stops, -weight, rtol=1e-9)


def test_a_start_beyond_its_limits_is_refused_and_brought_back() -> None:
    m = elbow(0.0)
    state = m.state()
    state.joint("lower hinge").angle = 0.5
    with pytest.raises(ct.SimulationError, match=r"'lower hinge' \(angle\) starts 0.2 beyond its limits; .*assemble"):
        Simulator(m, 0.01).run(1.0, state=state)
    brought = m.assemble(state)
    assert brought.joint("lower hinge").angle == pytest.approx(0.3, abs=1e-12)
    assert Simulator(m, 0.01).run(0.5, state=brought).status.ok
    free = Simulator(m, 0.01, limits="ignore").run(1.0, state=state)
    assert free.joint("lower hinge").angle.max() > 0.4


def test_limits_that_make_no_sense() -> None:
    for wrong, message in (
        ({"lower": 1.0, "upper": 0.0}, "above"),
        ({"restitution": 1.5}, "between 0 and 1"),
        ({"restitution": 0.5, "stiffness": 10.0}, "soft stop"),
        ({"damping": 1.0}, "hard stop"),
        ({"stiffness": 0.0}, "positive"),
        ({"effort": -1.0}, "non-negative"),
        ({"upper": float("nan")}, "number"),
    ):
        with pytest.raises(ValueError, match=message):
            Limits(**wrong)
    m = rod(1.0)
    m.joints["hinge"].ground = lambda t: ((0, 0, 0.1 * sin(t)), (1, 0, 0, 0))
    with pytest.raises(ValueError, match="moving ground"):
        Simulator(m, 0.01)


# ---- the same, however it is computed


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("scene", [lambda: elbow(0.5), lambda: linkage(0.5), lambda: chain(5, 0.3, 0.5)])
def test_runs_that_are_cut_are_the_same_bit_for_bit(scene, order: int, tmp_path) -> None:
    simulator = Simulator(scene(), 0.01, order=order)
    whole = simulator.run(steps=120)
    assert whole.impacts
    for cut in (1, 37, 60, 93):
        first = simulator.run(steps=cut)
        first.save(tmp_path / "first.npz")
        state = ct.Trajectory.load(tmp_path / "first.npz")[-1]
        rest = simulator.run(steps=120 - cut, state=state)
        assert (rest.position[-1] == whole.position[-1]).all()
        assert (rest.velocity[-1] == whole.velocity[-1]).all()
    live = simulator.start()
    for _ in range(120):
        live.step()
    assert (live.position == whole.position[-1]).all()
    batch = simulator.run_batch(steps=120, states=[simulator.mechanism.state()] * 3)
    assert (batch.position[:, -1] == batch.position[0, -1]).all()
    if batch.alone:
        assert (batch.position[0, -1] == whole.position[-1]).all()
    else:
        # lanes have other roundings, which impacts amplify
        np.testing.assert_allclose(batch.position[0, -1], whole.position[-1], rtol=0, atol=1e-9)


def test_times_between_nodes_pass_impacts() -> None:
    times = np.linspace(0.05, 0.95, 23)
    true = Simulator(elbow(0.7), 0.001, order=8).run(t_eval=times).position
    for order, most in ((2, 5e-3), (4, 1e-5)):
        found = Simulator(elbow(0.7), 0.02, order=order).run(t_eval=times).position
        assert np.abs(found - true).max() < most


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5, 1e-7, 1e-9])
def test_an_accuracy_is_kept_through_impacts(accuracy: float) -> None:
    m = elbow(0.7)
    true = Simulator(m, 0.0005, order=8).run(1.0).position[-1]
    run = Simulator(m, accuracy=accuracy).run(1.0)
    assert run.impacts
    assert np.abs(run.position[-1] - true).max() < 2 * accuracy


def test_what_a_run_tells_of_impacts(tmp_path) -> None:
    run = Simulator(rod(1.0, 0.6), 0.005).run(3.0)
    first = run.impacts[0]
    assert (first.name, first.coordinate) == ("hinge", "angle")
    assert first.leaving == pytest.approx(-0.6 * first.approach)
    inertia = run.mechanism.bodies["rod"].inertia.tensor.max() + 0.25
    assert first.impulse == pytest.approx(inertia * (first.leaving - first.approach), rel=1e-9)
    lost = 0.5 * inertia * (first.approach**2 - first.leaving**2)
    assert first.loss == pytest.approx(lost, rel=1e-9)
    assert run.dissipated()[-1] == pytest.approx(run.energy()[0] - run.energy()[-1], abs=1e-3)
    run.save(tmp_path / "run.npz")
    again = ct.Trajectory.load(tmp_path / "run.npz")
    assert again.impacts == run.impacts
    assert (again.joint("hinge").stop == run.joint("hinge").stop).all()
    # soft ones beside it have none
    both = Mechanism()
    both.add_body("before", ct.sphere(0.1, mass=1.0), position=(0, 3, 0))
    both.add_joint(ct.Prismatic("world", "before", axis=(0, 0, 1), at=(0, 3, 0), name="soft"))
    both.joints["soft"].limits = Limits(-0.1, 0.1, stiffness=1e4, damping=10.0)
    both.add(rod(1.0, 0.6))
    assert {impact.name for impact in Simulator(both, 0.005).run(3.0).impacts} == {"hinge"}
    free = ct.scenes.pendulum(2)
    with pytest.raises(AttributeError, match="no hard limits"):
        _ = Simulator(free, 0.01).run(0.1).joint("joint1").stop


def test_limits_go_with_force_parameters() -> None:
    """Laws of members are those of forces, and stops stay the mechanism's."""
    m = rod(1.0)
    m.add_force(ct.Servo("hinge", kp=40.0, kd=4.0, target=0.0, name="servo"))
    batch = Simulator(m, 0.01).run_batch(
        steps=300, states=[m.state()] * 3, force_parameters={"servo": {"target": [0.3, 0.6, 2.0]}}
    )
    end = batch.joint("hinge").coordinates[:, -1, 0]
    assert end[2] == pytest.approx(1.0, abs=1e-12)
    assert (end[:2] < 0.9).all()


def test_limits_of_several_coordinates() -> None:
    """A puck on a table, held in a corner by a slope of gravity."""
    m = Mechanism(gravity=(1.0, 2.0, 0.0))
    m.add_body("puck", ct.cylinder(0.1, 0.05, mass=1.0))
    m.add_joint(ct.Planar("world", "puck", axis=(0, 0, 1), at=(0, 0, 0), name="table"))
    m.joints["table"].limits = {"x": Limits(-0.3, 0.2, restitution=0.3), "y": Limits(-0.3, 0.4, restitution=0.3)}
    run = Simulator(m, 0.01).run(5.0)
    x, y = (run.joint("table").coordinates[:, m.joints["table"].names.index(name)] for name in ("x", "y"))
    np.testing.assert_allclose((x[-1], y[-1]), (0.2, 0.4), rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.joint("table").stop[-2], (-1.0, -2.0), rtol=0, atol=1e-9)
    assert passed(run) <= 1e-12
