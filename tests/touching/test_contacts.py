"""Contacts without friction: no gap below zero at a node, forces of statics, energy and momentum of impacts."""

from __future__ import annotations

from itertools import product
from math import cos, log2, sin, sqrt

import numpy as np
import pytest

import catena as ct
from catena import Mechanism, Simulator

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

G = 9.81
SOLVERS = ("articulated", "ldu", "dense")


def ball(height: float = 1.0, restitution: float = 0.0, radius: float = 0.1) -> Mechanism:
    """A ball whose lowest point is so high above the floor."""
    m = Mechanism()
    m.add_body("ball", ct.sphere(radius, mass=2.0), position=(0, 0, height + radius))
    m.add_contact("ball", radius=radius, restitution=restitution, name="floor")
    return m


def block(restitution: float = 0.0) -> Mechanism:
    """A block that stands with four corners on the floor."""
    m = Mechanism()
    m.add_body("block", ct.box((0.4, 0.3, 0.2), mass=2.0), position=(0, 0, 0.1))
    for x, y in product((-0.2, 0.2), (-0.15, 0.15)):
        m.add_contact("block", at=(x, y, 0), restitution=restitution)
    return m


def tumbling(restitution: float) -> Mechanism:
    """The block above the floor, thrown, as it would fall on one corner after the other."""
    m = block(restitution)
    body = m.bodies["block"]
    body.position, body.velocity, body.angular_velocity = (0, 0, 0.5), (0.3, 0, 0), (1.0, 2.0, 0.5)
    return m


def sledge(restitution: float) -> Mechanism:
    """Two floating bodies without gravity: a ball flies into a tilted plane of the other one, and they part."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("sledge", ct.box((1, 1, 0.1), mass=3.0), angular_velocity=(0.1, 0.2, -0.1))
    m.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0.2, 0.1, 0.6), velocity=(0.1, 0, -1.0))
    m.add_contact("ball", "sledge", radius=0.1, point=(0, 0, 0.05), normal=(0.3, 0, 1), restitution=restitution)
    return m


def chain(restitution: float) -> Mechanism:
    """A chain of three hinges that falls with its end on the floor."""
    m, last = Mechanism(), "world"
    for k in range(3):
        name = f"link{k}"
        m.add_body(name, ct.rod((0.5 * k, 0, 1), (0.5 * k + 0.5, 0, 1), mass=1.0))
        m.add_joint(ct.Revolute(last, name, axis=(0, 1, 0), at=(0.5 * k, 0, 1)))
        m.add_contact(name, at=(0.5 * k + 0.5, 0, 1), point=(0, 0, 0.3), radius=0.05, restitution=restitution)
        last = name
    return m


def linkage(restitution: float) -> Mechanism:
    """A four-bar whose coupler bumps into a wall."""
    m = ct.scenes.four_bar()
    m.add_contact("link2", point=(0, 1.1, 0), normal=(0, -1, 0), restitution=restitution, name="wall")
    return m


SCENES = {"ball": ball, "block": tumbling, "sledge": sledge, "chain": chain, "linkage": linkage}


def scene(name: str, restitution: float) -> Mechanism:
    return ball(0.3, restitution) if name == "ball" else SCENES[name](restitution)


def least_gap(run: ct.Trajectory) -> float:
    return min(float(run.contact(name).gap.min()) for name in run.mechanism.contacts)


# ---- what never happens, whatever the scene


@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("restitution", [0.0, 0.7])
def test_no_gap_is_negative_at_a_node(name: str, order: int, restitution: float) -> None:
    run = Simulator(scene(name, restitution), 0.01, order=order, on_inaccurate="ignore").run(1.5)
    assert run.impacts, "nothing was touched, so nothing was shown"
    assert least_gap(run) >= -1e-12
    assert run.drift().max(initial=0.0) < 1e-10


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_solvers_agree(name: str, restitution: float) -> None:
    """Until shortly after the second impact: later what rounding does to a corner is another motion."""
    runs = [Simulator(scene(name, restitution), 0.002, solver=solver).run(0.8) for solver in SOLVERS]
    times = sorted({impact.time for impact in runs[0].impacts})
    nodes = slice(0, np.searchsorted(runs[0].time, times[:2][-1] + 0.02))
    for run in runs:
        assert least_gap(run) >= -1e-12
        np.testing.assert_allclose(run.position[nodes], runs[0].position[nodes], atol=1e-9)
        np.testing.assert_allclose(run.velocity[nodes], runs[0].velocity[nodes], atol=1e-7)


def test_order_one_holds_as_well() -> None:
    run = Simulator(ball(0.3, 0.5), 0.01, order=1).run(1.0)
    assert run.impacts
    assert least_gap(run) >= -1e-12


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_impacts_take_what_they_say(name: str, restitution: float) -> None:
    """Energy and what impacts have taken add up to what there was, to what order 4 leaves; no impact gives any."""
    run = Simulator(scene(name, restitution), 0.002, order=4).run(1.0)
    total = run.energy() + run.dissipated()
    # a block comes to rest with more than four impacts in one step, of which the rest are caught, at order 1
    caught = name == "block" and run.caught_count > 0
    assert np.abs(total - total[0]).max() < (1e-4 if caught else 2e-7) * max(1.0, np.abs(total[0]))
    times = np.array([impact.time for impact in run.impacts])
    losses = np.array([impact.loss for impact in run.impacts])
    for time in np.unique(times):
        assert losses[times == time].sum() > -1e-12
    if restitution == 1:
        assert run.dissipated()[-1] == pytest.approx(0, abs=1e-9)


# ---- one ball on the floor


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("restitution", [0.5, 0.8, 1.0])
def test_heights_of_bounces(restitution: float, solver: str) -> None:
    """Bounce k reaches e^(2k) h, and each takes as long as the fall from there."""
    h = 1.0
    run = Simulator(ball(h, restitution), 0.01, solver=solver).run(2.0)
    hits = [impact for impact in run.impacts if impact.approach < -1e-6]
    time, speed = sqrt(2 * h / G), sqrt(2 * G * h)
    for k, hit in enumerate(hits[:4]):
        assert hit.name == "floor"
        assert hit.coordinate == ""
        assert hit.time == pytest.approx(time, abs=1e-10)
        assert -hit.approach == pytest.approx(speed * restitution**k, abs=1e-9)
        assert hit.leaving == pytest.approx(speed * restitution ** (k + 1), abs=1e-9)
        assert hit.impulse == pytest.approx(2.0 * (hit.leaving - hit.approach), abs=1e-9)
        time += 2 * restitution ** (k + 1) * speed / G


@pytest.mark.parametrize("restitution", [0.5, 0.8])
def test_endless_bounces_end(restitution: float) -> None:
    """The ball lies still a step after infinitely many bounces, and no sooner."""
    dt, h = 0.005, 0.2
    run = Simulator(ball(h, restitution), dt).run(3.0)
    rest = sqrt(2 * h / G) * (1 + restitution) / (1 - restitution)
    moving = run.time[np.abs(run.velocity[:, 0, 2]) > 1e-9]
    # a ball that comes back within a step stays: it would have bounced on for dt / (1 - e) at most
    assert rest - dt / (1 - restitution) - dt < moving[-1] < rest + dt
    assert run.contact("floor").normal_force[-2] == pytest.approx(2.0 * G, abs=1e-9)


@pytest.mark.parametrize("order", [2, 4])
def test_a_perfect_ball_keeps_its_energy(order: int) -> None:
    """A hundred bounces at e = 1: no trend."""
    run = Simulator(ball(0.1, 1.0), 0.01, order=order).run(30.0)
    assert len(run.impacts) > 100
    assert np.abs(run.energy() - run.energy()[0]).max() < 1e-10


def test_billiard() -> None:
    """Over a frictionless floor between walls: speed is kept, and each cushion is met where a straight line ends."""
    m = Mechanism()
    m.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0, 0, 0.1), velocity=(1.3, 0.7, 0))
    m.add_contact("ball", radius=0.1, name="table")
    for name, normal in (("east", (-1, 0, 0)), ("west", (1, 0, 0)), ("north", (0, -1, 0)), ("south", (0, 1, 0))):
        m.add_contact("ball", radius=0.1, point=-1.0 * np.array(normal), normal=normal, restitution=1.0, name=name)
    run = Simulator(m, 0.01).run(10.0)
    assert np.abs(run.position[:, 0, 2] - 0.1).max() < 1e-15
    folded = [0.9 * (2 / np.pi) * np.arcsin(np.sin(0.5 * np.pi * v * run.time / 0.9)) for v in (1.3, 0.7)]
    np.testing.assert_allclose(run.position[:, 0, :2], np.stack(folded, axis=1), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(run.velocity[:, 0], axis=1), sqrt(1.3**2 + 0.7**2), atol=1e-12)


# ---- standing


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_block_stands(solver: str, order: int) -> None:
    """Four points are one more than needed: it stays, and their forces add up to its weight."""
    m = block()
    run = Simulator(m, 0.01, solver=solver, order=order, on_inaccurate="ignore").run(2.0)
    assert np.abs(run.position - run.position[0]).max() < 1e-15
    # composed steps leave up to two roundings of the quaternion
    assert np.abs(run.orientation - run.orientation[0]).max() < 4e-15
    # at order 1 no force acts before the end of the first step
    nodes = slice(1 if order == 1 else 0, -1)
    total = sum(run.contact(name).normal_force for name in m.contacts)
    np.testing.assert_allclose(total[nodes], 2.0 * G, atol=1e-9)
    moment = sum(np.cross(run.contact(name).point, run.contact(name).force) for name in m.contacts)
    np.testing.assert_allclose(moment[nodes], 0, atol=1e-9)
    assert min(run.contact(name).normal_force.min() for name in m.contacts) > -1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_forces_of_statics(solver: str) -> None:
    """A beam on three supports of a body on the floor: each force is the only one there can be."""
    m = Mechanism()
    m.add_body("table", ct.box((2, 1, 0.2), mass=10.0), position=(0, 0, 0.1))
    corners = ((-1, -0.5), (1, -0.5), (0.2, 0.5))
    for k, (x, y) in enumerate(corners):
        m.add_contact("table", at=(x, y, 0), name=f"leg{k}")
    m.add_body("ball", ct.sphere(0.1, mass=3.0), position=(0.1, -0.2, 0.3))
    m.add_contact("ball", "table", radius=0.1, point=(0, 0, 0.2), name="load")
    run = Simulator(m, 0.01, solver=solver).run(0.5)
    assert np.abs(run.position - run.position[0]).max() < 1e-14
    lever = np.array([(1.0, x, y) for x, y in corners]).T
    wanted = np.linalg.solve(lever, G * np.array((13.0, 3 * 0.1, 3 * -0.2)))
    found = np.array([run.contact(f"leg{k}").normal_force[20] for k in range(3)])
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    np.testing.assert_allclose(run.contact("load").force[20], (0, 0, 3 * G), atol=1e-9)


def test_many_points_of_a_round_foot() -> None:
    """Where there are far more points than needed, the set that holds is found, whatever they share among them."""
    rng = np.random.default_rng(3)
    for count in (5, 9, 16):
        m = Mechanism()
        m.add_body("foot", ct.Inertia(2.0, np.diag((0.1, 0.12, 0.2))), position=(0, 0, 0.1))
        x, y = rng.uniform(-0.1, 0.1, 2)
        for angle in 2 * np.pi * np.arange(count) / count:
            m.add_contact("foot", at=(x + 0.3 * cos(angle), y + 0.3 * sin(angle), 0), restitution=0.5)
        for solver in SOLVERS:
            state = m.state()
            state.position[0, 2] += 0.2
            state.angular_velocity[0] = (1.0, 2.0, 0.5)
            run = Simulator(m, 0.01, solver=solver).run(4.0, state=state)
            assert least_gap(run) >= -1e-12
            total = sum(run.contact(name).normal_force[-2] for name in m.contacts)
            assert total == pytest.approx(2.0 * G, abs=1e-9)


# ---- bodies that touch each other


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_momentum_is_kept(restitution: float, order: int, solver: str) -> None:
    """Both bodies get the force in one point: momentum and angular momentum stay to rounding, also while they touch."""
    run = Simulator(sledge(restitution), 0.01, order=order, solver=solver).run(2.0)
    assert run.impacts
    np.testing.assert_allclose(run.momentum(), np.broadcast_to(run.momentum()[0], (len(run), 3)), atol=2e-14)
    about = run.angular_momentum()
    np.testing.assert_allclose(about, np.broadcast_to(about[0], about.shape), atol=2e-14)


def test_a_rod_falls_on_its_end() -> None:
    """A slanted rod that is dropped on its end without friction: speed and spin after it are Newton's."""
    m, angle, h, mass, length = Mechanism(), 0.6, 0.5, 1.5, 1.0
    end = np.array((cos(angle), 0, sin(angle)))
    m.add_body("rod", ct.rod((0, 0, h), h * np.array((0, 0, 1)) + length * end, mass=mass))
    m.add_contact("rod", at=(0, 0, h), restitution=0.4, name="tip")
    run = Simulator(m, 0.001).run(sqrt(2 * h / G) + 0.01)
    (hit,) = [impact for impact in run.impacts if impact.approach < -1e-6]
    # 1 / (the mass that the tip feels), of a thin rod
    yields = 1 / mass + (0.5 * length * cos(angle)) ** 2 / (mass * length**2 / 12)
    assert -hit.approach == pytest.approx(sqrt(2 * G * h), abs=1e-9)
    assert hit.leaving == pytest.approx(0.4 * sqrt(2 * G * h), abs=1e-9)
    # the solid is a box that is thin, not a line
    assert hit.impulse == pytest.approx(1.4 * sqrt(2 * G * h) / yields, rel=2e-3)
    # nothing pushes it sideways
    assert np.abs(run.position[:, 0, 0] - run.position[0, 0, 0]).max() < 1e-15


def test_on_a_plane_that_is_driven() -> None:
    """A ball on a lift that is moved: it leaves where the lift would have to pull, and is met again later."""
    m = Mechanism()
    m.add_body("lift", ct.box((1, 1, 0.1), mass=5.0))
    m.add_joint(ct.Prismatic("world", "lift", axis=(0, 0, 1), at=(0, 0, 0), name="rail"))
    rate = 2 * np.pi
    m.add_coupling(ct.PrescribedMotion("rail", lambda t: 0.5 * (1 - cos(rate * t))))
    m.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0, 0, 0.15))
    m.add_contact("ball", "lift", radius=0.1, point=(0, 0, 0.05), name="seat")
    run = Simulator(m, 0.001).run(1.2)
    gap, force = run.contact("seat").gap, run.contact("seat").normal_force
    # the lift accelerates by 0.5 rate^2 cos(rate t), and lets go where that is -g; one step late at most
    leaves = np.arccos(-G / (0.5 * rate**2)) / rate
    first = run.time[np.flatnonzero(gap > 1e-9)[0]]
    assert leaves < first < leaves + 0.03
    early = (run.time > 0.01) & (run.time < leaves - 0.01)
    pushed = G + 0.5 * rate**2 * np.cos(rate * run.time[early])
    np.testing.assert_allclose(force[early], pushed, atol=5e-4)
    assert gap.min() >= -1e-12
    assert len(run.impacts) >= 1


# ---- accuracy


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("name", ["chain", "linkage", "sledge"])
@pytest.mark.parametrize("restitution", [0.0, 0.7])
def test_impacts_keep_the_order(name: str, restitution: float, order: int) -> None:
    """The end of runs through the first impact, and not the next, against one with a fine step."""
    m = scene(name, restitution)
    first = sorted(impact.time for impact in Simulator(m, 0.0005, order=4).run(1.5).impacts)
    later = [time for time in first if time > first[0] + 1e-9]
    # well before the next one
    end = first[0] + 0.5 * min(later[0] - first[0] if later else 0.2, 0.2)
    ends = [
        Simulator(m, end / count, order=order).run(steps=count)[-1].position
        for count in (200, 400, 3200 if order == 2 else 1600)
    ]
    errors = [np.abs(found - ends[-1]).max() for found in ends[:2]]
    if errors[1] < 1e-12:
        return
    assert log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


def leg() -> Mechanism:
    """A double pendulum whose end falls onto the floor at 0.43 s, is drawn along it, and lifts off at 1.004 s."""
    m, last, at = Mechanism(), "world", np.zeros(3)
    for name, angle in (("thigh", 0.5), ("shank", 1.0)):
        end = at + np.array((np.cos(angle), 0, -np.sin(angle)))
        m.add_body(name, ct.rod(at, end, mass=1.0))
        m.add_joint(ct.Revolute(last, name, axis=(0, 1, 0), at=at))
        last, at = name, end
    m.add_contact("shank", at=at, point=(0, 0, -1.6), name="floor")
    return m


@pytest.mark.parametrize("solver", SOLVERS)
def test_lifting_off_keeps_the_order(solver: str) -> None:
    """Order 4 finds the instant; at order 2 the error is that of a lift-off within a step, up to 13 / n^2."""
    m = leg()
    true = Simulator(m, 0.0005, order=8).run(1.5)
    held = np.flatnonzero(true.contact("floor").normal_force > 0)
    assert 0.43 < held[0] * 0.0005 < 0.44
    assert 1.0 < held[-1] * 0.0005 < 1.01

    def error(count: int, order: int) -> float:
        run = Simulator(m, 1.5 / count, order=order, solver=solver).run(steps=count)
        return float(np.abs(run.position[-1] - true.position[-1]).max())

    assert log2(error(300, 4) / error(600, 4)) == pytest.approx(4, abs=0.2)
    for count in (150, 240, 400, 700):
        assert error(count, 2) < 20 / count**2


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_cradle(solver: str, order: int) -> None:
    """Of five balls that touch, the last one takes all of the speed of the first."""
    m = Mechanism(gravity=(0, 0, 0))
    for k in range(5):
        m.add_body(f"ball{k}", ct.sphere(0.1, mass=1.0), position=(0.2 * k - (0.5 if k == 0 else 0.0), 0, 0))
    m.bodies["ball0"].velocity = (1.0, 0, 0)
    for k in range(4):
        at = {"radius": 0.1, "point": (0.2 * (k + 1) - 0.1, 0, 0), "normal": (-1, 0, 0)}
        m.add_contact(f"ball{k}", f"ball{k + 1}", **at, restitution=1.0)
    run = Simulator(m, 0.01, order=order, solver=solver).run(1.0)
    np.testing.assert_allclose(run.velocity[-1, :, 0], (0, 0, 0, 0, 1), rtol=0, atol=1e-12)
    assert least_gap(run) >= -1e-12


def test_elastic_impacts_are_reversible() -> None:
    m = tumbling(1.0)
    there = Simulator(m, 0.002, order=4).run(0.5)
    assert there.impacts
    turned = there[-1].copy()
    turned.velocity, turned.angular_velocity = -turned.velocity, -turned.angular_velocity
    back = Simulator(m, 0.002, order=4).run(0.5, state=turned)[-1]
    np.testing.assert_allclose(back.position, there.position[0], atol=1e-9)


# ---- the parts of a mechanism


def described() -> Mechanism:
    m = tumbling(0.3)
    m.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0, 0, 2))
    m.add_contact("ball", "block", radius=0.1, point=(0, 0, 0.6), normal=(0, 0.6, 0.8), restitution=0.7, name="pair")
    return m


def test_what_is_told_of_a_contact() -> None:
    contact = described().contacts["pair"]
    assert (contact.body, contact.other, contact.radius, contact.restitution) == ("ball", "block", 0.1, 0.7)
    np.testing.assert_allclose(contact.normal, (0, 0.6, 0.8), atol=1e-15)
    np.testing.assert_allclose(contact.point @ contact.normal, 0.08, atol=1e-15)
    np.testing.assert_allclose(contact.at, (0, 0, 0), atol=0)
    assert repr(contact) == "Contact('pair', 'ball' on 'block', radius=0.1, restitution=0.7)"


def test_the_point_of_a_ball_is_the_one_nearest_to_the_plane() -> None:
    m = described()
    state = m.state()
    seen = state.contact("pair")
    from_plane = (seen.point - state.body("block").point(m.contacts["pair"].point)) @ seen.normal
    np.testing.assert_allclose(from_plane, seen.gap, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(seen.point - state.body("ball").position), 0.1, atol=1e-15)


def test_contacts_survive_copies_and_files(tmp_path) -> None:
    m = described()
    m.save(tmp_path / "m.json")
    run = Simulator(m, 0.01).run(0.6)
    run.save(tmp_path / "run.npz")
    again = ct.Trajectory.load(tmp_path / "run.npz")
    assert again.impacts == run.impacts
    for name in m.contacts:
        np.testing.assert_array_equal(again.contact(name).force, run.contact(name).force)
    for other in (m.copy(), m.snapshot(), Mechanism.load(tmp_path / "m.json"), again.mechanism):
        assert list(other.contacts) == list(m.contacts)
        np.testing.assert_array_equal(Simulator(other, 0.01).run(0.6).position, run.position)


def test_contacts_go_along_where_mechanisms_are_added() -> None:
    """Turned about the vertical and shifted, the same happens; what was the floor is the floor there."""
    turn = np.array((cos(0.4), 0, 0, sin(0.4)))
    m = Mechanism()
    names = m.add(described(), prefix="left ", at=((1.0, 2.0, 0.5), turn))
    assert names.contacts["pair"] == "left pair"
    assert m.contacts["left pair"].other == "left block"
    run, moved = (Simulator(each, 0.01).run(0.6) for each in (described(), m))
    np.testing.assert_allclose(moved.position[:, 0, 2], run.position[:, 0, 2] + 0.5, atol=1e-9)
    for name in described().contacts:
        np.testing.assert_allclose(moved.contact(f"left {name}").gap, run.contact(name).gap, atol=1e-9)


def test_names_and_removal() -> None:
    m = described()
    assert list(m.contacts)[:2] == ["contact block-world", "contact block-world-2"]
    with pytest.raises(ValueError, match="there is already a contact called 'pair'"):
        m.add_contact("ball", name="pair")
    with pytest.raises(KeyError, match="there is no contact called 'pear'; did you mean 'pair'"):
        m.contacts["pear"]
    with pytest.raises(ValueError, match="there is no contact called 'ball' in this trajectory: 'ball' is a body"):
        Simulator(m, 0.01).run(0.01).contact("ball")
    with pytest.raises(ValueError, match=r"body 'ball' is used by contact 'pair': remove them first"):
        m.remove_body("ball")
    assert m.remove_contact("pair").name == "pair"
    m.remove_body("ball")
    assert len(m.contacts) == 4
    m.remove_body("block", cascade=True)
    assert not m.contacts


def test_restitution_can_be_set() -> None:
    m = ball()
    m.contacts["floor"].restitution = 0.5
    assert max(impact.leaving for impact in Simulator(m, 0.01).run(1.0).impacts) > 2
    with pytest.raises(ValueError, match="contact 'floor': restitution must be between 0 and 1, got 2"):
        m.contacts["floor"].restitution = 2
    with pytest.raises(AttributeError, match="radius cannot be set"):
        m.contacts["floor"].radius = 2


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"body": "boll"}, "there is no body called 'boll'; did you mean 'ball'"),
        ({"body": "ball", "other": "ball"}, "is between 'ball' and itself"),
        ({"body": "world", "other": "ball"}, "swap them"),
        ({"body": "ball", "radius": -1.0}, "radius must not be negative"),
        ({"body": "ball", "normal": (0, 0, 0)}, "normal must not be zero"),
        ({"body": "ball", "at": (0, 0)}, "at must"),
        ({"body": "ball", "restitution": 1.5}, "restitution must be between 0 and 1"),
    ],
)
def test_contacts_that_make_no_sense(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ball().add_contact(**given)  # type: ignore[arg-type]


def test_a_start_inside_the_plane_is_refused() -> None:
    with pytest.raises(ct.SimulationError, match=r"contact 'floor' starts 0.05 m inside its plane; move the body out"):
        Simulator(ball(-0.05), 0.01).run(0.1)


def test_reports_list_contacts() -> None:
    assert "contacts: 5 (contact block-world, " in str(described().report())
    assert "contact" in repr(described())


# ---- while it runs


@pytest.mark.parametrize("order", [2, 4])
def test_runs_that_are_cut_are_the_same_bit_for_bit(order: int) -> None:
    m = tumbling(0.5)
    simulator = Simulator(m, 0.01, order=order)
    whole = simulator.run(steps=100)
    first = simulator.run(steps=43)
    rest = simulator.run(steps=57, state=first[-1])
    np.testing.assert_array_equal(rest.position[-1], whole.position[-1])
    live = simulator.start()
    for k in range(1, 101):
        live.step()
        np.testing.assert_array_equal(live.position, whole.position[k])
    batch = simulator.run_batch(steps=100, states=[m.state(), m.state()])
    np.testing.assert_array_equal(batch.position[1, -1], whole.position[-1])


def test_what_is_told_while_it_runs() -> None:
    m = block()
    simulator = Simulator(m, 0.01)
    run, live = simulator.run(0.1), simulator.start()
    for _ in range(3):
        live.step()
    for name in m.contacts:
        contact = live.contact(name)
        assert abs(contact.gap) < 1e-15
        assert run[3].contact(name).gap == contact.gap
        assert contact.normal_force == pytest.approx(run.contact(name).normal_force[3], abs=1e-9)
        np.testing.assert_allclose(contact.force, contact.normal_force * contact.normal, atol=0)
        np.testing.assert_allclose(contact.point, run.contact(name).point[3], atol=0)


@pytest.mark.parametrize("accuracy", [1e-4, 1e-6])
def test_an_accuracy_is_kept_through_impacts(accuracy: float) -> None:
    m = chain(0.7)
    fine = Simulator(m, 0.0002, order=6).run(0.6)
    run = Simulator(m, accuracy=accuracy).run(0.6)
    assert run.impacts
    assert np.abs(run.position[-1] - fine.position[-1]).max() < accuracy * 1.5


def test_a_ball_that_spins_lands_spinning() -> None:
    """No friction: a fast spin about an axis through the point of contact is kept, and needs no shorter steps."""
    m = ball(0.2, 0.5)
    m.bodies["ball"].angular_velocity = (0, 0, 60.0)
    run = Simulator(m, 0.01).run(1.0)
    np.testing.assert_allclose(run.angular_velocity[:, 0], np.broadcast_to((0, 0, 60.0), (len(run), 3)), atol=1e-9)
    assert run.halved_count == 0
