"""Env and VectorEnv: tasks as gymnasium environments; the only file that imports gymnasium."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

try:
    import gymnasium
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise ImportError('catena.gym needs gymnasium, which is not installed: pip install "catena[gym]"') from None

from .._util.checks import whole
from .._util.lookup import did_you_mean, there_are
from .._util.rotation import Array
from .._util.status import SimulationError
from ..kinematics.state import State
from ..view.film import Stage
from .ready import READY
from .tasks import Task, View, view_of

Pixels = NDArray[np.uint8]


class Env(gymnasium.Env[Array, Array]):
    """One mechanism with a task as a gymnasium environment.

    Actions are in [-1, 1]. A step that fails ends the episode, with the reason in `info["failure"]`; the mechanism
    stays at its last state. `live` is the mechanism itself. With render_mode="rgb_array", `render` draws it.
    """

    def __init__(self, task: Task, *, render_mode: str | None = None) -> None:
        self.task = task
        self.metadata = _metadata(task)
        self.render_mode = _render_mode(render_mode)
        self.live = task.simulator.start(task.first(np.random.default_rng(0)))
        observation = task.observation(self._view())
        self.observation_space = _observation_space(task, observation.shape)
        self.action_space = _action_space(task)
        self._columns = task.columns
        self._steps = 0
        self._stage: Stage | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start an episode in a state that is drawn with the seed; there are no options."""
        super().reset(seed=_seed(seed))
        self.live.restart(self.task.first(self.np_random))
        self._steps = 0
        return self.task.observation(self._view()), {}

    def step(self, action: Array) -> tuple[Array, SupportsFloat, bool, bool, dict[str, Any]]:
        """Apply an action (action,) for `task.duration`; return observation, reward, terminated, truncated, info."""
        task, live = self.task, self.live
        live.inputs[self._columns] = task.held(action, (len(self._columns),))
        # the status says it
        with suppress(SimulationError):
            live.step(task.skip)
        self._steps += 1
        status = live.status
        view = self._view(failed=not status.ok)
        reward, terminated = float(task.rewarded(view, ())), bool(task.terminated(view, ()))
        truncated = task.steps is not None and self._steps >= task.steps
        info = {} if status.ok else {"failure": status.message}
        return task.observation(view), reward, terminated, truncated, info

    def render(self) -> Any:
        """Return pixels (height, width, 3) of the current state, or None without a render_mode."""
        if self.render_mode is None:
            return None
        self._stage = self._stage or _stage(self.task)
        return _drawn(self.task, self._stage, self._view())

    def _view(self, *, failed: bool = False) -> View:
        return view_of(self.live, failed)


class VectorEnv(gymnasium.vector.VectorEnv[Array, Array, NDArray[Any]]):
    """Many mechanisms with one task as a gymnasium vector environment, stepped together as one batch.

    Member k draws its initial states from its own generator, with seed + k or the k-th of a list of seeds. It therefore
    equals an Env with this seed, to rounding, independently of the other members and of the number of threads.
    `autoreset_mode` is one of gymnasium's; by default, a member whose episode has ended starts the next one in the
    following step, whose action is ignored. `infos["failure"]` contains the messages of members that failed in this
    step.
    """

    def __init__(
        self,
        task: Task,
        num_envs: int,
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
    ) -> None:
        self.task = task
        self.num_envs = whole(num_envs, "num_envs")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = _metadata(task) | {"autoreset_mode": self.autoreset_mode}
        self.render_mode = _render_mode(render_mode)
        first = task.first(np.random.default_rng(0))
        states: Sequence[State] | int = self.num_envs if first is None else [first] * self.num_envs
        self.batch = task.simulator.start_batch(states, threads=threads)
        observation = task.observation(self._view())
        if observation.shape[:1] != (self.num_envs,):
            raise ValueError(
                f"observe must give one row per mechanism, shape ({self.num_envs}, ...), got {observation.shape}: "
                "write s.coordinates[..., 0] for the first coordinate of each"
            )
        self.single_observation_space = _observation_space(task, observation.shape[1:])
        self.single_action_space = _action_space(task)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._columns = task.columns
        self._random = [seeding.np_random()[0] for _ in range(self.num_envs)]
        self._steps = np.zeros(self.num_envs, dtype=int)
        self._ended = np.zeros(self.num_envs, dtype=bool)
        self._stage: Stage | None = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode in all members, or in those of options["reset_mask"] (member,)."""
        if not isinstance(seed, list | tuple | np.ndarray):
            seed = _seed(seed)
            super().reset(seed=seed)
            seed = [None if seed is None else seed + k for k in range(self.num_envs)]
        seeds = [_seed(one) for one in seed]
        if len(seeds) != self.num_envs:
            raise ValueError(f"{self.num_envs} members need as many seeds, got {len(seeds)}")
        mask = np.array((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool)), dtype=bool)
        if mask.shape != (self.num_envs,):
            raise ValueError(f"reset_mask must have the shape ({self.num_envs},), got {mask.shape}")
        for k in np.flatnonzero(mask):
            if seeds[k] is not None:
                self._random[k] = seeding.np_random(seeds[k])[0]
        self._begin(mask)
        return self.task.observation(self._view()), {}

    def step(self, actions: Array) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Apply actions (member, action) for `task.duration`, and return the arrays that gymnasium specifies."""
        task, batch, count = self.task, self.batch, self.num_envs
        batch.inputs[:, self._columns] = task.held(actions, (count, len(self._columns)))
        batch.step(task.skip)
        self._steps += 1

        # those that begin anew have gone on with the others, to no effect
        fresh = self._ended.copy() if self.autoreset_mode == AutoresetMode.NEXT_STEP else np.zeros(count, dtype=bool)
        self._begin(fresh)
        view = self._view()
        observation = task.observation(view)
        reward = np.where(fresh, 0.0, task.rewarded(view, (count,)))
        terminated = task.terminated(view, (count,)) & ~fresh
        truncated = np.zeros(count, dtype=bool) if task.steps is None else self._steps >= task.steps
        self._ended = terminated | truncated
        failed = np.flatnonzero(view.failed & ~fresh).tolist()
        status = batch.status if failed else []
        told: dict[int, dict[str, Any]] = {k: {"failure": status[k].message} for k in failed}
        infos: dict[str, Any] = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._ended.any():
            for k in np.flatnonzero(self._ended).tolist():
                told[k] = {"final_obs": observation[k].copy(), "final_info": told.get(k, {})}
            self._begin(self._ended)
            observation = task.observation(self._view())
        for k, info in told.items():
            infos = self._add_info(infos, info, k)
        return observation, reward, terminated, truncated, infos

    def render(self) -> Any:
        """Return pixels (height, width, 3) of the current state of every member, or None without a render_mode."""
        if self.render_mode is None:
            return None
        stage = self._stage = self._stage or _stage(self.task)
        view = self._view()
        members = (View(*(getattr(view, name)[k] for name in View.__slots__)) for k in range(self.num_envs))
        return tuple(_drawn(self.task, stage, member) for member in members)

    def _begin(self, mask: NDArray[np.bool_]) -> None:
        """Let the members of a mask begin an episode, with states of their own and the described inputs."""
        if not mask.any():
            return
        chosen = np.flatnonzero(mask)
        states = None if self.task.start is None else [self.task.start(self._random[k]) for k in chosen]
        self.batch.reset(chosen, states)
        self._steps[chosen] = 0
        self._ended[chosen] = False

    def _view(self) -> View:
        return view_of(self.batch, self.batch.failed)


# ---- the ready ones


def make_env(task: str, *, render_mode: str | None = None) -> Env:
    """Return a registered environment; called by `gymnasium.make`, which limits its steps."""
    if task not in READY:
        raise ValueError(f"there is no environment {task!r}{did_you_mean(task, READY) or there_are(READY)}")
    return Env(READY[task].make(), render_mode=render_mode)


def make_vector_env(task: str, num_envs: int, *, max_episode_steps: int | None = None, **options: Any) -> VectorEnv:
    """Return a vector environment of a registered task; called by `gymnasium.make_vec`."""
    return VectorEnv(replace(READY[task].make(), steps=max_episode_steps), num_envs, **options)


def register_ready() -> None:
    """Register the environments of this module with gymnasium."""
    for name, ready in READY.items():
        gymnasium.register(
            id=f"catena/{name}-v0",
            entry_point="catena.gym:make_env",
            vector_entry_point="catena.gym:make_vector_env",
            max_episode_steps=ready.steps,
            kwargs={"task": name},
        )


# ---- how


def _metadata(task: Task) -> dict[str, Any]:
    return {"render_modes": ["rgb_array"], "render_fps": round(1 / task.duration)}


def _render_mode(mode: str | None) -> str | None:
    if mode not in (None, "rgb_array"):
        raise ValueError(f"render_mode must be 'rgb_array' or None, got {mode!r}")
    return mode


def _observation_space(task: Task, shape: tuple[int, ...]) -> Any:
    low, high = (np.broadcast_to(bound, shape) for bound in task.limits)
    return gymnasium.spaces.Box(low, high, dtype=np.float64)


def _action_space(task: Task) -> Any:
    return gymnasium.spaces.Box(-1.0, 1.0, (len(task.inputs),), dtype=np.float32)


def _stage(task: Task) -> Stage:
    return task.stage or Stage(task.simulator.mechanism)


def _drawn(task: Task, stage: Stage, view: View) -> Pixels:
    marks = () if task.marks is None else task.marks(view)
    return stage.draw(view.position, view.orientation, title=f"t = {view.time:.2f} s", marks=marks)


def _seed(seed: Any) -> int | None:
    """A seed, checked."""
    return None if seed is None else whole(seed, "seed", least=0)
