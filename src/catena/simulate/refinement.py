"""Runs that keep an accuracy: which steps they need, and how far off they are, found by a coarser run to compare with.

Where nothing dissipates steps have orders 4 to 8, and the core halves those that err by more than their share of the
run: accuracy x length / duration x `_SHARE`. A run of twice the step, which halves the same places, tells how far off
it is: its error is smaller by as much as the errors of its steps are estimated to be. Where something does dissipate
those orders would step backwards, where a damper feeds energy: there runs are of plain steps, as many from node to node
as keep what they err by within a share, and each run has twice as many nodes as the one before and a quarter of its
share, until the difference of the last two says that the finer one is good enough; it is the result itself, nothing is
combined. Runs whose order and accuracy nobody has asked for are of plain steps too where impacts cut many: to find
an impact by steps of order 8 takes 70 solves, and stops that are caught leave these no more accurate than plain ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, floor, inf, log2
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._util.rotation import Array
from ..assemble.initial_state import note_fit
from ..results.accuracy import finer_fails, not_checked, not_reached
from ..results.interpolation import interpolation_error, resampled
from ..results.trajectory import Trajectory
from .run_steps import run_steps

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism
    from ..kinematics.state import State
    from .loads import Forces
    from .plan import Plan

# one run by a plan whose step is known: so many steps, of which each `per` lead from a node to the next
Attempt: TypeAlias = "Callable[[Plan, int, int], Trajectory]"

# what steps of orders 4 to 8 are estimated to err by together may be so much of the accuracy
_SHARE = 0.3
# what a comparison tells may be so much of it, of orders 4 to 8 and of plain steps
_MARGIN, _PLAIN_MARGIN = 0.25, 0.5
# a run has at least so many steps
_LEAST_STEPS = 20
# comparisons of orders 4 to 8, and halvings of steps that serve to have more nodes
_ATTEMPTS, _MORE_NODES = 3, 2
# a run that has not so many more substeps than another is no finer: they were halved for want of a solution
_FINER = 1.3
# nor is what a comparison tells divided by less
_LEAST_GAIN = 0.3
# what plain steps of a first run may err by together, in parts of the accuracy
_FIRST_SHARE = 256.0
# plain steps: what a first guess may be divided by, steps of a run whose accuracy was asked for, however short, and
# steps per second times bodies where nobody asked, which keeps it faster than the motion
_FINEST, _MOST_STEPS, _MOST_WORK = 1024, 2**16, 2e5
# pairs of runs that have not come closer by half: there is nothing to converge to, as in chaos
_STALLED = 3
# runs in a row that find a singular step where longer steps came to the end: shorter ones are no remedy
_SINGULAR = 2
# an error of steps per second that none has
_NEVER = 1e300
# a pilot: rounds, steps of one, and by how much the last one may have been off
_PILOT_ROUNDS, _PILOT_STEPS, _PILOT_FIT = 8, (4, 64), (0.8, 1.6)
# and what part of its steps may be halved for want of a solution
_PILOT_HALVED = 0.2
# and what all rounds may take of a run of the step that they have found
_PILOT_PART = 0.7
# what polynomials between nodes err by falls by so much with half the distance; it is looked at where there are so many
_BETWEEN_GAIN, _BETWEEN_NODES, _BETWEEN_LOOKS = 2**5, 9, 100
# a run in whose plain steps of a first guess stops cut more than such a part is made of plain ones
_CUT = 0.25
# nodes that an interval gets where interpolation errs by more than such a part of the accuracy: of plain steps so many,
# if it has taken so many times the usual substeps and no larger part of the intervals does; of others as many as they
# need, if this takes at most such a part of the steps of another run
_GRADES, _GRADED_FROM, _GRADED_ABOVE, _GRADED_PART = 16, 0.1, 3, 0.1
_COMPOSED_GRADES, _GRADED_WORK = (2, 4), 0.6
# bodies of nodes that are compared
_COMPARED = 20000


def per_second(accuracy: float | None, order: int) -> float:
    """What steps may err by per second where nobody knows how long it will go on, 0 if nothing was asked for."""
    return 0.0 if accuracy is None else accuracy * (_SHARE if order > 2 else 1.0)


def plain_step(mechanism: Mechanism, size: float, accuracy: float) -> float:
    """About the longest plain step (s) that keeps an accuracy over a second of a fall."""
    weight = float(np.linalg.norm(mechanism.gravity))
    time = (size / weight) ** 0.5 if weight > 0 else 0.1
    return float(time * (10 * accuracy * time) ** 0.5)


def refined(
    plan: Plan, attempt: Attempt, state: State, duration: float, force: Forces | None, *, even: bool = False
) -> tuple[Trajectory, Plan]:
    """A run over a duration that keeps the plan's accuracy, or says that it does not, and by what it was made.

    Its nodes are `even` where others will have the same.
    """
    if duration == 0:
        plain = plan.with_step(plan.given_dt or first_guess(plan, state))
        return attempt(plain, 0, 1), plain
    often_cut = plan.order > 2 and _is_often_cut(plan, state, duration, force)
    if often_cut or plan.order == 2:
        return _doubled(replace(plan, order=2), attempt, state, duration, force, regular=not often_cut)
    return _composed(plan, attempt, state, duration, force, even)


def _is_often_cut(plan: Plan, state: State, duration: float, force: Forces | None) -> bool:
    """Whether impacts are so frequent that plain steps are cheaper, where the order is free."""
    if not plan.build.stop_count or plan.accuracy_given or plan.given_order:
        return False
    steps = ceil(duration / min(first_guess(plan, state), duration / _LEAST_STEPS) - 1e-6)
    scout = run_steps(plan.with_step(duration / steps, order=2), steps, state=state, loads=force, record_every=steps)
    # a start that is refused needs no pilot to find that out
    return scout.status.reason == "beyond" or scout.cut_count > _CUT * len(scout.substeps)


# ---- plain steps


def _doubled(
    plan: Plan, attempt: Attempt, state: State, duration: float, force: Forces | None, *, regular: bool
) -> tuple[Trajectory, Plan]:
    # errors of many impacts do not fall by the same factor each time: there two pairs of runs must agree as they are
    accuracy, given = plan.target_accuracy, plan.given_dt
    guess = min(first_guess(plan, state), duration / _LEAST_STEPS)
    if given is None:
        dt, level = duration / ceil(duration / guess - 1e-6), 0
    else:
        # coarser steps than those that were asked for are there to compare with
        dt, level = given, -max(0, floor(log2(guess / given)))
    finest = duration / guess * _FINEST
    bearable = _MOST_WORK * duration / plan.mechanism.body_count
    most = max(finest, _MOST_STEPS) if plan.accuracy_given else min(finest, bearable)
    # plain steps of twice the number err by a quarter
    rate = _FIRST_SHARE * accuracy / duration * 4.0**level
    before: Trajectory | None = None
    gap, stalled, ratio = inf, 0, 2
    sound: tuple[Trajectory, Plan, int, float] | None = None
    singular = 0
    while True:
        step = dt * 2.0**-level
        steps, per = ceil(duration / step - 1e-6), 2 ** max(level, 0) if given is not None else 1
        made = plan.with_step(step, rate=rate * 4.0**-level, tolerance=min(1e-10, 1e-5 * accuracy))
        run, told = attempt(made, steps, per), inf
        if run.status.reason == "beyond":
            # no step is short enough for a start that is refused
            return run, made
        if before is not None and _is_finer(run, before, ratio / _FINER):
            d = apart(before, run, plan.extent)
            falls = 3 < gap / max(d, 1e-300) < 5
            # one agreement proves nothing: the pair before must have been on the way to it
            told = d / (ratio**2 - 1) if falls or ratio > 2 else max(d, gap / 4)
            told = told if regular else max(d, gap)
            stalled = stalled + 1 if d > 0.5 * gap else 0
            gap = d
        else:
            gap = inf
        if run.status.ok and level >= 0:
            sound, singular = (run, made, per, gap), 0
        elif run.status.reason == "singular" and sound is not None:
            singular += 1
            if singular == _SINGULAR and sound[3] <= _PLAIN_MARGIN * accuracy:
                # what came to its end agreed with the run before it, which proves less than two agreements
                last, made, per, _ = sound
                return _settled(last, plan, inf, per, given, finer_fails(plan, run.status)), made
            if singular == _SINGULAR:
                return run, made
        enough = told <= _PLAIN_MARGIN * accuracy
        gave_up = 2 * run.substeps.sum() > most or (stalled >= _STALLED and step < guess / 128)
        if level >= 0 and (enough or gave_up):
            run, made = _with_nodes(run, made, plan, attempt, duration, force, True) if enough else (run, made)
            return _graded_where_stiff(_settled(run, plan, told, per, given), made, plan, force), made
        ratio = 2**-level if enough else 2
        level = 0 if enough else level + 1
        before = run


# ---- orders 4 to 8


def _composed(
    plan: Plan, attempt: Attempt, state: State, duration: float, force: Forces | None, even: bool
) -> tuple[Trajectory, Plan]:
    accuracy, order, given = plan.target_accuracy, plan.order, plan.given_dt
    rate = _SHARE * accuracy / duration
    dt = given
    if dt is None:
        dt, failed = _pilot(plan, attempt, state, duration, rate, force)
        if failed is not None:
            return failed, plan.with_step(dt)
        # the run of twice the step ends there too
        dt = duration / (2 * ceil(duration / dt / 2 - 1e-6))
    steps = ceil(duration / dt - 1e-6)
    made = plan.with_step(dt, rate=rate)
    if not plan.accuracy_given:
        return _with_nodes(attempt(made, steps, 1), made, plan, attempt, duration, force, even)
    before = attempt(plan.with_step(2 * dt, rate=rate * 2**order), ceil(steps / 2), 1)
    told = inf
    for level in range(_ATTEMPTS + _MORE_NODES):
        made, last = plan.with_step(dt / 2**level, rate=rate), told
        per = 2**level if given is not None else 1
        run, told = attempt(made, steps * 2**level, per), inf
        if _is_finer(run, before, _FINER):
            told = apart(before, run, plan.extent) / max(_gain(run, before, order) - 1, _LEAST_GAIN)
        if last <= _MARGIN * accuracy:
            # it was good enough, and is better by as much as its steps are; where some had to be halved both runs have
            # taken the same ones, and agree whatever these err by
            better = last / _gain(run, before, order)
            told = better if run.halved_count else min(told, better)
        enough = told <= _MARGIN * accuracy
        # chaos does not listen
        chaotic = max(0.5 * last, 100 * accuracy) < told < inf
        ended = chaotic or not run.status.ok or level >= _ATTEMPTS - 1
        if (ended and not enough) or (enough and not _is_bent(run, plan)):
            break
        before, rate = run, rate if enough else rate / 2**order
    return _settled(run, plan, told, per, given), made


def _pilot(
    plan: Plan, attempt: Attempt, state: State, duration: float, rate: float, force: Forces | None
) -> tuple[float, Trajectory | None]:
    """The longest step of which few must be halved in the first moments; and a run that tells why there is none."""
    dt, longest, refused = first_guess(plan, state), duration / _LEAST_STEPS, 0
    factor, spent = inf, 0
    for _ in range(_PILOT_ROUNDS):
        dt = min(dt, longest)
        # steps that are too short are known by few of them
        steps = _PILOT_STEPS[0] if factor > _PILOT_FIT[1] else ceil(duration / dt / _PILOT_ROUNDS)
        steps = int(np.clip(steps, *_PILOT_STEPS))
        # it must not take as long as the run
        if spent + steps > _PILOT_PART * duration / dt:
            break
        run = run_steps(plan.with_step(dt, rate=_NEVER), steps, state=state, loads=force)
        # a few that have no solution are halved in the run too
        halved, factor = run.halved_count > _PILOT_HALVED * len(run.substeps) or not run.status.ok, 0.25
        spent += int(run.substeps.sum())
        if len(run.substeps) >= _PILOT_STEPS[0] and run.error is not None:
            error, refused = float(np.percentile(run.error, 80)), 0
            # an error of order p + 1 against a limit that falls with the step
            factor = float(np.clip((rate * dt / error) ** (1 / plan.order), 0.25, 4.0)) if error > 0 else 4.0
            # nodes must not be so far apart that nothing is known between them
            bent = _between(run, plan.extent) if factor >= _PILOT_FIT[0] else 0.0
            factor = min(factor, max(0.25, (plan.target_accuracy / bent) ** (1 / 8))) if bent > 0 else factor
            factor = min(factor, 0.5) if halved else factor
        else:
            refused += 1
            if refused == 4 or run.status.reason == "beyond":
                return dt, attempt(plan.with_step(dt, rate=rate), steps, 1)
        if halved:
            # no need to find that out again
            longest = min(longest, 0.7 * dt)
        dt *= factor
        is_few = steps < min(_PILOT_STEPS[1], duration / dt / _PILOT_ROUNDS)
        if not is_few and (_PILOT_FIT[0] <= factor <= _PILOT_FIT[1] or (factor > 1 and dt >= longest)):
            break
    return min(dt, longest), None


def first_guess(plan: Plan, state: State) -> float:
    """A tenth of the time (s) in which a body falls by the mechanism's size, and at most half a radian of a turn."""
    weight = float(np.linalg.norm(plan.mechanism.gravity))
    speed = float(np.linalg.norm(state.angular_velocity, axis=1).max(initial=0.0))
    times = [0.1 * (plan.extent / weight) ** 0.5] if weight > 0 else []
    times += [0.5 / speed] if speed > 0 else []
    return min(times, default=0.01)


# ---- comparing


def apart(coarse: Trajectory, fine: Trajectory, size: float) -> float:
    """How far two runs are from each other at the instants that both have recorded, in parts of a size or rad."""
    place = np.searchsorted(fine.time, coarse.time)
    place = np.clip(place, 0, len(fine) - 1)
    place -= (place > 0) & (np.abs(fine.time[place - 1] - coarse.time) < np.abs(fine.time[place] - coarse.time))
    same = np.flatnonzero(np.abs(fine.time[place] - coarse.time) <= 1e-6 * coarse.dt)
    most = max(64, _COMPARED // fine.mechanism.body_count)
    if len(same) > most:
        same = same[np.linspace(0, len(same) - 1, most).astype(int)]
    other = place[same]
    way = np.linalg.norm(fine.position[other] - coarse.position[same], axis=-1).max(initial=0.0) / size
    return max(float(way), float(_angles(fine.orientation[other], coarse.orientation[same]).max(initial=0.0)))


def _with_nodes(
    run: Trajectory, made: Plan, plan: Plan, attempt: Attempt, duration: float, force: Forces | None, even: bool
) -> tuple[Trajectory, Plan]:
    """The run, or one with nodes so near to each other that the motion is known between them."""
    if not _is_bent(run, plan):
        return run, made
    graded = _graded_where_bent(run, made, plan, force) if not even else run
    if graded is not run:
        return graded, made
    steps = ceil(len(run.substeps) * _fold(_between(run, plan.extent), plan))
    made = made.with_step(duration / steps, rate=made.error_rate, tolerance=made.tolerance)
    return attempt(made, steps, 1), made


def _graded_where_stiff(run: Trajectory, made: Plan, plan: Plan, force: Forces | None) -> Trajectory:
    """A run of plain steps with more nodes in the few intervals that have taken many substeps."""
    if not _has_each_node(run, plan):
        return run
    bent = run.substeps > _GRADED_ABOVE * np.median(run.substeps)
    middles = 0.5 * (run.time[1:] + run.time[:-1])[bent]
    bent[bent] = interpolation_error(run.nodes, middles, plan.extent) > _GRADED_FROM * plan.target_accuracy
    if not 0 < bent.sum() <= _GRADED_PART * len(bent):
        return run
    return _graded(run, made, bent, _GRADES, force)


def _graded_where_bent(run: Trajectory, made: Plan, plan: Plan, force: Forces | None) -> Trajectory:
    """A run of orders 4 to 8 with more nodes where it needs them, if these are few enough not to make another run."""
    if not _has_each_node(run, plan):
        return run
    odd, error = _bends(run, plan.extent, len(run))
    bent = np.zeros(len(run.substeps), bool)
    needy = odd[error > _GRADED_FROM * plan.target_accuracy]
    bent[needy - 1] = bent[needy] = True
    fold = _fold(float(error.max()), plan)
    grades = int(np.clip(ceil(fold), *_COMPOSED_GRADES))
    if grades * bent.sum() > _GRADED_WORK * fold * len(bent):
        return run
    return _graded(run, made, bent, grades, force)


def _has_each_node(run: Trajectory, plan: Plan) -> bool:
    """Whether it has the nodes of all steps, which nobody has placed, and came to its end."""
    is_each = len(run) == len(run.substeps) + 1 and (run.checkpoints is None or len(run.checkpoints.numbers) == 1)
    return plan.given_dt is None and is_each and run.status.reason == "done" and len(run) >= _BETWEEN_NODES


def _graded(run: Trajectory, made: Plan, bent: NDArray[np.bool_], grades: int, force: Forces | None) -> Trajectory:
    """The run with so many nodes in each of some intervals, in which the motion is too fast to be known between two."""
    finer = made.with_step(made.dt / grades, rate=made.error_rate, tolerance=made.tolerance)
    # intervals that follow each other are gone through at once
    ends = np.flatnonzero(np.diff(np.concatenate(([0], bent, [0])))).reshape(-1, 2)
    nodes, last = run.nodes[:1], 0
    for first, end in ends:
        start = run[int(first)]
        # as this mechanism has been there
        note_fit(finer, start)
        between = run_steps(finer, int(grades * (end - first)), state=start, loads=force)
        if not between.status.ok:
            return run
        # where both have a node the two differ a little: over a short interval that would be a jump
        last, before = min(int(end), len(run) - 2), last
        count = grades * (last - int(first)) + (grades if last < end else 1)
        nodes = nodes.followed_by(run.nodes[before + 1 : first + 1]).followed_by(between.nodes[1:count])
    nodes = nodes.followed_by(run.nodes[last + 1 :])
    return Trajectory(run.mechanism, replace(nodes, checkpoints=run.checkpoints), run.made)


def _is_bent(run: Trajectory, plan: Plan) -> bool:
    """Whether nodes that nobody has placed are too far apart to know the motion between them."""
    return plan.given_dt is None and _between(run, plan.extent) > plan.target_accuracy


def _fold(error: float, plan: Plan) -> float:
    """How many times as many nodes an interpolation needs that errs by so much."""
    return float(min(4.0, (error / plan.target_accuracy) ** (1 / 7)))


def _between(run: Trajectory, size: float) -> float:
    """What `run.at` errs by between nodes; 0 if there are too few to tell."""
    if len(run) < _BETWEEN_NODES or len(run) != len(run.substeps) + 1:
        return 0.0
    return float(_bends(run, size, _BETWEEN_LOOKS)[1].max())


def _bends(run: Trajectory, size: float, looks: int) -> tuple[NDArray[np.intp], Array]:
    """So many nodes, and what `run.at` errs by (node,) beside each, found by leaving out every second one."""
    odd = np.arange(1, len(run) - 1, 2)
    odd = odd[np.unique(np.linspace(0, len(odd) - 1, looks).astype(int))]
    there = resampled(run[::2], run.time[odd])
    way = np.linalg.norm(there.position - run.position[odd], axis=-1).max(axis=1, initial=0.0) / size
    turn = _angles(there.orientation, run.orientation[odd]).max(axis=1, initial=0.0)
    return odd, np.maximum(way, turn) / _BETWEEN_GAIN


def _angles(a: Array, b: Array) -> Array:
    """Between orientations, which may be given by quaternions of either sign."""
    chord = np.minimum(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    found: Array = 4 * np.arcsin(np.minimum(0.5 * chord, 1.0))
    return found


def _density(run: Trajectory) -> float:
    """Pieces per second."""
    return float(run.substeps.sum()) / (len(run.substeps) * run.dt) if len(run.substeps) else 0.0


def _gain(run: Trajectory, before: Trajectory, order: int) -> float:
    """By how much a run is better than a coarser one: by estimates of steps, or by their number if that is less."""
    substeps = (_density(run) / _density(before)) ** order
    if run.error is None or before.error is None or not run.error.sum() > 0:
        return max(1.0, substeps)
    return max(1.0, min(substeps, float(before.error.sum() / run.error.sum())))


def _is_finer(run: Trajectory, before: Trajectory, ratio: float) -> bool:
    """Whether two runs can be compared: they end alike, and one has taken so many more substeps than the other."""
    if run.status.ok != before.status.ok or run.status.reason != before.status.reason or not len(run) * len(before):
        return False
    if abs(run.time[-1] - before.time[-1]) > 2 * before.dt:
        return False
    return _density(run) >= ratio * _density(before)


def _settled(
    run: Trajectory, plan: Plan, told: float, per: int, given: float | None, unchecked: str = ""
) -> Trajectory:
    """The run with what is told of it, and steps of the length that was asked for."""
    known: dict[str, Any] = {}
    if per > 1 and given is not None:
        starts = np.arange(0, len(run.substeps), per)
        for name, total in (
            ("iterations", np.add),
            ("substeps", np.add),
            ("newton_residual", np.maximum),
            ("error", np.add),
        ):
            values = getattr(run, name)
            known[name] = values if values is None or not len(starts) else total.reduceat(values, starts)
        if run.increments is not None:
            # those of the step that took most
            counts = np.count_nonzero(run.increments, axis=1)
            rows = [k + int(counts[k : k + per].argmax()) for k in starts]
            known["increments"] = run.increments[rows]
        known["status"] = replace(run.status, step=-(-run.status.step // per))
        known["dt"] = given
    if told < inf:
        known["checked_error"] = told
    if told <= plan.target_accuracy and plan.order == 2:
        # a comparison knows better than estimates of steps
        known["accuracy_warning"] = ""
    elif told > plan.target_accuracy and run.status.ok:
        known["accuracy_warning"] = unchecked or not_checked(plan) if told == inf else not_reached(plan, told)
        known["status"] = plan.fail_if_inaccurate(known.get("status", run.status), known["accuracy_warning"])
    return Trajectory(run.mechanism, run.nodes, replace(run.made, **known))
