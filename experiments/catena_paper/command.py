"""The subcommand `paper` of `python -m catena`."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# they are optional, because they would add half as much again to every build
INSTALL = 'pip install ".[plot]" -C cmake.define.CATENA_EXPERIMENTS=ON'


def rivals_are_built() -> bool:
    """Whether this build contains the compiled integrators that the report compares with."""
    return all(find_spec(f"catena_paper.{name}") for name in ("_variational", "_continuous"))


def add_to(commands: Any) -> None:
    """Add the subcommand to those of a parser."""
    words = "repeat the paper's experiments, and write a report"
    paper = commands.add_parser("paper", help=words, description=words, epilog="example: catena paper --quick")
    paper.add_argument("--quick", action="store_true", help="smaller sizes, under ten minutes")
    paper.add_argument("--figure", action="append", metavar="LETTER", help="this one only; may be given several times")
    paper.add_argument("--output", type=Path, default=Path("catena_paper"), metavar="FOLDER", help="goes on there")
    paper.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    # an ImportError without the name of a module is a sentence for the user
    if not rivals_are_built():
        raise ImportError(f"paper: this build has no integrators to compare with. From a checkout, run: {INSTALL}")
    # the rest takes its time to import
    from .report import write

    return write(args.output, quick=args.quick, figures=args.figure)
