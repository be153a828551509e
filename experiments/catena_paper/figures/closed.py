"""(f) Closed chains by length, against acceleration-level loops in minimal coordinates."""

from __future__ import annotations

from collections.abc import Iterator

import catena as ct

from ..figure import Curves, Figure, Finding, Row, Rows, Sizes, column, pick
from ..progress import Progress
from . import _chains


def measure(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """Seconds by length, joint and contestant."""
    return _chains.measure(sizes, progress, ct.scenes.closed_chain)


def findings(rows: Rows, published: Curves) -> list[Finding]:
    """Linear; against the rivals, gaps included; against print."""
    gaps = {name: column(pick(rows, contestant=name), "gap_m").max() for name in _chains.CONTESTANTS}
    told = ", ".join(f"{name} {gap:.1g} m" for name, gap in gaps.items())
    closed = gaps["catena"] < 1e-9
    return [
        _chains.linear(rows, published),
        Finding(
            "reproduced" if closed else "not reproduced",
            f"loops {'stay closed' if closed else 'open'} without stabilization: the largest gap of a joint is {told}.",
        ),
        *_chains.against_rivals(rows, published),
        _chains.against_print(rows, published),
        _chains.rival_against_print(rows, published),
    ]


FIGURE = Figure(
    letter="f",
    title="Closed chains by length",
    setup="Chains of 3 to 101 boxes of 0.1 x 0.1 x 1 m and 1 kg that hang from both their ends, at rest, 1000 steps of "
    "10 ms. Other integrators as in (e); there, the joint that closes the loop is enforced at acceleration level "
    "without stabilization, as in the paper. catena treats all joints alike.",
    sizes={
        "full": {"links": [3, 5, 7, 9, *range(11, 102, 10)], "steps": 1000, "rounds": 100, "seconds": 4.0},
        "quick": {"links": [3, 5, 11, 21, 41, 71, 101], "steps": 1000, "rounds": 30, "seconds": 1.0},
        "tiny": {"links": [3, 5, 9], "steps": 200, "rounds": 1, "seconds": 0.0},
    },
    measure=measure,
    weight=_chains.weight,
    plot=_chains.plot,
    table=_chains.table,
    findings=findings,
    published="closed_chains",
    contestants=_chains.CONTESTANTS,
)
