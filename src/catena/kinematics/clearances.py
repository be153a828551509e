"""How far two shapes are apart, and where."""

from __future__ import annotations

from dataclasses import dataclass

from .._util.rotation import Array


@dataclass(frozen=True, eq=False)
class Clearance:
    """The distance of two shapes that can collide.

    `shapes` and `bodies` are the names of both; `gap` (m) is less than zero if they overlap, and says how deep;
    `normal` (3,) is the direction from the first to the second, `points` (2, 3) m are the points of both that are
    nearest to each other, or deepest in each other, all in the world frame.
    """

    shapes: tuple[str, str]
    bodies: tuple[str, str]
    gap: float
    normal: Array
    points: Array

    def __repr__(self) -> str:
        return f"Clearance({self.shapes[0]!r}, {self.shapes[1]!r}, gap={self.gap:.6g})"
