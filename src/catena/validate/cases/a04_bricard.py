"""IFToMM A04: the Bricard mechanism, six hinges of which one row is redundant at every pose, and no fixed one."""

from __future__ import annotations

import numpy as np

from ... import scenes
from ...results.trajectory import Trajectory
from ..case import Case, at, largest, reference

_TABLE = np.array(reference("bricard")["trajectory_10s"])


def _errors(run: Trajectory) -> dict[str, float]:
    third = at(run, _TABLE[:, 0]).body("bar2").point((0.0, 0.0, 0.5))
    return {"point P3": largest(third - _TABLE[:, 3:])}


CASE = Case(
    name="a04_bricard",
    title="Bricard mechanism (IFToMM A04)",
    source="González et al., IFToMM library; closed form of the loop, reduced to one coordinate",
    mechanism=scenes.bricard,
    duration=10.0,
    dt=2e-3,
    errors=_errors,
    mark=6e-6,
    energy_mark=2e-6,
)
