"""Linear models in discrete time: how coordinates and rates at the end of a step follow those at its beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..dynamics.equations import freedom_names
from ..dynamics.linear import LinearModel

if TYPE_CHECKING:
    from .live import Live
    from .plan import Plan


class LinearSteps:
    """Linear models of the steps of one live mechanism; holds what does not change between steps."""

    def __init__(self, plan: Plan) -> None:
        _refuse(plan)
        mechanism, self._dt = plan.mechanism, plan.dt
        names = freedom_names(mechanism, plan.core)
        self._states = (*names, *(f"{name} rate" for name in names))
        self._inputs = tuple(mechanism.inputs)
        self._itself, self._nothing = np.eye(len(self._states)), np.zeros((len(self._states), len(self._inputs)))
        self._itself.flags.writeable = self._nothing.flags.writeable = False

    def at(self, live: Live) -> LinearModel:
        """Return the linear model of the next step, with the current inputs; see Simulator.linearize."""
        if live.failed:
            raise ValueError(f"linearize needs a mechanism that can take a step: {live.status.message}")
        by_state, by_input, outcome = live._linear_step()
        if outcome == _core.LinearOutcome.held:
            raise ValueError(
                f"linearize: in the step at t = {live.time:.6g} s a hard limit acts, or a contact or rope, so the step "
                "has no linear model; choose another state, or leave out joint limits with Simulator(limits='ignore')"
            )
        if outcome != _core.LinearOutcome.found:
            raise ValueError(
                f"linearize: the step of dt = {self._dt:g} s at t = {live.time:.6g} s has no solution without step "
                "halving; use a smaller dt"
            )
        return LinearModel(
            by_state,
            by_input,
            self._itself,
            self._nothing,
            self._states,
            self._inputs,
            self._states,
            self._dt,
        )


def _refuse(plan: Plan) -> None:
    """Raise an error if the equations of a step have other unknowns than the freedoms of a tree."""
    if plan.order == 1 or plan.solver != "articulated":
        raise ValueError(
            "linearize needs solver='articulated' and an order of 2, 4, 6 or 8, but this simulator has "
            f"solver={plan.solver!r} and order={plan.order}; use Simulator(m, solver='articulated', order=2)"
        )
    mechanism = plan.mechanism
    joints, laws, resisted = plan.core.beside_tree()
    items = [joint.label for joint in mechanism.joints.values()]
    items += [coupling.label for coupling in mechanism.couplings.values()]
    named = list(dict.fromkeys([items[k] for k in joints] + [plan.law_labels[k] for k in laws]))
    if resisted:
        named += [force.label for force in mechanism.forces.values() if not force.parts]
    if named:
        others = f" and {len(named) - 3} others" if len(named) > 3 else ""
        raise ValueError(
            "linearize supports trees with forces along joint coordinates, but not closed loops, couplings, moving "
            f"ground, drag and forces between points, here {', '.join(named[:3])}{others}; "
            "Dynamics(m).linearize(state) supports these, in continuous time"
        )
