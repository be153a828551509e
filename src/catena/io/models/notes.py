"""What a reader did not read, and what it finds odd: all of it in one warning."""

from __future__ import annotations

from ..._util.status import CatenaWarning, warn

# names that are listed for one kind of thing before the rest is counted
_MOST_NAMES = 4


class ModelWarning(CatenaWarning):
    """Parts of a model file were not read or written, or look wrong; the message lists them."""


class Notes:
    """Collects what there is to say about a file."""

    def __init__(self, file: str, done: str = "read") -> None:
        self.file = file
        self._done = done
        self._skipped: dict[str, list[str]] = {}
        self._flagged: dict[str, list[str]] = {}

    def skip(self, what: str, where: str = "") -> None:
        """Something that is in the file, but not in the mechanism."""
        self._skipped.setdefault(what, []).append(where)

    def flag(self, what: str, where: str = "") -> None:
        """Something that was read, but is hardly meant so."""
        self._flagged.setdefault(what, []).append(where)

    def __enter__(self) -> None:
        """A file is read: its name stands before whatever is wrong with it, and else a warning tells what was noted."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValueError):
            known = str(error)
            raise ValueError(known if known.startswith(self.file) else f"{self.file}: {known}") from None
        if error is None:
            self.warn()

    def warn(self) -> None:
        """Say all of it, if there is anything to say."""
        parts = []
        if self._skipped:
            parts.append(f"not {self._done}: " + ", ".join(_listed(*item) for item in self._skipped.items()))
        parts += [_listed(*item) for item in self._flagged.items()]
        if parts:
            warn(ModelWarning(f"{self.file}: {'; '.join(parts)}"))


def _listed(what: str, where: list[str]) -> str:
    """The thing, how often, and the first of its places."""
    names = list(dict.fromkeys(name for name in where if name))
    shown = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    count = f" {len(where)} times" if len(where) > 1 else ""
    return f"{what}{count}" + (f" ({shown})" if shown else "")
