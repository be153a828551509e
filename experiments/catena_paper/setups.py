"""The mechanisms of the paper's experiments, with the numbers that its authors used."""

from __future__ import annotations

from math import pi
from typing import Any, Literal

import catena as ct

from .machine import kernel
from .timing import Contestant

STEP = 0.01  # s
STEPS = 1000
TOLERANCE = 1e-10

# The authors' code gives a cylinder of radius 0.05 m, length 1 m and 1 kg the moment m (r^2 + h^2/6)/2 across its axis;
# m (3 r^2 + h^2)/12 would be right, 0.7 % less. Where a published curve is compared theirs is used.
PUBLISHED_ACROSS = 0.5 * (0.05**2 + 1 / 6)
PUBLISHED_ALONG = 0.5 * 0.05**2

Kind = Literal["revolute", "ball"]


def pendulum(n: int, joint: Kind = "revolute") -> ct.Mechanism:
    """The pendulum of the timings: n links, all at 45 degrees and at rest, with the published inertia."""
    m = ct.scenes.pendulum(n, joint, angle=pi / 4)
    inertia = ct.Inertia(1.0, (PUBLISHED_ACROSS, PUBLISHED_ACROSS, PUBLISHED_ALONG))
    for body in m.bodies.values():
        body.inertia = inertia
    return m


def simulator(mechanism: ct.Mechanism, **options: Any) -> ct.Simulator:
    """A simulator of 10 ms and 1e-10 on the instruction set of the rivals, which stops where it cannot go on.

    It estimates no errors of steps, as the rivals do not.
    """
    chosen: dict[str, Any] = {
        "dt": STEP,
        "tolerance": TOLERANCE,
        "on_failure": "stop",
        "on_inaccurate": "ignore",
        "kernel": kernel(),
    } | options
    return ct.Simulator(mechanism, **chosen)


def stepping(sim: ct.Simulator) -> Contestant:
    """What is timed of ours: a run that keeps its last node only."""

    def run(steps: int) -> ct.Trajectory:
        return sim.run(steps=steps, record_every=max(1, steps))

    return run
