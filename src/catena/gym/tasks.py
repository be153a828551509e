"""Tasks: observations, actions, rewards and termination, defined once for one mechanism and for many."""

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
    """The current state of a mechanism, or of all members of a batch, whose arrays have the leading axis (member,).

    coordinates and rates (..., coordinate) in the order of `mechanism.coordinates`; inputs (..., input) held during the
    last step, in the order of `mechanism.inputs`; time (...) s; position (..., n, 3), orientation (..., n, 4), velocity
    and angular_velocity (..., n, 3) of the bodies; failed (...), whether the last step failed. The arrays change with
    every step, so copy values that you want to keep.
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
    """Return the View of a live mechanism, or of a batch, for the functions of a task."""
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
    """A reinforcement-learning task: observations, actions, rewards and termination for a mechanism.

    Its functions take a View of one mechanism or of many. With `s.coordinates[..., 0]` instead of `s.coordinates[0]`,
    the same function works for both.

    Parameters
    ----------
    simulator
        The simulator of the mechanism, with a dt.
    inputs
        {"name": (lower, upper)} of the motors and servos that the actions set, in this order. Actions from -1 to 1 map
        to this range; values beyond are clipped. All other inputs stay as described.
    observe
        A function observe(view) that returns the observation (..., k).
    reward
        A function reward(view) that returns the reward (...) of the step that led to the view, which contains the
        inputs of that step.
    terminate
        A function terminate(view) that returns whether the episode ends (...); by default, only a failed step ends it.
    start
        A function start(rng) that returns the initial state of an episode, drawn with a NumPy Generator; default: the
        described state.
    bounds
        Lower and upper bounds of the observation, each (k,) or a number; observations are clipped to them.
    skip
        Number of simulator steps per environment step, during which the inputs are held.
    steps
        Number of environment steps after which an episode is truncated; default: never.
    stage
        A `plot.Stage` that draws the mechanism; default: `plot.Stage(mechanism)`.
    marks
        A function marks(view) that returns points (..., k, 3) to be marked with rings in pictures, such as a target.
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
                raise ValueError(f"bounds of input {name!r} must be (lower, upper), got {bounds!r}")
        if not self.inputs:
            raise ValueError("a task needs at least one input for its actions")
        whole(self.skip, "skip")
        if self.steps is not None:
            whole(self.steps, "steps")

    @property
    def duration(self) -> float:
        """Duration of one step of the environment (s)."""
        return self.simulator.dt * self.skip

    @cached_property
    def columns(self) -> list[int]:
        """Indices of the inputs that the actions set."""
        known = self.simulator.mechanism.inputs
        return [known.index(name) for name in self.inputs]

    @cached_property
    def _ranges(self) -> tuple[Array, Array]:
        """Middle and half width (action,) of what the inputs may be."""
        low, high = np.array(list(self.inputs.values()), dtype=float).T
        return 0.5 * (low + high), 0.5 * (high - low)

    def held(self, actions: ArrayLike, shape: tuple[int, ...]) -> Array:
        """Return the inputs (..., action) that belong to actions from -1 to 1."""
        given = np.asarray(actions, dtype=float)
        if given.shape != shape or not np.isfinite(given).all():
            raise ValueError(f"actions must be finite numbers of the shape {shape}, got {actions!r}")
        middle, half = self._ranges
        found: Array = middle + half * np.minimum(np.maximum(given, -1.0), 1.0)
        return found

    def first(self, random: np.random.Generator) -> State | None:
        """Return the initial state of an episode, or None for the described state."""
        return None if self.start is None else self.start(random)

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Return lower and upper bounds of observations, as arrays."""
        low, high = self.bounds
        return np.asarray(low, dtype=float), np.asarray(high, dtype=float)

    def observation(self, view: View) -> Array:
        """Return the observation as a new array."""
        low, high = self.limits
        found: Array = np.minimum(np.maximum(self.observe(view), low), high)
        return found

    def rewarded(self, view: View, shape: tuple[int, ...]) -> Array:
        """Return the reward with shape () or (member,)."""
        return _of_shape(self.reward(view), shape, "reward")

    def terminated(self, view: View, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return whether the episode ends, with shape () or (member,)."""
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
