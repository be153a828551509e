"""Loops that stand beside a file: pairs of frames that coincide, given as such or in a small file of their own.

The file is YAML of the simplest kind, or JSON, with the entry `closed_loop: [[frameA, frameB], ...]` and perhaps
`type: [6d, 3d, ...]`: frames that are welded, as all are where nothing is said, or points that coincide. URDF has no
balls and crosses, so hinges stand for them, and `joint_name: [...]` with `joint_type: [SPHERICAL, UJOINT_XY, ...]` says
which these are: UJOINT_XY turns about x, then about y, of the joint's frame; FIXED does not move.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..._util.disk import file_name
from ..._util.rotation import conjugate, cross, from_matrix, multiply
from .graph import Edge, Graph, Law
from .markup import identity_pose, read_bytes

# a file, or pairs of frames, perhaps with "6d" or "3d" as a third
Loops: TypeAlias = "str | os.PathLike[str] | Iterable[Sequence[str]]"

_KINDS = {"6d": "fixed", "3d": "ball"}
_AXES = dict(zip("XYZ", np.eye(3), strict=True))


def close(graph: Graph, loops: Loops, joints: Mapping[str, Edge]) -> None:
    """Add an edge for every pair; a frame is a link, or the joint that carries it; joints become what a file says."""
    pairs, types = (list(loops), {}) if not isinstance(loops, (str, os.PathLike)) else _read(Path(file_name(loops)))
    for name, kind in types.items():
        if name in joints:
            _retype(graph, joints[name], kind)
        else:
            graph.notes.skip("joint_type of a joint that is not there", name)
    for k, pair in enumerate(pairs, 1):
        if isinstance(pair, str) or not 2 <= len(pair) <= 3 or not all(isinstance(word, str) for word in pair):
            raise ValueError(f"loops: a loop is a pair of frames, perhaps with '6d' or '3d', got {pair!r:.80}")
        kind = pair[2].lower() if len(pair) == 3 else "6d"
        if kind not in _KINDS:
            raise ValueError(f"loops: a loop is of type '6d' or '3d', got {kind!r:.40}")
        ends = [joints[name].b if name in joints and name not in graph.links else name for name in pair[:2]]
        for end in ends:
            graph.link(end, "loops")
        if ends[0] == ends[1]:
            raise ValueError(f"loops: a loop joins {ends[0]!r} to itself")
        name = f"loop{k} {pair[0]}-{pair[1]}"
        graph.edges.append(Edge(name, _KINDS[kind], ends[0], ends[1], closes=True, points=_KINDS[kind] == "ball"))


def _retype(graph: Graph, edge: Edge, kind: str) -> None:
    """Make a joint another one at the same place: a ball, a cross of two axes of the joint's frame, or a weld."""
    first, second = (
        _AXES.get(letter) for letter in (kind[-2:].upper() if kind.upper().startswith("UJOINT_") else "--")
    )
    if kind.upper() in ("SPHERICAL", "FIXED"):
        edge.kind, turn = ("ball" if kind.upper() == "SPHERICAL" else "fixed"), identity_pose()[1]
    elif first is not None and second is not None and first is not second and len(kind) == len("UJOINT_XY"):
        edge.kind, turn = "universal", from_matrix(np.column_stack((first, second, cross(first, second))))
    else:
        raise ValueError(f"loops: a joint is SPHERICAL, FIXED or UJOINT_ with two axes, as UJOINT_XY, got {kind!r:.40}")
    plain = multiply(edge.frame_a[1], conjugate(edge.frame_b[1]))
    edge.frame_a, edge.frame_b = (edge.frame_a[0], multiply(plain, turn)), (edge.frame_b[0], turn)
    if edge.limits or any(law != Law() for law in edge.laws):
        graph.notes.skip("limits and dynamics of a hinge that stands for another joint", edge.name)
    edge.limits, edge.laws = {}, []


def _read(path: Path) -> tuple[list[Sequence[str]], dict[str, str]]:
    """Pairs of frames with their types, and types of joints by name."""
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is no text") from None
    names, kinds, joints, types = (_words(text, key) for key in ("closed_loop", "type", "joint_name", "joint_type"))
    if not names or len(names) % 2:
        raise ValueError(f"{path}: has no closed_loop: [[frameA, frameB], ...]")
    count = len(names) // 2
    if kinds and len(kinds) != count:
        raise ValueError(f"{path}: has {count} loops, but {len(kinds)} types")
    if len(joints) != len(types):
        raise ValueError(f"{path}: has {len(joints)} names of joints, but {len(types)} types of joints")
    pairs = [(*names[2 * k : 2 * k + 2], kinds[k] if kinds else "6d") for k in range(count)]
    return list(pairs), dict(zip(joints, types, strict=True))


def _words(text: str, key: str) -> list[str]:
    """The words of an entry, up to the next one; lists within lists are flat here."""
    try:
        text = json.dumps(json.loads(text).get(key))
    except (ValueError, AttributeError, RecursionError):
        lines = rf"^{key}\s*:(.*?)(?=^\w+\s*:|\Z)"
        found = re.search(lines, text, re.DOTALL | re.MULTILINE)
        text = re.sub(r"#.*", "", found[1]) if found else ""
    return [word for word in re.split(r"[\s,\[\]\"']+", text) if word not in ("", "-", "null")]
