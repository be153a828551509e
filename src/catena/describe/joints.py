"""The joints there are: what each lets move, and how its coordinates are read off a pose.

They fill the form of joint.py.
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

    `axis` is one vector, in the world with `at` and in the frame of a with `anchors`, or a pair of vectors in
    the frames of a and b. The coordinates are zero in the described pose; with a pair, after the smallest
    turn of b that lines up the two.
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
    """A hinge: turns about its axis. Coordinate: angle (rad), turns counted; rate: rad/s."""

    code = "revolute"
    dof = 1
    motion = np.eye(6)[:, [5]]
    names = ("angle",)
    angles = (0,)

    def relative(self, coordinates: Array) -> Pose:
        """Turn about z."""
        return np.zeros(3), about_z(coordinates[0])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Read the angle about z."""
        return z_angle(quaternion)[..., None]


class Prismatic(AxisJoint):
    """A slider: moves along its axis without turning. Coordinate: displacement (m); rate: m/s."""

    code = "prismatic"
    dof = 1
    motion = np.eye(6)[:, [2]]
    names = ("displacement",)

    def relative(self, coordinates: Array) -> Pose:
        """Shift along z."""
        return np.array((0.0, 0.0, coordinates[0])), np.array(IDENTITY)

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Read the shift along z."""
        return translation[..., 2:]


class Cylindrical(AxisJoint):
    """A sleeve: slides along its axis and turns about it. Coordinates: displacement (m), angle (rad)."""

    code = "cylindrical"
    dof = 2
    motion = np.eye(6)[:, (2, 5)]
    names = ("displacement", "angle")
    angles = (1,)

    def relative(self, coordinates: Array) -> Pose:
        """Slide along z and turn about it."""
        return np.array((0.0, 0.0, coordinates[0])), about_z(coordinates[1])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Read the displacement along z and the angle about it."""
        return np.concatenate((translation[..., 2:], z_angle(quaternion)[..., None]), axis=-1)


class Planar(AxisJoint):
    """Slides in the plane normal to its axis and turns about the axis.

    Coordinates: two displacements in the plane along the axes of frame a (m), angle (rad).
    """

    code = "planar"
    dof = 3
    motion = np.eye(6)[:, (0, 1, 5)]
    names = ("x", "y", "angle")
    angles = (2,)

    def relative(self, coordinates: Array) -> Pose:
        """Slide in the plane and turn about z."""
        return np.array((coordinates[0], coordinates[1], 0.0)), about_z(coordinates[2])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Read the place in the plane and the angle about z."""
        return np.concatenate((translation[..., :2], z_angle(quaternion)[..., None]), axis=-1)


class Screw(AxisJoint):
    """A nut on a thread: turns about its axis and slides along it by `pitch` (m) a turn. Coordinate: angle (rad)."""

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
            raise ValueError(f"{self.label}: pitch must not be zero; a Revolute turns without sliding")
        self.parameter = per_turn / (2 * np.pi)

    def relative(self, coordinates: Array) -> Pose:
        """Turn about z and slide along it."""
        return np.array((0.0, 0.0, self.parameter * coordinates[0])), about_z(coordinates[0])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Read the angle about z, turns counted by the displacement."""
        angle = z_angle(quaternion)
        turns = np.round((translation[..., 2] / self.parameter - angle) / (2 * np.pi))
        return (angle + 2 * np.pi * turns)[..., None]

    def twist(self, rates: Array, coordinates: Array) -> tuple[Array, Array]:
        """Slide and turn together."""
        return np.array((0.0, 0.0, self.parameter * rates[0])), np.array((0.0, 0.0, rates[0]))

    def rates_of(self, velocity: Array, angular_velocity: Array, coordinates: Array) -> Array:
        """Read the angular velocity about z."""
        return angular_velocity[..., 2:]


class CrossedJoint(Joint):
    """A joint with two axes at right angles.

    `axes` are two world directions with `at`, two directions in the frame of a with `anchors`.
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
            raise ValueError(f"{self.label}: axes must be at right angles in the described pose")

    def _resolve_frames(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        first, second = self._axes if self._at is None else (back(a.orientation, axis) for axis in self._axes)
        frame_a = from_matrix(np.stack(self._columns(first, second), axis=1))
        return frame_a, same_frame(a, b, frame_a)

    @staticmethod
    def _columns(first: Array, second: Array) -> tuple[Array, Array, Array]:
        """Axes of the joint frame, as columns."""
        return first, second, cross(first, second)


class PinInSlot(CrossedJoint):
    """A pin on b in a slot of a: slides along the first of `axes`, fixed in a, and turns about the second.

    Coordinates: x (m) along the slot, angle (rad) about the pin, turns counted; rates: m/s, rad/s.
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
        """Slide along x and turn about z."""
        return np.array((coordinates[0], 0.0, 0.0)), about_z(coordinates[1])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Read the place along x and the angle about z."""
        return np.concatenate((translation[..., :1], z_angle(quaternion)[..., None]), axis=-1)


class Universal(CrossedJoint):
    """A cross joint (Hooke): turns about one axis fixed in a and one fixed in b, at right angles.

    Coordinates: the two angles (rad), zero in the described pose; rates: rad/s.
    """

    code = "universal"
    dof = 2
    names = ("first", "second")
    angles = (0, 1)

    def relative(self, coordinates: Array) -> Pose:
        """Turn about x, then about the turned y."""
        first = from_rotation_vector((coordinates[0], 0.0, 0.0))
        return np.zeros(3), multiply(first, from_rotation_vector((0.0, coordinates[1], 0.0)))

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Read the two angles off the turned axes."""
        m = to_matrix(quaternion)
        first = np.arctan2(m[..., 2, 1], m[..., 1, 1])
        return np.stack((first, np.arctan2(m[..., 0, 2], m[..., 0, 0])), axis=-1)

    def _directions(self, coordinates: Array) -> tuple[Array, Array]:
        """The two axes in frame a."""
        angle = coordinates[..., 0]
        none = np.zeros_like(angle)
        return np.stack((none + 1, none, none), axis=-1), np.stack((none, np.cos(angle), np.sin(angle)), axis=-1)

    def twist(self, rates: Array, coordinates: Array) -> tuple[Array, Array]:
        """Turn about both axes as they stand."""
        x, y = self._directions(coordinates)
        return np.zeros(3), rates[0] * x + rates[1] * y

    def rates_of(self, velocity: Array, angular_velocity: Array, coordinates: Array) -> Array:
        """Read the angular velocity along both axes."""
        x, y = self._directions(coordinates)
        return np.stack((np.sum(angular_velocity * x, axis=-1), np.sum(angular_velocity * y, axis=-1)), axis=-1)


class Ball(Joint):
    """A ball and socket.

    Coordinates: rotation vector (3,) of frame b in frame a (rad); rates: angular velocity (3,) in frame a.
    """

    code = "ball"
    dof = 3
    motion = np.eye(6)[:, 3:]

    def relative(self, coordinates: Array) -> Pose:
        """Turn by the rotation vector."""
        return np.zeros(3), from_rotation_vector(coordinates)

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Read the rotation vector."""
        return rotation_vector(quaternion)


class Fixed(Joint):
    """A weld. Without `at` and `anchors` it sits at the center of mass of b, or of a if b is the world."""

    code = "fixed"
    needs_place = False

    def relative(self, coordinates: Array) -> Pose:
        """Stay where the frames coincide."""
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
    """No constraint, only coordinates (6,): translation (m), then rotation vector (rad), of b in a.

    Without `at` and `anchors` the frames are the body frames themselves, so the coordinates are the pose of b
    in a.
    """

    code = "free"
    dof = 6
    carries = False
    motion = np.eye(6)
    needs_place = False

    def relative(self, coordinates: Array) -> Pose:
        """Shift, then turn by the rotation vector."""
        return coordinates[:3], from_rotation_vector(coordinates[3:])

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Read the shift and the rotation vector."""
        return np.concatenate((translation, rotation_vector(quaternion)), axis=-1)

    def _resolve_anchors(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        if self._at is None and self._anchors is None:
            return np.zeros(3), np.zeros(3)
        return super()._resolve_anchors(a, b)

    def _resolve_frames(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        if self._at is None and self._anchors is None:
            return np.array(IDENTITY), np.array(IDENTITY)
        return super()._resolve_frames(a, b)
