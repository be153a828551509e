"""Two boxes on hinges, 10 and -5 degrees from hanging, at rest."""

from __future__ import annotations

import numpy as np

from ... import scenes
from ..._util import rotation as rot
from ...describe.mechanism import Mechanism
from ...results.trajectory import Trajectory
from ..case import Case, at, largest, reference

_TABLE = np.array(reference("double_pendulum")["cases"][0]["trajectory"])


def _mechanism() -> Mechanism:
    m = scenes.pendulum(2, angle=_TABLE[0, 1])
    lower = rot.from_axis_angle((1.0, 0.0, 0.0), _TABLE[0, 2])
    hinge = rot.rotate(m.bodies["link1"].orientation, np.array((0.0, 0.0, -1.0)))
    m.bodies["link2"].orientation = lower
    m.bodies["link2"].position = hinge + rot.rotate(lower, np.array((0.0, 0.0, -0.5)))
    return m


def _errors(run: Trajectory) -> dict[str, float]:
    part = at(run, _TABLE[:, 0])
    return {
        "centers of mass": largest(part.position[:, :, 1:].reshape(len(part), 4) - _TABLE[:, 5:9]),
        "rates": largest(part.angular_velocity[:, :, 0] - _TABLE[:, 3:5]),
    }


CASE = Case(
    name="double_pendulum",
    title="Double pendulum",
    source="boxes of the examples that accompany Brüdigam and Manchester 2020; reduced equations, order 16",
    mechanism=_mechanism,
    duration=5.0,
    dt=2e-3,
    errors=_errors,
    mark=5e-6,
    energy_mark=2e-5,
)
