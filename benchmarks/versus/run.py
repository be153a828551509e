"""Measures catena and other engines on the same scenes, each in its own process and, if need be, its own interpreter.

    python benchmarks/versus/run.py --quick                                   a look, about a minute
    python benchmarks/versus/run.py --python mujoco=VENV/bin/python ...       everything

An engine that cannot be imported is skipped with a line. Results stand in versus_*.csv, where a later call goes on from
where an earlier one stopped: what is there is not measured again, unless --again names its engine. Then report.py.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from machine import folder  # noqa: E402

Row = dict[str, Any]
ENGINES = ("catena", "mujoco", "pinocchio", "drake", "dart", "pybullet", "exudyn")
KEY = ("engine", "variant", "scene", "joint")
COST = (
    *("size", "links", "dt", "steps", "ns_per_link_step", "us_per_call"),
    *("energy_error", "gap_m", "last_gap_m", "status"),
)
COLUMNS = {
    "chain": (*KEY, *COST),
    "loops": (*KEY, *COST),
    "gap": (*KEY, *COST),
    "precision": (*KEY, "size", "time", "knob", "value", "cpu_ms", "error", *COST[-4:]),
    "energy": (*KEY, "size", "minute", "last", *COST[-4:]),
    "setup": ("engine", "version", "date", "variant", "settings"),
}
PRECISION = (
    ("double_ball", 2, "ball"),
    ("chain", 10, "revolute"),
    ("four_bar", 3, "revolute"),
    ("heavy_top", 1, "ball"),
)

# measure: (scene, joint, sizes)
FULL: dict[str, list[tuple[str, str, list[int]]]] = {
    "chain": [("chain", j, [1, 3, 10, 30, 100, 1000]) for j in ("revolute", "ball")],
    "loops": [
        ("segmented_chain", "revolute", [1, 3, 10]),
        ("closed_chain", "revolute", [11, 101]),
        ("closed_chain", "ball", [11, 101]),
    ],
    "gap": [
        ("chain", "ball", [10]),
        ("leaning_chain", "revolute", [3, 51]),
        ("leaning_chain", "ball", [3, 51]),
        ("segmented_chain", "revolute", [2, 10]),
        ("four_bar", "revolute", [3]),
    ],
    "precision": [(name, joint, [size]) for name, size, joint in PRECISION],
    "energy": [("chain", "revolute", [2]), ("horizontal_chain", "revolute", [2])],
}
QUICK: dict[str, list[tuple[str, str, list[int]]]] = {
    "chain": [("chain", "revolute", [1, 10, 100])],
    "loops": [("segmented_chain", "revolute", [1, 10])],
    "precision": [("double_ball", "ball", [2])],
}


def options(measure: str, scene: str, knob: str, quick: bool, reference: list[Row]) -> Row:
    """How long and how fine."""
    if measure == "energy":
        return {"minutes": 60, "longest": 240.0}
    if measure != "precision":
        return {"seconds": 0.05 if quick else 0.2, "longest": 0.3 if quick else 1.0}
    # the top turns by 1.5 rad in 10 ms
    coarse, count = (0.01, 11) if scene == "heavy_top" else (0.08, 14)
    steps = [coarse / 2**k for k in range(0, count, 2 if quick else 1)]
    return {
        "knob": knob,
        "knobs": steps if knob == "dt" else [10.0**-k for k in range(2, 12)],
        "times": [2.0] if quick else [2.0, 10.0],
        "reference": reference,
        "seconds": 0.05 if quick else 0.1,
        "longest": 0.05 if quick else 0.3,
    }


def work(job: Row, python: str, limit: float) -> tuple[list[Row], str]:
    """Run a job; what it yielded, and in a few words why it stopped early, if it did."""
    with tempfile.TemporaryDirectory() as place:
        ask, answer, errors = (Path(place) / name for name in ("job", "out", "err"))
        ask.write_text(json.dumps(job))
        answer.touch()
        # one thread each, and no BLAS kernels chosen by the load of the day
        env = os.environ | {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
        trouble = ""
        with errors.open("wb") as err:
            try:
                command = [python, str(HERE / "worker.py"), str(ask), str(answer)]
                code = subprocess.run(command, env=env, stdout=err, stderr=err, timeout=limit, cwd=place).returncode
                if code:
                    tail = [line for line in errors.read_text(errors="replace").splitlines() if line.strip()]
                    trouble = f"failed: {tail[-1][:150] if tail and code > 0 else f'ended by signal {-code}'}"
            except subprocess.TimeoutExpired:
                trouble = f"too slow: stopped after {limit:.0f} s"
            except OSError as error:
                trouble = f"failed: {error}"
        return [json.loads(line) for line in answer.read_text().splitlines() if line.endswith("}")], trouble


class Table:
    """A CSV that grows by whole jobs."""

    def __init__(self, path: Path, columns: tuple[str, ...]) -> None:
        self.path, self.columns = path, columns
        self.rows: list[Row] = []
        if path.exists():
            with path.open(newline="") as file:
                self.rows = list(csv.DictReader(file))

    def has(self, labels: Row) -> bool:
        """Say whether this job was done before."""
        return any(all(row[key] == value for key, value in labels.items()) for row in self.rows)

    def drop(self, engines: set[str]) -> None:
        """Forget what is to be measured again."""
        self.rows = [row for row in self.rows if row["engine"] not in engines]

    def add(self, rows: list[Row]) -> None:
        """Take in the rows of a job and write the file anew; an old file stays whole until the new one is."""
        self.rows += rows
        part = self.path.with_suffix(".part")
        with part.open("w", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n", restval="")
            writer.writeheader()
            writer.writerows(self.rows)
        part.replace(self.path)


def setup(engines: list[str], pythons: dict[str, str]) -> dict[str, Row]:
    """Versions and variants of the engines that are there."""
    found = {}
    for engine in engines:
        rows, trouble = work({"measure": "setup", "engine": engine}, pythons.get(engine, sys.executable), 120)
        if rows and not trouble:
            found[engine] = rows[0]
        else:
            print(f"{engine}: skipped ({trouble.removeprefix('failed: ')})", flush=True)
    return found


def jobs(
    found: dict[str, Row], quick: bool, only: list[str] | None
) -> Iterator[tuple[str, str, str, str, str, list[int], str]]:
    """Every job: measure, engine, variant, scene, joint, sizes, knob."""
    plan = {name: what for name, what in (QUICK if quick else FULL).items() if name in (only or FULL)}
    # engines of a scene one after the other, since what else the machine does changes with time
    scenes = [(measure, *scene) for measure in plan for scene in plan[measure]]
    for (measure, scene, joint, sizes), engine in itertools.product(scenes, found):
        variants = list(found[engine]["variants"].items())
        if quick and engine != "catena":
            variants = variants[:1]
        for name, v in variants:
            closes = measure == "loops" or scene in ("leaning_chain", "segmented_chain", "four_bar")
            fits = joint in v["joints"] and v["loops" if closes else "trees"]
            if fits and (v["knob"] == "dt" or measure == "precision"):
                yield measure, engine, name, scene, joint, sizes, v["knob"]


def references(place: Path, python: str, quick: bool, again: bool) -> list[Row]:
    """Where the scenes of the work-precision plots end; computed once, a minute or so."""
    path = place / "versus_reference.json"
    if not path.exists() or again:
        scenes = PRECISION[:1] if quick else PRECISION
        ask = {"measure": "reference", "scenes": scenes, "times": [2.0] if quick else [2.0, 10.0]}
        rows, trouble = work(ask, python, 900)
        if trouble:
            print(f"no reference solutions, so no errors ({trouble})", flush=True)
            return []
        path.write_text(json.dumps(rows) + "\n")
    return list(json.loads(path.read_text()))


def main() -> int:
    """Run what is asked for and not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", metavar="engine", help=f"from {', '.join(ENGINES)}; default all")
    parser.add_argument("--quick", action="store_true", help="few sizes, one variant of every other engine")
    parser.add_argument("--python", action="append", default=[], metavar="ENGINE=PATH", help="interpreter of an engine")
    parser.add_argument("--measure", action="append", choices=FULL, help="only this, may be repeated; default all")
    parser.add_argument("--again", nargs="*", metavar="engine", help="measure these again; without a name, all")
    parser.add_argument("--core", type=int, default=(os.cpu_count() or 1) - 1, help="to run on (default the last)")
    parser.add_argument("--output", type=Path, help="folder; default results/<machine>, with --quick a temporary one")
    args = parser.parse_args()
    unknown = set(args.engines) | set(args.again or []) | {p.split("=")[0] for p in args.python}
    if unknown - set(ENGINES):
        parser.error(f"there is no engine {min(unknown - set(ENGINES))!r}, only {', '.join(ENGINES)}")
    pythons = dict(entry.split("=", 1) for entry in args.python)
    again = set(ENGINES if args.quick or args.again == [] else args.again or [])

    started = time.perf_counter()
    place = args.output or (Path(tempfile.gettempdir()) / "catena-versus-quick" if args.quick else folder())
    place.mkdir(parents=True, exist_ok=True)
    found = setup(args.engines or list(ENGINES), pythons)
    reference = references(place, pythons.get("catena", sys.executable), args.quick, "catena" in again)
    tables = {name: Table(place / f"versus_{name}.csv", columns) for name, columns in COLUMNS.items()}
    for name, table in tables.items():
        table.drop(set(found) if name == "setup" else again if name in (args.measure or FULL) else set())
    for engine, what in found.items():
        print(f"{engine} {what['version']}: {', '.join(what['variants'])}", flush=True)
        notes = [(name, v["note"]) for name, v in what["variants"].items()]
        about = {"engine": engine, "version": what["version"], "date": date.today().isoformat()}
        rows = [about | {"variant": name, "settings": note} for name, note in notes]
        tables["setup"].add(rows)

    for measure, engine, variant, scene, joint, sizes, knob in jobs(found, args.quick, args.measure):
        labels = dict(zip(KEY, (engine, variant, scene, joint), strict=True))
        known = [row for row in reference if row["scene"] == scene]
        if tables[measure].has(labels) or (measure == "precision" and not known):
            continue
        job = labels | {"measure": measure, "sizes": sizes, "core": args.core}
        job["options"] = options(measure, scene, knob, args.quick, known)
        begun = time.perf_counter()
        rows, trouble = work(job, pythons.get(engine, sys.executable), 60 if args.quick else 600)
        if trouble:
            tried = sizes[min(len({row["size"] for row in rows}), len(sizes) - 1)]
            rows.append({"size": tried, "status": trouble})
        tables[measure].add([labels | row for row in rows])
        bad = [f"{row['size']}: {row['status']}" for row in rows if row["status"] != "ok"]
        print(f"{measure:9} {engine} {variant}, {scene} {joint}: {len(rows)} rows, ", end="")
        print(f"{time.perf_counter() - begun:.1f} s{'; ' if bad else ''}{'; '.join(bad)[:160]}", flush=True)
    print(f"{place}: done in {time.perf_counter() - started:.0f} s; report.py {place} writes versus.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
