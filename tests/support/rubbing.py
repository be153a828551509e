"""Mechanisms whose contacts have friction, shared by the tests and the benchmark of friction."""

from __future__ import annotations

from itertools import product
from math import cos, sin

import numpy as np

import catena as ct
from catena import Mechanism, State, Trajectory

G = 9.81


def tilted(slope: float) -> Mechanism:
    """An empty mechanism on a slope: the plane is z = 0, and x points down it."""
    return Mechanism(gravity=(G * sin(slope), 0, -G * cos(slope)))


def block(
    slope: float,
    friction: float,
    *,
    size: tuple[float, float, float] = (0.4, 0.3, 0.2),
    velocity: tuple[float, float, float] = (0, 0, 0),
    restitution: float = 0.0,
) -> Mechanism:
    """A block on four corners on a slope."""
    m, (a, b, c) = tilted(slope), size
    m.add_body("block", ct.box(size, mass=2.0), position=(0, 0, 0.5 * c), velocity=velocity)
    for x, y in product((-0.5 * a, 0.5 * a), (-0.5 * b, 0.5 * b)):
        m.add_contact("block", at=(x, y, 0), friction=friction, restitution=restitution)
    return m


def box_in_the_air(rng: np.random.Generator, friction: float, restitution: float) -> Mechanism:
    """A box with contacts at its eight corners, thrown."""
    m, size = Mechanism(), np.array((0.3, 0.2, 0.1))
    turn = rng.normal(size=4)
    m.add_body(
        "box",
        ct.box(tuple(size), mass=1.0),
        position=(0, 0, 0.3 + 0.5 * rng.random()),
        velocity=2 * rng.normal(size=3),
        angular_velocity=5 * rng.normal(size=3),
    )
    body = m.bodies["box"]
    for corner in product((-0.5, 0.5), repeat=3):
        at = body.position + size * np.array(corner)
        m.add_contact("box", at=at, friction=friction, restitution=restitution)
    body.orientation = turn / np.linalg.norm(turn)
    return m


def chain(
    count: int,
    *,
    friction: float | None = 0.5,
    joint: type[ct.Revolute] | type[ct.Ball] = ct.Revolute,
    height: float = 0.25,
    slope: float = 0.3,
    speed: float = 0.0,
) -> Mechanism:
    """A chain of rods of 1 m with a ball of 0.05 m at each joint that rests on the floor; no contacts without friction.

    Its lower end is so high above the floor, and it rises with the slope.
    """
    m, at, along = Mechanism(), np.array((0.0, 0.0, height)), np.array((cos(slope), 0, sin(slope)))
    turn, last = (cos(0.5 * slope), 0, -sin(0.5 * slope), 0), ""
    for k in range(count):
        name, end = f"rod{k}", at + along
        inertia = ct.Inertia(1.0, np.diag((0.02 / 12, 1.01 / 12, 1.01 / 12)))
        m.add_body(name, inertia, position=0.5 * (at + end), orientation=turn, velocity=(speed, 0, 0))
        if last:
            axis = {"axis": (0, 1, 0)} if joint is ct.Revolute else {}
            m.add_joint(joint(last, name, at=at, **axis))
        for place in (at, end) if k == 0 else (end,):
            if friction is not None:
                m.add_contact(name, at=place, radius=0.05, friction=friction)
        at, last = end, name
    return m


def dog(friction: float | None = 0.8, *, height: float = 0.0) -> Mechanism:
    """The quadruped with balls of 0.02 m as feet, so high above the floor; no contacts without friction."""
    m = ct.scenes.quadruped()
    for name in [name for name in m.bodies if name.endswith("shank") and friction is not None]:
        at = m.bodies[name].position - (0, 0, 0.1)
        floor = (0, 0, at[2] - 0.02 - height)
        m.add_contact(name, at=at, radius=0.02, point=floor, friction=friction, name=f"{name} foot")
    return m


def least_gap(run: Trajectory | State) -> float:
    """The smallest gap of all contacts at all nodes."""
    return min(float(np.min(run.contact(name).gap)) for name in run.mechanism.contacts)


def beyond_disk(run: Trajectory, mu: float) -> float:
    """By how much a friction force is larger than the disk allows at any node but the last, over the largest force."""
    over, largest = 0.0, 0.0
    for name in run.mechanism.contacts:
        contact = run.contact(name)
        normal = np.asarray(contact.normal_force)[:-1]
        over = max(over, float(np.max(np.linalg.norm(contact.friction_force[:-1], axis=1) - mu * normal)))
        largest = max(largest, float(np.max(normal)))
    return over / largest
