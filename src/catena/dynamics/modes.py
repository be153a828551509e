"""Vibration modes of a mechanism about a pose at rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.rotation import Array
from .small_motions import SmallMotions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..kinematics.state import State

# parts of the stiffest mode's eigenvalue below which a motion is free
_FREE = 1e-8
# parts of the forces that hold a pose by which it may miss rest
_AT_REST = 1e-6


@dataclass(frozen=True)
class Modes:
    """Vibration modes about a pose at rest, by rising frequency; m modes of a mechanism with m degrees of freedom.

    frequencies (m,) in Hz of the undamped motion, zero for a free motion and negative for one that grows (its rate over
    2 pi); damping (m,) ratios of each mode alone; poles (2 m,) in rad/s, the complex eigenvalues with all damping and
    coupling between modes. shapes (m, coordinate) are displacements of the coordinates `names`, and body_shapes
    (m, n, 6) those of the bodies and their rotation vectors, of modes whose modal mass is 1.
    """

    state: State
    names: tuple[str, ...]
    frequencies: Array
    damping: Array
    poles: NDArray[np.complex128]
    shapes: Array
    body_shapes: Array

    def __len__(self) -> int:
        return len(self.frequencies)

    @property
    def is_stable(self) -> bool:
        """Whether no small motion grows; free motions do not count as growing."""
        return bool((self.frequencies >= 0).all())

    def to_dataframe(self) -> Any:
        """A pandas DataFrame with a row per mode: frequency, damping, and the shape by coordinate."""
        from ..io.tables import modes_dataframe

        return modes_dataframe(self)

    def __repr__(self) -> str:
        shown = ", ".join(f"{f:.4g}" for f in self.frequencies[:6]) + (", ..." if len(self) > 6 else "")
        return f"Modes({len(self)}: {shown} Hz)"


def modes_of(small: SmallMotions, state: State) -> Modes:
    """Modes about a pose that is refused unless it is at rest."""
    refuse_motion(small)
    mass, stiffness, damping = small.mass, small.stiffness, small.damping
    stiffness = 0.5 * (stiffness + stiffness.T)
    root = np.linalg.inv(np.linalg.cholesky(mass))
    squares, vectors = np.linalg.eigh(root @ stiffness @ root.T)
    shapes = root.T @ vectors
    free = np.abs(squares) <= _FREE * np.abs(squares).max(initial=1e-300)
    rates = np.where(free, 0.0, np.sign(squares) * np.sqrt(np.abs(squares)))
    own = np.einsum("ik,ij,jk->k", shapes, damping, shapes)
    ratios = np.divide(own, 2 * rates, out=np.zeros_like(own), where=rates > 0)
    count = len(rates)
    modal = shapes.T @ damping @ shapes
    system = np.block([[np.zeros((count, count)), np.eye(count)], [-np.diag(np.where(free, 0.0, squares)), -modal]])
    return Modes(
        state,
        tuple(small.system.candidates),
        rates / (2 * np.pi),
        ratios,
        np.linalg.eigvals(system).astype(complex),
        (small.coordinate_rows() @ shapes).T,
        np.einsum("kbi,km->mbi", small.twists, shapes),
    )


def refuse_motion(small: SmallMotions) -> None:
    """Refuse a pose in which something pushes, with the coordinate along which it pushes most."""
    force = small.force
    if not force.size or np.abs(force).max() <= _AT_REST * small.scale:
        return
    along = np.abs(small.coordinate_rows() @ force)
    name = small.system.candidates[int(along.argmax())] if along.size else "a body"
    raise ValueError(
        f"the mechanism is not at rest in this pose: an effort of {np.abs(force).max():.3g} along {name!r} moves it; "
        "mechanism.equilibrium(state) finds a pose at rest"
    )
