"""Contacts with friction: Coulomb's law at every node, published figures, energy and momentum."""

from __future__ import annotations

from itertools import pairwise
from math import atan, cos, log2, pi, sin, sqrt

import numpy as np
import pytest
from support.rubbing import G, beyond_disk, block, box_in_the_air, chain, dog, least_gap, tilted

import catena as ct
from catena import Mechanism, Simulator, Trajectory

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

SOLVERS = ("articulated", "ldu", "dense")
# gaps at nodes, m
DEEPEST = -1e-12


def rise(run: Trajectory) -> float:
    """By how much the energy is above the least it has been (J)."""
    energy = run.energy()
    return float(np.max(energy - np.minimum.accumulate(energy)))


# ---- sticking and sliding


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_block_sticks_on_a_slope_and_does_not_creep(solver: str) -> None:
    run = Simulator(block(0.3, 0.4), dt=0.01, solver=solver).run(steps=2000)
    # nothing has moved but in the first step, by rounding over the regularization
    assert np.abs(run.position[-1] - run.position[0]).max() < 1e-12
    assert np.abs(run.position[-1] - run.position[1]).max() < 1e-13
    contacts = [run.contact(name) for name in run.mechanism.contacts]
    total = sum(contact.force for contact in contacts)
    assert np.abs(total[:-1] - 2 * G * np.array((-sin(0.3), 0, cos(0.3)))).max() < 1e-8
    assert all(np.all(contact.sticks) for contact in contacts)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_block_slides_down_a_slope_as_far_as_coulomb_says(solver: str) -> None:
    run = Simulator(block(0.5, 0.4), dt=0.01, solver=solver).run(duration=1)
    assert abs(run.position[-1, 0, 0] - 0.62976528042) < 1e-10
    assert abs(run.velocity[-1, 0, 0] - G * (sin(0.5) - 0.4 * cos(0.5))) < 1e-9
    assert not any(np.any(run.contact(name).sticks[1:]) for name in run.mechanism.contacts)
    # on the rim of the disk
    assert abs(beyond_disk(run, 0.4)) < 1e-9


def test_what_a_sliding_block_loses_is_what_friction_dissipates() -> None:
    run = Simulator(block(0.0, 0.4, velocity=(2.0, 0, 0)), dt=0.01).run(duration=0.4)
    lost = run.energy()[0] - run.energy()
    # the force at the first and last node stands for half a step, which the trapezoidal rule knows as well
    assert np.abs(run.dissipated() - lost).max() < 1e-8
    each = sum(run.dissipated(name) for name in run.mechanism.contacts)
    assert np.abs(each - run.dissipated()).max() < 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_ball_that_slides_begins_to_roll_at_five_sevenths_of_its_speed(solver: str) -> None:
    radius, speed, mu, end = 0.03, 2.0, 0.2, 0.6
    begin = 2 * speed / (7 * mu * G)
    place = speed * begin - 0.5 * mu * G * begin**2 + 5 / 7 * speed * (end - begin)
    errors = []
    for dt in (0.004, 0.002, 0.001):
        m = Mechanism()
        m.add_body("ball", ct.sphere(radius, mass=0.17), position=(0, 0, radius), velocity=(speed, 0, 0))
        m.add_contact("ball", radius=radius, friction=mu)
        run = Simulator(m, dt=dt, solver=solver).run(duration=end)
        assert abs(run.velocity[-1, 0, 0] - 5 / 7 * speed) < 1e-10
        errors.append(abs(run.position[-1, 0, 0] - place))
    assert all(1.8 < log2(coarse / fine) < 2.2 for coarse, fine in pairwise(errors))


@pytest.mark.parametrize(("slope", "tips"), [(atan(0.5) - 0.01, False), (atan(0.5) + 0.01, True)])
def test_a_tall_block_tips_where_its_weight_leaves_its_base(slope: float, tips: bool) -> None:
    m = block(slope, 1.0, size=(0.2, 0.2, 0.4))
    run = Simulator(m, dt=0.01).run(duration=0.5)
    turned = np.abs(run.orientation[-1, 0] - run.orientation[0, 0]).max()
    assert (turned > 0.01) == tips
    assert tips or turned < 1e-10


@pytest.mark.parametrize(("slope", "slides"), [(atan(0.4) - 1e-6, False), (atan(0.4) + 1e-6, True)])
def test_a_flat_block_slides_where_the_slope_is_steeper_than_its_friction(slope: float, slides: bool) -> None:
    run = Simulator(block(slope, 0.4), dt=0.01).run(duration=1)
    moved = float(run.position[-1, 0, 0])
    assert abs(moved - slides * 0.5 * G * (sin(slope) - 0.4 * cos(slope))) < 1e-10


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_slide_whose_direction_turns_is_of_second_order(solver: str) -> None:
    m = block(0.5, 0.4, velocity=(0.5, 1.0, 0))
    ends = [Simulator(m, dt=dt, solver=solver).run(duration=0.8).position[-1, 0] for dt in (0.04, 0.02, 0.01, 0.005)]
    steps = [np.abs(fine - coarse).max() for coarse, fine in pairwise(ends)]
    assert all(1.8 < log2(coarse / fine) < 2.2 for coarse, fine in pairwise(steps))


# ---- impacts


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_rod_jams_at_once_where_friction_leaves_no_motion(solver: str) -> None:
    """Painleve's paradox: a rod of 1 m that slides on its end, with a friction that no finite force can balance."""
    half, angle, speed = 0.5, 1.1, 10.0
    m = Mechanism()
    turn = (cos(0.5 * angle), 0, sin(0.5 * angle), 0)
    inertia = ct.Inertia(1.0, np.diag((1e-3, half**2 / 3, half**2 / 3)))
    m.add_body("rod", inertia, position=(0, 0, half * sin(angle)), orientation=turn, velocity=(speed, 0, 0))
    m.add_contact("rod", at=(half * cos(angle), 0, 0), friction=2.0)
    m.add_contact("rod", at=(-half * cos(angle), 0, 2 * half * sin(angle)), friction=2.0)
    run = Simulator(m, dt=1e-3, solver=solver).run(steps=1)
    energy = run.energy()
    assert abs((energy[0] - energy[1]) - 20.2156) < 1e-3


def test_an_impact_with_restitution_and_friction_creates_no_energy() -> None:
    """Kane and Levinson's double pendulum strikes the floor: Newton's law alone would multiply its energy."""
    at, last, m = np.zeros(3), "world", Mechanism(gravity=(0, 0, 0))
    for name, angle, rate in (("upper", np.deg2rad(20), 0.1), ("lower", np.deg2rad(30), 0.2)):
        end = at + np.array((sin(angle), 0, -cos(angle)))
        m.add_body(name, ct.rod(at, end, mass=1.0), angular_velocity=(0, rate, 0))
        m.add_joint(ct.Revolute(last, name, axis=(0, 1, 0), at=at, name=f"{name} hinge"))
        at, last = end, name
    upper, lower = m.bodies.values()
    upper.velocity = np.cross(upper.angular_velocity, upper.position)
    knee = 2 * upper.position
    lower.velocity = 2 * upper.velocity + np.cross(lower.angular_velocity, lower.position - knee)
    m.add_contact("lower", at=at, point=at, friction=0.7, restitution=0.5)
    run = Simulator(m, dt=1e-4).run(steps=2)
    assert run.impacts
    assert run.guarded_count == 1
    assert rise(run) < 1e-12


def test_impacts_tell_what_they_and_their_friction_take() -> None:
    m = Mechanism()
    m.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0, 0, 0.5), velocity=(5.0, 0, 0))
    m.add_contact("ball", radius=0.1, friction=0.1, restitution=0.5, name="floor")
    run = Simulator(m, dt=0.01).run(duration=0.5)
    (impact, *_) = run.impacts
    fall = G * impact.time
    assert abs(impact.impulse - 1.5 * fall) < 1e-9
    # the impulse along the floor is on the rim, and takes the mean of the slip before and after it
    slip, share = 5.0, 0.1 * 1.5 * fall
    after = slip - share * (1 + 1 / 0.4)
    assert after > 0
    assert abs(impact.rubbed - 0.5 * share * (slip + after)) < 1e-9
    assert rise(run) < 1e-10


@pytest.mark.parametrize(("friction", "restitution"), [(0.0, 0.5), (0.5, 0.0), (0.5, 0.5), (1.0, 0.0), (2.0, 0.8)])
def test_thrown_boxes_end_at_no_depth_and_gain_no_energy(friction: float, restitution: float) -> None:
    rng = np.random.default_rng(round(100 * friction + restitution))
    for _ in range(40):
        run = Simulator(box_in_the_air(rng, friction, restitution), dt=0.01).run(duration=1.0)
        assert least_gap(run) >= DEEPEST
        # of about 10 J; where a contact opens within a step, that errs by the second order
        assert rise(run) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.001, 0.005, 0.01, 0.02])
def test_many_thrown_boxes(dt: float) -> None:
    rng, failed = np.random.default_rng(round(1e4 * dt)), []
    for _ in range(2500):
        m = box_in_the_air(rng, 2 * rng.random(), rng.random())
        run = Simulator(m, dt=dt, on_inaccurate="ignore", on_failure="stop").run(duration=0.5)
        assert least_gap(run) >= DEEPEST
        if run.failed:
            failed.append(run.status.message)
    # few steps find no force that obeys the law, and say so
    assert all("no force that obeys Coulomb's law is found for contact" in message for message in failed)
    assert len(failed) <= 2


@pytest.mark.parametrize("joint", [ct.Revolute, ct.Ball])
@pytest.mark.parametrize(("count", "dt"), [(10, 0.002), (20, 0.005)])
def test_chains_that_crash_on_the_floor(joint: type[ct.Revolute] | type[ct.Ball], count: int, dt: float) -> None:
    run = Simulator(chain(count, joint=joint), dt=dt).run(duration=1.0)
    assert least_gap(run) >= DEEPEST
    assert rise(run) < 1e-3 * run.energy()[0]


def test_a_rimless_wheel_finds_its_pace() -> None:
    """Eight spokes of 1 m on a slope of 0.1 rad: it loses at every impact what it gains between two."""
    inertia, half, slope, dt = 0.4, pi / 8, 0.1, 0.005
    kept = (inertia + cos(2 * half)) / (inertia + 1)
    fastest = sqrt(4 * G * sin(half) * sin(slope) / ((inertia + 1) * (1 - kept**2)))
    angles = np.linspace(slope - half, slope + half, 20001)
    rates = np.sqrt((kept * fastest) ** 2 + 2 * G / (inertia + 1) * (cos(slope - half) - np.cos(angles)))
    pace = 2 * half / np.trapezoid(1 / rates, angles)
    m = tilted(slope)
    m.add_body("wheel", ct.Inertia(1.0, inertia * np.eye(3)), position=(0, 0, cos(half)))
    body = m.bodies["wheel"]
    body.velocity, body.angular_velocity = (1.5 * cos(half), 0, 0), (0, 1.5, 0)
    for k in range(8):
        spoke = half + 2 * half * k
        for y in (-0.25, 0.25):
            m.add_contact("wheel", at=(sin(spoke), y, cos(half) - cos(spoke)), friction=1.0)
    run = Simulator(m, dt=dt).run(duration=12)
    q = run.orientation[round(6 / dt) :, 0]
    turned = 2 * np.sum(q[1:, 2] * q[:-1, 0] - q[1:, 0] * q[:-1, 2])
    assert abs(turned / 6 / pace - 1) < 3e-3
    assert least_gap(run) >= DEEPEST


# ---- several bodies


@pytest.mark.parametrize("solver", SOLVERS)
def test_bodies_that_rub_each_other_keep_their_momentum(solver: str) -> None:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("sledge", ct.box((1, 1, 0.1), mass=3.0), angular_velocity=(0.1, 0.2, -0.1))
    m.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0.2, 0.1, 0.6), velocity=(0.5, 0, -1.0))
    plane = {"point": (0, 0, 0.05), "normal": (0.3, 0, 1)}
    m.add_contact("ball", "sledge", radius=0.1, **plane, restitution=0.3, friction=0.4)
    run = Simulator(m, dt=0.01, solver=solver).run(duration=1)
    assert run.impacts
    assert np.abs(run.momentum() - run.momentum()[0]).max() < 1e-12
    assert np.abs(run.angular_momentum() - run.angular_momentum()[0]).max() < 1e-12
    assert rise(run) < 1e-10


def test_a_brick_on_a_brick_sticks_and_both_slide_as_one() -> None:
    m = tilted(0.5)
    m.add_body("lower", ct.box((0.4, 0.4, 0.1), mass=2.0), position=(0, 0, 0.05))
    m.add_body("upper", ct.box((0.2, 0.2, 0.1), mass=1.0), position=(0, 0, 0.15))
    for x in (-1, 1):
        for y in (-1, 1):
            m.add_contact("lower", at=(0.2 * x, 0.2 * y, 0), friction=0.3)
            m.add_contact("upper", "lower", at=(0.1 * x, 0.1 * y, 0.1), point=(0, 0, 0.1), friction=0.8)
    run = Simulator(m, dt=0.01).run(duration=1)
    expected = 0.5 * G * (sin(0.5) - 0.3 * cos(0.5))
    assert np.abs(run.position[-1, :, 0] - expected).max() < 1e-9
    assert np.abs(run.position[:, 1] - run.position[:, 0] - (0, 0, 0.1)).max() < 1e-10


def test_a_dog_stands_on_four_feet() -> None:
    m = dog(height=0.02)
    run = Simulator(m, dt=0.002).run(duration=60, record_every=500)
    weight = G * sum(body.mass for body in m.bodies.values())
    total = sum(run.contact(name).force for name in m.contacts)
    assert np.abs(total[-5:-1] - (0, 0, weight)).max() < 1e-9 * weight
    feet = [run.contact(name).point for name in m.contacts]
    assert max(np.abs(foot[-1] - foot[-5]).max() for foot in feet) < 1e-12
    assert least_gap(run) >= DEEPEST


# ---- solvers, rotated scenes, cut and saved runs


def test_all_solvers_agree() -> None:
    m = chain(5)
    runs = [Simulator(m, dt=0.002, solver=solver).run(duration=0.3) for solver in SOLVERS]
    assert len(runs[0].impacts) > 0
    for run in runs[1:]:
        assert np.abs(run.position - runs[0].position).max() < 1e-9


def test_a_rotated_scene_is_the_same_scene() -> None:
    def run(turn: np.ndarray) -> Trajectory:
        m, to = Mechanism(gravity=matrix(turn) @ (G * sin(0.4), 0, -G * cos(0.4))), matrix(turn)
        m.add_body("box", ct.box((0.3, 0.2, 0.1), mass=1.0), position=to @ (0, 0, 0.05), orientation=turn)
        body = m.bodies["box"]
        body.velocity, body.angular_velocity = to @ (1, 0.3, 0), to @ (0, 0, 2.0)
        # three feet, whose forces are unique
        for place in ((0.15, 0.1, 0), (0.15, -0.1, 0), (-0.15, 0, 0)):
            m.add_contact("box", at=to @ place, normal=to @ (0, 0, 1), friction=0.3)
        return Simulator(m, dt=0.005).run(duration=0.5)

    turn = np.array((0.5, 0.1, -0.7, 0.3))
    turn /= np.linalg.norm(turn)
    plain, turned = run(np.array((1.0, 0, 0, 0))), run(turn)
    assert np.abs(turned.position @ matrix(turn) - plain.position).max() < 1e-9


def matrix(q: np.ndarray) -> np.ndarray:
    """Of a unit quaternion."""
    w, (x, y, z) = q[0], q[1:]
    skew = np.array(((0, -z, y), (z, 0, -x), (-y, x, 0)))
    found: np.ndarray = np.eye(3) + 2 * w * skew + 2 * skew @ skew
    return found


@pytest.mark.parametrize("order", [2, 4])
def test_a_run_that_is_cut_and_resumed_is_the_same_to_the_last_bit(order: int) -> None:
    m = block(0.3, 0.25, velocity=(0, 1.0, 0))
    simulator = Simulator(m, dt=0.01, order=order)
    whole = simulator.run(steps=60)
    first = simulator.run(steps=23)
    rest = simulator.run(steps=37, state=first[-1])
    assert np.array_equal(rest.position, whole.position[23:])
    assert np.array_equal(rest.velocity, whole.velocity[23:])


def test_a_live_mechanism_makes_the_same_steps() -> None:
    m = chain(3)
    run = Simulator(m, dt=0.005).run(steps=100)
    live = Simulator(m, dt=0.005).start()
    for node in range(1, 101):
        live.step()
        assert np.array_equal(live.position, run.position[node])
    name = next(iter(m.contacts))
    assert np.allclose(live.contact(name).force, run.contact(name).force[-1], atol=1e-9)


def test_a_saved_run_has_its_forces(tmp_path: object) -> None:
    run = Simulator(block(0.5, 0.4), dt=0.01).run(steps=10)
    run.save(f"{tmp_path}/run.npz")
    again = Trajectory.load(f"{tmp_path}/run.npz")
    for name in run.mechanism.contacts:
        assert again.mechanism.contacts[name].friction == 0.4
        assert np.array_equal(again.contact(name).force, run.contact(name).force)


@pytest.mark.parametrize("order", [4, 6, 8])
def test_composed_orders_take_plain_steps_where_friction_acts(order: int) -> None:
    run = Simulator(block(0.5, 0.4), dt=0.02, order=order).run(duration=1)
    assert abs(run.position[-1, 0, 0] - 0.62976528042) < 1e-9
    assert run.halved_count == 0
    assert least_gap(run) >= DEEPEST


# ---- the surface


def test_a_contact_that_opens_is_an_event() -> None:
    m = block(atan(0.5) + 0.05, 1.0, size=(0.2, 0.2, 0.4))
    uphill, *_, downhill = m.contacts
    run = Simulator(m, dt=0.01).run(duration=0.3, events=[ct.Liftoff(uphill), ct.Liftoff(downhill)])
    (found,) = run.events
    assert found.event.contact == uphill
    assert 0 < found.state.contact(uphill).gap < 1e-8


def test_friction_is_a_number_that_is_not_negative() -> None:
    m = Mechanism()
    m.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0, 0, 0.1))
    with pytest.raises(ValueError, match="friction must not be negative"):
        m.add_contact("ball", radius=0.1, friction=-0.1)
    contact = m.add_contact("ball", radius=0.1, friction=0.3)
    contact.friction = 0
    assert contact.friction == 0.0
    with pytest.raises(ValueError, match="friction"):
        contact.friction = float("nan")


def test_members_of_a_batch_rub_as_single_runs_do() -> None:
    m, states = block(0.5, 0.4), []
    for speed in (0.0, 0.5, 1.0):
        states.append(m.state())
        states[-1].velocity = np.array([[speed, 0.2, 0]])
    simulator = Simulator(m, dt=0.01)
    batch = simulator.run_batch(steps=30, states=states)
    for member, state in enumerate(states):
        assert np.array_equal(batch[member].position, simulator.run(steps=30, state=state).position)


def test_order_1_stands_too() -> None:
    m = ct.Mechanism()
    m.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0, 0, 0.1), velocity=(0.5, 0, 0))
    m.add_contact("ball", radius=0.1, friction=0.5)
    run = ct.Simulator(m, dt=0.01, order=1).run(duration=1)
    # it rolls on with 5/7 of its speed, to the first order
    assert run.velocity[-1, 0, 0] == pytest.approx(0.5 * 5 / 7, rel=0.02)


def test_an_accuracy_takes_plain_steps_where_something_rubs() -> None:
    m = ct.Mechanism()
    m.add_body("block", ct.box((0.4, 0.3, 0.2), mass=2.0), position=(0, 0, 0.1), velocity=(1.0, 0.3, 0))
    for x in (-0.2, 0.2):
        m.add_contact("block", at=(x, 0, 0), friction=0.5)
    run = ct.Simulator(m, accuracy=1e-4).run(duration=0.2)
    assert len(run.time) < 1000
    assert run.checked_error is not None
