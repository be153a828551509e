"""One coupling over time: its gap and its effort."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._util.rotation import Array
from .._util.strict import Recorded
from . import analysis, reactions

if TYPE_CHECKING:
    from ..describe.couplings import Coupling
    from .trajectory import Trajectory


class CouplingHistory(Recorded):
    """One coupling over time: its gap and its effort."""

    def __init__(self, run: Trajectory, coupling: Coupling) -> None:
        self._run = run
        self._coupling = coupling

    @property
    def gap(self) -> Array:
        """Gap of the coupling (step,), in rad or m."""
        return analysis.coupling_gap(self._run, self._coupling)

    @property
    def effort(self) -> Array:
        """Torque or force (step,) in N m or N that the coupling exerts on a coordinate, per unit of its coefficient."""
        row = sum(joint.row_count for joint in self._run.mechanism.joints.values())
        row += list(self._run.mechanism.couplings).index(self._coupling.name)
        return reactions.smallest_multipliers(self._run)[:, row]
