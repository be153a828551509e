"""The spanning tree: the joints that carry bodies, the joints that close loops, and the poses along the tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from .bodies import Body
from .joint import Joint, Motion, Pose, mismatch, pose_between

if TYPE_CHECKING:
    from .joint import BodyLike
    from .mechanism import Mechanism

# a joint closer than this (m, rad) in the described pose counts as closed
_CLOSED = 1e-12


@dataclass(frozen=True)
class Branch:
    """A tree joint, from the body nearer to the root to the body it carries."""

    joint: Joint
    parent: BodyLike
    child: Body


@dataclass(frozen=True)
class SpanningTree:
    """A spanning forest: tree joints, parents first; the first body of every floating part; joints that close loops."""

    branches: tuple[Branch, ...]
    floating: tuple[Body, ...]
    loops: tuple[Joint, ...]


def find_tree(mechanism: Mechanism, costs: Mapping[str, int], described: bool = False) -> SpanningTree:
    """Find the spanning forest; without costs it is breadth first, regardless of forces on joints."""
    bodies = list(mechanism.bodies.values())
    row = {mechanism.world.name: -1, **{name: k for k, name in enumerate(mechanism.bodies)}}
    holding = [joint for joint in mechanism.joints.values() if joint.row_count > 0]
    joints = [joint for joint in holding if joint._is_branch and not (described and joint.closes_loop)]
    # the kernels' own rule; what they compile would come too late, since loose bodies are refused by this tree
    found, parents, carriers = _core.spanning_forest(
        ends=np.array([(row[joint.a.name], row[joint.b.name]) for joint in joints], np.int32).reshape(-1, 2),
        cost=np.array([costs.get(joint.name, 0) for joint in joints], np.int32),
        massless=np.array([body.mass == 0 for body in bodies], np.int32),
    )
    branches = tuple(
        Branch(joints[carriers[k]], bodies[parents[k]] if parents[k] >= 0 else mechanism.world, bodies[k])
        for k in found
        if carriers[k] >= 0
    )
    used = {branch.joint.name for branch in branches}
    loops = tuple(joint for joint in holding if joint.name not in used)
    return SpanningTree(branches, tuple(bodies[k] for k in found if carriers[k] < 0), loops)


def place_along(mechanism: Mechanism, tree: SpanningTree) -> Motion:
    """The described poses and velocities (n, ...) of bodies, with the joints of a tree closed."""
    described = {name: (body.position, body.orientation) for name, body in mechanism.bodies.items()}
    described[mechanism.world.name] = (mechanism.world.position, mechanism.world.orientation)
    poses: dict[str, Pose] = dict(described)
    moved: set[str] = set()
    branches = tree.branches
    for branch, measured in zip(branches, _measured(branches, described), strict=True):
        joint, parent, child = branch.joint, branch.parent.name, branch.child.name
        allowed = joint.nearest(*measured)
        if parent not in moved and max(mismatch(measured, allowed)) <= _CLOSED:
            continue
        moved.add(child)
        place = joint.place_b if joint.b is branch.child else joint.place_a
        poses[child] = place(poses[parent], *allowed)

    bodies = mechanism.bodies
    return (
        np.reshape([poses[name][0] for name in bodies], (-1, 3)),
        np.reshape([poses[name][1] for name in bodies], (-1, 4)),
        np.reshape([body.velocity for body in bodies.values()], (-1, 3)),
        np.reshape([body.angular_velocity for body in bodies.values()], (-1, 3)),
    )


def _measured(branches: Sequence[Branch], poses: Mapping[str, Pose]) -> Iterable[Pose]:
    """Relative poses of the joint frames, computed for all joints at once, which is much faster."""
    if not branches:
        return ()
    joints = [branch.joint for branch in branches]

    def both(pairs: Iterable[Pose]) -> Pose:
        points, turns = zip(*pairs, strict=True)
        return np.array(points), np.array(turns)

    return zip(
        *pose_between(
            both(poses[joint.a.name] for joint in joints),
            both(poses[joint.b.name] for joint in joints),
            both((joint.anchor_a, joint.frame_a) for joint in joints),
            both((joint.anchor_b, joint.frame_b) for joint in joints),
        ),
        strict=True,
    )
