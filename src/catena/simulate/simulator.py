"""Simulator: a mechanism compiled for a time step, and the runs it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .. import _core
from .._util.checks import flag, positive, whole
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
from .batch_runs import BatchRuns
from .control import Control, check_control, periodic
from .events import AnyEvent, Watch
from .live import Live
from .loads import Forces, load_table
from .plan import Plan, make_plan
from .refinement import refined
from .run_steps import run_steps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..dynamics.linear import LinearModel


Solver: TypeAlias = Literal["auto", "articulated", "ldu", "dense"]


def info() -> dict[str, Any]:
    """Return catena's version, the kernels (instruction sets) that this machine can run, and the default kernel."""
    from .. import __version__

    return {"version": __version__, "kernels": _core.kernels(), "kernel": default_kernel()}


class Simulator(BatchRuns, Spoken):
    """Simulates a mechanism with a variational integrator.

    Parameters
    ----------
    mechanism
        The mechanism. The simulator copies it, so later changes have no effect.
    dt
        Time step in s. Without it, every run chooses its time step from the initial state and the duration; equal
        arguments give equal steps. `start`, `step` and `run(steps=)` require a dt.
    accuracy
        Largest allowed error of the nodes of a run, relative to the mechanism's size or in rad; without a dt, the
        default is 1e-4. The run reduces its time step until a comparison with a coarser run confirms the accuracy;
        `run.checked_error` is the error found by this comparison. With the default accuracy, runs are compared only
        if the mechanism dissipates energy. If the accuracy cannot be reached, as in chaotic motion, a warning says
        so. In `start` and in runs with a control function, whose duration is not known in advance, it is the error
        per second. Vibrations with amplitudes below the accuracy are not resolved.
    solver
        "articulated" (joint space, the fastest), "ldu" (the sparse solver of the publication), "dense" (O(n^3), for
        reference) or "auto". All give the same trajectory, to rounding.
    order
        Order of the scheme: 1, 2, 4, 6 or 8. Orders 4, 6 and 8 compose 5, 9 and 17 steps of order 2, and cost
        accordingly. Order 1 is the scheme of the publication, whose first step is free of forces; its error is not
        estimated, and `run.warnings` says so. The default is 2. If an accuracy is given and nothing dissipates
        energy, the default is 4 or 8, unless the dt is short enough for order 2.
    tolerance
        Newton's method ends a step when the norm of its increment, over all bodies in m/s and rad/s, is below this.
        The default is 1e-10 at orders 1 and 2, and 1e-12 at higher orders.
    max_iterations
        Largest number of Newton iterations per step.
    rescue
        Whether to halve a step that has no solution. The result records which steps were halved.
    on_failure
        "raise" a SimulationError, or "stop" and return the nodes up to the failure.
    on_inaccurate
        What to do if steps have errors above 1e-3, relative to the mechanism's size or in rad: "warn" with an
        AccuracyWarning that names a time, a body and a better dt, "raise" a SimulationError after the run, or
        "ignore", which estimates no errors.
    limits
        "enforce" the limits of joint coordinates (`Joint.limits`), or "ignore" them.
    kernel
        Instruction set to use, one of `catena.info()["kernels"]`; default: the environment variable CATENA_KERNEL,
        or else the fastest.
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
        limits: Literal["enforce", "ignore"] = "enforce",
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
            limits,
            kernel,
        )

    @classmethod
    def of(cls, plan: Plan) -> Simulator:
        """Return a simulator for an existing plan."""
        found = object.__new__(cls)
        found._plan = plan
        return found

    @property
    def plan(self) -> Plan:
        """The compiled mechanism and the settings."""
        return self._plan

    @property
    def mechanism(self) -> Mechanism:
        """The simulator's copy of the mechanism; it cannot be changed."""
        return self._plan.mechanism

    @property
    def dt(self) -> float:
        """Time step in s, or None if every run chooses its own."""
        return self._plan.dt

    @dt.setter
    def dt(self, dt: float) -> None:
        self._plan = replace(self._plan, given_dt=positive(dt, "dt"))

    @property
    def accuracy(self) -> float | None:
        """The requested accuracy, relative to the mechanism's size or in rad; None without one."""
        return self._plan.accuracy

    @property
    def order(self) -> int:
        """Order of the steps."""
        return self._plan.order

    @property
    def tolerance(self) -> float:
        """Increment below which Newton's method ends a step, m/s and rad/s."""
        return self._plan.tolerance

    @property
    def max_iterations(self) -> int:
        """Largest number of Newton iterations of a step."""
        return self._plan.max_iterations

    @property
    def rescue(self) -> bool:
        """Whether a step without a solution is halved."""
        return self._plan.rescue

    @property
    def on_failure(self) -> str:
        """What to do if a run fails: "raise" or "stop"."""
        return self._plan.on_failure

    @property
    def on_inaccurate(self) -> str:
        """What to do if steps are too coarse: "warn", "raise" or "ignore"."""
        return self._plan.on_inaccurate

    @property
    def solver(self) -> str:
        """The solver in use."""
        return self._plan.solver

    def __repr__(self) -> str:
        plan = self._plan
        dt = "" if plan.given_dt is None else f", dt={plan.given_dt:g}"
        accuracy = "" if plan.accuracy is None else f", accuracy={plan.accuracy:g}"
        return f"Simulator({self.mechanism.body_count} bodies{dt}{accuracy}, solver={plan.solver!r})"

    def info(self) -> dict[str, Any]:
        """Return the settings in use, the sizes of the problem and the memory of the workspace."""
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
            "unchecked_joints": compiled.selection.unchecked_joints(self.mechanism),
        }

    def step(self, state: State | None = None, *, loads: Forces | None = None) -> State:
        """Return the state one step later; loads are held during the step, as those of a control function in `run`.

        To take many steps one by one, use `start`, which keeps the state in the core and is faster.
        """
        self._plan.need_dt("step needs a fixed time step")
        self._plan.original.warn_of_edits(state, 1)
        return live.single_step(self._plan.at([state]), state, loads)

    def start(self, state: State | None = None) -> Live:
        """Return a Live, which runs the mechanism step by step from a state; default: the described state."""
        plan = self._plan
        plan.need_dt("a live mechanism needs a fixed time step")
        plan.original.warn_of_edits(state)
        return live.start(plan.at([state]), state)

    def linearize(self, state: State | None = None) -> LinearModel:
        """Return the exact linear model x' = A x + B v of one step from a state, in discrete time.

        x are small changes of joint coordinates and rates, x' the same one step later, and v changes of the inputs,
        which are held during the step. For trees with forces along their joint coordinates; a ValueError names
        everything else, and a step in which a hard limit, a contact or a rope acts. Its `dt` is that of the simulator:
        `control.ss(*model.matrices, model.dt)`.
        """
        return self.start(state).linearize()

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
        events: Sequence[AnyEvent] = (),
        progress: bool | Callable[[int, int], None] = False,
    ) -> Trajectory:
        """Simulate for a duration (s, rounded up to whole steps), for a number of steps, or up to the last of t_eval.

        Parameters
        ----------
        state
            Initial state; default the mechanism as described. Velocities that violate the joints are projected onto the
            admissible ones, with the mass matrix as metric. From the last node of a run of this mechanism, or from any
            node of a run with `checkpoints`, the run continues bit for bit as if it had never ended.
        loads
            {"body": (fx, fy, fz)}, {"body": (fx, fy, fz, tx, ty, tz)}, {"body": Load(...)}, or one array for all
            bodies: constant, or with one row per node. Row k acts at node k, for half of the interval on either side.
        control
            A function control(t, live), called at every node. `live` (see Live) gives the state of that node. The
            function may set inputs (`live.set`), and returns loads of that instant in the same forms, or None. Inputs
            and loads are held until the next node: half of their impulse acts at either end of the step. The result
            records the loads as `control`.
        every
            Period (s) at which control is called, a whole number of steps; default dt. It is required if the simulator
            has no dt, because the period is a property of the controller.
        record_every
            Record every k-th node; the first and the last are always recorded.
        increments
            Record the increments of Newton's method, for `run.convergence(step)`.
        checkpoints
            Record at every node, not only at the last, the data that a run needs to continue from it.
        t_eval
            Times (s) to record instead of the nodes. Each is reached by a step of its own from the preceding node, and
            is as accurate as a node.
        events
            Events to look for: see Event, AtLimit, Touch and Liftoff. `run.events` lists the occurrences.
        progress
            True for a bar on stderr, or a function of (steps done, steps in all), called about ten times a second.

        With an accuracy, several runs are computed and compared. Functions of time and of events are called in all of
        them, the control function in one.
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
                raise ValueError("t_eval cannot be combined with record_every or checkpoints, which select nodes")
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
                warn_of(self.mechanism, plan.compiled.selection)
                result = other
        status = result.status
        if not status.ok and (plan.on_failure == "raise" or status.reason == "inaccurate"):
            raise SimulationError(status, result)
        raise_doubts(result, accuracy=plan.on_inaccurate == "warn")
        return result
