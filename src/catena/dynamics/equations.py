"""The equations of motion at given poses, in independent coordinates.

The core finds all of it for the tree of a mechanism (cpp/dynamics): the mass matrix M of its freedoms with rates r, the
efforts h of given accelerations, and the rows G of constraints that are no joints of the tree, with their second
derivatives b where the freedoms do not accelerate. Of the independent coordinates, with rates u, there are the rows L
and second derivatives c likewise. Then

    [G; L] r = [0; u],   [G; L] r' = [-b; u' - c],      so  r = T u,   r' = T u' + g
    mass matrix T^T M T,   efforts T^T h(T u' + g),   Jacobian J T,   and the rest of a point's acceleration at u' = 0

by least squares: redundant rows of loops need no other formula. A rotor that turns with no freedom of the tree has a row
R, and adds its inertia times R^T R to M. Without loops T is the identity, and nothing is solved for.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.rotation import Array, conjugate, rotate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..compile.compile import Compiled
    from ..describe.mechanism import Mechanism
    from .poses import Poses

# rad, by which bodies turn between the instants at which rows are differentiated
_INSTANT = 0.01
# s, at most, where functions of time drive something
_LONGEST = 1e-3
# the instants, in the order of the core (args/dynamics.hpp)
_INSTANTS = np.array((0, 1, -1, 2, -2, 3, -3))
# singular values below this part of the largest are none
_RANK = 1e-9
# what rates of independent coordinates may miss
_CLOSED = 1e-7


class Acting(Enum):
    """Which forces act."""

    GRAVITY = {"gravity": True, "passive": False, "actuators": False}
    PASSIVE = {"gravity": True, "passive": True, "actuators": False}
    ALL = {"gravity": True, "passive": True, "actuators": True}


class Equations:
    """All that is found at some poses; `selected` are the independent coordinates, None for all freedoms of a tree."""

    def __init__(
        self,
        mechanism: Mechanism,
        build: Compiled,
        poses: Poses,
        selected: list[int] | None,
        sizes: tuple[int, int, list[float]],
    ) -> None:
        self.poses = poses
        self._mechanism = mechanism
        self._build = build
        self._selected = selected
        self._freedoms, self._rows, self._rotors = sizes

    def mass(self) -> Array:
        """Mass matrix (pose, f, f)."""
        mass = np.empty((len(self.poses), self._freedoms, self._freedoms))
        self._find(mass=mass)
        if self._rotors:
            rows = self._rotor_rows
            mass = mass + np.swapaxes(rows, -1, -2) @ (np.array(self._rotors)[:, None] * rows)
        if self._selected is None:
            return mass
        found: Array = np.swapaxes(self._basis, -1, -2) @ mass @ self._basis
        return found

    def rates(self) -> Array:
        """Rates (pose, f)."""
        rates = np.empty((len(self.poses), self._freedoms))
        self._find(rates=rates)
        if self._selected is None:
            return rates
        found: Array = np.einsum("pkf,pf->pk", self.rows_of_coordinates()[:, self._selected], rates)
        return found

    def efforts(self, accelerations: Array, acting: Acting) -> Array:
        """Efforts (pose, f) that accelerations (pose, f) take, beyond the forces that act."""
        needed = np.empty((len(self.poses), self._freedoms))
        given = self._of_freedoms(accelerations)
        self._find(efforts=needed, accelerations=given, **acting.value)
        if self._rotors:
            turned = np.einsum("prf,pf->pr", self._rotor_rows, given) + self._drift[1]
            needed += np.einsum("prf,pr->pf", self._rotor_rows, np.array(self._rotors) * turned)
        if self._selected is None:
            return needed
        found: Array = np.einsum("pkf,pk->pf", self._basis, needed)
        return found

    def accelerations(self, efforts: Array | None) -> Array:
        """Accelerations (pose, f) with efforts (pose, f) in place of motors and servos, or with these."""
        still = np.zeros((len(self.poses), self._freedoms if self._selected is None else len(self._selected)))
        missing = -self.efforts(still, Acting.ALL) if efforts is None else efforts - self.efforts(still, Acting.PASSIVE)
        found: Array = np.linalg.solve(self.mass(), missing[..., None])[..., 0]
        return found

    def shared_by(self, needed: Array, actuated: list[int], names: list[str]) -> Array:
        """Efforts (pose, f) as those of motors on coordinates, of least norm."""
        rows = self.rows_of_coordinates()[:, actuated] @ self._basis
        shared = np.einsum("pfk,pf->pk", np.linalg.pinv(rows, rcond=_RANK), needed)
        left = np.abs(np.einsum("pkf,pk->pf", rows, shared) - needed)
        if left.size and left.max() > 1e-8 * max(1.0, float(np.abs(needed).max())):
            pose = int(left.max(axis=1).argmax())
            where = f" at pose {pose}" if len(self.poses) > 1 else ""
            raise ValueError(
                f"motors at {', '.join(names)} cannot make this motion{where}: efforts of "
                f"{left[pose].max():.3g} on other coordinates would be needed as well"
            )
        return shared

    def jacobians(self, bodies: NDArray[np.int32], points: Array) -> Array:
        """Jacobians (pose, point, 6, f) of points (point, 3) in body frames."""
        basis = np.empty((len(self.poses), len(bodies), 6, self._freedoms))
        self._find(basis=basis, point_body=bodies, point=np.ascontiguousarray(points))
        return basis if self._selected is None else basis @ self._basis[:, None]

    def point_accelerations(self, accelerations: Array, bodies: NDArray[np.int32], points: Array) -> Array:
        """Accelerations and angular accelerations (pose, point, 6) of points."""
        drift = np.empty((len(self.poses), len(bodies), 6))
        self._find(
            drift=drift,
            accelerations=self._of_freedoms(accelerations),
            point_body=bodies,
            point=np.ascontiguousarray(points),
        )
        return drift

    def world_inertia(self, tensors: Array) -> Array:
        """Inertias (pose, n, 3, 3) along world axes, of those in body frames (n, 3, 3)."""
        columns = rotate(self.poses.orientation[..., None, :], np.swapaxes(tensors, -1, -2))
        turned: Array = rotate(self.poses.orientation[..., None, :], np.swapaxes(columns, -1, -2))
        return turned

    def rows_of_coordinates(self) -> Array:
        """Rates (pose, candidate, freedom) of all coordinates, and of what floats, for unit rates of the freedoms."""
        count, coordinates = len(self.poses), self._build.core.coordinate_count
        rows = np.empty((count, coordinates, self._freedoms))
        self._find(coordinate_rows=rows)
        floating = self._floating()
        own = np.zeros((count, len(floating), self._freedoms))
        own[:, np.arange(len(floating)), floating] = 1.0
        return np.concatenate((rows, own), axis=1)

    def motions_left(self) -> Array:
        """Motions (freedom, motion) that the rows leave at the first pose, orthonormal."""
        if self._enforced == 0:
            return np.eye(self._freedoms)
        _, size, motions = np.linalg.svd(self._row_arrays[0][0, : self._enforced])
        rank = int((size > _RANK * size.max(initial=0.0)).sum())
        found: Array = motions[rank:].T
        return found

    # ---- private ----

    @property
    def _enforced(self) -> int:
        return self._rows - len(self._rotors)

    def _floating(self) -> list[int]:
        """Freedoms that are no coordinates: the last ones."""
        freedoms, _, _ = self._build.core.freedoms()
        return [k for k, coordinate in enumerate(freedoms) if coordinate < 0]

    @cached_property
    def _row_arrays(self) -> tuple[Array, Array]:
        count = len(self.poses)
        rows, drift = np.empty((count, self._rows, self._freedoms)), np.empty((count, self._rows))
        self._find(constraint_rows=rows, constraint_drift=drift)
        return rows, drift

    @property
    def _rotor_rows(self) -> Array:
        return self._row_arrays[0][:, self._enforced :]

    @cached_property
    def _solved(self) -> tuple[Array, Array]:
        """T (pose, freedom, f) and g (pose, freedom)."""
        assert self._selected is not None
        rows, drift = self._row_arrays
        chosen = self.rows_of_coordinates()[:, self._selected]
        left = np.zeros((len(self.poses), self._build.core.coordinate_count))
        self._find(coordinate_drift=left)
        left = np.concatenate((left, np.zeros((len(self.poses), len(self._floating())))), axis=1)[:, self._selected]
        every = np.concatenate((rows[:, : self._enforced], chosen), axis=1)
        inverse = np.linalg.pinv(every, rcond=_RANK)
        basis = inverse[..., self._enforced :]
        reached = every @ basis
        reached[:, self._enforced :] -= np.eye(len(self._selected))
        names = ", ".join(repr(self._name_of(k)) for k in self._selected)
        if reached.size and np.abs(reached).max() > _CLOSED:
            raise ValueError(f"the coordinates {names} are not independent in this pose")
        if (np.linalg.matrix_rank(every, tol=_RANK * np.abs(every).max(initial=1.0)) < self._freedoms).any():
            raise ValueError(f"the coordinates {names} do not tell how all bodies move: name more of them")
        g = -np.einsum("pfr,pr->pf", inverse, np.concatenate((drift[:, : self._enforced], left), axis=1))
        return basis, g

    @property
    def _basis(self) -> Array:
        if self._selected is None:
            return np.broadcast_to(np.eye(self._freedoms), (len(self.poses), self._freedoms, self._freedoms))
        return self._solved[0]

    @property
    def _drift(self) -> tuple[Array, Array]:
        """g, and second derivatives of what rotors turn with where freedoms do not accelerate."""
        return self._solved[1], self._row_arrays[1][:, self._enforced :]

    def _name_of(self, k: int) -> str:
        known = list(self._mechanism.coordinates)
        return known[k] if k < len(known) else f"floating {k - len(known)}"

    def _of_freedoms(self, accelerations: Array) -> Array:
        if self._selected is None:
            return np.ascontiguousarray(accelerations)
        found: Array = np.einsum("pfk,pk->pf", self._basis, accelerations) + self._solved[1]
        return np.ascontiguousarray(found)

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """What the core takes in every call: where the bodies are, and what drives them."""
        poses, build, count = self.poses, self._build, len(self.poses)
        starts = build.starts_at(self._mechanism.coordinate_places(), poses.coordinates)
        fastest = max(
            float(np.abs(poses.angular_velocity).max(initial=0.0)),
            float(np.abs(poses.velocity).max(initial=0.0)) / self._size,
        )
        instant = _INSTANT / fastest if fastest > 0 else 0.0
        signals = rates = np.zeros((count, len(_INSTANTS), build.signals.count))
        if build.signals.count > 0:
            instant = min(instant, _LONGEST) or _LONGEST
            times = (poses.time[:, None] + instant * _INSTANTS).ravel()
            signals, rates = (array.reshape(signals.shape) for array in build.signals.over(times))
        return {
            "position": poses.position,
            "orientation": poses.orientation,
            "velocity": poses.velocity,
            "angular_velocity": poses.angular_velocity,
            "law_start": starts["law_start"],
            "term_start": starts["term_start"],
            "input_place": build.input_places,
            "inputs": None if poses.inputs is None else np.ascontiguousarray(poses.inputs),
            "signals": signals,
            "signal_rates": rates,
            "instant": instant,
            "rows": build.rows,
        }

    @cached_property
    def _size(self) -> float:
        """Distance (m) that bodies move about, for velocities to be compared with."""
        spread = float(np.ptp(self.poses.position, axis=1).max(initial=0.0))
        return spread or 1.0

    def _find(self, **wanted: Any) -> None:
        points: dict[str, Any] = {"point_body": np.zeros(0, dtype=np.int32), "point": np.zeros((0, 3))}
        self._build.core.dynamics(**(self._arguments | points | wanted))
