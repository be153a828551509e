"""The command line: `python -m catena demo` simulates, `bench` measures, `campaign` looks for lies, `info` tells."""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

from . import __version__, info, plot, scenes
from .simulator import Simulator
from .status import SimulationError
from .trajectory import Trajectory


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; 0 if it went well, 1 if it failed, 2 if the command line makes no sense."""
    parser = _parser()
    args = parser.parse_args(argv)
    try:
        return int(args.run(args))
    except ValueError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except (SimulationError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="catena", description="Articulated rigid bodies that stay together.")
    parser.add_argument("--version", action="version", version=f"catena {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    demo = commands.add_parser("demo", help="simulate a swinging, swirling chain and check it")
    demo.add_argument("--links", type=int, default=10, metavar="N", help="number of links (default %(default)s)")
    demo.add_argument("--joint", choices=("ball", "revolute"), default="ball", help="default %(default)s")
    demo.add_argument("--duration", type=float, default=60.0, metavar="S", help="seconds (default %(default)s)")
    demo.add_argument("--dt", type=float, metavar="S", help="time step in s (default what the accuracy asks for)")
    demo.add_argument("--accuracy", type=float, metavar="A", help="parts of the chain's length, or rad (default 1e-4)")
    demo.add_argument("--solver", choices=("auto", "articulated", "ldu", "dense"), default="auto")
    demo.add_argument("--output", type=Path, default=Path("catena_demo.png"), metavar="FILE", help="the picture")
    demo.set_defaults(run=_demo)

    bench = commands.add_parser("bench", help="measure how fast this machine is")
    bench.add_argument("--full", action="store_true", help="more sizes and solvers, several minutes")
    bench.add_argument("--output", type=Path, metavar="FOLDER", help="write a CSV file per table there")
    bench.set_defaults(run=_bench)

    campaign = commands.add_parser("campaign", help="look for lies in random mechanisms, reproducible by seed")
    campaign.add_argument("--count", type=int, default=3000, metavar="N", help="members (default %(default)s)")
    campaign.add_argument("--seed", type=int, default=0, metavar="N", help="default %(default)s")
    campaign.add_argument("--first", type=int, default=0, metavar="K", help="member to begin with")
    campaign.add_argument("--jobs", type=int, default=1, metavar="N", help="worker processes (default %(default)s)")
    campaign.add_argument("--out", type=Path, default=Path("catena_campaign"), metavar="FOLDER", help="goes on there")
    campaign.add_argument("--only", type=int, metavar="K", help="show everything about one member")
    campaign.set_defaults(run=_campaign)

    about = commands.add_parser("info", help="version and instruction sets")
    about.set_defaults(run=_info)
    for entry in entry_points(group="catena.commands"):
        entry.load()(commands)
    return parser


def _info(args: argparse.Namespace) -> int:
    found = info()
    print(f"catena {found['version']}")
    print(f"kernels this machine can run: {', '.join(found['kernels'])}")
    print(f"kernel in use: {found['kernel']}")
    return 0


def _bench(args: argparse.Namespace) -> int:
    from . import bench

    _info(args)
    for name, rows in bench.run(args.full).items():
        if args.output is not None:
            args.output.mkdir(parents=True, exist_ok=True)
            with open(args.output / f"{name}.csv", "w", newline="") as file:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)
    return 0


def _campaign(args: argparse.Namespace) -> int:
    from .campaign import runner

    if args.only is not None:
        print(runner.portrait(args.seed, args.only))
        return 0
    for name in ("count", "jobs"):
        if getattr(args, name) < 1:
            raise ValueError(f"--{name} must be at least 1, got {getattr(args, name)}")
    for name in ("seed", "first"):
        if getattr(args, name) < 0:
            raise ValueError(f"--{name} must not be negative, got {getattr(args, name)}")
    path = args.out / f"seed{args.seed}.jsonl"
    indices = range(args.first, args.first + args.count)
    records = runner.run(args.seed, indices, path, jobs=args.jobs, progress=True)
    words = runner.summary(records)
    (args.out / f"seed{args.seed}.txt").write_text(words + "\n")
    print(f"\n{words}\n\nfacts of all members: {path}")
    return 0


def _demo(args: argparse.Namespace) -> int:
    mechanism = scenes.pendulum(args.links, args.joint)
    simulator = Simulator(mechanism, args.dt, accuracy=args.accuracy, solver=args.solver)
    state = mechanism.state()
    if args.joint == "ball":
        # swirl it about the vertical and bend it, so that it leaves its plane
        state.joint("joint1").rates = (0.0, 0.0, 0.6)
        state.joint(f"joint{(args.links + 1) // 2}").coordinates = (0.0, 1.0, 0.0)
    start = time.thread_time()
    run = simulator.run(args.duration, state=state)
    _summary(simulator, run, time.thread_time() - start)
    return _picture(run, args.output)


def _summary(simulator: Simulator, run: Trajectory, seconds: float) -> None:
    links, steps = simulator.mechanism.body_count, len(run.iterations)
    done = simulator.info()
    span = run.time[-1] - run.time[0]
    print(f"{links} links, {steps} steps of {run.dt:g} s and order {simulator.order}: {span:g} s of motion")
    error = run.energy_error()
    print(f"  energy error      {error.mean():.1e}  of the energy in motion, {error.max():.1e} at most")
    print(f"  joint gap         {run.drift().max(initial=0.0):.1e}  m at most")
    if steps:
        print(f"  Newton iterations {run.iterations.mean():.2f}  per step")
        print(f"  halved steps      {run.halved_count}")
    if run.error is not None:
        print(f"  error of steps    {run.error.sum():.1e}  together, {run.error.max(initial=0.0):.1e} at most")
        print(f"  time              {seconds:.3f}  s, {span / seconds:.0f} times as fast as the motion itself")
    print(f"  solver            {done['solver']}, kernel {done['kernel']}")


def _picture(run: Trajectory, output: Path) -> int:
    try:
        figure = plot.overview(run)
    except ImportError as error:
        print(f"no picture: {error}")
        return 0
    figure.savefig(output, dpi=120)
    print(f"picture: {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
