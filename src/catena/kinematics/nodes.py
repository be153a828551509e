"""Nodes: a mechanism at several times as arrays, and how a run computed them. A Trajectory has both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._util.rotation import Array
from .._util.status import Status
from .state import State
from .unwrap import angles_at

if TYPE_CHECKING:
    from .._util.provenance import RunInfo
    from ..compile.row_selection import RowSelection
    from ..describe.mechanism import Mechanism
    from ..simulate.events import Occurrence

# which nodes are meant
Part: TypeAlias = "slice | NDArray[np.bool_] | NDArray[np.intp]"


@dataclass(frozen=True, eq=False)
class Checkpoints:
    """The complete state of the core on which later steps depend: for the last node (1, size), or for each.

    The key identifies the simulators that can resume from it.
    """

    numbers: Array
    key: str

    def part(self, nodes: Part, count: int) -> Checkpoints | None:
        """The checkpoints of some of the nodes."""
        if len(self.numbers) == count:
            return Checkpoints(self.numbers[nodes], self.key)
        taken = np.arange(count)[nodes]
        return self if len(taken) and taken[-1] == count - 1 else None

    def at(self, node: int, count: int) -> tuple[Array, str] | None:
        """The checkpoint of one node."""
        if len(self.numbers) == count:
            return self.numbers[node], self.key
        return (self.numbers[0], self.key) if range(count)[node] == count - 1 else None

    def followed_by(self, last: Checkpoints, count: int) -> Checkpoints:
        """These checkpoints and the one of a further node."""
        if len(self.numbers) != count or last.key != self.key:
            return last
        return Checkpoints(np.concatenate((self.numbers, last.numbers)), self.key)


@dataclass(frozen=True, eq=False, kw_only=True)
class Nodes:
    """A mechanism at several times: arrays whose first axis is `step`, as described in `Trajectory`.

    multipliers are (step, 0) if they were not recorded. turned contains angles (step, k) by joint name; full turns are
    counted relative to them.
    """

    time: Array
    position: Array
    orientation: Array
    velocity: Array
    angular_velocity: Array
    multipliers: Array
    turned: Mapping[str, Array] = field(default_factory=dict)
    inputs: Array | None = None
    # (step, stop) what hard stops exert, in the order of `hard_stops`
    stops: Array | None = None
    # (step, contact with friction, 3) forces in the world frame, in the order of the contacts
    touches: Array | None = None
    control: Array | None = None
    checkpoints: Checkpoints | None = None

    @classmethod
    def of(cls, state: State) -> Nodes:
        """A single node."""
        checkpoint = state._checkpoint
        return cls(
            time=np.array([state.time]),
            position=state.position[None],
            orientation=state.orientation[None],
            velocity=state.velocity[None],
            angular_velocity=state.angular_velocity[None],
            multipliers=np.zeros((1, 0)) if state.multipliers is None else state.multipliers[None],
            turned={name: angles[None] for name, angles in state.turned.items()},
            inputs=None if state.inputs is None else state.inputs[None],
            checkpoints=None
            if checkpoint is None or not checkpoint.fits(state)
            else Checkpoints(checkpoint.numbers[None], checkpoint.key),
        )

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, part: Part) -> Nodes:
        """Some of the nodes, with all their data."""

        def of(name: str) -> Any:
            value = getattr(self, name)
            if isinstance(value, Checkpoints):
                return value.part(part, len(self))
            if isinstance(value, Mapping):
                return angles_at(value, part)
            return None if value is None else value[part]

        return Nodes(**{each.name: of(each.name) for each in fields(self)})

    def followed_by(self, last: Nodes) -> Nodes:
        """These nodes and one more, with the same kinds of data."""

        def of(name: str) -> Any:
            value, more = getattr(self, name), getattr(last, name)
            if isinstance(value, Mapping):
                return {key: np.concatenate((angles, more[key])) for key, angles in value.items()}
            if value is None or more is None:
                return None
            return value.followed_by(more, len(self)) if name == "checkpoints" else np.concatenate((value, more))

        return Nodes(**{each.name: of(each.name) for each in fields(self)})

    def state(self, mechanism: Mechanism, node: int, *, computed: bool = True) -> State:
        """One node as a State; `computed` says that a run computed it."""
        return State(
            mechanism,
            self.position[node],
            self.orientation[node],
            self.velocity[node],
            self.angular_velocity[node],
            time=float(self.time[node]),
            multipliers=self.multipliers[node] if self.multipliers.shape[1] else None,
            turned=angles_at(self.turned, node),
            computed=computed,
            checkpoint=None if self.checkpoints is None else self.checkpoints.at(node, len(self)),
            inputs=None if self.inputs is None else self.inputs[node],
        )


class StopColumns(TypedDict):
    """See `Nodes`."""

    stops: Array
    touches: Array


def stop_columns(multipliers: Array, stops: int, touches: int) -> StopColumns:
    """What hard stops exert, and forces of contacts with friction: the last columns of the multipliers, if any."""
    steps, end = len(multipliers), multipliers.shape[1] - 3 * touches
    if end < stops:
        return {"stops": multipliers[:, :0], "touches": np.zeros((steps, 0, 3))}
    return {"stops": multipliers[:, end - stops : end], "touches": multipliers[:, end:].reshape(steps, touches, 3)}


def _no_steps() -> NDArray[np.int32]:
    return np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, eq=False, kw_only=True)
class Making:
    """How a run computed its nodes, as described in `Trajectory`: data of every step, and of the whole run."""

    dt: float = 0.0
    iterations: NDArray[np.int32] = field(default_factory=_no_steps)
    substeps: NDArray[np.int32] = field(default_factory=_no_steps)
    newton_residual: Array = field(default_factory=lambda: np.zeros(0))
    error: Array | None = None
    # (step, iteration) zero where there were fewer, if the run kept them
    increments: Array | None = None
    # how far off the nodes are at most, if a coarser run was made to compare with
    checked_error: float | None = None
    # of the run's warnings, the sentence on steps that are too coarse
    accuracy_warning: str = ""
    status: Status = field(default_factory=Status)
    info: RunInfo | None = None
    # rows of loops that were enforced, if others than those of the described pose
    selection: RowSelection | None = None
    # that were asked for and happened
    events: list[Occurrence] = field(default_factory=list)
    # (impact, 6): time, which hard stop, impulse, rate before and after, energy lost to friction; None if they were not
    # recorded
    impacts: Array | None = field(default_factory=lambda: np.zeros((0, 6)))
    # substeps that end where a stop is touched, and steps that end at one without that
    cut_count: int = 0
    caught_count: int = 0
    # impacts that gave back less, as they would have created energy
    guarded_count: int = 0

    def cut(self, steps: int, counts: tuple[int, int, int, int], last: Making) -> Making:
        """The data of some steps, followed by the last ones of another.

        They have so many impacts, cuts, catches and guarded impacts.
        """

        def joined(name: str) -> Any:
            value = getattr(self, name)
            return None if value is None else np.concatenate((value[:steps], getattr(last, name)))

        impacts = None
        if self.impacts is not None and last.impacts is not None:
            impacts = np.concatenate((self.impacts[: counts[0]], last.impacts))
        return replace(
            self,
            status=last.status,
            impacts=impacts,
            cut_count=counts[1] + last.cut_count,
            caught_count=counts[2] + last.caught_count,
            guarded_count=counts[3] + last.guarded_count,
            **{name: joined(name) for name in PER_STEP},
        )


# what has one entry per step of a run: recorded by the core, and all
STEP_RECORDS = tuple(name for name, per, *_ in _core.records() if per != "node")
PER_STEP = (*STEP_RECORDS, "increments")
