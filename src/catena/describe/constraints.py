"""Constraints that cannot carry a body in the tree: points on lines and planes, rods, directions.

They implement the interface in joint.py. They close loops, or connect floating bodies.
"""

from __future__ import annotations

from math import dist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import IDENTITY, Array, finite, from_rotation_vector, multiply, rotate, rotation_vector, z_angle
from .joint import Joint, Pose, about_z, into
from .joints import AxisJoint

if TYPE_CHECKING:
    from .joint import BodyLike, BodyOrName


class PointOnLine(AxisJoint):
    """A joint that keeps b's point on the line through a's point along the axis; b rotates freely.

    Coordinates (4,): displacement along the line (m), then rotation vector (rad) of frame b in frame a.
    """

    code = "in_line"
    dof = 4
    motion = np.eye(6)[:, 2:]
    _carries = False

    def relative(self, coordinates: Array) -> Pose:
        """Translate along z, then rotate."""
        return np.array((0.0, 0.0, coordinates[0])), from_rotation_vector(coordinates[1:])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the displacement along z and the rotation vector."""
        return np.concatenate((translation[..., 2:], rotation_vector(quaternion)), axis=-1)


class PointOnPlane(AxisJoint):
    """A joint that keeps b's point in the plane through a's point normal to the axis; b rotates freely.

    Coordinates (5,): displacements in the plane (m), then rotation vector (rad) of frame b in frame a.
    """

    code = "in_plane"
    dof = 5
    motion = np.eye(6)[:, (0, 1, 3, 4, 5)]
    _carries = False

    def relative(self, coordinates: Array) -> Pose:
        """Translate in the plane, then rotate."""
        return np.array((coordinates[0], coordinates[1], 0.0)), from_rotation_vector(coordinates[2:])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the displacements in the plane and the rotation vector."""
        return np.concatenate((translation[..., :2], rotation_vector(quaternion)), axis=-1)


class Distance(Joint):
    """A massless rod: keeps the distance (m) between a point of a and a point of b.

    Give either `points`, two world points in the described pose, or `anchors`, two points in the body frames. The
    default `length` is their distance in the described pose. Coordinates (5,): azimuth and elevation (rad) of the rod
    in frame a, then rotation vector (rad) of frame b in frame a.
    """

    code = "distance"
    has_size = True
    dof = 5
    motion = np.zeros((6, 5))
    _carries = False
    _needs_place = False

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        *,
        points: ArrayLike | None = None,
        anchors: ArrayLike | None = None,
        length: float | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, anchors=anchors, name=name)
        if (points is None) == (anchors is None):
            raise ValueError(
                f"{self.label}: give points= (two world points) or anchors= (two points in the body frames)"
            )
        self._points = None if points is None else finite(points, (2, 3), f"{self.label}: points")
        self._length = None if length is None else float(finite(length, (), f"{self.label}: length"))

    def _resolve_anchors(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        if self._points is not None:
            anchor_a, anchor_b = into(a, self._points[0]), into(b, self._points[1])
        else:
            anchor_a, anchor_b = super()._resolve_anchors(a, b)
        ends = [body.position + rotate(body.orientation, p) for body, p in ((a, anchor_a), (b, anchor_b))]
        length = dist(*ends) if self._length is None else self._length
        if length <= 0:
            raise ValueError(f"{self.label}: the two points must not coincide; use Ball to keep two points together")
        self.parameter = length
        return anchor_a, anchor_b

    def relative(self, coordinates: Array) -> Pose:
        """Move to the end of the rod, and rotate."""
        return self.parameter * self._along(coordinates)[0], from_rotation_vector(coordinates[2:])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the direction of the rod and the rotation vector."""
        x, y, z = translation[..., 0], translation[..., 1], translation[..., 2]
        angles = np.stack((np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))), axis=-1)
        return np.concatenate((angles, rotation_vector(quaternion)), axis=-1)

    def _along(self, coordinates: Array) -> tuple[Array, Array, Array]:
        """Unit vector along the rod, and its derivatives with respect to azimuth and elevation."""
        azimuth, elevation = coordinates[..., 0], coordinates[..., 1]
        c, s, ce, se = np.cos(azimuth), np.sin(azimuth), np.cos(elevation), np.sin(elevation)
        none = np.zeros_like(c)
        return (
            np.stack((ce * c, ce * s, se), axis=-1),
            np.stack((-ce * s, ce * c, none), axis=-1),
            np.stack((-se * c, -se * s, ce), axis=-1),
        )

    def twist(self, rates: Array, coordinates: Array) -> tuple[Array, Array]:
        """Rotate the rod, and rotate b."""
        _, by_azimuth, by_elevation = self._along(coordinates)
        return self.parameter * (rates[0] * by_azimuth + rates[1] * by_elevation), rates[2:]

    def rates_of(self, velocity: Array, angular_velocity: Array, coordinates: Array) -> Array:
        """Return the rates of the rod's direction and the angular velocity."""
        _, by_azimuth, by_elevation = self._along(coordinates)
        across = np.sum(by_azimuth * by_azimuth, axis=-1)
        azimuth = np.sum(velocity * by_azimuth, axis=-1) / (self.parameter * np.where(across > 0, across, 1.0))
        elevation = np.sum(velocity * by_elevation, axis=-1) / self.parameter
        return np.concatenate((np.stack((azimuth, elevation), axis=-1), angular_velocity), axis=-1)


class ConstantVelocity(AxisJoint):
    """A constant-velocity joint: the axes may bend in any direction, and the shafts rotate at equal speed.

    It keeps the two points together and the twist about the axes zero. Coordinates (2,): rotation vector (rad) of frame
    b in frame a, perpendicular to the axis; rates (2,): angular velocity perpendicular to a's axis (rad/s).
    """

    code = "constant_velocity"
    dof = 2
    motion = np.eye(6)[:, (3, 4)]
    _carries = False

    def relative(self, coordinates: Array) -> Pose:
        """Bend without twist."""
        return np.zeros(3), from_rotation_vector((coordinates[0], coordinates[1], 0.0))

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the bend that remains after the twist is removed."""
        angle = z_angle(quaternion)
        half = -0.5 * angle
        none = np.zeros_like(half)
        untwist = np.stack((np.cos(half), none, none, np.sin(half)), axis=-1)
        return rotation_vector(multiply(quaternion, untwist))[..., :2]

    def twist(self, rates: Array, coordinates: Array) -> tuple[Array, Array]:
        """Return the bending rate, and the rotation about a's axis that keeps the twist zero at the current bend."""
        w, x, y, _ = from_rotation_vector((coordinates[0], coordinates[1], 0.0))
        return np.zeros(3), np.array((rates[0], rates[1], (rates[1] * x - rates[0] * y) / w))


class ParallelAxes(AxisJoint):
    """A joint that keeps the axis of b parallel to that of a; b translates freely and rotates about the axis.

    Coordinates (4,): translation (m) of b's point in frame a, then angle (rad) about the axis.
    """

    code = "parallel"
    dof = 4
    motion = np.eye(6)[:, (0, 1, 2, 5)]
    angles = (3,)
    _carries = False

    def relative(self, coordinates: Array) -> Pose:
        """Translate, and rotate about z."""
        return coordinates[:3], about_z(coordinates[3])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the translation and the angle about z."""
        return np.concatenate((translation, z_angle(quaternion)[..., None]), axis=-1)


class FixedOrientation(Joint):
    """A joint that prevents rotation of b relative to a; b translates freely.

    Coordinates (3,): translation (m) of b's point in frame a.
    """

    code = "orientation"
    dof = 3
    motion = np.eye(6)[:, :3]
    _carries = False
    _needs_place = False

    def relative(self, coordinates: Array) -> Pose:
        """Translate without rotation."""
        return coordinates, np.array(IDENTITY)

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the translation."""
        return translation

    def _resolve_anchors(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        if self._at is None and self._anchors is None:
            return np.zeros(3), np.zeros(3)
        return super()._resolve_anchors(a, b)
