"""Vibration modes of a mechanism about a pose at rest."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.rotation import Array, from_rotation_vector, multiply, normalised
from ..assemble.reach import Poses
from .small_motions import SmallMotions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..kinematics.state import State
    from ..results.trajectory import Trajectory
    from ..view.viewer.server import RunView

# parts of the stiffest mode's eigenvalue below which a motion is free
_FREE = 1e-8
# parts of the forces that hold a pose by which it may miss rest
_AT_REST = 1e-6

# of a swing to look at
_FRAMES = 61


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

    def motion(self, k: int, amplitude: float | None = None) -> Trajectory:
        """Two seconds of mode k alone as a trajectory, whatever its frequency, to look at.

        The bodies move along its shape by `amplitude` times the shape; by default until something turns by 0.15 rad or
        moves by 8 % of the mechanism's size. These are small motions: joints that turn far seem to open a little.
        """
        from ..results.trajectory import followed

        if not -len(self) <= k < len(self):
            raise ValueError(f"there is no mode {k}: there are {len(self)}, from 0 to {len(self) - 1}")
        shape = self.body_shapes[k]
        if amplitude is None:
            size = float(np.ptp(self.state.position, axis=0).max(initial=0.0)) or 1.0
            far = max(np.abs(shape[:, 3:]).max(initial=0.0) / 0.15, np.abs(shape[:, :3]).max(initial=0.0) / size / 0.08)
            amplitude = 1.0 / far if far > 0 else 0.0
        swing = amplitude * np.sin(np.pi * np.linspace(0.0, 2.0, _FRAMES))[:, None, None]
        turned = multiply(from_rotation_vector(swing * shape[:, 3:]), self.state.orientation)
        poses = Poses(self.state.position + swing * shape[:, :3], normalised(turned), {})
        return followed(self.state.mechanism, poses, 2.0 / (_FRAMES - 1), 0.0)

    def show(self, k: int, *, port: int = 8080, browser: bool = True) -> RunView:
        """Swing mode k in a browser with viser (catena[view]); see `motion` and `Trajectory.show`."""
        return self.motion(k).show(port=port, browser=browser)

    def save_html(self, k: int, folder: str | os.PathLike[str]) -> Path:
        """Write a page in a folder on which mode k swings; see `motion` and `Trajectory.save_html`."""
        return self.motion(k).save_html(folder)

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
