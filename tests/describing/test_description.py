"""Describing a mechanism: rotations, inertia, joints, names, and one clear error for every bad input."""

from __future__ import annotations

import copy
import pickle
from math import nan, pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catena._util import rotation as rot
from catena.describe.body_forces import PointSpring
from catena.describe.couplings import PrescribedMotion
from catena.describe.inertia import Inertia, Solid, box, capsule, cylinder, rod, sphere
from catena.describe.joint import Joint
from catena.describe.joint_forces import Damper
from catena.describe.joints import Ball, Fixed, Free, Prismatic, Revolute
from catena.describe.mechanism import Mechanism

X, Y, Z = np.eye(3)
ORIGIN = (0.0, 0.0, 0.0)
seeds = st.integers(0, 2**32 - 1)


def two_bodies() -> Mechanism:
    m = Mechanism()
    m.add_body("one", box((0.1, 0.2, 0.3), mass=1.0), position=(0, 0, 1))
    m.add_body("two", sphere(0.1, mass=2.0), position=(0, 0, 2))
    return m


def four_bar() -> Mechanism:
    a, b, c, d = (0, 0, 0), (0.3, 0, 0), (1.2, 0, 0.4), (0.9, 0, 0)
    m = Mechanism()
    crank = m.add_body("crank", rod(a, b, mass=0.3))
    coupler = m.add_body("rod", rod(b, c, mass=1.0))
    rocker = m.add_body("rocker", rod(c, d, mass=0.5))
    m.add_joint(Revolute(m.world, crank, axis=Y, at=a))
    m.add_joint(Revolute(crank, coupler, axis=Y, at=b))
    m.add_joint(Revolute(coupler, rocker, axis=Y, at=c))
    m.add_joint(Revolute(rocker, m.world, axis=Y, at=d))
    return m


# ---- rotations; tolerances are a few hundred roundings of numbers of size 1


@given(seeds)
def test_quaternions_agree_with_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rot.normalised(rng.normal(size=(2, 5, 4)))
    v = rng.normal(size=(5, 3))
    np.testing.assert_allclose(rot.to_matrix(rot.multiply(p, q)), rot.to_matrix(p) @ rot.to_matrix(q), atol=1e-13)
    np.testing.assert_allclose(rot.rotate(q, v), np.einsum("kij,kj->ki", rot.to_matrix(q), v), atol=1e-13)
    np.testing.assert_allclose(rot.rotate(rot.conjugate(q), rot.rotate(q, v)), v, atol=1e-13)
    same = rot.from_matrix(rot.to_matrix(q))
    np.testing.assert_allclose(same, q * np.sign(q[:, :1]), atol=1e-13)
    np.testing.assert_allclose(rot.from_rotation_vector(rot.rotation_vector(same)), same, atol=1e-13)


def test_half_turns_survive_the_matrix() -> None:
    for axis in (X, Y, Z, rot.normalised(np.array((1.0, -2.0, 0.5)))):
        matrix = 2 * np.outer(axis, axis) - np.eye(3)
        np.testing.assert_allclose(rot.to_matrix(rot.from_matrix(matrix)), matrix, atol=1e-14)
        assert np.linalg.norm(rot.rotation_vector(rot.from_matrix(matrix))) == pytest.approx(pi, abs=1e-14)


def test_rotation_vector_of_tiny_turns() -> None:
    for size in (0.0, 1e-300, 1e-170, 1e-20, 1e-8):
        v = size * np.array((0.6, 0.0, -0.8))
        np.testing.assert_allclose(rot.rotation_vector(rot.from_rotation_vector(v)), v, rtol=1e-15)


def test_axis_angle_turns_right_handed() -> None:
    np.testing.assert_allclose(rot.rotate(rot.from_axis_angle((0, 0, 3), pi / 2), X), Y, atol=1e-15)


@given(seeds, st.floats(-16, 0))
def test_z_to_reaches_every_axis(seed: int, exponent: float) -> None:
    rng = np.random.default_rng(seed)
    near = 10.0**exponent * rng.normal(size=3)
    for axis in (rot.normalised(near), rot.normalised(near - Z), rot.normalised(near + Z), -Z, Z, X):
        np.testing.assert_allclose(rot.rotate(rot.z_to(axis), Z), axis, atol=1e-15)


def test_z_angle_is_in_the_half_open_interval() -> None:
    assert rot.z_angle(np.array((0.0, 0.0, 0.0, -1.0))) == pi
    assert rot.z_angle(-rot.from_axis_angle(Z, -3.0)) == pytest.approx(-3.0, abs=1e-15)


# ---- inertia


def sampled_moments(shape: Solid, inside: object, extent: tuple[float, float, float], cells: int) -> np.ndarray:
    """Principal moments per unit mass by the midpoint rule on a grid around the shape."""
    axes = [(np.arange(cells) + 0.5) / cells * 2 * e - e for e in extent]
    x, y, z = np.meshgrid(*axes, indexing="ij", sparse=True)
    weight = inside(x, y, z) * np.ones((cells,) * 3)  # type: ignore[operator]
    squares = [np.sum(weight * c * c) / weight.sum() for c in (x, y, z)]
    return np.array((squares[1] + squares[2], squares[2] + squares[0], squares[0] + squares[1]))


def test_inertia_matches_integration() -> None:
    r, h = 0.3, 0.8
    solids = [
        (box((0.2, 0.6, 1.0), mass=2.0), lambda x, y, z: 1.0, (0.1, 0.3, 0.5)),
        (cylinder(r, h, mass=2.0), lambda x, y, z: x * x + y * y < r * r, (r, r, h / 2)),
        (sphere(r, mass=2.0), lambda x, y, z: x * x + y * y + z * z < r * r, (r, r, r)),
        (
            capsule(r, h, mass=2.0),
            lambda x, y, z: x * x + y * y + np.maximum(abs(z) - h / 2, 0) ** 2 < r * r,
            (r, r, h / 2 + r),
        ),
    ]
    for shape, inside, extent in solids:
        # the surface cuts cells at random: measured error of 100 cells an edge is below 3e-4
        moments = shape.mass * sampled_moments(shape, inside, extent, 100)
        np.testing.assert_allclose(np.diag(shape.inertia.tensor), moments, rtol=1e-3)


def test_inertia_matches_textbook() -> None:
    # the cylinder of the paper's experiments, m (3 r^2 + h^2) / 12
    np.testing.assert_allclose(
        np.diag(cylinder(0.05, 1.0, mass=1.0).inertia.tensor),
        (0.08395833333333333, 0.08395833333333333, 0.00125),
        rtol=1e-15,
    )
    np.testing.assert_allclose(
        np.diag(box((0.1, 0.1, 1.0), mass=1.0).inertia.tensor), (1.01 / 12, 1.01 / 12, 0.02 / 12), rtol=1e-15
    )
    np.testing.assert_allclose(np.diag(sphere(0.5, mass=10.0).inertia.tensor), (1.0, 1.0, 1.0), rtol=1e-15)


def test_density_gives_mass() -> None:
    assert box((1, 2, 3), density=10.0).mass == pytest.approx(60.0, rel=1e-15)
    assert cylinder(1.0, 2.0, density=1.0).mass == pytest.approx(2 * pi, rel=1e-15)
    assert sphere(1.0, density=3.0).mass == pytest.approx(4 * pi, rel=1e-15)
    assert capsule(1.0, 2.0, density=3.0).mass == pytest.approx(10 * pi, rel=1e-15)
    assert rod(ORIGIN, (0, 0, 2), density=1.0, radius=1.0).mass == pytest.approx(2 * pi, rel=1e-15)


def test_rod_knows_its_pose() -> None:
    start, end = np.array((1.0, 2.0, 3.0)), np.array((1.0, -1.0, -1.0))
    shape = rod(start, end, mass=1.0)
    assert shape.kind == "cylinder"
    assert shape.size == (5.0 / 40, 5.0)
    body = Mechanism().add_body("rod", shape)
    np.testing.assert_allclose(body.position + rot.rotate(body.orientation, 2.5 * Z), end, atol=1e-14)
    np.testing.assert_allclose(body.position - rot.rotate(body.orientation, 2.5 * Z), start, atol=1e-14)

    elsewhere = Mechanism().add_body("rod", shape, position=(7, 7, 7))
    np.testing.assert_array_equal(elsewhere.position, (7, 7, 7))
    np.testing.assert_array_equal(elsewhere.orientation, body.orientation)


def test_inertia_takes_moments_or_tensor() -> None:
    np.testing.assert_array_equal(Inertia(1.0, (1, 2, 3)).tensor, np.diag((1.0, 2.0, 3.0)))
    turn = rot.to_matrix(rot.from_rotation_vector((0.1, 0.2, 0.3)))
    tensor = turn @ np.diag((1.0, 2.0, 3.0)) @ turn.T
    np.testing.assert_allclose(Inertia(1.0, tensor).tensor, tensor, atol=1e-15)
    flat = Inertia(1.0, (1.0, 1.0, 2.0))
    for same in (flat, copy.deepcopy(flat), pickle.loads(pickle.dumps(flat))):
        with pytest.raises(ValueError, match="read-only"):
            same.tensor[0, 0] = 5.0


@pytest.mark.parametrize(
    ("mass", "tensor", "message"),
    [
        (nan, (1, 1, 1), "mass must be finite"),
        (0.0, (1, 1, 1), "a massless body must have zero inertia"),
        (-1.0, (1, 1, 1), "mass must be positive"),
        ((1, 2), (1, 1, 1), r"mass must have shape \(\)"),
        ("heavy", (1, 1, 1), "mass must be numbers"),
        (1.0, (1, nan, 1), "inertia must be finite"),
        (1.0, (1, 1), r"inertia must have shape \(3, 3\)"),
        (1.0, [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], "inertia must be symmetric"),
        (1.0, (1, 1, 0), "inertia must be positive definite"),
        (1.0, [[1, 2, 0], [2, 1, 0], [0, 0, 1]], "inertia must be positive definite"),
        (1.0, (1, 1, 2.0001), "triangle inequality"),
    ],
)
def test_bad_inertia(mass: float, tensor: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Inertia(mass, tensor)  # type: ignore[arg-type]


def test_textbook_inertia_on_request() -> None:
    odd = Inertia(1.0, (2, 1, 2 / 3), physical=False)
    assert not pickle.loads(pickle.dumps(odd)).physical
    with pytest.raises(ValueError, match="positive definite"):
        Inertia(1.0, (2, 1, 0), physical=False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: box((1, 1, 0), mass=1.0), "box: size must be positive"),
        (lambda: box((1, 1), mass=1.0), "box: size must have shape"),
        (lambda: box((1, 1, 1)), "box: give exactly one of mass and density"),
        (lambda: box((1, 1, 1), mass=1.0, density=1.0), "box: give exactly one of mass and density"),
        (lambda: box((1, 1, 1), mass=-1.0), "box: mass must be positive"),
        (lambda: box((1, 1, 1), density=nan), "box: density must be finite"),
        (lambda: cylinder(-1, 1, mass=1.0), "cylinder: radius must be positive"),
        (lambda: cylinder(1, nan, mass=1.0), "cylinder: length must be finite"),
        (lambda: sphere(0, mass=1.0), "sphere: radius must be positive"),
        (lambda: capsule(1, 0, mass=1.0), "capsule: length must be positive"),
        (lambda: rod(ORIGIN, ORIGIN, mass=1.0), "rod: start and end must be different"),
        (lambda: rod(ORIGIN, (0, nan, 0), mass=1.0), "rod: end must be finite"),
        (lambda: rod(ORIGIN, (0, 0, 1), mass=1.0, radius=0), "rod: radius must be positive"),
        (lambda: rod(ORIGIN, (0, 0, 1)), "rod: give exactly one of mass and density"),
    ],
)
def test_bad_shape(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


# ---- bodies


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "one"}, "already a body called 'one'"),
        ({"name": ""}, "non-empty string"),
        ({"name": 3}, "non-empty string"),
        ({"name": "world"}, "reserved"),
        ({"shape": 1.0}, "body 'new' needs a shape"),
        ({"position": (0, nan, 0)}, "body 'new': position must be finite"),
        ({"position": (0, 0)}, "body 'new': position must have shape"),
        ({"position": "here"}, "body 'new': position must be numbers"),
        ({"velocity": (0, 0, float("inf"))}, "body 'new': velocity must be finite"),
        ({"angular_velocity": 1.0}, "body 'new': angular_velocity must have shape"),
        ({"orientation": (1, 0, 0)}, "body 'new': orientation must have shape"),
        ({"orientation": (0, 0, 0, 0)}, "body 'new': orientation must be a unit quaternion"),
        ({"orientation": (1, 0, 0, 0.01)}, "body 'new': orientation must be a unit quaternion"),
    ],
)
def test_bad_body(change: dict[str, object], message: str) -> None:
    m = two_bodies()
    arguments = {"name": "new", "shape": sphere(1.0, mass=1.0)} | change
    with pytest.raises(ValueError, match=message):
        m.add_body(**arguments)  # type: ignore[arg-type]
    assert list(m.bodies) == ["one", "two"]


def test_nearly_unit_quaternion_is_normalised() -> None:
    body = Mechanism().add_body("a", sphere(1.0, mass=1.0), orientation=(1 + 5e-7, 0, 0, 0))
    np.testing.assert_array_equal(body.orientation, (1, 0, 0, 0))
    with pytest.raises(ValueError, match="body 'a': position must be finite"):
        body.position = (nan, 0, 0)


def test_bodies_from_inertia_and_from_shape() -> None:
    m = two_bodies()
    inertia = Inertia(3.0, (1, 1, 1))
    body = m.add_body("three", inertia)
    assert body.shape is None
    assert body.inertia is inertia
    shape = m.bodies["one"].shape
    assert shape is not None
    assert m.bodies["one"].inertia is shape.inertia
    assert repr(body) == "Body('three', mass=3)"
    assert repr(m.bodies["one"]) == "Body('one', box, mass=1)"
    assert m.body_count == 3
    with pytest.raises(TypeError):
        m.bodies["four"] = body  # type: ignore[index]


def test_gravity_is_checked() -> None:
    np.testing.assert_array_equal(Mechanism().gravity, (0, 0, -9.81))
    m = Mechanism(gravity=(0, 0, 0))
    m.gravity = (1, 2, 3)
    np.testing.assert_array_equal(m.gravity, (1, 2, 3))
    with pytest.raises(ValueError, match="gravity must have shape"):
        m.gravity = -9.81
    with pytest.raises(ValueError, match="gravity must be finite"):
        Mechanism(gravity=(0, 0, nan))


# ---- joints


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Revolute("one", "two", axis=ORIGIN, at=ORIGIN), "'one-two': axis must not be zero"),
        (lambda: Revolute("one", "two", axis=(X, ORIGIN), at=ORIGIN), "'one-two': axis must not be zero"),
        (lambda: Prismatic("one", "two", axis=(0, nan, 1), at=ORIGIN), "'one-two': axis must be finite"),
        (lambda: Revolute("one", "two", axis=(0, 1), at=ORIGIN), "'one-two': axis must have shape"),
        (lambda: Revolute("one", "two", axis=(X, X, X), at=ORIGIN), "'one-two': axis must have shape"),
        (lambda: Ball("one", "two"), r"'one-two': give at= .* or anchors="),
        (lambda: Ball("one", "two", at=ORIGIN, anchors=(X, X)), "'one-two': give at= or anchors=, not both"),
        (lambda: Ball("one", "two", at=(0, 0)), "'one-two': at must have shape"),
        (lambda: Ball("one", "two", at=(0, 0, nan)), "'one-two': at must be finite"),
        (lambda: Ball("one", "two", anchors=X), "'one-two': anchors must have shape"),
        (lambda: Ball("one", "two", anchors=((0, 0, nan), X)), "'one-two': anchors must be finite"),
        (lambda: Ball("one", "one", at=ORIGIN), "joins 'one' to itself"),
        (lambda: Ball("world", "world", at=ORIGIN), "joins 'world' to itself"),
        (lambda: Ball("one", "two", at=ORIGIN, name=" "), "non-empty string"),
        (lambda: Ball("one", "nobody", at=ORIGIN), "'one-nobody': there is no body called 'nobody'"),
        (lambda: Ball("one", 3, at=ORIGIN), "'one-3' needs bodies or their names"),  # type: ignore[arg-type]
        (lambda: Ball("one", two_bodies().bodies["two"], at=ORIGIN), "'two' belongs to another mechanism"),
        (lambda: Ball(two_bodies().world, "two", at=ORIGIN), "'world' belongs to another mechanism"),
        (lambda: Ball("one", "two", at=ORIGIN, name="taken"), "already a joint called 'taken'"),
        (lambda: "hinge", "takes a joint such as"),
    ],
)
def test_bad_joint(make: object, message: str) -> None:
    m = two_bodies()
    m.add_joint(Ball("world", "two", at=ORIGIN, name="taken"))
    with pytest.raises(ValueError, match=message):
        m.add_joint(make())  # type: ignore[operator]
    assert list(m.joints) == ["taken"]


def test_joint_to_itself_by_object_and_name() -> None:
    m = two_bodies()
    one = m.bodies["one"]
    with pytest.raises(ValueError, match="joins 'one' to itself"):
        Fixed(one, one)
    with pytest.raises(ValueError, match="joins 'world' to itself"):
        Fixed(m.world, m.world)
    with pytest.raises(ValueError, match="joins 'one' to itself"):
        m.add_joint(Fixed(one, "one"))


def test_joint_is_added_once() -> None:
    m = two_bodies()
    joint = m.add_joint(Fixed("one", "two"))
    assert joint.a is m.bodies["one"]
    with pytest.raises(ValueError, match="already been added"):
        m.add_joint(joint)
    with pytest.raises(ValueError, match="add the joint to a mechanism first"):
        _ = Fixed("one", "two").a


def test_automatic_names_are_unique() -> None:
    m = two_bodies()
    for _ in range(3):
        m.add_joint(Free("one", "two"))
    m.add_joint(Free("two", "world"))
    assert list(m.joints) == ["one-two", "one-two-2", "one-two-3", "two-world"]
    assert m.joint_count == 4


def turned_pair() -> Mechanism:
    m = Mechanism()
    solid = box((0.1, 0.2, 0.3), mass=1.0)
    qa, qb = rot.normalised(np.array(((1.0, 2.0, -0.5, 0.3), (0.2, -1.0, 0.4, 2.0))))
    m.add_body("a", solid, position=(1, 2, 3), orientation=qa)
    m.add_body("b", solid, position=(-1, 0.5, 2), orientation=qb)
    return m


@pytest.mark.parametrize("kind", [Revolute, Prismatic])
def test_axis_and_point_in_the_world(kind: type[Revolute] | type[Prismatic]) -> None:
    m = turned_pair()
    a, b = m.bodies["a"], m.bodies["b"]
    axis, at = np.array((1.0, -2.0, 2.0)), np.array((0.3, 0.2, 0.1))
    joint = m.add_joint(kind(a, b, axis=axis, at=at))
    for body, anchor, frame in ((a, joint.anchor_a, joint.frame_a), (b, joint.anchor_b, joint.frame_b)):
        np.testing.assert_allclose(body.position + rot.rotate(body.orientation, anchor), at, atol=1e-14)
        np.testing.assert_allclose(rot.rotate(body.orientation, rot.rotate(frame, Z)), axis / 3, atol=1e-14)
    assert m.state().joint("a-b").coordinates == pytest.approx([0.0], abs=1e-14)


def test_single_axis_with_anchors_is_in_the_frame_of_a() -> None:
    m = turned_pair()
    joint = m.add_joint(Revolute("a", "b", axis=(0, 5, 0), anchors=(X, -X)))
    np.testing.assert_array_equal(joint.anchor_a, X)
    np.testing.assert_array_equal(joint.anchor_b, -X)
    np.testing.assert_allclose(rot.rotate(joint.frame_a, Z), Y, atol=1e-15)
    assert m.state().joint("a-b").angle == pytest.approx(0.0, abs=1e-14)


def test_axis_pair_is_in_both_frames() -> None:
    m = turned_pair()
    joint = m.add_joint(Revolute("a", "b", axis=((0, 5, 0), (1, 1, 0)), anchors=(X, -X)))
    np.testing.assert_allclose(rot.rotate(joint.frame_a, Z), Y, atol=1e-15)
    np.testing.assert_allclose(rot.rotate(joint.frame_b, Z), (X + Y) / np.sqrt(2), atol=1e-15)

    # b turns by no more than the angle between the two axes
    before, state = m.bodies["b"].orientation, m.state()
    turned = np.linalg.norm(rot.rotation_vector(rot.multiply(state.orientation[1], rot.conjugate(before))))
    axis_a = rot.rotate(m.bodies["a"].orientation, Y)
    axis_b = rot.rotate(before, (X + Y) / np.sqrt(2))
    assert turned == pytest.approx(np.arccos(axis_a @ axis_b), abs=1e-12)
    assert state.joint("a-b").angle == pytest.approx(0.0, abs=1e-14)


def test_default_places() -> None:
    m = turned_pair()
    weld = m.add_joint(Fixed("a", "b"))
    np.testing.assert_allclose(weld.anchor_b, 0.0, atol=1e-15)
    ground = m.add_joint(Fixed("a", m.world))
    np.testing.assert_allclose(ground.anchor_a, 0.0, atol=1e-15)
    np.testing.assert_allclose(ground.anchor_b, (1, 2, 3), atol=1e-15)
    free = m.add_joint(Free(m.world, "b"))
    coordinates = m.state().joint(free.name).coordinates
    np.testing.assert_allclose(coordinates[:3], m.bodies["b"].position, atol=1e-15)
    np.testing.assert_allclose(coordinates[3:], rot.rotation_vector(m.bodies["b"].orientation), atol=1e-15)


@pytest.mark.parametrize("kind", [Revolute, Prismatic, Ball, Fixed, Free])
def test_joint_form(kind: type[Joint]) -> None:
    """Every joint: coordinates and poses are inverse to each other, motion is the derivative of the pose."""
    place = {"axis": Z} if kind in (Revolute, Prismatic) else {}
    joint = kind("one", "two", at=ORIGIN, **place)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    c, rates = rng.uniform(-1, 1, (2, joint.dof))
    t, q = joint.relative(c)
    np.testing.assert_allclose(joint.coordinates_of(t, q), c, atol=1e-14)
    assert joint.motion.shape == (6, joint.dof)
    np.testing.assert_allclose(joint.rates_of(*joint.twist(rates, c), c), rates, atol=1e-14)

    # at the origin a small turn is its own rotation vector; the remainder is of third order in h
    h = 1e-4
    t, q = joint.relative(h * rates)
    moved = np.concatenate((t, rot.rotation_vector(q)))
    np.testing.assert_allclose(moved, h * np.concatenate(joint.twist(rates, c)), atol=1e-11)


# ---- copies and text


every_copy = pytest.mark.parametrize(
    "duplicate", [Mechanism.copy, copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)


@every_copy
def test_copies_have_places_of_their_own(duplicate: object) -> None:
    """Where forces and couplings act: moved in one, it stays in the other, and in what a simulator took over."""
    m = four_bar()
    m.add_force(PointSpring("crank", "rocker", 3.0, anchors=((0, 0, 0.1), (0, 0, -0.1)), name="string"))
    m.add_coupling(PrescribedMotion("crank-rod", np.sin, name="motor"))
    twin: Mechanism = duplicate(m)  # type: ignore[operator]
    places = [m.forces["string"].parts[0].measure, m.couplings["motor"].terms[0].measure]
    others = [twin.forces["string"].parts[0].measure, twin.couplings["motor"].terms[0].measure]
    kept = [measure.anchors.copy() for measure in others]
    m.snapshot()
    for mine, theirs, anchors in zip(places, others, kept, strict=True):
        np.testing.assert_array_equal(mine.anchors, anchors)
        mine.anchors[:] += 1.0
        mine.frames[:] *= -1.0
        np.testing.assert_array_equal(theirs.anchors, anchors)
        np.testing.assert_array_equal(theirs.frames, -mine.frames)


@every_copy
def test_copies_are_equal_and_independent(duplicate: object) -> None:
    m = four_bar()
    twin: Mechanism = duplicate(m)  # type: ignore[operator]
    assert repr(twin) == repr(m)
    assert twin.joints["crank-rod"].a is twin.bodies["crank"]
    assert twin.joints["rocker-world"].b is twin.world
    for array in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(twin.state(), array), getattr(m.state(), array))
    for name, joint in m.joints.items():
        np.testing.assert_array_equal(twin.joints[name].frame_b, joint.frame_b)
        np.testing.assert_array_equal(twin.joints[name].anchor_a, joint.anchor_a)

    # what happens to one leaves the other alone
    twin.add_body("extra", sphere(1.0, mass=1.0))
    twin.add_joint(Ball("extra", "rod", at=ORIGIN))
    twin.bodies["rod"].position = (9, 9, 9)
    assert m.body_count == 3
    assert m.joint_count == 4
    assert m.bodies["rod"].position[0] == 0.75
    with pytest.raises(ValueError, match="belongs to another mechanism"):
        twin.add_joint(Fixed(m.bodies["rod"], m.bodies["crank"]))


def test_repr_prints_the_tree() -> None:
    m = four_bar()
    m.add_body("kite", sphere(0.1, mass=1.0))
    m.add_body("tail", sphere(0.1, mass=1.0))
    m.add_joint(Ball("tail", "kite", at=ORIGIN, name="string"))
    assert repr(m).splitlines() == [
        "Mechanism: 5 bodies, 5 joints, 1 loop",
        "world",
        "  crank  (revolute 'world-crank')",
        "    rod  (revolute 'crank-rod')",
        "  rocker  (revolute 'rocker-world')",
        "floating:",
        "  kite",
        "    tail  (ball 'string')",
        "loops closed by:",
        "  rod - rocker  (revolute 'rod-rocker')",
    ]
    assert repr(Mechanism()) == "Mechanism: 0 bodies, 0 joints\nworld"


def test_repr_of_a_long_chain_is_short_enough_to_read() -> None:
    m = Mechanism()
    before: object = m.world
    for k in range(1200):
        body = m.add_body(f"link{k}", sphere(0.1, mass=1.0))
        m.add_joint(Ball(before, body, at=ORIGIN))  # type: ignore[arg-type]
        before = body
    assert len(repr(m).splitlines()) < 70
    assert repr(m).endswith("more lines")


# ---- the described state


def test_satisfied_joints_leave_the_numbers_alone() -> None:
    m = four_bar()
    state = m.state()
    for row, body in enumerate(m.bodies.values()):
        np.testing.assert_array_equal(state.position[row], body.position)
        np.testing.assert_array_equal(state.orientation[row], body.orientation)


def test_anchors_alone_place_a_chain() -> None:
    m = Mechanism()
    link = box((0.1, 0.1, 1.0), mass=1.0)
    top, bottom = (0, 0, 0.5), (0, 0, -0.5)
    for name in ("a", "b", "c"):
        m.add_body(name, link)
    m.add_joint(Revolute("world", "a", axis=X, anchors=((0, 0, 5), top)))
    m.add_joint(Ball("b", "a", anchors=(top, bottom)))
    m.add_joint(Fixed("b", "c", anchors=(bottom, top)))
    state = m.state()
    np.testing.assert_allclose(state.position[:, 2], (4.5, 3.5, 2.5), atol=1e-14)
    assert max(state.joint(name).gap for name in m.joints) < 1e-14


def test_closing_keeps_the_free_coordinates() -> None:
    m = Mechanism()
    solid = sphere(0.1, mass=1.0)
    m.add_body("hinged", solid)
    m.add_body("sliding", solid, position=(0.2, 0.3, 0.7))
    m.add_joint(Revolute("world", "hinged", axis=(Z, Z), anchors=(ORIGIN, X)))
    m.add_joint(Prismatic("hinged", "sliding", axis=(Z, Z), anchors=(ORIGIN, ORIGIN)))

    # describe the hinged body tilted and displaced after the joint has been placed
    tilt = rot.multiply(rot.from_axis_angle(X, 0.4), rot.from_axis_angle(Z, 0.3))
    m.bodies["hinged"].orientation = tilt
    m.bodies["sliding"].orientation = tilt
    m.bodies["sliding"].position = rot.rotate(tilt, np.array((0.2, 0.3, 0.7)))
    state = m.state()
    assert state.joint("world-hinged").angle == pytest.approx(0.3, abs=1e-14)
    assert state.joint("hinged-sliding").displacement == pytest.approx(0.7, abs=1e-14)
    for view in map(state.joint, m.joints):
        assert view.gap < 1e-14
        assert view.misalignment < 1e-14
    np.testing.assert_allclose(state.orientation[0], rot.from_axis_angle(Z, 0.3), atol=1e-14)


def test_a_moved_body_takes_along_what_hangs_on_it() -> None:
    m = two_bodies()
    m.add_joint(Revolute("one", "two", axis=X, at=(0, 0, 1.5)))
    m.add_joint(Ball("world", "one", anchors=(5 * Y, ORIGIN)))
    state = m.state()
    np.testing.assert_allclose(state.position, (5 * Y, 5 * Y + Z), atol=1e-15)
    assert state.joint("one-two").gap < 1e-15


def test_floating_part_keeps_its_first_body() -> None:
    m = two_bodies()
    m.add_joint(Ball("two", "one", anchors=(X, Y)))
    state = m.state()
    np.testing.assert_array_equal(state.position[0], m.bodies["one"].position)
    np.testing.assert_allclose(state.position[1], (-1, 1, 1), atol=1e-15)


def test_spanning_tree_of_a_loop() -> None:
    tree = four_bar().spanning_tree()
    assert [(b.parent.name, b.child.name) for b in tree.branches] == [
        ("world", "crank"),
        ("world", "rocker"),
        ("crank", "rod"),
    ]
    assert [joint.name for joint in tree.loops] == ["rod-rocker"]
    assert tree.floating == ()


def test_a_loop_is_closed_where_that_takes_the_fewest_rows() -> None:
    """A hinge with a damper is dearer than one without; what a pose is must not depend on it."""
    plain, damped = four_bar(), four_bar()
    damped.add_force(Damper("rod-rocker", 0.1))
    loops = damped.spanning_tree().loops
    assert len(loops) == 1
    assert loops[0].name != "rod-rocker"
    for m in (plain, damped):
        # nobody says that the description is closed
        m.bodies["rod"].position += (0.01, 0, 0.02)
    np.testing.assert_array_equal(plain.state().position, damped.state().position)

    spatial = four_bar()
    spatial.remove_joint("crank-rod")
    spatial.add_joint(Ball("crank", "rod", at=(0.3, 0, 0), name="ball"))
    tree = spatial.spanning_tree()
    assert [joint.name for joint in tree.loops] == ["ball"]
    assert [(b.parent.name, b.child.name) for b in tree.branches] == [
        ("world", "crank"),
        ("world", "rocker"),
        ("rocker", "rod"),
    ]
