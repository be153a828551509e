"""Newton's matrix of a step from the core, and increments of its unknowns, for tests that hold one to the other."""

from __future__ import annotations

import numpy as np

from catena import Simulator, State
from catena._util import rotation as rot


def linearize(simulator: Simulator, state: State, unknowns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residual and matrix at an iterate; the state's angular velocity stands for the angular momentum."""
    core = simulator.plan.core
    residual, matrix = np.empty(core.unknown_count), np.empty((core.unknown_count,) * 2)
    node = {name: getattr(state, name) for name in ("position", "orientation", "velocity")}
    node["momentum"] = state.angular_velocity
    rows = simulator.plan.compiled.rows
    core.linearize(
        dt=0.1,
        kick=0.07,
        **node,
        unknowns=unknowns,
        residual=residual,
        matrix=matrix,
        rows=rows,
    )
    return residual, matrix


def moved(unknowns: np.ndarray, bodies: int, k: int, amount: float) -> np.ndarray:
    """Unknowns after an increment along column k: a turn changes the step quaternion from the left."""
    result = unknowns.copy()
    link, part = divmod(k, 6)
    if k >= 6 * bodies or part < 3:
        result[k] += amount
        return result
    eta = result[6 * link + 3 : 6 * link + 6]
    turn = rot.from_rotation_vector(amount * np.eye(3)[part - 3])
    eta[:] = rot.multiply(turn, np.array((np.sqrt(1 - eta @ eta), *eta)))[1:]
    return result
