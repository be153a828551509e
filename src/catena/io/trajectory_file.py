"""Trajectories as files: an npz of arrays and a document, the mechanism included, and nothing that could run code."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Collection
from dataclasses import asdict, fields, replace
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._util.disk import file_name, open_plain, write_whole
from .._util.provenance import RunInfo
from .._util.rotation import Array, finite
from ..compile.row_selection import SELECTION_ARRAYS, RowSelection, select_all
from ..describe.limits import hard_stops
from ..kinematics.nodes import PER_STEP, Checkpoints, Making, Nodes
from ..results.trajectory import Trajectory
from ..simulate.events import AnyEvent, AtLimit, Event, Occurrence, Touch
from .document import MOST_BYTES, check_format, decoded, encoded, entry
from .rebuild import rebuild
from .serialize import describe

if TYPE_CHECKING:
    from .._util.status import Status
    from ..describe.mechanism import Mechanism

# raised when the contents of a saved file change their meaning
FORMAT = 11

Contents = dict[str, NDArray[np.generic]]
Whole = TypeVar("Whole")

# by name: of what they have entries, and the numbers of an entry
_SHAPES = {name: (of, () if width == 1 else (width,)) for name, per, of, width, _ in _core.records() if per == "node"}
_ARRAYS = tuple(name for name, (of, _) in _SHAPES.items() if of not in ("counter", "input"))
_NODES = (*_ARRAYS, "counted", "control", "inputs", "stops", "touches", "checkpoints")
_EVENT = "event_"
# all that a file may hold; what else is in it is never looked at
SELECTION = "selection_"
_MEMBERS = {
    *_NODES,
    *(_EVENT + name for name in _NODES),
    *PER_STEP,
    *(SELECTION + name for name in SELECTION_ARRAYS),
    "impacts",
}
# what a field of a dataclass may be in a document
_KINDS: dict[str, tuple[type[Any], ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}


def save(run: Trajectory, path: str | os.PathLike[str]) -> None:
    """See Trajectory.save."""
    if os.path.splitext(file_name(path))[1].lower() not in ("", ".npz"):
        raise ValueError(f"{file_name(path)}: a run is saved as .npz; `to_csv` writes tables, `save_html` a page")
    contents = _pack(run, "") | {
        name: getattr(run.made, name) for name in PER_STEP if getattr(run.made, name) is not None
    }
    events, event_arrays = _pack_events(run)
    document = {
        "dt": float(run.dt),
        "status": asdict(run.status),
        "accuracy_warning": run.accuracy_warning,
        "checked_error": run.checked_error,
        "info": None if run.info is None else asdict(run.info),
        "checkpoints": None if run.checkpoints is None else run.checkpoints.key,
        "mechanism": describe(run.mechanism),
        "events": events,
        "cut_count": run.cut_count,
        "caught_count": run.caught_count,
        "guarded_count": run.guarded_count,
    }
    contents |= event_arrays
    if run.made.impacts is not None:
        contents["impacts"] = run.made.impacts
    if run.made.selection is not None:
        contents |= {SELECTION + name: getattr(run.made.selection, name) for name in SELECTION_ARRAYS}
    write_archive(path, "trajectory", contents, document)


def load(path: str | os.PathLike[str]) -> Trajectory:
    """See Trajectory.load."""
    return loaded(path, "trajectory", _MEMBERS, _rebuild)


def write_archive(path: str | os.PathLike[str], what: str, contents: Contents, document: dict[str, Any]) -> None:
    """Write arrays and a document to an npz file, which is replaced only when complete."""
    whole: dict[str, Any] = contents | {
        "document": np.frombuffer(encoded(document), dtype=np.uint8),
        "mark": np.array(f"catena {what}"),
        "format": np.array(FORMAT),
    }
    write_whole(path, lambda file: np.savez(file, **whole))


def loaded(
    path: str | os.PathLike[str], what: str, members: Collection[str], rebuild: Callable[[Contents], Whole]
) -> Whole:
    """What a file contains; whatever is wrong with it is a ValueError that begins with its name."""
    name = file_name(path)
    contents = _archive(name, what, members)
    try:
        return rebuild(contents)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _archive(name: str, what: str, members: Collection[str]) -> Contents:
    """Arrays of a file that `write_archive` wrote; what else is in it is never looked at."""
    contents = _read(name, what, {*members, "document", "mark", "format"})
    if str(contents.get("mark")) != f"catena {what}":
        raise ValueError(f"{name}: not a {what} that catena wrote")
    try:
        version = contents.get("format")
        check_format(None if version is None or version.dtype.kind != "i" else int(version.max()), FORMAT)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return contents


def document_of(contents: Contents) -> dict[str, Any]:
    """The document of such a file."""
    text = array_of(contents, "document")
    if text.dtype != np.uint8 or text.ndim != 1 or len(text) > MOST_BYTES:
        raise ValueError("its document is not text, or too long")
    found: dict[str, Any] = decoded(text.tobytes())
    return found


def _read(name: str, what: str, members: Collection[str]) -> Contents:
    with open_plain(name, f"a readable {what}") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                known = _members(archive, os.fstat(file.fileno()).st_size, members)
                return {member.filename.removesuffix(".npy"): _unpacked(archive, member) for member in known}
        # all that numpy and zipfile raise where bytes have been changed
        except (
            ValueError,
            EOFError,
            MemoryError,
            KeyError,
            TypeError,
            OverflowError,
            RuntimeError,
            SyntaxError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            # numpy's advice to load it unsafely is not ours
            why = "" if "pickle" in str(error) else f" ({error})"
            raise ValueError(f"{name}: not a readable {what}{why}") from None


def _members(archive: zipfile.ZipFile, size: int, names: Collection[str]) -> list[zipfile.ZipInfo]:
    """The arrays of a file of so many bytes: unpacked they take no more memory than it takes disk."""
    known = [member for member in archive.infolist() if member.filename.removesuffix(".npy") in names]
    if len({member.filename for member in known}) < len(known):
        raise ValueError("an array is contained twice")
    if any(member.compress_type != zipfile.ZIP_STORED for member in known):
        raise ValueError("its arrays are compressed, which catena does not do")
    if sum(member.file_size for member in known) > size:
        raise ValueError("its arrays are declared larger than the file")
    return known


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[np.generic]:
    """An array, once its header has been seen to agree with the bytes that are there."""
    with archive.open(member) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{member.filename} is of another version of numpy's format")
        shape, _, kind = np.lib.format.read_array_header_1_0(file)
        there, said = member.file_size - file.tell(), prod(shape) * kind.itemsize
        if not kind.hasobject and said != there:
            raise ValueError(f"{member.filename} has {there} bytes, and is said to have {said}")
    with archive.open(member) as file:
        found: NDArray[np.generic] = np.lib.format.read_array(file, allow_pickle=False)
    return found


def _rebuild(contents: Contents) -> Trajectory:
    from .._util.status import Status

    document = document_of(contents)
    mechanism = rebuild(entry(document, "mechanism", dict, "the document"))
    kept = mechanism.snapshot("trajectory")
    dt = float(finite(entry(document, "dt", (int, float), "the document"), (), "dt"))
    status: Status = record_of(Status, entry(document, "status", dict, "the document"), "the status")
    info = entry(document, "info", (dict, type(None)), "the document")
    nodes = _unpack(kept, contents, "", entry(document, "checkpoints", (str, type(None)), "the document"))
    steps = len(_counts(contents, "substeps"))
    made = Making(
        dt=dt,
        **_unpack_steps(contents, steps),
        increments=_increments(contents, steps) if "increments" in contents else None,
        accuracy_warning=entry(document, "accuracy_warning", str, "the document"),
        checked_error=_checked_error(document),
        status=status,
        info=None if info is None else record_of(RunInfo, info, "the record of the run"),
        selection=selection_of(contents, kept) if SELECTION + "rows" in contents else None,
        events=_unpack_events(kept, contents, entry(document, "events", dict, "the document")),
        impacts=_impacts(contents, kept) if "impacts" in contents else None,
        cut_count=_count(document, "cut_count"),
        caught_count=_count(document, "caught_count"),
        guarded_count=_count(document, "guarded_count") if "guarded_count" in document else 0,
    )
    return Trajectory(kept, nodes, made)


def selection_of(contents: Contents, mechanism: Mechanism) -> RowSelection:
    """Rows of loops that were enforced, if a file has them."""
    found = select_all(mechanism, mechanism.loop_tolerance)
    values: dict[str, Any] = {}
    for name in SELECTION_ARRAYS:
        like = getattr(found, name)
        values[name] = _numbers(contents, SELECTION + name, like.shape).astype(like.dtype)
    selection = replace(found, **values)
    own = [joint.row_count for joint in mechanism.joints.values()]
    if any(
        np.any((numbers < least) | (numbers > own))
        for numbers, least in ((selection.rows, -1), (selection.redundant, 0))
    ):
        raise ValueError("rows of loops that joints do not have")
    return selection


def _impacts(contents: Contents, mechanism: Mechanism) -> Array:
    given = np.atleast_2d(array_of(contents, "impacts"))
    # before there was friction they had one column less
    width = min(max(given.shape[-1], 5), 6)
    found = _numbers(contents, "impacts", (len(given), width))
    found = np.concatenate((found, np.zeros((len(found), 6 - width))), axis=1)
    if not np.isin(found[:, 1], range(len(hard_stops(mechanism)))).all():
        raise ValueError("impacts at stops that are not there")
    return found


def _count(document: dict[str, Any], name: str) -> int:
    found: int = entry(document, name, int, "the document")
    if found < 0:
        raise ValueError(f"{name} must not be negative")
    return found


def _checked_error(document: dict[str, Any]) -> float | None:
    found = entry(document, "checked_error", (int, float, type(None)), "the document")
    return None if found is None else float(finite(found, (), "checked_error"))


def _increments(contents: Contents, steps: int) -> Array:
    shape = array_of(contents, "increments").shape
    if len(shape) != 2 or shape[0] != steps:
        raise ValueError("increments must be rows of numbers, one for every step")
    return _numbers(contents, "increments", shape)


def _unpack_steps(contents: Contents, steps: int) -> dict[str, Any]:
    return {
        name: _counts(contents, name) if kind == "int32" else _numbers(contents, name, (steps,))
        for name, per, _, _, kind in _core.records()
        if per == "step" or (per == "estimate" and name in contents)
    }


# ---- nodes, those of a run and those of its events


def _pack(run: Trajectory, prefix: str) -> Contents:
    contents: Contents = {prefix + name: getattr(run, name) for name in _ARRAYS}
    contents[prefix + "counted"] = _pack_angles(run)
    for name in ("control", "inputs", "stops", "touches"):
        if getattr(run.nodes, name) is not None:
            contents[prefix + name] = getattr(run.nodes, name)
    if run.checkpoints is not None:
        contents[prefix + "checkpoints"] = run.checkpoints.numbers
    return contents


def _unpack(mechanism: Mechanism, contents: Contents, prefix: str, key: str | None) -> Nodes:
    n, steps = mechanism.body_count, len(np.atleast_1d(array_of(contents, prefix + "time")))
    rows = sum(joint.row_count for joint in mechanism.joints.values()) + len(mechanism.couplings)
    if array_of(contents, prefix + "multipliers").shape[1:] == (0,):
        # of a member of a batch, whose reactions are not kept
        rows = 0
    entries: dict[str, tuple[int, ...]] = {"all": (), "body": (n,), "row": (rows,)}
    arrays = {}
    for name in _ARRAYS:
        of, width = _SHAPES[name]
        arrays[name] = _numbers(contents, prefix + name, (steps, *entries[of], *width))
    if np.abs(np.linalg.norm(arrays["orientation"], axis=2) - 1).max(initial=0.0) > 1e-6:
        raise ValueError(f"{prefix}orientation must be unit quaternions (w, x, y, z)")

    def maybe(name: str, shape: tuple[int, ...]) -> Array | None:
        return _numbers(contents, prefix + name, shape) if prefix + name in contents else None

    return Nodes(
        **arrays,
        turned=_unpack_angles(mechanism, contents, prefix, steps),
        inputs=maybe("inputs", (steps, len(mechanism.inputs))),
        stops=maybe("stops", (steps, len(hard_stops(mechanism)))),
        touches=maybe("touches", (steps, sum(c.friction > 0 for c in mechanism.contacts.values()), 3)),
        control=maybe("control", (steps, n, 6)),
        checkpoints=None if key is None else _checkpoints(contents, prefix, key, steps),
    )


def _checkpoints(contents: Contents, prefix: str, key: str, steps: int) -> Checkpoints:
    shape = array_of(contents, prefix + "checkpoints").shape
    if len(shape) != 2 or shape[0] not in (1, steps):
        raise ValueError("checkpoints must be there for one node or for all")
    return Checkpoints(_numbers(contents, prefix + "checkpoints", shape), key)


# ---- events: which of them happened, in states that are nodes of their own


def _pack_events(run: Trajectory) -> tuple[dict[str, Any], Contents]:
    events = list({id(event): event for event, _ in run.events}.values())
    document: dict[str, Any] = {
        "given": [_written(event) for event in events],
        "happened": [next(k for k, other in enumerate(events) if other is event) for event, _ in run.events],
        "checkpoints": None,
    }
    if not run.events:
        return document, {}
    nodes = reduce(Nodes.followed_by, (Nodes.of(state) for _, state in run.events))
    document["checkpoints"] = None if nodes.checkpoints is None else nodes.checkpoints.key
    return document, _pack(Trajectory(run.mechanism, nodes, Making()), _EVENT)


def _unpack_events(mechanism: Mechanism, contents: Contents, document: dict[str, Any]) -> list[Occurrence]:
    given = entry(document, "given", list, "the events")
    happened = entry(document, "happened", list, "the events")
    key = entry(document, "checkpoints", (str, type(None)), "the events")
    events: list[AnyEvent] = []
    for k, item in enumerate(given):
        kind = entry(item, "kind", str, f"event {k}")
        if kind not in _EVENTS:
            raise ValueError(f"event {k} is of a kind that is not known")
        made, of = _EVENTS[kind]
        events.append(made(**{name: entry(item, name, kinds, f"event {k}") for name, kinds in of.items()}))
    if any(type(k) is not int or not 0 <= k < len(events) for k in happened):
        raise ValueError("its events are numbered wrongly")
    if not happened:
        return []
    nodes = _unpack(mechanism, contents, _EVENT, key)
    if len(nodes) != len(happened):
        raise ValueError(f"{len(happened)} events happened in {len(nodes)} states")
    return [Occurrence(events[which], nodes.state(mechanism, k)) for k, which in enumerate(happened)]


def _written(event: AnyEvent) -> dict[str, Any]:
    kind = type(event).__name__
    return {"kind": kind} | {name: getattr(event, name) for name in _EVENTS[kind][1]}


def _read_event(direction: int, stop: bool) -> Event:
    return Event(_not_written, direction, stop)


def _not_written(_state: Any) -> float:
    raise ValueError("an event that was read from a file has no function: functions are not written")


# events that files hold, what makes them, and the fields that it takes
_EVENTS: dict[str, tuple[Callable[..., AnyEvent], dict[str, Any]]] = {
    "Event": (_read_event, {"direction": int, "stop": bool}),
    "AtLimit": (AtLimit, {"joint": str, "side": str, "coordinate": (str, type(None)), "stop": bool}),
    "Touch": (Touch, {"contact": str, "stop": bool}),
}


def array_of(contents: Contents, name: str) -> NDArray[np.generic]:
    """One of the arrays of a file."""
    if name not in contents:
        raise ValueError(f"incomplete, {name} missing")
    return contents[name]


def _numbers(contents: Contents, name: str, shape: tuple[int, ...]) -> Array:
    array = array_of(contents, name)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be numbers")
    return finite(array, shape, name)


def _counts(contents: Contents, name: str) -> NDArray[np.int32]:
    array = array_of(contents, name)
    if array.dtype.kind not in "iu" or array.ndim != 1 or (array.size and int(array.max()) >= 2**31):
        raise ValueError(f"{name} must be a row of whole numbers")
    return array.astype(np.int32)


def record_of(kind: type[Any], item: Any, where: str) -> Any:
    """A dataclass of plain fields."""
    values = {f.name: entry(item, f.name, _KINDS[str(f.type)], where) for f in fields(kind)}
    for name, value in values.items():
        if isinstance(value, int | float):
            finite(value, (), f"{where}: {name}")
    return kind(**values)


# ---- counted angles: one array (step, angle), joints in the mechanism's order


def _pack_angles(run: Trajectory) -> Array:
    angled = [name for name, joint in run.mechanism.joints.items() if joint.angles]
    columns = [run.turned[name] if name in run.turned else run.counted(name) for name in angled]
    return np.concatenate(columns, axis=1) if columns else np.zeros((len(run), 0))


def _unpack_angles(mechanism: Mechanism, contents: Contents, prefix: str, steps: int) -> dict[str, Array]:
    angled = {name: len(joint.angles) for name, joint in mechanism.joints.items() if joint.angles}
    counted = _numbers(contents, prefix + "counted", (steps, sum(angled.values())))
    ends = np.cumsum([0, *angled.values()])
    return {name: counted[:, ends[k] : ends[k + 1]].copy() for k, name in enumerate(angled)}
