"""How far a sweep has come: counted, shown with rate and time left, and what workers have warned of."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from .._util.checks import flag
from .._util.progress import bar
from .._util.status import CatenaWarning, warn
from .chunk import Outcome


class Tally:
    """Counts what is done, shows it, and warns at the end of what workers have warned of."""

    def __init__(self, members: int, progress: bool | Callable[[int, int], None]) -> None:
        self.members, self.done = members, 0
        self._progress = progress if callable(progress) else flag(progress, "progress")
        self._begun = self._shown = time.monotonic()
        self._warnings: dict[int, str] = {}

    def __call__(self, outcome: Outcome | None) -> None:
        """Hear of a chunk, or just of the time."""
        if outcome is not None:
            self.done += outcome.members
            if outcome.warnings:
                self._warnings[outcome.chunk] = outcome.warnings[0]
            if callable(self._progress):
                self._progress(self.done, self.members)
        now = time.monotonic()
        if self._progress is True and sys.stderr.isatty() and now - self._shown > 0.2:
            self._shown = now
            self._show(now - self._begun)

    def _show(self, seconds: float) -> None:
        rate = self.done / seconds
        left = f", {(self.members - self.done) / rate:.0f} s left" if rate else ""
        bar(self.done, self.members, f"  {rate:.0f} members/s{left}   ")

    def end(self) -> None:
        """Say what remains to be said."""
        if self._progress is True:
            seconds = time.monotonic() - self._begun
            if sys.stderr.isatty():
                self._show(max(seconds, 1e-3))
                sys.stderr.write("\n")
            sys.stderr.write(f"{self.done} members in {seconds:.1f} s\n")
        if self._warnings:
            chunk, said = next(iter(self._warnings.items()))
            others = f" (and {len(self._warnings) - 1} more chunks: see manifest.jsonl)" * (len(self._warnings) > 1)
            warn(CatenaWarning(f"chunk {chunk}: {said}{others}"))
