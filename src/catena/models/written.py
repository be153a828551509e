"""What writers of URDF and MJCF have in common: numbers as text, paths of meshes, and the file itself."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element, indent, tostring

from .._disk import write_whole


def text(numbers: Iterable[float]) -> str:
    """Numbers as files have them, to the last bit."""
    return " ".join(repr(float(number)) for number in numbers)


def relative(mesh: str, target: Path) -> str:
    """The path of a mesh as seen from the file that names it."""
    folder = os.path.realpath(target.parent)
    return os.path.relpath(mesh, folder) if Path(mesh).is_relative_to(folder) else mesh


def save(root: Element, path: str | os.PathLike[str], *, declares: bool) -> None:
    """Write a document; an old file stays whole until the new one is."""
    indent(root)
    content = tostring(root, encoding="utf-8", xml_declaration=declares)
    write_whole(path, lambda file: file.write(content))
