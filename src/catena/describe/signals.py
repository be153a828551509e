"""Functions of time in a mechanism: motion of the ground, target of a servo, force of a motor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._util.checks import shown
from .._util.rotation import Array

# time (s) to a number
TimeFunction: TypeAlias = Callable[[float], float]

# s, over which they are differentiated
_INSTANT = 1e-4


def rate(function: Callable[[float], ArrayLike], time: float) -> Array:
    """Derivative of a function of time at a time, by fourth-order differences."""
    m2, m1, p1, p2 = (np.asarray(function(time + k * _INSTANT), dtype=float) for k in (-2, -1, 1, 2))
    found: Array = (8 * (p1 - m1) - (p2 - m2)) / (12 * _INSTANT)
    return found


class Signals:
    """Functions of time whose values are concatenated in one array. Evaluation changes no state."""

    def __init__(self) -> None:
        self._functions: list[tuple[str, Callable[[float], Any], slice]] = []
        self._rates: list[tuple[slice, Callable[[float], Array]]] = []
        self.count = 0

    def add(
        self, label: str, function: Callable[[float], Any], size: int = 1, rate: Callable[[float], Array] | None = None
    ) -> int:
        """Append a function with `size` values, and its rate if differences are not accurate; returns their slice."""
        first = self.count
        self.count += size
        self._functions.append((label, function, slice(first, self.count)))
        if rate is not None:
            self._rates.append((slice(first, self.count), rate))
        return first

    def extended(self) -> Signals:
        """A copy to which functions can be added."""
        other = Signals()
        other._functions, other._rates = list(self._functions), list(self._rates)
        other.count = self.count
        return other

    def read(self, time: float) -> Array:
        """Values (count,) of all functions at a time, in a new array."""
        values = np.empty(self.count)
        for label, function, place in self._functions:
            given = function(time)
            try:
                found = np.asarray(given, dtype=float)
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"{label}: its function of time must return numbers, got {shown(given)}") from None
            wanted = place.stop - place.start
            if found.size != wanted:
                raise ValueError(f"{label}: its function of time must return {wanted} numbers, got {found.size}")
            if not np.isfinite(found).all():
                raise ValueError(f"{label}: its function of time returns {found} at t = {time:g} s")
            values[place] = found.reshape(-1)
        return values

    def over(self, time: Array) -> tuple[Array, Array]:
        """Values and derivatives (time, count) at many times."""
        shape = (len(time), self.count)
        if self.count == 0:
            return np.empty(shape), np.empty(shape)
        instants = [float(t) for t in time]
        return np.reshape([self.read(t) for t in instants], shape), np.reshape([self.rates(t) for t in instants], shape)

    def rates(self, time: float) -> Array:
        """Derivatives (count,) at a time."""
        rates = rate(self.read, time)
        for place, own in self._rates:
            rates[place] = own(time)
        return rates
