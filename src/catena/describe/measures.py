"""Measures: scalars between two bodies, on which forces act and which couplings combine."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from .._util.rotation import Array, multiply

if TYPE_CHECKING:
    from .joint import Joint
    from .mechanism import Mechanism

# rotations of a frame that take z to x, and to y
Z_TO_X = np.array((0.5, 0.5, 0.5, 0.5))
Z_TO_Y = np.array((0.5, -0.5, -0.5, -0.5))
_ABOUT_X = np.array((sqrt(0.5), sqrt(0.5), 0.0, 0.0))


@dataclass(frozen=True)
class Measure:
    """Kind, names of the bodies, anchors and frames on them, and the joint coordinate that it measures, if any."""

    code: str
    a: str
    b: str
    anchors: Array
    frames: Array
    joint: str = ""
    index: int = 0

    @property
    def is_angle(self) -> bool:
        """Whether the measure is an angle with counted turns."""
        return self.code == "measured_angle"


def coordinate_measure(joint: Joint, coordinate: str | None, asker: str) -> Measure:
    """The measure of one coordinate of a joint; `asker` starts the error message if there is none."""
    names = [name for name in joint.names if name]
    anchors, frames = np.array((joint.anchor_a, joint.anchor_b)), np.array((joint.frame_a, joint.frame_b))
    a, b = joint.a.name, joint.b.name
    if coordinate in joint.turns:
        return Measure(f"measured_{coordinate}", a, b, anchors, frames)
    if not names:
        raise ValueError(
            f"{asker}: {joint.label} has no single coordinate to act on; a Damper acts on a ball joint as a whole, "
            "Drag on one body, a Bushing on two"
        )
    if coordinate is None:
        # default: the only coordinate, or the angle
        coordinate = names[0] if len(names) == 1 else "angle" if "angle" in names else None
    if coordinate is None:
        raise ValueError(f"{asker}: choose a coordinate of {joint.label}: {' or '.join(map(repr, names))}")
    if coordinate not in names:
        raise ValueError(f"{asker}: {joint.label} has no {coordinate!r}, only {' and '.join(map(repr, names))}")
    return _measure_of(joint, joint.names.index(coordinate))


def joint_measure(coordinate: str, anchors: Array, frames: Array) -> tuple[str, bool, Array, Array]:
    """Of a coordinate of a joint with anchors (..., 2, 3) and frames (..., 2, 4) on a and b, what a measure has.

    That is its code, whether it is of a against b, its anchors and its frames.
    """
    if coordinate == "first":
        # about x of a, read off y of b
        return "measured_angle", False, anchors, multiply(frames, Z_TO_X)
    if coordinate == "second":
        # about y of b, read off x of a: a turns against b
        turned = np.stack((multiply(frames[..., 1, :], _ABOUT_X), frames[..., 0, :]), axis=-2)
        return "measured_angle", True, anchors[..., ::-1, :].copy(), turned
    if coordinate in ("x", "y"):
        return "measured_slide", False, anchors, multiply(frames, Z_TO_X if coordinate == "x" else Z_TO_Y)
    return {"angle": "measured_angle", "displacement": "measured_slide"}[coordinate], False, anchors, frames


def measured_coordinate(joint: Joint, index: int) -> str:
    """The name by which `joint_measure` knows a coordinate; one without a name is an angle whose turns are counted."""
    return joint.names[index] if joint.names else "angle"


def _measure_of(joint: Joint, index: int) -> Measure:
    anchors, frames = np.array((joint.anchor_a, joint.anchor_b)), np.array((joint.frame_a, joint.frame_b))
    code, reverse, anchors, frames = joint_measure(measured_coordinate(joint, index), anchors, frames)
    a, b = (joint.b.name, joint.a.name) if reverse else (joint.a.name, joint.b.name)
    return Measure(code, a, b, anchors, frames, joint.name, index)


def angle_measures(joint: Joint) -> list[Measure]:
    """The measures of the coordinates of a joint that are angles with counted turns."""
    return [_measure_of(joint, k) for k in joint.angles]


def closing_costs(mechanism: Mechanism) -> dict[str, int]:
    """Cost of closing a loop at each joint, by name: its rows, plus the measures of its coordinates."""
    costs = {name: joint.row_count for name, joint in mechanism.joints.items()}
    measures = [measure for force in mechanism.forces.values() for part in force.parts for measure in part.measures]
    measures += [term.measure for coupling in mechanism.couplings.values() for term in coupling.terms]
    for measure in measures:
        if measure.joint:
            costs[measure.joint] += 1
    for force in mechanism.forces.values():
        for rotary in force._rotaries:
            costs[rotary.joint] += 3
    return costs
