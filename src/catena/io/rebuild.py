"""Reads mechanisms from documents.

What is read is checked like anything else the user gives: names, kinds, shapes, ranges, finite numbers. Joints, forces
and couplings are made without their constructors, because what those find out is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from .._util.lookup import KINDS
from .._util.rotation import Array, finite
from ..describe import body_forces, contacts, couplings, custom, forces, joint_forces
from ..describe.forces import LAW
from ..describe.inertia import Inertia, Solid
from ..describe.joint import Joint
from ..describe.limits import Limits
from ..describe.measures import Measure
from ..describe.shapes import Shaped
from .document import COUPLINGS, FORCES, FORMAT, JOINTS, MARK, NOT_SAVED, Document, check_format, entries, entry, number

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism

Item = TypeVar("Item", bound="Joint | forces.Force | couplings.Coupling")
_SHAPE_SIZES = {"box": 3, "cylinder": 2, "sphere": 1, "capsule": 2}
_MEASURES = ("measured_angle", "measured_slide", "measured_distance", "measured_bend")


def rebuild(document: Any) -> Mechanism:
    """The mechanism of a document; a ValueError says what is wrong with it."""
    from ..describe.mechanism import Mechanism

    if not isinstance(document, dict) or document.get("mark") != MARK:
        raise ValueError("not a mechanism that catena wrote")
    check_format(document.get("format"), FORMAT)
    gravity = finite(entry(document, "gravity", list, "the mechanism"), (3,), "gravity")
    mechanism = Mechanism(gravity=gravity, loop_tolerance=number(document, "loop_tolerance", "the mechanism"))
    # files from before the world had shapes do not mention it
    if "world" in document:
        _add_shapes(mechanism.world, entry(document, "world", dict, "the mechanism"))
    for kind, all_of in KINDS.items():
        for item in entries(document, all_of):
            _READERS[kind](mechanism, item)
    if "contact_rules" in document:
        _add_rules(mechanism, entry(document, "contact_rules", dict, "the mechanism"))
    return mechanism


def _add_rules(mechanism: Mechanism, rules: Document) -> None:
    where = "contact_rules"
    exclude = [tuple(pair) for pair in entry(rules, "exclude", list, where) if isinstance(pair, list)]
    pairs = {}
    for pair in entry(rules, "pairs", list, where):
        if not isinstance(pair, list) or len(pair) != 3 or not all(isinstance(name, str) for name in pair[:2]):
            raise ValueError(f"{where}: a pair consists of two shapes and a friction, got {pair!r}")
        pairs[pair[0], pair[1]] = pair[2]
    friction = number(rules, "friction", where) if "friction" in rules else None
    mechanism.add_contacts(friction, exclude, combine=entry(rules, "combine", str, where), pairs=pairs)


def _unit(value: Any, where: str) -> Array:
    """Two quaternions of unit length, as they were written."""
    frames = finite(value, (2, 4), f"{where}: frames")
    if np.abs(np.linalg.norm(frames, axis=1) - 1).max() > 1e-6:
        raise ValueError(f"{where}: frames must be unit quaternions (w, x, y, z)")
    return frames


def _add_body(mechanism: Mechanism, item: Any) -> None:
    name = entry(item, "name", str, "a body")
    where = f"body {name!r}"
    inertia = Inertia(number(item, "mass", where), entry(item, "inertia", list, where), physical=False)
    shape: Solid | None = None
    if "shape" in item:
        kind = entry(item["shape"], "kind", str, f"the shape of {where}")
        if kind not in _SHAPE_SIZES:
            raise ValueError(f"{where}: there is no shape {kind!r}")
        size = finite(entry(item["shape"], "size", list, where), (_SHAPE_SIZES[kind],), f"{where}: size of its shape")
        shape = Solid(kind, tuple(size.tolist()), inertia)
    body = mechanism.add_body(
        name,
        inertia if shape is None else shape,
        position=entry(item, "position", list, where),
        orientation=entry(item, "orientation", list, where),
        velocity=entry(item, "velocity", list, where),
        angular_velocity=entry(item, "angular_velocity", list, where),
        gravity=entry(item, "gravity", bool, where),
    )
    _add_shapes(body, item)


def _add_shapes(thing: Shaped, described: Document) -> None:
    where = f"a shape of {thing.label}"
    kinds = {"position": list, "orientation": list, "visible": bool, "collides": bool}
    optional = {"color": list, "mesh": str, "name": str, "heights": list, "points": list}
    numbers = ("friction", "restitution")
    bits = ("group", "mask")
    for item in entries(described, "shapes", thing.label) if "shapes" in described else ():
        given = {
            key: entry(item, key, kind, where)
            for key, kind in (kinds | optional).items()
            if key in kinds or key in item
        }
        given |= {key: number(item, key, where) for key in numbers if key in item}
        given |= {key: entry(item, key, int, where) for key in bits if key in item}
        thing.add_shape(entry(item, "kind", str, where), entry(item, "size", list, where), **given)


def _made(item: Any, kinds: dict[str, type[Item]], what: str, *taken: Container[str]) -> Item:
    """An empty joint, force or coupling of the described kind."""
    name = entry(item, "name", str, f"a {what}")
    kind = entry(item, "kind", str, f"{what} {name!r}")
    if kind not in kinds:
        raise ValueError(f"{what} {name!r}: there is no kind {kind!r}")
    if not name.strip():
        raise ValueError(f"a {what}'s name must not be empty")
    if any(name in names for names in taken):
        raise ValueError(f"there are two called {name!r}")
    made = kinds[kind].__new__(kinds[kind])
    made.name, made.named = name, True
    return made


def _lost(label: str) -> Callable[..., Any]:
    """What stands for a function that a file cannot represent."""

    def function(*_: object) -> NoReturn:
        raise ValueError(f"{label}: its function was not saved with the mechanism")

    return function


def _add_joint(mechanism: Mechanism, item: Any) -> None:
    joint = _made(item, JOINTS, "joint", mechanism.joints)
    where = joint.label
    joint._a, joint._b = (mechanism.find(entry(item, key, str, where), where) for key in ("a", "b"))
    if joint._a is joint._b:
        raise ValueError(f"{where} joins {joint.a.name!r} to itself")
    anchors = finite(entry(item, "anchors", list, where), (2, 3), f"{where}: anchors")
    frames = _unit(entry(item, "frames", list, where), where)
    joint.anchor_a, joint.anchor_b = anchors[0].copy(), anchors[1].copy()
    joint.frame_a, joint.frame_b = frames[0].copy(), frames[1].copy()
    if "parameter" in item:
        joint.parameter = number(item, "parameter", where)
    if joint.code == "screw" and joint.parameter == 0:
        raise ValueError(f"{where}: its pitch must not be zero")
    if joint.code in ("distance", "rolling_ball", "rolling_disk") and joint.parameter <= 0:
        raise ValueError(f"{where}: its length or radius must be positive, got {joint.parameter}")
    if "limits" in item:
        given = entry(item, "limits", dict, where)
        limits = {name: entry(given, name, dict, f"{where}: limits") for name in given}
        for name, found in limits.items():
            if not found.keys() <= vars(Limits()).keys():
                raise ValueError(
                    f"{where}: limits of {name!r} must be among {', '.join(vars(Limits()))}, got {found!r:.60}"
                )
        joint.limits = {name: Limits(**found) for name, found in limits.items()}
    if "closes_loop" in item:
        joint.closes_loop = entry(item, "closes_loop", bool, where)
    if "ground" in item:
        joint.ground = _lost(f"the ground of {where}")
    if isinstance(joint, custom.GivenRows):
        joint._count = entry(item, "row_count", int, where)
        if not 1 <= joint._count <= custom.MOST_ROWS:
            raise ValueError(f"{where}: it has 1 to {custom.MOST_ROWS} rows, not {joint._count}")
        joint._forget(_lost(where))
    mechanism._joints[joint.name] = joint


def _add_force(mechanism: Mechanism, item: Any) -> None:
    force = _made(item, FORCES, "force", mechanism.forces)
    force.parts = [_part(force, part, mechanism) for part in entries(item, "parts", force.label)]
    if isinstance(force, body_forces.Drag):
        force._resistances = [_resistance(force, r, mechanism) for r in entries(item, "resistances", force.label)]
    if isinstance(force, joint_forces.Damper) and "rotaries" in item:
        force._rotaries = [_rotary(force, r, mechanism) for r in entries(item, "rotaries", force.label)]
    if not force.parts and not force.slows:
        raise ValueError(f"{force.label}: consists of no parts")
    if isinstance(force, joint_forces.JointForce) and not all(part.measure.joint for part in force.parts):
        raise ValueError(f"{force.label}: acts along no joint")
    mechanism._forces[force.name] = force


def _measure(item: Any, where: str, mechanism: Mechanism) -> Measure:
    found = entry(item, "measure", dict, where)
    code = entry(found, "code", str, where)
    if code not in _MEASURES:
        raise ValueError(f"{where}: nothing is measured by {code!r}")
    a, b = (mechanism.find(entry(found, key, str, where), where).name for key in ("a", "b"))
    if a == b:
        raise ValueError(f"{where} measures {a!r} against itself")
    anchors = finite(entry(found, "anchors", list, where), (2, 3), f"{where}: anchors")
    frames = _unit(entry(found, "frames", list, where), where)
    if "joint" not in found and code != "measured_angle":
        return Measure(code, a, b, anchors, frames)
    name, index = entry(found, "joint", str, where), entry(found, "index", int, where)
    if name not in mechanism.joints:
        raise ValueError(f"{where}: there is no joint called {name!r}")
    joint = mechanism.joints[name]
    # a screw has no angles to count, its displacement tells the turns
    allowed = joint.angles if code == "measured_angle" and joint.angles else range(joint.dof)
    if index not in allowed:
        raise ValueError(f"{where}: {joint.label} has no such coordinate as number {index}")
    return Measure(code, a, b, anchors, frames, name, index)


def _part(force: forces.Force, item: Any, mechanism: Mechanism) -> forces.Part:
    where = force.label
    given = dict(entry(item, "law", dict, where))
    for key in given:
        if key not in LAW:
            raise ValueError(f"{where} has no {key!r}")
    lost = {key: _lost(where) for key, value in given.items() if isinstance(value, str) and value == NOT_SAVED}
    law, functions = force._law(given | lost)
    terms = _terms(item, where, mechanism) if "terms" in item else ()
    return forces.Part(_measure(item, where, mechanism), law, functions, terms)


def _resistance(force: body_forces.Drag, item: Any, mechanism: Mechanism) -> forces.Resistance:
    where = force.label
    body = entry(item, "body", str, where)
    if body not in mechanism.bodies:
        raise ValueError(f"{where}: there is no body {body!r}")
    numbers = finite(entry(item, "numbers", list, where), (6,), f"{where}: numbers")
    return forces.Resistance(body, force.checked(numbers))


def _rotary(force: joint_forces.Damper, item: Any, mechanism: Mechanism) -> forces.Rotary:
    where = force.label
    joint, damping = entry(item, "joint", str, where), number(item, "damping", where)
    if joint not in mechanism.joints:
        raise ValueError(f"{where}: there is no joint {joint!r}")
    if mechanism.joints[joint].code not in forces.ROTARY:
        raise ValueError(f"{where}: {mechanism.joints[joint].label} does not turn about all axes")
    if damping < 0:
        raise ValueError(f"{where}: damping must not be negative, got {damping}")
    return forces.Rotary(joint, damping)


def _add_coupling(mechanism: Mechanism, item: Any) -> None:
    coupling = _made(item, COUPLINGS, "coupling", mechanism.joints, mechanism.couplings)
    where = coupling.label
    coupling.offset = number(item, "offset", where)
    coupling.function = _lost(where) if "function" in item else None
    coupling.terms = _terms(item, where, mechanism)
    mechanism._couplings[coupling.name] = coupling


def _terms(item: Any, where: str, mechanism: Mechanism) -> list[couplings.Term]:
    terms = entries(item, "terms", where)
    if not 1 <= len(terms) <= couplings.MOST_TERMS:
        raise ValueError(f"{where}: a coupling has 1 to {couplings.MOST_TERMS} terms, not {len(terms)}")
    found = []
    for term in terms:
        factor = number(term, "coefficient", where)
        if factor == 0:
            raise ValueError(f"{where}: a coefficient must not be zero")
        found.append(couplings.Term(_measure(term, where, mechanism), factor))
    return found


def _add_contact(mechanism: Mechanism, item: Any) -> None:
    name = entry(item, "name", str, "a contact")
    where = f"contact {name!r}"
    measure = _measure(item, where, mechanism)
    if measure.code != "measured_slide" or measure.joint or measure.b == mechanism.world.name:
        raise ValueError(f"{where}: it measures no distance of a body from a plane")
    if name in mechanism.contacts:
        raise ValueError(f"there are two called {name!r}")
    radius, restitution = (number(item, key, where) for key in ("radius", "restitution"))
    friction = number(item, "friction", where) if "friction" in item else 0.0
    contact = contacts.Contact(measure, radius, restitution, name, friction=friction)
    mechanism._contacts[name] = contact
    contact._added = True


def _add_frame(mechanism: Mechanism, item: Any) -> None:
    name = entry(item, "name", str, "a frame")
    where = f"frame {name!r}"
    place = {key: entry(item, key, list, where) for key in ("position", "orientation")}
    mechanism.add_frame(name, entry(item, "body", str, where), **place)


# for every kind of thing that a mechanism is made of
_READERS: dict[str, Callable[[Mechanism, Any], None]] = {
    "body": _add_body,
    "joint": _add_joint,
    "force": _add_force,
    "coupling": _add_coupling,
    "contact": _add_contact,
    "frame": _add_frame,
}
