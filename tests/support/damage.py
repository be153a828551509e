"""Seeded damage to saved files and arguments, for tests that see what becomes of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

ODD_VALUES: list[Any] = [
    None,
    True,
    "",
    "wrong",
    "\0",
    -1,
    0,
    7,
    1000,
    2**31,
    -(2**63),
    10**400,
    0.5,
    -1e308,
    1e-320,
    float("nan"),
    float("inf"),
    [],
    {},
    [[1.0]],
    [None, "x"],
    {"name": 1},
]


def paths(item: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Ways to every entry of nested dictionaries and lists."""
    entries = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    for key, value in entries:
        yield (*at, key)
        yield from paths(value, (*at, key))


def damaged_document(document: Any, rng: np.random.Generator) -> tuple[Any, str]:
    """A copy with one entry dropped, doubled, swapped or replaced, and what was done."""
    result = copy.deepcopy(document)
    ways = list(paths(result))
    way = ways[rng.integers(len(ways))]
    parent = result
    for key in way[:-1]:
        parent = parent[key]
    done = rng.integers(6)
    if done == 0:
        del parent[way[-1]]
        return result, f"drop {way}"
    if done == 1 and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[way[-1]]))
        return result, f"double {way}"
    if done == 2:
        other = ways[rng.integers(len(ways))]
        value = document
        for key in other:
            value = value[key]
        parent[way[-1]] = copy.deepcopy(value)
        return result, f"{way} = {other}"
    value = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    parent[way[-1]] = value
    return result, f"{way} = {value!r:.30}"


def damaged_array(array: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray | None, str]:
    """An array with another shape, type or value, or none at all, and what was done."""
    kind = rng.integers(9)
    if kind == 0:
        return None, "dropped"
    if kind == 1:
        return array.reshape(-1)[: max(array.size - 1, 0)], "one number less"
    if kind == 2:
        return array[None], "one axis more"
    if kind == 3:
        return np.zeros_like(array), "zeros"
    if kind == 4:
        return array.astype("U20"), "strings"
    if kind == 5:
        return array.astype(complex) if array.dtype.kind in "fiu" else np.array(3), "other numbers"
    if kind == 6:
        return np.array([], dtype=array.dtype), "empty"
    result = array.copy()
    if result.size == 0 or result.dtype.kind not in "fiub":
        return np.array("odd"), "a word"
    values: list[Any] = [np.nan, np.inf, -1e300, 1e300, -1, 1000] if result.dtype.kind == "f" else [0, 255, 2, 100, 17]
    value = values[rng.integers(len(values))]
    result.reshape(-1)[rng.integers(result.size)] = value
    return result, f"{value} in it"
