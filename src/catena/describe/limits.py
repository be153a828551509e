"""Limits of a joint coordinate: kept, listed by `report()`, told where a run passes them; nothing stops there yet."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan


@dataclass(frozen=True)
class Limits:
    """Where a joint coordinate should stay (rad or m), the most that drives it (N m or N), its speed (rad/s or m/s)."""

    lower: float = -inf
    upper: float = inf
    effort: float = inf
    speed: float = inf

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            try:
                number = float(value)
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"limits: {name} must be a number, got {value!r}") from None
            if isnan(number) or (name in ("effort", "speed") and number < 0):
                kind = "a" if isnan(number) else "no negative"
                raise ValueError(f"limits: {name} must be {kind} number, got {value!r}")
            self.__dict__[name] = number
        if self.lower > self.upper:
            raise ValueError(f"limits: lower {self.lower:g} is above upper {self.upper:g}")

    def beyond(self, value: float) -> float:
        """By how much a coordinate is beyond them (rad or m), 0 between them."""
        return max(value - self.upper, self.lower - value, 0.0)
