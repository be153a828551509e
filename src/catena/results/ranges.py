"""Ranges of joint coordinates: what their limits allow, alone and together with couplings, as a report lists them.

A coupling whose other coordinates have hard limits keeps its coordinate in an interval too: the smallest and the
largest sum that these limits allow. Intervals follow from each other, along couplings, until none gets smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isfinite
from typing import TYPE_CHECKING, NamedTuple

from ..describe.limits import Limits, joint_stops

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism
    from ..kinematics.state import State

# couplings one after the other through which limits are followed
_MOST_ROUNDS = 20

# rad and m that runs take for standing at a limit
_AT = 1e-9

# rad and m, by which a bound must be out of reach to be told
_SOME = 1e-9


class CoordinateRange(NamedTuple):
    """A joint coordinate with limits, its value at a pose, and the interval that couplings leave of its range.

    `lowest` and `highest` (rad or m) are its limits, or tighter where limits of coordinates that are coupled to it act
    first; nothing is left if `lowest` is above `highest`.
    """

    joint: str
    coordinate: str
    label: str
    unit: str
    limits: Limits
    value: float
    lowest: float
    highest: float

    @property
    def beyond(self) -> float:
        """Amount (rad or m) by which the coordinate is out of its range at the pose; 0 within it, to rounding."""
        found = self.limits.beyond(self.value)
        return found if found > _AT else 0.0

    @property
    def contradicts(self) -> bool:
        """Whether limits of coupled coordinates leave it no value."""
        return self.lowest > self.highest + _SOME

    @property
    def unreachable(self) -> tuple[str, ...]:
        """Bounds, "lower" and "upper", that it cannot reach because a coupled coordinate is stopped before."""
        lower = isfinite(self.limits.lower) and self.lowest > self.limits.lower + _SOME
        upper = isfinite(self.limits.upper) and self.highest < self.limits.upper - _SOME
        return ("lower",) * lower + ("upper",) * upper

    def __str__(self) -> str:
        limits, soft = self.limits, "" if self.limits.hard else ", soft"
        if isfinite(limits.lower) and isfinite(limits.upper):
            return f"{self.label} {limits.lower:.4g} to {limits.upper:.4g} {self.unit}{soft}"
        bound = f"at least {limits.lower:.4g}" if isfinite(limits.lower) else f"at most {limits.upper:.4g}"
        return f"{self.label} {bound} {self.unit}{soft}"


def ranges_of(mechanism: Mechanism, state: State) -> tuple[CoordinateRange, ...]:
    """All coordinates with limits, in the order of the joints."""
    left = _left_by_couplings(mechanism)
    found = []
    for joint, name, limits in joint_stops(mechanism):
        index = joint.names.index(name)
        lowest, highest = left.get((joint.name, index), (limits.lower, limits.upper))
        found.append(
            CoordinateRange(
                joint.name,
                name,
                joint.name if len(joint.names) == 1 else f"{joint.name}.{name}",
                "rad" if index in joint.angles else "m",
                limits,
                float(state.joint(joint.name).coordinates[index]),
                max(lowest, limits.lower),
                min(highest, limits.upper),
            )
        )
    return tuple(found)


def range_lines(ranges: tuple[CoordinateRange, ...], most: int = 12) -> Iterator[str]:
    """What a report says of them."""

    def listed(items: list[str]) -> str:
        return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")

    if ranges:
        yield f"joint limits: {len(ranges)} ({listed([str(item) for item in ranges])})"
    beyond = [f"{item.label} at {item.value:.4g} by {item.beyond:.3g} {item.unit}" for item in ranges if item.beyond]
    if beyond:
        yield f"beyond their limits: {listed(beyond)}; assemble() moves them to the nearest limit"
    against = [item.label for item in ranges if item.contradicts]
    if against:
        yield f"limits that contradict each other through couplings: {listed(against)}; no pose satisfies all of them"
    out = [
        f"{item.label} {side} {getattr(item.limits, side):.4g} (stops at "
        f"{item.lowest if side == 'lower' else item.highest:.4g} {item.unit})"
        for item in ranges
        for side in item.unreachable
        if not item.contradicts
    ]
    if out:
        yield f"limits that cannot be reached, because a coupled joint stops first: {listed(out)}"


def _left_by_couplings(mechanism: Mechanism) -> dict[tuple[str, int], tuple[float, float]]:
    """Intervals by joint and index of a coordinate, of all that have hard limits or are coupled to such."""
    left: dict[tuple[str, int], tuple[float, float]] = {
        (joint.name, joint.names.index(name)): (limits.lower, limits.upper)
        for joint, name, limits in joint_stops(mechanism)
        if limits.hard
    }
    # what time drives is where it is, whatever limits say
    couplings = [coupling for coupling in mechanism.couplings.values() if coupling.function is None]
    if not left:
        return left
    for _ in range(_MOST_ROUNDS):
        changed = False
        for coupling in couplings:
            terms = [((term.measure.joint, term.measure.index), term.coefficient) for term in coupling.terms]
            for key, factor in terms:
                low = high = coupling.offset
                for other, coefficient in terms:
                    if other != key:
                        ends = [coefficient * bound for bound in left.get(other, (-inf, inf))]
                        low, high = low - max(ends), high - min(ends)
                low, high = sorted((low / factor, high / factor))
                before = left.get(key, (-inf, inf))
                after = max(before[0], low), min(before[1], high)
                if after[0] > before[0] + _SOME or after[1] < before[1] - _SOME:
                    left[key] = after
                    changed = True
                    # one that has no value says so once
                    if after[0] > after[1] + _SOME:
                        return left
        if not changed:
            break
    return left
