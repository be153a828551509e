"""Numbers and words that users give, checked."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, nan, pi
from typing import Any

import numpy as np

from .status import CatenaWarning, warn


def shown(value: Any) -> str:
    """What a user gave, as it is told in a sentence: in short."""
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape}"
    items = list(value.values()) if isinstance(value, dict) else value
    if isinstance(items, list | tuple | set) and (len(items) > 6 or any(np.size(item) > 6 for item in items)):
        return f"a {type(value).__name__} of {len(value)}"
    words = repr(value)
    return words if len(words) <= 200 else f"{words[:160]}..."


def number(value: Any) -> float:
    """A number, or NaN for what is none; one of half or single precision is the decimal it stands for."""
    try:
        if isinstance(value, np.ndarray | np.floating) and value.dtype in (np.float16, np.float32) and value.ndim == 0:
            return float(str(value))
        return nan if isinstance(value, str | bytes) or np.ndim(value) != 0 else float(value)
    except (TypeError, ValueError, OverflowError):
        return nan


def seconds(duration: float | None) -> float:
    """Check a duration."""
    found = number(duration)
    if not 0 <= found < inf:
        raise ValueError(f"duration must be a finite number of seconds, not negative, got {shown(duration)}")
    return found


def positive(value: float, what: str) -> float:
    """Check a number that must be above zero."""
    found = number(value)
    if not 0 < found < inf:
        raise ValueError(f"{what} must be a positive number, got {shown(value)}")
    return found


def whole(value: Any, what: str, *, least: int = 1, most: int = 2**50) -> int:
    """Check a count."""
    if type(value) is int and least <= value <= most:
        return value
    found = number(value)
    if not least <= found <= most or found != int(found):
        bound = f", at most {most}" * (found > most)
        raise ValueError(f"{what} must be a whole number, at least {least}{bound}, got {shown(value)}")
    return int(found)


def flag(value: Any, what: str) -> bool:
    """Check what is true or false."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{what} must be True or False{' or a function' * (what == 'progress')}, got {shown(value)}")
    return bool(value)


def one_of(value: str, allowed: tuple[str, ...], what: str) -> str:
    """Check a word."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}")
    return value


def doubt_degrees(angles: Iterable[float], what: str) -> None:
    """Warn of angles in rad that are plainly meant in degrees: round numbers of degrees, and many turns in rad."""
    for angle in angles:
        if 30 <= abs(angle) <= 360 and angle % 15 == 0:
            turns = f"{what} of {angle:g} rad is {abs(angle) / (2 * pi):.3g} turns"
            warn(CatenaWarning(f"{turns}; angles are in rad: for degrees, write math.radians({angle:g})"))
            return
