"""Posing: joint coordinates and inputs as sliders, and what goes with a joint that is moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, isfinite, log10, pi
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..._util.lookup import did_you_mean
from ..._util.rotation import Array
from ...describe.limits import Limits

if TYPE_CHECKING:
    from ...describe.joint import Joint
    from ...describe.mechanism import Mechanism
    from ...kinematics.state import State


@dataclass(frozen=True)
class Slider:
    """A number that can be chosen: of a joint its coordinate `index`, or an input."""

    name: str
    lower: float
    upper: float
    joint: str = ""
    index: int = 0

    @property
    def step(self) -> float:
        """The smallest change: a thousandth of the way or a little less, in round numbers."""
        return float(10 ** floor(log10((self.upper - self.lower) / 1000)))

    def within(self, value: float) -> float:
        """The nearest value that it can show."""
        return min(max(round(value / self.step) * self.step, self.lower), self.upper)


def joint_sliders(mechanism: Mechanism, state: State, size: float) -> list[Slider]:
    """One for each coordinate: within its limits, half a turn to either side, or the size of the mechanism (m)."""
    sliders = []
    for joint in mechanism.joints.values():
        if not joint.has_coordinates:
            continue
        now = state.joint(joint.name).coordinates
        for k, name in enumerate(joint.coordinate_names):
            lower, upper = _range(joint, name, k, float(now[k]), size)
            sliders.append(Slider(f"{joint.name}.{name}", round(lower, 3), round(upper, 3), joint.name, k))
    return sliders


def _range(joint: Joint, name: str, index: int, now: float, size: float) -> tuple[float, float]:
    most = pi if joint.twists()[3:, index].any() else size
    limits = joint.limits.get(name, Limits())
    # turns are counted: where it stands beyond the first, the middle is there
    middle = 0.0 if abs(now) <= most else now
    lower = limits.lower if isfinite(limits.lower) else min(middle, limits.upper) - most
    upper = limits.upper if isfinite(limits.upper) else max(middle, limits.lower) + most
    # a joint that may not move at all has a slider all the same
    return (lower, upper) if upper - lower > 0.01 else (lower - 0.005, upper + 0.005)


def input_sliders(mechanism: Mechanism, values: Array, given: Mapping[str, tuple[float, float]]) -> list[Slider]:
    """One for each input: within what is given, or else what gravity on all bodies could ask for, or half a turn."""
    for name in given:
        if name not in mechanism.inputs:
            raise ValueError(f"there is no input called {name!r}{did_you_mean(name, mechanism.inputs)}")
    weight = float(np.linalg.norm(mechanism.gravity)) * sum(body.mass for body in mechanism.bodies.values())
    sliders = []
    for name, value in zip(mechanism.inputs, values.tolist(), strict=True):
        force = mechanism.forces[name]
        part = force.parts[0]
        most = pi if force.input != "effort" else min(part.law["effort_limit"], weight or 10.0)
        most = float(f"{max(most, 2 * abs(value)):.2g}")
        sliders.append(Slider(name, *given.get(name, (-most, most))))
    return sliders


class Poser:
    """Moves joints of a mechanism: what hangs on them goes along, and loops and couplings follow by assembly."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        tree = mechanism.spanning_tree()
        tied = {term.measure.joint for coupling in mechanism.couplings.values() for term in coupling.terms}
        above = {branch.child.name: branch for branch in tree.branches}

        def way(name: str) -> list[str]:
            found = []
            while name in above:
                found.append(above[name].joint.name)
                name = above[name].parent.name
            return found

        for joint in tree.loops:
            # what both ends have above them is not part of the loop
            tied |= {joint.name} | set(way(joint.a.name)) ^ set(way(joint.b.name))
        self._free = [name for name, joint in mechanism.joints.items() if name not in tied and joint.has_coordinates]

    def moved(self, state: State, joint: str, index: int, value: float) -> State:
        """The state at rest with a coordinate of a joint at a value; where that cannot be, an AssemblyError."""
        after = state.copy()
        after.velocity = after.angular_velocity = np.zeros_like(after.velocity)
        coordinates = after.joint(joint).coordinates.copy()
        # a slider has round ends, and one of a joint that may not move has a way to go
        described = self._mechanism.joints[joint]
        limits = described.limits.get(described.coordinate_names[index], Limits())
        coordinates[index] = min(max(value, limits.lower), limits.upper) if limits.hard else value
        return self.posed(after, {joint: coordinates})

    def posed(self, state: State, goals: Mapping[str, ArrayLike]) -> State:
        """The state with joints at coordinates, by name; where that cannot be, an AssemblyError."""
        after = state.copy()
        for joint in goals:
            if joint in self._free:
                after.joint(joint).coordinates = goals[joint]
        driven = {joint: goals[joint] for joint in goals if joint not in self._free}
        return self._mechanism.assemble(after, fixed=self._free, coordinates=driven) if driven else after
