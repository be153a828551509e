"""MJCF made harmless before a compiler sees it: one document, its files in memory, nothing that grows without bound.

Includes are put in place, meshes are read from the folders of the model and handed over as bytes under names of our
own, and what a mechanism does not need, pictures, height fields of files, sensors, cameras and their like, is taken
out and noted. So MuJoCo opens no file, and what it compiles is bounded by what was read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from .folders import Folders
from .markup import MOST_DEPTH, parse, read_bytes, required, without_commas
from .notes import Notes

# sections and elements that move nothing
_NEEDLESS = (
    *("visual", "statistic", "size", "custom", "sensor", "keyframe", "contact", "extension"),
    *("texture", "skin", "camera", "light", "deformable", "flex", "flexcomp", "composite", "plugin"),
)
# of which nothing is said, because they are about pictures and memory
_QUIET = ("visual", "statistic", "size", "texture")

# attributes that may be empty
_NAMES = ("name", "class", "childclass", "model")
_NO_NUMBERS = ("nan", "inf", "infinity")

_MOST_INCLUDES = 200
_MOST_COPIES = 10_000
_MOST_HEIGHTS = 1 << 20
_MOST_ASSET_BYTES = 512 << 20


@dataclass
class Harmless:
    """The document, the contents of its files by the names it has for them, and where a mesh came from, by its name."""

    text: str
    assets: dict[str, bytes] = field(default_factory=dict)
    meshes: dict[str, Path] = field(default_factory=dict)


def harmless(folders: Folders, notes: Notes, contacts: bool = False) -> Harmless:
    """The model without its dangers, with its section of contacts if they are asked for."""
    root = parse(read_bytes(folders.model))
    if root.tag != "mujoco":
        raise ValueError(f"is not MJCF: its root element is <{root.tag:.40}>, not <mujoco>")
    _include(root, folders, notes)
    without_commas(root, notes)
    folder = ""
    for compiler in root.findall("compiler"):
        general = compiler.attrib.pop("assetdir", folder)
        folder = compiler.attrib.pop("meshdir", general)
        compiler.attrib.pop("texturedir", None)
        if compiler.attrib.pop("strippath", "false") == "true":
            _strip_paths(root)
    _clean(root, notes, contacts)
    _check_values(root, notes)
    _bound_copies(root)
    result = Harmless("")
    total = 0
    lost: dict[str, str] = {}
    for asset in root.findall("asset/mesh[@file]"):
        address = required(asset, "file", "a mesh")
        name = asset.get("name") or Path(address).stem
        path = folders.find(address, notes, name, within=folder)
        if path is None:
            lost[name] = folders.why_not(address, folder)
            for section in root.findall("asset"):
                if asset in section:
                    section.remove(asset)
            continue
        own = f"asset{len(result.assets)}{path.suffix.lower()}"
        result.assets[own] = read_bytes(path)
        result.meshes[name] = path
        total += len(result.assets[own])
        if total > _MOST_ASSET_BYTES:
            raise ValueError(f"its meshes have more than {_MOST_ASSET_BYTES} bytes")
        asset.attrib |= {"name": name, "file": own}
    _leave_out(root, lost, notes)
    for element in root.iter():
        if any(key.startswith("file") and value not in result.assets for key, value in element.attrib.items()):
            raise ValueError(f"<{element.tag:.40}> names a file, which only meshes may")
    result.text = tostring(root, encoding="unicode")
    return result


def _include(root: Element, folders: Folders, notes: Notes) -> None:
    """Put the contents of included files where they are included."""
    seen: set[Path] = set()

    def expand(parent: Element, depth: int, folder: str) -> None:
        if depth > MOST_DEPTH:
            raise ValueError(f"elements are nested more than {MOST_DEPTH} deep by includes")
        k = 0
        while k < len(parent):
            child = parent[k]
            if child.tag != "include":
                expand(child, depth + 1, folder)
                k += 1
                continue
            address = required(child, "file", "an include")
            # from the model's folder, or else from that of the file that includes it
            path = folders.find(address, Notes(""), "include") or folders.find(address, notes, "include", within=folder)
            if path is None:
                raise ValueError(f"included file {address!r:.80} {folders.why_not(address, folder)}")
            if path in seen or len(seen) >= _MOST_INCLUDES:
                raise ValueError(f"file {address!r:.80} is included twice, or by itself")
            seen.add(path)
            with Notes(str(path)):
                included = parse(read_bytes(path))
            expand(included, depth, str(path.parent))
            parent[k : k + 1] = list(included)
            k += len(included)

    expand(root, 1, "")


def _leave_out(root: Element, meshes: dict[str, str], notes: Notes) -> None:
    """Take out the geoms of meshes that are not there, for a reason each, as far as nothing weighs what they do."""
    lost = set()
    weighs = any(compiler.get("inertiafromgeom") == "true" for compiler in root.findall("compiler"))
    stack = [(root, False)]
    while stack:
        parent, given = stack.pop()
        if parent.tag == "body":
            given = parent.find("inertial") is not None and not weighs
        for child in list(parent):
            name = child.get("mesh", "")
            if child.tag != "geom" or name not in meshes:
                stack.append((child, given or child.tag == "worldbody"))
            elif given or "0" in (child.get("mass"), child.get("density")):
                parent.remove(child)
                lost.add(child.get("name"))
            else:
                raise ValueError(f"mesh {name!r:.80}, by which a body weighs: its file {meshes[name]}")
    for section in root.findall("contact"):
        for pair in section.findall("pair"):
            if not lost.isdisjoint((pair.get("geom1"), pair.get("geom2"))):
                notes.skip("contact/pair of a geom without its mesh", pair.get("name", ""))
                section.remove(pair)


def _clean(root: Element, notes: Notes, contacts: bool) -> None:
    """Take out what is needless, and references to it; refuse what brings in models of its own."""
    fields = {element.get("name") for element in root.iter("hfield") if _is_small_field(element)}
    for parent in list(root.iter()):
        for child in list(parent):
            if (
                (child.tag in _NEEDLESS and not (contacts and child.tag == "contact"))
                or (child.tag == "hfield" and child.get("name") not in fields)
                or ("hfield" in child.attrib and child.get("hfield") not in fields)
                or (parent.tag == "contact" and child.tag not in ("pair", "exclude"))
            ):
                if child.tag not in _QUIET and parent.tag != "default":
                    notes.skip(child.tag, child.get("name", ""))
                parent.remove(child)
            elif child.tag == "attach" or (parent.tag == "asset" and child.tag == "model"):
                raise ValueError(f"<{child.tag}> brings in another model, which is not read")
        if parent.tag == "material":
            parent.attrib.pop("texture", None)
            for layer in parent.findall("layer"):
                parent.remove(layer)


def _is_small_field(field: Element) -> bool:
    """Whether a height field is of no file, and of numbers that are not too many."""
    rows, columns = field.get("nrow", "0").strip(), field.get("ncol", "0").strip()
    small = all(text.isdigit() and len(text) < 8 for text in (rows, columns))
    return "file" not in field.attrib and small and 4 <= int(rows) * int(columns) <= _MOST_HEIGHTS


def _check_values(root: Element, notes: Notes) -> None:
    """Refuse values that say nothing, after which MuJoCo may never answer again, or that are no numbers."""
    for element in root.iter():
        if not element.get("rgba", "none").strip():
            notes.skip("color without a value", element.get("name", element.tag))
            del element.attrib["rgba"]
        for key, value in element.attrib.items():
            if not value.strip() and key not in _NAMES:
                raise ValueError(f"<{element.tag:.40}> has {key:.40}=, which has no value")
            if any(word.lower().lstrip("+-") in _NO_NUMBERS for word in value.split()):
                raise ValueError(f"{key:.40} of <{element.tag:.40}> is not finite: {value!r:.60}")


def _strip_paths(root: Element) -> None:
    for asset in root.iterfind("asset/mesh[@file]"):
        asset.set("file", asset.get("file", "").replace("\\", "/").rsplit("/", 1)[-1])


def _bound_copies(root: Element) -> None:
    """Refuse replications that multiply to more than a model has."""
    stack = [(root, 1)]
    total = 0
    while stack:
        element, copies = stack.pop()
        if element.tag == "replicate":
            count = element.get("count", "1")
            if not count.strip().isdigit() or len(count) > 9:
                raise ValueError(f"<replicate> needs a count, got {count!r:.40}")
            copies *= int(count)
        total += copies if copies > 1 else 0
        if total > _MOST_COPIES:
            raise ValueError(f"<replicate> makes more than {_MOST_COPIES} elements")
        stack.extend((child, copies) for child in element)
