"""What a run hands to its trajectory beside the recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from .._util.provenance import RunInfo
from .._util.rotation import Array
from ..compile.row_selection import RowSelection


class RunContext(TypedDict):
    """See the module.

    `places` are those of counted angles by joint name. `row_count` counts multipliers of joints and couplings, behind
    which stand those of forces, then `stop_count` of hard stops, and last the forces of `touch_count` contacts with
    friction, three numbers each. The key tells who can go on from it, `selection`
    which rows of loops were enforced, if others than those of the described pose.
    """

    dt: float
    accuracy_warning: str
    increments: Array | None
    control: Array | None
    info: RunInfo
    places: Mapping[str, slice]
    row_count: int
    stop_count: int
    touch_count: int
    key: str
    selection: RowSelection | None
