"""Redundancy: which constraint rows of loop joints are redundant with other joints, and which are enforced.

A planar linkage in space has more rows than necessary: a four-bar of hinges has twenty, of which seventeen are
independent. With exact numbers, the redundant rows hold automatically. With rounded numbers, they hold only to
rounding, so catena does not enforce them. If the redundant directions are constant in the joint's frame, their rows are
never created; if they rotate with the pose, the solver leaves them out, given their number. The violation of these rows
is the mismatch of the joint. It depends on the pose alone and is as large as the errors of the numbers.

A direction in which a joint moves only slightly, by a singular value s in rad or relative to the size, may also be
intended: two nearly parallel planes keep a point on a line. Numbers with errors of e give singular values of about e,
and mismatches m of about e, so s and m are similar. If s is much larger than m, the numbers agree much better than by
chance, and the direction is enforced, unless this leaves no motion. In both cases there is a warning.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._util.rotation import Array
from .._util.status import CatenaWarning, warn
from ..compile.compile import all_rows
from ..compile.row_selection import EXACT, RowSelection, body_sizes, select_all
from ..describe.joint import FORMS
from ..kinematics.geometry import extent

if TYPE_CHECKING:
    from ..compile.compile import Compiled
    from ..describe.mechanism import Mechanism
    from ..kinematics.state import State
    from ..results.trajectory import Trajectory

# poses at which rows are examined, and multiplications that may be spent on them; a pose takes about so many increments
_POSES = 5
_BUDGET = 3e9
_INCREMENTS = 6

# a direction stands still if it turns by less than its cosine says between poses
_CONSTANT = 0.999

# what was found last, by all that it follows from: whatever is edited is another key
_KEPT = 4
_found: OrderedDict[bytes, RowSelection] = OrderedDict()
_lock = Lock()

# why joints are not examined
_TOO_LONG = "that would take too long"
_OPEN = "their loops cannot be closed around this pose"
_AT_THEIR_WORD = "custom constraints and joints to moving ground are always enforced exactly"

# a value that is more than so many mismatches is meant: below 4 where numbers are rounded or noisy, above 30 where a
# few digits are left of a direction that is meant
_MEANT = 30.0

# poses to which a closing motion leads, in parts of the mechanism's size and in rad, are still about the same
_BESIDE = 1 / _MEANT

# nodes of a run at which mismatches are looked at
_LOOKS = 32


class LoopWarning(CatenaWarning):
    """Constraint rows of a loop are redundant, or so weak that they may be due to rounded numbers."""


# gaps below this, over the size or in rad, are closed
_CLOSED = 1e-10

_ITERATIONS = 100


def whole_size(state: State) -> float:
    """Return the size (m) of a mechanism, at least that of a typical body."""
    return max(extent(state), float(body_sizes(state.mechanism).max(initial=0.0)))


def select_described_rows(mechanism: Mechanism) -> RowSelection:
    """Return the rows enforced around the described pose; cached for a mechanism that cannot change."""
    mechanism = mechanism.snapshot()
    if mechanism._known.selection is None:
        mechanism._known.selection = select_rows(mechanism, mechanism.state())
    return mechanism._known.selection


def select_rows(mechanism: Mechanism, state: State, agreed: float = np.inf) -> RowSelection:
    """Select the rows to be enforced around a pose, which is first closed as well as possible.

    `agreed` is the known disagreement of the numbers at another pose, which may be smaller. Earlier results for the
    same joints at the same pose are reused.
    """
    mechanism = mechanism.snapshot()
    if mechanism.loop_tolerance == 0 or not (mechanism.spanning_tree().loops or mechanism.couplings):
        # the same at any pose
        mechanism._known.selection = mechanism._known.selection or select_all(mechanism, mechanism.loop_tolerance)
        return mechanism._known.selection
    compiled = all_rows(mechanism)
    key = _key(compiled, state, agreed)
    with _lock:
        if key is not None and key in _found:
            _found.move_to_end(key)
            return _found[key]
    selection = _select_rows_around(mechanism, state, compiled, agreed)
    if key is not None:
        # several mechanisms share it from now on
        for value in vars(selection).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        with _lock:
            _found[key] = selection
            while len(_found) > _KEPT:
                _found.popitem(last=False)
    return selection


def _key(given: Compiled, state: State, agreed: float) -> bytes | None:
    """A digest of all numbers that the search depends on; None where it also depends on functions of the user's."""
    if given.rows:
        return None
    digest = sha256()

    def add(value: Any) -> None:
        if isinstance(value, tuple):
            for part in value:
                add(part)
        elif isinstance(value, np.ndarray):
            digest.update(repr(value.shape).encode())
            digest.update(value.tobytes())
        else:
            digest.update(repr(value).encode())

    # all rows are enforced, and the walk from pose to pose knows no gravity
    add((given.selection.loop_tolerance, agreed))
    add(tuple(value for name, value in given.arguments.items() if name not in ("selection", "gravity")))
    add((state.position, state.orientation, given.signals.read(state.time)))
    add(tuple(given.start(measures, [state]) for measures in (given.terms, given.counters)))
    return digest.digest()


def _select_rows_around(mechanism: Mechanism, state: State, compiled: Compiled, agreed: float) -> RowSelection:
    whole, loop_tolerance = select_all(mechanism, mechanism.loop_tolerance), mechanism.loop_tolerance
    owner = np.array(compiled.core.loop_joints, dtype=int)
    length = _lengths(mechanism, body_sizes(mechanism))
    unchecked = np.isin(np.arange(len(whole.unchecked)), owner)
    poses = min(_POSES, int(_BUDGET / (_INCREMENTS * compiled.core.explore_work)))
    if poses == 0:
        return replace(whole, unchecked=unchecked, why=_TOO_LONG)
    size = np.concatenate((length, np.ones(len(mechanism.couplings))))
    found = _explore(mechanism, compiled, state, poses, owner, size)
    if found is None:
        return replace(whole, unchecked=unchecked, why=_OPEN)
    values, vectors, loop_mismatch = found
    loop_mismatch = np.minimum(loop_mismatch, agreed)
    null, weak = _null(compiled, owner, values, loop_mismatch, loop_tolerance)
    # poses at which least says nothing new are those that are not singular by chance
    ordinary = null.sum(axis=(1, 2)) == null.sum(axis=(1, 2)).min()
    values, vectors, null = values[ordinary], vectors[ordinary], null[ordinary]
    used = ~np.isinf(values)
    result = replace(whole, length=length, loop_mismatch=float(loop_mismatch.max(initial=0.0)))
    for loop, joint in enumerate(owner):
        result.weak[joint] = weak[loop]
        zero = values[:, loop][null[:, loop] & used[:, loop]].max(initial=0.0)
        result.dropped[joint] = zero if zero > EXACT else 0.0
    count = null.sum(axis=2).min(axis=0)
    # of a joint's null directions those that are nearest to zero
    keep = np.arange(6) < count[:, None]
    null_part = np.einsum("plik,pljk,lk->plij", vectors, vectors, keep.astype(float))
    # rows beyond a joint's own come first in the order of eigenvalues
    beyond = np.isinf(values[0])
    weights, axes = np.linalg.eigh(null_part.mean(axis=0) - np.eye(6) * beyond[:, None])
    least = np.take_along_axis(weights, np.maximum(6 - count, 0)[:, None].clip(max=5), axis=1)[:, 0]
    constant = least > _CONSTANT**2
    joints = list(mechanism.joints.values())
    for loop, joint in enumerate(owner):
        k = int(count[loop])
        if k == 0:
            continue
        if joint >= len(joints):
            result.inactive_couplings[joint - len(joints)] = 1
            continue
        result.inactive[joint] = k
        if not constant[loop]:
            result.redundant[joint] = k
            continue
        lengths = FORMS[joints[joint].code].lengths
        row_count = len(lengths)
        weight = np.where(lengths, length[joint], 1.0)
        kept = axes[loop][:row_count, 6 - row_count : 6 - k]
        result.rows[joint] = row_count - k
        result.combination[joint].reshape(-1)[: (row_count - k) * row_count] = (_orthonormal(kept).T / weight).ravel()
    largest_zero, smallest_kept = values[null & used].max(initial=0.0), values[~null & used].min(initial=np.inf)
    unchecked[: len(joints)] &= [joint.code == "custom" or joint.ground is not None for joint in joints]
    unchecked[len(joints) :] = False
    return replace(
        result,
        unchecked=unchecked,
        largest_zero=float(largest_zero),
        smallest_kept=float(smallest_kept),
        why=_AT_THEIR_WORD if unchecked.any() else "",
    )


def _explore(
    mechanism: Mechanism, compiled: Compiled, state: State, poses: int, owner: NDArray[np.int_], size: Array
) -> tuple[Array, Array, Array] | None:
    """Singular values (pose, loop, 6), directions (pose, loop, 6, 6) and what is open along these at the first pose.

    None where the loops cannot be closed.
    """
    from .assembly import is_wide, joint_gaps
    from .trust_region import close_wide

    core, guess, loop_tolerance = compiled.core, state.copy(), compiled.selection.loop_tolerance
    signals = compiled.signals.read(state.time)
    terms = compiled.start(compiled.terms, [state])[0]
    # a pose that is closed needs no assembly; where that would take too long, the walk below has to do
    gaps, _ = joint_gaps(compiled, state)
    closed = (np.hypot(gaps[:, 0] / size, gaps[:, 1]) <= _CLOSED).all()
    if not closed and is_wide(mechanism, guess):
        close_wide(mechanism, guess, {})

    def assembled(loose_below: float) -> State:
        result = guess.copy()
        core.assemble(
            iteration_limit=_ITERATIONS,
            term_start=terms,
            rows=compiled.rows,
            counted=compiled.start(compiled.counters, [state])[0],
            signals=signals,
            signal_rates=np.zeros_like(signals),
            position=result.position,
            orientation=result.orientation,
            velocity=result.velocity,
            angular_velocity=result.angular_velocity,
            loose_below=loose_below,
        )
        return result

    if not closed and _ITERATIONS * core.ldu_work <= _BUDGET:
        # at its word if there is such a pose beside this one, or else what says something new; far off, what hardly
        # says anything would be closed little by little
        at_word, loosely = assembled(0.0), assembled(loop_tolerance**2)
        gaps, _ = joint_gaps(compiled, at_word)
        fits = (np.hypot(gaps[:, 0] / size, gaps[:, 1]) <= _CLOSED).all() and _beside(guess, at_word)
        guess = at_word if fits else loosely if _beside(guess, loosely) else guess
    loops = len(owner)
    values, vectors = np.full((poses + 1, loops, 6), np.inf), np.zeros((poses + 1, loops, 6, 6))
    loop_mismatch = np.zeros((poses + 1, loops, 6))
    found = core.explore(
        loop_tolerance=loop_tolerance,
        position=guess.position,
        orientation=guess.orientation,
        term_start=terms,
        rows=compiled.rows,
        signals=signals,
        length=size[owner],
        singular=values,
        direction=vectors,
        loop_mismatch=loop_mismatch,
    )
    if found == 0:
        return None
    # the first of them is a little way off: where it says more, the closed ones are stuck at a singular pose
    null = (values[: found + 1] <= loop_tolerance).sum(axis=(1, 2))
    chosen = slice(0, 1) if np.isfinite(values[0]).any() and null[0] < null[1:].min() else slice(1, found + 1)
    return values[chosen], vectors[chosen], loop_mismatch[1]


def meant_after_all(compiled: Compiled, run: Trajectory) -> RowSelection | None:
    """Return a new selection if rows that were left out turn out to be intended during a run, else None.

    The disagreement of the numbers depends on the pose, and changes little if they are rounded. If it becomes much
    larger than at the first node, the singular values there are compared with the disagreement that was found before.
    """
    from .assembly import loop_mismatches

    if not compiled.selection.dropped.any() or len(run) < 2:
        return None
    nodes = [*range(0, len(run), max(1, len(run) // _LOOKS)), len(run) - 1]
    parts = [float(loop_mismatches(compiled, run[k]).max(initial=0.0)) for k in nodes]
    worst = int(np.argmax(parts))
    if parts[worst] <= _MEANT * max(parts[0], _CLOSED):
        return None
    there = select_rows(run.mechanism, run[nodes[worst]], max(parts[0], _CLOSED))
    return there if there.count_left_out < compiled.selection.count_left_out else None


def _beside(one: State, other: State) -> bool:
    """Whether two poses are about the same."""
    shift = np.abs(one.position - other.position).max(initial=0.0) / whole_size(one)
    turn = 2 * np.arccos(np.abs((one.orientation * other.orientation).sum(axis=1)).clip(max=1.0)).max(initial=0.0)
    return bool(max(shift, turn) <= _BESIDE)


def _null(
    compiled: Compiled, owner: NDArray[np.int_], values: Array, loop_mismatch: Array, loop_tolerance: float
) -> tuple[NDArray[np.bool_], Array]:
    """Which directions (pose, loop, 6) say nothing new, and the largest value (loop,) that is weak and yet meant.

    Judged for each group of loops that share joints, by the largest of their weak values and of their mismatches.
    """
    null, weak = values <= loop_tolerance, np.zeros(len(owner))
    # not those at poses that are singular by chance
    ordinary = null.sum(axis=(1, 2)) == null.sum(axis=(1, 2)).min()
    groups, freedoms = compiled.core.loop_groups
    rows = np.array([*compiled.arguments["joint_rows"], *np.ones(compiled.coupling_count, dtype=int)])[owner]
    for group, freedom in enumerate(freedoms):
        own = np.flatnonzero(np.array(groups) == group)
        some = values[:, own]
        largest = some[ordinary][null[ordinary][:, own]].max(initial=0.0)
        if largest <= EXACT or largest <= _MEANT * loop_mismatch[own][null[:, own].any(axis=0)].max(initial=0.0):
            continue
        # rows that are not examined, and those beyond a joint's own, have no value
        finite = np.isfinite(some)
        others = int((rows[own] - finite[0].sum(axis=1)).sum())
        held, at_word = (
            (others + (finite & (some > least)).sum(axis=(1, 2))).max() for least in (loop_tolerance, EXACT)
        )
        if freedom - at_word <= 0 < freedom - held:
            continue
        # what is meant holds at the first pose too; roots of what closing leaves open vanish there
        if others + (finite[0] & (some[0] > EXACT)).sum() < at_word:
            continue
        null[:, own] = some <= EXACT
        kept = finite & (some <= loop_tolerance) & (some > EXACT) & ordinary[:, None, None]
        weak[own] = np.where(kept, some, 0.0).max(axis=(0, 2))
    return null, weak


def warn_of(mechanism: Mechanism, selection: RowSelection) -> None:
    """Warn of rows that are left out or weak, once for a mechanism that cannot change."""
    known = mechanism.snapshot()._known
    if known.warned_of is selection:
        return
    known.warned_of = selection
    names = [*mechanism.joints, *mechanism.couplings]

    def listed(numbers: Array) -> str:
        found = [repr(names[k]) for k in np.flatnonzero(numbers)]
        return ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")

    sentences = []
    units = "(rad, or relative to the size of the bodies)"
    # what disagrees by more is refused where a run starts
    if selection.dropped.any() and selection.loop_mismatch <= selection.loop_tolerance:
        sentences.append(
            f"nearly redundant rows of {listed(selection.dropped)} are not enforced: singular values up to "
            f"{selection.dropped.max():.2g}, while the numbers disagree by {selection.loop_mismatch:.2g} {units}; "
            "if these rows are intended, give the numbers more digits, or lower loop_tolerance="
        )
    if selection.weak.any():
        sentences.append(
            f"{listed(selection.weak)} and other joints constrain some direction only weakly (singular values down to "
            f"{selection.weak[selection.weak > 0].min():.2g}); their rows are enforced, since the numbers agree to "
            f"{selection.loop_mismatch:.2g} {units}; if two of these joints are meant to be redundant, remove one"
        )
    if sentences:
        warn(LoopWarning("; ".join(sentences)))


def _orthonormal(columns: Array) -> Array:
    return np.linalg.qr(columns)[0] if columns.size else columns


def _lengths(mechanism: Mechanism, sizes: Array) -> Array:
    rows = {name: row for row, name in enumerate(mechanism.bodies)}
    result = np.ones(mechanism.joint_count)
    for k, joint in enumerate(mechanism.joints.values()):
        result[k] = np.mean([sizes[rows[body.name]] for body in (joint.a, joint.b) if not body.is_world])
    return result
