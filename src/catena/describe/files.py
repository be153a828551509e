"""The files of a mechanism: methods that open readers and writers when they are called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ..io.models.loops import Loops
    from .mechanism import Mechanism


class MechanismFiles:
    """A mechanism as a file: JSON, URDF, SDF, MJCF."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as a JSON document; functions of time and of poses cannot be written, and the file says so."""
        from ..io.serialize import save

        save(cast("Mechanism", self), path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Mechanism:
        """Read a file written by save; calling a function that could not be written is a ValueError."""
        from ..io.serialize import load

        return load(path)

    @staticmethod
    def from_urdf(
        path: str | os.PathLike[str],
        *,
        floating: bool = False,
        merge_fixed: bool = False,
        loops: Loops | None = None,
        packages: Mapping[str, str | os.PathLike[str]] | None = None,
        loop_tolerance: float = 3e-3,
    ) -> Mechanism:
        """Read a URDF file; what is not read of it is listed in one ModelWarning.

        Every link is a body, with its shapes, and a frame of the same name at the link's origin. Joints have their
        limits, dampers and friction, mimics are couplings. The pose is that of the file: links stand on their parents,
        coordinates are zero, and loops are measured there; where they are open, `assemble` closes them.

        Parameters
        ----------
        floating
            Leave the root link free; otherwise it is welded to the world. A root called "world" is the world.
        merge_fixed
            Make one body of links that fixed joints hold together.
        loops
            Pairs of frames that coincide, perhaps with "3d" where only their points do, or a file with
            `closed_loop: [[frameA, frameB], ...]`, and perhaps with `joint_name` and `joint_type` of hinges that stand
            for balls and crosses; beside loops in the file itself.
        packages
            Folders of packages by name, where they are not found above the file.
        loop_tolerance
            Of the mechanism.
        """
        from ..io.models.urdf import read

        return read(
            path,
            floating=floating,
            merge_fixed=merge_fixed,
            loops=loops,
            packages=packages,
            loop_tolerance=loop_tolerance,
        )

    def to_urdf(self, path: str | os.PathLike[str]) -> None:
        """Write it as URDF, loops as <loop_joint>; what URDF cannot hold is listed in one ModelWarning.

        The pose is that of all coordinates zero. Joints of several freedoms become several, with massless links between
        them; bodies are tied to a link "world" if anything is. Joints that hold what no file can are a ValueError.
        """
        from ..io.models.urdf_writer import write

        write(cast("Mechanism", self), path)

    def to_mjcf(self, path: str | os.PathLike[str]) -> None:
        """Write it as MJCF for MuJoCo, loops and couplings as equality constraints; what is left out is listed.

        The pose is that of all coordinates zero; forces and targets to begin with are in a keyframe. Hinges, balls and
        welds may close loops; what MJCF cannot hold of joints and couplings is a ValueError, of forces a ModelWarning.
        """
        from ..io.models.mjcf_writer import write

        write(cast("Mechanism", self), path)

    @staticmethod
    def from_mjcf(
        path: str | os.PathLike[str],
        *,
        merge_fixed: bool = False,
        packages: Mapping[str, str | os.PathLike[str]] | None = None,
        loop_tolerance: float = 3e-3,
    ) -> Mechanism:
        """Read an MJCF file, which MuJoCo compiles; what is not read of it is listed in one ModelWarning.

        Arguments are those of `from_urdf`. Coordinates are counted from the model's initial pose; several joints on one
        body have massless bodies between them. Motors and servos keep their names: the input of a motor is the force on
        its joint, gear included, that of a servo the target of its joint. Equality constraints are joints and
        couplings, as hard as all of these here. Needs the extra `mjcf`.
        """
        from ..io.models.mjcf import read

        return read(path, merge_fixed=merge_fixed, packages=packages, loop_tolerance=loop_tolerance)

    @staticmethod
    def from_sdf(
        path: str | os.PathLike[str],
        *,
        merge_fixed: bool = False,
        packages: Mapping[str, str | os.PathLike[str]] | None = None,
        loop_tolerance: float = 3e-3,
    ) -> Mechanism:
        """Read an SDF file of one model, loops included; what is not read of it is listed in one ModelWarning.

        Arguments are those of `from_urdf`; a model that no joint ties to the world is free. Joints also have springs,
        gearboxes are couplings, and joints of two axes that are not at right angles have a massless body between them.
        """
        from ..io.models.sdf import read

        return read(path, merge_fixed=merge_fixed, packages=packages, loop_tolerance=loop_tolerance)
