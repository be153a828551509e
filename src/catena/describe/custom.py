"""Constraints that the user writes as Python functions: slower than the built-in ones, and as exact."""

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

# differences of fourth order, over this part of a radian or of the bodies' size
_STEP = 3e-4

# a given Jacobian may differ from differences by this much
_AGREES = 1e-6

MOST_ROWS = 6


class BodyPose(NamedTuple):
    """Where a body is: position (3,) m of its center of mass, orientation (4,) body to world; the world's is fixed."""

    position: Array
    orientation: Array

    def point(self, p: ArrayLike) -> Array:
        """Where the point p (3,) of the body's frame is in the world (m)."""
        return self.position + self.direction(p)

    def direction(self, v: ArrayLike) -> Array:
        """The vector v (3,) of the body's frame, in the world."""
        return rotate(self.orientation, np.asarray(v, dtype=float))


Rows: TypeAlias = Callable[[BodyPose, BodyPose], ArrayLike]


class GivenRows(Joint):
    """Rows between a and b from the user's functions. Coordinates (6,): as of Free."""

    dof = 6
    motion = np.eye(6)
    carries = False
    needs_place = False

    _count: int
    _size: float

    @property
    def row_count(self) -> int:
        """As many as the function returns."""
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
        """Refuse functions that contradict each other or return no numbers."""
        raise NotImplementedError

    def gap_and_gradient(self, a: BodyPose, b: BodyPose) -> tuple[Array, Array]:
        """Gaps (rows,) and gradients (rows, 12) against displacement and world turn of a, then of b."""
        raise NotImplementedError

    def forget(self, lost: Callable[..., ArrayLike]) -> None:
        """Put a function that says so in place of those that a file could not hold."""
        raise NotImplementedError

    def relative(self, coordinates: Array) -> Pose:
        """Shift, then turn by the rotation vector."""
        return coordinates[:3], from_rotation_vector(coordinates[3:])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Read the shift and the rotation vector."""
        return np.concatenate((translation, rotation_vector(quaternion)), axis=-1)


class Custom(GivenRows):
    """A constraint gap(pose_a, pose_b) = 0 of the user's own, one to six rows, in metres.

    `gap` takes two poses (`.position` (3,), `.orientation` (4,)) and returns the rows. `jacobian`, if given, returns
    (rows, 12): derivatives by the displacement of a (3), a's turn about world axes (3), and the same of b; it is
    checked against differences. Without it, differences are used.

    In a loop all its rows are asked for, whatever `loop_tolerance` says: those that the other joints say already must
    agree with them to rounding, or be left out of the function.
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
        """Compare the Jacobian with differences, here and at a turned pose, where mixed-up frames show."""
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
                    f"{self.label}: its jacobian says {given[worst]:.6g} in row {worst[0]}, column {worst[1]}, "
                    f"where differences of its gap give {by_differences[worst]:.6g}"
                )

    def _given(self, a: BodyPose, b: BodyPose) -> Array:
        assert self._jacobian is not None
        what = f"{self.label}: jacobian"
        return finite(np.atleast_2d(_numbers(self._jacobian(a, b), what)), (self._count, 12), what)

    def _differences(self, a: BodyPose, b: BodyPose, *, world: bool = True) -> Array:
        """Gradients (rows, 12); those of the world, which does not move, may be left out."""
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

    def gap_and_gradient(self, a: BodyPose, b: BodyPose) -> tuple[Array, Array]:
        """See the class."""
        return self._rows(a, b), self._differences(a, b, world=False) if self._jacobian is None else self._given(a, b)

    def forget(self, lost: Callable[..., ArrayLike]) -> None:
        """See GivenRows."""
        self._gap, self._jacobian = lost, None


class VelocityRows(GivenRows):
    """A constraint A(pose_a, pose_b) v = b(t) on velocities, of the user's own, one to six rows.

    `rows` takes two poses (`.position` (3,), `.orientation` (4,)) and returns A (rows, 12), which multiplies the
    velocity of a's center of mass (3), a's angular velocity (3), and the same of b, all in the world frame. `value` is
    b: numbers, or a function of time (s) that returns them; by default zero. Exact at the velocities of the nodes, and
    of the order of the run.
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
        """See that rows and values fit together."""
        self.gap_and_gradient(a, b)
        what = f"{self.label}: value"
        finite(_numbers(self.value(0.0), what).reshape(-1), (self._count,), what)

    @property
    def is_led(self) -> bool:
        """Whether it asks for velocities other than zero."""
        return callable(self._value) or bool(np.any(0.0 if self._value is None else self._value))

    def value(self, time: float) -> ArrayLike:
        """What A v is to be at an instant."""
        if self._value is None:
            return np.zeros(self._count)
        return self._value(time) if callable(self._value) else self._value

    def gap_and_gradient(self, a: BodyPose, b: BodyPose) -> tuple[Array, Array]:
        """A, and no gap."""
        return np.zeros(self._count), finite(self._rows(a, b), (self._count, 12), f"{self.label}: rows")

    def _rows(self, a: BodyPose, b: BodyPose) -> Array:
        rows = _numbers(self._function(a, b), f"{self.label}: rows")
        if rows.size % 12 or rows.size == 0:
            raise ValueError(f"{self.label}: its function must return (rows, 12) numbers, got shape {rows.shape}")
        return rows.reshape(-1, 12)

    def forget(self, lost: Callable[..., ArrayLike]) -> None:
        """See GivenRows."""
        self._function, self._value = lost, None


def _numbers(value: ArrayLike, what: str) -> Array:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} must be numbers, got {value!r}") from None


@cache
def _probes(size: float) -> list[tuple[int, float, Array, Array | None]]:
    """What differences move a pose by: column, weight over step, shift, and turn if there is one."""
    found = []
    for column in range(6):
        step = _STEP * (size if column < 3 else 1.0)
        for offset, weight in ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12)):
            way = np.zeros(6)
            way[column] = offset * step
            found.append((column, weight / step, way[:3], from_rotation_vector(way[3:]) if column >= 3 else None))
    return found
