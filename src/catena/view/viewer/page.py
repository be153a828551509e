"""The page: a scene in one HTML file that plays in any browser, from a file server or a disk, without Python."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._util.disk import file_name, write_whole
from . import solids
from .looks import FORCE, rgb
from .scene import Point, Scene
from .solids import Mesh
from .stops import LIT

_TEMPLATE = Path(__file__).with_name("page.html")


def save_html(scene: Scene, folder: str | os.PathLike[str]) -> Path:
    """Write index.html, which needs nothing else, into a folder, made if it is not there; returns its path."""
    place = Path(file_name(folder))
    refuse_file(place)
    place.mkdir(parents=True, exist_ok=True)
    target = place / "index.html"
    text = page(scene).encode()
    write_whole(target, lambda file: file.write(text))
    return target


def refuse_file(place: Path) -> None:
    """Raise where no folder can be."""
    is_file = place.exists() and not place.is_dir()
    if is_file or place.suffix.lower() in (".html", ".htm"):
        what = "is a file" if is_file else "is called like a file"
        remedy = "" if is_file else f"; name the folder, such as {str(place.with_suffix(''))!r}"
        raise ValueError(f"a page is index.html in a folder, and {str(place)!r} {what}{remedy}")


def page(scene: Scene) -> str:
    """The page as text."""
    # names are the user's: nothing in them may end the script they stand in
    try:
        data = json.dumps(_described(scene), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    except ValueError:
        raise ValueError("this cannot be drawn: positions or forces are too large") from None
    return _TEMPLATE.read_text(encoding="utf-8").replace("@SCENE@", data)


def embedded(scene: Scene, height: int = 480) -> str:
    """The page inside another one, such as a notebook."""
    style = f"width:100%;border:1px solid #dfe2e6;border-radius:4px;height:{height}px"
    # it needs nothing of the page around it, and cannot reach it
    return f'<iframe srcdoc="{escape(page(scene))}" sandbox="allow-scripts" style="{style}"></iframe>'


def _described(scene: Scene) -> dict[str, Any]:
    # links that are alike share their triangles
    meshes: list[dict[str, str | None]] = []
    places: dict[tuple[str | None, ...], int] = {}

    def add(mesh: Mesh) -> int:
        found = _mesh(mesh.rounded())
        place = places.setdefault(tuple(found.values()), len(meshes))
        if place == len(meshes):
            meshes.append(found)
        return place

    shaft, head = solids.cylinder(1.0, 1.0).placed((0, 0, 0.5)), solids.cone(1.0, 1.0)
    return {
        "title": scene.title,
        "bodies": scene.bodies,
        "time": scene.time.tolist(),
        "position": _floats(scene.position),
        "orientation": _floats(scene.orientation),
        "arrow": [add(shaft), add(head)],
        "parts": [
            {"name": part.name, "kind": part.kind, "body": part.body, "mesh": add(part.mesh), "color": part.color}
            | ({"lit": _spans(scene, part.mark)} if part.mark >= 0 else {})
            for part in scene.parts
        ],
        "meshes": meshes,
        "glow": rgb(LIT),
        "hidden": scene.hidden,
        "labels": [_point(label) for label in scene.labels],
        "traces": [{**_point(trace), "color": rgb(scene.color_of(trace.body))} for trace in scene.traces],
        "lines": [[_point(line.a), _point(line.b)] for line in scene.lines],
        "arrows": [{**_point(arrow.at), "values": _floats(arrow.force)} for arrow in scene.arrows],
        "force": rgb(FORCE),
        "newtons": scene.newtons,
        "plots": [
            {
                "title": plot.title,
                "logarithmic": plot.logarithmic,
                "curves": [{"label": label, "values": _floats(values)} for label, values in plot.curves],
            }
            for plot in scene.plots
        ],
        "notes": scene.notes,
        "center": scene.center.tolist(),
        "size": scene.size,
        "floor": float(scene.low[2]),
        "sight": scene.sight.tolist(),
    }


def _spans(scene: Scene, mark: int) -> list[list[float]]:
    """From when to when (s) a mark is lit."""
    lit = np.concatenate(((False,), scene.lit[:, mark], (False,)))
    starts, ends = np.flatnonzero(~lit[:-1] & lit[1:]), np.flatnonzero(lit[:-1] & ~lit[1:])
    last = float(scene.time[-1]) + 1.0
    return [
        [float(scene.time[start]), float(scene.time[end]) if end < len(scene.time) else last]
        for start, end in zip(starts, ends, strict=True)
    ]


def _mesh(mesh: Mesh) -> dict[str, str | None]:
    """Numbers of a mesh; flat ones have no normals, the page finds them."""
    triangles = b64encode(mesh.triangles.astype("<u4").tobytes()).decode()
    normals = None if mesh.flat else _floats(mesh.normals())
    return {"vertices": _floats(mesh.vertices), "normals": normals, "triangles": triangles}


def _point(point: Point) -> dict[str, Any]:
    return {"name": point.name, "kind": point.kind, "body": point.body, "place": point.place.tolist()}


def _floats(values: ArrayLike) -> str:
    return b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()
