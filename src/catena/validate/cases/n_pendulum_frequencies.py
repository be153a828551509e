"""Small oscillations of a hanging chain of ten boxes: all ten frequencies from one run.

Samples s apart obey q(t + s) + q(t - s) = C q(t), where C has the eigenvalues 2 cos(w s).
"""

from __future__ import annotations

import numpy as np

from ... import scenes
from ...describe.mechanism import Mechanism
from ...results.trajectory import Trajectory
from ..case import Case, largest, reference

_COUNT, _APART = 10, 0.1
_EXACT = np.array(reference("n_pendulum_frequencies")["boxes_0.1x0.1x1"]["omega"][str(_COUNT)])


def _mechanism() -> Mechanism:
    """Angles of 1e-5 rad: what is not linear in them is of 1e-10."""
    m = scenes.pendulum(_COUNT, angle=0.0)
    state = m.state()
    rng = np.random.default_rng(_COUNT)
    for name in m.joints:
        state.joint(name).coordinates = 1e-5 * rng.normal(size=1)
    for name, body in m.bodies.items():
        body.position, body.orientation = state.body(name).position, state.body(name).orientation
    return m


def _errors(run: Trajectory) -> dict[str, float]:
    angles = 2 * run.orientation[:: round(_APART / run.dt), :, 1]
    map_, *_ = np.linalg.lstsq(angles[1:-1], angles[2:] + angles[:-2], rcond=None)
    cosines = np.sort(np.linalg.eigvals(map_).real)[::-1] / 2
    return {"frequencies, relative": largest(np.arccos(cosines) / _APART / _EXACT - 1)}


CASE = Case(
    name="n_pendulum_frequencies",
    title="Frequencies of a chain of ten",
    source="D. Bernoulli 1733; Gantmacher and Krein; symmetric eigenproblem",
    mechanism=_mechanism,
    duration=20.0,
    dt=0.01,
    errors=_errors,
    mark=2e-3,
    unit="",
)
