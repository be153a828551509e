"""Forces that belong to the mechanism: springs, dampers, motors, servos and friction.

Each acts along one scalar of two bodies, the coordinate of a joint or the distance of two points, equally and
oppositely on both. Springs and motors act at the nodes, like gravity: energy is kept. Dampers, servos and friction,
and springs with `implicit=True`, are implicit on the step: stable however stiff, second order (what is far too stiff
for the step rings from node to node and dies out slowly, as with the trapezoidal rule).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._rotation import IDENTITY, Array, conjugate, finite, rotate

if TYPE_CHECKING:
    from .joints import BodyOrName, Joint
    from .mechanism import Mechanism

# what a law may act on, by joint kind; the first is the default
_COORDINATES: dict[str, tuple[str, ...]] = {
    "revolute": ("angle",),
    "screw": ("angle",),
    "planar": ("angle",),
    "prismatic": ("displacement",),
    "cylindrical": ("angle", "displacement"),
}
_MEASURES = {"angle": "measured_angle", "displacement": "measured_slide"}


@dataclass
class Measure:
    """The scalar a force acts on: kind, bodies by name, and where it sits on them."""

    code: str
    a: str
    b: str
    anchors: Array
    frames: Array


class Force:
    """A force along a scalar; see the module. `law` holds its numbers by name, in SI units."""

    measure: Measure

    def __init__(self, name: str | None, **law: float) -> None:
        self.name = name if name is not None else type(self).__name__.lower()
        self.named = name is not None
        known = {"limit": inf, "threshold": 1.0} | dict.fromkeys(
            ("stiffness", "rest", "damping", "friction", "gain", "rate_gain", "target", "target_rate", "force"), 0.0
        )
        self.law = known | {"implicit": 0.0} | law
        for what, value in law.items():
            number = float(value)
            if np.isnan(number) or (np.isinf(number) and what != "limit"):
                raise ValueError(f"{self.label}: {what} must be finite, got {value}")
            if number < 0 and what not in ("rest", "target", "target_rate", "force"):
                raise ValueError(f"{self.label}: {what} must not be negative, got {value}")
            self.law[what] = number

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{type(self).__name__.lower()} {self.name!r}"

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value:g}" for key, value in self.law.items() if value not in (0.0, inf))
        return f"{type(self).__name__}({self.name!r}, {given})"

    def resolve(self, mechanism: Mechanism) -> None:
        """Find what the force acts on; called by Mechanism.add_force."""
        raise NotImplementedError

    def numbers(self) -> list[float]:
        """The law as the core takes it."""
        order = ("stiffness", "rest", "damping", "friction", "threshold", "gain", "rate_gain", "target", "target_rate")
        return [self.law[key] for key in (*order, "limit", "force", "implicit")]


class JointForce(Force):
    """A force along the coordinate of a joint (Revolute, Prismatic, Screw, Cylindrical, or the angle of a Planar)."""

    def __init__(
        self,
        joint: Joint | str,
        *,
        coordinate: Literal["angle", "displacement"] | None = None,
        name: str | None = None,
        **law: float,
    ) -> None:
        self._joint = joint if isinstance(joint, str) else joint.name
        self._coordinate = coordinate
        super().__init__(name if name is not None else f"{type(self).__name__.lower()} on {self._joint}", **law)
        self.named = name is not None

    def resolve(self, mechanism: Mechanism) -> None:
        """Take place and axis from the joint."""
        if self._joint not in mechanism.joints:
            raise ValueError(f"{self.label}: there is no joint called {self._joint!r}")
        joint = mechanism.joints[self._joint]
        allowed = _COORDINATES.get(joint.code, ())
        coordinate = self._coordinate or (allowed[0] if allowed else None)
        if coordinate not in allowed:
            what = f"no {coordinate}" if coordinate else "no single coordinate to act on"
            raise ValueError(f"{self.label}: {joint.label} has {what}")
        self.measure = Measure(
            _MEASURES[coordinate],
            joint.a.name,
            joint.b.name,
            np.array((joint.anchor_a, joint.anchor_b)),
            np.array((joint.frame_a, joint.frame_b)),
        )


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
        coordinate: Literal["angle", "displacement"] | None = None,
        name: str | None = None,
    ) -> None:
        law = {"stiffness": stiffness, "rest": rest, "damping": damping, "implicit": float(implicit)}
        super().__init__(joint, coordinate=coordinate, name=name, **law)


class Damper(JointForce):
    """A damper (N s/m or N m s/rad) on a joint coordinate."""

    def __init__(
        self,
        joint: Joint | str,
        damping: float,
        *,
        coordinate: Literal["angle", "displacement"] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, damping=damping)


class Motor(JointForce):
    """A constant force or torque (N or N m) on a joint coordinate."""

    def __init__(
        self,
        joint: Joint | str,
        force: float,
        *,
        coordinate: Literal["angle", "displacement"] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, force=force)


class Servo(JointForce):
    """Drives a joint coordinate to `target` (rad or m) by gain (target - q) + rate_gain (target_rate - rate).

    Evaluated inside every step; the force never exceeds `limit` (N or N m). With gain 0 it holds a speed.
    """

    def __init__(
        self,
        joint: Joint | str,
        *,
        gain: float = 0.0,
        rate_gain: float = 0.0,
        target: float = 0.0,
        target_rate: float = 0.0,
        limit: float = inf,
        coordinate: Literal["angle", "displacement"] | None = None,
        name: str | None = None,
    ) -> None:
        law = {"gain": gain, "rate_gain": rate_gain, "target": target, "target_rate": target_rate, "limit": limit}
        super().__init__(joint, coordinate=coordinate, name=name, **law)
        if gain == 0 and rate_gain == 0:
            raise ValueError(f"{self.label}: give a gain or a rate_gain")


class Friction(JointForce):
    """Dry friction of at most `force` (N or N m), of which tanh(rate / threshold) acts against the motion."""

    def __init__(
        self,
        joint: Joint | str,
        force: float,
        *,
        threshold: float = 0.01,
        coordinate: Literal["angle", "displacement"] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, friction=force, threshold=threshold)
        if threshold <= 0:
            raise ValueError(f"{self.label}: threshold must be positive, got {threshold}")


class PointSpring(Force):
    """A spring and damper between a point of a and a point of b, along the line between them.

    `points` are two world points in the described pose, or `anchors` two points in the body frames; `length` (m) is the
    length at rest, by default the described one. Stiffness in N/m, damping in N s/m.
    """

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
        self._a, self._b = (body if isinstance(body, str) else body.name for body in (a, b))
        self._length = length
        if length is not None and not length >= 0:
            raise ValueError(f"a spring's length must not be negative, got {length}")
        rest = 0.0 if length is None else length
        super().__init__(
            name if name is not None else f"spring {self._a}-{self._b}",
            stiffness=stiffness,
            rest=rest,
            damping=damping,
            implicit=float(implicit),
        )
        self.named = name is not None
        if (points is None) == (anchors is None):
            raise ValueError(f"{self.label}: give points= (two world points) or anchors= (two points in body frames)")
        self._in_world = points is not None
        self._places = finite(points if points is not None else anchors, (2, 3), f"{self.label}: points")  # type: ignore[arg-type]

    def resolve(self, mechanism: Mechanism) -> None:
        """Fix the two points on the bodies, and the length at rest."""
        bodies = [mechanism.find(name, self.label) for name in (self._a, self._b)]
        if bodies[0] is bodies[1]:
            raise ValueError(f"{self.label} joins {self._a!r} to itself")
        anchors = self._places.copy()
        if self._in_world:
            for k, body in enumerate(bodies):
                anchors[k] = rotate(conjugate(body.orientation), anchors[k] - body.position)
        ends = [body.position + rotate(body.orientation, p) for body, p in zip(bodies, anchors, strict=True)]
        distance = float(np.linalg.norm(ends[1] - ends[0]))
        if distance == 0:
            raise ValueError(f"{self.label}: its two points coincide in the described pose, so it has no direction")
        if self._length is None:
            self.law["rest"] = distance
        self.measure = Measure("measured_distance", self._a, self._b, anchors, np.array((IDENTITY, IDENTITY)))
