"""One body, joint, coupling or contact over time, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import Array, conjugate, cross, places, rotate
from .._util.strict import Recorded
from ..kinematics import geometry
from ..kinematics.unwrap import unwrapped
from ..kinematics.views import OfBody, OfContact, OfJoint
from . import analysis, reactions
from .impacts import stop_efforts

if TYPE_CHECKING:
    from ..describe.contacts import Contact
    from ..describe.couplings import Coupling
    from ..describe.joint import BodyLike, Joint, Motion
    from ..simulate.batch import Batch
    from .trajectory import Trajectory


class BodyHistory(Recorded, OfBody):
    """One body over time: position, velocity, angular_velocity (step, 3), orientation (step, 4), world frame."""

    position: Array
    orientation: Array
    velocity: Array
    angular_velocity: Array

    def __init__(self, run: Trajectory, name: str, row: int) -> None:
        self._name = name
        self._time = run.time
        self.position = run.position[:, row]
        self.orientation = run.orientation[:, row]
        self.velocity = run.velocity[:, row]
        self.angular_velocity = run.angular_velocity[:, row]

    @property
    def angular_velocity_body(self) -> Array:
        """Angular velocity (step, 3) in the body frame (rad/s)."""
        return rotate(conjugate(self.orientation), self.angular_velocity)

    def point(self, p: ArrayLike) -> Array:
        """World position (step, 3) of a point given in the body frame (m)."""
        return self.position + rotate(self.orientation, places(p, f"{self.label}: p"))

    def point_velocity(self, p: ArrayLike) -> Array:
        """World velocity (step, 3) of a point given in the body frame (m/s)."""
        arm = rotate(self.orientation, places(p, f"{self.label}: p"))
        return self.velocity + cross(self.angular_velocity, arm)

    @property
    def acceleration(self) -> Array:
        """Acceleration (step, 3) of the center of mass, world frame (m/s^2); see point_acceleration."""
        return self._derivative(self.velocity)

    @property
    def angular_acceleration(self) -> Array:
        """Angular acceleration (step, 3), world frame (rad/s^2); see point_acceleration."""
        return self._derivative(self.angular_velocity)

    def point_acceleration(self, p: ArrayLike) -> Array:
        """World acceleration (step, 3) of a point given in the body frame (m/s^2).

        It is computed from differences of recorded velocities, of second order in the distance between nodes. A jump is
        spread over two intervals. An accelerometer measures this minus the acceleration of gravity.
        """
        return self._derivative(self.point_velocity(p))

    def _derivative(self, values: Array) -> Array:
        if len(self._time) < 3:
            raise ValueError(f"{self.label}: accelerations need at least three recorded nodes, got {len(self._time)}")
        found: Array = np.gradient(values, self._time, axis=0, edge_order=2)
        return found


class CouplingHistory(Recorded):
    """One coupling over time: its gap and its effort."""

    def __init__(self, run: Trajectory, coupling: Coupling) -> None:
        self._run = run
        self._coupling = coupling

    @property
    def gap(self) -> Array:
        """Gap of the coupling (step,), in rad or m."""
        return analysis.coupling_gap(self._run, self._coupling)

    @property
    def effort(self) -> Array:
        """Torque or force (step,) in N m or N that the coupling exerts on a coordinate, per unit of its coefficient."""
        row = sum(joint.row_count for joint in self._run.mechanism.joints.values())
        row += list(self._run.mechanism.couplings).index(self._coupling.name)
        return reactions.smallest_multipliers(self._run)[:, row]


class JointReader(Recorded, OfJoint):
    """One joint over leading axes (...,) of the body arrays: (step,) for a run, (member, step) for a batch."""

    def __init__(self, run: Trajectory | Batch, joint: Joint, rows: Mapping[str, int]) -> None:
        self._run = run
        self._joint = joint
        self._rows = rows

    @property
    def wrapped(self) -> Array:
        """Joint coordinates (..., dof) with angles in (-pi, pi]."""
        a, b = self._side(self._joint.a), self._side(self._joint.b)
        return self._joint.coordinates_of(*self._joint.measure(a[:2], b[:2]))

    @property
    def coordinates(self) -> Array:
        """Joint coordinates (..., dof); angles in rad, including full turns, lengths in m."""
        return unwrapped(self._joint, self.wrapped, self._run.near.get(self._joint.name))

    @property
    def rates(self) -> Array:
        """Joint rates (..., dof); rad/s and m/s."""
        twist = self._joint.relative_twist(self._side(self._joint.a), self._side(self._joint.b))
        return self._joint.rates_of(*twist, self.coordinates)

    @property
    def angle(self) -> Array:
        """Coordinate (...,) in rad, including full turns, of a joint whose only freedom is a rotation."""
        return self._only("angle")

    @property
    def displacement(self) -> Array:
        """Coordinate (...,) in m of a joint whose only freedom is a translation."""
        return self._only("displacement")

    @property
    def rate(self) -> Array:
        """Rate (...,) in rad/s or m/s of a joint with one freedom."""
        if self._joint.dof != 1:
            raise AttributeError(f"{self._joint.label} has no single rate; use rates (step, {self._joint.dof})")
        return self.rates[..., 0]

    def _only(self, name: str) -> Array:
        joint = self._joint
        if joint.names != (name,):
            raise AttributeError(f"{joint.label} has no single {name}; use coordinates (step, {joint.dof})")
        return self.coordinates[..., 0]

    def _side(self, body: BodyLike) -> Motion:
        """Poses and velocities of a body or of the world, each (..., 3 or 4)."""
        run, joint, shape = self._run, self._joint, self._run.time.shape
        if not body.is_world:
            row = self._rows[body.name]
            return (
                run.position[..., row, :],
                run.orientation[..., row, :],
                run.velocity[..., row, :],
                run.angular_velocity[..., row, :],
            )
        if joint.ground is None:
            zero = np.zeros((*shape, 3))
            return zero, np.broadcast_to(body.orientation, (*shape, 4)), zero, zero
        # all members pass the same instants, unless one failed between two of them
        instants, place = np.unique(run.time, return_inverse=True)
        found = np.full((len(instants), 13), np.nan)
        for numbers, t in zip(found, instants, strict=True):
            if np.isfinite(t):
                numbers[:] = np.concatenate(joint.ground_motion(float(t)))
        found = found[place].reshape(*shape, 13)
        return found[..., :3], found[..., 3:7], found[..., 7:10], found[..., 10:]


class JointHistory(JointReader):
    """One joint over time (step,): its coordinates, rates, gap and reaction."""

    _run: Trajectory

    def __init__(self, run: Trajectory, joint: Joint) -> None:
        super().__init__(run, joint, run.mechanism.rows())

    @property
    def gap(self) -> Array:
        """Distance (step,) in m in the constrained directions: the norm of the rows that are lengths."""
        return geometry.gaps(self._joint, *geometry.poses(self._run, self._joint))[0]

    @property
    def misalignment(self) -> Array:
        """Angle (step,) in rad in the constrained directions; if it is large, the norm of the angular rows."""
        return geometry.gaps(self._joint, *geometry.poses(self._run, self._joint))[1]

    @property
    def stop(self) -> Array:
        """What the stops of a coordinate exert on it (step,) in N m or N; 0 away from its limits.

        If several coordinates of the joint have hard limits, there is a column for each, in their order. Impulses of
        impacts are not included: see `run.impacts`.
        """
        found = stop_efforts(self._run, self._joint)
        if found.shape[1] == 0:
            raise AttributeError(f"{self.label} has no hard limits; give it some: joint.limits = Limits(lower, upper)")
        return found[:, 0] if found.shape[1] == 1 else found

    @property
    def force(self) -> Array:
        """Force (step, 3) in N that the joint exerts on its body b, world frame."""
        return reactions.reaction(self._run, self._joint)[0]

    @property
    def torque(self) -> Array:
        """Torque (step, 3) in N m that the joint exerts on its body b, about b's anchor point, world frame."""
        return reactions.reaction(self._run, self._joint)[1]


class ContactHistory(Recorded, OfContact):
    """One contact over time (step,): its gap, where it is, and its force."""

    _seen: Trajectory

    def __init__(self, run: Trajectory, contact: Contact) -> None:
        self._seen = run
        self._contact = contact

    @property
    def gap(self) -> Array:
        """Distance (step,) in m of the point or ball from the plane, never negative beyond rounding."""
        found: Array = super().gap
        return found

    @property
    def normal_force(self) -> Array:
        """Force (step,) in N that presses the two bodies apart; 0 while the contact is open.

        Impulses of impacts are not included: see `run.impacts`.
        """
        return stop_efforts(self._seen, self._contact)[:, 0]

    @property
    def force(self) -> Array:
        """Force (step, 3) in N on the body that has the point or ball, world frame; the other one has the opposite."""
        found: Array = self.normal_force[:, None] * self.normal
        return found
