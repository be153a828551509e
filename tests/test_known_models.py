"""Models that others made: each is read, assembled, and runs for ten seconds with its joints closed."""

from __future__ import annotations

import numpy as np
import pytest
from known_models import MODELS, MissingModelError, Model

import catena as ct


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_model_runs_and_stays_closed(model: Model) -> None:
    try:
        path = model.path()
    except MissingModelError as missing:
        pytest.skip(str(missing))
    if path.suffix == ".xml":
        pytest.importorskip("mujoco", reason="MJCF is compiled by MuJoCo")
    m = model.load()
    state = model.set_up(m)
    report = m.report(state)
    assert bool(report.loops) == model.has_loops
    assert report.freedom > 0
    run = ct.Simulator(m, dt=model.dt).run(duration=10, state=state)
    # rounding of places that are up to 500 m away after ten seconds of falling
    assert run.drift()[1:].max() < 1e-12
    assert run.misfit().max() < m.fit
    assert np.isfinite(run.position).all()
