"""What a notebook shows, and tables of a run for other tools."""

import csv
import subprocess
import sys

import numpy as np
import pytest

import catena as ct
from catena import plot


def run() -> ct.Trajectory:
    m = ct.scenes.pendulum(2, "ball")
    m.add_body("sled", ct.box((0.1, 0.2, 0.3), mass=1.0), position=(3, 0, 0))
    m.add_joint(ct.Cylindrical("world", "sled", axis=(1, 0, 0), at=(3, 0, 0), name="rail"))
    state = m.state()
    state.joint("rail").rates = (0.5, 1.0)
    state.joint("joint1").coordinates = (0.1, 0.2, 0.3)
    return ct.Simulator(m, 0.01).run(steps=7, state=state)


def expected(trajectory: ct.Trajectory) -> dict[str, np.ndarray]:
    sled, rail, ball = trajectory.body("sled"), trajectory.joint("rail"), trajectory.joint("joint1")
    return {
        "sled.x": sled.position[:, 0],
        "sled.qw": sled.orientation[:, 0],
        "sled.qz": sled.orientation[:, 3],
        "sled.vy": sled.velocity[:, 1],
        "link2.wz": trajectory.body("link2").angular_velocity[:, 2],
        "rail.displacement": rail.coordinates[:, 0],
        "rail.angle.rate": rail.rates[:, 1],
        "joint1.2": ball.coordinates[:, 2],
        "joint1.0.rate": ball.rates[:, 0],
    }


def test_csv_has_a_named_column_for_every_number(tmp_path):
    trajectory = run()
    trajectory.to_csv(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="", encoding="utf-8") as file:
        names, *rows = list(csv.reader(file))
    table = dict(zip(names, np.array(rows, dtype=float).T, strict=True))
    assert names[:3] == ["time", "link1.x", "link1.y"]
    assert len(names) == 1 + 3 * 13 + 2 * (3 + 3 + 2)
    np.testing.assert_array_equal(table["time"], trajectory.time)
    for name, values in expected(trajectory).items():
        np.testing.assert_array_equal(table[name], values)


def test_csv_needs_no_other_library(tmp_path):
    code = (
        "import sys; sys.modules.update(pandas=None, xarray=None); import catena as ct; "
        f"ct.Simulator(ct.scenes.pendulum(1), 0.01).run(steps=2).to_csv(r'{tmp_path / 'run.csv'}')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert len((tmp_path / "run.csv").read_text().split()) == 4


def test_a_body_and_a_joint_of_one_name_keep_their_columns_apart(tmp_path):
    m = ct.Mechanism()
    m.add_body("a", ct.sphere(0.1, mass=1.0))
    m.add_joint(ct.Planar("world", "a", axis=(0, 0, 1), at=(0, 0, 0), name="a"))
    with pytest.raises(ValueError, match=r"two columns would be called 'a\.x': a body and a joint share a name"):
        ct.Simulator(m, 0.01).run(steps=1).to_csv(tmp_path / "run.csv")
    assert not (tmp_path / "run.csv").exists()


def test_dataframe():
    pytest.importorskip("pandas")
    trajectory = run()
    frame = trajectory.to_dataframe()
    assert frame.index.name == "time"
    np.testing.assert_array_equal(frame.index, trajectory.time)
    for name, values in expected(trajectory).items():
        np.testing.assert_array_equal(frame[name], values)


def test_dataset():
    pytest.importorskip("xarray")
    trajectory = run()
    data = trajectory.to_xarray()
    np.testing.assert_array_equal(data.position.sel(body="sled", axis="y"), trajectory.body("sled").position[:, 1])
    np.testing.assert_array_equal(data.rate.sel(joint_coordinate="rail.angle"), trajectory.joint("rail").rates[:, 1])
    np.testing.assert_array_equal(data.time, trajectory.time)
    assert data.velocity.attrs["units"] == "m/s"


def test_without_the_libraries_a_sentence_says_what_to_install(monkeypatch):
    trajectory = run()
    for library, ask in (("pandas", trajectory.to_dataframe), ("xarray", trajectory.to_xarray)):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=f"needs {library}, which is not installed: pip install {library}"):
            ask()


# ---- notebooks


def test_pictures_show_themselves_and_choose_no_backend():
    pytest.importorskip("matplotlib")
    code = (
        "import sys, catena as ct; from catena import plot; "
        "png = plot.overview(ct.Simulator(ct.scenes.pendulum(1), 0.01).run(steps=2))._repr_png_(); "
        "assert png[:8] == bytes((137, 80, 78, 71, 13, 10, 26, 10)) and len(png) > 5000; "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    for draw in (plot.motion, plot.energy, plot.energy_error, plot.drift, plot.coordinates, plot.reactions):
        assert draw(run())._repr_png_()[1:4] == b"PNG"
    for draw in (plot.mechanism, plot.graph, plot.sparsity):
        assert draw(run().mechanism)._repr_png_()[1:4] == b"PNG"


def test_tables_hold_what_there_is_and_escape_names():
    m = ct.Mechanism()
    m.add_body("<script>", ct.box((1, 1, 1), mass=2.5), position=(1, 2, 3))
    m.add_body("b & c", ct.Inertia(1.0, (1, 1, 1)))
    m.add_joint(ct.Revolute("world", "<script>", axis=(0, 1, 0), at=(0, 0, 0), name='"hinge"'))
    m.add_force(ct.Spring('"hinge"', 3.0, name="<b>"))
    m.add_coupling(ct.PrescribedMotion('"hinge"', abs, name="<i>"))
    trajectory = ct.Simulator(m, 0.01).run(steps=2)
    shown = [item._repr_html_() for item in (m, m.state(), trajectory, m.report())]
    for html in shown:
        assert "<table>" in html
        assert "<script>" not in html
        assert "<b>" not in html
        assert "<i>" not in html
    for html in shown[:3]:
        assert "&lt;script&gt;" in html
        assert "b &amp; c" in html
    assert "2.5" in shown[0]
    assert "&quot;hinge&quot;" in shown[0]
    assert "degrees of freedom" in shown[3]


def test_long_tables_are_cut_short():
    m = ct.scenes.pendulum(200)
    for item in (m, m.state(), ct.Simulator(m, 0.01).run(steps=1)):
        html = item._repr_html_()
        assert len(html) < 20_000
        assert "... 180 more" in html


def test_nothing_is_shown_of_nothing():
    assert "0 bodies" in ct.Mechanism()._repr_html_()
    assert "State at t = 0 s" in ct.Mechanism().state()._repr_html_()
