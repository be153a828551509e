"""Parametric mechanisms, shared by tests, benchmarks, documentation and demos.

Every function returns a Mechanism whose described pose closes all joints to rounding. Unless stated otherwise, gravity
is 9.81 m/s^2 along -z, planar mechanisms move in the plane x = 0, and all bodies are at rest.
"""

from .._util.words import not_there
from .bodies import free_body, heavy_top
from .chains import (
    cart_pole,
    catenary_chain,
    closed_chain,
    double_pendulum,
    pendulum,
    segmented_chain,
    spinning_chain,
    tree,
)
from .lattices import ladder, net
from .linkages import four_bar, n_four_bar, scissor, slider_crank
from .machines import andrews_squeezer, flyball_governor
from .robots import humanoid, quadruped
from .spatial import bricard, delta_robot, stewart_platform
from .walkers import minitaur, minitaur_leg, standing_leg, strandbeest

__all__ = [
    "andrews_squeezer",
    "bricard",
    "cart_pole",
    "catenary_chain",
    "closed_chain",
    "delta_robot",
    "double_pendulum",
    "flyball_governor",
    "four_bar",
    "free_body",
    "heavy_top",
    "humanoid",
    "ladder",
    "minitaur",
    "minitaur_leg",
    "n_four_bar",
    "net",
    "pendulum",
    "quadruped",
    "scissor",
    "segmented_chain",
    "slider_crank",
    "spinning_chain",
    "standing_leg",
    "stewart_platform",
    "strandbeest",
    "tree",
]


def __getattr__(name: str) -> None:
    raise AttributeError(not_there(__name__, name, __all__, f"module {__name__!r}"))


def __dir__() -> list[str]:
    return [*__all__]
