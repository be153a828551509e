"""Mechanisms as gymnasium environments for reinforcement learning; requires `pip install "catena[gym]"`.

A Task defines observations, actions, rewards and termination. `Env(task)` is one environment, `VectorEnv(task,
num_envs)` many that run as one batch. Importing this module registers four environments: catena/CartPole-v0,
catena/DoublePendulumSwingUp-v0, catena/Leg-v0 and catena/FourBarTracking-v0.
"""

from .environments import Env, VectorEnv, make_env, make_vector_env, register_ready
from .tasks import Task, View

__all__ = ["Env", "Task", "VectorEnv", "View", "make_env", "make_vector_env"]

register_ready()


def __dir__() -> list[str]:
    return [*__all__]
