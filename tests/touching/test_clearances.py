"""Distances of shapes: against a quadratic program, against each other, and where formulas know them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catena as ct
from catena._util import rotation as rot
from catena._util.rotation import Array
from catena.kinematics.clearances import Clearance
from shapes import KINDS, Cloud, add, distance, two

# among polyhedra and capsules a cylinder is a prism; a ball meets its true rim
CONVEX = [(a, b) for n, a in enumerate(KINDS) for b in KINDS[n:] if {a, b} != {"sphere", "cylinder"}]
PAIRS = [(a, b) for n, a in enumerate(KINDS) for b in KINDS[n:]]
GROUND = [("plane", b) for b in KINDS]

seeds = st.integers(0, 2**32 - 1)


def turned(rng: np.random.Generator) -> Array:
    found: Array = rot.normalised(rng.normal(size=4))
    return found


def at_random(m: ct.Mechanism, seed: int, apart: float) -> ct.State:
    """All bodies somewhere within a distance, turned at will."""
    rng, state = np.random.default_rng(seed), m.state()
    state.position = apart * rng.normal(size=state.position.shape)
    state.orientation = np.array([turned(rng) for _ in state.orientation])
    return state


def only(state: ct.State) -> Clearance:
    (found,) = state.clearances()
    return found


@pytest.mark.parametrize(("kind", "other"), CONVEX)
@settings(max_examples=6, deadline=None)
@given(seed=seeds)
def test_distances_are_those_of_a_quadratic_program(kind: str, other: str, seed: int) -> None:
    m = two(kind, other)
    state = at_random(m, seed, 0.5)
    found = only(state)
    clouds = [
        Cloud(body.shapes[-1], state.position[k], state.orientation[k]) for k, body in enumerate(m.bodies.values())
    ]
    expected = distance(*clouds)
    if expected > 1e-4 - clouds[0].radius - clouds[1].radius:
        # of weights that the program finds to about 1e-7
        assert found.gap == pytest.approx(expected, abs=2e-5)
    else:
        assert found.gap < 1e-4 - clouds[0].radius - clouds[1].radius


@settings(max_examples=50, deadline=None)
@given(seed=seeds)
def test_a_ball_and_a_cylinder_by_heights_and_radii(seed: int) -> None:
    m = two("sphere", "cylinder")
    state = at_random(m, seed, 0.4)
    centers, axes = [], []
    for k, body in enumerate(m.bodies.values()):
        shape = body.shapes[-1]
        centers.append(state.position[k] + rot.rotate(state.orientation[k], shape.position))
        axes.append(rot.rotate(state.orientation[k], rot.rotate(shape.orientation, np.array((0.0, 0, 1)))))
    r = centers[0] - centers[1]
    height = abs(r @ axes[1]) - 0.2
    side = np.linalg.norm(r - (r @ axes[1]) * axes[1]) - 0.2
    outside = np.hypot(max(height, 0.0), max(side, 0.0))
    expected = (outside if outside > 0 else max(height, side)) - 0.3
    assert only(state).gap == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(("kind", "other"), GROUND)
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_the_lowest_point_is_that_over_a_plane(kind: str, other: str, seed: int) -> None:
    m = two(kind, other)
    state = at_random(m, seed, 0.5)
    plane = m.world.shapes[0]
    normal = rot.rotate(plane.orientation, np.array((0.0, 0, 1)))
    cloud = Cloud(m.bodies["b"].shapes[-1], state.position[0], state.orientation[0], sides=20000)
    expected = ((cloud.points - plane.position) @ normal).min() - cloud.radius
    # the rim of a cylinder is sampled
    assert only(state).gap == pytest.approx(expected, abs=1e-8 if other == "cylinder" else 1e-14)
    np.testing.assert_allclose(only(state).normal, normal, atol=1e-15)


@pytest.mark.parametrize(("kind", "other"), [*PAIRS, *GROUND])
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_nearest_points_lie_along_the_normal_and_turn_with_the_scene(kind: str, other: str, seed: int) -> None:
    m = two(kind, other)
    state = at_random(m, seed, 0.6)
    found = only(state)
    assert np.linalg.norm(found.normal) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(found.points[1] - found.points[0], found.gap * found.normal, atol=1e-9)
    if kind == "plane":
        return
    rng = np.random.default_rng(seed + 1)
    turn, shift = turned(rng), rng.normal(size=3)
    state.position = shift + rot.rotate(turn, state.position)
    state.orientation = rot.normalised(rot.multiply(turn, state.orientation))
    again = only(state)
    assert again.gap == pytest.approx(found.gap, abs=1e-12)
    if found.gap > 1e-3:
        # faces along each other have many nearest points
        np.testing.assert_allclose(again.normal, rot.rotate(turn, found.normal), atol=1e-9)


@pytest.mark.parametrize(("kind", "other"), PAIRS)
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_distances_are_the_same_from_either_side(kind: str, other: str, seed: int) -> None:
    state = at_random(two(kind, other), seed, 0.5)
    back = two(other, kind).state()
    back.position, back.orientation = state.position[::-1].copy(), state.orientation[::-1].copy()
    one, two_ = only(state), only(back)
    assert one.gap == pytest.approx(two_.gap, abs=1e-13)
    if one.gap > 1e-3:
        np.testing.assert_allclose(one.normal, -two_.normal, atol=1e-9)


def test_boxes_on_each_other_have_a_gap_of_zero() -> None:
    m = ct.Mechanism()
    m.world.add_shape("plane", collides=True, name="floor")
    for k in range(3):
        body = m.add_body(f"box{k}", ct.box((0.4, 0.4, 0.2), mass=1.0), position=(0.05 * k, 0, 0.1 + 0.2 * k))
        body.add_shape("box", (0.4, 0.4, 0.2), collides=True, name=f"block{k}")
    found = {one.shapes: one for one in m.clearances()}
    for pair in (("floor", "block0"), ("block0", "block1"), ("block1", "block2")):
        assert abs(found[pair].gap) < 1e-15
        np.testing.assert_allclose(found[pair].normal, (0, 0, 1), atol=1e-15)
    assert found["block0", "block2"].gap == pytest.approx(0.2, abs=1e-15)


@settings(max_examples=20, deadline=None)
@given(seed=seeds, within=st.floats(0, 1.5))
def test_far_pairs_are_left_out_and_no_others(seed: int, within: float) -> None:
    m = ct.Mechanism()
    add(m.world, "plane", "floor", position=(0, 0, -1.0))
    for k, kind in enumerate(KINDS * 3):
        add(m.add_body(f"body{k}", ct.sphere(0.1, mass=1.0)), kind, f"shape{k}")
    state = at_random(m, seed, 0.8)
    every = {one.shapes: one.gap for one in state.clearances()}
    near = {one.shapes: one.gap for one in state.clearances(within=within)}
    assert near == {pair: gap for pair, gap in every.items() if gap <= within}


def bumps(x: Array, y: Array) -> Array:
    found: Array = 0.2 * np.sin(3 * x) * np.cos(2 * y)
    return found


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_balls_on_a_field_of_heights_touch_its_triangles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = np.linspace(-2, 2, 17), np.linspace(-1.5, 1.5, 13)
    heights = bumps(*np.meshgrid(x, y))
    m = ct.Mechanism()
    m.world.add_shape("heightfield", (4, 3), heights=heights, collides=True, name="ground")
    add(m.add_body("ball", ct.sphere(0.3, mass=1.0)), "sphere")
    state = m.state()
    state.position = np.array([(*rng.uniform((-1.5, -1.0), (1.5, 1.0)), rng.uniform(0.3, 0.7))])
    center = state.position[0] + m.bodies["ball"].shapes[-1].position
    # triangles of every cell, cut from its lowest corner
    points = np.array([[(x[i], y[j], heights[j, i]) for i in range(17)] for j in range(13)])
    corners = [points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]]
    least = np.inf
    for one, other in ((1, 2), (2, 3)):
        for a, b, c in zip(*(corners[k].reshape(-1, 3) for k in (0, one, other)), strict=True):
            least = min(least, to_triangle(center, a, b, c))
    assert only(state).gap == pytest.approx(least - 0.3, abs=1e-12)


def to_triangle(p: Array, a: Array, b: Array, c: Array) -> float:
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal)
    if all(np.cross(v - u, p - u) @ normal >= 0 for u, v in ((a, b), (b, c), (c, a))):
        return abs(float((p - a) @ normal))
    ends = [u + np.clip((p - u) @ (v - u) / ((v - u) @ (v - u)), 0, 1) * (v - u) for u, v in ((a, b), (b, c), (c, a))]
    return min(float(np.linalg.norm(p - end)) for end in ends)
