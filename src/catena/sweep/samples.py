"""Tables of samples: random, or spread evenly over ranges by the sequences of scipy.stats.qmc."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._util.checks import number, one_of, shown, whole

Method = Literal["monte_carlo", "latin_hypercube", "sobol", "halton"]


def sample(
    ranges: Mapping[str, tuple[float, float]], members: int, method: Method = "latin_hypercube", *, seed: int = 0
) -> dict[str, NDArray[np.float64]]:
    """Return a table {"name": (members,)} of samples within ranges {"name": (lower, upper)}, for `Sweep(table=)`.

    "monte_carlo" samples are independent and uniformly distributed. "latin_hypercube", "sobol" and "halton" cover the
    ranges more evenly and need SciPy. Sobol sequences are balanced if the number of members is a power of two.
    """
    if not isinstance(ranges, Mapping) or not ranges:
        raise ValueError(f"ranges must give names and bounds, as in {{'mass': (1.0, 2.0)}}, got {shown(ranges)}")
    for name, bounds in ranges.items():
        pair = [number(bound) for bound in bounds] if np.shape(bounds) == (2,) else []
        if not pair or not -np.inf < pair[0] < pair[1] < np.inf:
            raise ValueError(f"ranges: {name!r} must be (lower, upper) with lower < upper, got {shown(bounds)}")
    one_of(method, ("monte_carlo", "latin_hypercube", "sobol", "halton"), "method")
    count, seed = whole(members, "members"), whole(seed, "seed", least=0)
    points = _points(method, len(ranges), count, np.random.default_rng(seed))
    return {name: lower + (upper - lower) * points[:, k] for k, (name, (lower, upper)) in enumerate(ranges.items())}


def _points(method: Method, dimension: int, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Points (count, dimension) of the unit cube."""
    if method == "monte_carlo":
        return rng.random((count, dimension))
    try:
        qmc = import_module("scipy.stats.qmc")
    except ImportError:
        raise ImportError(
            f"method={method!r} needs scipy, which is not installed: pip install scipy; 'monte_carlo' needs nothing"
        ) from None
    samplers: dict[str, Any] = {"latin_hypercube": qmc.LatinHypercube, "sobol": qmc.Sobol, "halton": qmc.Halton}
    sampler = samplers[method](dimension, rng=rng)
    if method == "sobol":
        # scipy warns of any other number
        return np.asarray(sampler.random_base2(int(count - 1).bit_length())[:count])
    return np.asarray(sampler.random(count))
