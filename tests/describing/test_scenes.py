"""Scenes: closed joints, consistent velocities, and the numbers they promise."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np
import pytest

from catena import scenes
from catena._util import rotation as rot
from catena.describe.mechanism import Mechanism

SCENES = {
    "pendulum": lambda: scenes.pendulum(7, angle=0.3),
    "ball pendulum": lambda: scenes.pendulum(7, "ball", angle=2.0),
    "double pendulum": scenes.double_pendulum,
    "cart pole": scenes.cart_pole,
    "heavy top": scenes.heavy_top,
    "free body": scenes.free_body,
    "spinning chain": lambda: scenes.spinning_chain(20),
    "tree": lambda: scenes.tree(4, 3),
    "ball tree": lambda: scenes.tree(3, 2, "ball"),
    "quadruped": scenes.quadruped,
    "humanoid": scenes.humanoid,
    "humanoid of hinges": lambda: scenes.humanoid(hung=True, universals=False),
}


@pytest.mark.parametrize("scene", SCENES)
def test_joints_are_closed_and_stay_so(scene: str) -> None:
    m: Mechanism = SCENES[scene]()
    state = m.state()
    assert not m.spanning_tree().loops

    # a few roundings of coordinates of up to ten metres
    for view in map(state.joint, m.joints):
        assert view.gap < 1e-13
        assert view.misalignment < 1e-13

    # the velocities lie in the joints: setting the rates to what they are changes nothing
    before = state.copy()
    for view in map(state.joint, m.joints):
        view.rates = view.rates
    np.testing.assert_allclose(state.velocity, before.velocity, atol=1e-12)
    np.testing.assert_allclose(state.angular_velocity, before.angular_velocity, atol=1e-12)


def test_pendulum_hangs_as_told() -> None:
    m = scenes.pendulum(3, angle=0.4, length=2.0, width=0.2, mass=3.0)
    assert list(m.bodies) == ["link1", "link2", "link3"]
    assert list(m.joints) == ["joint1", "joint2", "joint3"]
    state = m.state()
    direction = np.array((0, sin(0.4), -cos(0.4)))
    for k in range(3):
        np.testing.assert_allclose(state.position[k], (2 * k + 1) * direction, atol=1e-14)
        np.testing.assert_allclose(state.body(f"link{k + 1}").point((0, 0, 1)), 2 * k * direction, atol=1e-14)
        np.testing.assert_allclose(state.orientation[k], rot.from_axis_angle((1, 0, 0), 0.4), atol=1e-15)
    np.testing.assert_allclose(np.diag(m.bodies["link1"].inertia.tensor), (1.01, 1.01, 0.02), rtol=1e-14)
    assert {joint.code for joint in m.joints.values()} == {"revolute"}
    assert {joint.code for joint in scenes.pendulum(2, "ball").joints.values()} == {"ball"}
    assert abs(scenes.pendulum(1, angle=pi / 2).state().position[0] - (0, 0.5, 0)).max() < 1e-15


def test_pendulum_axes_are_world_x() -> None:
    state = scenes.pendulum(3, angle=0.4).state()
    state.joint("joint2").rate = 1.0
    np.testing.assert_allclose(state.angular_velocity, ((0, 0, 0), (1, 0, 0), (1, 0, 0)), atol=1e-15)


def test_double_pendulum_of_the_paper() -> None:
    m = scenes.double_pendulum((pi / 2, 0.0))
    np.testing.assert_allclose(m.state().position, ((0, 1, 0), (0, 1, -1)), atol=1e-15)
    np.testing.assert_allclose(np.diag(m.bodies["link2"].inertia.tensor), 0.01 / 6, rtol=1e-14)
    np.testing.assert_array_equal(m.joints["joint2"].anchor_b, (0, 0, 1))


def test_heavy_top_turns_about_the_origin() -> None:
    state = scenes.heavy_top().state()
    np.testing.assert_allclose(state.velocity, [(4.61538, 0, 0)], atol=1e-15)
    np.testing.assert_allclose(state.body("top").point_velocity((0, -1, 0)), 0.0, atol=1e-15)


def test_free_body_is_the_reference() -> None:
    m = scenes.free_body()
    w = m.state().angular_velocity[0]
    inertia = m.bodies["body"].inertia.tensor

    # kinetic energy and momentum printed with the reference trajectory
    assert 0.5 * w @ inertia @ w == pytest.approx(0.6471252793138365, rel=1e-14)
    np.testing.assert_allclose(inertia @ w, (0.45359612142557737, 0, 0.8912073600614353), rtol=1e-14)
    np.testing.assert_array_equal(m.gravity, 0.0)


def test_spinning_chain_is_three_dimensional_and_moving() -> None:
    m = scenes.spinning_chain(6, seed=3)
    state = m.state()
    assert len(m.spanning_tree().floating) == 1
    assert np.linalg.svd(state.position - state.position.mean(0))[1][2] > 0.01
    assert np.linalg.norm(state.velocity.mean(0)) > 0.1
    assert min(np.linalg.norm(state.joint(name).rates) for name in m.joints) > 0.01

    # far from |w| dt = 2 at 10 ms
    assert np.linalg.norm(scenes.spinning_chain(1000).state().angular_velocity, axis=1).max() < 5.0
    assert not np.array_equal(scenes.spinning_chain(6, seed=4).state().position, state.position)
    np.testing.assert_array_equal(scenes.spinning_chain(6, seed=3).state().position, state.position)


def test_tree_branches() -> None:
    m = scenes.tree(4, 3)
    assert m.body_count == m.joint_count == 1 + 3 + 9 + 27
    carried = [branch.parent.name for branch in m.spanning_tree().branches]
    assert carried.count("world") == 1
    assert carried.count("link1") == 3
    assert carried.count("link40") == 0
    axes = [rot.rotate(j.a.orientation, rot.rotate(j.frame_a, np.array((0, 0, 1.0)))) for j in m.joints.values()]
    assert np.linalg.svd(axes)[1][2] > 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scenes.pendulum(0), "pendulum: n must be at least 1"),
        (lambda: scenes.spinning_chain(-1), "spinning_chain: n must be at least 1"),
        (lambda: scenes.tree(0), "tree: depth must be at least 1"),
        (lambda: scenes.tree(2, 0), "tree: branching must be at least 1"),
        (lambda: scenes.pendulum(2, "hinge"), "joint must be 'revolute' or 'ball'"),  # type: ignore[arg-type]
    ],
)
def test_bad_scene(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]
