"""A coin of 1 cm that is spun about its diameter and falls over, rolling without slip."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ..._util import rotation as rot
from ...describe.inertia import Inertia
from ...describe.mechanism import Mechanism
from ...describe.rolling import RollingDisk
from ...results.trajectory import Trajectory
from ..case import Case, Published, at, largest, reference

_STORED = reference("rolling_disk")
_CASE = next(case for case in _STORED["cases"] if case["name"] == "rill_coin")
_TABLE = np.array(_CASE["trajectory"])
_OTHER = _STORED["published_check"]


def disk(case: Mapping[str, Any]) -> Mechanism:
    """A disk that starts as a case of the reference says."""
    start, across = case["start"], case["inertia_diametral_A"]
    m = Mechanism(gravity=(0, 0, -case["g"]))
    m.add_body(
        "disk",
        Inertia(case["mass"], np.diag((across, across, case["inertia_axial_C"]))),
        position=start["center"],
        orientation=rot.from_matrix(np.array(start["frame_e1_e2_e3_columns"])),
        velocity=start["center_velocity"],
        angular_velocity=start["angular_velocity_world"],
    )
    m.add_joint(RollingDisk("world", "disk", radius=case["radius"], name="rim"))
    return m


def _errors(run: Trajectory) -> dict[str, float]:
    body = at(run, _TABLE[:, 0]).body("disk")
    axis = rot.rotate(body.orientation, np.array((0.0, 0.0, 1.0)))
    return {
        "center": largest(body.position - _TABLE[:, 1:4]),
        "tilt (rad)": largest(np.arccos(axis[:, 2]) - _TABLE[:, 6]),
    }


CASE = Case(
    name="rolling_disk",
    title="Rolling coin",
    source="Rill and Schaeffer 2010; Euler's equations about the contact, order 16",
    mechanism=partial(disk, _CASE),
    duration=float(_TABLE[-1, 0]),
    dt=5e-4,
    errors=_errors,
    mark=4e-7,
    energy_mark=1e-5,
    published=(
        # its x axis is y here
        Published("Exudyn, contact at 0.5 s", float(abs(_OTHER["value"] - _TABLE[-1, 5])), _OTHER["source"]),
    ),
)
