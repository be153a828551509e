"""Rows of all joints and couplings as one matrix, for tests that hold the core to what is dense and plain."""

from __future__ import annotations

import numpy as np

from catena import Trajectory
from catena.kinematics import geometry


def jacobian(node: Trajectory) -> np.ndarray:
    """Rows against displacements and turns of all bodies (rows, 6 n), at the first node."""
    m = node.mechanism
    blocks = [np.zeros((0, 6 * m.body_count))]
    for item in (*m.joints.values(), *m.couplings.values()):
        found = geometry.body_rows(node, item)
        if found:
            block = np.zeros((len(next(iter(found.values()))), m.body_count, 6))
            for name, rows in found.items():
                block[:, node.row(name)] = rows
            blocks.append(block.reshape(len(block), -1))
    return np.concatenate(blocks)
