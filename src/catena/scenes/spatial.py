"""Loops in space: the Bricard mechanism and parallel robots."""

from __future__ import annotations

from math import cos, pi, radians, sin, sqrt

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import IDENTITY, Array, cross, finite, from_axis_angle, normalised, rotate, unit_quaternion
from ..describe.bodies import Body, World
from ..describe.inertia import cylinder
from ..describe.joints import Ball, Prismatic, Revolute
from ..describe.mechanism import Mechanism
from ._parts import bar

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def bricard() -> Mechanism:
    """Make the Bricard mechanism of the IFToMM benchmark library (A04), at rest: six hinges, five bars of 1 m and 1 kg.

    Bars are 0.1 x 0.1 m thick and lie along five edges of a cube; the world is the sixth. Gravity is along -y. The
    count of equations leaves no degree of freedom, but one of the 30 equations is redundant, so it moves.
    """
    points = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
    axes = (_Y, _Z, _X, _Y, _Z, _X)
    m = Mechanism(gravity=(0.0, -9.81, 0.0))
    bars = [bar(m, f"bar{i + 1}", points[i], points[i + 1], width=0.1, mass=1.0) for i in range(5)]
    ends: list[Body | World] = [m.world, *bars, m.world]
    for i in range(6):
        m.add_joint(Revolute(ends[i], ends[i + 1], axis=axes[i], at=points[i], name=f"joint{i + 1}"))
    return m


def delta_robot(
    angles: ArrayLike = (0.3, 0.3, 0.3),
    *,
    base: float = 0.2,
    platform: float = 0.05,
    arm: float = 0.5,
    rod: float = 1.2,
    gap: float = 0.13,
) -> Mechanism:
    """Make a delta robot that hangs from the world, at rest: three arms, each with two parallel rods to the platform.

    `angles` (rad) are those of the arms below the horizontal. `base` and `platform` are the distances (m) of the hinges
    and of the rods' lower ends from the center, `arm` and `rod` are lengths, `gap` is the distance between the rods of
    a pair: round numbers for the size of a large pick-and-place robot. Arms have 1 kg, rods 0.1 kg, the platform 0.5
    kg.

    The arms rotate on hinges, and the rods have a ball joint at either end. The platform has its three translations. In
    addition, each of the six rods can rotate about its own axis, so there are nine degrees of freedom.
    """
    dips = finite(angles, (3,), "delta_robot: angles")
    out = [np.array((cos(t), sin(t), 0.0)) for t in (0.0, 2 * pi / 3, 4 * pi / 3)]
    side = [np.array((-u[1], u[0], 0.0)) for u in out]
    elbows = [(base + arm * cos(t)) * u - arm * sin(t) * np.array(_Z) for t, u in zip(dips, out, strict=True)]

    # the middle of the platform is a rod's length from each elbow, once that is moved inwards
    center = _three_spheres([e - platform * u for e, u in zip(elbows, out, strict=True)], rod)
    m = Mechanism()
    plate = m.add_body("platform", cylinder(platform + 0.02, 0.02, mass=0.5), position=center)
    for i in range(3):
        upper = bar(m, f"arm{i + 1}", base * out[i], elbows[i], width=0.05, mass=1.0)
        m.add_joint(Revolute(m.world, upper, axis=side[i], at=base * out[i], name=f"motor{i + 1}"))
        for name, shift in (("a", -0.5 * gap * side[i]), ("b", 0.5 * gap * side[i])):
            top, bottom = elbows[i] + shift, center + platform * out[i] + shift
            lower = bar(m, f"rod{i + 1}{name}", top, bottom, width=0.015, mass=0.1)
            m.add_joint(Ball(upper, lower, at=top, name=f"elbow{i + 1}{name}"))
            m.add_joint(Ball(lower, plate, at=bottom, name=f"wrist{i + 1}{name}"))
    return m


def stewart_platform(
    position: ArrayLike = (0.0, 0.0, 0.8),
    orientation: ArrayLike = IDENTITY,
    *,
    base: float = 0.6,
    platform: float = 0.4,
    spread: float = radians(12),
) -> Mechanism:
    """Make a Stewart platform, at rest: six legs of two bodies each, with a slider between them and balls at the ends.

    The center of the platform is at `position` (m), with the quaternion `orientation`. `base` and `platform` are the
    radii (m) of the circles on which the ball joints lie, in three pairs, each ball at `spread` (rad) from the center
    of its pair; the pairs of the platform are between those of the base. Masses are round numbers: 10 kg for the
    platform, 1 kg for each half of a leg.

    The platform has all six motions, and every leg can rotate about its own axis: twelve degrees of freedom. The
    sliders have no motors and no limits, so it falls unless forces on the legs hold it.
    """
    center = finite(position, (3,), "stewart_platform: position")
    turn = unit_quaternion(orientation, (4,), "stewart_platform: orientation")
    m = Mechanism()
    plate = m.add_body("platform", cylinder(platform, 0.05, mass=10.0), position=center, orientation=turn)
    for i in range(6):
        pair, sign = i // 2, 1 if i % 2 else -1

        # the right ball of a base pair goes to the left ball of the next platform pair
        below = _on_circle(base, pair * 2 * pi / 3 + sign * spread)
        above = center + rotate(turn, _on_circle(platform, pair * 2 * pi / 3 + sign * (pi / 3 - spread)))
        span = above - below
        cylinder_half = bar(m, f"cylinder{i + 1}", below, below + 0.6 * span, width=0.06, mass=1.0)
        piston = bar(m, f"piston{i + 1}", below + 0.4 * span, above, width=0.03, mass=1.0)
        m.add_joint(Ball(m.world, cylinder_half, at=below, name=f"base{i + 1}"))
        m.add_joint(Prismatic(cylinder_half, piston, axis=span, at=below + 0.5 * span, name=f"leg{i + 1}"))
        m.add_joint(Ball(piston, plate, at=above, name=f"top{i + 1}"))
    return m


def _on_circle(radius: float, angle: float) -> Array:
    return rotate(from_axis_angle(_Z, angle), np.array((radius, 0.0, 0.0)))


def _three_spheres(centers: list[Array], radius: float) -> Array:
    """Return the lower of the two points at `radius` from three centers."""
    a, b, c = centers
    p, q = b - a, c - a
    normal = cross(p, q)

    # from a to the middle of the circle through the centers, on whose axis the point lies
    middle = cross((p @ p) * q - (q @ q) * p, normal) / (2 * normal @ normal)
    height = radius * radius - float(middle @ middle)
    if height < 0:
        raise ValueError(f"delta_robot: rods of {radius:g} m are too short to meet at the platform")
    up = normalised(normal)
    point: Array = a + middle - sqrt(height) * (up if up[2] > 0 else -up)
    return point
