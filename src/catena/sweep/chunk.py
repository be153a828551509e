"""One chunk of members, computed and written wherever an engine takes it.

A member that cannot be computed is a row of nan with a status and a message. If a whole call fails, its members are
divided into halves until the one that fails is alone, which costs the others nothing but time: the results of a member do
not depend on its neighbors.
"""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._util.checks import shown
from .._util.provenance import version
from ..describe.mechanism import Mechanism
from ..simulate.batch import Batch, BatchError
from ..simulate.plan import Build, make_plan
from ..simulate.simulator import Simulator
from .fingerprint import fingerprint
from .folder import Document, Folder, Rows, SweepError
from .parameters import RESERVED, Numbers, Source

Setup = Callable[[Numbers], Mapping[str, Any]]
Keep = Callable[[Batch], Mapping[str, Any]]
BuildMechanism = Callable[[dict[str, Any]], Mechanism]

# of members that were not simulated to their end, besides the reasons of Status
REFUSED, OVER_BUDGET, MISSING = "refused", "budget", "missing"
STATUS_TYPE = "<U12"


class _OverBudget(Exception):
    """A call that took longer than a member may."""


@dataclass(frozen=True)
class Job:
    """What all chunks of a sweep have in common; `arguments` are those of `run_batch`.

    `source` is None where chunks bring the parameters of their members along.
    """

    simulator: Simulator
    source: Source | None
    arguments: Mapping[str, Any]
    setup: Setup | None
    keep: Keep
    build: BuildMechanism | None
    budget: float | None
    kernel: str
    identity: str
    kept: Mapping[str, tuple[tuple[int, ...], str]]  # shapes and types of what keep returns, per member
    folder: str

    def with_kernel(self, kernel: str) -> Job:
        """The same on one kernel."""
        plan = self.simulator.plan
        build = Build(plan.mechanism, kernel)
        return replace(self, simulator=Simulator.of(replace(plan, build=build, on_failure="stop")), kernel=kernel)


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
        # another process was faster
        return Outcome(chunk.number, chunk.count, _failures(folder.read_chunk(chunk.number, "status")), ())
    begun = time.process_time()
    numbers = chunk.numbers
    if numbers is None:
        assert job.source is not None
        numbers = job.source.numbers(chunk.first, chunk.first + chunk.count)
    rows = MemberRows(job, chunk.count)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        if chunk.retries:
            rows.read(folder, chunk.number)
        rows.compute(numbers)
    said = tuple(dict.fromkeys(str(warning.message) for warning in heard))[:5]
    member = np.arange(chunk.first, chunk.first + chunk.count)
    try:
        size = folder.write_chunk(chunk.number, {"member": member, **numbers, **rows.arrays()}, rows.messages)
        folder.record(
            {
                "chunk": chunk.number,
                "first": chunk.first,
                "members": chunk.count,
                "failed": rows.failed,
                "bytes": size,
                "cpu_seconds": round(time.process_time() - begun, 3),
                "host": platform.node(),
                "process": os.getpid(),
                "kernel": job.kernel,
                "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "warnings": said,
            }
        )
    except OSError as error:
        raise SweepError(
            f"{folder.chunk_path(chunk.number)} could not be written on {platform.node()}: {error.strerror}; "
            "finished chunks are kept: remove the cause and run the sweep again"
        ) from None
    return Outcome(chunk.number, chunk.count, rows.failed, said)


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


def _failures(status: NDArray[np.str_]) -> int:
    return int(np.count_nonzero(status != "done"))


class MemberRows:
    """Rows of results, one per member: nan and a message where a member failed."""

    def __init__(self, job: Job, count: int) -> None:
        self.job = job
        self.kept: Rows = {name: np.full((count, *shape), np.nan, kind) for name, (shape, kind) in job.kept.items()}
        self.status = np.full(count, MISSING, dtype=STATUS_TYPE)
        self.messages: dict[int, str] = {}

    @property
    def failed(self) -> int:
        """How many members have no result."""
        return _failures(self.status)

    def arrays(self) -> Rows:
        """The rows by name."""
        return {**self.kept, "status": self.status}

    def read(self, folder: Folder, chunk: int) -> None:
        """Take over the members of a file that did not fail."""
        self.status = folder.read_chunk(chunk, "status")
        self.messages = folder.read_messages(chunk)
        for name in self.kept:
            self.kept[name] = folder.read_chunk(chunk, name)

    def compute(self, numbers: Numbers) -> None:
        """Compute the members that have no result."""
        wanted = np.flatnonzero(self.status != "done")
        for row in wanted.tolist():
            self.messages.pop(row, None)
        self.job = self.job.with_kernel(self.job.kernel)
        if self.job.build is None:
            self._compute(self.job.simulator, numbers, wanted)
            return
        for simulator, rows in self._groups(numbers, wanted):
            self._compute(simulator, numbers, rows)

    def _groups(self, numbers: Numbers, wanted: NDArray[np.intp]) -> list[tuple[Simulator, NDArray[np.intp]]]:
        """Members with mechanisms of their own; those with equal ones share a simulator."""
        found: dict[str, tuple[Simulator, list[int]]] = {}
        for row in wanted.tolist():
            try:
                simulator = simulator_of(self.job, {name: array[row] for name, array in numbers.items()})
                found.setdefault(fingerprint(simulator), (simulator, []))[1].append(row)
            except Exception as error:
                self._fail(row, REFUSED, _sentence(error))
        return [(simulator, np.array(rows)) for simulator, rows in found.values()]

    def _compute(self, simulator: Simulator, numbers: Numbers, rows: NDArray[np.intp]) -> None:
        """Compute members together; if that fails, half of them at a time."""
        try:
            batch = run_members(self.job, simulator, {name: array[rows] for name, array in numbers.items()}, len(rows))
            kept = kept_by(self.job.keep, batch)
            self._put(batch, kept, rows)
        except (MemoryError, OSError):
            raise
        except Exception as error:
            if len(rows) == 1:
                over = isinstance(error, _OverBudget)
                self._fail(int(rows[0]), OVER_BUDGET if over else REFUSED, _sentence(error))
                return
            for half in np.array_split(rows, 2):
                self._compute(simulator, numbers, half)

    def _put(self, batch: Batch, kept: Rows, rows: NDArray[np.intp]) -> None:
        found = {name: (array.shape[1:], array.dtype.str) for name, array in kept.items()}
        if found != dict(self.job.kept):
            raise ValueError(f"keep returned {found} here, and {dict(self.job.kept)} for the first member")
        for k, (row, status) in enumerate(zip(rows.tolist(), batch.status, strict=True)):
            self.status[row] = status.reason
            said = status.message or batch.coarse[k]
            if said:
                self.messages[row] = said
        ended = np.array([status.ok for status in batch.status])
        for name, array in kept.items():
            self.kept[name][rows[ended]] = array[ended]

    def _fail(self, row: int, status: str, message: str) -> None:
        self.status[row] = status
        self.messages[row] = message


def run_members(job: Job, simulator: Simulator, numbers: Numbers, count: int) -> Batch:
    """The call of `run_batch` that some members ask for by their numbers."""
    own = dict(job.setup(numbers)) if job.setup is not None else {}
    states = own.pop("states", count)
    given = {**job.arguments, "threads": 1, **own}
    if job.budget is not None:
        end = time.process_time() + job.budget

        def watch(_done: int, _count: int) -> None:
            if time.process_time() > end:
                raise _OverBudget(f"it took more than its budget of {job.budget:g} s of CPU time")

        given["progress"] = watch
    try:
        return simulator.run_batch(states, **given)
    except BatchError as error:
        return error.batch


def run_alone(job: Job, numbers: Numbers) -> Batch:
    """The batch of a single member."""
    return run_members(job, simulator_of(job, {name: array[0] for name, array in numbers.items()}), numbers, 1)


def kept_by(keep: Keep, batch: Batch) -> Rows:
    """What is kept of members, as arrays of floats with one row each; types that have no nan become floats."""
    found = keep(batch)
    if not isinstance(found, Mapping) or not found:
        raise ValueError(f"keep must return names and arrays with one row per member, got {shown(found)}")
    rows: Rows = {}
    for name, value in found.items():
        array = np.asarray(value)
        if not isinstance(name, str) or name in RESERVED:
            raise ValueError(f"keep: a result cannot be called {name!r}; {', '.join(RESERVED)} are taken")
        if array.dtype.kind not in "biufc" or array.shape[:1] != (len(batch),):
            raise ValueError(
                f"keep: {name!r} must be an array of numbers with {len(batch)} rows, one per member, "
                f"got {array.dtype} of shape {array.shape}"
            )
        rows[name] = array if array.dtype.kind in "fc" else array.astype(np.float64)
    return rows


def simulator_of(job: Job, numbers: dict[str, Any]) -> Simulator:
    """The simulator of a member: of the mechanism that its numbers describe, if there is a function that builds it."""
    if job.build is None:
        return job.simulator
    mechanism, plan = job.build(numbers), job.simulator.plan
    if not isinstance(mechanism, Mechanism):
        raise ValueError(f"build must return a Mechanism, got {shown(mechanism)}")
    return Simulator.of(
        make_plan(
            mechanism,
            plan.given_dt,
            plan.accuracy if plan.accuracy_given else None,
            plan.solver if plan.solver_given else "auto",
            plan.given_order,
            plan.given_tolerance,
            plan.max_iterations,
            plan.rescue,
            "stop",
            plan.on_inaccurate,
            job.kernel,
        )
    )


def _sentence(error: Exception) -> str:
    named = isinstance(error, ValueError | RuntimeError | _OverBudget)
    return str(error) if named and str(error) else f"{type(error).__name__}: {error}"
