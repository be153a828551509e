"""Inverse kinematics: targets are met within limits, loops closed, and what is out of reach is said."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import catena as ct
import mechanisms
from catena import Mechanism, scenes
from catena._util.rotation import from_rotation_vector, multiply
from catena.results.analysis import keeps_energy


def seven_joint_arm() -> Mechanism:
    """Joint frames and limits of the Panda, by the modified parameters of Denavit and Hartenberg in its data sheet."""
    pi = np.pi
    table = (
        (0.0, 0.333, 0.0, -2.8973, 2.8973),
        (0.0, 0.0, -pi / 2, -1.7628, 1.7628),
        (0.0, 0.316, pi / 2, -2.8973, 2.8973),
        (0.0825, 0.0, pi / 2, -3.0718, -0.0698),
        (-0.0825, 0.384, -pi / 2, -2.8973, 2.8973),
        (0.0, 0.0, pi / 2, -0.0175, 3.7525),
        (0.088, 0.0, pi / 2, -2.8973, 2.8973),
    )
    m, at, last = Mechanism(), np.eye(4), "world"
    for k, (a, d, turn, lower, upper) in enumerate(table, 1):
        c, s = np.cos(turn), np.sin(turn)
        at = at @ np.array(((1, 0, 0, a), (0, c, -s, -d * s), (0, s, c, d * c), (0, 0, 0, 1)))
        x, axes = at[:3, 3], at[:3, :3]
        m.add_body(f"link{k}", ct.box((0.1, 0.1, 0.2), mass=2.0), position=x + axes @ (0, 0.02, 0.05))
        joint = m.add_joint(ct.Revolute(last, f"link{k}", axis=axes[:, 2], at=x, name=f"joint{k}"))
        joint.limits = ct.Limits(lower, upper)
        last = f"link{k}"
    m.add_frame("hand", last, position=at[:3, 3] + 0.207 * at[:3, 2] - m.bodies[last].position)
    return m


@pytest.fixture(scope="module")
def arm() -> Mechanism:
    return seven_joint_arm()


def ranges(m: Mechanism) -> np.ndarray:
    return np.array([(joint.limits["angle"].lower, joint.limits["angle"].upper) for joint in m.joints.values()])


def test_random_poses_of_an_arm(arm: Mechanism) -> None:
    """Three of four from one random start, all with restarts, none outside the limits."""
    rng, (lower, upper) = np.random.default_rng(3), ranges(arm).T
    wanted, guess = arm.state(), arm.state()
    found = 0
    for _ in range(200):
        wanted.coordinates, guess.coordinates = (lower + (upper - lower) * rng.random(7) for _ in range(2))
        place, turn = wanted.frame("hand")
        try:
            arm.reach({"hand": (place, turn)}, guess, restarts=0)
            found += 1
        except ct.ReachError:
            pass
        state = arm.reach({"hand": (place, turn)}, guess)
        there, turned = state.frame("hand")
        assert there == pytest.approx(place, abs=1e-9)
        assert abs(turned @ turn) == pytest.approx(1, abs=1e-9)
        assert (state.coordinates >= lower - 1e-12).all()
        assert (state.coordinates <= upper + 1e-12).all()
        assert not state.velocity.any()
    assert found >= 150


def test_the_nearest_of_all_poses_that_reach(arm: Mechanism) -> None:
    """Where joints are redundant: what is left of the way from the guess is across the motions that keep the hand."""
    guess = arm.state()
    guess.coordinates = ranges(arm).mean(axis=1) + 0.1
    place, turn = guess.frame("hand")
    state = arm.reach({"hand": (place + np.array((0.02, -0.01, 0.03)), turn)}, guess)
    jacobian = ct.Dynamics(arm).jacobian(state, "hand")
    keeps = np.linalg.svd(jacobian)[2][6]
    assert abs(keeps @ (state.coordinates - guess.coordinates)) < 1e-6
    assert np.abs(state.coordinates - guess.coordinates).max() > 0.01


def test_what_is_out_of_reach_is_said(arm: Mechanism) -> None:
    far = (3.0, 0.0, 0.333)
    with pytest.raises(ct.ReachError, match=r"out of reach within the limits.*'hand' by [\d.]+ m; .*nearest=True") as e:
        arm.reach({"hand": far})
    gap, turn = e.value.left["hand"]
    reached = np.linalg.norm(e.value.state.frame("hand")[0] - far)
    assert gap == pytest.approx(reached, rel=1e-12)
    assert turn == 0
    again = pickle.loads(pickle.dumps(e.value))
    assert str(again) == str(e.value)
    assert again.left == e.value.left
    nearest = arm.reach({"hand": far}, nearest=True)
    assert np.linalg.norm(nearest.frame("hand")[0] - far) == pytest.approx(gap, abs=1e-9)
    # a straight arm, without limits and with the target out of its reach: shoulder, elbow and hand on one line
    two = scenes.pendulum(2, "revolute", angle=0.3)
    two.add_frame("tip", list(two.bodies)[-1], position=(0, 0, -0.5))
    state = two.reach({"tip": (0.0, 3.0, 0.0)}, nearest=True)
    assert state.frame("tip")[0] == pytest.approx((0, 2, 0), abs=1e-6)


def test_limits_and_what_is_kept(arm: Mechanism) -> None:
    guess = arm.state()
    guess.coordinates = ranges(arm).mean(axis=1)
    place, _ = guess.frame("hand")
    wanted = place + np.array((0.05, 0.05, 0.0))
    kept = arm.reach({"hand": wanted}, guess, keep=["joint1", "joint3"])
    assert kept.coordinates[[0, 2]] == pytest.approx(guess.coordinates[[0, 2]], abs=1e-12)
    assert kept.frame("hand")[0] == pytest.approx(wanted, abs=1e-9)
    narrow = arm.reach({"hand": wanted}, guess, limits={"joint1": (-0.02, 0.02)})
    assert abs(narrow.coordinates[0]) <= 0.02 + 1e-12
    # a guess beyond the limits is brought within them
    beyond = arm.state()
    beyond.coordinates = (0, 0, 0, 0.5, 0, 1, 0)
    assert arm.reach({"hand": wanted}, beyond).coordinates[3] <= -0.0698 + 1e-12
    free = arm.reach({"hand": beyond.frame("hand")}, beyond, limits=False)
    assert free.coordinates == pytest.approx(beyond.coordinates, abs=1e-9)


def test_full_turns_are_counted() -> None:
    m = scenes.pendulum(2, "revolute", angle=0.3)
    m.add_frame("tip", list(m.bodies)[-1], position=(0, 0, -0.5))
    guess = m.state()
    guess.coordinates = guess.coordinates + np.array((4 * np.pi, 0))
    place, _ = guess.frame("tip")
    state = m.reach({"tip": place + np.array((0, 0.05, 0.05))}, guess)
    assert abs(state.coordinates[0] - guess.coordinates[0]) < 1


def test_a_platform_on_legs_both_ways() -> None:
    """Poses of the platform to lengths of its legs, and from these lengths to the pose."""
    m = scenes.stewart_platform()
    start = m.state()
    place, turn = start.frame("platform")
    tilted = multiply(from_rotation_vector((0.1, -0.05, 0.15)), turn)
    state = m.reach({"platform": (place + np.array((0.03, -0.02, 0.05)), tilted)})
    assert max(np.linalg.norm(joint.gap) for joint in map(state.joint, m.joints)) < 1e-10
    assert state.frame("platform")[0] == pytest.approx(place + np.array((0.03, -0.02, 0.05)), abs=1e-10)
    legs = {f"leg{k}": state.joint(f"leg{k}").coordinates for k in range(1, 7)}
    back = m.assemble(start, coordinates=legs)
    assert back.frame("platform")[0] == pytest.approx(state.frame("platform")[0], abs=1e-10)
    assert back.frame("platform")[1] == pytest.approx(state.frame("platform")[1], abs=1e-10)


def test_a_point_of_a_coupler() -> None:
    """On its curve, and the nearest point of the curve to one that is not."""
    m = mechanisms.crank_rocker()
    coupler = list(m.bodies)[1]
    m.add_frame("pen", coupler, position=(0.0, 0.1, 0.2))
    there = m.assemble(coordinates={"crank": 1.2}).frame("pen")[0]
    state = m.reach({"pen": there}, m.assemble())
    assert state.frame("pen")[0] == pytest.approx(there, abs=1e-9)
    assert max(abs(np.asarray(joint.gap)).max() for joint in map(state.joint, m.joints)) < 1e-10
    aside = there + np.array((0.0, 0.05, 0.05))
    near = m.reach({"pen": aside}, m.assemble(), nearest=True)
    moves = ct.Dynamics(m, ["crank.angle"]).jacobian(near, "pen")[:3, 0]
    miss = near.frame("pen")[0] - aside
    assert abs(moves @ miss) < 1e-6 * np.linalg.norm(moves) * np.linalg.norm(miss)


def test_a_joint_that_closes_a_loop_keeps_its_limits() -> None:
    m = scenes.four_bar()
    for joint in m.joints.values():
        joint.limits = ct.Limits(-4, 4)
    m.add_frame("tip", "link2")
    there = m.assemble(coordinates={"joint1": 0.6})
    assert m.reach({"tip": there.frame("tip")}, m.assemble()).coordinates == pytest.approx(there.coordinates, abs=1e-6)
    # the last one closes the loop
    value = float(there.joint("joint4").angle)
    m.joints["joint4"].limits = ct.Limits(value - 4, value - 0.1)
    with pytest.raises(ct.ReachError, match=f"'joint4' would be at {value:.4g}, beyond its limits"):
        m.reach({"tip": there.frame("tip")}, m.assemble())


def test_a_guess_with_open_joints_is_closed_first(arm: Mechanism) -> None:
    guess = arm.state()
    guess.coordinates = ranges(arm).mean(axis=1)
    wanted = guess.frame("hand")
    arm.reach({"hand": wanted}, guess)
    guess.position[3] += (0.02, 0.0, 0.01)
    found = arm.reach({"hand": wanted}, guess)
    assert max(found.joint(name).gap for name in arm.joints) < 1e-12
    assert found.frame("hand")[0] == pytest.approx(wanted[0], abs=1e-9)


def test_the_worst_of_a_series_may_miss_by_its_orientation() -> None:
    m = scenes.pendulum(1, "revolute")
    place, turn = m.state().frame("link1")
    aside = multiply(from_rotation_vector(np.array((0, 0, 0.5))), turn)
    targets = {"link1": (np.array((1.05 * place, place)), np.array((turn, aside)))}
    with pytest.raises(ct.ReachError, match=r"at target 1 of the series.*by 28\.6 degrees"):
        m.reach(targets, dt=0.1)


def test_several_targets_and_weights() -> None:
    """Two markers that contradict each other: the one that weighs more misses less, by the square of the weights."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("slider", ct.box((0.1, 0.1, 0.1), mass=1.0))
    m.add_joint(ct.Prismatic("world", "slider", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_frame("left", "slider", position=(-0.5, 0, 0))
    m.add_frame("right", "slider", position=(0.5, 0, 0))
    wanted = {"left": (-0.5, 0, 0), "right": (0.6, 0, 0)}
    state = m.reach(wanted, nearest=True, weights={"right": 2.0})
    assert state.coordinates == pytest.approx([0.1 * 4 / 5], abs=1e-9)
    with pytest.raises(ct.ReachError, match="'left' by"):
        m.reach(wanted)


def test_what_floats_is_moved_or_kept() -> None:
    m = scenes.free_body()
    body = next(iter(m.bodies))
    turn = from_rotation_vector((0.3, 0.2, -0.5))
    state = m.reach({body: ((1.0, 2.0, 3.0), turn)})
    assert state.position[0] == pytest.approx((1, 2, 3), abs=1e-9)
    assert abs(state.orientation[0] @ turn) == pytest.approx(1, abs=1e-12)
    with pytest.raises(ct.ReachError, match="misses"):
        m.reach({body: (9.0, 9.0, 9.0)}, keep=[body])


def test_a_series_is_a_trajectory(arm: Mechanism) -> None:
    guess = arm.state()
    guess.coordinates = ranges(arm).mean(axis=1)
    place, turn = guess.frame("hand")
    phase = np.linspace(0, 2 * np.pi, 101)
    circle = place + 0.1 * np.stack((np.cos(phase) - 1, np.sin(phase), 0 * phase), axis=1)
    run = arm.reach({"hand": (circle, turn)}, guess, dt=0.02)
    assert isinstance(run, ct.Trajectory)
    assert len(run) == 101
    # no run: its energy is whatever the targets make of it
    assert not keeps_energy(run[::2])
    assert run.time[-1] == pytest.approx(2.0)
    assert run.frame("hand")[0] == pytest.approx(circle, abs=1e-9)
    # no jumps, and velocities of the circle, by central differences
    assert np.abs(np.diff(run.coordinates, axis=0)).max() < 0.05
    speed = np.linalg.norm(np.gradient(circle, 0.02, axis=0), axis=1)
    hand = run.body("link7").point_velocity(arm.frame("hand").position)
    assert np.linalg.norm(hand, axis=1)[1:-1] == pytest.approx(speed[1:-1], rel=2e-2)
    assert ct.Dynamics(arm).efforts((run.coordinates, run.rates), np.zeros(7)).shape == (101, 7)
    with pytest.raises(ct.ReachError, match="at target 100 of the series"):
        arm.reach({"hand": np.linspace(place, place + np.array((0, 0, 5.0)), 101)}, guess, dt=0.02)


def test_sentences(arm: Mechanism) -> None:
    for targets, more, words in (
        ({"hnd": (1, 0, 0)}, {}, r"no frame called 'hnd'; did you mean 'hand'"),
        ({"hand": (1, 0)}, {}, r"'hand' must be a point \(3,\)"),
        ({"hand": np.eye(4)}, {}, r"'hand' must be a point.*array of shape \(4, 4\)"),
        ({"hand": [(1, 0, 0), (1.0, 0, 0, 0)]}, {}, "'hand' must be a point"),
        ({"hand": (1, 0, np.nan)}, {}, "finite"),
        ({"hand": (None, None)}, {}, "neither a position nor an orientation"),
        ({"hand": (None, (2.0, 0, 0, 0))}, {}, "orientation of 'hand'"),
        ({}, {}, "mapping from frames or bodies"),
        ({"world": (1, 0, 0)}, {}, "belongs to the world"),
        ({"hand": (1, 0, 0), arm.frame("hand"): (0, 0, 1)}, {}, "'hand' is given twice"),
        ({"hand": (1, 0, 0)}, {"keep": "joint1"}, "keep takes a list"),
        ({"hand": (1, 0, 0)}, {"keep": ["elbow"]}, "no joint called 'elbow'"),
        ({"hand": (1, 0, 0)}, {"keep": ["link3"]}, "cannot be kept"),
        ({"hand": (1, 0, 0)}, {"limits": {"joint9": (0, 1)}}, "no joint called 'joint9'"),
        ({"hand": (1, 0, 0)}, {"limits": {"joint1": (1, 0)}}, r"\(lower, upper\)"),
        ({"hand": (1, 0, 0)}, {"limits": {"joint1": 2.0}}, r"\(lower, upper\)"),
        ({"hand": (1, 0, 0)}, {"limits": 2.0}, "True, False or a mapping"),
        ({"hand": (1, 0, 0)}, {"weights": {"foot": 1.0}}, "'foot', which is no target"),
        ({"hand": (1, 0, 0)}, {"weights": {"hand": 0.0}}, "must be positive"),
        ({"hand": (1, 0, 0)}, {"dt": 0.1}, "dt is for series"),
        ({"hand": np.zeros((4, 3))}, {}, "dt, the time between two targets, is needed"),
        ({"hand": np.zeros((4, 3)), "link3": np.zeros((5, 3))}, {"dt": 0.1}, "of one length"),
        ({"hand": (1, 0, 0)}, {"restarts": -1}, "restarts"),
        ({"hand": (1, 0, 0)}, {"guess": mechanisms.slider().state()}, "State of this mechanism"),
    ):
        with pytest.raises(ValueError, match=words):
            arm.reach(targets, **more)
