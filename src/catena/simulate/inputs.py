"""Inputs of live mechanisms by the names of their motors and servos."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._util.checks import shown
from .._util.rotation import Array


class Inputs(MutableMapping[str, Any]):
    """Inputs by name: a number for a Live, an array (member,) for a batch; they take effect in the next step."""

    def __init__(self, inputs: Array, names: Iterable[str]) -> None:
        self._inputs = inputs
        self._places = {name: k for k, name in enumerate(names)}

    def _place(self, name: str) -> int:
        if name not in self._places:
            known = ", ".join(map(repr, self._places)) or "none: no motor or servo without a function of time"
            raise KeyError(f"there is no input {name!r}; there are {known}")
        return self._places[name]

    def __getitem__(self, name: str) -> Any:
        found = self._inputs[..., self._place(name)]
        return float(found) if found.ndim == 0 else found

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        place, members = self._place(name), self._inputs.shape[:-1]
        try:
            given = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            given = np.array(np.nan)
        if not np.isfinite(given).all() or given.shape not in ((), members):
            each = f", or {members[0]} of them" if members else ""
            raise ValueError(f"input {name!r} must be a finite number{each}, got {shown(value)}")
        self._inputs[..., place] = given

    def __delitem__(self, name: str) -> None:
        raise TypeError("inputs cannot be removed")

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)})"
