"""Events: sign changes of a function of the state, detected during a run and located afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from .._util.rotation import Array
from .._util.status import SimulationError
from ..kinematics.state import State
from ..results.trajectory import Trajectory
from .run_steps import run_steps

if TYPE_CHECKING:
    from .control import Control
    from .live import Live
    from .loads import Forces
    from .plan import Plan

# a number of where a mechanism is: `run` calls it with what stands at a node, which reads as a State does
Function: TypeAlias = "Callable[[Any], float]"

# how well an event is located, in parts of the step, and after how many tries at most
_CLOSE, _TRIES = 1e-12, 60


@dataclass(frozen=True, eq=False)
class Event:
    """A zero crossing of function(state): rising (direction 1), falling (-1) or either (0).

    The function is evaluated at every node, so two sign changes within one step are not detected. With stop=True, the
    first occurrence ends the run, and its last node is the event.
    """

    function: Function
    direction: int = 0
    stop: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"an event needs a function of the state, got {self.function!r}")
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"direction of an event must be 1 (rising), -1 (falling) or 0, got {self.direction!r}")

    def value(self, state: State | Live) -> float:
        """Return the value of the function; raise a ValueError if it is not a number."""
        found = self.function(state)
        try:
            number = float(found)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise ValueError(f"the function of an event must return a finite number, got {found!r}")
        return number

    def happens(self, before: float, after: float) -> bool:
        """Return whether two values have different signs; a function that starts at zero has not crossed it."""
        rises, falls = before < 0 <= after, before > 0 >= after
        return (rises and self.direction >= 0) or (falls and self.direction <= 0)


class Occurrence(NamedTuple):
    """An occurrence of an event, and the state at that instant."""

    event: Event
    state: State


def cut(run: Trajectory, node: int, step: Trajectory) -> Trajectory:
    """A run that ends after so many steps with another one, which leads from there to an event."""
    nodes = run.nodes[run.time < step.time[-1]].followed_by(step.nodes[-1:])
    ended = replace(step.status, reason="event", step=node + 1)
    return Trajectory(run.mechanism, nodes, replace(run.made.cut(node, step.made), status=ended))


@dataclass
class _Node:
    """All that a step from a node depends on."""

    index: int
    arrays: tuple[Array, Array, Array, Array]
    time: float
    turned: Array
    checkpoint: Array
    values: list[float]
    inputs: Array | None = None
    forces: Forces | None = None


class Watch:
    """A control that looks for events at every node, around the user's own."""

    def __init__(self, plan: Plan, events: Sequence[Event], control: Control | None) -> None:
        for event in events:
            if not isinstance(event, Event):
                raise ValueError(f"events must be a list of Event, got {event!r}")
        self._plan, self._events, self._control = plan, events, control
        self._node: _Node | None = None
        self._key = ""
        self._found: list[tuple[Event, _Node, float, float]] = []  # with the node before, and the values around

    def __call__(self, time: float, live: Live) -> Forces | None:
        """What the user's control wants to hold from here on."""
        values = [event.value(live) for event in self._events]
        before, self._key = self._node, live.key
        if before is not None:
            for event, was, now in zip(self._events, before.values, values, strict=True):
                if event.happens(was, now):
                    self._found.append((event, before, was, now))
            if any(event.stop for event, node, _, _ in self._found if node is before):
                live._end_run()
                return None
        arrays = (live.position, live.orientation, live.velocity, live.angular_velocity)
        copies = (arrays[0].copy(), arrays[1].copy(), arrays[2].copy(), arrays[3].copy())
        index = 0 if before is None else before.index + 1
        self._node = node = _Node(index, copies, time, live._counted.copy(), live.checkpoint(), values)
        node.forces = None if self._control is None else self._control(time, live)
        node.inputs = live.inputs.copy()
        return node.forces

    # ---- after the run

    def told_of(self, run: Trajectory, force: Forces | None) -> Trajectory:
        """The run with the events that were seen in it, and which ends with one that stops it."""
        found, end = self.located(force)
        if end is not None:
            run = cut(run, *end)
        # the watch took the place of a control
        nodes = run.nodes if self._control else replace(run.nodes, control=None)
        return Trajectory(run.mechanism, nodes, replace(run.made, events=found))

    def located(self, force: Forces | None) -> tuple[list[Occurrence], tuple[int, Trajectory] | None]:
        """All events in the order of their times, and if one ended the run the node before and the step up to it."""
        found = []
        for event, node, was, now in self._found:
            length, step = self._locate(event, node, was, now, force)
            found.append((node.time + length, event, node, step))
        found.sort(key=lambda item: item[0])
        ends = [k for k, (_, event, _, _) in enumerate(found) if event.stop]
        kept = found[: ends[0] + 1] if ends else found
        events = [Occurrence(event, step[-1]) for _, event, _, step in kept]
        return events, (kept[-1][2].index, kept[-1][3]) if ends else None

    def _locate(
        self, event: Event, node: _Node, was: float, now: float, force: Forces | None
    ) -> tuple[float, Trajectory]:
        """How long after a node it happens, and the step from there to the event: false position (Illinois)."""
        dt = self._plan.dt
        low, high, last, side = 0.0, dt, np.inf, 0
        for _ in range(_TRIES):
            length = max(high - now * (high - low) / (now - was), _CLOSE * dt)
            step = self._step(node, length, force)
            if not step.status.ok:
                raise SimulationError(step.status, step)
            value = event.value(step[-1])
            if value == 0 or abs(length - last) <= _CLOSE * dt:
                break
            last = length
            # the end that stays is given half of its weight, or it would stay for ever
            if (value < 0) == (was < 0):
                low, was, now = length, value, now * (0.5 if side < 0 else 1.0)
                side = -1
            else:
                high, now, was = length, value, was * (0.5 if side > 0 else 1.0)
                side = 1
        return length, step

    def _step(self, node: _Node, length: float, force: Forces | None) -> Trajectory:
        """One step of another length from a node, with the same forces and inputs."""

        def again(_time: float, live: Live) -> Forces | None:
            if live.time == node.time:
                live.inputs[:] = node.inputs
            return node.forces

        plan = self._plan
        state = State(
            plan.mechanism,
            *node.arrays,
            time=node.time,
            turned=plan.compiled.by_joint(node.turned),
            computed=True,
            checkpoint=(node.checkpoint, self._key),
        )
        plan = plan.with_step(length, rate=plan.error_rate)
        return run_steps(plan, 1, state=state, loads=force, control=again)
