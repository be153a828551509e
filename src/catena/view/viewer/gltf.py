"""glTF 2.0: a scene as a file that 3D tools open, with the run as its animation.

One node for each body, moved by the animation, with its parts below it; all of them below one node that turns z up
into the y up of glTF. Marks of joint limits that light up are two nodes each, of which the animation shows one. https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html
"""

from __future__ import annotations

import json
import os
import struct
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.disk import file_name, write_whole
from ..._util.rotation import Array
from ...describe.shapes import Color
from .looks import rgb
from .scene import WORLD, Part, Scene
from .stops import LIT

_FLOAT, _UNSIGNED = 5126, 5125
_VERTICES, _INDICES = 34962, 34963
_LINE_STRIP = 3

# scalar last, a quarter turn that brings z onto y
_Z_UP = [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]


def save_gltf(scene: Scene, path: str | os.PathLike[str]) -> None:
    """Write a file, binary if its name ends in .glb, or text with all numbers inside if it ends in .gltf."""
    target = Path(file_name(path))
    if target.suffix.lower() not in (".glb", ".gltf"):
        raise ValueError(f"save_gltf writes files that end in .glb or .gltf, got {target.name!r}")
    document, numbers = _Writer(scene).written()
    if target.suffix.lower() == ".gltf":
        document["buffers"][0]["uri"] = "data:application/octet-stream;base64," + b64encode(numbers).decode()
        content = json.dumps(document).encode()
        write_whole(path, lambda file: file.write(content))
        return
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(numbers), 0x004E4942) + numbers
    header = struct.pack("<III", 0x46546C67, 2, 12 + len(chunks))
    write_whole(path, lambda file: file.write(header + chunks))


class _Writer:
    """The lists of a glTF document as they grow, and the numbers that they point into."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._numbers = bytearray()
        self._views: list[dict[str, Any]] = []
        self._accessors: list[dict[str, Any]] = []
        self._known: dict[tuple[bytes, str, int | None], int] = {}
        self._meshes: list[dict[str, Any]] = []
        self._materials: list[dict[str, Any]] = []
        self._material_of: dict[Color, int] = {}
        self._body_nodes: list[int] = []
        # of marks that light up the node without and with light, and when (step,)
        self._glowing: list[tuple[int, int, NDArray[np.bool_]]] = []
        self._nodes: list[dict[str, Any]] = [{"name": "catena", "rotation": _Z_UP, "children": []}]

    def written(self) -> tuple[dict[str, Any], bytes]:
        """The document and its numbers."""
        scene = self._scene
        for row, name in enumerate(scene.bodies):
            self._add_body(name, row)
        self._add_body("world", WORLD)
        for trace in scene.traces:
            strip = {"attributes": {"POSITION": self._add(scene.places(trace), _VERTICES)}, "mode": _LINE_STRIP}
            strip["material"] = self._material(rgb(scene.color_of(trace.body)))
            self._nodes[0]["children"].append(self._add_node(f"way of {trace.name}", [strip]))
        document: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "catena"},
            "scene": 0,
            "scenes": [{"name": scene.title, "nodes": [0]}],
            "nodes": self._nodes,
            "meshes": self._meshes,
            "materials": self._materials,
        }
        if len(scene.time) > 1 and scene.bodies:
            document["animations"] = [self._animation()]
        numbers = bytes(self._numbers)
        return document | {
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": len(numbers)}],
        }, numbers

    def _add_body(self, name: str, row: int) -> None:
        parts = [part for part in self._scene.parts if part.body == row]
        node: dict[str, Any] = {"name": name}
        if row != WORLD:
            node["translation"] = self._scene.position[0, row].tolist()
            node["rotation"] = _scalar_last(self._scene.orientation[0, row]).tolist()
        elif not parts:
            return
        place = len(self._nodes)
        self._nodes.append(node)
        self._nodes[0]["children"].append(place)
        if row != WORLD:
            self._body_nodes.append(place)
        below = [self._add_node(f"{part.kind} of {part.name}", [self._primitive(part)]) for part in parts]
        for part, plain in zip(parts, list(below), strict=True):
            if part.mark >= 0 and len(self._scene.time) > 1 and self._scene.lit[:, part.mark].any():
                glowing = replace(part, color=rgb(LIT))
                below.append(self._add_node(f"{part.kind} of {part.name}, acting", [self._primitive(glowing)]))
                self._glowing.append((plain, below[-1], self._scene.lit[:, part.mark]))
        if below:
            node["children"] = below

    def _add_node(self, name: str, primitives: list[dict[str, Any]]) -> int:
        self._meshes.append({"name": name, "primitives": primitives})
        self._nodes.append({"name": name, "mesh": len(self._meshes) - 1})
        return len(self._nodes) - 1

    def _primitive(self, part: Part) -> dict[str, Any]:
        mesh = part.mesh.rounded()
        attributes = {"POSITION": self._add(mesh.vertices, _VERTICES)}
        if not mesh.flat:
            # without normals every triangle is flat
            attributes["NORMAL"] = self._add(mesh.normals(), _VERTICES)
        indices = self._add(mesh.triangles.reshape(-1), _INDICES)
        return {"attributes": attributes, "indices": indices, "material": self._material(part.color)}

    def _material(self, color: Color) -> int:
        if color not in self._material_of:
            self._material_of[color] = len(self._materials)
            # colors of screens are not linear, those of glTF are
            factor = [*(float(channel**2.2) for channel in color[:3]), color[3]]
            surface = {"baseColorFactor": factor, "metallicFactor": 0.0, "roughnessFactor": 0.6}
            material: dict[str, Any] = {"pbrMetallicRoughness": surface, "doubleSided": True}
            if color[3] < 1:
                material["alphaMode"] = "BLEND"
            self._materials.append(material)
        return self._material_of[color]

    def _animation(self) -> dict[str, Any]:
        scene = self._scene
        moments = self._add(scene.time - scene.time[0])
        channels: list[dict[str, Any]] = []
        samplers: list[dict[str, Any]] = []
        for row, node in enumerate(self._body_nodes):
            turns = _scalar_last(_continuous(scene.orientation[:, row]))
            for what, values in (("translation", scene.position[:, row]), ("rotation", turns)):
                channels.append({"sampler": len(samplers), "target": {"node": node, "path": what}})
                samplers.append({"input": moments, "output": self._add(values), "interpolation": "LINEAR"})
        # colors cannot be animated: of two nodes one has no size
        for plain, glowing, lit in self._glowing:
            for node, shown in ((plain, ~lit), (glowing, lit)):
                channels.append({"sampler": len(samplers), "target": {"node": node, "path": "scale"}})
                sizes = self._add(np.repeat(shown.astype(float)[:, None], 3, axis=1))
                samplers.append({"input": moments, "output": sizes, "interpolation": "STEP"})
        return {"name": "run", "channels": channels, "samplers": samplers}

    def _add(self, values: Array | NDArray[np.uint32], target: int | None = None) -> int:
        """Numbers into the buffer, the same ones only once; returns the index of their accessor."""
        kind, width = (_UNSIGNED, "<u4") if values.dtype.kind == "u" else (_FLOAT, "<f4")
        packed = np.ascontiguousarray(values, dtype=width)
        key = packed.tobytes(), width, target
        if key in self._known:
            return self._known[key]
        self._known[key] = len(self._accessors)
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self._numbers), "byteLength": packed.nbytes}
        if target is not None:
            view["target"] = target
        self._views.append(view)
        self._numbers += packed.tobytes()
        shape = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}[packed.shape[1] if packed.ndim > 1 else 1]
        accessor = {"bufferView": len(self._views) - 1, "componentType": kind, "count": len(packed), "type": shape}
        flat = packed.reshape(len(packed), -1)
        accessor |= {"min": flat.min(axis=0).tolist(), "max": flat.max(axis=0).tolist()}
        self._accessors.append(accessor)
        return len(self._accessors) - 1


def _scalar_last(quaternions: Array) -> Array:
    return np.roll(quaternions, -1, axis=-1)


def _continuous(quaternions: Array) -> Array:
    """The same turns (step, 4), each with the sign that is nearer to the one before."""
    flips = np.sign(np.einsum("sk,sk->s", quaternions[1:], quaternions[:-1]))
    signs = np.cumprod(np.concatenate(([1.0], np.where(flips < 0, -1.0, 1.0))))
    return quaternions * signs[:, None]
