"""Where the parameters of members come from: a grid, a table, or random draws; any member can be asked for by itself.

Random draws are made in blocks of members, each from its own seed, so that the numbers of a member depend on the seed
and its index alone, not on how many members there are or how they are divided into chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._util.checks import shown, whole
from .fingerprint import fingerprint

Numbers = dict[str, NDArray[Any]]
Draw = Callable[[np.random.Generator, int], Mapping[str, Any]]

# members whose random numbers are drawn together, from the seed of the first
DRAWN_TOGETHER = 256

# names of variables in the results that parameters and summaries cannot have
RESERVED = ("member", "status", "message")


class Source(Protocol):
    """Parameters of members: how many members there are, and those of any range of them."""

    @property
    def kind(self) -> str:
        """The argument of Sweep that gave them."""

    @property
    def members(self) -> int:
        """How many members there are."""

    @property
    def digest(self) -> str:
        """Equal for equal parameters."""

    def numbers(self, first: int, stop: int) -> Numbers:
        """The parameters of members first to stop - 1, each (members, ...)."""


@dataclass(frozen=True)
class Grid:
    """Every combination of some values; those of the last parameter change fastest."""

    axes: Numbers
    kind: str = "grid"

    @property
    def members(self) -> int:
        """How many combinations there are."""
        return prod(len(axis) for axis in self.axes.values())

    @property
    def digest(self) -> str:
        """Equal for equal values."""
        return fingerprint(self.axes)

    def numbers(self, first: int, stop: int) -> Numbers:
        """See Source."""
        places = np.unravel_index(np.arange(first, stop), [len(axis) for axis in self.axes.values()])
        return {name: axis[place] for (name, axis), place in zip(self.axes.items(), places, strict=True)}


@dataclass(frozen=True)
class Table:
    """One row of every column per member."""

    columns: Numbers
    kind: str = "table"

    @property
    def members(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())))

    @property
    def digest(self) -> str:
        """Equal for equal rows."""
        return fingerprint(self.columns)

    def numbers(self, first: int, stop: int) -> Numbers:
        """See Source."""
        return {name: column[first:stop] for name, column in self.columns.items()}


@dataclass(frozen=True)
class Drawn:
    """Random numbers: a function of a generator and a number of members."""

    draw: Draw
    members: int
    seed: int
    kind: str = "draw"

    @property
    def digest(self) -> str:
        """Equal for functions that do the same with the same seed."""
        return fingerprint([self.draw, self.seed])

    def numbers(self, first: int, stop: int) -> Numbers:
        """See Source."""
        begin = first - first % DRAWN_TOGETHER
        blocks = [self._block(member) for member in range(begin, stop, DRAWN_TOGETHER)]
        rows = slice(first - begin, stop - begin)
        return {name: np.concatenate([block[name] for block in blocks])[rows] for name in blocks[0]}

    def _block(self, member: int) -> Numbers:
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(member,)))
        # whole blocks also at the end, so that more members do not change those that are there
        return columns_of(self.draw(rng, DRAWN_TOGETHER), "draw", DRAWN_TOGETHER)


def source_of(grid: Mapping[str, Any] | None, table: Any, draw: Draw | None, members: int | None, seed: int) -> Source:
    """The parameters that a sweep was given, checked; without any, members that differ in their index only."""
    given = [name for name, value in (("grid", grid), ("table", table), ("draw", draw)) if value is not None]
    if len(given) > 1:
        raise ValueError(f"a sweep has one source of parameters, got {' and '.join(given)}")
    if draw is not None:
        if not callable(draw):
            raise ValueError(f"draw must be a function draw(rng, members) that returns arrays, got {shown(draw)}")
        if members is None:
            raise ValueError("draw needs members=, the number of members to draw")
        return Drawn(draw, whole(members, "members"), seed)
    if members is not None:
        raise ValueError("members= belongs to draw=; a grid or a table has a number of members of its own")
    if grid is not None:
        axes = columns_of(grid, "grid")
        for name, axis in axes.items():
            if axis.ndim != 1 or not len(axis):
                raise ValueError(f"grid: {name!r} must be a list of values, got {shown(grid[name])}")
        return Grid(axes)
    if table is not None:
        columns = columns_of(table, "table")
        rows = {name: len(column) for name, column in columns.items()}
        if len(set(rows.values())) > 1 or not all(rows.values()):
            raise ValueError(f"table: all columns must have the same number of rows, at least one, got {rows}")
        return Table(columns)
    raise ValueError("a sweep needs parameters: give grid=, table= or draw=")


def columns_of(given: Any, what: str, rows: int | None = None) -> Numbers:
    """Named arrays of numbers or strings, from a mapping or a DataFrame, checked."""
    if not (isinstance(given, Mapping) or hasattr(given, "columns")) or len(list(given)) == 0:
        raise ValueError(f"{what} must give names and arrays, as in {{'mass': [1.0, 2.0]}}, got {shown(given)}")
    found: Numbers = {}
    for name in given:
        if not isinstance(name, str) or not name or name in RESERVED:
            raise ValueError(f"{what}: a parameter cannot be called {name!r}; {', '.join(RESERVED)} are taken")
        try:
            column = np.asarray(given[name])
        except ValueError:
            column = np.empty(0, dtype=object)
        if column.dtype.kind not in "biufcU":
            items = column.ravel().tolist()
            if not items or not all(isinstance(item, str) for item in items):
                raise ValueError(f"{what}: {name!r} must be an array of numbers or strings")
            column = column.astype(str)
        if column.ndim == 0 or (rows is not None and len(column) != rows):
            raise ValueError(f"{what}: {name!r} must have one row per member, {rows or ''} got shape {column.shape}")
        found[name] = column
    return found
