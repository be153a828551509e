"""The subcommand `paper` of `python -m catena`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_to(commands: Any) -> None:
    """Add the subcommand to those of a parser."""
    words = "repeat the paper's experiments, and write a report"
    paper = commands.add_parser("paper", help=words, description=words, epilog="example: catena paper --quick")
    paper.add_argument("--quick", action="store_true", help="smaller sizes, under ten minutes")
    paper.add_argument("--figure", action="append", metavar="LETTER", help="this one only; may be given several times")
    paper.add_argument("--output", type=Path, default=Path("catena_paper"), metavar="FOLDER", help="goes on there")
    paper.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    # the rest takes its time to import
    from .report import write

    return write(args.output, quick=args.quick, figures=args.figure)
