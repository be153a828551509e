"""One body, joint or coupling over time, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import Array, conjugate, cross, places, rotate
from .._util.strict import Recorded
from ..kinematics import geometry
from ..kinematics.unwrap import unwrapped
from ..kinematics.views import OfBody, OfJoint
from . import analysis, reactions

if TYPE_CHECKING:
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
        """World position (step, 3) of a point of the body frame (m)."""
        return self.position + rotate(self.orientation, places(p, f"{self.label}: p"))

    def point_velocity(self, p: ArrayLike) -> Array:
        """World velocity (step, 3) of a point of the body frame (m/s)."""
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
        """World acceleration (step, 3) of a point of the body frame (m/s^2).

        The differences of recorded velocities, of second order in the distance of the nodes: what jumps is smeared over
        two of them. An accelerometer reads this without gravity's part.
        """
        return self._derivative(self.point_velocity(p))

    def _derivative(self, values: Array) -> Array:
        if len(self._time) < 3:
            raise ValueError(f"{self.label}: accelerations need three recorded nodes, and there are {len(self._time)}")
        found: Array = np.gradient(values, self._time, axis=0, edge_order=2)
        return found


class CouplingHistory(Recorded):
    """One coupling over time: how far it is off, and how hard it pulls."""

    def __init__(self, run: Trajectory, coupling: Coupling) -> None:
        self._run = run
        self._coupling = coupling

    @property
    def gap(self) -> Array:
        """What the coupling misses (step,), in rad or m."""
        return analysis.coupling_gap(self._run, self._coupling)

    @property
    def effort(self) -> Array:
        """Torque or force (step,) in N m or N that it exerts on a coordinate, per unit of its coefficient."""
        row = sum(joint.row_count for joint in self._run.mechanism.joints.values())
        row += list(self._run.mechanism.couplings).index(self._coupling.name)
        return reactions.smallest_multipliers(self._run)[:, row]


class JointReader(Recorded, OfJoint):
    """One joint along the axes (...,) in front of the bodies' arrays: (step,) of a run, (member, step) of a batch."""

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
        """Joint coordinates (..., dof); angles in rad, turns counted, lengths in m."""
        return unwrapped(self._joint, self.wrapped, self._run.near.get(self._joint.name))

    @property
    def rates(self) -> Array:
        """Joint rates (..., dof); rad/s and m/s."""
        twist = self._joint.relative_twist(self._side(self._joint.a), self._side(self._joint.b))
        return self._joint.rates_of(*twist, self.coordinates)

    @property
    def angle(self) -> Array:
        """The only coordinate of a turning joint (...,) in rad, turns counted."""
        return self._only("angle")

    @property
    def displacement(self) -> Array:
        """The only coordinate of a sliding joint (...,) in m."""
        return self._only("displacement")

    @property
    def rate(self) -> Array:
        """The only rate of the joint (...,) in rad/s or m/s."""
        if self._joint.dof != 1:
            raise AttributeError(f"{self._joint.label} has no single rate; use rates (step, {self._joint.dof})")
        return self.rates[..., 0]

    def _only(self, name: str) -> Array:
        joint = self._joint
        if joint.names != (name,):
            raise AttributeError(f"{joint.label} has no single {name}; use coordinates (step, {joint.dof})")
        return self.coordinates[..., 0]

    def _side(self, body: BodyLike) -> Motion:
        """How a body or the world moves, each (..., 3 or 4)."""
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
            still = np.zeros((*shape, 3))
            return still, np.broadcast_to(body.orientation, (*shape, 4)), still, still
        # all members pass the same instants, unless one failed between two of them
        instants, place = np.unique(run.time, return_inverse=True)
        found = np.full((len(instants), 13), np.nan)
        for numbers, t in zip(found, instants, strict=True):
            if np.isfinite(t):
                numbers[:] = np.concatenate(joint.ground_motion(float(t)))
        found = found[place].reshape(*shape, 13)
        return found[..., :3], found[..., 3:7], found[..., 7:10], found[..., 10:]


class JointHistory(JointReader):
    """One joint over time (step,): its coordinates, rates, gap and what it transmits."""

    _run: Trajectory

    def __init__(self, run: Trajectory, joint: Joint) -> None:
        super().__init__(run, joint, run.mechanism.rows())

    @property
    def gap(self) -> Array:
        """Distance (step,) in m in the directions the joint constrains: the size of its rows that are lengths."""
        return geometry.gaps(self._joint, *geometry.poses(self._run, self._joint))[0]

    @property
    def misalignment(self) -> Array:
        """Angle (step,) in rad in the directions the joint constrains; where it is large, the size of its rows."""
        return geometry.gaps(self._joint, *geometry.poses(self._run, self._joint))[1]

    @property
    def force(self) -> Array:
        """Force (step, 3) in N that the joint exerts on its body b, world frame."""
        return reactions.reaction(self._run, self._joint)[0]

    @property
    def torque(self) -> Array:
        """Torque (step, 3) in N m that the joint exerts on its body b, about b's joint point, world frame."""
        return reactions.reaction(self._run, self._joint)[1]
