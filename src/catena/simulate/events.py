"""Events: zero crossings of a function of the state, coordinates that reach a limit, and contacts that close.

They are detected during a run and located afterwards. Every event is watched as crossings, sign changes that are looked
for between two nodes, or as arrivals, impacts whose instants the core reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from .._util.checks import one_of
from .._util.lookup import looked_up, name_of
from .._util.rotation import Array
from .._util.status import SimulationError
from ..describe.limits import Limits, law_numbers, stops_of
from ..kinematics.state import State
from ..results.trajectory import Trajectory
from .run_steps import run_steps

if TYPE_CHECKING:
    from ..describe.contacts import Contact
    from ..describe.joint import Joint
    from ..describe.mechanism import Mechanism
    from .control import Control
    from .live import Live
    from .loads import Forces
    from .plan import Plan

# a number of where a mechanism is: `run` calls it with what stands at a node, which reads as a State does
Function: TypeAlias = "Callable[[Any], float]"

# how well an event is located, in parts of the step, and after how many tries at most
_CLOSE, _TRIES = 1e-12, 60

# how far from an impact, in parts of the step, the state before it is looked at, and by how much a step that is to
# end with an impact is longer than the way there (simulate/rescue.hpp ends such a step with the impact)
_BEFORE, _BEYOND = 1e-7, 1e-10

# slower than that, rad/s or m/s, nothing arrives: what holds a limit is pressed on by other impacts
_SLOWEST = 1e-12


@dataclass(frozen=True, eq=False)
class Event:
    """A zero crossing of function(state): rising (direction 1), falling (-1) or either (0).

    The function is evaluated at every node, so two sign changes within one step are not detected. If an impact changes
    the sign, the event is at the impact, in the state after it. With stop=True, the first occurrence ends the run, and
    its last node is the event.
    """

    function: Function
    direction: int = 0
    stop: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"an event needs a function of the state, got {self.function!r}")
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"direction of an event must be 1 (rising), -1 (falling) or 0, got {self.direction!r}")

    def _watched(self, _mechanism: Mechanism) -> list[_Crossing | _Arrival]:
        return [_Crossing(self, self.function, self.direction)]


@dataclass(frozen=True, eq=False)
class AtLimit:
    """Where a joint coordinate reaches one of its limits: `side` "lower", "upper" or "either".

    At hard limits every impact of the coordinate is an event, also if there are several in a step, in the state after
    it. At soft limits the event is where the range is left. A run that begins at a limit has not reached it. Of a joint
    with several coordinates, `coordinate` names one. With stop=True the first event ends the run.
    """

    joint: str | Joint
    side: Literal["lower", "upper", "either"] = "either"
    coordinate: str | None = None
    stop: bool = False

    def __post_init__(self) -> None:
        one_of(self.side, ("lower", "upper", "either"), "side")
        object.__setattr__(self, "joint", name_of(self.joint))

    def _watched(self, mechanism: Mechanism) -> list[_Crossing | _Arrival]:
        name = name_of(self.joint)
        joint: Joint = looked_up("joint", name, mechanism)
        known = joint.coordinate_names
        if self.coordinate is not None and self.coordinate not in known:
            there = ", ".join(known) or "none"
            raise ValueError(f"AtLimit: {joint.label} has no coordinate {self.coordinate!r}; it has {there}")
        lower, upper = self.side != "upper", self.side != "lower"
        found: list[_Crossing | _Arrival] = []
        for law, (item, key, limits) in zip(law_numbers(mechanism), stops_of(mechanism), strict=True):
            if item is not joint or self.coordinate not in (None, key):
                continue
            own = replace(limits, lower=limits.lower if lower else -np.inf, upper=limits.upper if upper else np.inf)
            if not own.stops:
                continue
            if own.hard:
                found.append(_Arrival(self, law, lower, upper))
            else:
                found.append(_Crossing(self, _room(name, known.index(key), own), -1))
        if not found:
            bound = "limits" if self.side == "either" else f"{self.side} limit"
            raise ValueError(
                f"AtLimit: {joint.label} has no {bound}{f' of {self.coordinate!r}' * bool(self.coordinate)} in this "
                "run; set joint.limits, and do not run with limits='ignore'"
            )
        return found


@dataclass(frozen=True, eq=False)
class Touch:
    """Where a contact closes: every impact of it is an event, in the state after the impact.

    A run that begins with the contact closed has no event there. With stop=True the first event ends the run.
    """

    contact: str | Contact
    stop: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "contact", name_of(self.contact))

    def _watched(self, mechanism: Mechanism) -> list[_Crossing | _Arrival]:
        contact = looked_up("contact", self.contact, mechanism)
        numbers = zip(law_numbers(mechanism), stops_of(mechanism), strict=True)
        return [_Arrival(self, law, lower=True, upper=False) for law, stop in numbers if stop.item is contact]


def _room(joint: str, index: int, limits: Limits) -> Function:
    """How far a coordinate is from its limits; negative beyond them."""

    def room(state: State) -> float:
        value = float(state.joint(joint).coordinates[index])
        return min(limits.upper - value, value - limits.lower)

    return room


AnyEvent: TypeAlias = Event | AtLimit | Touch


@dataclass(frozen=True, eq=False)
class _Crossing:
    """A function that is watched for changes of its sign, on behalf of an event."""

    event: Event | AtLimit
    function: Function
    direction: int

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


@dataclass(frozen=True, eq=False)
class _Arrival:
    """A stop, by the number of its law, whose impacts are watched, at one of its bounds or both."""

    event: AtLimit | Touch
    law: int
    lower: bool
    upper: bool

    def has(self, law: int, approach: float) -> bool:
        """Whether an impact is one of them."""
        return law == self.law and ((self.upper and approach > _SLOWEST) or (self.lower and approach < -_SLOWEST))


class Occurrence(NamedTuple):
    """An occurrence of an event, and the state at that instant."""

    event: AnyEvent
    state: State


@dataclass
class _Node:
    """All that a step from a node depends on, and the numbers of impacts, cuts and catches up to it."""

    index: int
    arrays: tuple[Array, Array, Array, Array]
    time: float
    turned: Array
    checkpoint: Array
    values: list[float]
    counts: tuple[int, int, int]
    # instants of the impacts in the step from here
    impacts: list[float] = field(default_factory=list)
    inputs: Array | None = None
    forces: Forces | None = None


def _cut(run: Trajectory, node: _Node, step: Trajectory) -> Trajectory:
    """A run that ends, after the steps up to a node, with another one, which leads from there to an event."""
    nodes = run.nodes[run.time < step.time[-1]].followed_by(step.nodes[-1:])
    ended = replace(step.status, reason="event", step=node.index + 1)
    return Trajectory(run.mechanism, nodes, replace(run.made.cut(node.index, node.counts, step.made), status=ended))


class _Found(NamedTuple):
    """What has happened in the step from a node: a crossing with the values around it, or an arrival at a time."""

    watched: _Crossing | _Arrival
    node: _Node
    around: tuple[float, float] = (0.0, 0.0)
    time: float = 0.0


class Watch:
    """A control that looks for events at every node, around the user's own."""

    def __init__(self, plan: Plan, events: Sequence[AnyEvent], control: Control | None) -> None:
        if not isinstance(events, Sequence):
            raise ValueError(f"events must be a list, as in events=[event], got {events!r}")
        for event in events:
            if not isinstance(event, AnyEvent):
                raise ValueError(f"events must be a list of Event, AtLimit and Touch, got {event!r}")
        watched = [each for event in events for each in event._watched(plan.mechanism)]
        self._crossings = [each for each in watched if isinstance(each, _Crossing)]
        self._arrivals = [each for each in watched if isinstance(each, _Arrival)]
        self._plan, self._control = plan, control
        self._node: _Node | None = None
        self._key = ""
        self._found: list[_Found] = []

    def __call__(self, time: float, live: Live) -> Forces | None:
        """What the user's control wants to hold from here on."""
        values = [each.value(live) for each in self._crossings]
        before, self._key = self._node, live.key
        tally = live.tally
        if before is not None:
            for each, was, now in zip(self._crossings, before.values, values, strict=True):
                if each.happens(was, now):
                    self._found.append(_Found(each, before, (was, now)))
            if tally.impacts > before.counts[0]:
                self._see(before, live._impacts(before.counts[0]))
            if any(found.watched.event.stop for found in self._found if found.node is before):
                live._end_run()
                return None
        arrays = (live.position, live.orientation, live.velocity, live.angular_velocity)
        copies = (arrays[0].copy(), arrays[1].copy(), arrays[2].copy(), arrays[3].copy())
        index = 0 if before is None else before.index + 1
        counts = (tally.impacts, tally.cut, tally.caught)
        self._node = node = _Node(index, copies, time, live._counted.copy(), live.checkpoint(), values, counts)
        node.forces = None if self._control is None else self._control(time, live)
        node.inputs = live.inputs.copy()
        return node.forces

    def _see(self, node: _Node, impacts: Sequence[tuple[float, int, float, float, float]]) -> None:
        """Impacts of the step that has led from a node to the next."""
        node.impacts = sorted({instant for instant, *_ in impacts})
        for instant, law, _, approach, _ in impacts:
            self._found += [_Found(each, node, time=instant) for each in self._arrivals if each.has(law, approach)]

    # ---- after the run

    def told_of(self, run: Trajectory, force: Forces | None) -> Trajectory:
        """The run with the events that were seen in it, and which ends with one that stops it."""
        found, end = self.located(force)
        if end is not None:
            run = _cut(run, *end)
        # the watch took the place of a control
        nodes = run.nodes if self._control else replace(run.nodes, control=None)
        return Trajectory(run.mechanism, nodes, replace(run.made, events=found))

    def located(self, force: Forces | None) -> tuple[list[Occurrence], tuple[_Node, Trajectory] | None]:
        """All events in the order of their times, and if one ended the run the node before and the step up to it."""
        found = []
        for watched, node, around, time in self._found:
            if isinstance(watched, _Crossing):
                length, step = self._locate(watched, node, *around, force)
            else:
                length, step = self._at_impact(node, time, force)
            found.append((node.time + length, watched.event, node, step))
        found.sort(key=lambda item: item[0])
        ends = [k for k, (_, event, _, _) in enumerate(found) if event.stop]
        kept = found[: ends[0] + 1] if ends else found
        events = [Occurrence(event, step[-1]) for _, event, _, step in kept]
        return events, (kept[-1][2], kept[-1][3]) if ends else None

    def _at_impact(self, node: _Node, time: float, force: Forces | None) -> tuple[float, Trajectory]:
        """How long after a node an impact is, and the step that ends with it."""
        length = min((time - node.time) * (1 + _BEYOND), self._plan.dt)
        return length, self._step(node, length, force)

    def _locate(
        self, crossing: _Crossing, node: _Node, was: float, now: float, force: Forces | None
    ) -> tuple[float, Trajectory]:
        """How long after a node it happens, and the step from there to the event: false position (Illinois)."""
        dt = self._plan.dt
        low, high, last, side = 0.0, dt, np.inf, 0
        for instant in node.impacts:
            # what impacts change jumps: from one to the next it is smooth
            length, step = self._at_impact(node, instant, force)
            early = max(length - _BEFORE * dt, 0.5 * (low + length))
            value = crossing.value(self._step(node, early, force)[-1])
            if crossing.happens(was, value):
                high, now = early, value
                break
            after = crossing.value(step[-1])
            if crossing.happens(was, after) or crossing.happens(value, after):
                return length, step
            low, was = length, after
        for _ in range(_TRIES):
            length = max(high - now * (high - low) / (now - was), _CLOSE * dt)
            step = self._step(node, length, force)
            value = crossing.value(step[-1])
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
        step = run_steps(plan, 1, state=state, loads=force, control=again)
        if not step.status.ok:
            raise SimulationError(step.status, step)
        return step
