"""The cost of a step grows linearly with the number of links, counted in instructions, not in seconds."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import catena

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "count_instructions.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("valgrind"), reason="counting instructions needs valgrind"),
]


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """Rows of the count at 100 and 1000 links, by (solver, links)."""
    output = tmp_path_factory.mktemp("count") / "instructions.csv"
    # valgrind does not know all instructions of the newer kernels
    kernel = catena.info()["kernels"][0]
    command = [sys.executable, str(SCRIPT), "--links", "100", "1000", "--kernel", kernel, "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert output.exists(), done.stderr
    with output.open(newline="") as file:
        return {(row["solver"], int(row["links"])): row for row in csv.DictReader(file)}


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("column", ["instructions_per_link_step", "instructions_per_link_iteration"])
def test_ten_times_the_links_cost_ten_times_the_instructions(counts, solver, column):
    small, large = (float(counts[solver, links][column]) for links in (100, 1000))
    assert small > 0
    assert large == pytest.approx(small, rel=0.1)
