"""Every example and every python block of the README and of docs/viewing.md runs, and its own checks hold."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TEXTS = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/viewing.md")]
BLOCKS = [block for text in TEXTS for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)]


def skip_without_what_it_needs(source):
    if "catena.gym" in source or "import gym" in source:
        pytest.importorskip("gymnasium", reason="catena.gym needs gymnasium")
    if ".show(" in source:
        pytest.importorskip("viser", reason="show() needs viser")


def without_a_screen() -> dict[str, str]:
    """No window of a browser is to open."""
    return {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    skip_without_what_it_needs(path.read_text(encoding="utf-8"))
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_there_is_something_to_run():
    assert EXAMPLES
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS, ids=range(1, len(BLOCKS) + 1))
def test_blocks(block, tmp_path):
    skip_without_what_it_needs(block)
    command = [sys.executable, "-c", block]
    done = subprocess.run(command, cwd=tmp_path, env=without_a_screen(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
