"""Forces that belong to the mechanism: springs, cables, dampers, motors, servos, friction, rotors, bushings and drag.

Each acts along a number that two bodies have between them, the coordinate of a joint or the distance of two points,
equally and oppositely on both; drag acts on one body, against its velocities. Springs, motors and rotors act at the
nodes, like gravity: energy is kept. Dampers, drag, servos and friction, and springs with `implicit=True`, are implicit
on the step: second order and stable however stiff (what is far too stiff for the step rings from node to node and dies
out slowly, as with the trapezoidal rule). Orders 4, 6 and 8 have substeps backwards in time, which a damper can only
take if it is soft for them, and friction only where it cannot turn the motion round: stiff ones make them halve their
steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._util.checks import number, shown
from .._util.lookup import name_of, no_such
from .._util.rotation import IDENTITY, Array, conjugate, finite, multiply, rotate, unit_quaternion
from .._util.strict import Named, Strict
from .measures import Z_TO_X, Z_TO_Y, Measure, coordinate_measure

if TYPE_CHECKING:
    from .joint import BodyOrName, Joint
    from .mechanism import Mechanism

# a number, or a function of time (s) that returns one
NumberOrFunction: TypeAlias = float | Callable[[float], float]

# the numbers of a law, and what they are if not given
LAW: dict[str, float] = {
    "stiffness": 0.0,
    "rest": 0.0,
    "damping": 0.0,
    "friction": 0.0,
    "threshold": 1.0,
    "kp": 0.0,
    "kd": 0.0,
    "target": 0.0,
    "target_rate": 0.0,
    "limit": inf,
    "force": 0.0,
    "implicit": 0.0,
    "inertia": 0.0,
    "side": 0.0,
}
# in the order in which the core takes them
NUMBERS = _core.law_names()
_SIGNED = ("rest", "target", "target_rate", "force", "side")
# those that feed or take energy, where they are not zero
WORKING = ("damping", "friction", "kp", "kd", "force")
# joints that turn about any axis, which a damper acts on as a whole
ROTARY = ("ball", "free")
# those that make heat of it
DISSIPATING = ("damping", "friction", "kd")


@dataclass
class Part(Strict):
    """One measure and the law along it; `functions` stand in place of the numbers "target" or "force"."""

    measure: Measure
    law: Mapping[str, float]
    functions: Mapping[str, Callable[[float], float]]

    def __getstate__(self) -> dict[str, Any]:
        # views of dictionaries, which a locked part has, cannot be pickled
        return self.__dict__ | {"law": dict(self.law), "functions": dict(self.functions)}


@dataclass(frozen=True)
class Resistance:
    """Against motions of a body along its axes and turns about them: numbers (6,) in N s/m and N m s/rad."""

    body: str
    numbers: Array


@dataclass(frozen=True)
class Rotary:
    """Against turns of a joint's body b against its body a, the same about all axes: damping in N m s/rad."""

    joint: str
    damping: float


class Force(Named):
    """A force on bodies; see the module.

    Once added to a mechanism it consists of `parts`, or of `resistances` or `rotaries`, which act against velocities.
    """

    parts: Sequence[Part]
    resistances: Sequence[Resistance] = ()
    rotaries: Sequence[Rotary] = ()
    _kind = "force"
    _instead = "; its numbers are given when it is made: remove it and add another"

    def __init__(self, name: str | None, default: str) -> None:
        self.name = name if name is not None else default
        self.named = name is not None

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{type(self).__name__.lower()} {self.name!r}"

    @property
    def slows(self) -> bool:
        """Whether it acts against velocities and nothing else, along no coordinate."""
        return bool(self.resistances or self.rotaries)

    @property
    def added(self) -> bool:
        """Whether the force is part of a mechanism."""
        return "parts" in self.__dict__

    def __repr__(self) -> str:
        given: dict[str, Any] = {}
        for part in getattr(self, "parts", []):
            given |= {key: f"{value:g}" for key, value in part.law.items() if value != LAW[key]}
            given |= dict.fromkeys(part.functions, "f(t)")
        for resistance in self.resistances:
            for key, three in (("linear", resistance.numbers[:3]), ("angular", resistance.numbers[3:])):
                given[key] = f"{three[0]:g}" if (three == three[0]).all() else f"({', '.join(f'{n:g}' for n in three)})"
        for rotary in self.rotaries:
            given["damping"] = f"{rotary.damping:g}"
        words = [repr(self.name), *(f"{key}={value}" for key, value in given.items())]
        return f"{type(self).__name__}({', '.join(words)})"

    @property
    def input(self) -> str | None:
        """Which of its numbers may be set while its mechanism runs, if one may: it has no function of time."""
        return None

    def resolve(self, mechanism: Mechanism) -> None:
        """Find what the force acts on; called by Mechanism.add_force."""
        raise NotImplementedError

    def _law(self, given: dict[str, NumberOrFunction]) -> tuple[dict[str, float], dict[str, Callable[[float], float]]]:
        """Numbers, checked, and functions."""
        law, functions = dict(LAW), {}
        for what, value in given.items():
            if callable(value) and what in ("target", "force"):
                functions[what] = value
                continue
            try:
                number = float(value)  # type: ignore[arg-type]
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"{self.label}: {what} must be a number, got {shown(value)}") from None
            if np.isnan(number) or (np.isinf(number) and what != "limit"):
                raise ValueError(f"{self.label}: {what} must be finite, got {value}")
            if number < 0 and what not in _SIGNED:
                raise ValueError(f"{self.label}: {what} must not be negative, got {value}")
            law[what] = number
        return law, functions


class JointForce(Force):
    """A force along a coordinate of a joint: `coordinate` names it where the joint has several."""

    def __init__(
        self, joint: Joint | str, *, coordinate: str | None = None, name: str | None = None, **law: NumberOrFunction
    ) -> None:
        self._joint = name_of(joint)
        self._coordinate = coordinate
        super().__init__(name, f"{type(self).__name__.lower()} on {self._joint}")
        self._numbers = self._law(law)

    def resolve(self, mechanism: Mechanism) -> None:
        """Take place and axis from the joint."""
        if self._joint not in mechanism.joints:
            raise no_such("joint", self._joint, mechanism, f"{self.label}: ")
        joint = mechanism.joints[self._joint]
        self.parts = [Part(coordinate_measure(joint, self._coordinate, self.label), *self._numbers)]


class Spring(JointForce):
    """A spring (N/m or N m/rad) on a joint coordinate, zero at `rest`, with a damper (N s/m or N m s/rad) beside it."""

    def __init__(
        self,
        joint: Joint | str,
        stiffness: float,
        *,
        rest: float = 0.0,
        damping: float = 0.0,
        implicit: bool = False,
        coordinate: str | None = None,
        name: str | None = None,
    ) -> None:
        law = {"stiffness": stiffness, "rest": rest, "damping": damping, "implicit": float(implicit)}
        super().__init__(joint, coordinate=coordinate, name=name, **law)


class Damper(JointForce):
    """A damper (N s/m or N m s/rad) on a joint coordinate.

    On a Ball or a Free joint it is one torque (N m s/rad) against the angular velocity of b against a, the same about
    all axes. On a Universal joint without a `coordinate` it acts on both angles.
    """

    def __init__(
        self,
        joint: Joint | str,
        damping: float,
        *,
        coordinate: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, damping=damping)

    def resolve(self, mechanism: Mechanism) -> None:
        """Take the only coordinate, the one that is named, or all angles."""
        joint = mechanism.joints.get(self._joint)
        if joint is not None and self._coordinate is None and joint.code in ROTARY:
            self.parts, self.rotaries = (), (Rotary(joint.name, self._numbers[0]["damping"]),)
        elif joint is not None and self._coordinate is None and joint.code == "universal":
            law, functions = self._numbers
            measures = (coordinate_measure(joint, name, self.label) for name in joint.names)
            self.parts = [Part(measure, dict(law), functions) for measure in measures]
        else:
            super().resolve(mechanism)


class Motor(JointForce):
    """A force or torque (N or N m) on a joint coordinate: a number, or a function of time (s)."""

    def __init__(
        self,
        joint: Joint | str,
        force: NumberOrFunction,
        *,
        coordinate: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, force=force)

    @property
    def input(self) -> str | None:
        """Its force."""
        return None if self.parts[0].functions else "force"


class Servo(JointForce):
    """Drives a joint coordinate to `target` (rad or m) by kp (target - q) + kd (target_rate - rate).

    Evaluated inside every step; the force never exceeds `limit` (N or N m). With kp 0 it holds a speed. A target that
    is a function of time (s) brings its own rate.
    """

    def __init__(
        self,
        joint: Joint | str,
        *,
        kp: float = 0.0,
        kd: float = 0.0,
        target: NumberOrFunction = 0.0,
        target_rate: float = 0.0,
        limit: float = inf,
        coordinate: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            joint,
            coordinate=coordinate,
            name=name,
            kp=kp,
            kd=kd,
            target=target,
            target_rate=target_rate,
            limit=limit,
        )
        if callable(target) and target_rate != 0:
            raise ValueError(f"{self.label}: a target that is a function of time brings its own target_rate")
        if kp == 0 and kd == 0:
            raise ValueError(f"{self.label}: give a kp or a kd")

    @property
    def input(self) -> str | None:
        """Its target, or the rate that it holds if it has no kp."""
        part = self.parts[0]
        return None if part.functions else "target" if part.law["kp"] > 0 else "target_rate"


class Friction(JointForce):
    """Dry friction of at most `force` (N or N m), of which tanh(rate / threshold) acts against the motion."""

    def __init__(
        self,
        joint: Joint | str,
        force: float,
        *,
        threshold: float = 0.01,
        coordinate: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, friction=force, threshold=threshold)
        if threshold <= 0:
            raise ValueError(f"{self.label}: threshold must be positive, got {threshold}")


class Armature(JointForce):
    """The inertia (kg m^2, or kg) of a rotor that turns with a joint coordinate, such as a geared motor's.

    What it is worth on the joint's side: with a gear of ratio n, n^2 times the rotor's own. It adds
    inertia x rate^2 / 2 to the kinetic energy.
    """

    def __init__(
        self, joint: Joint | str, inertia: float, *, coordinate: str | None = None, name: str | None = None
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, inertia=inertia)


class _BetweenBodies(Force):
    """A force between two bodies that no joint need join."""

    def __init__(self, a: BodyOrName, b: BodyOrName, name: str | None) -> None:
        self._a, self._b = name_of(a), name_of(b)
        super().__init__(name, f"{type(self).__name__.lower()} {self._a}-{self._b}")
        if self._a == self._b:
            raise ValueError(f"{self.label} joins {self._a!r} to itself")


class PointSpring(_BetweenBodies):
    """A spring and damper between a point of a and a point of b, along the line between them.

    `points` are two world points in the described pose, or `anchors` two points in the body frames; `length` (m) is the
    length at rest, by default the described one. Stiffness in N/m, damping in N s/m.
    """

    _side = 0.0

    def __init__(
        self,
        a: BodyOrName,
        b: BodyOrName,
        stiffness: float,
        *,
        points: ArrayLike | None = None,
        anchors: ArrayLike | None = None,
        length: float | None = None,
        damping: float = 0.0,
        implicit: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(a, b, name)
        self._length = length
        if length is not None and not number(length) >= 0:
            raise ValueError(f"{self.label}: length must not be negative, got {length}")
        self._numbers = self._law(
            {
                "stiffness": stiffness,
                "rest": 0.0 if length is None else length,
                "damping": damping,
                # a damper that must not push a cable has to know its pull
                "implicit": float(implicit or (self._side != 0 and damping != 0)),
                "side": self._side,
            }
        )
        if (points is None) == (anchors is None):
            raise ValueError(f"{self.label}: give points= (two world points) or anchors= (two points in body frames)")
        self._in_world = points is not None
        self._places = finite(points if points is not None else anchors, (2, 3), f"{self.label}: points")  # type: ignore[arg-type]

    def resolve(self, mechanism: Mechanism) -> None:
        """Fix the two points on the bodies, and the length at rest."""
        bodies = [mechanism.find(name, self.label) for name in (self._a, self._b)]
        anchors = self._places.copy()
        if self._in_world:
            for k, body in enumerate(bodies):
                anchors[k] = rotate(conjugate(body.orientation), anchors[k] - body.position)
        ends = [body.position + rotate(body.orientation, p) for body, p in zip(bodies, anchors, strict=True)]
        distance = float(np.linalg.norm(ends[1] - ends[0]))
        if distance == 0:
            raise ValueError(f"{self.label}: its two points coincide in the described pose, so it has no direction")
        law, functions = self._numbers
        if self._length is None:
            law["rest"] = distance
        measure = Measure("measured_distance", self._a, self._b, anchors, np.array((IDENTITY, IDENTITY)))
        self.parts = [Part(measure, law, functions)]


class Cable(PointSpring):
    """A rope between two points, given as those of a PointSpring: it pulls where it is longer than `length`.

    Where it is shorter it hangs slack. Without damping it acts at the nodes and keeps energy; its damper acts while
    it is taut, and never pushes.
    """

    _side = 1.0


class Bumper(PointSpring):
    """A spring between two points, given as those of a PointSpring, that pushes where it is shorter than `length`.

    Where it is longer it does nothing. Without damping it acts at the nodes and keeps energy; its damper never pulls.
    """

    _side = -1.0


class Bushing(_BetweenBodies):
    """A block of rubber: springs and dampers along and about three axes, between two bodies that may move any way.

    It sits at the world point `at` in the described pose, where it is at rest, its axes those of the world, or turned
    by `orientation`. Each of the four numbers is one for all axes or three: stiffness N/m, damping N s/m, and about the
    axes N m/rad, N m s/rad. Displacements are those of b's point along a's axes; turns are twice the vector part of b's
    quaternion against a, the angle where it is small: a bushing is not made for half a turn.
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

    def resolve(self, mechanism: Mechanism) -> None:
        """Fix its place on the two bodies."""
        bodies = [mechanism.find(name, self.label) for name in (self._a, self._b)]
        anchors = np.array([rotate(conjugate(body.orientation), self._at - body.position) for body in bodies])
        frames = np.array([multiply(conjugate(body.orientation), self._axes) for body in bodies])
        parts = []
        for what, axis, numbers in self._laws:
            turned = multiply(frames, (Z_TO_X, Z_TO_Y, np.array(IDENTITY))[axis])
            parts.append(Part(Measure(f"measured_{what}", self._a, self._b, anchors, turned), *numbers))
        self.parts = parts


class Drag(Force):
    """What a fluid that stands still does to a body: forces and torques against its velocities, linear in them.

    `linear` (N s/m) acts at the center of mass against its velocity, `angular` (N m s/rad) against the angular
    velocity; each is one number, or three along and about the axes of the body. Implicit in the step, and part of the
    body's own balance: it costs next to nothing, whatever hangs on the body. Give it in place of a damper where a body
    floats, or hangs on the world by a ball.
    """

    def __init__(
        self, body: BodyOrName, linear: ArrayLike = 0.0, angular: ArrayLike = 0.0, *, name: str | None = None
    ) -> None:
        self._body = name_of(body)
        super().__init__(name, f"drag on {self._body}")
        numbers = [_three(value, f"{self.label}: {what}") for what, value in (("linear", linear), ("angular", angular))]
        self._numbers = self.checked(np.concatenate(numbers))

    def checked(self, numbers: Array) -> Array:
        """Its six numbers, if they can be."""
        if (numbers < 0).any():
            raise ValueError(f"{self.label}: linear and angular must not be negative, got {numbers.tolist()}")
        if not numbers.any():
            raise ValueError(f"{self.label}: give it a linear or an angular drag")
        numbers.flags.writeable = False
        return numbers

    def resolve(self, mechanism: Mechanism) -> None:
        """Find the body."""
        if self._body not in mechanism.bodies:
            raise no_such("body", self._body, mechanism, f"{self.label}: ")
        self.parts, self.resistances = (), (Resistance(self._body, self._numbers),)


def _three(value: ArrayLike, what: str) -> Array:
    array = np.asarray(value, dtype=float)
    return finite(np.full(3, array) if array.ndim == 0 else array, (3,), what)
