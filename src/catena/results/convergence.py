"""Convergence of Newton's method in a step: its increments and their ratios."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._util.rotation import Array

# of the first increment, the second: up to here Kantorovich's theorem knows of one solution and no other near it
_ONE_ROOT = 0.25


@dataclass(frozen=True)
class Convergence:
    """Increments (iteration,) of Newton's method in a step: 2-norms of velocity changes over all bodies, m/s and rad/s.

    If a step consists of several substeps (orders 4, 6, 8, or halved), these are the increments of the substep with the
    slowest convergence. `tolerance` is the requested tolerance, `newton_residual` the estimated error of the solution.
    """

    increments: Array
    tolerance: float
    newton_residual: float

    @property
    def rates(self) -> Array:
        """Ratio of each increment to the one before (iteration - 1,)."""
        return self.increments[1:] / self.increments[:-1]

    @property
    def is_quadratic(self) -> bool:
        """Whether the ratios decrease with the increments, as they do in a well-conditioned step."""
        rates = self.rates
        return len(rates) < 2 or bool((rates[1:] < np.maximum(0.5 * rates[:-1], 1e-2)).all())

    def __str__(self) -> str:
        sizes = ", ".join(f"{size:.1e}" for size in self.increments)
        words = [f"{len(self.increments)} increments ({sizes} m/s)"]
        if len(self.increments) > 1 and self.rates[0] > _ONE_ROOT:
            words.append("the guess was far off: the step is long for its motion, or the pose nearly singular")
        elif len(self.increments) > 2:
            words.append("quadratic: well conditioned" if self.is_quadratic else "slow: the step is ill conditioned")
        else:
            words.append("well conditioned: the guess was almost the solution")
        if self.newton_residual > self.tolerance:
            words.append(f"rounding allows no better than {self.newton_residual:.1e} m/s, above the tolerance")
        return "; ".join(words)
