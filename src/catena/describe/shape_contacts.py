"""Contacts of two shapes in a run: as many hard stops as their features may touch at once, found at every node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._util.rotation import IDENTITY
from .collisions import Collider, ShapePair, colliders, shape_pairs
from .limits import Limits
from .measures import Measure

if TYPE_CHECKING:
    from .mechanism import Mechanism

# most contacts at once, by kinds: of balls and capsules with others, of what lies on a plane, of two polyhedra
_CONTACTS = {"sphere": 1, "capsule": 2, "box": 4}
_MOST = 8


@dataclass(frozen=True, eq=False)
class ShapeContact:
    """The contact of two shapes in a run: so many hard stops, of the gaps of their features."""

    a: Collider
    b: Collider
    pair: ShapePair

    @property
    def name(self) -> str:
        """Names of both shapes."""
        return f"{self.a.name} - {self.b.name}"

    @property
    def label(self) -> str:
        """For use in messages."""
        return f"contact of shapes {self.a.name!r} and {self.b.name!r}"

    @property
    def limits(self) -> Limits:
        """Of every gap."""
        return Limits(lower=0.0, restitution=self.pair.restitution)

    @property
    def slots(self) -> int:
        """How many gaps there can be at once."""
        kinds = {self.a.shape.kind, self.b.shape.kind}
        if "plane" in kinds:
            (other,) = kinds - {"plane"}
            return _CONTACTS.get(other, _MOST)
        return 1 if "sphere" in kinds and "heightfield" not in kinds else _MOST

    @property
    def measure(self) -> Measure:
        """Between the bodies; what is measured between them is found at every node."""
        frames = np.array((IDENTITY, IDENTITY))
        return Measure("measured_slide", self.a.owner.name, self.b.owner.name, np.zeros((2, 3)), frames)


def shape_contacts(mechanism: Mechanism) -> tuple[ShapeContact, ...]:
    """All pairs of shapes that collide in a run: none unless add_contacts was called."""
    if mechanism.contact_rules is None:
        return ()
    locked = bool(mechanism._owner)
    if locked and mechanism._known.shape_contacts is not None:
        return mechanism._known.shape_contacts
    found = colliders(mechanism)
    pairs = shape_pairs(mechanism, found, mechanism.contact_rules)
    made = tuple(ShapeContact(found[pair.a], found[pair.b], pair) for pair in pairs)
    if locked:
        mechanism._known.shape_contacts = made
    return made
