"""Small motions about a pose: stiffness and damping, vibration modes, and linear models for control.

Derivatives are along motions that the joints allow, for which every body moves along its own twist: a little off the
joints, by the square of the way, which central differences of fourth order do not see. So nothing has to be closed
again, and no coordinate is chosen: at a dead centre, where a crank's angle stands still, the motions do not. With N the
motions that the rows leave (orthonormal), P the projection onto those of a pose nearby and h the efforts at rest,

    K = N^T d(P h)/dq N,      C = N^T dh/dr N,      M = N^T M N.

P turns with the pose as the constraint forces do that hold it, which is the part of K that springs do not know.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.rotation import Array, multiply, normalised
from .equations import Acting, Equations
from .poses import Poses

if TYPE_CHECKING:
    from .dynamics import Dynamics

# by how much bodies move (rad, or parts of the size) to either side, once and twice, and the weights of what they give
_WAY = 2e-3
_STRIDES, _WEIGHTS = np.array((1.0, -1.0, 2.0, -2.0)), np.array((8.0, -8.0, -1.0, 1.0)) / 12
