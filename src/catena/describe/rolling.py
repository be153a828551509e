"""Rolling bodies and blades: nonholonomic constraints, which restrict velocities but not the reachable poses.

They implement the interface in joint.py for the constraint on the pose, which is a height. The constraint on the
velocity is not a coordinate. The plane belongs to body a, which may be the world or a moving body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import (
    Array,
    conjugate,
    cross,
    finite,
    from_matrix,
    from_rotation_vector,
    multiply,
    rotate,
    rotation_vector,
    to_matrix,
    z_to,
)
from .joint import Joint, Pose, into

if TYPE_CHECKING:
    from .joint import BodyLike, BodyOrName


class _Rolling(Joint):
    """A body that rolls on a plane of a; `at` is a world point of the plane, `normal` its world direction, toward b.

    Coordinates (5,): position of b's center in the plane (m), then rotation vector (rad) of frame b in frame a.
    """

    has_size = True
    dof = 5
    motion = np.zeros((6, 5))
    _carries = False

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        *,
        radius: float,
        at: ArrayLike = (0.0, 0.0, 0.0),
        normal: ArrayLike = (0.0, 0.0, 1.0),
        center: ArrayLike = (0.0, 0.0, 0.0),
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, at=at, name=name)
        size = float(finite(radius, (), f"{self.label}: radius"))
        if size <= 0:
            raise ValueError(f"{self.label}: radius must be positive, got {radius}")
        self.parameter = size
        self._normal = _direction(normal, f"{self.label}: normal")
        self._center = finite(center, (3,), f"{self.label}: center")

    def _resolve_anchors(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        assert self._at is not None
        return into(a, self._at), self._center

    def _axis_b(self, b: BodyLike) -> Array:
        """Axis of the rolling body, in b's frame."""
        return np.array((0.0, 0.0, 1.0))

    def _resolve_frames(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        return z_to(rotate(conjugate(a.orientation), self._normal)), z_to(self._axis_b(b))

    def _height(self, quaternion: Array) -> Array:
        """Height of the center above the plane."""
        raise NotImplementedError

    def relative(self, coordinates: Array) -> Pose:
        """Return the pose in which the body touches the plane."""
        turn = from_rotation_vector(coordinates[2:])
        return np.array((coordinates[0], coordinates[1], self._height(turn))), turn

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the position in the plane and the rotation vector."""
        return np.concatenate((translation[..., :2], rotation_vector(quaternion)), axis=-1)

    def rates_of(self, velocity: Array, angular_velocity: Array, coordinates: Array) -> Array:
        """Return the velocity in the plane and the angular velocity."""
        return np.concatenate((velocity[..., :2], angular_velocity), axis=-1)


class RollingBall(_Rolling):
    """A ball of the given radius (m) that rolls without slipping on a plane of a.

    `at` is a world point of the plane, `normal` its world direction toward b, and `center` the center of the ball in
    b's frame. Coordinates (5,): position of the center in the plane (m), then rotation vector (rad) of frame b in frame
    a.
    """

    code = "rolling_ball"

    def _height(self, quaternion: Array) -> Array:
        return np.full(quaternion.shape[:-1], self.parameter)

    def twist(self, rates: Array, coordinates: Array) -> tuple[Array, Array]:
        """Move along the plane, and rotate."""
        return np.array((rates[0], rates[1], 0.0)), rates[2:]


class RollingDisk(_Rolling):
    """A thin disk of the given radius (m) whose rim rolls without slipping on a plane of a.

    `axis` and `center` of the disk are in b's frame; `at` is a world point of the plane, `normal` its world direction
    toward b. A disk that lies flat has no lowest point: a run ends when the disk is within three degrees of the plane.
    Coordinates (5,): position of the center in the plane (m), then rotation vector (rad) of frame b in frame a.
    """

    code = "rolling_disk"

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        *,
        radius: float,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        at: ArrayLike = (0.0, 0.0, 0.0),
        normal: ArrayLike = (0.0, 0.0, 1.0),
        center: ArrayLike = (0.0, 0.0, 0.0),
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, radius=radius, at=at, normal=normal, center=center, name=name)
        self._axis = _direction(axis, f"{self.label}: axis")

    def _axis_b(self, b: BodyLike) -> Array:
        return self._axis

    def _height(self, quaternion: Array) -> Array:
        tilt = to_matrix(quaternion)[..., 2, 2]
        height: Array = self.parameter * np.sqrt(np.maximum(1 - tilt**2, 0.0))
        return height

    def twist(self, rates: Array, coordinates: Array) -> tuple[Array, Array]:
        """Move along the plane and rotate; the height of the center follows from the tilt."""
        axis = rotate(from_rotation_vector(coordinates[2:]), np.array((0.0, 0.0, 1.0)))
        across = np.sqrt(1 - axis[2] ** 2)
        rise = -self.parameter * axis[2] * cross(rates[2:], axis)[2] / across if across > 0 else 0.0
        return np.array((rates[0], rates[1], rise)), rates[2:]


class KnifeEdge(Joint):
    """A blade or skate on b: relative to a, its point does not move perpendicular to the blade.

    `at` is the world point of the blade, `along` its world direction, and `normal` the direction away from the plane on
    which it slides. The constraint restricts one velocity and no height: add a Planar joint if b must stay on a plane.
    Coordinates (6,): as for Free.
    """

    code = "knife_edge"
    dof = 6
    motion = np.eye(6)
    _carries = False

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        *,
        at: ArrayLike,
        along: ArrayLike,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, at=at, name=name)
        self._along = _direction(along, f"{self.label}: along")
        across = cross(_direction(normal, f"{self.label}: normal"), self._along)
        if np.linalg.norm(across) < 1e-6:
            raise ValueError(f"{self.label}: along must not be parallel to normal")
        self._across = across / np.linalg.norm(across)

    def _resolve_frames(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        # x along the blade, y across it
        world = from_matrix(np.stack((self._along, self._across, cross(self._along, self._across)), axis=1))
        return multiply(conjugate(a.orientation), world), multiply(conjugate(b.orientation), world)

    def relative(self, coordinates: Array) -> Pose:
        """Translate, then rotate by the rotation vector."""
        return coordinates[:3], from_rotation_vector(coordinates[3:])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the translation and the rotation vector."""
        return np.concatenate((translation, rotation_vector(quaternion)), axis=-1)


def _direction(value: ArrayLike, what: str) -> Array:
    vector = finite(value, (3,), what)
    length = np.linalg.norm(vector)
    if length == 0:
        raise ValueError(f"{what} must not be zero")
    unit: Array = vector / length
    return unit
