"""Tasks: what an environment shows, takes, rewards and ends with, said once for one mechanism and for many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.checks import whole
from .._util.rotation import Array, finite
from ..kinematics.state import State
from ..simulate.simulator import Simulator
from ..view.film import Stage

if TYPE_CHECKING:
    from ..simulate.live import Live
    from ..simulate.live_batch import LiveBatch


@dataclass(slots=True)
class View:
    """Where a mechanism stands, or all members of a batch: then every array has the axis (member,) in front.

    coordinates and rates (..., coordinate) in the order of `mechanism.coordinates`; inputs (..., input) held over the
    last step, in the order of `mechanism.inputs`; time (...) s; position (..., n, 3), orientation (..., n, 4),
    velocity and angular_velocity (..., n, 3) of the bodies; failed (...) whether the last step could not be taken. The
    arrays go on with the mechanism: copy what is to be kept.
    """

    coordinates: Array
    rates: Array
    inputs: Array
    time: Any
    position: Array
    orientation: Array
    velocity: Array
    angular_velocity: Array
    failed: Any


def view_of(at: Live | LiveBatch, failed: bool | NDArray[np.bool_]) -> View:
    """What the functions of a task see of a live mechanism, or of a batch of them."""
    return View(
        at.coordinates,
        at.rates,
        at.inputs,
        at.time,
        at.position,
        at.orientation,
        at.velocity,
        at.angular_velocity,
        failed,
    )


@dataclass(frozen=True)
class Task:
    """What there is to do with a mechanism.

    Its functions take a View and must not care whether it is that of one mechanism or of many: as long as they write
    `s.coordinates[..., 0]` and not `s.coordinates[0]`, they serve both.

    Parameters
    ----------
    simulator
        What runs the mechanism, with its time step.
    inputs
        {"name": (lowest, highest)} of the motors and servos that the actions set, in this order; an action from -1 to 1
        goes from one to the other, and what lies beyond is cut off. All other inputs stay as described.
    observe
        The observation (..., k).
    reward
        Of the step that led to the view (...); the inputs are those that were held over it.
    terminate
        Whether the episode ends here for good (...); by default only a step that cannot be taken ends it.
    start
        State from which an episode begins, drawn with a numpy Generator; by default the described one.
    bounds
        Lowest and highest observation, each (k,) or a number; observations are cut off there.
    skip
        Steps of the simulator per step of the environment, over which the inputs are held.
    steps
        Steps of the environment after which an episode is truncated; by default never.
    stage
        What draws it; by default `plot.Stage(mechanism)`.
    marks
        Points (..., k, 3) to be ringed in pictures, such as a target.
    """

    simulator: Simulator
    inputs: Mapping[str, tuple[float, float]]
    observe: Callable[[View], Array]
    reward: Callable[[View], Any]
    terminate: Callable[[View], Any] | None = None
    start: Callable[[np.random.Generator], State] | None = None
    bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf)
    skip: int = 1
    steps: int | None = None
    stage: Stage | None = None
    marks: Callable[[View], Array] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.simulator, Simulator):
            raise ValueError(f"a task needs a Simulator, got {self.simulator!r}")
        known = self.simulator.mechanism.inputs
        for name, bounds in self.inputs.items():
            if name not in known:
                there = ", ".join(map(repr, known)) or "none: no motor or servo without a function of time"
                raise ValueError(f"there is no input {name!r}; there are {there}")
            low, high = finite(bounds, (2,), f"bounds of input {name!r}")
            if not low < high:
                raise ValueError(f"bounds of input {name!r} must be (lowest, highest), got {bounds!r}")
        if not self.inputs:
            raise ValueError("a task needs at least one input for its actions")
        whole(self.skip, "skip")
        if self.steps is not None:
            whole(self.steps, "steps")

    @property
    def duration(self) -> float:
        """Time (s) of one step of the environment."""
        return self.simulator.dt * self.skip

    @cached_property
    def columns(self) -> list[int]:
        """Which of the mechanism's inputs the actions set."""
        known = self.simulator.mechanism.inputs
        return [known.index(name) for name in self.inputs]

    @cached_property
    def _ranges(self) -> tuple[Array, Array]:
        """Middle and half width (action,) of what the inputs may be."""
        low, high = np.array(list(self.inputs.values()), dtype=float).T
        return 0.5 * (low + high), 0.5 * (high - low)

    def held(self, actions: ArrayLike, shape: tuple[int, ...]) -> Array:
        """Inputs (..., action) that belong to actions from -1 to 1."""
        given = np.asarray(actions, dtype=float)
        if given.shape != shape or not np.isfinite(given).all():
            raise ValueError(f"actions must be finite numbers of the shape {shape}, got {actions!r}")
        middle, half = self._ranges
        found: Array = middle + half * np.minimum(np.maximum(given, -1.0), 1.0)
        return found

    def first(self, random: np.random.Generator) -> State | None:
        """Where an episode begins, or None for the described state."""
        return None if self.start is None else self.start(random)

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Lowest and highest observation, as arrays."""
        low, high = self.bounds
        return np.asarray(low, dtype=float), np.asarray(high, dtype=float)

    def observation(self, view: View) -> Array:
        """What is observed, as an array of its own."""
        low, high = self.limits
        found: Array = np.minimum(np.maximum(self.observe(view), low), high)
        return found

    def rewarded(self, view: View, shape: tuple[int, ...]) -> Array:
        """The reward, of a shape: () or (member,)."""
        return _of_shape(self.reward(view), shape, "reward")

    def terminated(self, view: View, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Whether the episode ends here for good, of a shape: () or (member,)."""
        ended = False if self.terminate is None else self.terminate(view)
        return _of_shape(np.logical_or(ended, view.failed), shape, "terminate")


def _of_shape(value: ArrayLike, shape: tuple[int, ...], what: str) -> NDArray[Any]:
    given = np.asarray(value)
    if given.shape == shape:
        return given
    # the same for all
    if given.shape == ():
        return np.full(shape, given)
    raise ValueError(
        f"{what} must give one number per mechanism, shape {shape}, got shape {given.shape}: "
        "write s.coordinates[..., 0] for the first coordinate of each"
    )
