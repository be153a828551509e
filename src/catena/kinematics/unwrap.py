"""Joint angles with full turns: unwrapped to the turn nearest to a recent value, which is stored by joint name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._util.rotation import Array

if TYPE_CHECKING:
    from ..describe.joint import Joint


class ByJoint(Mapping[str, Array]):
    """Angles (..., counter) by joint name, split on access."""

    def __init__(self, counted: Array, places: Mapping[str, slice]) -> None:
        self.counted, self.places = counted, places

    def __getitem__(self, joint: str) -> Array:
        return self.counted[..., self.places[joint]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def copy(self) -> ByJoint:
        """A copy with its own angles."""
        return ByJoint(self.counted.copy(), self.places)


def angles_at(
    near: Mapping[str, Array], node: int | slice | NDArray[np.bool_] | NDArray[np.intp]
) -> Mapping[str, Array]:
    """Angles (..., counter) by joint name at one node, or at several."""
    if isinstance(near, ByJoint):
        return ByJoint(near.counted[node], near.places)
    return {name: angles[node] for name, angles in near.items()}


def in_one(near: Mapping[str, Array]) -> tuple[tuple[str, ...], bytes]:
    """The names of joints, and all their numbers in one array, for comparison."""
    numbers = near.counted.tobytes() if type(near) is ByJoint else b"".join(a.tobytes() for a in near.values())
    return tuple(near), numbers


def unwrapped(joint: Joint, coordinates: Array, recent: Array | None) -> Array:
    """Coordinates (..., dof) with every angle moved to the full turn nearest to its recent value (..., angles)."""
    if recent is None or not joint.angles:
        return coordinates
    result = coordinates.copy()
    which = list(joint.angles)
    result[..., which] += 2 * np.pi * np.round((recent - result[..., which]) / (2 * np.pi))
    return result
