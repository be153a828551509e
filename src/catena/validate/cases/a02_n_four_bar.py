"""IFToMM A02: coupled four-bars of equal links, which pass a singular pose ten times in 10 s."""

from __future__ import annotations

from functools import partial

import numpy as np

from ... import scenes
from ...results.trajectory import Trajectory
from ..case import Case, Published, at, largest, reference

_STORED = reference("n_four_bar")
_TABLE = np.array(next(case["values"] for case in _STORED["cases"] if case["N"] == 2))
_OTHER = _STORED["provenance"]["published_check"]


def _errors(run: Trajectory) -> dict[str, float]:
    top = at(run, _TABLE[:, 0]).body("crank0").point((0.0, 0.0, 0.5))
    return {"joint B0": largest(top[:, :2] - _TABLE[:, 3:5])}


CASE = Case(
    name="a02_n_four_bar",
    title="N-four-bar, N = 2 (IFToMM A02)",
    source="González et al., IFToMM library; closed form on the branch of parallelograms",
    mechanism=partial(scenes.n_four_bar, 2),
    duration=10.0,
    dt=1e-3,
    errors=_errors,
    mark=2e-5,
    energy_mark=5e-6,
    published=(
        Published("Exudyn, 0.125 ms, at 10 s", largest(np.array(_OTHER["pos_B0"]) - _TABLE[-1, 3:5]), _OTHER["source"]),
    ),
)
