"""What all forces of a mechanism have in common: the numbers of their laws, and what they act on.

Forces along the coordinate of a joint are in joint_forces.py, those between two bodies, and drag, in body_forces.py.

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
    """Arguments of a force that are numbers of its law by the same name; see Force.parameters."""
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


@dataclass
class Part(Strict):
    """One measure and the law along it; `functions` stand in place of the numbers "target" or "effort".

    With `terms` it is their sum that is measured.
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
    # arguments that members of a batch may have as their own, and the numbers of the law that they are
    parameters: Mapping[str, str] = MappingProxyType({})
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
            if callable(value) and what in ("target", "effort"):
                functions[what] = value
                continue
            try:
                number = float(value)  # type: ignore[arg-type]
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"{self.label}: {what} must be a number, got {shown(value)}") from None
            if np.isnan(number) or (np.isinf(number) and what != "effort_limit"):
                raise ValueError(f"{self.label}: {what} must be finite, got {value}")
            if number < 0 and what not in SIGNED:
                raise ValueError(f"{self.label}: {what} must not be negative, got {value}")
            law[what] = number
        return law, functions
