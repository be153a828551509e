"""The standard joints: the motion that each allows, and its coordinates as functions of the relative pose.

Each class implements the interface in joint.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import (
    IDENTITY,
    Array,
    back,
    conjugate,
    cross,
    finite,
    from_matrix,
    from_rotation_vector,
    multiply,
    normalised,
    plain,
    rotation_vector,
    to_matrix,
    z_angle,
    z_to,
)
from .joint import Joint, Pose, about_z, into, same_frame

if TYPE_CHECKING:
    from .joint import BodyLike, BodyOrName


class AxisJoint(Joint):
    """A joint with an axis.

    `axis` is one vector, in the world frame with `at` or in the frame of a with `anchors`, or a pair of vectors in the
    frames of a and b. The coordinates are zero in the described pose. With a pair of vectors, they are zero after the
    smallest rotation of b that aligns the two vectors.
    """

    _axis: Array

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        *,
        axis: ArrayLike,
        at: ArrayLike | None = None,
        anchors: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, at=at, anchors=anchors, name=name)
        given = plain(axis, 3)
        if given is None:
            given = finite(axis, (2, 3) if np.ndim(axis) == 2 else (3,), f"{self.label}: axis")
        if not (any(given.tolist()) if given.ndim == 1 else all(map(any, given.tolist()))):
            raise ValueError(f"{self.label}: axis must not be zero")
        self.__dict__["_axis"] = normalised(given)

    def _resolve_frames(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        if self._axis.ndim == 1:
            axis_a = self._axis if self._at is None else back(a.orientation, self._axis)
            frame_a = z_to(axis_a)
            return frame_a, same_frame(a, b, frame_a)

        frame_a, onto = z_to(self._axis[0]), z_to(self._axis[1])
        angle = z_angle(multiply(conjugate(onto), same_frame(a, b, frame_a)))
        return frame_a, multiply(onto, about_z(angle))


class Revolute(AxisJoint):
    """A hinge: b rotates about the axis. Coordinate: angle (rad), including full turns; rate: rad/s."""

    code = "revolute"
    dof = 1
    motion = np.eye(6)[:, [5]]
    names = ("angle",)
    angles = (0,)

    def relative(self, coordinates: Array) -> Pose:
        """Rotate about z."""
        return np.zeros(3), about_z(coordinates[0])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the angle about z."""
        return z_angle(quaternion)[..., None]


class Prismatic(AxisJoint):
    """A slider: b translates along the axis without rotation. Coordinate: displacement (m); rate: m/s."""

    code = "prismatic"
    dof = 1
    motion = np.eye(6)[:, [2]]
    names = ("displacement",)

    def relative(self, coordinates: Array) -> Pose:
        """Translate along z."""
        return np.array((0.0, 0.0, coordinates[0])), np.array(IDENTITY)

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the displacement along z."""
        return translation[..., 2:]


class Cylindrical(AxisJoint):
    """A sleeve: b translates along the axis and rotates about it. Coordinates: displacement (m), angle (rad)."""

    code = "cylindrical"
    dof = 2
    motion = np.eye(6)[:, (2, 5)]
    names = ("displacement", "angle")
    angles = (1,)

    def relative(self, coordinates: Array) -> Pose:
        """Translate along z and rotate about z."""
        return np.array((0.0, 0.0, coordinates[0])), about_z(coordinates[1])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the displacement along z and the angle about z."""
        return np.concatenate((translation[..., 2:], z_angle(quaternion)[..., None]), axis=-1)


class Planar(AxisJoint):
    """b translates in the plane normal to the axis and rotates about the axis.

    Coordinates: two displacements in the plane along x and y of frame a (m), angle (rad).
    """

    code = "planar"
    dof = 3
    motion = np.eye(6)[:, (0, 1, 5)]
    names = ("x", "y", "angle")
    angles = (2,)

    def relative(self, coordinates: Array) -> Pose:
        """Translate in the plane and rotate about z."""
        return np.array((coordinates[0], coordinates[1], 0.0)), about_z(coordinates[2])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the displacements in the plane and the angle about z."""
        return np.concatenate((translation[..., :2], z_angle(quaternion)[..., None]), axis=-1)


class Screw(AxisJoint):
    """A nut on a thread: b rotates about the axis and translates along it by `pitch` (m) per turn.

    Coordinate: angle (rad), including full turns; rate: rad/s.
    """

    code = "screw"
    dof = 1
    names = ("angle",)

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        *,
        axis: ArrayLike,
        pitch: float,
        at: ArrayLike | None = None,
        anchors: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, axis=axis, at=at, anchors=anchors, name=name)
        per_turn = float(finite(pitch, (), f"{self.label}: pitch"))
        if per_turn == 0:
            raise ValueError(f"{self.label}: pitch must not be zero; use Revolute for a rotation without translation")
        self.parameter = per_turn / (2 * np.pi)

    def relative(self, coordinates: Array) -> Pose:
        """Rotate about z and translate along z in proportion."""
        return np.array((0.0, 0.0, self.parameter * coordinates[0])), about_z(coordinates[0])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the angle about z; the displacement gives the number of full turns."""
        angle = z_angle(quaternion)
        turns = np.round((translation[..., 2] / self.parameter - angle) / (2 * np.pi))
        return (angle + 2 * np.pi * turns)[..., None]

    def twist(self, rates: Array, coordinates: Array) -> tuple[Array, Array]:
        """Translate and rotate together."""
        return np.array((0.0, 0.0, self.parameter * rates[0])), np.array((0.0, 0.0, rates[0]))

    def rates_of(self, velocity: Array, angular_velocity: Array, coordinates: Array) -> Array:
        """Return the angular velocity about z."""
        return angular_velocity[..., 2:]


class CrossedJoint(Joint):
    """A joint with two perpendicular axes.

    `axes` are two directions, in the world frame with `at` or in the frame of a with `anchors`.
    """

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        *,
        axes: ArrayLike,
        at: ArrayLike | None = None,
        anchors: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, at=at, anchors=anchors, name=name)
        self._axes = finite(axes, (2, 3), f"{self.label}: axes")
        length = np.linalg.norm(self._axes, axis=-1, keepdims=True)
        if not length.all():
            raise ValueError(f"{self.label}: axes must not be zero")
        self._axes /= length
        if abs(self._axes[0] @ self._axes[1]) > 1e-9:
            raise ValueError(f"{self.label}: axes must be perpendicular in the described pose")

    def _resolve_frames(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        first, second = self._axes if self._at is None else (back(a.orientation, axis) for axis in self._axes)
        frame_a = from_matrix(np.stack(self._columns(first, second), axis=1))
        return frame_a, same_frame(a, b, frame_a)

    @staticmethod
    def _columns(first: Array, second: Array) -> tuple[Array, Array, Array]:
        """Axes of the joint frame, as columns."""
        return first, second, cross(first, second)


class PinInSlot(CrossedJoint):
    """A pin on b in a slot of a.

    b translates along the first of `axes`, which is fixed in a, and rotates about the second. Coordinates: x (m) along
    the slot, angle (rad) about the pin, including full turns; rates: m/s, rad/s.
    """

    code = "pin_in_slot"
    dof = 2
    motion = np.eye(6)[:, (0, 5)]
    names = ("x", "angle")
    angles = (1,)

    @staticmethod
    def _columns(first: Array, second: Array) -> tuple[Array, Array, Array]:
        return first, cross(second, first), second

    def relative(self, coordinates: Array) -> Pose:
        """Translate along x and rotate about z."""
        return np.array((coordinates[0], 0.0, 0.0)), about_z(coordinates[1])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the displacement along x and the angle about z."""
        return np.concatenate((translation[..., :1], z_angle(quaternion)[..., None]), axis=-1)


class Universal(CrossedJoint):
    """A universal joint (Cardan or Hooke joint): two perpendicular axes, one fixed in a and the other fixed in b.

    Coordinates: the two angles (rad), zero in the described pose; rates: rad/s.
    """

    code = "universal"
    dof = 2
    names = ("first", "second")
    angles = (0, 1)

    def relative(self, coordinates: Array) -> Pose:
        """Rotate about x, then about the rotated y."""
        first = from_rotation_vector((coordinates[0], 0.0, 0.0))
        return np.zeros(3), multiply(first, from_rotation_vector((0.0, coordinates[1], 0.0)))

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the two angles, computed from the rotated axes."""
        m = to_matrix(quaternion)
        first = np.arctan2(m[..., 2, 1], m[..., 1, 1])
        return np.stack((first, np.arctan2(m[..., 0, 2], m[..., 0, 0])), axis=-1)

    def _directions(self, coordinates: Array) -> tuple[Array, Array]:
        """The two axes in frame a."""
        angle = coordinates[..., 0]
        none = np.zeros_like(angle)
        return np.stack((none + 1, none, none), axis=-1), np.stack((none, np.cos(angle), np.sin(angle)), axis=-1)

    def twist(self, rates: Array, coordinates: Array) -> tuple[Array, Array]:
        """Rotate about the current directions of both axes."""
        x, y = self._directions(coordinates)
        return np.zeros(3), rates[0] * x + rates[1] * y

    def rates_of(self, velocity: Array, angular_velocity: Array, coordinates: Array) -> Array:
        """Return the components of the angular velocity along both axes."""
        x, y = self._directions(coordinates)
        return np.stack((np.sum(angular_velocity * x, axis=-1), np.sum(angular_velocity * y, axis=-1)), axis=-1)


class Ball(Joint):
    """A ball-and-socket joint.

    Coordinates: rotation vector (3,) of frame b in frame a (rad); rates: angular velocity (3,) in frame a (rad/s).
    """

    code = "ball"
    turns = ("swing", "twist", "rotation")
    dof = 3
    motion = np.eye(6)[:, 3:]

    def relative(self, coordinates: Array) -> Pose:
        """Rotate by the rotation vector."""
        return np.zeros(3), from_rotation_vector(coordinates)

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the rotation vector."""
        return rotation_vector(quaternion)


class Fixed(Joint):
    """A rigid connection. The default location is the center of mass of b, or of a if b is the world."""

    code = "fixed"
    _needs_place = False

    def relative(self, coordinates: Array) -> Pose:
        """Return the identity."""
        return np.zeros(3), np.array(IDENTITY)

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return no coordinates."""
        return np.zeros((*translation.shape[:-1], 0))

    def _resolve_anchors(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        if self._at is None and self._anchors is None:
            center = (a if b.is_world else b).position
            return into(a, center), into(b, center)
        return super()._resolve_anchors(a, b)


class Free(Joint):
    """A joint without constraints: it only defines the coordinates of b relative to a.

    Coordinates (6,): translation (m), then rotation vector (rad), of frame b in frame a. Without `at` and `anchors`,
    the joint frames are the body frames, so the coordinates are the pose of b in a.
    """

    code = "free"
    dof = 6
    _carries = False
    motion = np.eye(6)
    _needs_place = False

    def relative(self, coordinates: Array) -> Pose:
        """Translate, then rotate by the rotation vector."""
        return coordinates[:3], from_rotation_vector(coordinates[3:])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Return the translation and the rotation vector."""
        return np.concatenate((translation, rotation_vector(quaternion)), axis=-1)

    def _resolve_anchors(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        if self._at is None and self._anchors is None:
            return np.zeros(3), np.zeros(3)
        return super()._resolve_anchors(a, b)

    def _resolve_frames(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        if self._at is None and self._anchors is None:
            return np.array(IDENTITY), np.array(IDENTITY)
        return super()._resolve_frames(a, b)
