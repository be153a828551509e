"""How much memory is free, asked before much of it is taken."""

from __future__ import annotations

import os

# less than this (bytes) is taken without asking
_LITTLE = 2**26


def refuse_if_too_large(size: int, what: str, advice: str) -> None:
    """Raise with the numbers if so many bytes would not fit into what memory is free."""
    free = _free() if size > _LITTLE else None
    if free is not None and size > free:
        raise ValueError(f"{what} needs {size / 2**30:.1f} GiB, but only {free / 2**30:.1f} GiB are free; {advice}")


def _free() -> int | None:
    """Bytes that can be had without swapping, if the system tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
