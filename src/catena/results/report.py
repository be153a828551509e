"""Report: bodies, joints and degrees of freedom of a mechanism, and its redundant joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._util.lookup import how_many
from .._util.rotation import Array
from ..assemble import massless
from ..assemble.assembly import joint_gaps
from ..assemble.core import build_core
from ..assemble.tree_jacobian import Motions
from ..compile.shapes import overlap_line, shape_set
from ..describe.custom import GivenRows
from ..describe.rolling import KnifeEdge, RollingBall, RollingDisk
from .ranges import CoordinateRange, range_lines, ranges_of

if TYPE_CHECKING:
    from ..compile.row_selection import RowSelection
    from ..describe.joint import Joint
    from ..describe.mechanism import Mechanism
    from ..describe.spanning_tree import Branch
    from ..kinematics.clearances import Clearance
    from ..kinematics.state import State

# singular values below `loop_tolerance` count as zero, as they do in a run; where it is zero those below this part of
# the largest, or of one: a pose that is closed to 1e-11 is only known to the root of that where it is singular
_RANK_TOLERANCE = 1e-7

# values within this factor of `loop_tolerance` are worth a word
_NEAR_FIT = 4.0


@dataclass(frozen=True)
class Loop:
    """A loop: the joint that closes it, all its joints in order, and the bodies between them."""

    joint: str
    joints: tuple[str, ...]
    bodies: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """The properties of a mechanism at one pose; print the report, or read its fields.

    row_count counts all constraint rows, rank the independent ones. redundant_joints take part in a linear dependence
    between rows, so statics alone does not determine their reactions. work is the estimated number of multiplications
    per Newton iteration for each solver. driven says whether functions of time move the mechanism. mismatches lists the
    joints that close loops and have rows that are not enforced, because they are redundant, with the disagreement in m
    and rad at this pose. largest_zero is the largest singular value that counts as zero, smallest_kept the smallest
    that does not. unchecked_joints close loops that were not checked for redundant rows, for the reason in
    unchecked_reason: all their rows are enforced, and the data must agree to rounding error. massless lists the bodies
    without mass. ranges lists the coordinates with limits: their values at this pose (by default the described one),
    and which of their limits contradict each other or cannot be reached because of couplings. contacts lists the
    contacts. shape_pairs counts the pairs of shapes that collide by add_contacts, and overlaps lists those that
    overlap at this pose, with their depth.
    """

    body_count: int
    joint_count: int
    freedom: int
    row_count: int
    rank: int
    redundant_joints: tuple[str, ...]
    loops: tuple[Loop, ...]
    work: dict[str, float]
    solver: str
    driven: bool = False
    loop_mismatches: dict[str, tuple[float, float]] = field(default_factory=dict)
    largest_zero: float = 0.0
    smallest_kept: float = np.inf
    loop_tolerance: float = 0.0
    unchecked_joints: tuple[str, ...] = ()
    unchecked_reason: str = ""
    massless: tuple[str, ...] = ()
    ranges: tuple[CoordinateRange, ...] = ()
    contacts: tuple[str, ...] = ()
    shape_pairs: int = 0
    overlaps: tuple[Clearance, ...] = ()

    @property
    def limited(self) -> tuple[str, ...]:
        """Names of the joints with limits."""
        return tuple(dict.fromkeys(item.joint for item in self.ranges))

    @property
    def redundant_count(self) -> int:
        """Number of redundant rows."""
        return self.row_count - self.rank

    def __str__(self) -> str:
        locked = " (locked: it cannot move)" if self.freedom == 0 and not self.driven else ""
        lines = [
            ", ".join(
                (
                    how_many(self.body_count, "body", "bodies"),
                    how_many(self.joint_count, "joint", "joints"),
                    how_many(len(self.loops), "loop", "loops"),
                )
            ),
            f"degrees of freedom: {self.freedom}{locked}",
            f"constraint rows: {self.row_count}, rank {self.rank}, redundant {self.redundant_count}",
        ]
        if self.massless:
            lines.append("massless bodies: " + _shorten(self.massless))
        lines += range_lines(self.ranges)
        if self.contacts:
            lines.append(f"contacts: {len(self.contacts)} ({_shorten(self.contacts)})")
        if self.shape_pairs:
            lines.append(f"pairs of shapes that can collide: {self.shape_pairs}")
        if self.overlaps:
            lines.append(overlap_line(self.overlaps))
        if self.redundant_joints:
            lines.append("redundant joints: " + _shorten(self.redundant_joints))
        if self.loop_mismatches:
            shift, turn = (max(gap[k] for gap in self.loop_mismatches.values()) for k in range(2))
            names = _shorten(tuple(self.loop_mismatches))
            lines.append(f"redundant rows not enforced: {names}; mismatch {shift:.2g} m, {turn:.2g} rad")
            lines.append(
                f"(singular values: largest dropped {self.largest_zero:.2g}, smallest kept {self.smallest_kept:.2g}, "
                f"loop tolerance {self.loop_tolerance:g})"
            )
        if self.unchecked_joints:
            lines.append(
                f"not checked for redundancy: {len(self.unchecked_joints)} loop joints "
                f"({_shorten(self.unchecked_joints)}), because {self.unchecked_reason}; all their rows "
                "are enforced and must agree to rounding"
            )
        if self.loop_tolerance > 0 and self.smallest_kept < _NEAR_FIT * self.loop_tolerance:
            lines.append(
                f"nearly redundant: singular value {self.smallest_kept:.2g} is kept; if it is rounding, "
                "raise loop_tolerance="
            )
        if self.loop_tolerance > 0 and self.largest_zero > self.loop_tolerance / _NEAR_FIT:
            lines.append(
                f"barely redundant: singular value {self.largest_zero:.2g} is dropped; if it is intended, "
                "lower loop_tolerance="
            )
        for loop in self.loops[:20]:
            bodies = how_many(len(loop.bodies), "body", "bodies")
            lines.append(f"loop closed by {loop.joint!r}: {bodies}, joints {_shorten(loop.joints)}")
        if len(self.loops) > 20:
            lines.append(f"... {len(self.loops) - 20} more loops")
        work = ", ".join(f"{name} {value:.3g}" for name, value in self.work.items())
        lines.append(f"multiplications per iteration: {work}; solver: {self.solver}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ..view.notebooks import report_table

        return report_table(self)


def _shorten(names: tuple[str, ...], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def report(mechanism: Mechanism, state: State, selection: RowSelection, *, start: State | None = None) -> Report:
    """See Mechanism.report; `selection` contains the rows that a run enforces, limits are those of where one starts."""
    tree = mechanism.spanning_tree()
    motions = Motions(mechanism, state)
    carrier, path = motions.carrier, motions.path
    loops = []
    for joint in tree.loops:
        up_a, up_b = path(joint.a.name), path(joint.b.name)
        shared = set(up_a) & set(up_b)
        side_a, side_b = [n for n in up_a if n not in shared], [n for n in up_b if n not in shared]
        meeting = [name for name in up_a if name in shared][:1]
        names = [carrier[n].joint.name for n in (*side_a, *reversed(side_b)) if n in carrier]
        loops.append(Loop(joint.name, (joint.name, *names), (*side_a, *meeting, *reversed(side_b))))
    # rows: what each loop's constraint, and each coupling, asks of the bodies it acts on
    blocks, pulls = [], []
    strict: list[bool] = []
    all_names = [*mechanism.joints, *mechanism.couplings]
    strict_names = {all_names[k] for k in np.flatnonzero(selection.unchecked | (selection.weak > 0))}
    for closure in motions.closures:
        on_bodies = motions.pulls(closure)
        blocks.append(motions.rows(on_bodies))
        pulls.append(on_bodies)
        is_strict = (
            isinstance(closure, RollingBall | RollingDisk | KnifeEdge | GivenRows) or closure.name in strict_names
        )
        strict += [is_strict] * len(blocks[-1])

    # rows over the size and slides in sizes are of order one, so that rounding can be told from motion
    jacobian = np.concatenate(blocks) if blocks else np.zeros((0, len(motions.twists)))
    compiled = build_core(mechanism, selection=selection)
    if jacobian.size:
        left = np.linalg.svd(jacobian)[0]
        rank = _rank(jacobian, np.array(strict), mechanism.loop_tolerance)
        # what a run does not ask for does not count, though it may be just above `loop_tolerance` in the units used
        # here
        rank = min(rank, len(jacobian) - int(selection.inactive.sum() + selection.inactive_couplings.sum()))
    else:
        left, rank = np.eye(len(jacobian)), 0
    row_total = sum(joint.row_count for joint in mechanism.joints.values()) + len(mechanism.couplings)
    _, loop_mismatch = joint_gaps(compiled, state)
    names = [*mechanism.joints, *mechanism.couplings]
    inactive = np.flatnonzero(np.concatenate((selection.inactive, selection.inactive_couplings)))
    where = state if start is None else start
    shapes = None if mechanism.contact_rules is None else shape_set(mechanism)
    return Report(
        body_count=mechanism.body_count,
        joint_count=mechanism.joint_count,
        freedom=len(motions.twists) - rank,
        row_count=row_total,
        rank=row_total - (len(jacobian) - rank),
        redundant_joints=_stressed(mechanism, left[:, rank:], tree.loops, pulls, carrier, path),
        loops=tuple(loops),
        work=compiled.work,
        solver=compiled.solver,
        driven=any(c.function is not None for c in mechanism.couplings.values())
        or any(joint.ground is not None for joint in mechanism.joints.values()),
        loop_mismatches={names[k]: (float(loop_mismatch[k, 0]), float(loop_mismatch[k, 1])) for k in inactive},
        largest_zero=selection.largest_zero,
        smallest_kept=selection.smallest_kept,
        loop_tolerance=selection.loop_tolerance,
        unchecked_joints=selection.unchecked_joints(mechanism),
        unchecked_reason=selection.why,
        massless=massless.names(mechanism),
        ranges=ranges_of(mechanism, where),
        contacts=tuple(mechanism.contacts),
        shape_pairs=0 if shapes is None else len(shapes.pairs),
        overlaps=() if shapes is None else tuple(shapes.overlaps(where.position, where.orientation)),
    )


def _rank(jacobian: Array, strict: NDArray[np.bool_], loop_tolerance: float) -> int:
    """Rank of the rows under `loop_tolerance`, and of the strict rows on the freedoms that remain."""
    rank, free = 0, np.eye(jacobian.shape[1])
    for rows, least in ((~strict, loop_tolerance), (strict, 0.0)):
        along = jacobian[rows] @ free
        if along.size:
            _, values, ways = np.linalg.svd(along)
            new = int(np.count_nonzero(values > (least or _RANK_TOLERANCE * max(values[0], 1.0))))
            rank, free = rank + new, free @ ways[new:].T
    return rank


def _stressed(
    mechanism: Mechanism,
    null: Array,
    closures: Sequence[Joint],
    pulls: list[dict[str, Array]],
    carrier: Mapping[str, Branch],
    path: Callable[[str], list[str]],
) -> tuple[str, ...]:
    """Joints that carry load in a state of self-stress; `null` (rows, state) are the multipliers."""
    names: set[str] = set()
    carried: dict[str, Array] = {}
    first = 0
    for k, on_bodies in enumerate(pulls):
        count = len(next(iter(on_bodies.values())))
        part = null[first : first + count].T
        first += count
        for body, wrenches in on_bodies.items():
            wrench = part @ wrenches
            if k < len(closures) and _bears(wrench):
                names.add(closures[k].name)
            for name in (carrier[below].joint.name for below in path(body) if below in carrier):
                carried[name] = carried.get(name, 0.0) + wrench
    names.update(name for name, wrench in carried.items() if _bears(wrench))
    return tuple(name for name in mechanism.joints if name in names)


def _bears(wrench: Array) -> bool:
    """Whether any of several wrenches (state, 6) exceeds rounding error."""
    return bool((np.linalg.norm(wrench, axis=1) > 1e-6).any())
