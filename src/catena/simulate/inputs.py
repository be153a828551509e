"""Inputs of live mechanisms by the names of their motors and servos."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from math import isfinite
from typing import TypeVar

from numpy.typing import ArrayLike

from .._util.rotation import Array

Value = TypeVar("Value")


class _ByName(MutableMapping[str, Value]):
    def __init__(self, input: Array, names: Iterable[str]) -> None:
        self._input = input
        self._places = {name: k for k, name in enumerate(names)}

    def _place(self, name: str) -> int:
        if name not in self._places:
            known = ", ".join(map(repr, self._places)) or "none: no motor or servo without a function of time"
            raise KeyError(f"there is no input {name!r}; there are {known}")
        return self._places[name]

    def __delitem__(self, name: str) -> None:
        raise TypeError("inputs cannot be taken away")

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)})"


class Inputs(_ByName[float]):
    """Inputs of a live mechanism by name; they hold from the next step on."""

    def __getitem__(self, name: str) -> float:
        return float(self._input[self._place(name)])

    def __setitem__(self, name: str, value: float) -> None:
        place = self._place(name)
        try:
            is_fine = isfinite(value)
        except TypeError:
            is_fine = False
        if not is_fine:
            raise ValueError(f"input {name!r} must be a finite number, got {value!r}")
        self._input[place] = value


class BatchInputs(_ByName[Array]):
    """Inputs (member,) of a live batch by name; they hold from the next step on."""

    def __getitem__(self, name: str) -> Array:
        return self._input[:, self._place(name)]

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        self._input[:, self._place(name)] = value
