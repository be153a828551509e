"""Massless bodies: whether their joints hold them.

A massless body goes where the bodies beside it take it. If it can move while all that has a mass stands still, nothing
resists that motion, and no step has one solution only. So the rows of the joints and couplings on every group of
massless bodies that hold on to each other, taken at the motions of these bodies alone, must be of full rank. Where they
are not, the pose may be singular by chance, as three hinges in a row are when the first and the last are aligned: a
group that only joints of the tree hold is then looked at with all of these turned a little.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .._util.rotation import Array
from ..describe.couplings import Coupling
from ..describe.joint import Joint
from ..kinematics.geometry import body_rows, extent, instant
from ..kinematics.state import State

if TYPE_CHECKING:
    from ..compile.row_selection import RowSelection
    from ..describe.mechanism import Mechanism

Holder: TypeAlias = Joint | Coupling

# a singular value of unit rows below this is a free motion, if it is not, of numbers that are rounded to six digits
_FREE = 1e-6

# bodies take part in a motion if they have this part of it, at least
_PART = 1e-3

# by how much joints are turned (rad) or moved (parts of the mechanism's size) to leave a singular pose
_LITTLE = 0.3


def names(mechanism: Mechanism) -> tuple[str, ...]:
    """All massless bodies."""
    return tuple(name for name, body in mechanism.bodies.items() if body.mass == 0)


def loose(mechanism: Mechanism) -> list[str]:
    """Massless bodies that can move while all others stand still, wherever the joints of the tree stand."""
    return _loose(mechanism, _holders(mechanism)) if names(mechanism) else []


def loose_in_tree(mechanism: Mechanism, selection: RowSelection) -> list[str]:
    """The same as the joint-space solver sees it: of what closes loops, what is enforced at one massless body each."""
    if not names(mechanism):
        return []
    holders = _holders(mechanism)
    branches = {branch.joint.name for branch in mechanism.spanning_tree().branches}
    inactive = {name for name, off in zip(mechanism.couplings, selection.inactive_couplings, strict=True) if off}
    inactive |= {name for name, count in zip(mechanism.joints, selection.redundant, strict=True) if count}

    def is_seen(name: str) -> bool:
        ends = _ends(holders[name])
        light = [end for end in ends if end in mechanism.bodies and mechanism.bodies[end].mass == 0]
        return name in branches or (len(ends) == 2 and len(light) == 1 and name not in inactive)

    return _loose(mechanism, {name: holder for name, holder in holders.items() if is_seen(name)}, selection)


def refuse_loose(mechanism: Mechanism) -> None:
    """Raise where massless bodies are not held at any pose."""
    free = loose(mechanism)
    if free:
        raise ValueError(_sentence(free, ""))


def refuse_loose_at(state: State) -> None:
    """Raise where massless bodies are not held at a pose."""
    free = loose_at(state)
    if free:
        raise ValueError(_sentence(free, " in the initial pose"))


def loose_at(state: State) -> Collection[str]:
    """Massless bodies that are not held at a pose, such as a wrist's where two of its axes are in line."""
    mechanism = state.mechanism
    return _free(state, _groups(mechanism, _holders(mechanism))) if names(mechanism) else []


def _sentence(free: Collection[str], where: str) -> str:
    bodies = ", ".join(map(repr, free))
    are, them = ("is", "it") if len(free) == 1 else ("are", "them")
    return (
        f"{'body' if len(free) == 1 else 'bodies'} {bodies} {are} massless and not held{where}: no mass resists "
        f"{'its' if len(free) == 1 else 'their'} motion; connect {them} to other bodies, weld {them}, or "
        "give an inertia"
    )


def _holders(mechanism: Mechanism) -> dict[str, Holder]:
    """Joints and couplings that have rows."""
    joints: dict[str, Holder] = {name: joint for name, joint in mechanism.joints.items() if joint.row_count > 0}
    return joints | dict(mechanism.couplings)


def _ends(holder: Holder) -> list[str]:
    if isinstance(holder, Coupling):
        return [end for term in holder.terms for end in (term.measure.a, term.measure.b)]
    return [holder.a.name, holder.b.name]


def _groups(mechanism: Mechanism, holders: dict[str, Holder]) -> list[tuple[list[str], list[str]]]:
    """Massless bodies that hold on to each other, and all that holds them."""
    part = {name: name for name in names(mechanism)}

    def find(name: str) -> str:
        while part[name] != name:
            part[name] = part[part[name]]
            name = part[name]
        return name

    on = {name: [end for end in dict.fromkeys(_ends(holder)) if end in part] for name, holder in holders.items()}
    for ends in on.values():
        for end in ends[1:]:
            part[find(end)] = find(ends[0])
    groups: dict[str, tuple[list[str], list[str]]] = {find(name): ([], []) for name in part}
    for name in part:
        groups[find(name)][0].append(name)
    for name, ends in on.items():
        if ends:
            groups[find(ends[0])][1].append(name)
    return list(groups.values())


def _loose(mechanism: Mechanism, holders: dict[str, Holder], selection: RowSelection | None = None) -> list[str]:
    groups = _groups(mechanism, holders)
    state = mechanism.state()
    free = _free(state, groups, selection)
    branches = {branch.joint.name for branch in mechanism.spanning_tree().branches}
    doubtful = [group for group in groups if set(free) & set(group[0])]
    turned = [group for group in doubtful if branches.issuperset(group[1])]
    if not turned:
        return free
    certain = {name for group in doubtful if group not in turned for name in group[0]}
    return [name for name in free if name in certain] + _free(_turned(state), turned)


def _turned(state: State) -> State:
    """The same pose with every joint of the tree moved a little."""
    mechanism, random, size = state.mechanism, np.random.default_rng(1), extent(state)
    result = state.copy()
    poses = {name: (state.body(name).position, state.body(name).orientation) for name in mechanism.bodies}
    poses[mechanism.world.name] = (mechanism.world.position, mechanism.world.orientation)
    before = dict(poses)
    for branch in mechanism.spanning_tree().branches:
        joint, parent, child = branch.joint, branch.parent.name, branch.child.name
        coordinates = joint.coordinates_of(*joint.measure(before[joint.a.name], before[joint.b.name]))
        turns = [np.any(joint.twist(rates, coordinates)[1]) for rates in np.eye(joint.dof)]
        little = _LITTLE * random.uniform(-1, 1, joint.dof) * np.where(turns, 1.0, size)
        place = joint.place_b if joint.b is branch.child else joint.place_a
        poses[child] = place(poses[parent], *joint.relative(coordinates + little))
    for row, name in enumerate(mechanism.bodies):
        result.position[row], result.orientation[row] = poses[name]
    return result


def _free(
    state: State, groups: Iterable[tuple[list[str], list[str]]], selection: RowSelection | None = None
) -> list[str]:
    """Bodies that take part in a motion of their group that no row sees, or none that is enforced."""
    node, size, holders = instant(state), extent(state), _holders(state.mechanism)
    combinations = {} if selection is None else selection.combinations(state.mechanism)
    found = []
    for bodies, held_by in groups:
        columns = {name: 6 * k for k, name in enumerate(bodies)}
        blocks = [np.zeros((0, 6 * len(bodies)))]
        for name in held_by:
            whole = body_rows(node, holders[name])
            combine = combinations.get(name, np.eye(len(next(iter(whole.values())))))
            rows = {body: combine @ part for body, part in whole.items() if body in columns}
            block = np.zeros((len(next(iter(rows.values()))), 6 * len(bodies)))
            for body, part in rows.items():
                block[:, columns[body] : columns[body] + 6] = part * np.repeat((size, 1.0), 3)
            blocks.append(block)
        found += [bodies[k] for k in _moving(np.concatenate(blocks))]
    return found


def _moving(rows: Array) -> list[int]:
    """Bodies (six columns each) that some motion moves and no row sees."""
    # a disk that lies flat has no rows
    rows = np.nan_to_num(rows)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0, lengths, 1.0)
    values, axes = np.linalg.eigh(rows.T @ rows)
    free = axes[:, values < _FREE**2].reshape(rows.shape[1] // 6, -1)
    return [int(k) for k in np.flatnonzero(np.abs(free).max(axis=1, initial=0.0) > _PART)]
