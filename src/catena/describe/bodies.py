"""Bodies as the user describes them, and the world."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import IDENTITY, Array, Checked, finite, finite_number, plain, unit_quaternion
from .inertia import Inertia, Solid
from .shapes import Shape, Shaped, placed

# velocities of a body that is described without any
AT_REST: tuple[float, float, float] = (0.0, 0.0, 0.0)


def _constant(*numbers: float) -> Array:
    array = np.array(numbers)
    array.flags.writeable = False
    return array


class World(Shaped):
    """The world frame of a mechanism, `Mechanism.world`; use it in place of a body in joints.

    `shapes` are the objects at rest in the world: a base, a table, a floor.
    """

    name = "world"
    is_world = True
    position: ClassVar[Array] = _constant(0.0, 0.0, 0.0)
    orientation: ClassVar[Array] = _constant(*IDENTITY)

    @property
    def label(self) -> str:
        """Name for use in messages."""
        return "the world"

    def __repr__(self) -> str:
        return "World()"


class Body(Shaped):
    """A rigid body: inertia, described pose and velocity; created by Mechanism.add_body.

    position (3,) m and velocity (3,) m/s of the center of mass, orientation (4,) body to world, and angular_velocity
    (3,) rad/s are all in the world frame. You can assign them; the value is checked and copied. `shapes` is the
    geometry of the body.
    """

    is_world = False
    _shape: Solid | None
    _inertia: Inertia
    _name: str
    _has_gravity: bool
    position = Checked("Position (3,) of the center of mass, world frame (m).")
    orientation = Checked("Unit quaternion (4,) (w, x, y, z), body to world.")
    velocity = Checked("Velocity (3,) of the center of mass, world frame (m/s).")
    angular_velocity = Checked("Angular velocity (3,), world frame (rad/s).")

    def __init__(
        self,
        name: str,
        shape: Solid | Inertia,
        position: ArrayLike,
        orientation: ArrayLike,
        velocity: ArrayLike,
        angular_velocity: ArrayLike,
        has_gravity: bool,
    ) -> None:
        # writing to the dictionary is faster than assigning attributes one by one
        own = self.__dict__
        own["_name"], own["_shape"] = name, None
        own["_has_gravity"] = self._flag(has_gravity)
        self._take(shape)
        own["position"] = self._check("position", position)
        own["orientation"] = self._check("orientation", orientation)
        own["velocity"] = self._check("velocity", velocity)
        own["angular_velocity"] = self._check("angular_velocity", angular_velocity)

    def _check(self, name: str, value: ArrayLike) -> Array:
        if value is AT_REST:
            return np.zeros(3)
        if name == "orientation":
            return unit_quaternion(value, (4,), f"body {self._name!r}: orientation")
        array = plain(value, 3)
        return finite(value, (3,), f"body {self._name!r}: {name}") if array is None else array

    @property
    def name(self) -> str:
        """Name of the body in its mechanism."""
        return self._name

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return f"body {self.name!r}"

    @property
    def inertia(self) -> Inertia:
        """Mass and inertia; assign an Inertia, or a solid, which also becomes the shape of the body."""
        return self._inertia

    @inertia.setter
    def inertia(self, value: Inertia | Solid) -> None:
        self._take(value)

    def _take(self, value: Inertia | Solid) -> None:
        if isinstance(value, Solid):
            self.__dict__.update(_shape=value, _inertia=value.inertia)
        elif isinstance(value, Inertia):
            self._shape, self._inertia = self._shape and replace(self._shape, inertia=value), value
        else:
            raise ValueError(f"{self.label} needs a shape such as box(...), or an Inertia, got {value!r}")

    @property
    def shape(self) -> Solid | None:
        """The solid the body was created from, or None if it was created from an Inertia."""
        return self._shape

    @shape.setter
    def shape(self, value: Solid) -> None:
        if not isinstance(value, Solid):
            raise ValueError(f"{self.label} needs a shape such as box(...), got {value!r}")
        self.inertia = value

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """All shapes of the body: the solid it was created from, if any, and the shapes added later."""
        if self._shape is None:
            return self._added_shapes
        return placed(self._shape.kind, self._shape.size, label=self.label), *self._added_shapes

    @property
    def mass(self) -> float:
        """Mass (kg), 0 for a massless body; assigning a new mass scales the inertia in proportion."""
        return self._inertia.mass

    @mass.setter
    def mass(self, value: float) -> None:
        mass = finite_number(value, f"{self.label}: mass")
        if mass < 0:
            raise ValueError(f"{self.label}: mass must be positive, or zero for a massless body, got {value}")
        old = self._inertia
        if old.mass == 0:
            raise ValueError(
                f"{self.label} is massless, so its inertia cannot be scaled; assign an Inertia to body.inertia instead"
            )
        self.inertia = Inertia(mass, mass / old.mass * old.tensor, physical=old.physical)

    @property
    def has_gravity(self) -> bool:
        """Whether the gravity of the mechanism acts on the body."""
        return self._has_gravity

    @has_gravity.setter
    def has_gravity(self, value: bool) -> None:
        self._has_gravity = self._flag(value)

    def _flag(self, value: bool) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{self.label}: has_gravity must be True or False, got {value!r}")
        return bool(value)

    def __repr__(self) -> str:
        kind = "" if self.shape is None else f", {self.shape.kind}"
        return f"Body({self.name!r}{kind}, mass={self.mass:g})"
