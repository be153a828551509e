"""Single bodies with known motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import cross
from ..describe.inertia import Inertia
from ..describe.joints import Ball
from ..describe.mechanism import Mechanism


def heavy_top(
    *,
    mass: float = 15.0,
    moments: ArrayLike = (0.234375, 0.46875, 0.234375),
    center: ArrayLike = (0.0, 1.0, 0.0),
    angular_velocity: ArrayLike = (0.0, 150.0, -4.61538),
    gravity: ArrayLike = (0.0, 0.0, -9.81),
) -> Mechanism:
    """Make a top on a ball joint at the origin, by default the heavy top of Brüls and Cardona.

    `moments` (kg m^2) are about the center of mass, which starts at `center` (m); `angular_velocity` is in rad/s. By
    default it rotates by 1.5 rad in 10 ms, so it needs a time step of about 1 ms.
    """
    arm = np.asarray(center, dtype=float)
    spin = np.asarray(angular_velocity, dtype=float)
    m = Mechanism(gravity=gravity)
    top = m.add_body("top", Inertia(mass, moments), position=arm, velocity=cross(spin, arm), angular_velocity=spin)
    m.add_joint(Ball(m.world, top, anchors=np.stack((np.zeros(3), -arm)), name="pivot"))
    return m


def free_body(
    *,
    moments: ArrayLike = (2.0, 1.0, 2.0 / 3.0),
    angular_velocity: ArrayLike = (0.22679806071278868, 0.0, 1.336811040092153),
    mass: float = 1.0,
    velocity: ArrayLike = (0.0, 0.0, 0.0),
) -> Mechanism:
    """Make one body without gravity or joints, with its frame along that of the world.

    The default is the rigid body of Hairer, Lubich and Wanner. Its moments violate the triangle inequality, which does
    not affect the equations of motion.
    """
    m = Mechanism(gravity=(0.0, 0.0, 0.0))
    inertia = Inertia(mass, moments, physical=False)
    m.add_body("body", inertia, velocity=velocity, angular_velocity=angular_velocity)
    return m
