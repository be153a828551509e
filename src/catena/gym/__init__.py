"""Mechanisms as gymnasium environments for reinforcement learning; requires `pip install "catena[gym]"`.

A Task defines observations, actions, rewards and termination. `Env(task)` is one environment, `VectorEnv(task,
num_envs)` many that run as one batch. Importing this module registers four environments: catena/CartPole-v0,
catena/DoublePendulumSwingUp-v0, catena/Leg-v0 and catena/FourBarTracking-v0.
"""

from .environments import Env as Env
from .environments import VectorEnv as VectorEnv
from .environments import make_env as make_env
from .environments import make_vector_env as make_vector_env
from .environments import register_ready
from .tasks import Task as Task
from .tasks import View as View

register_ready()
