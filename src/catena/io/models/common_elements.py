"""What URDF and SDF say in the same words: shapes, moments of inertia, limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from ..._util.rotation import Array, to_matrix
from ...describe.limits import Limits
from ...describe.shapes import SIZES
from .folders import Folders
from .markup import number, numbers
from .notes import Notes

# the entry of that name; the second is what it is if there is none, and without that there must be one
Entry = Callable[[str, "str | None"], str]

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


class Shapes:
    """Reads the geometry of shapes; `words` are what a format calls lengths, and the file of a mesh."""

    def __init__(self, words: Mapping[str, Sequence[str]], folders: Folders, notes: Notes) -> None:
        self._words, self._folders, self._notes = words, folders, notes

    def read(self, kind: str, entry: Entry, link: str, where: str) -> dict[str, Any] | None:
        """Kind and size, as `add_shape` takes them; None, and a note, if there is nothing to show."""
        if kind not in self._words:
            self._notes.skip(f"geometry {kind}", link)
            return None
        if kind == "mesh":
            file = self._folders.find(entry(self._words[kind][0], None).strip(), self._notes, link)
            size = numbers(entry("scale", "1 1 1"), 3, f"{where}: scale")
            return None if file is None or not size.all() else {"kind": kind, "size": size, "mesh": str(file)}
        size = numbers(" ".join(entry(word, None) for word in self._words[kind]), SIZES[kind], f"{where}: {kind}")
        if (size <= 0).any():
            self._notes.skip(f"{kind} without size", link)
            return None
        return {"kind": kind, "size": size}


def shapes_of(link: Element, notes: Notes, read: Callable[[Element], dict[str, Any] | None]) -> list[dict[str, Any]]:
    """All that is seen of a link or collides, as far as it can be read: no motion depends on it."""
    found = []
    for part in (*link.findall("visual"), *link.findall("collision")):
        try:
            shape = read(part)
        except ValueError as error:
            notes.skip(f"{part.tag} that cannot be read", str(error))
            continue
        if shape is not None:
            found.append(shape)
    return found


def geometry_of(element: Element, link: str, notes: Notes) -> Element | None:
    """The shape that a visual or collision element has; None, and a note, if it has none."""
    geometry = element.find("geometry")
    if geometry is not None and len(geometry):
        return geometry[0]
    notes.skip(f"{element.tag} without geometry", link)
    return None


def tensor(entry: Entry, diagonal: str, turn: Array, where: str) -> Array:
    """The inertia (3, 3) along the axes of a link, of moments along axes that are turned against them."""
    xx, xy, xz, yy, yz, zz = (
        number(entry(key, diagonal if key[1] == key[2] else "0"), f"{where}: {key}") for key in _MOMENTS
    )
    axes = to_matrix(turn)
    turned: Array = axes @ np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))) @ axes.T
    return turned


def joint_limits(lower: float, upper: float, effort: float, speed: float, name: str, notes: Notes) -> Limits:
    """Limits of a joint; those that leave no room are left out, and flagged."""
    if lower > upper:
        notes.flag("limits whose lower end is above the upper, ignored", name)
        lower, upper = -inf, inf
    return Limits(lower, upper, effort, speed)


def not_negative(value: float, what: str) -> float:
    """A number that must not be negative."""
    if value < 0:
        raise ValueError(f"{what} must not be negative, got {value:g}")
    return value
