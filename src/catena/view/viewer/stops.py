"""Marks of joint limits: arcs and rails on body a of a joint, with a post at each end.

While a stop acts its post and its half of the arc or rail light up. The arc of an angle begins where the direction from
the joint to the center of mass of body b is at the lower limit and ends where it is at the upper one; a needle on body
b points along that direction. A rail reaches as far as the block that stands for a sliding joint. Ranges of a full turn
or more, and bounds far outside of the mechanism, have no marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import atan2, isfinite, pi
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._util.rotation import Array, conjugate, rotate
from ...describe.limits import Limits, joint_stops
from ...describe.measures import Measure, coordinate_measure
from . import solids
from .solids import Mesh

if TYPE_CHECKING:
    from ...describe.mechanism import Mechanism
    from ...kinematics.state import State
    from ...results.impacts import Impact
    from ...results.trajectory import Trajectory
    from ...simulate.live import Live

Lit: TypeAlias = "NDArray[np.bool_]"

PLAIN, POST, LIT = "#b9c0c7", "#6b747e", "#f03e1e"

# s for which a post stays lit after an impact, and rad or m from its limit that count as being there
_FLASH, _THERE = 0.12, 1e-9

# of what moves, in parts of the typical distance of joints: radius of arcs, their width, half a block that slides,
# and how far away a bound may be
_RADIUS, _WIDTH, _BLOCK, _FAR = 0.36, 0.04, 0.24, 40.0

# rad of an arc, and parts of the reach of a rail, that has one end only
_ONE_SIDED = 0.6


@dataclass(frozen=True, eq=False)
class Mark:
    """One end of a range: of a joint's coordinate by its index, with the limit."""

    joint: str
    coordinate: str
    index: int
    sign: int
    limits: Limits

    def acts(self, values: Array) -> Lit:
        """Whether the coordinate (...,) is at this end, or beyond it."""
        bound = self.limits.upper if self.sign > 0 else self.limits.lower
        found: Lit = self.sign * (values - bound) >= -_THERE
        return found


@dataclass(frozen=True, eq=False)
class Piece:
    """Triangles in the frame of a body, and the number of the mark that they are, or -1."""

    joint: str
    body: str
    mesh: Mesh
    color: str
    mark: int = -1


class StopMarks:
    """The marks of a mechanism whose joints are typically so far (m) from their bodies, and what they look like."""

    def __init__(self, mechanism: Mechanism, reach: float) -> None:
        self.marks: list[Mark] = []
        self.pieces: list[Piece] = []
        for joint, name, limits in joint_stops(mechanism):
            if joint.ground is not None:
                continue
            measure = coordinate_measure(joint, name, joint.label)
            ends = _ends(measure, limits, _FAR * reach)
            if not ends:
                continue
            draw = _arc if measure.is_angle else _rail
            self.pieces += draw(mechanism, joint.name, measure, limits, ends, reach, len(self.marks))
            self.marks += [Mark(joint.name, name, joint.names.index(name), sign, limits) for sign in ends]

    def now(self, state: State | Live, impacts: Sequence[Impact] = ()) -> Lit:
        """Which light up in a state (mark,), after some impacts."""
        places, values = state.mechanism.coordinate_places(), state.coordinates
        at = [bool(mark.acts(values[places[mark.joint].start + mark.index])) for mark in self.marks]
        found: Lit = self.struck(impacts, np.array([state.time]))[0] | np.array(at, dtype=bool)
        return found

    def struck(self, impacts: Sequence[Impact], moments: Array) -> Lit:
        """Which light up because of an impact just before each of some moments, (moment, mark)."""
        found = np.zeros((len(moments), len(self.marks)), dtype=bool)
        numbers = {(mark.joint, mark.coordinate, mark.sign): k for k, mark in enumerate(self.marks)}
        for impact in impacts:
            number = numbers.get((impact.name, impact.coordinate, 1 if impact.impulse < 0 else -1))
            if number is not None:
                found[:, number] |= (moments >= impact.time) & (moments < impact.time + _FLASH)
        return found

    def lit(self, run: Trajectory, moments: Array) -> Lit:
        """Which light up at moments of a run, (moment, mark)."""
        impacts = () if run.made.impacts is None else run.impacts
        found = self.struck(impacts, moments)
        node = np.clip(np.searchsorted(run.time, moments, side="right") - 1, 0, None)
        for k, mark in enumerate(self.marks):
            found[:, k] |= mark.acts(run.joint(mark.joint).coordinates[:, mark.index])[node]
        return found


def _ends(measure: Measure, limits: Limits, far: float) -> tuple[int, ...]:
    """Of the two ends -1 and 1 those that have marks."""
    if measure.is_angle:
        both = isfinite(limits.lower) and isfinite(limits.upper)
        shown = limits.upper - limits.lower < 2 * pi - 0.02 if both else True
        return tuple(s for s, bound in ((-1, limits.lower), (1, limits.upper)) if shown and isfinite(bound))
    return tuple(s for s, bound in ((-1, limits.lower), (1, limits.upper)) if abs(bound) < far)


def _arc(
    mechanism: Mechanism,
    joint: str,
    measure: Measure,
    limits: Limits,
    ends: tuple[int, ...],
    reach: float,
    first: int,
) -> Iterator[Piece]:
    radius, width = _RADIUS * reach, _WIDTH * reach
    toward = rotate(conjugate(measure.frames[1]), -measure.anchors[1])
    if measure.b == mechanism.world.name or np.hypot(*toward[:2]) < 0.05 * np.linalg.norm(measure.anchors[1]):
        toward = np.array((1.0, 0.0, 0.0))
    zero = atan2(toward[1], toward[0])
    lower = limits.lower if -1 in ends else limits.upper - _ONE_SIDED
    upper = limits.upper if 1 in ends else limits.lower + _ONE_SIDED
    place = measure.anchors[0], measure.frames[0]
    for k, (start, end) in enumerate(_halves(lower, upper, ends)):
        half = band(radius, width, zero + start, zero + end)
        yield Piece(joint, measure.a, half.placed(*place), PLAIN, first + k)
    for k, sign in enumerate(ends):
        angle = zero + (upper if sign > 0 else lower)
        post = solids.box((3.0 * width, 1.1 * width, 5.0 * width))
        turn = np.array((np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)))
        # it stands outside of the range
        aside = radius * np.array((np.cos(angle), np.sin(angle), 0.0))
        aside += sign * 0.55 * width * np.array((-np.sin(angle), np.cos(angle), 0.0))
        yield Piece(joint, measure.a, post.placed(aside, turn).placed(*place), POST, first + k)
    needle = solids.box((radius + width, 0.5 * width, 0.5 * width)).placed((0.5 * (radius + width), 0.0, 0.0))
    turn = np.array((np.cos(0.5 * zero), 0.0, 0.0, np.sin(0.5 * zero)))
    yield Piece(joint, measure.b, needle.placed((0, 0, 0), turn).placed(measure.anchors[1], measure.frames[1]), POST)


def _rail(
    mechanism: Mechanism,
    joint: str,
    measure: Measure,
    limits: Limits,
    ends: tuple[int, ...],
    reach: float,
    first: int,
) -> Iterator[Piece]:
    width = _WIDTH * reach
    block = _BLOCK * reach + 0.55 * width
    lower = limits.lower if -1 in ends else limits.upper - reach
    upper = limits.upper if 1 in ends else limits.lower + reach
    low, high = lower - block, upper + block
    body, place = measure.a, (measure.anchors[0], measure.frames[0])
    if measure.b == mechanism.world.name:
        # the block is on body a, which goes the other way
        body, place = measure.b, (measure.anchors[1], measure.frames[1])
        low, high = -high, -low
    flipped = body == measure.b
    halves = _halves(low, high, ends)
    for k, sign in enumerate(ends):
        start, end = halves[-1 - k if flipped else k]
        half = solids.box((0.9 * width, 0.9 * width, end - start)).placed((0.0, 0.0, 0.5 * (start + end)))
        yield Piece(joint, body, half.placed(*place), PLAIN, first + k)
        plate = solids.box((4.5 * width, 4.5 * width, 1.1 * width))
        plate = plate.placed((0.0, 0.0, high if (sign > 0) != flipped else low))
        yield Piece(joint, body, plate.placed(*place), POST, first + k)


def _halves(low: float, high: float, ends: tuple[int, ...]) -> list[tuple[float, float]]:
    """The range of every end: with two of them a half of it each, so that one sees which acts."""
    middle = 0.5 * (low + high)
    return [(low, middle), (middle, high)] if len(ends) == 2 else [(low, high)]


def band(radius: float, width: float, start: float, end: float) -> Mesh:
    """A flat ring about z, or a part of one between two angles, as a bar of square cross section."""
    count = max(2, int(np.ceil((end - start) / 0.12)) + 1)
    angle = np.linspace(start, end, count)
    inner, outer, half = radius - 0.5 * width, radius + 0.5 * width, 0.2 * width
    ways = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    corners = [(inner, -half), (outer, -half), (outer, half), (inner, half)]
    # every face by itself, so that edges stay sharp
    vertices, triangles, first = [], [], 0
    for (r0, z0), (r1, z1) in zip(corners, corners[1:] + corners[:1], strict=True):
        for r, z in ((r0, z0), (r1, z1)):
            vertices.append(np.concatenate((r * ways, np.full((count, 1), z)), axis=1))
        low, high = first + np.arange(count - 1), first + count + np.arange(count - 1)
        triangles += [np.stack((low, low + 1, high + 1), axis=1), np.stack((low, high + 1, high), axis=1)]
        first += 2 * count
    for k, order in ((0, (0, 1, 2, 0, 2, 3)), (count - 1, (0, 2, 1, 0, 3, 2))):
        vertices.append(np.array([(*(r * ways[k]), z) for r, z in corners]))
        triangles.append(first + np.reshape(order, (2, 3)))
        first += 4
    return Mesh(np.concatenate(vertices), np.concatenate(triangles).astype(np.uint32))
