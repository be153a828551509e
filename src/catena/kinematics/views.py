"""Views of one body or joint of a state, by name; assigning to a view changes the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._util.checks import doubt_degrees
from .._util.lookup import in_a_loop
from .._util.rotation import Array, conjugate, cross, finite, multiply, normalised, rotate, unit_quaternion
from .geometry import meeting, poses
from .readers import BodyReader, Column, JointReader

if TYPE_CHECKING:
    from .state import State


class _Settable(Column):
    """One that can be assigned."""

    def __set__(self, view: BodyView, value: ArrayLike) -> None:
        what = f"{view.label}: {self.name}"
        checked = unit_quaternion(value, (4,), what) if self.name == "orientation" else finite(value, (3,), what)
        getattr(view._of, self.name)[view._row] = checked


class BodyView(BodyReader):
    """One body of a state; its pose and velocities can be assigned."""

    position = _Settable("Position (3,) of the center of mass, world frame (m).")
    orientation = _Settable("Unit quaternion (4,) (w, x, y, z), body to world.")
    velocity = _Settable("Velocity (3,) of the center of mass, world frame (m/s).")
    angular_velocity = _Settable("Angular velocity (3,), world frame (rad/s).")

    @property
    def angular_velocity_body(self) -> Array:
        """Angular velocity (3,) in the body frame (rad/s)."""
        return super().angular_velocity_body

    @angular_velocity_body.setter
    def angular_velocity_body(self, value: ArrayLike) -> None:
        local = finite(value, (3,), f"{self.label}: angular_velocity_body")
        self.angular_velocity = rotate(self.orientation, local)


class JointView(JointReader[float]):
    """One joint of a state, in joint coordinates.

    Setting coordinates or rates moves all bodies on b's side of the joint as one rigid body; if b's side is connected
    to the world, a's side moves instead. Every other joint keeps its coordinates and rates. Setting coordinates also
    keeps the rates of this joint. A joint in a loop has no two sides, so its coordinates and rates are read-only.
    """

    _of: State

    @property
    def coordinates(self) -> Array:
        """Joint coordinates (dof,); angles in rad, including full turns, lengths in m."""
        return super().coordinates

    @coordinates.setter
    def coordinates(self, value: ArrayLike) -> None:
        joint, state = self._joint, self._of
        wanted = self._numbers(value, "coordinates")
        doubt_degrees(wanted[list(joint.angles)], f"{joint.label}: an angle")
        rates = self.rates
        rows, b_moves = self._side()
        pose_a, pose_b = poses(state, joint)
        relative = joint.relative(wanted)
        (x0, q0), (x1, q1) = (
            (pose_b, joint.place_b(pose_a, *relative)) if b_moves else (pose_a, joint.place_a(pose_b, *relative))
        )

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
        return super().rates

    @rates.setter
    def rates(self, value: ArrayLike) -> None:
        self._set_rates(self._numbers(value, "rates"), *self._side())

    @property
    def angle(self) -> float:
        """Coordinate (rad, including full turns) of a joint whose only freedom is a rotation."""
        return super().angle

    @angle.setter
    def angle(self, value: float) -> None:
        self._only("angle")
        self.coordinates = value

    @property
    def displacement(self) -> float:
        """Coordinate (m) of a joint whose only freedom is a translation."""
        return super().displacement

    @displacement.setter
    def displacement(self, value: float) -> None:
        self._only("displacement")
        self.coordinates = value

    @property
    def rate(self) -> float:
        """Rate (rad/s or m/s) of a joint with one freedom."""
        return super().rate

    @rate.setter
    def rate(self, value: float) -> None:
        self._require(self._joint.dof == 1, "rate")
        self.rates = value

    def _numbers(self, value: ArrayLike, what: str) -> Array:
        """The values as (dof,), checked; a scalar is accepted for a single coordinate."""
        what = f"{self._joint.label}: {what}"
        if self._joint.dof == 1 and np.ndim(value) == 0:
            return finite(value, (), what).reshape(1)
        return finite(value, (self._joint.dof,), what)

    def _set_rates(self, rates: Array, rows: list[int], b_moves: bool) -> None:
        """Add a rigid-body motion to the bodies in rows, so that the joint has the given rates."""
        joint, state = self._joint, self._of
        point, frame = meeting(joint, *poses(state, joint))
        v, w = self._twist()
        v_wanted, w_wanted = joint.twist(rates, self.coordinates)
        sign = 1.0 if b_moves else -1.0
        dv, dw = sign * rotate(frame, v_wanted - v), sign * rotate(frame, w_wanted - w)
        state.velocity[rows] += dv + cross(dw, state.position[rows] - point)
        state.angular_velocity[rows] += dw

    def _side(self) -> tuple[list[int], bool]:
        """Rows of the bodies that move, and whether these are on b's side."""
        joint, mechanism = self._joint, self._of.mechanism
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
        return [self._of._rows[name] for name in side], b_moves
