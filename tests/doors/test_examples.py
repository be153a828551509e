"""Every example, and every block of code in the README and the manual, runs, and its own checks hold."""

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import catena

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "gallery" not in path.parts)]

# words in a script, and the package that it then needs
NEEDS = {
    r"\bplot\.|matplotlib": "matplotlib",
    r"to_dataframe|pandas": "pandas",
    r"to_xarray|xarray|open_sweep": "xarray",
    r"parquet": "pyarrow",
    r"\bdask\b": "distributed",
    r"ct\.sample\(|from scipy": "scipy",
    r"\bgym\b|gymnasium": "gymnasium",
    r"mjcf|mujoco": "mujoco",
    r"\.show\(": "viser",
}


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def scripts(page):
    """What a reader runs: a block that imports begins anew, those after it go on."""
    found = []
    for block in blocks(page, "python"):
        if re.search(r"^(import|from) ", block, re.M):
            found.append(block)
        else:
            found[-1] += block
    return found


def saved(page):
    """Files that a reader is told to save."""
    told = re.findall(
        r"^Save this \w+ as `([\w.]+)`[^\n]*\n+```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
    )
    return dict(told)


SCRIPTS = [
    pytest.param(script, saved(page), id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, script in enumerate(scripts(page), 1)
]
COMMANDS = [
    pytest.param(block, saved(page), id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page, "sh"), 1)
    if block.startswith("catena ")
]


def run(command, folder):
    # no window of a browser is to open
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    # workers of Dask log whom they no longer find while a cluster closes
    environment["DASK_LOGGING__DISTRIBUTED"] = "critical"
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def skip_without_what_it_needs(source):
    for words, package in NEEDS.items():
        if re.search(words, source) and find_spec(package) is None:
            pytest.skip(f"needs {package}")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    skip_without_what_it_needs(path.read_text(encoding="utf-8"))
    run([sys.executable, "-W", "error", str(path)], tmp_path)
    assert (tmp_path / f"{path.stem}.png").exists()


def test_notebook(tmp_path):
    cells = json.loads((ROOT / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    script = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    skip_without_what_it_needs(script)
    run([sys.executable, "-W", "error", "-c", script], tmp_path)
    assert not any(cell.get("outputs") for cell in cells)


def save(files, folder):
    for name, source in files.items():
        (folder / name).write_text(source, encoding="utf-8")


@pytest.mark.parametrize(("script", "files"), SCRIPTS)
def test_script(script, files, tmp_path):
    skip_without_what_it_needs(script)
    save(files, tmp_path)
    run([sys.executable, "-W", "error", "-c", script], tmp_path)


@pytest.mark.parametrize(("block", "files"), COMMANDS)
def test_commands(block, files, tmp_path):
    save(files, tmp_path)
    lines = re.sub(r"^catena ", f"{shlex.quote(sys.executable)} -m catena ", block, flags=re.M)
    run(["bash", "-euc", lines], tmp_path)


def test_the_reference_names_all_there_is():
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    named = set(re.findall(r"auto(?:class|function|module):: catena\.(\w+)$", text, re.M))
    offered = {name for name in vars(catena) if not name.startswith("_")}
    inside = {name for name in offered - named if inspect.ismodule(getattr(catena, name))}
    assert offered - named == inside


def test_every_page_is_in_the_manual():
    listed = {
        (page.parent / re.sub(r".*<(.*)>$", r"\1", entry)).resolve()
        for page in PAGES
        for block in blocks(page, r"{toctree}")
        for entry in block.split("\n")
        if entry and not entry.startswith(":")
    }
    pages = {page.with_suffix("") for page in PAGES} - {ROOT / "README", ROOT / "docs" / "index"}
    assert pages <= listed
