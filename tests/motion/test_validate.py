"""`catena validate`: every benchmark problem of the field reaches its marks, and what is printed can be read back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from catena.__main__ import main
from catena.validate import table
from catena.validate.case import measure, reference
from catena.validate.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_a_problem_reaches_its_marks(name: str) -> None:
    outcome = measure(CASES[name])
    assert outcome.failures == []
    assert outcome.name == name
    # marks are worth something: about twice what is reached; of what is at rest, rounding is left
    if not CASES[name].static:
        assert outcome.error > 0.2 * outcome.mark


@pytest.mark.parametrize("order", [4, 6])
def test_problems_at_higher_orders(order: int) -> None:
    case = CASES["double_pendulum"]
    outcome = measure(replace(case, order=order, dt=0.02, mark=1e-6))
    assert outcome.failures == []


def test_references_say_where_they_come_from() -> None:
    for path in (Path(table.__file__).parent / "data").glob("*.json"):
        assert reference(path.stem)["provenance"], path.stem


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mark": 1e-9}, "exceeds 1e-09"),
        ({"energy_mark": 1e-9}, "energy error is"),
        ({"order": 4, "errors": lambda run: {"first": run.dt}}, "order 1.00 instead of 4"),
        ({"kept": lambda run: {"height": run.position[:, 0, 2]}}, "height changes by"),
    ],
)
def test_what_is_missed_is_named(change: dict[str, object], words: str) -> None:
    outcome = measure(replace(CASES["a01_simple_pendulum"], **change))  # type: ignore[arg-type]
    assert not outcome.passed
    assert words in "; ".join(outcome.failures)
    assert "NO: " in table.text([outcome])


def test_json_is_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "heavy_top", "catenary", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True
    top, chain = found["problems"]
    assert (top["name"], chain["name"]) == ("heavy_top", "catenary")
    assert top["observed_order"] == pytest.approx(2, abs=0.05)
    assert chain["observed_order"] is None
    assert [other["program"] for other in top["published"]] == [other.program for other in CASES["heavy_top"].published]
    assert top["error"] <= top["mark"]


def test_a_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "validation.html"
    assert main(["validate", "rolling_disk", "--html", str(page)]) == 0
    assert "1 of 1 problems pass" in capsys.readouterr().out
    assert "Rolling coin" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no_such"], "there is no problem 'no_such'; there are a01_simple_pendulum, "),
        (["heavy_top", "--html", "no/such/folder.html"], "name a file in a folder that exists"),
    ],
)
def test_what_makes_no_sense_is_said(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_manual_lists_every_problem() -> None:
    page = (Path(__file__).parents[2] / "docs" / "validation.md").read_text("utf-8")
    assert f"{len(CASES)} of {len(CASES)} problems pass." in page
    for case in CASES.values():
        assert page.count(f"| {case.title} |") >= 2, case.name
