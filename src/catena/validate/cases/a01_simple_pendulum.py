"""IFToMM A01: a point mass on a bar of 1 m, let go from horizontal."""

from __future__ import annotations

from math import pi

import numpy as np

from ... import scenes
from ..._util import rotation as rot
from ...describe.mechanism import Mechanism
from ...results.trajectory import Trajectory
from ..case import Case, at, largest, reference

_TABLE = np.array(reference("simple_pendulum")["trajectory_start_minus_x"])


def _mechanism() -> Mechanism:
    """A box on a hinge, in the gravity that makes it swing like the point mass."""
    m = scenes.pendulum(1, angle=-pi / 2)
    inertia, arm = m.bodies["link1"].inertia, 0.5
    length = (inertia.tensor[0, 0] + inertia.mass * arm**2) / (inertia.mass * arm)
    m.gravity = (0, 0, -9.81 * length)
    return m


def _errors(run: Trajectory) -> dict[str, float]:
    part = at(run, _TABLE[:, 0])
    down = rot.rotate(part.orientation[:, 0], np.array((0.0, 0.0, -1.0)))
    return {
        "point": largest(down[:, 1:] - _TABLE[:, 3:5]),
        "rate": largest(part.angular_velocity[:, 0, 0] - _TABLE[:, 2]),
    }


CASE = Case(
    name="a01_simple_pendulum",
    title="Simple pendulum (IFToMM A01)",
    source="González et al., IFToMM library of computational benchmark problems; closed form in elliptic functions",
    mechanism=_mechanism,
    duration=4.0,
    dt=2e-3,
    errors=_errors,
    mark=4e-5,
    energy_mark=1e-5,
)
