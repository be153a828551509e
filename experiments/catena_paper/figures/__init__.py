"""All figures of the report, in its order; a new one is a module with a FIGURE, named here."""

from __future__ import annotations

from ..figure import Figure
from . import closed, convergence, drift, energy, later, minitaur, pendulums, rolling, segmented, step_time, tolerance

_MODULES = (energy, drift, step_time, convergence, pendulums, closed, segmented, tolerance, minitaur, rolling, later)

FIGURES: dict[str, Figure] = {module.FIGURE.letter: module.FIGURE for module in _MODULES}
