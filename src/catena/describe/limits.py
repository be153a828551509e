"""Limits of a joint coordinate: stored, listed by `report()`, and reported if a run exceeds them, but not enforced."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan


@dataclass(frozen=True)
class Limits:
    """Range of a joint coordinate (rad or m), largest effort (N m or N) and largest speed (rad/s or m/s).

    Limits are not enforced yet. `report()` lists them, and a run warns if a coordinate leaves its range.
    """

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
                kind = "a" if isnan(number) else "a non-negative"
                raise ValueError(f"limits: {name} must be {kind} number, got {value!r}")
            self.__dict__[name] = number
        if self.lower > self.upper:
            raise ValueError(f"limits: lower {self.lower:g} is above upper {self.upper:g}")

    def beyond(self, value: float) -> float:
        """Amount by which a coordinate is out of range (rad or m); 0 within the range."""
        return max(value - self.upper, self.lower - value, 0.0)
