"""Functions of time that a mechanism depends on: where the ground is, what a servo aims at, how hard a motor pulls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ._rotation import Array

# time (s) to a number
TimeFunction: TypeAlias = Callable[[float], float]


class Signals:
    """Functions of time laid end to end, each with as many values as it has. Reading them leaves no trace."""

    def __init__(self) -> None:
        self._functions: list[tuple[str, Callable[[float], Any], slice]] = []
        self.count = 0

    def add(self, label: str, function: Callable[[float], Any], size: int = 1) -> int:
        """Append a function with `size` values; returns where they begin."""
        first = self.count
        self.count += size
        self._functions.append((label, function, slice(first, self.count)))
        return first

    def extended(self) -> Signals:
        """A copy to which more can be added."""
        other = Signals()
        other._functions = list(self._functions)
        other.count = self.count
        return other

    def read(self, time: float) -> Array:
        """Values (count,) of all of them at an instant, in an array of their own."""
        values = np.empty(self.count)
        for label, function, place in self._functions:
            given = function(time)
            try:
                found = np.asarray(given, dtype=float)
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"{label}: its function of time must return numbers, got {given!r}") from None
            wanted = place.stop - place.start
            if found.size != wanted:
                raise ValueError(f"{label}: its function of time must return {wanted} numbers, got {found.size}")
            if not np.isfinite(found).all():
                raise ValueError(f"{label}: its function of time returns {found} at t = {time:g} s")
            values[place] = found.reshape(-1)
        return values

    def rates(self, time: float, step: float) -> Array:
        """Derivatives (count,) at an instant, by differences over `step` (s)."""
        weights = {-2.0: 1 / 12, -1.0: -8 / 12, 1.0: 8 / 12, 2.0: -1 / 12}
        total = np.zeros(self.count)
        for offset, weight in weights.items():
            total += weight / step * self.read(time + offset * step)
        return total
