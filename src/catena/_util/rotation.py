"""Unit quaternions in numpy, and the checks every array given by the user passes.

Quaternions are scalar first (w, x, y, z), Hamilton, and turn body coordinates into world coordinates. Leading
axes broadcast: a function of a vector is a function of an array (..., 3), one of a quaternion of an array
(..., 4).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import atan2, isfinite, sqrt
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import shown

Array: TypeAlias = NDArray[np.float64]

IDENTITY: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
_INVERSE = np.array((1.0, -1.0, -1.0, -1.0))

# ---- quaternions


def _components(a: Array) -> Any:
    """Along the last axis; those of a single vector as plain numbers, with which Python is faster than numpy."""
    return a.tolist() if a.ndim == 1 else [a[..., k] for k in range(a.shape[-1])]


def _joined(components: tuple[Any, ...]) -> Array:
    return np.array(components) if isinstance(components[0], float) else np.stack(components, axis=-1)


def cross(a: Array, b: Array) -> Array:
    """Vector product of (..., 3) and (..., 3)."""
    ax, ay, az = _components(a)
    bx, by, bz = _components(b)
    return _joined((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


def multiply(p: Array, q: Array) -> Array:
    """Product p q: first turn by q, then by p."""
    return _joined(_product(_components(p), _components(q)))


def _product(p: Any, q: Any) -> tuple[Any, ...]:
    """The same with components."""
    pw, px, py, pz = p
    qw, qx, qy, qz = q
    return (
        pw * qw - px * qx - py * qy - pz * qz,
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
    )


def between(a: Array, b: Array, frame: Array) -> Array:
    """The frame (4,) on a body turned by b (4,) that coincides with `frame` on one turned by a."""
    w, x, y, z = b.tolist()
    return np.array(_unit(_product((w, -x, -y, -z), _product(a.tolist(), frame.tolist()))))


def _unit(q: Any) -> tuple[float, float, float, float]:
    """The components of a quaternion over its length."""
    w, x, y, z = q
    length = sqrt(w * w + x * x + y * y + z * z)
    return w / length, x / length, y / length, z / length


def conjugate(q: Array) -> Array:
    """Return the inverse turn."""
    result: Array = q * _INVERSE
    return result


def normalised(q: Array) -> Array:
    """Return q scaled to unit length; also for vectors (..., 3)."""
    length = sqrt(_square(q.tolist())) if q.ndim == 1 else np.sqrt((q * q).sum(axis=-1, keepdims=True))
    result: Array = q / length
    return result


def _square(numbers: Iterable[float]) -> float:
    total = 0.0
    for number in numbers:
        total += number * number
    return total


def rotate(q: Array, v: Array) -> Array:
    """Turn the vector v (..., 3) by q."""
    if q.ndim == v.ndim == 1:
        return np.array(_turned(*q.tolist(), *v.tolist()))
    u = q[..., 1:]
    t = 2.0 * cross(u, v)
    return v + q[..., :1] * t + cross(u, t)


def _turned(w: float, x: float, y: float, z: float, a: float, b: float, c: float) -> tuple[float, float, float]:
    """The vector (a, b, c) turned by (w, x, y, z)."""
    p, q, r = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return a + w * p + (y * r - z * q), b + w * q + (z * p - x * r), c + w * r + (x * q - y * p)


def back(q: Array, v: Array) -> Array:
    """Turn the vector v (3,) by the inverse of q (4,)."""
    w, x, y, z = q.tolist()
    return np.array(_turned(w, -x, -y, -z, *v.tolist()))


def seen_from(position: Array, q: Array, point: Array) -> Array:
    """A point (3,) in the frame that stands at a position (3,), turned by q (4,)."""
    w, x, y, z = q.tolist()
    a, b, c = position.tolist()
    px, py, pz = point.tolist()
    return np.array(_turned(w, -x, -y, -z, px - a, py - b, pz - c))


def to_matrix(q: Array) -> Array:
    """Rotation matrix (..., 3, 3) of q."""
    return np.stack([rotate(q, e) for e in np.eye(3)], axis=-1)


def from_matrix(m: ArrayLike) -> Array:
    """Return the unit quaternion with w >= 0 of a rotation matrix (..., 3, 3)."""
    m = np.asarray(m, dtype=float)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    yz, zx, xy = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    sxy, szx, syz = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]

    # row k is 4 q_k q: the longest row is free of cancellation
    rows = np.stack(
        (
            np.stack((1 + xx + yy + zz, yz, zx, xy), axis=-1),
            np.stack((yz, 1 + xx - yy - zz, sxy, szx), axis=-1),
            np.stack((zx, sxy, 1 - xx + yy - zz, syz), axis=-1),
            np.stack((xy, szx, syz, 1 - xx - yy + zz), axis=-1),
        ),
        axis=-2,
    )
    longest = np.argmax(np.einsum("...ii->...i", rows), axis=-1)
    q = np.take_along_axis(rows, longest[..., None, None], axis=-2)[..., 0, :]
    return normalised(np.where(q[..., :1] < 0, -q, q))


def from_rotation_vector(v: ArrayLike) -> Array:
    """Exponential: the turn about v (..., 3) by |v| radians."""
    v = np.asarray(v, dtype=float)
    half = 0.5 * np.sqrt((v * v).sum(axis=-1, keepdims=True))
    return np.concatenate((np.cos(half), 0.5 * np.sinc(half / np.pi) * v), axis=-1)


def rotation_vector(q: Array) -> Array:
    """Logarithm: rotation vector (..., 3) of length at most pi."""
    if q.ndim == 1:
        w, x, y, z = (-q if q[0] < 0 else q).tolist()
        length = sqrt(x * x + y * y + z * z)
        factor = 2.0 * atan2(length, w) / length if length > 1e-200 else 2.0
        return np.array((x * factor, y * factor, z * factor))
    q = np.where(q[..., :1] < 0, -q, q)
    u = q[..., 1:]
    sine = np.sqrt((u * u).sum(axis=-1, keepdims=True))
    angle = 2.0 * np.arctan2(sine, q[..., :1])
    result: Array = u * np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > 1e-200)
    return result


def from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Return the turn about axis (..., 3), any length but zero, by angle (...) radians."""
    unit = normalised(np.asarray(axis, dtype=float))
    return from_rotation_vector(unit * np.asarray(angle, dtype=float)[..., None])


def z_angle(q: Array) -> Array:
    """Angle (...) in (-pi, pi] about z, left of q once the smallest turn has put its z axis back on z."""
    if q.ndim == 1:
        w, _, _, z = q.tolist()
        return np.array(2.0 * atan2(-z if w < 0 or (w == 0 and z < 0) else z, abs(w)))
    w, z = q[..., 0], q[..., 3]
    flip = (w < 0) | ((w == 0) & (z < 0))
    return 2.0 * np.arctan2(np.where(flip, -z, z), np.abs(w))


def z_to(axis: ArrayLike) -> Array:
    """Return a turn of (0, 0, 1) onto the unit vector axis (..., 3)."""
    axis = np.asarray(axis, dtype=float)
    if axis.ndim == 1:
        return z_onto(*axis.tolist())
    x, y, z = axis[..., 0], axis[..., 1], axis[..., 2]
    none = np.zeros_like(x)

    # the smallest turn is lost near -z, so the lower half starts from a half turn about x
    upper = np.stack((1 + z, -y, x, none), axis=-1)
    lower = np.stack((-y, 1 - z, none, x), axis=-1)
    return normalised(np.where(z[..., None] < 0, lower, upper))


def z_onto(x: float, y: float, z: float) -> Array:
    """Return a turn of (0, 0, 1) onto the unit vector (x, y, z)."""
    return np.array(_unit((-y, 1 - z, 0.0, x) if z < 0 else (1 + z, -y, x, 0.0)))


# ---- checks


def plain(value: ArrayLike, count: int) -> Array | None:
    """A copy (count,) in float64 of a few finite numbers, or None: then `finite` says what is wrong."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.shape == (count,) and isfinite(sum(array.tolist())) else None


def finite(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """Return a float64 copy of value, or raise a ValueError that begins with what."""
    try:
        # numpy would read a number out of text
        if isinstance(value, str | bytes):
            raise TypeError
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} must be numbers of shape {shape}, got {shown(value)}") from None
    if array.shape != shape:
        raise ValueError(f"{what} must have shape {shape}, got {array.shape}")
    # few numbers are sooner looked at one by one
    few = array.ndim == 1 and array.size <= 4
    if not (all(map(isfinite, array.tolist())) if few else np.isfinite(array).all()):
        raise ValueError(f"{what} must be finite, but contains NaN or infinity")
    return array


def finite_number(value: float, what: str) -> float:
    """Like finite, for a single number, of which most are plain ones already."""
    if type(value) is float and isfinite(value):
        return value
    return float(finite(value, (), what))


def unit_quaternion(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """Like finite, for quaternions (..., 4) that are within 1e-6 of unit length; normalised."""
    q = finite(value, shape, what)
    if q.ndim == 1:
        off = abs(sqrt(_square(q.tolist())) - 1.0)
        if off > 1e-6:
            raise ValueError(f"{what} must be a unit quaternion (w, x, y, z), but its length is off by {off:.3g}")
        return normalised(q) if off > 1e-15 else q
    error = np.abs(np.sqrt((q * q).sum(axis=-1)) - 1.0)
    worst = error.max(initial=0.0)
    if worst > 1e-6:
        raise ValueError(f"{what} must be a unit quaternion (w, x, y, z), but its length is off by {worst:.3g}")

    # what is unit to rounding stays as it is, so that copies are exact
    return np.where(error[..., None] > 1e-15, normalised(q), q) if worst > 1e-15 else q


class _Checking(Protocol):
    def _check(self, name: str, value: ArrayLike) -> Array: ...


class Checked:
    """An array attribute: assigned values go through the owner's _check(name, value).

    It lies in the owner's dictionary under its own name, where Python finds it without asking here.
    """

    def __init__(self, what: str) -> None:
        self.__doc__ = what

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, owner: _Checking, value: ArrayLike) -> None:
        owner.__dict__[self.name] = owner._check(self.name, value)

    if TYPE_CHECKING:

        def __get__(self, owner: Any, kind: type | None = None) -> Array: ...


def places(value: ArrayLike, what: str) -> Array:
    """Points (..., 3) as float64, or a ValueError that begins with what."""
    try:
        shape = np.array(value, dtype=np.float64).shape
    except (TypeError, ValueError, OverflowError):
        shape = ()
    if not shape or shape[-1] != 3:
        raise ValueError(f"{what} must be points of shape (..., 3), got {value!r}")
    return finite(value, shape, what)
