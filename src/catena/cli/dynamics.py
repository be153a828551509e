"""The subcommands `modes` and `torques`: vibrations about a pose at rest, and the efforts that hold a pose."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from ..describe.mechanism import Mechanism
from ..dynamics.dynamics import Dynamics
from . import summary as account
from .commands import start
from .model_argument import load


def modes(args: argparse.Namespace) -> int:
    """Print frequencies and damping about the pose at rest near the described one."""
    mechanism = load(args.model)
    rest = mechanism.equilibrium(start(mechanism, args.set))
    found = Dynamics(mechanism).modes(rest)
    rows: list[dict[str, Any]] = [
        {
            "mode": k,
            "frequency": float(found.frequencies[k]),
            "damping": float(found.damping[k]),
            "largest": found.names[int(np.abs(shape).argmax())] if shape.size else "",
        }
        for k, shape in enumerate(found.shapes)
    ]
    # what is rounding is none
    pose = {name: round(value, 9) for name, value in zip(mechanism.coordinates, rest.coordinates.tolist(), strict=True)}
    if args.json:
        known = {"model": args.model, "pose": pose, "modes": rows, "warnings": args.heard}
        print(json.dumps(account.plain(known), allow_nan=False))
        return 0
    print(f"{'mode':>4}  {'Hz':>10}  {'damping':>8}  largest displacement at")
    for row in rows:
        print(f"{row['mode']:>4}  {row['frequency']:>10.4f}  {row['damping']:>8.4f}  {row['largest']}")
    print("at rest with " + ", ".join(f"{name} = {round(value, 9) + 0.0:.4g}" for name, value in pose.items()))
    return 0


def torques(args: argparse.Namespace) -> int:
    """Print the efforts that hold the pose against gravity, by coordinate."""
    mechanism = load(args.model)
    found = Dynamics(mechanism)
    efforts = dict(zip(found.names, found.gravity(start(mechanism, args.set)).tolist(), strict=True))
    if args.json:
        known = {"model": args.model, "efforts": efforts, "warnings": args.heard}
        print(json.dumps(account.plain(known), allow_nan=False))
        return 0
    width = max(map(len, efforts), default=0)
    for name, effort in efforts.items():
        print(f"{name:<{width}}  {effort:>12.6g} {unit_of(mechanism, name)}")
    return 0


def unit_of(mechanism: Mechanism, name: str) -> str:
    """Of the effort along a coordinate, or along a velocity of a body that floats."""
    joint, _, key = name.rpartition(".")
    if joint not in mechanism.joints:
        return "N m" if key.startswith("w") else "N"
    one = mechanism.joints[joint]
    return "N m" if one.motion[3:, one.coordinate_names.index(key)].any() else "N"
