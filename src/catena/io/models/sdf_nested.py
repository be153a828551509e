"""Models within an SDF model: their links, joints and frames become its own, called "inner::name", as SDF calls them.

The frame of an inner model becomes a frame called like the model.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from .graph import WORLD
from .markup import note_others
from .notes import Notes
from .sdf_frames import MODEL

_PARTS = ("link", "joint", "frame")
# elements and attributes that name something of the same model
_TEXTS = ("parent", "child", "gearbox_reference_body")
_ATTRIBUTES = ("attached_to", "expressed_in", "joint")


def flatten(model: Element, notes: Notes) -> None:
    """Put the contents of inner models, and of theirs, into the model."""
    for inner in model.findall("model"):
        flatten(inner, notes)
        model.remove(inner)
        name = inner.get("name", "")
        note_others(inner, notes, name, ("pose", "self_collide", *_PARTS), ("name", "canonical_link"))
        first = inner.find("link")
        if first is None:
            raise ValueError(f"model {name!r:.40} within a model has no links")
        for part in _PARTS:
            for element in inner.findall(part):
                _rename(element, name)
                model.append(element)
        host = inner.get("canonical_link")
        frame = SubElement(
            model, "frame", name=name, attached_to=_scoped(host, name) if host else first.get("name", "")
        )
        pose = inner.find("pose")
        pose = SubElement(frame, "pose") if pose is None else pose
        if pose not in frame:
            frame.append(pose)
        if not pose.get("frame"):
            pose.set("relative_to", pose.get("relative_to", MODEL))


def _scoped(name: str, model: str) -> str:
    return name if name == WORLD else model if name == MODEL else f"{model}::{name}"


def _rename(element: Element, model: str) -> None:
    """Let an element of an inner model name itself and others as they are called from outside."""
    element.set("name", f"{model}::{element.get('name', '')}")
    if element.tag == "frame":
        element.set("attached_to", element.get("attached_to") or MODEL)
    pose = element.find("pose")
    if element.tag == "link" and pose is None:
        pose = SubElement(element, "pose")
    if pose is not None:
        given = pose.get("relative_to") or pose.attrib.pop("frame", None)
        if given or element.tag == "link":
            pose.set("relative_to", _scoped(given or MODEL, model))
    for part in element.iter():
        for key in _ATTRIBUTES:
            if part.get(key):
                part.set(key, _scoped(part.get(key, ""), model))
        if part.tag in _TEXTS and part.text:
            part.text = _scoped(part.text.strip(), model)
