"""IFToMM A03: Andrews' squeezing mechanism, seven bodies in three loops, driven to 1140 rad/s in 30 ms."""

from __future__ import annotations

import numpy as np

from ... import scenes
from ..._util.rotation import Array
from ...results.trajectory import Trajectory
from ..case import Case, Published, largest, reference

_STORED = reference("andrews_squeezer")
_END, _PUBLISHED = _STORED["computed_t_0.03"], _STORED["reference_t_0.03_published"]
# beta, beta + Theta, gamma, Phi + delta, delta, Omega + epsilon, epsilon of the bodies, as the published coordinates
_RELATIVE = np.eye(7)
for _row, _column in ((1, 0), (3, 4), (5, 6)):
    _RELATIVE[_row, _column] = -1


def coordinates(run: Trajectory) -> tuple[Array, Array]:
    """Published coordinates (step, 7), turns counted, and their rates."""
    angles = np.unwrap(2 * np.arctan2(run.orientation[:, :, 1], run.orientation[:, :, 0]), axis=0)
    return angles @ _RELATIVE.T, run.angular_velocity[:, :, 0] @ _RELATIVE.T


def _errors(run: Trajectory) -> dict[str, float]:
    angles, rates = coordinates(run)
    return {"angles": largest(angles[-1] - _END["q"]), "rates": largest(rates[-1] - _END["qdot"])}


CASE = Case(
    name="a03_andrews_squeezer",
    title="Andrews' squeezing mechanism (IFToMM A03)",
    source="IVP test set (Mazzia and Magherini); Hairer and Wanner, Solving ODEs II; computed again to 1e-13",
    mechanism=scenes.andrews_squeezer,
    duration=0.03,
    dt=2e-5,
    errors=_errors,
    mark=4e-4,
    unit="rad",
    published=(
        Published("PSIDE, tolerance 1e-14", largest(np.array(_PUBLISHED["q"]) - _END["q"]), _PUBLISHED["note"]),
    ),
)
