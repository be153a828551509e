"""Loads: forces and torques that the user applies to bodies, and their conversion to flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._util.lookup import no_such
from .._util.rotation import Array, finite

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism
    from ..describe.signals import Signals


@dataclass(frozen=True)
class Load:
    """A force (N) and a torque (N m) on one body.

    `force` and `torque` are (3,), held during every step; or (nodes, 3), samples at the nodes of the run; or functions
    of time (s) that return (3,), which orders above 2 also evaluate between the nodes. `at` is the point of application
    in the body frame (m); the default is the center of mass. `frame` selects the axes of both vectors: "world", or
    "body", whose directions rotate with the body while the load is held. The point of application moves with the body
    in either case.
    """

    force: ArrayLike | Callable[[float], ArrayLike] = (0.0, 0.0, 0.0)
    torque: ArrayLike | Callable[[float], ArrayLike] = (0.0, 0.0, 0.0)
    at: ArrayLike = (0.0, 0.0, 0.0)
    frame: Literal["world", "body"] = "world"


# by body name: a force (3,), force and torque (6,), the same with one row per node, or a Load;
# or one array for all bodies, (n, 3) or (n, 6), or (nodes, n, 3) or (nodes, n, 6); a row per step will do too
Forces: TypeAlias = Mapping[str, "ArrayLike | Load"] | ArrayLike


@dataclass
class LoadTable:
    """Loads as the core takes them."""

    body: NDArray[np.int32]
    point: Array
    in_body_frame: NDArray[np.int32]
    signal: NDArray[np.int32]  # where a function's values begin, -1 if they are in `values`
    values: Array  # (1 or member, 1 or node, load, 6)

    @property
    def is_sampled(self) -> bool:
        """Whether there is one row for every node."""
        return bool(self.values.shape[1] > 1)

    def arrays(self) -> _core.LoadArrays:
        """As views."""
        return _core.LoadArrays(
            body=self.body,
            point=self.point,
            in_body_frame=self.in_body_frame,
            signal=self.signal,
            values=self.values,
        )


_NO_LOADS = LoadTable(
    np.zeros(0, dtype=np.int32),
    np.zeros((0, 3)),
    np.zeros(0, dtype=np.int32),
    np.zeros(0, dtype=np.int32),
    np.zeros((1, 1, 0, 6)),
)


def plain_forces(mechanism: Mechanism, forces: Forces | None) -> Array | None:
    """Forces of one instant at centers of mass along the world's axes (n, 6); None if there are others, or mistakes."""
    values = np.zeros((mechanism.body_count, 6))
    if not isinstance(forces, Mapping):
        return values if forces is None else None
    rows = mechanism.rows()
    try:
        for name, given in forces.items():
            width = len(given)  # type: ignore[arg-type]
            if width not in (3, 6):
                return None
            values[rows[name], :width] = given  # type: ignore[assignment]
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return values


def held_loads(mechanism: Mechanism, forces: Forces | None) -> tuple[Array, Array, NDArray[np.int32]]:
    """Loads of one instant on every body: values (n, 6), points (n, 3), and whether their axes are the body's (n,)."""
    n = mechanism.body_count
    values, point, in_body_frame = np.zeros((n, 6)), np.zeros((n, 3)), np.zeros(n, dtype=np.int32)
    rows = mechanism.rows()
    for name, load in _by_body(mechanism, forces):
        row = rows[name]
        values[row], point[row] = _rows(name, load, None)[0], _point(name, load)
        in_body_frame[row] = load.frame == "body"
    return values, point, in_body_frame


def load_table(mechanism: Mechanism, forces: Forces | None, steps: int, signals: Signals) -> LoadTable:
    """All loads of a run of `steps` steps; those that are functions of time are added to the signals."""
    if forces is None:
        return _NO_LOADS
    loads = _by_body(mechanism, forces)
    signal = [_signal(name, load, signals) for name, load in loads]
    parts = [
        np.zeros((1, 6)) if place >= 0 else _rows(name, load, steps)
        for place, (name, load) in zip(signal, loads, strict=True)
    ]
    row_count = max((len(part) for part in parts), default=1)
    bodies = {name: row for row, name in enumerate(mechanism.bodies)}
    body = [bodies[name] for name, _ in loads]
    point = [_point(name, load) for name, load in loads]
    frame = [load.frame == "body" for _, load in loads]
    values = np.zeros((1, row_count, len(parts), 6))
    for k, part in enumerate(parts):
        values[0, :, k] = part
    return LoadTable(
        np.array(body, dtype=np.int32),
        np.reshape(np.array(point, dtype=float), (-1, 3)),
        np.array(frame, dtype=np.int32),
        np.array(signal, dtype=np.int32),
        values,
    )


def _by_body(mechanism: Mechanism, forces: Forces | None) -> list[tuple[str, Load]]:
    if forces is None:
        return []
    if not isinstance(forces, Mapping):
        array = _numbers(forces, "forces")
        n = mechanism.body_count
        if array.ndim not in (2, 3) or array.shape[-2] != n or array.shape[-1] not in (3, 6):
            raise ValueError(
                f"forces must have shape ({n}, 3), ({n}, 6), (steps, {n}, 3) or (steps, {n}, 6), got {array.shape}"
            )
        forces = {name: array[..., k, :] for k, name in enumerate(mechanism.bodies)}
    loads = []
    for name, value in forces.items():
        if name not in mechanism.bodies:
            raise no_such("body", name, mechanism, "force: ")
        if not isinstance(value, Load):
            array = _numbers(value, f"force on body {name!r}")
            if array.ndim not in (1, 2) or array.shape[-1] not in (3, 6):
                raise ValueError(
                    f"force on body {name!r} must be a force (3,) or force and torque (6,), perhaps with one row "
                    f"per step, got shape {array.shape}"
                )
            value = Load(force=array[..., :3], torque=array[..., 3:] if array.shape[-1] == 6 else (0.0, 0.0, 0.0))
        if value.frame not in ("world", "body"):
            raise ValueError(f"force on body {name!r}: frame must be 'world' or 'body', got {value.frame!r}")
        loads.append((name, value))
    return loads


def _signal(name: str, load: Load, signals: Signals) -> int:
    given = {"force": load.force, "torque": load.torque}
    if not any(callable(value) for value in given.values()):
        return -1
    for what, value in given.items():
        if not callable(value) and np.ndim(value) != 1:
            raise ValueError(f"{what} on body {name!r} must be (3,) where the other is a function of time")

    def six(time: float) -> Array:
        found = [value(time) if callable(value) else value for value in given.values()]
        parts = [finite(v, (3,), f"{what} on body {name!r}") for what, v in zip(given, found, strict=True)]
        return np.concatenate(parts)

    return signals.add(f"load on body {name!r}", six, 6)


def _point(name: str, load: Load) -> Array:
    return finite(load.at, (3,), f"force on body {name!r}: at")


def _numbers(value: ArrayLike, what: str) -> Array:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} must be numbers, got {value!r}") from None


def _rows(name: str, load: Load, steps: int | None) -> Array:
    """The load's values, (1, 6) or (steps + 1, 6)."""
    parts = []
    for what, given in (("force", load.force), ("torque", load.torque)):
        label = f"{what} on body {name!r}"
        if callable(given):
            raise ValueError(f"{label} must be numbers here, not a function of time")
        array = _numbers(given, label)
        if array.ndim < 2:
            parts.append(finite(array, (3,), label)[None])
        elif steps is None:
            raise ValueError(f"{label} must have shape (3,) here, got {array.shape}")
        elif len(array) == steps:
            # one row per step: the node that ends the run repeats the last one
            array = finite(array, (steps, 3), label)
            parts.append(np.concatenate((array, array[-1:])))
        else:
            parts.append(finite(array, (steps + 1, 3), label))
    count = max(len(part) for part in parts)
    return np.concatenate([np.broadcast_to(part, (count, 3)) for part in parts], axis=1)
