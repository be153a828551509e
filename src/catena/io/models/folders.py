"""Where the files of a model may lie: its own folder, the package it is part of, and folders that the user names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote

from ..._util.disk import file_name
from .notes import Notes

# how far above the model a package is looked for
_MOST_LEVELS = 8


class Folders:
    """Finds the files that a model names, and refuses those that lie elsewhere."""

    def __init__(self, path: str | os.PathLike[str], packages: Mapping[str, str | os.PathLike[str]] | None) -> None:
        self.model = Path(file_name(path))
        self._home = Path(os.path.realpath(self.model.parent))
        self._named = {name: Path(os.path.realpath(file_name(folder))) for name, folder in (packages or {}).items()}
        above = [self._home, *self._home.parents][:_MOST_LEVELS]
        # the nearest folder that says it is a package, or else the model's own
        self._package = next((folder for folder in above if (folder / "package.xml").is_file()), self._home)
        self._above = above

    def find(self, address: str, notes: Notes, where: str, within: str = "") -> Path | None:
        """The file of an address: package://, model://, file:// or a path; None, and a note, if it is nowhere we look.

        `within` is a folder that paths are relative to, itself relative to the model's.
        """
        try:
            return self._find(address, notes, where, within)
        except (OSError, ValueError):
            notes.skip("file whose name no file can have", where)
            return None

    def _find(self, address: str, notes: Notes, where: str, within: str) -> Path | None:
        scheme, mark, rest = address.partition("://")
        if not mark:
            path, roots = Path(within, address), self._roots(self._home, self._package)
            return self._inside(self._home / path, roots, address, notes, where)
        if scheme == "file":
            return self._inside(Path(unquote(rest)), self._roots(self._home, self._package), address, notes, where)
        if scheme in ("package", "model"):
            name, _, inner = rest.partition("/")
            if name not in self._named and any(part.startswith(".") and part.strip(".") for part in Path(rest).parts):
                notes.skip("file in a hidden folder", f"{address!r:.80} of {where}")
                return None
            for root in self._packages(name):
                if (root / inner).exists():
                    return self._inside(root / inner, [root], address, notes, where)
            notes.skip(f"file of package {name!r}, which is not found: give packages={{{name!r}: folder}}", where)
            return None
        notes.skip(f"file at {scheme}://, which is not supported", where)
        return None

    def why_not(self, address: str, within: str = "") -> str:
        """What to do about a file that was not found; of those outside it does not say whether they exist."""
        path = Path(os.path.normpath(self._home / within / address))
        folder = path.parent
        if "://" in address:
            return "is not in the folders of the model"
        if any(folder.is_relative_to(root) for root in self._roots(self._home, self._package)):
            return "is not in the folders of the model" if os.path.lexists(path) else "is missing"
        allowed = f"packages={{{folder.name!r}: {str(folder)!r}}}"
        return f"lies outside the folders of the model; if you trust it, add {allowed}"

    def _roots(self, *own: Path) -> list[Path]:
        return [*own, *self._named.values()]

    def _packages(self, name: str) -> Iterable[Path]:
        """Folders that a package of that name may be."""
        if name in self._named:
            return [self._named[name]]
        if not name or name in (".", "..") or os.sep in name:
            return []
        return [folder for folder in self._above if folder.name == name] + [
            folder / name for folder in self._above[: _MOST_LEVELS // 2] if (folder / name).is_dir()
        ]

    def _inside(self, path: Path, roots: Iterable[Path], address: str, notes: Notes, where: str) -> Path | None:
        """The path with all links resolved, if it is in one of the folders and exists."""
        real = Path(os.path.realpath(path))
        if not any(real.is_relative_to(root) for root in roots):
            notes.skip("file outside the folders of the model", f"{address!r:.80} of {where}")
            return None
        if not real.is_file():
            notes.skip("missing file", f"{address!r:.80} of {where}")
            return None
        return real
