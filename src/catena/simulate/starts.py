"""Where members of a batch start: states, or joint coordinates and rates as arrays, placed and closed in the core."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.checks import whole
from .._util.rotation import Array, finite
from .._util.status import Status
from ..assemble.assembly import AssemblyError, stand
from ..assemble.forward_kinematics import placed
from ..assemble.initial_state import checked, fastest
from ..assemble.redundancy import described_asked
from ..compile.compile import start_arrays
from ..kinematics.state import State

if TYPE_CHECKING:
    from .plan import Plan

# what a node has of every body
_BODIES = ("position", "orientation", "velocity", "angular_velocity")


@dataclass(frozen=True)
class Starts:
    """All that members start with, arrays (member, ...), and why some cannot, by member."""

    time: Array
    arrays: dict[str, Array]
    reached: bool = False  # by a run
    unclosed: Mapping[int, Status] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.time)

    def core_arrays(self, members: NDArray[np.intp] | slice = slice(None)) -> dict[str, Array]:
        """What a _core.Start is made of, of some members."""
        return {name: values[members] for name, values in self.arrays.items()}

    def closed(self) -> NDArray[np.intp]:
        """Members that can start."""
        return np.delete(np.arange(len(self)), list(self.unclosed))

    def put(self, members: NDArray[np.intp], others: Starts) -> None:
        """Let some members start elsewhere, in place."""
        self.time[members] = others.time
        for name, values in others.arrays.items():
            self.arrays[name][members] = values

    def state(self, plan: Plan, member: int) -> State:
        """Where a member starts, as a State."""
        return State(
            plan.mechanism,
            *(self.arrays[name][member] for name in _BODIES),
            time=float(self.time[member]),
            turned=plan.compiled.by_joint(self.arrays["counter_start"][member]),
            reached=self.reached,
        )


def from_states(plan: Plan, states: Sequence[State]) -> Starts:
    """Of states that have been checked."""
    if plan.order == 1 and len({state.reached for state in states}) > 1:
        raise mixed_starts()
    arrays = {name: np.array(values) for name, values in start_arrays(plan.compiled, states).items()}
    return Starts(np.array([state.time for state in states]), arrays, states[0].reached)


def count_threads(threads: int | None) -> int:
    """As many as asked for, by default as the machine has cores."""
    return whole(threads, "threads") if threads is not None else os.cpu_count() or 1


def mixed_starts() -> ValueError:
    """At order 1 a first step is another than those that follow."""
    return ValueError("at order 1 either all members begin at states that runs have reached, or none does")


def gather(
    plan: Plan,
    states: Sequence[State] | int | None,
    coordinates: ArrayLike | None,
    rates: ArrayLike | None,
    threads: int,
) -> tuple[Plan, Starts]:
    """See Simulator.run_batch: the plan by which these members run, and where they start."""
    if coordinates is None and rates is None:
        if states is None:
            raise ValueError("a batch needs states, a number of members, or coordinates=")
        plan = plan.at(states if isinstance(states, Sequence) else ())
        found = plan.start_states(states)
        if not found:
            raise ValueError("a batch needs at least one member")
        return plan, from_states(plan, found)
    if isinstance(states, Sequence):
        raise ValueError("give states, or coordinates and rates, not both")
    count = None if states is None else whole(states, "states", most=2**31 - 1)
    lengths = {len(np.asarray(value)) for value in (coordinates, rates) if value is not None and np.ndim(value) == 2}
    if count is None and not lengths:
        raise ValueError(
            "coordinates and rates need a row per member, (member, coordinate), or a number of members besides: "
            "run_batch(100, coordinates=...)"
        )
    return at_coordinates(plan, max(lengths) if count is None else count, coordinates, rates, threads)


def at_coordinates(
    plan: Plan, count: int, coordinates: ArrayLike | None, rates: ArrayLike | None, threads: int, label: str = ""
) -> tuple[Plan, Starts]:
    """Members whose joints have coordinates and rates (coordinate,) or (member, coordinate), those described if None.

    The plan is another one if loops say something else there than where it ran.
    """
    if count < 1:
        raise ValueError("a batch needs at least one member")
    mechanism, first = plan.mechanism, plan.described
    wanted = _rows(plan, coordinates, f"{label}coordinates", first.coordinates, count)
    speeds = _rows(plan, rates, f"{label}rates", first.rates, count)
    times = np.full(count, first.time)
    described = (np.repeat(getattr(first, name)[None], count, axis=0) for name in _BODIES)
    x, q, v, w = described
    bodies = placed(mechanism, (x, q, v, w), wanted, speeds, times, threads)
    starts = Starts(times, _measured(plan, bodies, wanted))
    if described_asked(mechanism).is_doubtful:
        plan = plan.at([starts.state(plan, k) for k in range(count)])
        starts = Starts(times, _measured(plan, bodies, wanted))
    standing = stand(plan.compiled, bodies, starts.arrays["term_start"], fastest(plan), threads)
    unclosed = {}
    # whether these hold has to be seen of each
    for k in np.flatnonzero(~standing).tolist():
        try:
            starts.put(np.array([k]), from_states(plan, [checked(plan, starts.state(plan, k))]))
        except AssemblyError as error:
            worst = max(error.gaps, key=lambda name: sum(error.gaps[name]), default="")
            unclosed[k] = Status(ok=False, reason="open", message=str(error), time=first.time, joint=worst)
    return plan, Starts(times, starts.arrays, unclosed=unclosed)


def _measured(plan: Plan, bodies: tuple[Array, Array, Array, Array], coordinates: Array) -> dict[str, Array]:
    places = plan.mechanism.coordinate_places()
    return dict(zip(_BODIES, bodies, strict=True)) | plan.compiled.starts_at(places, coordinates)


def _rows(plan: Plan, value: ArrayLike | None, what: str, described: Array, count: int) -> Array:
    """Coordinates or rates (count, coordinate)."""
    width = len(described)
    shape = (count, width) if np.ndim(described if value is None else value) > 1 else (width,)
    found = finite(described if value is None else value, shape, what)
    return np.broadcast_to(found, (count, width))
