"""Collections of a mechanism, and the removal of their items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from .._util.lookup import KINDS, ByName, Kind, name_of, no_such
from .._util.strict import Strict, belongs
from .bodies import Body
from .collisions import ContactRules
from .contacts import Contact
from .couplings import Coupling
from .forces import Force
from .frames import Frame
from .joint import Joint

if TYPE_CHECKING:
    from .mechanism import Mechanism


class Held(Strict):
    """Bodies, joints, forces, couplings, contacts and frames by name; `Mechanism` adds them."""

    _bodies: ByName[Body]
    _joints: ByName[Joint]
    _forces: ByName[Force]
    _couplings: ByName[Coupling]
    _contacts: ByName[Contact]
    _frames: ByName[Frame]
    _contact_rules: ContactRules | None

    def remove_body(self, name: str, *, cascade: bool = False) -> Body:
        """Remove a body and its frames, and return the body.

        With `cascade`, also remove its joints, forces and contacts. Removing a joint also removes the forces and
        couplings on it.
        """
        name = self._removable("body", name)
        joints = [joint for joint in self._joints.values() if name in (joint.a.name, joint.b.name)]
        forces = [
            f
            for f in self._forces.values()
            if any(name in (measure.a, measure.b) for p in f.parts for measure in p.measures)
            or any(name == r.body for r in f._resistances)
        ]
        contacts = [c for c in self._contacts.values() if name in (c.body, c.other)]
        if not cascade:
            _refuse_to_remove(self._bodies[name].label, [*joints, *forces, *contacts])
        for joint in joints:
            self.remove_joint(joint.name, cascade=True)
        for force in forces:
            self._forces.pop(force.name, None)
        for contact in contacts:
            del self._contacts[contact.name]
        for frame in [frame for frame in self._frames.values() if frame.body == name]:
            del self._frames[frame.name]
        if self._contact_rules is not None:
            self._contact_rules = self._contact_rules.without(name)
        return self._bodies.pop(name)

    def remove_joint(self, name: str, *, cascade: bool = False) -> Joint:
        """Remove a joint and return it; with `cascade`, also remove the forces and couplings on it."""
        name = self._removable("joint", name)
        forces = [
            f
            for f in self._forces.values()
            if any(measure.joint == name for part in f.parts for measure in part.measures)
            or any(r.joint == name for r in f._rotaries)
        ]
        couplings = [c for c in self._couplings.values() if any(term.measure.joint == name for term in c.terms)]
        if not cascade:
            _refuse_to_remove(self._joints[name].label, [*forces, *couplings])
        for force in forces:
            del self._forces[force.name]
        for coupling in couplings:
            del self._couplings[coupling.name]
        return self._joints.pop(name)

    def remove_force(self, name: str) -> Force:
        """Remove a force and return it."""
        return self._forces.pop(self._removable("force", name))

    def remove_coupling(self, name: str) -> Coupling:
        """Remove a coupling and return it."""
        return self._couplings.pop(self._removable("coupling", name))

    def remove_contact(self, name: str) -> Contact:
        """Remove a contact and return it."""
        return self._contacts.pop(self._removable("contact", name))

    def remove_frame(self, name: str) -> Frame:
        """Remove a frame and return it."""
        return self._frames.pop(self._removable("frame", name))

    def _removable(self, kind: Kind, name: str) -> str:
        """Check that the item exists and can be removed; returns its name."""
        self._refuse_if_locked()
        name = name_of(name)
        if name not in getattr(self, KINDS[kind]):
            raise no_such(kind, name, cast("Mechanism", self))
        return name

    def _refuse_if_locked(self) -> None:
        if self._owner:
            raise ValueError(belongs(self._owner))


def _refuse_to_remove(label: str, holding: Iterable[Joint | Force | Coupling | Contact]) -> None:
    names = [item.label for item in holding]
    if names:
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        raise ValueError(f"{label} is used by {shown}: remove them first, or pass cascade=True")
