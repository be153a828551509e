"""Interpolation of a trajectory between its nodes: polynomials through poses and velocities of the nearest nodes.

Its error is estimated from polynomials through fewer nodes. With p_k through k nodes, |p4 - p3| is the error of p3.
Where the motion is resolved, errors fall by a constant factor with each node, which |p4 - p3| / |p3 - p2| shows, so p4
errs by |p4 - p3|^2 / |p3 - p2|; where it is not, that factor is no help, and the error is about |p4 - p3|.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._util.rotation import Array, conjugate, cross, from_rotation_vector, multiply, rotation_vector
from ..kinematics.geometry import extent
from ..kinematics.unwrap import angles_at

if TYPE_CHECKING:
    from ..kinematics.nodes import Nodes
    from .trajectory import Trajectory

# nodes that a polynomial takes, as many on either side
_NODES = 4


def resampled(run: Trajectory, times: Array) -> Trajectory:
    """The run at other times, for pictures: nothing is said of its accuracy there."""
    return type(run)(run.mechanism, interpolated(run.nodes, times), run.made)


def not_resolved(run: Trajectory, times: Array) -> str:
    """A warning if a run with an accuracy is interpolated less accurately at these times; empty if it is not."""
    accuracy = 0.0 if run.info is None else run.info.accuracy
    if not accuracy or len(run) < 2:
        return ""
    error = interpolation_error(run.nodes, times, extent(run[0]))
    worst = int(error.argmax()) if len(error) else 0
    if not len(error) or error[worst] <= accuracy:
        return ""
    return (
        f"the error of interpolation between nodes is about {error[worst]:.2g} at t = {times[worst]:.6g} s, more than "
        f"the accuracy {accuracy:g} of the run (relative to the mechanism's size, or rad); pass these times to "
        "run(t_eval=), or give the Simulator a smaller dt"
    )


def interpolation_error(run: Nodes, times: Array, size: float) -> Array:
    """Estimated error (time,) of `interpolated`, the largest of all bodies, relative to a size or in rad."""
    two, three, four = (interpolated(run, times, count) for count in (2, 3, 4))
    last, before = _distance(four, three, size), _distance(three, two, size)
    error: Array = (last * np.divide(last, before, out=np.ones_like(last), where=before > last)).max(
        axis=1, initial=0.0
    )
    return error


def _distance(a: Nodes, b: Nodes, size: float) -> Array:
    """Between two poses of each body (time, n)."""
    angle = np.linalg.norm(rotation_vector(multiply(a.orientation, conjugate(b.orientation))), axis=-1)
    distance: Array = np.maximum(np.linalg.norm(a.position - b.position, axis=-1) / size, angle)
    return distance


def interpolated(run: Nodes, times: Array, count: int = _NODES) -> Nodes:
    """Nodes at other times: poses, velocities, reference angles of the nearest node, and the inputs held at that time.

    Positions, and rotation vectors relative to the nearest node, are polynomials of degree 7 that match values and
    derivatives at four nodes.
    """
    count = min(count, len(run))
    after = np.searchsorted(run.time, times, side="right")
    first = np.clip(after - count // 2, 0, len(run) - count)
    window = first[:, None] + np.arange(count)
    nodes = run.time[window]
    nearest: NDArray[np.intp] = first + np.abs(nodes - times[:, None]).argmin(axis=1)
    position, velocity = _hermite(nodes, run.position[window], run.velocity[window], times)

    base = run.orientation[nearest][:, None]
    turn, rate = _turns(nodes, multiply(run.orientation[window], conjugate(base)), run.angular_velocity[window])
    turn, rate = _hermite(nodes, turn, rate, times)
    return replace(
        # inputs and forces are held from the node before
        run[after - 1],
        time=times,
        position=position,
        orientation=multiply(from_rotation_vector(turn), base[:, 0]),
        velocity=velocity,
        angular_velocity=_spin(turn, rate),
        turned=angles_at(run.turned, nearest),
        # of nodes alone
        multipliers=np.zeros((len(times), 0)),
        checkpoints=None,
    )


def _turns(nodes: Array, orientation: Array, spin: Array) -> tuple[Array, Array]:
    """Rotation vectors (time, node, n, 3) that are continuous from node to node, and their rates."""
    turn = rotation_vector(orientation)
    rate = np.empty_like(turn)
    home = np.linalg.norm(turn, axis=-1).max(axis=-1).argmin(axis=1)
    every = np.arange(len(turn))
    for offset in sorted(range(-turn.shape[1] + 1, turn.shape[1]), key=abs):
        k = home + offset
        here = (k >= 0) & (k < turn.shape[1])
        rows, k = every[here], k[here]
        if offset:
            near = k - np.sign(offset)
            length = (nodes[rows, k] - nodes[rows, near])[:, None, None]
            turn[rows, k] = _unwound(turn[rows, k], turn[rows, near] + length * rate[rows, near])
        rate[rows, k] = _rate(turn[rows, k], spin[rows, k])
    return turn, rate


def _unwound(turn: Array, expected: Array) -> Array:
    """The rotation vector of the same rotation that is nearest to an expected one."""
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    axis = np.divide(turn, angle, out=np.zeros_like(turn), where=angle > 0)
    # a rotation by nothing may be a full turn about any axis: the expected one
    length = np.linalg.norm(expected, axis=-1, keepdims=True)
    axis = np.where(angle > 0, axis, np.divide(expected, length, out=np.zeros_like(turn), where=length > 0))
    along = (axis * expected).sum(axis=-1, keepdims=True)
    unwound: Array = (angle + 2 * np.pi * np.round((along - angle) / (2 * np.pi))) * axis
    return unwound


# With q(t) = exp(r) q0 in the world frame, w = r' + a r x r' + b r x (r x r') with a = (1 - cos|r|)/|r|^2 and
# b = (|r| - sin|r|)/|r|^3; the other way r' = w - r x w / 2 + c r x (r x w) with c = (1 - |r| cot(|r|/2) / 2)/|r|^2.


def _spin(turn: Array, rate: Array) -> Array:
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    small = angle < 1e-2
    safe = np.where(small, 1.0, angle)
    a = np.where(small, 0.5 - angle**2 / 24, (1 - np.cos(safe)) / safe**2)
    b = np.where(small, 1 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    across = cross(turn, rate)
    spin: Array = rate + a * across + b * cross(turn, across)
    return spin


def _rate(turn: Array, spin: Array) -> Array:
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    small = angle < 1e-2
    safe = np.where(small, 1.0, angle)
    c = np.where(small, 1 / 12 + angle**2 / 720, (1 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    across = cross(turn, spin)
    rate: Array = spin - 0.5 * across + c * cross(turn, across)
    return rate


def _hermite(nodes: Array, value: Array, slope: Array, times: Array) -> tuple[Array, Array]:
    """Values and derivatives (time, ...) of the polynomials that match those (time, node, ...) at the nodes."""
    count = nodes.shape[1]
    place = np.repeat(nodes, 2, axis=1)
    extra = (...,) + (None,) * (value.ndim - 2)
    # divided differences, each node twice
    table = np.repeat(value, 2, axis=1)
    newton = [table[:, 0]]
    for order in range(1, 2 * count):
        gap = place[:, order:] - place[:, : 2 * count - order]
        step = table[:, 1:] - table[:, :-1]
        table = np.divide(step, gap[extra], out=np.zeros_like(step), where=gap[extra] > 0)
        if order == 1:
            table[:, ::2] = slope
        newton.append(table[:, 0])
    result, rate = newton[-1], np.zeros_like(newton[-1])
    for order in range(2 * count - 2, -1, -1):
        away = (times - place[:, order])[extra]
        rate = result + away * rate
        result = newton[order] + away * result
    return result, rate
