"""Mechanisms as environments for reinforcement learning, after the interface of gymnasium: `pip install "catena[gym]"`.

A Task says what there is to see, to do and to earn; `Env(task)` is one environment, `VectorEnv(task, num_envs)` many
that run as one batch. Importing this registers the ready ones: catena/CartPole-v0, catena/DoublePendulumSwingUp-v0,
catena/Leg-v0 and catena/FourBarTracking-v0.
"""

from .environments import Env as Env
from .environments import VectorEnv as VectorEnv
from .environments import make_env as make_env
from .environments import make_vector_env as make_vector_env
from .environments import register_ready
from .tasks import Task as Task
from .tasks import View as View

register_ready()
