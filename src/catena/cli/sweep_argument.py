"""What the command line calls STUDY and K/N: a file of Python that defines a sweep, and a part of it."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from ..sweep.sweep import Sweep


def load_sweep(study: str) -> Sweep:
    """The sweep that a file assigns to the name `sweep`; the file is imported, so that workers find its functions."""
    path = Path(study)
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise ValueError(f"{study}: a study is a file of Python whose name could be that of a module, such as study.py")
    if not path.is_file():
        raise ValueError(f"{study}: there is no such file")
    sys.path.insert(0, str(path.parent.absolute()))
    module = import_module(path.stem)
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise ValueError(f"{study}: another module is called {path.stem!r}: rename the file")
    found = getattr(module, "sweep", None)
    if not isinstance(found, Sweep):
        raise ValueError(f"{study}: must assign a catena.Sweep to the name `sweep`, got {found!r:.60}")
    return found


def part_of(text: str) -> tuple[int, int]:
    """Numbers of a part, such as 3/40."""
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if found is None:
        raise ValueError(f"--part takes K/N, part K of N, such as 3/40, got {text!r}")
    return int(found[1]), int(found[2])
