"""The equations of motion at given poses, in independent coordinates.

The core finds all of it for the tree of a mechanism (cpp/dynamics): the mass matrix M of its freedoms with rates r, the
efforts h of given accelerations, and the rows G of constraints that are no joints of the tree, with their second
derivatives b where the freedoms do not accelerate. Of the independent coordinates, with rates u, there are the rows L
and second derivatives c likewise. Then

    [G; L] r = [0; u],   [G; L] r' = [-b; u' - c],      so  r = T u,   r' = T u' + g
    mass matrix T^T M T,   efforts T^T h(T u' + g),   Jacobian J T,   and the rest of a point's acceleration at u' = 0

by least squares: redundant rows of loops need no other formula. A rotor that turns with no freedom of the tree has a
row R, and adds its inertia times R^T R to M. Without loops T is the identity, and nothing is solved for.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._util.rotation import Array, rotate
from ..assemble.core import build_core
from ..assemble.forward_kinematics import walk_of
from ..assemble.start_poses import is_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..describe.measures import Measure
    from ..describe.mechanism import Mechanism
    from .poses import Poses

# velocity and angular velocity of a body that floats, world frame
_FLOATING = ("vx", "vy", "vz", "wx", "wy", "wz")
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
    """Which forces act: gravity; springs, dampers, drag and friction as well; motors and servos as well."""

    GRAVITY = 1
    PASSIVE = 2
    ALL = 3

    def flags(self) -> dict[str, bool]:
        """The same as arguments of the core."""
        return {"passive": self.value >= 2, "actuators": self.value >= 3}


def freedom_names(mechanism: Mechanism, core: _core.Core) -> list[str]:
    """Names of the freedoms of the tree: coordinates, and velocities of what floats without a joint."""
    known, bodies = list(mechanism.coordinates), list(mechanism.bodies)
    return [known[k] if k >= 0 else f"{bodies[(-1 - k) // 6]}.{_FLOATING[(-1 - k) % 6]}" for k in core.freedoms()[0]]


class System:
    """A compiled mechanism, its freedoms and independent coordinates; `selected` is None if these are all freedoms."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.build = build_core(mechanism)
        freedoms, rows, self.rotors = self.build.core.freedoms()
        self.freedoms = freedoms
        known, names = list(mechanism.coordinates), freedom_names(mechanism, self.build.core)
        # all that equations can be in: coordinates first, then freedoms of what floats
        self.floating = [k for k, coordinate in enumerate(freedoms) if coordinate < 0]
        self.candidates = known + [names[k] for k in self.floating]
        self.freedom_count, self.row_count = len(names), rows
        self.is_plain_tree = rows == 0 and names == self.candidates
        self.selected: list[int] | None = None
        self.body_names = list(mechanism.bodies)
        # what every call of the core takes, where nothing needs to be measured
        empty = np.zeros((1, _INSTANTS.size, 0))
        self.measures = len(self.build.laws) + len(self.build.terms)
        self.drives = self.build.signals.count
        self._fixed = {
            "input_place": self.build.input_places,
            "rows": self.build.rows,
            "signals": empty,
            "signal_rates": empty,
            "law_start": np.zeros((1, 0)),
            "term_start": np.zeros((1, 0)),
        }

    def quick(self) -> _core.TreeEquations | None:
        """What answers at once for live mechanisms, of trees for arrays of coordinates as well; None for drives."""
        selected = self.selected_freedoms()
        # rows that call Python, and what functions of time drive, are not known there
        if selected is None or self.rotors or self.build.rows or self.drives > 0:
            return None
        is_whole = self.is_plain_tree and self.selected is None and not self.floating and is_tree(self.mechanism)
        if not is_whole and self.row_count == 0 and not self.floating:
            return None
        state, places = self.mechanism.state(), self.mechanism.coordinate_places()

        def columns(measures: list[Measure]) -> NDArray[np.int32]:
            found = [places[m.joint].start + m.index if m.is_angle else -1 for m in measures]
            return np.array(found, dtype=np.int32)

        return _core.TreeEquations(
            core=self.build.core,
            inputs=self.build.input_places,
            laws=columns(self.build.laws),
            terms=columns(self.build.terms),
            moves=walk_of(self.mechanism).moves if is_whole else np.zeros((0, 2), dtype=np.int32),
            selected=selected,
            position=state.position,
            orientation=state.orientation,
        )

    def selected_freedoms(self) -> NDArray[np.int32] | None:
        """Freedoms of the tree that are the independent coordinates; None if one of these closes a loop."""
        known = len(self.candidates) - len(self.floating)
        place = {coordinate: k for k, coordinate in enumerate(self.freedoms) if coordinate >= 0}
        place |= {known + k: freedom for k, freedom in enumerate(self.floating)}
        chosen = range(len(self.candidates)) if self.selected is None else self.selected
        if any(k not in place for k in chosen):
            return None
        return np.array([place[k] for k in chosen], dtype=np.int32)

    @property
    def count(self) -> int:
        """How many independent coordinates there are."""
        return self.freedom_count if self.selected is None else len(self.selected)

    @property
    def names(self) -> list[str]:
        """Names of the independent coordinates."""
        return self.candidates if self.selected is None else [self.candidates[k] for k in self.selected]

    def described_inputs(self, poses: Poses) -> Array:
        """Inputs (input,) at the single pose: its own, or those of the mechanism."""
        if poses.inputs is not None:
            found: Array = poses.inputs[0]
            return found
        numbers = self.build.arguments["law_numbers"]
        return np.array([numbers[law, number] for law, number in self.build.input_places])

    def arguments(self, poses: Poses) -> dict[str, Any]:
        """What the core takes at some poses: where the bodies are, and what drives them."""
        count = len(poses)
        found = self._fixed | {
            "position": poses.position,
            "orientation": poses.orientation,
            "velocity": poses.velocity,
            "angular_velocity": poses.angular_velocity,
        }
        if self.measures > 0:
            starts = self.build.starts_at(self.mechanism.coordinate_places(), poses.coordinates())
            found |= {name: starts[name] for name in ("law_start", "term_start")}
        elif count != 1:
            found |= {"law_start": np.zeros((count, 0)), "term_start": np.zeros((count, 0))}
        if poses.inputs is not None:
            found["inputs"] = np.ascontiguousarray(poses.inputs)
        if self.drives > 0:
            instant = self.instant(poses)
            times = (poses.time()[:, None] + instant * _INSTANTS).ravel()
            shape = count, len(_INSTANTS), self.drives
            found["signals"], found["signal_rates"] = (a.reshape(shape) for a in self.build.signals.over(times))
            found["instant"] = instant
        else:
            if count != 1:
                found["signals"] = found["signal_rates"] = np.zeros((count, len(_INSTANTS), 0))
            if self.selected is not None:
                found["instant"] = self.instant(poses)
        return found

    def instant(self, poses: Poses) -> float:
        """Time between the instants at which rows are differentiated, s; 0 if nothing moves and nothing is driven."""
        spread = float(np.ptp(poses.position, axis=1).max(initial=0.0)) or 1.0
        turning = float(np.abs(poses.angular_velocity).max(initial=0.0))
        fastest = max(turning, float(np.abs(poses.velocity).max(initial=0.0)) / spread)
        longest = _INSTANT / fastest if fastest > 0 else 0.0
        return longest if self.drives == 0 else min(longest, _LONGEST) or _LONGEST


class Equations:
    """All that is found at some poses."""

    def __init__(self, system: System, poses: Poses) -> None:
        self.poses = poses
        self._system = system
        self._build = system.build
        self._selected = system.selected
        self._freedoms, self._rows, self._rotors = system.freedom_count, system.row_count, system.rotors

    def mass(self) -> Array:
        """Mass matrix (pose, f, f)."""
        mass = self.freedom_mass()
        if self._selected is None:
            return mass
        found: Array = np.swapaxes(self.independent_basis(), -1, -2) @ mass @ self.independent_basis()
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
        self._find(efforts=needed, accelerations=given, **acting.flags())
        if self._rotors:
            turned = np.einsum("prf,pf->pr", self._rotor_rows, given) + self._drift[1]
            needed += np.einsum("prf,pr->pf", self._rotor_rows, np.array(self._rotors) * turned)
        if self._selected is None:
            return needed
        found: Array = np.einsum("pkf,pk->pf", self.independent_basis(), needed)
        return found

    def accelerations(self, efforts: Array | None) -> Array:
        """Accelerations (pose, f) with efforts (pose, f) in place of motors and servos, or with these."""
        still = np.zeros((len(self.poses), self._system.count))
        missing = -self.efforts(still, Acting.ALL) if efforts is None else efforts - self.efforts(still, Acting.PASSIVE)
        return np.asarray(np.linalg.solve(self.mass(), missing[..., None])[..., 0], dtype=float)

    def shared_by(self, needed: Array, actuated: list[int], names: list[str]) -> Array:
        """Efforts (pose, f) as those of motors on coordinates, of least norm."""
        rows = self.rows_of_coordinates()[:, actuated] @ self.independent_basis()
        shared = np.einsum("pfk,pf->pk", np.linalg.pinv(rows, rcond=_RANK), needed)
        left = np.abs(np.einsum("pkf,pk->pf", rows, shared) - needed)
        if left.size and left.max() > 1e-8 * max(1.0, float(np.abs(needed).max())):
            pose = int(left.max(axis=1).argmax())
            where = f" at pose {pose}" if len(self.poses) > 1 else ""
            raise ValueError(
                f"motors at {', '.join(names)} cannot make this motion{where}: efforts of "
                f"{left[pose].max():.3g} on other coordinates would be needed as well"
            )
        return np.asarray(shared, dtype=float)

    def jacobians(self, bodies: NDArray[np.int32], points: Array) -> Array:
        """Jacobians (pose, point, 6, f) of points (point, 3) in body frames."""
        basis = np.empty((len(self.poses), len(bodies), 6, self._freedoms))
        self._find(basis=basis, point_body=bodies, point=np.ascontiguousarray(points))
        found: Array = basis if self._selected is None else basis @ self.independent_basis()[:, None]
        return found

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

    def basis(self) -> Array:
        """Velocity and turning (pose, n, 6, freedom) of all bodies for unit rates of the freedoms."""
        every = np.arange(self._system.mechanism.body_count, dtype=np.int32)
        basis = np.empty((len(self.poses), len(every), 6, self._freedoms))
        self._find(basis=basis, point_body=every, point=np.zeros((len(every), 3)))
        return basis

    def freedom_mass(self) -> Array:
        """Mass matrix (pose, freedom, freedom) of all freedoms of the tree."""
        mass = np.empty((len(self.poses), self._freedoms, self._freedoms))
        self._find(mass=mass)
        if self._rotors:
            rows = self._rotor_rows
            mass += np.swapaxes(rows, -1, -2) @ (np.array(self._rotors)[:, None] * rows)
        return mass

    def freedom_efforts(self, acting: Acting) -> Array:
        """Efforts (pose, freedom) that keep the rates of all freedoms of the tree."""
        needed = np.empty((len(self.poses), self._freedoms))
        self._find(efforts=needed, **acting.flags())
        return needed

    def free_efforts(self, acting: Acting) -> Array:
        """Efforts (pose, freedom) with which freedoms of the tree accelerate, of what acts and of their rates."""
        found: Array = -self.freedom_efforts(acting)
        if self._rotors:
            found -= np.einsum("prf,pr->pf", self._rotor_rows, np.array(self._rotors) * self._drift_of_rotors)
        return found

    def enforced_rows(self) -> tuple[Array, Array]:
        """Rows (pose, row, freedom) of constraints that are no joints of the tree, and their drift (pose, row)."""
        rows, drift = self._row_arrays
        return rows[:, : self._enforced], drift[:, : self._enforced]

    def stops(self, count: int) -> tuple[Array, Array]:
        """Of hard stops: measure, rate and drift (pose, stop, 3), and rows (pose, stop, freedom)."""
        found, rows = np.empty((len(self.poses), count, 3)), np.empty((len(self.poses), count, self._freedoms))
        arguments = self._arguments | {"instant": self._system.instant(self.poses)}
        self._build.core.dynamics(**arguments, stops=found, stop_rows=rows)
        return found, rows

    def accelerations_of_bodies(self, freedoms: Array) -> Array:
        """Accelerations (pose, 2, n, 3) of bodies, and angular ones, with those of the freedoms (pose, freedom)."""
        every = np.arange(self._system.mechanism.body_count, dtype=np.int32)
        found = np.empty((len(self.poses), len(every), 6))
        self._find(drift=found, accelerations=freedoms, point_body=every, point=np.zeros((len(every), 3)))
        return np.ascontiguousarray(found.reshape(len(self.poses), -1, 2, 3).swapaxes(1, 2))

    def constraint_rows(self) -> Array:
        """Rows (pose, row, freedom) of all constraints that are no joints of the tree."""
        return self._row_arrays[0][:, : self._enforced]

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
        floating = self._system.floating
        own = np.zeros((count, len(floating), self._freedoms))
        own[:, np.arange(len(floating)), floating] = 1.0
        every: Array = np.concatenate((rows, own), axis=1)
        return every

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
        count: int = self._rows - len(self._rotors)
        return count

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
        left = np.zeros((len(self.poses), len(self._system.candidates)))
        of_coordinates = np.empty((len(self.poses), self._build.core.coordinate_count))
        self._find(coordinate_drift=of_coordinates)
        left[:, : of_coordinates.shape[1]] = of_coordinates
        left = left[:, self._selected]
        every = np.concatenate((rows[:, : self._enforced], chosen), axis=1)
        left_vectors, sizes, right_vectors = np.linalg.svd(every, full_matrices=False)
        counts = sizes > _RANK * sizes.max(initial=0.0)
        turned = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=counts)[..., None] * left_vectors.swapaxes(1, 2)
        inverse = right_vectors.swapaxes(1, 2) @ turned
        basis = inverse[..., self._enforced :]
        reached = every @ basis
        reached[:, self._enforced :] -= np.eye(len(self._selected))
        if reached.size and np.abs(reached).max() > _CLOSED:
            raise ValueError(f"the coordinates {self._shown} are not independent in this pose")
        if (counts.sum(axis=1) < self._freedoms).any():
            raise ValueError(f"the coordinates {self._shown} do not tell how all bodies move: name more of them")
        g = -np.einsum("pfr,pr->pf", inverse, np.concatenate((drift[:, : self._enforced], left), axis=1))
        return basis, g

    @property
    def _shown(self) -> str:
        return ", ".join(map(repr, self._system.names))

    def independent_basis(self) -> Array:
        """T (pose, freedom, f): rates of all freedoms of the tree for unit rates of the independent coordinates."""
        if self._selected is None:
            return np.broadcast_to(np.eye(self._freedoms), (len(self.poses), self._freedoms, self._freedoms))
        return self._solved[0]

    @property
    def _drift(self) -> tuple[Array, Array]:
        """g, and second derivatives of what rotors turn with where freedoms do not accelerate."""
        return self._solved[1], self._drift_of_rotors

    @property
    def _drift_of_rotors(self) -> Array:
        return self._row_arrays[1][:, self._enforced :]

    def _of_freedoms(self, accelerations: Array) -> Array:
        if self._selected is None:
            return np.ascontiguousarray(accelerations)
        found: Array = np.einsum("pfk,pk->pf", self.independent_basis(), accelerations) + self._solved[1]
        return np.ascontiguousarray(found)

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        return self._system.arguments(self.poses)

    def _find(self, **wanted: Any) -> None:
        self._build.core.dynamics(**self._arguments, **wanted)
