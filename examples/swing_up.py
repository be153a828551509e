"""Two links with weak motors learn to swing up and to stay there: 14 numbers, found by the cross-entropy method."""

import gymnasium
import numpy as np

import catena.gym  # noqa: F401

# 6 s at 50 Hz; the motors cannot lift what they carry
env = gymnasium.make("catena/DoublePendulumSwingUp-v0", render_mode="rgb_array", disable_env_checker=True)


def episode(policy, seed, pictures=None):
    """Let a policy act from a start of its own: its rewards (step,), and how far it leans (step, link) in rad."""
    seen, _ = env.reset(seed=seed)
    rewards, leans, over = [], [], False
    while not over:
        (s1, s2), (c1, c2), (w1, w2) = seen.reshape(3, 2)
        s12, c12 = s1 * c2 + c1 * s2, c1 * c2 - s1 * s2
        # linear in the leans and rates; the last two change sign between hanging, to pump, and standing, to brake
        seen, reward, _, over, _ = env.step(np.tanh(policy @ (s1, s2, s12, w1, w2, c1 * w1, c1 * w2)))
        rewards.append(reward)
        leans.append(np.arccos(np.clip((-c1, -c12), -1, 1)))
        if pictures is not None and len(rewards) % 20 == 1:
            pictures.append(env.render())
    return np.array(rewards), np.array(leans)


def stands(policy, seed):
    """Whether no link leans by more than 0.2 rad in the last second."""
    return episode(policy, seed)[1][-50:].max() < 0.2


random = np.random.default_rng(0)
mean, spread = np.zeros((2, 7)), np.tile((3.0, 3.0, 3.0, 0.5, 0.5, 1.0, 1.0), (2, 1))
for generation in range(60):
    policies = mean + spread * random.normal(size=(64, 2, 7))
    rewards = [episode(policy, generation)[0] for policy in policies]
    scores = [early.sum() + 4 * late.sum() for early, late in (np.split(each, 2) for each in rewards)]
    best = policies[np.argsort(scores)[-12:]]
    mean, spread = best.mean(axis=0), best.std(axis=0) + 0.1

    up = sum(stands(mean, seed) for seed in range(1000, 1010))
    print(f"generation {generation}: best score {max(scores):.0f}, the mean policy stands up from {up} of 10 starts")
    if up == 10:
        break

up = sum(stands(mean, seed) for seed in range(2000, 2020))
print(f"and from {up} of 20 that had no say in it")
assert up > 14

try:
    from matplotlib.image import imsave
except ImportError:
    print("pictures need matplotlib")
else:
    episode(mean, 1000, pictures := [])
    imsave("swing_up.png", np.block([[[picture] for picture in pictures[row : row + 5]] for row in (0, 5, 10)]))
