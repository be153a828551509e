"""What a run says of its own accuracy, and the step that an accuracy asks for.

Errors of steps are estimated in the core (cpp/simulate/error.hpp), in parts of the mechanism's size or in rad.
"""

from __future__ import annotations

import warnings
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np

from . import _core
from .status import CatenaWarning

if TYPE_CHECKING:
    from .mechanism import Mechanism
    from .simulator import Simulator
    from .state import State
    from .trajectory import Trajectory

COARSE: float = _core.coarse_error

# what is asked for where nobody says how long a step is, nor how accurate
USUAL_ACCURACY = 1e-4
# errors of steps may be so much of the accuracy of a run
_PER_STEP = 0.1
# order 4 is the cheapest down to this accuracy, order 8 below it
_LOW = 1e-3
# an advised step errs by so much
_ADVISED = 3e-4
# so many of a run's steps are halved, for want of a solution, that it should be told
_MANY_HALVED = 0.1

# of the publication's scheme, in which forces act half a step late from the beginning on
NOT_JUDGED = "errors of order 1 are not estimated: its first step is force free, and all that follows is off by that"

# a pilot: steps of a round, rounds, and by how much the last one may have been off
_PILOT_STEPS, _PILOT_ROUNDS, _PILOT_FIT = 64, 12, (0.8, 1.6)
_ROUND_NUMBERS = (1.0, 2.0, 2.5, 4.0, 5.0, 8.0)


class AccuracyWarning(CatenaWarning):
    """A run whose steps are too long for its motion; `run.warnings` has the sentence."""


def usual_order(accuracy: float) -> int:
    """The order that reaches an accuracy at the least cost."""
    return 4 if accuracy >= _LOW else 8


def error_limit(accuracy: float | None) -> float:
    """What a step may err by, 0 if nothing was asked for."""
    return 0.0 if accuracy is None else _PER_STEP * accuracy


def round_down(dt: float) -> float:
    """The next smaller number that people write."""
    power = 10.0 ** floor(log10(dt))
    digit = max((d for d in _ROUND_NUMBERS if d * power <= dt * (1 + 1e-9)), default=1.0)
    return float(f"{digit * power:.3g}")


def too_coarse(simulator: Simulator, tally: _core.Tally, steps: int) -> str:
    """What is to be said of so many steps; empty if they are fine enough."""
    if not tally.rough and (not tally.coarse or simulator.accuracy is not None):
        return ""
    body = list(simulator.mechanism.bodies)[tally.worst_body]
    where = f"most at t = {tally.worst_time:.6g} s, body {body!r}, by {tally.worst:.2g}"
    if tally.rough:
        return (
            f"the accuracy was not reached: {tally.rough} pieces of steps err by more than {simulator._error_limit:.2g}"
            f" and are as short as can be, {where}; take a smaller dt"
        )
    dt = round_down(simulator.dt * min(0.7, (_ADVISED / tally.worst) ** (1 / (max(simulator.order, 2) + 1))))
    return (
        f"the steps are too coarse: {tally.coarse} of {steps} err by more than {COARSE:g} (parts of the mechanism's "
        f"size, or rad), {where}; try dt = {dt:g}, or accuracy={COARSE:g}"
    )


def not_judged(run: Trajectory) -> str:
    """What is to be said of a run of which nobody estimates the error; empty if somebody does."""
    return NOT_JUDGED if run.info is not None and run.info.order == 1 else ""


def often_halved(run: Trajectory) -> str:
    """What is to be said of steps that have been halved for want of a solution; empty if they are few."""
    steps, halved = len(run.pieces), run.halved_count
    if halved <= _MANY_HALVED * steps or (run.info is not None and run.info.accuracy > 0):
        return ""
    worst = int(run.pieces.argmax())
    return (
        f"{halved} of {steps} steps had to be halved, which takes time; most into {run.pieces[worst]} pieces, step "
        f"{worst}: dt = {run.dt:g} s is too long for the motion"
    )


def warn(coarse: str, stacklevel: int) -> None:
    """Say it where Python's warnings go, once for a run."""
    if coarse:
        warnings.warn(AccuracyWarning(coarse), stacklevel=stacklevel + 1)


# ---- which step an accuracy asks for


def find_dt(simulator: Simulator, state: State | None, duration: float | None) -> float:
    """The longest step, of those that people write, of which few must be halved in the first moments of a motion.

    Where the duration is known it is a whole number of steps, at least 20; where it is not, as for live mechanisms that
    may yet be at rest, a step is no longer than a tenth of the time in which things fall.
    """
    limit, rate = error_limit(simulator.accuracy), 1 / (simulator.order + 1)
    start = simulator.mechanism.state() if state is None else state
    dt = _first_guess(simulator.mechanism, start)
    longest = duration / 20 if duration else dt
    for _ in range(_PILOT_ROUNDS):
        dt = min(dt, longest)
        run = simulator._tried(dt)._attempt(_PILOT_STEPS, state=state, record_every=_PILOT_STEPS)
        factor = _factor(run, limit, rate)
        if run.halved_count or not run.status.ok:
            # no need to find that out again
            longest = min(longest, 0.7 * dt)
        dt *= factor
        if _PILOT_FIT[0] <= factor <= _PILOT_FIT[1] or (factor > 1 and dt >= longest):
            break
    dt = round_down(min(dt, longest))
    return duration / np.ceil(duration / dt - 1e-9) if duration else dt


def _factor(run: Trajectory, limit: float, rate: float) -> float:
    if not run.status.ok or run.error is None or not len(run.error):
        return 0.25
    error = float(np.percentile(run.error, 80))
    factor = float(np.clip((limit / error) ** rate, 0.25, 4.0)) if error > 0 else 4.0
    return min(factor, 0.5) if run.halved_count else factor


def _first_guess(mechanism: Mechanism, state: State) -> float:
    """A tenth of the time in which a body falls by the mechanism's size, and no more than half a radian of a turn."""
    from .analysis import extent

    weight = float(np.linalg.norm(mechanism.gravity))
    speed = float(np.linalg.norm(state.angular_velocity, axis=1).max(initial=0.0))
    times = [0.1 * (extent(state) / weight) ** 0.5] if weight > 0 else []
    times += [0.5 / speed] if speed > 0 else []
    return min(times, default=0.01)
