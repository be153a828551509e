"""Where joints sit on the bodies of every member, where members of a batch differ in it; their layout is the same.

Anchors, frames and parameters of joints are numbers of a member's own. Which joints carry bodies, and which rows of
loops are enforced, is that of the mechanism as described: where a member's own numbers contradict it, the member fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._util.rotation import Array
from ..describe.joint import Joint
from ..describe.measures import Measure, joint_measure, measured_coordinate

if TYPE_CHECKING:
    from ..compile.compile import Compiled
    from ..describe.mechanism import Mechanism


@dataclass(frozen=True)
class MemberGeometry:
    """anchors (member, joint, 2, 3) and frames (member, joint, 2, 4) on bodies a and b, parameter (member, joint)."""

    mechanism: Mechanism
    anchors: Array
    frames: Array
    parameter: Array

    def __len__(self) -> int:
        return len(self.anchors)

    def part(self, members: Any) -> MemberGeometry:
        """That of some members."""
        return MemberGeometry(self.mechanism, self.anchors[members], self.frames[members], self.parameter[members])

    def arrays(self, compiled: Compiled) -> _core.GeometryArrays:
        """As a core takes them, of all that it measures."""
        measures = [*compiled.laws, *compiled.terms, *compiled.counters]
        anchors, frames = np.empty((len(self), len(measures), 2, 3)), np.empty((len(self), len(measures), 2, 4))
        places = {name: k for k, name in enumerate(self.mechanism.joints)}
        for k, measure in enumerate(measures):
            anchors[:, k], frames[:, k] = measure.anchors, measure.frames
            if measure.joint:
                joint = places[measure.joint]
                coordinate = measured_coordinate(self.mechanism.joints[measure.joint], measure.index)
                _, _, anchors[:, k], frames[:, k] = joint_measure(
                    coordinate, self.anchors[:, joint], self.frames[:, joint]
                )
        return _core.GeometryArrays(
            joint_anchors=self.anchors,
            joint_frames=self.frames,
            joint_parameter=self.parameter,
            measure_anchors=anchors,
            measure_frames=frames,
        )

    def joint(self, joint: Joint, nodes: int = 1) -> Joint:
        """A joint whose numbers have the axis (member,) in front, and one for each axis of nodes that members have."""
        at = (slice(None), *[None] * nodes)
        k = list(self.mechanism.joints).index(joint.name)
        own: Joint = object.__new__(type(joint))
        sides = {"anchor": self.anchors[:, k][at], "frame": self.frames[:, k][at]}
        found = {f"{name}_{side}": array[..., s, :] for name, array in sides.items() for s, side in enumerate("ab")}
        own.__dict__.update({**joint.__dict__, **found}, _parameter=self.parameter[:, k][at])
        return own

    def give(self, mechanism: Mechanism, member: int) -> None:
        """Let a copy of the mechanism, which can be changed, have the geometry of a member."""
        for k, joint in enumerate(mechanism.joints.values()):
            joint.anchor_a, joint.anchor_b = self.anchors[member, k]
            # these have been checked
            joint.__dict__.update(frame_a=self.frames[member, k, 0].copy(), frame_b=self.frames[member, k, 1].copy())
            joint.__dict__["_parameter"] = float(self.parameter[member, k])
        for force in mechanism.forces.values():
            for part in force.parts:
                part.measure = _measured_at(mechanism, part.measure)
        for coupling in mechanism.couplings.values():
            for term in coupling.terms:
                term.__dict__["measure"] = _measured_at(mechanism, term.measure)


def _measured_at(mechanism: Mechanism, measure: Measure) -> Measure:
    """The same where its joint sits now."""
    if not measure.joint:
        return measure
    joint = mechanism.joints[measure.joint]
    anchors, frames = np.array((joint.anchor_a, joint.anchor_b)), np.array((joint.frame_a, joint.frame_b))
    _, _, anchors, frames = joint_measure(measured_coordinate(joint, measure.index), anchors, frames)
    return Measure(measure.code, measure.a, measure.b, anchors, frames, measure.joint, measure.index)


def described_geometry(mechanism: Mechanism) -> dict[str, Array]:
    """Anchors, frames and parameters (joint, ...) as described."""
    joints = mechanism.joints.values()
    return {
        "anchors": np.array([(joint.anchor_a, joint.anchor_b) for joint in joints]).reshape(-1, 2, 3),
        "frames": np.array([(joint.frame_a, joint.frame_b) for joint in joints]).reshape(-1, 2, 4),
        "parameter": np.array([joint.parameter for joint in joints], dtype=float),
    }
