"""Shapes that collide as flat arrays of the core, and what is asked of them at a pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._util.rotation import Array, rotate, to_matrix
from ..describe.collisions import Collider, ContactRules, ShapePair, colliders, shape_pairs
from ..describe.hulls import Face
from ..describe.shapes import Shape
from ..kinematics.clearances import Clearance

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism

# sides of the prism that stands for a cylinder among polyhedra
_SIDES = 24
# m: what is that deep at the start overlaps
OVERLAP = 1e-12

_BOX_CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_BOX_FACES: tuple[Face, ...] = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


@dataclass(frozen=True, eq=False)
class ShapeSet:
    """All shapes of a mechanism that collide, and their pairs."""

    colliders: list[Collider]
    pairs: list[ShapePair]
    body_rows: dict[str, int]

    @cached_property
    def core(self) -> _core.Shapes:
        """The same in the core."""
        solids = [_Solid(one.shape) for one in self.colliders]
        ints, kinds = np.int32, _core.shape_kinds()
        return _core.Shapes(
            body_count=len(self.body_rows),
            kind=np.array([kinds.index(solid.kind) for solid in solids], dtype=ints),
            body=np.array([self.body_rows.get(one.owner.name, -1) for one in self.colliders], dtype=ints),
            frame=np.array([solid.frame for solid in solids]).reshape(-1, 12),
            size=np.array([solid.size for solid in solids]).reshape(-1, 3),
            point_count=np.array([len(solid.points) for solid in solids], dtype=ints),
            point=np.concatenate([np.zeros((0, 3)), *(solid.points for solid in solids)]),
            face_count=np.array([len(solid.faces) for solid in solids], dtype=ints),
            corner_count=np.array([len(face) for solid in solids for face in solid.faces], dtype=ints),
            corner=np.array([k for solid in solids for face in solid.faces for k in face], dtype=ints),
            grid_count=np.array([solid.heights.shape[::-1] for solid in solids], dtype=ints).reshape(-1, 2),
            grid_step=np.array([solid.step for solid in solids]).reshape(-1, 2),
            height=np.concatenate([np.zeros(0), *(solid.heights.ravel() for solid in solids)]),
        )

    @cached_property
    def pair_places(self) -> NDArray[np.int32]:
        """Colliders (pair, 2) of every pair."""
        return np.array([(pair.a, pair.b) for pair in self.pairs], dtype=np.int32).reshape(-1, 2)

    def clearances(self, position: Array, orientation: Array, within: float) -> list[Clearance]:
        """See State.clearances."""
        count = len(self.pairs)
        gap, normal, on_a, on_b = np.empty(count), *(np.empty((count, 3)) for _ in range(3))
        self.core.clearances(
            position=position,
            orientation=orientation,
            pairs=self.pair_places,
            within=within,
            gap=gap,
            normal=normal,
            on_a=on_a,
            on_b=on_b,
        )
        found = []
        for k in np.flatnonzero(np.isfinite(gap)).tolist():
            one, other = (self.colliders[place] for place in (self.pairs[k].a, self.pairs[k].b))
            points = np.array((on_a[k], on_b[k]))
            found.append(
                Clearance(
                    (one.name, other.name), (one.owner.name, other.owner.name), float(gap[k]), normal[k].copy(), points
                )
            )
        return found

    def overlaps(self, position: Array, orientation: Array) -> list[Clearance]:
        """Pairs that overlap, the deepest first."""
        if not self.pairs:
            return []
        found = [one for one in self.clearances(position, orientation, 0.0) if one.gap < -OVERLAP]
        return sorted(found, key=lambda one: one.gap)


def shape_set(mechanism: Mechanism) -> ShapeSet:
    """Shapes of a mechanism by the rules that it has, or those of all colliding shapes."""
    locked = bool(mechanism._owner)
    if locked and mechanism._known.shapes is not None:
        return mechanism._known.shapes
    found = colliders(mechanism)
    for one in found:
        if one.shape.kind in ("mesh", "ellipsoid") and one.shape.points is None:
            raise ValueError(
                f"{one.owner.label}: shape {one.name!r} is {'a mesh' if one.shape.kind == 'mesh' else 'an ellipsoid'} "
                "without its convex hull; call add_contacts(), which makes it"
            )
    pairs = shape_pairs(mechanism, found, mechanism.contact_rules or ContactRules())
    made = ShapeSet(found, pairs, dict(mechanism.rows()))
    if locked:
        mechanism._known.shapes = made
    return made


def overlap_line(overlaps: Sequence[Clearance]) -> str:
    """Which shapes overlap, and how deep, in one line."""
    named = [f"{one.shapes[0]!r} and {one.shapes[1]!r} by {-one.gap:.3g} m" for one in overlaps[:6]]
    more = f" and {len(overlaps) - 6} more pairs" if len(overlaps) > 6 else ""
    return f"shapes that overlap: {', '.join(named)}{more}"


class _Solid:
    """One shape in the frame of its body: as in physics/shapes/solid.hpp."""

    def __init__(self, shape: Shape) -> None:
        self.kind = shape.kind
        self.points, self.faces = np.zeros((0, 3)), ()
        self.heights, self.step = np.zeros((0, 0)), (1.0, 1.0)
        self.size = (0.0, 0.0, 0.0)
        center = shape.position
        getattr(self, f"_{shape.kind}", self._hull)(shape)
        if shape.kind == "heightfield":
            center = center + rotate(shape.orientation, np.array((-shape.size[0] / 2, -shape.size[1] / 2, 0.0)))
        if len(self.points):
            self.points = shape.position + rotate(shape.orientation, self.points)
        axes = to_matrix(shape.orientation).T
        self.frame = np.concatenate((center, axes.ravel()))

    faces: tuple[Face, ...]

    def _plane(self, shape: Shape) -> None:
        pass

    def _sphere(self, shape: Shape) -> None:
        self.points, self.size = np.zeros((1, 3)), (shape.size[0], 0.0, 0.0)

    def _capsule(self, shape: Shape) -> None:
        self.points = np.array(((0, 0, -0.5 * shape.size[1]), (0, 0, 0.5 * shape.size[1])))
        self.size = (shape.size[0], 0.0, 0.0)

    def _box(self, shape: Shape) -> None:
        self.points, self.faces = _BOX_CORNERS * shape.size, _BOX_FACES

    def _cylinder(self, shape: Shape) -> None:
        radius, length = shape.size
        self.size = (0.0, radius, 0.5 * length)
        turn = 2 * np.pi * np.arange(_SIDES) / _SIDES
        rim = radius * np.column_stack((np.cos(turn), np.sin(turn)))
        self.points = np.concatenate([np.column_stack((rim, np.full(_SIDES, z))) for z in (-length / 2, length / 2)])
        around = range(_SIDES)
        sides = tuple((k, (k + 1) % _SIDES, _SIDES + (k + 1) % _SIDES, _SIDES + k) for k in around)
        self.faces = (tuple(reversed(around)), tuple(_SIDES + k for k in around), *sides)

    def _heightfield(self, shape: Shape) -> None:
        assert shape.heights is not None
        self.heights = shape.heights
        rows, columns = shape.heights.shape
        self.step = (shape.size[0] / (columns - 1), shape.size[1] / (rows - 1))

    def _hull(self, shape: Shape) -> None:
        assert shape.points is not None
        self.kind = "hull"
        self.points, self.faces = shape.points, shape.faces
