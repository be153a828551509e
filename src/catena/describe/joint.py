"""The interface of all joints: the joint frames on two bodies, and the relative motion that a joint allows.

A joint has one frame on each body: an anchor point and a quaternion, both in the body frame. The joint axis is the z
axis of this frame. The pose of frame b in frame a is a translation t (3,) and a quaternion q (4,). The joint allows the
poses (t, q) = relative(coordinates); all coordinates are zero where the frames coincide. The relative twist is the
velocity of b's anchor point as seen from the rotating frame a, and the angular velocity of b relative to a, both in
frame a.

A new joint type (joints.py) defines code, dof, motion, names and angles, and implements `relative` and
`coordinates_of`. `coordinates_of` takes any pose, whether the joint allows it or not, and returns the coordinates of
the nearest allowed pose. Gap and misalignment follow from that. The functions coordinates_of, rates_of and measure
broadcast over leading axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import dist, hypot
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._util.checks import doubt_degrees
from .._util.rotation import (
    IDENTITY,
    Array,
    between,
    conjugate,
    cross,
    finite,
    multiply,
    normalised,
    plain,
    rotate,
    rotation_vector,
    seen_from,
    unit_quaternion,
)
from .._util.strict import Named
from .limits import Limits, check_turn
from .signals import rate

if TYPE_CHECKING:
    from .bodies import Body, World

    BodyLike: TypeAlias = Body | World
    BodyOrName: TypeAlias = Body | World | str

Pose: TypeAlias = tuple[Array, Array]

# position, orientation, velocity and angular velocity of a body, in the world frame
Motion: TypeAlias = tuple[Array, Array, Array, Array]

# time (s) to displacement (3,), or to displacement and quaternion
Ground: TypeAlias = Callable[[float], "ArrayLike | tuple[ArrayLike, ArrayLike]"]


@dataclass(frozen=True)
class Form:
    """A joint type in the core: its code, which of its rows are lengths (the others are angles), its coordinates."""

    code: int
    lengths: NDArray[np.bool_]
    coordinate_count: int  # 0 for joints whose rows are Python functions


FORMS = {
    name: Form(code, np.array(lengths, dtype=bool), coordinates)
    for code, (name, lengths, coordinates) in enumerate(_core.joint_forms())
}


_PLACES = frozenset(("anchor_a", "anchor_b", "frame_a", "frame_b"))


class Joint(Named):
    """A joint between bodies a and b, either of which may be the world.

    Give either `at`, a world point (m) in the described pose, or `anchors`, two points (m) in the frames of a and b.
    `Mechanism.add_joint` computes `anchor_a`, `anchor_b` (3,) and `frame_a`, `frame_b` (4,) in the frames of the two
    bodies. You can assign these attributes; the value is checked and copied.
    """

    _kind = "joint"

    code: ClassVar[str] = ""
    """Kind of joint in lower case."""
    dof: ClassVar[int] = 0
    """Number of coordinates."""
    motion: ClassVar[Array] = np.zeros((6, 0))
    """Twist (velocity, angular velocity) per unit rate, (6, dof), orthonormal columns."""
    names: ClassVar[tuple[str, ...]] = ()
    """Names of the coordinates on which forces and couplings can act; "" for a coordinate without a name."""
    angles: ClassVar[tuple[int, ...]] = ()
    """Indices of the coordinates that are angles with counted turns."""
    _carries: ClassVar[bool] = True
    """Whether the joint can be a branch of the tree; otherwise b floats and the joint is a closure."""
    _needs_place: ClassVar[bool] = True
    """Whether `at` or `anchors` is required."""

    has_size: ClassVar[bool] = False
    """Whether `parameter` is a length that must be positive."""

    _a: BodyOrName
    _b: BodyOrName
    _at: Array | None
    _anchors: Array | None
    _parameter: float = 0.0
    _ground: Ground | None = None
    turns: ClassVar[tuple[str, ...]] = ()
    """Names of what has limits besides the coordinates."""

    _limits: Mapping[str, Limits] = MappingProxyType({})  # replaced, never changed: copies share it
    _closes_loop: bool = False

    anchor_a: Array
    anchor_b: Array
    frame_a: Array
    frame_b: Array

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        *,
        at: ArrayLike | None = None,
        anchors: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        self.__dict__.update(_a=a, _b=b, named=name is not None)
        if name is None:
            self.__dict__["_name"] = f"{_name(a)}-{_name(b)}"
        else:
            self.name = name
        if a is b or ((isinstance(a, str) or isinstance(b, str)) and _name(a) == _name(b)):
            raise ValueError(f"{self.label} joins {_name(a)!r} to itself")
        if at is not None and anchors is not None:
            raise ValueError(f"{self.label}: give at= or anchors=, not both")
        if at is None and anchors is None and self._needs_place:
            raise ValueError(f"{self.label}: give at= (a world point) or anchors= (a point in each body's frame)")
        place = None if at is None else plain(at, 3)
        if at is not None and place is None:
            place = finite(at, (3,), f"{self.label}: at")
        both = None if anchors is None else finite(anchors, (2, 3), f"{self.label}: anchors")
        self.__dict__.update(_at=place, _anchors=both)

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return f"{self.code} joint {self.name!r}"

    @property
    def a(self) -> BodyLike:
        """First body."""
        return self._body(self._a)

    @property
    def b(self) -> BodyLike:
        """Second body."""
        return self._body(self._b)

    @property
    def _added(self) -> bool:
        """Whether the joint is part of a mechanism."""
        return "frame_b" in self.__dict__

    @property
    def parameter(self) -> float:
        """Parameter of the joint: pitch of a screw (m/rad), length of a rod (m), radius of a rolling body (m)."""
        return self._parameter

    @parameter.setter
    def parameter(self, value: float) -> None:
        number = float(finite(value, (), f"{self.label}: parameter"))
        if self.has_size and number <= 0:
            raise ValueError(f"{self.label}: parameter must be positive, got {value}")
        self._parameter = number

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PLACES:
            what = f"{self.label}: {name}"
            value = finite(value, (3,), what) if name[0] == "a" else unit_quaternion(value, (4,), what)
        super().__setattr__(name, value)

    @property
    def row_count(self) -> int:
        """Number of constraint rows, which is also the number of multipliers."""
        return len(FORMS[self.code].lengths)

    @property
    def has_coordinates(self) -> bool:
        """Whether the coordinates of this joint are among those of the mechanism.

        Only joints whose freedoms are rotations and translations have such coordinates.
        """
        return FORMS[self.code].coordinate_count > 0

    @property
    def coordinate_names(self) -> list[str]:
        """Names of the coordinates; the index of the coordinate where it has no name."""
        return [name or str(k) for k, name in enumerate(self.names or ("",) * self.dof)]

    @property
    def _is_branch(self) -> bool:
        """Whether the joint may be a branch of the spanning tree."""
        return self._carries and self._ground is None

    @property
    def ground(self) -> Ground | None:
        """Motion of the world side of the joint: a function of time (s), or None if the world side does not move.

        The function returns the displacement (3,) of the joint's world point from its described position (m), or a pair
        of this displacement and a quaternion: the rotation of the joint frame about that point.
        """
        return self._ground

    @ground.setter
    def ground(self, motion: Ground | None) -> None:
        if motion is not None and not callable(motion):
            raise ValueError(f"{self.label}: ground must be a function of time, got {motion!r}")
        if motion is not None and not (self._added and (self.a.is_world or self.b.is_world)):
            raise ValueError(
                f"{self.label}: ground can only be set for a joint to the world that has been added to a mechanism"
            )
        self._ground = motion

    @property
    def limits(self) -> Mapping[str, Limits]:
        """Limits by coordinate name: stops at both ends of the range, which every run enforces.

        Assign a mapping from coordinate names to `Limits`. For a joint with a single coordinate, or with a coordinate
        called "angle", you can assign one `Limits(...)`. A ball joint has limits of its "swing", the angle between the
        z axes of its two frames, of its "twist" about them, and of its whole "rotation".
        """
        return MappingProxyType(self._limits)

    @limits.setter
    def limits(self, value: Limits | Mapping[str, Limits]) -> None:
        if isinstance(value, Limits):
            only = self.names[0] if len(self.names) == 1 else "angle"
            value = {only: value}
        if not isinstance(value, Mapping) or not all(isinstance(found, Limits) for found in value.values()):
            raise ValueError(
                f"{self.label}: limits must be Limits(...), or a mapping from coordinate names to Limits, got {value!r}"
            )
        for name, limits in value.items():
            if name in self.turns:
                check_turn(limits, name, self.label)
            elif name not in self.names:
                known = " and ".join(map(repr, (*filter(None, self.names), *self.turns))) or "none"
                raise ValueError(f"{self.label} has no coordinate {name!r}; its named coordinates: {known}")
            if name in self.turns or self.names.index(name) in self.angles:
                doubt_degrees((limits.lower, limits.upper), f"{self.label}: a limit")
        self._limits = dict(value)

    @property
    def closes_loop(self) -> bool:
        """Whether `Mechanism.state` ignores this joint when it places the bodies along the joints.

        File readers set it for joints that close loops, in addition to the joints between the links and their parents.
        """
        return self._closes_loop

    @closes_loop.setter
    def closes_loop(self, value: bool) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{self.label}: closes_loop must be True or False, got {value!r}")
        self._closes_loop = bool(value)

    def ground_pose(self, time: float) -> Pose:
        """Return the pose of the world side at a time: the identity, or the value of the ground function."""
        if self._ground is None:
            return np.zeros(3), np.array(IDENTITY)
        moved = self._ground(time)
        label = f"the ground of {self.label} at t = {time:g} s"
        if isinstance(moved, tuple) and len(moved) == 2 and np.size(moved[0]) == 3:
            shift, turn = finite(moved[0], (3,), label), unit_quaternion(moved[1], (4,), label)
        else:
            shift, turn = finite(moved, (3,), label), np.array(IDENTITY)  # type: ignore[arg-type]
        place = self.anchor_a if self.a.is_world else self.anchor_b
        return shift + place - rotate(turn, place), turn

    def ground_rate(self, time: float) -> Array:
        """Return the derivative (7,) of the ground's position and quaternion, in the sign of the quaternion."""
        _, now = self.ground_pose(time)

        def pose(t: float) -> Array:
            x, q = self.ground_pose(t)
            return np.concatenate((x, q if q @ now > 0 else -q))

        return rate(pose, time)

    def ground_motion(self, time: float) -> Motion:
        """Return the pose of the world side, the velocity of the point at its position, and its angular velocity."""
        x, q = self.ground_pose(time)
        if self._ground is None:
            return x, q, np.zeros(3), np.zeros(3)
        change = self.ground_rate(time)
        return x, q, change[:3], 2 * multiply(change[3:], conjugate(q))[1:]

    def _body(self, body: BodyOrName) -> BodyLike:
        if isinstance(body, str):
            raise ValueError(f"{self.label} refers to body {body!r} by name; add the joint to a mechanism first")
        return body

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name(self._a)!r}, {_name(self._b)!r}, name={self.name!r})"

    # ---- the form

    def relative(self, coordinates: Array) -> Pose:
        """Pose of frame b in frame a at the given coordinates (dof,)."""
        raise NotImplementedError

    def coordinates_of(self, translation: Array, quaternion: Array) -> Array:
        """Coordinates (dof,) of the allowed pose nearest to the given one."""
        raise NotImplementedError

    def twist(self, rates: Array, coordinates: Array) -> tuple[Array, Array]:
        """Return the relative velocity (3,) and angular velocity (3,) in frame a at the given rates and coordinates."""
        both = self.motion @ rates
        return both[:3], both[3:]

    def twists(self, coordinates: Array | None = None) -> Array:
        """Return twists (6, dof) per unit of each rate at the given coordinates; default: zero coordinates."""
        place = np.zeros(self.dof) if coordinates is None else coordinates
        return np.reshape([np.concatenate(self.twist(rates, place)) for rates in np.eye(self.dof)], (-1, 6)).T

    def rates_of(self, velocity: Array, angular_velocity: Array, coordinates: Array) -> Array:
        """Return the rates (dof,) of the allowed twist nearest to the given one."""
        result: Array = np.concatenate((velocity, angular_velocity), axis=-1) @ self.motion
        return result

    # ---- poses of the two bodies

    def measure(self, pose_a: Pose, pose_b: Pose) -> Pose:
        """Return the pose of frame b in frame a, from the world poses of the two bodies."""
        return pose_between(pose_a, pose_b, (self.anchor_a, self.frame_a), (self.anchor_b, self.frame_b))

    def relative_twist(self, a: Motion, b: Motion) -> tuple[Array, Array]:
        """Return velocity (..., 3) of b's anchor point relative to a and angular velocity (..., 3), in frame a."""
        (xa, qa, va, wa), (xb, qb, vb, wb) = a, b
        arm = rotate(qb, self.anchor_b)
        velocity = vb + cross(wb, arm) - va - cross(wa, xb + arm - xa)
        into = conjugate(multiply(qa, self.frame_a))
        return rotate(into, velocity), rotate(into, wb - wa)

    def nearest(self, translation: Array, quaternion: Array) -> Pose:
        """Return the allowed pose of frame b in frame a nearest to the given one."""
        return self.relative(self.coordinates_of(translation, quaternion))

    def place_b(self, pose_a: Pose, translation: Array, quaternion: Array) -> Pose:
        """Return the world pose of body b that puts frame b at the given pose in frame a."""
        xa, qa = pose_a
        turn = multiply(qa, self.frame_a)
        q = normalised(multiply(multiply(turn, quaternion), conjugate(self.frame_b)))
        return xa + rotate(qa, self.anchor_a) + rotate(turn, translation) - rotate(q, self.anchor_b), q

    def place_a(self, pose_b: Pose, translation: Array, quaternion: Array) -> Pose:
        """Return the world pose of body a that puts frame b at the given pose in frame a."""
        xb, qb = pose_b
        turn = multiply(multiply(qb, self.frame_b), conjugate(quaternion))
        q = normalised(multiply(turn, conjugate(self.frame_a)))
        return xb + rotate(qb, self.anchor_b) - rotate(turn, translation) - rotate(q, self.anchor_a), q

    # ---- from the described pose to anchors and frames

    def _resolve(self, a: BodyLike, b: BodyLike) -> None:
        """Compute anchors and frames from the described poses of a and b; called by Mechanism.add_joint."""
        self.__dict__.update(_a=a, _b=b)
        anchor_a, anchor_b = self._resolve_anchors(a, b)
        frame_a, frame_b = self._resolve_frames(a, b)
        self.__dict__.update(anchor_a=anchor_a, anchor_b=anchor_b, frame_a=frame_a, frame_b=frame_b)

    def _resolve_anchors(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        if self._anchors is not None:
            return self._anchors[0].copy(), self._anchors[1].copy()
        assert self._at is not None
        return into(a, self._at), into(b, self._at)

    def _resolve_frames(self, a: BodyLike, b: BodyLike) -> tuple[Array, Array]:
        frame_a = np.array(IDENTITY)
        return frame_a, same_frame(a, b, frame_a)


def pose_between(pose_a: Pose, pose_b: Pose, frame_a: Pose, frame_b: Pose) -> Pose:
    """Pose of b's frame in a's frame, from the poses of the two bodies and of the frames on them."""
    (xa, qa), (xb, qb) = pose_a, pose_b
    turn = conjugate(multiply(qa, frame_a[1]))
    span = xb + rotate(qb, frame_b[0]) - xa - rotate(qa, frame_a[0])
    return rotate(turn, span), multiply(turn, multiply(qb, frame_b[1]))


def mismatch(measured: Pose, allowed: Pose) -> tuple[float, float]:
    """Distance (m) and angle (rad) between two poses of a frame."""
    turn = rotation_vector(multiply(conjugate(allowed[1]), measured[1]))
    return dist(measured[0].tolist(), allowed[0].tolist()), hypot(*turn.tolist())


def _name(body: BodyOrName) -> str:
    return body if isinstance(body, str) else str(getattr(body, "name", body))


def about_z(angle: Array | float) -> Array:
    """Return the rotation about z by an angle."""
    return np.array((np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)))


def into(body: BodyLike, point: Array) -> Array:
    """Transform a world point into the frame of a body."""
    return seen_from(body.position, body.orientation, point)


def same_frame(a: BodyLike, b: BodyLike, frame_a: Array) -> Array:
    """Return the frame on b that coincides with frame_a on a in the described pose."""
    return between(a.orientation, b.orientation, frame_a)
