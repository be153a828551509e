"""Machines with springs and motors, from collections of benchmark problems."""

from __future__ import annotations

from math import atan2, cos, pi, sin

import numpy as np

from .._util.rotation import cross, from_axis_angle, rotate
from ..describe.bodies import Body, World
from ..describe.body_forces import PointSpring
from ..describe.inertia import Inertia, box
from ..describe.joint_forces import Motor
from ..describe.joints import Prismatic, Revolute
from ..describe.mechanism import Mechanism
from ._parts import Pin, X, meet, pin

_Y, _Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def flyball_governor(
    *, stiffness: float = 8e5, damping: float = 4e4, rate: float = 2 * pi, implicit: bool = True
) -> Mechanism:
    """Make the stiff flyball governor of the IFToMM benchmark library (A05), rotating about z at `rate` rad/s.

    A shaft of 1 m and 0.3 kg stands on the origin. A cube of 0.1 m and 3 kg slides along it, starting at half height.
    Two rods of 1 m and 0.3 kg with a point mass of 5 kg at their ends are hinged to the top of the shaft, 0.05 m off
    its axis and 30 degrees below the horizontal. A spring (N/m) with a rest length of 0.5 m and a damper (N s/m)
    connect the center of each rod to the slider. Vibrations of the springs decay within 1/8000 s, while the motion has
    a frequency of 1 Hz; springs that are not `implicit` need time steps of 5 ms at most.
    """
    angle = pi / 6
    m = Mechanism()
    spin = np.array((0.0, 0.0, rate))
    shaft = m.add_body("shaft", box((0.01, 0.01, 1.0), mass=0.3), position=(0.0, 0.0, 0.5), angular_velocity=spin)
    slider = m.add_body("slider", box((0.1, 0.1, 0.1), mass=3.0), position=(0.0, 0.0, 0.5), angular_velocity=spin)
    m.add_joint(Revolute(m.world, shaft, axis=_Z, at=(0.0, 0.0, 0.0), name="bearing"))
    m.add_joint(Prismatic(shaft, slider, axis=_Z, at=slider.position, name="slide"))
    inertia, center = _rod_with_ball(1.0, 0.01, mass=0.3, ball=5.0)
    for k, side in enumerate((1.0, -1.0), start=1):
        hinge = np.array((0.05 * side, 0.0, 1.0))
        along = np.array((side * cos(angle), 0.0, -sin(angle)))
        place = hinge + center * along

        # body x points outwards along the rod
        turn = from_axis_angle(_Y, angle if side > 0 else pi - angle)
        rod = m.add_body(
            f"rod{k}", inertia, position=place, orientation=turn, velocity=cross(spin, place), angular_velocity=spin
        )
        m.add_joint(Revolute(shaft, rod, axis=_Y, at=hinge, name=f"hinge{k}"))
        ends = np.stack((hinge - (0.0, 0.0, 0.5), hinge + 0.5 * along))
        m.add_force(
            PointSpring(
                slider,
                rod,
                stiffness,
                points=ends,
                rest_length=0.5,
                damping=damping,
                implicit=implicit,
                name=f"spring{k}",
            )
        )
    return m


def _rod_with_ball(length: float, width: float, *, mass: float, ball: float) -> tuple[Inertia, float]:
    """A width x width rod along x with a point mass at its outer end, and the way from its inner end to the center."""
    center = (0.5 * mass + ball) * length / (mass + ball)

    # parallel axes: both parts seen from the common center of mass
    away = mass * (0.5 * length - center) ** 2 + ball * (length - center) ** 2
    own = box((length, width, width), mass=mass).inertia.tensor
    return Inertia(mass + ball, own + away * np.diag((0.0, 1.0, 1.0))), center


def andrews_squeezer() -> Mechanism:
    """Make Andrews' squeezing mechanism (IFToMM A03), at rest, without gravity: seven bodies, ten hinges.

    The published plane (x, y) is (y, z) of the world, and hinges are about x. A motor of 0.033 N m turns K1 about the
    origin and accelerates it to about 1000 rad/s, so it needs time steps of 10 us. A spring of 4530 N/m pulls K3 back
    to C. Bodies, points, lengths and masses are those of the IVP test set; body angles are beta, beta + Theta, gamma,
    Phi + delta, delta, Omega + epsilon, epsilon for K1 ... K7, and Theta = 0 at the start. Moments of inertia about
    axes other than x have no effect.
    """
    origin, a, b, c = pin(0.0, 0.0), pin(-0.06934, -0.00227), pin(-0.03635, 0.03273), pin(0.014, 0.072)
    crank, coupler = 0.007, 0.028

    # Theta = 0: F lies on the line from E through the origin
    e = meet(origin, coupler - crank, b, 0.035, 1.0)
    f = pin(*(-crank / (coupler - crank) * e.place))
    g = meet(a, 0.04, e, 0.02, 1.0)
    h = meet(a, 0.04, e, 0.02, -1.0)

    m = Mechanism(gravity=(0.0, 0.0, 0.0))
    bodies: dict[str, Body] = {}

    def add(name: str, mass: float, moment: float, angle: float, start: Pin, arm: tuple[float, float]) -> None:
        # arm: from the start to the center of mass, in the body frame
        turn = from_axis_angle(X, angle)
        place = start.world() + rotate(turn, np.array((0.0, *arm)))
        bodies[name] = m.add_body(name, Inertia(mass, (moment,) * 3), position=place, orientation=turn)

    add("K1", 0.04325, 2.194e-6, _angle(origin, f), origin, (0.00092, 0.0))
    add("K2", 0.00365, 4.41e-7, _angle(e, f), f, (-0.0115, 0.0))
    add("K3", 0.02373, 5.255e-6, _angle(e, b) - pi / 2, b, (0.01043, -0.01874))
    add("K4", 0.00706, 5.667e-7, _angle(e, g) - pi / 2, e, (0.0, 0.01421))
    add("K5", 0.0705, 1.169e-5, _angle(a, g), a, (0.02308, 0.00916))
    add("K6", 0.00706, 5.667e-7, _angle(h, e), e, (-0.01421, 0.0))
    add("K7", 0.05498, 1.912e-5, _angle(h, a) - pi / 2, a, (-0.00449, -0.01228))
    hinges: tuple[tuple[str, Body | World, str, Pin], ...] = (
        ("O", m.world, "K1", origin),
        ("F", bodies["K1"], "K2", f),
        ("E3", bodies["K2"], "K3", e),
        ("B", m.world, "K3", b),
        ("E4", bodies["K2"], "K4", e),
        ("G", bodies["K4"], "K5", g),
        ("A5", m.world, "K5", a),
        ("E6", bodies["K2"], "K6", e),
        ("H", bodies["K6"], "K7", h),
        ("A7", m.world, "K7", a),
    )
    for name, one, other, place in hinges:
        m.add_joint(Revolute(one, bodies[other], axis=X, at=place.world(), name=name))
    m.add_force(Motor("O", 0.033, name="motor"))

    # D on K3: 18 and 20 mm from B in its frame, seen from the center of mass
    ends = np.stack((c.world(), (0.0, 0.02 - 0.01043, 0.01874 - 0.018)))
    m.add_force(PointSpring(m.world, "K3", 4530.0, anchors=ends, rest_length=0.07785, name="spring"))
    return m


def _angle(start: Pin, end: Pin) -> float:
    y, z = end.place - start.place
    return atan2(z, y)
