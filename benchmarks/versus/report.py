"""Writes versus.md and its pictures from versus_*.csv: python report.py [folder], default this machine's results."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable
from math import exp, inf, log
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

sys.path.append(str(Path(__file__).resolve().parent.parent))
from machine import folder

Row = dict[str, Any]
Curve = tuple[str, str]
COLORS = {
    "catena": "#c1121f",
    "mujoco": "#1f6fb4",
    "pinocchio": "#2a8f3c",
    "drake": "#e08a00",
    "dart": "#7b3fa0",
    "pybullet": "#8a5a3b",
    "exudyn": "#5a6b78",
}
STYLES = (
    ("-", "o"),
    ("--", "s"),
    (":", "^"),
    ("-.", "D"),
    ((0, (1, 1)), "v"),
    ((0, (5, 1, 1, 1, 1, 1)), "P"),
    ("-", "*"),
)
TITLES = {
    "chain": "chain",
    "horizontal_chain": "chain released horizontally",
    "closed_chain": "closed chain",
    "leaning_chain": "closed chain, halves differ",
    "segmented_chain": "segmented chain",
    "double_ball": "double pendulum on ball joints, spinning",
    "four_bar": "four-bar",
    "heavy_top": "heavy top",
}
WRONG = 0.1  # energy error from which on a time is marked as that of a wrong answer
FINE, COARSE = 1e-8, 1e-2


class Report:
    """The rows of a folder, and the page that grows from them."""

    def __init__(self, place: Path) -> None:
        self.place, self.lines = place, list[str]()
        self.setup = self.read("setup")
        variants = [(row["engine"], row["variant"]) for row in self.setup]
        self.curves = sorted(variants, key=lambda c: list(COLORS).index(c[0]))

    def read(self, name: str) -> list[Row]:
        """One CSV, or nothing."""
        path = self.place / f"versus_{name}.csv"
        return list(csv.DictReader(path.open(newline=""))) if path.exists() else []

    def say(self, *lines: str) -> None:
        """Add lines to the page."""
        self.lines += [*lines, ""]

    def table(self, head: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
        """Add a table to the page."""
        cells = [[str(c) for c in head]]
        cells += [["---", *("---:" for _ in cells[0][1:])], *([str(c) for c in row] for row in rows)]
        self.say(*(f"| {' | '.join(line)} |" for line in cells))

    def style(self, curve: Curve) -> Row:
        """How a curve is drawn: engines by color, their variants by line and marker."""
        which = [c for c in self.curves if c[0] == curve[0]].index(curve)
        line, marker = STYLES[which % len(STYLES)]
        ours = curve[0] == "catena"
        look = {"color": COLORS[curve[0]], "ls": line, "marker": marker, "label": " ".join(curve)}
        return look | {"lw": 2.2 if ours else 1.1, "ms": 5 if ours else 3.5, "zorder": 3 if ours else 2}

    def picture(
        self, name: str, panels: list[tuple[str, str, list[tuple[Curve, list[Row], str, str]]]], y: str
    ) -> None:
        """Draw log-log panels side by side: (title, x label, curves with rows and the names of their columns)."""
        figure, axes = plt.subplots(1, len(panels), figsize=(5.6 * len(panels) + 2.2, 5.4), sharey=True, squeeze=False)
        shown: dict[str, Any] = {}
        for axis, (title, x, curves) in zip(axes[0], panels, strict=True):
            for curve, rows, column_x, column_y in curves:
                points = [(float(r[column_x]), float(r[column_y]), _wrong(r)) for r in rows if r.get(column_y)]
                if not points:
                    continue
                look = self.style(curve) | ({"markevery": 10} if x == "minutes" else {})
                (line,) = axis.plot(*zip(*[p[:2] for p in points], strict=True), **look)
                shown.setdefault(look["label"], line)
                lost = [p[:2] for p in points if p[2]]
                if lost and column_y == "ns_per_link_step":
                    axis.scatter(*zip(*lost, strict=True), marker="x", s=60, color="black", zorder=4, lw=1.2)
            axis.set(xscale="linear" if x in ("rhombi", "minutes") else "log", yscale="log", title=title, xlabel=x)
            axis.grid(which="major", color="#dddddd", lw=0.6)
            if x in ("links", "rhombi"):
                sizes = sorted({int(r["size"]) for curve in curves for r in curve[1]})
                axis.set_xticks(sizes, [str(n) for n in sizes])
                axis.tick_params(axis="x", which="minor", bottom=False)
        axes[0][0].set_ylabel(y)
        order = [" ".join(c) for c in self.curves if " ".join(c) in shown]
        figure.legend([shown[k] for k in order], order, loc="center right", fontsize=8, frameon=False)
        figure.tight_layout(rect=(0, 0, 1 - 1.75 / figure.get_figwidth(), 1))
        figure.savefig(self.place / f"versus_{name}.png", dpi=110)
        plt.close(figure)
        self.say(f"![{name}](versus_{name}.png)")

    # ---- the sections

    def costs(self, name: str, families: list[tuple[str, str]], x: str) -> None:
        """Time per link and step against the size: a picture and a table per scene."""
        rows = self.read(name)
        panels = []
        for scene, joint in families:
            mine = [r for r in rows if (r["scene"], r["joint"]) == (scene, joint)]
            if mine:
                curves = [(c, [r for r in mine if _curve(r) == c], "size", "ns_per_link_step") for c in self.curves]
                panels.append((f"{TITLES[scene]}, {joint}", x if scene != "segmented_chain" else "rhombi", curves))
        if not panels:
            return
        self.picture(name, panels, "CPU time per link and step (ns)")
        for title, _, curves in panels:
            sizes = sorted({int(r["size"]) for c in curves for r in c[1]})
            cells = [[" ".join(c[0]), *(_cell(c[1], n) for n in sizes)] for c in curves if c[1]]
            others = [c for c in curves if c[0][0] != "catena"]
            ours = [c for c in curves if c[0] == ("catena", "order 2")]
            last = []
            for n in sizes:
                (us, _), (them, who) = (_fastest(group, n) for group in (ours, others))
                last.append(f"{them / us:.2f} ({' '.join(who)})" if max(us, them) < inf else "")
            self.say(
                f"**{title}**, ns per link and step; the last line is the ratio of the fastest other engine "
                "without a mark to catena:"
            )
            self.table(["", *sizes], [*cells, ["*other / order 2*", *last]])

    def precision(self) -> None:
        """Error against CPU time, and who needs least for a given error."""
        rows = [r for r in self.read("precision") if r["status"] == "ok"]
        levels = [10.0**-k for k in range(2, 9)]
        beaten: list[str] = []
        for scene in dict.fromkeys(r["scene"] for r in rows):
            panels, tables = [], []
            for end in dict.fromkeys(r["time"] for r in rows if r["scene"] == scene):
                mine = [r for r in rows if (r["scene"], r["time"]) == (scene, end)]
                curves = {c: [r for r in mine if _curve(r) == c] for c in self.curves}
                drawn = [(c, points, "cpu_ms", "error") for c, points in curves.items() if points]
                panels.append((f"{TITLES[scene]}, t = {float(end):g} s", "CPU time (ms)", drawn))
                ours, theirs = ({c: p for c, p in curves.items() if (c[0] == "catena") == us} for us in (True, False))
                cells = [(_best(ours, e), _best(theirs, e)) for e in levels]
                line = [f"{TITLES[scene]}, {float(end):g} s", *(_duel(a, b) for a, b in cells)]
                tables.append(line)
                beaten += _beaten(f"{TITLES[scene]}, {float(end):g} s", ours, theirs)
            self.picture(f"precision_{scene}", panels, "error (m or rad)")
            self.table(["error below", *(f"{e:.0e}" for e in levels)], tables)
        self.say(
            f"**Where another engine needs less time than catena's best order**, errors from {COARSE:g} to {FINE:g}:"
        )
        self.say(*(f"- {line}" for line in beaten or ["nowhere"]))

    def references(self) -> None:
        """How far the reference solutions can be trusted."""
        path = self.place / "versus_reference.json"
        if not path.exists():
            return
        keys = ("catena_dt", "catena_against_twice_the_step", "catena_against_scipy", "scipy_against_looser")
        rows = [
            [f"{TITLES[r['scene']]}, {r['time']:g} s", *(f"{r[k]:.1e}" for k in keys), r["reference"]]
            for r in json.loads(path.read_text())
        ]
        self.table(
            ["reference", "dt (s)", "catena, dt against 2 dt", "catena - SciPy", "SciPy - looser", "taken"], rows
        )

    def energy(self) -> None:
        """Energy over the hour."""
        rows = self.read("energy")
        panels = []
        for scene in dict.fromkeys(r["scene"] for r in rows):
            mine = [r for r in rows if r["scene"] == scene and r.get("minute")]
            panels.append(
                (
                    TITLES[scene] + ", 2 links",
                    "minutes",
                    [(c, [r for r in mine if _curve(r) == c], "minute", "energy_error") for c in self.curves],
                )
            )
        if not panels:
            return
        self.picture("energy", panels, "largest energy error of the minute")
        names = [title for title, _, _ in panels]
        lines = []
        for c in self.curves:
            parts = [next(rows for curve, rows, _, _ in p[2] if curve == c) for p in panels]
            if any(parts):
                lines.append([" ".join(c), *(_hour(part) for part in parts)])
        self.table(["largest, and that of the last minute", *names], lines)

    def gaps(self) -> None:
        """How far the joints are open."""
        rows = self.read("gap")
        columns = list(dict.fromkeys((r["scene"], r["joint"], r["size"]) for r in rows))
        known = {(*_curve(r), r["scene"], r["joint"], r["size"]): r for r in rows}
        lines = [[" ".join(c), *(_gap(known.get((*c, *key))) for key in columns)] for c in self.curves]
        heads = [f"{TITLES[s]}, {j}, {n}" for s, j, n in columns]
        if rows:
            self.table(["", *heads], [line for line in lines if any(line[1:])])

    def write(self) -> Path:
        """Put it all together."""
        self.say("# catena and other engines")
        self.say(
            f"On {self.place.name}, one core. Written by `benchmarks/versus/report.py`;",
            "[Benchmarks](../../README.md) describes the measurements, and the end of this page lists the settings.",
            f"A time is meaningful only together with an error: "
            f"x and † mark runs with an energy error above {100 * WRONG:.0f} %; exploded means NaN or an",
            "energy error above 10 times the reference energy.",
        )
        self.say(
            "If you know better settings for an engine, please open an issue or change its file in",
            "`benchmarks/versus`: we measure again and publish the result, whoever is ahead.",
            "`benchmarks/versus/repeat FOLDER` installs all engines and repeats the measurements.",
        )
        self.say("## Time per link and step against the number of links")
        self.say("Steps of 10 ms (1000 links: 1 ms), released at rest at 45 degrees.")
        self.costs("chain", [("chain", "revolute"), ("chain", "ball")], "links")
        self.say("## Loops")
        self.say("One loop per rhombus of four links; the closed chain is one loop through all links.")
        families = [("segmented_chain", "revolute"), ("closed_chain", "revolute"), ("closed_chain", "ball")]
        self.costs("loops", families, "links")
        self.say("## Error against time")
        self.say(
            "Time of the whole call. Tables: ms of catena's best order / ms of the best other engine, "
            "bold if the latter is faster."
        )
        self.say("Pinocchio has no integrators: it uses those of odeint, in a C++ loop written for this comparison.")
        self.precision()
        self.say("Agreement of the reference solutions:")
        self.references()
        self.say("## Energy over 60 minutes")
        self.say("Double pendulum, steps of 10 ms; relative to the energy between hanging and horizontal.")
        self.energy()
        self.say("## Gaps over 10 s")
        self.say("Largest gap of any joint in m, steps of 10 ms, evaluated every second.")
        self.gaps()
        self.say("## Settings")
        self.table(["engine", "version", "measured", "variant", "settings"], [list(r.values()) for r in self.setup])
        path = self.place / "versus.md"
        path.write_text("\n".join(self.lines).rstrip() + "\n")
        return path


# ---- small helpers


def _curve(row: Row) -> Curve:
    return row["engine"], row["variant"]


def _wrong(row: Row) -> bool:
    return row["status"] != "ok" or float(row.get("energy_error") or 0) > WRONG


def _at(rows: list[Row], size: int) -> Row | None:
    return next((r for r in rows if int(r["size"]) == size), None)


def _cell(rows: list[Row], size: int) -> str:
    row = _at(rows, size)
    if row is None:
        return ""
    if not row["ns_per_link_step"]:
        return row["status"].split(":")[0]
    text = f"{float(row['ns_per_link_step']):.0f}"
    return f"({text}) exploded" if row["status"] != "ok" else f"{text}{' †' if _wrong(row) else ''}"


def _fastest(curves: list[tuple[Curve, list[Row], str, str]], size: int) -> tuple[float, Curve]:
    """The least time of a run that is not wrong."""
    rows = [(c[0], _at(c[1], size)) for c in curves]
    times = [(float(r["ns_per_link_step"]), c) for c, r in rows if r and r["ns_per_link_step"] and not _wrong(r)]
    return min(times, default=(inf, ("", "")))


def _time_to(points: list[Row], error: float) -> float:
    """CPU time (ms) from which on a curve stays below an error, interpolated between its points."""
    curve = [(float(r["error"]), float(r["cpu_ms"])) for r in points]
    # beyond its best point rounding takes over
    curve = curve[: 1 + min(range(len(curve)), key=lambda k: curve[k][0])] if curve else []
    if not curve or curve[-1][0] > error:
        return inf
    k = len(curve) - 1
    while k > 0 and curve[k - 1][0] <= error:
        k -= 1
    if k == 0:
        return curve[0][1]
    (e0, t0), (e1, t1) = curve[k - 1], curve[k]
    part = log(error / e0) / log(e1 / e0)
    return exp(log(t0) + part * log(t1 / t0))


def _best(curves: dict[Curve, list[Row]], error: float) -> tuple[float, Curve]:
    times = [(_time_to(points, error), curve) for curve, points in curves.items()]
    return min(times, default=(inf, ("", "")))


def _duel(ours: tuple[float, Curve], theirs: tuple[float, Curve]) -> str:
    def name(t: float, c: Curve, text: str) -> str:
        return f"{t:.3g} {text}" if t < inf else "-"

    first, second = name(*ours, ours[1][1]), name(*theirs, " ".join(theirs[1]))
    return f"{first} / **{second}**" if theirs[0] < ours[0] else f"{first} / {second}"


def _beaten(title: str, ours: dict[Curve, list[Row]], theirs: dict[Curve, list[Row]]) -> list[str]:
    """One line per engine variant that lies below our envelope somewhere."""
    grid = [COARSE * (FINE / COARSE) ** (k / 60) for k in range(61)]
    lines = []
    for curve, points in theirs.items():
        won = [(e, _time_to(points, e), _best(ours, e)[0]) for e in grid]
        won = [w for w in won if w[1] < w[2]]
        if won:
            most = max((us / them for _, them, us in won if us < inf), default=inf)
            text = f"up to {most:.3g} times faster" if most < inf else "alone"
            missed = [e for e, _, us in won if us == inf]
            text += f"; catena does not arrive below {missed[0]:.1e}" if missed else ""
            lines.append(f"{title}: {' '.join(curve)}, between {won[0][0]:.1e} and {won[-1][0]:.1e}, {text}")
    return lines


def _hour(rows: list[Row]) -> str:
    if not rows:
        return ""
    text = f"{max(float(r['energy_error']) for r in rows):.1e}, {float(rows[-1]['energy_error']):.1e}"
    return text if rows[-1]["status"] == "ok" else f"{rows[-1]['status']}, minute {rows[-1]['minute']}"


def _gap(row: Row | None) -> str:
    if row is None:
        return ""
    return row["gap_m"] + (" †" if _wrong(row) else "") if row["status"] == "ok" else row["status"].split(":")[0]


def main() -> int:
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else folder()
    if not (place / "versus_setup.csv").exists():
        print(f"{place}: no results; run.py makes them", file=sys.stderr)
        return 1
    print(Report(place).write())
    return 0


if __name__ == "__main__":
    sys.exit(main())
