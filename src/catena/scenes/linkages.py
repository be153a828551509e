"""Planar linkages. In space they are overconstrained, since every joint is a hinge or slider with five rows."""

from __future__ import annotations

from math import atan2, cos, pi, sin, sqrt

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import IDENTITY, from_axis_angle, multiply, rotate, unit_quaternion, z_to
from ..describe.bodies import Body, World
from ..describe.inertia import Inertia, Solid, box
from ..describe.joints import Prismatic, Revolute
from ..describe.mechanism import Mechanism
from ._parts import Pin, X, at_least, meet, pin, plane_bar, swing

_Y = (0.0, 1.0, 0.0)
_Z = (0.0, 0.0, 1.0)


def four_bar(
    lengths: tuple[float, float, float] = (1.0, sqrt(0.5), 1.0),
    *,
    ground: float = 1.0,
    angle: float = pi,
    plane: ArrayLike = IDENTITY,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
) -> Mechanism:
    """Make a four-bar linkage, at rest, by default that of the publication's drift figure.

    Links have the given lengths (m), 1 kg per m, and are 0.1 x 0.1 m thick. link1 hangs from the origin and link3 from
    (0, ground, 0) at `angle` from vertical about x; link2 connects their lower ends (the default's other angles are
    2.8428894 and 1.6334602). The upper joint of a link is at +z of its frame. `plane` rotates the mechanism, but not
    gravity, by a unit quaternion (w, x, y, z). Four hinges have 20 equations, of which 17 are independent.
    """
    turn = unit_quaternion(plane, (4,), "four_bar: plane")
    first, coupler, third = lengths
    base, anchor = pin(0.0, 0.0), pin(ground, 0.0)
    right = swing(anchor, third, angle - pi / 2)
    left = meet(base, first, right, coupler, 1.0)
    m = Mechanism(gravity=gravity)
    for k, (upper, lower, length) in enumerate(
        ((base, left, first), (left, right, coupler), (anchor, right, third)), start=1
    ):
        y, z = lower.place - upper.place
        q = multiply(turn, from_axis_angle(X, atan2(y, -z)))
        top = rotate(turn, upper.world())
        half = np.array((0.0, 0.0, 0.5 * length))
        m.add_body(f"link{k}", box((0.1, 0.1, length), mass=length), position=top - rotate(q, half), orientation=q)
    link = m.bodies
    axis = rotate(turn, np.array(X))
    ends: tuple[tuple[Body | World, Body, Pin], ...] = (
        (m.world, link["link1"], base),
        (link["link1"], link["link2"], left),
        (link["link2"], link["link3"], right),
        (m.world, link["link3"], anchor),
    )
    for k, (a, b, place) in enumerate(ends, start=1):
        m.add_joint(Revolute(a, b, axis=axis, at=rotate(turn, place.world()), name=f"joint{k}"))
    return m


def n_four_bar(n: int = 1, *, speed: float = 1.0) -> Mechanism:
    """Make the N-four-bar of the IFToMM benchmark library (A02): n coupled four-bars of bars of 1 m and 1 kg.

    It moves in the plane z = 0 with gravity along -y, on hinges about z. crank0 ... crankn stand on (i, 0, 0), and
    coupler i connects the tops of cranks i - 1 and i, all of which start with `speed` m/s along x. Bars have the moment
    of inertia of a slender bar, 1/12 kg m^2; the moment about their own axis, zero in the specification, has no effect.
    Where the cranks lie flat, the mechanism is singular: n further degrees of freedom appear.
    """
    at_least(1, "n_four_bar", "n", n)
    moments = (1 / 12, 1 / 12, 1 / 1200)
    shape = Solid("box", (0.1, 0.1, 1.0), Inertia(1.0, moments))
    m = Mechanism(gravity=(0.0, -9.81, 0.0))
    up, along = z_to(_Y), z_to(X)
    cranks = []
    for i in range(n + 1):
        crank = m.add_body(
            f"crank{i}",
            shape,
            position=(i, 0.5, 0.0),
            orientation=up,
            velocity=(0.5 * speed, 0.0, 0.0),
            angular_velocity=(0.0, 0.0, -speed),
        )
        m.add_joint(Revolute(m.world, crank, axis=_Z, at=(i, 0.0, 0.0), name=f"ground{i}"))
        cranks.append(crank)
    for i in range(1, n + 1):
        coupler = m.add_body(
            f"coupler{i}", shape, position=(i - 0.5, 1.0, 0.0), orientation=along, velocity=(speed, 0.0, 0.0)
        )
        m.add_joint(Revolute(cranks[i - 1], coupler, axis=_Z, at=(i - 1, 1.0, 0.0), name=f"left{i}"))
        m.add_joint(Revolute(cranks[i], coupler, axis=_Z, at=(i, 1.0, 0.0), name=f"right{i}"))
    return m


def slider_crank(
    *,
    crank: float = 0.2,
    rod: float = 0.5,
    offset: float = 0.0,
    angle: float = pi / 4,
    rate: float = 0.0,
) -> Mechanism:
    """Make a slider-crank with three hinges about x and a slider along y.

    Lengths are in m. The crank rotates about the origin, initially at `angle` (rad) from +y toward +z and at `rate`
    rad/s; the slider moves at the height `offset`. Crank and rod are bars 0.03 m thick with 2 kg per m, the slider is a
    cube of 0.1 m and 1 kg.
    """
    center = pin(0.0, 0.0)
    crank_pin = swing(center, crank, angle, rate)
    drop = offset - crank_pin.place[1]
    if not abs(drop) < rod:
        raise ValueError(f"slider_crank: a rod of {rod:g} m does not reach down {abs(drop):g} m to the slider")
    along = np.array((sqrt(rod * rod - drop * drop), drop))

    # the rod keeps its length
    wrist = Pin(crank_pin.place + along, np.array((along @ crank_pin.speed / along[0], 0.0)))
    m = Mechanism()
    first = plane_bar(m, "crank", center, crank_pin, width=0.03, mass=2 * crank)
    second = plane_bar(m, "rod", crank_pin, wrist, width=0.03, mass=2 * rod)
    slider = m.add_body("slider", box((0.1, 0.1, 0.1), mass=1.0), position=wrist.world(), velocity=(0.0, *wrist.speed))
    m.add_joint(Revolute(m.world, first, axis=X, at=center.world(), name="shaft"))
    m.add_joint(Revolute(first, second, axis=X, at=crank_pin.world(), name="crank pin"))
    m.add_joint(Revolute(second, slider, axis=X, at=wrist.world(), name="wrist pin"))
    m.add_joint(Prismatic(m.world, slider, axis=_Y, at=wrist.world(), name="guide"))
    return m


def scissor(k: int = 3, *, angle: float = pi / 4, length: float = 1.0, load: float = 5.0) -> Mechanism:
    """Make a scissor lift of k crossed pairs of bars under a platform, at rest; nothing supports it.

    Bars have `length` m, 1 kg per m and `angle` (rad) from the horizontal, with hinges about x at their ends and
    centers. The lowest bars stand on a hinge at the origin and on a foot that slides along y; the highest carry the
    platform of `load` kg on a hinge and on a slider. It has one degree of freedom. With flat bars it is singular, and
    it falls through this pose, as there is no ground contact.
    """
    at_least(1, "scissor", "k", k)
    if not 0 < angle < pi / 2:
        raise ValueError(f"scissor: angle must lie between 0 and pi/2, got {angle}")
    wide, high = length * cos(angle), length * sin(angle)
    left = [pin(0.0, i * high) for i in range(k + 1)]
    right = [pin(wide, i * high) for i in range(k + 1)]
    cube = box((0.1, 0.1, 0.1), mass=0.2)
    m = Mechanism()
    rising = [plane_bar(m, f"rising{i}", left[i - 1], right[i], width=0.05, mass=length) for i in range(1, k + 1)]
    falling = [plane_bar(m, f"falling{i}", right[i - 1], left[i], width=0.05, mass=length) for i in range(1, k + 1)]
    foot = m.add_body("foot", cube, position=right[0].world())
    head = m.add_body("head", cube, position=right[k].world())
    plate = box((0.5 * length, length, 0.05 * length), mass=load)
    platform = m.add_body("platform", plate, position=(0.0, 0.5 * length, k * high))

    m.add_joint(Revolute(m.world, rising[0], axis=X, at=left[0].world(), name="base"))
    m.add_joint(Prismatic(m.world, foot, axis=_Y, at=right[0].world(), name="track"))
    m.add_joint(Revolute(foot, falling[0], axis=X, at=right[0].world(), name="foot pin"))
    for i in range(k):
        middle = np.array((0.0, 0.5 * wide, (i + 0.5) * high))
        m.add_joint(Revolute(rising[i], falling[i], axis=X, at=middle, name=f"middle{i + 1}"))
    for i in range(1, k):
        m.add_joint(Revolute(falling[i - 1], rising[i], axis=X, at=left[i].world(), name=f"left{i}"))
        m.add_joint(Revolute(rising[i - 1], falling[i], axis=X, at=right[i].world(), name=f"right{i}"))
    m.add_joint(Revolute(falling[-1], platform, axis=X, at=left[k].world(), name="top"))
    m.add_joint(Revolute(rising[-1], head, axis=X, at=right[k].world(), name="head pin"))
    m.add_joint(Prismatic(platform, head, axis=_Y, at=right[k].world(), name="slot"))
    return m
