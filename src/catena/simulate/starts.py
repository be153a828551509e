"""Where members of a batch start: states, or joint coordinates and rates as arrays, placed and closed in the core."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.checks import whole
from .._util.rotation import Array, finite
from .._util.status import Status
from ..assemble.assembly import AssemblyError, describe, stand
from ..assemble.forward_kinematics import placed
from ..assemble.initial_state import checked, fastest
from ..assemble.start_poses import Poses, is_tree, start_poses
from ..compile.compile import start_arrays
from ..kinematics.state import State
from ..results.analysis import joint_motion

if TYPE_CHECKING:
    from ..kinematics.member_geometry import MemberGeometry
    from .joint_parameters import GeometryOf
    from .plan import Plan

# what a node has of every body
_BODIES = ("position", "orientation", "velocity", "angular_velocity")


@dataclass(frozen=True)
class Starts:
    """All that members start with, arrays (member, ...), and why some cannot, by member."""

    time: Array
    arrays: dict[str, Array]
    computed: bool = False  # by a run
    unclosed: Mapping[int, Status] = field(default_factory=dict)
    geometry: MemberGeometry | None = None  # where members differ in it

    def __len__(self) -> int:
        return len(self.time)

    def core_arrays(self, members: NDArray[np.intp] | slice = slice(None)) -> dict[str, Array]:
        """What a _core.Start is made of, of some members."""
        return {name: values[members] for name, values in self.arrays.items()}

    def part(self, first: int, end: int) -> Starts:
        """Members from one to before another."""
        arrays = self.core_arrays(np.arange(first, end))
        unclosed = {k - first: why for k, why in self.unclosed.items() if first <= k < end}
        geometry = None if self.geometry is None else self.geometry.part(slice(first, end))
        return Starts(self.time[first:end], arrays, self.computed, unclosed, geometry)

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
            computed=self.computed,
        )


def from_states(plan: Plan, states: Sequence[State]) -> Starts:
    """Of states that have been checked."""
    if plan.order == 1 and len({state.computed for state in states}) > 1:
        raise mixed_starts()
    arrays = {name: np.array(values) for name, values in start_arrays(plan.compiled, states).items()}
    return Starts(np.array([state.time for state in states]), arrays, states[0].computed)


def count_threads(threads: int | None) -> int:
    """As many as asked for, by default as the machine has cores."""
    return whole(threads, "threads") if threads is not None else os.cpu_count() or 1


def mixed_starts() -> ValueError:
    """At order 1 a first step is another than those that follow."""
    return ValueError("at order 1 either all members start at states computed by runs, or none does")


def gather(
    plan: Plan,
    states: Sequence[State] | int | None,
    coordinates: ArrayLike | None,
    rates: ArrayLike | None,
    threads: int,
    geometry: GeometryOf | None = None,
) -> tuple[Plan, Starts]:
    """See Simulator.run_batch: the plan by which these members run, and where they start."""
    if isinstance(states, Sequence) and (coordinates is not None or rates is not None):
        raise ValueError("give states, or coordinates and rates, not both")
    if geometry is not None and isinstance(states, Sequence):
        return plan, from_own_states(plan, states, geometry(0, len(states)), threads)
    if geometry is None and coordinates is None and rates is None:
        if states is None:
            raise ValueError("a batch needs states, a number of members, or coordinates=")
        plan = plan.at(states if isinstance(states, Sequence) else ())
        found = plan.start_states(states)
        if not found:
            raise ValueError("a batch needs at least one member")
        return plan, from_states(plan, found)
    members = count_members(states, coordinates, rates)
    own = None if geometry is None else geometry(0, members)
    return at_coordinates(plan, members, coordinates, rates, threads, geometry=own)


def count_members(states: Sequence[State] | int | None, coordinates: ArrayLike | None, rates: ArrayLike | None) -> int:
    """How many are given."""
    if states is not None:
        return len(states) if isinstance(states, Sequence) else whole(states, "states", most=2**31 - 1)
    lengths = {int(np.shape(value)[0]) for value in (coordinates, rates) if value is not None and np.ndim(value) == 2}
    if not lengths:
        raise ValueError(
            "coordinates and rates need one row per member, (member, coordinate), or the number of members: "
            "run_batch(duration, states=100, coordinates=...)"
        )
    return max(lengths)


def gather_parts(
    plan: Plan,
    states: Sequence[State] | int | None,
    coordinates: ArrayLike | None,
    rates: ArrayLike | None,
    threads: int,
    geometry: GeometryOf | None = None,
) -> tuple[Plan, int, Callable[[int, int], Starts]]:
    """The same for members that run in parts: the plan, their number, and where those from one to another start."""
    doubtful = geometry is None and plan.rows_depend_on_poses
    as_described = geometry is None and coordinates is None and rates is None
    if plan.given_dt is None or doubtful or as_described or isinstance(states, Sequence):
        # all members have a say in the plan
        plan, starts = gather(plan, states, coordinates, rates, threads, geometry)
        return plan, len(starts), starts.part
    count = count_members(states, coordinates, rates)
    for what, value in (("coordinates", coordinates), ("rates", rates)):
        if value is not None and np.ndim(value) == 2 and np.shape(value)[0] != count:
            raise ValueError(f"{what} must have a row for each of {count} members, got {np.shape(value)[0]}")

    def rows(value: ArrayLike | None, first: int, end: int) -> ArrayLike | None:
        return value if value is None or np.ndim(value) != 2 else np.asarray(value)[first:end]

    def part(first: int, end: int) -> Starts:
        wanted, speeds = rows(coordinates, first, end), rows(rates, first, end)
        own = None if geometry is None else geometry(first, end)
        return at_coordinates(plan, end - first, wanted, speeds, threads, geometry=own)[1]

    return plan, count, part


def at_coordinates(
    plan: Plan,
    count: int,
    coordinates: ArrayLike | None,
    rates: ArrayLike | None,
    threads: int,
    label: str = "",
    geometry: MemberGeometry | None = None,
) -> tuple[Plan, Starts]:
    """Members whose joints have coordinates and rates (coordinate,) or (member, coordinate), those described if None.

    The plan is another one if loops say something else there than where it ran.
    """
    if count < 1:
        raise ValueError("a batch needs at least one member")
    mechanism, first = plan.mechanism, plan.described
    wanted, given = _given(plan, _rows(coordinates, f"{label}coordinates", first.coordinates, count), label)
    speeds = _speeds(plan, _rows(rates, f"{label}rates", first.rates, count), given, label)
    times = np.full(count, first.time)
    unclosed: dict[int, Status] = {}
    if is_tree(mechanism):
        x, q, v, w = (np.repeat(getattr(first, name)[None], count, axis=0) for name in _BODIES)
        bodies = placed(mechanism, (x, q, v, w), wanted, speeds, times, threads, geometry)
    else:
        if geometry is not None and coordinates is None and rates is None:
            # nobody asks for these: they are where the search begins
            given = np.zeros_like(given)
        poses = start_poses(first, wanted, speeds, given, threads, geometry)
        bodies = poses.bodies
        wanted, _ = joint_motion(
            mechanism, times, bodies, plan.compiled.near(mechanism.coordinate_places(), poses.near), geometry
        )
        unclosed = {k: _unclosed(plan, poses, k, bool(given.any())) for k in poses.unclosed.tolist()}
    starts = Starts(times, _measured(plan, bodies, wanted))
    if geometry is None and plan.rows_depend_on_poses:
        plan = plan.at([starts.state(plan, k) for k in range(count)])
        starts = Starts(times, _measured(plan, bodies, wanted))
    return plan, _seen_to_stand(plan, Starts(times, starts.arrays, unclosed=unclosed), threads, geometry)


def from_own_states(plan: Plan, states: Sequence[State], geometry: MemberGeometry, threads: int) -> Starts:
    """Of states that are those of members with geometry of their own."""
    if len(states) != len(geometry):
        raise ValueError(f"{len(states)} states for {len(geometry)} members")
    for state in states:
        if not isinstance(state, State) or list(state.mechanism.bodies) != list(plan.mechanism.bodies):
            raise ValueError(f"the state to start from must be a State of this mechanism, got {state!r:.80}")
    return _seen_to_stand(plan, from_states(plan, states), threads, geometry)


def _seen_to_stand(plan: Plan, starts: Starts, threads: int, geometry: MemberGeometry | None) -> Starts:
    """Starts of which the core, or else each state, shows that they hold; those that do not are unclosed."""
    bodies, unclosed = tuple(starts.arrays[name] for name in _BODIES), dict(starts.unclosed)
    standing = stand(plan.compiled, bodies, starts.arrays["term_start"], fastest(plan), threads, geometry)
    for k in np.flatnonzero(~standing).tolist():
        if k in unclosed:
            continue
        own = plan if geometry is None else _own_plan(plan, geometry, k)
        try:
            starts.put(np.array([k]), from_states(plan, [checked(own, starts.state(own, k))]))
        except AssemblyError as error:
            unclosed[k] = Status(ok=False, reason="open", message=str(error), time=float(starts.time[k]))
    return replace(starts, unclosed=unclosed, geometry=geometry)


def _own_plan(plan: Plan, geometry: MemberGeometry, member: int) -> Plan:
    """The plan of a member by itself, with the rows that all members have."""
    mechanism = plan.mechanism.copy()
    geometry.give(mechanism, member)
    return plan.of_mechanism(mechanism.snapshot())


def _unclosed(plan: Plan, poses: Poses, member: int, given: bool) -> Status:
    mechanism, first = plan.mechanism, plan.described
    name = [*mechanism.joints, *mechanism.couplings][poses.open_joint[member]]
    gap = {name: (float(poses.gaps[member, 1]), float(poses.gaps[member, 2]))}
    message = f"the loops cannot be closed{' with these coordinates' * given}: {describe(mechanism, gap)}"
    return Status(ok=False, reason="open", message=message, time=first.time, joint=name)


def _given(plan: Plan, coordinates: Array, label: str) -> tuple[Array, NDArray[np.bool_]]:
    """Coordinates with those described in place of nan, and which (coordinate,) are given."""
    missing: NDArray[np.bool_] = np.isnan(coordinates)
    some = np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0))
    if len(some):
        name = plan.mechanism.coordinates[int(some[0])]
        raise ValueError(f"{label}coordinates: {name!r} must be nan in all members (not prescribed) or in none")
    return np.where(missing, plan.described.coordinates, coordinates), np.logical_not(missing.all(axis=0))


def _speeds(plan: Plan, rates: Array, given: NDArray[np.bool_], label: str) -> Array:
    """Rates, of which only those of coordinates that are not given may be nan: they follow, too."""
    missing: NDArray[np.bool_] = np.isnan(rates)
    unknown = np.flatnonzero(missing.any(axis=0) & given)
    if len(unknown):
        name = plan.mechanism.coordinates[int(unknown[0])]
        raise ValueError(f"{label}rates must be finite where coordinates are given, but that of {name!r} is nan")
    return np.where(missing, plan.described.rates, rates)


def _measured(plan: Plan, bodies: tuple[Array, Array, Array, Array], coordinates: Array) -> dict[str, Array]:
    places = plan.mechanism.coordinate_places()
    return dict(zip(_BODIES, bodies, strict=True)) | plan.compiled.starts_at(places, coordinates)


def _rows(value: ArrayLike | None, what: str, described: Array, count: int) -> Array:
    """Coordinates or rates (count, coordinate); nan says that a number is missing."""
    if value is None:
        return np.broadcast_to(described, (count, len(described)))
    numbers = np.asarray(value)
    shape = (count, len(described)) if numbers.ndim > 1 else (len(described),)
    absent = np.isnan(numbers) if numbers.dtype.kind == "f" else np.False_
    found = finite(np.where(absent, 0.0, numbers) if np.any(absent) else value, shape, what)
    return np.broadcast_to(np.where(absent, np.nan, found), (count, len(described)))
