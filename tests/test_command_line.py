"""`python -m catena`: what it prints, what it writes, and how it fails."""

import re
import sys

import numpy as np
import pytest

import catena
from catena import plot
from catena.__main__ import main

QUICK = ("demo", "--links", "3", "--duration", "2")
PNG = b"\x89PNG"


def test_demo_prints_and_draws(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "demo.png"
    assert main([*QUICK, "--output", str(picture)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"3 links, \d+ steps of \S+ s and order 8: 2 s of motion", out)
    assert f"picture: {picture}" in out
    assert picture.read_bytes().startswith(PNG)
    gap = float(re.search(r"joint gap +(\S+)", out)[1])
    energy = float(re.search(r"energy error .*, (\S+) at most", out)[1])
    assert gap < 1e-12
    # twice the accuracy
    assert energy < 2e-4


@pytest.mark.parametrize("joint", ["ball", "revolute"])
@pytest.mark.parametrize("solver", ["auto", "articulated", "ldu", "dense"])
def test_demo_with_every_solver(joint, solver, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main([*QUICK, "--joint", joint, "--solver", solver, "--output", str(tmp_path / "demo.png")]) == 0
    assert "as fast as the motion" in capsys.readouterr().out


def test_demo_without_matplotlib(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main([*QUICK, "--output", str(tmp_path / "demo.png")]) == 0
    assert "no picture: pictures need matplotlib" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--links", "0"), "at least 1"),
        (("--dt", "-1"), "dt must be a positive number"),
        (("--dt", "nan"), "dt must be a positive number"),
        (("--accuracy", "0"), "accuracy must be a number between"),
        (("--duration", "-1"), "duration"),
    ],
)
def test_bad_numbers_are_a_sentence(options, word, capsys):
    assert main([*QUICK, *options]) == 2
    err = capsys.readouterr().err
    assert err.startswith("catena: ")
    assert word in err
    assert err.count("\n") == 1


def test_bad_command_line():
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--links", "many"])
    assert stopped.value.code == 2


def test_a_step_without_solution_is_a_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--joint", "revolute", "--dt", "1e4", "--duration", "1e5"]) == 1
    err = capsys.readouterr().err
    assert re.match(r"catena: .*t = .* s.*body 'link\d+'", err)


def test_place_that_is_not_there(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main([*QUICK, "--output", str(tmp_path / "nowhere" / "demo.png")]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_unknown_kind_of_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main([*QUICK, "--output", str(tmp_path / "demo.odd")]) == 2
    assert "odd" in capsys.readouterr().err


def test_info(capsys):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert catena.__version__ in out
    assert catena.info()["kernel"] in out


@pytest.mark.parametrize("draw", [plot.motion, plot.energy, plot.energy_error, plot.drift, plot.overview])
@pytest.mark.parametrize("scene", [catena.scenes.heavy_top, catena.scenes.free_body, catena.scenes.tree])
def test_pictures_of_any_mechanism(draw, scene, tmp_path):
    pytest.importorskip("matplotlib")
    run = catena.Simulator(scene(), dt=0.001).run(steps=20)
    draw(run).savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("plane", ["yz", "xz", "xy"])
@pytest.mark.parametrize("name", ["free_body", "heavy_top", "pendulum", "strandbeest", "humanoid", "flyball_governor"])
def test_a_stage_shows_where_the_bodies_are(name, plane):
    pytest.importorskip("matplotlib")
    m = getattr(catena.scenes, name)()
    state = m.state()
    stage = plot.Stage(m, plane=plane, pixels=200)
    pixels = stage.draw(state.position, state.orientation)
    assert pixels.shape == (200, 200, 3)
    assert pixels.dtype == np.uint8
    # the same pose is the same picture, whatever was drawn between
    moved = stage.draw(state.position + 0.1, state.orientation, title="moved", marks=state.position[:1])
    assert (moved != pixels).any()
    assert (stage.draw(state.position, state.orientation) == pixels).all()


def test_a_stage_shows_massless_bodies_as_their_joints():
    pytest.importorskip("matplotlib")
    m = catena.scenes.pendulum(1)
    m.add_body("cross", catena.Inertia.massless(), position=m.bodies["link1"].position)
    lonely = plot.Stage(m).draw(m.state().position, m.state().orientation)
    m.add_joint(catena.Fixed("link1", "cross", at=(0, 0, 0)))
    assert (plot.Stage(m).draw(m.state().position, m.state().orientation) != lonely).any()


def test_all_that_a_chain_reaches_is_on_its_stage():
    pytest.importorskip("matplotlib")
    for angle in (0.0, 1.0, 3.0):
        m = catena.scenes.pendulum(3, angle=angle)
        state = m.state()
        pixels = plot.Stage(m).draw(state.position, state.orientation)
        edge = np.concatenate((pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]))
        # nothing but paper and its grid, both of which are pale
        assert edge.min() > 200
        assert pixels.min() < 100


def test_a_stage_refuses_what_it_cannot_show():
    m = catena.scenes.pendulum(1)
    for plane in ("x", "zz", "xyz", "ab"):
        with pytest.raises(ValueError, match="plane must name two axes"):
            plot.Stage(m, plane=plane)
    with pytest.raises(ValueError, match=r"window must be \(left, right, bottom, top\)"):
        plot.Stage(m, window=(1, 0, 0, 1))


def test_picture_of_a_single_node(tmp_path):
    pytest.importorskip("matplotlib")
    run = catena.Simulator(catena.scenes.pendulum(2), dt=0.01).run(steps=0)
    plot.overview(run).savefig(tmp_path / "picture.png")
