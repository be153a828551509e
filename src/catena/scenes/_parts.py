"""Parts of scenes: bars between points, moving points in a plane, joints by kind."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import Array, normalised, to_matrix, z_to
from ..describe.bodies import Body, World
from ..describe.inertia import Inertia, box
from ..describe.joint import Joint
from ..describe.joints import Ball, Revolute
from ..describe.mechanism import Mechanism

JointKind = Literal["revolute", "ball"]
X = (1.0, 0.0, 0.0)


def joint(
    kind: JointKind,
    a: Body | World,
    b: Body | World,
    *,
    axis: ArrayLike,
    name: str,
    at: ArrayLike | None = None,
    anchors: ArrayLike | None = None,
) -> Joint:
    """Return a revolute joint, or a ball joint, which ignores the axis."""
    if kind == "revolute":
        return Revolute(a, b, axis=axis, at=at, anchors=anchors, name=name)
    if kind == "ball":
        return Ball(a, b, at=at, anchors=anchors, name=name)
    raise ValueError(f"joint must be 'revolute' or 'ball', got {kind!r}")


# bodies are objects of Python, and more of them no machine could hold
_MOST = 1_000_000


def at_least(least: int, scene: str, name: str, value: int) -> None:
    """Raise a ValueError if a count is too small, too large or not a whole number."""
    if not isinstance(value, int | np.integer) or not least <= value <= _MOST:
        raise ValueError(f"{scene}: {name} must be at least {least} and at most {_MOST}, a whole number, got {value!r}")


def bar(m: Mechanism, name: str, start: ArrayLike, end: ArrayLike, *, width: float, mass: float) -> Body:
    """Add a width x width box between two world points (m), body z from start to end."""
    p, q = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    shape = box((width, width, float(np.linalg.norm(q - p))), mass=mass)
    return m.add_body(name, shape, position=0.5 * (p + q), orientation=z_to(normalised(q - p)))


# ---- in the plane


class Pin(NamedTuple):
    """A point of the plane (y, z) in m, and its velocity in m/s."""

    place: Array
    speed: Array

    def world(self, x: float = 0.0) -> Array:
        """Return the point in space."""
        return np.array((x, *self.place))

    def mirrored(self, side: float) -> Pin:
        """Return the point with y times side."""
        flip = np.array((side, 1.0))
        return Pin(flip * self.place, flip * self.speed)


def pin(y: float, z: float) -> Pin:
    """Make a point at rest."""
    return Pin(np.array((y, z)), np.zeros(2))


def swing(center: Pin, length: float, angle: float, rate: float = 0.0) -> Pin:
    """Return the end of a bar turning about a center, `angle` (rad) from +y towards +z, at `rate` rad/s."""
    arm = length * np.array((np.cos(angle), np.sin(angle)))
    return Pin(center.place + arm, center.speed + rate * np.array((-arm[1], arm[0])))


def meet(a: Pin, r: float, b: Pin, s: float, side: float) -> Pin:
    """Return the point r from a and s from b; of the two, the one on the left of the way from a to b if side is 1."""
    way = b.place - a.place
    distance = float(np.linalg.norm(way))
    if distance == 0:
        raise ValueError(f"bars of {r:g} m and {s:g} m from one and the same point meet anywhere around it")
    u = way / distance
    along = 0.5 * (r * r - s * s + distance * distance) / distance
    if abs(along) > r:
        raise ValueError(f"bars of {r:g} m and {s:g} m cannot meet over {distance:g} m")
    place = a.place + along * u + side * sqrt(r * r - along * along) * np.array((-u[1], u[0]))

    # both distances stay, so the velocity along either bar is that of its other end
    bars = np.stack((place - a.place, place - b.place))
    pull = np.array((bars[0] @ a.speed, bars[1] @ b.speed))
    return Pin(place, np.linalg.solve(bars, pull) if pull.any() else np.zeros(2))


def spin(a: Pin, b: Pin) -> Array:
    """Angular velocity (3,) of the body on which both points lie."""
    (y, z), (vy, vz) = b.place - a.place, b.speed - a.speed
    return np.array(((y * vz - z * vy) / (y * y + z * z), 0.0, 0.0))


def plane_bar(m: Mechanism, name: str, a: Pin, b: Pin, *, width: float, mass: float, x: float = 0.0) -> Body:
    """Add a bar from a to b, with its velocity, in the plane at x."""
    body = bar(m, name, a.world(x), b.world(x), width=width, mass=mass)
    body.velocity = (0.0, *(0.5 * (a.speed + b.speed)))
    body.angular_velocity = spin(a, b)
    return body


def plane_truss(
    m: Mechanism, name: str, pins: Sequence[Pin], *, width: float, seen: float, density: float, x: float = 0.0
) -> Body:
    """Add a rigid polygon of bars, `density` kg per m, with its velocity; body axes along the world's.

    Its sides are `seen` (m) thick, also where no joint is.
    """
    corners = np.array([p.world(x) for p in pins])
    spans = np.array([q - p for p, q in pairwise((*corners, corners[0]))])
    middles = corners + 0.5 * spans
    masses = density * np.linalg.norm(spans, axis=1)
    mass = float(masses.sum())
    center = masses @ middles / mass
    tensor = np.zeros((3, 3))
    for one, span, off in zip(masses, spans, middles - center, strict=True):
        turn = to_matrix(z_to(normalised(span)))
        own = box((width, width, float(np.linalg.norm(span))), mass=one).inertia.tensor
        tensor += turn @ own @ turn.T + one * (off @ off * np.eye(3) - np.outer(off, off))
    w = spin(pins[0], pins[1])
    (y, z), (vy, vz) = center[1:] - pins[0].place, pins[0].speed
    velocity = (0.0, vy - w[0] * z, vz + w[0] * y)
    body = m.add_body(name, Inertia(mass, tensor), position=center, velocity=velocity, angular_velocity=w)
    for span, off in zip(spans, middles - center, strict=True):
        size = (seen, seen, float(np.linalg.norm(span)))
        body.add_shape("box", size, position=off, orientation=z_to(normalised(span)))
    return body
