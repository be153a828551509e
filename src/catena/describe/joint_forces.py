"""Forces along a joint coordinate: springs, dampers, motors, servos, friction and rotors; see forces.py."""

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
    """A force along a joint coordinate; `coordinate` names it if the joint has several."""

    def __init__(
        self, joint: Joint | str, *, coordinate: str | None = None, name: str | None = None, **law: NumberOrFunction
    ) -> None:
        self._joint = name_of(joint)
        self._coordinate = coordinate
        super().__init__(name, f"{type(self).__name__.lower()} on {self._joint}")
        self._numbers = self._law(law)

    def _resolve(self, mechanism: Mechanism) -> None:
        """Copy anchors and frames from the joint."""
        if self._joint not in mechanism.joints:
            raise no_such("joint", self._joint, mechanism, f"{self.label}: ")
        joint = mechanism.joints[self._joint]
        self.parts = [Part(coordinate_measure(joint, self._coordinate, self.label), *self._numbers)]


class Spring(JointForce):
    """A spring on a joint coordinate (N/m or N m/rad), with an optional parallel damper (N s/m or N m s/rad).

    Its effort is -stiffness (q - rest_length) - damping rate. For an angle, `rest_length` is in rad. With `implicit`,
    the spring acts within the step, like the damper, and is stable at any stiffness.
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
    """A linear damper on a joint coordinate (N s/m or N m s/rad).

    On a Ball or Free joint, it exerts a torque (N m s/rad) against the angular velocity of b relative to a, with the
    same coefficient about all axes. On a Universal joint without a `coordinate`, it acts on both angles.
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
        """Select the only coordinate, the named one, or all angles."""
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
    """A motor on a joint coordinate; its `effort` (N or N m) is a number or a function of time (s).

    `live.set` changes the effort during a run, unless it is a function of time.
    """

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
        """The parameter that can be set during a run: "effort", or None if it is a function of time."""
        return None if self.parts[0].functions else "effort"


class Servo(JointForce):
    """A PD controller that drives a joint coordinate to `target`: effort = kp (target - q) + kd (target_rate - rate).

    `target` (rad or m) is a number, or a function of time (s), which also determines the target rate. `effort_limit` (N
    or N m) bounds the effort. With kp = 0, the servo controls the rate only. The law is implicit in the step, so stiff
    gains do not make it unstable. `live.set` changes the target during a run, or the target rate if kp is 0.
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
            raise ValueError(f"{self.label}: a target that is a function of time determines target_rate; leave it out")
        if kp == 0 and kd == 0:
            raise ValueError(f"{self.label}: give kp, kd or both")

    @property
    def input(self) -> str | None:
        """The parameter that can be set during a run: "target", or "target_rate" if kp is 0; None for functions."""
        part = self.parts[0]
        return None if part.functions else "target" if part.law["kp"] > 0 else "target_rate"


class Friction(JointForce):
    """Dry friction on a joint coordinate: effort = -`effort` tanh(rate / `threshold`), in N or N m.

    `threshold` (m/s or rad/s) is the rate above which friction has nearly its full value. Below it, the joint creeps
    instead of sticking.
    """

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
    """Rotor inertia (kg m^2, or kg) that moves with a joint coordinate, such as that of a geared motor.

    `inertia` is reflected to the joint: for a gear of ratio n, it is n^2 times the inertia of the rotor. It adds
    inertia x rate^2 / 2 to the kinetic energy.
    """

    parameters = named_alike("inertia")

    def __init__(
        self, joint: Joint | str, inertia: float, *, coordinate: str | None = None, name: str | None = None
    ) -> None:
        super().__init__(joint, coordinate=coordinate, name=name, inertia=inertia)
