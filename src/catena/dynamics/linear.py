"""Linear models in continuous time about a pose with its velocities: how accelerations of the coordinates change.

    q' = u,   u' = f(q, u, inputs),      A = [W 1; df/dq df/du],   B = [0; df/d inputs]

by differences as in small_motions.py: along the motion of each coordinate the others' rates stay what they are. A small
rotation d of what spins with the rates w is carried along, d' = w x d + change of w: that is W.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._util.rotation import Array
from .equations import Equations, System
from .poses import Poses
from .small_motions import WAY, difference, moved, strides, with_velocities

# of the largest rate, or of the unit, by which rates and inputs change
_CHANGE = 1e-3


@dataclass(frozen=True)
class LinearModel:
    """x' = A x + B v, y = C x + D v about a pose; x (2 f,) are deviations of coordinates and rates, v (i,) of inputs.

    With a `dt` (s), of `Simulator.linearize`, x' is the deviation one step later; without, of `Dynamics.linearize`, it
    is the derivative. Deviations of the three coordinates of a ball are a small rotation along the axes of its rates,
    as are those of what floats. `states`, `inputs` and `outputs` are names.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    dt: float | None = None

    @property
    def matrices(self) -> tuple[Array, Array, Array, Array]:
        """(A, B, C, D)."""
        return self.A, self.B, self.C, self.D

    def __repr__(self) -> str:
        step = "" if self.dt is None else f", dt = {self.dt:g} s"
        return f"LinearModel({len(self.states)} states, {len(self.inputs)} inputs{step})"


def linear_model(system: System, poses: Poses) -> LinearModel:
    """The model about a single pose."""
    here = Equations(system, poses)
    rates, count = here.rates()[0], system.count
    size = float(np.ptp(poses.position[0], axis=0).max(initial=0.0)) or 1.0
    twists = np.einsum("bif,fk->kbi", here.basis()[0], here.independent_basis()[0])
    steps, long = strides(twists, WAY, size)
    there = moved(poses, steps)
    by_pose = difference(_accelerations(system, there, np.broadcast_to(rates, (len(steps), count))), long)
    change = _CHANGE * max(1.0, float(np.abs(rates).max(initial=0.0)))
    other = np.repeat(rates[None], 4 * count, axis=0) + change * _one_by_one(count)
    again = moved(poses, np.zeros((len(other), *poses.position.shape[1:2], 6)))
    by_rate = difference(_accelerations(system, again, other), np.full(count, change))
    described = system.described_inputs(poses)
    names, inputs = system.names, list(system.mechanism.inputs)
    set_to = np.repeat(described[None], 4 * len(inputs), axis=0) + _CHANGE * _one_by_one(len(inputs))
    driven = moved(poses, np.zeros((len(set_to), *poses.position.shape[1:2], 6)))
    by_input = difference(
        _accelerations(system, replace(driven, inputs=set_to), np.broadcast_to(rates, (len(set_to), count))),
        np.full(len(inputs), _CHANGE),
    )
    own = here.rows_of_coordinates()[0] @ here.independent_basis()[0]
    chosen = slice(None) if system.selected is None else system.selected
    carried, one = (_carrying(system, own @ rates) @ own)[chosen], np.eye(count)
    states = (*names, *(f"{name} rate" for name in names))
    return LinearModel(
        np.block([[carried, one], [by_pose.T, by_rate.T]]),
        np.vstack((np.zeros((count, len(inputs))), by_input.T.reshape(count, len(inputs)))),
        np.eye(2 * count),
        np.zeros((2 * count, len(inputs))),
        states,
        tuple(inputs),
        states,
    )


def _carrying(system: System, rates: Array) -> Array:
    """W (candidate, candidate) at rates (candidate,): of balls, and of what floats."""
    mechanism, known = system.mechanism, len(system.candidates) - len(system.floating)
    rotations = [
        place.stop - 3
        for name, place in mechanism.coordinate_places().items()
        if mechanism.joints[name].code in ("ball", "free")
    ]
    rotations += range(known + 3, len(system.candidates), 6)
    found = np.zeros((len(rates), len(rates)))
    for first in rotations:
        x, y, z = rates[first : first + 3]
        found[first : first + 3, first : first + 3] = ((0, -z, y), (z, 0, -x), (-y, x, 0))
    return found


def _one_by_one(count: int) -> Array:
    """Changes (4 count, count) of one number after the other, as strides are taken."""
    return np.concatenate([stride * np.eye(count) for stride in (1.0, -1.0, 2.0, -2.0)])


def _accelerations(system: System, still: Poses, rates: Array) -> Array:
    """Accelerations (pose, f) of poses at rest that are given rates (pose, f)."""
    if not len(rates):
        return np.zeros((0, system.count))
    at = Equations(system, still)
    twists = np.einsum("pbif,pfk,pk->pbi", at.basis(), at.independent_basis(), rates)
    return Equations(system, with_velocities(still, twists)).accelerations(None)
