"""Walking machines: Jansen's Strandbeest and the Minitaur."""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from .._util.rotation import Array, z_to
from ..describe.bodies import Body, World
from ..describe.inertia import box, cylinder
from ..describe.joints import Fixed, Prismatic, Revolute
from ..describe.mechanism import Mechanism
from ._parts import Pin, X, at_least, meet, pin, plane_bar, plane_truss, swing


class HolyNumbers(NamedTuple):
    """Lengths of Theo Jansen's leg, with his letters, as published on strandbeest.com."""

    a: float = 38.0  # shaft to frame pivot, outwards
    b: float = 41.5  # frame pivot to the upper triangle's top
    c: float = 39.3  # frame pivot to the lower triangle
    d: float = 40.1  # frame pivot to the upper triangle's outer corner
    e: float = 55.8  # top to outer corner
    f: float = 39.4  # outer corner to the lower triangle
    g: float = 36.7  # upper side of the lower triangle
    h: float = 65.7  # outer corner of the lower triangle to the foot
    i: float = 49.0  # inner corner of the lower triangle to the foot
    j: float = 50.0  # crank pin to top
    k: float = 61.9  # crank pin to the lower triangle
    l: float = 7.8  # noqa: E741  # shaft above frame pivot
    m: float = 15.0  # crank


def strandbeest(
    legs: int = 12,
    *,
    angle: float = 0.0,
    rate: float = 0.0,
    floating: bool = False,
    scale: float = 0.01,
    density: float = 0.2,
) -> Mechanism:
    """Make a Strandbeest of Jansen linkages on one crankshaft, at `angle` (rad) and rotating at `rate` rad/s.

    Legs are in pairs, left and right of the shaft (world x) and on the same crank pin; pair p of n is rotated by 2 pi p
    / n. A leg consists of two rigid triangles and four rods, on hinges about x; foot and thigh of leg 1 are the bodies
    "leg1 lower" and "leg1 upper". `scale` is the length of Jansen's unit (m), `density` the mass of the tubes (kg/m).
    The frame is fixed to the world, or free (`floating`); there is no ground contact. With a fixed frame, it has one
    degree of freedom.
    """
    at_least(1, "strandbeest", "legs", legs)
    size = HolyNumbers(*(scale * number for number in HolyNumbers()))
    pairs = (legs + 1) // 2
    pitch = 0.5 * size.m
    m = Mechanism()
    middle = 0.5 * (pairs - 1) * pitch
    beam = box((pairs * pitch, 2 * size.a, 0.1 * size.a), mass=2 * density * (pairs * pitch + 2 * size.a))
    frame = m.add_body("frame", beam, position=(middle, 0.0, -size.l))
    if not floating:
        m.add_joint(Fixed(m.world, frame, name="stand"))

    shaft = cylinder(size.m, pairs * pitch, mass=density * pairs * (pitch + size.m))
    spin = (rate, 0.0, 0.0)
    crank = m.add_body("crank", shaft, position=(middle, 0.0, 0.0), orientation=z_to(X), angular_velocity=spin)
    m.add_joint(Revolute(frame, crank, axis=X, at=(middle, 0.0, 0.0), name="shaft"))
    for leg in range(legs):
        pair = leg // 2
        crank_pin = swing(pin(0.0, 0.0), size.m, angle + 2 * pi * pair / pairs, rate)
        _jansen_leg(m, f"leg{leg + 1}", size, crank_pin, x=pair * pitch, side=-1.0 if leg % 2 else 1.0, density=density)
    return m


def _jansen_leg(
    m: Mechanism, name: str, size: HolyNumbers, crank_pin: Pin, *, x: float, side: float, density: float
) -> None:
    # as if towards +y, then mirrored
    hub = crank_pin.mirrored(side)
    pivot = pin(size.a, -size.l)
    top = meet(hub, size.j, pivot, size.b, 1.0)
    knee = meet(hub, size.k, pivot, size.c, -1.0)
    hip = meet(pivot, size.d, top, size.e, -1.0)
    heel = meet(knee, size.g, hip, size.f, -1.0)
    foot = meet(knee, size.i, heel, size.h, -1.0)
    hub, pivot, top, knee, hip, heel, foot = (p.mirrored(side) for p in (hub, pivot, top, knee, hip, heel, foot))

    # tubes weigh as much as thin bars do, and are seen as thick as they are
    width, seen = size.m / 30, 0.12 * size.m

    def rod(letter: str, a: Pin, b: Pin, length: float) -> Body:
        body = plane_bar(m, f"{name} {letter}", a, b, width=width, mass=density * length, x=x)
        body.add_shape("box", (seen, seen, length))
        return body

    upper = plane_truss(m, f"{name} upper", (pivot, top, hip), width=width, seen=seen, density=density, x=x)
    lower = plane_truss(m, f"{name} lower", (knee, heel, foot), width=width, seen=seen, density=density, x=x)
    j, k = rod("j", hub, top, size.j), rod("k", hub, knee, size.k)
    c, f = rod("c", pivot, knee, size.c), rod("f", hip, heel, size.f)

    frame, crank = m.bodies["frame"], m.bodies["crank"]
    hinges = (
        ("crank-j", crank, j, hub),
        ("crank-k", crank, k, hub),
        ("frame-upper", frame, upper, pivot),
        ("frame-c", frame, c, pivot),
        ("j-upper", j, upper, top),
        ("k-lower", k, lower, knee),
        ("c-lower", c, lower, knee),
        ("upper-f", upper, f, hip),
        ("f-lower", f, lower, heel),
    )
    for which, one, other, place in hinges:
        m.add_joint(Revolute(one, other, axis=X, at=place.world(x), name=f"{name} {which}"))


def minitaur_leg(angles: tuple[float, float] = (pi / 2, pi / 2), *, hips: float = 0.0) -> Mechanism:
    """Make one leg of the Minitaur, hanging from the world, at rest: a five-bar linkage with two motor hinges.

    Its thighs are 0.1 m and its shins 0.2 m long (Kenneally, De and Koditschek 2016), with hinges about x at hips,
    knees and foot. `angles` (rad) are those of the front and the rear thigh from vertical, outward. `hips` is the
    distance (m) of the two motors, which are coaxial on the robot. Masses are round numbers: thighs 0.05 kg, shins 0.1
    kg. It has two degrees of freedom. With coincident thighs, the leg is folded or stretched, and singular.
    """
    m = Mechanism()
    _minitaur_leg(m, m.world, "leg", np.zeros(3), angles, hips)
    return m


def standing_leg(angle: float = pi / 2) -> Mechanism:
    """Make one leg of the Minitaur, standing at rest, under a body of 1.25 kg (a quarter of the robot) on a rail.

    Both thighs of `minitaur_leg` are at `angle` (rad) from vertical, between 0 (stretched) and pi (folded). The foot,
    of 0.05 kg, slides along y on the ground and cannot leave it, as there is no contact. It has two degrees of freedom:
    the height of the body (vertical joint "rail") and the position of the foot (joint "ground"), both 0 in the
    described pose.
    """
    height = 0.1 * cos(angle) + sqrt(0.04 - (0.1 * sin(angle)) ** 2)
    m = Mechanism()
    body = m.add_body("body", box((0.1, 0.12, 0.06), mass=1.25), position=(0.0, 0.0, height))
    foot = m.add_body("foot", box((0.04, 0.04, 0.02), mass=0.05))
    m.add_joint(Prismatic(m.world, body, axis=(0.0, 0.0, 1.0), at=(0.0, 0.0, height), name="rail"))
    m.add_joint(Prismatic(m.world, foot, axis=(0.0, 1.0, 0.0), at=(0.0, 0.0, 0.0), name="ground"))
    _minitaur_leg(m, body, "leg", np.array((0.0, 0.0, height)), (angle, angle), 0.0)
    m.add_joint(Revolute("leg front shin", foot, axis=X, at=(0.0, 0.0, 0.0), name="ankle"))
    return m


def minitaur(angles: tuple[float, float] = (pi / 2, pi / 2), *, hips: float = 0.0) -> Mechanism:
    """Make a Minitaur in free fall, at rest: a body of 0.25 x 0.4 x 0.1 m and 5 kg with four legs as in `minitaur_leg`.

    It faces +y, and its center is at the origin. The legs are front_left, front_right, back_left and back_right. It has
    14 degrees of freedom: six of the body and two of each leg. There is no ground contact.
    """
    m = Mechanism()
    body = m.add_body("body", box((0.25, 0.4, 0.1), mass=5.0))
    for along, y in (("front", 0.2), ("back", -0.2)):
        for across, x in (("left", -0.15), ("right", 0.15)):
            _minitaur_leg(m, body, f"{along}_{across}", np.array((x, y, 0.0)), angles, hips)
    return m


def _minitaur_leg(
    m: Mechanism, body: Body | World, name: str, at: Array, angles: tuple[float, float], hips: float
) -> None:
    x, y, z = at
    hip = pin(y + 0.5 * hips, z), pin(y - 0.5 * hips, z)
    knee = swing(hip[0], 0.1, angles[0] - pi / 2), swing(hip[1], 0.1, -pi / 2 - angles[1])
    foot = meet(knee[1], 0.2, knee[0], 0.2, -1.0)
    shins = []
    for end, top, middle in zip(("front", "rear"), hip, knee, strict=True):
        thigh = plane_bar(m, f"{name} {end} thigh", top, middle, width=0.02, mass=0.05, x=x)
        shin = plane_bar(m, f"{name} {end} shin", middle, foot, width=0.01, mass=0.1, x=x)
        m.add_joint(Revolute(body, thigh, axis=X, at=top.world(x), name=f"{name} {end} motor"))
        m.add_joint(Revolute(thigh, shin, axis=X, at=middle.world(x), name=f"{name} {end} knee"))
        shins.append(shin)
    m.add_joint(Revolute(shins[0], shins[1], axis=X, at=foot.world(x), name=f"{name} foot"))
