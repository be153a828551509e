"""Simulator: a mechanism compiled for a time step, and the runs it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .. import _core
from .._util.checks import flag, positive, whole
from .._util.rotation import Array
from .._util.status import SimulationError
from .._util.words import Spoken
from ..assemble.redundancy import warn_of
from ..compile.compile import default_kernel
from ..describe.mechanism import Mechanism
from ..describe.signals import Signals
from ..kinematics.state import State
from ..results.run_warnings import raise_doubts
from ..results.trajectory import Trajectory
from . import live
from .control import Control, check_control, periodic
from .events import Event, Watch
from .live import Live
from .loads import Forces, load_table
from .plan import Plan, make_plan
from .refinement import refined
from .run_steps import run_steps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .batch import Batch
    from .live_batch import LiveBatch
    from .members import Laws

Solver: TypeAlias = Literal["auto", "articulated", "ldu", "dense"]


def info() -> dict[str, Any]:
    """What this installation runs on: version, kernels this machine can run, the one used by default."""
    from .. import __version__

    return {"version": __version__, "kernels": _core.kernels(), "kernel": default_kernel()}


class Simulator(Spoken):
    """Steps a mechanism with the variational integrator.

    Parameters
    ----------
    mechanism
        Bodies and joints; read once, here.
    dt
        Time step in s. If it is not given every run finds its own, from the state and the duration it is given, and the
        same ones always find the same. Live mechanisms, `steps=` and `step` need one.
    accuracy
        How far off the nodes of a run may be at most, in parts of the mechanism's size or rad; 1e-4 if no dt is given
        either. Steps are made as short as that asks for, a coarser run is made to compare with, and
        `run.checked_error` is what the comparison tells (with the 1e-4 that nobody asked for this is done only where
        something dissipates). What is not reached, as in chaos, is said. Where a run must go on without knowing for how
        long, in `start` and with a control, the accuracy is that of every second. Vibrations that are smaller are not
        resolved.
    solver
        "articulated" (joint space, the fast one), "ldu" (the paper's sparse solver), "dense" (its O(n^3) reference)
        or "auto". All give the same trajectory.
    order
        2, or 4, 6 and 8 by composition of 5, 9 and 17 steps, whose cost they have; 1 is the publication's scheme, whose
        first step is force free: what it errs by is not estimated, and `run.warnings` says so. Default 2; 4 or 8 where
        an accuracy is asked for and nothing dissipates, unless the dt is so short that plain steps do.
    tolerance
        Largest last Newton increment of a step, the 2-norm over all bodies in m/s and rad/s; default 1e-10, for orders
        above 2 1e-12.
    rescue
        Halve a step that cannot be solved, and say so in the result.
    on_failure
        "raise" SimulationError, or "stop" and return what was computed.
    on_inaccurate
        What happens where steps err by more than 1e-3 of the mechanism's size or rad: "warn" with an AccuracyWarning
        that names a time, a body and a better dt, "raise" SimulationError after the run, or "ignore" it, and do not
        even look.
    kernel
        Instruction set to use, one of `catena.info()["kernels"]`; default the best, or the environment variable
        CATENA_KERNEL.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        dt: float | None = None,
        *,
        accuracy: float | None = None,
        solver: Solver = "auto",
        order: Literal[1, 2, 4, 6, 8] | None = None,
        tolerance: float | None = None,
        max_iterations: int = 50,
        rescue: bool = True,
        on_failure: Literal["raise", "stop"] = "raise",
        on_inaccurate: Literal["warn", "raise", "ignore"] = "warn",
        kernel: str | None = None,
    ) -> None:
        self._plan = make_plan(
            mechanism,
            dt,
            accuracy,
            solver,
            order,
            tolerance,
            max_iterations,
            rescue,
            on_failure,
            on_inaccurate,
            kernel,
        )

    @classmethod
    def of(cls, plan: Plan) -> Simulator:
        """The one that runs a plan."""
        found = object.__new__(cls)
        found._plan = plan
        return found

    @property
    def plan(self) -> Plan:
        """The mechanism as it was compiled, and these settings."""
        return self._plan

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism as it was read; it cannot change any more."""
        return self._plan.mechanism

    @property
    def dt(self) -> float:
        """Time step in s, if one was given."""
        return self._plan.dt

    @dt.setter
    def dt(self, dt: float) -> None:
        self._plan = replace(self._plan, given_dt=positive(dt, "dt"))

    @property
    def accuracy(self) -> float | None:
        """What was asked for, in parts of the mechanism's size or rad; None if nothing was."""
        return self._plan.accuracy

    @property
    def order(self) -> int:
        """Order of the steps."""
        return self._plan.order

    @property
    def tolerance(self) -> float:
        """Largest last Newton increment of a step, m/s and rad/s."""
        return self._plan.tolerance

    @property
    def max_iterations(self) -> int:
        """Iterations of Newton's method at most."""
        return self._plan.max_iterations

    @property
    def rescue(self) -> bool:
        """Whether a step that cannot be solved is halved."""
        return self._plan.rescue

    @property
    def on_failure(self) -> str:
        """What happens where a run fails."""
        return self._plan.on_failure

    @property
    def on_inaccurate(self) -> str:
        """What happens where steps are too coarse."""
        return self._plan.on_inaccurate

    @property
    def solver(self) -> str:
        """The one that was chosen."""
        return self._plan.solver

    def __repr__(self) -> str:
        plan = self._plan
        dt = "" if plan.given_dt is None else f", dt={plan.given_dt:g}"
        accuracy = "" if plan.accuracy is None else f", accuracy={plan.accuracy:g}"
        return f"Simulator({self.mechanism.body_count} bodies{dt}{accuracy}, solver={plan.solver!r})"

    def info(self) -> dict[str, Any]:
        """What was chosen and how large it is."""
        plan, compiled = self._plan, self._plan.compiled
        return {
            "solver": plan.solver,
            "kernel": compiled.core.kernel,
            "order": plan.order,
            "dt": plan.given_dt,
            "accuracy": plan.accuracy,
            "body_count": self.mechanism.body_count,
            "joint_count": self.mechanism.joint_count,
            "row_count": compiled.core.row_count,
            "workspace_bytes": compiled.core.workspace_size(_core.SolverKind[plan.solver], max(plan.order, 2)),
            "estimated_work": compiled.work,
            "unjudged_joints": compiled.asked.unjudged_joints(self.mechanism),
        }

    def step(self, state: State | None = None, *, loads: Forces | None = None) -> State:
        """The state one step later; a force is held over the step, as those of a control function are in run.

        Whoever takes many steps one by one does better with `start`, which keeps all that is needed in the core.
        """
        self._plan.need_dt("a step has a length")
        self._plan.original.warn_of_edits(state, 1)
        return live.single_step(self._plan.at([state]), state, loads)

    def start(self, state: State | None = None) -> Live:
        """A mechanism that runs step by step, and stands at a state, by default the described one: see Live."""
        plan = self._plan
        plan.need_dt("a live mechanism goes on by steps of a length that whoever reads or controls it must know")
        plan.original.warn_of_edits(state)
        return live.start(plan.at([state]), state)

    def start_batch(
        self,
        states: Sequence[State] | int,
        *,
        loads: Forces | Sequence[Forces | None] | None = None,
        masses: Mapping[str, ArrayLike] | None = None,
        inertias: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        force_parameters: Laws | None = None,
        threads: int | None = None,
    ) -> LiveBatch:
        """Many members that run step by step, each with inputs of its own: see LiveBatch.

        The arguments are those of `run_batch`; states may have different times, and forces are constant.
        """
        from .live_batch import LiveBatch

        self._plan.original.warn_of_edits(states[0] if isinstance(states, Sequence) and states else None)
        self._plan.need_dt("live mechanisms go on by steps of a length that whoever reads or controls them must know")
        plan = self._plan.at(states if isinstance(states, Sequence) else ())
        return LiveBatch(
            plan,
            plan.start_states(states),
            loads=loads,
            masses=masses,
            inertias=inertias,
            gravity=gravity,
            force_parameters=force_parameters,
            threads=threads,
        )

    def run(
        self,
        duration: float | None = None,
        *,
        steps: int | None = None,
        state: State | None = None,
        loads: Forces | None = None,
        control: Control | None = None,
        every: float | None = None,
        record_every: int = 1,
        increments: bool = False,
        checkpoints: bool = False,
        t_eval: ArrayLike | None = None,
        events: Sequence[Event] = (),
        progress: bool | Callable[[int, int], None] = False,
    ) -> Trajectory:
        """Simulate for a duration (s, rounded up to whole steps), for a number of steps, or up to the last of t_eval.

        Parameters
        ----------
        state
            Where to start; default the mechanism as described. Velocities that the joints forbid are projected onto
            those they allow, with the mass matrix as metric. From the last node of a run of this mechanism, or from any
            that was kept with `checkpoints`, the run goes on as if it had never ended, bit for bit.
        loads
            {"body": (fx, fy, fz)}, {"body": (fx, fy, fz, tx, ty, tz)}, {"body": Load(...)}, or one array for all
            bodies: constant, or with one row per node, which are samples: row k acts at node k, for half of the
            interval on either side.
        control
            Called as control(t, live) at every node, where `live` (see Live) reads as the state that is recorded there;
            it may set `live.inputs`, and returns forces in the same forms (of that instant) or None. All are held until
            the next node: half of their impulse acts at either end of the step. The result has the forces as `control`.
        every
            Period (s) at which control is called, a whole number of steps; default dt. A simulator without a dt needs
            it: how often a controller acts is for its owner to say.
        record_every
            Keep every k-th node; the first and the last are always kept.
        increments
            Keep the increments of Newton's method, for `run.convergence(step)`.
        checkpoints
            Keep with every node, not only with the last, what a run that goes on from it needs.
        t_eval
            Times (s) to be recorded in place of the nodes: each gets a step of its own from the node before, so it is
            as good as a node.
        events
            What to look for at every node: see Event. `run.events` are those that happened.
        progress
            True for a bar on stderr, or a function of (steps done, steps in all), called about ten times a second.

        Where an accuracy is asked for, functions of time and of events are called in every run that is made on the way;
        control is called in one.
        """
        if control is None and every is not None:
            raise ValueError("every is the period at which control is called: give a control")
        plan = self._plan.at([state])
        paced = plan
        if control is not None:
            check_control(control)
        if control is not None and (every is not None or plan.given_dt is None):
            paced, control = periodic(plan, control, every)
        times = None
        if t_eval is not None:
            if record_every != 1 or checkpoints:
                raise ValueError("t_eval says what is recorded: record_every and checkpoints are for nodes")
            times, duration = paced.record_times(t_eval, state, duration, steps)
        kept = (flag(increments, "increments"), flag(checkpoints, "checkpoints"), whole(record_every, "record_every"))
        count = paced.count_steps(duration, steps)
        plan.original.warn_of_edits(state, count)
        looks = bool(events) or plan.accuracy is not None
        is_sampled = looks and loads is not None and load_table(self.mechanism, loads, count, Signals()).is_sampled
        if events and is_sampled:
            raise ValueError("events need forces that are constant or functions of time, not one row per node")

        def attempt(plan: Plan, steps: int, per: int) -> Trajectory:
            watch = Watch(plan, events, control) if events else None
            found = run_steps(
                plan,
                steps,
                state=state,
                loads=loads,
                control=control if watch is None else watch,
                times=times,
                record_every=per * kept[2],
                increments=kept[0],
                checkpoints=kept[1],
                progress=progress,
            )
            return found if watch is None else watch.told_of(found, loads)

        def made_by(plan: Plan, paced: Plan) -> Trajectory:
            if plan.accuracy is None or control is not None or is_sampled:
                return attempt(paced, count, 1)
            return refined(plan, attempt, plan.start_state(state), plan.span(duration, steps), loads)[0]

        result = made_by(plan, paced)
        # a control is never called in two runs
        again = None if control is not None else plan.after(result, state)
        if again is not None:
            plan, state = again
            other = made_by(plan, plan)
            # what locks a mechanism that moves without it was not meant
            if other.status.ok or not result.status.ok:
                warn_of(self.mechanism, plan.compiled.asked)
                result = other
        status = result.status
        if not status.ok and (plan.on_failure == "raise" or status.reason == "coarse"):
            raise SimulationError(status, result)
        raise_doubts(result, accuracy=plan.on_inaccurate == "warn")
        return result

    def run_batch(
        self,
        states: Sequence[State] | int,
        duration: float | None = None,
        *,
        steps: int | None = None,
        loads: Forces | Sequence[Forces | None] | None = None,
        masses: Mapping[str, ArrayLike] | None = None,
        inertias: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        force_parameters: Laws | None = None,
        threads: int | None = None,
        record_every: int = 1,
        bodies: Sequence[str] | None = None,
        out: Mapping[str, Array] | None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> Batch:
        """Simulate many members: the same mechanism from other states, under other loads, with other numbers.

        Parameters
        ----------
        states
            One state per member, or a number of members that all start as described. Times must be the same.
        loads
            As in run, the same for all; or a list, one per member, on the same bodies.
        masses, inertias
            Of bodies that differ between members: {"body": (members,)}, {"body": (members, 3, 3)}. An inertia that is
            not given goes with the mass.
        gravity
            Of every member, (members, 3).
        force_parameters
            Numbers of forces that differ between members: {"spring": {"stiffness": (members,)}}.
        threads
            Default as many as the machine has. Results do not depend on it.
        bodies
            Names of those to be recorded, default all.
        out
            Arrays to record into, by name: time, position, orientation, velocity, angular_velocity; see Batch.
        progress
            True for a bar on stderr, or a function of (members done, members in all).

        A member equals a single run of its own to rounding. One that fails does not disturb the others; BatchError
        tells which, or the status of the result with on_failure="stop".
        """
        from .run_batch import plan_batch, run_batch

        self._plan.original.warn_of_edits(states[0] if isinstance(states, Sequence) and states else None)
        plan = self._plan.at(states if isinstance(states, Sequence) else ())
        starts = plan.start_states(states)
        plan = plan_batch(plan, starts, duration, steps)
        return run_batch(
            plan,
            starts,
            plan.count_steps(duration, steps),
            loads=loads,
            masses=masses,
            inertias=inertias,
            gravity=gravity,
            force_parameters=force_parameters,
            threads=threads,
            record_every=whole(record_every, "record_every"),
            bodies=bodies,
            out={} if out is None else out,
            progress=progress,
        )
