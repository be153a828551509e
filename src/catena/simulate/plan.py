"""Plan: a compiled mechanism and how it is to be stepped; Simulator, Live, Batch and LiveBatch hold one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from time import time
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from .._util import provenance
from .._util.checks import flag, number, one_of, positive, seconds, whole
from .._util.rotation import Array, finite
from .._util.status import RESCUE_DEPTH, Status
from ..assemble import placeholders
from ..assemble.assembly import close_nearest
from ..assemble.initial_state import checked, refuse_open
from ..assemble.placeholders import lightened
from ..assemble.redundancy import meant_after_all, select_described_rows, select_rows, warn_of
from ..compile.compile import Compiled, start_arrays
from ..compile.row_selection import RowSelection
from ..describe.limits import joint_stops, without_limits
from ..describe.mechanism import Mechanism
from ..describe.plane_contacts import with_plane_contacts
from ..kinematics.state import State
from ..results.accuracy import NOT_ESTIMATED, USUAL_ACCURACY
from .build import Build, Original
from .refinement import per_second

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..results.trajectory import Trajectory

# default tolerance by order: the solver must not spoil what the scheme gains
_TOLERANCE = {1: 1e-10, 2: 1e-10, 4: 1e-12, 6: 1e-12, 8: 1e-12}


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """A compiled mechanism and its settings, which `Simulator` describes; it never changes.

    `given_dt`, `given_order` and `given_tolerance` are what the user gave, None where that was nothing;
    `accuracy_given` tells whether the accuracy is the user's. error_rate is what steps may err by per second, 0 if they
    are not held to it.
    """

    original: Original
    build: Build
    given_dt: float | None
    accuracy: float | None
    accuracy_given: bool
    given_order: int | None
    order: int
    error_rate: float
    given_tolerance: float | None
    tolerance: float
    max_iterations: int
    rescue: bool
    on_failure: str
    on_inaccurate: str
    solver: str
    solver_given: bool
    limits: str

    @property
    def mechanism(self) -> Mechanism:
        """What was compiled; it cannot change any more."""
        return self.build.mechanism

    @property
    def dt(self) -> float:
        """Time step in s, if one was given."""
        if self.given_dt is None:
            raise ValueError("this simulator has no dt: every run chooses its own, which is run.dt")
        return self.given_dt

    @property
    def compiled(self) -> Compiled:
        """The mechanism as the core takes it."""
        return self.build.compiled

    @property
    def core(self) -> _core.Core:
        """The core that was made of it."""
        return self.build.compiled.core

    @property
    def extent(self) -> float:
        """Size of the mechanism as described (m), by which errors are measured."""
        return self.build.extent

    @property
    def law_labels(self) -> list[str]:
        """Forces, limited coordinates and contacts in the order of the core's laws."""
        forces = [force.label for force in self.mechanism.forces.values() for _ in force.parts]
        limited = [f"{joint.label} ({name})" for joint, name, _ in joint_stops(self.mechanism)]
        return forces + limited + [contact.label for contact in self.mechanism.contacts.values()]

    def is_coordinate(self, law: int) -> bool:
        """Whether a law of the core is a limit of a joint coordinate."""
        place = law - sum(len(force.parts) for force in self.mechanism.forces.values())
        limited = joint_stops(self.mechanism)
        return 0 <= place < len(limited) and limited[place][1] in limited[place][0].names

    @property
    def estimates_errors(self) -> bool:
        """Whether errors of steps are estimated."""
        return self.order > 1 and (self.on_inaccurate != "ignore" or self.accuracy is not None)

    @property
    def target_accuracy(self) -> float:
        """What was asked for, or what is asked for where nobody did."""
        return USUAL_ACCURACY if self.accuracy is None else self.accuracy

    # ---- others like it

    def with_step(
        self, dt: float, *, rate: float = 0.0, order: int | None = None, tolerance: float | None = None
    ) -> Plan:
        """The same with a step, and with what steps may err by per second."""
        order = order or self.order
        tolerance = self.given_tolerance or tolerance or _TOLERANCE[order]
        return replace(self, given_dt=dt, error_rate=rate, order=order, tolerance=tolerance)

    def with_period(self, period: float) -> Plan:
        """The same with steps of a length, whose errors are held to the accuracy per second."""
        order = self.given_order or self.build.usual_order(self.accuracy, period)
        return self.with_step(period, rate=per_second(self.accuracy, order), order=order)

    def with_rows(self, rows: RowSelection) -> Plan:
        """The same with these rows of loops."""
        if rows.same_rows(self.compiled.selection):
            return self
        build = self.build.with_rows(rows)
        return replace(self, build=build, solver=self.solver if self.solver_given else build.compiled.solver)

    def of_mechanism(self, mechanism: Mechanism) -> Plan:
        """The same of a mechanism of the same layout, with the same rows of loops."""
        return replace(self, build=Build(mechanism, self.build.kernel, self.compiled.selection))

    def at(self, states: Iterable[State | None]) -> Plan:
        """What runs from states: another one if loops say something else there than where this one ran."""
        if not self.rows_depend_on_poses:
            return self
        rows = select_described_rows(self.mechanism)
        given = [state for state in states if isinstance(state, State)]
        # what a run has led to goes on as it came
        for build in filter(None, (self.build, self.build.other_rows)):
            if any(state.comes_from(build.compiled.digest) for state in given):
                return self.with_rows(build.compiled.selection)
        # poses at which least is left out are those that are not singular by chance
        here = min((select_rows(self.mechanism, s) for s in given), key=lambda a: a.count_left_out, default=rows)
        if not here.same_rows(self.compiled.selection):
            warn_of(self.mechanism, here)
        return self.with_rows(here)

    @property
    def rows_depend_on_poses(self) -> bool:
        """Whether where members start may select other rows of loops than the described pose does."""
        return select_described_rows(self.mechanism).is_doubtful

    @property
    def other_rows(self) -> RowSelection | None:
        """Rows of loops that are enforced, if others than those of the described pose."""
        rows = self.compiled.selection
        return None if rows is select_described_rows(self.mechanism) else rows

    def after(self, run: Trajectory, state: State | None) -> tuple[Plan, State] | None:
        """What enforces rows that a run has left out and were meant, and where it starts; None if there are none."""
        rows = meant_after_all(self.compiled, run)
        if rows is None:
            return None
        start = close_nearest(self.mechanism, rows, self.start_state(state))
        return None if start is None else (self.with_rows(rows), start)

    # ---- where it starts

    @property
    def described(self) -> State:
        """The mechanism as described, checked."""
        if self.build.described is None:
            self.build.described = checked(self, self.mechanism.state())
        return self.build.described

    def start_state(self, state: State | None) -> State:
        """A state to start from, checked; by default the described one."""
        return self.described if state is None else checked(self, state)

    def start_states(self, states: Sequence[State] | int) -> list[State]:
        """Those of the members of a batch, or so many as described."""
        if isinstance(states, Sequence) and not isinstance(states, str | bytes):
            return [checked(self, state) for state in states]
        return [self.described] * whole(states, "states", most=2**31 - 1)

    def resume_state(self, state: State | None, key: str) -> tuple[State, Array | None]:
        """The state to start from, checked, and the checkpoint of the run that led there, if there was one."""
        if isinstance(state, State):
            checkpoint = state.checkpoint(key)
            if checkpoint is not None:
                # functions are not in the key
                if self.compiled.signals.count or self.compiled.rows:
                    refuse_open(self, state)
                return state, checkpoint
        return self.start_state(state), None

    def start_arrays(self, first: State, *, resumes: bool = False) -> _core.Start:
        """A state to start from, as the core takes it."""
        build = self.build
        if first is not build.described:
            return _core.Start(**start_arrays(build.compiled, [first], resumes=resumes))
        if build.described_arrays is None:
            build.described_arrays = _core.Start(**start_arrays(build.compiled, [first]))
        return build.described_arrays

    # ---- how long it runs

    def need_dt(self, what: str) -> None:
        """Raise if there is none."""
        if self.given_dt is None:
            raise ValueError(f"{what}: give the simulator a dt (s), as in Simulator(mechanism, 0.001)")

    def count_steps(self, duration: float | None, steps: int | None) -> int:
        """Steps of a run; without a dt 1, or 0 of one that lasts no time."""
        if isinstance(duration, State | list | tuple):
            raise ValueError(
                "initial states are given by name: run(duration, state=...), run_batch(duration, states=...)"
            )
        if (duration is None) == (steps is None):
            raise ValueError("give exactly one of duration and steps")
        if steps is not None:
            self.need_dt("a number of steps needs a fixed time step")
            return whole(steps, "steps", least=0)
        if self.given_dt is None:
            return 0 if seconds(duration) == 0 else 1
        return whole(max(0, ceil(min(seconds(duration) / self.dt, 1e15) - 1e-6)), "duration / dt", least=0)

    def span(self, duration: float | None, steps: int | None) -> float:
        """How long a run is (s)."""
        return seconds(duration) if duration is not None else self.count_steps(duration, steps) * self.dt

    def record_times(
        self, t_eval: ArrayLike, state: State | None, duration: float | None, steps: int | None
    ) -> tuple[Array, float | None]:
        """Times to be recorded, checked, and how long the run must be if nobody has said."""
        times = finite(t_eval, (np.size(t_eval),), "t_eval")
        start = state.time if isinstance(state, State) else self.mechanism.state().time
        if not len(times) or times[0] < start or (np.diff(times) <= 0).any():
            raise ValueError(f"t_eval must be increasing times, none before the initial state, at {start:g} s")
        if duration is None and steps is None:
            return times, float(times[-1] - start)
        end = start + (seconds(duration) if duration is not None else whole(steps, "steps", least=0) * self.dt)
        if times[-1] > end + 1e-9 * (end - start):
            raise ValueError(f"t_eval ends at {times[-1]:g} s, after the run, which ends at {end:g} s")
        return times, duration

    # ---- what the core and the results need of it

    def settings(self, time: float, computed: bool, steps: int, record_every: int) -> _core.Settings:
        """What the core needs to know of a run from a time on, and from a state that a run has reached, or not."""
        return _core.Settings(
            solver=_core.SolverKind[self.solver],
            order=max(self.order, 2),
            dt=self.dt,
            tolerance=self.tolerance,
            iteration_limit=self.max_iterations,
            rescue_depth=RESCUE_DEPTH if self.rescue else 0,
            estimates=self.estimates_errors,
            size=self.extent,
            error_rate=self.error_rate,
            paper_start=self.order == 1 and not computed,
            start_time=time,
            steps=steps,
            record_every=record_every,
        )

    def key(self, signal_count: int) -> str:
        """By which it is known whether this plan can go on bit for bit from what another one left."""
        # the first node of the paper's scheme belongs to its step
        step = f"1 {self.dt!r}" if self.order == 1 else str(self.order)
        return f"{self.compiled.digest} {self.solver} {step} {signal_count}"

    def run_info(self) -> provenance.RunInfo:
        """What a run that ends now is to say of itself."""
        how = (self.solver, self.order, self.dt, self.tolerance, self.accuracy or 0.0)
        return provenance.run_info(*how, self.max_iterations, self.rescue, self.core.kernel, int(time()))

    def fail_if_inaccurate(self, status: Status, sentence: str) -> Status:
        """How a run ended, if a sentence on too coarse steps makes a failure of it."""
        if not sentence or not status.ok or self.on_inaccurate != "raise":
            return status
        return replace(status, ok=False, reason="inaccurate", message=sentence)


def make_plan(
    mechanism: Mechanism,
    dt: float | None,
    accuracy: float | None,
    solver: str,
    order: int | None,
    tolerance: float | None,
    max_iterations: int,
    rescue: bool,
    on_failure: str,
    on_inaccurate: str,
    limits: str,
    kernel: str | None,
) -> Plan:
    """See Simulator, whose arguments these are; they are checked, and the mechanism is compiled."""
    if not isinstance(mechanism, Mechanism):
        raise ValueError(f"a simulator needs a Mechanism, got {mechanism!r}")
    if mechanism.body_count == 0:
        raise ValueError("the mechanism has no bodies")
    original = Original(mechanism)
    accuracy_given = accuracy is not None
    if dt is None and accuracy is None:
        accuracy = USUAL_ACCURACY
    accuracy = None if accuracy is None else _accuracy(accuracy)
    dt = None if dt is None else positive(dt, "dt")
    given_order = None if order is None else _order(order)
    tolerance = None if tolerance is None else positive(tolerance, "tolerance")
    one_of(on_failure, ("raise", "stop"), "on_failure")
    one_of(on_inaccurate, ("warn", "raise", "ignore"), "on_inaccurate")
    if given_order == 1 and on_inaccurate == "raise":
        raise ValueError(f"{NOT_ESTIMATED}, and on_inaccurate='raise' needs error estimates: use order 2")
    rescue = flag(rescue, "rescue")
    if accuracy is not None and (given_order == 1 or not rescue):
        raise ValueError("an accuracy requires order 2, 4, 6 or 8, and rescue=True")
    max_iterations = whole(max_iterations, "max_iterations", most=2**31 - 1)
    one_of(solver, ("auto", "articulated", "ldu", "dense"), "solver")
    one_of(limits, ("enforce", "ignore"), "limits")
    if kernel is not None and not isinstance(kernel, str):
        raise ValueError(f"kernel must be the name of one, got {kernel!r}")
    snapshot = original.snapshot if limits == "enforce" else without_limits(original.snapshot)
    build = Build(with_plane_contacts(lightened(snapshot)), kernel)
    warn_of(build.mechanism, build.compiled.selection)
    placeholders.warn_of(original.snapshot)
    _refuse_solver(build, solver)
    order = given_order or build.usual_order(accuracy, dt)
    return Plan(
        original=original,
        build=build,
        given_dt=dt,
        accuracy=accuracy,
        accuracy_given=accuracy_given,
        given_order=given_order,
        order=order,
        error_rate=per_second(accuracy, order),
        given_tolerance=tolerance,
        tolerance=tolerance or _TOLERANCE[order],
        max_iterations=max_iterations,
        rescue=rescue,
        on_failure=on_failure,
        on_inaccurate=on_inaccurate,
        solver=build.compiled.solver if solver == "auto" else solver,
        solver_given=solver != "auto",
        limits=limits,
    )


def _refuse_solver(build: Build, solver: str) -> None:
    """Raise where a solver that was asked for cannot take the mechanism."""
    compiled = build.compiled
    turning = compiled.selection.turning
    if turning and solver in ("ldu", "dense"):
        raise ValueError(
            f"solver {solver!r} cannot simulate loops whose redundant directions rotate with the pose "
            f"({', '.join(map(repr, compiled.selection.turning_joints(build.mechanism)))}); use 'articulated'"
        )
    if compiled.loose_in_tree and (solver == "articulated" or turning):
        unheld = ", ".join(map(repr, compiled.loose_in_tree))
        use = "no other solver supports its loops" if turning else "use 'ldu'"
        raise ValueError(
            f"solver 'articulated' cannot simulate massless bodies that are held only by loops of massless bodies "
            f"({unheld}); {use}"
        )


def _order(order: int) -> int:
    if not isinstance(order, int | np.integer) or order not in _TOLERANCE:
        raise ValueError(f"order must be one of 1, 2, 4, 6, 8, got {order!r}")
    return int(order)


def _accuracy(accuracy: float) -> float:
    found = number(accuracy)
    if not 1e-12 <= found <= 0.1:
        raise ValueError(f"accuracy must be a number between 1e-12 and 0.1, got {accuracy!r}")
    return found
