"""A benchmark problem: what is simulated, what it is compared with, and the marks that it has to reach."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import Any, Literal

import numpy as np

from ..describe.mechanism import Mechanism
from ..results.trajectory import Trajectory
from ..simulate.simulator import Simulator

# joints are closed to this at every node (m, rad)
GAP = 1e-10
# an observed order may be off by this
ORDER = 0.2


@dataclass(frozen=True)
class Published:
    """What another program reached on the same problem."""

    program: str
    error: float
    source: str


@dataclass(frozen=True)
class Case:
    """One problem, run with steps of `dt` and of half of it.

    `errors` compares a run with the reference: the largest differences over the nodes that both have. The first is the
    one whose order is observed and which must reach the `mark`, about twice what was measured. `energy_mark` bounds
    the relative energy error where no energy is fed or taken. `kept` gives quantities that the motion keeps exactly, as
    (nodes,) or (nodes, 3): they may stray by rounding alone.
    """

    name: str
    title: str
    source: str
    mechanism: Callable[[], Mechanism]
    duration: float
    dt: float
    errors: Callable[[Trajectory], Mapping[str, float]]
    mark: float
    unit: str = "m"
    order: Literal[2, 4, 6, 8] = 2
    energy_mark: float | None = None
    kept: Callable[[Trajectory], Mapping[str, np.ndarray]] = field(default=lambda run: {})
    published: tuple[Published, ...] = ()
    # a static problem has no order
    static: bool = False


@dataclass(frozen=True)
class Outcome:
    """What was measured, and whether it reaches the marks."""

    name: str
    title: str
    source: str
    dt: float
    order: int
    unit: str
    error: float
    mark: float
    errors: dict[str, float]
    observed_order: float | None
    gap: float
    energy: float | None
    energy_mark: float | None
    kept: dict[str, float]
    seconds: float
    published: list[dict[str, Any]]
    failures: list[str]

    @property
    def passed(self) -> bool:
        """Whether every mark is reached."""
        return not self.failures


def reference(name: str) -> dict[str, Any]:
    """The stored reference solution of a problem, with its provenance."""
    found: dict[str, Any] = json.loads((resources.files(__package__) / "data" / f"{name}.json").read_text("utf-8"))
    return found


def at(run: Trajectory, times: np.ndarray) -> Trajectory:
    """The nodes at given times, which must be among the run's."""
    wanted = np.zeros(len(run), dtype=bool)
    wanted[np.rint(np.asarray(times) / run.dt).astype(int)] = True
    part = run[wanted]
    if len(part) != len(times) or np.abs(part.time - times).max() > 1e-9:
        raise ValueError(f"steps of {run.dt:g} s do not meet the times of the reference")
    return part


def largest(difference: np.ndarray) -> float:
    """The largest component."""
    return float(np.abs(difference).max())


def measure(case: Case) -> Outcome:
    """Run a problem at its step and at half of it."""
    coarse, _ = _run(case, case.dt)
    fine, seconds = _run(case, case.dt / 2)
    errors = dict(case.errors(fine))
    main = next(iter(errors))
    error = errors[main]
    observed = None if case.static else float(np.log2(case.errors(coarse)[main] / error))
    gap = max(float(fine.drift().max(initial=0.0)), float(fine.misalignment().max(initial=0.0)))
    energy = None if case.energy_mark is None else float(fine.energy_error().max())
    kept = {name: _strays(values) for name, values in case.kept(fine).items()}
    failures = []
    if not error <= case.mark:
        failures.append(f"error {error:.2g} {case.unit} exceeds {case.mark:g}")
    if observed is not None and not abs(observed - case.order) <= ORDER:
        failures.append(f"order {observed:.2f} instead of {case.order}")
    if not gap <= GAP:
        failures.append(f"a joint is open by {gap:.2g}")
    if energy is not None and case.energy_mark is not None and not energy <= case.energy_mark:
        failures.append(f"the energy error is {energy:.2g}")
    failures += [f"{name} changes by {stray:.2g}" for name, stray in kept.items() if not stray <= GAP]
    return Outcome(
        name=case.name,
        title=case.title,
        source=case.source,
        dt=case.dt / 2,
        order=case.order,
        unit=case.unit,
        error=error,
        mark=case.mark,
        errors=errors,
        observed_order=observed,
        gap=gap,
        energy=energy,
        energy_mark=case.energy_mark,
        kept=kept,
        seconds=seconds,
        published=[asdict(other) for other in case.published],
        failures=failures,
    )


def _run(case: Case, dt: float) -> tuple[Trajectory, float]:
    simulator = Simulator(case.mechanism(), dt, order=case.order, on_inaccurate="ignore")
    begun = time.thread_time()
    run = simulator.run(case.duration)
    return run, time.thread_time() - begun


def _strays(values: np.ndarray) -> float:
    """How far a kept quantity (nodes, ...) leaves its first value, over its size."""
    return float(np.abs(values - values[0]).max() / np.abs(values).max())
