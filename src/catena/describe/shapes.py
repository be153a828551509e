"""Shapes: the geometry of bodies and of the world for display and contact, independent of mass and inertia.

A body has any number of shapes, each with a pose in the body frame: the solid it was created from, if any, and the
shapes added with `add_shape`. The world has only added shapes. Shapes do not change the inertia. Those that collide
are found by `Mechanism.add_contacts` (collisions.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._util.lookup import did_you_mean
from .._util.rotation import IDENTITY, Array, finite, finite_number, unit_quaternion
from .._util.strict import Strict, belongs
from .hulls import Face, convex_hull

# number of lengths (m) for each kind; for a mesh, scale factors of its file
SIZES = {
    "box": 3,
    "cylinder": 2,
    "sphere": 1,
    "capsule": 2,
    "ellipsoid": 3,
    "mesh": 3,
    "plane": 0,
    "heightfield": 2,
    "hull": 0,
}
# bits of groups and masks
_MOST_BITS = 32
_MOST_HEIGHTS = 1 << 24

Color: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape on a body or in the world, made by `add_shape`.

    `kind` and `size` (m): (x, y, z) of a "box", (radius,) of a "sphere", (radius, length) of a "cylinder" or "capsule"
    along its z axis, where the length excludes the hemispheres, and the three semi-axes of an "ellipsoid". For a
    "mesh", `size` contains the scale factors from the numbers in its file to meters, and `mesh` is the path of the
    file. A "plane" has no size: its normal is its z axis, and everything below it is solid. A "heightfield" has its
    lengths along x and y, and `heights` (y, x) in m over a grid of these lengths, centered at its position. A "hull" is
    the convex hull of `points` (k, 3). position (3,) m and orientation (4,) are in the frame of the world, or of the
    body, whose origin is its center of mass. color is (red, green, blue, alpha) from 0 to 1, or None. `visible` and
    `collides` say whether the shape is for display, for contact, or for both.

    Of shapes that collide: `friction` is the coefficient of friction and `restitution` the part of the approach speed
    that an impact gives back, from 0 to 1. Two shapes can collide if `group` of one and `mask` of the other have a bit
    in common. `points` and `faces` are the convex polyhedron that stands for a hull or a mesh.
    """

    kind: str
    size: tuple[float, ...]
    position: Array
    orientation: Array
    color: Color | None = None
    mesh: str = ""
    name: str = ""
    visible: bool = True
    collides: bool = False
    friction: float = 1.0
    restitution: float = 0.0
    group: int = 1
    mask: int = 1
    heights: Array | None = None
    points: Array | None = None

    @property
    def faces(self) -> tuple[Face, ...]:
        """Faces of the polyhedron: indices of their corners in `points`, counterclockwise from outside."""
        return () if self.points is None else convex_hull(self.points, self.name or self.kind)[1]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

        # pickling and copying lose these flags
        for array in (self.position, self.orientation, self.heights, self.points):
            if array is not None:
                array.flags.writeable = False


def placed(
    kind: str,
    size: ArrayLike | None,
    *,
    position: ArrayLike = (0.0, 0.0, 0.0),
    orientation: ArrayLike = IDENTITY,
    color: ArrayLike | None = None,
    mesh: str = "",
    name: str = "",
    visible: bool = True,
    collides: bool = False,
    friction: float = 1.0,
    restitution: float = 0.0,
    group: int = 1,
    mask: int = 1,
    heights: ArrayLike | None = None,
    points: ArrayLike | None = None,
    label: str = "shape",
) -> Shape:
    """Check the arguments and make a shape; `label` starts the error messages."""
    if kind not in SIZES:
        raise ValueError(f"{label}: there is no kind of shape {kind!r}{did_you_mean(kind, SIZES)}")
    if size is None:
        if kind not in ("mesh", "plane", "hull"):
            raise ValueError(f"{label}: a {kind} needs its size")
        size = np.ones(SIZES[kind])
    lengths = finite(np.reshape(size, 0) if np.size(size) == 0 else size, (SIZES[kind],), f"{label}: size of a {kind}")
    if kind == "mesh":
        if not isinstance(mesh, str) or not mesh:
            raise ValueError(f"{label}: a mesh needs mesh=, the path of its file")
        if not lengths.all():
            raise ValueError(f"{label}: the scale factors of a mesh must not be zero, got {lengths.tolist()}")
    elif mesh:
        raise ValueError(f"{label}: mesh= is only for shapes of kind 'mesh', this is a {kind}")
    elif (lengths <= 0).any():
        raise ValueError(f"{label}: size of a {kind} must be positive, got {lengths.tolist()}")
    if not isinstance(name, str):
        raise ValueError(f"{label}: name must be a string, got {name!r}")
    for what, flag in (("visible", visible), ("collides", collides)):
        if not isinstance(flag, (bool, np.bool_)):
            raise ValueError(f"{label}: {what} must be True or False, got {flag!r}")
    slip = finite_number(friction, f"{label}: friction")
    bounce = finite_number(restitution, f"{label}: restitution")
    if slip < 0:
        raise ValueError(f"{label}: friction must not be negative, got {friction!r}")
    if not 0 <= bounce <= 1:
        raise ValueError(f"{label}: restitution must be from 0 to 1, got {restitution!r}")
    for what, bits in (("group", group), ("mask", mask)):
        if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)) or not 0 <= bits < 1 << _MOST_BITS:
            raise ValueError(f"{label}: {what} must be a whole number from 0 to 2**{_MOST_BITS} - 1, got {bits!r}")
    field = _heights(heights, kind, label)
    corners = _points(points, kind, label)
    place, turn = (
        finite(position, (3,), f"{label}: position"),
        unit_quaternion(orientation, (4,), f"{label}: orientation"),
    )
    place.flags.writeable = turn.flags.writeable = False
    tint = None if color is None else _color(color, label)
    return Shape(
        kind,
        tuple(lengths.tolist()),
        place,
        turn,
        tint,
        mesh,
        name,
        bool(visible),
        bool(collides),
        slip,
        bounce,
        int(group),
        int(mask),
        field,
        corners,
    )


def _heights(heights: ArrayLike | None, kind: str, label: str) -> Array | None:
    if kind != "heightfield":
        if heights is not None:
            raise ValueError(f"{label}: heights= is only for shapes of kind 'heightfield', this is a {kind}")
        return None
    if heights is None or np.ndim(heights) != 2:
        raise ValueError(f"{label}: a heightfield needs heights=, an array (y, x) in m")
    if min(np.shape(heights)) < 2 or np.size(heights) > _MOST_HEIGHTS:
        raise ValueError(
            f"{label}: heights must be at least 2 by 2 and at most {_MOST_HEIGHTS} numbers, got {np.shape(heights)}"
        )
    found = finite(heights, np.shape(heights), f"{label}: heights").copy()
    found.flags.writeable = False
    return found


def _points(points: ArrayLike | None, kind: str, label: str) -> Array | None:
    if kind not in ("hull", "mesh", "ellipsoid"):
        if points is not None:
            raise ValueError(f"{label}: points= is only for shapes of kind 'hull', this is a {kind}")
        return None
    if points is None:
        if kind == "hull":
            raise ValueError(f"{label}: a hull needs points=, an array (k, 3) in m")
        return None
    if np.ndim(points) != 2:
        raise ValueError(f"{label}: points must be an array (k, 3), got {np.shape(points)}")
    found, _ = convex_hull(points, label)
    found.flags.writeable = False
    return found


def _color(value: ArrayLike, label: str) -> Color:
    """Red, green, blue and alpha; the default alpha is 1."""
    given = finite(value, (3,) if np.shape(value) == (3,) else (4,), f"{label}: color")
    if (given < 0).any() or (given > 1).any():
        raise ValueError(f"{label}: color must be three or four numbers from 0 to 1, got {given.tolist()}")
    red, green, blue, *alpha = given.tolist()
    return red, green, blue, alpha[0] if alpha else 1.0


class Shaped(Strict):
    """Base class of objects that have shapes: bodies and the world."""

    _added_shapes: tuple[Shape, ...] = ()

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        raise NotImplementedError

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """All shapes of the object."""
        return self._added_shapes

    def add_shape(
        self,
        kind: str,
        size: ArrayLike | None = None,
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = IDENTITY,
        color: ArrayLike | None = None,
        mesh: str = "",
        name: str = "",
        visible: bool = True,
        collides: bool = False,
        friction: float = 1.0,
        restitution: float = 0.0,
        group: int = 1,
        mask: int = 1,
        heights: ArrayLike | None = None,
        points: ArrayLike | None = None,
    ) -> Shape:
        """Add a shape and return it; mass and inertia do not change.

        The arguments are the attributes of `Shape`: kind and size (m), or the scale factors of a mesh (default 1);
        position (m) and orientation in the frame of the body, or of the world; color from 0 to 1, with or without
        alpha; the path of a mesh; heights (y, x) of a heightfield; points (k, 3) of a hull. `friction`, `restitution`,
        `group` and `mask` are for shapes that collide.
        """
        if self._owner:
            raise ValueError(belongs(self._owner))
        shape = placed(
            kind,
            size,
            position=position,
            orientation=orientation,
            color=color,
            mesh=mesh,
            name=name,
            visible=visible,
            collides=collides,
            friction=friction,
            restitution=restitution,
            group=group,
            mask=mask,
            heights=heights,
            points=points,
            label=f"{self.label}: shape",
        )
        self._added_shapes = (*self._added_shapes, shape)
        return shape

    def clear_shapes(self) -> None:
        """Remove all shapes that were added with `add_shape`."""
        if self._owner:
            raise ValueError(belongs(self._owner))
        self._added_shapes = ()
