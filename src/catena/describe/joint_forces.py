"""Forces along the coordinate of a joint: springs, dampers, motors, servos, friction and rotors; see forces.py."""

from __future__ import annotations

from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING

from .._util.lookup import name_of, no_such
from .forces import ROTARY, SPRING, Force, NumberOrFunction, Part, Rotary, named_alike
from .measures import coordinate_measure

if TYPE_CHECKING:
    from .joint import Joint
    from .mechanism import Mechanism


class JointForce(Force):
    """A force along a coordinate of a joint: `coordinate` names it where the joint has several."""

    def __init__(
        self, joint: Joint | str, *, coordinate: str | None = None, name: str | None = None, **law: NumberOrFunction
    ) -> None:
        self._joint = name_of(joint)
        self._coordinate = coordinate
        super().__init__(name, f"{type(self).__name__.lower()} on {self._joint}")
        self._numbers = self._law(law)

    def _resolve(self, mechanism: Mechanism) -> None:
        """Take place and axis from the joint."""
        if self._joint not in mechanism.joints:
            raise no_such("joint", self._joint, mechanism, f"{self.label}: ")
        joint = mechanism.joints[self._joint]
        self.parts = [Part(coordinate_measure(joint, self._coordinate, self.label), *self._numbers)]


class Spring(JointForce):
    """A spring (N/m or N m/rad) on a joint coordinate, with a damper (N s/m or N m s/rad) beside it.

    Its effort is -stiffness (q - rest_length) - damping rate; for an angle, `rest_length` is in rad.
    """

    parameters = SPRING

    def __init__(
        self,
        joint: Joint | str,
        stiffness: float,
        *,
        rest_length: float = 0.0,
        damping: float = 0.0,
        implicit: bool = False,
        coordinate: str | None = None,
        name: str | None = None,
    ) -> None:
        law = {"stiffness": stiffness, "rest_length": rest_length, "damping": damping, "implicit": float(implicit)}
        super().__init__(joint, coordinate=coordinate, name=name, **law)


class Damper(JointForce):
    """A damper (N s/m or N m s/rad) on a joint coordinate.

    On a Ball or a Free joint it is one torque (N m s/rad) against the angular velocity of b against a, the same about
    all axes. On a Universal joint without a `coordinate` it acts on both angles.
    """

    parameters = named_alike("damping")

    def __init__(
        self,
        joint: Joint | str,
        damping: float,
        *,
        coordinate: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, damping=damping)

    def _resolve(self, mechanism: Mechanism) -> None:
        """Take the only coordinate, the one that is named, or all angles."""
        joint = mechanism.joints.get(self._joint)
        if joint is not None and self._coordinate is None and joint.code in ROTARY:
            self.parts, self._rotaries = (), (Rotary(joint.name, self._numbers[0]["damping"]),)
        elif joint is not None and self._coordinate is None and joint.code == "universal":
            law, functions = self._numbers
            measures = (coordinate_measure(joint, name, self.label) for name in joint.names)
            self.parts = [Part(measure, dict(law), functions) for measure in measures]
        else:
            super()._resolve(mechanism)


class Motor(JointForce):
    """A motor on a joint coordinate: its `effort` (N or N m) is a number, or a function of time (s)."""

    parameters = named_alike("effort")

    def __init__(
        self,
        joint: Joint | str,
        effort: NumberOrFunction,
        *,
        coordinate: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, effort=effort)

    @property
    def input(self) -> str | None:
        """Its effort."""
        return None if self.parts[0].functions else "effort"


class Servo(JointForce):
    """Drives a joint coordinate to `target` (rad or m) by kp (target - q) + kd (target_rate - rate).

    Evaluated inside every step; its effort never exceeds `effort_limit` (N or N m). With kp 0 it holds a speed. A
    target that is a function of time (s) brings its own rate.
    """

    parameters = named_alike("kp", "kd", "target", "target_rate", "effort_limit")

    def __init__(
        self,
        joint: Joint | str,
        *,
        kp: float = 0.0,
        kd: float = 0.0,
        target: NumberOrFunction = 0.0,
        target_rate: float = 0.0,
        effort_limit: float = inf,
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
            effort_limit=effort_limit,
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
    """Dry friction of at most `effort` (N or N m), of which tanh(rate / threshold) acts against the motion."""

    parameters = MappingProxyType({"effort": "friction", "threshold": "threshold"})

    def __init__(
        self,
        joint: Joint | str,
        effort: float,
        *,
        threshold: float = 0.01,
        coordinate: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, friction=effort, threshold=threshold)
        if threshold <= 0:
            raise ValueError(f"{self.label}: threshold must be positive, got {threshold}")


class Armature(JointForce):
    """The inertia (kg m^2, or kg) of a rotor that turns with a joint coordinate, such as a geared motor's.

    What it is worth on the joint's side: with a gear of ratio n, n^2 times the rotor's own. It adds
    inertia x rate^2 / 2 to the kinetic energy.
    """

    parameters = named_alike("inertia")

    def __init__(
        self, joint: Joint | str, inertia: float, *, coordinate: str | None = None, name: str | None = None
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, inertia=inertia)
