"""All figures of the report, in its order; a new one is a module with a FIGURE, named here."""

from __future__ import annotations

from ..figure import Figure
from . import convergence, later, rolling, step_time, tolerance

FIGURES: dict[str, Figure] = {module.FIGURE.letter: module.FIGURE for module in (step_time, convergence, tolerance, rolling, later)}
