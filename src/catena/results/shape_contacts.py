"""Contacts of shapes in a run, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._util.rotation import Array
from ..compile.shapes import shape_set
from .impacts import stop_efforts

if TYPE_CHECKING:
    from .trajectory import Trajectory


class ContactRow(NamedTuple):
    """Two shapes that press on each other at a node.

    `contact` and `bodies` are the names of both shapes and bodies; `force` (N) is the sum of the normal forces of all
    their points over the step after the node; `gap` (m), `normal` and `point` (m) are those of the point where they are
    nearest, in the world frame, the normal toward the second body.
    """

    time: float
    contact: str
    bodies: tuple[str, str]
    gap: float
    normal: Array
    point: Array
    force: float


def contact_rows(run: Trajectory) -> list[ContactRow]:
    """All nodes of all pairs that press, in the order of time."""
    contacts = run.mechanism.shape_contacts
    if not contacts:
        return []
    forces = np.column_stack([stop_efforts(run, contact).sum(axis=1) for contact in contacts])
    shapes = shape_set(run.mechanism)
    found = []
    for node in np.flatnonzero((forces != 0).any(axis=1)).tolist():
        near = {one.shapes: one for one in shapes.clearances(run.position[node], run.orientation[node], np.inf)}
        for k in np.flatnonzero(forces[node]).tolist():
            contact = contacts[k]
            at = near[contact.a.name, contact.b.name]
            force = float(forces[node, k])
            row = (contact.name, at.bodies, at.gap, at.normal, at.points.mean(axis=0), force)
            found.append(ContactRow(float(run.time[node]), *row))
    return found
