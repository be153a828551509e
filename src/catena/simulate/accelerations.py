"""Accelerations of all bodies of a live mechanism, from its equations of motion at the node.

If no hard stop is at its bound, the core solves for them (cpp/dynamics). If some are, or if loops have redundant rows,
the following equations are solved here. With the rows G of loops and prescribed motions, their drift b (the second
derivative at constant rates), and the efforts t,

    r' = r'_0 + N y,   r'_0 = -G^+ b,   N^T M N y = N^T (t - M r'_0) - P^T l,
    P y + c <= 0,      l >= 0,          l . (P y + c) = 0,

where N is a basis of the null space of G, and P y + c are the accelerations of stops at their bounds, positive out of
their range. Their efforts l solve a nonnegative least-squares problem [Lawson and Hanson, Solving Least Squares
Problems, 1974, chapter 23].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._util.rotation import Array
from ..describe.contacts import Contact
from ..describe.joint import Joint
from ..describe.limits import Limits, hard_stops
from ..dynamics.equations import Acting, Equations, System
from ..dynamics.poses import poses_of

if TYPE_CHECKING:
    from .live import Live

_BODIES = _core.Asked.bodies
# a stop is at its bound within this distance (rad or m), and leaves it above this rate (cpp/physics/stop.hpp)
_AT_BOUND, _LEAVES = 1e-9, 1e-8
# singular values of rows below this fraction of the largest count as zero
_RANK = 1e-9


class Accelerations:
    """Computes the accelerations of one live mechanism, as often as they are needed."""

    def __init__(self, live: Live) -> None:
        mechanism = live.mechanism
        self._system = system = System(mechanism)
        self._stops = hard_stops(mechanism)
        if not system.is_plain_tree:
            known = len(mechanism.coordinates)
            free = [k for k in range(known) if k in system.freedoms]
            system.selected = [*free, *range(known, known + len(system.floating))]
        self._quick = system.quick()
        if self._quick is not None:
            self._quick.admit(live)
        # where all stops are limits of coordinates: these, and their bounds
        self._limited: tuple[NDArray[np.intp], Array, Array] | None = None
        joints = [(stop.item, stop) for stop in self._stops if isinstance(stop.item, Joint)]
        if len(joints) == len(self._stops) and all(stop.coordinate in joint.names for joint, stop in joints):
            places = mechanism.coordinate_places()
            columns = [places[joint.name].start + joint.names.index(stop.coordinate) for joint, stop in joints]
            bounds = np.array([(stop.limits.lower, stop.limits.upper) for stop in self._stops]).reshape(-1, 2)
            self._limited = np.array(columns, dtype=np.intp), bounds[:, 0] + _AT_BOUND, bounds[:, 1] - _AT_BOUND

    def at(self, live: Live, moved: dict[int, Limits]) -> Array:
        """Return accelerations and angular accelerations (2, n, 3) of the bodies."""
        if self._quick is not None and self._is_free(live, moved):
            found = self._quick.find(_BODIES, live, None, True, True)
            if found is not None:
                return found
        loads = live._loads()
        equations = Equations(self._system, poses_of(self._system.mechanism, live))
        sides, rows, drift = self._standing(equations, moved)
        if self._quick is not None and not sides.any():
            found = self._quick.find(_BODIES, live, None, True, True)
            if found is not None:
                return found
        efforts = equations.free_efforts(Acting.ALL)[0]
        if loads is not None:
            efforts += np.einsum("nkf,nk->f", equations.basis()[0], loads)
        enforced, enforced_drift = (found[0] for found in equations.enforced_rows())
        locked = sides == 2
        enforced = np.concatenate((enforced, rows[locked]))
        enforced_drift = np.concatenate((enforced_drift, drift[locked]))
        one_sided = np.flatnonzero(np.abs(sides) == 1)
        outwards = sides[one_sided]
        found = _solved(
            equations.freedom_mass()[0],
            efforts,
            (enforced, enforced_drift),
            (outwards[:, None] * rows[one_sided], outwards * drift[one_sided]),
        )
        bodies: Array = equations.accelerations_of_bodies(found[None])[0]
        return bodies

    def _is_free(self, live: Live, moved: dict[int, Limits]) -> bool:
        """Whether it is plain to see that no stop is at its bound."""
        if self._limited is None or moved:
            return False
        columns, lower, upper = self._limited
        values = live.coordinates[columns]
        return bool(((values > lower) & (values < upper)).all())

    def _standing(self, equations: Equations, moved: dict[int, Limits]) -> tuple[Array, Array, Array]:
        """Return for each stop: -1 or 1 at its lower or upper bound, 2 if both are equal, else 0; its row and drift."""
        found, rows = equations.stops(len(self._stops))
        sides = np.zeros(len(self._stops))
        for k, stop in enumerate(self._stops):
            limits = moved.get(k, stop.limits)
            value, rate = found[0, k, 0], found[0, k, 1]
            to_lower, to_upper = value - limits.lower, limits.upper - value
            if min(to_lower, to_upper) > _AT_BOUND:
                continue
            if isinstance(stop.item, Joint) and stop.item.ground is not None:
                raise ValueError(
                    f"accelerations are not available while {stop.label} is at its limit, as its ground moves; take "
                    "differences of velocities between steps"
                )
            side = -1.0 if to_lower < to_upper else 1.0
            if isinstance(stop.item, Contact) and stop.item.friction > 0 and side * rate > -_LEAVES:
                raise ValueError(
                    f"accelerations are not available while {stop.item.label} touches, as it has friction; take "
                    "differences of velocities between steps"
                )
            if limits.lower == limits.upper:
                sides[k] = 2.0
            elif side * rate > -_LEAVES:
                sides[k] = side
        return sides, rows[0], found[0, :, 2]


def _solved(mass: Array, efforts: Array, enforced: tuple[Array, Array], stops: tuple[Array, Array]) -> Array:
    """Return the accelerations of the freedoms."""
    rows, drift = enforced
    start, basis = np.zeros(len(mass)), np.eye(len(mass))
    if len(rows):
        left, sizes, right = np.linalg.svd(rows)
        rank = int((sizes > _RANK * sizes.max(initial=0.0)).sum())
        start = -right[:rank].T @ ((left.T @ drift)[:rank] / sizes[:rank])
        basis = right[rank:].T
    inertia = basis.T @ mass @ basis
    rate = np.linalg.solve(inertia, basis.T @ (efforts - mass @ start))
    if len(stops[0]):
        out = stops[0] @ basis
        answers = np.linalg.solve(inertia, out.T)
        rate -= answers @ _pressing(out @ answers, out @ rate + stops[0] @ start + stops[1])
    found: Array = start + basis @ rate
    return found


def _pressing(matrix: Array, beyond: Array) -> Array:
    """Return the efforts l of the stops: l >= 0, beyond - matrix @ l <= 0, and one of both is zero for every stop."""
    pressing = np.zeros(len(beyond))
    held = np.zeros(len(beyond), dtype=bool)
    rounding = 1e-12 * np.abs(beyond).max()
    for _ in range(3 * len(beyond) + 3):
        left = np.where(held, -np.inf, beyond - matrix @ pressing)
        if left.max() <= rounding:
            break
        held[left.argmax()] = True
        while True:
            wanted = np.zeros(len(beyond))
            wanted[held] = np.linalg.lstsq(matrix[np.ix_(held, held)], beyond[held], rcond=_RANK)[0]
            falls = held & (wanted <= 0)
            if not falls.any():
                break
            part = (pressing[falls] / (pressing[falls] - wanted[falls])).min()
            pressing += part * (wanted - pressing)
            held &= pressing > 1e-15 * np.abs(pressing).max()
            pressing[~held] = 0
        pressing = wanted
    return pressing
