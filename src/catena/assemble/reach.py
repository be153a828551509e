"""Inverse kinematics: joints are moved until points and frames of bodies are where they are wanted.

The search is that of cpp/simulate/reach.hpp, along a tree of joints which holds those with limits if it can.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.checks import shown, whole
from .._util.lookup import how_many, looked_up, name_of, no_such
from .._util.rotation import Array, conjugate, finite, multiply, rotation_vector, unit_quaternion
from .._util.status import CatenaError
from ..describe.limits import Limits
from ..kinematics.state import State
from .assembly import joint_gaps
from .trust_region import Tree, placed_tree

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism

# a point, or the position and the orientation of a frame, one of which may be None
Target: TypeAlias = "ArrayLike | tuple[ArrayLike | None, ArrayLike | None]"
Weight: TypeAlias = "float | tuple[float, float]"

# rad, or parts of the mechanism's size, that may be left
_REACHED = 1e-9
# gaps of joints (parts of the size, rad) that belong to a state
_FITS = 1e-9
# m or rad beyond limits that count as rounding
_AT_LIMIT = 1e-9


class ReachError(CatenaError, ValueError):
    """Targets are out of reach; `state` is the nearest pose found, `left` (m, rad) is what is missing by name."""

    def __init__(self, message: str, state: State, left: dict[str, tuple[float, float]]) -> None:
        super().__init__(message)
        self.state = state
        self.left = left

    def __reduce__(self) -> tuple[type[ReachError], tuple[str, State, dict[str, tuple[float, float]]]]:
        return type(self), (str(self), self.state, self.left)


@dataclass(frozen=True)
class Targets:
    """What is wanted: bodies (target,), points and frames in them, goals (goal, target, ...), weights (target, 2)."""

    names: tuple[str, ...]
    body: NDArray[np.int32]
    point: Array
    turn: Array
    place: Array
    orientation: Array
    weights: Array
    is_series: bool


@dataclass(frozen=True)
class Poses:
    """Poses (goal, n, ...) that were found, and angles (goal, k) by joint near which turns are counted."""

    position: Array
    orientation: Array
    turned: dict[str, Array]

    def motion(self, dt: float) -> tuple[Array, Array]:
        """Velocities and angular velocities (goal, n, 3): central differences over dt, one-sided at the ends."""
        first = np.maximum(np.arange(len(self.position)) - 1, 0)
        last = np.minimum(np.arange(len(self.position)) + 1, len(self.position) - 1)
        over = (np.maximum(last - first, 1) * dt)[:, None, None]
        q = self.orientation
        return (self.position[last] - self.position[first]) / over, rotation_vector(
            multiply(q[last], conjugate(q[first]))
        ) / over


@dataclass(frozen=True)
class ReachTree:
    """A tree and its freedoms: who moves them (joints, or bodies that float), coordinates and keys of joints."""

    tree: Tree
    movers: tuple[tuple[str, ...], ...]  # (freedom) a joint, or a body that floats and its free joint
    coordinate: NDArray[np.intp]  # (freedom) among those of the mechanism, -1 for none
    keys: tuple[str, ...]  # (freedom)
    carrying: NDArray[np.intp]  # joints of the tree
    # joints with angles: their places among the coordinates and among the freedoms
    angles: tuple[tuple[str, list[int], list[int]], ...]

    @classmethod
    def of(cls, mechanism: Mechanism, tree: Tree) -> ReachTree:
        """The same with names."""
        joints, bodies = list(mechanism.joints.values()), list(mechanism.bodies)
        places = mechanism.coordinate_places()
        floating = {j.b.name if j.a.is_world else j.a.name: j.name for j in joints if j.row_count == 0}
        movers: list[tuple[str, ...]] = []
        coordinate: list[int] = []
        keys: list[str] = []
        angles = []
        for place, child, _ in tree.branches.tolist():
            if place < 0:
                body = bodies[child]
                movers += [(body, floating[body]) if body in floating else (body,)] * 6
                coordinate += [-1] * 6
                keys += [""] * 6
                continue
            joint, first = joints[place], len(movers)
            own = range(places[joint.name].start, places[joint.name].stop) if joint.has_coordinates else ()
            movers += [(joint.name,)] * joint.dof
            coordinate += own or [-1] * joint.dof
            keys += joint.names if joint.has_coordinates and joint.names else [""] * joint.dof
            if joint.has_coordinates and joint.angles:
                angles.append((joint.name, [own[k] for k in joint.angles], [first + k for k in joint.angles]))
        carrying = tree.branches[tree.branches[:, 0] >= 0, 0].astype(np.intp)
        return cls(tree, tuple(movers), np.array(coordinate, dtype=np.intp), tuple(keys), carrying, tuple(angles))

    def held(self, kept: Sequence[str]) -> NDArray[np.int32]:
        """Which freedoms must not move (freedom,)."""
        missing = set(kept).difference(*self.movers)
        if missing:
            raise ValueError(
                f"reach: {min(missing)!r} cannot be kept: keep takes floating bodies and joints of the spanning tree, "
                "and with the other joints that are kept this one would close a loop"
            )
        return np.array([not set(names).isdisjoint(kept) for names in self.movers], dtype=np.int32)

    def ranges(self, limited: Mapping[str, Mapping[str, tuple[float, float]]], coordinates: Array) -> Array:
        """How far freedoms may move (freedom, 2) from where they are."""
        found = np.tile((-inf, inf), (len(self.movers), 1))
        for k, (names, key, place) in enumerate(zip(self.movers, self.keys, self.coordinate.tolist(), strict=True)):
            bounds = limited.get(names[0], {}).get(key)
            if bounds is not None and place >= 0:
                found[k] = bounds - coordinates[place]
        return found


def reach_poses(
    mechanism: Mechanism,
    targets: Targets,
    guess: State,
    limits: bool | Mapping[str, Limits | tuple[float, float]],
    keep: Collection[str],
    restarts: int,
    seed: int,
    nearest: bool,
) -> Poses:
    """See Mechanism.reach."""
    if not isinstance(guess, State) or list(guess.mechanism.bodies) != list(mechanism.bodies):
        raise ValueError(f"reach: the guess must be a State of this mechanism, got {guess!r:.80}")
    limited = _limits(mechanism, limits)
    kept = _kept(mechanism, keep)
    state = guess.copy()
    branches = _tree(mechanism, state, (*kept, *(name for name in limited if name not in kept)))
    tree, compiled = branches.tree, branches.tree.compiled
    coordinates = state._joint_motion(mechanism)[0]
    held = branches.held(kept)
    ranges = branches.ranges(limited, coordinates)
    goals, n = len(targets.place), len(state.position)
    position, orientation = np.empty((goals, n, 3)), np.empty((goals, n, 4))
    moved, left = np.empty((goals, len(held))), np.empty((goals, len(targets.names), 2))
    gaps, attempts = np.empty(goals), np.empty(goals, dtype=np.int32)
    compiled.core.reach(
        size=tree.size,
        seed=seed,
        restarts=restarts,
        enough=_REACHED * float(min(1.0, targets.weights[targets.weights > 0].min())),
        branches=tree.branches,
        chosen=tree.loops.astype(np.int32),
        held=held,
        range=ranges,
        start_position=state.position,
        start_orientation=state.orientation,
        term_start=compiled.start(compiled.terms, [state])[0],
        counted=compiled.start(compiled.counters, [state])[0],
        rows=compiled.rows,
        signals=compiled.signals.read(state.time),
        target_body=targets.body,
        target_point=targets.point,
        target_turn=targets.turn,
        weights=targets.weights,
        place=targets.place,
        turn=targets.orientation,
        position=position,
        orientation=orientation,
        moved=moved,
        left=left,
        open=gaps,
        attempts=attempts,
    )
    turned = {name: np.repeat(angles[None], goals, axis=0) for name, angles in state.turned.items()}
    for joint, places, own in branches.angles:
        turned[joint] = coordinates[places] + moved[:, own]
    found = Poses(position, orientation, turned)
    _refuse(mechanism, targets, tree, guess, found, left, gaps, attempts, limited, nearest)
    return found


def state_of(mechanism: Mechanism, guess: State, poses: Poses, goal: int) -> State:
    """The state at rest of one goal."""
    still = np.zeros((len(guess.position), 3))
    turned = {name: angles[goal] for name, angles in poses.turned.items()}
    return State(mechanism, poses.position[goal], poses.orientation[goal], still, still, time=guess.time, turned=turned)


def read_targets(mechanism: Mechanism, targets: Mapping[str, Target], weights: Mapping[str, Weight] | None) -> Targets:
    """Check what is wanted of frames and bodies."""
    if not isinstance(targets, Mapping) or not targets:
        raise ValueError(
            f"reach takes a mapping from frames or bodies to points or poses, such as {{'hand': (1, 0, 0.5)}}, "
            f"got {targets!r}"
        )
    rows, given = mechanism.rows(), dict(weights or {})
    names = tuple(name_of(name) for name in targets)
    if len(set(names)) < len(names):
        raise ValueError(f"reach: target {next(n for n in names if names.count(n) > 1)!r} is given twice")
    bodies, points, turns, wanted, weighted = [], [], [], [], []
    for name, target in zip(names, targets.values(), strict=True):
        frame = mechanism.frame(name)
        if frame.body not in rows:
            raise ValueError(f"reach: frame {name!r} belongs to the world and cannot be moved")
        bodies.append(rows[frame.body])
        points.append(frame.position)
        turns.append(frame.orientation)
        wanted.append(_pose(name, target))
        weighted.append(_weights(name, given.pop(name, 1.0), wanted[-1]))
    if given:
        raise ValueError(f"reach: weights name {next(iter(given))!r}, which is no target")
    lengths = {len(part) for pose in wanted for part in pose if part is not None and part.ndim == 2}
    if len(lengths) > 1:
        raise ValueError(f"reach: series of targets must be of one length, got {sorted(lengths)}")
    count = lengths.pop() if lengths else 1
    if not count:
        raise ValueError("reach: a series of targets must not be empty")
    place, orientation = np.zeros((count, len(names), 3)), np.tile((1.0, 0, 0, 0), (count, len(names), 1))
    for k, (position, quaternion) in enumerate(wanted):
        if position is not None:
            place[:, k] = position
        if quaternion is not None:
            orientation[:, k] = quaternion
    return Targets(
        names,
        np.array(bodies, dtype=np.int32),
        np.array(points),
        np.array(turns),
        place,
        orientation,
        np.array(weighted),
        any(part is not None and part.ndim == 2 for pose in wanted for part in pose),
    )


def _pose(name: str, target: Target) -> tuple[Array | None, Array | None]:
    """Position (3,) or (goal, 3) and orientation (4,) or (goal, 4)."""
    position, orientation = target if isinstance(target, tuple) and len(target) == 2 else (target, None)
    if position is not None and not _are_points(position):
        raise ValueError(
            f"reach: target {name!r} must be a point (3,), points (k, 3), or a tuple of these and quaternions, "
            f"got {shown(target)}"
        )
    if position is None and orientation is None:
        raise ValueError(f"reach: target {name!r} has neither a position nor an orientation")
    where, how = f"reach: position of {name!r}", f"reach: orientation of {name!r}"
    return (
        None if position is None else finite(position, (*np.shape(position)[:-1][:1], 3), where),
        None if orientation is None else unit_quaternion(orientation, (*np.shape(orientation)[:-1][:1], 4), how),
    )


def _are_points(value: ArrayLike) -> bool:
    try:
        return np.shape(value)[-1:] == (3,) and np.ndim(value) <= 2
    except ValueError:
        return False


def _weights(name: str, given: Weight, pose: tuple[Array | None, Array | None]) -> tuple[float, float]:
    pair = finite(np.broadcast_to(np.asarray(given, dtype=float), (2,)), (2,), f"reach: weight of {name!r}")
    if (pair <= 0).any():
        raise ValueError(f"reach: the weight of {name!r} must be positive, got {given!r}; leave out what is not wanted")
    return tuple(float(w) if part is not None else 0.0 for w, part in zip(pair, pose, strict=True))  # type: ignore[return-value]


def _limits(
    mechanism: Mechanism, limits: bool | Mapping[str, Limits | tuple[float, float]]
) -> dict[str, dict[str, tuple[float, float]]]:
    """Lower and upper value by joint and coordinate."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    if limits is False:
        return found
    for joint in mechanism.joints.values():
        own = {key: (one.lower, one.upper) for key, one in joint.limits.items() if key in joint.names}
        if own and joint.has_coordinates:
            found[joint.name] = own
    if limits is not True and not isinstance(limits, Mapping):
        raise ValueError(f"reach: limits must be True, False or a mapping such as {{'elbow': (0, 2)}}, got {limits!r}")
    for name, given in {} if limits is True else limits.items():
        joint = looked_up("joint", name, mechanism, after=", given in limits")
        if len(joint.names) != 1 or not joint.has_coordinates:
            raise ValueError(
                f"reach: limits are given for joints with one coordinate; {joint.label} has "
                f"{how_many(len(joint.names), 'coordinate', 'coordinates')}: set its `limits`"
            )
        pair = (given.lower, given.upper) if isinstance(given, Limits) else given
        lower, upper = map(float, pair) if np.shape(pair) == (2,) else (inf, -inf)
        if not lower <= upper:
            raise ValueError(f"reach: limits of {joint.label} must be (lower, upper), got {given!r}")
        found[joint.name] = {joint.names[0]: (lower, upper)}
    return found


def _kept(mechanism: Mechanism, keep: Collection[str]) -> list[str]:
    if isinstance(keep, str):
        raise ValueError(f"reach: keep takes a list of names, such as [{keep!r}], got {keep!r}")
    names = [name_of(name) for name in keep]
    for name in names:
        if name not in mechanism.joints and name not in mechanism.bodies:
            raise no_such("joint", name, mechanism, before="reach: keep: ")
    return names


def _tree(mechanism: Mechanism, state: State, first: tuple[str, ...]) -> ReachTree:
    """The tree of a state, in which joints in `first` are rather than others; bodies are put where it holds them."""
    known = mechanism._known.reach_trees.get(first)
    if known is not None:
        gaps = joint_gaps(known.tree.compiled, state)[0][known.carrying]
        if (gaps <= (_FITS * known.tree.size, _FITS)).all():
            return known
    tree = placed_tree(mechanism, state, {}, first=first).unbounded()
    found = ReachTree.of(mechanism, tree)
    if known is None:
        mechanism._known.reach_trees[first] = found
    return found


def _refuse(
    mechanism: Mechanism,
    targets: Targets,
    tree: Tree,
    guess: State,
    found: Poses,
    left: Array,
    gaps: Array,
    attempts: NDArray[np.int32],
    limited: Mapping[str, Mapping[str, tuple[float, float]]],
    nearest: bool,
) -> None:
    """Raise where loops are open, limits are exceeded, or targets are missed."""
    enough = max(_REACHED, mechanism.loop_tolerance)
    missed = (left[..., 0] / tree.size > _REACHED) | (left[..., 1] > _REACHED)
    worst = int(np.maximum(left[..., 0] / tree.size, left[..., 1]).max(axis=1).argmax())
    opened = int(gaps.argmax())
    series = len(left) > 1
    if gaps[opened] > enough:
        state = state_of(mechanism, guess, found, opened)
        raise ReachError(
            f"reach: the loops cannot be closed{f' at target {opened} of the series' if series else ''}: "
            f"{gaps[opened]:.3g} (rad, or parts of the size) remains; begin from another guess",
            state,
            _left(targets, left[opened]),
        )
    if missed.any() and not nearest:
        state = state_of(mechanism, guess, found, worst)
        parts = [
            f"{name!r} " + " and ".join(_distances(gap, turn))
            for name, gap, turn, misses in zip(targets.names, *left[worst].T, missed[worst], strict=True)
            if misses
        ]
        where = f" at target {worst} of the series" if series else ""
        tried = int(attempts[worst])
        within = " within the limits" if limited else ""
        raise ReachError(
            f"reach: out of reach{within}{where}: the nearest pose found in {how_many(tried, 'attempt', 'attempts')} "
            f"misses {', '.join(parts)}; reach(..., nearest=True) returns it",
            state,
            _left(targets, left[worst]),
        )
    _refuse_beyond(mechanism, tree, guess, found, limited)


def _refuse_beyond(
    mechanism: Mechanism,
    tree: Tree,
    guess: State,
    found: Poses,
    limited: Mapping[str, Mapping[str, tuple[float, float]]],
) -> None:
    """Raise where a joint that closes a loop is beyond its limits; those of the tree never are."""
    carrying = {place for place, _, _ in tree.branches.tolist()}
    closing = [j.name for k, j in enumerate(mechanism.joints.values()) if k not in carrying and j.name in limited]
    for goal in range(len(found.position)) if closing else ():
        state = state_of(mechanism, guess, found, goal)
        for name in closing:
            joint = mechanism.joints[name]
            for key, value in zip(joint.names, state.joint(name).coordinates.tolist(), strict=True):
                lower, upper = limited[name].get(key, (-inf, inf))
                if not lower - _AT_LIMIT <= value <= upper + _AT_LIMIT:
                    raise ReachError(
                        f"reach: {joint.label} would be at {value:.4g}, beyond its limits {lower:.4g} to {upper:.4g}; "
                        "begin from another guess",
                        state,
                        {},
                    )


def _left(targets: Targets, left: Array) -> dict[str, tuple[float, float]]:
    return {name: (float(gap), float(turn)) for name, (gap, turn) in zip(targets.names, left, strict=True)}


def _distances(gap: float, turn: float) -> list[str]:
    return [
        *([f"by {gap:.3g} m"] if gap > 0 else []),
        *([f"by {np.degrees(turn):.3g} degrees"] if turn > 0 else []),
    ]


def restarts_of(value: int) -> int:
    """A number of restarts, checked."""
    return whole(value, "reach: restarts", least=0, most=100_000)
