"""The methods of Simulator that run many members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from .._util.checks import whole
from .._util.rotation import Array

if TYPE_CHECKING:
    from typing import TypeAlias, TypedDict

    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ..kinematics.state import State
    from .batch import Batch
    from .joint_parameters import JointNumbers
    from .live_batch import LiveBatch
    from .loads import Forces
    from .members import Laws, Ranges
    from .plan import Plan
    from .summaries import Summaries

    Keep: TypeAlias = Callable[[Batch], Mapping[str, ArrayLike]]

    class MemberArguments(TypedDict, total=False):
        """What run_batch takes by keyword, whatever it returns."""

        states: Sequence[State] | int | None
        steps: int | None
        coordinates: ArrayLike | None
        rates: ArrayLike | None
        loads: Forces | Sequence[Forces | None] | None
        masses: Mapping[str, ArrayLike] | None
        inertias: Mapping[str, ArrayLike] | None
        gravity: ArrayLike | None
        force_parameters: Laws | None
        limits: Ranges | None
        joint_parameters: JointNumbers | None
        lengths: Mapping[str, ArrayLike] | None
        threads: int | None
        record_every: int
        bodies: Sequence[str] | None
        out: Mapping[str, Array] | None
        progress: bool | Callable[[int, int], None]


class BatchRuns:
    """Methods of Simulator that run many members, all at once or step by step."""

    _plan: Plan

    def start_batch(
        self,
        states: Sequence[State] | int | None = None,
        *,
        coordinates: ArrayLike | None = None,
        rates: ArrayLike | None = None,
        loads: Forces | Sequence[Forces | None] | None = None,
        masses: Mapping[str, ArrayLike] | None = None,
        inertias: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        force_parameters: Laws | None = None,
        limits: Ranges | None = None,
        joint_parameters: JointNumbers | None = None,
        lengths: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None,
    ) -> LiveBatch:
        """Return a LiveBatch: many members that run step by step, each with its own inputs.

        The arguments are those of `run_batch`. States may have different times; loads must be constant.
        """
        from .joint_parameters import geometry_of
        from .live_batch import LiveBatch
        from .starts import count_members, count_threads, gather

        self._plan.original.warn_of_edits(states[0] if isinstance(states, Sequence) and states else None)
        self._plan.need_dt("a live batch needs a fixed time step")
        count = count_threads(threads)
        geometry = geometry_of(self._plan, lambda: count_members(states, coordinates, rates), joint_parameters, lengths)
        plan, starts = gather(self._plan, states, coordinates, rates, count, geometry)
        return LiveBatch(
            plan,
            starts,
            loads=loads,
            masses=masses,
            inertias=inertias,
            gravity=gravity,
            force_parameters=force_parameters,
            limits=limits,
            threads=count,
        )

    @overload
    def run_batch(
        self, duration: float | None = None, *, keep: None = None, **members: Unpack[MemberArguments]
    ) -> Batch: ...
    @overload
    def run_batch(
        self, duration: float | None = None, *, keep: Keep, **members: Unpack[MemberArguments]
    ) -> Summaries: ...
    def run_batch(
        self,
        duration: float | None = None,
        *,
        states: Sequence[State] | int | None = None,
        steps: int | None = None,
        coordinates: ArrayLike | None = None,
        rates: ArrayLike | None = None,
        loads: Forces | Sequence[Forces | None] | None = None,
        masses: Mapping[str, ArrayLike] | None = None,
        inertias: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        force_parameters: Laws | None = None,
        limits: Ranges | None = None,
        joint_parameters: JointNumbers | None = None,
        lengths: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None,
        record_every: int = 1,
        bodies: Sequence[str] | None = None,
        out: Mapping[str, Array] | None = None,
        keep: Keep | None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> Batch | Summaries:
        """Simulate many members: the same mechanism with different states, loads, masses, forces or lengths.

        Parameters
        ----------
        states
            One initial state per member, or a number of members that all start as described. All must have the same
            time.
        coordinates, rates
            Initial joint coordinates and rates (members, coordinates) in place of states, in the order of
            `mechanism.coordinates`: run_batch(duration=2.0, coordinates=angles). The bodies are placed accordingly. One
            row (coordinates,) applies to all members, whose number is then `states`. The default is as described. A
            coordinate that is nan in all members is not prescribed: it is as described, or follows from the loops, on
            the described branch; its rate may be nan, too. If more coordinates are given than a loop has degrees of
            freedom, the first ones are kept, and the others are the initial guess for closing the loops. A member whose
            loops cannot be closed fails, with the reason in its status.
        loads
            As in `run`, the same for all members; or a list with one entry per member, on the same bodies.
        masses, inertias
            Masses (kg) and inertias (kg m^2) that differ between members: {"body": (members,)}, {"body": (members, 3,
            3)}. If only the mass is given, the inertia is scaled with it.
        gravity
            Gravity of every member, (members, 3) in m/s^2.
        force_parameters
            Parameters of forces that differ between members: {"spring": {"stiffness": (members,)}}.
        limits
            Limits that differ between members: {"knee": {"lower": (members,), "upper": (members,)}}, or by coordinate,
            {"leg": {"angle": {"lower": (members,)}}}. The mechanism must have limits of that coordinate.
        joint_parameters
            Places of joints that differ between members: {"hinge": {"anchor_b": (members, 3)}}. anchor_a and anchor_b
            are the joint's points in the frames of its bodies a and b (m); axis_a and axis_b (members, 3) turn its
            frames the shortest way to another axis, frame_a and frame_b (members, 4) replace them; parameter
            (members,) is the pitch of a screw, the length of a rod, or the radius of a rolling body.
        lengths
            Lengths of bodies with joints at two points: {"coupler": (members,)}, the distance of these points (m).
            Joints move along the line between them, so that the center of mass divides it as before; masses and
            inertias stay. Members start with the described coordinates, or those given, and their loops are closed
            from there. A member whose loops cannot be closed, or whose rows of loops are no longer redundant where
            those of the described mechanism are, fails with the reason in its status. Needs dt.
        threads
            Number of threads; default: the number of cores. Results do not depend on it.
        bodies
            Names of the bodies to record; default: all.
        out
            Arrays to record into, by name: time, position, orientation, velocity, angular_velocity; see Batch.
        keep
            A function keep(batch) of a Batch with some of the members, which returns arrays by name with one row per
            member: {"peak": (members, ...)}. Members then run in chunks, and only these arrays are kept. The result is
            a `Summaries`, and memory does not grow with the trajectories.
        progress
            True for a bar on stderr, or a function of (members done, members in all).

        The other arguments are those of `run`. A member equals its single run to rounding. A member that fails does not
        affect the others. After all have run, a BatchError names the failed members; with on_failure="stop", the status
        of the result does.
        """
        from .joint_parameters import geometry_of
        from .run_batch import plan_batch, run_batch, told_of
        from .starts import count_members, count_threads, gather, gather_parts
        from .summaries import run_kept

        self._plan.original.warn_of_edits(states[0] if isinstance(states, Sequence) and states else None)
        count = count_threads(threads)
        geometry = geometry_of(self._plan, lambda: count_members(states, coordinates, rates), joint_parameters, lengths)
        options: dict[str, Any] = {
            "loads": loads,
            "masses": masses,
            "inertias": inertias,
            "gravity": gravity,
            "force_parameters": force_parameters,
            "limits": limits,
            "threads": count,
            "record_every": whole(record_every, "record_every"),
            "bodies": bodies,
        }
        if keep is None:
            plan, starts = gather(self._plan, states, coordinates, rates, count, geometry)
            plan, options["out"] = plan_batch(plan, starts, duration, steps), {} if out is None else out
            number = plan.count_steps(duration, steps)
            return told_of(plan, run_batch(plan, starts, number, progress=progress, **options))
        if out is not None:
            raise ValueError("out and keep cannot be combined: out records the trajectories of all members")
        plan, members, part = gather_parts(self._plan, states, coordinates, rates, count, geometry)
        plan = plan_batch(plan, part(0, members if plan.given_dt is None else 1), duration, steps)
        return run_kept(plan, members, part, plan.count_steps(duration, steps), keep, progress=progress, **options)
