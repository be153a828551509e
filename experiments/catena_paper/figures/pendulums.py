"""(e) Pendulums by length, against explicit integration in minimal coordinates."""

from __future__ import annotations

from collections.abc import Iterator

from ..figure import Curves, Figure, Finding, Row, Rows, Sizes
from ..progress import Progress
from ..setups import pendulum
from . import _chains


def measure(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """Seconds by length, joint and contestant."""
    return _chains.measure(sizes, progress, pendulum)


def findings(rows: Rows, published: Curves) -> list[Finding]:
    """Linear; against print; against the rivals."""
    return [
        _chains.linear(rows, published),
        *_chains.against_rivals(rows, published),
        _chains.against_print(rows, published),
        _chains.rival_against_print(rows, published),
    ]


FIGURE = Figure(
    letter="e",
    title="Pendulums by length",
    setup="Pendulums of 1 to 100 links on hinges and on balls: cylinders of 1 m, 0.05 m radius and 1 kg with the "
    "published inertia (0.0845833 kg m² across the axis, where m (3 r² + h²)/12 is 0.0839583), all at 45 degrees and "
    "at rest, 1000 steps of 10 ms, solved to 1e-10 by catena. Other integrators: minimal coordinates with a "
    "Runge-Kutta-Munthe-Kaas "
    "method of order 4, with accelerations from the articulated-body algorithm, in linear time, and from composite "
    "inertias and a dense Cholesky factorization, as in the paper's comparison.",
    sizes={
        "full": {"links": [*range(1, 11), *range(20, 101, 10)], "steps": 1000, "rounds": 100, "seconds": 4.0},
        "quick": {"links": [1, 2, 5, 10, 20, 40, 70, 100], "steps": 1000, "rounds": 30, "seconds": 1.0},
        "tiny": {"links": [1, 2, 5], "steps": 400, "rounds": 1, "seconds": 0.0},
    },
    measure=measure,
    weight=_chains.weight,
    plot=_chains.plot,
    table=_chains.table,
    findings=findings,
    published="pendulums",
    contestants=_chains.CONTESTANTS,
)
