"""Which rows of joints and couplings the core enforces, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._util.rotation import Array

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism

# bodies whose joints are all so near to their center, in parts of the typical distance, have no size of their own: it
# may be nothing but rounding
_SMALL = 1e-2

# values below this are rounding: they are roots of what is computed
EXACT = 1e-7

# values of what is left out above this part of `loop_tolerance`, and of what is kept below that many, may be others
# elsewhere
_DOUBTFUL, _NEARLY = 0.05, 3.0


@dataclass(frozen=True)
class RowSelection:
    """Which rows of every joint and coupling are enforced; arrays in the mechanism's order.

    rows (joint,) is how many combinations of its rows are enforced, -1 for all its rows; combination (joint, 6, 6)
    are those; redundant (joint,) counts directions that turn with the pose and are left to the solver; length (joint,)
    is what its lengths are measured by (m). inactive_couplings (coupling,) says which couplings follow from the rest.
    largest_zero is the largest singular value that was taken for zero, smallest_kept the smallest that was not, at the
    poses that were looked at. inactive (joint,) is how many of its rows say nothing new. unchecked (joint + coupling,)
    says which close loops and were not examined, all their rows being enforced, and `why` for what reason.
    weak (joint + coupling,) is the largest value, or 0, by which a joint holds weakly and is taken at its word; dropped
    (joint + coupling,) that of what is left out, where it is no rounding of what is computed; loop_mismatch is the
    largest that was found where these were examined.
    """

    loop_tolerance: float
    rows: NDArray[np.int32]
    redundant: NDArray[np.int32]
    combination: Array
    length: Array
    inactive_couplings: NDArray[np.int32]
    inactive: NDArray[np.int32]
    unchecked: NDArray[np.bool_]
    weak: Array
    dropped: Array
    loop_mismatch: float = 0.0
    largest_zero: float = 0.0
    smallest_kept: float = np.inf
    why: str = ""

    def arrays(self, coupling_count: int) -> _core.RowSelectionArrays:
        """As the core takes them, for so many couplings: those beyond the mechanism's own are enforced."""
        inactive = np.zeros(coupling_count, dtype=np.int32)
        inactive[: len(self.inactive_couplings)] = self.inactive_couplings
        return _core.RowSelectionArrays(
            loop_tolerance=self.loop_tolerance,
            rows=self.rows,
            redundant=self.redundant,
            combination=self.combination,
            length=self.length,
            inactive=inactive,
        )

    @property
    def turning(self) -> bool:
        """Whether some of the directions that are left out turn with the pose, in data that are not exact."""
        return bool(self.redundant.any()) and self.largest_zero > EXACT

    @property
    def is_doubtful(self) -> bool:
        """Whether values are so near to `loop_tolerance`, or hold so weakly, that another pose may say otherwise."""
        near = (
            _DOUBTFUL * self.loop_tolerance < self.dropped.max(initial=0.0)
            or self.smallest_kept < _NEARLY * self.loop_tolerance
        )
        return bool(near or self.weak.any())

    @property
    def count_left_out(self) -> int:
        """Rows and couplings that are left out."""
        return int(self.inactive.sum() + self.inactive_couplings.sum())

    def same_rows(self, other: RowSelection) -> bool:
        """Whether the same rows are enforced."""
        names = ("rows", "redundant", "inactive_couplings")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def without_redundant(self) -> RowSelection:
        """The same without the joints of which some directions turn: none of their rows is enforced."""
        turning = self.redundant > 0
        return replace(self, rows=np.where(turning, np.int32(0), self.rows), redundant=np.zeros_like(self.redundant))

    def combinations(self, mechanism: Mechanism) -> dict[str, Array]:
        """Of the joints of which not all rows are enforced: combinations (active, row) of these."""
        joints = zip(mechanism.joints.values(), self.rows, self.combination, strict=True)
        return {
            joint.name: flat.ravel()[: rows * joint.row_count].reshape(rows, joint.row_count)
            for joint, rows, flat in joints
            if rows >= 0
        }

    def unchecked_joints(self, mechanism: Mechanism) -> tuple[str, ...]:
        """Joints and couplings that close loops and were not looked at."""
        names = [*mechanism.joints, *mechanism.couplings]
        return tuple(names[k] for k in np.flatnonzero(self.unchecked))

    def turning_joints(self, mechanism: Mechanism) -> list[str]:
        """Those joints whose left out directions turn with the pose."""
        return [name for name, count in zip(mechanism.joints, self.redundant, strict=True) if count]


# what says which rows are enforced, and how much says nothing new
SELECTION_ARRAYS = ("rows", "redundant", "combination", "length", "inactive_couplings", "inactive")


def select_all(mechanism: Mechanism, loop_tolerance: float = 0.0) -> RowSelection:
    """All rows of all joints."""
    joints, couplings = mechanism.joint_count, len(mechanism.couplings)
    return RowSelection(
        loop_tolerance,
        np.full(joints, -1, dtype=np.int32),
        np.zeros(joints, dtype=np.int32),
        np.zeros((joints, 6, 6)),
        np.ones(joints),
        np.zeros(couplings, dtype=np.int32),
        np.zeros(joints, dtype=np.int32),
        np.zeros(joints + couplings, dtype=bool),
        np.zeros(joints + couplings),
        np.zeros(joints + couplings),
    )


def body_sizes(mechanism: Mechanism) -> Array:
    """Typical distance (n,) of a body's joints from its center of mass (m), that of all bodies where it has none."""
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
