"""Where bodies are and how they move when the joints of a tree have given coordinates and rates, for many at once.

Joints whose coordinates a mechanism does not tell (welds, rods, ...) hold bodies together: these go along with each
other, as they stand and move. From the world, or from the first body of a part that floats, which stay, every joint in
between is set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._util.lookup import in_a_loop
from .._util.rotation import Array
from .core import build_core

if TYPE_CHECKING:
    from ..compile.compile import Compiled
    from ..describe.mechanism import Mechanism
    from ..kinematics.member_geometry import MemberGeometry

Bodies = tuple[Array, Array, Array, Array]


@dataclass(frozen=True)
class Walk:
    """The order in which joints move bodies: (move, 2) as the core takes it; whether all joints are closed after it."""

    moves: NDArray[np.int32]
    closes: bool


def walk_of(mechanism: Mechanism) -> Walk:
    """Through the tree of the joints that have coordinates, found once; one that lies in a loop is an error."""
    known = mechanism.snapshot()._known
    if known.walk is None:
        known.walk = _find_walk(mechanism)
    return known.walk


def _find_walk(mechanism: Mechanism) -> Walk:
    group = {name: [name] for name in (mechanism.world.name, *mechanism.bodies)}
    told = [joint for joint in mechanism.joints.values() if joint.has_coordinates]
    closes = not mechanism.couplings
    for joint in mechanism.joints.values():
        if joint.has_coordinates:
            continue
        a, b = group[joint.a.name], group[joint.b.name]
        closes = closes and joint.code == "fixed" and a is not b
        if a is not b:
            a += b
            group.update(dict.fromkeys(b, a))
    joints_at: dict[int, list[int]] = {id(bodies): [] for bodies in group.values()}
    for k, joint in enumerate(told):
        for end in (joint.a, joint.b):
            joints_at[id(group[end.name])].append(k)
    rows = {name: row for row, name in enumerate(mechanism.bodies)}
    moves: list[tuple[int, int]] = []
    reached: set[int] = set()
    used: set[int] = set()
    for root in group.values():
        if id(root) in reached:
            continue
        reached.add(id(root))
        queue = [root]
        for bodies in queue:
            for k in joints_at[id(bodies)]:
                if k in used:
                    continue
                used.add(k)
                joint = told[k]
                moved = joint.b.name if group[joint.a.name] is bodies else joint.a.name
                if id(group[moved]) in reached:
                    raise in_a_loop(joint)
                reached.add(id(group[moved]))
                queue.append(group[moved])
                moves.append((k, rows[moved]))
                moves += [(-1, rows[name]) for name in group[moved] if name != moved]
    return Walk(np.array(moves, dtype=np.int32).reshape(-1, 2), closes)


def placed(
    mechanism: Mechanism,
    bodies: Bodies,
    coordinates: Array,
    rates: Array,
    time: Array,
    threads: int = 1,
    geometry: MemberGeometry | None = None,
) -> Bodies:
    """Positions, orientations, velocities and angular velocities (pose, n, ...) with other joint coordinates and rates.

    Coordinates and rates (pose, coordinate) in the order of mechanism.coordinates, time (pose,) for ground that moves.
    """
    moves = walk_of(mechanism).moves
    return put_along(build_core(mechanism), moves, bodies, coordinates, rates, time, threads, geometry)


def put_along(
    compiled: Compiled,
    moves: NDArray[np.int32],
    bodies: Bodies,
    coordinates: Array,
    rates: Array,
    time: Array,
    threads: int,
    geometry: MemberGeometry | None = None,
) -> Bodies:
    """The same along moves of one's own, which bodies are not on stay."""
    signals, signal_rates = compiled.signals.over(time)
    position, orientation, velocity, spin = (np.array(array, order="C") for array in bodies)
    compiled.core.place(
        threads=threads,
        moves=moves,
        coordinates=np.ascontiguousarray(coordinates),
        rates=np.ascontiguousarray(rates),
        signals=signals,
        signal_rates=signal_rates,
        position=position,
        orientation=orientation,
        velocity=velocity,
        angular_velocity=spin,
        geometry=None if geometry is None else geometry.arrays(compiled),
    )
    return position, orientation, velocity, spin
