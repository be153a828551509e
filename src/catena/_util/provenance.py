"""What computed a run: kept with its results, so that a file says how it came to be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache, lru_cache


@dataclass(frozen=True)
class RunInfo:
    """How a run was computed: version of catena, settings of the simulator, kernel, and date (UTC, ISO 8601).

    accuracy is 0 if none was requested.
    """

    version: str
    solver: str
    order: int
    dt: float
    tolerance: float
    accuracy: float
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


# short runs one after the other say the same of themselves
@lru_cache(maxsize=16)
def run_info(
    solver: str,
    order: int,
    dt: float,
    tolerance: float,
    accuracy: float,
    max_iterations: int,
    rescue: bool,
    kernel: str,
    second: int,
) -> RunInfo:
    """Of a run that ended in a second since the epoch."""
    date = datetime.fromtimestamp(second, timezone.utc).isoformat(timespec="seconds")
    return RunInfo(version(), solver, order, dt, tolerance, accuracy, max_iterations, rescue, kernel, date)
