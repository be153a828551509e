"""What a figure of the report is: words, sizes, and four functions that fill it in.

A figure measures rows, plain dictionaries that go to a CSV file as they are; everything else is computed from those
rows and the published curve: the picture, the short table and the findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from catena._util.rotation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from .progress import Progress

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]
Sizes: TypeAlias = Mapping[str, Any]
Level: TypeAlias = Literal["full", "quick", "tiny"]
Word: TypeAlias = Literal["reproduced", "better", "different", "not reproduced", "new", "not measured"]

# points (x, y) of published curves by name
Curves: TypeAlias = dict[str, tuple[Array, Array]]


class Finding(NamedTuple):
    """One word and the sentence that says why, with its figures in it."""

    word: Word
    sentence: str


@dataclass(frozen=True)
class Figure:
    """One experiment of the report.

    `sizes` are by level: "full", "quick" (the whole report under ten minutes), "tiny" (tests, in seconds). `measure`
    yields rows, and `weight` is how many it will, for the progress bar. `published` names a file of published curves.
    """

    letter: str
    title: str
    setup: str
    sizes: Mapping[Level, Sizes]
    measure: Callable[[Sizes, Progress], Iterator[Row]]
    weight: Callable[[Sizes], int]
    plot: Callable[[Rows, Curves], Picture]
    table: Callable[[Rows, Curves], Rows]
    findings: Callable[[Rows, Curves], list[Finding]]
    published: str | None = None
    caption: str = ""
    # what the rows depend on beside the sizes, such as the rivals that take part
    contestants: Sequence[str] = field(default=())


def pick(rows: Rows, **wanted: Any) -> Rows:
    """Rows whose columns have the given values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def column(rows: Rows, name: str) -> Array:
    """One column as numbers; what is empty or no number is NaN."""
    return np.array([float(row[name]) if row[name] not in ("", None) else np.nan for row in rows])


def curve(rows: Rows, x: str, y: str, **wanted: Any) -> tuple[Array, Array]:
    """Two columns of the rows with the given values, without those in which y is missing."""
    some = pick(rows, **wanted)
    one, other = column(some, x), column(some, y)
    there = np.isfinite(other)
    return one[there], other[there]


def values(rows: Rows, name: str) -> list[Any]:
    """The different values of a column, in the order of their first appearance."""
    return list(dict.fromkeys(row[name] for row in rows))


class Line(NamedTuple):
    """A straight line through points: y = offset + slope x, and the share of the variance that it explains."""

    slope: float
    offset: float
    r2: float


def line(x: Array, y: Array) -> Line:
    """The line of least squares through at least two points."""
    if len(x) < 2:
        return Line(np.nan, np.nan, np.nan)
    slope, offset = np.polyfit(x, y, 1)
    spread = float(((y - y.mean()) ** 2).sum())
    left = float(((y - offset - slope * x) ** 2).sum())
    # points that do not vary are explained by any line through them
    return Line(float(slope), float(offset), 1 - left / spread if spread > 0 else 1.0)


def power(x: Array, y: Array) -> float:
    """The exponent p of y ~ x^p between the first and the last point of positive curves, by least squares."""
    keep = (x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)
    return line(np.log(x[keep]), np.log(y[keep])).slope
