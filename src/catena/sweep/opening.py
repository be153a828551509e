"""Results of a sweep as an xarray.Dataset that reads files of chunks on demand."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .folder import Folder
from .rows import MISSING, STATUS_TYPE


def open_sweep(folder: str | os.PathLike[str]) -> Any:
    """Return the results of a sweep as an `xarray.Dataset` over `member`; requires xarray.

    Its coordinates are the parameters of the members. Its variables are the kept results, and `status` and `message`:
    "done" and "" for finished members, otherwise the reason why their results are nan. Members that have not been
    computed have the status "missing". Data are read on demand, and only from the chunks that contain them:
    `dataset.isel(member=slice(0, 1000))` reads one or two files. With dask installed, `dataset.chunk(member=size)`
    computes with results that are larger than memory, for example `.mean().compute()`; `dataset.attrs["chunk"]` is the
    number of members per file.
    """
    try:
        xarray, indexing = import_module("xarray"), import_module("xarray.core.indexing")
        backend_array: Any = import_module("xarray.backends").BackendArray
    except ImportError:
        raise ImportError("open_sweep needs xarray, which is not installed: pip install 'catena[tables]'") from None
    place = Folder(folder)
    plan = place.plan()
    identity = plan["identity"]
    members, size = identity["members"], identity["chunk"]
    there = [place.chunk_path(chunk).is_file() for chunk in range(-(-members // size))]

    class Lazy(backend_array):  # type: ignore[misc]
        """A variable of which chunks are read when they are indexed."""

        def __init__(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
            self.name, self.shape, self.dtype = name, (members, *shape), dtype

        def __getitem__(self, key: Any) -> Any:
            basic = indexing.IndexingSupport.OUTER_1VECTOR
            return indexing.explicit_indexing_adapter(key, self.shape, basic, self._read)

        def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
            asked = np.arange(members)[key[0]]
            rows = np.atleast_1d(asked)
            found = np.empty((len(rows), *self.shape[1:]), self.dtype)
            for chunk in np.unique(rows // size).tolist():
                mine = rows // size == chunk
                count = min(size, members - chunk * size)
                values = _values(place, chunk, self.name, (count, *self.shape[1:]), self.dtype, there[chunk])
                found[mine] = values[rows[mine] - chunk * size]
            first = 0 if np.ndim(asked) == 0 else slice(None)
            return np.asarray(found[(first, *key[1:])], self.dtype)

    def variable(name: str, shape: list[int], kind: str) -> Any:
        extra = tuple(f"{name}_{k}" for k in range(len(shape)))
        array = indexing.LazilyIndexedArray(Lazy(name, tuple(shape), np.dtype(kind)))
        return xarray.Variable(("member", *extra), array, encoding={"preferred_chunks": {"member": size}})

    return xarray.Dataset(
        {name: variable(name, *form) for name, form in plan["kept"].items()}
        | {"status": variable("status", [], STATUS_TYPE), "message": variable("message", [], "O")},
        coords={"member": np.arange(members)}
        | {name: variable(name, *form) for name, form in plan["parameters"].items()},
        attrs={
            "chunk": size,
            "kernel": identity["kernel"],
            "mechanism": identity["mechanism"],
            "created": plan["created"],
            **{f"{name}_version": found for name, found in identity["versions"].items()},
        },
    )


def _values(
    place: Folder, chunk: int, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], is_there: bool
) -> NDArray[Any]:
    """A variable of the members of a chunk."""
    if name == "message":
        texts = np.full(shape, "", dtype=object)
        for row, said in (place.read_messages(chunk) if is_there else {}).items():
            texts[row] = said
        return texts
    if is_there:
        return place.read_chunk(chunk, name)
    blank: Any = MISSING if name == "status" else {"f": np.nan, "c": np.nan}.get(dtype.kind, dtype.type())
    return np.full(shape, blank, dtype)
