"""The Chaplygin sleigh: a blade that lets nothing slip sideways, and takes no energy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ...describe.inertia import Inertia
from ...describe.joints import Planar
from ...describe.mechanism import Mechanism
from ...describe.rolling import KnifeEdge
from ...results.trajectory import Trajectory
from ..case import Case, at, largest, reference

_STORED = reference("chaplygin_sleigh")
_CASE, _GIVEN = _STORED["cases"][0], _STORED["parameters"]
_TABLE = np.array(_CASE["trajectory"])


def sleigh(case: Mapping[str, Any]) -> Mechanism:
    """A body on a plane with a blade at the origin, its center of mass ahead of it along the blade."""
    m = Mechanism()
    spin, arm = case["w0"], _GIVEN["a"]
    m.add_body(
        "sleigh",
        Inertia(_GIVEN["mass"], np.diag((0.3, 0.4, _GIVEN["inertia_about_COM"]))),
        position=(arm, 0, 0),
        velocity=(case["u0"], arm * spin, 0),
        angular_velocity=(0, 0, spin),
    )
    m.add_joint(Planar("world", "sleigh", axis=(0, 0, 1), at=(0, 0, 0), name="plane"))
    m.add_joint(KnifeEdge("world", "sleigh", at=(0, 0, 0), along=(1, 0, 0), name="blade"))
    return m


def _errors(run: Trajectory) -> dict[str, float]:
    part = at(run, _TABLE[:, 0])
    return {
        "center of mass": largest(part.body("sleigh").position[:, :2] - _TABLE[:, 6:8]),
        "heading": largest(part.joint("plane").coordinates[:, 2] - _TABLE[:, 3]),
    }


CASE = Case(
    name="chaplygin_sleigh",
    title="Chaplygin sleigh",
    source="Chaplygin 1911; Neimark and Fufaev; Bloch; closed form",
    mechanism=partial(sleigh, _CASE),
    duration=float(_TABLE[-1, 0]),
    dt=0.01,
    errors=_errors,
    mark=2e-4,
    energy_mark=1e-11,
)
