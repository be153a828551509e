"""Convex shapes as sets of points, by which distances are found without the formulas that they are to check."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena._util import rotation as rot
from catena._util.rotation import Array

KINDS = ("sphere", "capsule", "box", "cylinder", "hull")
_CLOUD = np.random.default_rng(5).normal(size=(20, 3)) * (0.3, 0.2, 0.25)


def add(thing: ct.Body | ct.World, kind: str, name: str = "", **given: object) -> None:
    """A shape of a kind, of about half a meter, off center and turned."""
    sizes = {"sphere": (0.3,), "capsule": (0.12, 0.5), "box": (0.5, 0.4, 0.3), "cylinder": (0.2, 0.4), "plane": ()}
    turn = rot.normalised(np.array((0.9, 0.1, -0.3, 0.2)))
    own: dict[str, object] = {"position": (0.02, -0.01, 0.03), "orientation": turn, "collides": True, "name": name}
    if kind == "hull":
        thing.add_shape("hull", points=_CLOUD, **(own | given))  # type: ignore[arg-type]
    else:
        thing.add_shape(kind, sizes[kind], **(own | given))  # type: ignore[arg-type]


def two(kind: str, other: str) -> ct.Mechanism:
    """Two free bodies with a shape each; a plane is of the world, and comes first."""
    m = ct.Mechanism()
    if kind == "plane":
        add(m.world, "plane", "one")
    else:
        add(m.add_body("a", ct.sphere(0.1, mass=1.0)), kind, "one")
    add(m.add_body("b", ct.sphere(0.1, mass=1.0)), other, "other")
    m.add_contacts()
    return m


class Cloud:
    """A convex set: the hull of points, and all that is nearer to it than a radius."""

    def __init__(self, shape: ct.Shape, position: Array, orientation: Array, sides: int = 24) -> None:
        self.radius = 0.0
        if shape.kind == "sphere":
            points, self.radius = np.zeros((1, 3)), shape.size[0]
        elif shape.kind == "capsule":
            points = 0.5 * shape.size[1] * np.array(((0, 0, -1.0), (0, 0, 1)))
            self.radius = shape.size[0]
        elif shape.kind == "box":
            signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            points = 0.5 * signs * shape.size
        elif shape.kind == "cylinder":
            turn = 2 * np.pi * np.arange(sides) / sides
            rim = shape.size[0] * np.column_stack((np.cos(turn), np.sin(turn), 0 * turn))
            points = np.concatenate([rim + z * np.array((0, 0, shape.size[1] / 2)) for z in (-1, 1)])
        else:
            assert shape.points is not None
            points = shape.points
        inner = shape.position + rot.rotate(shape.orientation, points)
        self.points = position + rot.rotate(orientation, inner)


def distance(a: Cloud, b: Cloud) -> float:
    """Distance of two sets by a quadratic program over weights of their points; of those that overlap 0 or less."""
    count = len(a.points)
    both = np.concatenate((a.points, -b.points))

    def square(weights: Array) -> tuple[float, Array]:
        apart = weights @ both
        return float(apart @ apart), 2 * both @ apart

    start = np.concatenate((np.full(count, 1 / count), np.full(len(b.points), 1 / len(b.points))))
    sums = [
        {
            "type": "eq",
            "fun": lambda w: w[:count].sum() - 1,
            "jac": lambda w: np.repeat((1.0, 0.0), (count, len(w) - count)),
        },
        {
            "type": "eq",
            "fun": lambda w: w[count:].sum() - 1,
            "jac": lambda w: np.repeat((0.0, 1.0), (count, len(w) - count)),
        },
    ]
    found = pytest.importorskip("scipy.optimize").minimize(
        square,
        start,
        jac=True,
        bounds=[(0, 1)] * len(both),
        constraints=sums,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return float(np.sqrt(max(found.fun, 0.0))) - a.radius - b.radius
