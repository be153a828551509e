"""One chunk of members, computed and written wherever an engine takes it."""

from __future__ import annotations

import os
import platform
import time
import warnings
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from uuid import uuid4

import numpy as np

from .. import _core
from .._util.provenance import version
from ..compile.compile import planned_kernel
from .fingerprint import fingerprint
from .folder import Document, Folder, SweepError
from .job import Job
from .parameters import Numbers
from .rows import MemberRows, count_failures


@dataclass(frozen=True)
class Chunk:
    """Members to compute: those that are not there yet, or, to retry, those that failed.

    `job` is None for workers that have inherited it.
    """

    number: int
    first: int
    count: int
    retries: bool
    job: Job | None = None
    numbers: Numbers | None = None

    def __dask_tokenize__(self) -> str:
        # a task of its own, whatever it is: to find a name by its contents, a client pickles the job several times
        return uuid4().hex

    def carrying(self, job: Job) -> Chunk:
        """The same for a worker that knows nothing of the job: of a table, it gets the rows of its members only."""
        if job.source is None or job.source.kind != "table":
            return replace(self, job=job)
        numbers = job.source.numbers(self.first, self.first + self.count)
        return replace(self, job=replace(job, source=None), numbers=numbers)


@dataclass(frozen=True)
class Outcome:
    """What came of a chunk."""

    chunk: int
    members: int
    failed: int
    warnings: tuple[str, ...]


# of a worker process that was forked or started with it
_inherited: list[Job] = []


def inherit(job: Job) -> None:
    """Let this process compute chunks of a job."""
    _inherited[:] = [job]


def run_chunk(chunk: Chunk) -> Outcome:
    """Compute a chunk, write it into the folder, and say what came of it."""
    job = chunk.job or _inherited[0]
    folder = Folder(job.folder)
    _check_worker(job, folder)
    if not chunk.retries and folder.is_done(chunk.number):
        # another process was faster, which may have ended before it wrote its line
        failed = count_failures(folder.read_chunk(chunk.number, "status"))
        if all(line["chunk"] != chunk.number for line in folder.manifest()):
            _record(folder, chunk, job, failed, folder.chunk_path(chunk.number).stat().st_size)
        return Outcome(chunk.number, chunk.count, failed, ())
    begun = time.process_time()
    numbers = chunk.numbers
    if numbers is None:
        assert job.source is not None
        numbers = job.source.numbers(chunk.first, chunk.first + chunk.count)
    rows = MemberRows(job, chunk.count)
    # starts and whatever else is computed of members must not depend on the machine either
    with planned_kernel(job.kernel), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        if chunk.retries:
            rows.read(folder, chunk.number)
        rows.compute(numbers)
    said = tuple(dict.fromkeys(str(warning.message) for warning in heard))[:5]
    member = np.arange(chunk.first, chunk.first + chunk.count)
    try:
        size = folder.write_chunk(chunk.number, {"member": member, **numbers, **rows.arrays()}, rows.messages)
        _record(folder, chunk, job, rows.failed, size, time.process_time() - begun, said)
    except OSError as error:
        raise SweepError(
            f"{folder.chunk_path(chunk.number)} could not be written on {platform.node()}: {error.strerror}; "
            "finished chunks are kept: remove the cause and run the sweep again"
        ) from None
    return Outcome(chunk.number, chunk.count, rows.failed, said)


def _record(
    folder: Folder, chunk: Chunk, job: Job, failed: int, size: int, seconds: float = 0.0, said: tuple[str, ...] = ()
) -> None:
    """Add the line of a chunk to the manifest."""
    folder.record(
        {
            "chunk": chunk.number,
            "first": chunk.first,
            "members": chunk.count,
            "failed": failed,
            "bytes": size,
            "cpu_seconds": round(seconds, 3),
            "host": platform.node(),
            "process": os.getpid(),
            "kernel": job.kernel,
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "warnings": said,
        }
    )


def versions() -> Document:
    """Of all that results may depend on."""
    return {"catena": version(), "numpy": np.__version__, "python": platform.python_version().rpartition(".")[0]}


def usable_kernels() -> list[str]:
    """Kernels of this machine, the lowest first."""
    return list(_core.kernels())


def _check_worker(job: Job, folder: Folder) -> None:
    """Refuse to compute with what would give other results, or into a folder that nobody else sees."""
    here = platform.node()
    if not folder.has_plan:
        raise SweepError(
            f"the worker on {here} does not find {folder.path.absolute()}: "
            "the folder of a sweep must be on a file system that all workers share"
        )
    try:
        folder.storage.need()
    except ImportError as error:
        raise SweepError(f"the worker on {here}: {error}") from None
    plan = folder.plan()
    if fingerprint(plan["identity"]) != job.identity:
        raise SweepError(f"{folder.path}: the worker on {here} finds the plan of another sweep there")
    if plan["identity"]["versions"] != versions():
        wanted = ", ".join(f"{name} {found}" for name, found in plan["identity"]["versions"].items())
        found = ", ".join(f"{name} {found}" for name, found in versions().items())
        raise SweepError(f"the worker on {here} has {found}, but the sweep was planned with {wanted}")
    if job.kernel not in usable_kernels():
        raise SweepError(
            f"the worker on {here} has no kernel {job.kernel}, only {', '.join(usable_kernels())}: plan the sweep in a "
            f"new folder with a kernel that all workers have, as in Simulator(..., kernel={usable_kernels()[-1]!r})"
        )
