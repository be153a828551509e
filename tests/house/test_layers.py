"""Rooms look down only: which folder may import or include which."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from catena import _core

HERE = Path(__file__).parents[2]
PYTHON, CPP = HERE / "src/catena", HERE / "cpp"

# low to high
ROOMS = [
    "_util",
    "describe",
    "kinematics",
    "compile",
    "assemble",
    "dynamics",
    "results",
    "simulate",
    "io",
    "sweep",
    "view",
    "scenes",
    "validate",
    "gym",
    "fuzz",
    "cli",
]
# methods that open a higher room when they are called, such as Mechanism.from_urdf and Trajectory.show
DOORS = {
    "dynamics/modes.py",
    "describe/files.py",
    "describe/mechanism.py",
    "describe/posing.py",
    "describe/showing.py",
    "kinematics/readable.py",
    "kinematics/readers.py",
    "kinematics/state.py",
    "results/files.py",
    "results/report.py",
    "results/trajectory.py",
    "simulate/batch.py",
    "simulate/live.py",
    "simulate/summaries.py",
}
LEVELS = [
    "base",
    "model",
    "args",
    "physics",
    "dynamics",
    "solve",
    "simulate",
    "derivatives",
    "lanes",
    "kernel",
    "batch",
    "python",
]


def for_types_only(tree: ast.Module) -> set[ast.AST]:
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    return {inner for guard in guards for inner in ast.walk(guard)}


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Rooms that a module imports from, and whether that happens when it is loaded."""
    tree = ast.parse(path.read_text())
    skipped = for_types_only(tree)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    lazy = {inner for function in functions for inner in ast.walk(function)}
    package = path.relative_to(PYTHON).parts[:-1]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level or node in skipped:
            continue
        base = package[: len(package) - node.level + 1]
        target = (*base, *(node.module or "").split("."))
        names = [target[0]] if target[0] else [alias.name for alias in node.names]
        yield from ((name, node not in lazy) for name in names if name in ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_python_rooms_look_down_only(room: str) -> None:
    assert (PYTHON / room / "__init__.py").is_file()
    up = [
        f"{path.relative_to(PYTHON)} -> {target}"
        for path in (PYTHON / room).rglob("*.py")
        for target, at_load in imports(path)
        if ROOMS.index(target) > ROOMS.index(room) and (at_load or str(path.relative_to(PYTHON)) not in DOORS)
    ]
    assert up == []


def test_every_module_has_a_room() -> None:
    assert {path.name for path in PYTHON.glob("*.py")} == {"__init__.py", "__main__.py", "plot.py"}
    assert {path.name for path in PYTHON.iterdir() if (path / "__init__.py").is_file()} == set(ROOMS)
    assert not list(CPP.glob("*.?pp"))
    assert {path.name for path in CPP.iterdir()} == set(LEVELS)


@pytest.mark.parametrize("path", sorted((PYTHON / "simulate").glob("*.py")), ids=lambda path: path.name)
def test_no_module_of_simulate_reads_private_names_of_another(path: Path) -> None:
    """What several modules need of a class has a public name, except what the core binds for these modules alone."""
    bound = {name for one in (_core.Live, _core.LiveBatch) for name in vars(one)}
    tree = ast.parse(path.read_text())
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    private = [node for node in names if node.attr.startswith("_") and not node.attr.startswith("__")]
    of_self = [node for node in private if ast.unparse(node.value) in ("self", "cls", "super()")]
    own = {node.attr for node in of_self if isinstance(node.ctx, ast.Store)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert [ast.unparse(node) for node in private if node not in of_self and node.attr not in own | bound] == []


@pytest.mark.parametrize("level", LEVELS)
def test_cpp_rooms_look_down_only(level: str) -> None:
    includes = [
        (path.relative_to(CPP), include)
        for path in (CPP / level).rglob("*.?pp")
        for include in re.findall(r'#include "([^"]+)"', path.read_text())
    ]
    assert includes
    assert [(path, include) for path, include in includes if not (CPP / include).is_file()] == []
    up = [
        f"{path} -> {include}"
        for path, include in includes
        if LEVELS.index(include.split("/")[0]) > LEVELS.index(level)
    ]
    assert up == []


def test_only_the_bindings_know_nanobind() -> None:
    knowing = {path.relative_to(CPP).parts[0] for path in CPP.rglob("*.?pp") if "nanobind" in path.read_text()}
    assert knowing == {"python"}


def test_long_files_say_why() -> None:
    sources = [
        path for room in (PYTHON, CPP) for path in room.rglob("*.*") if path.suffix in (".py", ".html", ".cpp", ".hpp")
    ]
    assert len(sources) > 300
    long = [path for path in sources if len(path.read_text().splitlines()) > 450]
    assert [path.name for path in long if "bove 450 lines" not in path.read_text()[:1500]] == []
