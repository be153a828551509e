"""Joint parameters and lengths of members as a user gives them: checked, and turned into their geometry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._util.checks import shown
from .._util.lookup import no_such
from .._util.rotation import Array, conjugate, finite, multiply, normalised, rotate, unit_quaternion
from ..describe.custom import GivenRows
from ..kinematics.member_geometry import MemberGeometry, described_geometry
from .members import part_of

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism
    from .plan import Plan

# members' own numbers of a joint, by its name: {"hinge": {"anchor_b": (members, 3)}}
JointNumbers: TypeAlias = Mapping[str, Mapping[str, ArrayLike]]

# geometry of the members from one to before another
GeometryOf: TypeAlias = Callable[[int, int], MemberGeometry]

_KEYS = ("anchor_a", "anchor_b", "axis_a", "axis_b", "frame_a", "frame_b", "parameter")

# joints of a body that are nearer to each other than this part of its length are at one of its ends
_SAME_PLACE = 1e-9


def geometry_of(
    plan: Plan, count: Callable[[], int], joint_parameters: JointNumbers | None, lengths: Mapping[str, ArrayLike] | None
) -> GeometryOf | None:
    """See Simulator.run_batch: of members from one to another, so that those of all need not be there at once.

    None where members do not differ. The number of members is asked for where they do.
    """
    for label, mapping in (("joint_parameters", joint_parameters), ("lengths", lengths)):
        if mapping is not None and not isinstance(mapping, Mapping):
            raise ValueError(f"{label} must be a mapping from names to numbers, got {shown(mapping)}")
    if not joint_parameters and not lengths:
        return None
    plan.need_dt("members that differ in lengths or joint_parameters take the same steps")
    _refuse_special_loops(plan)
    members = count()
    # of the last ones whatever is left, so that an array that is too long is told
    return lambda first, end: _geometry(
        plan.mechanism,
        end - first,
        part_of(joint_parameters, slice(first, end if end < members else None)) or {},
        part_of(lengths, slice(first, end if end < members else None)) or {},
    )


def _geometry(
    mechanism: Mechanism, members: int, joint_parameters: JointNumbers, lengths: Mapping[str, ArrayLike]
) -> MemberGeometry:
    found = MemberGeometry(
        mechanism, *(np.tile(array, (members, *(1,) * array.ndim)) for array in described_geometry(mechanism).values())
    )
    ends = {(name, side): (k, s) for k, name in enumerate(mechanism.joints) for s, side in enumerate("ab")}
    stretched = {}
    for name, value in lengths.items():
        for joint, side in _stretch(found, name, value, members):
            stretched[joint, side] = name
    for name, numbers in joint_parameters.items():
        if name not in mechanism.joints:
            raise no_such("joint", name, mechanism, "joint_parameters: ")
        if not isinstance(numbers, Mapping):
            raise ValueError(
                f"joint_parameters: numbers of {mechanism.joints[name].label} must be a mapping, got {shown(numbers)}"
            )
        for key, given in numbers.items():
            if key not in _KEYS:
                raise ValueError(
                    f"joint_parameters: {mechanism.joints[name].label} has no {key!r}, only {', '.join(_KEYS)}"
                )
            if key.startswith("anchor") and (name, key[-1]) in stretched:
                raise ValueError(
                    f"joint_parameters: {key} of {mechanism.joints[name].label} follows from lengths= of "
                    f"{stretched[name, key[-1]]!r}: give one of the two"
                )
            _set(found, ends[name, "a"][0], key, given, members)
    return found


def _set(found: MemberGeometry, k: int, key: str, value: ArrayLike, members: int) -> None:
    joint = list(found.mechanism.joints.values())[k]
    what = f"joint_parameters: {key} of {joint.label}"
    if isinstance(joint, GivenRows) or joint.ground is not None:
        why = "its rows are functions" if isinstance(joint, GivenRows) else "it stands on moving ground"
        raise ValueError(f"joint_parameters: {joint.label} has the same numbers for all members, because {why}")
    if key == "parameter":
        number = finite(value, (members,), what)
        if joint.has_size and (number <= 0).any():
            raise ValueError(f"{what} must be positive")
        found.parameter[:, k] = number
        return
    side = "ab".index(key[-1])
    if key.startswith("anchor"):
        found.anchors[:, k, side] = finite(value, (members, 3), what)
    elif key.startswith("frame"):
        found.frames[:, k, side] = unit_quaternion(value, (members, 4), what)
    else:
        axis = finite(value, (members, 3), what)
        if not axis.any(axis=1).all():
            raise ValueError(f"{what} must not be zero")
        found.frames[:, k, side] = _turned_to(found.frames[:, k, side], normalised(axis))


def _turned_to(frame: Array, axis: Array) -> Array:
    """Frames (member, 4) turned by the smallest rotation that takes z to an axis (member, 3) of the body."""
    x, y, z = rotate(conjugate(frame), axis).T
    opposite = z < -1 + 1e-12
    half = np.stack((1 + z, -y, x, np.zeros_like(x)), axis=-1)
    half[opposite] = (0.0, 1.0, 0.0, 0.0)
    return normalised(multiply(frame, normalised(half)))


def _stretch(found: MemberGeometry, name: str, value: ArrayLike, members: int) -> list[tuple[str, str]]:
    """Move the joints of a body apart or together along its length, and say which and on which side of them it is."""
    mechanism = found.mechanism
    if name not in mechanism.bodies:
        raise no_such("body", name, mechanism, "lengths: ")
    own = finite(value, (members,), f"lengths of {name!r}")
    if (own <= 0).any():
        raise ValueError(f"lengths of {name!r} must be positive")
    for force in mechanism.forces.values():
        if any(not part.measure.joint and name in (part.measure.a, part.measure.b) for part in force.parts):
            raise ValueError(f"lengths: {force.label} acts at a point of {name!r}: give joint_parameters= instead")
    joints = list(mechanism.joints.values())
    ends = [(k, s) for k, joint in enumerate(joints) for s, end in enumerate((joint.a, joint.b)) if end.name == name]
    points = np.array([found.anchors[0, k, s] for k, s in ends]).reshape(-1, 3)
    far = points[np.linalg.norm(points - points[0], axis=1).argmax()] if len(points) else np.zeros(3)
    span = far - points[0] if len(points) else np.zeros(3)
    length = float(np.linalg.norm(span))
    apart = [min(np.linalg.norm(p - points[0]), np.linalg.norm(p - far)) > _SAME_PLACE * length for p in points]
    if length == 0 or any(apart):
        raise ValueError(
            f"lengths: {name!r} needs joints at two points, and no others, to have a length: give "
            "joint_parameters={joint: {'anchor_a': (members, 3)}} instead"
        )
    along = span / length
    for (k, s), point in zip(ends, points, strict=True):
        found.anchors[:, k, s] = point + np.outer(own / length - 1, (point @ along) * along)
    return [(joints[k].name, "ab"[s]) for k, s in ends]


def _refuse_special_loops(plan: Plan) -> None:
    """Raise where what is left out of loops could not be judged at members' own numbers."""
    selection, compiled = plan.compiled.selection, plan.compiled
    if selection.inactive_couplings.any() or (selection.inactive.any() and compiled.signals.count):
        why = "couplings in" if selection.inactive_couplings.any() else "functions of time beside"
        raise ValueError(
            f"members cannot differ in lengths or joint_parameters: there are {why} loops with redundant rows, which "
            "must be selected for each mechanism separately: build one Simulator each, or use Sweep(build=...)"
        )
