"""Simulator: a mechanism compiled for a time step, and the runs it makes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from time import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from weakref import ref

import numpy as np

from .. import _core
from .._util import provenance
from .._util.checks import flag, number, one_of, positive, seconds, whole
from .._util.memory import refuse_if_too_large
from .._util.progress import finish, watcher
from .._util.rotation import Array, finite
from .._util.status import RESCUE_DEPTH, CatenaWarning, SimulationError, Status, status_of
from .._util.words import Spoken
from ..assemble import placeholders
from ..assemble.assembly import close_nearest
from ..assemble.core import build_core
from ..assemble.initial_state import checked, refuse_open
from ..assemble.placeholders import lightened
from ..assemble.redundancy import described_asked, find_asked, meant_after_all, warn_of
from ..compile.compile import default_kernel, start_arrays
from ..compile.row_selection import Asked
from ..describe.forces import DISSIPATING
from ..describe.freeze import what_changed
from ..describe.mechanism import Mechanism
from ..describe.signals import Signals
from ..kinematics import geometry
from ..kinematics.state import State
from ..results.accuracy import NOT_JUDGED, USUAL_ACCURACY, held_too_long, too_coarse, usual_order
from ..results.run_warnings import raise_doubts
from ..results.trajectory import Trajectory
from .events import Event, Watch, cut
from .live import Live
from .loads import Forces, load_table
from .refinement import per_second, plain_step, refined

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .batch import Batch, Laws
    from .live_batch import LiveBatch

Control: TypeAlias = Callable[[float, Live], "Forces | None"]
Solver: TypeAlias = Literal["auto", "articulated", "ldu", "dense"]

# steps of a long run, runs that are the first, and how often one of the others is looked at
_LONG, _FIRST, _NOW_AND_THEN = 5000, 16, 64

# default tolerance by order: the solver must not spoil what the scheme gains
_TOLERANCE = {1: 1e-10, 2: 1e-10, 4: 1e-12, 6: 1e-12, 8: 1e-12}


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
        if not isinstance(mechanism, Mechanism):
            raise ValueError(f"a simulator needs a Mechanism, got {mechanism!r}")
        if mechanism.body_count == 0:
            raise ValueError("the mechanism has no bodies")
        # what is changed there afterwards is told
        self._source = None if mechanism._owner else ref(mechanism)
        self._runs = 0
        given = self._given = mechanism.snapshot()
        mechanism = self._mechanism = lightened(given)
        if dt is None and accuracy is None:
            accuracy = USUAL_ACCURACY
            self._asked = False
        else:
            self._asked = accuracy is not None
        self._accuracy = None if accuracy is None else _accuracy_of(accuracy)
        self._dt = None if dt is None else positive(dt, "dt")
        self._size: float | None = None
        self._given_order = None if order is None else _order(order)
        self.order = self._usual_order(self._dt)
        self._error_rate = per_second(self.accuracy, self.order)
        self._given_tolerance = None if tolerance is None else positive(tolerance, "tolerance")
        self.tolerance = self._given_tolerance or _TOLERANCE[self.order]
        self.on_failure = one_of(on_failure, ("raise", "stop"), "on_failure")
        self.on_inaccurate = one_of(on_inaccurate, ("warn", "raise", "ignore"), "on_inaccurate")
        if self.order == 1 and self.on_inaccurate == "raise":
            raise ValueError(f"{NOT_JUDGED}, and on_inaccurate='raise' needs error estimates: use order 2")
        self.rescue = flag(rescue, "rescue")
        if self.accuracy is not None and (self.order == 1 or not self.rescue):
            raise ValueError("an accuracy is reached by shorter steps, of order 2, 4, 6 or 8, and with rescue")
        self.max_iterations = whole(max_iterations, "max_iterations", most=2**31 - 1)
        one_of(solver, ("auto", "articulated", "ldu", "dense"), "solver")
        if kernel is not None and not isinstance(kernel, str):
            raise ValueError(f"kernel must be the name of one, got {kernel!r}")
        self._kernel = kernel
        self._compile(kernel)
        warn_of(mechanism, self._compiled.asked, 3)
        placeholders.warn_of(given, 3)
        if self._compiled.asked.turning and solver in ("ldu", "dense"):
            raise ValueError(
                f"solver {solver!r} cannot take loops whose rounded joints disagree in directions that turn with the "
                f"pose ({', '.join(map(repr, self._compiled.asked.turning_joints(mechanism)))}); use 'articulated'"
            )
        self._solver_is_free = solver == "auto"
        self.solver = self._compiled.solver if solver == "auto" else solver
        if self._compiled.loose_in_tree and (solver == "articulated" or self._compiled.asked.turning):
            unheld = ", ".join(map(repr, self._compiled.loose_in_tree))
            use = "no other can take its loops" if self._compiled.asked.turning else "use 'ldu'"
            raise ValueError(
                f"solver 'articulated' cannot take massless bodies that are held only by loops of such bodies "
                f"({unheld}); {use}"
            )

    def _compile(self, kernel: str | None, asked: Asked | None = None) -> None:
        self._compiled = build_core(self.mechanism, kernel=kernel, asked=asked)
        self._core = self._compiled.core
        self._described: State | None = None
        self._described_arrays: _core.Start | None = None
        self._idle: dict[tuple[str, int], Live] = {}
        self._elsewhere: Simulator | None = None
        joints, couplings = self.mechanism.joints, self.mechanism.couplings
        self._row_count = sum(joint.row_count for joint in joints.values()) + len(couplings)

    # the core is built anew where a simulator is copied or read from a pickle, on the kernel of that machine

    def __getstate__(self) -> dict[str, Any]:
        built = (
            "_source",
            "_compiled",
            "_core",
            "_described",
            "_described_arrays",
            "_idle",
            "_elsewhere",
            "_row_count",
        )
        return {name: value for name, value in self.__dict__.items() if name not in built}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _source=None)
        self._compile(self._kernel)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism as it was read; it cannot change any more."""
        return self._mechanism

    @property
    def dt(self) -> float:
        """Time step in s, if one was given."""
        if self._dt is None:
            raise ValueError(
                "this simulator has no dt: every run finds its own, from its state and duration, and tells it as run.dt"
            )
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
        return self.order > 1 and (self.on_inaccurate != "ignore" or self.accuracy is not None)

    @property
    def _extent(self) -> float:
        """Of the mechanism as described (m), by which errors are measured."""
        if self._size is None:
            self._size = geometry.extent(self.mechanism.state())
        return self._size

    @property
    def _sure_accuracy(self) -> float:
        return USUAL_ACCURACY if self.accuracy is None else self.accuracy

    def _usual_order(self, dt: float | None) -> int:
        """The order of steps of a length, or of any, unless one was given."""
        if self._given_order is not None:
            return self._given_order
        if self.accuracy is None or self._dissipates:
            return 2
        is_short = dt is not None and dt <= plain_step(self.mechanism, self._extent, self.accuracy)
        return 2 if is_short else usual_order(self.accuracy)

    @property
    def _dissipates(self) -> bool:
        """Whether something makes heat of the motion, which steps backwards would have to feed."""
        forces = self.mechanism.forces.values()
        parts = (part for force in forces for part in force.parts)
        return any(force.slows for force in forces) or any(part.law[name] > 0 for part in parts for name in DISSIPATING)

    def _as(
        self, dt: float, *, rate: float = 0.0, order: int | None = None, tolerance: float | None = None
    ) -> Simulator:
        """The same with a step, and with what steps may err by per second."""
        other = object.__new__(Simulator)
        other.__dict__.update(self.__dict__, _dt=dt, _error_rate=rate, order=order or self.order)
        other.tolerance = self._given_tolerance or tolerance or _TOLERANCE[other.order]
        return other

    def _at(self, states: Iterable[State | None]) -> Simulator:
        """Whoever runs from states: another one if loops say something else there than where this one ran."""
        asked = described_asked(self.mechanism)
        if not asked.is_doubtful:
            return self
        given = [state for state in states if isinstance(state, State)]
        # what a run has led to goes on as it came
        for maker in filter(None, (self, self._elsewhere)):
            if any(state._is_arrival_of(maker._compiled.digest) for state in given):
                return self._asking(maker._compiled.asked)
        # poses at which least is left out are those that are not singular by chance
        here = min((find_asked(self.mechanism, s) for s in given), key=lambda a: a.count_left_out, default=asked)
        if not here.same_rows(self._compiled.asked):
            warn_of(self.mechanism, here, 4)
        return self._asking(here)

    @property
    def _other_rows(self) -> Asked | None:
        """Rows of loops that are enforced, if others than those of the described pose."""
        asked = self._compiled.asked
        return None if asked is described_asked(self.mechanism) else asked

    def _at_members(self, states: Sequence[State] | int) -> Simulator:
        return self._at(states) if isinstance(states, Sequence) else self

    def _asking(self, asked: Asked) -> Simulator:
        """The same, but with these rows of loops."""
        if asked.same_rows(self._compiled.asked):
            return self
        other = self._elsewhere
        if other is None or not other._compiled.asked.same_rows(asked):
            other = self._elsewhere = object.__new__(Simulator)
            other._mechanism = self._mechanism
            other._compile(self._kernel, asked)
        other.__dict__.update(self.__getstate__(), _source=self._source)
        if self._solver_is_free:
            other.solver = other._compiled.solver
        return other

    def _again(self, run: Trajectory, state: State | None) -> tuple[Simulator, State] | None:
        """Whoever asks for what a run has left out and was meant, and the state to start from; None if nothing was."""
        asked = meant_after_all(self._compiled, run)
        if asked is None:
            return None
        other = self._asking(asked)
        start = close_nearest(self.mechanism, asked, self._start(state))
        return None if start is None else (other, start)

    def _tell_of_edits(self, state: State | None, steps: int = _LONG) -> None:
        """Warn if the mechanism was changed; looked for where a run is long, the first times, and now and then."""
        self._runs += 1
        source = None if self._source is None else self._source()
        if source is None or (steps < _LONG and self._runs > _FIRST and self._runs % _NOW_AND_THEN):
            return
        changed = what_changed(source, self._given, poses=state is None)
        if changed:
            sentence = f"{changed} was changed after this Simulator was made, which keeps the mechanism as it was then"
            warnings.warn(CatenaWarning(f"{sentence}: make another one"), stacklevel=3)

    def _need_dt(self, what: str) -> None:
        if self._dt is None:
            raise ValueError(f"{what}: give the simulator a dt (s), as in Simulator(mechanism, 0.001)")

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

    def step(self, state: State | None = None, *, loads: Forces | None = None) -> State:
        """The state one step later; a force is held over the step, as those of a control function are in run.

        Whoever takes many steps one by one does better with `start`, which keeps all that is needed in the core.
        """
        self._need_dt("a step has a length")
        self._tell_of_edits(state, 1)
        maker = self._at([state])
        live = maker._take(state, 1, 1, loads)
        live._stand()
        live.step()
        found = live.state()
        maker._give_back(live, loads)
        return found

    def start(self, state: State | None = None) -> Live:
        """A mechanism that runs step by step, and stands at a state, by default the described one: see Live."""
        self._need_dt("a live mechanism goes on by steps of a length that whoever reads or controls it must know")
        self._tell_of_edits(state)
        # to which it may be asked to return
        live = Live(self._at([state]), state.copy() if isinstance(state, State) else state)
        live._stand()
        return live

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

        self._tell_of_edits(states[0] if isinstance(states, Sequence) and states else None)
        self._need_dt("live mechanisms go on by steps of a length that whoever reads or controls them must know")
        maker = self._at_members(states)
        return LiveBatch(
            maker,
            maker._starts(states),
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
        maker = self._at([state])
        runner = maker
        if control is not None:
            _check_control(control)
        if control is not None and (every is not None or self._dt is None):
            runner, control = maker._controlled(control, every)
        times = None
        if t_eval is not None:
            if record_every != 1 or checkpoints:
                raise ValueError("t_eval says what is recorded: record_every and checkpoints are for nodes")
            times, duration = runner._times(t_eval, state, duration, steps)
        asked = (flag(increments, "increments"), flag(checkpoints, "checkpoints"), whole(record_every, "record_every"))
        count = runner._steps(duration, steps)
        self._tell_of_edits(state, count)
        looks = bool(events) or self.accuracy is not None
        is_sampled = looks and loads is not None and load_table(self.mechanism, loads, count, Signals()).is_sampled
        if events and is_sampled:
            raise ValueError("events need forces that are constant or functions of time, not one row per node")

        def attempt(simulator: Simulator, steps: int, per: int) -> Trajectory:
            watch = Watch(simulator, events, control) if events else None
            found = simulator._attempt(
                steps,
                state=state,
                loads=loads,
                control=control if watch is None else watch,
                times=times,
                record_every=per * asked[2],
                increments=asked[0],
                checkpoints=asked[1],
                progress=progress,
            )
            return found if watch is None else simulator._with_events(found, watch, loads, control)

        def made_by(maker: Simulator, runner: Simulator) -> Trajectory:
            if self.accuracy is None or control is not None or is_sampled:
                return attempt(runner, count, 1)
            return refined(maker, attempt, maker._start(state), maker._span(duration, steps), loads)[0]

        result = made_by(maker, runner)
        # a control is never called in two runs
        again = None if control is not None else maker._again(result, state)
        if again is not None:
            maker, state = again
            other = made_by(maker, maker)
            # what locks a mechanism that moves without it was not meant
            if other.status.ok or not result.status.ok:
                warn_of(self.mechanism, maker._compiled.asked, 3)
                result = other
        status = result.status
        if not status.ok and (self.on_failure == "raise" or status.reason == "coarse"):
            raise SimulationError(status, result)
        raise_doubts(result, accuracy=self.on_inaccurate == "warn", stacklevel=2)
        return result

    def _attempt(
        self,
        steps: int,
        *,
        state: State | None = None,
        loads: Forces | None = None,
        control: Control | None = None,
        record_every: int = 1,
        increments: bool = False,
        checkpoints: bool = False,
        times: Array | None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> Trajectory:
        """See run; whatever becomes of it, its status tells."""
        live = self._take(state, steps, record_every, loads)
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
            self._give_back(live, loads)
        ended = sheet.ended
        if progress:
            finish(progress, ended.step, steps)
        coarse = too_coarse(self, sheet.tally, ended.step)
        if held is not None and self._estimates:
            coarse = coarse or held_too_long(self, sheet.time, held[: ended.records])
        return Trajectory.written(
            sheet,
            self.mechanism,
            self._judged(status_of(self, ended), coarse),
            {
                "dt": self.dt,
                "estimates": self._estimates,
                "coarse": coarse,
                "increments": None if trace is None else trace[: ended.step],
                "control": None if held is None else held[: ended.records],
                "info": self._run_info(),
                "places": self._compiled.counter_places,
                "row_count": self._row_count,
                "key": live.key,
                "asked": self._other_rows,
            },
        )

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
        from .batch import run_batch

        self._tell_of_edits(states[0] if isinstance(states, Sequence) and states else None)
        maker = self._at_members(states)
        starts = maker._starts(states)
        simulator = maker._for_members(starts, duration, steps)
        return run_batch(
            simulator,
            starts,
            simulator._steps(duration, steps),
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
            error_rate=self._error_rate,
            paper_start=self.order == 1 and not first._reached,
            start_time=first.time,
            steps=steps,
            record_every=record_every,
        )

    def _judged(self, status: Status, coarse: str) -> Status:
        """How a run ended, if too coarse steps make a failure of it."""
        if not coarse or not status.ok or self.on_inaccurate != "raise":
            return status
        return replace(status, ok=False, reason="coarse", message=coarse)

    def _run_info(self) -> provenance.RunInfo:
        """What a run that ends now is to say of itself."""
        how = (self.solver, self.order, self.dt, self.tolerance, self.accuracy or 0.0)
        return provenance.run_info(*how, self.max_iterations, self.rescue, self._core.kernel, int(time()))

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
            return Live(self, state, steps=steps, record_every=record_every, loads=force)
        live._prepare(self, state, steps, record_every)
        return live

    def _give_back(self, live: Live, force: Forces | None) -> None:
        if force is None:
            self._idle[live.how] = live

    def _start(self, state: State | None) -> State:
        return self._standing if state is None else checked(self, state)

    @property
    def _standing(self) -> State:
        """The mechanism as described, checked."""
        if self._described is None:
            self._described = checked(self, self.mechanism.state())
        return self._described

    def _starts(self, states: Sequence[State] | int) -> list[State]:
        if isinstance(states, Sequence) and not isinstance(states, str | bytes):
            return [checked(self, state) for state in states]
        return [self._standing] * whole(states, "states", most=2**31 - 1)

    def _times(
        self, t_eval: ArrayLike, state: State | None, duration: float | None, steps: int | None
    ) -> tuple[Array, float | None]:
        """Times to be recorded, checked, and how long the run must be if nobody has said."""
        times = finite(t_eval, (np.size(t_eval),), "t_eval")
        start = state.time if isinstance(state, State) else self.mechanism.state().time
        if not len(times) or times[0] < start or (np.diff(times) <= 0).any():
            raise ValueError(f"t_eval must be increasing times, none before the state to start from, at {start:g} s")
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
        # the watch took the place of a control
        nodes = result.nodes if control else replace(result.nodes, control=None)
        return Trajectory(result.mechanism, nodes, replace(result.made, events=found))

    def _controlled(self, control: Control, every: float | None) -> tuple[Simulator, Control]:
        """Whoever calls a control at its own period, which may be several steps."""
        if every is None:
            raise ValueError(
                "a control is called at every node, and without a dt nodes are as far apart as the accuracy allows: "
                "say how often it is to be called, as in run(control=f, every=0.001), or give the simulator a dt (s)"
            )
        period = positive(every, "every")
        if self._dt is None:
            order = self._usual_order(period)
            return self._as(period, rate=per_second(self.accuracy, order), order=order), control
        count = round(period / self._dt)
        if count < 1 or abs(count * self._dt - period) > 1e-6 * period:
            raise ValueError(f"every must be a whole number of steps of dt = {self._dt:g} s, got {every!r}")
        return self, _Periodic(control, count)

    def _for_members(self, starts: list[State], duration: float | None, steps: int | None) -> Simulator:
        """Whoever runs a batch: where there is no dt, that which the first member needs."""
        if self.accuracy is None or not starts:
            return self
        span = self._span(duration, steps)
        if self._dt is not None:
            return self._as(self._dt, rate=per_second(self.accuracy, self.order) / (span or 1.0))

        def attempt(simulator: Simulator, steps: int, per: int) -> Trajectory:
            return simulator._attempt(steps, state=starts[0], record_every=per)

        return refined(self, attempt, starts[0], span, None)[1]

    def _span(self, duration: float | None, steps: int | None) -> float:
        """How long a run is (s)."""
        return seconds(duration) if duration is not None else self._steps(duration, steps) * self.dt

    def _steps(self, duration: float | None, steps: int | None) -> int:
        if isinstance(duration, State):
            raise ValueError("the state to start from is given by name: run(duration, state=...)")
        if (duration is None) == (steps is None):
            raise ValueError("give exactly one of duration and steps")
        if steps is not None:
            self._need_dt("a number of steps has a length")
            return whole(steps, "steps", least=0)
        if self._dt is None:
            return 0 if seconds(duration) == 0 else 1
        return whole(max(0, ceil(min(seconds(duration) / self.dt, 1e15) - 1e-6)), "duration / dt", least=0)


class _Periodic:
    """A control that is called at every so many nodes, and holds its forces in between."""

    def __init__(self, control: Control, count: int) -> None:
        self._control, self._count = control, count
        self._node = 0
        self._forces: Forces | None = None

    def __call__(self, time: float, live: Live) -> Forces | None:
        if self._node % self._count == 0:
            self._forces = self._control(time, live)
        self._node += 1
        return self._forces


def _check_control(control: Control) -> None:
    # only imported where there is one
    from inspect import signature

    if not callable(control):
        raise ValueError(f"control must be a function that is called as control(t, live), got {control!r}")
    try:
        takes = signature(control)
    except ValueError:
        # some that are compiled do not tell
        return
    try:
        takes.bind(0.0, None)
    except TypeError:
        raise ValueError(f"control is called as control(t, live), but what was given takes {takes}") from None


def _order(order: int) -> int:
    if not isinstance(order, int | np.integer) or order not in _TOLERANCE:
        raise ValueError(f"order must be one of 1, 2, 4, 6, 8, got {order!r}")
    return int(order)


def _accuracy_of(accuracy: float) -> float:
    found = number(accuracy)
    if not 1e-12 <= found <= 0.1:
        raise ValueError(f"accuracy must be a number between 1e-12 and 0.1, got {accuracy!r}")
    return found
