"""The subcommands `modes` and `torques` print what Dynamics finds."""

from __future__ import annotations

import json

import numpy as np
import pytest

import catena as ct
from catena.__main__ import main


def test_modes_of_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["modes", "scene:pendulum:3"]) == 0
    text = capsys.readouterr().out.splitlines()
    m = ct.scenes.pendulum(3)
    found = ct.Dynamics(m).modes(m.equilibrium())
    assert [float(line.split()[1]) for line in text[1:4]] == pytest.approx(found.frequencies, abs=1e-4)
    assert main(["modes", "scene:pendulum:3", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["frequency"] for row in answer["modes"]] == pytest.approx(found.frequencies, rel=1e-9)
    assert [row["mode"] for row in answer["modes"]] == [0, 1, 2]


def test_efforts_that_hold_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["torques", "scene:pendulum:2", "--set", "joint1=0.5", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    m = ct.scenes.pendulum(2)
    state = m.state()
    state.joint("joint1").angle = 0.5
    assert list(answer["efforts"].values()) == pytest.approx(ct.Dynamics(m).gravity(state), rel=1e-12)
    assert list(answer["efforts"]) == ["joint1.angle", "joint2.angle"]
    assert main(["torques", "scene:free_body"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[-1] for line in lines] == ["N"] * 3 + ["m"] * 3
    assert np.all([np.isfinite(float(line[1])) for line in lines])


def test_what_falls_has_no_modes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["modes", "scene:cart_pole", "--set", "rail=0.1"]) == 0
    assert main(["torques", "scene:pendulm"]) == 2
    assert "did you mean 'pendulum'" in capsys.readouterr().err
