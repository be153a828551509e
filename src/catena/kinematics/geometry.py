"""Rows, gaps and wrenches of joints at given poses, and the size of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .. import _core
from .._util.rotation import Array, multiply, rotate
from ..describe.couplings import Coupling
from ..describe.custom import BodyPose, GivenRows
from ..describe.joint import FORMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..describe.joint import BodyLike, Joint, Motion, Pose
    from ..describe.measures import Measure
    from ..describe.mechanism import Mechanism
    from .state import State


class Posed(Protocol):
    """Poses of a mechanism with leading axes (...), such as (step,) of a trajectory."""

    @property
    def _rows(self) -> Mapping[str, int]:
        """Places of the bodies."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism."""

    @property
    def time(self) -> Any:
        """Times (...,) in s."""

    @property
    def position(self) -> Array:
        """Positions (..., n, 3)."""

    @property
    def orientation(self) -> Array:
        """Orientations (..., n, 4)."""


@dataclass(frozen=True, eq=False)
class Instant:
    """A mechanism at one time; the axis `step` of the arrays has length one."""

    mechanism: Mechanism
    time: Array
    position: Array
    orientation: Array

    @property
    def _rows(self) -> Mapping[str, int]:
        return self.mechanism.rows()


def instant(state: State) -> Instant:
    """The poses of the bodies in a state."""
    return Instant(state.mechanism, np.array([state.time]), state.position[None], state.orientation[None])


def row_lengths(joint: Joint) -> NDArray[np.bool_]:
    """Whether each row of a joint is a length (m); the others are angles (rad)."""
    return np.ones(joint.row_count, dtype=bool) if isinstance(joint, GivenRows) else FORMS[joint.code].lengths


def joint_rows(joint: Joint, a: Pose, b: Pose) -> tuple[Array, Array, Array]:
    """Gaps (step, row), wrenches (step, row, 6) on b per unit multiplier, and b's anchor point (step, 3) of a joint.

    `a` and `b` are positions (step, 3) and orientations (step, 4) of the bodies. A wrench is a force and a torque about
    b's anchor point, in the world frame.
    """
    if isinstance(joint, GivenRows):
        gap, gradient = _given(joint, a, b)
        return gap, gradient[:, :, 6:], b[0]
    anchors, frames = np.array((joint.anchor_a, joint.anchor_b)), np.array((joint.frame_a, joint.frame_b))
    return _rows(FORMS[joint.code].code, a, b, anchors, frames, joint.parameter, joint.row_count)


def _given(joint: GivenRows, a: Pose, b: Pose) -> tuple[Array, Array]:
    """Gaps (step, row) and gradients (step, row, 12) of user-defined rows."""
    (xa, qa), (xb, qb) = a, b
    found = [joint._gap_and_gradient(BodyPose(xa[k], qa[k]), BodyPose(xb[k], qb[k])) for k in range(len(xa))]
    rows = joint.row_count
    return np.reshape([gap for gap, _ in found], (-1, rows)), np.reshape([g for _, g in found], (-1, rows, 12))


def _rows(
    code: int, a: Pose, b: Pose, anchors: Array, frames: Array, parameter: float, count: int
) -> tuple[Array, Array, Array]:
    (position_a, orientation_a), (position_b, orientation_b) = a, b
    steps = len(position_a)
    gap, wrench, point = np.empty((steps, count)), np.empty((steps, count, 6)), np.empty((steps, 3))
    _core.joint_rows(
        kind=code,
        anchors=anchors,
        frames=frames,
        parameter=parameter,
        position_a=position_a,
        orientation_a=orientation_a,
        position_b=position_b,
        orientation_b=orientation_b,
        gap=gap,
        wrench=wrench,
        point=point,
    )
    return gap, wrench, point


def gaps(joint: Joint, a: Pose, b: Pose) -> tuple[Array, Array]:
    """Size of the gap of a joint over all its rows, at the given poses: meters (step,) and radians (step,)."""
    gap, _, _ = joint_rows(joint, a, b)
    lengths = row_lengths(joint)
    return np.linalg.norm(gap[:, lengths], axis=1), np.linalg.norm(gap[:, ~lengths], axis=1)


def ground_poses(joint: Joint, time: Array | float) -> Pose:
    """Position (..., 3) and orientation (..., 4) of the ground of a joint at times (...,)."""
    x, q, *_ = _ground(joint, time, lambda t: (*joint.ground_pose(t), np.zeros(6)))
    return x, q


def ground_motions(joint: Joint, time: Array | float) -> Motion:
    """The same, and its velocity and angular velocity (..., 3)."""
    return _ground(joint, time, joint.ground_motion)


def _ground(joint: Joint, time: Array | float, motion: Callable[[float], tuple[Array, ...]]) -> Motion:
    shape = np.shape(time)
    if joint.ground is None:
        x, q = _still(shape)
        return x, q, x, x
    # all members of a batch pass the same instants, unless one failed, and then nan follows
    instants, place = np.unique(time, return_inverse=True)
    known = [np.concatenate(motion(float(t))) if np.isfinite(t) else np.full(13, np.nan) for t in instants]
    found = np.reshape(known, (-1, 13))[place].reshape(*shape, 13)
    return found[..., :3], found[..., 3:7], found[..., 7:10], found[..., 10:]


def poses(run: Posed, joint: Joint) -> tuple[Pose, Pose]:
    """Position (..., 3) and orientation (..., 4) of each body of a joint, or of its ground."""
    return _poses(run, joint.a, joint), _poses(run, joint.b, joint)


def _poses(run: Posed, body: BodyLike, joint: Joint | None = None) -> Pose:
    if not body.is_world:
        row = run._rows[body.name]
        return np.ascontiguousarray(run.position[..., row, :]), np.ascontiguousarray(run.orientation[..., row, :])
    if joint is not None and joint.ground is not None:
        return ground_poses(joint, run.time)
    return _still(np.shape(run.time))


def _still(shape: tuple[int, ...]) -> Pose:
    """The pose of the world."""
    orientation = np.zeros((*shape, 4))
    orientation[..., 0] = 1.0
    return np.zeros((*shape, 3)), orientation


def meeting(joint: Joint, a: Pose, b: Pose) -> Pose:
    """World position (..., 3) of b's anchor point, and orientation (..., 4) of the joint frame on a."""
    return b[0] + rotate(b[1], joint.anchor_b), multiply(a[1], joint.frame_a)


def measure_rows(run: Posed, measure: Measure) -> tuple[Array, Array, Array]:
    """Value of a measure (step, 1), its wrench (step, 1, 6) on b, and b's point (step, 3)."""
    a, b = (_poses(run, run.mechanism.find(name, measure.code)) for name in (measure.a, measure.b))
    return _rows(FORMS[measure.code].code, a, b, measure.anchors, measure.frames, 0.0, 1)


def body_rows(node: Posed, item: Joint | Coupling) -> dict[str, Array]:
    """Rows (rows, 6) of a joint or coupling on each body: wrenches at the center of mass, at the first node."""
    result: dict[str, Array] = {}

    def add(name: str, rows: Array) -> None:
        if name != node.mechanism.world.name:
            result[name] = result.get(name, 0.0) + rows

    def add_pair(a: str, b: str, wrench: Array, point: Array) -> None:
        for sign, name in ((-1.0, a), (1.0, b)):
            if name != node.mechanism.world.name:
                x, y, z = (point - node.position[0, node.mechanism.rows()[name]]).tolist()
                # about the center of mass: the arm crossed with each force
                about = np.array(((0.0, z, -y), (-z, 0.0, x), (y, -x, 0.0)))
                rows = sign * wrench
                rows[:, 3:] += rows[:, :3] @ about
                add(name, rows)

    if isinstance(item, Coupling):
        for term in item.terms:
            _, wrench, point = measure_rows(node, term.measure)
            add_pair(term.measure.a, term.measure.b, term.coefficient * wrench[0], point[0])
    elif isinstance(item, GivenRows):
        gradient = _given(item, *poses(node, item))[1][0]
        add(item.a.name, gradient[:, :6])
        add(item.b.name, gradient[:, 6:])
    elif item.row_count > 0:
        _, wrench, point = joint_rows(item, *poses(node, item))
        add_pair(item.a.name, item.b.name, wrench[0], point[0])
    return result


def extent(state: State) -> float:
    """Size of the mechanism (m): diagonal of the box around all joint points and centers of mass."""
    rows = {name: row for row, name in enumerate(state.mechanism.bodies)}
    holding = [joint for joint in state.mechanism.joints.values() if joint.row_count > 0]
    sides = [(joint.a, joint.anchor_a) for joint in holding] + [(joint.b, joint.anchor_b) for joint in holding]
    carried = [rows[body.name] for body, _ in sides if not body.is_world]
    anchors = np.reshape([anchor for body, anchor in sides if not body.is_world], (-1, 3))
    fixed = np.reshape([anchor for body, anchor in sides if body.is_world], (-1, 3))
    moving = state.position[carried] + rotate(state.orientation[carried], anchors)
    points = np.concatenate((state.position, moving, fixed))
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    return size if size > 0 else 1.0
