"""Environments: they go the way of the simulator, the same way twice, never break, and look as gymnasium wants them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catena as ct

gymnasium = pytest.importorskip("gymnasium", reason="catena.gym needs gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

from catena import gym  # noqa: E402
from catena.gym.ready import READY  # noqa: E402

LIMIT = 3.0


def swinging(**changes: Any) -> gym.Task:
    """A pendulum of two links with a motor at either hinge, of which the actions set the lower one."""
    m = ct.scenes.pendulum(2, "revolute", angle=0.5)
    m.add_force(ct.Motor("joint1", 0.2, name="upper"))
    m.add_force(ct.Motor("joint2", 0.0, name="lower"))

    def start(random: np.random.Generator) -> ct.State:
        state = m.state()
        state.coordinates = random.uniform(-1, 1, 2)
        return state

    task = gym.Task(
        ct.Simulator(m, dt=0.01),
        inputs={"lower": (-LIMIT, LIMIT)},
        observe=lambda s: np.concatenate((s.coordinates, s.rates, np.asarray(s.time)[..., None]), axis=-1),
        reward=lambda s: -(s.coordinates[..., 0] ** 2) - 0.1 * s.inputs[..., 1] ** 2,
        terminate=lambda s: s.coordinates[..., 1] > 1.5,
        start=start,
        skip=3,
    )
    return replace(task, **changes)


def breaking(**changes: Any) -> gym.Task:
    """The same with a motor that no step can follow."""
    m = ct.scenes.pendulum(2, "revolute", angle=0.5)
    m.add_force(ct.Motor("joint2", 0.0, name="lower"))
    simulator = ct.Simulator(m, dt=0.05, rescue=False, on_failure="raise")
    changes = {"simulator": simulator, "inputs": {"lower": (-1e5, 1e5)}, "start": None, "terminate": None} | changes
    return swinging(reward=lambda s: np.where(s.failed, -7.0, 1.0), **changes)


def episode(env: Any, seed: int | None, count: int = 50) -> list[Any]:
    """What comes out of a seeded episode with seeded actions, as plain numbers."""
    observation, info = env.reset(seed=seed)
    found: list[Any] = [observation.tolist(), info]
    random = np.random.default_rng(7)
    for _ in range(count):
        observation, *rest = env.step(random.uniform(-1, 1, env.action_space.shape))
        found.append((observation.tolist(), *rest))
        if rest[1] or rest[2]:
            break
    return found


# ---- one mechanism


def test_an_environment_goes_the_way_of_the_simulator() -> None:
    task = swinging(terminate=None)
    env = gym.Env(task)
    env.reset(seed=3)
    actions = np.random.default_rng(0).uniform(-1, 1, 20)
    first = env.live.state()

    def control(t: float, live: ct.Live) -> None:
        live.set(lower=LIMIT * actions[min(int(t / 0.03 + 0.5e-6), 19)])

    run = task.simulator.run(steps=60, state=first, control=control)
    for k, action in enumerate(actions):
        observation, reward, *_ = env.step(np.array([action]))
        node = run[3 * (k + 1)]
        # of joint coordinates Python and the core may round differently
        np.testing.assert_allclose(observation, (*node.coordinates, *node.rates, node.time), rtol=0, atol=1e-13)
        assert reward == -(observation[0] ** 2) - 0.1 * (LIMIT * action) ** 2
        np.testing.assert_array_equal(env.live.position, node.position)
    # the other motor pushes as described
    assert env.live.inputs_by_name["upper"] == 0.2


@pytest.mark.parametrize("name", READY)
def test_the_same_seed_is_the_same_episode_bit_for_bit(name: str) -> None:
    env = gymnasium.make(f"catena/{name}-v0")
    first = episode(env, 5)
    other = episode(env, 6)
    assert episode(env, 5) == first
    assert episode(gymnasium.make(f"catena/{name}-v0"), 5) == first
    assert other != first
    # and without a seed it goes on with what is drawn next
    episode(env, 5)
    second = episode(env, None)
    episode(env, 5)
    assert episode(env, None) == second != first


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2))
def test_actions_run_from_bound_to_bound(actions: list[float]) -> None:
    task = swinging(inputs={"lower": (-1.0, 3.0), "upper": (2.0, 4.0)})
    low, high = np.array((-1.0, 2.0)), np.array((3.0, 4.0))
    held = task.held(actions, (2,))
    assert (low <= held).all()
    assert (held <= high).all()
    np.testing.assert_array_equal(task.held((-1, -1), (2,)), low)
    np.testing.assert_array_equal(task.held((1, 1), (2,)), high)
    cut = np.array([max(-1.0, min(1.0, action)) for action in actions])
    # a few roundings of numbers up to 4
    np.testing.assert_allclose(held, low + (cut + 1) * (high - low) / 2, rtol=0, atol=4e-15)
    assert task.columns == [1, 0]


@pytest.mark.parametrize("action", [[np.nan], [np.inf], [0.0, 0.0], 0.0, []])
def test_actions_that_are_none_are_refused(action: Any) -> None:
    env = gym.Env(swinging())
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions must be finite numbers of the shape \(1,\)"):
        env.step(np.array(action))


@pytest.mark.parametrize("on_failure", ["raise", "stop"])
def test_a_step_that_fails_ends_the_episode_with_a_sentence(on_failure: Any) -> None:
    m = breaking().simulator.mechanism
    env = gym.Env(breaking(simulator=ct.Simulator(m, dt=0.05, rescue=False, on_failure=on_failure)))
    before, _ = env.reset(seed=0)
    for _ in range(2):
        observation, reward, terminated, truncated, info = env.step(np.array([1.0]))
        assert terminated
        assert not truncated
        assert "no solution of the step at t = 0 s" in info["failure"] or "rotates too far" in info["failure"]
        assert reward == -7.0
        assert np.isfinite(observation).all()
    # the next episode knows nothing of it
    again, info = env.reset()
    np.testing.assert_array_equal(again, before)
    assert info == {}
    observation, reward, terminated, _, info = env.step(np.array([0.0]))
    assert (reward, terminated, info) == (1.0, False, {})


def test_episodes_end_where_the_task_says() -> None:
    env = gym.Env(swinging(steps=4, terminate=None))
    env.reset(seed=0)
    assert [env.step(np.zeros(1))[3] for _ in range(4)] == [False, False, False, True]
    env.reset(seed=0)
    assert not env.step(np.zeros(1))[3]
    env = gym.Env(swinging(terminate=lambda s: s.time > 0.05))
    env.reset(seed=0)
    assert [env.step(np.zeros(1))[2] for _ in range(2)] == [False, True]


def test_observations_are_cut_off_at_their_bounds_and_are_the_users_own() -> None:
    env = gym.Env(swinging(observe=lambda s: s.rates, bounds=(-0.1, (0.1, 0.2))))
    seen = [env.reset(seed=0)[0]] + [env.step(np.ones(1))[0] for _ in range(20)]
    assert all(observation in env.observation_space for observation in seen)
    assert max(abs(observation[0]) for observation in seen) == 0.1
    assert not np.array_equal(seen[0], seen[-1])


def test_a_task_without_a_start_begins_as_described() -> None:
    task = swinging(start=None)
    env = gym.Env(task)
    for _ in range(2):
        observation, _ = env.reset()
        # to the rounding of a sine
        np.testing.assert_allclose(observation, 0, rtol=0, atol=1e-15)
        env.step(np.ones(1))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"inputs": {"middle": (0, 1)}}, "there is no input 'middle'; there are 'upper', 'lower'"),
        ({"inputs": {"lower": (1, 1)}}, r"bounds of input 'lower' must be \(lower, upper\)"),
        ({"inputs": {"lower": (0, np.inf)}}, "bounds of input 'lower'"),
        ({"inputs": {}}, "at least one input"),
        ({"skip": 0}, "skip must be a whole number"),
        ({"steps": 0}, "steps must be a whole number"),
        ({"simulator": None}, "a task needs a Simulator"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        swinging(**changes)


def test_functions_must_give_one_number_per_mechanism() -> None:
    env = gym.Env(swinging(reward=lambda s: s.coordinates))
    with pytest.raises(ValueError, match=r"reward must give one number per mechanism.*s\.coordinates\[\.\.\., 0\]"):
        env.step(np.zeros(1))
    with pytest.raises(ValueError, match="render_mode must be 'rgb_array' or None"):
        gym.Env(swinging(), render_mode="human")


# ---- the ready ones


@pytest.mark.parametrize("name", READY)
def test_gymnasium_has_nothing_to_complain_of(name: str) -> None:
    """Warnings are errors here."""
    pytest.importorskip("matplotlib")
    check_env(gymnasium.make(f"catena/{name}-v0", render_mode="rgb_array").unwrapped)
    assert gymnasium.spec(f"catena/{name}-v0").max_episode_steps == READY[name].steps


def balance(seen: np.ndarray) -> np.ndarray:
    place, lean, speed, rate = seen
    return np.array([0.1 * place + 0.2 * speed - 4 * lean - rate])


def follow(seen: np.ndarray) -> np.ndarray:
    sine, cosine, rate, ahead_sine, ahead_cosine, *_ = seen
    late = np.arctan2(ahead_sine * cosine - ahead_cosine * sine, ahead_cosine * cosine + ahead_sine * sine)
    return np.array([(60 * late + 8 * (2 - rate)) / 15])


def stand(seen: np.ndarray) -> np.ndarray:
    """The angles that belong to the height by the law of cosines, and what the servos give way."""
    height = 0.202 + 0.04 * seen[9]
    turned = np.arccos((height**2 - 0.03) / (0.2 * height)) - np.arccos(0.25) - 0.15
    return np.array((turned, -turned)) / 0.6


@pytest.mark.parametrize(
    ("name", "policy", "least"), [("CartPole", balance, 1.0), ("FourBarTracking", follow, 0.95), ("Leg", stand, 0.8)]
)
@pytest.mark.parametrize("seed", range(3))
def test_what_a_plain_controller_earns(
    name: str, policy: Callable[[np.ndarray], np.ndarray], least: float, seed: int
) -> None:
    """Per step, of 1 that can be had; the swing-up is earned in examples/swing_up.py."""
    env = gymnasium.make(f"catena/{name}-v0")
    seen, _ = env.reset(seed=seed)
    earned, over = 0.0, False
    while not over:
        seen, reward, terminated, over, _ = env.step(np.clip(policy(seen), -1, 1))
        assert not terminated
        earned += reward
    assert earned >= least * READY[name].steps


def test_weak_motors_cannot_lift_the_double_pendulum() -> None:
    env = gymnasium.make("catena/DoublePendulumSwingUp-v0")
    env.reset(seed=0)
    assert max(env.step(np.ones(2))[1] for _ in range(300)) < 0.5


# ---- pictures


@pytest.mark.parametrize("name", READY)
def test_pictures(name: str) -> None:
    pytest.importorskip("matplotlib")
    env = gymnasium.make(f"catena/{name}-v0", render_mode="rgb_array")
    env.reset(seed=0)
    pictures = []
    for _ in range(2):
        pictures.append(env.render())
        for _ in range(5):
            env.step(env.action_space.sample())
    for pixels in pictures:
        assert pixels.dtype == np.uint8
        assert max(pixels.shape) in (480, 640)
        # ink and paper
        assert pixels.min() < 100
        assert pixels.max() > 240
    assert (pictures[0] != pictures[1]).any()
    assert env.metadata["render_fps"] * env.unwrapped.task.duration == pytest.approx(1)


def test_pictures_choose_no_backend() -> None:
    pytest.importorskip("matplotlib")
    code = (
        "import sys, gymnasium, catena.gym; "
        "env = gymnasium.make('catena/Leg-v0', render_mode='rgb_array'); env.reset(seed=0); env.render(); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_gymnasium_a_sentence_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "try:\n    import catena.gym\n"
        "except ImportError as missing:\n    assert 'pip install \"catena[gym]\"' in str(missing)\n"
        "else:\n    sys.exit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- many


def actions_of(count: int, steps: int, inputs: int = 1) -> np.ndarray:
    return np.random.default_rng(11).uniform(-1, 1, (steps, count, inputs))


@pytest.mark.parametrize("name", READY)
def test_a_member_goes_the_way_of_an_environment_with_its_seed(name: str) -> None:
    many = gymnasium.make_vec(f"catena/{name}-v0", num_envs=3)
    ones = [gymnasium.make(f"catena/{name}-v0") for _ in range(3)]
    seen, _ = many.reset(seed=4)
    single = [env.reset(seed=4 + k)[0] for k, env in enumerate(ones)]
    # velocities are projected onto the joints, to rounding
    np.testing.assert_allclose(seen, single, rtol=0, atol=1e-13)
    ended, episodes = [False] * 3, 0
    for actions in actions_of(3, 40, many.single_action_space.shape[0]):
        seen, rewards, terminated, truncated, _ = many.step(actions)
        assert seen in many.observation_space
        for k, env in enumerate(ones):
            if ended[k]:
                found, reward, over, out = env.reset()[0], 0.0, False, False
            else:
                found, reward, over, out, _ = env.step(actions[k])
            # batches round differently, and over so short a time that stays small
            np.testing.assert_allclose(seen[k], found, rtol=1e-8, atol=1e-8)
            assert rewards[k] == pytest.approx(reward, abs=1e-8)
            assert (terminated[k], truncated[k]) == (over, out)
            ended[k] = over or out
            episodes += ended[k]
    # a pole does not stand by itself: there is something to begin anew
    assert episodes or name != "CartPole"


def test_members_do_not_depend_on_the_others_or_on_threads() -> None:
    found = []
    for count, threads in ((6, 1), (6, 2), (3, 1)):
        many = gym.VectorEnv(swinging(steps=20), count, threads=threads)
        seen, _ = many.reset(seed=[5, 2, 9, 1, 1, 1][:count])
        history = [seen[:3]]
        for actions in actions_of(6, 50):
            seen, rewards, terminated, truncated, _ = many.step(actions[:count])
            history.append(np.column_stack((seen, rewards, terminated, truncated))[:3])
        found.append(np.concatenate([part.ravel() for part in history]))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_three_ways_to_begin_anew() -> None:
    """All members are truncated at their third step; gymnasium's own words for what follows."""
    task = swinging(steps=3, terminate=None)
    for mode in AutoresetMode:
        many = gym.VectorEnv(task, 2, autoreset_mode=mode)
        assert many.metadata["autoreset_mode"] == mode
        begin, _ = many.reset(seed=0)
        for _ in range(2):
            many.step(np.zeros((2, 1)))
        seen, rewards, _, truncated, infos = many.step(np.zeros((2, 1)))
        assert truncated.all()
        assert (rewards != 0).all()
        if mode == AutoresetMode.SAME_STEP:
            assert (seen[:, 4] == 0).all()
            # nine steps of the simulator
            np.testing.assert_allclose([last[4] for last in infos["final_obs"]], 0.09, rtol=1e-12)
            assert infos["_final_obs"].all()
        else:
            np.testing.assert_allclose(seen[:, 4], 0.09, rtol=1e-12)
        if mode == AutoresetMode.NEXT_STEP:
            seen, rewards, _, truncated, _ = many.step(np.ones((2, 1)))
            assert not truncated.any()
            assert (rewards == 0).all()
        if mode == AutoresetMode.DISABLED:
            kept = seen
            seen, _ = many.reset(options={"reset_mask": np.array([True, False])})
            np.testing.assert_array_equal(seen[1], kept[1])
            assert seen[0, 4] == 0
        else:
            assert (seen[:, 4] == 0).all()
            assert not np.array_equal(seen, begin)
        # the motor that is not theirs pushes as described, theirs not at all
        if mode != AutoresetMode.DISABLED:
            np.testing.assert_array_equal(many.batch.inputs, [(0.2, 0.0)] * 2)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("steps", [1, 3, 5])
def test_a_reset_at_any_time_begins_the_seeds_episode(mode: AutoresetMode, steps: int) -> None:
    """Before the end, which comes at the third step, at it and behind it."""
    many = gym.VectorEnv(swinging(steps=3, terminate=None), 2, autoreset_mode=mode)

    def begun() -> list[list[list[float]]]:
        return [many.reset(seed=1)[0].tolist(), *(many.step(np.ones((2, 1)))[0].tolist() for _ in range(2))]

    first = begun()
    for _ in range(steps):
        many.step(np.zeros((2, 1)))
    assert begun() == first


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_member_that_fails_leaves_the_others_alone(mode: AutoresetMode) -> None:
    many = gym.VectorEnv(breaking(), 3, autoreset_mode=mode)
    many.reset(seed=0)
    seen, rewards, terminated, _, infos = many.step(np.array([[0.0], [1.0], [0.0]]))
    assert terminated.tolist() == [False, True, False]
    assert rewards.tolist() == [1.0, -7.0, 1.0]
    assert np.isfinite(seen).all()
    told = infos if mode == AutoresetMode.NEXT_STEP else infos["final_info"]
    assert told["_failure"].tolist() == [False, True, False]
    assert "at t = 0 s" in told["failure"][1]
    seen, rewards, terminated, _, infos = many.step(np.zeros((3, 1)))
    assert not terminated.any()
    assert infos == {}
    assert rewards.tolist() == [1.0, 0.0 if mode == AutoresetMode.NEXT_STEP else 1.0, 1.0]


def test_functions_that_mix_members_are_refused() -> None:
    with pytest.raises(ValueError, match=r"observe must give one row per mechanism, shape \(3, \.\.\.\)"):
        gym.VectorEnv(swinging(observe=lambda s: s.coordinates[0]), 3)
    many = gym.VectorEnv(swinging(reward=lambda s: s.coordinates[0]), 3)
    with pytest.raises(ValueError, match="reward must give one number per mechanism"):
        many.step(np.zeros((3, 1)))
    with pytest.raises(ValueError, match="3 members need as many seeds, got 2"):
        many.reset(seed=[1, 2])


def test_pictures_of_all_members() -> None:
    pytest.importorskip("matplotlib")
    many = gymnasium.make_vec("catena/Leg-v0", num_envs=2, render_mode="rgb_array")
    many.reset(seed=0)
    one, other = many.render()
    assert one.shape == other.shape
    assert (one != other).any()


@pytest.mark.parametrize("seed", [1.5, -1, "one", float("nan"), [1.5, 2], 2**70])
def test_seeds_are_whole_numbers(seed: object) -> None:
    for env in (gymnasium.make("catena/CartPole-v0"), gymnasium.make_vec("catena/CartPole-v0", num_envs=2)):
        with pytest.raises(ValueError, match=r"seed must be a whole number|as many seeds"):
            env.reset(seed=seed)
        env.reset(seed=np.int64(3))
