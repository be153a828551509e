"""`python -m catena`: what it prints, what it writes, and how it fails."""

import re
import sys

import pytest

import catena
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
