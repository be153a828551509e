"""Rivals: variational integrators in minimal coordinates, in linear time.

Second order, after J. Lee, C. K. Liu, F. C. Park, S. S. Srinivasa, "A Linear-Time Variational Integrator for
Multibody Systems", WAFR 2016: the discrete Euler-Lagrange equation by a discrete recursive Newton-Euler algorithm.
Orders 3 and 4, after T. Fan, J. Schultz, T. Murphey, "Efficient Computation of Higher-Order Variational Integrators in
Robotic Simulation and Trajectory Optimization", WAFR 2018: quadratic polynomials and a quadrature.

What solves a step can be chosen for all of them: the quasi-Newton method of Lee et al., which sends the residual as an
impulse through the articulated-body algorithm, or an exact Newton direction, found in linear time as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from catena._util.rotation import Array

from . import _variational
from .tree import Tree

Method = Literal["quaternion", "cayley", "exponential", "radau", "lobatto", "gauss"]
Direction = Literal["newton", "frozen", "impulse"]
Measure = Literal["residual", "increment"]

# second order: how a step of a body becomes a velocity; above: the quadrature of the action
ORDERS: dict[Method, int] = {"quaternion": 2, "cayley": 2, "exponential": 2, "radau": 3, "lobatto": 4, "gauss": 4}


@dataclass(frozen=True)
class Run:
    """What a rival gave.

    time (m) s, coordinates (m, n) rad and rates (m, n) rad/s at the nodes that were kept; iterations (k) and
    residual (k), the norm of the last equation seen (N m s), of every step that was tried; seconds of processor time in
    the loop over steps; failures: how many steps did not meet the tolerance within the limit of iterations, and the
    first of them, or None; status: a sentence about them, empty if there are none.
    """

    time: Array
    coordinates: Array
    rates: Array
    iterations: NDArray[np.int32]
    residual: Array
    seconds: float
    steps: int
    failures: int
    first_failure: int | None
    status: str

    @property
    def converged(self) -> bool:
        """Whether every step asked for was made and met the tolerance."""
        return self.status == ""


def run(
    tree: Tree,
    coordinates: Array,
    rates: Array,
    dt: float,
    steps: int,
    *,
    method: Method = "exponential",
    direction: Direction = "newton",
    tolerance: float = 1e-10,
    measure: Measure = "residual",
    iteration_limit: int = 100,
    every: int = 1,
    on_failure: Literal["stop", "go on"] = "stop",
    unknown: Literal["increment", "angle"] = "increment",
    differences: int = 12,
) -> Run:
    """Simulate a tree of revolute joints without loops.

    Parameters
    ----------
    tree, coordinates, rates
        Bodies and joints, their angles (n) in rad and rates (n) in rad/s at the start.
    dt, steps
        Length of a step in s, and how many.
    method
        Second order: "exponential", the authors' SE(3) logarithm; "cayley", the same with Cayley's map; "quaternion",
        turn and displacement apart, the discrete action that catena's step has, so that both make the same trajectory.
        Order 3: "radau", which is unstable in long chains (from about 30 links on with steps of 10 ms). Order 4:
        "lobatto", "gauss".
    direction
        "newton": the exact derivative at every iterate; "frozen": at the guess of a step only; "impulse": the
        joint-space inertia at the last node instead, the quasi-Newton method of Lee et al.
    tolerance, measure
        When a step is there. "residual": the 2-norm of the discrete Euler-Lagrange equation, an impulse in N m s and
        not scaled by anything, is at most the tolerance, as the authors have it. "increment": the change of velocity
        that the last increment made, the 2-norm over all bodies in m/s and rad/s, is: catena's own measure. (Orders 3
        and 4 measure it at their last quadrature point.)
    iteration_limit
        Directions taken in a step before it has failed.
    every
        Keep every so manieth node.
    on_failure
        "stop" where a step does not converge, or "go on" with what it has, as the authors' code does; it is counted
        either way, and numbers that are not finite end the run.
    unknown
        What is solved for: the increment of every angle since the last node, or as the authors have it the angle at the
        next one, whose rounding alone moves the residual by 1e-16 rad times the inertia behind a joint over dt.
    differences
        Backward differences that the guess of a step may use, from 1, which repeats the last motion, to 12.
    """
    n = len(tree)
    if len(tree.loops):
        raise ValueError("the tree has loops, and minimal coordinates of a tree know none")
    if method not in ORDERS:
        raise ValueError(f"method is {method!r}, none of {', '.join(ORDERS)}")
    for name, value, least in (("steps", steps, 0), ("every", every, 1)):
        if value < least:
            raise ValueError(f"{name} is {value}, and must be at least {least}")
    if not 1 <= differences <= 12:
        raise ValueError(f"differences is {differences}, and must be from 1 to 12")
    if iteration_limit < 0:
        raise ValueError(f"iteration_limit is {iteration_limit}, and cannot be negative")
    if not (np.isfinite(dt) and dt > 0):
        raise ValueError(f"dt is {dt} s, and must be positive")
    if not tolerance > 0:
        raise ValueError(f"tolerance is {tolerance}, and must be positive")
    if on_failure not in ("stop", "go on"):
        raise ValueError(f"on_failure is {on_failure!r}, neither 'stop' nor 'go on'")
    if unknown not in ("increment", "angle"):
        raise ValueError(f"unknown is {unknown!r}, neither 'increment' nor 'angle'")
    q, v = (np.ascontiguousarray(part, dtype=float) for part in (coordinates, rates))
    for name, part in (("coordinates", q), ("rates", v)):
        if part.shape != (n,) or not np.isfinite(part).all():
            raise ValueError(f"{name} must be {n} finite numbers")

    angles, speeds, iterations, residual, made, failures, first, seconds = _variational.run(
        compiled(tree), method, q, v, dt, steps, every, tolerance, measure, iteration_limit, direction, differences,
        on_failure == "go on", unknown == "angle",
    )  # fmt: skip
    # a step that stopped the run was tried, and not made
    nodes, tried = made // every + 1, min(made + 1, steps)
    return Run(
        time=np.arange(nodes, dtype=np.float64) * (dt * every),
        coordinates=angles[:nodes],
        rates=speeds[:nodes],
        iterations=iterations[:tried],
        residual=residual[:tried],
        seconds=seconds,
        steps=made,
        failures=failures,
        first_failure=None if first < 0 else first,
        status=_status(failures, first, made, steps, iterations, residual, tolerance, measure),
    )


def compiled(tree: Tree) -> _variational.Tree:
    """The tree's arrays as the extension takes them."""
    numbers = (tree.rest, tree.axis, tree.at_parent, tree.at_child, tree.mass, tree.inertia, tree.gravity)
    parent, kind = (np.ascontiguousarray(part, dtype=np.int32) for part in (tree.parent, tree.kind))
    return _variational.Tree(parent, kind, *(np.ascontiguousarray(part, dtype=float) for part in numbers))


def _status(
    failures: int,
    first: int,
    made: int,
    steps: int,
    iterations: NDArray[np.int32],
    residual: Array,
    tolerance: float,
    measure: str,
) -> str:
    """What went wrong, as a sentence; nothing if every step converged."""
    if not failures:
        return ""
    sentence = (
        f"Step {first} did not meet the tolerance of {tolerance:g} on the {measure} in {iterations[first]} iterations: "
        f"its residual is {residual[first]:.2g} N m s."
    )
    if made < steps:
        return f"{sentence} The run ended after {made} of {steps} steps."
    return f"{sentence} Neither did {failures - 1} steps after it." if failures > 1 else sentence
