"""Convex hulls of points: polyhedra of at most 64 points, grown from a tetrahedron by the point farthest outside.

Of many points only those count that are farthest along one of many directions, so that a mesh of millions of triangles
takes a second. Faces of neighboring triangles that lie in a plane become one polygon.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import Array, cross, finite

Face = tuple[int, ...]

MOST_POINTS = 64
# directions in which the points of large meshes are searched, and how many points are searched at once
_DIRECTIONS = 600
_AT_ONCE = 1 << 16
# parts of the size below which a point lies in a plane
_FLAT = 1e-9


def directions(count: int) -> Array:
    """Unit vectors (count, 3), evenly spread over the sphere along a spiral."""
    z = 1 - (2 * np.arange(count) + 1) / count
    turn = np.pi * (3 - np.sqrt(5)) * np.arange(count)
    across = np.sqrt(1 - z**2)
    return np.column_stack((across * np.cos(turn), across * np.sin(turn), z))


def convex_hull(points: ArrayLike, label: str) -> tuple[Array, tuple[Face, ...]]:
    """Corners (k, 3) of the hull, and its faces: their corners, counterclockwise from outside."""
    count = np.shape(points)[0] if np.ndim(points) == 2 else 4
    given = finite(points, (count, 3), f"{label}: points")
    if len(given) < 4:
        raise ValueError(f"{label}: a hull needs at least four points, got {len(given)}")
    candidates = _outermost(given)
    size = float(np.ptp(candidates, axis=0).max())
    triangles = _first(candidates, size, label)
    while len({k for triangle in triangles for k in triangle}) < MOST_POINTS:
        normals, offsets = _planes(candidates, triangles)
        heights = candidates @ normals.T - offsets
        point = int(np.argmax(heights.max(axis=1)))
        if heights[point].max() <= _FLAT * size:
            break
        triangles = _grown(triangles, point, heights[point] > _FLAT * size)
    faces = _polygons(candidates, triangles, size)
    kept = sorted({k for face in faces for k in face})
    place = {k: n for n, k in enumerate(kept)}
    return candidates[kept], tuple(tuple(place[k] for k in face) for face in faces)


def _outermost(points: Array) -> Array:
    """The points that are farthest along some direction; all of them, each once, if they are few."""
    if len(points) > 4 * MOST_POINTS:
        along = np.concatenate((np.eye(3), -np.eye(3), directions(_DIRECTIONS)))
        best, at = np.full(len(along), -np.inf), np.zeros(len(along), dtype=int)
        for first in range(0, len(points), _AT_ONCE):
            reach = points[first : first + _AT_ONCE] @ along.T
            highest = reach.argmax(axis=0)
            value = reach[highest, np.arange(len(along))]
            at, best = np.where(value > best, first + highest, at), np.maximum(value, best)
        points = points[np.unique(at)]
    return np.unique(points, axis=0)


def _first(points: Array, size: float, label: str) -> list[Face]:
    """A tetrahedron of points that are far apart."""
    a = int(points[:, 0].argmin())
    b = int(np.linalg.norm(points - points[a], axis=1).argmax())
    along = points[b] - points[a]
    areas = np.linalg.norm(cross(points - points[a], along), axis=1)
    c = int(areas.argmax())
    if size == 0 or areas[c] <= _FLAT * size * np.linalg.norm(along):
        raise ValueError(f"{label}: its points lie on a line, so they have no hull")
    normal = cross(along, points[c] - points[a])
    heights = (points - points[a]) @ (normal / np.linalg.norm(normal))
    d = int(np.abs(heights).argmax())
    if abs(heights[d]) <= _FLAT * size:
        raise ValueError(f"{label}: its points lie in a plane, so they have no hull")
    if heights[d] > 0:
        b, c = c, b
    return [(a, b, c), (a, d, b), (b, d, c), (c, d, a)]


def _planes(points: Array, triangles: list[Face]) -> tuple[Array, Array]:
    a, b, c = (points[[triangle[k] for triangle in triangles]] for k in range(3))
    normals = cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return normals, np.einsum("ij,ij->i", normals, a)


def _grown(triangles: list[Face], point: int, seen: Iterable[bool]) -> list[Face]:
    """The hull with another point: what it sees is replaced by triangles to the edges around that."""
    kept, edges = [], set()
    for triangle, is_seen in zip(triangles, seen, strict=True):
        if is_seen:
            edges |= {(triangle[k], triangle[(k + 1) % 3]) for k in range(3)}
        else:
            kept.append(triangle)
    rim = sorted((a, b) for a, b in edges if (b, a) not in edges)
    return kept + [(a, b, point) for a, b in rim]


def _polygons(points: Array, triangles: list[Face], size: float) -> list[Face]:
    """Faces of triangles that lie in one plane, without corners that are only on an edge."""
    normals, offsets = _planes(points, triangles)
    group = list(range(len(triangles)))
    owner = {(t[k], t[(k + 1) % 3]): n for n, t in enumerate(triangles) for k in range(3)}

    def root(n: int) -> int:
        while group[n] != n:
            n = group[n]
        return n

    for (a, b), n in owner.items():
        other = owner[b, a]
        inside = points[list(triangles[other])] @ normals[n] - offsets[n]
        back = points[list(triangles[n])] @ normals[other] - offsets[other]
        if max(np.abs(inside).max(), np.abs(back).max()) <= 10 * _FLAT * size and normals[n] @ normals[other] > 0:
            group[root(n)] = root(other)
    loops: dict[int, dict[int, int]] = {}
    for (a, b), n in owner.items():
        if root(owner[b, a]) != root(n):
            loops.setdefault(root(n), {})[a] = b
    met: dict[int, int] = {}
    for loop in loops.values():
        for a in loop:
            met[a] = met.get(a, 0) + 1
    faces = []
    for n in sorted(loops):
        start = at = min(loops[n])
        face = [start]
        while (at := loops[n][at]) != start:
            face.append(at)
        faces.append(tuple(k for k in face if met[k] > 2))
    return faces
