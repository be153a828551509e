"""Small motions about a pose: forces, stiffness and damping along all motions that the joints allow.

Derivatives are central differences of fourth order along these motions, in which every body moves along its own twist:
a little off the joints, by the square of the way, which such differences do not see. So nothing has to be closed
again, and no coordinate is chosen: at a dead center, where a crank's angle stands still, the motions do not. With N the
motions that the rows leave (orthonormal), P the projection onto those of a pose nearby and h the efforts that hold it,

    F = -N^T h,   K = N^T d(P h)/dr N,   C = N^T dh/dr' N,   M = N^T M N.

P turns with the pose, as the constraint forces do: the part of K that springs do not know.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._util.rotation import Array, from_rotation_vector, multiply, normalised
from .equations import Acting, Equations, System
from .poses import Poses

# by how much bodies move, rad or parts of the size, and how fast, rad/s or parts of the size per second
WAY, SPEED = 2e-3, 1e-4
# to either side, once and twice, and what a difference takes of each
_STRIDES, _WEIGHTS = np.array((1.0, -1.0, 2.0, -2.0)), np.array((8.0, -8.0, -1.0, 1.0)) / 12


def moved(poses: Poses, twists: Array) -> Poses:
    """The single pose, at rest, with its bodies moved along twists (pose, n, 6)."""
    count = len(twists)

    def again(array: Array) -> Array:
        return np.repeat(array, count, axis=0)

    still = np.zeros((count, *poses.velocity.shape[1:]))
    turned = multiply(from_rotation_vector(twists[..., 3:]), again(poses.orientation))
    return replace(
        poses,
        shape=(count,),
        position=again(poses.position) + twists[..., :3],
        orientation=normalised(turned),
        velocity=still,
        angular_velocity=still,
        coordinates=lambda: again(poses.coordinates()),
        time=lambda: again(poses.time()),
        inputs=None if poses.inputs is None else again(poses.inputs),
    )


def with_velocities(poses: Poses, twists: Array) -> Poses:
    """Poses with velocities (pose, n, 6) of their bodies."""
    velocity, spin = (np.ascontiguousarray(part) for part in (twists[..., :3], twists[..., 3:]))
    return replace(poses, velocity=velocity, angular_velocity=spin)


def strides(directions: Array, way: float, size: float) -> tuple[Array, Array]:
    """Steps (4 k, n, 6) along directions (k, n, 6), and how long each is (k,) in parts of its direction."""
    farthest = np.maximum(
        np.abs(directions[..., :3]).max(axis=(1, 2)) / size, np.abs(directions[..., 3:]).max(axis=(1, 2))
    )
    long = way / np.where(farthest > 0, farthest, 1.0)
    steps = _STRIDES[:, None, None, None] * (long[:, None, None] * directions)
    return steps.reshape(-1, *directions.shape[1:]), long


def difference(values: Array, long: Array) -> Array:
    """Derivatives (k, ...) from what was found after strides (4 k, ...)."""
    found: Array = np.einsum("s,sk...->k...", _WEIGHTS, values.reshape(len(_STRIDES), len(long), *values.shape[1:]))
    return found / long.reshape(-1, *[1] * (found.ndim - 1))


@dataclass(frozen=True)
class SmallMotions:
    """A mechanism at rest at one pose; coordinates in `held` (by place among the candidates) do not move."""

    system: System
    poses: Poses
    held: tuple[int, ...] = ()

    @cached_property
    def size(self) -> float:
        """Size of the mechanism (m)."""
        return float(np.ptp(self.poses.position[0], axis=0).max(initial=0.0)) or 1.0

    @cached_property
    def motions(self) -> Array:
        """N (freedom, motion): motions that the rows leave, orthonormal."""
        return self._split[1]

    @cached_property
    def twists(self) -> Array:
        """Motions of all bodies (motion, n, 6)."""
        found: Array = np.einsum("bif,fk->kbi", Equations(self.system, self.poses).basis()[0], self.motions)
        return found

    @cached_property
    def force(self) -> Array:
        """F (motion,): what pushes along each motion."""
        found: Array = -self.motions.T @ self.efforts
        return found

    @cached_property
    def efforts(self) -> Array:
        """H (freedom,): what would hold every freedom where it is."""
        found: Array = self._holding(self.poses)[0]
        return found

    @cached_property
    def mass(self) -> Array:
        """M (motion, motion)."""
        found: Array = self.motions.T @ Equations(self.system, self.poses).freedom_mass()[0] @ self.motions
        return found

    @cached_property
    def stiffness(self) -> Array:
        """K (motion, motion), symmetric at a pose of rest."""
        steps, long = strides(self.twists, WAY, self.size)
        there = moved(self.poses, steps)
        slope = difference(self._projected(there, self._holding(there)), long)
        found: Array = (slope @ self.motions).T
        return found

    @cached_property
    def damping(self) -> Array:
        """C (motion, motion)."""
        steps, long = strides(self.twists, SPEED, self.size)
        there = with_velocities(moved(self.poses, np.zeros_like(steps)), steps)
        slope = difference(self._holding(there), long)
        found: Array = (slope @ self.motions).T
        return found

    @cached_property
    def scale(self) -> float:
        """Efforts to compare with what is left at rest: those that hold the pose, or that arise 1 rad or 1 m aside."""
        return max(float(np.abs(a).max(initial=0.0)) for a in (self.efforts, self.stiffness)) or 1e-12

    def coordinate_rows(self) -> Array:
        """Rates (candidate, motion) of all coordinates, and of what floats, for unit rates of the motions."""
        found: Array = Equations(self.system, self.poses).rows_of_coordinates()[0] @ self.motions
        return found

    def _holding(self, poses: Poses) -> Array:
        return Equations(self.system, poses).freedom_efforts(Acting.ALL)

    def _rows(self, poses: Poses) -> Array:
        """All that holds (pose, row, freedom)."""
        at = Equations(self.system, poses)
        rows = at.constraint_rows()
        if self.held:
            rows = np.concatenate((rows, at.rows_of_coordinates()[:, list(self.held)]), axis=1)
        return rows

    @cached_property
    def _split(self) -> tuple[int, Array]:
        """Rank of the rows, and the motions that they leave."""
        rows = self._rows(self.poses)[0]
        if not len(rows):
            return 0, np.eye(self.system.freedom_count)
        _, sizes, motions = np.linalg.svd(rows)
        rank = int((sizes > 1e-9 * sizes.max(initial=0.0)).sum())
        return rank, motions[rank:].T

    def _projected(self, poses: Poses, efforts: Array) -> Array:
        """P h (pose, freedom); the rank stays, as it is the same on the way the joints allow."""
        rank = self._split[0]
        if rank == 0:
            return efforts
        ways = np.linalg.svd(self._rows(poses), full_matrices=False)[2][:, :rank]
        found: Array = efforts - np.einsum("prf,prg,pg->pf", ways, ways, efforts)
        return found
