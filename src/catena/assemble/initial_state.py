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
    from ..simulate.plan import Plan

# a state whose joints are further open than this (parts of the mechanism's size, rad) is not assembled but refused
NEARLY_CLOSED = 1e-5


def refuse_open(plan: Plan, state: State) -> bool:
    """Whether joints are open a little; if they are wide open, that is an error."""
    wide = open_joints(plan.compiled, state)
    if not wide:
        return False
    size = extent(state)
    if max(max(gap[0] / size, gap[1]) for gap in wide.values()) > NEARLY_CLOSED:
        raise AssemblyError(
            f"the initial state is not closed: {describe(plan.mechanism, wide)}; mechanism.assemble() may close it",
            wide,
        )
    return True


def checked(plan: Plan, state: State) -> State:
    """The state to start from: closed, if it nearly was; refused if it is not, or is too fast for dt."""
    if not isinstance(state, State):
        raise ValueError(f"the initial state must be a State, got {state!r}")
    if list(state.mechanism.bodies) != list(plan.mechanism.bodies):
        raise ValueError("the state belongs to another mechanism: its bodies have other names")
    if not (isinstance(state._angles, ByJoint) and state._angles.places == plan.compiled.counter_places):
        for name, angles in state.turned.items():
            joint = plan.mechanism.joints.get(name)
            finite(angles, (len(joint.angles) if joint else np.size(angles),), f"turned angles of joint {name!r}")
    if stands(plan.compiled, state, fastest(plan)):
        return state
    # a new state is checked, so writes into the arrays of the old one cannot smuggle in a NaN
    state = State(
        plan.mechanism,
        *state._motion,
        time=state.time,
        multipliers=state.multipliers,
        turned=state._angles,
        computed=state.computed,
    )
    if plan.build.fit != state._image():
        if refuse_open(plan, state):
            state = plan.mechanism.assemble(state)
        refuse_loop_mismatch(plan.compiled, state)
        refuse_loose_at(state)
        note_fit(plan, state)
    refuse_fast(plan, state.angular_velocity)
    return state


def note_fit(plan: Plan, state: State) -> None:
    """Remember that a state is closed and holds its massless bodies, which takes some time to find out."""
    plan.build.fit = state._image()


def refuse_fast(plan: Plan, angular_velocity: Array) -> None:
    """Raise where a body (..., n, 3) is too fast for dt."""
    speed, limit = np.linalg.norm(angular_velocity, axis=-1), fastest(plan)
    if speed.max(initial=0.0) >= limit:
        name = list(plan.mechanism.bodies)[int(speed.argmax()) % plan.mechanism.body_count]
        raise ValueError(
            f"body {name!r} rotates by |w| dt = {speed.max() * plan.dt:.3g} rad in a step; it must be below "
            f"{limit * plan.dt:g}: use a smaller dt"
        )


def fastest(plan: Plan) -> float:
    """Angular velocity at which a body turns too far in the shortest step (rad/s)."""
    # where an accuracy is asked for, what is too fast is halved
    return inf if plan.accuracy is not None else 2.0 ** (1 + (RESCUE_DEPTH if plan.rescue else 0)) / plan.dt
