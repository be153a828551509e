"""Pages of the gallery: every example with its picture, what it prints, and the run as a page that plays.

Pages are written into docs/gallery, from examples that are run there; an example is run again when it or the core is
newer than its page.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import catena

FOLDER = Path("docs", "gallery")
# in the order in which they teach
ORDER = (
    "pendulum",
    "double_pendulum",
    "four_bar",
    "motor_sizing",
    "strandbeest",
    "stewart",
    "platform_motors",
    "rolling_disk",
    "gyroscope",
    "spinning_top",
    "bricard",
    "governor",
    "dominoes",
    "escapement",
    "minitaur_leg",
    "drawing_arm",
    "computed_torque",
    "leg_muscles",
    "frame_modes",
    "control_callback",
    "rope",
    "pendulum_chain",
    "wedge_billiard",
    "batch_of_pendulums",
    "four_bar_atlas",
    "misaligned_rotor",
    "leg_lengths",
    "load_urdf",
    "custom_joint",
    "lqr",
    "swing_up",
    "hopper",
)


def write(root: Path) -> None:
    """Run the examples and write their pages."""
    examples = {path.stem: path for path in (root / "examples").glob("*.py")}
    if set(examples) != set(ORDER):
        raise SystemExit(f"docs/gallery.py lists other examples than there are: {sorted(set(examples) ^ set(ORDER))}")
    (root / FOLDER).mkdir(exist_ok=True)
    built = Path(catena._core.__file__).stat().st_mtime
    for name in ORDER:
        page = root / FOLDER / f"{name}.md"
        if not page.exists() or page.stat().st_mtime < max(built, examples[name].stat().st_mtime):
            page.write_text(_page(examples[name], root / FOLDER / name), encoding="utf-8")
    (root / FOLDER / "notebook.md").write_text(_notebook(root / "examples" / "notebook.ipynb"), encoding="utf-8")
    (root / FOLDER / "index.md").write_text(_index(examples), encoding="utf-8")


def copy_pages(root: Path, out: Path) -> None:
    """Put the pages that play where the site's frames look for them."""
    for name in ORDER:
        page = root / FOLDER / name / name
        if page.is_dir():
            shutil.copytree(page, out / FOLDER / "play" / name, dirs_exist_ok=True)


def _page(example: Path, folder: Path) -> str:
    name = example.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    done = subprocess.run([sys.executable, str(example)], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{example.name} failed:\n{done.stderr}")
    parts = [f"# {_title(name)}", _caption(example)]
    if (folder / name).is_dir():
        parts.append(
            f'```{{raw}} html\n<iframe src="play/{name}/index.html" title="{_title(name)}" loading="lazy" '
            'style="width: 100%; height: 30rem; border: 0"></iframe>\n```'
        )
    if (folder / f"{name}.png").exists():
        parts.append(f"![{_title(name)}]({name}/{name}.png)")
    parts.append(f"[examples/{name}.py](../../examples/{name}.py):")
    parts.append(f"```{{literalinclude}} ../../examples/{name}.py\n:language: python\n```")
    parts.append(f"It prints\n\n```text\n{done.stdout.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _notebook(path: Path) -> str:
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    parts.append(f"[examples/{path.name}](../../examples/{path.name})")
    return "\n\n".join(parts) + "\n"


def _index(examples: dict[str, Path]) -> str:
    lines = [
        "# Gallery",
        "Every example is run when this manual is built: its picture, its figures and the page that "
        "plays are from that run.",
        "::::{grid} 1 1 2 2\n:gutter: 3",
    ]
    for name in ORDER:
        card = f":::{{grid-item-card}} {_title(name)}\n:img-top: {name}/{name}.png\n:link: {name}\n:link-type: doc"
        lines.append(f"{card}\n\n{_caption(examples[name])}\n:::")
    lines.append("::::")
    entries = "\n".join((*ORDER, "notebook"))
    lines.append(f"```{{toctree}}\n:hidden:\n\n{entries}\n```")
    return "\n\n".join(lines) + "\n"


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize().replace("urdf", "URDF").replace("Lqr", "LQR")


def _caption(example: Path) -> str:
    return " ".join((ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or "").split())
