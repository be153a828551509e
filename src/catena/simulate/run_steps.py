"""One run of a known number of steps, recorded by the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .._util.memory import refuse_if_too_large
from .._util.progress import finish, watcher
from .._util.rotation import Array
from .._util.status import status_of
from ..results.accuracy import describe_inaccuracy, held_too_long
from ..results.trajectory import Trajectory
from .live import give_back, take

if TYPE_CHECKING:
    from ..kinematics.state import State
    from .control import Control
    from .loads import Forces
    from .plan import Plan


def run_steps(
    plan: Plan,
    steps: int,
    *,
    state: State | None = None,
    loads: Forces | None = None,
    control: Control | None = None,
    record_every: int = 1,
    increments: bool = False,
    checkpoints: bool = False,
    times: Array | None = None,
    progress: bool | Callable[[int, int], None] = False,
) -> Trajectory:
    """See Simulator.run; whatever becomes of it, its status tells."""
    live = take(plan, state, steps, record_every, loads)
    count = 0 if times is None else len(times)
    n, records = plan.mechanism.body_count, (count or -(-steps // record_every)) + 1
    room = live._room(checkpoints, count)
    traced = (steps + 1) * plan.max_iterations if increments else 0
    refuse_if_too_large(8 * (room + traced), f"recording {records} nodes of {n} bodies", "raise record_every")
    trace = np.zeros((steps + 1, plan.max_iterations)) if increments else None
    held = None if control is None else np.zeros((records, n, 6))
    sheet = live._run(
        np.empty(room),
        checkpoints,
        increments=trace,
        control=control,
        held=held,
        times=times,
        poll=watcher(progress, steps),
    )
    # a control may have kept it
    if control is None:
        give_back(plan, live, loads)
    ended = sheet.ended
    if progress:
        finish(progress, ended.step, steps)
    warning = describe_inaccuracy(plan, sheet.tally, ended.step, sheet)
    if held is not None and plan.estimates_errors:
        warning = warning or held_too_long(plan, sheet.time, held[: ended.records])
    return Trajectory.written(
        sheet,
        plan.mechanism,
        plan.fail_if_inaccurate(status_of(plan, ended), warning),
        {
            "dt": plan.dt,
            "accuracy_warning": warning,
            "increments": None if trace is None else trace[: ended.step],
            "control": None if held is None else held[: ended.records],
            "info": plan.run_info(),
            "places": plan.compiled.counter_places,
            "row_count": plan.build.row_count,
            "stop_count": plan.build.stop_count,
            "touch_count": plan.build.touch_count,
            "key": live.key,
            "selection": plan.other_rows,
        },
    )
