"""Many poses whose joints have given coordinates and rates, with loops closed (cpp/simulate/start_pose.hpp).

In a loop not all coordinates can be chosen. Those that are given are held in their order, as long as the others can
still close the loops; the rest follow. Which these are is found once, from the rates of the rows of all loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._util.rotation import Array
from .core import build_core
from .forward_kinematics import Bodies, put_along, walk_of
from .trust_region import Tree, placed_tree

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism
    from ..kinematics.member_geometry import MemberGeometry
    from ..kinematics.state import State

# singular values of the rows' rates below this part of the largest are none
_RANK = 1e-6

# how far (rad) joints are moved to poses at which rows are not redundant by chance
_ASIDE = (0.1, 0.3, 0.3)

# of each attempt to close a member
_ITERATIONS = 40

# what is left open (rad, parts of the mechanism's size) that counts as closed
_CLOSED = 1e-9


@dataclass(frozen=True)
class Poses:
    """Poses and velocities (pose, n, ...), and coordinates (pose, coordinate) near which turns are counted.

    gaps (pose, 3) is what is open in all (rad, parts of the mechanism's size), and the gap of the joint or coupling
    that is open most, m and rad.
    """

    bodies: Bodies
    near: Array
    gaps: Array
    open_joint: NDArray[np.int32]
    unclosed: NDArray[np.intp]


def is_tree(mechanism: Mechanism) -> bool:
    """Whether joints that have coordinates, and welds, hold the bodies, and nothing else does."""
    try:
        return walk_of(mechanism).closes
    except ValueError:
        return False


def start_poses(
    described: State,
    coordinates: Array,
    rates: Array,
    given: NDArray[np.bool_],
    threads: int = 1,
    geometry: MemberGeometry | None = None,
) -> Poses:
    """Close members (member, coordinate) from where a mechanism is described; `given` (coordinate,) says what is.

    If some are not given, those that are go to their values in strides, so that all stay on the described branch.
    """
    mechanism, count = described.mechanism, len(coordinates)
    names = list(mechanism.coordinate_places())
    places = mechanism.coordinate_places()
    wanted = [name for name in names if given[places[name]].all()]
    tree = placed_tree(mechanism, described.copy(), {}, first=wanted).unbounded()
    columns = _columns(mechanism, tree)
    held = _held(mechanism, described, tree, columns, given)
    compiled, is_guess = tree.compiled, bool(given.all())
    first = np.where(given, coordinates, described.coordinates)
    begin = first if is_guess else np.tile(described.coordinates, (count, 1))
    starts = compiled.starts_at(places, begin)
    x, q, v, w = (np.repeat(array, count, axis=0) for array in described._alone())
    bodies = _float(mechanism, tree, (x, q, v, w), first, rates, np.full(count, described.time), threads, geometry)
    gaps, open_joint = np.zeros((count, 3)), np.zeros(count, dtype=np.int32)
    enough = max(_CLOSED, mechanism.loop_tolerance)
    compiled.core.start_poses(
        threads=threads,
        iteration_limit=_ITERATIONS,
        size=tree.size,
        enough=enough,
        branches=tree.branches,
        chosen=tree.loops.astype(np.int32),
        held=held.astype(np.int32),
        is_guess=is_guess,
        described=described.coordinates,
        coordinates=np.ascontiguousarray(first),
        rates=np.ascontiguousarray(rates),
        rows=compiled.rows,
        signals=compiled.signals.read(described.time),
        term_start=starts["term_start"],
        counted=starts["counter_start"],
        position=bodies[0],
        orientation=bodies[1],
        velocity=bodies[2],
        angular_velocity=bodies[3],
        gaps=gaps,
        open_joint=open_joint,
        geometry=None if geometry is None else geometry.arrays(compiled),
    )
    near = begin.copy()
    for k, measure in enumerate(compiled.counters):
        near[:, places[measure.joint].start + measure.index] = starts["counter_start"][:, k]
    return Poses(bodies, near, gaps, open_joint, np.flatnonzero(~(gaps[:, 0] <= enough)))


def _columns(mechanism: Mechanism, tree: Tree) -> list[list[int]]:
    """Coordinates of the freedoms of every branch, -1 for those of what floats."""
    joints, places = list(mechanism.joints.values()), mechanism.coordinate_places()
    found = []
    for joint, _, _ in tree.branches.tolist():
        place = places.get(joints[joint].name) if joint >= 0 else None
        found.append(list(range(place.start, place.stop)) if place is not None else [-1] * (6 if joint < 0 else 0))
    return found


def _held(
    mechanism: Mechanism, described: State, tree: Tree, columns: list[list[int]], given: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which freedoms of the tree keep what is given: the others can close all loops."""
    flat = np.array([column for branch in columns for column in branch], dtype=np.intp)
    held = np.where(flat >= 0, given[flat], False)
    rates = max((_row_rates(tree, state) for state in _poses(tree, described)), key=_rank)
    full = _rank(rates)
    joints = list(mechanism.joints.values())
    # those of a ball or a floating body are chosen together
    groups: list[list[int]] = []
    for (joint, _, _), branch in zip(tree.branches.tolist(), columns, strict=True):
        first = sum(map(len, groups))
        whole = joint < 0 or joints[joint].code == "ball"
        freedoms = list(range(first, first + len(branch)))
        groups += [freedoms] if whole else [[f] for f in freedoms]
    # the last ones in the mechanism's order follow
    for group in sorted(groups, key=lambda group: -max((int(flat[f]) for f in group), default=-1)):
        rank = _rank(rates[:, ~held])
        if rank == full:
            break
        if group and held[group].all():
            held[group] = False
            if _rank(rates[:, ~held]) == rank:
                held[group] = True
    return held


def _poses(tree: Tree, described: State) -> list[State]:
    found = [described]
    for seed, amplitude in enumerate(_ASIDE, start=1):
        trial = described.copy()
        if tree.close(trial, amplitude, seed) <= _CLOSED:
            found.append(trial)
    return found


def _rank(rates: Array) -> int:
    values = np.linalg.svd(rates, compute_uv=False) if rates.size else np.zeros(0)
    return int((values > _RANK * values.max(initial=0.0)).sum())


def _row_rates(tree: Tree, state: State) -> Array:
    compiled = tree.compiled
    found = compiled.core.row_rates(
        size=tree.size,
        branches=tree.branches,
        chosen=tree.loops.astype(np.int32),
        position=state.position,
        orientation=state.orientation,
        term_start=compiled.start(compiled.terms, [state])[0],
        counted=compiled.start(compiled.counters, [state])[0],
        rows=compiled.rows,
        signals=compiled.signals.read(state.time),
    )
    joints = list(state.mechanism.joints.values())
    width = sum(6 if joint < 0 else joints[joint].dof for joint in tree.branches[:, 0].tolist())
    return np.reshape(found, (-1, width))


def _float(
    mechanism: Mechanism,
    tree: Tree,
    bodies: Bodies,
    coordinates: Array,
    rates: Array,
    time: Array,
    threads: int,
    geometry: MemberGeometry | None,
) -> Bodies:
    """Bodies that float where their free joints put them, and all that they carry with them."""
    told = [joint for joint in mechanism.joints.values() if joint.has_coordinates]
    rows = mechanism.rows()
    moves: list[tuple[int, int]] = []
    for k, joint in enumerate(told):
        if joint.row_count or not (joint.a.is_world or joint.b.is_world):
            continue
        root = rows[joint.b.name if joint.a.is_world else joint.a.name]
        carried = {root}
        for _, child, parent in tree.branches.tolist():
            if parent in carried:
                carried.add(child)
                moves.append((-1, child))
        moves.insert(len(moves) - len(carried) + 1, (k, root))
    if not moves:
        return bodies
    walk = np.array(moves, dtype=np.int32)
    return put_along(build_core(mechanism), walk, bodies, coordinates, rates, time, threads, geometry)
