"""The command line, `catena` or `python -m catena`: its words, its exit codes and how it says what went wrong."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from . import __version__
from ._util.status import CatenaError, CatenaWarning
from .cli import commands, dynamics

_MODEL = "a file .urdf, .sdf, .xml or .mjcf (MJCF), .json (of Mechanism.save), or scene:NAME; scene: lists them"
_CODES = "exit codes: 0 success, 1 the run failed or, with --strict, is not accurate, 2 invalid request, 130 Ctrl-C"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; 0 if it went well, 1 if it failed, 2 if it was asked for what makes no sense, 130 on Ctrl-C."""
    _ready_outputs()
    words = list(sys.argv[1:] if argv is None else argv)
    wants_json = "--json" in words
    try:
        code, why = _done(words)
        if why:
            print(f"catena: {why}", file=sys.stderr)
            if wants_json:
                print(json.dumps({"error": why, "code": code}))
        sys.stdout.flush()
        return code
    except SystemExit as stop:
        # argparse has said on stderr what it does not understand
        if wants_json and stop.code == 2:
            print(json.dumps({"error": "invalid command line, see stderr", "code": 2}), flush=True)
        raise
    except BrokenPipeError:
        # whoever reads has read enough
        _print_nowhere()
        return 0
    except OSError as error:
        _print_nowhere()
        print(f"catena: cannot print: {error.strerror}", file=sys.stderr)
        return 1


def _done(words: list[str]) -> tuple[int, str]:
    """Run a subcommand: its exit code, and why it failed."""
    parser = _parser()
    args = parser.parse_args(words)
    if args.run is None:
        parser.print_help()
        return 0, ""
    try:
        with _heard() as args.heard:
            return int(args.run(args)), ""
    except (ValueError, OverflowError) as error:
        return 2, str(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        # what has a name was named by the user
        return (2, f"{error.filename}: {error.strerror}") if error.filename else (1, error.strerror or str(error))
    except CatenaError as error:
        return 1, str(error)
    except (MemoryError, RecursionError) as error:
        return 1, f"there is not enough memory for that ({str(error) or type(error).__name__})"
    except ImportError as error:
        # catena's own sentences on what is not installed name no module; others are unexpected
        if error.name is not None:
            raise
        return 1, str(error)
    except KeyboardInterrupt:
        # a bar may be on the line
        if sys.stderr.isatty():
            print(file=sys.stderr)
        return 130, "interrupted"


def _ready_outputs() -> None:
    """Where a shell has closed an output, what is printed there goes nowhere, and into no file opened later.

    What an output cannot show, such as bytes of a file's name that are no text, is shown as a code.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_WRONLY)
            if handle != number:
                os.dup2(handle, number)
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
        output = getattr(sys, name)
        if isinstance(output, TextIOWrapper):
            output.reconfigure(errors="backslashreplace")


def _print_nowhere() -> None:
    """What is left goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _heard() -> Iterator[list[str]]:
    """Say warnings of catena in one line each, without the place in the source, and collect them."""
    found: list[str] = []
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, CatenaWarning):
            usual(message, category, *where, **more)
            return
        found.append(" ".join(str(message).split()))
        print(f"catena: warning: {found[-1]}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", CatenaWarning)
        warnings.showwarning = show
        yield found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="catena", description="Simulate articulated rigid bodies without joint drift.", epilog=_CODES
    )
    parser.add_argument("--version", action="version", version=f"catena {__version__}")
    parser.set_defaults(run=None)
    known = parser.add_subparsers(metavar="command")

    def add(
        name: str, run: Callable[[argparse.Namespace], int], words: str, example: str, *, json: bool = True
    ) -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = known.add_parser(
            name,
            help=words,
            description=f"{words[0].upper()}{words[1:]}.",
            epilog=f"example: catena {example}\n\n{_CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=run)
        if json:
            command.add_argument("--json", action="store_true", help="print one JSON object in place of text")
        return command

    demo = add("demo", commands.demo, "simulate a four-bar linkage for a minute, and play it in a browser", "demo")
    _add_stepping(demo, duration=60.0)
    demo.add_argument(
        "--output", type=Path, default=Path("catena_demo"), metavar="FOLDER", help="output folder (default %(default)s)"
    )
    demo.add_argument("--no-browser", dest="browser", action="store_false", help="only write the page")

    run = add(
        "run",
        commands.run,
        "simulate a model",
        "run robot.urdf --duration 5 --set elbow=0.3 --out run.npz\n"
        "         catena run scene:pendulum:10:joint=ball --accuracy 1e-6 --json",
    )
    run.add_argument("model", metavar="MODEL", help=_MODEL)
    _add_stepping(run, duration=10.0)
    run.add_argument("--order", type=int, choices=(1, 2, 4, 6, 8), help="default 2; with an accuracy 2, 4 or 8")
    _add_set(run, "initial joint coordinate")
    run.add_argument(
        "--record-every", type=int, default=1, metavar="K", help="record every K-th node (default %(default)s)"
    )
    run.add_argument("--strict", action="store_true", help="fail if steps are too coarse")
    run.add_argument("--out", type=Path, metavar="FILE", help="write the run: .npz, which `view` shows, or .csv")
    run.add_argument("--html", type=Path, metavar="FOLDER", help="write a page that plays in any browser")
    run.add_argument("--show", action="store_true", help="play it in a browser until Ctrl-C")

    view = add("view", commands.view, "show a saved run or a model in a browser", "view run.npz", json=False)
    view.add_argument("file", metavar="FILE", help=f"a saved run, .npz; or {_MODEL}")
    view.add_argument("--html", type=Path, metavar="FOLDER", help="write a page that plays without Python instead")

    report = add(
        "report", commands.report, "print degrees of freedom, loops and redundant joints", "report scene:four_bar"
    )
    report.add_argument("model", metavar="MODEL", help=_MODEL)

    modes = add("modes", dynamics.modes, "print vibration modes about a pose at rest", "modes scene:pendulum:3")
    torques = add(
        "torques", dynamics.torques, "print the efforts that hold a pose against gravity", "torques robot.urdf"
    )
    for command in (modes, torques):
        command.add_argument("model", metavar="MODEL", help=_MODEL)
        _add_set(command, "joint coordinate")

    bench = add("bench", commands.bench, "benchmark this machine", "bench --output tables")
    bench.add_argument("--full", action="store_true", help="more sizes and solvers, several minutes")
    bench.add_argument("--output", type=Path, metavar="FOLDER", help="write a CSV file per table there")

    campaign = add(
        "campaign",
        commands.campaign,
        "search for wrong results in random mechanisms, reproducible by seed",
        "campaign --count 100 --jobs 2",
        json=False,
    )
    campaign.add_argument("--count", type=int, default=3000, metavar="N", help="members (default %(default)s)")
    campaign.add_argument("--seed", type=int, default=0, metavar="N", help="default %(default)s")
    campaign.add_argument("--first", type=int, default=0, metavar="K", help="member to begin with")
    campaign.add_argument("--jobs", type=int, default=1, metavar="N", help="worker processes (default %(default)s)")
    campaign.add_argument(
        "--out",
        type=Path,
        default=Path("catena_campaign"),
        metavar="FOLDER",
        help="output folder; an interrupted campaign resumes from it",
    )
    campaign.add_argument("--only", type=int, metavar="K", help="show everything about one member")
    campaign.add_argument("--limits", action="store_true", help="give half of the joint coordinates hard limits")

    validate = add(
        "validate", commands.validate, "compare benchmark problems of the field with their references", "validate"
    )
    validate.add_argument("problem", nargs="*", metavar="PROBLEM", help="problems to run (default: all)")
    validate.add_argument("--html", type=Path, metavar="FILE", help="write the tables as a page too")
    validate.add_argument("--markdown", action="store_true", help="print the tables as Markdown")

    sweep = add(
        "sweep",
        commands.sweep,
        "run the sweep that a Python file defines, or a part of it",
        "sweep study.py --part 3/40",
    )
    sweep.add_argument("study", metavar="STUDY", help="a Python file that assigns a catena.Sweep to the name `sweep`")
    sweep.add_argument("--part", default="1/1", metavar="K/N", help="compute part K of N (default: everything)")
    sweep.add_argument(
        "--out", type=Path, metavar="FOLDER", help="output folder (default: the file's name without .py)"
    )
    sweep.add_argument("--workers", type=int, metavar="N", help="worker processes (default: the number of cores)")
    sweep.add_argument("--retry", choices=("failed",), help="compute failed members again")
    sweep.add_argument("--storage", choices=("npz", "parquet", "zarr"), help="format of a new folder's files (npz)")

    add("info", commands.about, "print version and instruction sets", "info --json")
    for entry in entry_points(group="catena.commands"):
        entry.load()(known)
    return parser


def _add_set(command: argparse.ArgumentParser, what: str) -> None:
    """Where joints are set."""
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="JOINT=X",
        help=f"{what}, rad or m; X,Y,Z if the joint has several; repeat for several joints",
    )


def _add_stepping(command: argparse.ArgumentParser, duration: float) -> None:
    """What a simulator wants to know."""
    command.add_argument("--duration", type=float, default=duration, metavar="S", help="seconds (default %(default)s)")
    command.add_argument("--dt", type=float, metavar="S", help="time step in s (default: chosen from the accuracy)")
    command.add_argument(
        "--accuracy",
        type=float,
        metavar="A",
        help="relative to the size, or rad (default 1e-4 without --dt)",
    )
    command.add_argument("--solver", choices=("auto", "articulated", "ldu", "dense"), default="auto")


if __name__ == "__main__":
    sys.exit(main())
