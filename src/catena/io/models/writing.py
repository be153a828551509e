"""What writers of URDF and MJCF have in common: numbers as text, paths of meshes, and the file itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element, indent, tostring

from ..._util.disk import write_whole

# what is no character in XML 1.0
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(numbers: Iterable[float]) -> str:
    """Numbers as files have them, to the last bit."""
    return " ".join(repr(float(number)) for number in numbers)


def relative(mesh: str, target: Path) -> str:
    """The path of a mesh as seen from the file that names it."""
    folder = os.path.realpath(target.parent)
    return os.path.relpath(mesh, folder) if Path(mesh).is_relative_to(folder) else mesh


def save(root: Element, path: str | os.PathLike[str], *, declares: bool) -> None:
    """Write a document; an old file stays whole until the new one is."""
    for element in root.iter():
        for value in (element.text or "", *element.attrib.values()):
            if _NO_XML.search(value):
                raise ValueError(f"{value!r:.80} has a character that XML files cannot contain")
    indent(root)
    content = tostring(root, encoding="utf-8", xml_declaration=declares)
    write_whole(path, lambda file: file.write(content))
