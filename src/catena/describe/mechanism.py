"""Mechanism: named bodies and joints, as the user describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._util.checks import number
from .._util.lookup import ByName, name_of, no_such
from .._util.rotation import IDENTITY, Array, Checked, finite
from .._util.strict import Strict, belongs
from .bodies import AT_REST, Body, World
from .couplings import Coupling
from .custom import GivenRows
from .files import MechanismFiles
from .forces import Force
from .frames import Frame, made
from .freeze import Known, copied, unchanged
from .inertia import Inertia, Solid
from .joint import Joint, Pose, mismatch, pose_between
from .measures import closing_costs
from .showing import Posable

if TYPE_CHECKING:
    from ..kinematics.state import State
    from ..results.report import Report
    from ..results.trajectory import Trajectory
    from .joint import BodyLike, BodyOrName
    from .merge import AddedNames, Placement

AnyForce = TypeVar("AnyForce", bound=Force)
AnyCoupling = TypeVar("AnyCoupling", bound=Coupling)

# a joint closer than this (m, rad) in the described pose counts as closed
_CLOSED = 1e-12


@dataclass(frozen=True)
class Branch:
    """A tree joint, from the body nearer to the root to the one it carries."""

    joint: Joint
    parent: BodyLike
    child: Body


@dataclass(frozen=True)
class SpanningTree:
    """Tree joints, parents first; the first body of every part that floats; the joints that close loops."""

    branches: tuple[Branch, ...]
    floating: tuple[Body, ...]
    loops: tuple[Joint, ...]


class Mechanism(MechanismFiles, Posable, Strict):
    """Rigid bodies and the joints between them; gravity is (3,) in m/s^2, the world's z points up."""

    gravity = Checked("Acceleration of gravity (3,) m/s^2, world frame.")

    # the snapshot made last
    _last: Mechanism | None = None

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, -9.81), *, loop_tolerance: float = 3e-3) -> None:
        self._world = World()
        self._bodies: ByName[Body] = ByName("body")
        self._joints: ByName[Joint] = ByName("joint")
        self._forces: ByName[Force] = ByName("force")
        self._couplings: ByName[Coupling] = ByName("coupling")
        self._frames: ByName[Frame] = ByName("frame")
        self._known = Known()
        self._numbered: dict[str, int] = {}  # next number by the name that joints, forces or couplings share
        self.gravity = gravity
        self.loop_tolerance = loop_tolerance

    @property
    def loop_tolerance(self) -> float:
        """By how much joints that say the same thing twice may disagree: rad, or parts of their bodies' size.

        Rows of loops that are free to move by less than this count as redundant, as those of a plane linkage in space
        do whose numbers are rounded; 0 takes all numbers at their word.
        """
        return self._loop_tolerance

    @loop_tolerance.setter
    def loop_tolerance(self, value: float) -> None:
        if not 0 <= number(value) < 0.1:
            raise ValueError(f"loop_tolerance must be a small number, at least 0 and below 0.1, got {value!r}")
        self._loop_tolerance = float(value)

    def _check(self, name: str, value: ArrayLike) -> Array:
        return finite(value, (3,), name)

    @property
    def world(self) -> World:
        """The frame that stands still, with its shapes; joints take it in place of a body."""
        return self._world

    @property
    def bodies(self) -> Mapping[str, Body]:
        """Bodies by name, in the order they were added."""
        return MappingProxyType(self._bodies)

    @property
    def joints(self) -> Mapping[str, Joint]:
        """Joints by name, in the order they were added."""
        return MappingProxyType(self._joints)

    @property
    def forces(self) -> Mapping[str, Force]:
        """Springs, dampers, motors and their like by name, in the order they were added."""
        return MappingProxyType(self._forces)

    @property
    def couplings(self) -> Mapping[str, Coupling]:
        """Gears, racks, differentials and drives by name, in the order they were added."""
        return MappingProxyType(self._couplings)

    @property
    def frames(self) -> Mapping[str, Frame]:
        """Named places on bodies, in the order they were added."""
        return MappingProxyType(self._frames)

    @property
    def body_count(self) -> int:
        """Number of bodies; the world is none."""
        return len(self._bodies)

    @property
    def joint_count(self) -> int:
        """Number of joints."""
        return len(self._joints)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of all joint coordinates, in the order of `state.coordinates`: "elbow.angle", "hip.0"."""
        return tuple(
            f"{name}.{ending}"
            for name, joint in self._joints.items()
            if joint.told
            for ending in joint.coordinate_names
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the motors and servos whose force or target can be set while the mechanism runs: see Live."""
        return tuple(name for name, force in self._forces.items() if force.input)

    def rows(self) -> Mapping[str, int]:
        """Where every body stands in arrays (body, ...), by name."""
        if self._owner and self._known.rows is not None:
            return self._known.rows
        found = self._known.rows = {name: row for row, name in enumerate(self._bodies)}
        return found

    def coordinate_places(self) -> dict[str, slice]:
        """Where the coordinates of every joint stand among all of them."""
        places, first = {}, 0
        for name, joint in self._joints.items():
            if joint.told:
                places[name] = slice(first, first + joint.dof)
                first += joint.dof
        return places

    # ---- building

    def add_body(
        self,
        name: str,
        shape: Solid | Inertia,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        velocity: ArrayLike = AT_REST,
        angular_velocity: ArrayLike = AT_REST,
        gravity: bool = True,
    ) -> Body:
        """Add a body and return it.

        Gravity is this mechanism's.

        Parameters
        ----------
        shape
            A shape such as `box(...)`, or an `Inertia`.
        position
            Centre of mass in the world (m); the shape's own where it has one, otherwise the origin.
        orientation
            Unit quaternion (w, x, y, z), body to world; likewise, otherwise (1, 0, 0, 0).
        velocity
            Of the center of mass, world frame (m/s).
        angular_velocity
            World frame (rad/s).
        gravity
            Whether the mechanism's gravity pulls on it.
        """
        self._refuse_if_locked()
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"a body's name must be a non-empty string, got {name!r}")
        if name == self.world.name:
            raise ValueError("the body name 'world' is reserved for the world itself")
        if name in self._bodies:
            raise ValueError(f"there is already a body called {name!r}")
        if not isinstance(shape, (Solid, Inertia)):
            raise ValueError(f"body {name!r} needs a shape such as box(...), or an Inertia, got {shape!r}")
        own = shape.pose if isinstance(shape, Solid) else None
        if position is None:
            position = (0.0, 0.0, 0.0) if own is None else own[0]
        if orientation is None:
            orientation = IDENTITY if own is None else own[1]
        body = Body(name, shape, position, orientation, velocity, angular_velocity, gravity)
        self._bodies[name] = body
        return body

    def add_joint(self, joint: Joint) -> Joint:
        """Add a joint and return it; its place on the two bodies is fixed from their described poses."""
        if not isinstance(joint, Joint):
            raise ValueError(f"add_joint takes a joint such as Revolute(...), got {joint!r}")
        self._refuse_if_locked()
        if joint.added:
            raise ValueError(f"{joint.label} has already been added to a mechanism")
        a, b = self._find(joint._a, joint), self._find(joint._b, joint)
        if a is b:
            raise ValueError(f"{joint.label} joins {a.name!r} to itself")
        self._name_apart(joint, self._joints, self._couplings)
        joint.resolve(a, b)
        self._joints[joint.name] = joint
        return joint

    def add_force(self, force: AnyForce) -> AnyForce:
        """Add a spring, damper, motor or the like and return it."""
        if not isinstance(force, Force):
            raise ValueError(f"add_force takes a force such as Spring(...), got {force!r}")
        self._refuse_if_locked()
        if force.added:
            raise ValueError(f"{force.label} has already been added to a mechanism")
        self._name_apart(force, self._forces)
        force.resolve(self)
        self._forces[force.name] = force
        return force

    def add_coupling(self, coupling: AnyCoupling) -> AnyCoupling:
        """Add a gear, rack, differential, mimic or drive and return it."""
        if not isinstance(coupling, Coupling):
            raise ValueError(f"add_coupling takes a coupling such as Gear(...), got {coupling!r}")
        self._refuse_if_locked()
        if coupling.added:
            raise ValueError(f"{coupling.label} has already been added to a mechanism")
        self._name_apart(coupling, self._joints, self._couplings)
        coupling.resolve(self)
        self._couplings[coupling.name] = coupling
        return coupling

    def add_frame(
        self,
        name: str,
        body: BodyOrName,
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = IDENTITY,
    ) -> Frame:
        """Name a place on a body, or on the world, and return it.

        position (3,) m and orientation (4,) are in the body's frame, which sits at its center of mass. A frame that
        is called like its body is the body's reference frame.
        """
        self._refuse_if_locked()
        frame = made(name, self.find(name_of(body), f"frame {name!r}").name, position, orientation)
        if name in self._frames:
            raise ValueError(f"there is already a frame called {name!r}")
        if name != frame.body and (name in self._bodies or name == self.world.name):
            raise ValueError(f"frame {name!r}: only a frame on the body of that name can be called so")
        self._frames[name] = frame
        return frame

    def frame(self, name: str) -> Frame:
        """The frame of that name, or the body's own, at its center of mass, where a body has no reference frame."""
        name = name_of(name)
        if name in self._frames:
            return self._frames[name]
        if name in self._bodies or name == self.world.name:
            return made(name, name)
        raise no_such("frame", name, self)

    def add(self, other: Mechanism, prefix: str = "", at: Placement | None = None) -> AddedNames:
        """Add a copy of all that another mechanism has, and return what it is called here.

        Parameters
        ----------
        prefix
            Goes in front of every name.
        at
            Where the origin of the other's world comes to lie here: a position (3,) m, or that and a quaternion
            (w, x, y, z) by which the whole is turned. Joints to the other's world hold on to this one's, and shapes of
            the other's world come along.
        """
        from .merge import join

        self._refuse_if_locked()
        if not isinstance(other, Mechanism):
            raise ValueError(f"add takes a mechanism, got {other!r}; there are add_body, add_joint, add_force, ...")
        return join(self, other, prefix, at)

    def remove_body(self, name: str, *, cascade: bool = False) -> Body:
        """Remove and return a body with its frames; with `cascade` also joints, forces and couplings that hold it."""
        self._refuse_if_locked()
        name = name_of(name)
        if name not in self._bodies:
            raise no_such("body", name, self)
        joints = [joint for joint in self._joints.values() if name in (joint.a.name, joint.b.name)]
        forces = [
            f
            for f in self._forces.values()
            if any(name in (p.measure.a, p.measure.b) for p in f.parts) or any(name == r.body for r in f.resistances)
        ]
        if not cascade:
            _refuse_to_remove(self._bodies[name].label, [*joints, *forces])
        for joint in joints:
            self.remove_joint(joint.name, cascade=True)
        for force in forces:
            self._forces.pop(force.name, None)
        for frame in [frame for frame in self._frames.values() if frame.body == name]:
            del self._frames[frame.name]
        return self._bodies.pop(name)

    def remove_joint(self, name: str, *, cascade: bool = False) -> Joint:
        """Remove a joint and return it; with `cascade` also all forces and couplings that act on it."""
        self._refuse_if_locked()
        name = name_of(name)
        if name not in self._joints:
            raise no_such("joint", name, self)
        forces = [
            f
            for f in self._forces.values()
            if any(part.measure.joint == name for part in f.parts) or any(r.joint == name for r in f.rotaries)
        ]
        couplings = [c for c in self._couplings.values() if any(term.measure.joint == name for term in c.terms)]
        if not cascade:
            _refuse_to_remove(self._joints[name].label, [*forces, *couplings])
        for force in forces:
            del self._forces[force.name]
        for coupling in couplings:
            del self._couplings[coupling.name]
        return self._joints.pop(name)

    def remove_force(self, name: str) -> Force:
        """Remove a force and return it."""
        self._refuse_if_locked()
        name = name_of(name)
        if name not in self._forces:
            raise no_such("force", name, self)
        return self._forces.pop(name)

    def remove_coupling(self, name: str) -> Coupling:
        """Remove a coupling and return it."""
        self._refuse_if_locked()
        name = name_of(name)
        if name not in self._couplings:
            raise no_such("coupling", name, self)
        return self._couplings.pop(name)

    def remove_frame(self, name: str) -> Frame:
        """Remove a frame and return it."""
        self._refuse_if_locked()
        name = name_of(name)
        if name not in self._frames:
            raise no_such("frame", name, self)
        return self._frames.pop(name)

    def find(self, name: str, asker: str) -> BodyLike:
        """The body of that name, or the world; `asker` begins the message if there is none."""
        name = name_of(name)
        if name == self.world.name:
            return self.world
        if name not in self._bodies:
            raise no_such("body", name, self, f"{asker}: ")
        return self._bodies[name]

    def _find(self, body: BodyOrName, joint: Joint) -> BodyLike:
        if isinstance(body, str):
            return self.find(body, joint.label)
        if not isinstance(body, (Body, World)):
            raise ValueError(f"{joint.label} needs bodies or their names, got {body!r}")
        if body is not self.world and self._bodies.get(body.name) is not body:
            raise ValueError(f"{joint.label}: {body.name!r} belongs to another mechanism")
        return body

    def _name_apart(self, item: Joint | Force | Coupling, *taken: ByName[Any]) -> None:
        """Refuse a name that is taken, or number one that was not given."""
        name = item.name
        for names in taken:
            if name in names:
                break
        else:
            return
        if item.named:
            shared = " (joints and couplings share their names)" if len(taken) > 1 else ""
            raise ValueError(f"there is already a {names.kind} called {name!r}{shared}")
        k = self._numbered.get(name, 2)
        while any(f"{name}-{k}" in names for names in taken):
            k += 1
        self._numbered[name] = k + 1
        item.name = f"{name}-{k}"

    # ---- looking

    def spanning_tree(self) -> SpanningTree:
        """Spanning forest that the joint-space solver goes along, from the world and from a body of each floating part.

        Breadth first, but loops are closed where that takes the fewest rows: by a ball rather than a hinge, and by a
        hinge on which no forces act rather than one with a motor. Joints of massless bodies are part of it as far as
        they close no loop, and a floating part begins at a body that has a mass. Joints that cannot carry a body close
        loops, even if they close nothing but a gap in the tree; free joints hold nothing and are left out.
        """
        if not self._owner:
            return self._find_tree(closing_costs(self))
        if self._known.tree is None:
            self._known.tree = self._find_tree(closing_costs(self))
        return self._known.tree

    def described_tree(self) -> SpanningTree:
        """The forest along which `state` places bodies, and files are written: none of `closes_loop` is part of it."""
        if not self._owner:
            return self._find_tree({}, described=True)
        if self._known.described_tree is None:
            self._known.described_tree = self._find_tree({}, described=True)
        return self._known.described_tree

    def _find_tree(self, costs: Mapping[str, int], described: bool = False) -> SpanningTree:
        """Find the forest; without costs it is breadth first, whatever acts on joints."""
        bodies = list(self._bodies.values())
        row = {self.world.name: -1, **{name: k for k, name in enumerate(self._bodies)}}
        holding = [joint for joint in self._joints.values() if joint.row_count > 0]
        joints = [joint for joint in holding if joint.is_branch and not (described and joint.closes_loop)]
        # the kernels' own rule; what they compile would come too late, since loose bodies are refused by this tree
        found, parents, carriers = _core.spanning_forest(
            ends=np.array([(row[joint.a.name], row[joint.b.name]) for joint in joints], np.int32).reshape(-1, 2),
            cost=np.array([costs.get(joint.name, 0) for joint in joints], np.int32),
            massless=np.array([body.mass == 0 for body in bodies], np.int32),
        )
        branches = tuple(
            Branch(joints[carriers[k]], bodies[parents[k]] if parents[k] >= 0 else self.world, bodies[k])
            for k in found
            if carriers[k] >= 0
        )
        used = {branch.joint.name for branch in branches}
        loops = tuple(joint for joint in holding if joint.name not in used)
        return SpanningTree(branches, tuple(bodies[k] for k in found if carriers[k] < 0), loops)

    def state(self) -> State:
        """Return the described poses and velocities, with joints closed breadth first, but not those of loops.

        Where the described poses break a tree joint, the body it carries moves, and all that hangs on it: the
        joint keeps its measured coordinates. Joints of which `closes_loop` says so move nothing. Velocities stay as
        described.
        """
        return self._placed(self.described_tree())

    def _placed(self, tree: SpanningTree) -> State:
        from ..kinematics.state import State

        described = {name: (body.position, body.orientation) for name, body in self._bodies.items()}
        described[self.world.name] = (self.world.position, self.world.orientation)
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

        bodies = self._bodies
        count = len(bodies)
        return State(
            self,
            np.reshape([poses[name][0] for name in bodies], (count, 3)),
            np.reshape([poses[name][1] for name in bodies], (count, 4)),
            np.reshape([body.velocity for body in bodies.values()], (count, 3)),
            np.reshape([body.angular_velocity for body in bodies.values()], (count, 3)),
        )

    def assemble(
        self,
        guess: State | None = None,
        *,
        fixed: Iterable[str] = (),
        coordinates: Mapping[str, ArrayLike] | None = None,
        rates: Mapping[str, ArrayLike] | None = None,
    ) -> State:
        """Bring a rough pose onto all joints, with the least motion, and return the closed state.

        Velocities become those nearest to the guess that the joints allow, with the mass matrix as metric. A mechanism
        that cannot be closed is an AssemblyError that names the joints and what is left open; each joint's gap is
        `state.joint(name).gap`.

        Parameters
        ----------
        guess
            Where to start; default the described pose. The result stays on its branch.
        fixed
            Names of joints that keep the coordinates they have in the guess.
        coordinates
            Joint name to coordinates to reach; the other joints follow on the way.
        rates
            Joint name to rates (rad/s, m/s) to have there; the other joints follow, loops included.
        """
        from ..assemble.assembly import assemble
        from ..assemble.assembly_rates import with_rates

        for what, given in (("drive", coordinates), ("rates", rates)):
            if given is not None and not isinstance(given, Mapping):
                raise ValueError(f"{what} takes numbers by joint name, such as {{'motor': 0.3}}, got {given!r}")
        if isinstance(fixed, str):
            raise ValueError(f"fixed takes a list of names, such as [{fixed!r}], got {fixed!r}")
        state = assemble(self, guess, fixed, coordinates)
        return with_rates(state, rates) if rates else state

    def report(self, state: State | None = None) -> Report:
        """Counts, degrees of freedom, rank, redundant joints, loops and estimated work, at the assembled pose."""
        from ..assemble.redundancy import described_asked, find_asked
        from ..kinematics.state import State
        from ..results.report import report

        locked = self.snapshot()
        if state is None:
            return report(locked, locked.assemble(), described_asked(locked))
        if not isinstance(state, State) or list(state.mechanism.bodies) != list(self.bodies):
            raise ValueError(f"a report is made at a State of this mechanism, got {state!r:.80}")
        return report(locked, state, find_asked(locked, state))

    def snapshot(self, owner: str = "simulator") -> Mechanism:
        """Return a copy that cannot be changed, because it belongs to a simulator or the like; itself if it is one.

        As long as nothing is changed it is the same one, with all that was found out about it.
        """
        if self._owner:
            return self
        if self._depends_on_functions():
            return copied(self, owner)
        if self._last is None or self._last._owner != owner or not unchanged(self, self._last):
            self._last = copied(self, owner)
        return self._last

    def _depends_on_functions(self) -> bool:
        """Whether functions of the user's say where joints and couplings close: what they say may change unseen."""
        joints = any(isinstance(joint, GivenRows) or joint.ground is not None for joint in self._joints.values())
        return joints or any(coupling.function is not None for coupling in self._couplings.values())

    def copy(self) -> Mechanism:
        """Return an independent copy, bodies and joints included, that can be changed."""
        return copied(self)

    def _refuse_if_locked(self) -> None:
        if self._owner:
            raise ValueError(belongs(self._owner))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_known", "_last")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _known=Known())

        # pickling loses the lock of arrays
        if self._owner:
            self.__dict__.update(copied(self, self._owner).__dict__)

    def __copy__(self) -> Mechanism:
        return self.copy()

    def __repr__(self) -> str:
        from ..view.notebooks import described

        return described(self)

    def _repr_html_(self) -> str:
        from ..view.notebooks import mechanism_table

        return mechanism_table(self)

    def _seen(self) -> Trajectory:
        return self.snapshot().state()._seen()


def _measured(branches: Sequence[Branch], poses: Mapping[str, Pose]) -> Iterable[Pose]:
    """Poses of the joints' frames in each other, found for all at once, which takes a fraction of the time."""
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


def _refuse_to_remove(label: str, holding: Iterable[Joint | Force | Coupling]) -> None:
    names = [item.label for item in holding]
    if names:
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        raise ValueError(f"{label} is held on to by {shown}: remove these first, or give cascade=True")
