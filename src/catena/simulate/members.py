"""What differs between members of a batch: masses, inertias, gravity, numbers of forces, geometry, loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._util.checks import shown
from .._util.lookup import no_such
from .._util.rotation import Array, finite, unit_quaternion
from ..describe.forces import NUMBERS, SIGNED, STAGED
from ..describe.inertia import Inertia
from ..describe.limits import HARD, SOFT, Limits, joint_stops, law_numbers, law_parts, stops_of
from ..kinematics.member_geometry import MemberGeometry, described_geometry
from .loads import Forces, LoadTable, load_table

if TYPE_CHECKING:
    from ..compile.compile import Compiled
    from ..describe.mechanism import Mechanism
    from ..describe.signals import Signals

# members' own numbers of a force, by its name: {"spring": {"stiffness": (members,)}}
Laws: TypeAlias = Mapping[str, Mapping[str, ArrayLike]]
# members' own limits of a joint, by its name, or of its coordinates: {"knee": {"lower": (members,)}}
Ranges: TypeAlias = Mapping[str, Mapping[str, ArrayLike] | Mapping[str, Mapping[str, ArrayLike]]]

# what makes a geometry
_GEOMETRY = ("anchors", "frames", "parameter")


class MemberNumbers:
    """Masses, inertias, gravity, numbers of forces and geometry that differ between members; None where none do."""

    def __init__(
        self,
        mechanism: Mechanism,
        count: int,
        masses: Mapping[str, ArrayLike] | None,
        inertias: Mapping[str, ArrayLike] | None,
        gravity: ArrayLike | None,
        force_parameters: Laws | None,
        limits: Ranges | None,
        geometry: MemberGeometry | None,
    ) -> None:
        self.geometry = geometry
        bodies = list(mechanism.bodies.values())
        rows = {body.name: k for k, body in enumerate(bodies)}
        for label, mapping in (
            ("masses", masses),
            ("inertias", inertias),
            ("force_parameters", force_parameters),
            ("limits", limits),
        ):
            if mapping is not None and not isinstance(mapping, Mapping):
                raise ValueError(f"{label} must be a mapping from names to numbers, got {mapping!r}")
        self._masses, self._inertias, self._laws = masses or {}, inertias or {}, force_parameters or {}
        for what, given in (("masses", self._masses), ("inertias", self._inertias)):
            for name in given:
                if name not in rows:
                    raise no_such("body", name, mechanism, f"{what}: ")
        self.mass: Array | None = None
        self.inertia: Array | None = None
        self.gravity: Array | None = None
        self.law: Array | None = None
        self._own_gravity: Array | None = None
        if masses or inertias:
            self.mass = np.tile([body.inertia.mass for body in bodies], (count, 1))
            self.inertia = np.tile([body.inertia.tensor for body in bodies], (count, 1, 1, 1))
            for name, value in self._masses.items():
                own, inertia = finite(value, (count,), f"masses of {name!r}"), mechanism.bodies[name].inertia
                self.mass[:, rows[name]] = own
                if inertia.mass:
                    # as where the mass of a body is set
                    self.inertia[:, rows[name]] *= (own / inertia.mass)[:, None, None]
            for name, value in self._inertias.items():
                self.inertia[:, rows[name]] = finite(value, (count, 3, 3), f"inertias of {name!r}")
            for name in {*self._masses, *self._inertias}:
                if ((self.mass[:, rows[name]] == 0) != (mechanism.bodies[name].mass == 0)).any():
                    raise ValueError(f"body {name!r} must be massless in all members or in none")
                for k in np.flatnonzero(~_plain(self.mass[:, rows[name]], self.inertia[:, rows[name]])).tolist():
                    try:
                        Inertia(float(self.mass[k, rows[name]]), self.inertia[k, rows[name]])
                    except ValueError as error:
                        raise ValueError(f"body {name!r} of member {k}: {error}") from None
        if gravity is not None:
            own = self._own_gravity = finite(gravity, (count, 3), "gravity")
            self.gravity = _on_bodies(mechanism, own)
        if force_parameters or limits:
            self.law = np.tile([[part.law[key] for key in NUMBERS] for part in law_parts(mechanism)], (count, 1, 1))
            self._fill_laws(mechanism, count, self.law)
            self._fill_limits(mechanism, count, self.law, limits or {})

    def _fill_laws(self, mechanism: Mechanism, count: int, table: Array) -> None:
        parts = [(name, part) for name, force in mechanism.forces.items() for part in force.parts]
        for name, numbers in self._laws.items():
            if name not in mechanism.forces:
                raise no_such("force", name, mechanism, "force_parameters: ")
            label = mechanism.forces[name].label
            places = [k for k, (owner, _) in enumerate(parts) if owner == name]
            if not places:
                raise ValueError(f"force_parameters: {label} has the same parameters for all members")
            if not isinstance(numbers, Mapping):
                raise ValueError(f"force_parameters: parameters of {label} must be a mapping, got {shown(numbers)}")
            for key, value in numbers.items():
                own = mechanism.forces[name].parameters
                if key not in own:
                    raise ValueError(f"force_parameters: {label} has no {key!r}, only {', '.join(own)}")
                number = own[key]
                if len(places) > 1:
                    raise ValueError(
                        f"force_parameters: {label} has several parts, whose numbers are the same for all members"
                    )
                column = finite(value, (count,), f"{key} of {label}")
                if (column < 0).any() and number not in SIGNED:
                    raise ValueError(f"{key} of {label} must not be negative")
                base = parts[places[0]][1].law
                if number in STAGED and column.any() and not any(base[other] for other in STAGED):
                    raise ValueError(
                        f"force_parameters: {label} has no {key}, so it cannot differ between members: "
                        f"give the force a small {key} before you create the simulator"
                    )
                table[:, places[0], NUMBERS.index(number)] = column

    def _fill_limits(self, mechanism: Mechanism, count: int, table: Array, given: Ranges) -> None:
        stops = zip(law_numbers(mechanism), stops_of(mechanism), strict=True)
        places = {(stop.item.name, stop.coordinate): law for law, stop in stops if stop.coordinate}
        for joint_name, value in given.items():
            if joint_name not in mechanism.joints:
                raise no_such("joint", joint_name, mechanism, "limits: ")
            joint = mechanism.joints[joint_name]
            if not isinstance(value, Mapping):
                raise ValueError(
                    f"limits: numbers of {joint.label} must be a mapping such as {{'upper': [0.5, 1.0]}}, "
                    f"got {shown(value)}"
                )
            nested = any(isinstance(numbers, Mapping) for numbers in value.values())
            of_coordinates = value if nested else {joint.names[0] if len(joint.names) == 1 else "angle": value}
            for name, numbers in of_coordinates.items():
                if (joint_name, name) not in places:
                    raise ValueError(
                        f"limits: {joint.label} has no limits of {name!r}, so its members cannot: "
                        f"give the mechanism's wide ones before the simulator is built"
                    )
                columns = dict(cast("Mapping[str, ArrayLike]", numbers))
                _fill_range(joint.limits[name], columns, table[:, places[joint_name, name]], f"{joint.label}")

    @classmethod
    def of(cls, mechanism: Mechanism, count: int, arrays: Mapping[str, Array | None]) -> MemberNumbers:
        """Numbers that have been checked before: those of `saved`."""
        geometry, given = None, [arrays[name] for name in _GEOMETRY]
        known = [array for array in given if array is not None]
        if known:
            if len(known) < len(given):
                raise ValueError(f"the geometry of members is made of {', '.join(_GEOMETRY)}, and some are missing")
            geometry = MemberGeometry(
                mechanism, known[0], unit_quaternion(known[1], known[1].shape, "frames"), known[2]
            )
        found = cls(mechanism, count, None, None, None, None, None, geometry)
        found.mass, found.inertia, found.law = arrays["mass"], arrays["inertia"], arrays["law"]
        found._own_gravity = own = arrays["gravity"]
        if own is not None:
            found.gravity = _on_bodies(mechanism, own)
        return found

    @property
    def are_shared(self) -> bool:
        """Whether all members have the numbers of the mechanism."""
        return self.mass is None and self.gravity is None and self.law is None and self.geometry is None

    def saved(self) -> dict[str, Array | None]:
        """All of them by name (member, ...): mass, inertia, gravity, law, anchors, frames, parameter."""
        own = {"mass": self.mass, "inertia": self.inertia, "gravity": self._own_gravity, "law": self.law}
        return own | {name: getattr(self.geometry, name, None) for name in _GEOMETRY}

    def arrays(self, compiled: Compiled) -> _core.MemberArrays:
        """As the core takes them."""
        geometry = None if self.geometry is None else self.geometry.arrays(compiled)
        return _core.MemberArrays(
            mass=self.mass, inertia=self.inertia, gravity=self.gravity, law=self.law, geometry=geometry
        )

    def mechanism_of(self, mechanism: Mechanism, member: int, node: tuple[Array, ...] | None = None) -> Mechanism:
        """A copy of the mechanism with a member's own numbers, or the mechanism itself if it has none.

        With a geometry of its own it is described as the bodies stand and move at a node (n, ...).
        """
        if self.are_shared:
            return mechanism
        own = mechanism.copy()
        if self.geometry is not None:
            self.geometry.give(own, member)
            for body, *numbers in zip(own.bodies.values(), *node, strict=True) if node is not None else ():
                body.position, body.orientation, body.velocity, body.angular_velocity = numbers
        for k, body in enumerate(own.bodies.values()):
            if self.mass is not None and self.inertia is not None:
                body.inertia = Inertia(float(self.mass[member, k]), self.inertia[member, k], physical=False)
        if self._own_gravity is not None:
            own.gravity = self._own_gravity[member]
        if self.law is not None:
            laws = [dict(zip(NUMBERS, map(float, numbers), strict=True)) for numbers in self.law[member]]
            parts = [part for force in own.forces.values() for part in force.parts]
            for part, law in zip(parts, laws, strict=False):
                part.law = law
            # laws of joints' limits stand behind those of forces
            for (joint, name, limits), law in zip(joint_stops(own), laws[len(parts) :], strict=False):
                joint.limits = {**joint.limits, name: limits.with_law(law)}
        return own.snapshot("trajectory")


def described_numbers(mechanism: Mechanism) -> dict[str, Array]:
    """What MemberNumbers.saved has for every member of a mechanism that has no numbers of its own."""
    bodies = list(mechanism.bodies.values())
    parts = law_parts(mechanism)
    return {
        "mass": np.array([body.inertia.mass for body in bodies]),
        "inertia": np.array([body.inertia.tensor for body in bodies]),
        "gravity": np.array(mechanism.gravity, dtype=float),
        "law": np.reshape([[part.law[key] for key in NUMBERS] for part in parts], (len(parts), len(NUMBERS))),
        **described_geometry(mechanism),
    }


def _plain(mass: Array, tensor: Array) -> NDArray[np.bool_]:
    """Which masses (member,) and inertias (member, 3, 3) are beyond doubt; Inertia says what is wrong with others."""
    symmetric = (tensor == np.swapaxes(tensor, -1, -2)).all(axis=(-1, -2))
    least, middle, most = np.linalg.eigvalsh(tensor).T
    found: NDArray[np.bool_] = symmetric & (mass > 0) & (least > 0) & (least + middle >= most)
    return found


def _fill_range(described: Limits, numbers: dict[str, ArrayLike], table: Array, label: str) -> None:
    """Members' own limits of a coordinate into the numbers (member, number) of its law."""
    known = HARD if described.hard else SOFT
    for key, value in numbers.items():
        if key not in known:
            kind = "hard" if described.hard else "soft"
            raise ValueError(f"limits: members' {kind} limits of {label} have no {key!r}, only {', '.join(known)}")
        column = np.asarray(value, dtype=float)
        if column.shape != (len(table),):
            raise ValueError(f"limits: {key} of {label} must have shape ({len(table)},), got {column.shape}")
        table[:, NUMBERS.index(known[key])] = column
    for k, row in enumerate(table):
        try:
            described.with_law(dict(zip(NUMBERS, map(float, row), strict=True)))
        except ValueError as error:
            raise ValueError(f"{label} of member {k}: {error}") from None


def _on_bodies(mechanism: Mechanism, gravity: Array) -> Array:
    """Gravity (member, 3) as it acts on every body (member, body, 3)."""
    has = np.array([body.has_gravity for body in mechanism.bodies.values()])
    return np.where(has[:, None], gravity[:, None], 0.0)


def part_of(given: Mapping[str, Any] | None, members: slice) -> dict[str, Any] | None:
    """Numbers by name (member, ...), or by name and key, of some members."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ValueError(f"numbers of members must be a mapping from names, got {given!r}")
    return {
        name: part_of(value, members) if isinstance(value, Mapping) else _rows(np.asarray(value), members)
        for name, value in given.items()
    }


def _rows(array: NDArray[Any], members: slice) -> NDArray[Any]:
    # a single number is told where it is checked
    return array[members] if array.ndim else array


def member_loads(
    mechanism: Mechanism,
    force: Forces | Sequence[Forces | None] | None,
    count: int,
    steps: int,
    signals: Signals,
) -> LoadTable:
    """Loads of all members; where they differ, with values of each."""
    if not isinstance(force, list | tuple) or not all(isinstance(f, Mapping | np.ndarray | None) for f in force):
        return load_table(mechanism, cast("Forces | None", force), steps, signals)
    if len(force) != count:
        raise ValueError(f"force: {len(force)} given for {count} members")
    tables = [load_table(mechanism, cast("Forces | None", f), steps, signals) for f in force]
    first = tables[0]
    for k, table in enumerate(tables):
        same = all(
            np.array_equal(getattr(table, what), getattr(first, what)) for what in ("body", "point", "in_body_frame")
        )
        if not same or (table.signal >= 0).any():
            raise ValueError(
                f"loads of member {k}: members' forces must act on the same bodies, at the same points and in the same "
                "frames, and must not be functions of time"
            )
    rows = max(table.values.shape[1] for table in tables)
    every = [np.broadcast_to(t.values, (1, rows, *t.values.shape[2:])) for t in tables]
    return replace(first, values=np.concatenate(every))
