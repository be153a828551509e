"""Rivals in continuous time: explicit Runge-Kutta methods on accelerations.

Minimal coordinates: forward dynamics of trees by the articulated-body algorithm, O(n), or by composite rigid bodies and
a dense Cholesky factor, which is what the paper compared with; integrated by Heun's method or the classical scheme of
Runge and Kutta, ball joints on SO(3) after Munthe-Kaas. Maximal coordinates: Baraff's linear-time Lagrange multipliers,
integrated by the classical scheme.

Loops, and in maximal coordinates all joints, hold at acceleration level alone: they open by the integrator's error and
by rounding, unless they are stabilized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from catena._util.rotation import Array

from . import _continuous  # type: ignore[attr-defined]
from .tree import Poses, Tree

Dynamics = Literal["articulated", "composite"]
Method = Literal["rk4", "heun"]


class Baumgarte(NamedTuple):
    """Stabilisation of constraints: gaps g are made to follow g'' = -damping g' - stiffness g.

    The default is that of RigidBodyDynamics.jl: critical damping with a time constant of 0.1 s.
    """

    damping: float = 20.0
    stiffness: float = 100.0


RANK = 1e-10
"""Pivots of the loops' inverse inertia below this part of the largest count as zero, as in RigidBodyDynamics.jl."""

_NONE = Baumgarte(0.0, 0.0)


@dataclass(frozen=True)
class Run:
    """What a rival computed: nodes recorded, time (k,) in s and poses of all bodies there.

    coordinates (k, coordinates) and rates (k, rates) are None in maximal coordinates. cpu_seconds is the time that the
    thread spent stepping. steps is how many were done; message is empty, or says at which step the numbers left what is
    finite.
    """

    tree: Tree
    dt: float
    time: Array
    poses: Poses
    coordinates: Array | None
    rates: Array | None
    cpu_seconds: float
    steps: int
    message: str

    @property
    def ok(self) -> bool:
        """Whether all steps were done."""
        return not self.message

    def energy(self) -> Array:
        """Kinetic and potential energy (k,) in J."""
        return self.tree.energy(self.poses)

    def gaps(self) -> Array:
        """Distance (k, n + loops) in m of the two points of every joint: of the tree's, then of the loops."""
        return self.tree.gaps(self.poses)


def minimal(
    tree: Tree,
    coordinates: Array,
    rates: Array,
    dt: float,
    steps: int,
    *,
    every: int = 1,
    dynamics: Dynamics = "articulated",
    method: Method = "rk4",
    stabilization: Baumgarte | None = None,
    rank: float = RANK,
) -> Run:
    """Integrate in minimal coordinates; nodes are recorded at the start, every so many steps and at the end.

    Loops are constraints on accelerations, with multipliers from the dense inverse inertia of all loops; its
    pseudo-inverse cares for redundant rows (pivoted Cholesky, down to `rank` of the largest pivot). That matrix is
    found in O(depth) per row with "articulated", by triangular solutions with "composite".
    """
    q, v = _start(tree, coordinates, rates)
    count = _count(steps, every)
    out_q, out_v = np.empty((count, q.size)), np.empty((count, v.size))
    done, recorded, seconds = _continuous.run_minimal(
        _model(tree), _is(dynamics, "composite", "articulated"), _is(method, "heun", "rk4"),
        *(stabilization or _NONE), rank, q, v, dt, steps, every, out_q, out_v,
    )  # fmt: skip
    out_q, out_v = out_q[:recorded], out_v[:recorded]
    time = _times(dt, steps, every, recorded)
    return Run(tree, dt, time, tree.poses(out_q, out_v), out_q, out_v, seconds, done, _message(done, steps, dt))


def baraff(
    tree: Tree,
    coordinates: Array,
    rates: Array,
    dt: float,
    steps: int,
    *,
    every: int = 1,
    stabilization: Baumgarte | None = None,
    rank: float = RANK,
) -> Run:
    """Integrate in maximal coordinates by the classical scheme, from a start in minimal ones.

    The multipliers of tree joints come from a sparse block LDL^T factor without fill, those of loops from a dense
    system as in `minimal`. All joints are stabilized, or none.
    """
    start = [part[tree.row] for part in tree.poses(*_start(tree, coordinates, rates))]
    count = _count(steps, every)
    out = [np.empty((count, *part.shape)) for part in start]
    done, recorded, seconds = _continuous.run_maximal(
        _model(tree), *(stabilization or _NONE), rank, *start, dt, steps, every, *out
    )
    poses = Poses(*(_in_mechanisms_order(tree, part[:recorded]) for part in out))
    time = _times(dt, steps, every, recorded)
    return Run(tree, dt, time, poses, None, None, seconds, done, _message(done, steps, dt))


def accelerations(
    tree: Tree,
    coordinates: Array,
    rates: Array,
    dynamics: Dynamics = "articulated",
    stabilization: Baumgarte | None = None,
) -> Array:
    """Accelerations of all joints (rates,): d(rates)/dt."""
    q, v = _start(tree, coordinates, rates)
    out = np.empty(v.size)
    composite = _is(dynamics, "composite", "articulated")
    _continuous.minimal_accelerations(_model(tree), composite, *(stabilization or _NONE), RANK, q, v, out)
    return out


def baraff_accelerations(tree: Tree, poses: Poses, stabilization: Baumgarte | None = None) -> tuple[Array, Array]:
    """Accelerations of the centers of mass (n, 3) and angular ones (n, 3), world frame, in the mechanism's order."""
    out = np.empty((len(tree), 3)), np.empty((len(tree), 3))
    start = (np.ascontiguousarray(part[tree.row]) for part in poses)
    _continuous.maximal_accelerations(_model(tree), *(stabilization or _NONE), RANK, *start, *out)
    return _in_mechanisms_order(tree, out[0]), _in_mechanisms_order(tree, out[1])


def operations(tree: Tree, coordinates: Array, rates: Array) -> tuple[int, int]:
    """How many scalar operations one evaluation takes: of the articulated-body algorithm, and of Baraff's."""
    q, v = _start(tree, coordinates, rates)
    start = (part[tree.row] for part in tree.poses(q, v))
    model = _model(tree)
    return _continuous.minimal_operations(model, q, v), _continuous.maximal_operations(model, *start)


# ---- how


def _model(tree: Tree) -> Any:
    loops = tree.loops
    return _continuous.model(
        parent=tree.parent,
        kind=tree.kind,
        rest=tree.rest,
        axis=tree.axis,
        at_parent=tree.at_parent,
        at_child=tree.at_child,
        mass=tree.mass,
        inertia=tree.inertia,
        gravity=tree.gravity,
        body_a=loops.body_a,
        body_b=loops.body_b,
        loop_kind=loops.kind,
        point_a=loops.point_a,
        point_b=loops.point_b,
        axis_a=loops.axis_a,
        axis_b=loops.axis_b,
    )


def _start(tree: Tree, coordinates: Array, rates: Array) -> tuple[Array, Array]:
    q, v = np.array(coordinates, dtype=float), np.array(rates, dtype=float)
    for what, given, size in (("coordinates", q, tree.coordinate_offset[-1]), ("rates", v, tree.rate_offset[-1])):
        if given.shape != (size,):
            raise ValueError(f"{what} must have shape ({size},), got {given.shape}")
        if not np.isfinite(given).all():
            raise ValueError(f"{what} must be finite, but hold NaN or infinity")
    return q, v


def _count(steps: int, every: int) -> int:
    if steps < 0 or every < 1:
        raise ValueError(f"steps must not be negative and every at least 1, got {steps} and {every}")
    return steps // every + 1 + (steps % every != 0)


def _times(dt: float, steps: int, every: int, recorded: int) -> Array:
    step = np.minimum(np.arange(recorded) * every, steps)
    result: Array = dt * step
    return result


def _is(choice: str, one: str, other: str) -> bool:
    if choice not in (one, other):
        raise ValueError(f"choose {one!r} or {other!r}, not {choice!r}")
    return choice == one


def _in_mechanisms_order(tree: Tree, values: Array) -> Array:
    result = np.empty_like(values)
    result[..., tree.row, :] = values
    return result


def _message(done: int, steps: int, dt: float) -> str:
    if done == steps:
        return ""
    return f"step {done + 1} of {steps}, to t = {dt * (done + 1):g} s, led to numbers that are not finite"
