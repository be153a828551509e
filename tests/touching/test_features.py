"""Features to which contacts are reduced for a step: their gradients, how many there are, and which."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catena as ct
from catena import _core
from catena._util import rotation as rot
from catena._util.rotation import Array
from catena.compile.shapes import shape_set
from shapes import KINDS, two

PAIRS = [(a, b) for n, a in enumerate(KINDS) for b in KINDS[n:]] + [("plane", b) for b in KINDS]
MOST = _core.most_features
# in the order of FeatureKind
KIND = ("point_plane", "point_point", "point_line", "point_rim", "line_line", "rim_plane")


def turned(rng: np.random.Generator) -> Array:
    found: Array = rot.normalised(rng.normal(size=4))
    return found


class Found:
    """Features of the only pair of shapes of a state, and what they tell of other poses of its two bodies."""

    def __init__(
        self, state: ct.State, margin: float = 0.05, *, moving: float = 0.0, poses: tuple[Array, Array] | None = None
    ) -> None:
        shapes = shape_set(state.mechanism)
        ((a, b),) = shapes.pair_places.tolist()
        rows = [shapes.body_rows.get(shapes.colliders[k].owner.name, -1) for k in (a, b)]
        if poses is None:
            here = [
                (np.zeros(3), np.array((1.0, 0, 0, 0))) if row < 0 else (state.position[row], state.orientation[row])
                for row in rows
            ]
            poses = np.array([[place for place, _ in here]]), np.array([[turn for _, turn in here]])
        count = len(poses[0])
        kinds = np.empty(MOST, dtype=np.int32)
        self.gap, self.normal, self.point = (
            np.empty((count, MOST)),
            np.empty((count, MOST, 3)),
            np.empty((count, MOST, 3)),
        )
        shapes.core.features(
            position=state.position,
            orientation=state.orientation,
            velocity=state.velocity,
            angular_velocity=state.angular_velocity,
            time=moving,
            a=a,
            b=b,
            margin=margin,
            other_position=poses[0],
            other_orientation=poses[1],
            kind=kinds,
            gap=self.gap,
            normal=self.normal,
            point=self.point,
        )
        self.kinds = [KIND[kind] for kind in kinds if kind >= 0]
        self.gap, self.normal, self.point = (
            array[:, : len(self.kinds)] for array in (self.gap, self.normal, self.point)
        )


@pytest.mark.parametrize(("kind", "other"), PAIRS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_gradients_of_gaps_are_those_of_points_of_the_bodies(kind: str, other: str, seed: int) -> None:
    rng, state = np.random.default_rng(seed), two(kind, other).state()
    state.position = 0.3 * rng.normal(size=state.position.shape)
    state.orientation = np.array([turned(rng) for _ in state.orientation])
    world = kind == "plane"
    place = np.concatenate((np.zeros((1, 3)), state.position)) if world else state.position
    turn = np.concatenate(((((1.0, 0, 0, 0)),), state.orientation)) if world else state.orientation
    shift, spin = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    if world:
        shift[0] = spin[0] = 0

    def moved(by: float) -> tuple[Array, Array]:
        half = 0.5 * by * spin
        angle = np.linalg.norm(half, axis=1, keepdims=True)
        step = np.concatenate((np.cos(angle), np.sinc(angle / np.pi) * half), axis=1)
        return place + by * shift, np.array([rot.multiply(q, p) for q, p in zip(step, turn, strict=True)])

    h = 1e-4
    poses = [moved(by) for by in (0.0, h, -h, 2 * h, -2 * h)]
    found = Found(state, 10.0, poses=(np.array([x for x, _ in poses]), np.array([q for _, q in poses])))
    assert 1 <= len(found.kinds) <= MOST
    _, plus, minus, twice, back = found.gap
    numeric = (8 * (plus - minus) - (twice - back)) / (12 * h)
    for k in range(len(found.kinds)):
        n, point = found.normal[0, k], found.point[0, k]
        rate = n @ (shift[1] - shift[0])
        rate += np.cross(point - place[1], n) @ spin[1] - np.cross(point - place[0], n) @ spin[0]
        # fourth differences, where edges are nearly parallel of large numbers
        assert rate == pytest.approx(numeric[k], abs=1e-5 * (1 + abs(rate)))


def stack(
    kind: str, size: tuple[float, ...], *, turn: float = 0.0, shift: float = 0.0, height: float = 0.1
) -> ct.State:
    """A shape on a box whose upper face is at z = 0, turned about z and put aside."""
    m = ct.Mechanism()
    m.add_body("base", ct.sphere(0.1, mass=1.0)).add_shape("box", (1.0, 1.0, 0.2), position=(0, 0, -0.1), collides=True)
    q = (np.cos(turn / 2), 0, 0, np.sin(turn / 2))
    body = m.add_body("top", ct.sphere(0.1, mass=1.0), position=(shift, 0, height), orientation=q)
    body.add_shape(kind, size, collides=True)
    return m.state()


@pytest.mark.parametrize(("turn", "shift", "count"), [(0, 0, 4), (0, 0.9, 4), (0.3, 0, 4), (np.pi / 4, 0.9, 3)])
def test_a_box_on_a_box_has_the_corners_of_where_they_meet(turn: float, shift: float, count: int) -> None:
    found = Found(
        stack("box", (0.4, 0.4, 0.2), turn=turn, shift=shift)
        if shift == 0
        else stack("box", (1.0, 0.4, 0.2), turn=turn, shift=shift)
    )
    assert len(found.kinds) == count
    np.testing.assert_allclose(found.gap, 0, atol=1e-15)
    np.testing.assert_allclose(np.abs(found.normal[..., 2]), 1, atol=1e-15)


def test_equal_boxes_on_each_other_have_four_points() -> None:
    state = stack("box", (1.0, 1.0, 0.2))
    assert len(Found(state).kinds) == 4
    # turned, their edges cross in eight points
    assert Found(stack("box", (1.0, 1.0, 0.2), turn=np.pi / 4)).kinds == ["line_line"] * 8


@pytest.mark.parametrize(
    ("kind", "size", "height", "count"), [("sphere", (0.1,), 0.1, 1), ("cylinder", (0.1, 0.2), 0.1, 8)]
)
def test_what_stands_on_a_box(kind: str, size: tuple[float, ...], height: float, count: int) -> None:
    found = Found(stack(kind, size, height=height))
    assert len(found.kinds) == count
    np.testing.assert_allclose(found.gap, 0, atol=1e-15)


def test_a_capsule_lies_on_its_two_ends_or_on_an_edge() -> None:
    state = stack("capsule", (0.1, 0.4))
    state.orientation = np.array(((1.0, 0, 0, 0), (np.sqrt(0.5), 0, np.sqrt(0.5), 0)))
    assert Found(state).kinds == ["point_plane"] * 2
    state.position = np.array(((0, 0, 0), (0.5, 0, 0.1)))
    found = Found(state)
    assert sorted(found.kinds) == ["line_line", "point_plane"]
    np.testing.assert_allclose(found.gap, 0, atol=1e-15)


def test_a_cylinder_stands_on_four_points_and_rolls_on_its_rims() -> None:
    m = ct.Mechanism()
    m.world.add_shape("plane", collides=True)
    m.add_body("can", ct.sphere(0.1, mass=1.0)).add_shape("cylinder", (0.1, 0.4), collides=True)
    state = m.state()
    state.position = np.array(((0, 0, 0.2),))
    assert Found(state).kinds == ["point_plane"] * 4
    state.position = np.array(((0, 0, 0.1),))
    state.orientation = np.array(((np.sqrt(0.5), np.sqrt(0.5), 0, 0),))
    found = Found(state)
    assert found.kinds.count("rim_plane") == 2
    np.testing.assert_allclose(found.gap[0][np.array(found.kinds) == "rim_plane"], 0, atol=1e-15)


def test_what_falls_past_an_edge_does_not_hit_the_plane_of_its_face() -> None:
    """A box falls beside a ledge: what separates them to the end is the side, not the top, which is farther now."""
    state = stack("box", (0.4, 0.4, 0.2), shift=0.71, height=0.12)
    state.velocity = np.array(((0, 0, 0), (0, 0, -10.0)))
    found = Found(state, moving=0.01)
    np.testing.assert_allclose(np.abs(found.normal[..., 0]), 1, atol=1e-12)
    # what comes down on it meets the top, though a side is nearer
    state = stack("box", (0.4, 0.4, 0.2), shift=0.65, height=0.16)
    state.velocity = np.array(((0, 0, 0), (0, 0, -10.0)))
    np.testing.assert_allclose(Found(state, moving=0.01).normal[..., 2], 1, atol=1e-12)


def test_only_what_comes_near_in_a_step_has_features() -> None:
    state = stack("sphere", (0.1,), height=0.6)
    assert Found(state, 0.01).kinds == []
    state.velocity = np.array(((0, 0, 0), (0, 0, -60.0)))
    assert Found(state, 0.01, moving=0.01).kinds == ["point_plane"]
