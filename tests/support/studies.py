"""Sweeps that several tests share: three links on a servo, with drawn targets, masses and starts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from catena import Batch, Mechanism, Servo, Simulator, Sweep, scenes

MEMBERS, CHUNK = 900, 200


def arm() -> Mechanism:
    m = scenes.pendulum(3, "revolute", angle=0.0)
    m.add_force(Servo("joint1", kp=100.0, kd=10.0, name="hip"))
    return m


def draw(rng: np.random.Generator, members: int) -> dict[str, Any]:
    return {
        "start": rng.uniform(-1, 1, (members, 3)),
        "mass": rng.uniform(0.5, 2, members),
        "target": rng.uniform(-1, 1, members),
    }


def setup(numbers: dict[str, Any]) -> dict[str, Any]:
    return {
        "coordinates": numbers["start"],
        "masses": {"link3": numbers["mass"]},
        "force_parameters": {"hip": {"target": numbers["target"]}},
    }


def keep(batch: Batch) -> dict[str, Any]:
    return {"angle": batch.joint("joint1").coordinates[:, -1, 0], "tip": batch.position[:, -1, -1]}


def study(**others: Any) -> Sweep:
    """The shared study, with some arguments replaced."""
    given: dict[str, Any] = {"draw": draw, "members": MEMBERS} if not {"grid", "table"} & set(others) else {}
    given |= {"setup": setup, "keep": keep, "steps": 40, "record_every": 40, "chunk": CHUNK, "seed": 3}
    return Sweep(Simulator(arm(), 0.005, on_inaccurate="ignore"), **given | others)


def chunk_bytes(folder: Path) -> dict[str, bytes]:
    """The files of all chunks."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("chunk-*.npz"))}


def manifest(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "manifest.jsonl").read_text().splitlines()]


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The setup of the study, without one of its arguments."""

    def less(numbers: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in setup(numbers).items() if key != name}

    return less


def fussy(numbers: dict[str, Any]) -> dict[str, Any]:
    """A setup that refuses members with little mass."""
    if (numbers["mass"] < 0.51).any():
        raise ValueError("a mass is below 0.51 kg")
    return setup(numbers)


# a study of its own for engines that import this module
sweep = study()
