"""`catena` and `python -m catena`: what they print, what they write, and how they fail."""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import catena
from catena import scenes
from catena.__main__ import _parser, main
from catena.cli import commands

MODELS = Path(__file__).parents[1] / "models"
FOUR_BAR = str(MODELS / "four_bar.urdf")
CHAIN = ("run", "scene:pendulum:3", "--duration", "1")
QUICK = ("demo", "--no-browser", "--duration", "2")


def test_demo_prints_and_plays(tmp_path, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr(commands, "has_screen", lambda: True)
    monkeypatch.setattr(commands.webbrowser, "open", opened.append)
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--duration", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"3 bodies, \d+ steps of \S+ s and order 8: 2 s of motion", out)
    assert f"html: {Path('catena_demo', 'index.html')}" in out
    page = tmp_path / "catena_demo" / "index.html"
    assert opened == [f"{page.as_uri()}#play"]
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    gap = float(re.search(r"joint gap +(\S+)", out)[1])
    energy = float(re.search(r"energy error .*, (\S+) at most", out)[1])
    assert gap < 1e-12
    # of each of the many that a step of this order takes
    solves = float(re.search(r"Newton iterations (\S+)  per solve of the equations of motion", out)[1])
    assert 1 <= solves < 6
    # twice the accuracy
    assert energy < 2e-4
    assert main([*QUICK, "--output", str(tmp_path / "other")]) == 0
    assert len(opened) == 1


def test_demo_as_json(tmp_path, capsys):
    found, _ = answer(capsys, *QUICK, "--output", str(tmp_path / "demo"))
    assert found["bodies"] == 3
    assert found["html"] == str(tmp_path / "demo" / "index.html")


@pytest.mark.parametrize("solver", ["auto", "articulated", "ldu", "dense"])
def test_demo_with_every_solver(solver, tmp_path, capsys):
    assert main([*QUICK, "--solver", solver, "--output", str(tmp_path / "demo")]) == 0
    assert "times real time" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "word"),
    [
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
        main(["demo", "--duration", "long"])
    assert stopped.value.code == 2


def test_a_step_without_solution_is_a_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--no-browser", "--dt", "1e4", "--duration", "1e5"]) == 1
    err = capsys.readouterr().err
    assert re.match(r"catena: .*t = .* s.*body 'link\d+'", err)


def test_place_that_cannot_be(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([*QUICK, "--output", str(tmp_path / "file")]) == 2
    assert "file" in capsys.readouterr().err


def test_info(capsys):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert catena.__version__ in out
    assert catena.info()["kernel"] in out


def answer(capsys, *line, code=0):
    """What a command says in JSON, and on stderr."""
    assert main([*line, "--json"]) == code
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    return json.loads(out), err


def mistake(capsys, *line):
    """The sentence on a mistake: one line, and nothing else but the same as JSON where that was asked for."""
    assert main(line) == 2
    out, err = capsys.readouterr()
    assert out == (json.dumps({"error": err[8:-1], "code": 2}) + "\n" if "--json" in line else "")
    assert err.startswith("catena: ")
    assert err.count("\n") == 1
    return err


# ---- help


def test_without_arguments_it_helps(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "exit codes: 0 success, 1" in out
    for name in ("demo", "run", "view", "report", "bench", "campaign", "info"):
        assert f"\n    {name} " in out


def subparsers():
    (known,) = (action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    return known.choices


@pytest.mark.parametrize("name", subparsers())
def test_help_has_an_example_that_parses(name):
    text = subparsers()[name].format_help()
    assert "example: catena" in text
    for line in re.findall(r"^(?:example:)? +catena (.*)$", text, re.MULTILINE):
        assert line.split()[0] == name
        _parser().parse_args(line.split())


def test_the_module_runs():
    done = subprocess.run([sys.executable, "-m", "catena", "info"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("catena ")
    assert done.stderr == ""


def test_a_reader_that_has_read_enough():
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "catena", "report", "scene:four_bar"]
    done = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")
def test_outputs_that_are_full_or_closed():
    line = f"{sys.executable} -m catena info"
    full = subprocess.run(f"{line} > /dev/full", shell=True, capture_output=True, text=True, check=False)
    assert full.returncode == 1
    assert full.stderr.endswith("No space left on device\n")
    assert "Traceback" not in full.stderr
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(f"{line} {closed}", shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("catena ") == (closed == "2>&-")
        # what is written goes into its file, and what is said of a mistake nowhere else
        wrong = subprocess.run(
            f"{line[:-4]}report scene: {closed}", shell=True, capture_output=True, text=True, check=False
        )
        assert (wrong.returncode, wrong.stdout) == (2, "")


def test_too_little_memory_is_a_sentence():
    pytest.importorskip("resource", reason="no limits on memory here")
    # room for the mechanism, not for the record of its run: where the last bytes run out even the interpreter stumbles
    code = """
import resource, sys
from catena.__main__ import main
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (600 << 20),) * 2)
sys.exit(main(["run", "scene:pendulum:20000", "--dt", "0.01", "--duration", "10", "--json"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("catena: ")
    assert json.loads(done.stdout)["code"] == done.returncode


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (("run", "scene:pendulum:1e300"), 2, "at most 1000000"),
        (("run", "scene:pendulum:inf"), 2, "must be numbers"),
        (("run", "scene:net:1e5:1e300"), 2, "at most 1000000"),
        (("run", "nowhere.urdf"), 2, "nowhere.urdf"),
        (("report", "scene:nothing"), 2, "there is no scene called"),
        (("run", "scene:pendulum", "--dt", "1e-300", "--duration", "1"), 2, "nodes"),
        (("run", "scene:pendulum", "--record-every", "0"), 2, "record_every"),
        (("run", "scene:pendulum", "--order", "1", "--dt", "0.01", "--strict"), 2, "order 1 are not estimated"),
    ],
)
def test_mistakes_are_json_too(line, code, words, capsys):
    assert main([*line, "--json"]) == code
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["code"], words in found["error"]) == (code, True), found
    assert err == f"catena: {found['error']}\n"


def test_words_that_are_none_are_json_too(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["run", "scene:pendulum", "--order", "3", "--json"])
    assert stopped.value.code == 2
    assert json.loads(capsys.readouterr().out)["code"] == 2


# ---- info, report


def test_info_as_json(capsys):
    found, _ = answer(capsys, "info")
    assert found == catena.info()


@pytest.mark.parametrize("model", [FOUR_BAR, str(MODELS / "four_bar.sdf"), str(MODELS / "gripper.xml"), "document"])
def test_report_of_every_kind_of_file(model, tmp_path, capsys):
    if model.endswith(".xml"):
        pytest.importorskip("mujoco")
    if model == "document":
        model = str(tmp_path / "bar.JSON")
        scenes.four_bar().save(model)
    assert main(["report", model]) == 0
    assert "degrees of freedom: 1\n" in capsys.readouterr().out
    found, _ = answer(capsys, "report", model)
    assert found["model"] == model
    assert found["freedom"] == 1
    assert found["redundant_count"] == found["row_count"] - found["rank"]


def test_infinity_is_no_json(capsys):
    # a tree has no singular value that is kept
    found, _ = answer(capsys, "report", "scene:pendulum")
    assert found["smallest_kept"] is None


@pytest.mark.parametrize("command", ["run", "report", "view"])
@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("scene:", "which scene? there are"),
        ("scene:pendulm", "there is no scene called 'pendulm'; did you mean 'pendulum'? there are"),
        ("scene:zzz", "there is no scene called 'zzz'; there are"),
        ("scene:pendulum:0", "n must be at least 1"),
        ("scene:pendulum:many", "scene 'pendulum': n must be numbers"),
        ("scene:pendulum:2.5", "n must be a whole number, got '2.5'"),
        ("scene:pendulum:2:joint=glue", "'revolute' or 'ball'"),
        ("scene:pendulum:2:ball:3", "'3' needs a name before it"),
        ("scene:pendulum:angel=1", "has no 'angel'; did you mean 'angle'?"),
        ("scene:pendulum:angle=nan", "angle must be numbers"),
        ("scene:pendulum:3:n=4", "n is given twice"),
        ("scene:bricard:1", "it takes nothing"),
        ("scene:four_bar:1,2", "lengths must be 3 numbers"),
        ("scene:closed_chain:asymmetric=maybe", "must be true or false"),
        ("scene:minitaur_leg:0,0", "from one and the same point"),
        ("nowhere.urdf", "nowhere.urdf"),
        ("nowhere.json", "nowhere.json: No such file"),
        ("model.txt", "a model is a file that ends in .urdf, "),
        (str(MODELS), "a model is a file that ends in .urdf, "),
    ],
)
def test_models_that_are_none(command, model, words, capsys):
    assert words in mistake(capsys, command, model)


def test_what_scenes_take(capsys):
    assert answer(capsys, "report", "scene:pendulum:4:ball")[0]["freedom"] == 12
    assert answer(capsys, "report", "scene:tree:joint=ball:depth=2")[0]["freedom"] == 9
    assert answer(capsys, "report", "scene:four_bar:1,0.7,1:ground=1")[0]["freedom"] == 1
    assert answer(capsys, "report", "scene:closed_chain:5:asymmetric=true")[0]["body_count"] == 5
    assert answer(capsys, "report", "scene:catenary_chain:span=4")[0]["body_count"] == 10


def test_what_is_not_read_is_one_line(tmp_path, capsys):
    model = tmp_path / "odd.urdf"
    model.write_text(Path(FOUR_BAR).read_text().replace("</robot>", "<transmission/></robot>"))
    found, err = answer(capsys, "report", str(model))
    assert err == f"catena: warning: {found['warnings'][0]}\n"
    assert "not read: robot/transmission" in err


# ---- run


def test_run_tells_what_a_run_tells(capsys):
    found, err = answer(capsys, *CHAIN, "--dt", "0.01", "--order", "4")
    run = catena.Simulator(scenes.pendulum(3), 0.01, order=4).run(1.0)
    assert err == ""
    assert found["model"] == "scene:pendulum:3"
    assert (found["steps"], found["dt"], found["order"], found["accuracy"]) == (100, 0.01, 4, None)
    assert found["energy_error"] == run.energy_error().max()
    assert found["gap"] == run.drift().max()
    assert found["error_of_steps"] == run.error.sum()
    assert found["status"]["ok"]
    assert found["warnings"] == []
    assert found["seconds"] > 0
    assert found["solver"] == "articulated"
    assert found["kernel"] == catena.info()["kernel"]
    assert main([*CHAIN, "--accuracy", "1e-6", "--record-every", "7"]) == 0
    assert "3 bodies, " in capsys.readouterr().out


def test_run_tells_no_energy_error_where_energy_is_taken(tmp_path, capsys):
    m = scenes.pendulum(1)
    m.add_force(catena.Damper(next(iter(m.joints)), 1.0))
    m.save(tmp_path / "damped.json")
    found, _ = answer(capsys, "run", str(tmp_path / "damped.json"), "--duration", "0.1")
    assert found["energy_error"] is found["mean_energy_error"] is None
    assert main(["run", str(tmp_path / "damped.json"), "--duration", "0.1"]) == 0
    assert "energy" not in capsys.readouterr().out


def test_run_writes_what_can_be_seen_again(tmp_path, capsys):
    saved, table, page = tmp_path / "run.npz", tmp_path / "run.csv", tmp_path / "page"
    found, _ = answer(capsys, *CHAIN, "--out", str(saved), "--html", str(page))
    assert found["out"] == str(saved)
    assert found["html"] == str(page / "index.html")
    assert len(catena.Trajectory.load(saved)) == found["steps"] + 1
    assert main([*CHAIN, "--dt", "0.01", "--record-every", "10", "--out", str(saved)]) == 0
    capsys.readouterr()
    assert len(catena.Trajectory.load(saved)) == 11
    assert "<html" in (page / "index.html").read_text()
    assert main([*CHAIN, "--out", str(table)]) == 0
    assert f"out: {table}" in capsys.readouterr().out
    assert table.read_text().startswith("time,link1.x")
    for thing in (str(saved), "scene:four_bar", FOUR_BAR):
        again = tmp_path / "again" / Path(thing).stem
        assert main(["view", thing, "--html", str(again)]) == 0
        assert capsys.readouterr().out == f"html: {again / 'index.html'}\n"


class Page:
    url = "http://here"
    waited = 0

    def wait(self):
        Page.waited += 1


def test_shown_until_it_is_closed(tmp_path, capsys, monkeypatch):
    for kind in (catena.Trajectory, catena.Mechanism):
        monkeypatch.setattr(kind, "show", lambda self: Page(), raising=False)
    saved = str(tmp_path / "run.npz")
    assert main([*CHAIN, "--out", saved, "--show"]) == 0
    assert main(["view", saved]) == 0
    assert main(["view", "scene:four_bar"]) == 0
    assert Page.waited == 3
    assert capsys.readouterr().err.count("shown at http://here until Ctrl-C\n") == 3


def test_what_is_not_installed_is_a_sentence(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    assert main(["view", "scene:four_bar"]) == 1
    assert capsys.readouterr().err.startswith("catena: a view in the browser needs viser")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--dt", "0"), "dt must be a positive number"),
        (("--accuracy", "7"), "accuracy must be a number between"),
        (("--order", "1"), "order 2, 4, 6 or 8"),
        (("--duration", "nan"), "duration must be a finite number"),
        (("--record-every", "0"), "record_every must be a whole number"),
        (("--out", "run.odd"), "--out writes .npz"),
        (("--out", "nowhere/run.npz"), "there is no folder nowhere"),
        (("--html", __file__), "is a file"),
        (("--html", "page.html"), "'page.html' is called like a file"),
        (("--set", "joint1"), "--set takes JOINT=NUMBER, got 'joint1'"),
        (("--set", "joint1=much"), "--set joint1 must be numbers"),
        (("--set", "joint1=1,2"), "has 1 coordinate, got 1,2"),
        (("--set", "joit1=1"), "there is no joint called 'joit1' in this state; did you mean 'joint1'?"),
        (("--set", "joint1=1", "--set", "joint1=2"), "is set twice"),
    ],
)
def test_mistakes_of_a_run(options, words, capsys):
    assert words in mistake(capsys, *CHAIN, *options)


def test_a_saved_run_is_no_model(capsys):
    assert "`catena view` shows it" in mistake(capsys, "run", "run.npz")
    assert "nowhere.npz" in mistake(capsys, "view", "nowhere.npz")


@pytest.mark.parametrize("option", [("--order", "3"), ("--dt", "soon"), ("--solver", "magic"), ("--odd",)])
def test_words_that_are_none(option):
    with pytest.raises(SystemExit) as stopped:
        main([*CHAIN, *option])
    assert stopped.value.code == 2


def test_joints_of_trees_are_set_alone():
    m = scenes.pendulum(3, "ball")
    state = commands.start(m, ["joint1=0.1,0.2,0.3", "joint3=-1,0,0"])
    # the described state has joint1 at 45 degrees, and the others straight
    np.testing.assert_allclose(state.joint("joint1").coordinates, (0.1, 0.2, 0.3), atol=1e-14)
    np.testing.assert_allclose(state.joint("joint2").coordinates, 0, atol=1e-14)
    np.testing.assert_allclose(state.joint("joint3").coordinates, (-1, 0, 0), atol=1e-14)


def test_loops_follow_joints_that_are_set():
    m = catena.Mechanism.from_urdf(FOUR_BAR)
    state = commands.start(m, ["motor=0.4"])
    assert state.joint("motor").angle == pytest.approx(0.4, abs=1e-9)
    # the stand of the assembly's own tests
    assert max(state.joint(name).gap for name in m.joints) < 1e-10


def test_a_pose_that_cannot_be_is_a_sentence(capsys):
    assert "knee" in mistake(capsys, "run", FOUR_BAR, "--set", "knee=3.1")


def test_coarse_steps_warn_and_are_strictly_a_failure(tmp_path, capsys):
    coarse = ("run", "scene:pendulum:5", "--dt", "0.1", "--duration", "5")
    found, err = answer(capsys, *coarse)
    assert err.splitlines() == [f"catena: warning: {sentence}" for sentence in found["warnings"]]
    assert "the steps are too coarse" in err
    saved = tmp_path / "run.npz"
    found, err = answer(capsys, *coarse, "--strict", "--out", str(saved), code=1)
    assert found["status"]["reason"] == "inaccurate"
    assert f"catena: {found['status']['message']}\n" in err
    assert not catena.Trajectory.load(saved).status.ok


def test_other_warnings_and_errors_stay_what_they_are(monkeypatch):
    def broken(model):
        raise KeyError(model)

    monkeypatch.setattr(commands, "load", broken)
    with pytest.raises(KeyError):
        main(["report", "scene:four_bar"])


def test_a_failed_run_says_so_in_json(capsys):
    found, err = answer(capsys, "run", "scene:pendulum:10", "--dt", "1e4", "--duration", "1e5", code=1)
    assert not found["status"]["ok"]
    assert err == f"catena: {found['status']['message']}\n"


def test_interrupted(capsys, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(catena.Simulator, "run", stopped)
    assert main([*CHAIN]) == 130
    assert capsys.readouterr() == ("", "catena: interrupted\n")


# ---- bench


def test_bench_as_json(tmp_path, capsys, monkeypatch):
    row = {"links": 1, "ns_per_link_step": 2.0}
    for part in ("chain", "loops", "batch", "start_up"):
        monkeypatch.setattr(f"catena.cli.bench.{part}", lambda *_: iter([row]))
    found, _ = answer(capsys, "bench", "--output", str(tmp_path))
    assert found["chain"] == [row]
    assert (tmp_path / "loops.csv").read_text().splitlines() == ["links,ns_per_link_step", "1,2.0"]
    assert main(["bench"]) == 0
    assert "\nstart_up\nlinks  ns_per_link_step\n" in capsys.readouterr().out
    assert str(tmp_path / "loops.csv") in mistake(capsys, "bench", "--json", "--output", str(tmp_path / "loops.csv"))


# ---- bars


def test_long_work_shows_how_far_it_is(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for part in ("chain", "loops", "batch", "start_up"):
        monkeypatch.setattr(f"catena.cli.bench.{part}", lambda *_: iter([{"links": 1}]))
    assert main([*CHAIN]) == 0
    assert "] 100 %" in capsys.readouterr().err
    assert main(["bench"]) == 0
    # the parts of the other tables are said to have more rows
    assert capsys.readouterr().err.count("%") == 8
    assert main(["campaign", "--count", "2", "--out", str(tmp_path)]) == 0
    assert re.search(r"\] +50 %.*\] 100 %", capsys.readouterr().err)


# ---- lines that nobody would type


WORDS = (
    "1e300",
    "-1",
    "0",
    "nan",
    "inf",
    "1e-300",
    "",
    " ",
    "a=b",
    "joint1=1",
    "joint1=1,2",
    "=",
    "\ud800",
    "\0",
    "/",
    ".",
    "x" * 300,
)
OPTIONS = ("--dt", "--duration", "--accuracy", "--order", "--set", "--record-every", "--solver", "--out", "--html")
MODEL_WORDS = (
    "scene:pendulum",
    "scene:pendulum:2",
    "scene:four_bar",
    "scene:",
    "scene:pendulum:",
    "scene:pendulum:n=2:n=3",
)


@pytest.mark.parametrize("seed", range(4))
def test_no_line_is_answered_with_a_traceback(seed, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(seed)
    for _ in range(40):
        line = [draw.choice(("run", "report", "view", "demo", "info")), "--json"]
        if line[0] == "view":
            line[1:] = ["--html", "page"]
        if line[0] == "demo":
            line += ["--no-browser", "--duration", "0.1"]
        elif line[0] != "info":
            line.append(
                draw.choice((*MODEL_WORDS, *MODEL_WORDS, *WORDS))
                + draw.choice(("", "", ":", ":1e300", ".urdf", ".npz", ".json"))
            )
        if line[0] == "run":
            line += ["--duration", "0.1", "--dt", "0.01"]
            for option in draw.sample(OPTIONS, draw.randrange(4)):
                line += [option, draw.choice(WORDS)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                code = main(line)
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert code in (0, 1, 2), line
        assert "Traceback" not in err, line
        if "--json" in line:
            assert (code == 0) or json.loads(out), line
