"""The folder of a sweep: a plan, one file per chunk of members, and a manifest with one line per finished chunk.

Files appear under their names only when they are complete. A chunk is finished when its file is there: the manifest
records who computed it, and nothing is decided by it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from .._util.disk import file_name, open_plain, read_whole, write_whole
from .._util.status import CatenaError
from ..io.document import check_format, decoded, encoded
from .storage import DAMAGE, Rows, Storage, storage_of

Document = dict[str, Any]

_MARK = "catena sweep"
# raised when the contents of a folder change their meaning
_FORMAT = 2
_PLAN, _MANIFEST = "plan.json", "manifest.jsonl"
_MOST_BYTES = 1 << 26


class SweepError(CatenaError, RuntimeError):
    """A sweep cannot start or continue; finished chunks remain in its folder, and a later run resumes."""


class Folder:
    """The files of a sweep."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(file_name(path))

    # ---- the plan

    @property
    def has_plan(self) -> bool:
        """Whether the folder contains a sweep."""
        return (self.path / _PLAN).is_file()

    def plan(self) -> Document:
        """Return the plan: everything on which the results depend."""
        path = self.path / _PLAN
        if not path.is_file():
            raise ValueError(f"{self.path}: not the folder of a sweep, it has no {_PLAN}")
        found = decoded(read_whole(path, _MOST_BYTES, "a readable plan"))
        if not isinstance(found, dict) or found.get("mark") != _MARK:
            raise ValueError(f"{path}: not the plan of a sweep")
        try:
            check_format(found.get("format"), _FORMAT)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        return found

    def begin(self, plan: Document) -> None:
        """Write the plan, unless another process has written it first."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise ValueError(f"{self.path}: is a file; the results of a sweep need a folder") from None
        others = [item.name for item in self.path.iterdir() if not item.name.startswith((_PLAN, ".nfs"))]
        if others and not self.has_plan:
            raise ValueError(
                f"{self.path}: has files that are not of a sweep, such as {others[0]!r}: use an empty folder"
            )
        if not self.has_plan:
            text = encoded({"mark": _MARK, "format": _FORMAT, **plan}, indent=1)
            write_whole(self.path / _PLAN, lambda file: file.write(text))

    # ---- chunks

    @cached_property
    def storage(self) -> Storage:
        """The format of the files of chunks."""
        return storage_of(self.plan()["storage"])

    def chunk_path(self, chunk: int) -> Path:
        """Return the path of the file of a chunk."""
        return self.path / f"chunk-{chunk:06d}.{self.storage.ending}"

    def is_done(self, chunk: int) -> bool:
        """Return whether a chunk is finished; a file that is damaged does not count."""
        try:
            with open_plain(self.chunk_path(chunk), "a chunk") as file:
                return "status" in self.storage.contents(file)
        except (FileNotFoundError, *DAMAGE):
            return False

    def write_chunk(self, chunk: int, rows: Rows, messages: dict[int, str]) -> int:
        """Write the rows of a chunk and its messages by row; returns the number of bytes."""
        whole = self.storage.encode(rows, messages)
        write_whole(self.chunk_path(chunk), lambda file: file.write(whole))
        return len(whole)

    def read_chunk(self, chunk: int, name: str) -> NDArray[Any]:
        """Return one variable of a chunk."""
        with open_plain(self.chunk_path(chunk), "a chunk") as file:
            try:
                return self.storage.read(file, name)
            except DAMAGE as error:
                raise self._damaged(chunk, error) from None

    def read_messages(self, chunk: int) -> dict[int, str]:
        """Return the messages of members of a chunk, by row."""
        with open_plain(self.chunk_path(chunk), "a chunk") as file:
            try:
                return self.storage.read_messages(file)
            except DAMAGE as error:
                raise self._damaged(chunk, error) from None

    def _damaged(self, chunk: int, error: Exception) -> ValueError:
        return ValueError(f"{self.chunk_path(chunk)}: damaged ({error}); run the sweep again to compute it anew")

    # ---- the manifest

    def record(self, line: Document) -> None:
        """Append a line to the manifest in one write."""
        text = (json.dumps(line) + "\n").encode()
        handle = os.open(self.path / _MANIFEST, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(handle, text)
        finally:
            os.close(handle)

    def manifest(self) -> Iterator[Document]:
        """Return the lines of the manifest, except for incomplete ones."""
        path = self.path / _MANIFEST
        if not path.is_file():
            return
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue
