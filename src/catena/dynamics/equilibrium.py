"""Poses at rest: downhill from a guess, along the motions that the joints allow.

Each step goes with the forces by their stiffness, |K|^-1 F, so that it is downhill where the stiffness is negative as
well, and by no more than 0.2 rad or parts of the size. Then the joints are closed. A step is taken if the forces have
done work on the way (the mean of both ends times the way), or else halved. Directions in which |K| is nearly nothing,
such as at an inflection, take the longest step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._util.lookup import no_such
from .._util.rotation import Array
from .._util.status import CatenaWarning, warn
from .equations import System
from .poses import poses_of
from .small_motions import SmallMotions, moved

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism
    from ..kinematics.state import State

_STEPS = 200
_LONGEST = 0.2  # rad or parts of the size
_ENOUGH = 1e-11  # of the efforts that hold the pose
_SOFT = 1e-6  # parts of the largest stiffness that count as none


class EquilibriumWarning(CatenaWarning):
    """A pose is at rest but not stable."""


def equilibrium_of(mechanism: Mechanism, guess: State, hold: Sequence[str]) -> State:
    """A state at rest in which joints called `hold` stay, or an error that says what pushes still."""
    system, places = System(mechanism), mechanism.coordinate_places()
    for name in hold:
        if name not in places:
            raise no_such("joint", name, mechanism, before="hold: ")
    held = [k for name in hold for k in range(places[name].start, places[name].stop)]
    state = _still(mechanism.assemble(guess, fixed=hold))
    small = _at(system, state, held)
    for _ in range(_STEPS):
        if not small.force.size:
            return state
        step = _downhill(small)
        if np.abs(small.force).max() <= _ENOUGH * small.scale:
            # springs may hold each other with far more than weights: what the last step leaves is rounding
            there = _closed(mechanism, state, hold, np.einsum("k,kbi->bi", step, small.twists))
            ahead = _at(system, there, held)
            _warn_unless_stable(small)
            return there if np.abs(ahead.force).max() < np.abs(small.force).max() else state
        for _ in range(12):
            there = _closed(mechanism, state, hold, np.einsum("k,kbi->bi", step, small.twists))
            ahead = _at(system, there, held)
            way = small.motions @ step
            # the forces of a pose that is nearly at rest are rounding
            if -(small.efforts + ahead.efforts) @ way > 0 or np.abs(ahead.force).max() < np.abs(small.force).max():
                break
            step = 0.5 * step
        else:
            break
        state, small = there, ahead
    if np.abs(small.force).max() <= 1e3 * _ENOUGH * small.scale:
        _warn_unless_stable(small)
        return state
    along = np.abs(small.coordinate_rows() @ small.force)
    raise ValueError(
        f"no pose at rest found near the guess: after {_STEPS} steps an effort of {np.abs(small.force).max():.3g} "
        f"along {system.candidates[int(along.argmax())]!r} is left; a mechanism that falls for ever has no such pose"
    )


def _at(system: System, state: State, held: Sequence[int]) -> SmallMotions:
    return SmallMotions(system, poses_of(system.mechanism, state).at_rest(), tuple(held))


def _downhill(small: SmallMotions) -> Array:
    """Step (motion,) along the motions."""
    stiffness = 0.5 * (small.stiffness + small.stiffness.T)
    values, vectors = np.linalg.eigh(stiffness)
    size = np.maximum(np.abs(values), _SOFT * np.abs(values).max(initial=0.0))
    along = vectors.T @ small.force
    step: Array = vectors @ np.divide(along, size, out=np.sign(along), where=size > 0)
    moves = np.einsum("k,kbi->bi", step, small.twists)
    far = max(np.abs(moves[:, :3]).max(initial=0.0) / small.size, np.abs(moves[:, 3:]).max(initial=0.0))
    return step * min(1.0, _LONGEST / far) if far > 0 else step


def _closed(mechanism: Mechanism, state: State, hold: Sequence[str], twists: Array) -> State:
    poses = moved(poses_of(mechanism, state).at_rest(), twists[None])
    there = state.copy()
    there.position, there.orientation = poses.position[0], poses.orientation[0]
    closed: State = mechanism.assemble(there, fixed=hold)
    return _still(closed)


def _still(state: State) -> State:
    still = state.copy()
    still.velocity = still.angular_velocity = np.zeros_like(still.velocity)
    return still


def _warn_unless_stable(small: SmallMotions) -> None:
    values = np.linalg.eigvalsh(0.5 * (small.stiffness + small.stiffness.T)) if small.force.size else np.zeros(0)
    if values.size and values[0] < -1e-9 * np.abs(values).max():
        warn(EquilibriumWarning("the mechanism is at rest in this pose, but not stable: a small push moves it away"))
