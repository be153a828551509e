"""Simulator: a mechanism compiled for a time step, and the runs it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from time import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from . import _core, _provenance, analysis
from ._handover import build_core, default_kernel, start_arrays
from ._memory import refuse_if_too_large
from ._numbers import flag, number, one_of, positive, seconds, whole
from ._progress import finish, watcher
from ._rotation import Array, finite
from .accuracy import NOT_JUDGED, USUAL_ACCURACY, error_limit, find_dt, too_coarse, usual_order, warn
from .events import Event, Watch, cut
from .forces import Forces, load_table
from .live import Live
from .mechanism import Mechanism
from .signals import Signals
from .starting import checked, refuse_open
from .state import State
from .status import RESCUE_DEPTH, SimulationError, Status, status_of
from .trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .batch import Batch, Laws
    from .live_batch import LiveBatch

Control: TypeAlias = Callable[[float, Live], "Forces | None"]
Solver: TypeAlias = Literal["auto", "articulated", "ldu", "dense"]

# an error of steps that none has
_NEVER = 1e300

# default tolerance by order: the solver must not spoil what the scheme gains
_TOLERANCE = {1: 1e-10, 2: 1e-10, 4: 1e-12, 6: 1e-12, 8: 1e-12}


def info() -> dict[str, Any]:
    """What this installation runs on: version, kernels this machine can run, the one used by default."""
    from . import __version__

    return {"version": __version__, "kernels": _core.kernels(), "kernel": default_kernel()}


class Simulator:
    """Steps a mechanism with the variational integrator.

    Parameters
    ----------
    mechanism
        Bodies and joints; read once, here.
    dt
        Time step in s; found by the first run, from its state, if it is not given.
    accuracy
        Halve every step that errs too much for it (parts of the mechanism's size, or rad), so that the motion is good
        to about that much unless it is chaotic; 1e-4 if no dt is given either. Vibrations that are smaller are not
        resolved.
    solver
        "articulated" (joint space, the fast one), "ldu" (the paper's sparse solver), "dense" (its O(n^3) reference)
        or "auto". All give the same trajectory.
    order
        2, or 4, 6 and 8 by composition of 5, 9 and 17 steps, whose cost they have; 1 is the publication's scheme, whose
        first step is force free: what it errs by is not estimated, and `run.warnings` says so. Default 2; 4 or 8 where
        an accuracy is asked for, which needs 4, 6 or 8.
    tolerance
        Largest last Newton increment of a step, the 2-norm over all bodies in m/s and rad/s; default 1e-10, for orders
        above 2 1e-12.
    rescue
        Halve a step that cannot be solved, and say so in the result.
    on_failure
        "raise" SimulationError, or "stop" and return what was computed.
    on_coarse
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
        on_coarse: Literal["warn", "raise", "ignore"] = "warn",
        kernel: str | None = None,
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise ValueError(f"a simulator needs a Mechanism, got {mechanism!r}")
        if mechanism.body_count == 0:
            raise ValueError("the mechanism has no bodies")
        mechanism = self._mechanism = mechanism.snapshot()
        if dt is None and accuracy is None:
            accuracy = USUAL_ACCURACY
        self._accuracy = None if accuracy is None else _accuracy_of(accuracy)
        self._error_limit = error_limit(self.accuracy)
        self._dt = None if dt is None else positive(dt, "dt")
        self.order = (
            _order(2 if self.accuracy is None else usual_order(self.accuracy)) if order is None else _order(order)
        )
        self.tolerance = _TOLERANCE[self.order] if tolerance is None else positive(tolerance, "tolerance")
        self.on_failure = one_of(on_failure, ("raise", "stop"), "on_failure")
        self.on_coarse = one_of(on_coarse, ("warn", "raise", "ignore"), "on_coarse")
        if self.order == 1 and self.on_coarse == "raise":
            raise ValueError(f"{NOT_JUDGED}, so there is nothing that on_coarse='raise' could go by; take order 2")
        self.rescue = flag(rescue, "rescue")
        if self.accuracy is not None and (self.order < 4 or not self.rescue):
            raise ValueError("an accuracy is reached by halving steps of order 4, 6 or 8; order 2 needs a dt alone")
        self.max_iterations = whole(max_iterations, "max_iterations", most=2**31 - 1)
        one_of(solver, ("auto", "articulated", "ldu", "dense"), "solver")
        if kernel is not None and not isinstance(kernel, str):
            raise ValueError(f"kernel must be the name of one, got {kernel!r}")
        self._kernel = kernel
        self._compile(kernel)
        if self._compiled.asked.turning and solver in ("ldu", "dense"):
            raise ValueError(
                f"solver {solver!r} cannot take loops whose rounded joints disagree in directions that turn with the "
                f"pose ({', '.join(map(repr, self._compiled.asked.turning_joints(mechanism)))}); use 'articulated'"
            )
        self.solver = self._compiled.solver if solver == "auto" else solver
        if self._compiled.loose_in_tree and (solver == "articulated" or self._compiled.asked.turning):
            unheld = ", ".join(map(repr, self._compiled.loose_in_tree))
            use = "no other can take its loops" if self._compiled.asked.turning else "use 'ldu'"
            raise ValueError(
                f"solver 'articulated' cannot take massless bodies that are held only by loops of such bodies "
                f"({unheld}); {use}"
            )

    def _compile(self, kernel: str | None) -> None:
        self._compiled = build_core(self.mechanism, kernel=kernel)
        self._core = self._compiled.core
        self._described: State | None = None
        self._described_arrays: _core.Start | None = None
        self._idle: dict[tuple[str, int], Live] = {}
        self._size: float | None = None
        joints, couplings = self.mechanism.joints, self.mechanism.couplings
        self._row_count = sum(joint.row_count for joint in joints.values()) + len(couplings)

    # the core is built anew where a simulator is copied or read from a pickle, on the kernel of that machine

    def __getstate__(self) -> dict[str, Any]:
        built = ("_compiled", "_core", "_described", "_described_arrays", "_idle", "_size", "_row_count")
        return {name: value for name, value in self.__dict__.items() if name not in built}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._compile(self._kernel)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism as it was read; it cannot change any more."""
        return self._mechanism

    @property
    def dt(self) -> float:
        """Time step in s; where an accuracy was given in its place, the first run finds it."""
        if self._dt is None:
            raise ValueError("dt is not known yet: the first run, or `start`, finds it from the state it begins in")
        return self._dt

    @dt.setter
    def dt(self, dt: float) -> None:
        self._dt = positive(dt, "dt")

    @property
    def accuracy(self) -> float | None:
        """What was asked for, in parts of the mechanism's size or rad; None if nothing was."""
        return self._accuracy

    @property
    def _estimates(self) -> bool:
        """Whether errors of steps are estimated."""
        return self.order > 1 and (self.on_coarse != "ignore" or self.accuracy is not None)

    @property
    def _extent(self) -> float:
        """Of the mechanism as described (m), by which errors are measured."""
        if self._size is None:
            self._size = analysis.extent(self.mechanism.state())
        return self._size

    def _tried(self, dt: float) -> Simulator:
        """The same with another step, which is not halved to be accurate."""
        other = self._with_dt(dt)
        other._error_limit = _NEVER
        return other

    def _with_dt(self, dt: float) -> Simulator:
        """The same with another step."""
        other = object.__new__(Simulator)
        other.__dict__.update(self.__dict__)
        other._dt, other._idle = dt, {}
        return other

    def _settle(self, state: State | None, duration: float | None = None) -> None:
        """Find the step if nobody has given it."""
        if self._dt is None:
            self._dt = float(find_dt(self, state, None if duration is None else seconds(duration)))

    def __repr__(self) -> str:
        dt = "" if self._dt is None else f", dt={self._dt:g}"
        accuracy = "" if self.accuracy is None else f", accuracy={self.accuracy:g}"
        return f"Simulator({self.mechanism.body_count} bodies{dt}{accuracy}, solver={self.solver!r})"

    def info(self) -> dict[str, Any]:
        """What was chosen and how large it is."""
        kind = _core.SolverKind[self.solver]
        return {
            "solver": self.solver,
            "kernel": self._core.kernel,
            "order": self.order,
            "dt": self._dt,
            "accuracy": self.accuracy,
            "body_count": self.mechanism.body_count,
            "joint_count": self.mechanism.joint_count,
            "row_count": self._core.row_count,
            "workspace_bytes": self._core.workspace_size(kind, max(self.order, 2)),
            "estimated_work": self._compiled.work,
            "unjudged_joints": self._compiled.asked.unjudged_joints(self.mechanism),
        }

    def step(self, state: State | None = None, *, force: Forces | None = None) -> State:
        """The state one step later; a force is held over the step, as those of a control function are in run.

        Whoever takes many steps one by one does better with `start`, which keeps all that is needed in the core.
        """
        self._settle(state)
        live = self._take(state, 1, 1, force)
        live._stand()
        live.step()
        found = live.state()
        self._give_back(live, force)
        return found

    def start(self, state: State | None = None) -> Live:
        """A mechanism that runs step by step, and stands at a state, by default the described one: see Live."""
        self._settle(state)
        # to which it may be asked to return
        live = Live(self, state.copy() if isinstance(state, State) else state)
        live._stand()
        return live

    def start_batch(
        self,
        states: Sequence[State] | int,
        *,
        force: Forces | Sequence[Forces | None] | None = None,
        masses: Mapping[str, ArrayLike] | None = None,
        inertias: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        laws: Laws | None = None,
        threads: int | None = None,
    ) -> LiveBatch:
        """Many members that run step by step, each with inputs of its own: see LiveBatch.

        The arguments are those of `run_batch`; states may have different times, and forces are constant.
        """
        from .live_batch import LiveBatch

        return LiveBatch(
            self,
            self._starts(states, None),
            force=force,
            masses=masses,
            inertias=inertias,
            gravity=gravity,
            laws=laws,
            threads=threads,
        )

    def run(
        self,
        duration: float | None = None,
        *,
        steps: int | None = None,
        state: State | None = None,
        force: Forces | None = None,
        control: Control | None = None,
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
        force
            {"body": (fx, fy, fz)}, {"body": (fx, fy, fz, tx, ty, tz)}, {"body": Load(...)}, or one array for all
            bodies: constant, or with one row per node, which are samples: row k acts at node k, for half of the
            interval on either side.
        control
            Called as control(t, live) at every node, where `live` (see Live) reads as the state that is recorded there;
            it may set `live.inputs`, and returns forces in the same forms (of that instant) or None. All are held until
            the next node: half of their impulse acts at either end of the step. The result has the forces as `control`.
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
        """
        times = None
        if t_eval is not None:
            if record_every != 1 or checkpoints:
                raise ValueError("t_eval says what is recorded: record_every and checkpoints are for nodes")
            times, duration = self._times(t_eval, state, duration, steps)
        self._settle(state, duration)
        watch = Watch(self, events, control) if events else None
        if watch and load_table(self.mechanism, force, self._steps(duration, steps), Signals()).is_sampled:
            raise ValueError("events need forces that are constant or functions of time, not one row per node")
        result = self._attempt(
            self._steps(duration, steps),
            state=state,
            force=force,
            control=control if watch is None else watch,
            times=times,
            record_every=whole(record_every, "record_every"),
            increments=flag(increments, "increments"),
            checkpoints=flag(checkpoints, "checkpoints"),
            progress=progress,
        )
        if watch is not None:
            result = self._with_events(result, watch, force, control)
        status = result.status
        if not status.ok and (self.on_failure == "raise" or status.reason == "coarse"):
            raise SimulationError(status, result)
        if self.on_coarse == "warn":
            warn(result.coarse, 2)
        return result

    def _attempt(
        self,
        steps: int,
        *,
        state: State | None = None,
        force: Forces | None = None,
        control: Control | None = None,
        record_every: int = 1,
        increments: bool = False,
        checkpoints: bool = False,
        times: Array | None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> Trajectory:
        """See run; whatever becomes of it, its status tells."""
        live = self._take(state, steps, record_every, force)
        count = 0 if times is None else len(times)
        n, records = self.mechanism.body_count, (count or -(-steps // record_every)) + 1
        room = live.room(checkpoints, count)
        traced = (steps + 1) * self.max_iterations if increments else 0
        refuse_if_too_large(8 * (room + traced), f"recording {records} nodes of {n} bodies", "raise record_every")
        trace = np.zeros((steps + 1, self.max_iterations)) if increments else None
        held = None if control is None else np.zeros((records, n, 6))
        sheet = live.run(
            np.empty(room),
            checkpoints,
            increments=trace,
            control=control,
            held=held,
            times=times,
            poll=watcher(progress, steps),
        )
        # a control may have kept it
        if control is None:
            self._give_back(live, force)
        ended = sheet.ended
        if progress:
            finish(progress, ended.step, steps)
        coarse = too_coarse(self, sheet.tally, ended.step)
        result = Trajectory.written(
            sheet,
            mechanism=self.mechanism,
            dt=self.dt,
            estimates=self._estimates,
            coarse=coarse,
            increments=None if trace is None else trace[: ended.step],
            control=None if held is None else held[: ended.records],
            info=self._run_info(),
            places=self._compiled.counter_places,
            row_count=self._row_count,
            key=live.key,
        )
        # an event may have ended it
        if ended.code not in (_core.StatusCode.done, _core.StatusCode.interrupted):
            vars(result)["status"] = status_of(self, ended)
        elif coarse:
            vars(result)["status"] = self._judged(result.status, coarse)
        return result

    def run_batch(
        self,
        states: Sequence[State] | int,
        duration: float | None = None,
        *,
        steps: int | None = None,
        force: Forces | Sequence[Forces | None] | None = None,
        masses: Mapping[str, ArrayLike] | None = None,
        inertias: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        laws: Laws | None = None,
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
        force
            As in run, the same for all; or a list, one per member, on the same bodies.
        masses, inertias
            Of bodies that differ between members: {"body": (members,)}, {"body": (members, 3, 3)}. An inertia that is
            not given goes with the mass.
        gravity
            Of every member, (members, 3).
        laws
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
        from .batch import run_batch

        return run_batch(
            self,
            self._starts(states, duration),
            self._steps(duration, steps),
            force=force,
            masses=masses,
            inertias=inertias,
            gravity=gravity,
            laws=laws,
            threads=threads,
            record_every=whole(record_every, "record_every"),
            bodies=bodies,
            out={} if out is None else out,
            progress=progress,
        )

    def _start_arrays(self, first: State, *, carried: bool = False) -> _core.Start:
        """A state to start from, as the core takes it."""
        if first is not self._described:
            return _core.Start(**start_arrays(self._compiled, [first], carried=carried))
        if self._described_arrays is None:
            self._described_arrays = _core.Start(**start_arrays(self._compiled, [first]))
        return self._described_arrays

    def _settings(self, first: State, steps: int, record_every: int) -> _core.Settings:
        """What the core needs to know of a run that begins in a state."""
        return _core.Settings(
            solver=_core.SolverKind[self.solver],
            order=max(self.order, 2),
            dt=self.dt,
            tolerance=self.tolerance,
            iteration_limit=self.max_iterations,
            rescue_depth=RESCUE_DEPTH if self.rescue else 0,
            estimates=self._estimates,
            size=self._extent,
            error_limit=self._error_limit,
            paper_start=self.order == 1 and not first._reached,
            start_time=first.time,
            steps=steps,
            record_every=record_every,
        )

    def _judged(self, status: Status, coarse: str) -> Status:
        """How a run ended, if too coarse steps make a failure of it."""
        if not coarse or not status.ok or self.on_coarse != "raise":
            return status
        return replace(status, ok=False, reason="coarse", message=coarse)

    def _run_info(self) -> _provenance.RunInfo:
        """What a run that ends now is to say of itself."""
        how = (self.solver, self.order, self.dt, self.tolerance, self.accuracy or 0.0)
        return _provenance.run_info(*how, self.max_iterations, self.rescue, self._core.kernel, int(time()))

    def _key(self, signal_count: int) -> str:
        """By which it is known whether this simulator can go on bit for bit from what another one left."""
        # the first node of the paper's scheme belongs to its step
        step = f"1 {self.dt!r}" if self.order == 1 else str(self.order)
        return f"{self._compiled.digest} {self.solver} {step} {signal_count}"

    def _first(self, state: State | None, key: str) -> tuple[State, Array | None]:
        """The state to start from, checked, and what is carried over from the run that led there, if there was one."""
        if isinstance(state, State):
            carried = state._carried(key)
            if carried is not None:
                # functions are not in the key
                if self._compiled.signals.count or self._compiled.rows:
                    refuse_open(self, state)
                return state, carried
        return self._start(state), None

    # ---- how

    def _take(self, state: State | None, steps: int, record_every: int, force: Forces | None) -> Live:
        """One to run; if it stands idle, and no other thread has taken it, that saves what making one costs."""
        live = self._idle.pop((self.solver, self.order), None) if force is None else None
        if live is None:
            return Live(self, state, steps=steps, record_every=record_every, force=force)
        live._prepare(state, steps, record_every)
        return live

    def _give_back(self, live: Live, force: Forces | None) -> None:
        if force is None:
            self._idle = {live.how: live}

    def _start(self, state: State | None) -> State:
        return self._standing if state is None else checked(self, state)

    @property
    def _standing(self) -> State:
        """The mechanism as described, checked."""
        if self._described is None:
            self._described = checked(self, self.mechanism.state())
        return self._described

    def _starts(self, states: Sequence[State] | int, duration: float | None) -> list[State]:
        if isinstance(states, Sequence) and not isinstance(states, str | bytes):
            self._settle(states[0] if len(states) else None, duration)
            return [checked(self, state) for state in states]
        self._settle(None, duration)
        return [self._standing] * whole(states, "states", most=2**31 - 1)

    def _times(
        self, t_eval: ArrayLike, state: State | None, duration: float | None, steps: int | None
    ) -> tuple[Array, float | None]:
        """Times to be recorded, checked, and how long the run must be if nobody has said."""
        times = finite(t_eval, (np.size(t_eval),), "t_eval")
        start = state.time if isinstance(state, State) else self.mechanism.state().time
        if not len(times) or times[0] < start or (np.diff(times) <= 0).any():
            raise ValueError(f"t_eval must be times that rise, none before the state to start from, at {start:g} s")
        if duration is None and steps is None:
            return times, float(times[-1] - start)
        end = start + (seconds(duration) if duration is not None else whole(steps, "steps", least=0) * self.dt)
        if times[-1] > end + 1e-9 * (end - start):
            raise ValueError(f"t_eval ends at {times[-1]:g} s, after the run, which ends at {end:g} s")
        return times, duration

    def _with_events(
        self, result: Trajectory, watch: Watch, force: Forces | None, control: Control | None
    ) -> Trajectory:
        """A run with the events that were seen in it, and which ends with one that stops it."""
        found, end = watch.located(force)
        if end is not None:
            result = cut(result, *end)
        vars(result).update(events=found, control=result.control if control else None)
        return result

    def _steps(self, duration: float | None, steps: int | None) -> int:
        if isinstance(duration, State):
            raise ValueError("the state to start from is given by name: run(duration, state=...)")
        if (duration is None) == (steps is None):
            raise ValueError("give exactly one of duration and steps")
        if steps is not None:
            return whole(steps, "steps", least=0)
        return whole(max(0, ceil(min(seconds(duration) / self.dt, 1e15) - 1e-6)), "duration / dt", least=0)


def _order(order: int) -> int:
    if not isinstance(order, int | np.integer) or order not in _TOLERANCE:
        raise ValueError(f"order must be one of 1, 2, 4, 6, 8, got {order!r}")
    return int(order)


def _accuracy_of(accuracy: float) -> float:
    found = number(accuracy)
    if not 1e-12 <= found <= 0.1:
        raise ValueError(f"accuracy must be a number between 1e-12 and 0.1, got {accuracy!r}")
    return found
