"""A bar on stderr for each figure, plain text."""

from __future__ import annotations

import sys
import time


class Progress:
    """Counts what is done of a figure and shows it, at most ten times a second; silent if told so."""

    def __init__(self, label: str, total: int, *, silent: bool = False) -> None:
        self._label = label
        self._total = max(1, total)
        self._silent = silent
        self._done = 0
        self._start = time.monotonic()
        self._shown = 0.0
        self._show()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        # a bar that ends early leaves its line to what is said next
        if kind is None:
            self._done = self._total
            self._show()
        self._write("\n")

    def step(self, count: int = 1) -> None:
        """So much more is done."""
        self._done += count
        if time.monotonic() - self._shown > 0.1:
            self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        part = min(1.0, self._done / self._total)
        taken = self._shown - self._start
        self._write(f"\r{self._label:<34.34} [{'=' * int(30 * part):<30}] {100 * part:3.0f} % {taken:6.1f} s")

    def _write(self, text: str) -> None:
        if not self._silent:
            sys.stderr.write(text)
            sys.stderr.flush()
