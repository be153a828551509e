"""Accuracy messages of a run.

The core estimates the errors of steps (cpp/simulate/error.hpp), relative to the size of the mechanism or in rad.
"""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from .._util.rotation import Array
from .._util.status import CatenaWarning

if TYPE_CHECKING:
    from .._util.status import Status
    from ..results.trajectory import Trajectory
    from ..simulate.plan import Plan

INACCURATE: float = _core.inaccurate_above

# what is asked for where nobody says how long a step is, nor how accurate
USUAL_ACCURACY = 1e-4
# order 4 is the cheapest down to this accuracy, order 8 below it
_LOW = 1e-3
# an advised step errs by so much
_ADVISED = 3e-4
# what forces of a control may be off by because they are held (parts of the size, rad)
_HELD = 0.05
# so many of a run's steps are halved, for want of a solution, that it should be told
_MANY_HALVED = 0.1

# of the publication's scheme, in which forces act half a step late from the beginning on
NOT_ESTIMATED = "errors of order 1 are not estimated: its first step is free of forces, and the resulting error remains"

_ROUND_NUMBERS = (1.0, 2.0, 2.5, 4.0, 5.0, 8.0)


class AccuracyWarning(CatenaWarning):
    """Warning that the steps of a run are too coarse; `run.warnings` contains the text."""


def usual_order(accuracy: float) -> int:
    """The order that reaches an accuracy at the lowest cost if there is no dissipation."""
    return 4 if accuracy >= _LOW else 8


def round_down(dt: float) -> float:
    """The next smaller round number."""
    power = 10.0 ** floor(log10(dt))
    digit = max((d for d in _ROUND_NUMBERS if d * power <= dt * (1 + 1e-9)), default=1.0)
    return float(f"{digit * power:.3g}")


def describe_inaccuracy(plan: Plan, tally: _core.Tally, steps: int, recording: _core.Recording | None = None) -> str:
    """Message about steps that are too coarse; empty if they are short enough.

    The recording of a run contains the number of substeps of each step.
    """
    if not tally.missed and (not tally.inaccurate or plan.accuracy is not None):
        return ""
    body = list(plan.mechanism.bodies)[tally.worst_body]
    where = f"the largest, {tally.worst:.2g}, at t = {tally.worst_time:.6g} s, body {body!r}"
    if tally.missed:
        return (
            f"the accuracy was not reached: {tally.missed} substeps of minimal length have errors above "
            f"{plan.error_rate:.2g} per second, {where}; use a smaller dt"
        )
    # what errs in a step that had to be halved are its substeps
    error, substeps = np.array([tally.worst]), np.ones(1)
    if recording is not None and recording.error is not None:
        error, substeps = recording.error, recording.substeps.astype(float)
    errs = error > 0
    lengths = (_ADVISED * substeps[errs] / error[errs]) ** (1 / (max(plan.order, 2) + 1)) / substeps[errs]
    dt = round_down(plan.dt * min(0.7, float(lengths.min())))
    return (
        f"the steps are too coarse: {tally.inaccurate} of {steps} have errors above {INACCURATE:g} (relative to the "
        f"mechanism's size, or rad), {where}; try dt = {dt:g}, or accuracy={INACCURATE:g}"
    )


def not_estimated(run: Trajectory) -> str:
    """Message that the error of a run is not estimated; empty if it is."""
    return NOT_ESTIMATED if run.info is not None and run.info.order == 1 else ""


def held_too_long(plan: Plan, time: Array, forces: Array) -> str:
    """Message about control forces (node, n, 6) that change too fast to be held; empty if they do not.

    A held force lags by half a step h behind a continuous force. A change dF of the force gives a body of mass m a
    velocity error of h/2 dF/m. The error lasts for the time in which the force changes completely, h F/dF, or for the
    memory of the mechanism, which is at most the time of a fall over its size. Bodies with joints are not checked,
    since the inertia that resists the force is that of all bodies moving with them.
    """
    length = np.diff(time)[:, None]
    mechanism, given = plan.mechanism, plan.compiled.arguments
    held = given["joint_bodies"][given["joint_rows"] > 0]
    floats = ~np.isin(np.arange(mechanism.body_count), held)
    if not len(length) or not forces[:, floats].any():
        return ""
    period = np.minimum(length, plan.dt)
    weight = float(np.linalg.norm(mechanism.gravity))
    memory = (plan.extent / weight) ** 0.5 if weight > 0 else 1.0
    masses, moments = given["mass"] * plan.extent, np.trace(given["inertia"], axis1=1, axis2=2) / 3
    moved = np.zeros(len(masses))
    for columns, resistance in ((slice(0, 3), masses), (slice(3, 6), moments)):
        size = np.linalg.norm(forces[:, :, columns], axis=2)
        change = np.linalg.norm(np.diff(forces[:, :, columns], axis=0), axis=2)
        lag = 0.5 * period * np.minimum(length * np.maximum(size[1:], size[:-1]), memory * change)
        resists = floats & (resistance > 0)
        moved = np.maximum(moved, np.divide(lag.sum(axis=0), resistance, out=np.zeros_like(moved), where=resists))
    worst = int(moved.argmax())
    if moved[worst] <= _HELD:
        return ""
    return (
        f"forces returned by control are held between nodes, but change so fast that the error of body "
        f"{list(mechanism.bodies)[worst]!r} may be {moved[worst]:.2g} (relative to the mechanism's size, or rad): call "
        "control more often, or use a PointSpring, Cable or Servo instead"
    )


def not_reached(plan: Plan, told: float) -> str:
    """Message about a run that misses the requested accuracy, as estimated from a coarser run."""
    return (
        f"the accuracy of {plan.accuracy:g} was not reached: according to a coarser run, nodes have errors of "
        f"{told:.2g} (relative to the mechanism's size, or rad); the motion is chaotic or not smooth, or needs a dt"
    )


def not_checked(plan: Plan) -> str:
    """Message that there is no other run to compare with."""
    return (
        f"it is not known whether the accuracy of {plan.accuracy:g} was reached: there is no coarser run to compare "
        "with, because steps without a solution were halved"
    )


def finer_fails(plan: Plan, status: Status) -> str:
    """Message about a run that agrees with a coarser one, while finer ones fail."""
    return (
        f"it is not known whether the accuracy of {plan.accuracy:g} was reached: this run agrees with a coarser one, "
        f"but with shorter steps {status.message}"
    )


def often_halved(run: Trajectory) -> str:
    """Message about steps that were halved because they had no solution; empty if they are few."""
    steps, halved = len(run.substeps), run.halved_count
    if halved <= _MANY_HALVED * steps or (run.info is not None and run.info.accuracy > 0):
        return ""
    worst = int(run.substeps.argmax())
    return (
        f"{halved} of {steps} steps had to be halved, which takes time; step {worst} has the most substeps, "
        f"{run.substeps[worst]}: dt = {run.dt:g} s is too long for the motion"
    )
