"""XML of strangers: parsed within bounds, without document types, entities or anything beside the file itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import inf, isfinite
from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np

from ..._util.disk import read_whole
from ..._util.rotation import IDENTITY, Array, from_rotation_vector, multiply, normalised
from ...describe.joint import Pose
from .notes import Notes

_MOST_BYTES = 64 << 20
_MOST_ELEMENTS = 500_000
MOST_DEPTH = 200

# no robot weighs or measures more (kg, m, kg m^2); what is larger is a slip or an attack
LARGEST = 1e9

# limits of this size stand for none
_NO_LIMIT = 1e15

# some files say version 0.0, which no parser but theirs takes
_DECLARATION = re.compile(rb"^\s*<\?xml\s[^>]{0,200}\?>")


def read_bytes(path: Path) -> bytes:
    """The contents of a plain file of bearable size."""
    try:
        return read_whole(path, _MOST_BYTES, "a model")
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None


def parse(text: bytes) -> Element:
    """The root element; names keep their prefixes, as in "drake:joint". A ValueError says what is wrong, and where."""
    parser = expat.ParserCreate()
    builder = TreeBuilder()
    depth = count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > MOST_DEPTH:
            raise ValueError(f"line {parser.CurrentLineNumber}: elements are nested more than {MOST_DEPTH} deep")
        if count > _MOST_ELEMENTS:
            raise ValueError(f"has more than {_MOST_ELEMENTS} elements")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> NoReturn:
        raise ValueError(
            f"line {parser.CurrentLineNumber}: declares a document type or an entity, which a model must not"
        )

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(_DECLARATION.sub(_with_version, text, count=1), True)
        return builder.close()
    except expat.ExpatError as error:
        raise ValueError(f"is not readable as XML: {error}") from None
    except (LookupError, UnicodeError, AssertionError, TypeError) as error:
        raise ValueError(f"is not readable as XML ({error})") from None


def _with_version(found: re.Match[bytes]) -> bytes:
    return re.sub(rb"version\s*=\s*(['\"])[^'\"]*['\"]", rb"version=\g<1>1.0\g<1>", found[0].lstrip())


# ---- numbers in attributes and texts


def without_commas(root: Element, notes: Notes) -> Element:
    """The same element, with blanks for the commas that some files have between or after numbers."""
    for element in root.iter():
        for key, value in element.attrib.items():
            if "," in value and _all_numbers(value):
                notes.flag("commas between numbers, read as spaces", f"{element.tag}@{key}")
                element.set(key, value.replace(",", " "))
        if element.text and "," in element.text and _all_numbers(element.text):
            notes.flag("commas between numbers, read as spaces", element.tag)
            element.text = element.text.replace(",", " ")
    return root


def _all_numbers(text: str) -> bool:
    words = text.replace(",", " ").split()
    try:
        return [float(word) for word in words] != []
    except ValueError:
        return False


def numbers(text: str | None, count: int, what: str) -> Array:
    """So many numbers apart by blanks."""
    words = (text or "").split()
    if len(words) != count:
        raise ValueError(f"{what}: {count} numbers are needed, got {(text or '')!r:.60}")
    return np.array([_number(word, what) for word in words])


def number(text: str | None, what: str) -> float:
    """One number."""
    return float(numbers(text, 1, what)[0])


def limit(text: str | None, what: str) -> float:
    """A number that may stand for infinity."""
    try:
        value = float(text or "")
    except ValueError:
        raise ValueError(f"{what}: a number is needed, got {text!r:.60}") from None
    if value != value:
        raise ValueError(f"{what}: a number is needed, got {text!r:.60}")
    return value if abs(value) < _NO_LIMIT else inf if value > 0 else -inf


def _number(word: str, what: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"{what}: {word!r:.60} is not a number") from None
    if not isfinite(value) or abs(value) > LARGEST:
        raise ValueError(f"{what}: {word!r:.60} is too large")
    return value


def direction(text: str | None, what: str, default: str) -> Array:
    """A unit vector."""
    vector = numbers(default if text is None else text, 3, what)
    length = np.linalg.norm(vector)
    if length < 1e-9:
        raise ValueError(f"{what}: an axis must not be zero, got {text!r:.60}")
    unit: Array = vector / length
    return unit


def required(element: Element, key: str, what: str) -> str:
    """An attribute that must be there, and say something."""
    value = element.get(key)
    if value is None or not value.strip():
        raise ValueError(f"{what}: <{element.tag}> has no {key}")
    return value


# ---- poses


def from_rpy(rpy: Array) -> Array:
    """The turn of roll, pitch and yaw: about the fixed x, then y, then z."""
    roll, pitch, yaw = (from_rotation_vector(angle * axis) for angle, axis in zip(rpy, np.eye(3), strict=True))
    return normalised(multiply(yaw, multiply(pitch, roll)))


def identity_pose() -> Pose:
    """The pose that changes nothing."""
    return np.zeros(3), np.array(IDENTITY)


# ---- what is there


def note_others(
    element: Element, notes: Notes, where: str, children: Iterable[str] = (), attributes: Iterable[str] | None = None
) -> None:
    """Note the children and attributes that nobody reads."""
    known = set(children)
    for child in element:
        if child.tag not in known:
            notes.skip(f"{element.tag}/{child.tag}", where)
    if attributes is not None:
        for key in element.attrib.keys() - set(attributes):
            notes.skip(f"{element.tag}@{key}", where)


def unique(elements: Iterable[Element], kind: str) -> Mapping[str, Element]:
    """Elements by their names, of which there must be one each."""
    found: dict[str, Element] = {}
    for element in elements:
        name = required(element, "name", f"a {kind}")
        if name in found:
            raise ValueError(f"there are two {kind}s called {name!r}")
        found[name] = element
    return found
