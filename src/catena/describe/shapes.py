"""Shapes: the geometry of bodies and of the world for display and contact, independent of mass and inertia.

A body has any number of shapes, each with a pose in the body frame: the solid it was created from, if any, and the
shapes added with `add_shape`. The world has only added shapes. Shapes do not change the inertia. Contact is not
simulated yet: shapes are used for display and in files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._util.lookup import did_you_mean
from .._util.rotation import IDENTITY, Array, finite, unit_quaternion
from .._util.strict import Strict, belongs

# number of lengths (m) for each kind; for a mesh, scale factors of its file
SIZES = {"box": 3, "cylinder": 2, "sphere": 1, "capsule": 2, "ellipsoid": 3, "mesh": 3}

Color: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape on a body or in the world, made by `add_shape`.

    `kind` and `size` (m): (x, y, z) of a "box", (radius,) of a "sphere", (radius, length) of a "cylinder" or "capsule"
    along its z axis, where the length excludes the hemispheres, and the three semi-axes of an "ellipsoid". For a
    "mesh", `size` contains the scale factors from the numbers in its file to meters, and `mesh` is the path of the
    file. position (3,) m and orientation (4,) are in the frame of the world, or of the body, whose origin is its center
    of mass. color is (red, green, blue, alpha) from 0 to 1, or None. `visible` and `collides` say whether the shape is
    for display, for contact, or for both.
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

        # pickling and copying lose these flags
        self.position.flags.writeable = self.orientation.flags.writeable = False


def placed(
    kind: str,
    size: ArrayLike,
    *,
    position: ArrayLike = (0.0, 0.0, 0.0),
    orientation: ArrayLike = IDENTITY,
    color: ArrayLike | None = None,
    mesh: str = "",
    name: str = "",
    visible: bool = True,
    collides: bool = False,
    label: str = "shape",
) -> Shape:
    """Check the arguments and make a shape; `label` starts the error messages."""
    if kind not in SIZES:
        raise ValueError(f"{label}: there is no kind of shape {kind!r}{did_you_mean(kind, SIZES)}")
    lengths = finite(size, (SIZES[kind],), f"{label}: size of a {kind}")
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
    place, turn = (
        finite(position, (3,), f"{label}: position"),
        unit_quaternion(orientation, (4,), f"{label}: orientation"),
    )
    place.flags.writeable = turn.flags.writeable = False
    tint = None if color is None else _color(color, label)
    return Shape(kind, tuple(lengths.tolist()), place, turn, tint, mesh, name, bool(visible), bool(collides))


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
        size: ArrayLike = (1.0, 1.0, 1.0),
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = IDENTITY,
        color: ArrayLike | None = None,
        mesh: str = "",
        name: str = "",
        visible: bool = True,
        collides: bool = False,
    ) -> Shape:
        """Add a shape and return it; mass and inertia do not change.

        The arguments are the attributes of `Shape`: kind and size (m), or the scale factors of a mesh; position (m) and
        orientation in the frame of the body, or of the world; color from 0 to 1, with or without alpha; the path of a
        mesh.
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
            label=f"{self.label}: shape",
        )
        self._added_shapes = (*self._added_shapes, shape)
        return shape

    def clear_shapes(self) -> None:
        """Remove all shapes that were added with `add_shape`."""
        if self._owner:
            raise ValueError(belongs(self._owner))
        self._added_shapes = ()
