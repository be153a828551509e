"""Times engines on the same scenes where all take turns in one process, so that all meet the same noise.

    taskset -c 1 python benchmarks/versus/in_turn.py

An engine that cannot be imported is skipped with a line. First, 1000 steps of 10 ms of chains and loops, less a call
without steps. Then 10 s with an error below 1e-6, by the coarsest steps (or the loosest accuracy) that reach it. CPU
time of the process, which has one thread, the least of many rounds. Writes versus_in_turn.csv and versus_in_turn.md;
run.py measures more sizes and errors, one engine after the other.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from datetime import date
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any

# before libraries read it
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
from measure import DT, STEPS, Engine, Judge, begin, distance, timed  # noqa: E402
from report import TITLES  # noqa: E402
from scenes import SCENES, Scene  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parent.parent))
from machine import folder  # noqa: E402

Row = dict[str, Any]
ENGINES = ("catena", "mujoco", "pinocchio", "drake", "dart", "exudyn")
COSTS = (
    ("chain", 10, "revolute"),
    ("chain", 100, "revolute"),
    ("chain", 10, "ball"),
    ("closed_chain", 101, "revolute"),
    ("segmented_chain", 10, "revolute"),
)
PRECISIONS = (
    ("chain", 10, "revolute"),
    ("double_ball", 2, "ball"),
    ("four_bar", 3, "revolute"),
    ("heavy_top", 1, "ball"),
)
END, ERROR = 10.0, 1e-6
# of what takes that many times as long as the fastest a few rounds tell enough; slower ways yet are not timed
SLOW, FEW, HOPELESS = 5.0, 2, 20.0
# s that a search for steps may go on while nothing has reached the error, and how far beyond the fastest thereafter
PATIENCE, BEYOND = 0.2, 4.0
WRONG = 0.1
COLUMNS = (
    *("scene", "engine", "version", "date", "variant", "setting"),
    *("ms", "of_catena", "energy_error", "gap_m", "note"),
)


def engines(wanted: list[str]) -> dict[str, ModuleType]:
    found = {}
    for name in wanted:
        try:
            found[name] = importlib.import_module(f"{name}_engine")
        except (ImportError, OSError) as error:
            print(f"{name}: skipped ({error})", flush=True)
    return found


def fits(variant: Any, scene: Scene, joint: str) -> bool:
    return joint in variant.joints and (variant.loops if scene.loops else variant.trees)


def in_turn(ways: dict[Any, Callable[[], float]], rounds: int) -> dict[Any, float]:
    """The least time of every way."""
    best = {name: way() for name, way in ways.items()}
    for k in range(rounds):
        fastest = min(best.values(), default=inf)
        for name, way in ways.items():
            if k < FEW or best[name] < SLOW * fastest:
                best[name] = min(best[name], way())
    return best


def costs(found: dict[str, ModuleType], name: str, size: int, joint: str, rounds: int) -> Iterator[Row]:
    """1000 steps of all engines."""
    scene = SCENES[name](size, joint)
    sims: dict[tuple[str, str], Engine] = {}
    rows: dict[tuple[str, str], Row] = {}
    fastest = inf
    for engine, module in found.items():
        for variant, about in module.VARIANTS.items():
            if not fits(about, scene, joint) or about.knob != "dt":
                continue
            key, row = (engine, variant), {"setting": f"dt {DT:g}"}
            rows[key] = row
            try:
                sim = begin(module.make, scene, variant, DT)
                # the first step may do what no other does
                timed(sim, 3)
                expected = (timed(sim, 13) - timed(sim, 3)) / 10 * STEPS
                if expected > HOPELESS * fastest:
                    row["note"] = f"about {1e3 * expected:.2g}"
                    continue
                judge = Judge(scene)
                for k, bodies in enumerate(sim.sample(STEPS, STEPS // 10), start=1):
                    if not judge.see(bodies, k * STEPS // 10 * DT):
                        break
                row |= {"energy_error": f"{judge.worst:.1e}", "gap_m": f"{judge.gap:.1e}"}
                if judge.status != "ok":
                    row["note"] = judge.status
                    continue
                fastest = min(fastest, timed(sim, STEPS))
                sims[key] = sim
            except Exception as error:
                row["note"] = f"failed: {type(error).__name__} {str(error).splitlines()[:1]}"[:150]
    whole = in_turn({key: lambda sim=sim: timed(sim, STEPS) for key, sim in sims.items()}, rounds)
    call = in_turn({key: lambda sim=sim: timed(sim, 0) for key, sim in sims.items()}, FEW)
    for key, row in rows.items():
        if key in whole:
            row["ms"] = 1e3 * (whole[key] - call[key])
        yield {"engine": key[0], "variant": key[1], **row}


def precisions(
    found: dict[str, ModuleType], name: str, size: int, joint: str, rounds: int, truth: Row
) -> Iterator[Row]:
    """10 s of all engines, as coarse as the error allows."""
    scene = SCENES[name](size, joint)
    sims: dict[tuple[str, str], tuple[Engine, int]] = {}
    rows: dict[tuple[str, str], Row] = {}
    fastest = inf
    for engine, module in found.items():
        for variant, about in module.VARIANTS.items():
            if not fits(about, scene, joint):
                continue
            key, row = (engine, variant), Row()
            rows[key] = row
            for k in range(36):
                free = about.knob == "accuracy"
                steps = round(END / DT) if free else round(END / 0.1 * 2 ** (k / 3))
                value = 10.0 ** (-1 - k / 3) if free else END / steps
                try:
                    sim = begin(module.make, scene, variant, value)
                    taken = timed(sim, steps)
                    off = distance(sim.bodies(), np.array(truth["position"]), np.array(truth["rotation"]))
                except Exception as error:
                    off, taken = inf, 0.0
                    row["note"] = f"failed: {type(error).__name__} {str(error).splitlines()[:1]}"[:150]
                if off < ERROR:
                    judge = Judge(scene)
                    judge.see(sim.bodies(), END)
                    row |= {"setting": f"{'accuracy' if free else 'dt'} {value:.3g}", "note": ""}
                    row |= {"energy_error": f"{judge.worst:.1e}", "gap_m": f"{judge.gap:.1e}"}
                    sims[key], fastest = (sim, steps), min(fastest, taken)
                    break
                if taken > min(PATIENCE, BEYOND * fastest):
                    row["note"] = f"error {off:.0e} after {1e3 * taken:.0f} ms"
                    break
    best = in_turn({key: lambda s=sim, n=steps: timed(s, n) for key, (sim, steps) in sims.items()}, rounds)
    for key, row in rows.items():
        if key in best:
            row["ms"] = 1e3 * best[key]
        yield {"engine": key[0], "variant": key[1], **row}


def title(name: str, size: int, joint: str) -> str:
    count = {"chain": f" of {size}", "closed_chain": f" of {size}", "segmented_chain": f", {size} rhombi"}
    return f"{TITLES[name]}{count.get(name, '')}, {joint}"


def page(rows: list[Row], machine: str) -> str:
    """A table per scene, the fastest first."""
    versions = dict.fromkeys(f"{row['engine']} {row['version']} ({row['date']})" for row in rows)
    lines = [
        "# catena and other engines, by turns",
        "",
        f"One core of {machine}; {', '.join(versions)}.",
        "Written by `benchmarks/versus/in_turn.py`: all engines take turns in one process, and the least CPU time of",
        "many rounds counts. Numbers in italics are estimates from a few steps. The settings of an engine are in its",
        "file in `benchmarks/versus`. If you know better ones, please open an issue or change that file.",
        "",
    ]
    for scene in dict.fromkeys(row["scene"] for row in rows):
        mine = [row for row in rows if row["scene"] == scene]
        lines += [f"**{scene}**", "", "| engine | setting | ms | of catena | energy error | largest gap (m) |"]
        lines += ["| --- | --- | ---: | ---: | ---: | ---: |"]
        for row in sorted(mine, key=lambda row: float(row.get("ms") or inf)):
            figures = [row.get("of_catena", ""), row.get("energy_error", ""), row.get("gap_m", "")]
            name = f"{row['engine']} {row['variant']}"
            told = row.get("note", "")
            told = f"*{told}*" if told.startswith("about") else told
            cells = [name, row.get("setting", ""), row.get("ms") or told, *figures]
            lines.append(f"| {' | '.join(map(str, cells))} |")
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", metavar="engine", help=f"from {', '.join(ENGINES)}; default all")
    parser.add_argument("--rounds", type=int, default=15, help="default %(default)s")
    parser.add_argument("--output", type=Path, help="folder; default results/<machine>")
    args = parser.parse_args()
    place = args.output or folder()
    place.mkdir(parents=True, exist_ok=True)
    found = engines(args.engines or list(ENGINES))
    known = json.loads((place / "versus_reference.json").read_text())
    truths = {row["scene"]: row for row in known if row["time"] == END}
    jobs: list[tuple[str, Iterator[Row]]] = [
        (f"1000 steps, {title(*scene)}", costs(found, *scene, args.rounds)) for scene in COSTS
    ]
    jobs += [
        (f"10 s, error below {ERROR:g}, {title(*scene)}", precisions(found, *scene, args.rounds, truths[scene[0]]))
        for scene in PRECISIONS
    ]
    rows: list[Row] = []
    for scene, made in jobs:
        mine = [{"scene": scene, **row} for row in made]
        ours = min((row["ms"] for row in mine if row["engine"] == "catena" and "ms" in row), default=inf)
        for row in mine:
            row |= {"version": found[row["engine"]].VERSION, "date": date.today().isoformat()}
            if "ms" in row:
                row |= {"of_catena": f"{row['ms'] / ours:.2f}", "ms": f"{row['ms']:.4g}"}
            if float(row.get("energy_error", 0)) > WRONG:
                row["note"] = "energy is wrong"
            print(", ".join(f"{value}" for value in row.values()), flush=True)
        rows += mine
        with (place / "versus_in_turn.csv").open("w", newline="") as out:
            writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", restval="")
            writer.writeheader()
            writer.writerows(rows)
        (place / "versus_in_turn.md").write_text(page(rows, place.name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
