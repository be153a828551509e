"""States that a run may start from."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from .._util.rotation import Array, finite
from .._util.status import RESCUE_DEPTH
from ..kinematics.geometry import extent
from ..kinematics.state import State
from ..kinematics.unwrap import ByJoint
from .assembly import AssemblyError, describe, open_joints, refuse_loop_mismatch, stands
from .massless import refuse_loose_at

if TYPE_CHECKING:
    from ..simulate.simulator import Simulator

# a state whose joints are further open than this (parts of the mechanism's size, rad) is not assembled but refused
_NEARLY_CLOSED = 1e-5


def refuse_open(simulator: Simulator, state: State) -> bool:
    """Whether joints are open a little; if they are wide open, that is an error."""
    wide = open_joints(simulator._compiled, state)
    if not wide:
        return False
    size = extent(state)
    if max(max(gap[0] / size, gap[1]) for gap in wide.values()) > _NEARLY_CLOSED:
        raise AssemblyError(
            f"the state to start from is not closed: {describe(simulator.mechanism, wide)}; "
            "mechanism.assemble() may close it",
            wide,
        )
    return True


def checked(simulator: Simulator, state: State) -> State:
    """The state to start from: closed, if it nearly was; refused if it is not, or is too fast for dt."""
    if not isinstance(state, State):
        raise ValueError(f"the state to start from must be a State, got {state!r}")
    if list(state.mechanism.bodies) != list(simulator.mechanism.bodies):
        raise ValueError("the state belongs to another mechanism: its bodies have other names")
    if not (isinstance(state._angles, ByJoint) and state._angles.places == simulator._compiled.counter_places):
        for name, angles in state.turned.items():
            joint = simulator.mechanism.joints.get(name)
            finite(angles, (len(joint.angles) if joint else np.size(angles),), f"turned angles of joint {name!r}")
    if stands(simulator._compiled, state, _fastest(simulator)):
        return state
    # a new state is checked, so writes into the arrays of the old one cannot smuggle in a NaN
    state = State(
        simulator.mechanism,
        state.position,
        state.orientation,
        state.velocity,
        state.angular_velocity,
        time=state.time,
        multipliers=state.multipliers,
        turned=state._angles,
        reached=state._reached,
    )
    if refuse_open(simulator, state):
        state = simulator.mechanism.assemble(state)
    refuse_loop_mismatch(simulator._compiled, state)
    refuse_loose_at(state)
    refuse_fast(simulator, state.angular_velocity)
    return state


def refuse_fast(simulator: Simulator, angular_velocity: Array) -> None:
    """Raise where a body (..., n, 3) is too fast for dt."""
    speed, limit = np.linalg.norm(angular_velocity, axis=-1), _fastest(simulator)
    if speed.max(initial=0.0) >= limit:
        name = list(simulator.mechanism.bodies)[int(speed.argmax()) % simulator.mechanism.body_count]
        raise ValueError(
            f"body {name!r} turns by |w| dt = {speed.max() * simulator.dt:.3g} rad in a step; it must be below "
            f"{limit * simulator.dt:g}: use a smaller dt"
        )


def _fastest(simulator: Simulator) -> float:
    """At which a body turns too far in the shortest step (rad/s)."""
    # where an accuracy is asked for, what is too fast is halved
    return (
        inf if simulator.accuracy is not None else 2.0 ** (1 + (RESCUE_DEPTH if simulator.rescue else 0)) / simulator.dt
    )
