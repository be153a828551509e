"""How a run ended: codes of the core as sentences with a time and a name, and the errors that contain them."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from ..results.trajectory import Trajectory
    from ..simulate.plan import Plan

_PACKAGE = __name__.partition(".")[0]

# a step may be halved this often before the rescue gives up
RESCUE_DEPTH = 12

_SENTENCES = {
    _core.StatusCode.interrupted: "it was interrupted at t = {time:.6g} s, and its state is undefined: call restart()",
    _core.StatusCode.diverged: "Newton's method finds no solution of the step at t = {time:.6g} s; "
    "body {body!r} changes most (last increment {size:.3g} m/s)",
    _core.StatusCode.too_far: "in the step at t = {time:.6g} s body {body!r} rotates too far: |w| dt must stay below 2",
    _core.StatusCode.singular: "the equations of the step at t = {time:.6g} s are singular, worst at body {body!r}",
    _core.StatusCode.locked: "the mechanism locks in the step at t = {time:.6g} s: no motion closes joint {joint!r}, "
    "which stays open by {size:.3g} (rad, or relative to the size of its bodies)",
    _core.StatusCode.exhausted: "from t = {time:.6g} s on, every step has to be divided into hundreds of substeps "
    "because of body {body!r}: the motion is too fast for dt, or a force is too stiff",
    _core.StatusCode.flat: "wheel joint {joint!r} lies flat at t = {time:.6g} s: a disk that is parallel "
    "to its plane has no contact point",
    _core.StatusCode.stiff: "{law} is too stiff for dt = {dt:g} s at t = {time:.6g} s: it oscillates with "
    "w dt = {size:.3g}, which is unstable; set implicit=True, or use a smaller dt",
    _core.StatusCode.mismatched: "joint {joint!r} contradicts the rest of its loop by {size:.3g} (rad, or relative to "
    "the size of its bodies) at t = {time:.6g} s: this member's geometry makes rows independent that are redundant in "
    "the described geometry and therefore not enforced; simulate this member alone",
    _core.StatusCode.beyond: "{stop} starts {size:.3g} beyond its limits; mechanism.assemble(state) looks for a pose "
    "within all limits, and Simulator(limits='ignore') runs without limits",
}
# where what stays open is a stop
_SHUT = (
    "the mechanism locks in the step at t = {time:.6g} s: no motion keeps {stop} within its limits, which are "
    "passed by {size:.3g} (rad, or relative to the size of its bodies); check what drives it against them"
)
# where friction finds no force
_RUBS = (
    "no force that obeys Coulomb's law is found for {law} in the step at t = {time:.6g} s; the last attempt ended "
    "with a gap of {gap:.3g} m and a slip of {speed:.3g} m/s"
)
# where it is no coordinate that starts beyond its limits
_DEEP = "{stop} starts {size:.3g} m inside its plane; move the body out along the normal"
_FAR = "{stop} starts {size:.3g} beyond its limits; start from a state within them"
_ADVICE = {False: "; a smaller dt, or rescue=True, may help", True: f" after halving the step {RESCUE_DEPTH} times"}


class CatenaError(Exception):
    """Base class of catena's own errors: a run, a batch, a sweep or an assembly that failed."""


class CatenaWarning(UserWarning):
    """Base class of catena's warnings."""


def warn(warning: CatenaWarning) -> None:
    """Issue a warning at the first line of the call stack that is outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


@dataclass(frozen=True)
class Status:
    """How a run ended: `ok`, or a `reason` and a `message`, which names the time and a body or joint.

    `time` (s) and `step` say when the run failed. `body` is the body that moves most or rotates too far. `joint` is the
    joint of a loop with the largest gap, if there is one, or the wheel that lies flat.
    """

    ok: bool = True
    reason: str = "done"
    message: str = ""
    time: float = 0.0
    step: int = 0
    body: str = ""
    joint: str = ""


class SimulationError(CatenaError, RuntimeError):
    """A run failed; `status` gives the reason, `trajectory` contains the nodes up to the failure."""

    def __init__(self, status: Status, trajectory: Trajectory) -> None:
        super().__init__(status.message)
        self.status = status
        self.trajectory = trajectory

    def __reduce__(self) -> tuple[type[SimulationError], tuple[Status, Trajectory]]:
        return type(self), (self.status, self.trajectory)


# members of a batch that are done share theirs
@lru_cache(maxsize=16)
def _done(time: float, step: int) -> Status:
    return Status(time=time, step=step)


def status_of(plan: Plan, ended: _core.Ended) -> Status:
    """Return how a run ended, from the values returned by the core."""
    code, time, step = ended.code, ended.time, ended.step
    if code == _core.StatusCode.done:
        return _done(time, step)
    m = plan.mechanism
    moved = list(m.bodies)[ended.body]
    opened = [*m.joints, *m.couplings][ended.joint] if ended.joint >= 0 else ""
    stiff = plan.law_labels[ended.law] if ended.law >= 0 else ""
    sentence = _SENTENCES[code]
    if code == _core.StatusCode.beyond and not plan.is_coordinate(ended.law):
        sentence = _DEEP if stiff.startswith("contact") else _FAR
    if code == _core.StatusCode.locked and stiff:
        sentence = _SHUT
    rubs = stiff.startswith("contact") and code in (_core.StatusCode.diverged, _core.StatusCode.singular)
    if rubs:
        sentence = _RUBS
    message = sentence.format(
        time=time,
        body=moved,
        joint=opened,
        size=ended.size,
        law=stiff,
        stop=stiff,
        dt=plan.dt,
        gap=ended.gap,
        speed=ended.speed,
    )
    if code in (_core.StatusCode.stiff, _core.StatusCode.interrupted, _core.StatusCode.beyond):
        return Status(ok=False, reason=code.name, message=message, time=time, step=step)
    if stiff and not rubs and code == _core.StatusCode.singular:
        message = f"{stiff} is too stiff for the backward substeps of order {plan.order} at t = {time:.6g} s"
    if code != _core.StatusCode.exhausted and (code != _core.StatusCode.flat or not plan.rescue):
        message += _ADVICE[plan.rescue]
    dropped = plan.compiled.selection.dropped[ended.joint] if code == _core.StatusCode.locked and opened else 0.0
    if dropped:
        message += (
            f"; its nearly redundant rows ({dropped:.2g}) are not enforced: if they are intended, lower loop_tolerance="
        )
    leads = [coupling.label for coupling in m.couplings.values() if coupling.function is not None]
    leads += [f"the ground of {joint.label}" for joint in m.joints.values() if joint.ground is not None]
    if leads and code in (_core.StatusCode.diverged, _core.StatusCode.too_far, _core.StatusCode.exhausted):
        more = f" and {len(leads) - 1} more" * (len(leads) > 1)
        message += f"; {leads[0]}{more} may be discontinuous, or prescribe a position that cannot be reached"
    return Status(ok=False, reason=code.name, message=message, time=time, step=step, body=moved, joint=opened)
