"""Joint space as arrays: of live mechanisms, states, runs and batches; what other engines call qpos and qvel."""

from __future__ import annotations

import numpy as np
import pytest

from catena import (
    Ball,
    Cylindrical,
    Distance,
    Fixed,
    Free,
    Mechanism,
    PinInSlot,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Simulator,
    Universal,
    box,
    scenes,
)


def zoo() -> Mechanism:
    """All joints that have coordinates, one after the other."""
    m = Mechanism()
    kinds = [
        lambda a, b, at: Revolute(a, b, axis=(0, 1, 0), at=at),
        lambda a, b, at: Universal(a, b, axes=((1, 0, 0), (0, 1, 0)), at=at),
        lambda a, b, at: Cylindrical(b, a, axis=(0, 0, 1), at=at),
        lambda a, b, at: Screw(a, b, axis=(1, 0, 0), at=at, pitch=0.3),
        lambda a, b, at: Planar(a, b, axis=(0, 1, 0), at=at),
        lambda a, b, at: Ball(b, a, at=at),
        lambda a, b, at: PinInSlot(a, b, axes=((1, 0, 0), (0, 1, 0)), at=at),
        lambda a, b, at: Prismatic(a, b, axis=(1, 1, 0), at=at),
    ]
    before = "world"
    for k, kind in enumerate(kinds):
        m.add_body(f"b{k}", box((0.1, 0.1, 0.4), mass=1.0), position=(0.3 * k, 0, -0.4 * k - 0.2))
        joint = kind(before, f"b{k}", (0.3 * k, 0, -0.4 * k))
        joint.name = f"j{k}"
        m.add_joint(joint)
        before = f"b{k}"
    m.add_body(
        "loose", box((0.1, 0.2, 0.3), mass=1.0), position=(5, 0, 0), velocity=(0, 1, 0), angular_velocity=(1, 2, 3)
    )
    m.add_joint(Free("world", "loose", name="free"))
    return m


def test_coordinates_are_those_of_the_joints() -> None:
    m = zoo()
    names = m.coordinates
    assert names[:3] == ("j0.angle", "j1.first", "j1.second")
    assert len(names) == sum(joint.dof for joint in m.joints.values())
    live = Simulator(m, 0.002).start()
    for _ in range(5):
        live.step(40)
        state = live.state()
        q = np.concatenate([state.joint(name).coordinates for name in m.joints])
        v = np.concatenate([state.joint(name).rates for name in m.joints])
        # both from the same poses, by different formulas
        np.testing.assert_allclose(live.coordinates, q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(live.rates, v, rtol=0, atol=1e-10)
        np.testing.assert_array_equal(live.joint("j1").coordinates, live.coordinates[1:3])
        assert live.joint("j0").angle == live.coordinates[0]
        assert live.joint("j0").rate == live.rates[0]
    assert np.abs(live.rates).max() > 1


def test_turns_are_counted() -> None:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("wheel", box((0.1, 0.2, 0.3), mass=1.0), angular_velocity=(0, 0, 7.0))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    live = Simulator(m, 0.01).start()
    live.step(1000)
    # 70 rad; the scheme turns a free wheel by the same angle in every step, too far by (w dt)^2/6 of it
    assert live.coordinates[0] == pytest.approx(70.0, rel=1e-3)
    before = live.coordinates[0]
    live.restart(live.state())
    assert live.coordinates[0] == before


def test_joint_space_of_states_runs_and_batches() -> None:
    m = zoo()
    simulate = Simulator(m, 0.002)
    run = simulate.run(steps=60, record_every=10)
    batch = simulate.run_batch(states=3, steps=60, record_every=10)
    names = [name for name in m.joints if name in m.coordinate_places()]
    # both from the same poses, by different formulas
    for what in ("coordinates", "rates"):
        expected = np.concatenate([getattr(run.joint(name), what) for name in names], axis=1)
        np.testing.assert_allclose(getattr(run, what), expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(getattr(run[3], what), expected[3], rtol=0, atol=1e-10)
        found = getattr(batch, what)
        assert found.shape == (3, *expected.shape)
        # a member equals a single run to rounding
        np.testing.assert_allclose(found[1], expected, rtol=0, atol=1e-8)


def test_setting_joint_space_moves_the_tree() -> None:
    m = zoo()
    rng = np.random.default_rng(0)
    state = m.state()
    wanted, speeds = rng.uniform(-1.2, 1.2, size=(2, len(m.coordinates)))
    state.coordinates = wanted
    state.rates = speeds
    np.testing.assert_allclose(state.coordinates, wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.rates, speeds, rtol=0, atol=1e-12)
    assert max(state.joint(name).gap for name in m.joints) < 1e-12
    with pytest.raises(ValueError, match=r"coordinates must have shape \(\d+,\)"):
        state.coordinates = (1.0, 2.0)
    closed = scenes.four_bar().state()
    with pytest.raises(ValueError, match="is part of a loop"):
        closed.coordinates = closed.coordinates


def test_setting_joint_space_is_setting_joint_by_joint() -> None:
    """Whichever side of a joint moves, over welds and rods, in parts that float, on ground that moves."""
    m = zoo()
    shape = box((0.1, 0.2, 0.3), mass=1.0)
    for k, name in enumerate(("plate", "weight", "one", "two", "three")):
        m.add_body(name, shape, position=(k, 1, 0), velocity=(0.1, 0, k), angular_velocity=(k, 0.2, 0))
    m.add_joint(Fixed("b7", "plate", name="weld"))
    m.add_joint(Distance("plate", "weight", anchors=((0, 0, 0), (0.1, 0, 0)), name="rod"))
    m.add_joint(Revolute("one", "two", axis=(1, 0, 0), at=(2.5, 1, 0), name="hinge"))
    m.add_joint(Revolute("two", "three", axis=(0, 1, 0), at=(3.5, 1, 0), name="other"))
    m.joints["j0"].ground = lambda t: ((0.0, np.sin(t), 0.0), (np.cos(t), np.sin(t), 0.0, 0.0))
    rng = np.random.default_rng(1)
    for _ in range(5):
        first = m.state()
        first.time = 0.3
        together, apart = first.copy(), first.copy()
        wanted, speeds = rng.uniform(-1.2, 1.2, size=(2, len(m.coordinates)))
        together.coordinates = wanted
        np.testing.assert_allclose(together.rates, first.rates, rtol=0, atol=1e-12)
        together.rates = speeds
        for what, numbers in (("coordinates", wanted), ("rates", speeds)):
            for name, place in m.coordinate_places().items():
                setattr(apart.joint(name), what, numbers[place])
        for name in ("position", "velocity", "angular_velocity"):
            # fourteen bodies one behind the other
            np.testing.assert_allclose(getattr(together, name), getattr(apart, name), rtol=0, atol=1e-12)
        apart_by = np.abs(np.sum(together.orientation * apart.orientation, axis=1))
        np.testing.assert_allclose(apart_by, 1, rtol=0, atol=1e-14)
        assert together.turned.keys() == apart.turned.keys()


def test_joint_space_on_moving_ground() -> None:
    m = scenes.pendulum(2, "revolute", angle=0.5)
    m.joints["joint1"].ground = lambda t: ((0.0, np.sin(t), 0.0), (np.cos(t), np.sin(t), 0.0, 0.0))
    run = Simulator(m, 0.001).run(steps=50)
    for k, name in enumerate(m.joints):
        # rates of the ground by differences of fourth order over 1e-4 s
        np.testing.assert_allclose(run.rates[:, k], run.joint(name).rate, rtol=0, atol=1e-9)
        np.testing.assert_allclose(run.coordinates[:, k], run.joint(name).angle, rtol=0, atol=1e-10)
