"""Rates that the user asks for: the velocities nearest to given ones with which all joints hold, loops included.

At a given pose the rates of a joint are linear in the velocities of its two bodies:

    rates = D T (v_a, w_a, v_b, w_b) + what moving ground adds

T takes these to the relative twist in frame a, D the twist to the rates. Wanted rates are thus rows like those of any
constraint on velocities. They are added to a copy of the mechanism, and the core, which projects velocities onto what
joints, couplings and functions of time allow, with the mass matrix as metric, finds the rest in linear time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._util.lookup import no_such
from .._util.rotation import Array, finite, to_matrix
from ..describe.custom import BodyPose, Rows, VelocityRows
from ..kinematics.geometry import meeting, poses
from ..kinematics.state import State
from .assembly import assemble

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism

# rates count as reached within this part of the largest of them and of the velocities that were there
_REACHED = 1e-7


def with_rates(state: State, rates: Mapping[str, ArrayLike]) -> State:
    """A closed state with other velocities: those nearest to its own with which joints have the given rates."""
    wanted = {name: _wanted(state.mechanism, name, value) for name, value in rates.items()}
    given = [*wanted.values(), state.velocity, state.angular_velocity]
    tolerance = _REACHED * max(float(np.abs(part).max(initial=0.0)) for part in given)

    def reached(state: State, wanted: Mapping[str, Array]) -> bool:
        misses = (np.abs(state.joint(name).rates - rates).max(initial=0.0) for name, rates in wanted.items())
        return all(miss <= tolerance for miss in misses)

    found = _projected(state, wanted)
    if reached(found, wanted):
        return found

    # one more at a time: the first that cannot be had is the one to name
    accepted: dict[str, Array] = {}
    for name, value in wanted.items():
        before, others = _projected(state, accepted), list(accepted)
        accepted[name] = value
        if not reached(_projected(state, accepted), accepted):
            break
    joint = state.mechanism.joints[name]
    condition = f" with {', '.join(map(repr, others))} as requested," if others else ""
    raise ValueError(
        f"rates: {joint.label} cannot have {_shown(value)}:{condition} the other joints give it "
        f"{_shown(before.joint(name).rates)}"
    )


def _wanted(mechanism: Mechanism, name: str, value: ArrayLike) -> Array:
    if name not in mechanism.joints:
        raise no_such("joint", name, mechanism, "rates: ")
    joint = mechanism.joints[name]
    label = f"rates of {joint.label}"
    if joint.dof == 1 and np.ndim(value) == 0:
        return finite(value, (), label).reshape(1)
    return finite(value, (joint.dof,), label)


def _shown(rates: Array) -> str:
    return ", ".join(f"{rate:.6g}" for rate in rates)


def _projected(state: State, wanted: Mapping[str, Array]) -> State:
    """The nearest velocities that the joints allow, and if they can the wanted rates as well."""
    mechanism = state.mechanism.copy()
    at_rest = state.copy()
    at_rest.velocity = at_rest.angular_velocity = np.zeros_like(state.velocity)
    for name, rates in wanted.items():
        if len(rates):
            joint, rows = mechanism.joints[name], _rate_rows(state, name)
            moving_ground = at_rest.joint(name).rates
            mechanism.add_joint(VelocityRows(joint.a, joint.b, _constant(rows), value=rates - moving_ground))
    closed = assemble(mechanism, _of(mechanism, state))

    # where wanted rates and joints contradict each other this is a compromise, and the joints have the last word
    return assemble(state.mechanism, _of(state.mechanism, closed))


def _of(mechanism: Mechanism, state: State) -> State:
    """The same numbers for another mechanism of the same bodies."""
    return State(mechanism, *state._motion, time=state.time, multipliers=state.multipliers, turned=state.turned)


def _constant(rows: Array) -> Rows:
    def function(a: BodyPose, b: BodyPose) -> Array:
        return rows

    return function


def _rate_rows(state: State, name: str) -> Array:
    """Rates of a joint per velocity and angular velocity of a, then of b, world frame: (dof, 12)."""
    joint = state.mechanism.joints[name]
    ends = poses(state, joint)
    point, frame = meeting(joint, *ends)
    arms = [_across(point - x) for x, _ in ends]
    none, one = np.zeros((3, 3)), np.eye(3)
    relative = np.block([[-one, arms[0], one, -arms[1]], [none, -one, none, one]])
    into_frame = np.kron(np.eye(2), to_matrix(frame).T)
    coordinates = state.joint(name).coordinates
    by_twist = np.stack([joint.rates_of(twist[:3], twist[3:], coordinates) for twist in np.eye(6)], axis=1)
    rows: Array = by_twist @ into_frame @ relative
    return rows


def _across(v: Array) -> Array:
    """The matrix of the vector product with v."""
    x, y, z = v
    return np.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))
