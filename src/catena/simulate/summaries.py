"""Batches of which only summaries are kept, so that memory does not grow with the trajectories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, KeysView, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.progress import finish
from .._util.rotation import Array
from .._util.status import Status, warn
from ..results.accuracy import AccuracyWarning
from .batch import SIZES, BatchError, worst_of
from .members import part_of
from .run_batch import fails_loudly, run_batch

if TYPE_CHECKING:
    from .batch import Batch
    from .plan import Plan
    from .starts import Starts

# bytes of trajectories that are there at a time, and members at least: all threads need enough to do
_ROOM, _LEAST, _MOST = 1 << 26, 64, 4096


@dataclass(frozen=True)
class Summaries:
    """Result of `run_batch(keep=...)`: arrays (member, ...) by name, and a status for every member.

    `kept["peak"]` is one of the arrays; `dict(kept)` contains all of them.
    """

    arrays: Mapping[str, NDArray[Any]]
    status: list[Status]

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.arrays:
            raise KeyError(f"no summary is called {name!r}, only {', '.join(map(repr, self.arrays))}")
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def keys(self) -> KeysView[str]:
        """Return the names of the summaries."""
        return self.arrays.keys()

    def __repr__(self) -> str:
        count = int(self.failed.sum())
        failed = f", {count} failed" if count else ""
        return f"Summaries({len(self.status)} members: {', '.join(self.arrays)}{failed})"

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Whether each member (member,) failed; `status` gives the reasons."""
        return np.array([not status.ok for status in self.status], dtype=bool)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with one row per member: the summaries, `status` and `message`.

        A summary with several numbers per member has one column for each: "tip.0", "tip.1", ...
        """
        from ..io.tables import summaries_dataframe

        return summaries_dataframe(self)


def run_kept(
    plan: Plan,
    count: int,
    start: Callable[[int, int], Starts],
    steps: int,
    keep: Callable[[Batch], Mapping[str, ArrayLike]],
    *,
    progress: bool | Callable[[int, int], None],
    loads: Any,
    masses: Any,
    inertias: Any,
    gravity: Any,
    force_parameters: Any,
    limits: Any,
    **options: Any,
) -> Summaries:
    """Run members in chunks and summarize each with `keep`; see Simulator.run_batch."""
    if not callable(keep):
        raise ValueError(f"keep must be a function of a Batch, got {keep!r}")
    size = _chunk(plan, steps, options["record_every"], options["bodies"])
    found: list[dict[str, NDArray[Any]]] = []
    status: list[Status] = []
    coarse: list[str] = []
    errors: list[Array] = []
    for first in range(0, count, size):
        end = min(first + size, count)
        members = slice(first, end)
        batch = run_batch(
            plan,
            start(first, end),
            steps,
            loads=loads[members] if isinstance(loads, list | tuple) and len(loads) == count else loads,
            masses=part_of(masses, members),
            inertias=part_of(inertias, members),
            gravity=None if gravity is None else np.asarray(gravity)[members],
            force_parameters=part_of(force_parameters, members),
            limits=part_of(limits, members),
            out={},
            progress=False,
            **options,
        )
        if batch.error is not None:
            coarse += batch.accuracy_warnings
            errors.append(batch.error.max(axis=1, initial=0.0))
        status += batch.status
        found.append(_checked(keep(batch), len(batch), found[0] if found else None))
        if callable(progress) or (progress and end == count):
            finish(progress, end, count)
    summaries = Summaries({name: np.concatenate([part[name] for part in found]) for name in found[0]}, status)
    if summaries.failed.any() and fails_loudly(plan):
        raise BatchError(summaries)
    if plan.on_inaccurate == "warn" and any(coarse):
        warn(AccuracyWarning(worst_of(coarse, np.concatenate(errors))))
    return summaries


def _chunk(plan: Plan, steps: int, record_every: int, bodies: Any) -> int:
    """Members at a time."""
    recorded = plan.mechanism.body_count if bodies is None else len(bodies)
    each = 8 * (steps // record_every + 2) * (1 + recorded * sum(SIZES.values())) + 24 * steps
    return max(_LEAST, min(_MOST, _ROOM // each))


def _checked(kept: Any, count: int, first: Mapping[str, Any] | None) -> dict[str, NDArray[Any]]:
    if not isinstance(kept, Mapping):
        raise ValueError(f"keep must return a mapping from names to arrays (member, ...), got {kept!r:.80}")
    # a view would keep the trajectories of the chunk
    arrays = {str(name): np.array(value) for name, value in kept.items()}
    for name, array in arrays.items():
        if array.shape[:1] != (count,):
            raise ValueError(f"keep: {name!r} must have a row per member, ({count}, ...), got {array.shape}")
    if first is not None and list(arrays) != list(first):
        raise ValueError(f"keep must return the same names for all members, got {list(arrays)} after {list(first)}")
    return arrays
