"""Independent copies of a mechanism, in time linear in its size, without a general deep copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._util.lookup import KINDS, ByName
from .._util.strict import Strict
from .bodies import Body, World
from .measures import Measure

if TYPE_CHECKING:
    from ..assemble.forward_kinematics import Walk
    from ..assemble.reach import ReachTree
    from ..compile.compile import Compiled
    from ..compile.row_selection import RowSelection
    from ..compile.shapes import ShapeSet
    from .contacts import Contact
    from .couplings import Coupling, Term
    from .forces import Force
    from .joint import BodyLike
    from .mechanism import Mechanism
    from .spanning_tree import SpanningTree

Thing = TypeVar("Thing", bound=Strict)

_BODY_ARRAYS = ("position", "orientation", "velocity", "angular_velocity")
# arrays of things that can be written to
_ARRAYS = {"body": _BODY_ARRAYS, "joint": ("anchor_a", "anchor_b", "frame_a", "frame_b")}

_ENDS = (Body, World)
_SEQUENCES = (list, tuple)
_MAPPINGS = (dict, MappingProxyType)


@dataclass
class CompileCache:
    """Results that depend only on a mechanism that cannot change; each is computed once.

    Rows of the bodies; trees; the order in which joints are set (forward_kinematics.py); the enforced rows of loops
    (redundancy.py), and those for which a warning was issued; the mechanism with placeholder masses removed, the names
    of these bodies and their share of the energy (placeholders.py); compiled mechanisms by kernel and purpose
    (compile.py); trees along which targets are reached, by the joints that come first (reach.py); shapes
    that collide (compile/shapes.py); the mechanism with their contacts with planes (plane_contacts.py).
    """

    rows: dict[str, int] | None = None
    tree: SpanningTree | None = None
    described_tree: SpanningTree | None = None
    walk: Walk | None = None
    selection: RowSelection | None = None
    warned_of: RowSelection | None = None
    lightened: Mechanism | None = None
    placeholders: tuple[tuple[str, ...], float] = (), 0.0
    told_placeholders: bool = False
    compiled: dict[tuple[str, str], Compiled] = field(default_factory=dict)
    reach_trees: dict[tuple[str, ...], ReachTree] = field(default_factory=dict)
    shapes: ShapeSet | None = None
    with_plane_contacts: Mechanism | None = None


def copied(mechanism: Mechanism, owner: str = "") -> Mechanism:
    """An independent copy; with an owner, a copy whose attributes cannot be assigned.

    Functions, inertias, shapes, frames and limits are immutable and are shared.
    """
    result = _twin(mechanism, owner)
    gravity = result.__dict__["gravity"] = mechanism.gravity.copy()
    gravity.flags.writeable = not owner
    result._world = _twin(mechanism._world, owner)
    for name in KINDS.values():
        setattr(result, f"_{name}", _twins(getattr(mechanism, f"_{name}"), owner))
    ends: dict[str, BodyLike] = {result.world.name: result.world, **result._bodies}
    for joint in result._joints.values():
        joint.__dict__.update(_a=ends[joint.a.name], _b=ends[joint.b.name])
    result._numbered = dict(mechanism._numbered)
    result._known = CompileCache()
    result._last = None
    return result


def unchanged(mechanism: Mechanism, copy: Mechanism) -> bool:
    """Whether a mechanism still equals an earlier copy; values that both share, such as functions, count as equal."""
    if mechanism.loop_tolerance != copy.loop_tolerance or not _same(mechanism.gravity, copy.gravity):
        return False
    if mechanism.contact_rules != copy.contact_rules:
        return False
    if not _same_item(mechanism.world, copy.world):
        return False
    for name in KINDS.values():
        mine, theirs = getattr(mechanism, name), getattr(copy, name)
        if list(mine) != list(theirs) or not all(map(_same_item, mine.values(), theirs.values())):
            return False
    return True


def what_changed(mechanism: Mechanism, copy: Mechanism, *, poses: bool) -> str:
    """Name of an item that differs from an earlier copy, or ""; `poses` says whether body poses are compared."""
    if mechanism.loop_tolerance != copy.loop_tolerance or not _same(mechanism.gravity, copy.gravity):
        return "its gravity or loop_tolerance"
    if mechanism.contact_rules != copy.contact_rules:
        return "its rules of contact (add_contacts)"
    for kind, all_of in KINDS.items():
        mine, theirs = getattr(mechanism, all_of), getattr(copy, all_of)
        # a simulator needs no frames
        if kind == "frame":
            continue
        if list(mine) != list(theirs):
            name = next(iter({*mine} ^ {*theirs}), "")
            return f"{kind} {name!r}" if name else f"the order of its {all_of}"
        for name, item in mine.items():
            if not _same_item(item, theirs[name], () if poses else _BODY_ARRAYS):
                return f"{kind} {name!r}"
    return ""


def _same_item(a: Any, b: Any, apart: tuple[str, ...] = ()) -> bool:
    if type(a) is not type(b):
        return False
    mine, theirs = ({**vars(item), "_owner": "", **dict.fromkeys(apart)} for item in (a, b))
    return mine.keys() == theirs.keys() and all(_same(value, theirs[name]) for name, value in mine.items())


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, _ENDS):
        return isinstance(b, _ENDS) and a.name == b.name
    if isinstance(a, _SEQUENCES):
        return isinstance(b, _SEQUENCES) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, _MAPPINGS):
        return isinstance(b, _MAPPINGS) and _same([*a.items()], [*b.items()])
    return _same_item(a, b) if isinstance(a, (Strict, Measure)) else isinstance(a, (str, float, int)) and bool(a == b)


def _twin(item: Thing, owner: str) -> Thing:
    """A new object with the same values."""
    twin: Thing = object.__new__(type(item))
    twin.__dict__.update(item.__dict__, _owner=owner)
    return twin


def _twins(items: ByName[Any], owner: str) -> ByName[Any]:
    """Copies with their own arrays: all are rows of one array, which is much faster."""
    twin_of = _TWINS.get(items.kind, _twin)
    twins = ByName(items.kind, {name: twin_of(item, owner) for name, item in items.items()})
    for key in _ARRAYS.get(items.kind, ()) if twins else ():
        block = np.array([item.__dict__[key] for item in items.values()])
        block.flags.writeable = not owner
        for twin, row in zip(twins.values(), block, strict=True):
            twin.__dict__[key] = row
    return twins


def _force(force: Force, owner: str) -> Force:
    twin = _twin(force, owner)
    twin.__dict__["parts"] = tuple(_twin(part, owner) for part in force.parts)
    for part in twin.parts:
        law, functions = dict(part.law), dict(part.functions)
        own: dict[str, Any] = {"measure": _measure(part.measure, owner), "law": law, "functions": functions}
        own["terms"] = _terms(part.terms, owner)
        if owner:
            own |= {"law": MappingProxyType(law), "functions": MappingProxyType(functions)}
        part.__dict__.update(own)
    return twin


def _coupling(coupling: Coupling, owner: str) -> Coupling:
    twin = _twin(coupling, owner)
    twin.__dict__["terms"] = _terms(coupling.terms, owner)
    return twin


def _terms(terms: Sequence[Term], owner: str) -> tuple[Term, ...]:
    twins = tuple(_twin(term, owner) for term in terms)
    for term in twins:
        term.__dict__["measure"] = _measure(term.measure, owner)
    return twins


def _contact(contact: Contact, owner: str) -> Contact:
    twin = _twin(contact, owner)
    twin.__dict__["measure"] = _measure(contact.measure, owner)
    return twin


def _measure(measure: Measure, owner: str) -> Measure:
    anchors, frames = measure.anchors.copy(), measure.frames.copy()
    anchors.flags.writeable = frames.flags.writeable = not owner
    return type(measure)(measure.code, measure.a, measure.b, anchors, frames, measure.joint, measure.index)


# of kinds whose copies take more than their values and arrays; nothing can change a frame
_TWINS: dict[str, Callable[[Any, str], Any]] = {
    "force": _force,
    "coupling": _coupling,
    "contact": _contact,
    "frame": lambda frame, _: frame,
}
