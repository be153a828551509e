"""What is found in a member, and the runs in which it is looked for."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kinematics import geometry
from ..kinematics.state import State
from ..results.trajectory import Trajectory
from ..simulate.simulator import Simulator
from .members import Case

SOLVERS: tuple[str, ...] = ("articulated", "ldu", "dense")
CLASSES = (
    "did not end",
    "crashed",
    "internal error",
    "not finite",
    "gap",
    "velocity rows",
    "energy",
    "momentum",
    "limit passed",
    "energy rises",
    "lanes differ",
    "differs after the first step",
    "differs within five steps",
    "differs later",
    "one goes on, another stops",
    "node refused as a start",
    "goes on differently",
    "halved over and over",
)


@dataclass
class End:
    """How a run ended: "ok", "refused", "stopped" or "error", in what words, and what it computed."""

    kind: str
    text: str = ""
    run: Trajectory | None = None
    seconds: float = 0.0


@dataclass
class Findings:
    """Classes and sentences of one member, and figures worth keeping."""

    classes: dict[str, list[str]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        """Note a finding."""
        assert name in CLASSES
        self.classes.setdefault(name, []).append(text)


def simulate(case: Case, solver: str, state: State, steps: int, refine: int = 1) -> End:
    """A run of the member, from any state, and what became of it."""
    start = time.perf_counter()
    try:
        simulator = Simulator(
            case.mechanism,
            case.dt / refine,
            solver=solver,  # type: ignore[arg-type]
            order=case.order,
            on_failure="stop",
            # members are coarse on purpose
            on_inaccurate="ignore",
        )
        run = simulator.run(steps=steps * refine, state=state, record_every=refine)
    except ValueError as refusal:
        return End("refused", str(refusal), seconds=time.perf_counter() - start)
    except Exception as error:
        return End("error", f"{type(error).__name__}: {error}", seconds=time.perf_counter() - start)
    seconds = time.perf_counter() - start
    return End("ok", "", run, seconds) if run.status.ok else End("stopped", run.status.message, run, seconds)


def finite(run: Trajectory) -> bool:
    """Whether all that was recorded are numbers."""
    names = ("time", "position", "orientation", "velocity", "angular_velocity", "multipliers")
    return all(np.isfinite(getattr(run, name)).all() for name in names)


def size_of(case: Case) -> float:
    """How far the mechanism reaches (m); a body alone has arms too."""
    arms = [np.sqrt(np.trace(body.inertia.tensor) / body.inertia.mass) for body in case.mechanism.bodies.values()]
    size = geometry.extent(case.state) if case.mechanism.joint_count or case.mechanism.body_count > 1 else 0.0
    return float(max(size, *arms))
