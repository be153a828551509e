"""File methods of a mechanism; readers and writers are imported when they are called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ..io.models.loops import Loops
    from .mechanism import Mechanism


class MechanismFiles:
    """Read and write a mechanism as JSON, URDF, SDF or MJCF."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism as JSON; functions of time and of poses cannot be written, and the file records that."""
        from ..io.serialize import save

        save(cast("Mechanism", self), path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Mechanism:
        """Read a file written by save; a function that could not be written raises a ValueError when called."""
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
        contacts: bool = False,
    ) -> Mechanism:
        """Read a URDF file; one ModelWarning lists the parts of the file that are not read.

        Every link becomes a body with its shapes, and a frame of the same name at the link origin. Joints keep their
        limits, damping and friction; mimic joints become couplings. The described pose is that of the file: all
        coordinates are zero. If loops are open in this pose, `assemble` closes them.

        Parameters
        ----------
        floating
            Let the root link float; by default it is fixed to the world. A root link called "world" is the world.
        merge_fixed
            Merge links that are connected by fixed joints into one body.
        loops
            Loop closures in addition to those in the file: pairs of frames that coincide, with "3d" as a third item if
            only their origins coincide. Alternatively a file with `closed_loop: [[frameA, frameB], ...]`, and
            optionally with `joint_name` and `joint_type` for hinges that replace ball and universal joints.
        packages
            Mapping from package names to folders, for packages that are not found above the file.
        loop_tolerance
            Loop tolerance of the mechanism.
        contacts
            Let the shapes of <collision> collide, with friction 1: see add_contacts.
        """
        from ..io.models.urdf import read

        return read(
            path,
            floating=floating,
            merge_fixed=merge_fixed,
            loops=loops,
            packages=packages,
            loop_tolerance=loop_tolerance,
            contacts=contacts,
        )

    def to_urdf(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism as URDF, with loops as <loop_joint>; one ModelWarning lists what URDF cannot represent.

        In the written pose all coordinates are zero. Joints with several freedoms become several joints with massless
        links between them. If any body is connected to the world, the file has a link "world". A joint that cannot be
        represented raises a ValueError.
        """
        from ..io.models.urdf_writer import write

        write(cast("Mechanism", self), path)

    def to_mjcf(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism as MJCF for MuJoCo, with loops and couplings as equality constraints.

        In the written pose all coordinates are zero; a keyframe contains the initial forces and targets. Hinges, ball
        joints and fixed joints may close loops. A joint or coupling that MJCF cannot represent raises a ValueError;
        forces that it cannot represent are listed in a ModelWarning.
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
        contacts: bool = False,
    ) -> Mechanism:
        """Read an MJCF file, which MuJoCo compiles; one ModelWarning lists the parts of the file that are not read.

        The arguments are those of `from_urdf`. Coordinates are zero in the initial pose of the model. If a body has
        several joints, there are massless bodies between them. Motors and servos keep their names: the input of a motor
        is the force on its joint, including the gear, and the input of a servo is the target of its joint. Equality
        constraints become joints and couplings, which are exact. With `contacts`, geoms collide as the file says:
        contype and conaffinity, sliding friction, condim 1, pairs and exclusions; contacts are hard. Requires the extra
        `mjcf`.
        """
        from ..io.models.mjcf import read

        return read(path, merge_fixed=merge_fixed, packages=packages, loop_tolerance=loop_tolerance, contacts=contacts)

    @staticmethod
    def from_sdf(
        path: str | os.PathLike[str],
        *,
        merge_fixed: bool = False,
        packages: Mapping[str, str | os.PathLike[str]] | None = None,
        loop_tolerance: float = 3e-3,
        contacts: bool = False,
        model: str | None = None,
    ) -> Mechanism:
        """Read a model from an SDF file, including loops; one ModelWarning lists the parts that are not read.

        The other arguments are those of `from_urdf`. A model without a joint to the world floats; a static one is
        fixed to it. Joints may also have springs, and gearboxes become couplings. A joint with two axes that are not
        perpendicular becomes two joints with a massless body between them. With `contacts`, collisions have the
        friction, restitution and bitmask of their surface; links of the model collide with each other only if it says
        self_collide.

        Parameters
        ----------
        model
            Name of the model to read. By default it is the only one of the file that is not static.
        """
        from ..io.models.sdf import read

        return read(
            path,
            merge_fixed=merge_fixed,
            packages=packages,
            loop_tolerance=loop_tolerance,
            contacts=contacts,
            model=model,
        )
