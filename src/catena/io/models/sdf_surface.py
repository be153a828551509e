"""What SDF says of how a collision touches: friction, restitution, and the bits by which collisions meet."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element

from .common_elements import not_negative
from .markup import note_others, number
from .notes import Notes
from .sdf_frames import text_of

_ALL_BITS = 0xFFFF


def surface_of(surface: Element | None, with_itself: bool, where: str, notes: Notes) -> dict[str, Any]:
    """Arguments of `add_shape`; links of a model meet each other only if it collides with itself."""
    found: dict[str, Any] = {"group": _ALL_BITS}
    for part in () if surface is None else surface:
        if part.tag == "friction":
            note_others(part, notes, where, ("ode",))
            ode = part.find("ode")
            if ode is not None:
                note_others(ode, notes, where, ("mu",))
                mu = number(text_of(ode, "mu", where, "1"), f"{where}: mu")
                found["friction"] = not_negative(mu, f"{where}: mu")
        elif part.tag == "bounce":
            note_others(part, notes, where, ("restitution_coefficient",))
            given = text_of(part, "restitution_coefficient", where, "0")
            found["restitution"] = min(max(number(given, f"{where}: restitution_coefficient"), 0.0), 1.0)
        elif part.tag == "contact":
            note_others(part, notes, where, ("collide_bitmask",))
            bits = text_of(part, "collide_bitmask", where, str(_ALL_BITS)).strip()
            try:
                found["group"] = int(bits, 0) & _ALL_BITS
            except ValueError:
                raise ValueError(f"{where}: collide_bitmask must be a whole number, got {bits!r:.40}") from None
        else:
            notes.skip(f"surface/{part.tag}", where)
    return found | {"mask": found["group"] if with_itself else 0}
