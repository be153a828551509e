"""Simulator: a mechanism compiled for a time step, and the runs it makes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from math import ceil, inf, nan
from time import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from . import _core, _provenance, analysis
from ._angles import ByJoint
from ._handover import build_core, default_kernel, start_arrays
from ._memory import refuse_if_too_large
from ._rotation import Array, finite
from .assembly import AssemblyError, describe, open_joints, refuse_misfit, stands
from .forces import Forces
from .live import Live
from .massless import refuse_loose_at
from .mechanism import Mechanism
from .state import State
from .status import RESCUE_DEPTH, SimulationError, status_of
from .trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .batch import Batch, Laws
    from .live_batch import LiveBatch

Control: TypeAlias = Callable[[float, Live], "Forces | None"]
Solver: TypeAlias = Literal["auto", "articulated", "ldu", "dense"]

# a state whose joints are further open than this (parts of the mechanism's size, rad) is not assembled but refused
_NEARLY_CLOSED = 1e-5

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
        Time step in s.
    solver
        "articulated" (joint space, the fast one), "ldu" (the paper's sparse solver), "dense" (its O(n^3) reference)
        or "auto". All give the same trajectory.
    order
        2, or 4, 6 and 8 by composition of 5, 9 and 17 steps, whose cost they have; 1 is the publication's scheme, whose
        first step is force free.
    tolerance
        Largest last Newton increment of a step, the 2-norm over all bodies in m/s and rad/s; default 1e-10, for orders
        above 2 1e-12.
    rescue
        Halve a step that cannot be solved, and say so in the result.
    on_failure
        "raise" SimulationError, or "stop" and return what was computed.
    kernel
        Instruction set to use, one of `catena.info()["kernels"]`; default the best, or the environment variable
        CATENA_KERNEL.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        dt: float,
        *,
        solver: Solver = "auto",
        order: Literal[1, 2, 4, 6, 8] = 2,
        tolerance: float | None = None,
        max_iterations: int = 50,
        rescue: bool = True,
        on_failure: Literal["raise", "stop"] = "raise",
        kernel: str | None = None,
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise ValueError(f"a simulator needs a Mechanism, got {mechanism!r}")
        if mechanism.body_count == 0:
            raise ValueError("the mechanism has no bodies")
        mechanism = self._mechanism = mechanism.snapshot()
        self.dt = _positive(dt, "dt")
        self.order = _order(order)
        self.tolerance = _TOLERANCE[self.order] if tolerance is None else _positive(tolerance, "tolerance")
        self.on_failure = _one_of(on_failure, ("raise", "stop"), "on_failure")
        self.rescue = _flag(rescue, "rescue")
        self.max_iterations = whole(max_iterations, "max_iterations", most=2**31 - 1)
        _one_of(solver, ("auto", "articulated", "ldu", "dense"), "solver")
        if kernel is not None and not isinstance(kernel, str):
            raise ValueError(f"kernel must be the name of one, got {kernel!r}")
        self._kernel = kernel
        self._compile(kernel)
        if self.compiled.asked.turning and solver in ("ldu", "dense"):
            raise ValueError(
                f"solver {solver!r} cannot take loops whose rounded joints disagree in directions that turn with the "
                f"pose ({', '.join(map(repr, self.compiled.asked.turning_joints(mechanism)))}); use 'articulated'"
            )
        self.solver = self.compiled.solver if solver == "auto" else solver
        if self.compiled.loose_in_tree and (solver == "articulated" or self.compiled.asked.turning):
            unheld = ", ".join(map(repr, self.compiled.loose_in_tree))
            use = "no other can take its loops" if self.compiled.asked.turning else "use 'ldu'"
            raise ValueError(
                f"solver 'articulated' cannot take massless bodies that are held only by loops of such bodies "
                f"({unheld}); {use}"
            )

    def _compile(self, kernel: str | None) -> None:
        self.compiled = build_core(self.mechanism, kernel=kernel)
        self._core = self.compiled.core
        self._described: State | None = None
        self._described_arrays: _core.Start | None = None
        self._idle: dict[tuple[str, int], Live] = {}
        joints, couplings = self.mechanism.joints, self.mechanism.couplings
        self.row_count = sum(joint.row_count for joint in joints.values()) + len(couplings)

    # the core is built anew where a simulator is copied or read from a pickle, on the kernel of that machine

    def __getstate__(self) -> dict[str, Any]:
        built = ("compiled", "_core", "_described", "_described_arrays", "_idle", "row_count")
        return {name: value for name, value in self.__dict__.items() if name not in built}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._compile(self._kernel)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism as it was read; it cannot change any more."""
        return self._mechanism

    def __repr__(self) -> str:
        return f"Simulator({self.mechanism.body_count} bodies, dt={self.dt:g}, solver={self.solver!r})"

    def info(self) -> dict[str, Any]:
        """What was chosen and how large it is."""
        kind = _core.SolverKind[self.solver]
        return {
            "solver": self.solver,
            "kernel": self._core.kernel,
            "order": self.order,
            "dt": self.dt,
            "body_count": self.mechanism.body_count,
            "joint_count": self.mechanism.joint_count,
            "row_count": self._core.row_count,
            "workspace_bytes": self._core.workspace_size(kind, max(self.order, 2)),
            "estimated_work": self.compiled.work,
            "unjudged_joints": self.compiled.asked.unjudged_joints(self.mechanism),
        }

    def step(self, state: State | None = None, *, force: Forces | None = None) -> State:
        """The state one step later; a force is held over the step, as those of a control function are in run.

        Whoever takes many steps one by one does better with `start`, which keeps all that is needed in the core.
        """
        live = self._take(state, 1, 1, force)
        live.stand()
        live.step()
        found = live.state()
        self._give_back(live, force)
        return found

    def start(self, state: State | None = None) -> Live:
        """A mechanism that runs step by step, and stands at a state, by default the described one: see Live."""
        # to which it may be asked to return
        live = Live(self, state.copy() if isinstance(state, State) else state)
        live.stand()
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
            self._starts(states),
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
        progress: bool | Callable[[int, int], None] = False,
    ) -> Trajectory:
        """Simulate for a duration (s, rounded up to whole steps) or a number of steps.

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
        progress
            True for a bar on stderr, or a function of (steps done, steps in all), called about ten times a second.
        """
        steps = self._steps(duration, steps)
        record_every = whole(record_every, "record_every")
        live = self._take(state, steps, record_every, force)
        n, records = self.mechanism.body_count, -(-steps // record_every) + 1
        room = live.room(_flag(checkpoints, "checkpoints"))
        traced = (steps + 1) * self.max_iterations if _flag(increments, "increments") else 0
        refuse_if_too_large(8 * (room + traced), f"recording {records} nodes of {n} bodies", "raise record_every")
        trace = np.zeros((steps + 1, self.max_iterations)) if increments else None
        held = None if control is None else np.zeros((records, n, 6))
        sheet = live.run(
            np.empty(room),
            checkpoints,
            increments=trace,
            control=control,
            held=held,
            poll=watcher(progress, steps),
        )
        # a control may have kept it
        if control is None:
            self._give_back(live, force)
        ended = sheet.ended
        if progress:
            finish(progress, ended.step, steps)
        result = Trajectory.written(
            sheet,
            mechanism=self.mechanism,
            dt=self.dt,
            increments=None if trace is None else trace[: ended.step],
            control=None if held is None else held[: ended.records],
            info=self.run_info(),
            places=self.compiled.counter_places,
            row_count=self.row_count,
            key=live.key,
        )
        if ended.code == _core.StatusCode.done:
            return result
        status = vars(result)["status"] = status_of(self, ended)
        if self.on_failure == "raise":
            raise SimulationError(status, result)
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
            Of bodies that differ between members: {"body": (members,)}, {"body": (members, 3, 3)}.
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
            self._starts(states),
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

    def start_arrays(self, first: State, *, carried: bool = False) -> _core.Start:
        """A state to start from, as the core takes it."""
        if first is not self._described:
            return _core.Start(**start_arrays(self.compiled, [first], carried=carried))
        if self._described_arrays is None:
            self._described_arrays = _core.Start(**start_arrays(self.compiled, [first]))
        return self._described_arrays

    def settings(self, first: State, steps: int, record_every: int) -> _core.Settings:
        """What the core needs to know of a run that begins in a state."""
        return _core.Settings(
            solver=_core.SolverKind[self.solver],
            order=max(self.order, 2),
            dt=self.dt,
            tolerance=self.tolerance,
            iteration_limit=self.max_iterations,
            rescue_depth=RESCUE_DEPTH if self.rescue else 0,
            paper_start=self.order == 1 and not first.reached,
            start_time=first.time,
            steps=steps,
            record_every=record_every,
        )

    def run_info(self) -> _provenance.RunInfo:
        """What a run that ends now is to say of itself."""
        how = (self.solver, self.order, self.dt, self.tolerance, self.max_iterations, self.rescue, self._core.kernel)
        return _provenance.run_info(*how, int(time()))

    def key(self, signal_count: int) -> str:
        """By which it is known whether this simulator can go on bit for bit from what another one left."""
        # the first node of the paper's scheme belongs to its step
        step = f"1 {self.dt!r}" if self.order == 1 else str(self.order)
        return f"{self.compiled.digest} {self.solver} {step} {signal_count}"

    def first(self, state: State | None, key: str) -> tuple[State, Array | None]:
        """The state to start from, checked, and what is carried over from the run that led there, if there was one."""
        if isinstance(state, State):
            carried = state.carried(key)
            if carried is not None:
                # functions are not in the key
                if self.compiled.signals.count or self.compiled.rows:
                    self._refuse_open(state)
                return state, carried
        return self._start(state), None

    # ---- how

    def _take(self, state: State | None, steps: int, record_every: int, force: Forces | None) -> Live:
        """One to run; if it stands idle, and no other thread has taken it, that saves what making one costs."""
        live = self._idle.pop((self.solver, self.order), None) if force is None else None
        if live is None:
            return Live(self, state, steps=steps, record_every=record_every, force=force)
        live.prepare(state, steps, record_every)
        return live

    def _give_back(self, live: Live, force: Forces | None) -> None:
        if force is None:
            self._idle = {live.how: live}

    def _start(self, state: State | None) -> State:
        return self.described if state is None else self.checked(state)

    @property
    def described(self) -> State:
        """The mechanism as described, checked."""
        if self._described is None:
            self._described = self.checked(self.mechanism.state())
        return self._described

    def _starts(self, states: Sequence[State] | int) -> list[State]:
        if isinstance(states, Sequence) and not isinstance(states, str | bytes):
            return [self.checked(state) for state in states]
        return [self.described] * whole(states, "states", most=2**31 - 1)

    def _steps(self, duration: float | None, steps: int | None) -> int:
        if isinstance(duration, State):
            raise ValueError("the state to start from is given by name: run(duration, state=...)")
        if (duration is None) == (steps is None):
            raise ValueError("give exactly one of duration and steps")
        if steps is not None:
            return whole(steps, "steps", least=0)
        number = _number(duration)
        if not 0 <= number < inf:
            raise ValueError(f"duration must be a finite number of seconds, not negative, got {duration!r}")
        return whole(max(0, ceil(min(number / self.dt, 1e15) - 1e-6)), "duration / dt", least=0)

    def _refuse_open(self, state: State) -> bool:
        """Whether joints are open a little; if they are wide open, that is an error."""
        wide = open_joints(self.compiled, state)
        if not wide:
            return False
        size = analysis.extent(state)
        if max(max(gap[0] / size, gap[1]) for gap in wide.values()) > _NEARLY_CLOSED:
            raise AssemblyError(
                f"the state to start from is not closed: {describe(self.mechanism, wide)}; "
                "mechanism.assemble() may close it",
                wide,
            )
        return True

    def checked(self, state: State) -> State:
        """The state to start from: closed, if it nearly was; refused if it is not, or is too fast for dt."""
        if not isinstance(state, State):
            raise ValueError(f"the state to start from must be a State, got {state!r}")
        if list(state.mechanism.bodies) != list(self.mechanism.bodies):
            raise ValueError("the state belongs to another mechanism: its bodies have other names")
        if not (isinstance(state.angles, ByJoint) and state.angles.places == self.compiled.counter_places):
            for name, angles in state.turned.items():
                joint = self.mechanism.joints.get(name)
                finite(angles, (len(joint.angles) if joint else np.size(angles),), f"turned angles of joint {name!r}")
        if stands(self.compiled, state, self._fastest):
            return state
        # a new state is checked, so writes into the arrays of the old one cannot smuggle in a NaN
        state = State(
            self.mechanism,
            state.position,
            state.orientation,
            state.velocity,
            state.angular_velocity,
            time=state.time,
            multipliers=state.multipliers,
            turned=state.angles,
            reached=state.reached,
        )
        if self._refuse_open(state):
            state = self.mechanism.assemble(state)
        refuse_misfit(self.compiled, state)
        refuse_loose_at(state)
        self.refuse_fast(state.angular_velocity)
        return state

    def refuse_fast(self, angular_velocity: Array) -> None:
        """Raise where a body (..., n, 3) is too fast for dt."""
        speed, limit = np.linalg.norm(angular_velocity, axis=-1), self._fastest
        if speed.max(initial=0.0) >= limit:
            name = list(self.mechanism.bodies)[int(speed.argmax()) % self.mechanism.body_count]
            raise ValueError(
                f"body {name!r} turns by |w| dt = {speed.max() * self.dt:.3g} rad in a step; it must be below "
                f"{limit * self.dt:g}: use a smaller dt"
            )

    @property
    def _fastest(self) -> float:
        """At which a body turns too far in the shortest step (rad/s)."""
        return 2.0 ** (1 + (RESCUE_DEPTH if self.rescue else 0)) / self.dt


def watcher(progress: bool | Callable[[int, int], None], steps: int) -> Callable[[int], None] | None:
    """What the core is to call now and then with the number of steps done."""
    if callable(progress):
        return lambda step: progress(step, steps)
    return (lambda step: _bar(step, steps)) if _flag(progress, "progress") else None


def finish(progress: bool | Callable[[int, int], None], done: int, steps: int) -> None:
    """Show that a run has ended."""
    if callable(progress):
        progress(done, steps)
    else:
        _bar(done, steps)
        sys.stderr.write("\n")


def _bar(step: int, steps: int) -> None:
    part = step / steps if steps else 1.0
    sys.stderr.write(f"\r[{'=' * int(40 * part):<40}] {100 * part:3.0f} %")
    sys.stderr.flush()


def _order(order: int) -> int:
    if not isinstance(order, int | np.integer) or order not in _TOLERANCE:
        raise ValueError(f"order must be one of 1, 2, 4, 6, 8, got {order!r}")
    return int(order)


def _number(value: Any) -> float:
    """A number, or NaN for what is none."""
    try:
        return nan if isinstance(value, str | bytes) or np.ndim(value) != 0 else float(value)
    except (TypeError, ValueError, OverflowError):
        return nan


def _positive(value: float, what: str) -> float:
    number = _number(value)
    if not 0 < number < inf:
        raise ValueError(f"{what} must be a positive number, got {value!r}")
    return number


def _flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{what} must be True or False{' or a function' * (what == 'progress')}, got {value!r}")
    return bool(value)


def whole(value: Any, what: str, *, least: int = 1, most: int = 2**50) -> int:
    """Check a count."""
    if type(value) is int and least <= value <= most:
        return value
    number = _number(value)
    if not least <= number <= most or number != int(number):
        bound = f", at most {most}" * (number > most)
        raise ValueError(f"{what} must be a whole number, at least {least}{bound}, got {value!r}")
    return int(number)


def _one_of(value: str, allowed: tuple[str, ...], what: str) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value
