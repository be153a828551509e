"""The rivals by the names they have in the report, behind one small face: a run of steps, and what became of it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

import catena as ct

from . import variational as variational_rivals
from .figure import Row
from .tree import Tree


class Rival(Protocol):
    """A mechanism at its start, and an integrator."""

    def run(self, steps: int) -> Any:
        """Make so many steps, keeping the last node only: what is timed."""

    def facts(self, steps: int) -> Row:
        """Make them again and tell what became of the mechanism."""


# method, direction, measure and differences of the guess, by name
VARIATIONAL: dict[str, dict[str, Any]] = {
    "second order, quasi-Newton": {"method": "exponential", "direction": "impulse", "measure": "residual"},
    "second order, exact Newton": {"method": "quaternion", "direction": "newton", "measure": "increment"},
    "third order, quasi-Newton": {"method": "radau", "direction": "impulse", "measure": "residual"},
    "third order, exact Newton": {"method": "radau", "direction": "newton", "measure": "increment"},
    "fourth order, exact Newton": {"method": "lobatto", "direction": "newton", "measure": "increment"},
}


class _Variational:
    def __init__(self, mechanism: ct.Mechanism, name: str, dt: float, tolerance: float) -> None:
        self._tree = Tree.of(mechanism)
        state = mechanism.state()
        self._start = self._tree.coordinates_of(state), self._tree.rates_of(state)
        self._options = {**VARIATIONAL[name], "tolerance": tolerance}
        self._dt = dt

    def run(self, steps: int) -> variational_rivals.Run:
        return variational_rivals.run(self._tree, *self._start, self._dt, steps, every=max(1, steps), **self._options)

    def facts(self, steps: int) -> Row:
        run = self.run(steps)
        return {
            "failures": run.failures,
            "failed_at_step": "" if run.first_failure is None else run.first_failure,
            "iterations_per_step": float(run.iterations.mean()) if len(run.iterations) else np.nan,
        }


def variational(mechanism: ct.Mechanism, name: str, *, dt: float, tolerance: float) -> Rival:
    """A variational integrator in minimal coordinates, one of VARIATIONAL."""
    return _Variational(mechanism, name, dt, tolerance)
