"""What a force of the mechanism exerts at the recorded nodes of a run, from the states there.

The formulas are those of the core (cpp/physics/law.hpp), with the node's own coordinate and rate in place of those of
the interval: springs and motors act at the nodes, so theirs is what acted; what is implicit in the step is of second
order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import analysis
from ._rotation import Array
from .signals import rate as derivative

if TYPE_CHECKING:
    from .laws import Force, Part
    from .trajectory import Trajectory


class ForceHistory:
    """One force of the mechanism over time, along what it acts on; a bushing has a column for each direction."""

    def __init__(self, run: Trajectory, force: Force) -> None:
        self._run = run
        self._force = force

    @property
    def coordinate(self) -> Array:
        """What it acts along (step,): an angle (rad, turns counted), a displacement or a distance (m)."""
        return self._columns([analysis.measured(self._run, part.measure) for part in self._force.parts])

    @property
    def rate(self) -> Array:
        """Rate of that (step,) in rad/s or m/s."""
        return self._columns([analysis.measured_rate(self._run, part.measure) for part in self._force.parts])

    @property
    def effort(self) -> Array:
        """Torque or force (step,) in N m or N along the coordinate, positive where it would make it grow."""
        return self._columns([self._effort(part) for part in self._force.parts])

    @property
    def power(self) -> Array:
        """What it feeds into the mechanism (step,) in W; negative where it takes."""
        power: Array = np.reshape(self.effort * self.rate, (len(self._run), -1)).sum(axis=1)
        return power

    def _columns(self, parts: list[Array]) -> Array:
        return parts[0] if len(parts) == 1 else np.stack(parts, axis=1)

    def _effort(self, part: Part) -> Array:
        law = part.law
        if law["inertia"] > 0:
            raise ValueError(f"{self._force.label} has no effort at a node: it takes part in the acceleration")
        position = analysis.measured(self._run, part.measure)
        rate = analysis.measured_rate(self._run, part.measure)
        effort: Array = (
            self._function(part, "force")
            - law["stiffness"] * (position - law["rest"])
            - law["damping"] * rate
            - law["friction"] * np.tanh(rate / law["threshold"])
        )
        if law["gain"] > 0 or law["rate_gain"] > 0:
            wanted = self._function(part, "target_rate")
            if "target" in part.functions:
                wanted = np.array([float(derivative(part.functions["target"], float(t))) for t in self._run.time])
            servo = law["gain"] * (self._function(part, "target") - position) + law["rate_gain"] * (wanted - rate)
            effort = effort + np.clip(servo, -law["limit"], law["limit"])
        return effort

    def _function(self, part: Part, name: str) -> Array:
        """A number of the law at all nodes, or what its function of time says there, or what it was set to."""
        if name not in part.functions:
            inputs = self._run.mechanism.inputs
            if name == self._force.input and self._run.inputs is not None and self._force.name in inputs:
                return self._run.inputs[:, inputs.index(self._force.name)]
            return np.full(len(self._run), part.law[name])
        return np.array([float(part.functions[name](float(t))) for t in self._run.time])
