"""Random mechanisms with loops, redundant ones included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from catena import (
    Ball,
    Cylindrical,
    Fixed,
    FixedOrientation,
    Inertia,
    Joint,
    Mechanism,
    ParallelAxes,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    State,
)
from catena._util import rotation as rot

TREE: list[type[Joint]] = [Ball, Revolute, Prismatic, Fixed, Cylindrical, Planar]


CLOSURES: list[type[Joint]] = [PointOnPlane, PointOnLine, ParallelAxes, FixedOrientation, *TREE]


WITH_AXIS = (Revolute, Prismatic, Cylindrical, Planar, PointOnLine, PointOnPlane, ParallelAxes)


@dataclass(frozen=True)
class Units:
    """What a length of 1 and a mass of 1 are, in m and kg; times stay."""

    length: float = 1.0
    mass: float = 1.0


@dataclass(frozen=True)
class Recipe:
    """A mechanism in words: what carries each body, and what closes loops."""

    parents: tuple[int | None, ...]  # of each body; -1 is the world, None floats
    kinds: tuple[type[Joint], ...]  # of the tree joints
    closures: tuple[tuple[int, int, type[Joint], bool], ...]  # a, b, kind, whether on the axis and point of the first
    plane: bool  # all axes parallel, all points and centers in one plane across them
    falls: bool  # with gravity
    seed: int


@st.composite
def recipes(draw: st.DrawFn, most: int = 6) -> Recipe:
    n = draw(st.integers(2, most))
    parents = tuple(draw(st.sampled_from([None, *range(-1, k)])) for k in range(n))
    kinds = tuple(draw(st.sampled_from(TREE)) for _ in range(n))
    closures = []
    for _ in range(draw(st.integers(1, 3))):
        a = draw(st.integers(-1, n - 2))
        b = draw(st.integers(a + 1, n - 1))
        closures.append((a, b, draw(st.sampled_from(CLOSURES)), draw(st.booleans())))
    plane, falls = draw(st.booleans()), draw(st.booleans())
    return Recipe(parents, kinds, tuple(closures), plane, falls, draw(st.integers(0, 2**16)))


SI = Units()


def build(recipe: Recipe, units: Units = SI) -> State:
    """All joints closed by their making, for each is placed at one world point; velocities random, then projected."""
    rng = np.random.default_rng(recipe.seed)
    turn = rot.normalised(rng.normal(size=4))
    down = rot.rotate(turn, rng.normal(size=3) * ((0, 3, 3) if recipe.plane else (2, 2, 2)))
    m = Mechanism(gravity=units.length * down if recipe.falls else np.zeros(3))

    def point(scale: float = 0.5) -> np.ndarray:
        local = rng.normal(scale=scale, size=3)
        if recipe.plane:
            local[0] = 0
        return rot.rotate(turn, local)

    def axis(kind: type[Joint]) -> np.ndarray:
        if not recipe.plane:
            return rng.normal(size=3)
        sliding = kind in (Prismatic, PointOnPlane)
        return rot.rotate(turn, np.array((0.0, *rng.normal(size=2)) if sliding else (1.0, 0.0, 0.0)))

    places: list[tuple[np.ndarray, np.ndarray]] = []

    def join(a: int, b: int, kind: type[Joint], name: str, again: bool = False) -> None:
        place, way = point(), axis(kind)
        if again and places:
            place, way = places[0]
        places.append((place, way))
        ends = ["world" if k < 0 else f"body{k}" for k in (a, b)]
        if rng.random() < 0.5:
            ends.reverse()
        more = {"axis": way} if kind in WITH_AXIS else {}
        m.add_joint(kind(*ends, at=units.length * place, name=name, **more))

    for k in range(len(recipe.parents)):
        spread = rot.to_matrix(rot.normalised(rng.normal(size=4)))
        tensor = spread @ np.diag((0.1, 0.12, 0.15)) @ spread.T
        inertia = Inertia(units.mass * rng.uniform(0.5, 2), units.mass * units.length**2 * tensor)
        turned = rot.normalised(rng.normal(size=4))
        m.add_body(f"body{k}", inertia, position=units.length * point(), orientation=turned)
    for k, (parent, kind) in enumerate(zip(recipe.parents, recipe.kinds, strict=True)):
        if parent is not None:
            join(parent, k, kind, f"joint{k}")
    for k, (a, b, kind, again) in enumerate(recipe.closures):
        join(a, b, kind, f"loop{k}", again)
    state = m.state()
    state.velocity = units.length * rng.normal(scale=0.3, size=state.velocity.shape)
    state.angular_velocity = rng.normal(scale=0.3, size=state.velocity.shape)
    return m.assemble(state)
