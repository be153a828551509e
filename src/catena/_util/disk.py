"""Files on a disk: read if they are plain and no larger than they may be, written whole or not at all."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from errno import EACCES
from pathlib import Path
from secrets import token_hex
from typing import IO

# of a pipe whose other end is missing, opening must not wait
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

_PIECE = 1 << 20


def file_name(path: str | os.PathLike[str]) -> str:
    """The path as a string, checked."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path must be the name of a file, got {path!r}")
    name = os.fsdecode(path)
    if not name or "\0" in name:
        raise ValueError(f"path must be the name of a file, got {name!r}")
    return name


def open_plain(path: str | os.PathLike[str], what: str) -> IO[bytes]:
    """Open a plain file: no folder, pipe or device, which may never end; `what` it is not, for the sentence."""
    name = file_name(path)
    try:
        # not even opened, as that may already do something
        found = os.stat(name)
        handle = os.open(name, os.O_RDONLY | _AT_ONCE) if stat.S_ISREG(found.st_mode) else -1
    except UnicodeEncodeError:
        raise ValueError(f"path must be the name of a file, got {name!r}") from None
    if handle < 0:
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe or a device"
        raise ValueError(f"{name}: not {what}: it is not a regular file, but {kind}")
    file = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise ValueError(f"{name}: not {what}: it is not a regular file")
    return file


def read_whole(path: str | os.PathLike[str], most: int, what: str) -> bytes:
    """The bytes of a plain file, of which there may be `most`."""
    with open_plain(path, what) as file:
        size = os.fstat(file.fileno()).st_size
        found = bytearray()
        # some files tell no size
        while size <= most and len(found) <= most and (piece := file.read(_PIECE)):
            found += piece
    if size > most or len(found) > most:
        raise ValueError(f"{file_name(path)}: has {max(size, len(found))} bytes or more, and may have {most}")
    return bytes(found)


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Write a file of which the old contents stay until the new ones are there.

    A link stays one, to what is written; the mode of a file that was there stays. What is no plain file, such as
    /dev/stdout, is written into.
    """
    name = file_name(path)
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        whole = io.BytesIO()
        write(whole)
        with open(name, "wb") as file:
            file.write(whole.getbuffer())
        return
    # one that may not be written is not replaced either, whatever its folder allows
    if mode is not None and not os.access(name, os.W_OK):
        raise PermissionError(EACCES, os.strerror(EACCES), name)
    target = Path(os.path.realpath(name))
    temporary = target.with_name(f"{target.name[:60]}{token_hex(8)}.part")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _AT_ONCE, 0o666)
    except OSError as error:
        # the user has named another file
        error.filename = name
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(handle, stat.S_IMODE(mode))
            write(file)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
