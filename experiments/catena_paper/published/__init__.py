"""Curves of the paper, from the tables in its source; every file says what it is and where it comes from."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np

from ..figure import Curves


def load(name: str | None) -> Curves:
    """Points (x, y) by the curve's name, those included in which the authors found no solution (NaN)."""
    if name is None:
        return {}
    text = (files(__package__) / f"{name}.csv").read_text(encoding="utf-8")
    points: dict[str, list[tuple[float, float]]] = {}
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        points.setdefault(row["curve"], []).append((float(row["x"]), float(row["y"])))
    return {curve: (np.array(pairs)[:, 0], np.array(pairs)[:, 1]) for curve, pairs in points.items()}
