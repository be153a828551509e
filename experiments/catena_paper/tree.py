"""What rivals simulate: a tree of revolute and ball joints with loops, as plain arrays.

Bodies come parents first. Joint i carries body i: its orientation is R_i = R_parent rest_i Q(q_i), where Q is a turn by
the angle q_i about axis_i, or the unit quaternion q_i itself; the joint's points on the two bodies coincide. Rates are
the angle's rate, or the angular velocity of the child relative to its parent, in the child's frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena._util.rotation import Array, conjugate, cross, from_rotation_vector, multiply, normalised, rotate

Ints = NDArray[np.int32]

REVOLUTE, BALL = 0, 1
_KINDS: dict[type, int] = {ct.Revolute: REVOLUTE, ct.Ball: BALL}
_Z = np.array((0.0, 0.0, 1.0))


class Poses(NamedTuple):
    """Where bodies are and how they move, in the world frame, rows in the mechanism's order of bodies.

    position (..., n, 3) m, orientation (..., n, 4) body to world, velocity (..., n, 3) m/s, angular_velocity
    (..., n, 3) rad/s.
    """

    position: Array
    orientation: Array
    velocity: Array
    angular_velocity: Array

    @staticmethod
    def of(state: ct.State | ct.Trajectory) -> Poses:
        """The poses of a state, or of all nodes of a run."""
        return Poses(state.position, state.orientation, state.velocity, state.angular_velocity)


@dataclass(frozen=True)
class Loops:
    """The joints that no body hangs on (m): body_a, body_b are rows of the tree, -1 the world.

    kind (m): 0 revolute, 1 ball; point_a, point_b (m, 3) in the bodies' frames from their centers of mass (m);
    axis_a, axis_b (m, 3) unit axes of revolute joints in the bodies' frames.
    """

    body_a: Ints
    body_b: Ints
    kind: Ints
    point_a: Array
    point_b: Array
    axis_a: Array
    axis_b: Array

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True)
class Tree:
    """Bodies, the joints that carry them and the loops, as arrays; bodies parents first.

    parent (n): -1 is the world; kind (n): 0 revolute, 1 ball; rest (n, 4): orientation of the child relative to its
    parent at zero coordinates; axis (n, 3): unit axis of a revolute joint in the child's frame; at_parent (n, 3),
    at_child (n, 3): the joint's points in the frames of parent and child, from their centers of mass (m); mass (n) kg,
    inertia (n, 3, 3) about the center of mass in the body's frame (kg m^2); gravity (3) m/s^2; row (n): where the body
    stands among those of the mechanism; name (n) of bodies.
    """

    parent: Ints
    kind: Ints
    rest: Array
    axis: Array
    at_parent: Array
    at_child: Array
    mass: Array
    inertia: Array
    gravity: Array
    loops: Loops
    row: Ints
    name: tuple[str, ...]

    @staticmethod
    def of(mechanism: ct.Mechanism, closing: Iterable[str] = ()) -> Tree:
        """Span a mechanism breadth first from the world; joints named in `closing`, and all others left, are loops."""
        _refuse_others(mechanism, closing := set(closing))
        joints_at: dict[str, list[ct.Joint]] = {name: [] for name in ("world", *mechanism.bodies)}
        for name, joint in mechanism.joints.items():
            if name not in closing:
                joints_at[joint.a.name].append(joint)
                joints_at[joint.b.name].append(joint)
        index: dict[str, int] = {"world": -1}
        carried: list[tuple[ct.Joint, str, str]] = []
        queue = ["world"]
        for parent in queue:
            for joint in joints_at[parent]:
                child = joint.b.name if joint.a.name == parent else joint.a.name
                if child not in index:
                    index[child] = len(carried)
                    carried.append((joint, parent, child))
                    queue.append(child)
        floating = [name for name in mechanism.bodies if name not in index]
        if floating:
            raise ValueError(f"body {floating[0]!r} hangs on nothing, and rivals know no floating bodies")

        used = {joint.name for joint, _, _ in carried}
        bodies = [mechanism.bodies[child] for _, _, child in carried]
        rows = {name: row for row, name in enumerate(mechanism.bodies)}
        sides = [_sides(joint, joint.a.name == parent) for joint, parent, _ in carried]
        left = [joint for name, joint in mechanism.joints.items() if name not in used]
        return Tree(
            parent=_ints([index[parent] for _, parent, _ in carried]),
            kind=_ints([_KINDS[type(joint)] for joint, _, _ in carried]),
            rest=np.array([normalised(multiply(frame_p, conjugate(frame_c))) for _, _, frame_p, frame_c, _ in sides]),
            axis=np.array([sign * rotate(frame_c, _Z) for _, _, _, frame_c, sign in sides]),
            at_parent=np.array([point for point, *_ in sides]),
            at_child=np.array([point for _, point, *_ in sides]),
            mass=np.array([body.mass for body in bodies]),
            inertia=np.array([body.inertia.tensor for body in bodies]),
            gravity=np.array(mechanism.gravity),
            loops=Loops(
                body_a=_ints([index[joint.a.name] for joint in left]),
                body_b=_ints([index[joint.b.name] for joint in left]),
                kind=_ints([_KINDS[type(joint)] for joint in left]),
                point_a=np.reshape([joint.anchor_a for joint in left], (-1, 3)),
                point_b=np.reshape([joint.anchor_b for joint in left], (-1, 3)),
                axis_a=np.reshape([rotate(joint.frame_a, _Z) for joint in left], (-1, 3)),
                axis_b=np.reshape([rotate(joint.frame_b, _Z) for joint in left], (-1, 3)),
            ),
            row=_ints([rows[body.name] for body in bodies]),
            name=tuple(body.name for body in bodies),
        )

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def coordinate_offset(self) -> Ints:
        """Where the coordinates of every joint begin, and their number at the end (n + 1)."""
        return _offsets(np.where(self.kind == REVOLUTE, 1, 4))

    @property
    def rate_offset(self) -> Ints:
        """Where the rates of every joint begin, and their number at the end (n + 1)."""
        return _offsets(np.where(self.kind == REVOLUTE, 1, 3))

    # ---- from poses to coordinates and back

    def coordinates_of(self, state: ct.State) -> Array:
        """Coordinates of all joints in a state whose tree joints are closed; angles in (-pi, pi]."""
        orientation = state.orientation[self.row]
        turn = multiply(conjugate(self.rest), multiply(conjugate(self._of_parents(orientation, 1.0)), orientation))
        turn = np.where(turn[:, :1] < 0, -turn, turn)
        angle = 2 * np.arctan2(np.einsum("ij,ij->i", turn[:, 1:], self.axis), turn[:, 0])
        return np.concatenate([angle[[i]] if kind == REVOLUTE else turn[i] for i, kind in enumerate(self.kind)])

    def rates_of(self, state: ct.State) -> Array:
        """Rates of all joints in a state whose velocities the tree joints allow."""
        spin = state.angular_velocity[self.row]
        relative = rotate(conjugate(state.orientation[self.row]), spin - self._of_parents(spin, 0.0))
        rate = np.einsum("ij,ij->i", relative, self.axis)
        return np.concatenate([rate[[i]] if kind == REVOLUTE else relative[i] for i, kind in enumerate(self.kind)])

    def _of_parents(self, values: Array, first_of_world: float) -> Array:
        """Rows of the parents; the world's row is zero but for its first number."""
        world = np.zeros((1, values.shape[1]))
        world[0, 0] = first_of_world
        result: Array = np.concatenate((values, world))[self.parent]
        return result

    def poses(self, coordinates: Array, rates: Array) -> Poses:
        """Poses of all bodies at coordinates (..., coordinates) and rates (..., rates)."""
        q, v = np.asarray(coordinates, dtype=float), np.asarray(rates, dtype=float)
        shape = q.shape[:-1]
        x, w, u, s = (np.empty((*shape, len(self), width)) for width in (3, 4, 3, 3))
        world = (np.zeros((*shape, 3)), np.zeros((*shape, 4)), np.zeros((*shape, 3)), np.zeros((*shape, 3)))
        world[1][..., 0] = 1.0
        q_at, v_at = self.coordinate_offset, self.rate_offset
        for i, parent in enumerate(self.parent):
            xp, wp, up, sp = (part[..., self.row[parent], :] for part in (x, w, u, s)) if parent >= 0 else world
            if self.kind[i] == REVOLUTE:
                turn = from_rotation_vector(q[..., q_at[i], None] * self.axis[i])
                rate = v[..., v_at[i], None] * self.axis[i]
            else:
                turn, rate = q[..., q_at[i] : q_at[i + 1]], v[..., v_at[i] : v_at[i + 1]]
            wi = normalised(multiply(wp, multiply(np.broadcast_to(self.rest[i], turn.shape), turn)))
            si = sp + rotate(wi, rate)
            arm = rotate(wp, np.broadcast_to(self.at_parent[i], (*shape, 3)))
            foot = rotate(wi, np.broadcast_to(self.at_child[i], (*shape, 3)))
            row = self.row[i]
            x[..., row, :], w[..., row, :], s[..., row, :] = xp + arm - foot, wi, si
            u[..., row, :] = up + cross(sp, arm) - cross(si, foot)
        return Poses(x, w, u, s)

    # ---- what a report looks at

    def energy(self, poses: Poses) -> Array:
        """Kinetic and potential energy (...) in J, the latter zero at the origin."""
        x, w, u, s = (part[..., self.row, :] for part in poses)
        spin = rotate(conjugate(w), s)
        twice = np.einsum("n,...ni,...ni", self.mass, u, u) + np.einsum("...ni,nij,...nj", spin, self.inertia, spin)
        result: Array = 0.5 * twice - np.einsum("n,...ni,i", self.mass, x, self.gravity)
        return result

    def gaps(self, poses: Poses) -> Array:
        """Distance (..., n + loops) in m of the two points of every joint: of the tree's, then of the loops."""
        loops = self.loops
        a = np.concatenate((self.parent, loops.body_a))
        b = np.concatenate((np.arange(len(self), dtype=np.int32), loops.body_b))
        at_a, at_b = np.concatenate((self.at_parent, loops.point_a)), np.concatenate((self.at_child, loops.point_b))
        apart = self._points(poses, b, at_b) - self._points(poses, a, at_a)
        result: Array = np.linalg.norm(apart, axis=-1)
        return result

    def _points(self, poses: Poses, body: Ints, at: Array) -> Array:
        """World places (..., points, 3) of points of bodies, or of the world."""
        row = self.row[body]
        q = poses.orientation[..., row, :]
        on_body = poses.position[..., row, :] + rotate(q, np.broadcast_to(at, (*q.shape[:-1], 3)))
        return np.where((body < 0)[:, None], at, on_body)


def _refuse_others(mechanism: ct.Mechanism, closing: set[str]) -> None:
    for joint in mechanism.joints.values():
        if type(joint) not in _KINDS or joint.ground is not None:
            raise ValueError(f"{joint.label}: rivals know revolute and ball joints on ground that stands still")
    for name in closing:
        if name not in mechanism.joints:
            raise ValueError(f"there is no joint called {name!r} to close a loop with")
    for body in mechanism.bodies.values():
        if not body.has_gravity:
            raise ValueError(f"{body.label} is not pulled by gravity, and rivals know one gravity for all")
    for item in (*mechanism.forces.values(), *mechanism.couplings.values()):
        raise ValueError(f"{item.name!r}: rivals know no forces but gravity, and no couplings")


def _sides(joint: ct.Joint, a_carries: bool) -> tuple[Array, Array, Array, Array, float]:
    """Points and frames on parent and child, and the sign that makes the angle the mechanism's own."""
    if a_carries:
        return joint.anchor_a, joint.anchor_b, joint.frame_a, joint.frame_b, 1.0
    return joint.anchor_b, joint.anchor_a, joint.frame_b, joint.frame_a, -1.0


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), dtype=np.int32)


def _offsets(sizes: NDArray[np.integer]) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
