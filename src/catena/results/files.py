"""File and table methods of a trajectory; readers and writers are imported when they are called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .trajectory import Trajectory


class TrajectoryFiles:
    """Export a trajectory as a file or table: npz, csv, pandas, xarray, video."""

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table with one row per node and named columns, in SI units and the world frame.

        The columns are time; x, y, z, qw, qx, qy, qz, vx, vy, vz, wx, wy, wz of every body as "body.x"; coordinates and
        rates of every joint as "joint.angle" and "joint.angle.rate". Coordinates without names are numbered from 0.
        """
        from ..io.tables import write_csv

        write_csv(cast("Trajectory", self), path)

    def to_dataframe(self) -> Any:
        """The columns of to_csv as a pandas DataFrame whose index is the time (s)."""
        from ..io.tables import dataframe

        return dataframe(cast("Trajectory", self))

    def to_xarray(self) -> Any:
        """An xarray Dataset: arrays over time, body and axis, with joint coordinates and rates."""
        from ..io.tables import dataset

        return dataset(cast("Trajectory", self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trajectory and its mechanism to one npz file; an existing file is replaced only when complete.

        Functions of time, of poses and of events cannot be written; a trajectory that is read back does not have them.
        """
        from ..io.trajectory_file import save

        save(cast("Trajectory", self), path)

    def save_video(
        self,
        path: str | os.PathLike[str],
        *,
        plane: str | None = None,
        fps: float = 30.0,
        speed: float = 1.0,
        pixels: int = 720,
    ) -> None:
        """Write a video (.mp4, .mov, .mkv; requires catena[video]) or a .gif (requires matplotlib only).

        The video is a projection onto `plane`, such as "xz"; the default is the plane with the most motion. `speed` 0.5
        is slow motion. For a view from any side use `save_html`, which requires neither package.
        """
        from ..view.viewer.video import save_video

        save_video(cast("Trajectory", self), path, plane=plane, fps=fps, speed=speed, pixels=pixels)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Trajectory:
        """Read a file written by save."""
        from ..io.trajectory_file import load

        return load(path)
