"""The report: one folder with everything, measured once, whose sentences follow its numbers."""

import argparse
import json
import os
import re
import socket
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena_paper import command, published, report
from catena_paper.elimination import stacked_work
from catena_paper.figure import line, power
from catena_paper.figures import FIGURES
from catena_paper.setups import PUBLISHED_ACROSS, pendulum
from catena_paper.timing import race

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The whole report at tiny sizes."""
    place = tmp_path_factory.mktemp("report")
    assert report.write(place, level="tiny", silent=True) == 0
    return place


# ---- one folder with everything


def test_every_figure_has_its_numbers_its_picture_and_its_findings(folder):
    words = (folder / "report.md").read_text(encoding="utf-8")
    page = (folder / "report.html").read_text(encoding="utf-8")
    for letter, figure in FIGURES.items():
        rows = report.read_rows(folder / f"{letter}.csv")
        findings = figure.findings(rows, published.load(figure.published))
        assert findings
        for word, sentence in findings:
            assert f"- **{word}**: {sentence}" in words
            assert not re.search(r"\bnan\b|\binf\b", sentence), sentence
        assert figure.table(rows, published.load(figure.published))
        assert (folder / f"{letter}.png").read_bytes().startswith(b"\x89PNG")
        assert f"]({letter}.png)" in words
        assert f"]({letter}.csv)" in words
        assert f'id="{letter}"' in page
    assert sorted(FIGURES) == list("abcdefghijk")
    assert list(FIGURES) == sorted(FIGURES)


def test_the_page_stands_alone_and_is_small(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == len(FIGURES)
    # the letters of pictures may spell anything
    assert "http" not in re.sub(r"base64,[A-Za-z0-9+/=]*", "", page)
    assert len(page) < 2_000_000


def test_the_report_names_the_machine_and_no_host_or_path(folder):
    words = (folder / "report.md").read_text(encoding="utf-8")
    about = json.loads((folder / "c.json").read_text(encoding="utf-8"))
    for fact in about["machine"].values():
        assert fact in words
    assert "kernel" in about["machine"]["catena"]
    for secret in (socket.gethostname(), str(Path.home()), str(folder), os.getcwd()):
        for name in ("report.md", "report.html", "c.json"):
            assert secret not in (folder / name).read_text(encoding="utf-8") or len(secret) < 3


# ---- measured once


def counted(monkeypatch, letter, measure=None):
    """Count how often a figure is measured."""
    figure, calls = FIGURES[letter], []

    def counting(sizes, progress):
        calls.append(sizes)
        yield from (measure or figure.measure)(sizes, progress)

    monkeypatch.setitem(FIGURES, letter, replace(figure, measure=counting))
    return calls


def test_what_is_measured_with_the_same_settings_is_kept(tmp_path, monkeypatch):
    calls = counted(monkeypatch, "d")
    for _ in range(2):
        report.write(tmp_path, level="tiny", figures=["d"], silent=True)
    assert len(calls) == 1
    report.write(tmp_path, level="quick", figures=["d"], silent=True)
    assert len(calls) == 2
    assert "1, 10, 100 links" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_report_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    def interrupted(sizes, progress):
        yield {"kind": "sleigh"}
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        counted(patched, "j", interrupted)
        with pytest.raises(KeyboardInterrupt):
            report.write(tmp_path, level="tiny", figures=["d", "j"], silent=True)
    assert (tmp_path / "d.json").exists()
    assert not (tmp_path / "j.csv").exists()
    calls = counted(monkeypatch, "d")
    report.write(tmp_path, level="tiny", figures=["d", "j"], silent=True)
    assert not calls
    assert "(j)" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_rows_come_back_from_their_file_as_they_were(tmp_path):
    rows = [{"name": "a, b", "n": 3, "x": 0.1234567}, {"name": "c", "n": 4, "y": float("nan")}]
    report.write_rows(tmp_path / "x.csv", rows)
    first, second = report.read_rows(tmp_path / "x.csv")
    assert first == {"name": "a, b", "n": 3, "x": 0.1234567, "y": ""}
    assert second["n"] == 4
    assert np.isnan(second["y"])


def test_the_command_knows_its_figures(tmp_path, capsys):
    parser = argparse.ArgumentParser()
    command.add_to(parser.add_subparsers())
    args = parser.parse_args(["paper", "--figure", "z", "--output", str(tmp_path)])
    with pytest.raises(ValueError, match=r"there is no figure 'z'; there are a, b, c"):
        args.run(args)
    args = parser.parse_args(["paper", "--quick", "--figure", "d", "--output", str(tmp_path / "new")])
    assert args.run(args) == 0
    out, err = capsys.readouterr()
    assert "(d) reproduced: quadratic for 1, 10, 100 links" in out
    assert "100 %" in err


# ---- what it is compared with


@pytest.mark.parametrize(
    ("name", "curve", "x", "y"),
    [
        ("step_time", "sparse", 10, 0.05482399),
        ("step_time", "dense", 2, 0.058401),
        ("convergence", "100", 2, 4.29e-13),
        ("pendulums", "maximal revolute", 100, 2.0),
        ("pendulums", "minimal ball", 20, 0.345),
        ("closed_chains", "maximal ball", 101, 2.04),
        ("closed_chains", "minimal revolute", 3, 0.0221),
        ("segmented_chains", "maximal revolute", 40, 1.34),
        ("tolerance", "maximal 1e-6", 1, 0.0075664),
        ("tolerance", "second order 1e-8", 86, 0.647635),
        ("tolerance", "third order 1e-10", 12, 0.211639),
    ],
)
def test_published_points_are_those_of_the_paper(name, curve, x, y):
    at, value = published.load(name)[curve]
    assert value[at == x] == pytest.approx([y], rel=1e-12)


def test_published_failures_are_gaps():
    x, y = published.load("tolerance")["second order 1e-10"]
    assert np.isnan(y[x >= 30]).all()
    assert np.isfinite(y[x < 30]).all()
    text = Path(published.__file__).with_name("tolerance.csv").read_text(encoding="utf-8")
    assert "Brüdigam" in text
    assert "arXiv:2002.11245" in text


def test_pendulums_have_the_published_inertia():
    tensor = pendulum(2).bodies["link2"].inertia.tensor
    assert tensor[0, 0] == pytest.approx(0.0845833, abs=1e-7)
    assert tensor[0, 0] == PUBLISHED_ACROSS
    assert ct.cylinder(0.05, 1.0, mass=1.0).inertia.tensor[0, 0] == pytest.approx(0.0839583, abs=1e-7)


def test_work_is_counted_as_catena_counts_it():
    """On open chains and single loops both orders are the same; rhombi in a row part them."""
    for mechanism in (ct.scenes.pendulum(10), ct.scenes.four_bar(), ct.scenes.closed_chain(11)):
        own = ct.Simulator(mechanism, 0.01, solver="ldu").info()["estimated_work"]["ldu"]
        assert stacked_work(mechanism) == own
    work = [stacked_work(ct.scenes.segmented_chain(k)) for k in (20, 40)]
    assert 2.5 < np.log2(work[1] / work[0]) < 3


# ---- clocks and lines


def test_a_race_takes_turns_and_takes_off_what_a_call_costs():
    order = []

    def runner(name, fixed, each):
        def run(steps):
            order.append(name)
            end = time.thread_time() + fixed + each * steps
            while time.thread_time() < end:
                pass

        return run

    times = race({"a": runner("a", 2e-3, 1e-4), "b": runner("b", 0.0, 2e-4)}, 20, rounds=3, seconds=0.0)
    assert order == ["a", "a", "b", "b"] * 3
    # a clock of microseconds and a busy machine: the best of three is near
    assert times["a"] == pytest.approx(2e-3, rel=0.2)
    assert times["b"] == pytest.approx(4e-3, rel=0.2)


def test_lines_and_powers():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    assert line(x, 3 + 2 * x) == pytest.approx((2, 3, 1))
    assert line(x, np.array([1.0, -1.0, 1.0, -1.0])).r2 < 0.5
    assert line(x, np.full(4, 5.0)) == pytest.approx((0, 5, 1))
    assert power(x, 5 * x**3) == pytest.approx(3)
