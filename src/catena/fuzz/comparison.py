"""Runs of a member against each other: solvers, a start that is shaken, and going on from the middle.

Where rounding decides, runs may part: a start shaken by 1e-13 says by how much. Touches of stops that come nearly at
once have no order either, and what is caught after them is of first order. Runs with other impacts may differ by no
more than they err, which a run with an eighth of the step tells.
"""

from __future__ import annotations

import numpy as np

from .._util.rotation import Array, from_rotation_vector, multiply, normalised
from ..kinematics.state import State
from ..results.trajectory import Trajectory
from .findings import End, Findings, finite, simulate
from .members import Case

_SHAKE = 1e-13

# parts of the size (m) and rad: what solvers may differ by in any case
_DIFFERENCE = 1e-8

# how much further than the shaken run another solver may go astray
_AMPLIFIED = 1e3

# parts of what the better of two runs errs by, where stops are touched nearly at once and rounding decides which first
_DECIDED = 3.0

# beyond this the shaken run is another motion, and nothing can be compared
_ASTRAY = 1e-3


def distance(one: Trajectory, other: Trajectory, size: float) -> Array:
    """Largest difference of any pose (node,), in parts of the size and rad, over the nodes both have.

    A run that stops records its last piece of a step, at a time of its own.
    """
    count = min(len(one), len(other))
    count = int(np.argmin([*(np.abs(one.time[:count] - other.time[:count]) < 1e-6 * one.dt), False]))
    places = np.abs(one.position[:count] - other.position[:count]).max(axis=(1, 2)) / size
    p, q = one.orientation[:count], other.orientation[:count]
    turns = 2 * np.minimum(np.linalg.norm(p - q, axis=2), np.linalg.norm(p + q, axis=2)).max(axis=1)
    result: Array = np.maximum(places, turns)
    return result


def bound_of(case: Case, runs: dict[str, Trajectory], size: float, found: Findings) -> Array:
    """What runs may differ by at every node (steps + 1,): rounding, as much as a shaken start says it grows."""
    bound = np.full(case.steps + 1, _DIFFERENCE)
    first = runs.get("articulated")
    if first is None:
        return bound
    end = simulate(case, "articulated", shaken(case.state, size), case.steps)
    if end.run is None or not finite(end.run):
        return np.full(case.steps + 1, np.inf)
    grown = np.maximum.accumulate(distance(first, end.run, size))
    bound[: len(grown)] += _AMPLIFIED * grown
    bound[len(grown) :] = np.inf
    bound[bound > _ASTRAY * _AMPLIFIED] = np.inf
    found.facts["shaken"] = [float(grown[min(k, len(grown) - 1)]) for k in (1, 5, case.steps)]
    return bound


def shaken(state: State, size: float) -> State:
    """The state with every number changed by about 1e-13."""
    rng = np.random.default_rng(1)
    other = state.copy()
    shape = state.position.shape
    far = size + np.abs(state.position).max()
    other.position = state.position + _SHAKE * far * rng.uniform(-1, 1, size=shape)
    turns = from_rotation_vector(_SHAKE * rng.uniform(-1, 1, size=shape))
    other.orientation = normalised(multiply(turns, state.orientation))
    for name in ("velocity", "angular_velocity"):
        values = getattr(state, name)
        setattr(other, name, values + _SHAKE * np.abs(values).max() * rng.uniform(-1, 1, size=shape))
    return other


def compare(
    case: Case, ends: dict[str, End], runs: dict[str, Trajectory], size: float, bound: Array, found: Findings
) -> None:
    """Solvers end alike, and at the same places."""
    first = runs.get("articulated")
    kinds = {solver: end.kind for solver, end in ends.items()}
    stops = [len(end.run) - 1 for end in ends.values() if end.kind == "stopped" and end.run is not None]
    apart_ways = "ok" in kinds.values() and (stops or "refused" in kinds.values())
    # where rounding decides, it decides this too
    if apart_ways and np.isfinite(bound[min(stops, default=0)]):
        words = "; ".join(f"{solver} {end.kind} {end.text}".strip() for solver, end in ends.items())
        found.add("one goes on, another stops", words)
    if first is None:
        return
    nodes = []
    for solver, run in runs.items():
        if solver == "articulated":
            continue
        apart = distance(first, run, size)
        wide = np.flatnonzero(apart > bound[: len(apart)])
        found.facts[f"articulated - {solver}"] = [float(apart[min(k, len(apart) - 1)]) for k in (1, 5, len(apart) - 1)]
        if len(wide) and not _decided_by_rounding(case, first, run, size, int(wide[0]), found):
            k = int(wide[0])
            nodes.append(k)
            name = "after the first step" if k <= 1 else "within five steps" if k <= 5 else "later"
            steps = min(k, len(first.substeps), len(run.substeps))
            alike = bool((first.substeps[:steps] == run.substeps[:steps]).all())
            how = "in the same substeps" if alike else "one halved a step that the other took whole"
            text = f"{apart[k]:.2g} at node {k}, {apart.max():.2g} in all, bound {bound[k]:.2g}, {how}"
            found.add(f"differs {name}", f"articulated and {solver}: {text}")
    if nodes:
        found.facts["astray"] = _astray(case, runs, size, min(nodes))


def _decided_by_rounding(
    case: Case, one: Trajectory, other: Trajectory, size: float, node: int, found: Findings
) -> bool:
    """Whether runs part where impacts differ, by no more than they err: touches nearly at once have no order."""

    def told(run: Trajectory) -> tuple[int, ...]:
        return run.cut_count, run.caught_count, len(run.impacts)

    if told(one) == told(other):
        return False
    off = _astray(case, {"one": one, "other": other}, size, node)
    if not off:
        return False
    apart = float(distance(one, other, size)[node])
    found.facts["decided"] = found.facts.get("decided", 0) + (apart <= _DECIDED * min(off["one"], off["other"]))
    return apart <= _DECIDED * min(off["one"], off["other"])


def _astray(case: Case, runs: dict[str, Trajectory], size: float, node: int) -> dict[str, float]:
    """How far each solver is from a run with an eighth of the step, one node before they part and where they do."""
    fine = simulate(case, "articulated", case.state, node, refine=8)
    if fine.kind != "ok" or fine.run is None:
        return {}
    result: dict[str, float] = {}
    for solver, run in runs.items():
        off = distance(fine.run, run, size)
        if len(off) > node:
            result |= {f"{solver} before": float(off[node - 1]), solver: float(off[node])}
    return result


def go_on(case: Case, solver: str, run: Trajectory, size: float, bound: Array, found: Findings) -> None:
    """From the middle node to the end again."""
    middle = case.steps // 2
    end = simulate(case, solver, run[middle], case.steps - middle)
    if end.kind == "error":
        found.add("internal error", f"{solver}, going on: {end.text}")
    elif end.kind == "refused":
        found.add("node refused as a start", f"{solver}, node {middle}: {end.text}")
    elif np.isfinite(bound[-1]):
        if end.kind == "stopped":
            found.add("goes on differently", f"{solver}: stops after node {middle}: {end.text}")
            return
        assert end.run is not None
        apart = distance(run[middle:], end.run, size)
        wide = apart > bound[middle:]
        if wide.any() and not _goes_as_well(case, run, end.run, size, middle, int(wide.argmax()), found):
            k = int(wide.argmax())
            found.add(
                "goes on differently",
                f"{solver}: {apart[k]:.2g} {k} steps after node {middle}, {apart.max():.2g} in all",
            )


def _goes_as_well(
    case: Case, run: Trajectory, end: Trajectory, size: float, middle: int, later: int, found: Findings
) -> bool:
    """Whether a run that goes on from a node with stops errs as little there as the first one."""
    if not run.impacts:
        return False
    fine = simulate(case, "articulated", case.state, middle + later, refine=8)
    if fine.kind != "ok" or fine.run is None:
        return False
    errors = [distance(fine.run[middle:], of, size)[-1] for of in (run[middle : middle + later + 1], end[: later + 1])]
    apart = float(distance(run[middle:], end, size)[later])
    well = apart <= _DECIDED * float(min(errors))
    found.facts["decided"] = found.facts.get("decided", 0) + well
    return well
