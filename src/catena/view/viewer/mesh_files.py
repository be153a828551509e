"""Files of meshes of strangers: read with trimesh, once what they say of their own size has been checked.

Formats that are archives, or that name other files freely, are not read. Of the files beside a mesh only materials and
numbers are, and no pictures: what is seen has one color.
"""

from __future__ import annotations

import json
import struct
import zipfile
from functools import lru_cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ..._util.disk import read_whole
from ..._util.rotation import Array
from ...describe.shapes import Color
from ...io.models.markup import parse

KINDS = ("stl", "obj", "dae", "ply", "off", "glb", "gltf")

_MOST_BYTES = 256 << 20
_MOST_TRIANGLES = 5_000_000
_MOST_NODES = 100_000
_BESIDE = (".mtl", ".bin")

# vertices (v, 3) in m, triangles (t, 3), and a color if the file has one
Triangles = tuple[Array, NDArray[np.uint32], "Color | None"]


def read_triangles(path: str) -> list[Triangles]:
    """The triangles of a file, part by part; what cannot be read is a ValueError."""
    try:
        if not Path(path).is_file():
            raise ValueError(f"there is no file {path!r}")
        changed = Path(path).stat().st_mtime_ns
    except OSError as error:
        raise ValueError(f"{path!r} cannot be read: {error.strerror}") from None
    return _read(path, changed)


@lru_cache(maxsize=256)
def _read(path: str, changed: int) -> list[Triangles]:
    kind = Path(path).suffix.lower()[1:]
    if kind not in KINDS:
        raise ValueError(f"{path!r} is not in a supported mesh format: {', '.join(KINDS)}")
    try:
        trimesh = import_module("trimesh")
    except ImportError:
        raise ValueError(
            f'{path!r} needs trimesh to be read, which is not installed: pip install "catena[view]"'
        ) from None
    try:
        text = read_whole(path, _MOST_BYTES, "a mesh")
        _check(text, kind)
        parts = _parts(trimesh.load_scene(BytesIO(text), file_type=kind, resolver=_Beside(Path(path))))
    # whatever is wrong with it
    except (Exception, RecursionError) as error:
        raise ValueError(f"{path!r} cannot be read as a mesh: {str(error) or type(error).__name__}") from None
    if not parts:
        raise ValueError(f"{path!r} has no triangles")
    return parts


def _parts(scene: Any) -> list[Triangles]:
    """What a scene of trimesh shows, where it shows it."""
    placed = [scene.graph[node] for node in scene.graph.nodes_geometry]
    solids = [
        (matrix, scene.geometry[name]) for matrix, name in placed if len(getattr(scene.geometry[name], "faces", ()))
    ]
    count = sum(len(solid.faces) for _, solid in solids)
    if count > _MOST_TRIANGLES:
        raise ValueError(f"it has {count} triangles, more than the {_MOST_TRIANGLES} that are drawn")
    parts = []
    for matrix, solid in solids:
        vertices = np.array(solid.vertices, dtype=np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
        faces = np.asarray(solid.faces)
        if not np.abs(vertices).max(initial=0.0) < 1e12:
            raise ValueError("it has vertices that are not finite")
        if faces.min() < 0 or faces.max() >= len(vertices):
            raise ValueError("it has triangles with missing vertices")
        # what is mirrored stays counterclockwise
        triangles = (faces[:, ::-1] if np.linalg.det(matrix[:3, :3]) < 0 else faces).astype(np.uint32)
        parts.append((vertices, triangles, _color(solid.visual)))
    return parts


def _color(visual: Any) -> Color | None:
    """The color of what was read, if the file says one."""
    if not visual.defined:
        return None
    tint = visual.material.main_color if visual.kind == "texture" else visual.main_color
    red, green, blue, alpha = (float(channel) / 255 for channel in tint)
    return red, green, blue, alpha


class _Beside:
    """Finds what a mesh needs beside it, in its own folder; as trimesh wants to be served."""

    def __init__(self, mesh: Path) -> None:
        self._home = mesh.resolve().parent
        self.file_name = mesh.name

    def get(self, name: str) -> bytes:
        place = (self._home / name.strip()).resolve()
        if place.suffix.lower() not in _BESIDE or not place.is_relative_to(self._home):
            raise ValueError(f"{name!r:.80} is not a supported file beside a mesh")
        return read_whole(place, _MOST_BYTES, "part of a mesh")

    __getitem__ = get


# ---- what files say of their size


def _check(text: bytes, kind: str) -> None:
    """Refuse a file that would grow when it is read."""
    if zipfile.is_zipfile(BytesIO(text)):
        raise ValueError("it is an archive")
    if kind == "dae":
        _check_collada(text)
    elif kind in ("glb", "gltf"):
        _check_gltf(_gltf_document(text) if kind == "glb" else json.loads(text))


def _check_collada(text: bytes) -> None:
    """Nodes may be instances of others, which may be instances of others."""
    root = parse(text)

    def inner(element: Element) -> list[str]:
        links = (link for link in element.iter() if link.tag.endswith("instance_node"))
        return [(link.get("url") or "").removeprefix("#") for link in links]

    links = inner(root)
    named = [node for node in root.iter() if node.tag.split(":")[-1] == "node" and node.get("id") in {*links}]
    nodes = {node.get("id", ""): inner(node) for node in named}
    if len(nodes) < len(named):
        raise ValueError("two of its nodes have the same name")
    sizes: dict[str, int] = {}

    def size(name: str, above: frozenset[str]) -> int:
        if name in above:
            raise ValueError("a node of it is an instance of itself")
        if name not in sizes:
            sizes[name] = 1 + sum(size(other, above | {name}) for other in nodes.get(name, []))
        return sizes[name]

    if sum(size(name, frozenset()) for name in links) > _MOST_NODES:
        raise ValueError(f"it shows more than {_MOST_NODES} nodes")


def _gltf_document(text: bytes) -> Any:
    """The JSON of a binary file, which is its first chunk."""
    length, kind = struct.unpack_from("<I4s", text, 12)
    if kind != b"JSON":
        raise ValueError("its header does not match its contents")
    return json.loads(text[20 : 20 + length])


def _check_gltf(document: Any) -> None:
    """Arrays may be told without being there, and nodes be below each other more than once."""
    told = sum(int(accessor["count"]) for accessor in document.get("accessors", []))
    if told > 3 * _MOST_TRIANGLES or any(int(accessor["count"]) < 0 for accessor in document.get("accessors", [])):
        raise ValueError(f"its arrays have {told} rows, more than {3 * _MOST_TRIANGLES}")
    below = [child for node in document.get("nodes", []) for child in node.get("children", [])]
    roots = [root for scene in document.get("scenes", []) for root in scene.get("nodes", [])]
    if len(set(below)) < len(below) or set(below) & set(roots):
        raise ValueError("its nodes do not form a tree")
