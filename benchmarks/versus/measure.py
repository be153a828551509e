"""What is measured, for any engine: cost, error against cost, energy over an hour.

An engine is a module with VERSION, VARIANTS and make(scene, variant, dt), which returns an Engine. Every measurement
yields rows for the CSVs; a run that exploded says so in its status, whatever its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np
from scenes import Bodies, Scene

Row = dict[str, Any]
DT, STEPS = 0.01, 1000
EXPLODED = 10.0  # energy error, as a multiple of the scene's energy scale

# CPU time of the whole process, so that no engine hides a second thread
clock = time.process_time


class NotOfferedError(Exception):
    """The engine does not offer this."""


@dataclass(frozen=True)
class Variant:
    """An integrator of an engine with its settings in words; `knob` is "accuracy" where it chooses its own steps."""

    note: str
    joints: tuple[str, ...] = ("revolute", "ball")
    loops: bool = True
    trees: bool = True
    knob: str = "dt"


class Engine:
    """One scene in one engine, with one integrator and one step."""

    def reset(self) -> None:
        """Go back to the start."""
        raise NotImplementedError

    def run(self, steps: int) -> None:
        """Take steps; only the last state need be kept."""
        raise NotImplementedError

    def bodies(self) -> Bodies:
        """The links now."""
        raise NotImplementedError

    def sample(self, steps: int, every: int) -> Iterator[Bodies]:
        """The links at every so many steps, from the start."""
        self.reset()
        for _ in range(0, steps, every):
            self.run(every)
            yield self.bodies()


Make = Callable[[Scene, str, float], Engine]


def begin(make: Make, scene: Scene, variant: str, dt: float) -> Engine:
    """Make the engine, and see that it starts where the scene does."""
    sim = make(scene, variant, dt)
    sim.reset()
    worst = max(float(np.abs(a - b).max()) for a, b in zip(sim.bodies(), scene.start(), strict=True))
    if not worst < 1e-6:
        raise AssertionError(f"{scene.name}: starts elsewhere, by {worst:.1e}")
    return sim


def timed(sim: Engine, steps: int) -> float:
    """CPU time of one run from the start, in s."""
    sim.reset()
    start = clock()
    sim.run(steps)
    return clock() - start


def best_time(sim: Engine, steps: int, seconds: float) -> float:
    """The least of at least three runs, and of as many as fit; of one if that takes long."""
    best, end = inf, time.perf_counter() + seconds
    for rounds in range(1000):
        best = min(best, timed(sim, steps))
        if time.perf_counter() > end and (rounds >= 2 or best > 0.5):
            break
    return best


def cost(make: Make, scene: Scene, variant: str, *, dt: float, seconds: float, longest: float) -> Row:
    """CPU time per link and step of the standard work, with the energy error and the gap it ends with."""
    sim = begin(make, scene, variant, dt)
    n = len(scene.links)
    pilot = timed(sim, 1)
    if pilot > longest:
        raise NotOfferedError(f"too slow: a step takes {pilot:.2g} s")
    steps = int(min(STEPS, max(1, longest / timed(sim, 10) * 10)))

    state = Judge(scene)
    every = max(1, steps // 10)
    for k, b in enumerate(sim.sample(steps, every), start=1):
        if not state.see(b, k * every * dt):
            break
    # the time of a lost run is not worth many rounds
    whole = best_time(sim, steps, seconds if state.status == "ok" else 0.0)
    call = best_time(sim, 0, seconds / 10)
    return {
        "links": n,
        "dt": dt,
        "steps": steps,
        "ns_per_link_step": round(1e9 * (whole - call) / steps / n, 1),
        "us_per_call": round(1e6 * call, 1),
        **state.row(),
    }


def precision(
    make: Make,
    scene: Scene,
    variant: str,
    *,
    knob: str,
    knobs: list[float],
    times: list[float],
    reference: list[Row],
    seconds: float,
    longest: float,
) -> Iterator[Row]:
    """Error at the given times against the CPU time of the whole call, from coarse to fine, until it takes too long."""
    for end in times:
        known = next(r for r in reference if r["scene"] == scene.name and r["time"] == end)
        truth = [np.array(known["position"]), np.array(known["rotation"])]
        for value in knobs:
            row: Row = {"time": end, "knob": knob, "value": value}
            try:
                sim = begin(make, scene, variant, value)
                steps = round(end / value) if knob == "dt" else round(end / DT)
                state = Judge(scene)
                # steps that an engine halves over and over may take minutes
                call = min(timed(sim, 1) for _ in range(3))
                expected = (min(timed(sim, 11) for _ in range(3)) - call) / 10 * steps
                if expected > 20 * longest:
                    yield row | {"status": f"too slow: would take {expected:.0f} s"}
                    continue
                first = timed(sim, steps)
                state.see(sim.bodies(), end)
            except (NotOfferedError, AssertionError):
                raise
            except Exception as error:
                yield row | {"status": f"failed: {_first_line(error)}"}
                continue
            if state.status != "ok":
                yield row | {"cpu_ms": round(1e3 * first, 4), "status": state.status}
                continue
            off = distance(sim.bodies(), *truth)
            taken = min(first, best_time(sim, steps, min(seconds, 10 * first)))
            yield row | {"cpu_ms": round(1e3 * taken, 4), "error": f"{off:.3e}", **state.row()}
            if first > longest or off < max(1e-10, 2 * known["uncertainty"]):
                break


def energy(make: Make, scene: Scene, variant: str, *, minutes: int, longest: float) -> Iterator[Row]:
    """Largest and last energy error of every minute."""
    sim = begin(make, scene, variant, DT)
    expected = timed(sim, STEPS) * minutes * 60 / DT / STEPS
    if expected > longest:
        raise NotOfferedError(f"too slow: would take {expected:.0f} s")
    every = 50
    state = Judge(scene)
    per_minute = round(60 / DT / every)
    for k, b in enumerate(sim.sample(minutes * per_minute * every, every), start=1):
        alive = state.see(b, k * every * DT)
        if k % per_minute == 0 or not alive:
            yield {"minute": -(-k // per_minute), "last": f"{state.last:.3e}", **state.row()}
            state.worst = 0.0
        if not alive:
            break


class Judge:
    """Watches the energy and the gaps of a run."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.scale = scene, scene.energy_scale()
        self.start = scene.energy(scene.start())
        self.worst = self.last = self.gap = self.last_gap = 0.0
        self.status = "ok"

    def see(self, b: Bodies, t: float) -> bool:
        """Take in the links at a time; False once the run is lost."""
        with np.errstate(all="ignore"):
            self.last = (self.scene.energy(b) - self.start) / self.scale
            self.last_gap = self.scene.gap(b)
        self.worst, self.gap = max(self.worst, abs(self.last)), max(self.gap, self.last_gap)
        if not isfinite(self.last):
            self.status = f"exploded: NaN by {t:.3g} s"
        elif abs(self.last) > EXPLODED:
            self.status = f"exploded: energy error {self.last:.1e} at {t:.3g} s"
        return self.status == "ok"

    def row(self) -> Row:
        """The columns for a CSV."""
        return {
            "energy_error": f"{self.worst:.2e}",
            "gap_m": f"{self.gap:.1e}",
            "last_gap_m": f"{self.last_gap:.1e}",
            "status": self.status,
        }


def distance(b: Bodies, position: Any, rotation: Any) -> float:
    """Largest error of any link: of its center in m or of its orientation in rad (chord), whichever is larger."""
    off = np.linalg.norm(b.position - position, axis=1)
    turn = np.linalg.norm(b.rotation - rotation, axis=(1, 2)) / np.sqrt(2)
    return float(max(off.max(), turn.max()))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
