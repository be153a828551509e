"""Live batches: many members of one mechanism that run step by step, in lanes and threads of the core."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._handover import start_arrays
from ._memory import refuse_if_too_large
from .batch import Laws, MemberNumbers, member_loads
from .efforts import InputEfforts
from .forces import Forces
from .inputs import BatchInputs
from .live import Running
from .simulator import whole
from .state import State
from .status import Status, status_of

if TYPE_CHECKING:
    from .simulator import Simulator


class LiveBatch(Running, _core.LiveBatch):
    """Members of one mechanism that run step by step; `simulator.start_batch(states)` makes one.

    time (member,) s, position (member, n, 3), orientation (member, n, 4), velocity and angular_velocity (member, n, 3)
    of the bodies and coordinates, rates (member, coordinate) of the joints are those of the nodes where the members
    stand: views that go on with them and cannot be written. `input` (member, input), in the order of
    `mechanism.inputs`, holds from the next step on, and so does `batch.inputs["knee"] = 3.0`, for all members or with
    one number for each.

    A member that cannot take a step stays where it is: `failed` (member,) tells which did, `status` why. `reset` lets
    it begin anew.
    """

    def __init__(
        self,
        simulator: Simulator,
        states: list[State],
        *,
        force: Forces | Sequence[Forces | None] | None = None,
        masses: Mapping[str, ArrayLike] | None = None,
        inertias: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        laws: Laws | None = None,
        threads: int | None = None,
    ) -> None:
        mechanism, compiled, count = simulator.mechanism, simulator.compiled, len(states)
        if count == 0:
            raise ValueError("a batch needs at least one member")
        self._simulator, self._begun = simulator, states
        # a node, and what its steps depend on, about ten numbers a body and solution that is remembered
        refuse_if_too_large(8 * count * mechanism.body_count * 64, f"{count} live members", "take fewer")
        signals, start = compiled.signals.extended(), start_arrays(compiled, states)
        numbers = MemberNumbers(mechanism, count, masses, inertias, gravity, laws)
        self._laws = numbers.law
        super().__init__(
            core=compiled.core,
            settings=simulator.settings(states[0], 0, 1),
            threads=min(count, whole(threads, "threads") if threads is not None else os.cpu_count() or 1),
            start=start,
            loads=member_loads(mechanism, force, count, 0, signals).arrays(),
            rows=compiled.rows,
            signals=signals.read,
            signal_count=signals.count,
            numbers=numbers.arrays(),
            inputs=compiled.input_places,
        )
        self._begin(range(count), states, start)

    def _begin(self, members: Sequence[int], states: Sequence[State], start: _core.Start) -> None:
        self.begin(
            members=np.array(members, dtype=np.int32),
            start=start,
            time=np.array([state.time for state in states]),
        )

    # ---- going on

    def step(self, count: int = 1) -> None:
        """Take steps, with the inputs as they are set now; members that have failed stay where they are."""
        self.advance(count)

    def reset(self, members: ArrayLike, states: State | Sequence[State] | None = None) -> None:
        """Let some members begin anew, with the inputs of the mechanism.

        Parameters
        ----------
        members
            A mask (member,) of True and False, or the numbers of the members.
        states
            Where they begin: one state for all of them, or one for each; default where each began.
        """
        chosen = self._chosen(members)
        if isinstance(states, State):
            given = [self._simulator.checked(states)] * len(chosen)
        elif states is None:
            given = [self._begun[k] for k in chosen]
        else:
            given = [self._simulator.checked(state) for state in states]
        if len(given) != len(chosen):
            raise ValueError(f"reset: {len(given)} states for {len(chosen)} members")
        for member, state in zip(chosen, given, strict=True):
            self._begun[member] = state
        if chosen:
            self._begin(chosen, given, start_arrays(self._simulator.compiled, given))

    def _chosen(self, members: ArrayLike) -> list[int]:
        found = np.asarray(members)
        if found.dtype == np.bool_:
            if found.shape != (len(self),):
                raise ValueError(f"reset: a mask of {len(self)} members has that shape, got {found.shape}")
            return [int(k) for k in np.flatnonzero(found)]
        if found.size == 0:
            return []
        if found.ndim > 1 or not np.issubdtype(found.dtype, np.integer):
            raise ValueError(f"reset: members must be a mask or whole numbers, got {members!r}")
        try:
            chosen = [range(len(self))[k] for k in np.atleast_1d(found)]
        except IndexError:
            raise ValueError(f"reset: there are {len(self)} members, got {members!r}") from None
        if len(set(chosen)) < len(chosen):
            raise ValueError("reset: a member can begin only once")
        return chosen

    # ---- reading

    @cached_property
    def inputs(self) -> BatchInputs:
        """Inputs by name."""
        return BatchInputs(self.input, self.mechanism.inputs)

    @cached_property
    def _efforts(self) -> InputEfforts:
        return InputEfforts(self.mechanism, self._laws)

    @property
    def status(self) -> list[Status]:
        """How every member fares: `ok`, or why it takes no more steps."""
        return [status_of(self._simulator, self.ended(k)) for k in range(len(self))]

    def state(self, member: int) -> State:
        """The node of a member as a State of its own, from which this or another simulator may go on."""
        try:
            k = range(len(self))[member]
        except (IndexError, TypeError):
            raise ValueError(f"there are {len(self)} members, got {member!r}") from None
        return State(
            self.mechanism,
            self.position[k],
            self.orientation[k],
            self.velocity[k],
            self.angular_velocity[k],
            time=float(self.time[k]),
            turned=self._simulator.compiled.by_joint(self.counted[k]),
            reached=True,
            inputs=self.input[k],
        )

    def __len__(self) -> int:
        return len(self._begun)

    def __repr__(self) -> str:
        failed = int(np.count_nonzero(self.failed))
        return (
            f"LiveBatch({len(self)} members of {self.mechanism.body_count} bodies{f', {failed} failed' * bool(failed)})"
        )
