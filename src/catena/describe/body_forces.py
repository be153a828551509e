"""Forces between two bodies that need no joint (springs, cables, ropes, bumpers, bushings), and drag; see forces.py.

Limits of sums of coordinates are here as well, because several joints share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._util.checks import number
from .._util.lookup import name_of, no_such
from .._util.rotation import IDENTITY, Array, conjugate, finite, multiply, rotate, unit_quaternion
from .couplings import Coupling
from .forces import SPRING, Force, Part, Resistance
from .limits import Limits, limits_of
from .measures import Z_TO_X, Z_TO_Y, Measure

if TYPE_CHECKING:
    from .couplings import CoordinateLike
    from .joint import BodyOrName
    from .mechanism import Mechanism


class _BetweenBodies(Force):
    """A force between two bodies that no joint need join."""

    def __init__(self, a: BodyOrName, b: BodyOrName, name: str | None) -> None:
        self._a, self._b = name_of(a), name_of(b)
        super().__init__(name, f"{type(self).__name__.lower()} {self._a}-{self._b}")
        if self._a == self._b:
            raise ValueError(f"{self.label} joins {self._a!r} to itself")


class PointSpring(_BetweenBodies):
    """A spring and damper between a point of a and a point of b, along the line between them.

    Give either `points`, two world points (m) in the described pose, or `anchors`, two points (m) in the body frames.
    The default `rest_length` (m) is the distance in the described pose. Stiffness is in N/m, damping in N s/m.
    """

    parameters = SPRING
    _side = 0.0

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        stiffness: float,
        *,
        points: ArrayLike | None = None,
        anchors: ArrayLike | None = None,
        rest_length: float | None = None,
        damping: float = 0.0,
        implicit: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, name)
        self._rest_length = rest_length
        if rest_length is not None and not number(rest_length) >= 0:
            raise ValueError(f"{self.label}: rest_length must not be negative, got {rest_length}")
        self._numbers = self._law(
            {
                "stiffness": stiffness,
                "rest_length": 0.0 if rest_length is None else rest_length,
                "damping": damping,
                # a damper that must not push a cable has to know its pull
                "implicit": float(implicit or (self._side != 0 and damping != 0)),
                "side": self._side,
            }
        )
        self._places = _two_places(points, anchors, self.label)

    def _resolve(self, mechanism: Mechanism) -> None:
        """Compute the two points in the body frames, and the default rest length."""
        measure, distance = _measured_distance(mechanism, self._a, self._b, *self._places, self.label)
        law, functions = self._numbers
        if self._rest_length is None:
            law["rest_length"] = distance
        self.parts = [Part(measure, law, functions)]


class Cable(PointSpring):
    """A cable between two points: it pulls while it is longer than `rest_length` (m); below that, it is slack.

    The points are given as for PointSpring. Without damping, the force acts at the nodes and conserves energy. The
    damper acts only while the cable is taut, and never pushes.
    """

    _side = 1.0


class Bumper(PointSpring):
    """A spring between two points that pushes while their distance is below `rest_length` (m); inactive otherwise.

    The points are given as for PointSpring. Without damping, the force acts at the nodes and conserves energy. The
    damper never pulls.
    """

    _side = -1.0


class Rope(_BetweenBodies):
    """A rope that does not stretch: the distance of a point of a from a point of b is at most `length` (m).

    `points` are two world points in the described pose, or `anchors` two points in the body frames. `length` is the
    described distance by default. Where it becomes taut it takes away the speed at which the points part, and gives
    back the part `restitution` of it. A rope that stretches is a Cable.
    """

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        *,
        points: ArrayLike | None = None,
        anchors: ArrayLike | None = None,
        length: float | None = None,
        restitution: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, name)
        self._length = None if length is None else float(finite(length, (), f"{self.label}: length"))
        if self._length is not None and self._length <= 0:
            raise ValueError(f"{self.label}: length must be positive, got {length!r}")
        self._restitution = restitution
        self._places = _two_places(points, anchors, self.label)

    def _resolve(self, mechanism: Mechanism) -> None:
        """Fix the two points on the bodies, and the length."""
        may_coincide = self._length is not None
        measure, distance = _measured_distance(mechanism, self._a, self._b, *self._places, self.label, may_coincide)
        limits = limits_of(self.label, upper=self._length or distance, restitution=self._restitution)
        self.parts = [Part(measure, limits.law(), {})]


class SumLimits(Force):
    """Limits of a sum of joint coordinates (rad or m), such as the excursion of a tendon that runs over several joints.

    `terms` are pairs of a coordinate and its coefficient, as of a Coupling; `limits` are those of the sum.
    """

    def __init__(
        self, terms: Sequence[tuple[CoordinateLike, float]], limits: Limits, *, name: str | None = None
    ) -> None:
        self._coupling = Coupling(terms, name=name)
        super().__init__(name, f"limits of {self._coupling.name.removeprefix('coupling ')}")
        if not isinstance(limits, Limits) or not limits.hard:
            raise ValueError(f"{self.label}: limits must be Limits(...) that are hard, got {limits!r}")
        self._limits = limits

    def _resolve(self, mechanism: Mechanism) -> None:
        """Look up the coordinates."""
        self._coupling._resolve(mechanism)
        terms = self._coupling.terms
        self.parts = [Part(terms[0].measure, self._limits.law(), {}, terms)]


class Bushing(_BetweenBodies):
    """An elastic bushing: springs and dampers along and about three axes, between two bodies that may move in any way.

    It is located at the world point `at` in the described pose, where it is at rest. Its axes are those of the world,
    or are rotated by the quaternion `orientation`. Each coefficient is one number for all axes, or three: `stiffness`
    N/m, `damping` N s/m, `turn_stiffness` N m/rad, `turn_damping` N m s/rad. Displacements are those of b's point along
    a's axes. Rotations are twice the vector part of b's quaternion relative to a, which approximates the angle while it
    is small; a bushing is not suitable for rotations near half a turn.
    """

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        *,
        at: ArrayLike,
        orientation: ArrayLike = IDENTITY,
        stiffness: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
        turn_stiffness: ArrayLike = 0.0,
        turn_damping: ArrayLike = 0.0,
        implicit: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, name)
        self._at = finite(at, (3,), f"{self.label}: at")
        self._axes = unit_quaternion(orientation, (4,), f"{self.label}: orientation")
        self._laws = []
        for what, stiff, damp in (("slide", stiffness, damping), ("bend", turn_stiffness, turn_damping)):
            stiffs, damps = (_three(value, f"{self.label}: {what}") for value in (stiff, damp))
            for axis in range(3):
                if stiffs[axis] or damps[axis]:
                    law = {"stiffness": stiffs[axis], "damping": damps[axis], "implicit": float(implicit)}
                    self._laws.append((what, axis, self._law(law)))
        if not self._laws:
            raise ValueError(f"{self.label}: give it a stiffness or a damping")

    def _resolve(self, mechanism: Mechanism) -> None:
        """Compute anchors and frames on the two bodies."""
        bodies = [mechanism.find(name, self.label) for name in (self._a, self._b)]
        anchors = np.array([rotate(conjugate(body.orientation), self._at - body.position) for body in bodies])
        frames = np.array([multiply(conjugate(body.orientation), self._axes) for body in bodies])
        parts = []
        for what, axis, numbers in self._laws:
            turned = multiply(frames, (Z_TO_X, Z_TO_Y, np.array(IDENTITY))[axis])
            parts.append(Part(Measure(f"measured_{what}", self._a, self._b, anchors, turned), *numbers))
        self.parts = parts


class Drag(Force):
    """Linear drag of a fluid at rest on one body: a force and a torque against its velocities.

    `linear` (N s/m) acts at the center of mass against its velocity, `angular` (N m s/rad) against the angular
    velocity. Each is one number, or three along the axes of the body. Drag is implicit in the step and costs almost
    nothing. For a floating body, or one on a ball joint to the world, it replaces a damper.
    """

    def __init__(
        self, body: BodyOrName, linear: ArrayLike = 0.0, angular: ArrayLike = 0.0, *, name: str | None = None
    ) -> None:
        self._body = name_of(body)
        super().__init__(name, f"drag on {self._body}")
        numbers = [_three(value, f"{self.label}: {what}") for what, value in (("linear", linear), ("angular", angular))]
        self._numbers = self.checked(np.concatenate(numbers))

    def checked(self, numbers: Array) -> Array:
        """Return the six coefficients; raise a ValueError if they are not positive or zero."""
        if (numbers < 0).any():
            raise ValueError(f"{self.label}: linear and angular must not be negative, got {numbers.tolist()}")
        if not numbers.any():
            raise ValueError(f"{self.label}: give it a linear or an angular drag")
        numbers.flags.writeable = False
        return numbers

    def _resolve(self, mechanism: Mechanism) -> None:
        """Look up the body."""
        if self._body not in mechanism.bodies:
            raise no_such("body", self._body, mechanism, f"{self.label}: ")
        self.parts, self._resistances = (), (Resistance(self._body, self._numbers),)


def _two_places(points: ArrayLike | None, anchors: ArrayLike | None, label: str) -> tuple[Array, bool]:
    """Two points, and whether they are world points."""
    if (points is None) == (anchors is None):
        raise ValueError(f"{label}: give points= (two world points) or anchors= (two points in body frames)")
    return finite(points if points is not None else anchors, (2, 3), f"{label}: points"), points is not None  # type: ignore[arg-type]


def _measured_distance(
    mechanism: Mechanism, a: str, b: str, places: Array, in_world: bool, label: str, may_coincide: bool = False
) -> tuple[Measure, float]:
    """The distance of two points, and how large it is in the described pose."""
    bodies = [mechanism.find(name, label) for name in (a, b)]
    anchors = places.copy()
    if in_world:
        for k, body in enumerate(bodies):
            anchors[k] = rotate(conjugate(body.orientation), anchors[k] - body.position)
    ends = [body.position + rotate(body.orientation, p) for body, p in zip(bodies, anchors, strict=True)]
    distance = float(np.linalg.norm(ends[1] - ends[0]))
    if distance == 0 and not may_coincide:
        raise ValueError(f"{label}: its two points coincide in the described pose, so it has no direction")
    return Measure("measured_distance", a, b, anchors, np.array((IDENTITY, IDENTITY))), distance


def _three(value: ArrayLike, what: str) -> Array:
    array = np.asarray(value, dtype=float)
    return finite(np.full(3, array) if array.ndim == 0 else array, (3,), what)
