"""Control functions of the user, which are called at nodes of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from .._util.checks import positive

if TYPE_CHECKING:
    from .live import Live
    from .loads import Forces
    from .plan import Plan

Control: TypeAlias = "Callable[[float, Live], Forces | None]"


class _Periodic:
    """A control that is called at every so many nodes, and holds its forces in between."""

    def __init__(self, control: Control, count: int) -> None:
        self._control, self._count = control, count
        self._node = 0
        self._forces: Forces | None = None

    def __call__(self, time: float, live: Live) -> Forces | None:
        if self._node % self._count == 0:
            self._forces = self._control(time, live)
        self._node += 1
        return self._forces


def periodic(plan: Plan, control: Control, every: float | None) -> tuple[Plan, Control]:
    """The plan of a run whose control is called at a period of its own, and the control to be called at its nodes."""
    if every is None:
        raise ValueError(
            "control needs a period, because without a dt the distance between nodes varies: "
            "give it as in run(control=f, every=0.001), or give the simulator a dt (s)"
        )
    period, dt = positive(every, "every"), plan.given_dt
    if dt is None:
        return plan.with_period(period), control
    count = round(period / dt)
    if count < 1 or abs(count * dt - period) > 1e-6 * period:
        raise ValueError(f"every must be a whole number of steps of dt = {dt:g} s, got {every!r}")
    return plan, _Periodic(control, count)


def check_control(control: Control) -> None:
    """Raise if it cannot be called as controls are."""
    # only imported where there is one
    from inspect import signature

    if not callable(control):
        raise ValueError(f"control must be a function that is called as control(t, live), got {control!r}")
    try:
        takes = signature(control)
    except ValueError:
        # some that are compiled do not tell
        return
    try:
        takes.bind(0.0, None)
    except TypeError:
        raise ValueError(f"control is called as control(t, live), but the given function takes {takes}") from None
