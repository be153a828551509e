"""What the subcommands do: each takes the parsed command line and returns an exit code."""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
import webbrowser
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import info, scenes
from .._util.lookup import how_many
from .._util.progress import bar
from .._util.status import CatenaWarning, SimulationError, warn
from ..describe.mechanism import Mechanism
from ..describe.showing import has_screen
from ..kinematics.state import State
from ..results.trajectory import Trajectory
from ..simulate.simulator import Simulator
from ..view.viewer.page import refuse_file
from ..view.viewer.posing import Poser
from . import summary as account
from .model_argument import load, load_seen, numbers
from .sweep_argument import load_sweep, part_of


def demo(args: argparse.Namespace) -> int:
    """Simulate a four-bar, and play it in a browser."""
    _refuse_places(None, args.output)
    mechanism = scenes.four_bar()
    simulator = Simulator(mechanism, args.dt, accuracy=args.accuracy, solver=args.solver)
    result, known = _simulated(simulator, mechanism.state(), args.duration)
    page = result.save_html(args.output)
    known["html"] = str(page)
    code = _told(known, args)
    if args.browser and has_screen():
        webbrowser.open(f"{page.absolute().as_uri()}#play")
    return code


def run(args: argparse.Namespace) -> int:
    """Simulate a model, write the run, and show it."""
    _refuse_places(args.out, args.html)
    mechanism = load(args.model)
    simulator = Simulator(
        mechanism,
        args.dt,
        accuracy=args.accuracy,
        order=args.order,
        solver=args.solver,
        on_inaccurate="raise" if args.strict else "warn",
    )
    result, known = _simulated(simulator, start(mechanism, args.set), args.duration, args.record_every)
    known = {"model": args.model} | known
    # of a run that failed, what was computed until then
    if args.out is not None:
        known["out"] = str(args.out)
        (result.save if args.out.suffix.lower() == ".npz" else result.to_csv)(args.out)
    if args.html is not None:
        known["html"] = str(result.save_html(args.html))
    code = _told(known, args)
    if args.show:
        _show(result)
    return code


def view(args: argparse.Namespace) -> int:
    """Show a saved run or a model in a browser, or write it as a page."""
    _refuse_places(None, args.html)
    seen = load_seen(args.file)
    if args.html is not None:
        print(f"html: {seen.save_html(args.html)}")
    else:
        _show(seen)
    return 0


def report(args: argparse.Namespace) -> int:
    """Say what a model is made of, and how it can move."""
    found = load(args.model).report()
    if args.json:
        known = {"model": args.model} | asdict(found) | {"redundant_count": found.redundant_count}
        _print_json(known | {"warnings": args.heard})
    else:
        print(found)
    return 0


def bench(args: argparse.Namespace) -> int:
    """Measure this machine."""
    from . import bench

    if not args.json:
        print(_about())
    found = bench.run(args.full, silent=args.json, progress=sys.stderr.isatty())
    if args.output is not None:
        args.output.mkdir(parents=True, exist_ok=True)
        for name, rows in found.items():
            with open(args.output / f"{name}.csv", "w", newline="") as file:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)
    if args.json:
        _print_json(info() | found)
    return 0


def campaign(args: argparse.Namespace) -> int:
    """Look for lies in random mechanisms."""
    from ..fuzz import runner

    if args.only is not None:
        print(runner.portrait(args.seed, args.only, limited=args.limits))
        return 0
    for name in ("count", "jobs"):
        if getattr(args, name) < 1:
            raise ValueError(f"--{name} must be at least 1, got {getattr(args, name)}")
    for name in ("seed", "first"):
        if getattr(args, name) < 0:
            raise ValueError(f"--{name} must not be negative, got {getattr(args, name)}")
    name = f"{'limits_' if args.limits else ''}seed{args.seed}"
    path = args.out / f"{name}.jsonl"
    indices = range(args.first, args.first + args.count)
    watched = sys.stderr.isatty()

    def show(item: runner.Record, done: int, count: int) -> None:
        if item["classes"]:
            if watched:
                # the bar makes room, and is drawn again below
                sys.stderr.write(f"\r{'':50}\r")
            print(f"{item['index']}: {', '.join(item['classes'])}", flush=True)
        if watched:
            bar(done, count)

    records = runner.run(args.seed, indices, path, jobs=args.jobs, limited=args.limits, progress=show)
    words = runner.summary(records)
    (args.out / f"{name}.txt").write_text(words + "\n")
    print(f"\n{words}\n\nfacts of all members: {path}")
    return 0


def validate(args: argparse.Namespace) -> int:
    """Run the benchmark problems of the field, and compare them with their references."""
    from ..validate import table
    from ..validate.case import measure
    from ..validate.cases import CASES

    if args.html is not None and (args.html.is_dir() or not args.html.parent.is_dir()):
        raise ValueError(f"--html {args.html}: name a file in a folder that exists")
    for name in args.problem:
        if name not in CASES:
            raise ValueError(f"there is no problem {name!r}; there are {', '.join(CASES)}")
    found = []
    watched, names = sys.stderr.isatty(), args.problem or list(CASES)
    for done, name in enumerate(names, 1):
        found.append(measure(CASES[name]))
        if watched:
            bar(done, len(names))
    if args.json:
        problems = [asdict(outcome) | {"passed": outcome.passed} for outcome in found]
        _print_json(info() | {"problems": problems, "passed": all(outcome.passed for outcome in found)})
    elif args.markdown:
        print(table.markdown(found))
    else:
        print(table.text(found))
    if args.html is not None:
        args.html.write_text(table.page(found), "utf-8")
    return 0 if all(outcome.passed for outcome in found) else 1


def sweep(args: argparse.Namespace) -> int:
    """Run the sweep that a file of Python defines, or a part of it."""
    study = load_sweep(args.study)
    found = study.run(
        args.out or Path(args.study).with_suffix(""),
        workers=args.workers,
        part=part_of(args.part),
        retry=args.retry,
        storage=args.storage,
        progress=sys.stderr.isatty(),
    )
    if args.json:
        counts = {name: getattr(found, name) for name in ("members", "finished", "failed", "missing")}
        _print_json({"folder": str(found.folder), **counts, "warnings": args.heard})
    else:
        print(found)
    return 0


def about(args: argparse.Namespace) -> int:
    """Say what this installation is."""
    if args.json:
        _print_json(info())
    else:
        print(_about())
    return 0


def _about() -> str:
    found = info()
    return (
        f"catena {found['version']}\nkernels this machine can run: {', '.join(found['kernels'])}\n"
        f"kernel in use: {found['kernel']}"
    )


def _print_json(known: dict[str, Any]) -> None:
    """One object on a line."""
    print(json.dumps(account.plain(known), allow_nan=False))


def start(mechanism: Mechanism, wishes: Iterable[str]) -> State:
    """The closed state in which joints have the coordinates of the wishes, "joint=0.3" or "joint=1,2,3"."""
    goals: dict[str, tuple[float, ...]] = {}
    state = mechanism.state()
    for wish in wishes:
        # a name may hold what separates it from its numbers
        name, equals, text = wish.rpartition("=")
        if not equals:
            raise ValueError(f"--set takes JOINT=NUMBER, got {wish!r}")
        given = numbers(text, f"--set {name}")
        label, dof = state.joint(name).label, mechanism.joints[name].dof
        if name in goals:
            raise ValueError(f"--set: {label} is set twice")
        if len(given) != dof:
            raise ValueError(f"--set: {label} has {how_many(dof, 'coordinate', 'coordinates')}, got {text}")
        goals[name] = given
    if mechanism.spanning_tree().loops or mechanism.couplings:
        state = mechanism.assemble()
    return Poser(mechanism).posed(state, goals)


def _simulated(
    simulator: Simulator, state: State, duration: float, record_every: int = 1
) -> tuple[Trajectory, account.Facts]:
    """A run and its account, as far as it got."""
    begun = time.perf_counter()
    try:
        result = simulator.run(duration, state=state, record_every=record_every, progress=sys.stderr.isatty())
    except SimulationError as error:
        result = error.trajectory
    seconds = time.perf_counter() - begun
    # that steps are too coarse has been said by the run itself
    for doubt in result.warnings:
        if doubt != result.accuracy_warning:
            warn(CatenaWarning(doubt))
    return result, account.facts(simulator, result, seconds)


def _told(known: account.Facts, args: argparse.Namespace) -> int:
    """Print the account of a run; 0 if it went well, otherwise 1 and a sentence on stderr."""
    known["warnings"] = args.heard
    if args.json:
        _print_json(known)
    else:
        print(account.words(known))
        for place in ("out", "html"):
            if known.get(place):
                print(f"{place}: {known[place]}")
    status = known["status"]
    if not status["ok"]:
        print(f"catena: {status['message']}", file=sys.stderr)
    return 0 if status["ok"] else 1


def _show(seen: Mechanism | Trajectory) -> None:
    page = seen.show()
    print(f"shown at {page.url} until Ctrl-C", file=sys.stderr)
    page.wait()


def _refuse_places(out: Path | None, html: Path | None) -> None:
    """Raise before the work, not after it, where a result cannot be written."""
    if out is not None and out.suffix.lower() not in (".npz", ".csv"):
        raise ValueError(f"--out writes .npz, which catena reads again, or .csv, got {out}")
    if out is not None and not out.parent.is_dir():
        raise ValueError(f"--out {out}: there is no folder {out.parent}")
    if out is not None and out.is_dir():
        raise ValueError(f"--out {out}: that is a folder")
    if html is not None:
        refuse_file(html)
