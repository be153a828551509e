"""The catalogue names every joint and coupling, with its drawing."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import catena as ct

DOCS = Path(__file__).parents[2] / "docs"
CATALOGUE = (DOCS / "catalogue.md").read_text(encoding="utf-8")
# described by the user's own equations, or by terms
WITHOUT_DRAWING = {"Custom", "VelocityRows", "Coupling"}


def of(base: type) -> list[str]:
    """Public classes of a kind."""
    classes = (vars(ct)[name] for name in ct.__all__)
    return [
        kind.__name__ for kind in classes if inspect.isclass(kind) and issubclass(kind, base) and kind is not ct.Joint
    ]


@pytest.mark.parametrize("name", [*of(ct.Joint), *of(ct.Coupling)])
def test_joints_and_couplings_are_in_the_catalogue_with_a_drawing(name: str) -> None:
    assert f"`{name}" in CATALOGUE
    if name in WITHOUT_DRAWING:
        return
    picture = f"pictures/joints/{name}.png"
    assert f"]({picture})" in CATALOGUE
    assert (DOCS / picture).is_file()
