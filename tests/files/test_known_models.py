"""Models that others made: each is read, assembled, and runs for ten seconds with its joints closed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import catena as ct
from known_models import MODELS, MissingModelError, Model, wheel


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
    run = ct.Simulator(m, dt=model.dt, limits="ignore").run(duration=10, state=state)
    # rounding of places that are up to 500 m away after ten seconds of falling
    assert run.drift()[1:].max() < 1e-12
    assert run.loop_mismatch().max() < m.loop_tolerance
    assert np.isfinite(run.position).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::catena.ModelWarning")
def test_robots_of_a_whole_wheel_are_read_and_written(tmp_path: Path) -> None:
    """Where a file is refused, an error names it; the others survive being written."""
    try:
        files = sorted(wheel("example-robot-data").rglob("*.urdf"))
    except MissingModelError as missing:
        pytest.skip(str(missing))
    read = 0
    for file in files:
        try:
            m = ct.Mechanism.from_urdf(file)
        except ValueError as error:
            if not str(error).startswith(str(file)):
                raise
            continue
        read += 1
        m.to_urdf(tmp_path / "again.urdf")
        again = ct.Mechanism.from_urdf(tmp_path / "again.urdf")
        before, after = m.state(), again.state()
        for name in m.bodies:
            np.testing.assert_allclose(after.body(name).position, before.body(name).position, atol=1e-9)
    assert read > 0.9 * len(files)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::catena.ModelWarning")
def test_robots_of_a_whole_wheel_float_where_they_stand() -> None:
    """The root is at the origin, and every frame where the welded robot has it, merged or not."""
    try:
        files = sorted(wheel("example-robot-data").rglob("*.urdf"))
    except MissingModelError as missing:
        pytest.skip(str(missing))
    compared = 0
    for file in files:
        try:
            welded = ct.Mechanism.from_urdf(file)
        except ValueError:
            continue
        root = next((joint.b.name for joint in welded.joints.values() if joint.name.endswith(" to world")), None)
        if root is None:
            continue
        compared += 1
        stands = welded.state()
        for merge_fixed in (False, True):
            floats = ct.Mechanism.from_urdf(file, floating=True, merge_fixed=merge_fixed).state()
            position, orientation = floats.frame(root)
            # rounding of where the center of mass is
            np.testing.assert_allclose(position, 0, atol=1e-15, err_msg=str(file))
            np.testing.assert_array_equal(orientation, (1, 0, 0, 0), err_msg=str(file))
            for name in welded.bodies:
                for one, other in zip(floats.frame(name), stands.frame(name), strict=True):
                    np.testing.assert_allclose(one, other, atol=1e-12, err_msg=f"{file}: {name}")
    assert compared > 40
