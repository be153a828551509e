"""Derived quantities of a finished run: energy, momentum, gaps, reactions.

Every function takes a Trajectory, whose arrays begin with the axis `step`. Velocities are those of the nodes (see
`Trajectory`), so energies and momenta are too: positions and velocities of one instant, never of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import _core
from ._rotation import Array, conjugate, cross, multiply, rotate, to_matrix

if TYPE_CHECKING:
    from .joints import BodyLike, Joint
    from .state import State
    from .trajectory import Trajectory

# name -> axes of the point rows, pairs of axes of the angle rows
_FORMS = {name: (points, angles) for name, points, angles in _core.joint_forms()}


def masses(run: Trajectory) -> Array:
    """Mass of every body (n,) in kg."""
    return np.array([body.inertia.mass for body in run.mechanism.bodies.values()])


def body_momenta(run: Trajectory) -> tuple[Array, Array]:
    """Linear momentum (step, n, 3) and angular momentum about the own centre of mass (step, n, 3), world frame."""
    tensors = np.reshape([body.inertia.tensor for body in run.mechanism.bodies.values()], (-1, 3, 3))
    local = rotate(conjugate(run.orientation), run.angular_velocity)
    spin = rotate(run.orientation, np.einsum("nij,snj->sni", tensors, local))
    return masses(run)[:, None] * run.velocity, spin


def kinetic_energy(run: Trajectory) -> Array:
    """Kinetic energy (step,) in J."""
    linear, spin = body_momenta(run)
    twice: Array = np.einsum("sni,sni->s", linear, run.velocity) + np.einsum("sni,sni->s", spin, run.angular_velocity)
    return 0.5 * twice


def potential_energy(run: Trajectory) -> Array:
    """Potential energy of gravity (step,) in J, zero at the origin."""
    energy: Array = -np.einsum("n,sni,i->s", masses(run), run.position, run.mechanism.gravity)
    return energy


def energy(run: Trajectory) -> Array:
    """Kinetic plus potential energy (step,) in J."""
    return kinetic_energy(run) + potential_energy(run)


def momentum(run: Trajectory) -> Array:
    """Linear momentum (step, 3) in kg m/s."""
    total: Array = body_momenta(run)[0].sum(axis=1)
    return total


def angular_momentum(run: Trajectory, about: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Array:
    """Angular momentum (step, 3) about a fixed world point, in kg m^2/s."""
    linear, spin = body_momenta(run)
    total: Array = (spin + cross(run.position - np.asarray(about, dtype=float), linear)).sum(axis=1)
    return total


def gaps(run: Trajectory, joint: Joint) -> tuple[Array, Array]:
    """How far a joint is open: metres (step,) and radians (step,) in the directions it constrains."""
    points, angles = _FORMS[joint.code]
    arms, axes_a, axes_b = _geometry(run, joint)
    point = [np.einsum("si,si->s", axes_a[..., i], arms) for i in points]
    angle = [np.einsum("si,si->s", axes_a[..., i], axes_b[..., j]) for i, j in angles]
    none = np.zeros(len(run))
    return np.sqrt(sum((g * g for g in point), none)), np.sqrt(sum((g * g for g in angle), none))


def drift(run: Trajectory) -> Array:
    """Gap of every joint (step, joint) in m, joints in the mechanism's order."""
    return _per_joint(run, 0)


def misalignment(run: Trajectory) -> Array:
    """Angle by which every joint is open (step, joint) in rad."""
    return _per_joint(run, 1)


def reaction(run: Trajectory, joint: Joint) -> tuple[Array, Array]:
    """Force (step, 3) in N and torque (step, 3) in N m that the joint exerts on its body b, in the world frame.

    The torque is taken about b's joint point. The joint exerts the opposite on its body a. Where joints are redundant
    their reactions are not determined by the motion: these are the smallest ones that explain it.
    """
    first = 0
    for other in run.mechanism.joints.values():
        if other is joint:
            break
        first += row_count(other)
    forces, torques = _row_directions(run, joint)
    values = smallest_multipliers(run)
    k = len(forces)
    none = np.zeros((len(run), 3))
    force = sum((values[:, first + i, None] * axis for i, axis in enumerate(forces)), none)
    torque = sum((values[:, first + k + i, None] * axis for i, axis in enumerate(torques)), none)
    return force, torque


def smallest_multipliers(run: Trajectory) -> Array:
    """The multipliers (step, rows) of least norm that exert the same forces on all bodies, torques over the size.

    They differ from the recorded ones only where rows are redundant.
    """
    mechanism = run.mechanism
    if not len(run) or not mechanism.spanning_tree().loops or mechanism.report(run[0]).redundant_count == 0:
        return run.multipliers
    if run._smallest is None:
        size = extent(run[0])
        scale = np.concatenate([_row_scale(joint, size) for joint in mechanism.joints.values()])
        run._smallest = np.empty_like(run.multipliers)
        for k in range(len(run)):
            # rows of redundant joints are dependent to rounding; anything above that is a real direction
            rows = _jacobian(run[k : k + 1]) / scale[:, None]
            wanted = (run.multipliers[k] * scale) @ rows
            run._smallest[k] = np.linalg.lstsq(rows.T, wanted, rcond=1e-9)[0] / scale
    return run._smallest


def _row_scale(joint: Joint, size: float) -> Array:
    points, angles = _FORMS[joint.code]
    return np.array([1.0] * len(points) + [1.0 / size] * len(angles))


def _jacobian(node: Trajectory) -> Array:
    """Rows of all joints against displacements and turns of all bodies (rows, 6 n), at a trajectory's first node."""
    blocks = []
    for joint in node.mechanism.joints.values():
        forces, torques = _row_directions(node, joint)
        block = np.zeros((len(forces) + len(torques), node.mechanism.body_count, 6))
        point = joint.anchor_b if joint.b.is_world else node.body(joint.b.name).point(joint.anchor_b)[0]
        for sign, body in ((-1.0, joint.a), (1.0, joint.b)):
            if body.is_world:
                continue
            row = node.row(body.name)
            arm = point - node.position[0, row]
            for k, axis in enumerate(forces):
                block[k, row] = sign * np.concatenate((axis[0], cross(arm, axis[0])))
            for k, axis in enumerate(torques, start=len(forces)):
                block[k, row, 3:] = sign * axis[0]
        blocks.append(block.reshape(len(block), -1))
    return np.concatenate(blocks)


def _row_directions(run: Trajectory, joint: Joint) -> tuple[list[Array], list[Array]]:
    """Unit forces and unit torques (step, 3) on b of the joint's point rows and angle rows."""
    points, angles = _FORMS[joint.code]
    _, axes_a, axes_b = _geometry(run, joint)
    return [axes_a[..., i] for i in points], [cross(axes_b[..., j], axes_a[..., i]) for i, j in angles]


def joint_axes(state: State, joint: Joint) -> tuple[Array, Array, Array]:
    """A joint's rows at one instant: b's joint point (3,), unit forces (k, 3) there and unit torques (k, 3) on b."""
    forces, torques = _row_directions(still(state), joint)
    point = joint.anchor_b if joint.b.is_world else state.body(joint.b.name).point(joint.anchor_b)
    return point, np.reshape([axis[0] for axis in forces], (-1, 3)), np.reshape([axis[0] for axis in torques], (-1, 3))


def row_count(joint: Joint) -> int:
    """Number of multipliers of a joint."""
    points, angles = _FORMS[joint.code]
    return len(points) + len(angles)


def still(state: State) -> Trajectory:
    """A trajectory of one node."""
    from .simulator import Status
    from .trajectory import Trajectory

    none = np.zeros(0, dtype=np.int32)
    arrays = (state.position[None], state.orientation[None], state.velocity[None], state.angular_velocity[None])
    time, rows = np.array([state.time]), np.zeros((1, 0))
    return Trajectory(state.mechanism, 0.0, time, *arrays, rows, iterations=none, pieces=none, status=Status())


def extent(state: State) -> float:
    """Size of the mechanism (m): diagonal of the box around all joint points and centres of mass."""
    points = list(state.position)
    rows = {name: row for row, name in enumerate(state.mechanism.bodies)}
    for joint in state.mechanism.joints.values():
        for body, anchor in ((joint.a, joint.anchor_a), (joint.b, joint.anchor_b)):
            if not body.is_world:
                row = rows[body.name]
                points.append(state.position[row] + rotate(state.orientation[row], anchor))
            elif joint.dof < 6:
                points.append(anchor)
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    return size if size > 0 else 1.0


def _per_joint(run: Trajectory, which: int) -> Array:
    columns = [gaps(run, joint)[which] for joint in run.mechanism.joints.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(run), 0))


def _geometry(run: Trajectory, joint: Joint) -> tuple[Array, Array, Array]:
    """Vector between the two anchors (step, 3), and the axes of both joint frames (step, 3, axis)."""

    def side(body: BodyLike, anchor: Array, frame: Array) -> tuple[Array, Array]:
        if body.is_world:
            shape = (len(run), 3)
            return np.broadcast_to(anchor, shape), np.broadcast_to(to_matrix(frame), (*shape, 3))
        row = run.row(body.name)
        q = run.orientation[:, row]
        return run.position[:, row] + rotate(q, anchor), to_matrix(multiply(q, frame))

    p_a, axes_a = side(joint.a, joint.anchor_a, joint.frame_a)
    p_b, axes_b = side(joint.b, joint.anchor_b, joint.frame_b)
    return p_b - p_a, axes_a, axes_b
