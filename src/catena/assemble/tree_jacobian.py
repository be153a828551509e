"""Motions of the joints that carry bodies, and what the joints that close loops ask of them, dense and at one pose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._util.rotation import Array, cross, multiply, rotate
from ..kinematics.geometry import body_rows, extent, instant

if TYPE_CHECKING:
    from ..describe.couplings import Coupling
    from ..describe.joint import Joint
    from ..describe.mechanism import Mechanism
    from ..kinematics.state import State


class Motions:
    """Columns are rates of the tree's joints, and six of each floating root; slides are measured in sizes.

    twists (column, 6) are the velocity of the point at the origin and the angular velocity of what a column moves;
    carrier is the branch that carries a body, by name; closures are what closes loops; size is the mechanism's (m).
    """

    def __init__(self, mechanism: Mechanism, state: State) -> None:
        tree = mechanism.spanning_tree()
        self.state, self.size = state, extent(state)
        self.world = mechanism.world.name
        self.carrier = {branch.child.name: branch for branch in tree.branches}
        self.closures: list[Joint | Coupling] = [*tree.loops, *mechanism.couplings.values()]
        self._columns: dict[str, slice] = {}
        twists: list[Array] = []
        for root in tree.floating:
            self._columns[root.name] = slice(len(twists), len(twists) + 6)
            twists.extend(np.eye(6))
        for name, branch in self.carrier.items():
            own = _twists(state, branch.joint, 1.0 if branch.child is branch.joint.b else -1.0)
            self._columns[name] = slice(len(twists), len(twists) + len(own))
            twists.extend(own)
        units = [1.0 if np.any(twist[3:]) else self.size for twist in twists]
        self.twists: Array = np.reshape(twists, (-1, 6)) * np.reshape(units, (-1, 1))

    def path(self, name: str) -> list[str]:
        """Bodies from one up to its root."""
        bodies = [name] if name != self.world else []
        while bodies and bodies[-1] in self.carrier and self.carrier[bodies[-1]].parent.name != self.world:
            bodies.append(self.carrier[bodies[-1]].parent.name)
        return bodies

    def of_bodies(self) -> Array:
        """Velocities of all bodies' centers and their angular velocities (body, 6, column)."""
        bodies = self.state.mechanism.bodies
        moves = np.zeros((len(bodies), 1, len(self.twists)), dtype=bool)
        for row, name in enumerate(bodies):
            for below in self.path(name):
                moves[row, :, self._columns[below]] = True
        velocity, spin = self.twists[:, :3], self.twists[:, 3:]
        at_center = velocity + cross(spin, self.state.position[:, None])
        both = np.concatenate((at_center, np.broadcast_to(spin, at_center.shape)), axis=2)
        found: Array = np.where(moves, both.transpose(0, 2, 1), 0.0)
        return found

    def pulls(self, closure: Joint | Coupling) -> dict[str, Array]:
        """Rows of what closes a loop as wrenches (force, torque about the origin) on its bodies, lengths over the size.

        In a pose in which there are none that is an error.
        """
        result = {}
        is_force = None
        for body, rows in body_rows(instant(self.state), closure).items():
            if not np.isfinite(rows).all():
                raise ValueError(f"{closure.label} is undefined: a disk that lies flat has no contact point")
            about_origin: Array = rows.copy()
            about_origin[:, 3:] += cross(self.state.body(body).position, rows[:, :3])
            if is_force is None:
                is_force = np.linalg.norm(rows[:, :3], axis=1) > 0
            about_origin[is_force] /= self.size
            result[body] = about_origin
        return result

    def rows(self, pulls: dict[str, Array]) -> Array:
        """What pulls do if the columns move (row, column)."""
        block = np.zeros((len(next(iter(pulls.values()))), len(self.twists)))
        for body, wrenches in pulls.items():
            for name in self.path(body):
                place = self._columns[name]
                block[:, place] += wrenches @ self.twists[place].T
        return block


def _twists(state: State, joint: Joint, sign: float) -> list[Array]:
    """Twists of the carried body per unit joint rate."""
    if joint.dof == 0:
        return []
    pose_a, pose_b = (
        (np.zeros(3), np.array((1.0, 0, 0, 0)))
        if body.is_world
        else (state.body(body.name).position, state.body(body.name).orientation)
        for body in (joint.a, joint.b)
    )
    frame = multiply(pose_a[1], joint.frame_a)
    point = pose_b[0] + rotate(pose_b[1], joint.anchor_b)
    coordinates = joint.coordinates_of(*joint.measure(pose_a, pose_b))
    result = []
    for twist in joint.twists(coordinates).T:
        v, w = sign * rotate(frame, twist[:3]), sign * rotate(frame, twist[3:])
        result.append(np.concatenate((v + cross(w, -point), w)))
    return result
