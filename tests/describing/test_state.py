"""State: arrays, views of bodies, and joint coordinates and rates in and out."""

from __future__ import annotations

import copy
import pickle
from math import nan, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catena._util import rotation as rot
from catena.describe.inertia import box
from catena.describe.joint import Joint
from catena.describe.joints import Ball, Fixed, Free, Prismatic, Revolute
from catena.describe.mechanism import Mechanism
from catena.kinematics.state import State

seeds = st.integers(0, 2**32 - 1)
KINDS: list[type[Joint]] = [Revolute, Prismatic, Ball, Fixed, Free]


def random_tree(rng: np.random.Generator, grounded: bool) -> Mechanism:
    """Two to seven bodies at random poses, joined to earlier ones or the world, either way round."""
    m = Mechanism()
    solid = box((0.1, 0.2, 0.3), mass=1.0)
    for k in range(rng.integers(2, 8)):
        pose = {"position": rng.normal(size=3), "orientation": rot.normalised(rng.normal(size=4))}
        body = m.add_body(f"body{k}", solid, **pose)
        others = ["world"] * grounded + [f"body{j}" for j in range(k)]
        if others:
            ends = [rng.choice(others), body.name]
            rng.shuffle(ends)
            kind = KINDS[rng.integers(len(KINDS))]
            axis = {"axis": rng.normal(size=3)} if kind in (Revolute, Prismatic) else {}
            m.add_joint(kind(*map(str, ends), at=rng.normal(size=3), name=f"joint{k}", **axis))  # type: ignore[arg-type]
    return m


def random_coordinates(rng: np.random.Generator, joint: Joint) -> np.ndarray:
    """Coordinates away from the far end of the angle's range, where two of them mean the same pose."""
    return rng.uniform(-1.7, 1.7, joint.dof)


def random_state(rng: np.random.Generator, m: Mechanism) -> State:
    """Joint coordinates and rates at random, and the whole in motion where it floats."""
    state = m.state()
    drift, spin = rng.normal(size=(2, 3))
    if all(not (j.a.is_world or j.b.is_world) for j in m.joints.values()):
        state.velocity = drift + np.cross(spin, state.position)
        state.angular_velocity = np.broadcast_to(spin, state.velocity.shape)
    for name, joint in m.joints.items():
        state.joint(name).coordinates = random_coordinates(rng, joint)
        state.joint(name).rates = rng.normal(size=joint.dof)
    return state


def all_joints(state: State) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {n: (state.joint(n).coordinates, state.joint(n).rates) for n in state.mechanism.joints}


# seven bodies a few metres apart: some hundred roundings of numbers of size ten
TIGHT = 1e-12


@settings(max_examples=60)
@given(seeds, st.booleans())
def test_joint_coordinates_and_rates_round_trip(seed: int, grounded: bool) -> None:
    rng = np.random.default_rng(seed)
    m = random_tree(rng, grounded)
    state = random_state(rng, m)
    for name, joint in m.joints.items():
        before = all_joints(state)
        wanted, rates = random_coordinates(rng, joint), rng.normal(size=joint.dof)
        view = state.joint(name)
        view.coordinates = wanted
        np.testing.assert_allclose(view.coordinates, wanted, atol=TIGHT)
        np.testing.assert_allclose(view.rates, before[name][1], atol=TIGHT)
        view.rates = rates
        np.testing.assert_allclose(view.rates, rates, atol=TIGHT)
        np.testing.assert_allclose(view.coordinates, wanted, atol=TIGHT)
        assert view.gap < TIGHT
        assert view.misalignment < TIGHT

        after = all_joints(state)
        for other in set(m.joints) - {name}:
            np.testing.assert_allclose(after[other][0], before[other][0], atol=TIGHT)
            np.testing.assert_allclose(after[other][1], before[other][1], atol=TIGHT)


@settings(max_examples=60)
@given(seeds, st.booleans())
def test_velocities_are_the_derivative_of_the_poses(seed: int, grounded: bool) -> None:
    """Moving every joint by h times its rate moves the bodies by h times their velocities."""
    rng = np.random.default_rng(seed)
    m = random_tree(rng, grounded)
    state = m.state()
    rates = {name: rng.normal(size=joint.dof) for name, joint in m.joints.items()}
    for name in m.joints:
        state.joint(name).rates = rates[name]

    # rates are derivatives of coordinates where these are zero; central differences leave an error of h^2
    h = 1e-4
    ends = []
    for sign in (1, -1):
        end = state.copy()
        for name in m.joints:
            view = end.joint(name)
            view.coordinates = view.coordinates + sign * h * rates[name]
        ends.append(end)
    v = (ends[0].position - ends[1].position) / (2 * h)
    turn = rot.multiply(ends[0].orientation, rot.conjugate(ends[1].orientation))
    np.testing.assert_allclose(state.velocity, v, atol=1e-5)
    np.testing.assert_allclose(state.angular_velocity, rot.rotation_vector(turn) / (2 * h), atol=1e-5)


@settings(max_examples=40)
@given(seeds)
def test_velocities_satisfy_the_constraints(seed: int) -> None:
    """After setting rates, a small step along the velocities opens no joint in first order."""
    rng = np.random.default_rng(seed)
    m = random_tree(rng, True)
    state = random_state(rng, m)
    size = 1 + max(np.abs(state.velocity).max(), np.abs(state.angular_velocity).max()) ** 2

    # the gap grows with the accelerations, h^2 size^2 times an arm of a few metres
    h = 1e-6
    state.position = state.position + h * state.velocity
    state.orientation = rot.multiply(rot.from_rotation_vector(h * state.angular_velocity), state.orientation)
    for name in m.joints:
        assert state.joint(name).gap < 20 * size * h * h
        assert state.joint(name).misalignment < 20 * size * h * h


def hinge() -> Mechanism:
    m = Mechanism()
    m.add_body("arm", box((0.1, 0.1, 1.0), mass=1.0), position=(0, 0, -0.5))
    m.add_body("hand", box((0.1, 0.1, 0.1), mass=1.0), position=(0, 0, -1.0))
    m.add_joint(Revolute(m.world, "arm", axis=(1, 0, 0), at=(0, 0, 0), name="shoulder"))
    m.add_joint(Fixed("arm", "hand", name="wrist"))
    return m


def test_angle_places_the_subtree() -> None:
    state = hinge().state()
    shoulder = state.joint("shoulder")
    shoulder.angle = pi / 2
    shoulder.rate = 2.0
    np.testing.assert_allclose(state.position, ((0, 0.5, 0), (0, 1, 0)), atol=1e-15)
    np.testing.assert_allclose(state.velocity, ((0, 0, 1), (0, 0, 2)), atol=1e-15)
    np.testing.assert_allclose(state.angular_velocity, ((2, 0, 0), (2, 0, 0)), atol=1e-15)
    assert shoulder.angle == pytest.approx(pi / 2, abs=1e-15)
    assert shoulder.rate == pytest.approx(2.0, abs=1e-15)

    # turns are counted
    shoulder.angle = 4.0
    assert shoulder.angle == pytest.approx(4.0, abs=1e-14)
    assert state.copy().joint("shoulder").angle == pytest.approx(4.0, abs=1e-14)


def test_world_side_stays() -> None:
    """With the world on b's side it is a's side that moves, in the sense of the coordinate."""
    m = Mechanism()
    m.add_body("cart", box((1, 1, 1), mass=1.0))
    m.add_joint(Prismatic("cart", m.world, axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    state = m.state()
    state.joint("rail").displacement = 0.5
    state.joint("rail").rate = 2.0
    np.testing.assert_allclose(state.position, [(-0.5, 0, 0)], atol=1e-15)
    np.testing.assert_allclose(state.velocity, [(-2, 0, 0)], atol=1e-15)


def test_joint_names_what_it_has() -> None:
    state = hinge().state()
    with pytest.raises(AttributeError, match="revolute joint 'shoulder' has no displacement"):
        _ = state.joint("shoulder").displacement
    with pytest.raises(AttributeError, match="fixed joint 'wrist' has no angle"):
        state.joint("wrist").angle = 0.1
    with pytest.raises(AttributeError, match="fixed joint 'wrist' has no rate"):
        _ = state.joint("wrist").rate
    with pytest.raises(ValueError, match="no joint called 'knee'"):
        state.joint("knee")
    with pytest.raises(ValueError, match="no body called 'leg'"):
        state.body("leg")
    with pytest.raises(ValueError, match="revolute joint 'shoulder': coordinates must be finite"):
        state.joint("shoulder").angle = nan
    with pytest.raises(ValueError, match="revolute joint 'shoulder': rates must have shape"):
        state.joint("shoulder").rates = (1, 2)


def test_gap_and_misalignment_are_measured_apart() -> None:
    state = hinge().state()
    arm, shoulder = state.body("arm"), state.joint("shoulder")
    arm.position = arm.position + np.array((0.3, 0.4, 0))
    assert shoulder.gap == pytest.approx(0.5, abs=1e-15)
    assert shoulder.misalignment == pytest.approx(0.0, abs=1e-15)
    arm.orientation = rot.from_axis_angle((0, 1, 0), 0.2)
    arm.position = rot.rotate(arm.orientation, np.array((0, 0, -0.5)))
    assert shoulder.gap == pytest.approx(0.0, abs=1e-15)
    # its row is the cosine between an axis of one side and one across it on the other
    assert shoulder.misalignment == pytest.approx(np.sin(0.2), abs=1e-15)
    arm.orientation = rot.from_axis_angle((1, 0, 0), 0.2)
    arm.position = rot.rotate(arm.orientation, np.array((0, 0, -0.5)))
    assert shoulder.misalignment == pytest.approx(0.0, abs=1e-15)


def test_loop_joints_can_only_be_read() -> None:
    m = hinge()
    m.add_joint(Ball("hand", m.world, at=(0, 0, -1), name="grip"))
    state = m.state()
    assert state.joint("grip").gap == 0.0
    for name in ("shoulder", "grip", "wrist"):
        dof = m.joints[name].dof
        with pytest.raises(ValueError, match=f"joint '{name}' is part of a loop"):
            state.joint(name).coordinates = np.zeros(dof)
        with pytest.raises(ValueError, match=f"joint '{name}' is part of a loop"):
            state.joint(name).rates = np.zeros(dof)


def test_body_view_reads_and_writes() -> None:
    state = hinge().state()
    hand = state.body("hand")
    hand.position = (1, 2, 3)
    hand.orientation = rot.from_axis_angle((0, 0, 1), pi / 2)
    hand.velocity = (0, 0, 1)
    hand.angular_velocity = (0, 3, 0)
    np.testing.assert_array_equal(state.position[1], (1, 2, 3))
    np.testing.assert_allclose(hand.point((1, 0, 0)), (1, 3, 3), atol=1e-15)
    np.testing.assert_allclose(hand.point([(1, 0, 0), (0, 0, 0)]), [(1, 3, 3), (1, 2, 3)], atol=1e-15)
    np.testing.assert_allclose(hand.point_velocity((0, 0, 2)), (6, 0, 1), atol=1e-15)
    np.testing.assert_allclose(hand.angular_velocity_body, (3, 0, 0), atol=1e-15)
    hand.angular_velocity_body = (0, 0, 5)
    np.testing.assert_allclose(state.angular_velocity[1], (0, 0, 5), atol=1e-15)
    with pytest.raises(ValueError, match="body 'hand': velocity must be finite"):
        hand.velocity = (0, nan, 0)
    with pytest.raises(ValueError, match="body 'hand': orientation must be a unit quaternion"):
        hand.orientation = (1, 1, 0, 0)


def test_angular_velocity_in_both_frames() -> None:
    rng = np.random.default_rng(1)
    m = random_tree(rng, True)
    state = random_state(rng, m)
    world, body = state.angular_velocity.copy(), state.angular_velocity_body
    np.testing.assert_allclose(np.einsum("kij,kj->ki", rot.to_matrix(state.orientation), body), world, atol=1e-13)
    state.angular_velocity = np.zeros_like(world)
    state.angular_velocity_body = body
    np.testing.assert_allclose(state.angular_velocity, world, atol=1e-13)


@pytest.mark.parametrize("duplicate", [State.copy, copy.copy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_are_exact_and_independent(duplicate: object) -> None:
    rng = np.random.default_rng(2)
    state = random_state(rng, random_tree(rng, True))
    state.time = 0.25
    state.multipliers = np.arange(5.0)
    twin: State = duplicate(state)  # type: ignore[operator]
    for name in ("position", "orientation", "velocity", "angular_velocity", "multipliers"):
        np.testing.assert_array_equal(getattr(twin, name), getattr(state, name))
        getattr(twin, name)[0] = 7.0
        assert np.all(getattr(state, name)[0] != 7.0)
    assert twin.time == 0.25
    assert list(twin.mechanism.bodies) == list(state.mechanism.bodies)
    assert repr(hinge().state()) == "State(time=0, 2 bodies)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": np.zeros((1, 3))}, "state: position must have shape"),
        ({"velocity": np.full((2, 3), nan)}, "state: velocity must be finite"),
        ({"angular_velocity": np.zeros(3)}, "state: angular_velocity must have shape"),
        ({"orientation": np.zeros((2, 4))}, "state: orientation must be a unit quaternion"),
        ({"time": nan}, "state: time must be finite"),
        ({"multipliers": [nan]}, "state: multipliers must be finite"),
        ({"multipliers": np.zeros((2, 2))}, "state: multipliers must have shape"),
    ],
)
def test_bad_state(change: dict[str, object], message: str) -> None:
    m = hinge()
    arguments: dict[str, object] = {
        "position": np.zeros((2, 3)),
        "orientation": [(1, 0, 0, 0)] * 2,
        "velocity": np.zeros((2, 3)),
        "angular_velocity": np.zeros((2, 3)),
    }
    assert State(m, **arguments).multipliers is None  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        State(m, **(arguments | change))  # type: ignore[arg-type]


def test_nearly_unit_orientations_are_normalised() -> None:
    state = hinge().state()
    state.orientation = [(1 + 1e-7, 0, 0, 0), (0.6, 0.8, 0, 0)]
    np.testing.assert_array_equal(state.orientation, [(1, 0, 0, 0), (0.6, 0.8, 0, 0)])
    with pytest.raises(ValueError, match="state: position must have shape"):
        state.position = np.zeros((3, 3))
