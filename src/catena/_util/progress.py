"""How far a run has come, for whoever wants to see it."""

from __future__ import annotations

import sys
from collections.abc import Callable

from .checks import flag


def watcher(progress: bool | Callable[[int, int], None], steps: int) -> Callable[[int], None] | None:
    """What the core is to call now and then with the number of steps done."""
    if callable(progress):
        return lambda step: progress(step, steps)
    return (lambda step: bar(step, steps)) if flag(progress, "progress") and sys.stderr.isatty() else None


def finish(progress: bool | Callable[[int, int], None], done: int, steps: int) -> None:
    """Show that a run has ended."""
    if callable(progress):
        progress(done, steps)
    elif sys.stderr.isatty():
        bar(done, steps)
        sys.stderr.write("\n")
    else:
        # a file has no use for a bar that is drawn over and over
        sys.stderr.write(f"{done} of {steps} done\n")


def bar(step: int, steps: int, words: str = "") -> None:
    """Show on stderr how much is done, and words on it."""
    part = step / steps if steps else 1.0
    sys.stderr.write(f"\r[{'=' * int(40 * part):<40}] {100 * part:3.0f} %{words}")
    sys.stderr.flush()
