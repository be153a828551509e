"""Contacts of colliding shapes with planes, which runs simulate.

A sphere touches a plane as one ball, a capsule as the balls at its two ends, a box or a hull as the points at its
corners.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from .._util.rotation import Array, rotate
from .._util.status import CatenaWarning, warn
from .collisions import Collider, colliders, shape_pairs

if TYPE_CHECKING:
    from .contacts import Contact
    from .mechanism import Mechanism

# number of pairs that a warning names
_NAMED = 3


def with_plane_contacts(mechanism: Mechanism) -> Mechanism:
    """Return a copy of the mechanism with a contact for every ball or corner of a shape that can touch a plane.

    Without `add_contacts`, the copy has no new contacts. A warning names the pairs that runs do not simulate: pairs
    without a plane, and pairs with a cylinder or a height field.
    """
    mechanism = mechanism.snapshot()
    if mechanism.contact_rules is None:
        return mechanism
    known = mechanism._known
    if known.with_plane_contacts is None:
        known.with_plane_contacts = _expanded(mechanism)
    return known.with_plane_contacts


def _expanded(mechanism: Mechanism) -> Mechanism:
    found, left = colliders(mechanism), []
    made, rules = mechanism.copy(), mechanism.contact_rules
    for pair in () if rules is None else shape_pairs(mechanism, found, rules):
        one, plane = found[pair.a], found[pair.b]
        if one.shape.kind == "plane":
            one, plane = plane, one
        if plane.shape.kind != "plane" or one.owner is mechanism.world or (balls := _balls(one)) is None:
            left.append(f"{one.name!r} and {plane.name!r}")
            continue
        at, normal = (
            _seen(plane, np.zeros(3)),
            rotate(plane.owner.orientation, _turned(plane, np.array((0.0, 0.0, 1.0)))),
        )
        for k, center in enumerate(balls, 1):
            name = f"{one.name} on {plane.name}" + (f" {k}" if len(balls) > 1 else "")
            radius = one.shape.size[0] if one.shape.kind in ("sphere", "capsule") else 0.0
            # a mechanism saved with a run has them already, by rules that may have changed
            if name in made.contacts:
                _refuse_other(made.contacts[name], one, plane, center, radius)
                made.remove_contact(name)
            made.add_contact(
                one.owner.name,
                plane.owner.name,
                at=_seen(one, center),
                radius=radius,
                point=at,
                normal=normal,
                friction=pair.friction,
                restitution=pair.restitution,
                name=name,
            )
    if left:
        others = f" and {len(left) - _NAMED} other pairs" if len(left) > _NAMED else ""
        warn(
            CatenaWarning(
                "runs simulate contacts of spheres, capsules, boxes and hulls with planes; these shapes pass through "
                f"each other: {'; '.join(left[:_NAMED])}{others} (m.clearances() has their distances)"
            )
        )
    return made.snapshot()


def _refuse_other(known: Contact, one: Collider, plane: Collider, center: Array, radius: float) -> None:
    """An error if a contact with the name of one that is to be made is another one."""
    at, normal = one.shape.position + _turned(one, center), _turned(plane, np.array((0.0, 0.0, 1.0)))
    apart = (known.at - at, known.normal - normal, normal @ (known.point - plane.shape.position), known.radius - radius)
    same = (known.body, known.other) == (one.owner.name, plane.owner.name)
    if not (same and all(np.abs(numbers).max() < 1e-9 for numbers in apart)):
        raise ValueError(
            f"{known.label} has the name of a contact of the shapes {one.name!r} and {plane.name!r}: rename it"
        )


def _balls(one: Collider) -> Array | None:
    """Centers (k, 3) of the balls or points with which a shape touches planes, in its frame; None if there are none."""
    size = np.array(one.shape.size)
    if one.shape.kind == "sphere":
        return np.zeros((1, 3))
    if one.shape.kind == "capsule":
        return np.array([(0.0, 0.0, end * size[1] / 2) for end in (-1, 1)])
    if one.shape.kind == "box":
        corners: Array = np.array(list(product((-0.5, 0.5), repeat=3))) * size
        return corners
    return one.shape.points


def _turned(one: Collider, vector: Array) -> Array:
    """Rotate a vector from the frame of a shape into that of its body."""
    return rotate(one.shape.orientation, vector)


def _seen(one: Collider, point: Array) -> Array:
    """Transform a point from the frame of a shape into the world frame, in the described pose."""
    return one.owner.position + rotate(one.owner.orientation, one.shape.position + _turned(one, point))
