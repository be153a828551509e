"""A mechanism as a document: plain dictionaries, lists, strings and numbers, in one way for every kind of file.

By itself it is a JSON file that people can read; within a saved trajectory it is the same text beside the arrays.
Functions cannot be written: their place says so, and whoever calls one after reading is told. Reading: rebuild.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from .._util.disk import file_name, read_whole, write_whole
from .._util.lookup import KINDS
from .._util.provenance import version
from ..describe import couplings, custom, forces
from ..describe.collisions import ContactRules
from ..describe.forces import LAW
from ..describe.frames import Frame
from ..describe.joint import Joint
from ..describe.measures import Measure
from ..describe.shapes import Shape, Shaped
from .document import COUPLINGS, FORCES, FORMAT, JOINTS, MARK, MOST_BYTES, NOT_SAVED, Document, decoded, encoded
from .rebuild import rebuild

if TYPE_CHECKING:
    from ..describe.bodies import Body
    from ..describe.contacts import Contact
    from ..describe.mechanism import Mechanism

# ---- files


def save(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """See Mechanism.save."""
    text = encoded(describe(mechanism), indent=1)
    write_whole(path, lambda file: file.write(text))


def load(path: str | os.PathLike[str]) -> Mechanism:
    """See Mechanism.load."""
    text = read_whole(path, MOST_BYTES, "a readable mechanism")
    try:
        return rebuild(decoded(text))
    except ValueError as error:
        raise ValueError(f"{file_name(path)}: {error}") from None


# ---- writing


def describe(mechanism: Mechanism) -> Document:
    """The mechanism as a document."""
    return {
        "mark": MARK,
        "format": FORMAT,
        "version": version(),
        "gravity": mechanism.gravity.tolist(),
        "loop_tolerance": mechanism.loop_tolerance,
        "world": _describe_shapes(mechanism.world),
        **_describe_rules(mechanism.contact_rules),
        **{
            all_of: [_WRITERS[kind](item) for item in getattr(mechanism, all_of).values()]
            for kind, all_of in KINDS.items()
        },
    }


def _describe_body(body: Body) -> Document:
    found: Document = {"name": body.name, "mass": body.inertia.mass, "inertia": body.inertia.tensor.tolist()}
    for key in ("position", "orientation", "velocity", "angular_velocity"):
        found[key] = getattr(body, key).tolist()
    found["gravity"] = body.has_gravity
    if body.shape is not None:
        found["shape"] = {"kind": body.shape.kind, "size": [float(length) for length in body.shape.size]}
    return found | _describe_shapes(body)


def _describe_shapes(thing: Shaped) -> Document:
    """The shapes that were added, if there are any."""
    added = thing._added_shapes
    return {"shapes": [_describe_shape(shape) for shape in added]} if added else {}


def _describe_shape(shape: Shape) -> Document:
    found: Document = {"kind": shape.kind, "size": list(shape.size)}
    found |= {"position": shape.position.tolist(), "orientation": shape.orientation.tolist()}
    if shape.color is not None:
        found["color"] = list(shape.color)
    found |= {key: getattr(shape, key) for key in ("mesh", "name") if getattr(shape, key)}
    usual = Shape("sphere", (1.0,), shape.position, shape.orientation)
    for key in ("friction", "restitution", "group", "mask"):
        if getattr(shape, key) != getattr(usual, key):
            found[key] = getattr(shape, key)
    for key in ("heights", "points"):
        if (numbers := getattr(shape, key)) is not None:
            found[key] = numbers.tolist()
    return found | {"visible": shape.visible, "collides": shape.collides}


def _describe_rules(rules: ContactRules | None) -> Document:
    """What add_contacts was told, if it was."""
    if rules is None:
        return {}
    found: Document = {"combine": rules.combine, "exclude": [list(pair) for pair in rules.exclude]}
    if rules.friction is not None:
        found["friction"] = rules.friction
    return {"contact_rules": found | {"pairs": [list(pair) for pair in rules.pairs]}}


def _describe_frame(frame: Frame) -> Document:
    return {
        "name": frame.name,
        "body": frame.body,
        "position": frame.position.tolist(),
        "orientation": frame.orientation.tolist(),
    }


def _kind_of(item: Joint | forces.Force | couplings.Coupling, known: dict[str, type[Any]]) -> str:
    name = type(item).__name__
    if known.get(name) is not type(item):
        raise ValueError(f"{item.label} is of the user-defined class {name}, which cannot be written to a file")
    return name


def _describe_joint(joint: Joint) -> Document:
    found: Document = {
        "name": joint.name,
        "kind": _kind_of(joint, JOINTS),
        "a": joint.a.name,
        "b": joint.b.name,
        "anchors": [joint.anchor_a.tolist(), joint.anchor_b.tolist()],
        "frames": [joint.frame_a.tolist(), joint.frame_b.tolist()],
    }
    if joint.parameter:
        found["parameter"] = float(joint.parameter)
    if isinstance(joint, custom.GivenRows):
        found |= {"row_count": joint.row_count, "rows": NOT_SAVED}
    if joint.ground is not None:
        found["ground"] = NOT_SAVED
    if joint.closes_loop:
        found["closes_loop"] = True
    if joint.limits:
        found["limits"] = {
            name: {key: value for key, value in vars(limits).items() if isfinite(value)}
            for name, limits in joint.limits.items()
        }
    return found


def _describe_measure(measure: Measure) -> Document:
    found: Document = {"code": measure.code, "a": measure.a, "b": measure.b}
    found |= {"anchors": measure.anchors.tolist(), "frames": measure.frames.tolist()}
    if measure.joint:
        found |= {"joint": measure.joint, "index": int(measure.index)}
    return found


def _describe_force(force: forces.Force) -> Document:
    parts: list[Document] = []
    for part in force.parts:
        numbers = {key: float(value) for key, value in part.law.items() if value != LAW[key]}
        numbers |= dict.fromkeys(part.functions, NOT_SAVED)  # type: ignore[arg-type]
        terms = {"terms": _describe_terms(part.terms)} if part.terms else {}
        parts.append({"measure": _describe_measure(part.measure), "law": numbers, **terms})
    found = {"name": force.name, "kind": _kind_of(force, FORCES), "parts": parts}
    if force._resistances:
        found["resistances"] = [{"body": r.body, "numbers": r.numbers.tolist()} for r in force._resistances]
    if force._rotaries:
        found["rotaries"] = [{"joint": r.joint, "damping": float(r.damping)} for r in force._rotaries]
    return found


def _describe_contact(contact: Contact) -> Document:
    found: Document = {"name": contact.name, "measure": _describe_measure(contact.measure)}
    return found | {"radius": contact.radius, "restitution": contact.restitution, "friction": contact.friction}


def _describe_coupling(coupling: couplings.Coupling) -> Document:
    found: Document = {"name": coupling.name, "kind": _kind_of(coupling, COUPLINGS), "offset": float(coupling.offset)}
    if coupling.function is not None:
        found["function"] = NOT_SAVED
    return found | {"terms": _describe_terms(coupling.terms)}


def _describe_terms(terms: Sequence[couplings.Term]) -> list[Document]:
    return [{"measure": _describe_measure(term.measure), "coefficient": float(term.coefficient)} for term in terms]


# for every kind of thing that a mechanism is made of
_WRITERS: dict[str, Callable[[Any], Document]] = {
    "body": _describe_body,
    "joint": _describe_joint,
    "force": _describe_force,
    "coupling": _describe_coupling,
    "contact": _describe_contact,
    "frame": _describe_frame,
}
