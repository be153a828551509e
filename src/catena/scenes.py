"""Parametric mechanisms, shared by tests, benchmarks, documentation and demos."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ._rotation import (
    Array,
    cross,
    from_axis_angle,
    from_rotation_vector,
    multiply,
    normalised,
    rotate,
)
from .inertia import Inertia, Shape, box, rod
from .joints import Ball, Joint, Revolute
from .mechanism import Body, Mechanism, World

JointKind = Literal["revolute", "ball"]
_X = (1.0, 0.0, 0.0)


def pendulum(
    n: int = 1,
    joint: JointKind = "revolute",
    *,
    angle: float = pi / 4,
    length: float = 1.0,
    width: float = 0.1,
    mass: float = 1.0,
) -> Mechanism:
    """Hang a chain of n boxes from the origin, at rest, every link at `angle` (rad) from straight down.

    Links are width x width x length (m), `mass` kg each, turned by `angle` about world x, which is also the
    axis of revolute joints: at pi/2 the chain lies along +y. A link's upper joint is at +z of its frame, the
    lower at -z.
    """
    _positive_count("pendulum", "n", n)
    half = np.array((0.0, 0.0, 0.5 * length))
    shape = box((width, width, length), mass=mass)
    return _hanging_chain(shape, [angle] * n, joint, upper=half, lower=-half)


def double_pendulum(
    angles: Sequence[float] = (pi / 2, pi / 2), *, length: float = 1.0, size: float = 0.1, mass: float = 1.0
) -> Mechanism:
    """Make the double pendulum of the paper's energy figure: two cubes, `length` below their hinges, at rest.

    The second hinge is at the centre of the first cube. `angles` (rad) of the two links from straight down,
    about world x; the paper does not say where it starts, the default lies along +y.
    """
    upper = np.array((0.0, 0.0, length))
    shape = box((size, size, size), mass=mass)
    return _hanging_chain(shape, angles, "revolute", upper=upper, lower=np.zeros(3))


def heavy_top(
    *,
    mass: float = 15.0,
    moments: ArrayLike = (0.234375, 0.46875, 0.234375),
    centre: ArrayLike = (0.0, 1.0, 0.0),
    angular_velocity: ArrayLike = (0.0, 150.0, -4.61538),
    gravity: ArrayLike = (0.0, 0.0, -9.81),
) -> Mechanism:
    """Make a top on a ball joint at the origin, by default the heavy top of Bruels and Cardona.

    `moments` (kg m^2) about the centre of mass, which starts at `centre` (m); `angular_velocity` in rad/s:
    the default turns by 1.5 rad in 10 ms, so it wants a step of about 1 ms.
    """
    arm = np.asarray(centre, dtype=float)
    spin = np.asarray(angular_velocity, dtype=float)
    m = Mechanism(gravity=gravity)
    top = m.add_body("top", Inertia(mass, moments), position=arm, velocity=cross(spin, arm), angular_velocity=spin)
    m.add_joint(Ball(m.world, top, anchors=np.stack((np.zeros(3), -arm)), name="pivot"))
    return m


def free_body(
    *,
    moments: ArrayLike = (2.0, 1.0, 2.0 / 3.0),
    angular_velocity: ArrayLike = (0.22679806071278868, 0.0, 1.336811040092153),
    mass: float = 1.0,
    velocity: ArrayLike = (0.0, 0.0, 0.0),
) -> Mechanism:
    """One body without gravity or joints, body frame along the world's at the start.

    By default the rigid body of Hairer, Lubich and Wanner; its moments break the triangle inequality, which
    the equations of motion do not mind.
    """
    m = Mechanism(gravity=(0.0, 0.0, 0.0))
    inertia = Inertia(mass, moments, physical=False)
    m.add_body("body", inertia, velocity=velocity, angular_velocity=angular_velocity)
    return m


def spinning_chain(n: int = 5, *, rate: float = 2.0, seed: int = 0) -> Mechanism:
    """Make a chain of n boxes on ball joints, floating without gravity, bent in space and turning.

    The first link spins at `rate` rad/s and drifts; every further one turns against the first at up to half
    that, in a direction drawn with `seed`. Velocities agree with the joints; the linear momentum is not zero.
    """
    _positive_count("spinning_chain", "n", n)
    rng = np.random.default_rng(seed)
    end = np.array((0.0, 0.0, 0.25))
    shape = box((0.1, 0.2, 0.5), mass=1.0)
    m = Mechanism(gravity=(0.0, 0.0, 0.0))
    x, v = np.zeros(3), np.array((0.3, -0.2, 0.5))
    q = from_rotation_vector(rng.uniform(-1, 1, 3))
    w = spin = rate * normalised(rng.normal(size=3))
    before: Body | None = None
    for k in range(1, n + 1):
        if before is not None:
            # from the centre of one link over the joint to the centre of the next
            arm = rotate(q, -end)
            x, v = x + arm, v + cross(w, arm)
            q = normalised(multiply(q, from_rotation_vector(rng.uniform(-0.6, 0.6, 3))))
            w = spin + 0.5 * rate * rng.uniform(-1, 1) * normalised(rng.normal(size=3))
            arm = rotate(q, -end)
            x, v = x + arm, v + cross(w, arm)
        body = m.add_body(f"link{k}", shape, position=x, orientation=q, velocity=v, angular_velocity=w)
        if before is not None:
            m.add_joint(Ball(before, body, anchors=(-end, end), name=f"joint{k - 1}"))
        before = body
    return m


def tree(depth: int = 3, branching: int = 2, joint: JointKind = "revolute", *, seed: int = 0) -> Mechanism:
    """Hang a tree of rods from the origin, at rest: each carries `branching` shorter ones at its end.

    `depth` levels, the first a single rod of 1 m and 1 kg. Directions and revolute axes are drawn with `seed`
    and spread in three dimensions.
    """
    _positive_count("tree", "depth", depth)
    _positive_count("tree", "branching", branching)
    rng = np.random.default_rng(seed)
    m = Mechanism()
    down = np.array((0.0, 0.0, -1.0))
    level: list[tuple[Body | World, Array, Array]] = [(m.world, np.zeros(3), down)]
    for k in range(depth):
        size = 0.7**k
        above, level = level, []
        for parent, start, heading in above:
            for _ in range(branching if k else 1):
                # lean away from the parent's direction, but go on downwards
                direction = normalised(heading + 0.5 * down + 0.8 * normalised(rng.normal(size=3)))
                end = start + size * direction
                body = m.add_body(f"link{m.body_count + 1}", rod(start, end, mass=size))
                axis = normalised(cross(direction, normalised(rng.normal(size=3))))
                m.add_joint(_joint(joint, parent, body, axis=axis, at=start, name=f"joint{m.body_count}"))
                level.append((body, end, direction))
    return m


def _hanging_chain(shape: Shape, angles: Sequence[float], joint: JointKind, *, upper: Array, lower: Array) -> Mechanism:
    """Links at the given angles about world x, hung at `upper`, the next one at `lower` of their frame."""
    m = Mechanism()
    before: Body | World = m.world
    pivot = hook = np.zeros(3)
    for k, angle in enumerate(angles, start=1):
        q = from_axis_angle(_X, angle)
        position = pivot - rotate(q, upper)
        body = m.add_body(f"link{k}", shape, position=position, orientation=q)
        m.add_joint(_joint(joint, before, body, axis=_X, anchors=(hook, upper), name=f"joint{k}"))
        before, hook, pivot = body, lower, position + rotate(q, lower)
    return m


def _joint(
    kind: JointKind,
    a: Body | World,
    b: Body,
    *,
    axis: ArrayLike,
    name: str,
    at: ArrayLike | None = None,
    anchors: ArrayLike | None = None,
) -> Joint:
    if kind == "revolute":
        return Revolute(a, b, axis=axis, at=at, anchors=anchors, name=name)
    if kind == "ball":
        return Ball(a, b, at=at, anchors=anchors, name=name)
    raise ValueError(f"joint must be 'revolute' or 'ball', got {kind!r}")


def _positive_count(scene: str, name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{scene}: {name} must be at least 1, got {value}")
