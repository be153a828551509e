"""Loops that are wide open, closed by moving the joints of a tree (cpp/simulate/trust_region.hpp).

The tree is made of joints that are closed where the search begins, in the mechanism's order; those that close the loops
of a file come last. Where it does not end in a closed pose, it begins again beside the first one, further and further
off. Limits are kept as bounds, unless the loops close only beyond them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._util.rotation import Array, conjugate, multiply, rotation_vector
from ..compile.row_selection import select_all
from ..describe.joint import Joint, Pose, pose_between
from .massless import loose_at
from .redundancy import whole_size

if TYPE_CHECKING:
    from ..compile.compile import Compiled
    from ..describe.mechanism import Mechanism
    from ..kinematics.state import State

# how far (rad) the joints are moved before each further attempt, at random
_RESTARTS = (0.1, 0.3, 0.3, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0)
_ALONE = (0.3, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0, 3.0)

# what is left open (rad, parts of the mechanism's size) that counts as closed: the rest is for a projection to do
_CLOSED = 1e-9

# gaps (m, rad) that roundings leave in the joints of a file
_FITS = 1e-6

# two attempts that end with gaps this near to each other, in parts, have found the same
_SAME = 1e-3

_ITERATIONS = 200

# multiplications of one iteration that may be spent
_MOST_WORK = 1e8


@dataclass(frozen=True)
class Tree:
    """What the core is told: branches (n, 3) joint or -1, body, parent or -1; coordinates (limit, 2) with bounds.

    A bounded coordinate is a branch and one of its freedoms; bounds (limit, 3) are lower, upper and where it is.
    """

    compiled: Compiled
    size: float
    branches: NDArray[np.int32]
    bounded: NDArray[np.int32]
    bounds: Array
    loops: NDArray[np.bool_]  # (joint + coupling)
    limited: tuple[tuple[str, int], ...]  # joints and coordinates of the bounds

    def unbounded(self) -> Tree:
        """The same without limits."""
        return replace(self, bounded=self.bounded[:0], bounds=self.bounds[:0], limited=())

    def close(
        self, state: State, amplitude: float = 0.0, seed: int = 1, loops: NDArray[np.bool_] | None = None
    ) -> float:
        """Close a state, whose tree is closed, in place; what is left open (rad, parts of the size), inf if too large.

        Some of the loops alone if they are given.
        """
        compiled = self.compiled
        counted = compiled.start(compiled.counters, [state])[0]
        left = compiled.core.close(
            iteration_limit=_ITERATIONS,
            size=self.size,
            amplitude=amplitude,
            seed=seed,
            most_work=_MOST_WORK,
            branches=self.branches,
            bounded=self.bounded,
            bounds=self.bounds,
            chosen=(self.loops if loops is None else loops).astype(np.int32),
            position=state.position,
            orientation=state.orientation,
            term_start=compiled.start(compiled.terms, [state])[0],
            counted=counted,
            rows=compiled.rows,
            signals=compiled.signals.read(state.time),
        )
        state.turned |= compiled.by_joint(counted)
        return left if left >= 0 else np.inf


def close_wide(mechanism: Mechanism, state: State, frozen: Mapping[str, Array], *, within_limits: bool = False) -> bool:
    """Close what is wide open in place, as well as it can be; whether all of it is closed. `frozen` joints stay.

    Limits are exceeded where loops do not close without, unless it must stay `within_limits`.
    """
    tree = placed_tree(mechanism, state, frozen)
    best, left, held = state.copy(), np.inf, False
    for bounded in (tree, tree.unbounded()) if len(tree.bounds) and not within_limits else (tree,):
        ends: list[float] = []
        # poses within limits that are not near are found from few places
        for attempt, amplitude in enumerate((0.0, *_RESTARTS * (8 if within_limits else 1))):
            trial = state.copy()
            ends.append(bounded.close(trial, amplitude, seed=attempt + 1))
            # no run starts where massless bodies are loose, so such a pose is the last resort
            is_held = ends[-1] <= _CLOSED and not loose_at(trial)
            if (is_held, -ends[-1]) > (held, -left):
                best, left, held = trial, ends[-1], is_held
            if not np.isfinite(ends[-1]):
                return False
            # numbers that are rounded leave a gap, the same from everywhere
            met = _CLOSED < ends[-1] <= mechanism.loop_tolerance and any(
                abs(e - ends[-1]) <= _SAME * e for e in ends[:-1]
            )
            if held or met:
                break
        if held:
            break
    state.position, state.orientation = best.position, best.orientation
    state.turned = best.turned
    return bool(left <= max(_CLOSED, mechanism.loop_tolerance))


def open_alone(mechanism: Mechanism, state: State, names: list[str]) -> dict[str, tuple[float, float, int]]:
    """Loops that stay open whatever the others do: gap (m), misalignment (rad), and how many joints it has to move."""
    from .assembly import joint_gaps

    first = state.copy()
    tree = placed_tree(mechanism, first, {}).unbounded()
    all_names = [*mechanism.joints, *mechanism.couplings]
    found = {}
    for name in names:
        place = all_names.index(name)
        if not tree.loops[place]:
            continue
        only = np.arange(len(all_names)) == place
        best, left = first, np.inf
        for attempt, amplitude in enumerate((0.0, *_ALONE)):
            trial = first.copy()
            end = tree.close(trial, amplitude, attempt + 1, only)
            if end < left:
                best, left = trial, end
            if left <= mechanism.loop_tolerance:
                break
        if mechanism.loop_tolerance < left < np.inf:
            gap = joint_gaps(tree.compiled, best)[0][place]
            found[name] = (float(gap[0]), float(gap[1]), _joints_around(mechanism, tree, name))
    return found


def joints_apart(mechanism: Mechanism, state: State, names: Collection[str]) -> set[str]:
    """Joints of a tree that can stay where they are, whatever these do: no loop links them, nor a row of loops.

    Without names, joints that no loop passes at all.
    """
    tree, joints = placed_tree(mechanism, state.copy(), {}), list(mechanism.joints.values())
    carriers = {int(body): joints[joint].name for joint, body, _ in tree.branches if joint >= 0}
    closing = [n for n, closes in zip((*mechanism.joints, *mechanism.couplings), tree.loops, strict=True) if closes]
    around = [{name, *(carriers[b] for b in _around(mechanism, tree, name) if b in carriers)} for name in closing]
    moving = set(names) if names else set().union(*around)
    while reached := [members for members in around if members & moving and not members <= moving]:
        moving.update(*reached)
    return {name for name in carriers.values() if name not in moving and mechanism.joints[name].has_coordinates}


def _joints_around(mechanism: Mechanism, tree: Tree, name: str) -> int:
    """Joints that can move on the way from one body of a loop to the other."""
    joints = list(mechanism.joints.values())
    carrier = {int(body): int(joint) for joint, body, _ in tree.branches}
    return sum(carrier[body] < 0 or joints[carrier[body]].dof > 0 for body in _around(mechanism, tree, name))


def _around(mechanism: Mechanism, tree: Tree, name: str) -> list[int]:
    """Bodies whose branches are on the way from one body of a loop to the other."""
    rows = {body: row for row, body in enumerate(mechanism.bodies)} | {mechanism.world.name: -1}
    parents = {int(body): int(parent) for _, body, parent in tree.branches}
    if name in mechanism.joints:
        closing = mechanism.joints[name]
        ends = [closing.a.name, closing.b.name]
    else:
        ends = [end for term in mechanism.couplings[name].terms for end in (term.measure.a, term.measure.b)]
    passed: dict[int, int] = {}
    for end in ends:
        body = rows[end]
        while body >= 0:
            passed[body] = passed.get(body, 0) + 1
            body = parents[body]
    return [body for body, count in passed.items() if count % 2 == 1]


def placed_tree(mechanism: Mechanism, state: State, frozen: Mapping[str, Array], first: Collection[str] = ()) -> Tree:
    """A tree, of joints in `first` rather than of others, and bodies put where it holds them, in place."""
    from ..compile.compile import all_rows
    from .core import build_core

    rows = {name: row for row, name in enumerate(mechanism.bodies)} | {mechanism.world.name: -1}
    poses: dict[int, Pose] = {
        row: (state.position[row], state.orientation[row]) for row in range(len(mechanism.bodies))
    }
    poses[-1] = mechanism.world.position, mechanism.world.orientation
    choice = [
        (place, joint)
        for place, joint in enumerate(mechanism.joints.values())
        if joint.row_count and joint.ground is None and (joint._carries or joint.name in frozen)
    ]
    measured = _measured(state, [joint for _, joint in choice], rows, frozen)
    # those that are closed, first of all those that must not move, last those that are there to close loops
    carrying = [
        (
            (
                joint.name not in frozen,
                joint.name not in first,
                joint.closes_loop,
                measured[joint.name][1] > _FITS,
                place,
            ),
            joint,
        )
        for place, joint in choice
    ]
    carrying.sort(key=lambda one: one[0])

    part = {row: row for row in poses}

    def find(row: int) -> int:
        while part[row] != row:
            part[row] = part[part[row]]
            row = part[row]
        return row

    beside: dict[int, list[tuple[int, Joint, int]]] = {row: [] for row in poses}
    for (*_, place), joint in carrying:
        a, b = rows[joint.a.name], rows[joint.b.name]
        if find(a) != find(b):
            part[find(a)] = find(b)
            beside[a].append((place, joint, b))
            beside[b].append((place, joint, a))

    branches: list[tuple[int, int, int]] = []
    bounded: list[tuple[int, int]] = []
    limited: list[tuple[str, int]] = []
    used: set[int] = set()
    reached: set[int] = set()
    moved: set[int] = set()
    for root in (-1, *range(len(mechanism.bodies))):
        if root in reached:
            continue
        reached.add(root)
        if root >= 0:
            branches.append((-1, root, -1))
        queue = [root]
        for here in queue:
            for place, joint, child in beside[here]:
                if child in reached:
                    continue
                reached.add(child)
                used.add(place)
                queue.append(child)
                allowed, gap = measured[joint.name]
                if here in moved or gap > 0:
                    put = joint.place_b if rows[joint.b.name] == child else joint.place_a
                    poses[child] = put(poses[here], *allowed)
                    moved.add(child)
                for key in joint.limits if joint.has_coordinates and joint.name not in frozen else ():
                    if key in joint.turns:
                        continue
                    bounded.append((len(branches), joint.names.index(key)))
                    limited.append((joint.name, joint.names.index(key)))
                branches.append((place, child, here))
    if moved:
        state.position = np.reshape([poses[row][0] for row in range(len(mechanism.bodies))], (-1, 3))
        state.orientation = np.reshape([poses[row][1] for row in range(len(mechanism.bodies))], (-1, 4))
    bounds = []
    for name, coordinate in limited:
        joint = mechanism.joints[name]
        limits = joint.limits[joint.names[coordinate]]
        bounds.append((limits.lower, limits.upper, float(state.joint(name).coordinates[coordinate])))
    held = {place for place, joint in enumerate(mechanism.joints.values()) if joint.row_count == 0} | used
    loops = np.array(
        [place not in held for place in range(mechanism.joint_count + len(mechanism.couplings))], dtype=bool
    )
    compiled = build_core(mechanism, frozen=frozen, selection=select_all(mechanism)) if frozen else all_rows(mechanism)
    return Tree(
        compiled,
        whole_size(state),
        np.array(branches, dtype=np.int32).reshape(-1, 3),
        np.array(bounded, dtype=np.int32).reshape(-1, 2),
        np.array(bounds, dtype=float).reshape(-1, 3),
        loops,
        tuple(limited),
    )


def _measured(
    state: State, joints: list[Joint], rows: Mapping[str, int], frozen: Mapping[str, Array]
) -> dict[str, tuple[Pose, float]]:
    """Of every joint the allowed pose nearest to that which it has, and how far it is off it (m or rad)."""
    if not joints:
        return {}
    world = state.mechanism.world
    position, orientation = (
        np.vstack((state.position, world.position)),
        np.vstack((state.orientation, world.orientation)),
    )
    a, b = ([rows[body.name] for body in ends] for ends in zip(*((j.a, j.b) for j in joints), strict=True))
    (anchor_a, frame_a), (anchor_b, frame_b) = (
        (
            np.array([getattr(j, f"anchor_{side}") for j in joints]),
            np.array([getattr(j, f"frame_{side}") for j in joints]),
        )
        for side in "ab"
    )
    seen = pose_between(
        (position[a], orientation[a]), (position[b], orientation[b]), (anchor_a, frame_a), (anchor_b, frame_b)
    )
    allowed = [
        joint.relative(frozen[joint.name]) if joint.name in frozen else joint.nearest(*pose)
        for joint, pose in zip(joints, zip(*seen, strict=True), strict=True)
    ]
    shift, turn = seen[0] - [x for x, _ in allowed], multiply(conjugate(np.array([q for _, q in allowed])), seen[1])
    gap = np.maximum(np.linalg.norm(shift, axis=1), np.linalg.norm(rotation_vector(turn), axis=1))
    return {joint.name: one for joint, one in zip(joints, zip(allowed, gap.tolist(), strict=True), strict=True)}
