"""Batches as files: an npz of arrays and a document, as safe to read as that of a trajectory."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np

from .. import _core
from .._util.disk import file_name
from .._util.provenance import RunInfo
from .._util.rotation import Array, finite
from .._util.status import Status
from ..assemble.core import build_core
from ..compile.row_selection import SELECTION_ARRAYS
from ..simulate.batch import COUNTS, SIZES, Batch
from ..simulate.members import MemberNumbers, described_numbers
from .document import entry
from .rebuild import rebuild
from .serialize import describe
from .trajectory_file import (
    SELECTION,
    Contents,
    array_of,
    document_of,
    loaded,
    record_of,
    selection_of,
    write_archive,
)

_STEPS = {name: kind for name, per, _, _, kind in _core.records() if per in ("step", "estimate")}
_NUMBERS = ("mass", "inertia", "gravity", "law", "anchors", "frames", "parameter")
_OWN = "own_"
_ENDED = ("status_time", "status_step", "counts", *COUNTS)
_MEMBERS = (
    "time",
    *SIZES,
    *_STEPS,
    *_ENDED,
    "counted",
    *(_OWN + name for name in _NUMBERS),
    *(SELECTION + name for name in SELECTION_ARRAYS),
)


def save(batch: Batch, path: str | os.PathLike[str]) -> None:
    """See Batch.save."""
    if os.path.splitext(file_name(path))[1].lower() not in ("", ".npz"):
        raise ValueError(f"{file_name(path)}: a batch is saved as .npz; `to_dataframe` makes tables")
    contents: Contents = {name: getattr(batch, name) for name in ("time", *SIZES)}
    contents |= {name: getattr(batch, name) for name in _STEPS if getattr(batch, name) is not None}
    contents["status_time"] = np.array([status.time for status in batch.status])
    contents["status_step"] = np.array([status.step for status in batch.status], dtype=np.int64)
    contents["counts"] = np.asarray(batch.counts, dtype=np.int64)
    contents |= {name: getattr(batch, name) for name in COUNTS}
    contents["counted"] = np.concatenate(list(batch.turned.values()) or [np.zeros((*batch.time.shape, 0))], axis=-1)
    contents |= {_OWN + name: array for name, array in batch.numbers.saved().items() if array is not None}
    if batch.selection is not None:
        contents |= {SELECTION + name: getattr(batch.selection, name) for name in SELECTION_ARRAYS}
    document = {
        "dt": float(batch.dt),
        "bodies": list(batch.bodies),
        "failed": {str(k): asdict(batch.status[k]) for k in np.flatnonzero(batch.failed)},
        "accuracy_warnings": {str(k): sentence for k, sentence in enumerate(batch.accuracy_warnings) if sentence},
        "alone": batch.alone,
        "info": asdict(batch.info),
        "mechanism": describe(batch.mechanism),
    }
    write_archive(path, "batch", contents, document)


def load(path: str | os.PathLike[str]) -> Batch:
    """See Batch.load."""
    return loaded(path, "batch", _MEMBERS, _rebuild)


def _rebuild(contents: Contents) -> Batch:
    document = document_of(contents)
    mechanism = rebuild(entry(document, "mechanism", dict, "the document")).snapshot("trajectory")
    bodies = entry(document, "bodies", list, "the document")
    if len(set(map(str, bodies))) < len(bodies) or any(name not in mechanism.bodies for name in bodies):
        raise ValueError("its bodies are not those of its mechanism")
    time = array_of(contents, "time")
    if time.ndim != 2:
        raise ValueError("time must have rows of numbers, one for every member")
    count, nodes = time.shape
    steps = array_of(contents, "substeps").shape[-1]
    ended = {name: _whole(contents, name, count) for name in ("status_step", "counts", *COUNTS)}
    if ended["counts"].max(initial=0) > nodes or ended["status_step"].max(initial=0) > steps:
        raise ValueError("the file claims more computed steps than it contains")
    times = _numbers(contents, "status_time", (count,))
    status = [Status(time=t, step=s) for t, s in zip(times.tolist(), ended["status_step"].tolist(), strict=True)]
    failed = entry(document, "failed", dict, "the document")
    for k, item in failed.items():
        status[_member(k, count)] = record_of(Status, item, "the status")
    warnings = [""] * count
    for k in entry(document, "accuracy_warnings", dict, "the document"):
        warnings[_member(k, count)] = entry(document["accuracy_warnings"], k, str, "the document")
    # what lies beyond the last node of a member that failed is nan
    beyond = np.arange(nodes) >= ended["counts"][:, None]
    arrays: dict[str, Any] = {}
    for name, size in SIZES.items():
        arrays[name] = _numbers(contents, name, (count, nodes, len(bodies), size), beyond)
    compiled = build_core(mechanism)
    counted = _numbers(contents, "counted", (count, nodes, len(compiled.counters)), np.ones_like(beyond))
    made: dict[str, Any] = {"error": None}
    for name, kind in _STEPS.items():
        if name in contents or name != "error":
            made[name] = _numbers(contents, name, (count, steps), np.ones((count, steps), dtype=bool)).astype(kind)
    numbers = {name: _own_numbers(contents, name, count, same) for name, same in described_numbers(mechanism).items()}
    return Batch(
        mechanism=mechanism,
        dt=float(finite(entry(document, "dt", (int, float), "the document"), (), "dt")),
        bodies=tuple(bodies),
        time=_numbers(contents, "time", (count, nodes), beyond),
        **arrays,
        **made,
        accuracy_warnings=warnings,
        **{name: ended[name] for name in COUNTS},
        counts=ended["counts"],
        status=status,
        numbers=MemberNumbers.of(mechanism, count, numbers),
        turned=compiled.by_joint(counted),
        info=record_of(RunInfo, entry(document, "info", dict, "the document"), "the record of the run"),
        selection=selection_of(contents, mechanism) if SELECTION + "rows" in contents else None,
        alone=entry(document, "alone", str, "the document"),
    )


def _member(name: str, count: int) -> int:
    if not name.isdecimal() or int(name) >= count:
        raise ValueError(f"there is no member {name!r:.20}")
    return int(name)


def _numbers(contents: Contents, name: str, shape: tuple[int, ...], may_be_any: Any = None) -> Array:
    """Numbers of a shape, finite but where they may be something else: a mask of its first axes."""
    array = array_of(contents, name)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be numbers")
    if may_be_any is None or array.shape != shape:
        return finite(array, shape, name)
    values = array.astype(float)
    mask = np.reshape(may_be_any, np.shape(may_be_any) + (1,) * (len(shape) - np.ndim(may_be_any)))
    finite(np.where(mask, 0.0, values), shape, name)
    return values


def _own_numbers(contents: Contents, name: str, count: int, like: Array) -> Array | None:
    """Members' own numbers of a kind, if they have any; limits of forces may be infinite."""
    if _OWN + name not in contents:
        return None
    array = array_of(contents, _OWN + name)
    infinite = np.isinf(array) if array.dtype.kind == "f" and name == "law" else None
    return _numbers(contents, _OWN + name, (count, *like.shape), infinite)


def _whole(contents: Contents, name: str, count: int) -> Any:
    array = array_of(contents, name)
    if array.dtype.kind not in "iu" or array.shape != (count,) or (array.size and int(array.min()) < 0):
        raise ValueError(f"{name} must be a row of whole numbers, one for every member")
    return array.astype(np.int64)
