"""Impacts at hard stops and contacts: what a run tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._util.rotation import Array
from ..describe.limits import hard_stops, law_numbers, stops_of

if TYPE_CHECKING:
    from ..describe.contacts import Contact
    from ..describe.forces import Force
    from ..describe.joint import Joint
    from ..describe.mechanism import Mechanism
    from .trajectory import Trajectory


class Impact(NamedTuple):
    """A joint coordinate that hits its limit, a contact that closes, a rope that becomes taut, or one that stands then.

    `name` is that of the joint, contact or force. Only a joint has a `coordinate`; of others, the gap, the length or
    the sum counts. `impulse` (N m s or N s) acts on it; `approach` and `leaving` are its rates (rad/s or m/s) before
    and after. `rubbed` (J) is what friction takes in it.
    """

    time: float
    name: str
    coordinate: str
    impulse: float
    approach: float
    leaving: float
    rubbed: float = 0.0

    @property
    def loss(self) -> float:
        """Kinetic energy (J) that the impact dissipates; the losses of simultaneous impacts add up."""
        return self.rubbed - 0.5 * self.impulse * (self.approach + self.leaving)


def impact_rows(told: Sequence[tuple[float, int, float, float, float, float]], mechanism: Mechanism) -> Array:
    """The core's table as an array (impact, 6) with the number of the hard stop in place of that of the law."""
    if not told:
        return np.zeros((0, 6))
    hard = np.cumsum([limits.hard for *_, limits in stops_of(mechanism)]) - 1
    number = dict(zip(law_numbers(mechanism), hard, strict=True))
    return np.array([(time, number[law], *rest) for time, law, *rest in told])


def impacts_of(mechanism: Mechanism, rows: Array) -> tuple[Impact, ...]:
    """Impacts with names, from such an array."""
    stops = hard_stops(mechanism)
    return tuple(
        Impact(time, stops[int(which)].item.name, stops[int(which)].coordinate, *numbers)
        for time, which, *numbers in rows.tolist()
    )


def stop_efforts(run: Trajectory, item: Joint | Force | Contact) -> Array:
    """What the hard stops of something exert (step, stop)."""
    places = [k for k, stop in enumerate(hard_stops(run.mechanism)) if stop.item is item]
    if places and (run.nodes.stops is None or run.nodes.stops.shape[1] == 0):
        raise ValueError(f"{item.label}: the efforts of stops were not recorded")
    return np.zeros((len(run), 0)) if run.nodes.stops is None else run.nodes.stops[:, places]


def contact_forces(run: Trajectory, contact: Contact) -> Array:
    """Force (step, 3) of a contact with friction on the body that has the point or ball, world frame."""
    found = run.nodes.touches
    place = [c.name for c in run.mechanism.contacts.values() if c.friction > 0].index(contact.name)
    if found is None or found.shape[1] == 0:
        raise ValueError(f"{contact.label}: the forces of contacts were not recorded")
    return found[:, place]


def dissipated(run: Trajectory, name: str | None) -> Array:
    """See Trajectory.dissipated."""
    impacts = [impact for impact in run.impacts if name in (None, impact.name)]
    lost = np.concatenate(((0.0,), np.cumsum([impact.loss for impact in impacts])))
    found: Array = lost[np.searchsorted([impact.time for impact in impacts], run.time, side="right")]
    # a node at an impact is after it
    found = found - found[:1]
    for contact in run.mechanism.contacts.values():
        if contact.friction > 0 and name in (None, contact.name):
            power = _rubbed_power(run, contact)
            found[1:] += np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(run.time))
    return found


def _rubbed_power(run: Trajectory, contact: Contact) -> Array:
    """Power (step,) that the friction of a contact takes, between impacts."""
    reader = run.contact(contact)
    found: Array = -np.sum(reader.friction_force * reader.slip, axis=-1)
    return found
