"""Which pairs of shapes collide: all with `collides`, except those that joints, exclusions, groups or masks rule out.

`ContactRules` store the arguments of Mechanism.add_contacts. The pairs are computed from these rules, the shapes and
the joints each time they are needed, so shapes, bodies and joints can still be added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._util.lookup import did_you_mean, name_of
from .._util.rotation import finite_number
from .custom import GivenRows
from .hulls import convex_hull, directions
from .shapes import Shape

if TYPE_CHECKING:
    from .joint import BodyLike, BodyOrName
    from .mechanism import Mechanism

_GROUND = ("plane", "heightfield")
# points of an ellipsoid whose hull collides in its place
_ELLIPSOID = 64


@dataclass(frozen=True)
class ContactRules:
    """The arguments of Mechanism.add_contacts.

    `friction` is that of all pairs. If it is None, a pair has the larger or smaller friction of its two shapes, as
    `combine` selects. `exclude` contains pairs of bodies, `pairs` pairs of shapes by name with their friction, or None
    for that of the shapes.
    """

    friction: float | None = None
    combine: str = "larger"
    exclude: tuple[tuple[str, str], ...] = ()
    pairs: tuple[tuple[str, str, float | None], ...] = ()

    def without(self, body: str) -> ContactRules:
        """Return the rules without those that concern a removed body."""
        return replace(self, exclude=tuple(pair for pair in self.exclude if body not in pair))

    def renamed(self, bodies: Mapping[str, str], prefix: str) -> ContactRules:
        """Return the rules with these new names of bodies, and with a prefix before the names of shapes."""
        exclude = tuple((bodies.get(a, a), bodies.get(b, b)) for a, b in self.exclude)
        return replace(self, exclude=exclude, pairs=tuple((prefix + a, prefix + b, mu) for a, b, mu in self.pairs))

    def with_those(self, other: ContactRules) -> ContactRules:
        """Return both sets of rules as one."""
        if (self.friction, self.combine) != (other.friction, other.combine):
            raise ValueError(
                f"the two mechanisms have contacts with friction={self.friction}, combine={self.combine!r} and "
                f"friction={other.friction}, combine={other.combine!r}; call add_contacts "
                "on both with the same arguments"
            )
        exclude = tuple(dict.fromkeys((*self.exclude, *other.exclude)))
        return replace(self, exclude=exclude, pairs=tuple(dict.fromkeys((*self.pairs, *other.pairs))))


@dataclass(frozen=True, eq=False)
class Collider:
    """A shape that collides: its unique name, and the body or the world to which it belongs."""

    name: str
    owner: BodyLike
    shape: Shape


@dataclass(frozen=True)
class ShapePair:
    """Two colliders by their indices, with the friction and restitution between them."""

    a: int
    b: int
    friction: float
    restitution: float


def rules_of(
    mechanism: Mechanism,
    friction: float | None,
    exclude: Iterable[tuple[BodyOrName, BodyOrName]],
    combine: str,
    pairs: Mapping[tuple[str, str], float | None] | None,
) -> ContactRules:
    """See Mechanism.add_contacts."""
    if friction is not None and (friction := finite_number(friction, "add_contacts: friction")) < 0:
        raise ValueError(f"add_contacts: friction must not be negative, got {friction}")
    if combine not in ("larger", "smaller"):
        raise ValueError(f"add_contacts: combine must be 'larger' or 'smaller', got {combine!r}")
    if isinstance(exclude, str):
        raise ValueError(f"add_contacts: exclude takes pairs of bodies, such as [('shank', 'trunk')], got {exclude!r}")
    bodies = []
    for pair in exclude:
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(names := [*pair]) != 2:
            raise ValueError(f"add_contacts: exclude takes pairs of bodies, such as ('shank', 'trunk'), got {pair!r}")
        one, other = (mechanism.find(name_of(name), "add_contacts: exclude").name for name in names)
        bodies.append((one, other))
    known = {collider.name for collider in colliders(mechanism)}
    told = []
    for (a, b), value in (pairs or {}).items():
        for name in (a, b):
            if name not in known:
                raise ValueError(
                    f"add_contacts: pairs: no shape that collides is called {name!r}{did_you_mean(name, known)}"
                )
        if value is not None and (value := finite_number(value, f"add_contacts: friction of {a!r} and {b!r}")) < 0:
            raise ValueError(f"add_contacts: friction of {a!r} and {b!r} must not be negative, got {value}")
        told.append((a, b, value))
    return ContactRules(friction, combine, tuple(bodies), tuple(told))


def add_hulls(mechanism: Mechanism, read: Callable[[str], NDArray[np.float64]]) -> None:
    """Give every mesh and ellipsoid that collides the points of its hull; `read` returns the points of a file."""
    known: dict[tuple[str, tuple[float, ...]], NDArray[np.float64]] = {}
    for owner in (mechanism.world, *mechanism.bodies.values()):
        shapes = []
        for shape in owner._added_shapes:
            if shape.collides and shape.points is None and shape.kind in ("mesh", "ellipsoid"):
                key = (shape.mesh, shape.size)
                if key not in known:
                    label = f"{owner.label}: its {shape.kind} that collides"
                    source = read(shape.mesh) if shape.kind == "mesh" else directions(_ELLIPSOID)
                    known[key] = convex_hull(source * shape.size, label)[0]
                    known[key].flags.writeable = False
                shape = replace(shape, points=known[key])
            shapes.append(shape)
        owner._added_shapes = tuple(shapes)


def colliders(mechanism: Mechanism) -> list[Collider]:
    """Return all shapes that collide, those of the world first; a shape without a name is named after its body."""
    found: list[Collider] = []
    taken: set[str] = set()
    owners: tuple[BodyLike, ...] = (mechanism.world, *mechanism.bodies.values())
    for owner in owners:
        for shape in owner.shapes:
            if not shape.collides:
                continue
            wanted = name = shape.name or f"{owner.name} {shape.kind}"
            k = 1
            while name in taken:
                k += 1
                name = f"{wanted}-{k}"
            taken.add(name)
            found.append(Collider(name, owner, shape))
    return found


def shape_pairs(mechanism: Mechanism, found: list[Collider], rules: ContactRules) -> list[ShapePair]:
    """Return the pairs of colliders that may touch, sorted by their indices."""
    if not found:
        return []
    places = {name: k for k, name in enumerate((mechanism.world.name, *mechanism.bodies))}
    body = np.array([places[one.owner.name] for one in found])
    group, mask = (np.array([getattr(one.shape, bits) for one in found], dtype=np.uint32) for bits in ("group", "mask"))
    ground = np.array([one.shape.kind in _GROUND for one in found])
    apart = ~(ground[:, None] & ground)
    apart &= ~_kept_apart(mechanism, places, rules)[np.ix_(body, body)]
    meets = ((group[:, None] & mask) | (mask[:, None] & group)) != 0
    told = {}
    by_name = {one.name: k for k, one in enumerate(found)}
    for first, second, friction in rules.pairs:
        if first in by_name and second in by_name:
            a, b = sorted((by_name[first], by_name[second]))
            told[a, b] = friction
            # a named pair collides even if groups, joints or exclusions rule it out
            if body[a] != body[b] and not (ground[a] and ground[b]):
                meets[a, b] = apart[a, b] = True
    pairs = []
    for a, b in np.argwhere(np.triu(apart & meets, 1)).tolist():
        one, other = found[a].shape, found[b].shape
        both = (one.friction, other.friction)
        friction = told.get((a, b))
        if friction is None:
            friction = rules.friction
        if friction is None:
            friction = max(both) if rules.combine == "larger" else min(both)
        pairs.append(ShapePair(a, b, friction, max(one.restitution, other.restitution)))
    return pairs


def _kept_apart(mechanism: Mechanism, places: Mapping[str, int], rules: ContactRules) -> NDArray[np.bool_]:
    """Which pairs of bodies (n, n), the world first, never collide: rigid parts, joined bodies and excluded pairs."""
    part = list(range(len(places)))

    def root(k: int) -> int:
        while part[k] != k:
            k = part[k]
        return k

    for joint in mechanism.joints.values():
        if joint.code == "fixed":
            part[root(places[joint.a.name])] = root(places[joint.b.name])
    roots = np.array([root(k) for k in range(len(places))])
    apart: NDArray[np.bool_] = roots[:, None] == roots
    ties = [
        (joint.a.name, joint.b.name)
        for joint in mechanism.joints.values()
        if joint.row_count
        and not isinstance(joint, GivenRows)
        and _holds(joint.code, mechanism.world.name in (joint.a.name, joint.b.name))
    ]
    for a, b in ties:
        rows, columns = roots == roots[places[a]], roots == roots[places[b]]
        apart[np.ix_(rows, columns)] = apart[np.ix_(columns, rows)] = True
    for a, b in rules.exclude:
        if a in places and b in places:
            apart[places[a], places[b]] = apart[places[b], places[a]] = True
    return apart


def _holds(code: str, to_world: bool) -> bool:
    """Whether a joint excludes contact between its bodies: always, except a joint to the world that fixes no point.

    A body that slides along the world can slide into it.
    """
    return not to_world or code in ("fixed", "revolute", "ball", "universal", "constant_velocity")
