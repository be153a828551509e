"""Mass and inertia of a body, given as numbers or by a solid of uniform density."""

from __future__ import annotations

from dataclasses import dataclass
from math import dist, pi
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import Array, finite, finite_number, plain, z_onto

_UNIT = np.eye(3)


@dataclass(frozen=True, eq=False, repr=False)
class Inertia:
    """Mass (kg) and inertia (kg m^2) about the center of mass in the body frame.

    `tensor` is (3, 3), or (3,) principal moments along the body axes; it is stored as (3, 3). `physical=False` accepts
    moments that violate the triangle inequality, for textbook problems with impossible bodies. For mass and inertia of
    zero, see `massless`.
    """

    mass: float
    tensor: Array
    physical: bool = True

    def __init__(self, mass: float, tensor: ArrayLike, *, physical: bool = True) -> None:
        mass = finite_number(mass, "mass")
        if mass < 0:
            raise ValueError(f"mass must be positive, or zero for a massless body, got {mass}")
        array = plain(tensor, 3)
        if array is None:
            array = finite(tensor, (3,) if np.shape(tensor) == (3,) else (3, 3), "inertia")
        if array.ndim == 2:
            if np.abs(array - array.T).max() > 1e-9 * np.abs(array).max():
                raise ValueError("inertia must be symmetric")
            array = 0.5 * (array + array.T)
            moments = np.linalg.eigvalsh(array).tolist()
        else:
            moments = sorted(array.tolist())
            array = array * _UNIT
        if mass == 0 and array.any():
            raise ValueError(f"a massless body must have zero inertia, but its principal moments are {moments}")
        if mass > 0 and moments[0] <= 0:
            raise ValueError(f"inertia must be positive definite, but its principal moments are {moments}")
        if physical and moments[0] + moments[1] < moments[2] * (1 - 1e-9):
            raise ValueError(
                f"inertia is impossible: principal moments {moments} violate the triangle inequality "
                "(none may exceed the sum of the other two)"
            )
        array.flags.writeable = False
        self.__dict__.update(mass=mass, tensor=array, physical=physical)

    @classmethod
    def massless(cls) -> Inertia:
        """Inertia of a massless body, such as the cross of a universal joint or a dummy link between hinges.

        The joints must determine the motion of a massless body: if all bodies with mass are at rest, it must be at rest
        too.
        """
        return cls(0.0, (0.0, 0.0, 0.0))

    def __repr__(self) -> str:
        return f"Inertia(mass={self.mass:g}, tensor={self.tensor.tolist()})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

        # pickling and copying lose this flag
        self.tensor.flags.writeable = False


@dataclass(frozen=True, eq=False, repr=False)
class Solid:
    """A solid of uniform density, centered on the body frame.

    `size` (m) is (x, y, z) of a box, (radius,) of a sphere, (radius, length) of a cylinder or capsule along body z.
    `pose` is the world pose of the solid (position (3,), orientation (4,)), or None; `rod` sets it.
    """

    kind: Literal["box", "cylinder", "sphere", "capsule"]
    size: tuple[float, ...]
    inertia: Inertia
    pose: tuple[Array, Array] | None = None

    def __repr__(self) -> str:
        return f"Shape({self.kind!r}, size={self.size}, mass={self.mass:g})"

    @property
    def mass(self) -> float:
        """Mass (kg)."""
        return self.inertia.mass


def box(size: ArrayLike, *, mass: float | None = None, density: float | None = None) -> Solid:
    """Make a box with edge lengths `size` = (x, y, z) in m; give mass in kg or density in kg/m^3."""
    edges = finite(size, (3,), "box: size")
    x, y, z = (_positive(edge, "box: size") for edge in edges)
    m = _mass("box", x * y * z, mass, density)
    moments = (m / 12 * (y * y + z * z), m / 12 * (z * z + x * x), m / 12 * (x * x + y * y))
    return Solid("box", (x, y, z), Inertia(m, moments))


def cylinder(radius: float, length: float, *, mass: float | None = None, density: float | None = None) -> Solid:
    """Make a cylinder of this radius and length (m) along body z; give mass in kg or density in kg/m^3."""
    r, h = _positive(radius, "cylinder: radius"), _positive(length, "cylinder: length")
    return Solid("cylinder", (r, h), _of_cylinder(r, h, _mass("cylinder", pi * r * r * h, mass, density)))


def _of_cylinder(r: float, h: float, mass: float) -> Inertia:
    across = mass * (3 * r * r + h * h) / 12
    return Inertia(mass, (across, across, mass * r * r / 2))


def sphere(radius: float, *, mass: float | None = None, density: float | None = None) -> Solid:
    """Make a sphere of this radius (m); give mass in kg or density in kg/m^3."""
    r = _positive(radius, "sphere: radius")
    m = _mass("sphere", 4 / 3 * pi * r**3, mass, density)
    return Solid("sphere", (r,), Inertia(m, (0.4 * m * r * r,) * 3))


def capsule(radius: float, length: float, *, mass: float | None = None, density: float | None = None) -> Solid:
    """Make a capsule: a cylinder of this radius and length (m) along body z with hemispherical ends.

    Give mass in kg or density in kg/m^3.
    """
    r, h = _positive(radius, "capsule: radius"), _positive(length, "capsule: length")
    barrel, caps = pi * r * r * h, 4 / 3 * pi * r**3
    m = _mass("capsule", barrel + caps, mass, density)
    mb, mc = m * barrel / (barrel + caps), m * caps / (barrel + caps)

    # the half spheres' own 83/320 m r^2 moved out to h/2 + 3r/8 adds up to these terms
    across = mb * (3 * r * r + h * h) / 12 + mc * (0.4 * r * r + 0.25 * h * h + 0.375 * h * r)
    return Solid("capsule", (r, h), Inertia(m, (across, across, (0.5 * mb + 0.4 * mc) * r * r)))


def rod(
    start: ArrayLike,
    end: ArrayLike,
    *,
    mass: float | None = None,
    density: float | None = None,
    radius: float | None = None,
) -> Solid:
    """Make a solid cylinder between two world points (m), with body z from start to end.

    Its pose follows from the two points. The default radius is 1/40 of the length. Give mass in kg or density in
    kg/m^3.
    """
    p, q = finite(start, (3,), "rod: start").tolist(), finite(end, (3,), "rod: end").tolist()
    length = dist(p, q)
    if length == 0:
        raise ValueError("rod: start and end must be different points")
    r = length / 40 if radius is None else _positive(radius, "rod: radius")
    m = _mass("rod", pi * r * r * length, mass, density)
    (x, y, z), (u, v, w) = p, q
    center = np.array((0.5 * (x + u), 0.5 * (y + v), 0.5 * (z + w)))
    turn = z_onto((u - x) / length, (v - y) / length, (w - z) / length)
    return Solid("cylinder", (r, length), _of_cylinder(r, length, m), (center, turn))


def _positive(value: float, what: str) -> float:
    length = finite_number(value, what)
    if length <= 0:
        raise ValueError(f"{what} must be positive, got {length}")
    return length


def _mass(kind: str, volume: float, mass: float | None, density: float | None) -> float:
    if (mass is None) == (density is None):
        raise ValueError(f"{kind}: give exactly one of mass and density")
    if mass is not None:
        return _positive(mass, f"{kind}: mass")
    assert density is not None
    return volume * _positive(density, f"{kind}: density")
