"""What computed a run: kept with its results, so that a file says how it came to be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache


@dataclass(frozen=True)
class RunInfo:
    """How a run was computed: version of catena, the simulator's settings, the kernel, and the date (UTC, ISO 8601)."""

    version: str
    solver: str
    order: int
    dt: float
    tolerance: float
    max_iterations: int
    rescue: bool
    kernel: str
    date: str


@cache
def version() -> str:
    """Of this catena; "unknown" if it runs without having been installed."""
    # importlib.metadata takes a third as long to import as numpy
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("catena")
    except PackageNotFoundError:
        return "unknown"


def now() -> str:
    """The date as RunInfo keeps it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
