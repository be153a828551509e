"""Trajectories and batches as tables with named columns: csv by itself, frames and datasets with pandas and xarray."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from importlib import import_module
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from .._util.disk import write_whole
from .._util.rotation import Array

if TYPE_CHECKING:
    from ..dynamics.modes import Modes
    from ..results.trajectory import Trajectory
    from ..simulate.batch import Batch
    from ..simulate.summaries import Summaries

# what is recorded of a body, and the endings of its columns
_OF_BODIES = {
    "position": ("x", "y", "z"),
    "orientation": ("qw", "qx", "qy", "qz"),
    "velocity": ("vx", "vy", "vz"),
    "angular_velocity": ("wx", "wy", "wz"),
}

_UNITS = {"position": "m", "orientation": "1", "velocity": "m/s", "angular_velocity": "rad/s"}


def columns(run: Trajectory) -> dict[str, Array]:
    """Every number of a run by name, each (step,), in SI units and the world frame.

    "time"; for every body "body.x", "body.qw", "body.vx", "body.wx" and their like; for every joint its coordinates
    "joint.angle" (or whatever they are called, else "joint.0", "joint.1", ...) and their rates "joint.angle.rate".
    """
    result: dict[str, Array] = {"time": run.time}

    def put(name: str, values: Array) -> None:
        if name in result:
            raise ValueError(f"two columns would be called {name!r}: a body and a joint share a name")
        result[name] = values

    for row, body in enumerate(run.mechanism.bodies):
        for what, endings in _OF_BODIES.items():
            for k, ending in enumerate(endings):
                put(f"{body}.{ending}", getattr(run, what)[:, row, k])
    for name, joint in run.mechanism.joints.items():
        history = run.joint(name)
        coordinates, rates = history.coordinates, history.rates
        for k, ending in enumerate(joint.coordinate_names):
            put(f"{name}.{ending}", coordinates[:, k])
            put(f"{name}.{ending}.rate", rates[:, k])
    return result


def write_csv(run: Trajectory, path: str | os.PathLike[str]) -> None:
    """See Trajectory.to_csv."""
    table = columns(run)
    rows: Iterator[list[float]] = (row.tolist() for row in np.stack(list(table.values()), axis=1))

    def write(file: IO[bytes]) -> None:
        text = TextIOWrapper(file, encoding="utf-8", errors="surrogatepass", newline="")
        writer = csv.writer(text)
        writer.writerow(table)
        writer.writerows(rows)
        # flushed, and not closed with it
        text.detach()

    write_whole(path, write)


def dataframe(run: Trajectory) -> Any:
    """See Trajectory.to_dataframe."""
    pandas = _needed("pandas", "to_dataframe")
    table = columns(run)
    index = pandas.Index(table.pop("time"), name="time")
    return pandas.DataFrame(table, index=index)


def dataset(run: Trajectory) -> Any:
    """See Trajectory.to_xarray."""
    xarray = _needed("xarray", "to_xarray")
    axes = {"position": "axis", "orientation": "component", "velocity": "axis", "angular_velocity": "axis"}
    variables: dict[str, Any] = {
        what: (("time", "body", axes[what]), getattr(run, what), {"units": unit}) for what, unit in _UNITS.items()
    }
    found = [
        (name, k, ending) for name, j in run.mechanism.joints.items() for k, ending in enumerate(j.coordinate_names)
    ]
    histories = {name: (run.joint(name).coordinates, run.joint(name).rates) for name in run.mechanism.joints}
    for which, what in enumerate(("coordinate", "rate")):
        values = np.reshape([histories[name][which][:, k] for name, k, _ in found], (len(found), len(run))).T
        variables[what] = (("time", "joint_coordinate"), values)
    return xarray.Dataset(
        variables,
        coords={
            "time": ("time", run.time, {"units": "s"}),
            "body": list(run.mechanism.bodies),
            "axis": ["x", "y", "z"],
            "component": ["w", "x", "y", "z"],
            "joint_coordinate": [f"{name}.{ending}" for name, _, ending in found],
        },
    )


def modes_dataframe(modes: Modes) -> Any:
    """A pandas DataFrame of vibration modes with a row per mode."""
    pandas = _needed("pandas", "Modes.to_dataframe")
    numbers = {"frequency": modes.frequencies, "damping": modes.damping}
    return pandas.DataFrame(numbers | dict(zip(modes.names, modes.shapes.T, strict=True)))


def summaries_dataframe(kept: Summaries) -> Any:
    """See Summaries.to_dataframe."""
    pandas = _needed("pandas", "to_dataframe")
    table: dict[str, Any] = {}
    for name, array in kept.arrays.items():
        flat = array.reshape(len(array), -1)
        table |= {f"{name}.{k}" if array.ndim > 1 else name: column for k, column in enumerate(flat.T)}
    for name in ("status", "message"):
        if name in table:
            raise ValueError(f"a column cannot be called {name!r}, which says how members ended")
    ended = {"status": [s.reason for s in kept.status], "message": [s.message for s in kept.status]}
    return pandas.DataFrame(table | ended, index=pandas.RangeIndex(len(kept.status), name="member"))


def batch_dataframe(batch: Batch) -> Any:
    """See Batch.to_dataframe."""
    pandas = _needed("pandas", "to_dataframe")
    members, nodes = batch.time.shape
    index = pandas.MultiIndex.from_arrays(
        (np.repeat(np.arange(members), nodes), batch.time.reshape(-1)), names=("member", "time")
    )
    table = {
        f"{body}.{ending}": getattr(batch, what)[:, :, row, k].reshape(-1)
        for row, body in enumerate(batch.bodies)
        for what, endings in _OF_BODIES.items()
        for k, ending in enumerate(endings)
    }
    if len(batch.bodies) == batch.mechanism.body_count:
        for what, ending in (("coordinates", ""), ("rates", ".rate")):
            values = getattr(batch, what)
            table |= {f"{name}{ending}": values[..., k].reshape(-1) for k, name in enumerate(_coordinate_names(batch))}
    return pandas.DataFrame(table, index=index)


def batch_dataset(batch: Batch) -> Any:
    """See Batch.to_xarray."""
    xarray = _needed("xarray", "to_xarray")
    axes = {"position": "axis", "orientation": "component", "velocity": "axis", "angular_velocity": "axis"}
    variables: dict[str, Any] = {
        what: (("member", "node", "body", axis), getattr(batch, what), {"units": _UNITS[what]})
        for what, axis in axes.items()
    }
    coords: dict[str, Any] = {
        "member": np.arange(len(batch)),
        "time": (("member", "node"), batch.time, {"units": "s"}),
        "body": list(batch.bodies),
        "axis": ["x", "y", "z"],
        "component": ["w", "x", "y", "z"],
        "failed": ("member", [not status.ok for status in batch.status]),
        "message": ("member", np.array([status.message for status in batch.status], dtype=object)),
    }
    if len(batch.bodies) == batch.mechanism.body_count:
        coords["joint_coordinate"] = _coordinate_names(batch)
        for name, values in (("coordinate", batch.coordinates), ("rate", batch.rates)):
            variables[name] = (("member", "node", "joint_coordinate"), values)
    return xarray.Dataset(variables, coords=coords)


def _coordinate_names(batch: Batch) -> list[str]:
    joints = batch.mechanism.joints
    return [f"{n}.{ending}" for n in batch.mechanism.coordinate_places() for ending in joints[n].coordinate_names]


def _needed(library: str, asker: str) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise ImportError(
            f"{asker} needs {library}, which is not installed: pip install {library}; to_csv needs nothing"
        ) from None
