"""Formats of the files of chunks: npz, which needs nothing, and Parquet and Zarr where their packages are installed."""

from __future__ import annotations

import json
import zipfile
from importlib import import_module
from io import BytesIO
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .._util.checks import one_of

Rows = dict[str, NDArray[Any]]

# the reading of a damaged file may raise any of these
DAMAGE = (zipfile.BadZipFile, KeyError, ValueError, EOFError)


class Storage:
    """How the rows of a chunk and its messages become a file, and are read from it."""

    name: str
    ending: str
    package = ""

    def need(self) -> None:
        """Raise if a package is not installed."""
        if self.package:
            try:
                import_module(self.package)
            except ImportError:
                raise ImportError(
                    f"storage={self.name!r} needs {self.package}, which is not installed: "
                    f"pip install {self.package}; 'npz' needs nothing"
                ) from None

    def refuses(self, kind: np.dtype[Any]) -> bool:
        """Whether arrays of this type cannot be stored."""
        return False

    def encode(self, rows: Rows, messages: dict[int, str]) -> bytes:
        """Return the contents of a file: the same bytes for the same rows."""
        raise NotImplementedError

    def contents(self, file: IO[bytes]) -> list[str]:
        """Return the names of the variables in a file."""
        raise NotImplementedError

    def read(self, file: IO[bytes], name: str) -> NDArray[Any]:
        """Return one variable of a file."""
        raise NotImplementedError

    def read_messages(self, file: IO[bytes]) -> dict[int, str]:
        """Return the messages of members, by row."""
        return {row: said for row, said in enumerate(self.read(file, "message").tolist()) if said}


class Npz(Storage):
    """NumPy's own format; messages are JSON in an array of bytes."""

    name, ending = "npz", "npz"

    def encode(self, rows: Rows, messages: dict[int, str]) -> bytes:
        """Return the contents of a file."""
        text = np.frombuffer(json.dumps({str(row): said for row, said in messages.items()}).encode(), dtype=np.uint8)
        whole = BytesIO()
        # in memory first: a zip file seeks, which not every file system does well
        np.savez(whole, **rows, message=text)  # type: ignore[arg-type]
        return whole.getvalue()

    def contents(self, file: IO[bytes]) -> list[str]:
        """Return the names of the variables in a file."""
        return [path.removesuffix(".npy") for path in zipfile.ZipFile(file).namelist()]

    def read(self, file: IO[bytes], name: str) -> NDArray[Any]:
        """Return one variable of a file."""
        with np.load(file, allow_pickle=False) as arrays:
            found: NDArray[Any] = arrays[name]
        return found

    def read_messages(self, file: IO[bytes]) -> dict[int, str]:
        """Return the messages of members, by row."""
        return {int(row): said for row, said in json.loads(self.read(file, "message").tobytes()).items()}


class Parquet(Storage):
    """A table with one row per member, for databases and data frames; arrays are lists of fixed size."""

    name, ending, package = "parquet", "parquet", "pyarrow"

    def refuses(self, kind: np.dtype[Any]) -> bool:
        """Whether arrays of this type cannot be stored: there are neither complex numbers nor long doubles."""
        return kind.kind == "c" or (kind.kind == "f" and kind.itemsize > 8)

    def encode(self, rows: Rows, messages: dict[int, str]) -> bytes:
        """Return the contents of a file."""
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")

        def column(array: NDArray[Any]) -> Any:
            flat = arrow.array(array.ravel().tolist() if array.dtype.kind == "U" else array.ravel())
            for size in array.shape[:0:-1]:
                flat = arrow.FixedSizeListArray.from_arrays(flat, size)
            return flat

        texts = [messages.get(row, "") for row in range(len(rows["status"]))]
        columns = {name: column(array) for name, array in rows.items()}
        whole = BytesIO()
        parquet.write_table(arrow.table({**columns, "message": arrow.array(texts, arrow.string())}), whole)
        return whole.getvalue()

    def contents(self, file: IO[bytes]) -> list[str]:
        """Return the names of the variables in a file."""
        return list(self._open(file).schema_arrow.names)

    def read(self, file: IO[bytes], name: str) -> NDArray[Any]:
        """Return one variable of a file."""
        opened = self._open(file)
        if name not in opened.schema_arrow.names:
            raise KeyError(name)
        try:
            column = opened.read(columns=[name])[name].combine_chunks()
        except OSError as error:
            raise ValueError(str(error)) from None
        shape, arrow = [len(column)], import_module("pyarrow")
        while arrow.types.is_fixed_size_list(column.type):
            shape.append(column.type.list_size)
            column = column.flatten()
        text = arrow.types.is_string(column.type)
        return np.reshape(np.array(column.to_pylist(), dtype=str) if text else _numbers(column), shape)

    def _open(self, file: IO[bytes]) -> Any:
        try:
            return import_module("pyarrow.parquet").ParquetFile(file)
        except OSError as error:
            # of damaged files, without a number
            raise ValueError(str(error)) from None


class Zarr(Storage):
    """A Zarr group in a zip file, one array per variable."""

    name, ending, package = "zarr", "zarr.zip", "zarr"

    def encode(self, rows: Rows, messages: dict[int, str]) -> bytes:
        """Return the contents of a file."""
        zarr: Any = import_module("zarr")
        stored: dict[str, Any] = {}
        group = zarr.create_group(zarr.storage.MemoryStore(stored))
        texts = np.array([messages.get(row, "") for row in range(len(rows["status"]))], dtype=str)
        for name, array in {**rows, "message": texts}.items():
            kind = str if array.dtype.kind == "U" else array.dtype
            made = group.create_array(name, shape=array.shape, dtype=kind, chunks=tuple(max(n, 1) for n in array.shape))
            made[...] = array.astype(object) if kind is str else array
        whole = BytesIO()
        with zipfile.ZipFile(whole, "w") as packed:
            for key in sorted(stored):
                # without the time of day, so that equal rows are equal bytes
                packed.writestr(zipfile.ZipInfo(key), stored[key].to_bytes())
        return whole.getvalue()

    def contents(self, file: IO[bytes]) -> list[str]:
        """Return the names of the variables in a file."""
        ends = "/zarr.json"
        return [key.removesuffix(ends) for key in zipfile.ZipFile(file).namelist() if key.endswith(ends)]

    def read(self, file: IO[bytes], name: str) -> NDArray[Any]:
        """Return one variable of a file."""
        zarr: Any = import_module("zarr")
        buffer = import_module("zarr.core.buffer").default_buffer_prototype().buffer
        with zipfile.ZipFile(file) as packed:
            keys = [key for key in packed.namelist() if key.startswith(f"{name}/")]
            stored = {key: buffer.from_bytes(packed.read(key)) for key in keys}
        if not stored:
            raise KeyError(name)
        found = zarr.open_array(zarr.storage.MemoryStore(stored), path=name, mode="r")[...]
        return np.asarray(found) if found.dtype.kind in "biufc" else np.array(found.tolist(), dtype=str)


def _numbers(column: Any) -> NDArray[Any]:
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found


_STORAGES = {storage.name: storage for storage in (Npz(), Parquet(), Zarr())}


def storage_of(name: str) -> Storage:
    """Return the format of this name."""
    one_of(name, tuple(_STORAGES), "storage")
    return _STORAGES[name]
