"""The heavy top of Brüls and Cardona, 150 rad/s about its axis."""

from __future__ import annotations

import numpy as np

from ... import scenes
from ..._util import rotation as rot
from ...results.trajectory import Trajectory
from ..case import Case, Published, at, largest, reference

_STORED = reference("heavy_top")
_TABLE = np.array(_STORED["trajectory"])[:5]
_CHECK = _STORED["provenance"]["published_check"]


def _turn(q: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(rot.rotation_vector(rot.multiply(rot.conjugate(other), q)), axis=-1))


def _errors(run: Trajectory) -> dict[str, float]:
    part = at(run, _TABLE[:, 0])
    return {
        "attitude": float(_turn(part.orientation[:, 0], _TABLE[:, 1:5]).max()),
        "center of mass": largest(part.position[:, 0] - _TABLE[:, 8:11]),
        "reaction (N)": largest(part.joint("pivot").force - _TABLE[:, 11:]),
    }


def _published(key: str, program: str) -> Published:
    q = rot.normalised(np.array(_CHECK[key]))
    return Published(f"{program}, at 0.2 s", float(_turn(q, _TABLE[4, 1:5])), _CHECK["source"])


CASE = Case(
    name="heavy_top",
    title="Heavy top",
    source="Brüls and Cardona 2010; Terze, Müller and Zlatar 2016; reduced equations, order 16",
    mechanism=scenes.heavy_top,
    duration=0.2,
    dt=2e-4,
    errors=_errors,
    mark=2.5e-3,
    unit="rad",
    energy_mark=1e-7,
    kept=lambda run: {"momentum about the vertical": run.angular_momentum()[:, 2]},
    published=(
        _published("exudyn_index2_h1e-4", "Exudyn, 0.1 ms"),
        _published("matlab_gen_alpha_h1e-4", "generalized alpha, 0.1 ms"),
    ),
)
