"""Numbers and words that users give, checked."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np


def number(value: Any) -> float:
    """A number, or NaN for what is none."""
    try:
        return nan if isinstance(value, str | bytes) or np.ndim(value) != 0 else float(value)
    except (TypeError, ValueError, OverflowError):
        return nan


def seconds(duration: float | None) -> float:
    """Check a duration."""
    found = number(duration)
    if not 0 <= found < inf:
        raise ValueError(f"duration must be a finite number of seconds, not negative, got {duration!r}")
    return found


def positive(value: float, what: str) -> float:
    """Check a number that must be above zero."""
    found = number(value)
    if not 0 < found < inf:
        raise ValueError(f"{what} must be a positive number, got {value!r}")
    return found


def whole(value: Any, what: str, *, least: int = 1, most: int = 2**50) -> int:
    """Check a count."""
    if type(value) is int and least <= value <= most:
        return value
    found = number(value)
    if not least <= found <= most or found != int(found):
        bound = f", at most {most}" * (found > most)
        raise ValueError(f"{what} must be a whole number, at least {least}{bound}, got {value!r}")
    return int(found)


def flag(value: Any, what: str) -> bool:
    """Check what is true or false."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{what} must be True or False{' or a function' * (what == 'progress')}, got {value!r}")
    return bool(value)


def one_of(value: str, allowed: tuple[str, ...], what: str) -> str:
    """Check a word."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value
