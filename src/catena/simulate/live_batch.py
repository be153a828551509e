"""Live batches: many members of one mechanism that run step by step, in SIMD lanes and threads of the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._util.memory import refuse_if_too_large
from .._util.rotation import Array
from .._util.status import SimulationError, Status, status_of, warn
from ..assemble.initial_state import checked
from ..kinematics.state import State
from ..results.accuracy import AccuracyWarning, describe_inaccuracy
from ..results.efforts import InputEfforts
from ..results.trajectory import Trajectory, single_node
from .live import Running
from .loads import Forces
from .members import Laws, MemberNumbers, Ranges, member_loads
from .starts import Starts, at_coordinates, from_own_states, from_states, mixed_starts

if TYPE_CHECKING:
    from ..describe.joint import Joint
    from .plan import Plan


class LiveBatch(Running[Array], _core.LiveBatch):
    """Members of one mechanism that run step by step; created by `simulator.start_batch(states)`.

    time (member,) s, position (member, n, 3), orientation (member, n, 4), velocity and angular_velocity (member, n, 3)
    of the bodies, and coordinates and rates (member, coordinate) of the joints are those of the current nodes. They are
    read-only views that change with every step. `inputs` (member, input), in the order of `mechanism.inputs`, can be
    written; new values take effect in the next step. `set(knee=3.0)` sets inputs by name, with one number for all
    members or one for each, and `inputs_by_name` reads them.

    A member that fails keeps its last state: `failed` (member,) marks it, `status` gives the reason, and `reset` starts
    it again. `error` (member,) is the sum of the estimated errors of a member's steps since it was started, relative to
    the mechanism's size or in rad. The first step that is too coarse issues a warning, as in `run`.
    """

    def __init__(
        self,
        plan: Plan,
        starts: Starts,
        *,
        loads: Forces | Sequence[Forces | None] | None = None,
        masses: Mapping[str, ArrayLike] | None = None,
        inertias: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        force_parameters: Laws | None = None,
        limits: Ranges | None = None,
        threads: int = 1,
    ) -> None:
        mechanism, compiled, count = plan.mechanism, plan.compiled, len(starts)
        self._plan = plan
        # a node, and what its steps depend on, about ten numbers a body and solution that is remembered
        refuse_if_too_large(8 * count * mechanism.body_count * 64, f"{count} live members", "take fewer")
        signals = compiled.signals.extended()
        # where every member began last, and whether runs have been there
        self._begun = starts
        self._unclosed = dict(starts.unclosed)
        self._threads = threads
        numbers = self._numbers = MemberNumbers(
            mechanism, count, masses, inertias, gravity, force_parameters, limits, starts.geometry
        )
        super().__init__(
            core=compiled.core,
            settings=plan.settings(float(starts.time[0]), starts.computed, 0, 1),
            threads=min(count, threads),
            start=_core.Start(**starts.core_arrays()),
            loads=member_loads(mechanism, loads, count, 0, signals).arrays(),
            rows=compiled.rows,
            signals=signals.read,
            signal_count=signals.count,
            numbers=numbers.arrays(compiled),
            inputs=compiled.input_places,
        )
        self._begin_anew(np.arange(count))

    def _begin_anew(self, members: NDArray[np.intp]) -> None:
        start, time = _core.Start(**self._begun.core_arrays(members)), self._begun.time[members]
        absent = np.isin(members, list(self._unclosed)).astype(np.int32)
        self._begin(members=members.astype(np.int32), start=start, time=time, absent=absent)

    # ---- going on

    def reset(
        self,
        members: ArrayLike,
        states: State | Sequence[State] | None = None,
        *,
        coordinates: ArrayLike | None = None,
        rates: ArrayLike | None = None,
    ) -> None:
        """Start some members again, with the described inputs.

        Parameters
        ----------
        members
            A Boolean mask (member,), or the indices of the members.
        states
            Initial states: one for all of them, or one for each; default: the state in which each member was started.
        coordinates, rates
            Joint coordinates and rates in place of states, as in `Simulator.run_batch`: (coordinate,) for all of these
            members, or (member, coordinate) with one row for each of them.
        """
        chosen = self._chosen(members)
        starts = self._given(chosen, states, coordinates, rates)
        if len(chosen) == 0:
            return
        if starts is not None:
            self._begun.put(chosen, starts)
            self._unclosed = {k: why for k, why in self._unclosed.items() if k not in chosen}
            self._unclosed |= {int(chosen[k]): why for k, why in starts.unclosed.items()}
        self._begin_anew(chosen)

    def _given(
        self,
        chosen: NDArray[np.intp],
        states: State | Sequence[State] | None,
        coordinates: ArrayLike | None,
        rates: ArrayLike | None,
    ) -> Starts | None:
        """Where some members are to begin, checked; None if that is where they began."""
        plan, count, geometry = self._plan, len(chosen), self._numbers.geometry
        own = None if geometry is None else geometry.part(chosen)
        if coordinates is not None or rates is not None:
            if states is not None:
                raise ValueError("reset: give states, or coordinates and rates, not both")
            if count == 0:
                return None
            found, starts = at_coordinates(plan, count, coordinates, rates, self._threads, "reset: ", own)
            self._refuse_other_rows(found)
            return self._like_the_others(starts)
        if states is None:
            return None
        if own is not None and count:
            each = [states] * count if isinstance(states, State) else list(states)
            return self._like_the_others(from_own_states(plan, each, own, self._threads))
        given = [states] if isinstance(states, State) else list(states)
        self._refuse_other_rows(plan.at(given))
        first = [checked(plan, state) for state in given]
        first = first * count if isinstance(states, State) else first
        if len(first) != count:
            raise ValueError(f"reset: {len(first)} states for {count} members")
        if count == 0:
            return None
        return self._like_the_others(from_states(plan, first))

    def _refuse_other_rows(self, plan: Plan) -> None:
        """Members share the rows of their loops: none may begin where these say something else."""
        if plan is not self._plan:
            raise ValueError(
                "reset: nearly redundant joints of loops have other rows in these states than where this batch started "
                "(see LoopWarning): start another batch with start_batch"
            )

    def _like_the_others(self, starts: Starts) -> Starts:
        """At order 1 a first step is another than those that follow."""
        if self._plan.order == 1 and starts.computed != self._begun.computed:
            raise mixed_starts()
        return starts

    def _chosen(self, members: ArrayLike) -> NDArray[np.intp]:
        found = np.asarray(members)
        if found.dtype == np.bool_:
            if found.shape != (len(self),):
                raise ValueError(f"reset: a mask must have shape ({len(self)},), got {found.shape}")
            return np.flatnonzero(found)
        if found.size == 0:
            return np.zeros(0, dtype=np.intp)
        if found.ndim > 1 or not np.issubdtype(found.dtype, np.integer):
            raise ValueError(f"reset: members must be a mask or whole numbers, got {members!r}")
        chosen = np.atleast_1d(found).astype(np.intp)
        if (chosen < -len(self)).any() or (chosen >= len(self)).any():
            raise ValueError(f"reset: there are {len(self)} members, got {members!r}")
        chosen %= len(self)
        if len(np.unique(chosen)) < len(chosen):
            raise ValueError("reset: each member can be given only once")
        return chosen

    # ---- reading

    @cached_property
    def _efforts(self) -> InputEfforts:
        return InputEfforts(self.mechanism, self._numbers.law)

    @property
    def status(self) -> list[Status]:
        """One Status per member: `ok`, or why it failed."""
        return [self._unclosed.get(k) or status_of(self._plan, self._ended(k)) for k in range(len(self))]

    def state(self, member: int) -> State:
        """Return the current node of a member as a State, from which this or another simulator can start."""
        try:
            k = range(len(self))[member]
        except (IndexError, TypeError):
            raise ValueError(f"there are {len(self)} members, got {member!r}") from None
        node = self.position[k], self.orientation[k], self.velocity[k], self.angular_velocity[k]
        return State(
            self._numbers.mechanism_of(self.mechanism, k, node),
            *node,
            time=float(self.time[k]),
            turned=self._plan.compiled.by_joint(self._counted[k]),
            computed=self._begun.computed or bool(self.time[k] != self._begun.time[k]),
            inputs=self.inputs[k],
        )

    def _known_joint(self, name: str | Joint) -> Joint:
        joint, geometry = super()._known_joint(name), self._numbers.geometry
        return joint if geometry is None else geometry.joint(joint, nodes=0)

    def _seen(self, reactions: bool = False) -> Trajectory:
        return self._as_nodes(Status(), np.zeros((len(self), 0)))

    def _of_nodes(self, law: Callable[[Trajectory], Array], *, reactions: bool = False) -> Any:
        if self._numbers.are_shared:
            return super()._of_nodes(law)
        whole = self._seen()
        own = (self._numbers.mechanism_of(self.mechanism, k) for k in range(len(self)))
        return np.concatenate([law(Trajectory(m, whole.nodes[k : k + 1], whole.made)) for k, m in enumerate(own)])

    def _look(self, steps: int) -> None:
        """What is the matter with the last steps."""
        plan = self._plan
        if plan.on_inaccurate == "ignore":
            return
        worst = max(range(len(self)), key=lambda k: self.tally(k).worst)
        warning = f"member {worst}: {describe_inaccuracy(plan, self.tally(worst), steps)}"
        if plan.on_inaccurate == "raise":
            raise SimulationError(plan.fail_if_inaccurate(self.status[worst], warning), single_node(self.state(worst)))
        warn(AccuracyWarning(warning))

    def __len__(self) -> int:
        return len(self._begun)

    def __repr__(self) -> str:
        failed = int(np.count_nonzero(self.failed))
        return (
            f"LiveBatch({len(self)} members of {self.mechanism.body_count} bodies{f', {failed} failed' * bool(failed)})"
        )
