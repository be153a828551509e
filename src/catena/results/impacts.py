"""Impacts at hard stops and contacts: what a run tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._util.rotation import Array
from ..describe.limits import hard_stops, law_numbers, stops_of

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism


class Impact(NamedTuple):
    """An impact of a joint coordinate at its limit or of a contact, or the reaction of one that stands to it.

    `name` is that of the joint or contact; a contact has no `coordinate`, its gap counts. `impulse` (N m s or N s) acts
    on the coordinate; `approach` and `leaving` are its rates (rad/s or m/s) before and after.
    """

    time: float
    name: str
    coordinate: str
    impulse: float
    approach: float
    leaving: float

    @property
    def loss(self) -> float:
        """Kinetic energy (J) that the impact dissipates; the losses of simultaneous impacts add up."""
        return -0.5 * self.impulse * (self.approach + self.leaving)


def impact_rows(told: Sequence[tuple[float, int, float, float, float]], mechanism: Mechanism) -> Array:
    """The core's table as an array (impact, 5) with the number of the hard stop in place of that of the law."""
    if not told:
        return np.zeros((0, 5))
    first = law_numbers(mechanism).start
    hard = np.cumsum([limits.hard for *_, limits in stops_of(mechanism)]) - 1
    return np.array([(time, hard[law - first], *rest) for time, law, *rest in told])


def impacts_of(mechanism: Mechanism, rows: Array) -> tuple[Impact, ...]:
    """Impacts with names, from such an array."""
    stops = hard_stops(mechanism)
    return tuple(
        Impact(time, stops[int(which)].item.name, stops[int(which)].coordinate, impulse, approach, leaving)
        for time, which, impulse, approach, leaving in rows.tolist()
    )
