"""Adding one mechanism to another: new names, a new pose, and joints to the new world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._util.lookup import KINDS
from .._util.rotation import (
    IDENTITY,
    Array,
    conjugate,
    finite,
    multiply,
    normalised,
    rotate,
    to_matrix,
    unit_quaternion,
)
from .custom import BodyPose, Custom, VelocityRows
from .frames import made
from .freeze import copied

if TYPE_CHECKING:
    from .bodies import Body, World
    from .contacts import Contact
    from .couplings import Coupling
    from .forces import Force
    from .frames import Frame
    from .joint import Joint, Pose
    from .measures import Measure
    from .mechanism import Mechanism

# where a mechanism is put: a position (3,) m, or a position and a unit quaternion
Placement: TypeAlias = "ArrayLike | tuple[ArrayLike, ArrayLike]"


@dataclass(frozen=True)
class AddedNames:
    """Names of what `Mechanism.add` added: mappings from the names in the other mechanism to the new names."""

    bodies: dict[str, str] = field(default_factory=dict)
    joints: dict[str, str] = field(default_factory=dict)
    forces: dict[str, str] = field(default_factory=dict)
    couplings: dict[str, str] = field(default_factory=dict)
    contacts: dict[str, str] = field(default_factory=dict)
    frames: dict[str, str] = field(default_factory=dict)


def join(mechanism: Mechanism, other: Mechanism, prefix: str, at: Placement | None) -> AddedNames:
    """See Mechanism.add."""
    if not isinstance(prefix, str):
        raise ValueError(f"prefix must be a string, got {prefix!r}")
    place = _placement(at)
    guest = copied(other)
    names = AddedNames()
    shared = {*mechanism.joints, *mechanism.couplings}
    for kind, all_of in KINDS.items():
        mine = shared if kind in ("joint", "coupling") else getattr(mechanism, all_of)
        for name in getattr(guest, all_of):
            if prefix + name in mine:
                raise ValueError(f"there is already a {kind} called {prefix + name!r}; give another prefix")
            getattr(names, all_of)[name] = prefix + name
    if mechanism.world.name in names.bodies.values():
        raise ValueError("the body name 'world' is reserved for the world itself; give another prefix")

    if guest.contact_rules is not None:
        theirs, mine_too = guest.contact_rules.renamed(names.bodies, prefix), mechanism.contact_rules
        mechanism._contact_rules = theirs if mine_too is None else mine_too.with_those(theirs)
    for shape in guest.world.shapes:
        position, orientation = _moved(place, (shape.position, shape.orientation))
        mechanism.world.add_shape(**(vars(shape) | {"position": position, "orientation": orientation}))
    move = _Move(names, mechanism.world, place)
    for kind, all_of in KINDS.items():
        held = getattr(mechanism, f"_{all_of}")
        for name, item in getattr(guest, all_of).items():
            called = getattr(names, all_of)[name]
            held[called] = getattr(move, kind)(item, called)
    return names


@dataclass(frozen=True)
class _Move:
    """Items of the added mechanism, with new names and poses."""

    names: AddedNames
    world: World
    place: Pose

    def body(self, body: Body, name: str) -> Body:
        turn = self.place[1]
        body._name = name
        body.position, body.orientation = _moved(self.place, (body.position, body.orientation))
        body.velocity, body.angular_velocity = rotate(turn, body.velocity), rotate(turn, body.angular_velocity)
        return body

    def joint(self, joint: Joint, name: str) -> Joint:
        _tie(joint, self.world, self.place)
        joint._name = name
        return joint

    def force(self, force: Force, name: str) -> Force:
        force._name = name
        for part in force.parts:
            part.measure = self._measure(part.measure)
            for term in part.terms:
                term.measure = self._measure(term.measure)
        if force._resistances:
            force._resistances = [replace(r, body=self.names.bodies[r.body]) for r in force._resistances]
        if force._rotaries:
            force._rotaries = [replace(r, joint=self.names.joints[r.joint]) for r in force._rotaries]
        return force

    def coupling(self, coupling: Coupling, name: str) -> Coupling:
        coupling._name = name
        for term in coupling.terms:
            term.measure = self._measure(term.measure)
        return coupling

    def contact(self, contact: Contact, name: str) -> Contact:
        contact._name = name
        contact.measure = self._measure(contact.measure)
        return contact

    def frame(self, frame: Frame, name: str) -> Frame:
        pose = frame.position, frame.orientation
        host = self.names.bodies.get(frame.body, frame.body)
        return made(name, host, *(_moved(self.place, pose) if frame.body == self.world.name else pose))

    def _measure(self, measure: Measure) -> Measure:
        anchors, frames = measure.anchors.copy(), measure.frames.copy()
        for k, name in enumerate((measure.a, measure.b)):
            if name == self.world.name:
                anchors[k], frames[k] = _moved(self.place, (anchors[k], frames[k]))
        a, b = (self.names.bodies.get(name, name) for name in (measure.a, measure.b))
        joint = self.names.joints.get(measure.joint, "")
        return replace(measure, a=a, b=b, anchors=anchors, frames=frames, joint=joint)


def _placement(at: Placement | None) -> Pose:
    if at is None:
        return np.zeros(3), np.array(IDENTITY)
    if isinstance(at, tuple) and len(at) == 2:
        return finite(at[0], (3,), "at: position"), unit_quaternion(at[1], (4,), "at: orientation")
    return finite(at, (3,), "at"), np.array(IDENTITY)


def _moved(place: Pose, pose: Pose) -> Pose:
    """Transform a pose from the frame `place` into the world frame."""
    return place[0] + rotate(place[1], pose[0]), normalised(multiply(place[1], pose[1]))


def _tie(joint: Joint, world: World, place: Pose) -> None:
    """Move the world side of a joint, and the world frame of its functions."""
    moved = joint.__dict__
    for side in ("a", "b"):
        if getattr(joint, side).is_world:
            moved[f"anchor_{side}"], moved[f"frame_{side}"] = _moved(
                place, (moved[f"anchor_{side}"], moved[f"frame_{side}"])
            )
            moved[f"_{side}"] = world
    if joint.ground is not None:
        moved["_ground"] = _moved_ground(joint.ground, place)
    if isinstance(joint, Custom):
        gap, jacobian = joint._gap, joint._jacobian
        moved["_gap"] = _seen_from(gap, joint, place)
        moved["_jacobian"] = None if jacobian is None else _rows_seen_from(jacobian, joint, place)
    elif isinstance(joint, VelocityRows):
        moved["_function"] = _rows_seen_from(joint._function, joint, place)


def _moved_ground(ground: Callable[[float], Any], place: Pose) -> Callable[[float], Any]:
    """The same motion along the rotated axes."""

    def moved(time: float) -> Any:
        found = ground(time)
        if isinstance(found, tuple) and len(found) == 2 and np.size(found[0]) == 3:
            turn = multiply(multiply(place[1], np.asarray(found[1], dtype=float)), conjugate(place[1]))
            return rotate(place[1], np.asarray(found[0], dtype=float)), turn
        return rotate(place[1], np.asarray(found, dtype=float))

    return moved


def _seen_from(function: Callable[..., ArrayLike], joint: Joint, place: Pose) -> Callable[..., ArrayLike]:
    """A function of two poses, called with the poses before the mechanism was moved."""
    back = conjugate(place[1])
    fixed = (joint.a.is_world, joint.b.is_world)

    def seen(*poses: BodyPose) -> ArrayLike:
        before = [
            pose if is_fixed else BodyPose(rotate(back, pose.position - place[0]), multiply(back, pose.orientation))
            for pose, is_fixed in zip(poses, fixed, strict=True)
        ]
        return function(*before)

    return seen


def _rows_seen_from(function: Callable[..., ArrayLike], joint: Joint, place: Pose) -> Callable[..., Array]:
    """The same for rows (rows, 12) that act on motions along world axes."""
    seen = _seen_from(function, joint, place)
    back = to_matrix(conjugate(place[1]))

    def rows(*poses: BodyPose) -> Array:
        return np.concatenate(
            [part @ back for part in np.split(np.reshape(np.asarray(seen(*poses), dtype=float), (-1, 12)), 4, axis=1)],
            axis=1,
        )

    return rows
