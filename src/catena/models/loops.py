"""Loops that stand beside a file: pairs of frames that coincide, given as such or in a small file of their own.

The file is YAML of the simplest kind, or JSON, with the entry `closed_loop: [[frameA, frameB], ...]` and perhaps
`type: [6d, 3d, ...]`: frames that are welded, as all are where nothing is said, or points that coincide.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from .._disk import file_name
from .graph import Edge, Graph
from .markup import read_bytes

# a file, or pairs of frames, perhaps with "6d" or "3d" as a third
Loops: TypeAlias = "str | os.PathLike[str] | Iterable[Sequence[str]]"

_KINDS = {"6d": "fixed", "3d": "ball"}


def close(graph: Graph, loops: Loops, carriers: dict[str, str]) -> None:
    """Add an edge for every pair; a frame is a link, or the joint that carries it (`carriers`: joint to link)."""
    for k, pair in enumerate(_pairs(loops), 1):
        if isinstance(pair, str) or not 2 <= len(pair) <= 3 or not all(isinstance(word, str) for word in pair):
            raise ValueError(f"loops: a loop is a pair of frames, perhaps with '6d' or '3d', got {pair!r:.80}")
        kind = pair[2] if len(pair) == 3 else "6d"
        if kind not in _KINDS:
            raise ValueError(f"loops: a loop is of type '6d' or '3d', got {kind!r:.40}")
        ends = [carriers.get(name, name) if name not in graph.links else name for name in pair[:2]]
        for end in ends:
            graph.link(end, "loops")
        if ends[0] == ends[1]:
            raise ValueError(f"loops: a loop joins {ends[0]!r} to itself")
        name = f"loop{k} {pair[0]}-{pair[1]}"
        graph.edges.append(Edge(name, _KINDS[kind], ends[0], ends[1], closes=True, points=_KINDS[kind] == "ball"))


def _pairs(loops: Loops) -> list[Sequence[str]]:
    if not isinstance(loops, (str, os.PathLike)):
        return list(loops)
    path = Path(file_name(loops))
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is no text") from None
    names, kinds = (_words(text, key) for key in ("closed_loop", "type"))
    if not names or len(names) % 2:
        raise ValueError(f"{path}: has no closed_loop: [[frameA, frameB], ...]")
    count = len(names) // 2
    if kinds and len(kinds) != count:
        raise ValueError(f"{path}: has {count} loops, but {len(kinds)} types")
    return [(*names[2 * k : 2 * k + 2], kinds[k] if kinds else "6d") for k in range(count)]


def _words(text: str, key: str) -> list[str]:
    """The words of an entry, up to the next one; lists within lists are flat here."""
    try:
        text = json.dumps(json.loads(text).get(key))
    except (ValueError, AttributeError, RecursionError):
        lines = rf"^{key}\s*:(.*?)(?=^\w+\s*:|\Z)"
        found = re.search(lines, text, re.DOTALL | re.MULTILINE)
        text = re.sub(r"#.*", "", found[1]) if found else ""
    return [word for word in re.split(r"[\s,\[\]\"']+", text) if word not in ("", "-", "null")]
