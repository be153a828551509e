"""Limits of a joint coordinate: hard or soft stops at both ends of its range, and the ratings of its drive.

All one-sided constraints of a mechanism are listed here, in the order of the core's stops: ropes and limits of sums,
which are forces, limits of joints, contacts, then contacts of shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan, pi
from typing import TYPE_CHECKING, NamedTuple

from .forces import LAW, Part
from .measures import coordinate_measure

if TYPE_CHECKING:
    from .contacts import Contact
    from .forces import Force
    from .joint import Joint
    from .mechanism import Mechanism
    from .shape_contacts import ShapeContact


# arguments that act, and their names among the numbers of a law: of a hard stop, and of a soft one
_RANGE = {"lower": "lower", "upper": "upper"}
HARD = _RANGE | {"restitution": "restitution"}
SOFT = _RANGE | {"stiffness": "stop_stiffness", "damping": "stop_damping"}


@dataclass(frozen=True)
class Limits:
    """Range of a joint coordinate (rad or m) with stops at its ends, and ratings of its drive.

    With infinite `stiffness`, a stop is hard: the coordinate never leaves its range, and after an impact it has the
    fraction `restitution` (0 to 1) of its speed before. With a finite `stiffness` (N m/rad or N/m) and `damping` (N m
    s/rad or N s/m), a stop is a spring and damper beyond the range, evaluated at the end of each step. `effort` (N m or
    N) and `speed` (rad/s or m/s), the largest effort and speed of the drive, are stored and written to files, but not
    enforced.
    """

    lower: float = -inf
    upper: float = inf
    effort: float = inf
    speed: float = inf
    restitution: float = 0.0
    stiffness: float = inf
    damping: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            try:
                number = float(value)
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"limits: {name} must be a number, got {value!r}") from None
            if isnan(number) or (name not in ("lower", "upper") and number < 0):
                kind = "a" if isnan(number) else "a non-negative"
                raise ValueError(f"limits: {name} must be {kind} number, got {value!r}")
            self.__dict__[name] = number
        if self.lower > self.upper:
            raise ValueError(f"limits: lower {self.lower:g} is above upper {self.upper:g}")
        if self.restitution > 1:
            raise ValueError(f"limits: restitution must be between 0 and 1, got {self.restitution:g}")
        if self.stiffness == 0:
            raise ValueError("limits: stiffness must be positive; for no stop, leave out lower and upper")
        if isfinite(self.stiffness) and self.restitution > 0:
            raise ValueError("limits: a soft stop has no restitution; give it less damping instead")
        if not isfinite(self.stiffness) and self.damping > 0:
            raise ValueError("limits: a hard stop has no damping; give a restitution, or a finite stiffness")
        if not isfinite(self.damping):
            raise ValueError(f"limits: damping must be finite, got {self.damping:g}")

    @property
    def stops(self) -> bool:
        """Whether the range is bounded at one end at least."""
        return isfinite(self.lower) or isfinite(self.upper)

    @property
    def hard(self) -> bool:
        """Whether the stops are hard, so that the coordinate cannot leave the range."""
        return self.stops and not isfinite(self.stiffness)

    def beyond(self, value: float) -> float:
        """Return by how much a value is outside the range (rad or m); 0 within the range."""
        return max(value - self.upper, self.lower - value, 0.0)

    def law(self) -> dict[str, float]:
        """Return the parameters of the stops for the core."""
        known = SOFT if isfinite(self.stiffness) else HARD
        return LAW | {name: getattr(self, key) for key, name in known.items()}

    def with_law(self, law: Mapping[str, float]) -> Limits:
        """The same with the numbers of such a law, checked."""
        known = SOFT if isfinite(self.stiffness) else HARD
        return replace(self, **{key: law[name] for key, name in known.items()})


def limits_of(label: str, **numbers: float) -> Limits:
    """Limits with the given numbers; `label` starts the error message if they cannot be."""
    try:
        return Limits(**numbers)
    except ValueError as error:
        raise ValueError(f"{label}: {str(error).removeprefix('limits: ')}") from None


def check_turn(limits: Limits, name: str, label: str) -> None:
    """Refuse limits that what a ball joint turns by cannot have."""
    if name == "twist":
        if not (-pi < limits.lower or limits.lower == -inf) or not (limits.upper < pi or limits.upper == inf):
            raise ValueError(f"{label}: limits of the twist must lie between -pi and pi, got {limits}")
    elif limits.lower > 0 or not 1e-3 <= limits.upper < pi:
        raise ValueError(f"{label}: the {name} has an upper limit between 0.001 and pi, and no lower one, got {limits}")


class Stop(NamedTuple):
    """Something one-sided: a coordinate of a joint, a rope or a sum of coordinates, the gap of a contact."""

    item: Joint | Force | Contact | ShapeContact
    coordinate: str
    limits: Limits

    @property
    def label(self) -> str:
        """Of the joint, force or contact, with the coordinate of a joint, for use in messages."""
        return f"{self.item.label} ({self.coordinate})" if self.coordinate else self.item.label


def joint_stops(mechanism: Mechanism) -> list[tuple[Joint, str, Limits]]:
    """Return joints and coordinates that have stops, in the order of the joints."""
    joints = mechanism.joints.values()
    return [(joint, name, limits) for joint in joints for name, limits in joint.limits.items() if limits.stops]


def hard_joint_stops(mechanism: Mechanism) -> list[tuple[Joint, str, Limits]]:
    """Return joints and coordinates with hard stops."""
    return [found for found in joint_stops(mechanism) if found[2].hard and found[1] in found[0].names]


def stops_of(mechanism: Mechanism) -> list[Stop]:
    """Return all one-sided constraints: ropes and sums, limits of joint coordinates, contacts, then those of shapes."""
    contacts = mechanism.contacts.values()
    forces = [(force, part) for force in mechanism.forces.values() for part in force.parts if part.is_stop]
    return [
        *(Stop(force, "", Limits(**{key: part.law[key] for key in HARD})) for force, part in forces),
        *(Stop(*found) for found in joint_stops(mechanism)),
        *(Stop(contact, "", contact.limits) for contact in contacts),
        *(Stop(contact, "", contact.limits) for contact in mechanism.shape_contacts for _ in range(contact.slots)),
    ]


def law_numbers(mechanism: Mechanism) -> list[int]:
    """Return the number of the core's law of every one-sided constraint, in the order of `stops_of`."""
    parts = [part for force in mechanism.forces.values() for part in force.parts]
    others = len(joint_stops(mechanism)) + len(mechanism.contacts)
    others += sum(contact.slots for contact in mechanism.shape_contacts)
    return [*(k for k, part in enumerate(parts) if part.is_stop), *range(len(parts), len(parts) + others)]


def hard_stops(mechanism: Mechanism) -> list[Stop]:
    """Return all hard stops, in the order of the core."""
    return [found for found in stops_of(mechanism) if found.limits.hard]


def without_limits(mechanism: Mechanism) -> Mechanism:
    """Return the same mechanism without limits of coordinates and of sums of them."""
    sums = [name for name, force in mechanism.forces.items() if any(part.terms for part in force.parts)]
    if not sums and not any(joint.limits for joint in mechanism.joints.values()):
        return mechanism
    free = mechanism.copy()
    for name in sums:
        free.remove_force(name)
    for joint in free.joints.values():
        joint.limits = {}
    return free.snapshot()


def law_parts(mechanism: Mechanism) -> list[Part]:
    """Return all laws of a mechanism in the order of the core: those of its forces, then those of its stops."""
    parts = [part for force in mechanism.forces.values() for part in force.parts]
    for joint, name, limits in joint_stops(mechanism):
        parts.append(Part(coordinate_measure(joint, name, joint.label), limits.law(), {}))
    touching = [(contact, 1) for contact in mechanism.contacts.values()]
    touching += [(contact, contact.slots) for contact in mechanism.shape_contacts]
    return parts + [Part(one.measure, one.limits.law(), {}) for one, count in touching for _ in range(count)]
