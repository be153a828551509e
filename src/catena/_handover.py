"""The way from a mechanism to the compiled core: names become integers here, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from . import _core
from ._rotation import Array, multiply, rotate

if TYPE_CHECKING:
    from .mechanism import Mechanism

_CODES = {name: code for code, (name, _) in enumerate(_core.joint_forms())}


def default_kernel() -> str:
    """The best kernel of this machine, or the one the environment variable CATENA_KERNEL names."""
    return os.environ.get("CATENA_KERNEL") or _core.kernels()[-1]


def build_core(
    mechanism: Mechanism, *, kernel: str | None = None, frozen: Mapping[str, Array] | None = None
) -> _core.Core:
    """Compile a mechanism; joints in `frozen` are welded at the given coordinates (dof,)."""
    rows = {name: row for row, name in enumerate(mechanism.bodies)} | {mechanism.world.name: -1}
    bodies, joints = list(mechanism.bodies.values()), list(mechanism.joints.values())
    kind = [_CODES[joint.code] for joint in joints]
    anchors = np.reshape([(joint.anchor_a, joint.anchor_b) for joint in joints], (-1, 2, 3))
    frames = np.reshape([(joint.frame_a, joint.frame_b) for joint in joints], (-1, 2, 4))
    for k, joint in enumerate(joints):
        if frozen and joint.name in frozen:
            # the weld sits where the joint's frame b is at these coordinates
            translation, turn = joint.relative(frozen[joint.name])
            anchors[k, 0] += rotate(joint.frame_a, translation)
            frames[k, 0] = multiply(joint.frame_a, turn)
            kind[k] = _CODES["fixed"]
    # forces measure something between two bodies: to the core that is one more joint, which holds nothing
    forces = list(mechanism.forces.values()) if frozen is None else []
    kind += [_CODES[force.measure.code] for force in forces]
    pairs = [(rows[j.a.name], rows[j.b.name]) for j in joints]
    pairs += [(rows[force.measure.a], rows[force.measure.b]) for force in forces]
    anchors = np.concatenate((anchors, np.reshape([force.measure.anchors for force in forces], (-1, 2, 3))))
    frames = np.concatenate((frames, np.reshape([force.measure.frames for force in forces], (-1, 2, 4))))
    return _core.Core(
        mass=np.array([body.inertia.mass for body in bodies]),
        inertia=np.reshape([body.inertia.tensor for body in bodies], (-1, 3, 3)),
        kind=np.array(kind, dtype=np.int32),
        bodies=np.array(pairs, dtype=np.int32).reshape(-1, 2),
        anchors=anchors,
        frames=frames,
        parameters=np.array([joint.parameter for joint in joints] + [0.0] * len(forces)),
        law_joints=np.arange(len(joints), len(joints) + len(forces), dtype=np.int32),
        laws=np.reshape([force.numbers() for force in forces], (-1, 12)).astype(float),
        gravity=np.array(mechanism.gravity),
        kernel=kernel or default_kernel(),
    )
