"""Where a mechanism is asked about: a state, a run, a live mechanism or a batch, or coordinates and rates as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._util.rotation import Array, finite
from ..assemble.forward_kinematics import placed
from ..assemble.start_poses import is_tree, start_poses
from ..kinematics.readable import Readable
from ..kinematics.state import State

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism


# a state and the like, or coordinates and rates (..., coordinate)
Where: TypeAlias = "Readable[Any] | tuple[ArrayLike, ArrayLike]"


@dataclass(frozen=True)
class Poses:
    """Poses and velocities (pose, n, ...) with the shape of the axes that stood in front of them."""

    shape: tuple[int, ...]
    position: Array
    orientation: Array
    velocity: Array
    angular_velocity: Array
    # what few ask for: coordinates (pose, coordinate) near which turns are counted, and times (pose,)
    coordinates: Callable[[], Array]
    time: Callable[[], Array]
    inputs: Array | None

    def __len__(self) -> int:
        return len(self.position)

    def at_rest(self) -> Poses:
        """The same poses without velocities."""
        still = np.zeros_like(self.velocity)
        return replace(self, velocity=still, angular_velocity=still)

    def shaped(self, array: Array) -> Array:
        """An array (pose, ...) with the axes that stood in front."""
        return array.reshape(self.shape + array.shape[1:])


def poses_of(mechanism: Mechanism, x: Where) -> Poses:
    """All poses that are asked about, checked."""
    if isinstance(x, tuple):
        return _placed(mechanism, x)
    if not isinstance(x, Readable):
        raise TypeError(
            "the dynamics of a mechanism are found at a State, a Live, a Trajectory, a Batch or a pair of arrays "
            f"(coordinates, rates), got {type(x).__name__}"
        )
    if x.mechanism is not mechanism and list(x.mechanism.bodies) != list(mechanism.bodies):
        raise ValueError("these dynamics are those of another mechanism: its bodies have other names")
    # only batches have numbers of their own, and to miss an attribute costs a search for the nearest name
    is_single = isinstance(x, (State, _core.Live))
    numbers = None if is_single else getattr(x, "numbers", getattr(x, "_numbers", None))
    if numbers is not None and not numbers.are_shared:
        raise ValueError(
            "members of this batch have masses, forces or geometry of their own: use Dynamics(batch[k].mechanism) for "
            "each of them"
        )
    position = x.position
    shape, n = position.shape[:-2], position.shape[-2]
    count = prod(shape)
    flat = [
        np.ascontiguousarray(a).reshape(count, n, -1) for a in (position, x.orientation, x.velocity, x.angular_velocity)
    ]
    for array in flat:
        if not isfinite(array.sum()):
            raise ValueError("dynamics: the poses and velocities must be finite")
    given = getattr(x, "inputs", None)  # a batch has none
    inputs = None if given is None else np.broadcast_to(given, (*shape, np.shape(given)[-1])).reshape(count, -1)

    def coordinates() -> Array:
        return np.asarray(x.coordinates).reshape(count, -1)

    def time() -> Array:
        return np.broadcast_to(np.asarray(x.time, dtype=float), shape).reshape(count)

    return Poses(shape, flat[0], flat[1], flat[2], flat[3], coordinates, time, inputs)


def _placed(mechanism: Mechanism, given: tuple[ArrayLike, ...]) -> Poses:
    """Coordinates and rates (..., coordinate); joints in loops are closed."""
    if len(given) != 2:
        raise ValueError(f"give (coordinates, rates), a pair of arrays, got {len(given)} of them")
    names = mechanism.coordinates
    shape = np.shape(given[0])[:-1]
    coordinates, rates = (
        finite(value, (*shape, len(names)), f"dynamics: {what}").reshape(-1, len(names))
        for value, what in zip(given, ("coordinates", "rates"), strict=True)
    )
    state = mechanism.state()
    x, q, v, w = (np.repeat(array, len(coordinates), axis=0) for array in state._alone())
    time = np.full(len(coordinates), state.time)
    if is_tree(mechanism):
        position, orientation, velocity, spin = placed(mechanism, (x, q, v, w), coordinates, rates, time)
        return Poses(shape, position, orientation, velocity, spin, lambda: coordinates, lambda: time, None)
    found = start_poses(state, coordinates, rates, np.ones(len(names), dtype=bool))
    if found.unclosed.size:
        row = int(found.unclosed[0])
        where = "" if not shape else f" at row {row}"
        raise ValueError(f"dynamics: no pose near these coordinates closes all loops{where}")
    position, orientation, velocity, spin = found.bodies
    return Poses(shape, position, orientation, velocity, spin, lambda: found.near, lambda: time, None)
