"""Every example and every python block of the README runs, and its own checks hold."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)


def skip_without_gymnasium(source):
    if "catena.gym" in source or "import gym" in source:
        pytest.importorskip("gymnasium", reason="catena.gym needs gymnasium")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    skip_without_gymnasium(path.read_text(encoding="utf-8"))
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_there_is_something_to_run():
    assert EXAMPLES
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS, ids=range(1, len(BLOCKS) + 1))
def test_readme(block, tmp_path):
    skip_without_gymnasium(block)
    done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
