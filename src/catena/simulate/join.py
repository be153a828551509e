"""Batches of the same mechanism joined into one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .._util.rotation import Array
from ..assemble.core import build_core
from ..compile.compile import Compiled
from .batch import COUNTS, SIZES, Batch
from .members import MemberNumbers, described_numbers

# arrays with a row per member
_ROWS = ("time", *SIZES, "iterations", "substeps", "newton_residual", "counts", *COUNTS)


def join(batches: Iterable[Batch]) -> Batch:
    """Join batches of one mechanism with equal steps and recorded bodies into one batch, in the given order.

    The result equals that of a single `run_batch` of all members, except for `info`, which is that of the first batch.
    Batches are joined along the member axis, not in time: to continue runs in time, use `run(checkpoints=True)`;
    `record_every` reduces the memory of long runs.
    """
    parts = list(batches)
    if not parts or not all(isinstance(part, Batch) for part in parts):
        raise ValueError(f"join takes batches, at least one, got {parts!r:.80}")
    first = parts[0]
    own = _core_of(first)
    for k, part in enumerate(parts):
        why = (
            "another mechanism"
            if _core_of(part).digest != own.digest
            else f"steps of {part.dt:g} s, not {first.dt:g} s"
            if part.dt != first.dt
            else "other recorded bodies"
            if part.bodies != first.bodies
            else "other nodes or steps"
            if part.time.shape[1] != first.time.shape[1] or part.substeps.shape[1] != first.substeps.shape[1]
            else "another selection of the rows of its loops"
            if (part.selection is None) != (first.selection is None)
            or (part.selection and first.selection and not part.selection.same_rows(first.selection))
            else ""
        )
        if why:
            raise ValueError(f"join: batch {k} has {why}")
    errors = [part.error for part in parts]
    known = [error for error in errors if error is not None]
    rows: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ROWS}
    return replace(
        first,
        **rows,
        error=np.concatenate(known) if len(known) == len(parts) else None,
        accuracy_warnings=[sentence for part in parts for sentence in part.accuracy_warnings],
        status=[status for part in parts for status in part.status],
        numbers=_numbers(parts),
        turned=own.by_joint(np.concatenate([_angles(part) for part in parts])),
    )


def _core_of(batch: Batch) -> Compiled:
    return build_core(batch.mechanism)


def _angles(batch: Batch) -> Array:
    return np.concatenate(list(batch.turned.values()) or [np.zeros((*batch.time.shape, 0))], axis=-1)


def _numbers(parts: list[Batch]) -> MemberNumbers:
    mechanism, described = parts[0].mechanism, described_numbers(parts[0].mechanism)
    saved = [part.numbers.saved() for part in parts]
    found: dict[str, Array | None] = {}
    for name, same in described.items():
        given = [one[name] for one in saved]
        rows = [
            np.broadcast_to(same, (len(part), *same.shape)) if own is None else own
            for part, own in zip(parts, given, strict=True)
        ]
        found[name] = np.concatenate(rows) if any(own is not None for own in given) else None
    return MemberNumbers.of(mechanism, sum(map(len, parts)), found)
