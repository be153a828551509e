"""Two links with weak motors learn to swing up and to balance: 14 parameters, found by the cross-entropy method."""

import gymnasium
import numpy as np
from matplotlib.image import imsave

import catena.gym  # noqa: F401

NAME = "catena/DoublePendulumSwingUp-v0"  # 6 s at 50 Hz; the motors cannot lift what they carry
POLICIES, STARTS = 96, 4
env = gymnasium.make_vec(NAME, num_envs=POLICIES * STARTS)


def act(policies, seen):
    """Return the actions (member, 2) of policies (member, 2, 7): linear in tilts and rates, clipped."""
    s1, s2, c1, c2, w1, w2 = seen.T
    # the last two change sign between hanging (adding energy) and standing (braking)
    features = np.stack((s1, s2, s1 * c2 + c1 * s2, w1, w2, c1 * w1, c1 * w2), axis=-1)
    return np.tanh((policies @ features[..., None])[..., 0])


def episodes(policies, seed):
    """Run an episode in every member, from its own initial state: rewards (step, member), and who ends upright."""
    seen, _ = env.reset(seed=seed)
    rewards, leans = np.empty((2, 300, env.num_envs))
    for step in range(300):
        seen, rewards[step], *_ = env.step(act(policies, seen))
        s1, s2, c1, c2, _, _ = seen.T
        # tilt of the link that tilts more
        leans[step] = np.arccos(np.clip(np.minimum(-c1, s1 * s2 - c1 * c2), -1, 1))
    return rewards, leans[-50:].max(axis=0) < 0.2


random = np.random.default_rng(0)
mean, spread = np.zeros((2, 7)), np.tile((3.0, 3.0, 3.0, 0.5, 0.5, 1.0, 1.0), (2, 1))
for generation in range(40):
    policies = mean + spread * random.normal(size=(POLICIES, 2, 7))
    rewards, _ = episodes(np.repeat(policies, STARTS, axis=0), seed=1000 * generation)
    # the last second counts more
    scores = rewards[:150].sum(axis=0) + 4 * rewards[150:].sum(axis=0)
    best = policies[np.argsort(scores.reshape(POLICIES, STARTS).mean(axis=1))[-12:]]
    mean, spread = best.mean(axis=0), best.std(axis=0) + 0.05

    up = episodes(mean, seed=10**6)[1].mean()
    print(f"generation {generation}: best score {scores.max():.0f}, the mean policy succeeds from {up:.0%}")
    if up > 0.9:
        break

up = episodes(mean, seed=2 * 10**6)[1].mean()
print(f"success from {up:.0%} of {env.num_envs} starts that were not used for training")
assert up > 0.8

one = gymnasium.make(NAME, render_mode="rgb_array")
seen, _ = one.reset(seed=0)
live = one.unwrapped.live
start, held, pictures = live.state(), [], []
for step in range(300):
    if step % 20 == 0:
        pictures.append(one.render())
    seen, *_ = one.step(act(mean, seen[None])[0])
    held.append(live.inputs.copy())
imsave("swing_up.png", np.block([[[picture] for picture in pictures[row : row + 5]] for row in (0, 5, 10)]))


def again(t, now):
    """Return the torques of that episode, each held for 20 ms."""
    now.inputs[:] = held[min(round(100 * t) // 2, 299)]


run = live.simulator.run(duration=6, state=start, control=again)
assert np.array_equal(run.coordinates[-1], live.coordinates)  # the same steps, bit for bit
run.save_html("swing_up")  # a page that plays in any browser
