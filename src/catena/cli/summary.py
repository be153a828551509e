"""The account of a run: what was done, how well and how fast, as plain numbers and in words."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import Any

from .._util.lookup import how_many
from ..results.analysis import keeps_energy
from ..results.trajectory import Trajectory
from ..simulate.simulator import Simulator

Facts = dict[str, Any]


def facts(simulator: Simulator, run: Trajectory, seconds: float) -> Facts:
    """What there is to say of a run that took so long, by name; lengths in m, times in s."""
    # what feeds or takes energy leaves no error to be told
    energy, done = run.energy_error() if keeps_energy(run) else None, simulator.info()
    taken = len(run.iterations)
    return {
        "bodies": simulator.mechanism.body_count,
        "steps": taken,
        "dt": run.dt,
        "order": simulator.order if run.info is None else run.info.order,
        "accuracy": simulator.accuracy,
        "duration": float(run.time[-1] - run.time[0]),
        "energy_error": None if energy is None else float(energy.max(initial=0.0)),
        "mean_energy_error": None if energy is None else float(energy.mean()),
        "gap": float(run.drift().max(initial=0.0)),
        "error_of_steps": None if run.error is None else float(run.error.sum()),
        "largest_error_of_steps": None if run.error is None else float(run.error.max(initial=0.0)),
        "checked_error": run.checked_error,
        "iterations_per_substep": _per_substep(run) if taken else 0.0,
        "halved_steps": run.halved_count,
        "seconds": seconds,
        "solver": done["solver"],
        "kernel": done["kernel"],
        "status": asdict(run.status),
    }


# solves of a step by order: substeps of a composition
_SUBSTEPS = {1: 1, 2: 1, 4: 5, 6: 9, 8: 17}


def _per_substep(run: Trajectory) -> float:
    order = 2 if run.info is None else run.info.order
    return float(run.iterations.sum() / (_SUBSTEPS[order] * run.substeps.sum()))


def words(known: Facts) -> str:
    """The same as text."""
    bodies, steps = known["bodies"], known["steps"]
    lines = [
        f"{how_many(bodies, 'body', 'bodies')}, {how_many(steps, 'step', 'steps')} of {known['dt']:g} s and order "
        f"{known['order']}: {known['duration']:g} s of motion",
    ]
    if known["energy_error"] is not None:
        lines.append(
            f"  energy error      {known['mean_energy_error']:.1e}  of the energy in motion, "
            f"{known['energy_error']:.1e} at most"
        )
    lines.append(f"  joint gap         {known['gap']:.1e}  m at most")
    if steps:
        lines += [
            f"  Newton iterations {known['iterations_per_substep']:.2f}  per solve of the equations of motion",
            f"  halved steps      {known['halved_steps']}",
        ]
    if known["error_of_steps"] is not None:
        largest = known["largest_error_of_steps"]
        lines.append(f"  error of steps    {known['error_of_steps']:.1e}  summed over steps, largest {largest:.1e}")
    if known["checked_error"] is not None:
        lines.append(f"  error at nodes    {known['checked_error']:.1e}  at most, from a coarser run")
    speed = known["duration"] / known["seconds"]
    lines.append(f"  time              {known['seconds']:.3f}  s, {speed:.0f} times real time")
    lines.append(f"  solver            {known['solver']}, kernel {known['kernel']}")
    return "\n".join(lines)


def plain(value: Any) -> Any:
    """The same for JSON, which knows neither infinity nor NaN: they are null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
