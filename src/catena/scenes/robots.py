"""Robots with a servo on every hinge, falling freely or with a fixed base; there is no ground contact.

They face +x, and their left is +y. They are described with straight limbs, where all angles are zero; the targets of
their servos are a standing pose. Positive rotations about y move a hanging limb backward, about x to the left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..describe.bodies import Body
from ..describe.inertia import box
from ..describe.joint_forces import Servo
from ..describe.joints import Fixed, Revolute, Universal
from ..describe.mechanism import Mechanism
from ._parts import X

Y = (0.0, 1.0, 0.0)
Z = (0.0, 0.0, 1.0)
AXES = {"roll": X, "pitch": Y, "yaw": Z}


class Gains(NamedTuple):
    """Parameters of a servo: kp (N m/rad), kd (N m s/rad), effort_limit (N m)."""

    kp: float
    kd: float
    effort_limit: float


def quadruped(*, hung: bool = False) -> Mechanism:
    """Make a quadruped of 12.2 kg with twelve hinges, legs straight down, at rest; it falls, or is `hung` by its trunk.

    The center of the trunk is at the origin. The legs are front_left, front_right, back_left and back_right. Each has
    the hinges "abduction" (about x), "hip" and "knee" (about y), and the bodies "hip", "thigh" and "shank": "front_left
    knee" is a joint and its servo. Thighs and shanks are 0.2 m long. There is no ground contact.
    """
    m = Mechanism()
    trunk = m.add_body("trunk", box((0.36, 0.18, 0.11), mass=5.0))
    if hung:
        m.add_joint(Fixed(m.world, trunk, name="stand"))
    drive = Gains(60.0, 1.0, 30.0)
    for along, x in (("front", 0.18), ("back", -0.18)):
        for across, side in (("left", 1.0), ("right", -1.0)):
            leg, y = f"{along}_{across}", 0.13 * side
            hip = _block(m, f"{leg} hip", (0.08, 0.06, 0.08), 0.6, (x, 0.09 * side, 0.0))
            thigh = _block(m, f"{leg} thigh", (0.05, 0.04, 0.2), 1.0, (x, y, -0.1))
            shank = _block(m, f"{leg} shank", (0.03, 0.03, 0.2), 0.2, (x, y, -0.3))
            _hinge(m, f"{leg} abduction", trunk, hip, X, (x, 0.05 * side, 0.0), drive, 0.0)
            _hinge(m, f"{leg} hip", hip, thigh, Y, (x, y, 0.0), drive, 0.8)
            _hinge(m, f"{leg} knee", thigh, shank, Y, (x, y, -0.2), drive, -1.6)
    return m


def humanoid(*, hung: bool = False, universals: bool = True) -> Mechanism:
    """Make a humanoid of 72 kg with 21 hinges, standing straight, at rest; it falls, or is `hung` by its pelvis.

    The pelvis is at the origin, the soles 0.96 m below. Hinges: "waist yaw", "waist roll" and "waist pitch"; on the
    left, and likewise on the right, "left hip yaw", "left hip roll", "left hip pitch", "left knee", "left ankle pitch",
    "left ankle roll", "left shoulder pitch", "left shoulder roll" and "left elbow". Servos have these names.
    Intersecting hinges are modeled in two ways: the three hinges of a hip are connected by two bodies of 1 kg ("left
    hip outer" and "left hip inner"), and the waist's yaw by one of 1.5 kg; "waist", "left ankle" and "left shoulder"
    are universal joints. Without `universals`, these are also two hinges with a body of 0.3 kg between them.
    """
    m = Mechanism()
    pelvis = m.add_body("pelvis", box((0.16, 0.24, 0.16), mass=9.0))
    if hung:
        m.add_joint(Fixed(m.world, pelvis, name="stand"))
    waist = _block(m, "waist", (0.1, 0.1, 0.08), 1.5, (0.0, 0.0, 0.1))
    torso = _block(m, "torso", (0.2, 0.34, 0.5), 26.0, (0.0, 0.0, 0.38))
    _hinge(m, "waist yaw", pelvis, waist, Z, (0.0, 0.0, 0.1), Gains(200.0, 5.0, 150.0), 0.0)
    turns = {"roll": (Gains(400.0, 15.0, 200.0), 0.0), "pitch": (Gains(400.0, 15.0, 200.0), 0.0)}
    _cross(m, "waist", waist, torso, (0.0, 0.0, 0.1), turns, universals)
    for name, side in (("left", 1.0), ("right", -1.0)):
        _leg(m, name, pelvis, 0.1 * side, universals)
        _arm(m, name, torso, side, universals)
    return m


def _leg(m: Mechanism, side: str, pelvis: Body, y: float, universals: bool) -> None:
    hip, knee, ankle = (0.0, y, -0.06), (0.0, y, -0.48), (0.0, y, -0.88)
    outer = _block(m, f"{side} hip outer", (0.08, 0.08, 0.08), 1.0, hip)
    inner = _block(m, f"{side} hip inner", (0.08, 0.08, 0.08), 1.0, hip)
    thigh = _block(m, f"{side} thigh", (0.14, 0.14, 0.42), 7.5, (0.0, y, -0.27))
    shin = _block(m, f"{side} shin", (0.09, 0.09, 0.4), 3.3, (0.0, y, -0.68))
    foot = _block(m, f"{side} foot", (0.25, 0.1, 0.06), 1.1, (0.05, y, -0.93))
    _hinge(m, f"{side} hip yaw", pelvis, outer, Z, hip, Gains(150.0, 4.0, 100.0), 0.0)
    _hinge(m, f"{side} hip roll", outer, inner, X, hip, Gains(200.0, 8.0, 150.0), 0.0)
    _hinge(m, f"{side} hip pitch", inner, thigh, Y, hip, Gains(200.0, 8.0, 200.0), -0.3)
    _hinge(m, f"{side} knee", thigh, shin, Y, knee, Gains(250.0, 5.0, 200.0), 0.6)
    turns = {"pitch": (Gains(60.0, 1.0, 80.0), -0.3), "roll": (Gains(40.0, 0.5, 40.0), 0.0)}
    _cross(m, f"{side} ankle", shin, foot, ankle, turns, universals)


def _arm(m: Mechanism, side: str, torso: Body, sign: float, universals: bool) -> None:
    y = 0.22 * sign
    upper = _block(m, f"{side} upper arm", (0.08, 0.08, 0.3), 2.1, (0.0, y, 0.4))
    lower = _block(m, f"{side} forearm", (0.06, 0.06, 0.36), 1.6, (0.0, y, 0.07))
    turns = {"pitch": (Gains(60.0, 2.0, 50.0), 0.2), "roll": (Gains(60.0, 2.0, 50.0), 0.15 * sign)}
    _cross(m, f"{side} shoulder", torso, upper, (0.0, y, 0.55), turns, universals)
    _hinge(m, f"{side} elbow", upper, lower, Y, (0.0, y, 0.25), Gains(40.0, 1.0, 30.0), -0.4)


def _block(m: Mechanism, name: str, size: ArrayLike, mass: float, position: ArrayLike) -> Body:
    return m.add_body(name, box(size, mass=mass), position=position)


def _hinge(
    m: Mechanism, name: str, a: Body, b: Body, axis: ArrayLike, at: ArrayLike, drive: Gains, target: float
) -> None:
    m.add_joint(Revolute(a, b, axis=axis, at=at, name=name))
    m.add_force(Servo(name, **drive._asdict(), target=target, name=name))


def _cross(
    m: Mechanism,
    name: str,
    a: Body,
    b: Body,
    at: ArrayLike,
    turns: dict[str, tuple[Gains, float]],
    universal: bool,
) -> None:
    """Join b to a by two hinges at one point, in the order of `turns`."""
    first, second = turns
    if not universal:
        cross = _block(m, f"{name} cross", (0.04, 0.04, 0.04), 0.3, np.asarray(at))
        for which, one, other in ((first, a, cross), (second, cross, b)):
            _hinge(m, f"{name} {which}", one, other, AXES[which], at, *turns[which])
        return
    m.add_joint(Universal(a, b, axes=(AXES[first], AXES[second]), at=at, name=name))
    for which, coordinate in ((first, "first"), (second, "second")):
        drive, target = turns[which]
        servo = Servo(name, **drive._asdict(), target=target, coordinate=coordinate, name=f"{name} {which}")
        m.add_force(servo)
