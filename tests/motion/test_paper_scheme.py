"""The paper's discrete scheme itself: angles of an independent planar implementation, for both ways to start."""

from __future__ import annotations

import json
from math import pi
from pathlib import Path

import numpy as np
import pytest

from catena import Simulator, Trajectory, scenes

RUNS = json.loads((Path(__file__).parents[1] / "data" / "paper_scheme_planar.json").read_text())["runs"]
LINKS = {"single box from horizontal": 1, "double box from horizontal": 2}
STARTS = {"naive": 1, "symmetric": 2}


def planar_angles(run: Trajectory) -> np.ndarray:
    """Angle (step, link) of every link from straight down, about world x."""
    return 2 * np.arctan2(run.orientation[..., 1], run.orientation[..., 0])


def label(case: dict) -> str:
    return f"{case['mechanism'].split()[0]}-{case['start']}-{case['h']}"


def test_the_data_hold_every_case() -> None:
    assert len({label(case) for case in RUNS}) == len(LINKS) * len(STARTS) * 2


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
@pytest.mark.parametrize("case", RUNS, ids=label)
def test_angles_of_the_paper(case: dict, solver: str) -> None:
    h, angles = case["h"], case["angles"]
    m = scenes.pendulum(LINKS[case["mechanism"]], angle=pi / 2)
    run = Simulator(m, h, solver=solver, order=STARTS[case["start"]], tolerance=1e-12).run(2.0)
    found = planar_angles(run)[[round(float(t) / h) for t in angles]]
    expected = np.array(list(angles.values()))

    # the links stay within half a turn, so the angles need no unwrapping
    assert np.abs(expected).max() < 3

    # the promise; measured 4e-11 with the articulated solver and 1e-12 with the other two
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_default_tolerance_is_enough() -> None:
    case = next(case for case in RUNS if label(case) == "double-symmetric-0.01")
    run = Simulator(scenes.pendulum(2, angle=pi / 2), 0.01).run(2.0)
    for t, expected in case["angles"].items():
        # 200 steps, each within the default 1e-10 rad/s times dt
        np.testing.assert_allclose(planar_angles(run)[round(float(t) / 0.01)], expected, rtol=0, atol=1e-9)


def test_the_starts_differ_by_a_step() -> None:
    """From rest the paper's start stands still for a step: at first it lags by half a step."""
    m = scenes.pendulum(1, angle=pi / 2)
    paper = planar_angles(Simulator(m, 0.01, order=1).run(steps=2))[:, 0]
    symmetric = planar_angles(Simulator(m, 0.01).run(steps=2))[:, 0]
    assert paper[1] == pytest.approx(pi / 2, abs=1e-14)

    # falls of k (k + 1)/2 against k^2/2 equal parts; the slope of the torque is of order (fall)^2
    fall = pi / 2 - paper[2]
    np.testing.assert_allclose((pi / 2 - symmetric)[1:], (fall / 2, 2 * fall), rtol=1e-3)
