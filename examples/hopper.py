"""A leg on a rail hops against its stops, as an environment of gymnasium: how hard to push is the action."""

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from matplotlib.figure import Figure

import catena as ct
from catena.gym import Env, Task

HEIGHT, TRAVEL, TOP = 0.5, 0.12, 0.4  # m: of the body when it stands, of the leg, and of the rail above that

m = ct.Mechanism()
m.world.add_shape("box", (0.6, 0.4, 0.02), position=(0, 0, -0.01))
m.add_body("trunk", ct.box((0.25, 0.15, 0.1), mass=3.0), position=(0, 0, HEIGHT))
m.add_body("shin", ct.rod((0, 0, HEIGHT - 0.05), (0, 0, 0), mass=0.5, radius=0.02))
m.add_joint(ct.Prismatic("world", "trunk", axis=(0, 0, 1), at=(0, 0, HEIGHT), name="rail"))
m.add_joint(ct.Prismatic("trunk", "shin", axis=(0, 0, 1), at=(0, 0, HEIGHT), name="leg"))
m.joints["rail"].limits = ct.Limits(-0.2, TOP, restitution=0.2)
m.joints["leg"].limits = ct.Limits(0, TRAVEL)  # stretched, and folded
m.add_contact("shin", at=(0, 0, 0), name="foot")
m.add_force(ct.Motor("leg", 0.0, name="push"))
m.add_force(ct.Damper("leg", 4.0))


def start(random: np.random.Generator) -> ct.State:
    """In the air, its leg a little folded."""
    state = m.state()
    state.joint("rail").displacement = random.uniform(0.05, 0.1)
    state.joint("leg").displacement = 0.02
    return state


task = Task(
    ct.Simulator(m, dt=0.002, on_inaccurate="ignore"),
    inputs={"push": (-200.0, 200.0)},  # N for actions of -1 and 1: negative stretches the leg
    observe=lambda s: np.concatenate((s.coordinates, s.rates), axis=-1),
    reward=lambda s: s.coordinates[..., 0],
    start=start,
    bounds=((-0.3, -0.1, -10, -10), (0.5, 0.2, 10, 10)),
    skip=5,
)
check_env(Env(task), skip_render_check=True)

env = gymnasium.wrappers.TimeLimit(Env(task), 400)
seen, _ = env.reset(seed=0)
ways, over, earned = [], False, 0.0
while not over:
    rail, leg, speed, _ = seen
    # fold in the air, and stretch as soon as the foot is on the ground
    action = np.array([-1.0 if rail + leg < 1e-3 else 0.3 if leg < 0.6 * TRAVEL else 0.0])
    seen, reward, _, over, _ = env.step(action)
    ways.append(seen[:2])
    earned += float(reward)
ways = np.array(ways, dtype=float)
print(f"earned {earned:.1f} in 4 s; the trunk rises by up to {ways[:, 0].max():.3f} m, where its rail ends at {TOP} m")
assert ways[:, 0].max() <= TOP + 1e-12
assert ways[:, 1].min() >= -1e-12
assert ways[:, 1].max() <= TRAVEL + 1e-12

figure = Figure(figsize=(7, 3.5), layout="constrained")
axis = figure.add_subplot(xlabel="time [s]", ylabel="[m]", xlim=(0, 4))
axis.plot(0.01 * np.arange(1, 401), ways, label=("trunk above where it stands", "leg, folded by"))
for bound in (0, TRAVEL, TOP):
    axis.axhline(bound, color="0.5", linewidth=0.8, linestyle="--")
axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
figure.savefig("hopper.png")
