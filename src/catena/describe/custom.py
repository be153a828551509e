"""Constraints that the user writes as Python functions: slower than the built-in constraints, but equally exact."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import Array, finite, from_rotation_vector, multiply, rotate, rotation_vector
from .joint import Joint, Pose

if TYPE_CHECKING:
    from .joint import BodyLike, BodyOrName

# step of the fourth-order differences, in rad or relative to the size of the bodies
_STEP = 3e-4

# tolerance between a given Jacobian and differences
_AGREES = 1e-6

MOST_ROWS = 6


class BodyPose(NamedTuple):
    """Pose of a body: position (3,) m of its center of mass, orientation (4,) body to world; constant for the world."""

    position: Array
    orientation: Array

    def point(self, p: ArrayLike) -> Array:
        """Return the world position (m) of the point p (3,), which is given in the body frame."""
        return self.position + self.direction(p)

    def direction(self, v: ArrayLike) -> Array:
        """Return the world components of the vector v (3,), which is given in the body frame."""
        return rotate(self.orientation, np.asarray(v, dtype=float))


Rows: TypeAlias = Callable[[BodyPose, BodyPose], ArrayLike]


class GivenRows(Joint):
    """Constraint rows between a and b from user functions. Coordinates (6,): as for Free."""

    dof = 6
    motion = np.eye(6)
    _carries = False
    _needs_place = False

    _count: int
    _size: float

    @property
    def row_count(self) -> int:
        """Number of rows that the function returns."""
        return self._count

    def _resolve_anchors(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        pose_a, pose_b = (BodyPose(body.position.copy(), body.orientation.copy()) for body in (a, b))
        inertias = [body.inertia for body in (a, b) if not body.is_world]  # type: ignore[union-attr]
        # radius of gyration of the smaller one
        radii = [np.sqrt(np.trace(inertia.tensor) / (2 * inertia.mass)) for inertia in inertias if inertia.mass > 0]
        self._size = float(min(radii, default=1.0))
        self._count = self._measure_count(pose_a, pose_b)
        if not 1 <= self._count <= MOST_ROWS:
            raise ValueError(f"{self.label}: its function must return 1 to {MOST_ROWS} rows, got {self._count}")
        self.check(pose_a, pose_b)
        return np.zeros(3), np.zeros(3)

    def _measure_count(self, a: BodyPose, b: BodyPose) -> int:
        raise NotImplementedError

    def check(self, a: BodyPose, b: BodyPose) -> None:
        """Raise an error if the functions contradict each other or do not return numbers."""
        raise NotImplementedError

    def _gap_and_gradient(self, a: BodyPose, b: BodyPose) -> tuple[Array, Array]:
        """Gaps (rows,) and gradients (rows, 12) with respect to displacement and world rotation of a, then of b."""
        raise NotImplementedError

    def _forget(self, lost: Callable[..., ArrayLike]) -> None:
        """Replace functions that a file could not store with one that raises an error."""
        raise NotImplementedError

    def relative(self, coordinates: Array) -> Pose:
        """Translate, then rotate by the rotation vector."""
        return coordinates[:3], from_rotation_vector(coordinates[3:])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the translation and the rotation vector."""
        return np.concatenate((translation, rotation_vector(quaternion)), axis=-1)


class Custom(GivenRows):
    """A user-defined constraint gap(pose_a, pose_b) = 0 with one to six rows, in meters.

    `gap` takes two poses (`.position` (3,), `.orientation` (4,)) and returns the rows. `jacobian` is optional and
    returns (rows, 12): derivatives with respect to the displacement of a (3), the rotation of a about world axes (3),
    and the same for b. It is checked against finite differences. Without it, finite differences are used.

    In a loop, all rows are enforced, whatever the value of `loop_tolerance`. Rows that are redundant with other joints
    must agree with them to rounding error; otherwise leave them out of the function.
    """

    code = "custom"

    def __init__(
        self, a: BodyOrName, b: BodyOrName, gap: Rows, *, jacobian: Rows | None = None, name: str | None = None
    ) -> None:
        super().__init__(a, b, name=name)
        for what, function in (("gap", gap), ("jacobian", jacobian)):
            if not callable(function) and not (function is None and what == "jacobian"):
                raise ValueError(f"{self.label}: {what} must be a function of two poses, got {function!r}")
        self._gap, self._jacobian = gap, jacobian

    def _measure_count(self, a: BodyPose, b: BodyPose) -> int:
        return np.size(_numbers(self._gap(a, b), f"{self.label}: gap"))

    def _rows(self, a: BodyPose, b: BodyPose) -> Array:
        what = f"{self.label}: gap"
        return finite(_numbers(self._gap(a, b), what).reshape(-1), (self._count,), what)

    def check(self, a: BodyPose, b: BodyPose) -> None:
        """Compare the Jacobian with differences, in this pose and in a rotated one, which reveals wrong frames."""
        turned = [from_rotation_vector(v) for v in ((0.3, -0.5, 0.2), (-0.4, 0.1, 0.6))]
        moved = [BodyPose(p.position, multiply(q, p.orientation)) for p, q in zip((a, b), turned, strict=True)]
        for at in ((a, b), moved):
            by_differences = self._differences(*at)
            if self._jacobian is None:
                continue
            given = self._given(*at)
            scale = max(1.0, float(np.abs(by_differences).max()))
            worst = np.unravel_index(np.abs(given - by_differences).argmax(), given.shape)
            if abs(given[worst] - by_differences[worst]) > _AGREES * scale:
                raise ValueError(
                    f"{self.label}: its jacobian is {given[worst]:.6g} in row {worst[0]}, column {worst[1]}, "
                    f"but differences of its gap give {by_differences[worst]:.6g}"
                )

    def _given(self, a: BodyPose, b: BodyPose) -> Array:
        assert self._jacobian is not None
        what = f"{self.label}: jacobian"
        return finite(np.atleast_2d(_numbers(self._jacobian(a, b), what)), (self._count, 12), what)

    def _differences(self, a: BodyPose, b: BodyPose, *, world: bool = True) -> Array:
        """Gradients (rows, 12); columns of the world, which does not move, may be left out."""
        result = np.zeros((self._count, 12))
        for side, body in enumerate((self.a, self.b)):
            if body.is_world and not world:
                continue
            pose = (a, b)[side]
            for column, weight, shift, turn in _probes(self._size):
                turned = pose.orientation if turn is None else multiply(turn, pose.orientation)
                moved = BodyPose(pose.position + shift, turned)
                result[:, 6 * side + column] += weight * self._rows(*((a, moved) if side else (moved, b)))
        return result

    def _gap_and_gradient(self, a: BodyPose, b: BodyPose) -> tuple[Array, Array]:
        """See the class."""
        return self._rows(a, b), self._differences(a, b, world=False) if self._jacobian is None else self._given(a, b)

    def _forget(self, lost: Callable[..., ArrayLike]) -> None:
        """See GivenRows."""
        self._gap, self._jacobian = lost, None


class VelocityRows(GivenRows):
    """A user-defined constraint A(pose_a, pose_b) v = b(t) on velocities, with one to six rows.

    `rows` takes two poses (`.position` (3,), `.orientation` (4,)) and returns A (rows, 12). A multiplies the velocity
    of a's center of mass (3), a's angular velocity (3), and the same for b, all in the world frame. `value` is b:
    numbers, or a function of time (s) that returns them; default zero. The constraint holds exactly for the velocities
    at the nodes, which have the order of the run.
    """

    code = "custom_velocity"

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        rows: Rows,
        *,
        value: ArrayLike | Callable[[float], ArrayLike] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, name=name)
        if not callable(rows):
            raise ValueError(f"{self.label}: rows must be a function of two poses, got {rows!r}")
        self._function = rows
        self._value = value if value is None or callable(value) else _numbers(value, f"{self.label}: value").copy()

    def _measure_count(self, a: BodyPose, b: BodyPose) -> int:
        return len(self._rows(a, b))

    def check(self, a: BodyPose, b: BodyPose) -> None:
        """Check that the sizes of rows and values agree."""
        self._gap_and_gradient(a, b)
        what = f"{self.label}: value"
        finite(_numbers(self.value(0.0), what).reshape(-1), (self._count,), what)

    @property
    def _is_led(self) -> bool:
        """Whether a velocity other than zero is prescribed."""
        return callable(self._value) or bool(np.any(0.0 if self._value is None else self._value))

    def value(self, time: float) -> ArrayLike:
        """Return the prescribed value of A v at a time."""
        if self._value is None:
            return np.zeros(self._count)
        return self._value(time) if callable(self._value) else self._value

    def _gap_and_gradient(self, a: BodyPose, b: BodyPose) -> tuple[Array, Array]:
        """Zero gaps, and A."""
        return np.zeros(self._count), finite(self._rows(a, b), (self._count, 12), f"{self.label}: rows")

    def _rows(self, a: BodyPose, b: BodyPose) -> Array:
        rows = _numbers(self._function(a, b), f"{self.label}: rows")
        if rows.size % 12 or rows.size == 0:
            raise ValueError(f"{self.label}: its function must return (rows, 12) numbers, got shape {rows.shape}")
        return rows.reshape(-1, 12)

    def _forget(self, lost: Callable[..., ArrayLike]) -> None:
        """See GivenRows."""
        self._function, self._value = lost, None


def _numbers(value: ArrayLike, what: str) -> Array:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} must be numbers, got {value!r}") from None


@cache
def _probes(size: float) -> list[tuple[int, float, Array, Array | None]]:
    """Displacements for the differences: column, weight divided by step, translation, and rotation if any."""
    found = []
    for column in range(6):
        step = _STEP * (size if column < 3 else 1.0)
        for offset, weight in ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12)):
            way = np.zeros(6)
            way[column] = offset * step
            found.append((column, weight / step, way[:3], from_rotation_vector(way[3:]) if column >= 3 else None))
    return found
