"""Derived quantities of a finished run: energy, momentum, gaps, reactions.

Every function takes a Trajectory, whose arrays begin with the axis `step`. Velocities are those of the nodes (see
`Trajectory`), so energies and momenta are too: positions and velocities of one instant, never of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import _core
from ._rotation import Array, conjugate, cross, rotate

if TYPE_CHECKING:
    from .joints import BodyLike, Joint
    from .laws import Force
    from .state import State
    from .trajectory import Trajectory

# name -> code, and for every row whether it is a length or an angle
_FORMS = {name: (code, np.array(lengths, dtype=bool)) for code, (name, lengths) in enumerate(_core.joint_forms())}


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
    """Potential energy of gravity, zero at the origin, and of springs (step,) in J."""
    energy: Array = -np.einsum("n,sni,i->s", masses(run), run.position, run.mechanism.gravity)
    for force in run.mechanism.forces.values():
        if force.law["stiffness"] > 0:
            energy = energy + 0.5 * force.law["stiffness"] * (measured(run, force) - force.law["rest"]) ** 2
    return energy


def measured(run: Trajectory, force: Force) -> Array:
    """The scalar (step,) that a force acts on: an angle (rad, turns counted), a displacement or a distance (m)."""
    m = force.measure
    bodies = [run.mechanism.find(name, force.label) for name in (m.a, m.b)]
    start = run.turned.get(force.name, 0.0)
    gap, _, _ = _rows(run, _FORMS[m.code][0], bodies[0], bodies[1], m.anchors, m.frames, start, 1)
    return gap[:, 0]


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
    gap, _, _ = joint_rows(run, joint)
    lengths = _FORMS[joint.code][1]
    return np.linalg.norm(gap[:, lengths], axis=1), np.linalg.norm(gap[:, ~lengths], axis=1)


def joint_rows(run: Trajectory, joint: Joint) -> tuple[Array, Array, Array]:
    """Gaps (step, row) of a joint, wrenches (step, row, 6) of unit multipliers on b, b's joint point (step, 3).

    A wrench is a force and a torque about b's joint point, in the world frame.
    """
    anchors, frames = np.array((joint.anchor_a, joint.anchor_b)), np.array((joint.frame_a, joint.frame_b))
    code = _FORMS[joint.code][0]
    return _rows(run, code, joint.a, joint.b, anchors, frames, joint.parameter, row_count(joint))


def _rows(
    run: Trajectory, code: int, a: BodyLike, b: BodyLike, anchors: Array, frames: Array, parameter: float, count: int
) -> tuple[Array, Array, Array]:
    def side(body: BodyLike) -> tuple[Array, Array]:
        if body.is_world:
            return np.zeros((len(run), 3)), np.tile(body.orientation, (len(run), 1))
        row = run.row(body.name)
        return np.ascontiguousarray(run.position[:, row]), np.ascontiguousarray(run.orientation[:, row])

    gap, wrench, point = np.empty((len(run), count)), np.empty((len(run), count, 6)), np.empty((len(run), 3))
    position_a, orientation_a = side(a)
    position_b, orientation_b = side(b)
    _core.joint_rows(
        kind=code,
        anchors=anchors,
        frames=frames,
        parameter=parameter,
        position_a=position_a,
        orientation_a=orientation_a,
        position_b=position_b,
        orientation_b=orientation_b,
        gap=gap,
        wrench=wrench,
        point=point,
    )
    return gap, wrench, point


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
    _, wrench, _ = joint_rows(run, joint)
    values = smallest_multipliers(run)[:, first : first + row_count(joint)]
    total: Array = np.einsum("sr,srk->sk", values, wrench)
    return total[:, :3], total[:, 3:]


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
    return np.where(_FORMS[joint.code][1], 1.0, 1.0 / size)


def _jacobian(node: Trajectory) -> Array:
    """Rows of all joints against displacements and turns of all bodies (rows, 6 n), at a trajectory's first node."""
    blocks = []
    for joint in node.mechanism.joints.values():
        _, wrench, point = joint_rows(node, joint)
        block = np.zeros((row_count(joint), node.mechanism.body_count, 6))
        for sign, body in ((-1.0, joint.a), (1.0, joint.b)):
            if not body.is_world:
                row = node.row(body.name)
                arm = point[0] - node.position[0, row]
                block[:, row, :3] = sign * wrench[0, :, :3]
                block[:, row, 3:] = sign * (wrench[0, :, 3:] + cross(arm, wrench[0, :, :3]))
        blocks.append(block.reshape(len(block), -1))
    return np.concatenate(blocks)


def row_count(joint: Joint) -> int:
    """Number of multipliers of a joint."""
    return len(_FORMS[joint.code][1])


def still(state: State) -> Trajectory:
    """A trajectory of one node."""
    from .simulator import Status
    from .trajectory import Trajectory

    none = np.zeros(0, dtype=np.int32)
    arrays = (state.position[None], state.orientation[None], state.velocity[None], state.angular_velocity[None])
    time, rows = np.array([state.time]), np.zeros((1, 0))
    return Trajectory(
        state.mechanism, 0.0, time, *arrays, rows, iterations=none, pieces=none, status=Status(), turned=state.turned
    )


def extent(state: State) -> float:
    """Size of the mechanism (m): diagonal of the box around all joint points and centres of mass."""
    rows = {name: row for row, name in enumerate(state.mechanism.bodies)}
    holding = [joint for joint in state.mechanism.joints.values() if joint.dof < 6]
    sides = [(joint.a, joint.anchor_a) for joint in holding] + [(joint.b, joint.anchor_b) for joint in holding]
    carried = [rows[body.name] for body, _ in sides if not body.is_world]
    anchors = np.reshape([anchor for body, anchor in sides if not body.is_world], (-1, 3))
    fixed = np.reshape([anchor for body, anchor in sides if body.is_world], (-1, 3))
    moving = state.position[carried] + rotate(state.orientation[carried], anchors)
    points = np.concatenate((state.position, moving, fixed))
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    return size if size > 0 else 1.0


def _per_joint(run: Trajectory, which: int) -> Array:
    columns = [gaps(run, joint)[which] for joint in run.mechanism.joints.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(run), 0))
