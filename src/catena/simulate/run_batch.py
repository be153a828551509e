"""Runs of many members: what they record, and where the core writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._util.lookup import no_such
from .._util.memory import refuse_if_too_large
from .._util.progress import finish, watcher
from .._util.rotation import Array
from .._util.status import status_of, warn
from ..results.accuracy import AccuracyWarning, describe_inaccuracy
from .batch import COUNTS, SIZES, Batch, BatchError
from .loads import Forces
from .members import Laws, MemberNumbers, Ranges, member_loads
from .refinement import per_second, refined
from .run_steps import run_steps
from .starts import Starts

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism
    from ..kinematics.member_geometry import MemberGeometry
    from ..results.trajectory import Trajectory
    from .plan import Plan

# members that a thread takes at a time, at most
_WIDEST_GROUP = 8


def plan_batch(plan: Plan, starts: Starts, duration: float | None, steps: int | None) -> Plan:
    """The plan by which a batch runs: where there is no dt, with the one that the first member needs."""
    if plan.accuracy is None:
        return plan
    span = plan.span(duration, steps)
    if plan.given_dt is not None:
        return plan.with_step(plan.given_dt, rate=per_second(plan.accuracy, plan.order) / (span or 1.0))

    closed = starts.closed()
    if len(closed) == 0:
        # nothing runs, whatever its step
        return plan.with_step(span or 1.0)
    first = starts.state(plan, int(closed[0]))

    def attempt(plan: Plan, steps: int, per: int) -> Trajectory:
        return run_steps(plan, steps, state=first, record_every=per)

    return refined(plan, attempt, first, span, None, even=True)[1]


def run_batch(
    plan: Plan,
    starts: Starts,
    steps: int,
    *,
    loads: Forces | Sequence[Forces | None] | None,
    masses: Mapping[str, ArrayLike] | None,
    inertias: Mapping[str, ArrayLike] | None,
    gravity: ArrayLike | None,
    force_parameters: Laws | None,
    limits: Ranges | None,
    threads: int,
    record_every: int,
    bodies: Sequence[str] | None,
    out: Mapping[str, Array],
    progress: bool | Callable[[int, int], None],
) -> Batch:
    """See Simulator.run_batch."""
    mechanism, compiled, count = plan.mechanism, plan.compiled, len(starts)
    if (starts.time != starts.time[0]).any():
        raise ValueError("the states of a batch must have the same time")
    places = {name: place for place, name in enumerate(mechanism.bodies)}
    kept = _recorded(mechanism, bodies)
    numbers = MemberNumbers(mechanism, count, masses, inertias, gravity, force_parameters, limits, starts.geometry)
    signals = compiled.signals.extended()
    table = member_loads(mechanism, loads, count, steps, signals)

    records = -(-steps // record_every) + 1
    threads = min(count, threads)
    shapes = {name: (count, records, len(kept), size) for name, size in SIZES.items()} | {"time": (count, records)}
    if not isinstance(out, Mapping):
        raise ValueError(f"out must be a mapping from names to arrays, got {out!r}")
    for name in out:
        if name not in shapes:
            raise ValueError(f"out: {name!r} is not recorded, only {', '.join(shapes)}")
    room = 8 * sum(int(np.prod(shape)) for name, shape in shapes.items() if name not in out)
    # counts of every step, and what threads have on their hands: all bodies of a group of members
    room += 16 * count * steps + 8 * threads * _WIDEST_GROUP * records * len(places) * sum(SIZES.values())
    room += 8 * count * records * len(compiled.counters)
    what = f"recording {count} members x {records} nodes x {len(kept)} bodies"
    refuse_if_too_large(room, what, "raise record_every or record fewer bodies")
    arrays: dict[str, Any] = {name: _room(out, name, shape) for name, shape in shapes.items()}
    made: dict[str, Any] = {
        name: np.zeros((count, max(steps, 1)), dtype=kind)
        for name, per, _, _, kind in _core.records()
        if per == "step" or (per == "estimate" and plan.estimates_errors)
    }
    counters = compiled.counters
    angles = np.full((count, records, len(counters)), np.nan)
    ended, tallies = compiled.core.run_batch(
        settings=plan.settings(float(starts.time[0]), starts.computed, steps, record_every),
        threads=threads,
        start=_core.Start(**starts.core_arrays()),
        loads=table.arrays(),
        rows=compiled.rows,
        signals=signals.read,
        signal_count=signals.count,
        numbers=numbers.arrays(compiled),
        absent=np.isin(np.arange(count), list(starts.unclosed)).astype(np.int32),
        bodies=np.array([places[name] for name in kept], dtype=np.int32),
        records={**arrays, **made, "counted": angles},
        poll=watcher(progress, count),
    )
    if progress:
        finish(progress, count, count)
    warnings: list[str] = []
    status = []
    for k, (end, tally) in enumerate(zip(ended, tallies, strict=True)):
        unclosed = starts.unclosed.get(k)
        warnings.append("" if unclosed else describe_inaccuracy(plan, tally, end.step))
        status.append(unclosed or plan.fail_if_inaccurate(status_of(plan, end), warnings[k]))
    counted = np.array(list(map(attrgetter(*COUNTS.values()), tallies)))
    batch = Batch(
        mechanism=mechanism,
        dt=plan.dt,
        bodies=tuple(kept),
        **arrays,
        **{"error": None, **made},
        accuracy_warnings=warnings,
        counts=np.array([end.records for end in ended]),
        status=status,
        numbers=numbers,
        turned=compiled.by_joint(angles),
        info=plan.run_info(),
        selection=plan.other_rows,
        **dict(zip(COUNTS, counted.T, strict=True)),
        alone=_why_alone(plan, signals.count, starts.geometry) if count > 1 else "",
    )
    for k in np.flatnonzero(batch.failed).tolist():
        for array in arrays.values():
            array[k, batch.counts[k] :] = np.nan
    return batch


def told_of(plan: Plan, batch: Batch) -> Batch:
    """A batch, after what there is to be raised and warned about it."""
    if batch.failed.any() and fails_loudly(plan):
        raise BatchError(batch)
    if plan.on_inaccurate == "warn" and batch.accuracy_warning:
        warn(AccuracyWarning(batch.accuracy_warning))
    return batch


def fails_loudly(plan: Plan) -> bool:
    """Whether members that fail are an error."""
    return plan.on_failure == "raise" or plan.on_inaccurate == "raise"


def _why_alone(plan: Plan, signal_count: int, geometry: MemberGeometry | None) -> str:
    kind, order = _core.SolverKind[plan.solver], max(plan.order, 2)
    can = plan.order > 1 and plan.error_rate == 0 and geometry is None
    if can and plan.core.fits_lanes(solver=kind, order=order, signal_count=signal_count):
        return ""
    why = {
        f"solver {plan.solver!r} has none": plan.solver != "articulated",
        f"order {plan.order} has none": plan.order != 2,
        "each keeps its own accuracy": plan.error_rate > 0,
        "there are functions of time": signal_count > 0,
        "their geometry differs": geometry is not None,
    }
    reason = next(
        (reason for reason, holds in why.items() if holds), "its loops are too large, too special, or have joint limits"
    )
    return f"members ran one by one, not several at a time in lanes: {reason}"


def _recorded(mechanism: Mechanism, bodies: Sequence[str] | None) -> list[str]:
    """Names of the bodies to be recorded, checked."""
    names = list(mechanism.bodies)
    if bodies is None:
        return names
    if isinstance(bodies, str | bytes) or not isinstance(bodies, Sequence):
        raise ValueError(f"bodies must be names of bodies, got {bodies!r}")
    kept = list(bodies)
    for name in kept:
        if not isinstance(name, str) or name not in names:
            raise no_such("body", name, mechanism, "bodies: ")
    if len(set(kept)) < len(kept):
        raise ValueError("bodies: each can be recorded once only")
    return kept


def _room(out: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """The caller's array, if it fits, or a new one."""
    if name not in out:
        return np.empty(shape)
    array = out[name]
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"out: {name} must be an array of floats of shape {shape}")
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise ValueError(f"out: {name} must be writable and contiguous")
    return array
