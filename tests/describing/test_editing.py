"""Mechanisms that are taken apart and put into each other, and the time it takes to describe them."""

from dataclasses import fields
from functools import partial
from time import thread_time

import numpy as np
import pytest

import catena as ct
from catena._util import rotation as rot
from catena._util.lookup import KINDS
from catena.describe.merge import AddedNames
from catena.io import serialize

Y = (0, 1, 0)
PLACE = (np.array((0.4, -0.7, 0.2)), rot.from_rotation_vector((0.3, 1.1, -0.5)))


def toy(gravity=(0, 0, -9.81)) -> ct.Mechanism:
    """A double pendulum and a ball on a bent track, with one of every kind of thing that knows of the world."""
    m = ct.Mechanism(gravity=gravity)
    m.add_body("arm", ct.rod((0, 0, 0), (0.5, 0, 0), mass=1.0), angular_velocity=(0, 0.5, 0))
    m.add_body("hand", ct.rod((0.5, 0, 0), (0.8, 0, 0.1), mass=0.5), angular_velocity=(0.1, 0, 0.2))
    m.add_body("bead", ct.sphere(0.1, mass=0.3), position=(1, 2, 0), velocity=(0.1, 0.3, 0))
    m.add_body("wheel", ct.sphere(0.2, mass=0.3), position=(3, 0, 0.2), velocity=(0, 0.4, 0))
    m.add_body("boat", ct.box((0.3, 0.2, 0.1), mass=0.7), position=(5, 0, 0), velocity=(0.3, 0, 0))
    m.add_joint(ct.Revolute("world", "arm", axis=Y, at=(0, 0, 0), name="shoulder"))
    m.add_joint(ct.Ball("hand", "arm", at=(0.5, 0, 0)))
    m.add_joint(ct.RollingBall("world", "wheel", radius=0.2))
    m.add_joint(ct.Planar("boat", "world", axis=(0, 0, 1), at=(5, 0, 0), name="sea"))

    def track(a, b):
        x, _, z = b.position - a.position
        return [z - 0.2 * (x - 1) ** 2]

    def slope(a, b):
        x = (b.position - a.position)[0]
        row = np.array((-0.4 * (x - 1), 0, 1))
        return [np.concatenate((-row, np.zeros(3), row, np.zeros(3)))]

    m.add_joint(ct.Custom("world", "bead", track, jacobian=slope, name="track"))

    def keel(a, b):
        across = rot.rotate(b.orientation, np.array((0.0, 1.0, 0.0)))
        return [np.concatenate((np.zeros(6), across, np.zeros(3)))]

    m.add_joint(ct.VelocityRows("world", "boat", keel, name="keel"))
    m.add_force(ct.PointSpring("world", "hand", 5.0, points=((0, 1, 0), (0.8, 0, 0.1)), damping=0.1, name="string"))
    m.add_force(ct.Motor("shoulder", lambda t: np.sin(3 * t), name="motor"))
    m.add_coupling(ct.Mimic(("sea", "x"), ("sea", "angle"), factor=0.5, offset=0.0, name="rudder"))
    return m


def moved(run: ct.Trajectory):
    x, q = PLACE
    return x + rot.rotate(q, run.position), rot.multiply(np.broadcast_to(q, run.orientation.shape), run.orientation)


def test_a_mechanism_put_elsewhere_moves_as_it_did_where_it_was():
    alone = toy()
    host = ct.Mechanism(gravity=rot.rotate(PLACE[1], alone.gravity))
    host.add_body("arm", ct.sphere(1, mass=1.0))
    names = host.add(alone, prefix="left ", at=PLACE)
    there, here = (ct.Simulator(m, 0.01).run(duration=1, state=m.assemble()) for m in (alone, host))
    position, orientation = moved(there)
    # implicit steps are solved to 1e-10; a second of motion makes at most a thousand of that
    np.testing.assert_allclose(here.position[:, 1:], position, atol=1e-8)
    same = np.abs(np.sum(here.orientation[:, 1:] * orientation, axis=-1))
    np.testing.assert_allclose(same, 1, atol=1e-12)
    assert here.drift().max() < 1e-10
    assert names.bodies["hand"] == "left hand"
    assert names.joints["hand-arm"] == "left hand-arm"
    assert names.forces == {"string": "left string", "motor": "left motor"}
    assert names.couplings == {"rudder": "left rudder"}
    np.testing.assert_allclose(here.joint("left shoulder").coordinates, there.joint("shoulder").coordinates, atol=1e-8)


def test_moving_ground_moves_with_its_mechanism():
    alone = ct.Mechanism()
    alone.add_body("bob", ct.sphere(0.1, mass=1.0), position=(0, 0, -1))
    alone.add_joint(ct.Revolute("world", "bob", axis=Y, at=(0, 0, 0), name="pivot"))
    for ground in (
        lambda t: (0.1 * np.sin(5 * t), 0, 0.02 * t),
        lambda t: ((0.1 * np.sin(5 * t), 0, 0), rot.from_rotation_vector((0.2 * t, 0.1 * t, 0))),
    ):
        alone.joints["pivot"].ground = ground
        host = ct.Mechanism(gravity=rot.rotate(PLACE[1], alone.gravity))
        host.add(alone, at=PLACE)
        there, here = (ct.Simulator(m, 0.01).run(duration=1, state=m.assemble()) for m in (alone, host))
        np.testing.assert_allclose(here.position, moved(there)[0], atol=1e-8)


def test_copies_of_one_mechanism_are_put_side_by_side():
    leg = ct.scenes.pendulum(2, "revolute")
    m = ct.Mechanism()
    for k in range(3):
        m.add(leg, prefix=f"leg{k} ", at=(k, 0, 0))
    before = [body.position.copy() for body in leg.bodies.values()]
    m.bodies["leg0 link1"].position += 1.0
    assert m.body_count == 6
    assert [joint.a.name for joint in m.joints.values()][:2] == ["world", "leg0 link1"]
    np.testing.assert_array_equal([body.position for body in leg.bodies.values()], before)
    np.testing.assert_allclose(m.bodies["leg2 link2"].position, before[1] + np.array((2, 0, 0)))
    m.add(m, prefix="again ")
    assert m.body_count == 12
    ct.Simulator(m, 0.01).run(steps=2)


def test_what_clashes_is_refused_before_anything_is_added():
    m = toy()
    before = repr(m)
    for prefix, sentence in (
        ("", "there is already a body called 'arm'; give another prefix"),
        (3, "prefix must be a string, got 3"),
    ):
        with pytest.raises(ValueError, match=sentence):
            m.add(toy(), prefix=prefix)
    other = ct.Mechanism()
    other.add_body("x", ct.sphere(0.1, mass=1))
    other.add_joint(ct.Ball("world", "x", at=(0, 0, 0), name="rudder"))
    for guest, sentence in ((other, "already a joint called 'rudder'"), ("toy", "add takes a mechanism, got 'toy'")):
        with pytest.raises(ValueError, match=sentence):
            m.add(guest)
    with pytest.raises(ValueError, match=r"at: position must have shape \(3,\)"):
        m.add(other, prefix="p", at=(1, 2))
    assert repr(m) == before


# ---- taking apart


def test_removing_a_body_takes_all_that_hold_on_to_it():
    m = toy()
    with pytest.raises(ValueError, match="body 'hand' is used by ball joint 'hand-arm', pointspring 'string': "):
        m.remove_body("hand")
    hand = m.bodies["hand"]
    assert m.remove_body("hand", cascade=True) is hand
    assert "hand" not in m.bodies
    assert "hand-arm" not in m.joints
    assert list(m.forces) == ["motor"]
    with pytest.raises(ValueError, match="revolute joint 'shoulder' is used by motor 'motor'"):
        m.remove_joint("shoulder")
    m.remove_joint("shoulder", cascade=True)
    assert not m.forces
    m.remove_body("boat", cascade=True)
    assert not m.couplings
    ct.Simulator(m, 0.01).run(steps=2, state=m.assemble())


def test_what_was_removed_makes_room_for_its_name():
    m = toy()
    m.remove_force("motor")
    m.remove_coupling("rudder")
    m.remove_joint("shoulder")
    m.add_joint(ct.Revolute("world", "arm", axis=Y, at=(0, 0, 0), name="shoulder"))
    m.add_force(ct.Motor("shoulder", 1.0, name="motor"))
    for remove, name in (
        (m.remove_body, "hnad"),
        (m.remove_joint, "shuolder"),
        (m.remove_force, "mtor"),
        (m.remove_coupling, "rudder"),
    ):
        with pytest.raises(ValueError, match=f"there is no .* called '{name}'"):
            remove(name)
    owned = ct.Simulator(m, 0.01).mechanism
    for refuse in (
        lambda: owned.remove_body("boat"),
        lambda: owned.remove_force("motor"),
        lambda: owned.add(toy(), "p"),
    ):
        with pytest.raises(ValueError, match="belongs to a simulator"):
            refuse()


# ---- long chains


def chain(n: int) -> ct.Mechanism:
    m = ct.Mechanism()
    last = "world"
    for k in range(n):
        m.add_body(f"link{k}", ct.rod((k, 0, 0), (k + 1, 0, 0), mass=1.0))
        m.add_joint(ct.Revolute(last, f"link{k}", axis=Y, at=(k, 0, 0)))
        m.add_force(ct.Damper(f"{last}-link{k}", 0.1))
        last = f"link{k}"
    return m


def tied(m: ct.Mechanism) -> ct.Mechanism:
    """As many joints as a mechanism has, all between the same two bodies."""
    knot = ct.Mechanism()
    knot.add_body("a", ct.sphere(0.1, mass=1.0))
    for _ in m.joints:
        knot.add_joint(ct.Free("world", "a"))
    return knot


def seconds(work) -> float:
    def once() -> float:
        start = thread_time()
        work()
        return thread_time() - start

    return min(once() for _ in range(5))


def test_describing_takes_time_in_proportion_to_size():
    # sizes a factor of sixteen apart; 2.5 times that covers caches and a busy machine, and what is quadratic is far off
    few, many = chain(200), chain(3200)
    for what in (lambda m: chain(m.body_count), tied, ct.Mechanism.state, ct.Mechanism.snapshot, repr):
        assert seconds(partial(what, many)) < 2.5 * 16 * seconds(partial(what, few))


def test_unnamed_things_between_the_same_bodies_are_numbered():
    m = ct.Mechanism()
    m.add_body("a", ct.sphere(0.1, mass=1.0))
    names = [m.add_joint(ct.Free("world", "a")).name for _ in range(4)]
    assert names == ["world-a", "world-a-2", "world-a-3", "world-a-4"]
    m.remove_joint("world-a-2")
    assert m.add_joint(ct.Free("world", "a")).name not in names


def test_a_long_chain_prints_its_first_links():
    text = repr(chain(5000))
    assert len(text) < 12_000
    assert "Mechanism: 5000 bodies, 5000 joints, 5000 forces" in text
    assert "... 4941 more lines" in text
    assert "... 4940 more lines" in text


def test_every_kind_of_thing_is_held_joined_and_written() -> None:
    """What a mechanism is made of is listed once, and whatever treats kinds apart has a case for each."""
    m = ct.Mechanism()
    for kind, all_of in KINDS.items():
        assert getattr(m, all_of) == {}
        with pytest.raises(KeyError, match=f"no {kind} called 'missing'"):
            getattr(m, all_of)["missing"]
        with pytest.raises(ValueError, match=f"no {kind} called 'missing'"):
            getattr(m, f"remove_{kind}")("missing")
        assert hasattr(m, f"add_{kind}")
        assert serialize.describe(m)[all_of] == []
    assert [field.name for field in fields(AddedNames)] == list(KINDS.values())
