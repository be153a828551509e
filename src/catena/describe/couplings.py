"""Couplings (gears, racks, differentials, prescribed motions): they relate joint coordinates to each other or to time.

A coupling keeps the sum of coefficient x coordinate equal to an offset, or to an offset plus a function of time. Angles
include full turns. A coupling is a constraint like a joint: it holds exactly at every step, and acts on the bodies of
its joints with equal and opposite forces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .._util.checks import shown
from .._util.lookup import name_of, no_such
from .._util.rotation import Array, finite
from .._util.strict import Named, Strict
from .measures import Measure, coordinate_measure

if TYPE_CHECKING:
    from .joint import Joint
    from .mechanism import Mechanism
    from .signals import TimeFunction

# capacity of the core
MOST_TERMS = 6

# a joint or its name, or a pair of a joint and the name of its coordinate
CoordinateLike: TypeAlias = "Joint | str | tuple[Joint | str, str]"


@dataclass
class Term(Strict):
    """A coordinate and its coefficient."""

    measure: Measure
    coefficient: float


class Coupling(Named):
    """A linear constraint on joint coordinates: sum(coefficient x coordinate) = offset + function(t), in rad and m.

    `terms` are pairs of a coordinate and its coefficient. A coordinate is a joint, or a pair of a joint and the name of
    its coordinate ("angle", "displacement", "x", "y", "first", "second"). `function` of time (s) is optional.
    """

    terms: Sequence[Term]
    _kind = "coupling"

    def __init__(
        self,
        terms: Sequence[tuple[CoordinateLike, float]],
        *,
        offset: float = 0.0,
        function: TimeFunction | None = None,
        name: str | None = None,
    ) -> None:
        try:
            wanted = [(*_named(coordinate), factor) for coordinate, factor in terms]
        except (TypeError, ValueError):
            raise ValueError(
                f"a coupling takes pairs of a coordinate and its coefficient, got {shown(terms)}"
            ) from None
        kind = self._words
        self.name = name if name is not None else f"{kind} {'-'.join(joint for joint, _, _ in wanted)}"
        self.named = name is not None
        self._wanted = wanted
        self.offset = offset
        self.function = function
        if not 1 <= len(wanted) <= MOST_TERMS:
            raise ValueError(f"{self.label}: a coupling has 1 to {MOST_TERMS} terms, got {len(wanted)}")
        for joint, _, factor in wanted:
            if finite(factor, (), f"{self.label}: the coefficient of joint {joint!r}") == 0:
                raise ValueError(f"{self.label}: the coefficient of joint {joint!r} must not be zero")

    @property
    def _words(self) -> str:
        """Kind of the coupling in words, such as "prescribed motion"."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).lower()

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return f"{self._words} {self.name!r}"

    @property
    def _added(self) -> bool:
        """Whether the coupling is part of a mechanism."""
        return "terms" in self.__dict__

    @property
    def offset(self) -> float:
        """Prescribed value of the sum, without the function of time (rad or m)."""
        return self._offset

    @offset.setter
    def offset(self, value: float) -> None:
        self._offset = float(finite(value, (), f"{self.label}: offset"))

    @property
    def function(self) -> TimeFunction | None:
        """Function of time (s) that is added to the offset, or None."""
        return self._function

    @function.setter
    def function(self, value: TimeFunction | None) -> None:
        if value is not None and not callable(value):
            raise ValueError(f"{self.label}: needs a function of time, got {shown(value)}")
        self._function = value

    def __repr__(self) -> str:
        if self._added:
            found = [(term.measure.joint, term.coefficient) for term in self.terms]
        else:
            found = [(joint, factor) for joint, _, factor in self._wanted]
        total = " + ".join(f"{factor:g} {joint}" for joint, factor in found)
        return f"{type(self).__name__}({total} = {self.offset:g}{' + f(t)' if self.function else ''})"

    def _resolve(self, mechanism: Mechanism) -> None:
        """Look up the coordinates; called by Mechanism.add_coupling."""
        terms = []
        for name, coordinate, factor in self._wanted:
            if name not in mechanism.joints:
                raise no_such("joint", name, mechanism, f"{self.label}: ")
            joint = mechanism.joints[name]
            terms.append(Term(coordinate_measure(joint, coordinate, self.label), float(factor)))
        self.terms = terms


class Gear(Coupling):
    """A gear pair: angle of `driven` = `ratio` x angle of `driver`; external gears have a negative ratio."""

    def __init__(
        self,
        driver: CoordinateLike,
        driven: CoordinateLike,
        ratio: float,
        *,
        offset: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__([(driven, 1.0), (driver, -_number(ratio, "a gear's ratio"))], offset=offset, name=name)


class Rack(Coupling):
    """A rack and pinion: displacement of `rack` (m) = `radius` (m) x angle of `pinion` (rad)."""

    def __init__(
        self,
        pinion: CoordinateLike,
        rack: CoordinateLike,
        radius: float,
        *,
        offset: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__([(rack, 1.0), (pinion, -_number(radius, "a rack's radius"))], offset=offset, name=name)


class Differential(Coupling):
    """A differential: angle of `carrier` = `balance` x angle of `left` + (1 - `balance`) x angle of `right`."""

    def __init__(
        self,
        carrier: CoordinateLike,
        left: CoordinateLike,
        right: CoordinateLike,
        *,
        balance: float = 0.5,
        offset: float = 0.0,
        name: str | None = None,
    ) -> None:
        share = _number(balance, "a differential's balance")
        super().__init__([(carrier, 1.0), (left, -share), (right, share - 1.0)], offset=offset, name=name)


class Mimic(Coupling):
    """A linear relation between any two joint coordinates: `follower` = `factor` x `leader` + `offset`."""

    def __init__(
        self,
        leader: CoordinateLike,
        follower: CoordinateLike,
        *,
        factor: float = 1.0,
        offset: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__([(follower, 1.0), (leader, -_number(factor, "a mimic's factor"))], offset=offset, name=name)


class PrescribedMotion(Coupling):
    """A joint coordinate (rad or m) prescribed as a function of time (s); the force follows from the motion."""

    def __init__(
        self,
        coordinate: CoordinateLike,
        function: TimeFunction,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__([(coordinate, 1.0)], function=function, name=name)
        if function is None:
            raise ValueError(f"{self.label}: needs a function of time")


def _number(value: float, what: str) -> float:
    """The value as a float, finite or not: the coupling checks that, since its messages contain its name."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} must be a number, got {shown(value)}") from None


def _named(coordinate: CoordinateLike) -> tuple[str, str | None]:
    joint, which = coordinate if isinstance(coordinate, tuple) else (coordinate, None)
    return name_of(joint), which


def holds(joint: Joint, coordinates: Array) -> list[Coupling]:
    """Couplings that keep the coordinates of a joint at the given values; all coordinates must have names."""
    result = []
    for name, value in zip(joint.names, coordinates, strict=True):
        hold = Coupling([((joint.name, name), 1.0)], offset=float(value))
        hold.terms = [Term(coordinate_measure(joint, name, hold.label), 1.0)]
        result.append(hold)
    return result


def sum_of(terms: Sequence[Term]) -> Coupling:
    """A coupling whose sum is that of the terms, as the core takes it."""
    found = Coupling([(term.measure.joint, term.coefficient) for term in terms])
    found.terms = terms
    return found
