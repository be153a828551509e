"""Accelerations of live mechanisms: those of the equations of motion, whatever holds or pushes."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena import Mechanism, Simulator

G = 9.81


def pendulum(length: float = 2.0, mass: float = 3.0) -> Mechanism:
    """A point mass, but for a tensor of 0.5 kg m^2, at the angle 0.4 below the horizontal."""
    m = Mechanism()
    x, z = length * np.cos(0.4), -length * np.sin(0.4)
    m.add_body("bob", ct.Inertia(mass, np.eye(3) * 0.5), position=(x, 0, z))
    m.add_joint(ct.Revolute("world", "bob", axis=(0, 1, 0), at=(0, 0, 0), name="pin"))
    return m


def box_on(axis: tuple[float, float, float], **limits: float) -> Mechanism:
    m = Mechanism()
    m.add_body("box", ct.box((0.2, 0.2, 0.2), mass=2.0))
    joint = m.add_joint(ct.Prismatic("world", "box", axis=axis, at=(0, 0, 0), name="rail"))
    if limits:
        joint.limits = {"displacement": ct.Limits(**limits)}
    m.add_force(ct.Motor("rail", 0.0, name="push"))
    return m


def test_a_pendulum_in_closed_form() -> None:
    m = pendulum()
    state = m.state()
    state.rates = [1.5]
    live = Simulator(m, 0.1).start(state)
    x, _, z = live.position[0]
    live.hold({"bob": ct.Load(force=(7.0, 0, 0), at=(0.3, 0, 0), frame="body")})
    # about the pin: weight, and a force that turns with the body at 0.3 m along its x
    turning = 0.5 + 3.0 * 4.0
    torque = 3.0 * G * x + np.cross((x + 0.3, 0, z), (7.0, 0, 0))[1]
    linear, angular = live.accelerations()
    np.testing.assert_allclose(angular[0], (0, torque / turning, 0), rtol=1e-12, atol=1e-12)
    expected = np.cross(angular[0], (x, 0, z)) - 1.5**2 * np.array((x, 0, z))
    np.testing.assert_allclose(linear[0], expected, rtol=1e-12, atol=1e-12)


def test_a_double_pendulum_in_closed_form() -> None:
    """Two point-like masses; the angular accelerations of the textbook, from the vertical."""
    m = Mechanism()
    a, b, small = 0.7, -0.3, 1e-12
    first = np.array((np.sin(a), 0, -np.cos(a)))
    second = first + 1.2 * np.array((np.sin(b), 0, -np.cos(b)))
    for name, mass, at in (("one", 2.0, first), ("two", 1.5, second)):
        m.add_body(name, ct.Inertia(mass, np.eye(3) * small), position=at)
    m.add_joint(ct.Revolute("world", "one", axis=(0, -1, 0), at=(0, 0, 0), name="upper"))
    m.add_joint(ct.Revolute("one", "two", axis=(0, -1, 0), at=first, name="lower"))
    v, w = 0.8, -1.1
    state = m.state()
    state.rates = [v, w - v]
    live = Simulator(m, 0.01).start(state)
    d = a - b
    matrix = np.array([[3.5, 1.5 * 1.2 * np.cos(d)], [1.5 * 1.2 * np.cos(d), 1.5 * 1.2**2]])
    right = np.array(
        [
            -1.5 * 1.2 * w**2 * np.sin(d) - 3.5 * G * np.sin(a),
            1.5 * 1.2 * v**2 * np.sin(d) - 1.5 * 1.2 * G * np.sin(b),
        ]
    )
    _, angular = live.accelerations()
    np.testing.assert_allclose(-angular[:, 1], np.linalg.solve(matrix, right), rtol=0, atol=1e-9)


def test_ground_that_moves() -> None:
    """A pendulum below a point that goes up and down as sin 3t."""
    m = pendulum()
    m.joints["pin"].ground = lambda t: (0.0, 0.0, 0.2 * np.sin(3 * t))
    live = Simulator(m, 1e-3).start()
    live.step(300)
    lift = -0.2 * 9 * np.sin(3 * live.time)
    arm = live.position[0] - (0, 0, 0.2 * np.sin(3 * live.time))
    linear, angular = live.accelerations()
    spin = 3.0 * (G + lift) * arm[0] / 12.5
    np.testing.assert_allclose(angular[0, 1], spin, rtol=0, atol=1e-8)
    rate = live.angular_velocity[0, 1]
    expected = np.cross((0, spin, 0), arm) - rate**2 * arm + (0, 0, lift)
    np.testing.assert_allclose(linear[0], expected, rtol=0, atol=1e-8)


def test_a_limit_pushes_and_does_not_pull() -> None:
    live = Simulator(box_on((1, 0, 0), lower=-1.0, upper=0.0), 0.01).start()
    for push, expected in ((3.0, 0.0), (-3.0, -1.5), (5.0, 0.0)):
        live.set(push=push)
        np.testing.assert_allclose(live.accelerations()[0], [(expected, 0, 0)], rtol=0, atol=1e-13)
    live.step(5)
    np.testing.assert_allclose(live.accelerations()[0], 0, rtol=0, atol=1e-13)
    live.set_limits("rail", upper=0.5)
    np.testing.assert_allclose(live.accelerations()[0], [(2.5, 0, 0)], rtol=0, atol=1e-13)
    # locked, neither way
    live.set_limits("rail", lower=0.0, upper=0.0)
    for push in (5.0, -5.0):
        live.set(push=push)
        np.testing.assert_allclose(live.accelerations()[0], 0, rtol=0, atol=1e-13)


def test_a_contact_lets_a_ball_slide_and_lift() -> None:
    m = Mechanism()
    m.add_body("ball", ct.box((0.2, 0.2, 0.2), mass=2.0), position=(0, 0, 0.1), velocity=(1.0, 0, 0))
    m.add_contact("ball", radius=0.1)
    live = Simulator(m, 0.01).start()
    live.hold({"ball": (3.0, 0, 0)})
    np.testing.assert_allclose(live.accelerations()[0], [(1.5, 0, 0)], rtol=0, atol=1e-12)
    live.hold({"ball": (3.0, 0, 2.0 * G + 1.0)})
    np.testing.assert_allclose(live.accelerations()[0], [(1.5, 0, 0.5)], rtol=0, atol=1e-12)


def test_one_of_two_stops_lets_go() -> None:
    """A bar on two contacts, pulled up at one end beyond half of its weight: it turns about the other."""
    m = Mechanism()
    m.add_body("bar", ct.Inertia(2.0, np.eye(3) * 0.3), position=(0, 0, 0.0))
    m.add_joint(ct.Planar("world", "bar", axis=(0, 1, 0), at=(0, 0, 0), name="plane"))
    for x in (-1.0, 1.0):
        m.add_contact("bar", at=(x, 0, 0))
    live = Simulator(m, 0.01).start()
    np.testing.assert_allclose(live.accelerations()[0], 0, rtol=0, atol=1e-12)
    live.hold({"bar": ct.Load(force=(0, 0, 12.0), at=(1.0, 0, 0))})
    # about the other end: 24 - 2 g over 0.3 + 2
    turning = (24.0 - 2 * G) / 2.3
    linear, angular = live.accelerations()
    np.testing.assert_allclose(angular[0], (0, -turning, 0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(linear[0], (0, 0, turning), rtol=0, atol=1e-12)


def test_a_limited_sum_of_coordinates_shares_the_push() -> None:
    """Where x_a + x_b may not grow, 1 kg that is pushed with 4 N moves 3 kg back with 3 N."""
    m = Mechanism()
    for name, mass, y in (("a", 1.0, 0.0), ("b", 3.0, 1.0)):
        m.add_body(name, ct.box((0.1, 0.1, 0.1), mass=mass), position=(0, y, 0))
        m.add_joint(ct.Prismatic("world", name, axis=(1, 0, 0), at=(0, y, 0), name=f"rail {name}"))
    m.add_force(ct.SumLimits([("rail a", 1.0), ("rail b", 1.0)], ct.Limits(-0.5, 0.0), name="sum"))
    live = Simulator(m, 0.01).start()
    for push, expected in ((4.0, (1.0, -1.0)), (-4.0, (-4.0, 0.0))):
        live.hold({"a": (push, 0, 0)})
        np.testing.assert_allclose(live.accelerations()[0][:, 0], expected, rtol=0, atol=1e-12)


def test_contacts_that_rub_are_refused() -> None:
    m = Mechanism()
    m.add_body("block", ct.box((0.4, 0.3, 0.2), mass=2.0), position=(0, 0, 0.5))
    m.add_contact("block", at=(0, 0, 0.4), friction=0.4, name="heel")
    live = Simulator(m, 0.01).start()
    np.testing.assert_allclose(live.accelerations()[0][0], (0, 0, -G), rtol=0, atol=1e-12)
    m.bodies["block"].position = (0, 0, 0.1)
    with pytest.raises(ValueError, match="while contact 'heel' touches, as it has friction"):
        Simulator(m, 0.01).start().accelerations()


def test_limits_that_are_not_reached_change_nothing() -> None:
    free, limited = (ct.scenes.pendulum(3, "revolute", angle=0.4) for _ in range(2))
    for joint in limited.joints.values():
        joint.limits = ct.Limits(-2.0, 2.0)
    one, other = (Simulator(m, 0.01).start() for m in (free, limited))
    np.testing.assert_array_equal(one.accelerations(), other.accelerations())
