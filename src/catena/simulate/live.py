"""Live: a mechanism that runs step by step, with its complete state in the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._util.lookup import name_of, no_such
from .._util.memory import refuse_if_too_large
from .._util.rotation import Array
from .._util.status import SimulationError, Status, status_of, warn
from .._util.words import Spoken
from ..describe.limits import Limits, hard_stops
from ..kinematics.nodes import Making, Nodes, stop_columns
from ..kinematics.readable import Readable
from ..kinematics.readers import Number
from ..kinematics.state import State
from ..results.accuracy import AccuracyWarning, describe_inaccuracy
from ..results.efforts import ForceHistory, InputEfforts
from ..results.impacts import Impact, impact_rows, impacts_of
from ..results.trajectory import Trajectory
from .accelerations import Accelerations
from .inputs import Inputs
from .linear_step import LinearSteps
from .loads import Forces, held_loads, load_table, plain_forces

if TYPE_CHECKING:
    from ..describe.forces import Force
    from ..describe.joint import Joint
    from ..describe.mechanism import Mechanism
    from ..dynamics.linear import LinearModel
    from ..view.viewer.server import LiveView
    from .plan import Plan
    from .simulator import Simulator


class Running(Spoken, Readable[Number]):
    """What `Live` and `LiveBatch` have in common; arrays of a batch have the leading axis (member,)."""

    _plan: Plan
    _counted: Array
    coordinates: Array
    rates: Array
    inputs: Array

    @property
    def mechanism(self) -> Mechanism:
        """The simulator's copy of the mechanism; it cannot be changed."""
        return self._plan.mechanism

    @property
    def simulator(self) -> Simulator:
        """The simulator that started it."""
        from .simulator import Simulator

        return Simulator.of(self._plan)

    @property
    def efforts(self) -> Array:
        """Efforts of motors and servos (..., input), N m or N, by `mechanism.inputs`, with the current inputs."""
        return self._efforts(self.coordinates, self.rates, self.inputs)

    @cached_property
    def inputs_by_name(self) -> Inputs:
        """The values of `inputs` by the names of motors and servos: numbers, or arrays (member,) in a batch."""
        return Inputs(self.inputs, self.mechanism.inputs)

    def set(self, values: Mapping[str, ArrayLike] = MappingProxyType({}), /, **named: ArrayLike) -> None:
        """Set inputs by name, from the next step on: `set(knee=3.0)` or `set({"left knee": 3.0})`.

        Other inputs do not change. In a batch, each value is one number for all members, or an array (member,).
        """
        if not isinstance(values, Mapping):
            raise ValueError(
                f"set takes inputs by name, as in set(knee=3.0), got {values!r}; `inputs` holds all of them in order"
            )
        self.inputs_by_name.update(values, **named)

    @cached_property
    def _efforts(self) -> InputEfforts:
        return InputEfforts(self.mechanism)

    @property
    def turned(self) -> Mapping[str, Array]:
        """Angles (..., k) of joints, including full turns, by joint name."""
        return self._plan.compiled.by_joint(self._counted)

    def _as_nodes(self, status: Status, multipliers: Array) -> Trajectory:
        """A copy of the node, or of those of all members, as a trajectory; multipliers (node, k) may be missing."""
        axes, count = np.ndim(self.time), np.size(self.time)

        def rows(array: Array | float) -> Array:
            return np.array(array).reshape(count, *np.shape(array)[axes:])

        plan = self._plan
        nodes = Nodes(
            time=rows(self.time),
            position=rows(self.position),
            orientation=rows(self.orientation),
            velocity=rows(self.velocity),
            angular_velocity=rows(self.angular_velocity),
            multipliers=multipliers[:, : plan.build.row_count],
            **stop_columns(multipliers, plan.build.stop_count, plan.build.touch_count),
            turned={name: rows(angles) for name, angles in self.turned.items()},
            inputs=rows(self.inputs),
        )
        made = Making(dt=plan.dt, status=status, info=plan.run_info(), selection=plan.other_rows)
        return Trajectory(self.mechanism, nodes, made)

    @property
    def _rows(self) -> Mapping[str, int]:
        return self.mechanism.rows()

    @cached_property
    def _joint_places(self) -> Mapping[str, slice]:  # type: ignore[override]
        return self.mechanism.coordinate_places()


class _Start(TypedDict):
    settings: _core.Settings
    start: _core.Start
    checkpoint: Array | None


class Live(Running[float], _core.Live):
    """A mechanism that runs step by step; created by `simulator.start(state)`.

    time (s), position (n, 3), orientation (n, 4), velocity (n, 3) and angular_velocity (n, 3) of the bodies, and
    coordinates and rates (coordinate,) of the joints, in the order of `mechanism.coordinates`, are those of the current
    node. They are read-only views that change with every step, so copy values that you want to keep. `inputs` (input,),
    in the order of `mechanism.inputs`, can be written; new values take effect in the next step. `set(knee=3.0)` sets
    inputs by name, and `inputs_by_name` reads them.

    Steps give the same trajectory as one run, bit for bit. `tally` describes the last call of `step`: Newton
    `iterations`, `substeps` (equal to the number of steps if none was halved) and the largest `newton_residual` (m/s
    and rad/s). `error` is the sum of the estimated errors of all steps since the start or `restart`, relative to the
    mechanism's size or in rad. The first step that is too coarse issues a warning, as in `run`.
    """

    def __init__(
        self,
        plan: Plan,
        state: State | None = None,
        *,
        steps: int = 0,
        record_every: int = 1,
        loads: Forces | None = None,
    ) -> None:
        self._plan = plan
        self._begun = state
        compiled = plan.compiled
        self._signals = compiled.signals.extended()
        table = load_table(plan.mechanism, loads, steps, self._signals).arrays()
        workspace = compiled.core.workspace_size(_core.SolverKind[plan.solver], max(plan.order, 2))
        advice = "use 'ldu'" if plan.solver != "ldu" else "it is too large for this machine"
        refuse_if_too_large(workspace, f"the workspace of solver {plan.solver!r}", advice)
        begins = self._start(plan, state, steps, record_every)
        super().__init__(
            core=compiled.core,
            loads=table,
            rows=compiled.rows,
            signals=self._signals.read,
            signal_count=self._signals.count,
            inputs=compiled.input_places,
            **begins,
        )

    def _start(self, plan: Plan, state: State | None, steps: int, record_every: int) -> _Start:
        key = plan.key(self._signals.count)
        first, checkpoint = plan.resume_state(state, key)
        self.key, self.how = key, (plan.solver, plan.order)
        return {
            "settings": plan.settings(first.time, first.computed, steps, record_every),
            "start": plan.start_arrays(first, resumes=checkpoint is not None),
            "checkpoint": checkpoint,
        }

    def _prepare(self, plan: Plan, state: State | None, steps: int, record_every: int) -> None:
        """Make ready for another run, under no forces, by a plan whose loops may have other rows."""
        begins, compiled = self._start(plan, state, steps, record_every), plan.compiled
        if compiled is not self._plan.compiled:
            self._enter(core=compiled.core, solver=_core.SolverKind[plan.solver], rows=compiled.rows)
        self._plan, self._begun = plan, state
        self._moved_limits.clear()
        self._put(loads=self._no_loads, **begins)

    @cached_property
    def _no_loads(self) -> _core.LoadArrays:
        return load_table(self.mechanism, None, 0, self._signals).arrays()

    # ---- going on

    def restart(self, state: State | None = None) -> None:
        """Restart at a state, by default the one of the last start, with the inputs of that state and no loads held.

        If the state was computed by a run or a Live of this simulator, the steps continue from it bit for bit.
        """
        if state is not None and not isinstance(state, State):
            raise ValueError(f"a live mechanism restarts from a State, got {state!r}")
        begun = self._begun if state is None else state.copy()
        self._prepare(self._plan.at([begun]), begun, 0, 1)
        self._stand()

    def _stand(self) -> None:
        """Find the node from which it goes on; called by whoever makes one."""
        if not self._begin():
            self._fail()

    def hold(self, forces: Forces | None) -> None:
        """Apply loads to bodies in all following steps, in the forms of `run(loads=)`; None ends them.

        Half of their impulse acts at either end of every step.
        """
        # an array as it is, which takes no time
        plain = forces if isinstance(forces, np.ndarray) else plain_forces(self.mechanism, forces)
        if plain is not None and plain.ndim == 2 and plain.dtype.char == "d" and self._hold_array(plain):
            return
        values, point, in_body_frame = held_loads(self.mechanism, forces)
        self._hold_arrays(values=values, point=point, in_body_frame=in_body_frame)

    def set_limits(
        self,
        joint: str | Joint,
        *,
        lower: float | None = None,
        upper: float | None = None,
        coordinate: str | None = None,
    ) -> None:
        """Move hard limits of a joint coordinate from here on: `set_limits("door", upper=0.0)` locks a closed door.

        A limit that is not given stays. What stands at a limit and moves against it bounces at once; if a control
        function moves the limit, when that returns. A coordinate that is beyond the limit is refused. The mechanism
        keeps its own limits, which hold again after `restart`; states do not contain those that are set here.
        """
        if isinstance(joint, Mapping):
            raise ValueError(f"set_limits takes one joint, as in set_limits('door', upper=0.0), got {joint!r}")
        label, place, limits, value = self._limited(name_of(joint), coordinate)
        asked = replace(
            limits, lower=limits.lower if lower is None else lower, upper=limits.upper if upper is None else upper
        )
        # within what counts as a start at its limit
        if asked.beyond(value) > 1e-9:
            raise ValueError(
                f"set_limits: {label} is at {value:.6g}, {asked.beyond(value):.3g} beyond the limits "
                f"{asked.lower:.6g} to {asked.upper:.6g}; move it there first"
            )
        self._moved_limits[place] = asked
        self._put_bounds(place, asked.lower, asked.upper)
        if not self._rebound():
            self._fail()

    def _limited(self, name: str, coordinate: str | None) -> tuple[str, int, Limits, float]:
        """Label of a joint with hard limits, its place among the stops, the limits as they are, and the coordinate."""
        if name not in self.mechanism.joints:
            raise no_such("joint", name, self.mechanism, "set_limits: ")
        joint = self.mechanism.joints[name]
        stops = hard_stops(self.mechanism)
        names = [key for found, key, _ in stops if found is joint]
        if coordinate is None and len(names) == 1:
            coordinate = names[0]
        if coordinate not in names:
            known = " and ".join(map(repr, names)) or "none"
            raise ValueError(
                f"set_limits: {joint.label} has no hard limits of {coordinate!r}, only of these coordinates: {known}; "
                f"give the mechanism wide limits before you create the simulator"
            )
        place = [(found, key) for found, key, _ in stops].index((joint, coordinate))
        value = float(self.joint(name).coordinates[joint.names.index(coordinate)])
        return f"{joint.label} ({coordinate})", place, self._moved_limits.get(place, stops[place][2]), value

    @cached_property
    def _moved_limits(self) -> dict[int, Limits]:
        """Limits that have been moved, by their place among the stops."""
        return {}

    def copy(self) -> Live:
        """Return an independent copy at the same node, with the same inputs and loads."""
        other = Live(self._plan, self.state())
        for place, limits in self._moved_limits.items():
            other._moved_limits[place] = limits
            other._put_bounds(place, limits.lower, limits.upper)
        other._hold_as(self)
        other._stand()
        other.inputs[:] = self.inputs
        return other

    # ---- reading

    @property
    def status(self) -> Status:
        """Whether steps can be taken (`ok`), or why the last step failed."""
        return status_of(self._plan, self._ended)

    def state(self) -> State:
        """Return the current node as a State, from which this or another simulator can start."""
        return State(
            self.mechanism,
            *self._motion,
            time=self.time,
            turned=self.turned,
            computed=True,
            checkpoint=(self.checkpoint(), self.key),
            inputs=self.inputs,
        )

    @property
    def impacts(self) -> tuple[Impact, ...]:
        """Impacts at hard limits in the last call of `step`, as in `run.impacts`."""
        return impacts_of(self.mechanism, impact_rows(self._impacts(), self.mechanism))

    def multipliers(self) -> Array:
        """Return the multipliers (rows,) of joints and couplings at the current node, as a run records them.

        To compute them takes one step, which is then undone.
        """
        return self._all_multipliers()[: self._plan.build.row_count]

    def linearize(self) -> LinearModel:
        """Return the linear model of the next step, with the current inputs; see `Simulator.linearize`."""
        return self._linear_steps.at(self)

    @cached_property
    def _linear_steps(self) -> LinearSteps:
        return LinearSteps(self._plan)

    def accelerations(self) -> tuple[Array, Array]:
        """Return accelerations (n, 3) in m/s^2 and angular accelerations (n, 3) in rad/s^2 of all bodies, world frame.

        They are the exact solution of the equations of motion at the current node, with the current inputs and loads.
        Limits and contacts without friction act as they do just after the node. While a contact with friction is
        closed, a ValueError is raised. For one body or a point on it, use `live.body(name)`.
        """
        return self._accelerations(slice(None))

    def _accelerations(self, row: int | slice) -> tuple[Array, Array]:
        if self.failed:
            raise SimulationError(self.status, self._seen())
        linear, angular = self._equations.at(self, self._moved_limits)
        return linear[row], angular[row]

    @cached_property
    def _equations(self) -> Accelerations:
        return Accelerations(self)

    def force(self, name: str | Force) -> LiveForce:
        """Return a force at the current node, given by name or as an object: `live.force("spring").effort[0]`."""
        node = self._seen()
        return LiveForce(node, node.force(name).force)

    # ---- watching

    def show(
        self,
        *,
        traces: Iterable[str] | None = (),
        control: Callable[[Live], None] | None = None,
        inputs: Mapping[str, tuple[float, float]] = MappingProxyType({}),
        port: int = 8080,
        browser: bool = True,
    ) -> LiveView:
        """Show the mechanism in a browser with viser (catena[view]), with sliders for inputs and joint coordinates.

        The play button of the page runs it in real time and calls `control(live)` before every step; meanwhile, it
        cannot be stepped from Python. To run it from your own loop, call `update()` of the returned viewer after every
        step. `inputs` maps names to ranges (lower, upper) of their sliders. `traces`, `port` and `browser` are those of
        `Trajectory.show`.
        """
        from ..view.viewer.server import show_live

        return show_live(self, traces, port, browser, control, inputs)

    def __repr__(self) -> str:
        count = self.mechanism.body_count
        failed = f", stopped: {self.status.message}" if self.failed else ""
        return f"Live({count} {'body' if count == 1 else 'bodies'}, t = {self.time:g} s{failed})"

    # ---- how

    def _look(self, steps: int) -> None:
        """What is the matter with the last steps."""
        if self.status.ok and self._plan.on_inaccurate != "ignore":
            warning = describe_inaccuracy(self._plan, self.tally, steps)
            if self._plan.on_inaccurate == "raise" and warning:
                raise SimulationError(self._plan.fail_if_inaccurate(self.status, warning), self._seen())
            if warning:
                warn(AccuracyWarning(warning))
        elif not self.status.ok:
            self._fail()

    def _fail(self) -> None:
        if self._plan.on_failure == "raise":
            raise SimulationError(self.status, self._seen())

    def _seen(self, reactions: bool = False) -> Trajectory:
        return self._as_nodes(self.status, self._all_multipliers()[None] if reactions else np.zeros((1, 0)))


def take(plan: Plan, state: State | None, steps: int, record_every: int, loads: Forces | None) -> Live:
    """Return an idle Live of the simulator if there is one, which saves the cost of creating one; else a new one."""
    live = plan.build.idle.pop((plan.solver, plan.order), None) if loads is None else None
    if live is None:
        return Live(plan, state, steps=steps, record_every=record_every, loads=loads)
    live._prepare(plan, state, steps, record_every)
    return live


def give_back(plan: Plan, live: Live, loads: Forces | None) -> None:
    """Make a Live available for the next run."""
    if loads is None:
        plan.build.idle[live.how] = live


def start(plan: Plan, state: State | None) -> Live:
    """See Simulator.start."""
    # to which it may be asked to return
    live = Live(plan, state.copy() if isinstance(state, State) else state)
    live._stand()
    return live


def single_step(plan: Plan, state: State | None, loads: Forces | None) -> State:
    """See Simulator.step."""
    live = take(plan, state, 1, 1, loads)
    live._stand()
    live.step()
    found = live.state()
    give_back(plan, live, loads)
    return found


class LiveForce(ForceHistory):
    """One force of a live mechanism at its current node."""

    @property
    def work(self) -> Array:
        """Not available: a live mechanism does not record its motion."""
        raise ValueError(
            f"{self.force.label} of a live mechanism has no work: add up its power, or simulate with run(control=...)"
        )
