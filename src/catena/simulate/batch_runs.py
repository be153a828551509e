"""The door to batches: what a Simulator does with many members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from .._util.checks import whole
from .._util.rotation import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..kinematics.state import State
    from .batch import Batch
    from .joint_parameters import JointNumbers
    from .live_batch import LiveBatch
    from .loads import Forces
    from .members import Laws
    from .plan import Plan
    from .summaries import Summaries


class BatchRuns:
    """Runs of many members, all at once or step by step."""

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
        joint_parameters: JointNumbers | None = None,
        lengths: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None,
    ) -> LiveBatch:
        """Many members that run step by step, each with its own inputs: see LiveBatch.

        The arguments are those of `run_batch`. States may have different times; loads must be constant.
        """
        from .joint_parameters import geometry_of
        from .live_batch import LiveBatch
        from .starts import count_members, count_threads, gather

        self._plan.original.warn_of_edits(states[0] if isinstance(states, Sequence) and states else None)
        self._plan.need_dt("live mechanisms go on by steps of a length that whoever reads or controls them must know")
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
            threads=count,
        )

    @overload
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
        joint_parameters: JointNumbers | None = None,
        lengths: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None,
        record_every: int = 1,
        bodies: Sequence[str] | None = None,
        out: Mapping[str, Array] | None = None,
        keep: None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> Batch: ...
    @overload
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
        joint_parameters: JointNumbers | None = None,
        lengths: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None,
        record_every: int = 1,
        bodies: Sequence[str] | None = None,
        out: Mapping[str, Array] | None = None,
        keep: Callable[[Batch], Mapping[str, ArrayLike]],
        progress: bool | Callable[[int, int], None] = False,
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
        joint_parameters: JointNumbers | None = None,
        lengths: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None,
        record_every: int = 1,
        bodies: Sequence[str] | None = None,
        out: Mapping[str, Array] | None = None,
        keep: Callable[[Batch], Mapping[str, ArrayLike]] | None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> Batch | Summaries:
        """Simulate many members: the same mechanism with different states, loads, masses, forces or lengths.

        Parameters
        ----------
        states
            One state per member, or a number of members that all start as described. All must have the same time.
        coordinates, rates
            In place of states, joint coordinates and rates (members, coordinates) in the order of
            `mechanism.coordinates`, or one row (coordinates,) for all of so many `states`; default as described. The
            core places the bodies, on all threads: run_batch(duration=2.0, coordinates=angles). A coordinate that is
            nan in all members is not given: it is as described, or follows from the loops, on the described branch. If
            more are given than a loop leaves free, the first ones hold and the others are the guess from which the
            loops are closed. A member whose loops cannot be closed fails, with the reason in its status.
        loads
            As in `run`, the same for all members; or a list with one entry per member, on the same bodies.
        masses, inertias
            Masses and inertias that differ between members: {"body": (members,)}, {"body": (members, 3, 3)}. If only
            the mass is given, the inertia is scaled with it.
        gravity
            Gravity of every member, (members, 3).
        force_parameters
            Parameters of forces that differ between members: {"spring": {"stiffness": (members,)}}.
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
            Number of threads; default as many as the machine has cores. Results do not depend on it.
        bodies
            Names of the bodies to record; default all.
        out
            Arrays to record into, by name: time, position, orientation, velocity, angular_velocity; see Batch.
        keep
            A function of a Batch of some of the members, which returns numbers of each by name, {"peak": (members,
            ...)}. Members then run in chunks, and only these numbers are kept: the result is a `Summaries`, and memory
            does not grow with the trajectories.
        progress
            True for a bar on stderr, or a function of (members done, members in all).

        A member equals its single run to rounding. A member that fails does not affect the others. BatchError names the
        failed members; with on_failure="stop", the status of the result does.
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
            raise ValueError("out takes the trajectories of all members: it does not go together with keep")
        plan, members, part = gather_parts(self._plan, states, coordinates, rates, count, geometry)
        plan = plan_batch(plan, part(0, members if plan.given_dt is None else 1), duration, steps)
        return run_kept(plan, members, part, plan.count_steps(duration, steps), keep, progress=progress, **options)
