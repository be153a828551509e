"""Triangles: of the shapes of bodies, of files of meshes, and of the signs that stand for joints, frames and forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import floor, log10

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._util.rotation import IDENTITY, Array, cross, rotate, z_to
from ...describe.shapes import Color, Shape
from .mesh_files import read_triangles

# edge of the square that is drawn of a plane (m)
_PLANE = 10.0
# sides of what is round
_AROUND = 28


@dataclass(frozen=True, eq=False)
class Mesh:
    """Vertices (v, 3) in m and triangles (t, 3), counterclockwise from outside.

    Smooth where triangles share a vertex, so edges have their vertices twice; every triangle is flat if `flat`.
    """

    vertices: Array
    triangles: NDArray[np.uint32]
    flat: bool = False

    def placed(self, position: ArrayLike = (0.0, 0.0, 0.0), orientation: ArrayLike = IDENTITY) -> Mesh:
        """The same at another place."""
        turned = rotate(np.asarray(orientation, dtype=float), self.vertices)
        return Mesh(np.asarray(position, dtype=float) + turned, self.triangles, self.flat)

    def scaled(self, factors: ArrayLike) -> Mesh:
        """The same, each axis by its factor; what is mirrored stays counterclockwise."""
        by = np.asarray(factors, dtype=float)
        return Mesh(self.vertices * by, self.triangles[:, ::-1] if by.prod() < 0 else self.triangles, self.flat)

    def rounded(self) -> Mesh:
        """The same to about 1e-9 of its size: meshes that rounding alone tells apart become one and the same."""
        size = float(np.abs(self.vertices).max(initial=0.0))
        if size == 0:
            return self
        # sizes that are a power of ten but for rounding have as many digits as it has; zero has no sign
        digits = 9 - floor(log10(1.000001 * size))
        return Mesh(np.round(self.vertices, digits) + 0.0, self.triangles, self.flat)

    def normals(self) -> Array:
        """Directions (v, 3) that point outwards, of triangles that share a vertex by their areas."""
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        across = cross(b - a, c - a)
        found = np.zeros_like(self.vertices)
        for k in range(3):
            np.add.at(found, self.triangles[:, k], across)
        length = np.linalg.norm(found, axis=1, keepdims=True)
        return np.where(length > 0, found / np.where(length > 0, length, 1.0), (0.0, 0.0, 1.0))


def joined(meshes: list[Mesh]) -> Mesh:
    """All in one, flat if the first is."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    triangles = [mesh.triangles + np.uint32(start) for mesh, start in zip(meshes, starts, strict=True)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(triangles), meshes[0].flat)


# ---- shapes


def solid(shape: Shape) -> list[tuple[Mesh, Color | None]]:
    """A shape in the frame of its body, in the colors it has: its own, or those of its file.

    Of a mesh whose file cannot be read, a ValueError says why.
    """
    if shape.kind == "ellipsoid":
        parts = [(_plain(shape.kind, shape.size), shape.color)]
    elif shape.kind == "mesh":
        parts = [(mesh.scaled(shape.size), shape.color or color) for mesh, color in read_mesh(shape.mesh)]
    elif shape.points is not None:
        parts = [(polyhedron(shape.points, shape.faces), shape.color)]
    elif shape.heights is not None:
        parts = [(ground(shape.heights, shape.size), shape.color)]
    elif shape.kind == "plane":
        parts = [(box((_PLANE, _PLANE, 0.0)), shape.color)]
    else:
        parts = [(_plain(shape.kind, shape.size), shape.color)]
    return [(mesh.placed(shape.position, shape.orientation), color) for mesh, color in parts]


def polyhedron(points: Array, faces: Sequence[Sequence[int]]) -> Mesh:
    """A convex polyhedron, its faces as fans of triangles."""
    fans = [(face[0], face[k], face[k + 1]) for face in faces for k in range(1, len(face) - 1)]
    return Mesh(points, np.array(fans, dtype=np.uint32), flat=True)


def ground(heights: Array, size: Sequence[float]) -> Mesh:
    """Heights (y, x) over a grid around the origin."""
    rows, columns = heights.shape
    x, y = (length * np.linspace(-0.5, 0.5, n) for length, n in zip(size, (columns, rows), strict=True))
    points = np.column_stack((np.tile(x, rows), np.repeat(y, columns), heights.ravel()))
    first = (columns * np.arange(rows - 1)[:, None] + np.arange(columns - 1)).ravel()
    right, up = first + 1, first + columns
    cells = np.concatenate((np.column_stack((first, right, up + 1)), np.column_stack((first, up + 1, up))))
    return Mesh(points, cells.astype(np.uint32), flat=True)


def _plain(kind: str, size: tuple[float, ...]) -> Mesh:
    if kind == "box":
        return box(size)
    if kind == "cylinder":
        return cylinder(*size)
    if kind == "capsule":
        return capsule(*size)
    return sphere(1.0).scaled(size if kind == "ellipsoid" else size * 3)


def box(size: ArrayLike) -> Mesh:
    """A box of these edges (3,)."""
    return _cube().scaled(size)


@cache
def _cube() -> Mesh:
    corners: list[Array] = []
    triangles: list[list[int]] = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
            first = len(corners)
            corners += [side * np.eye(3)[axis] + 0.5 * (a * u + b * v) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            order = ((0, 1, 2), (0, 2, 3)) if side > 0 else ((0, 2, 1), (0, 3, 2))
            triangles += [[first + k for k in corner] for corner in order]
    return Mesh(np.array(corners), np.array(triangles, dtype=np.uint32))


@lru_cache(maxsize=256)
def cylinder(radius: float, length: float) -> Mesh:
    """A cylinder along z."""
    h = 0.5 * length
    return _lathe([(0, -h), (radius, -h)], [(radius, -h), (radius, h)], [(radius, h), (0, h)])


def cone(radius: float, length: float) -> Mesh:
    """A cone from z = 0 to its tip at z = length."""
    return _lathe([(0, 0), (radius, 0)], [(radius, 0), (0, length)])


def sphere(radius: float) -> Mesh:
    """A ball."""
    return capsule(radius, 0.0)


@lru_cache(maxsize=256)
def capsule(radius: float, length: float) -> Mesh:
    """A cylinder along z with a half sphere on each end, length without them."""
    tilt = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 18)
    lift = np.where(tilt > 0, 0.5, -0.5) * length
    # the poles exactly, not up to rounding
    across = np.array((0.0, *np.cos(tilt[1:-1]), 0.0))
    return _lathe(list(zip(radius * across, radius * np.sin(tilt) + lift, strict=True)))


def bone(start: Array, end: Array, radius: float) -> Mesh:
    """A round bar between two points."""
    along = end - start
    length = float(np.linalg.norm(along))
    turn = z_to(along / length) if length > 0 else IDENTITY
    return capsule(radius, length).placed(0.5 * (start + end), turn)


def _lathe(*outlines: list[tuple[float, float]]) -> Mesh:
    """What outlines of (radius, z), from the lower pole to the upper, leave when they turn about z; edges between."""
    turn = np.linspace(0, 2 * np.pi, _AROUND, endpoint=False)
    circle = np.stack((np.cos(turn), np.sin(turn)), axis=1)
    vertices, triangles, first = [], [], 0
    for outline in outlines:
        for radius, z in outline:
            vertices.append(np.concatenate((radius * circle, np.full((_AROUND, 1), z)), axis=1))
        here = np.arange(_AROUND)
        after = (here + 1) % _AROUND
        for row in range(len(outline) - 1):
            low, high = first + row * _AROUND, first + (row + 1) * _AROUND
            if outline[row][0] > 0:
                triangles.append(np.stack((low + here, low + after, high + after), axis=1))
            if outline[row + 1][0] > 0:
                triangles.append(np.stack((low + here, high + after, high + here), axis=1))
        first += len(outline) * _AROUND
    return Mesh(np.concatenate(vertices), np.concatenate(triangles).astype(np.uint32))


# ---- files


def read_mesh(path: str) -> list[tuple[Mesh, Color | None]]:
    """The triangles of a file, by color if it has some; what cannot be read is a ValueError."""
    parts: dict[Color | None, list[Mesh]] = {}
    for vertices, triangles, color in read_triangles(path):
        parts.setdefault(color, []).append(Mesh(vertices, triangles, flat=True))
    return [(joined(meshes), color) for color, meshes in parts.items()]
