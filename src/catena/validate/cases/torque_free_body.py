"""A free rigid body with three different moments, as in Hairer, Lubich and Wanner."""

from __future__ import annotations

import numpy as np

from ..._util import rotation as rot
from ...describe.inertia import Inertia
from ...describe.mechanism import Mechanism
from ...results.trajectory import Trajectory
from ..case import Case, at, largest, reference

_CASE = reference("torque_free_body")["cases"][0]
_TABLE = np.array(_CASE["trajectory"])


def _mechanism() -> Mechanism:
    m = Mechanism(gravity=(0.0, 0.0, 0.0))
    inertia = Inertia(1.0, _CASE["principal_moments"], physical=False)
    m.add_body("body", inertia, angular_velocity=_CASE["omega_body_0"])
    return m


def _errors(run: Trajectory) -> dict[str, float]:
    part = at(run, _TABLE[:, 0])
    turn = rot.multiply(rot.conjugate(_TABLE[:, 4:]), part.orientation[:, 0])
    return {
        "attitude": float(np.linalg.norm(rot.rotation_vector(turn), axis=-1).max()),
        "rates": largest(part.angular_velocity_body[:, 0] - _TABLE[:, 1:4]),
    }


CASE = Case(
    name="torque_free_body",
    title="Torque-free rigid body",
    source="Hairer, Lubich and Wanner, Geometric Numerical Integration; Euler's solution in elliptic functions",
    mechanism=_mechanism,
    duration=10.0,
    dt=0.01,
    errors=_errors,
    mark=2e-4,
    unit="rad",
    energy_mark=1e-12,
    kept=lambda run: {"angular momentum": run.angular_momentum()},
)
