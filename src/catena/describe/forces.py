"""What all forces of a mechanism have in common: the parameters of their laws, and what they act on.

Forces along a joint coordinate are in joint_forces.py; those between two bodies, and drag, in body_forces.py.

A force acts along a measure of two bodies, such as a joint coordinate or the distance of two points, with opposite
effects on the two bodies; drag acts on one body, against its velocities. Springs, motors and rotors act at the nodes,
like gravity, and conserve energy. Dampers, drag, servos, friction and springs with `implicit=True` are implicit in the
step: they are of second order and stable at any stiffness. If such a law is far too stiff for the step, its force
alternates in sign from node to node and decays slowly, as with the trapezoidal rule. Orders 4, 6 and 8 contain substeps
that go backward in time. A damper can take these only if it is weak at their length, and friction only if it cannot
reverse the motion; otherwise these steps are halved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import _core
from .._util.checks import shown
from .._util.rotation import Array
from .._util.strict import Named, Strict
from .measures import Measure

if TYPE_CHECKING:
    from .couplings import Term
    from .mechanism import Mechanism

# a number, or a function of time (s) that returns one
NumberOrFunction: TypeAlias = float | Callable[[float], float]

# the numbers of a law, and what they are if not given
LAW: dict[str, float] = {
    "stiffness": 0.0,
    "rest_length": 0.0,
    "damping": 0.0,
    "friction": 0.0,
    "threshold": 1.0,
    "kp": 0.0,
    "kd": 0.0,
    "target": 0.0,
    "target_rate": 0.0,
    "effort_limit": inf,
    "effort": 0.0,
    "implicit": 0.0,
    "inertia": 0.0,
    "side": 0.0,
    "lower": -inf,
    "upper": inf,
    "restitution": 0.0,
    "stop_stiffness": 0.0,
    "stop_damping": 0.0,
}


def named_alike(*names: str) -> Mapping[str, str]:
    """Return the arguments of a force that are parameters of its law with the same name; see Force.parameters."""
    return MappingProxyType({name: name for name in names})


SPRING: Mapping[str, str] = named_alike("stiffness", "rest_length", "damping")
# in the order in which the core takes them
NUMBERS = _core.law_names()
SIGNED = ("rest_length", "target", "target_rate", "effort", "side", "lower", "upper")
# those that feed or take energy, where they are not zero
WORKING = ("damping", "friction", "kp", "kd", "effort")
# joints that turn about any axis, which a damper acts on as a whole
ROTARY = ("ball", "free")
# those that make heat of it
DISSIPATING = ("damping", "friction", "kd")
# those that make a law act inside the step; whether one does is settled when the simulator is built
STAGED = ("damping", "friction", "kp", "kd", "implicit", "inertia")


@dataclass
class Part(Strict):
    """One measure and the law along it; `functions` replace the parameters "target" or "effort".

    With `terms`, their sum is measured.
    """

    measure: Measure
    law: Mapping[str, float]
    functions: Mapping[str, Callable[[float], float]]
    terms: Sequence[Term] = ()

    @property
    def measures(self) -> list[Measure]:
        """All that is measured."""
        return [term.measure for term in self.terms] or [self.measure]

    @property
    def is_stop(self) -> bool:
        """Whether the law bounds the measure."""
        return isfinite(self.law["lower"]) or isfinite(self.law["upper"])

    def __getstate__(self) -> dict[str, Any]:
        # views of dictionaries, which a locked part has, cannot be pickled
        return self.__dict__ | {"law": dict(self.law), "functions": dict(self.functions)}


@dataclass(frozen=True)
class Resistance:
    """Resistance to the velocity and angular velocity of a body along its axes: (6,) in N s/m and N m s/rad."""

    body: str
    numbers: Array


@dataclass(frozen=True)
class Rotary:
    """Damping of the angular velocity of a joint's body b relative to its body a, isotropic (N m s/rad)."""

    joint: str
    damping: float


class Force(Named):
    """A force on bodies.

    After `Mechanism.add_force`, it consists of `parts`, each with a law along one measure, or of `resistances` or
    `rotaries`, which act against velocities.
    """

    parts: Sequence[Part]
    # arguments that members of a batch may have as their own, and the numbers of the law that they are
    parameters: Mapping[str, str] = MappingProxyType({})
    _resistances: Sequence[Resistance] = ()
    _rotaries: Sequence[Rotary] = ()
    _kind = "force"
    _instead = "; its parameters cannot be changed: remove it and add another"

    def __init__(self, name: str | None, default: str) -> None:
        self.name = name if name is not None else default
        self.named = name is not None

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return f"{type(self).__name__.lower()} {self.name!r}"

    @property
    def slows(self) -> bool:
        """Whether the force acts against velocities only, along no joint coordinate."""
        return bool(self._resistances or self._rotaries)

    @property
    def _added(self) -> bool:
        """Whether the force is part of a mechanism."""
        return "parts" in self.__dict__

    def __repr__(self) -> str:
        given: dict[str, Any] = {}
        for part in getattr(self, "parts", []):
            given |= {key: f"{value:g}" for key, value in part.law.items() if value != LAW[key]}
            given |= dict.fromkeys(part.functions, "f(t)")
        for resistance in self._resistances:
            for key, three in (("linear", resistance.numbers[:3]), ("angular", resistance.numbers[3:])):
                given[key] = f"{three[0]:g}" if (three == three[0]).all() else f"({', '.join(f'{n:g}' for n in three)})"
        for rotary in self._rotaries:
            given["damping"] = f"{rotary.damping:g}"
        words = [repr(self.name), *(f"{key}={value}" for key, value in given.items())]
        return f"{type(self).__name__}({', '.join(words)})"

    @property
    def input(self) -> str | None:
        """The parameter that can be set during a run; None if there is none, or if it is a function of time."""
        return None

    def _resolve(self, mechanism: Mechanism) -> None:
        """Find what the force acts on; called by Mechanism.add_force."""
        raise NotImplementedError

    def _law(self, given: dict[str, NumberOrFunction]) -> tuple[dict[str, float], dict[str, Callable[[float], float]]]:
        """Numbers, checked, and functions."""
        law, functions = dict(LAW), {}
        for what, value in given.items():
            if callable(value) and what in ("target", "effort"):
                functions[what] = value
                continue
            try:
                # Python would read a number out of text
                number = float("" if isinstance(value, str) else value)  # type: ignore[arg-type]
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"{self.label}: {what} must be a number, got {shown(value)}") from None
            if np.isnan(number) or (np.isinf(number) and what != "effort_limit"):
                raise ValueError(f"{self.label}: {what} must be finite, got {value}")
            if number < 0 and what not in SIGNED:
                raise ValueError(f"{self.label}: {what} must not be negative, got {value}")
            law[what] = number
        return law, functions
