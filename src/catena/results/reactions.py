"""Reactions of joints and couplings from recorded multipliers; the smallest ones if rows are redundant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._util.rotation import Array
from ..compile.compile import all_rows
from ..kinematics.geometry import extent, ground_poses, joint_rows, poses, row_lengths

if TYPE_CHECKING:
    from ..describe.joint import Joint
    from .trajectory import Trajectory


def reaction(run: Trajectory, joint: Joint) -> tuple[Array, Array]:
    """Force (step, 3) in N and torque (step, 3) in N m that the joint exerts on its body b, in the world frame.

    The torque is about b's anchor point. The joint exerts the opposite force and torque on its body a. The motion does
    not determine the reactions of redundant joints: these are the smallest ones that agree with it.
    """
    first = 0
    for other in run.mechanism.joints.values():
        if other is joint:
            break
        first += other.row_count
    _, wrench, _ = joint_rows(joint, *poses(run, joint))
    values = smallest_multipliers(run)[:, first : first + joint.row_count]
    total: Array = np.einsum("sr,srk->sk", values, wrench)
    return total[:, :3], total[:, 3:]


def smallest_multipliers(run: Trajectory) -> Array:
    """Multipliers (step, rows) of least norm with the same forces on all bodies; torques are divided by the size.

    They differ from the recorded multipliers only if rows are redundant.
    """
    mechanism = run.mechanism
    rows = sum(joint.row_count for joint in mechanism.joints.values()) + len(mechanism.couplings)
    if run.multipliers.shape[1] != rows:
        raise ValueError(
            "reactions were not recorded: they exist only in single runs and states of such runs, not in batches"
        )
    if run._smallest is None:
        looped = len(run) and (mechanism.spanning_tree().loops or mechanism.couplings)
        run._smallest = _relieved(run) if looped else run.multipliers
    return run._smallest


def _relieved(run: Trajectory) -> Array:
    """The multipliers (step, rows) without their self-stress."""
    mechanism = run.mechanism
    # these are the rows of the record
    compiled = all_rows(mechanism)
    signals = np.zeros((len(run), compiled.signals.count))
    for joint, first in zip(mechanism.joints.values(), compiled.arguments["joint_ground"], strict=True):
        if first >= 0:
            signals[:, first : first + 7] = np.concatenate(ground_poses(joint, run.time), axis=1)
    lengths = [row_lengths(joint) for joint in mechanism.joints.values()]
    lengths.append(np.array([not c.terms[0].measure.is_angle for c in mechanism.couplings.values()], dtype=bool))
    size = extent(run[0])
    multipliers = run.multipliers.copy(order="C")
    compiled.core.relieve(
        position=np.ascontiguousarray(run.position),
        orientation=np.ascontiguousarray(run.orientation),
        rows=compiled.rows,
        signals=signals,
        size=size,
        scale=np.where(np.concatenate(lengths), 1.0, 1.0 / size),
        multipliers=multipliers,
    )
    return multipliers
