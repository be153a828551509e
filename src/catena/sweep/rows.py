"""Rows of results, one per member, whatever happens to it.

A member that cannot be computed is a row of nan with a status and a message. If a whole call fails, its members are
divided into halves until the one that fails is alone. That costs time only: the results of a member do not depend on
its neighbors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..simulate.batch import Batch
from ..simulate.simulator import Simulator
from .fingerprint import fingerprint
from .folder import Folder
from .job import Job, OverBudgetError, kept_by, run_members, simulator_of
from .parameters import Numbers
from .storage import Rows

# of members that were not simulated to their end, besides the reasons of Status
REFUSED, OVER_BUDGET, MISSING = "refused", "budget", "missing"
STATUS_TYPE = "<U12"


def count_failures(status: NDArray[np.str_]) -> int:
    """How many members have no result."""
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
        return count_failures(self.status)

    def arrays(self) -> Rows:
        """The rows by name."""
        return {**self.kept, "status": self.status}

    def read(self, folder: Folder, chunk: int) -> None:
        """Take over the members of a file that did not fail."""
        self.status = folder.read_chunk(chunk, "status").astype(STATUS_TYPE)
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
        if len(rows) > 1 and simulator.plan.rows_depend_on_poses:
            # in a batch, the starts of all members select them: which ones share a chunk would matter
            for row in rows:
                self._compute(simulator, numbers, np.array([row]))
            return
        try:
            batch = run_members(self.job, simulator, {name: array[rows] for name, array in numbers.items()}, len(rows))
            kept = kept_by(self.job.keep, batch)
            self._put(batch, kept, rows)
        except (MemoryError, OSError):
            raise
        except Exception as error:
            if len(rows) == 1:
                over = isinstance(error, OverBudgetError)
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
            said = status.message or batch.accuracy_warnings[k]
            if said:
                self.messages[row] = said
        ended = np.array([status.ok for status in batch.status])
        for name, array in kept.items():
            self.kept[name][rows[ended]] = array[ended]

    def _fail(self, row: int, status: str, message: str) -> None:
        self.status[row] = status
        self.messages[row] = message


def _sentence(error: Exception) -> str:
    named = isinstance(error, ValueError | RuntimeError | OverBudgetError)
    return str(error) if named and str(error) else f"{type(error).__name__}: {error}"
