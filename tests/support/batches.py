"""Scenes of batches, and members that start apart from each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from catena import (
    Damper,
    Mechanism,
    Simulator,
    State,
    scenes,
)
from mechanisms import tree

# one more than two groups of the widest lanes
MEMBERS = 17


def loop() -> Mechanism:
    return scenes.four_bar()


def damped() -> Mechanism:
    m = scenes.pendulum(3)
    m.add_force(Damper("joint2", 0.3))
    return m


SCENES: dict[str, Callable[[], Mechanism]] = {
    "chain of hinges": lambda: scenes.pendulum(6, "revolute"),
    "chain of balls": lambda: scenes.pendulum(4, "ball"),
    "tree": tree,
    "loop": loop,
    "loop of balls": lambda: scenes.closed_chain(5, "ball"),
    "leg": scenes.minitaur_leg,
    "damped": damped,
    "many loops": lambda: scenes.scissor(8),
}


# whose members run in lanes; the others one by one
LANES = set(SCENES) - {"many loops"}


def starts(m: Mechanism, count: int = MEMBERS) -> list[State]:
    rng = np.random.default_rng(4)
    result = []
    for _ in range(count):
        state = m.assemble()
        state.angular_velocity += 0.3 * rng.normal(size=state.angular_velocity.shape)
        result.append(m.assemble(state))
    return result


def simulator(m: Mechanism, **options: object) -> Simulator:
    # far below what is compared, so that only rounding is left
    return Simulator(m, 0.01, **{"tolerance": 1e-13, "solver": "articulated", **options})  # type: ignore[arg-type]
