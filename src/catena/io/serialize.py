"""A mechanism as a document: plain dictionaries, lists, strings and numbers, in one way for every kind of file.

By itself it is a JSON file that people can read; within a saved trajectory it is the same text beside the arrays. What
is read is checked like anything else the user gives: names, kinds, shapes, ranges, finite numbers. Functions cannot be
written: their place says so, and whoever calls one after reading is told.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from .._util.disk import file_name, read_whole, write_whole
from .._util.lookup import KINDS
from .._util.provenance import version
from .._util.rotation import Array, finite
from ..describe import constraints, couplings, custom, forces, joints, rolling
from ..describe.forces import LAW
from ..describe.frames import Frame
from ..describe.inertia import Inertia, Solid
from ..describe.joint import Joint
from ..describe.limits import Limits
from ..describe.measures import Measure
from ..describe.shapes import Shape, Shaped

if TYPE_CHECKING:
    from ..describe.bodies import Body
    from ..describe.mechanism import Mechanism

# raised when a document changes its meaning
FORMAT = 2
MARK = "catena mechanism"

# of a document: a quarter of a million bodies
MOST_BYTES = 256 << 20

# stands where a function was
NOT_SAVED = "a function, not saved"

Document = dict[str, Any]
Kind = TypeVar("Kind")
Item = TypeVar("Item", bound="Joint | forces.Force | couplings.Coupling")


def _kinds(base: type[Kind], *modules: Any) -> dict[str, type[Kind]]:
    found = (kind for module in modules for kind in vars(module).values())
    return {kind.__name__: kind for kind in found if isinstance(kind, type) and issubclass(kind, base)}


_JOINTS = {name: kind for name, kind in _kinds(Joint, joints, constraints, rolling, custom).items() if kind.code}
_FORCES = {
    name: kind
    for name, kind in _kinds(forces.Force, forces).items()
    if kind not in (forces.Force, forces.JointForce) and not name.startswith("_")
}
_COUPLINGS = _kinds(couplings.Coupling, couplings)
_SHAPE_SIZES = {"box": 3, "cylinder": 2, "sphere": 1, "capsule": 2}
# what messages call the kinds of entries
_WORDS: dict[type[Any], str] = {list: "numbers", str: "a string", dict: "names and values"}
_MEASURES = ("measured_angle", "measured_slide", "measured_distance", "measured_bend")


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


def encoded(document: Document, indent: int | None = None) -> bytes:
    """The document as JSON; any name a body can have survives."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    if len(text) > MOST_BYTES:
        raise ValueError(
            f"the mechanism makes a document of {len(text)} bytes, of which {MOST_BYTES} could be read again"
        )
    return text


def decoded(text: bytes) -> Any:
    """What JSON says, or a ValueError."""
    try:
        return json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a readable document ({error})") from None


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
    return found | {"visible": shape.visible, "collides": shape.collides}


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
        raise ValueError(f"{item.label} is of a kind of your own, {name}, which cannot be written to a file")
    return name


def _describe_joint(joint: Joint) -> Document:
    found: Document = {
        "name": joint.name,
        "kind": _kind_of(joint, _JOINTS),
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
    parts = []
    for part in force.parts:
        numbers = {key: float(value) for key, value in part.law.items() if value != LAW[key]}
        numbers |= dict.fromkeys(part.functions, NOT_SAVED)  # type: ignore[arg-type]
        parts.append({"measure": _describe_measure(part.measure), "law": numbers})
    found = {"name": force.name, "kind": _kind_of(force, _FORCES), "parts": parts}
    if force.resistances:
        found["resistances"] = [{"body": r.body, "numbers": r.numbers.tolist()} for r in force.resistances]
    if force.rotaries:
        found["rotaries"] = [{"joint": r.joint, "damping": float(r.damping)} for r in force.rotaries]
    return found


def _describe_coupling(coupling: couplings.Coupling) -> Document:
    found: Document = {"name": coupling.name, "kind": _kind_of(coupling, _COUPLINGS), "offset": float(coupling.offset)}
    if coupling.function is not None:
        found["function"] = NOT_SAVED
    found["terms"] = [
        {"measure": _describe_measure(term.measure), "coefficient": float(term.coefficient)} for term in coupling.terms
    ]
    return found


# ---- reading: joints, forces and couplings are made without their constructors, because what those find out is stored


def rebuild(document: Any) -> Mechanism:
    """The mechanism of a document; a ValueError says what is wrong with it."""
    from ..describe.mechanism import Mechanism

    if not isinstance(document, dict) or document.get("mark") != MARK:
        raise ValueError("not a mechanism that catena wrote")
    check_format(document.get("format"), FORMAT)
    gravity = finite(entry(document, "gravity", list, "the mechanism"), (3,), "gravity")
    mechanism = Mechanism(gravity=gravity, loop_tolerance=_number(document, "loop_tolerance", "the mechanism"))
    # files from before the world had shapes do not mention it
    if "world" in document:
        _add_shapes(mechanism.world, entry(document, "world", dict, "the mechanism"))
    for kind, all_of in KINDS.items():
        for item in _items(document, all_of):
            _READERS[kind](mechanism, item)
    return mechanism


def check_format(found: Any, known: int) -> None:
    """Refuse what another catena wrote in another way."""
    if isinstance(found, bool) or not isinstance(found, int):
        raise ValueError("has no format number")
    if found != known:
        raise ValueError(f"has format {found}, this catena reads format {known}")


def entry(item: Any, key: str, kinds: type[Any] | tuple[type[Any], ...], where: str) -> Any:
    """An entry of a dictionary, of one of the given kinds."""
    if not isinstance(item, dict):
        raise ValueError(f"{where} is described by {type(item).__name__} {item!r:.60}, not by names and values")
    if key not in item:
        raise ValueError(f"incomplete, {where} has no {key}")
    value = item[key]
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    # a truth value is an int to Python, but no number here
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        names = " or ".join(_WORDS.get(kind, kind.__name__) for kind in allowed)
        raise ValueError(f"{where}: {key} must be {names}, got {value!r:.60}")
    return value


def _items(document: Any, key: str, where: str = "the mechanism") -> list[Any]:
    found: list[Any] = entry(document, key, list, where)
    return found


def _number(item: Any, key: str, where: str) -> float:
    return float(finite(entry(item, key, (int, float), where), (), f"{where}: {key}"))


def _unit(value: Any, where: str) -> Array:
    """Two quaternions of unit length, as they were written."""
    frames = finite(value, (2, 4), f"{where}: frames")
    if np.abs(np.linalg.norm(frames, axis=1) - 1).max() > 1e-6:
        raise ValueError(f"{where}: frames must be unit quaternions (w, x, y, z)")
    return frames


def _add_body(mechanism: Mechanism, item: Any) -> None:
    name = entry(item, "name", str, "a body")
    where = f"body {name!r}"
    inertia = Inertia(_number(item, "mass", where), entry(item, "inertia", list, where), physical=False)
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
    optional = {"color": list, "mesh": str, "name": str}
    for item in _items(described, "shapes", thing.label) if "shapes" in described else ():
        given = {
            key: entry(item, key, kind, where)
            for key, kind in (kinds | optional).items()
            if key in kinds or key in item
        }
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
    """What stands for a function that a file cannot hold."""

    def function(*_: object) -> NoReturn:
        raise ValueError(f"{label}: its function was not saved with the mechanism")

    return function


def _add_joint(mechanism: Mechanism, item: Any) -> None:
    joint = _made(item, _JOINTS, "joint", mechanism.joints)
    where = joint.label
    joint._a, joint._b = (mechanism.find(entry(item, key, str, where), where) for key in ("a", "b"))
    if joint._a is joint._b:
        raise ValueError(f"{where} joins {joint.a.name!r} to itself")
    anchors = finite(entry(item, "anchors", list, where), (2, 3), f"{where}: anchors")
    frames = _unit(entry(item, "frames", list, where), where)
    joint.anchor_a, joint.anchor_b = anchors[0].copy(), anchors[1].copy()
    joint.frame_a, joint.frame_b = frames[0].copy(), frames[1].copy()
    if "parameter" in item:
        joint.parameter = _number(item, "parameter", where)
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
        joint.forget(_lost(where))
    mechanism._joints[joint.name] = joint


def _add_force(mechanism: Mechanism, item: Any) -> None:
    force = _made(item, _FORCES, "force", mechanism.forces)
    force.parts = [_part(force, part, mechanism) for part in _items(item, "parts", force.label)]
    if isinstance(force, forces.Drag):
        force.resistances = [_resistance(force, r, mechanism) for r in _items(item, "resistances", force.label)]
    if isinstance(force, forces.Damper) and "rotaries" in item:
        force.rotaries = [_rotary(force, r, mechanism) for r in _items(item, "rotaries", force.label)]
    if not force.parts and not force.slows:
        raise ValueError(f"{force.label}: consists of no parts")
    if isinstance(force, forces.JointForce) and not all(part.measure.joint for part in force.parts):
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
    return forces.Part(_measure(item, where, mechanism), law, functions)


def _resistance(force: forces.Drag, item: Any, mechanism: Mechanism) -> forces.Resistance:
    where = force.label
    body = entry(item, "body", str, where)
    if body not in mechanism.bodies:
        raise ValueError(f"{where}: there is no body {body!r}")
    numbers = finite(entry(item, "numbers", list, where), (6,), f"{where}: numbers")
    return forces.Resistance(body, force.checked(numbers))


def _rotary(force: forces.Damper, item: Any, mechanism: Mechanism) -> forces.Rotary:
    where = force.label
    joint, damping = entry(item, "joint", str, where), _number(item, "damping", where)
    if joint not in mechanism.joints:
        raise ValueError(f"{where}: there is no joint {joint!r}")
    if mechanism.joints[joint].code not in forces.ROTARY:
        raise ValueError(f"{where}: {mechanism.joints[joint].label} does not turn about all axes")
    if damping < 0:
        raise ValueError(f"{where}: damping must not be negative, got {damping}")
    return forces.Rotary(joint, damping)


def _add_coupling(mechanism: Mechanism, item: Any) -> None:
    coupling = _made(item, _COUPLINGS, "coupling", mechanism.joints, mechanism.couplings)
    where = coupling.label
    coupling.offset = _number(item, "offset", where)
    coupling.function = _lost(where) if "function" in item else None
    terms = _items(item, "terms", where)
    if not 1 <= len(terms) <= couplings.MOST_TERMS:
        raise ValueError(f"{where}: a coupling has 1 to {couplings.MOST_TERMS} terms, not {len(terms)}")
    coupling.terms = []
    for term in terms:
        factor = _number(term, "coefficient", where)
        if factor == 0:
            raise ValueError(f"{where}: a coefficient must not be zero")
        coupling.terms.append(couplings.Term(_measure(term, where, mechanism), factor))
    mechanism._couplings[coupling.name] = coupling


def _add_frame(mechanism: Mechanism, item: Any) -> None:
    name = entry(item, "name", str, "a frame")
    where = f"frame {name!r}"
    place = {key: entry(item, key, list, where) for key in ("position", "orientation")}
    mechanism.add_frame(name, entry(item, "body", str, where), **place)


# for every kind of thing that a mechanism is made of
_WRITERS: dict[str, Callable[[Any], Document]] = {
    "body": _describe_body,
    "joint": _describe_joint,
    "force": _describe_force,
    "coupling": _describe_coupling,
    "frame": _describe_frame,
}
_READERS: dict[str, Callable[[Mechanism, Any], None]] = {
    "body": _add_body,
    "joint": _add_joint,
    "force": _add_force,
    "coupling": _add_coupling,
    "frame": _add_frame,
}
