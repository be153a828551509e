"""Convex hulls: against those of scipy, and of points that have none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catena.describe.hulls import MOST_POINTS, convex_hull, directions


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(4, 40))
def test_hulls_are_those_of_scipy(seed: int, count: int) -> None:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    corners, faces = convex_hull(points, "it")
    theirs = pytest.importorskip("scipy.spatial").ConvexHull(points)
    assert {tuple(p) for p in corners} == {tuple(points[k]) for k in theirs.vertices}
    volume = sum(
        np.linalg.det((corners[f[0]], corners[f[k]], corners[f[k + 1]])) for f in faces for k in range(1, len(f) - 1)
    )
    assert volume / 6 == pytest.approx(theirs.volume, rel=1e-12)


def test_faces_of_a_box_are_its_six_whatever_else_lies_on_them() -> None:
    grid = np.linspace(-1, 1, 6)
    points = np.array([(x, y, z) for x in grid for y in grid for z in grid])
    corners, faces = convex_hull(points * (1, 2, 3), "it")
    assert len(corners) == 8
    assert sorted(map(len, faces)) == [4] * 6


def test_a_hull_of_a_hull_is_the_same() -> None:
    corners, faces = convex_hull(np.random.default_rng(1).normal(size=(30, 3)), "it")
    again, same = convex_hull(corners, "it")
    np.testing.assert_array_equal(again, corners)
    assert same == faces


def test_large_meshes_become_few_points() -> None:
    points = np.random.default_rng(2).normal(size=(200_000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    corners, faces = convex_hull(points, "it")
    assert len(corners) == MOST_POINTS
    normals = np.array([np.cross(corners[f[1]] - corners[f[0]], corners[f[2]] - corners[f[0]]) for f in faces])
    offsets = [normal @ corners[face[0]] / np.linalg.norm(normal) for normal, face in zip(normals, faces, strict=True)]
    # of a ball of radius 1; as many points spread as evenly as can be leave 0.06
    assert 1 - min(offsets) < 0.12
    assert np.linalg.norm(directions(64), axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        (np.zeros((3, 3)), "at least four points, got 3"),
        (np.zeros((10, 3)), "lie on a line"),
        (np.outer(np.arange(10), (1, 2, 3)), "lie on a line"),
        (np.random.default_rng(3).normal(size=(10, 3)) * (1, 1, 0), "lie in a plane"),
        (np.full((5, 3), np.nan), "finite"),
        (np.zeros((5, 2)), "shape"),
        ([1, 2, 3], "shape"),
    ],
)
def test_points_without_a_hull(points: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^it: .*{sentence}"):
        convex_hull(points, "it")  # type: ignore[arg-type]
