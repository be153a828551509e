"""What all chunks of a sweep have in common, and the call of `run_batch` that some of its members ask for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from .._util.checks import shown
from ..compile.compile import machine_kernel, planned_kernel
from ..describe.mechanism import Mechanism
from ..simulate.batch import Batch, BatchError
from ..simulate.build import Build
from ..simulate.plan import make_plan
from ..simulate.simulator import Simulator
from .parameters import RESERVED, Numbers, Source
from .storage import Rows

Setup = Callable[[Numbers], Mapping[str, Any]]
Keep = Callable[[Batch], Mapping[str, Any]]
BuildMechanism = Callable[[dict[str, Any]], Mechanism]


class OverBudgetError(Exception):
    """A call that took longer than a member may."""


@dataclass(frozen=True)
class Job:
    """What all chunks of a sweep have in common; `arguments` are those of `run_batch`.

    `source` is None where chunks bring the parameters of their members along.
    """

    simulator: Simulator
    source: Source | None
    arguments: Mapping[str, Any]
    setup: Setup | None
    keep: Keep
    build: BuildMechanism | None
    budget: float | None
    kernel: str
    identity: str
    kept: Mapping[str, tuple[tuple[int, ...], str]]  # shapes and types of what keep returns, per member
    folder: str

    def with_kernel(self, kernel: str) -> Job:
        """The same on one kernel."""
        plan, mechanism = self.simulator.plan, self.simulator.plan.mechanism
        if kernel != machine_kernel():
            # rows of its loops were selected by this machine's
            mechanism = mechanism.copy().snapshot()
        with planned_kernel(kernel):
            build = Build(mechanism, kernel)
        return replace(self, simulator=Simulator.of(replace(plan, build=build, on_failure="stop")), kernel=kernel)


def run_members(job: Job, simulator: Simulator, numbers: Numbers, count: int) -> Batch:
    """The call of `run_batch` that some members ask for by their numbers."""
    own = dict(job.setup(numbers)) if job.setup is not None else {}
    states = own.pop("states", count)
    given = {**job.arguments, "threads": 1, **own}
    if job.budget is not None:
        end = time.process_time() + job.budget

        def watch(_done: int, _count: int) -> None:
            if time.process_time() > end:
                raise OverBudgetError(f"it took more than its budget of {job.budget:g} s of CPU time")

        given["progress"] = watch
    try:
        return cast(Batch, simulator.run_batch(states=states, **given))
    except BatchError as error:
        return cast(Batch, error.batch)


def run_alone(job: Job, numbers: Numbers) -> Batch:
    """The batch of a single member."""
    return run_members(job, simulator_of(job, {name: array[0] for name, array in numbers.items()}), numbers, 1)


def kept_by(keep: Keep, batch: Batch) -> Rows:
    """What is kept of members, as arrays of floats with one row each; types that have no nan become floats."""
    found = keep(batch)
    if not isinstance(found, Mapping) or not found:
        raise ValueError(f"keep must return names and arrays with one row per member, got {shown(found)}")
    rows: Rows = {}
    for name, value in found.items():
        array = np.asarray(value)
        if not isinstance(name, str) or name in RESERVED:
            raise ValueError(f"keep: a result cannot be called {name!r}; {', '.join(RESERVED)} are taken")
        if array.dtype.kind not in "biufc" or array.shape[:1] != (len(batch),):
            raise ValueError(
                f"keep: {name!r} must be an array of numbers with {len(batch)} rows, one per member, "
                f"got {array.dtype} of shape {array.shape}"
            )
        rows[name] = array if array.dtype.kind in "fc" else array.astype(np.float64)
    return rows


def simulator_of(job: Job, numbers: dict[str, Any]) -> Simulator:
    """The simulator of a member: of the mechanism that its numbers describe, if there is a function that builds it."""
    if job.build is None:
        return job.simulator
    mechanism, plan = job.build(numbers), job.simulator.plan
    if not isinstance(mechanism, Mechanism):
        raise ValueError(f"build must return a Mechanism, got {shown(mechanism)}")
    return Simulator.of(
        make_plan(
            mechanism,
            plan.given_dt,
            plan.accuracy if plan.accuracy_given else None,
            plan.solver if plan.solver_given else "auto",
            plan.given_order,
            plan.given_tolerance,
            plan.max_iterations,
            plan.rescue,
            "stop",
            plan.on_inaccurate,
            plan.limits,
            job.kernel,
        )
    )
