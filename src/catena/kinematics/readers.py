"""Readers of one body, joint or contact.

Leading axes (...) are those of the object that is read: none for a State and a Live, (step,) for a Trajectory,
(member,) for a LiveBatch, (member, step) for a Batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import Array, conjugate, cross, places, rotate
from .._util.strict import Strict
from ..describe.joint import Joint, Motion
from ..describe.limits import hard_stops
from .geometry import gaps, ground_motions, poses
from .unwrap import unwrapped

if TYPE_CHECKING:
    from ..describe.contacts import Contact
    from ..describe.joint import BodyLike
    from ..results.trajectory import Trajectory
    from .readable import Readable

# one number of each node: a float where there is one node, or else an array
Number = TypeVar("Number", bound="float | Array")


class Column:
    """The numbers of one body in the array of the same name."""

    def __init__(self, text: str) -> None:
        self.__doc__ = text

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, reader: Any, kind: type | None = None) -> Array:
        if reader is None:
            return self  # type: ignore[return-value]
        found: Array = getattr(reader._of, self.name)[..., reader._row, :]
        return found


class BodyReader(Strict):
    """One body of a run, a live mechanism or a batch; of a state, see BodyView."""

    position = Column("Position (..., 3) of the center of mass, world frame (m).")
    orientation = Column("Unit quaternion (..., 4) (w, x, y, z), body to world.")
    velocity = Column("Velocity (..., 3) of the center of mass, world frame (m/s).")
    angular_velocity = Column("Angular velocity (..., 3), world frame (rad/s).")

    def __init__(self, of: Readable[Any], name: str, row: int) -> None:
        self._of, self._name, self._row = of, name, row

    @property
    def name(self) -> str:
        """Name of the body."""
        return self._name

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return f"body {self._name!r}"

    @property
    def angular_velocity_body(self) -> Array:
        """Angular velocity (..., 3) in the body frame (rad/s)."""
        return rotate(conjugate(self.orientation), self.angular_velocity)

    @property
    def acceleration(self) -> Array:
        """Acceleration (..., 3) of the center of mass, world frame (m/s^2); see point_acceleration."""
        return self._of._accelerations(self._row)[0]

    @property
    def angular_acceleration(self) -> Array:
        """Angular acceleration (..., 3), world frame (rad/s^2); see point_acceleration."""
        return self._of._accelerations(self._row)[1]

    def point(self, p: ArrayLike) -> Array:
        """World position (..., 3) of points p (..., 3) given in the body frame (m)."""
        return self.position + self._arm(p)

    def point_velocity(self, p: ArrayLike) -> Array:
        """World velocity (..., 3) of points p (..., 3) given in the body frame (m/s)."""
        return self.velocity + cross(self.angular_velocity, self._arm(p))

    def point_acceleration(self, p: ArrayLike) -> Array:
        """World acceleration (..., 3) of points p (..., 3) given in the body frame (m/s^2).

        Of a run, it follows from differences of recorded velocities, of second order in the distance between nodes; a
        jump is spread over two intervals. Of a `Live`, it is that of the next step, with the inputs and forces as set.
        An accelerometer measures this minus the acceleration of gravity.
        """
        arm, spin = self._arm(p), self.angular_velocity
        linear, angular = self._of._accelerations(self._row)
        found: Array = linear + cross(angular, arm) + cross(spin, cross(spin, arm))
        return found

    def _arm(self, p: ArrayLike) -> Array:
        return rotate(self.orientation, places(p, f"{self.label}: p"))

    def __repr__(self) -> str:
        pose = f"position={self.position.tolist()}, orientation={self.orientation.tolist()}"
        return f"{type(self).__name__}({self.name!r}, {pose})"


class JointReader(Strict, Generic[Number]):
    """One joint of a run, a live mechanism or a batch, in joint coordinates; of a state, see JointView."""

    def __init__(self, of: Readable[Number], joint: Joint) -> None:
        self._of, self._joint = of, joint

    @property
    def name(self) -> str:
        """Name of the joint."""
        return self._joint.name

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return self._joint.label

    def __repr__(self) -> str:
        motion = f"coordinates={self.coordinates.tolist()}, rates={self.rates.tolist()}"
        return f"{type(self).__name__}({self.name!r}, {motion})"

    @property
    def wrapped(self) -> Array:
        """Joint coordinates (..., dof) with angles in (-pi, pi]."""
        return self._joint.coordinates_of(*self._joint.measure(*poses(self._of, self._joint)))

    @property
    def coordinates(self) -> Array:
        """Joint coordinates (..., dof); angles in rad, including full turns, lengths in m."""
        place = self._of._joint_places.get(self.name)
        if place is not None:
            return self._of.coordinates[..., place]
        return unwrapped(self._joint, self.wrapped, self._of._angles.get(self.name))

    @property
    def rates(self) -> Array:
        """Joint rates (..., dof); rad/s and m/s."""
        place = self._of._joint_places.get(self.name)
        if place is not None:
            return self._of.rates[..., place]
        return self._joint.rates_of(*self._twist(), self.coordinates)

    @property
    def gap(self) -> Number:
        """Distance (...,) in m in the constrained directions: the norm of the rows that are lengths."""
        return self._open(0)

    @property
    def misalignment(self) -> Number:
        """Angle (...,) in rad in the constrained directions; if it is large, the norm of the angular rows."""
        return self._open(1)

    @property
    def force(self) -> Array:
        """Force (..., 3) in N that the joint exerts on its body b, world frame; not in batches."""
        return self._reaction(0)

    @property
    def torque(self) -> Array:
        """Torque (..., 3) in N m that the joint exerts on its body b, about b's anchor point, world frame."""
        return self._reaction(1)

    @property
    def stop(self) -> Array:
        """What the stops of a coordinate exert on it (...,) in N m or N, of a run or a `Live`; 0 away from its limits.

        If several coordinates of the joint have hard limits, there is a column for each, in their order. Impulses of
        impacts are not included: see `run.impacts`.
        """
        count = sum(stop.item is self._joint for stop in hard_stops(self._of.mechanism))
        if count == 0:
            raise AttributeError(f"{self.label} has no hard limits; give it some: joint.limits = Limits(lower, upper)")
        found: Array = _stop_efforts(self._of, self._joint, 0 if count == 1 else slice(None))
        return found

    # ---- joints with one coordinate

    @property
    def angle(self) -> Number:
        """Coordinate (...,) in rad, including full turns, of a joint whose only freedom is a rotation."""
        return self._only("angle")

    @property
    def displacement(self) -> Number:
        """Coordinate (...,) in m of a joint whose only freedom is a translation."""
        return self._only("displacement")

    @property
    def rate(self) -> Number:
        """Rate (...,) in rad/s or m/s of a joint with one freedom."""
        self._require(self._joint.dof == 1, "rate")
        return self._single(self.rates[..., 0])

    def _only(self, name: str) -> Number:
        self._require(self._joint.names == (name,), name)
        return self._single(self.coordinates[..., 0])

    def _require(self, fits: bool, name: str) -> None:
        if not fits:
            raise AttributeError(f"{self.label} has no {name}; use coordinates and rates ({self._joint.dof} numbers)")

    # ---- how

    def _open(self, which: int) -> Number:
        def gap(run: Trajectory) -> Array:
            # members of a batch may have joints of their own
            joint = run.mechanism.joints[self.name]
            return gaps(joint, *poses(run, joint))[which]

        found: Number = self._of._of_nodes(gap)
        return found

    def _reaction(self, which: int) -> Array:
        from ..results.reactions import reaction

        found: Array = self._of._of_nodes(lambda run: reaction(run, self._joint)[which], reactions=True)
        return found

    def _twist(self) -> tuple[Array, Array]:
        return self._joint.relative_twist(self._motion(self._joint.a), self._motion(self._joint.b))

    def _motion(self, body: BodyLike) -> Motion:
        """Poses and velocities of a body or of the ground, each (..., 3 or 4)."""
        if body.is_world:
            return ground_motions(self._joint, self._of.time)
        one = self._of.body(body.name)
        return one.position, one.orientation, one.velocity, one.angular_velocity

    def _single(self, values: Array) -> Number:
        """The array (...,), or its number if it has no axes."""
        number: Any = values if values.ndim else float(values)
        return number  # type: ignore[no-any-return]


# a gap (m) that is closed, and a velocity (m/s) that is none
_CLOSED, _STILL = 1e-9, 1e-8


class ContactReader(Strict, Generic[Number]):
    """One contact of a state, a run, a live mechanism or a batch: its gap, where it is, and its force."""

    def __init__(self, of: Readable[Number], contact: Contact) -> None:
        self._of, self._contact = of, contact

    @property
    def name(self) -> str:
        """Name of the contact."""
        return self._contact.name

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return self._contact.label

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, gap={self.gap})"

    @property
    def gap(self) -> Number:
        """Distance (...,) in m of the point or ball from the plane; contacts keep it from becoming negative."""
        contact = self._contact
        out = np.sum((self._center - self._on(contact.other, contact.point)) * self.normal, axis=-1) - contact.radius
        number: Any = out if np.ndim(out) else float(out)
        return number  # type: ignore[no-any-return]

    @property
    def point(self) -> Array:
        """The point, or the one of the ball that is nearest to the plane (..., 3) in m, world frame."""
        found: Array = self._center - self._contact.radius * self.normal
        return found

    @property
    def normal(self) -> Array:
        """Unit vector (..., 3) out of the plane, world frame."""
        contact = self._contact
        if contact.other == self._of.mechanism.world.name:
            return np.broadcast_to(contact.normal, self._center.shape)
        return rotate(self._of.body(contact.other).orientation, contact.normal)

    @property
    def normal_force(self) -> Number:
        """Force (...,) in N that presses the two bodies apart, of a run or a `Live`; 0 while the contact is open.

        Impulses of impacts are not included: see `run.impacts`.
        """
        number: Number = _stop_efforts(self._of, self._contact, 0)
        return number

    @property
    def force(self) -> Array:
        """Force (..., 3) in N on the body that has the point or ball, world frame; the other one has the opposite."""
        if self._contact.friction == 0:
            found: Array = np.asarray(self.normal_force)[..., None] * self.normal
            return found
        from ..results.impacts import contact_forces

        contact = self._contact
        forces: Array = self._of._of_nodes(lambda run: contact_forces(run, contact), reactions=True)
        return forces

    @property
    def friction_force(self) -> Array:
        """The part of the force (..., 3) in N that is along the plane; at most `friction` times the normal force."""
        force, normal = self.force, self.normal
        found: Array = force - np.sum(force * normal, axis=-1)[..., None] * normal
        return found

    @property
    def slip(self) -> Array:
        """Velocity (..., 3) in m/s of the body against the plane at the contact point, along the plane, world frame."""
        point, normal, contact = self.point, self.normal, self._contact
        moved = self._velocity(contact.body, point) - self._velocity(contact.other, point)
        found: Array = moved - np.sum(moved * normal, axis=-1)[..., None] * normal
        return found

    @property
    def sticks(self) -> Any:
        """Whether the contact is closed and does not slip: a bool, or an array (...,) of them."""
        found = (np.asarray(self.gap) < _CLOSED) & (np.linalg.norm(self.slip, axis=-1) < _STILL)
        return found if np.ndim(found) else bool(found)

    def _velocity(self, name: str, point: Array) -> Array:
        """Of the point of a body that is there now."""
        if name == self._of.mechanism.world.name:
            return np.zeros(np.shape(point))
        body = self._of.body(name)
        found: Array = body.velocity + np.cross(body.angular_velocity, point - body.position)
        return found

    @property
    def _center(self) -> Array:
        return self._on(self._contact.body, self._contact.at)

    def _on(self, name: str, p: Array) -> Array:
        if name != self._of.mechanism.world.name:
            return self._of.body(name).point(p)
        return np.broadcast_to(p, (*np.shape(self._of.time), 3))


def _stop_efforts(of: Readable[Any], item: Joint | Contact, which: int | slice) -> Any:
    """What the hard stops of a joint or a contact exert (...,), or (..., k)."""
    from ..results.impacts import stop_efforts

    def recorded(run: Trajectory) -> Array:
        found: Array = stop_efforts(run, item)[:, which]
        return found

    return of._of_nodes(recorded, reactions=True)
