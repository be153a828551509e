"""Redundancy: which rows of the joints that close loops follow from the other joints, and what is asked instead.

A linkage in a plane that is described in space has rows too many: a four-bar of whole hinges twenty, of which seventeen
say something. With exact numbers the others are met by themselves; with numbers rounded to a few digits they can only
be met to that, and the mechanism that is meant is the one that does not ask for them. So they are left out: where the
directions that say nothing stand still in the joint's frame, as rows that are never made; where they turn with the
pose, by the solver, which is told how many there are. What is left over, the misfit of a joint, depends on the pose
alone and is as large as the numbers are wrong.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._rotation import Array
from .joint import FORMS

if TYPE_CHECKING:
    from ._handover import Compiled
    from .mechanism import Mechanism
    from .state import State

# poses at which rows are judged, and multiplications that may be spent on them; a pose takes about so many increments
_POSES = 5
_BUDGET = 3e9
_INCREMENTS = 6

# a direction stands still if it turns by less than its cosine says between poses
_STILL = 0.999

# bodies whose joints are all so near to their centre, in parts of the typical distance, have no size of their own: it
# may be nothing but rounding
_SMALL = 1e-2

# what was found last, by all that it follows from: whatever is edited is another key
_KEPT = 4
_found: OrderedDict[bytes, Asked] = OrderedDict()
_lock = Lock()

# why joints are not judged
_TOO_LONG = "that would take too long"
_OPEN = "their loops cannot be closed around this pose"
_AT_THEIR_WORD = "constraints of one's own and joints to moving ground are taken at their word"

# values below this are rounding: they are roots of what is computed
EXACT = 1e-7

# gaps below this, over the size or in rad, are closed
_CLOSED = 1e-10

_ITERATIONS = 100


@dataclass(frozen=True)
class Asked:
    """What is asked of every joint and coupling; arrays in the mechanism's order.

    rows (joint,) is how many combinations of its rows are asked for, -1 for all its rows; combination (joint, 6, 6)
    are those; excess (joint,) counts directions that turn with the pose and are left to the solver; length (joint,) is
    what its lengths are measured by (m). idle (coupling,) says which couplings follow from the rest.
    largest_zero is the largest singular value that was taken for zero, smallest_kept the smallest that was not, at the
    poses that were looked at. unasked (joint,) is how many of its rows say nothing new. unjudged (joint + coupling,)
    says which close loops and were not looked at, all their rows being asked for, and `why` for what reason.
    """

    fit: float
    rows: NDArray[np.int32]
    excess: NDArray[np.int32]
    combination: Array
    length: Array
    idle: NDArray[np.int32]
    unasked: NDArray[np.int32]
    unjudged: NDArray[np.bool_]
    largest_zero: float = 0.0
    smallest_kept: float = np.inf
    why: str = ""

    def arrays(self, coupling_count: int) -> _core.AskedArrays:
        """As the core takes them, for so many couplings: those beyond the mechanism's own are asked for."""
        idle = np.zeros(coupling_count, dtype=np.int32)
        idle[: len(self.idle)] = self.idle
        return _core.AskedArrays(
            fit=self.fit,
            rows=self.rows,
            excess=self.excess,
            combination=self.combination,
            length=self.length,
            idle=idle,
        )

    @property
    def turning(self) -> bool:
        """Whether some of the directions that are left out turn with the pose, in data that are not exact."""
        return bool(self.excess.any()) and self.largest_zero > EXACT

    def still(self) -> Asked:
        """The same without the joints of which some directions turn: nothing is asked of them."""
        turning = self.excess > 0
        return replace(self, rows=np.where(turning, np.int32(0), self.rows), excess=np.zeros_like(self.excess))

    def combinations(self, mechanism: Mechanism) -> dict[str, Array]:
        """Of the joints of which not all rows are asked: combinations (asked, row) of these."""
        joints = zip(mechanism.joints.values(), self.rows, self.combination, strict=True)
        return {
            joint.name: flat.ravel()[: rows * joint.row_count].reshape(rows, joint.row_count)
            for joint, rows, flat in joints
            if rows >= 0
        }

    def unjudged_joints(self, mechanism: Mechanism) -> tuple[str, ...]:
        """Joints and couplings that close loops and were not looked at."""
        names = [*mechanism.joints, *mechanism.couplings]
        return tuple(names[k] for k in np.flatnonzero(self.unjudged))

    def turning_joints(self, mechanism: Mechanism) -> list[str]:
        """Those joints whose left out directions turn with the pose."""
        return [name for name, excess in zip(mechanism.joints, self.excess, strict=True) if excess]


def everything(mechanism: Mechanism, fit: float = 0.0) -> Asked:
    """All rows of all joints."""
    joints, couplings = mechanism.joint_count, len(mechanism.couplings)
    return Asked(
        fit,
        np.full(joints, -1, dtype=np.int32),
        np.zeros(joints, dtype=np.int32),
        np.zeros((joints, 6, 6)),
        np.ones(joints),
        np.zeros(couplings, dtype=np.int32),
        np.zeros(joints, dtype=np.int32),
        np.zeros(joints + couplings, dtype=bool),
    )


def body_sizes(mechanism: Mechanism) -> Array:
    """Typical distance (n,) of a body's joints from its centre of mass (m), that of all bodies where it has none."""
    rows = {name: row for row, name in enumerate(mechanism.bodies)}
    squares, counts = np.zeros(len(rows)), np.zeros(len(rows))
    for joint in mechanism.joints.values():
        for body, anchor in ((joint.a, joint.anchor_a), (joint.b, joint.anchor_b)):
            if not body.is_world:
                squares[rows[body.name]] += anchor @ anchor
                counts[rows[body.name]] += 1
    sizes = np.sqrt(squares / np.maximum(counts, 1))
    common = float(np.sqrt(np.mean(sizes[sizes > 0] ** 2))) if (sizes > 0).any() else 1.0
    return np.where(sizes > _SMALL * common, sizes, common)


def described_asked(mechanism: Mechanism) -> Asked:
    """What is asked around the described pose; found once for a mechanism that cannot change."""
    mechanism = mechanism.snapshot()
    if mechanism._known.asked is None:
        mechanism._known.asked = find_asked(mechanism, mechanism.state())
    return mechanism._known.asked


def find_asked(mechanism: Mechanism, state: State) -> Asked:
    """Judge the rows around a pose, which is closed first as well as it can be.

    What was found before for the same joints at the same pose is not looked for again.
    """
    from ._handover import all_rows

    mechanism = mechanism.snapshot()
    if mechanism.fit == 0 or not (mechanism.spanning_tree().loops or mechanism.couplings):
        # the same at any pose
        mechanism._known.asked = mechanism._known.asked or everything(mechanism, mechanism.fit)
        return mechanism._known.asked
    compiled = all_rows(mechanism)
    key = _key(compiled, state)
    with _lock:
        if key is not None and key in _found:
            _found.move_to_end(key)
            return _found[key]
    asked = _judge(mechanism, state, compiled)
    if key is not None:
        # several mechanisms share it from now on
        for value in vars(asked).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        with _lock:
            _found[key] = asked
            while len(_found) > _KEPT:
                _found.popitem(last=False)
    return asked


def _key(given: Compiled, state: State) -> bytes | None:
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

    # all rows are asked for, and the walk from pose to pose knows no gravity
    add(given.asked.fit)
    add(tuple(value for name, value in given.arguments.items() if name not in ("asked", "gravity")))
    add((state.position, state.orientation, given.signals.read(state.time)))
    add(tuple(given.start(measures, [state]) for measures in (given.terms, given.counters)))
    return digest.digest()


def _judge(mechanism: Mechanism, state: State, compiled: Compiled) -> Asked:
    whole, fit = everything(mechanism, mechanism.fit), mechanism.fit
    owner = np.array(compiled.core.loop_joints, dtype=int)
    length = _lengths(mechanism, body_sizes(mechanism))
    unjudged = np.isin(np.arange(len(whole.unjudged)), owner)
    poses = min(_POSES, int(_BUDGET / (_INCREMENTS * compiled.core.explore_work)))
    if poses == 0:
        return replace(whole, unjudged=unjudged, why=_TOO_LONG)
    size = np.concatenate((length, np.ones(len(mechanism.couplings))))
    found = _explore(mechanism, compiled, state, poses, owner, size)
    if found is None:
        return replace(whole, unjudged=unjudged, why=_OPEN)
    values, vectors = found
    null = values <= fit
    # poses at which least says nothing new are those that are not singular by chance
    ordinary = null.sum(axis=(1, 2)) == null.sum(axis=(1, 2)).min()
    values, vectors, null = values[ordinary], vectors[ordinary], null[ordinary]
    count = null.sum(axis=2).min(axis=0)
    # of a joint's null directions those that are nearest to zero
    keep = np.arange(6) < count[:, None]
    null_part = np.einsum("plik,pljk,lk->plij", vectors, vectors, keep.astype(float))
    # rows beyond a joint's own come first in the order of eigenvalues
    beyond = np.isinf(values[0])
    weights, axes = np.linalg.eigh(null_part.mean(axis=0) - np.eye(6) * beyond[:, None])
    least = np.take_along_axis(weights, np.maximum(6 - count, 0)[:, None].clip(max=5), axis=1)[:, 0]
    still = least > _STILL**2
    result = replace(whole, length=length)
    joints = list(mechanism.joints.values())
    for loop, joint in enumerate(owner):
        k = int(count[loop])
        if k == 0:
            continue
        if joint >= len(joints):
            result.idle[joint - len(joints)] = 1
            continue
        result.unasked[joint] = k
        if not still[loop]:
            result.excess[joint] = k
            continue
        lengths = FORMS[joints[joint].code].lengths
        row_count = len(lengths)
        weight = np.where(lengths, length[joint], 1.0)
        kept = axes[loop][:row_count, 6 - row_count : 6 - k]
        result.rows[joint] = row_count - k
        result.combination[joint].reshape(-1)[: (row_count - k) * row_count] = (_orthonormal(kept).T / weight).ravel()
    used = ~np.isinf(values)
    largest_zero, smallest_kept = values[null & used].max(initial=0.0), values[~null & used].min(initial=np.inf)
    unjudged[: len(joints)] &= [joint.code == "custom" or joint.ground is not None for joint in joints]
    unjudged[len(joints) :] = False
    return replace(
        result,
        unjudged=unjudged,
        largest_zero=float(largest_zero),
        smallest_kept=float(smallest_kept),
        why=_AT_THEIR_WORD if unjudged.any() else "",
    )


def _explore(
    mechanism: Mechanism, compiled: Compiled, state: State, poses: int, owner: NDArray[np.int_], size: Array
) -> tuple[Array, Array] | None:
    """Singular values (pose, loop, 6) and directions (pose, loop, 6, 6); None where the loops cannot be closed."""
    from .assembly import is_wide, joint_gaps
    from .closing import close_wide

    core, guess, fit = compiled.core, state.copy(), compiled.asked.fit
    signals = compiled.signals.read(state.time)
    terms = compiled.start(compiled.terms, [state])[0]
    # a pose that is closed needs no assembly; where that would take too long, the walk below has to do
    gaps, _ = joint_gaps(compiled, state)
    closed = (np.hypot(gaps[:, 0] / size, gaps[:, 1]) <= _CLOSED).all()
    if not closed and is_wide(mechanism, guess):
        close_wide(mechanism, guess, {})
    if not closed and _ITERATIONS * core.ldu_work <= _BUDGET:
        core.assemble(
            iteration_limit=_ITERATIONS,
            term_start=terms,
            rows=compiled.rows,
            counted=compiled.start(compiled.counters, [state])[0],
            signals=signals,
            signal_rates=np.zeros_like(signals),
            position=guess.position,
            orientation=guess.orientation,
            velocity=guess.velocity,
            angular_velocity=guess.angular_velocity,
            loose_below=fit**2,
        )
    loops = len(owner)
    values, vectors = np.full((poses + 1, loops, 6), np.inf), np.zeros((poses + 1, loops, 6, 6))
    found = core.explore(
        fit=fit,
        position=guess.position,
        orientation=guess.orientation,
        term_start=terms,
        rows=compiled.rows,
        signals=signals,
        length=size[owner],
        singular=values,
        direction=vectors,
    )
    if found == 0:
        return None
    # the first of them is a little way off: where it says more, the closed ones are stuck at a singular pose
    null = (values[: found + 1] <= fit).sum(axis=(1, 2))
    chosen = slice(0, 1) if np.isfinite(values[0]).any() and null[0] < null[1:].min() else slice(1, found + 1)
    return values[chosen], vectors[chosen]


def _orthonormal(columns: Array) -> Array:
    return np.linalg.qr(columns)[0] if columns.size else columns


def _lengths(mechanism: Mechanism, sizes: Array) -> Array:
    rows = {name: row for row, name in enumerate(mechanism.bodies)}
    result = np.ones(mechanism.joint_count)
    for k, joint in enumerate(mechanism.joints.values()):
        result[k] = np.mean([sizes[rows[body.name]] for body in (joint.a, joint.b) if not body.is_world])
    return result
