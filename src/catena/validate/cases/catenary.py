"""A chain of ten bars between two supports, at rest: its shape stays, and its hinges carry the known forces."""

from __future__ import annotations

from functools import partial

import numpy as np

from ... import scenes
from ...results.trajectory import Trajectory
from ..case import Case, largest, reference

_CASE = next(case for case in reference("catenary")["cases"] if case["N"] == 10)


def _errors(run: Trajectory) -> dict[str, float]:
    count, weight = _CASE["N"], 9.81
    wanted = np.array([(0.0, -_CASE["horizontal_force_N"], (0.5 * count - k) * weight) for k in range(count)])
    found = np.stack([run.joint(f"joint{k + 1}").force for k in range(count)], axis=1)
    return {
        "reactions (N)": largest(found - wanted),
        "positions (m)": largest(run.position - run.position[0]),
    }


CASE = Case(
    name="catenary",
    title="Hanging chain",
    source="funicular of equal bars, closed form",
    mechanism=partial(scenes.catenary_chain, 10, _CASE["span"]),
    duration=10.0,
    dt=0.01,
    errors=_errors,
    mark=1e-8,
    unit="N",
    static=True,
)
