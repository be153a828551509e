"""The rivals by the names they have in the report, behind one small face: a run of steps, and what became of it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

import catena as ct
from catena import Status
from catena.kinematics.nodes import Making, Nodes

from . import continuous as continuous_rivals
from . import variational as variational_rivals
from .continuous import Baumgarte
from .figure import Row
from .tree import Tree


class Rival(Protocol):
    """A mechanism at its start, and an integrator."""

    def run(self, steps: int) -> Any:
        """Make so many steps, keeping the last node only: what is timed."""

    def facts(self, steps: int) -> Row:
        """Make them again and tell what became of the mechanism."""


# by name: the integrator and its options
CONTINUOUS: dict[str, dict[str, Any]] = {
    "Heun": {"method": "heun"},
    "RK4": {"method": "rk4"},
    "minimal, articulated": {"dynamics": "articulated"},
    "minimal, Cholesky": {"dynamics": "composite"},
    "minimal, Baumgarte": {"dynamics": "articulated", "stabilization": Baumgarte()},
    # near singular poses more rows count as redundant: the best that was found for segmented chains
    "minimal, tuned": {"dynamics": "articulated", "stabilization": Baumgarte(), "rank": 1e-6},
    "Baraff": {"coordinates": "maximal"},
    "Baraff, Baumgarte": {"coordinates": "maximal", "stabilization": Baumgarte()},
}


class Continuous:
    """An explicit integrator of accelerations, from the mechanism's described state on."""

    def __init__(self, mechanism: ct.Mechanism, name: str, *, dt: float) -> None:
        self._mechanism = mechanism
        self._tree = Tree.of(mechanism)
        state = mechanism.state()
        self._start = self._tree.coordinates_of(state), self._tree.rates_of(state)
        options = dict(CONTINUOUS[name])
        maximal = options.pop("coordinates", "minimal") == "maximal"
        self._integrate = continuous_rivals.baraff if maximal else continuous_rivals.minimal
        self._options = options
        self._dt = dt

    def run(self, steps: int) -> continuous_rivals.Run:
        """Make so many steps, keeping the last node only."""
        return self._integrate(*self._arguments(steps), every=max(1, steps), **self._options)

    def trajectory(self, steps: int, every: int = 1) -> ct.Trajectory:
        """All nodes, as catena would give them; fewer if the numbers left what is finite."""
        run = self._integrate(*self._arguments(steps), every=every, **self._options)
        rows = sum(joint.row_count for joint in self._mechanism.joints.values())
        nothing = np.zeros(run.steps)
        position, orientation, velocity, spin = run.poses
        nodes = Nodes(
            time=run.time,
            position=position,
            orientation=orientation,
            velocity=velocity,
            angular_velocity=spin,
            multipliers=np.zeros((len(run.time), rows)),
        )
        made = Making(
            dt=self._dt,
            iterations=nothing.astype(np.int32),
            substeps=nothing.astype(np.int32) + 1,
            newton_residual=nothing,
            status=Status(ok=run.ok, reason="done" if run.ok else "diverged", message=run.message, step=run.steps),
        )
        return ct.Trajectory(self._mechanism, nodes, made)

    def go_on(self, trajectory: ct.Trajectory) -> None:
        """Start from the end of a trajectory from now on; for trees, whose joints are closed."""
        last = trajectory[-1]
        self._start = self._tree.coordinates_of(last), self._tree.rates_of(last)

    def facts(self, steps: int) -> Row:
        """Whether it got to the end, and what it did to the mechanism on the way."""
        run = self.trajectory(steps, every=max(1, steps // 1000))
        # what flies apart has no energy that a number could hold
        with np.errstate(all="ignore"):
            gap, error = (float(np.nan_to_num(of.max(), nan=np.inf)) for of in (run.drift(), run.energy_error()))
        return {
            "ok": run.status.ok,
            "gap_m": gap,
            "energy_error": error,
            "reached_s": self._dt * run.status.step,
        }

    def _arguments(self, steps: int) -> tuple[Any, ...]:
        return self._tree, *self._start, self._dt, steps


# as published: solves for the angles themselves, until an unscaled residual is small, from the last motion. The others
# solve for increments of the angles and stop and guess as catena does.
_AS_PUBLISHED = {"direction": "impulse", "measure": "residual", "unknown": "angle", "differences": 1}

VARIATIONAL: dict[str, dict[str, Any]] = {
    "second order, as published": {"method": "exponential", **_AS_PUBLISHED},
    "second order, quasi-Newton": {"method": "quaternion", "direction": "impulse", "measure": "increment"},
    "second order, exact Newton": {"method": "quaternion", "direction": "newton", "measure": "increment"},
    "third order, as published": {"method": "radau", **_AS_PUBLISHED},
    "third order, exact Newton": {"method": "radau", "direction": "newton", "measure": "increment"},
    "fourth order, exact Newton": {"method": "gauss", "direction": "newton", "measure": "increment"},
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
