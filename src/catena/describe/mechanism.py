"""Mechanism: named bodies, joints, forces, couplings and contacts, as the user describes them.

Above 450 lines: every call of the user on a mechanism is here with its docstring, and what it does in other files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .._util.checks import number
from .._util.lookup import KINDS, ByName, name_of, no_such
from .._util.rotation import IDENTITY, Array, Checked, finite
from .bodies import AT_REST, Body, World
from .collisions import ContactRules, add_hulls, rules_of
from .contacts import Contact, contact_between
from .couplings import Coupling
from .custom import GivenRows
from .files import MechanismFiles
from .forces import Force
from .frames import Frame, made
from .freeze import CompileCache, copied, unchanged
from .held import Held
from .inertia import Inertia, Solid
from .joint import Joint
from .measures import closing_costs
from .posing import Posing
from .showing import Posable
from .spanning_tree import SpanningTree, find_tree, place_along

if TYPE_CHECKING:
    from ..kinematics.clearances import Clearance
    from ..kinematics.state import State
    from ..results.report import Report
    from ..results.trajectory import Trajectory
    from .joint import BodyLike, BodyOrName
    from .merge import AddedNames, Placement

AnyForce = TypeVar("AnyForce", bound=Force)
AnyCoupling = TypeVar("AnyCoupling", bound=Coupling)


class Mechanism(MechanismFiles, Posing, Posable, Held):
    """Rigid bodies, and the joints, forces, couplings and contacts between them.

    `gravity` is the acceleration (3,) in m/s^2. The z axis of the world points up.
    """

    gravity = Checked("Acceleration of gravity (3,) m/s^2, world frame.")

    # the snapshot made last
    _last: Mechanism | None = None
    _contact_rules: ContactRules | None = None

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, -9.81), *, loop_tolerance: float = 3e-3) -> None:
        self._world = World()
        for kind, all_of in KINDS.items():
            setattr(self, f"_{all_of}", ByName(kind))
        self._known = CompileCache()
        self._numbered: dict[str, int] = {}  # next number by the name that items share
        self.gravity = gravity
        self.loop_tolerance = loop_tolerance

    @property
    def loop_tolerance(self) -> float:
        """Disagreement allowed between redundant joints: in rad, or relative to the size of their bodies.

        A row of a loop counts as redundant if the other joints already restrict its motion to less than this tolerance.
        This is the case for a planar linkage in space whose numbers are rounded. With 0, all numbers are taken as
        exact.
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
        """The world frame, which is at rest, and its shapes; use it in place of a body in joints."""
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
        """Springs, dampers, motors and other forces by name, in the order they were added."""
        return MappingProxyType(self._forces)

    @property
    def couplings(self) -> Mapping[str, Coupling]:
        """Gears, racks, differentials and prescribed motions by name, in the order they were added."""
        return MappingProxyType(self._couplings)

    @property
    def contacts(self) -> Mapping[str, Contact]:
        """Contacts by name, in the order they were added."""
        return MappingProxyType(self._contacts)

    @property
    def frames(self) -> Mapping[str, Frame]:
        """Named frames on bodies, in the order they were added."""
        return MappingProxyType(self._frames)

    @property
    def body_count(self) -> int:
        """Number of bodies; the world does not count."""
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
            if joint.has_coordinates
            for ending in joint.coordinate_names
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the motors and servos whose force or target can be set during a run: see Live."""
        return tuple(name for name, force in self._forces.items() if force.input)

    def rows(self) -> Mapping[str, int]:
        """Return the index of every body in arrays (body, ...), by name."""
        if self._owner and self._known.rows is not None:
            return self._known.rows
        found = self._known.rows = {name: row for row, name in enumerate(self._bodies)}
        return found

    def coordinate_places(self) -> dict[str, slice]:
        """Return the slice of every joint's coordinates in the array of all coordinates."""
        places, first = {}, 0
        for name, joint in self._joints.items():
            if joint.has_coordinates:
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

        Parameters
        ----------
        shape
            A shape such as `box(...)`, or an `Inertia`.
        position
            Center of mass in the world frame (m); default: the position of the shape if it has one, else the origin.
        orientation
            Unit quaternion (w, x, y, z), body to world; default: that of the shape if it has one, else (1, 0, 0, 0).
        velocity
            Velocity of the center of mass, world frame (m/s).
        angular_velocity
            Angular velocity, world frame (rad/s).
        gravity
            Whether the gravity of the mechanism acts on the body.
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
        """Add a joint and return it; its frames on the two bodies are computed from their described poses."""
        self._refuse_other(joint, Joint, "Revolute")
        a, b = self._find(joint._a, joint), self._find(joint._b, joint)
        if a is b:
            raise ValueError(f"{joint.label} joins {a.name!r} to itself")
        self._name_apart(joint, self._joints, self._couplings)
        joint._resolve(a, b)
        self._joints[joint.name] = joint
        return joint

    def add_force(self, force: AnyForce) -> AnyForce:
        """Add a spring, damper, motor or other force and return it."""
        self._refuse_other(force, Force, "Spring")
        self._name_apart(force, self._forces)
        force._resolve(self)
        self._forces[force.name] = force
        return force

    def add_coupling(self, coupling: AnyCoupling) -> AnyCoupling:
        """Add a gear, rack, differential, mimic or prescribed motion and return it."""
        self._refuse_other(coupling, Coupling, "Gear")
        self._name_apart(coupling, self._joints, self._couplings)
        coupling._resolve(self)
        self._couplings[coupling.name] = coupling
        return coupling

    def add_contact(
        self,
        body: BodyOrName,
        other: BodyOrName = "world",
        *,
        at: ArrayLike | None = None,
        radius: float = 0.0,
        point: ArrayLike = (0.0, 0.0, 0.0),
        normal: ArrayLike = (0.0, 0.0, 1.0),
        restitution: float = 0.0,
        friction: float = 0.0,
        name: str | None = None,
    ) -> Contact:
        """Keep a point or a ball of a body on one side of a plane, and return the contact.

        Parameters
        ----------
        other
            The body that has the plane, which moves along with it; by default the world.
        at
            World position (3,) m of the point, or of the center of the ball, in the described pose; default: the center
            of mass.
        radius
            Radius of the ball (m); by default it is a point.
        point, normal
            A point (3,) m of the plane, and its direction toward the body, in the world frame in the described pose; by
            default the floor z = 0.
        restitution
            Coefficient of restitution: the fraction of the approach speed that remains after an impact, from 0 to 1.
        friction
            Coefficient of friction: the largest friction force, as a multiple of the normal force; 0 for none.
        """
        self._refuse_if_locked()
        label = "a contact" if name is None else f"contact {name!r}"
        of = self.find(name_of(body), label)
        if not isinstance(of, Body):
            raise ValueError(f"{label} is of a body with a plane of the world, not of the world: swap them")
        plane = self.find(name_of(other), label)
        contact = contact_between(of, plane, at, radius, point, normal, restitution, friction, name)
        if contact.body == contact.other:
            raise ValueError(f"{contact.label} is between {contact.body!r} and itself")
        self._name_apart(contact, self._contacts)
        contact._added = True
        self._contacts[contact.name] = contact
        return contact

    @property
    def contact_rules(self) -> ContactRules | None:
        """What `add_contacts` was told, or None."""
        return self._contact_rules

    def add_contacts(
        self,
        friction: float | None = None,
        exclude: Iterable[tuple[BodyOrName, BodyOrName]] = (),
        *,
        combine: str = "larger",
        pairs: Mapping[tuple[str, str], float | None] | None = None,
    ) -> None:
        """Let all shapes with `collides` collide, except those of bodies that a joint connects.

        Runs simulate contacts of spheres, capsules, boxes and hulls with planes; other pairs have clearances only. A
        joint to the world excludes contact with the world only if it fixes a point of the body. Meshes and ellipsoids
        become convex hulls of at most 64 points; reading meshes requires the extra `shapes`. Shapes, bodies and joints
        can still be added; a second call replaces the first.

        Parameters
        ----------
        friction
            Coefficient of friction of all pairs; default: that of the two shapes, as `combine` says.
        exclude
            Pairs of bodies that do not collide.
        combine
            "larger" or "smaller": which friction a pair has if that of its shapes differs. Of two coefficients of
            restitution, the larger holds.
        pairs
            Friction of single pairs of shapes by their names, None for what the shapes have. These pairs collide even
            if groups, joints or exclusions forbid it.
        """
        self._refuse_if_locked()
        rules = rules_of(self, friction, exclude, combine, pairs)

        def corners(path: str) -> Array:
            from ..view.viewer.mesh_files import read_triangles

            return np.concatenate([vertices for vertices, _, _ in read_triangles(path)])

        add_hulls(self, corners)
        self._contact_rules = rules

    def clearances(self, state: State | None = None, *, within: float = inf) -> list[Clearance]:
        """Return gap, normal and nearest points of each pair of shapes that can collide, in a state.

        The state is by default the described one. Pairs that are farther apart than `within` (m) are left out. Without
        `add_contacts`, these are all shapes with `collides` of bodies that no joint connects.
        """
        return (self.state() if state is None else state).clearances(within=within)

    def add_frame(
        self,
        name: str,
        body: BodyOrName,
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = IDENTITY,
    ) -> Frame:
        """Add a named frame on a body, or on the world, and return it.

        position (3,) m and orientation (4,) are given in the body frame, whose origin is the center of mass. A frame
        with the name of its body is the reference frame of the body.
        """
        self._refuse_if_locked()
        frame = made(name, self.find(name_of(body), f"frame {name!r}").name, position, orientation)
        if name in self._frames:
            raise ValueError(f"there is already a frame called {name!r}")
        if name != frame.body and (name in self._bodies or name == self.world.name):
            raise ValueError(f"frame {name!r}: this is the name of a body; only a frame on that body can have it")
        self._frames[name] = frame
        return frame

    def frame(self, name: str) -> Frame:
        """Return the frame with this name.

        For the name of a body without a reference frame, this is the body frame, whose origin is the center of mass.
        """
        name = name_of(name)
        if name in self._frames:
            return self._frames[name]
        if name in self._bodies or name == self.world.name:
            return made(name, name)
        raise no_such("frame", name, self)

    def add(self, other: Mechanism, prefix: str = "", at: Placement | None = None) -> AddedNames:
        """Add a copy of everything in another mechanism, and return the new names.

        Parameters
        ----------
        prefix
            Text put in front of every name.
        at
            Pose of the other mechanism's world origin in this world: a position (3,) m, or a pair of a position and a
            quaternion (w, x, y, z). Joints to the other world become joints to this world. The shapes of the other
            world are added to this one.
        """
        from .merge import join

        self._refuse_if_locked()
        if not isinstance(other, Mechanism):
            raise ValueError(f"add takes a mechanism, got {other!r}; use add_body, add_joint, add_force, ... for parts")
        return join(self, other, prefix, at)

    def find(self, name: str, asker: str) -> BodyLike:
        """Return the body with this name, or the world; `asker` starts the error message if there is none."""
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

    def _refuse_other(self, item: Any, kind: type[Joint | Force | Coupling], example: str) -> None:
        """Refuse what is not of this kind, or belongs to a mechanism."""
        word = kind.__name__.lower()
        if not isinstance(item, kind):
            raise ValueError(f"add_{word} takes a {word} such as {example}(...), got {item!r}")
        self._refuse_if_locked()
        if item._added:
            raise ValueError(f"{item.label} has already been added to a mechanism")

    def _name_apart(self, item: Joint | Force | Coupling | Contact, *taken: ByName[Any]) -> None:
        """Refuse a name that is taken, or append a number to an automatic name."""
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
        """Return the spanning forest that the joint-space solver uses.

        It starts at the world, and at one body of each floating part. The search is breadth first, but loops are closed
        where that takes the fewest rows: at a ball joint rather than a hinge, and at a hinge without forces rather than
        at one with a motor. Joints of massless bodies are part of the forest unless they close a loop, and a floating
        part starts at a body with mass. Joints that cannot carry a body are closures, even where they close no loop.
        Free joints have no constraints and are left out.
        """
        if not self._owner:
            return find_tree(self, closing_costs(self))
        if self._known.tree is None:
            self._known.tree = find_tree(self, closing_costs(self))
        return self._known.tree

    def described_tree(self) -> SpanningTree:
        """Return the spanning forest for `state` and for files; it has no joint whose `closes_loop` is set."""
        if not self._owner:
            return find_tree(self, {}, described=True)
        if self._known.described_tree is None:
            self._known.described_tree = find_tree(self, {}, described=True)
        return self._known.described_tree

    def state(self) -> State:
        """Return the described poses and velocities, with the joints of the spanning tree closed.

        If the described poses violate a joint of the tree, the subtree beyond the joint moves so that the joint closes;
        the joint keeps its measured coordinates. Joints that close loops, and joints whose `closes_loop` is set, move
        no body: use `assemble` to close them. Velocities stay as described.
        """
        from ..kinematics.state import State

        return State(self, *place_along(self, self.described_tree()))

    def assemble(
        self,
        guess: State | None = None,
        *,
        fixed: Iterable[str] = (),
        coordinates: Mapping[str, ArrayLike] | None = None,
        rates: Mapping[str, ArrayLike] | None = None,
    ) -> State:
        """Close all joints, with the smallest motion from an approximate pose, and return the closed state.

        Velocities become the nearest ones to the guess that the joints allow, in the mass metric. If the mechanism
        cannot be closed, an AssemblyError names the joints and their gaps. The gap of each joint is
        `state.joint(name).gap`.

        Parameters
        ----------
        guess
            Initial pose; default: the described pose. The result stays on its branch.
        fixed
            Names of joints that keep the coordinates they have in the guess.
        coordinates
            Mapping from joint names to target coordinates (rad, m); the other joints adapt.
        rates
            Mapping from joint names to target rates (rad/s, m/s); the other joints adapt, including those of loops.
        """
        from ..assemble.assembly import assemble
        from ..assemble.assembly_rates import with_rates

        for what, given in (("coordinates", coordinates), ("rates", rates)):
            if given is not None and not isinstance(given, Mapping):
                raise ValueError(f"{what} must be a mapping from joint names, such as {{'motor': 0.3}}, got {given!r}")
        if isinstance(fixed, str):
            raise ValueError(f"fixed takes a list of names, such as [{fixed!r}], got {fixed!r}")
        state = assemble(self, guess, fixed, coordinates)
        return with_rates(state, rates) if rates else state

    def report(self, state: State | None = None) -> Report:
        """Return counts, degrees of freedom, rank, redundant joints, loops, limits and a cost estimate.

        They are those at `state`; the default is the assembled pose.
        """
        from ..assemble.redundancy import select_described_rows, select_rows
        from ..kinematics.state import State
        from ..results.report import report

        locked = self.snapshot()
        if state is None:
            return report(locked, locked.assemble(), select_described_rows(locked), start=locked.state())
        if not isinstance(state, State) or list(state.mechanism.bodies) != list(self.bodies):
            raise ValueError(f"report needs a State of this mechanism, got {state!r:.80}")
        return report(locked, state, select_rows(locked, state))

    def snapshot(self, owner: str = "simulator") -> Mechanism:
        """Return a copy that cannot be changed, because it belongs to a simulator or another owner.

        A mechanism that has an owner returns itself. Until the mechanism changes, repeated calls return the same copy
        with its cached results.
        """
        if self._owner:
            return self
        if self._depends_on_functions():
            return copied(self, owner)
        if self._last is None or self._last._owner != owner or not unchanged(self, self._last):
            self._last = copied(self, owner)
        return self._last

    def _depends_on_functions(self) -> bool:
        """Whether user functions determine joints or couplings: their results may change without notice."""
        joints = any(isinstance(joint, GivenRows) or joint.ground is not None for joint in self._joints.values())
        return joints or any(coupling.function is not None for coupling in self._couplings.values())

    def copy(self) -> Mechanism:
        """Return an independent copy, including bodies and joints, that can be changed."""
        return copied(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_known", "_last")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _known=CompileCache())

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
