"""Views of one body, joint or contact of a state or a live mechanism, by name; assigning changes the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._util.checks import doubt_degrees
from .._util.lookup import in_a_loop
from .._util.rotation import Array, conjugate, cross, finite, multiply, normalised, places, rotate, unit_quaternion
from .._util.strict import Strict
from ..describe.joint import Joint, Motion, Pose
from .unwrap import unwrapped

if TYPE_CHECKING:
    from ..describe.contacts import Contact
    from ..describe.joint import BodyLike
    from ..results.trajectory import Trajectory
    from ..simulate.live import Live
    from .state import State


class _Row:
    """The row of one body in the state's array of the same name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, view: Any, kind: type | None = None) -> Array:
        if view is None:
            raise AttributeError(self.name)
        row: Array = getattr(view._state, self.name)[view._row]
        return row

    def __set__(self, view: BodyView, value: ArrayLike) -> None:
        what = f"body {view.name!r}: {self.name}"
        checked = unit_quaternion(value, (4,), what) if self.name == "orientation" else finite(value, (3,), what)
        getattr(view._state, self.name)[view._row] = checked


class OfBody(Strict):
    """Base class of views of one body."""

    _name: str

    @property
    def name(self) -> str:
        """Name of the body."""
        return self._name

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return f"body {self.name!r}"


class BodyView(OfBody):
    """One body of a state: position, velocity, angular_velocity (3,) in the world frame, orientation (4,)."""

    position = _Row()
    orientation = _Row()
    velocity = _Row()
    angular_velocity = _Row()

    def __init__(self, state: State, name: str, row: int) -> None:
        self._name = name
        self._state = state
        self._row = row

    @property
    def angular_velocity_body(self) -> Array:
        """Angular velocity (3,) in the body frame (rad/s)."""
        return rotate(conjugate(self.orientation), self.angular_velocity)

    @angular_velocity_body.setter
    def angular_velocity_body(self, value: ArrayLike) -> None:
        local = finite(value, (3,), f"body {self.name!r}: angular_velocity_body")
        self.angular_velocity = rotate(self.orientation, local)

    def point(self, p: ArrayLike) -> Array:
        """World position (..., 3) of points p (..., 3) given in the body frame (m)."""
        return self.position + rotate(self.orientation, places(p, f"{self.label}: p"))

    def point_velocity(self, p: ArrayLike) -> Array:
        """World velocity (..., 3) of points p (..., 3) given in the body frame (m/s)."""
        arm = rotate(self.orientation, places(p, f"{self.label}: p"))
        return self.velocity + cross(self.angular_velocity, arm)

    def __repr__(self) -> str:
        pose = f"position={self.position.tolist()}, orientation={self.orientation.tolist()}"
        return f"BodyView({self.name!r}, {pose})"


class OfJoint(Strict):
    """Base class of views of one joint."""

    _joint: Joint

    @property
    def name(self) -> str:
        """Name of the joint."""
        return self._joint.name

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return self._joint.label


class JointView(OfJoint):
    """One joint of a state, in joint coordinates.

    Setting coordinates or rates moves all bodies on b's side of the joint as one rigid body; if b's side is connected
    to the world, a's side moves instead. Every other joint keeps its coordinates and rates. Setting coordinates also
    keeps the rates of this joint. A joint in a loop has no two sides, so its coordinates and rates are read-only.
    """

    def __init__(self, state: State, joint: Joint) -> None:
        self._state = state
        self._joint = joint

    def __repr__(self) -> str:
        motion = f"coordinates={self.coordinates.tolist()}, rates={self.rates.tolist()}"
        return f"JointView({self._joint.name!r}, {motion})"

    @property
    def wrapped(self) -> Array:
        """Joint coordinates (dof,) with angles in (-pi, pi]."""
        return self._joint.coordinates_of(*self._joint.measure(self._pose(self._joint.a), self._pose(self._joint.b)))

    @property
    def coordinates(self) -> Array:
        """Joint coordinates (dof,); angles in rad, including full turns, lengths in m."""
        return unwrapped(self._joint, self.wrapped, self._state.turned.get(self._joint.name))

    @coordinates.setter
    def coordinates(self, value: ArrayLike) -> None:
        joint, state = self._joint, self._state
        wanted = self._numbers(value, "coordinates")
        doubt_degrees(wanted[list(joint.angles)], f"{joint.label}: an angle")
        rates = self.rates
        rows, b_moves = self._side()
        pose_a, pose_b = self._pose(joint.a), self._pose(joint.b)
        relative = joint.relative(wanted)
        if b_moves:
            (x0, q0), (x1, q1) = pose_b, joint.place_b(pose_a, *relative)
        else:
            (x0, q0), (x1, q1) = pose_a, joint.place_a(pose_b, *relative)

        # the moving side goes along with its body at the joint, velocities turn with it
        turn = multiply(q1, conjugate(q0))
        state.position[rows] = x1 + rotate(turn, state.position[rows] - x0)
        state.orientation[rows] = normalised(multiply(turn, state.orientation[rows]))
        state.velocity[rows] = rotate(turn, state.velocity[rows])
        state.angular_velocity[rows] = rotate(turn, state.angular_velocity[rows])
        self._set_rates(rates, rows, b_moves)
        if joint.angles:
            state.turned[joint.name] = wanted[list(joint.angles)]

    @property
    def rates(self) -> Array:
        """Joint rates (dof,); rad/s and m/s."""
        return self._joint.rates_of(*self._twist(), self.coordinates)

    @rates.setter
    def rates(self, value: ArrayLike) -> None:
        self._set_rates(self._numbers(value, "rates"), *self._side())

    def _numbers(self, value: ArrayLike, what: str) -> Array:
        """The values as (dof,), checked; a scalar is accepted for a single coordinate."""
        what = f"{self._joint.label}: {what}"
        if self._joint.dof == 1 and np.ndim(value) == 0:
            return finite(value, (), what).reshape(1)
        return finite(value, (self._joint.dof,), what)

    @property
    def gap(self) -> float:
        """Distance (m) in the constrained directions, as in `run.joint(name).gap`."""
        return self._open()[0]

    @property
    def misalignment(self) -> float:
        """Angle (rad) in the constrained directions; if it is large, the norm of the angular rows."""
        return self._open()[1]

    def _open(self) -> tuple[float, float]:
        from .geometry import gaps

        (xa, qa), (xb, qb) = self._pose(self._joint.a), self._pose(self._joint.b)
        length, angle = gaps(self._joint, (xa[None], qa[None]), (xb[None], qb[None]))
        return float(length[0]), float(angle[0])

    @property
    def force(self) -> Array:
        """Force (3,) in N that the joint exerts on its body b, world frame; only for states computed by a run."""
        return self._reaction()[0]

    @property
    def torque(self) -> Array:
        """Torque (3,) in N m that the joint exerts on its body b, about b's anchor point, world frame."""
        return self._reaction()[1]

    def _reaction(self) -> tuple[Array, Array]:
        from ..results.reactions import reaction
        from ..results.trajectory import single_node

        force, torque = reaction(single_node(self._state), self._joint)
        return force[0], torque[0]

    # ---- joints with one coordinate

    @property
    def angle(self) -> float:
        """Coordinate (rad, including full turns) of a joint whose only freedom is a rotation."""
        return self._scalar("angle")

    @angle.setter
    def angle(self, value: float) -> None:
        self._scalar("angle")
        self.coordinates = value

    @property
    def displacement(self) -> float:
        """Coordinate (m) of a joint whose only freedom is a translation."""
        return self._scalar("displacement")

    @displacement.setter
    def displacement(self, value: float) -> None:
        self._scalar("displacement")
        self.coordinates = value

    @property
    def rate(self) -> float:
        """Rate (rad/s or m/s) of a joint with one freedom."""
        self._require(self._joint.dof == 1, "rate")
        return float(self.rates[0])

    @rate.setter
    def rate(self, value: float) -> None:
        self._require(self._joint.dof == 1, "rate")
        self.rates = value

    def _scalar(self, name: str) -> float:
        self._require(self._joint.names == (name,), name)
        return float(self.coordinates[0])

    def _require(self, fits: bool, name: str) -> None:
        if not fits:
            label, dof = self._joint.label, self._joint.dof
            raise AttributeError(f"{label} has no {name}; use coordinates and rates ({dof} numbers)")

    # ---- how

    def _pose(self, body: BodyLike) -> Pose:
        if body.is_world:
            return self._joint.ground_pose(self._state.time)
        row = self._state._rows[body.name]
        return self._state.position[row].copy(), self._state.orientation[row].copy()

    def _motion(self, body: BodyLike) -> Motion:
        if body.is_world:
            return self._joint.ground_motion(self._state.time)
        row = self._state._rows[body.name]
        return *self._pose(body), self._state.velocity[row], self._state.angular_velocity[row]

    def _meeting(self) -> tuple[Array, Array]:
        """World position of b's anchor point, and orientation of frame a."""
        x, q = self._pose(self._joint.b)
        _, q_a = self._pose(self._joint.a)
        return x + rotate(q, self._joint.anchor_b), multiply(q_a, self._joint.frame_a)

    def _twist(self) -> tuple[Array, Array]:
        return self._joint.relative_twist(self._motion(self._joint.a), self._motion(self._joint.b))

    def _set_rates(self, rates: Array, rows: list[int], b_moves: bool) -> None:
        """Add a rigid-body motion to the bodies in rows, so that the joint has the given rates."""
        state = self._state
        point, frame = self._meeting()
        v, w = self._twist()
        v_wanted, w_wanted = self._joint.twist(rates, self.coordinates)
        sign = 1.0 if b_moves else -1.0
        dv, dw = sign * rotate(frame, v_wanted - v), sign * rotate(frame, w_wanted - w)
        state.velocity[rows] += dv + cross(dw, state.position[rows] - point)
        state.angular_velocity[rows] += dw

    def _side(self) -> tuple[list[int], bool]:
        """Rows of the bodies that move, and whether these are on b's side."""
        joint, mechanism = self._joint, self._state.mechanism
        neighbours: dict[str, list[str]] = {}
        for other in mechanism.joints.values():
            if other is not joint:
                neighbours.setdefault(other.a.name, []).append(other.b.name)
                neighbours.setdefault(other.b.name, []).append(other.a.name)

        def reach(start: str) -> dict[str, None]:
            found = {start: None}
            queue = [start]
            for name in queue:
                for near in neighbours.get(name, ()):
                    if near not in found:
                        found[near] = None
                        queue.append(near)
            return found

        side = reach(joint.b.name)
        if joint.a.name in side:
            raise in_a_loop(joint)
        b_moves = mechanism.world.name not in side
        if not b_moves:
            side = reach(joint.a.name)
        return [self._state._rows[name] for name in side], b_moves


def no_hard_limits(joint: OfJoint) -> AttributeError:
    """For readers of what stops exert."""
    return AttributeError(f"{joint.label} has no hard limits; give it some: joint.limits = Limits(lower, upper)")


class OfContact(Strict):
    """Where a contact of a run, a state or a live mechanism is, with the leading axes of its bodies."""

    _seen: State | Live | Trajectory
    _contact: Contact

    @property
    def name(self) -> str:
        """Name of the contact."""
        return self._contact.name

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return self._contact.label

    @property
    def gap(self) -> Any:
        """Distance (...,) in m of the point or ball from the plane; contacts keep it from becoming negative."""
        contact = self._contact
        out = self._center - self._on(contact.other, contact.point)
        return np.sum(out * self.normal, axis=-1) - contact.radius

    @property
    def point(self) -> Array:
        """The point, or the one of the ball that is nearest to the plane (..., 3) in m, world frame."""
        found: Array = self._center - self._contact.radius * self.normal
        return found

    @property
    def normal(self) -> Array:
        """Unit vector (..., 3) out of the plane, world frame."""
        contact = self._contact
        if contact.other == self._seen.mechanism.world.name:
            return np.broadcast_to(contact.normal, self._center.shape)
        return rotate(self._seen.body(contact.other).orientation, contact.normal)

    @property
    def _center(self) -> Array:
        return self._on(self._contact.body, self._contact.at)

    def _on(self, name: str, p: Array) -> Array:
        return p if name == self._seen.mechanism.world.name else self._seen.body(name).point(p)


class ContactView(OfContact):
    """One contact of a state: its gap, and where it is."""

    def __init__(self, state: State | Live, contact: Contact) -> None:
        self._seen = state
        self._contact = contact

    @property
    def gap(self) -> float:
        """Distance in m of the point or ball from the plane; contacts keep it from becoming negative."""
        return float(super().gap)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, gap={self.gap:g})"


class LiveContact(ContactView):
    """A contact of a live mechanism where it is now: its gap, where it is, and its force."""

    _seen: Live

    @property
    def normal_force(self) -> float:
        """Force in N that presses the two bodies apart, from the node on; it takes a step to find."""
        return float(self._seen._stop_efforts(self._contact)[0])

    @property
    def force(self) -> Array:
        """Force (3,) in N on the body that has the point or ball, world frame; the other one has the opposite."""
        return self.normal_force * self.normal


def frame_of(seen: State | Live | Trajectory, name: str) -> Pose:
    """Position (..., 3) and orientation (..., 4) of a frame in the world."""
    frame = seen.mechanism.frame(name)
    if frame.body == seen.mechanism.world.name:
        nodes = np.shape(seen.time)
        return np.tile(frame.position, (*nodes, 1)), np.tile(frame.orientation, (*nodes, 1))
    body = seen.body(frame.body)
    return body.point(frame.position), normalised(multiply(body.orientation, frame.orientation))
