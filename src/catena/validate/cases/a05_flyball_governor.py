"""IFToMM A05: the stiff flyball governor, springs of 8e5 N/m with dampers of 4e4 N s/m beside a motion of 1 Hz."""

from __future__ import annotations

import numpy as np

from ... import scenes
from ...describe.mechanism import Mechanism
from ...results.trajectory import Trajectory
from ..case import Case, at, largest, reference

_CASE = next(case for case in reference("flyball_governor")["cases"] if case["name"] == "iftomm")
_TABLE = np.array(_CASE["trajectory"])


def _mechanism() -> Mechanism:
    return scenes.flyball_governor(stiffness=_CASE["K"], damping=_CASE["C"], rate=_CASE["omega0"])


def _errors(run: Trajectory) -> dict[str, float]:
    part = at(run, _TABLE[:, 0])
    return {
        "height of the slider": largest(part.body("slider").position[:, 2] - _TABLE[:, 3]),
        "angle of the shaft": largest(part.joint("bearing").coordinates[:, 0] - _TABLE[:, 1]),
    }


CASE = Case(
    name="a05_flyball_governor",
    title="Stiff flyball governor (IFToMM A05)",
    source="González et al., IFToMM library; reduced equations, order 12",
    mechanism=_mechanism,
    duration=10.0,
    dt=2e-3,
    errors=_errors,
    mark=5e-5,
    kept=lambda run: {"momentum about the shaft": run.angular_momentum()[:, 2]},
)
