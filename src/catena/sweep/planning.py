"""The plan of a sweep: everything that its results depend on, fixed when a folder is begun and checked ever after."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import numpy as np

from ..compile.compile import default_kernel
from .chunk import usable_kernels, versions
from .engines import Executor
from .fingerprint import fingerprint
from .folder import Document, Folder, SweepError
from .job import Job, kept_by, run_alone
from .parameters import Numbers, Source
from .storage import Storage, storage_of

# shapes, per member, and types
Types = dict[str, tuple[tuple[int, ...], str]]

# members that are tried before a sweep, to find out what keep returns
_TRIED = 4
_SETTINGS = ("dt", "accuracy", "order", "solver", "tolerance", "max_iterations", "rescue", "on_inaccurate")


def begun(job: Job, source: Source, chunk: int, place: Folder, executor: Executor | None, storage: str | None) -> Job:
    """The job as it is computed in a folder, whose plan it begins or continues."""
    if storage is not None:
        storage_of(storage).need()
    given = job.simulator.plan.build.kernel or os.environ.get("CATENA_KERNEL")
    if not place.has_plan:
        kernel = given or common_kernel(executor)
        kept, numbers = _tried(job.with_kernel(kernel), source)
        drawn = {name: (array.shape[1:], array.dtype.str) for name, array in numbers.items()}
        _check_types(storage_of(storage or "npz"), {**drawn, **kept})
        place.begin(
            {
                "identity": _identity(job, source, chunk, kernel),
                "storage": storage or "npz",
                "parameters": drawn,
                "kept": kept,
                "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            }
        )
    plan = place.plan()
    known = plan["identity"]
    if storage not in (None, plan["storage"]):
        raise ValueError(
            f"{place.path}: has chunks stored as {plan['storage']}, not {storage}: leave out storage=, or use another "
            "folder"
        )
    _refuse_other(place, known, _identity(job, source, chunk, given or known["kernel"]))
    return replace(
        job,
        kernel=known["kernel"],
        identity=fingerprint(known),
        kept={name: (tuple(shape), kind) for name, (shape, kind) in plan["kept"].items()},
        folder=str(place.path.absolute()),
    )


def _identity(job: Job, source: Source, chunk: int, kernel: str) -> Document:
    """All that results depend on."""
    plan = job.simulator.plan
    return {
        "members": source.members,
        "chunk": chunk,
        "parameters": f"{source.kind} {source.digest}",
        "mechanism": fingerprint(job.simulator),
        "settings": {**job.arguments, **{name: getattr(plan, name) for name in _SETTINGS}},
        "setup": None if job.setup is None else fingerprint(job.setup),
        "keep": fingerprint(job.keep),
        "build": None if job.build is None else fingerprint(job.build),
        "kernel": kernel,
        "versions": versions(),
    }


def _check_types(storage: Storage, types: Types) -> None:
    for name, (_, kind) in types.items():
        if storage.refuses(np.dtype(kind)):
            raise ValueError(
                f"storage={storage.name!r} cannot store {name!r} of type {np.dtype(kind)}: use 'npz', or 'zarr'"
            )


def _tried(job: Job, source: Source) -> tuple[Types, Numbers]:
    """Shapes and types of what is kept of a member, and its parameters: of the first that can be simulated."""
    places = np.unique(np.linspace(0, source.members - 1, _TRIED).astype(int)).tolist()
    errors: list[Exception] = []
    for member in places:
        numbers = source.numbers(member, member + 1)
        try:
            with warnings.catch_warnings():
                # they are heard again in the sweep itself
                warnings.simplefilter("ignore")
                kept = kept_by(job.keep, run_alone(job, numbers))
            return {name: (array.shape[1:], array.dtype.str) for name, array in kept.items()}, numbers
        except Exception as error:
            errors.append(error)
    raise SweepError(
        f"members {', '.join(map(str, places))} were tried first, and none could be simulated; member {places[0]}: "
        f"{type(errors[0]).__name__}: {errors[0]}"
    ) from errors[0]


def common_kernel(executor: Executor | None) -> str:
    """The best kernel that all workers have: those of a Client of Dask are asked, others are like this machine."""
    ask = getattr(executor, "run", None)
    if not callable(ask):
        return default_kernel()
    found: Mapping[str, list[str]] = ask(usable_kernels)
    if not found:
        return default_kernel()
    common = [kernel for kernel in next(iter(found.values())) if all(kernel in each for each in found.values())]
    if not common:
        have = "; ".join(f"{worker}: {', '.join(kernels)}" for worker, kernels in found.items())
        raise SweepError(
            f"the workers have no kernel in common ({have}): install catena on all of them from a wheel, or with "
            "-C cmake.define.CATENA_KERNELS='v1;v3;v4'"
        )
    return common[-1]


def _refuse_other(place: Folder, known: Document, mine: Document) -> None:
    """Raise if a folder has results of another sweep."""
    differ = [
        name for name in mine if json.dumps(known.get(name), sort_keys=True) != json.dumps(mine[name], sort_keys=True)
    ]
    if differ:
        what = ", ".join(_difference(name, known.get(name), mine[name]) for name in differ)
        raise ValueError(f"{place.path}: has results of another sweep, which differs in {what}: use another folder")


def _difference(name: str, there: Any, here: Any) -> str:
    """A name that differs, with its values where they tell something."""
    if isinstance(there, dict) and isinstance(here, dict) and name == "settings":
        keys = [key for key in {**there, **here} if there.get(key) != here.get(key)]
        return ", ".join(f"{key} ({there.get(key)} there, {here.get(key)} here)" for key in keys)
    if name in ("members", "chunk", "kernel", "versions"):
        return f"{name} ({there} there, {here} here)"
    return name
