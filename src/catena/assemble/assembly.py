"""Assembly: from an approximate pose to one that closes every joint, including those of loops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.checks import doubt_degrees
from .._util.lookup import no_such
from .._util.rotation import Array, finite
from .._util.status import CatenaError, CatenaWarning, warn
from ..compile.compile import Compiled, all_rows
from ..compile.row_selection import select_all
from ..describe.limits import hard_joint_stops
from ..kinematics.geometry import extent
from ..kinematics.state import State
from .core import build_core
from .redundancy import select_described_rows, select_rows, warn_of, whole_size
from .trust_region import close_wide, joints_apart, open_alone

if TYPE_CHECKING:
    from ..compile.row_selection import RowSelection
    from ..describe.mechanism import Mechanism
    from ..kinematics.member_geometry import MemberGeometry

# closed: gaps below this part of the mechanism's size (m), or below this angle (rad)
CLOSED = 5e-11

# and so many roundings of the largest coordinate, below which no gap can be told
_ROUNDINGS = 32

# rad or m beyond a limit that runs take for standing at it
_AT_LIMIT = 1e-9

# longest step of a driven joint (rad or m) between two assemblies
_STRIDE = 0.05
_ITERATIONS = 100

# gaps (parts of the mechanism's size, rad) beyond which the nearest motion is not tried first
_WIDE = 0.1


class AssemblyWarning(CatenaWarning):
    """The assembled pose differs from the described one, or exceeds joint limits."""


class AssemblyError(CatenaError, ValueError):
    """A mechanism cannot be assembled; `gaps` maps the names of open joints to their gaps (m, rad)."""

    def __init__(self, message: str, gaps: dict[str, tuple[float, float]]) -> None:
        super().__init__(message)
        self.gaps = gaps

    def __reduce__(self) -> tuple[type[AssemblyError], tuple[str, dict[str, tuple[float, float]]]]:
        return type(self), (str(self), self.gaps)


def assemble(
    mechanism: Mechanism,
    guess: State | None,
    fixed: Iterable[str] = (),
    coordinates: Mapping[str, ArrayLike] | None = None,
) -> State:
    """See Mechanism.assemble."""
    if mechanism.body_count == 0:
        raise ValueError("the mechanism has no bodies")
    state = _assembled(mechanism, guess, fixed, coordinates)
    given = {*fixed, *(coordinates or {})}
    if first := {name: value for name, value in _at_limits(mechanism, state).items() if name not in given}:
        # a joint that no loop passes takes the subtree beyond it along
        for name in first.keys() & joints_apart(mechanism, state, ()):
            state.joint(name).coordinates = first[name]
    back: dict[str, Array] = {}
    # joints that follow those which go back to their limits may pass their own
    while beyond := {name: value for name, value in _at_limits(mechanism, state).items() if name not in given}:
        try:
            if beyond.keys() <= back.keys():
                raise AssemblyError("", {})
            back |= beyond
            state = _assembled(mechanism, state, fixed, {**(coordinates or {}), **back})
        except AssemblyError:
            return _elsewhere(mechanism, state, given, {*back, *beyond}) or _beyond_limits(mechanism, state)
    return state


def _at_limits(mechanism: Mechanism, state: State) -> dict[str, Array]:
    """Of joints that are beyond hard limits, the coordinates at them."""
    found: dict[str, Array] = {}
    for joint, name, limits in hard_joint_stops(mechanism):
        values, place = found.get(joint.name, state.joint(joint.name).coordinates), joint.names.index(name)
        if limits.beyond(float(values[place])) > _AT_LIMIT:
            found[joint.name] = values.copy()
            found[joint.name][place] = min(max(float(values[place]), limits.lower), limits.upper)
    return found


def _elsewhere(mechanism: Mechanism, state: State, given: Collection[str], beyond: Collection[str]) -> State | None:
    """A closed pose within all limits that is not near, with `given` joints where they are; None if none is found.

    Only joints that share loops with those `beyond` their limits move.
    """
    found, held = state.copy(), {*given, *joints_apart(mechanism, state, beyond)}
    frozen = {name: state.joint(name).coordinates for name in held}
    if not close_wide(mechanism, found, frozen, within_limits=True):
        return None
    try:
        found = _assembled(mechanism, found, held, None)
    except AssemblyError:
        return None
    return None if _at_limits(mechanism, found).keys() - set(given) else found


def _beyond_limits(mechanism: Mechanism, state: State) -> State:
    """The same, with a warning that says by how much it is."""
    beyond = [
        f"{joint.label}: {name} {value:.4g} is {limits.beyond(value):.3g} beyond its limits"
        for joint, name, limits in hard_joint_stops(mechanism)
        if limits.beyond(value := float(state.joint(joint.name).coordinates[joint.names.index(name)])) > _AT_LIMIT
    ]
    warn(
        AssemblyWarning(
            f"the loops close only with joint limits exceeded: {'; '.join(beyond)}; runs from there need "
            "Simulator(limits='ignore') or other limits"
        )
    )
    return state


def _assembled(
    mechanism: Mechanism, guess: State | None, fixed: Iterable[str], coordinates: Mapping[str, ArrayLike] | None
) -> State:
    from .placeholders import lightened

    state = mechanism.state() if guess is None else _of(mechanism, guess)
    given = _described(mechanism) if guess is None else state.copy()
    mechanism = lightened(mechanism)
    goals = {name: _coordinates(mechanism, name, value) for name, value in (coordinates or {}).items()}
    start = {name: state.joint(name).coordinates for name in (*fixed, *goals)}
    velocity = state.velocity.copy(), state.angular_velocity.copy()

    # driven joints go to their goal in short strides, so that the others follow on the same branch
    longest = max((float(np.abs(goals[name] - start[name]).max(initial=0.0)) for name in goals), default=0.0)
    count = max(1, ceil(longest / _STRIDE))
    for k in range(1, count + 1):
        frozen = {name: start[name] + k / count * (goals.get(name, start[name]) - start[name]) for name in start}
        if k == 1:
            state, compiled = _begun(mechanism, state, given, frozen, guess is None)
            selection = compiled.selection
        else:
            compiled = build_core(mechanism, frozen=frozen, selection=selection)
            _bring(mechanism, compiled, state, frozen)
        for name in goals:
            # welded joints are not followed on the way
            if mechanism.joints[name].angles:
                state.turned[name] = frozen[name][list(mechanism.joints[name].angles)]
    if start:
        # velocities are those that the joints themselves allow
        state.velocity, state.angular_velocity = velocity
        compiled = build_core(mechanism, frozen={}, selection=selection)
        _close(compiled, state, iterations=0)
        for name in goals:
            if np.abs(state.joint(name).coordinates - goals[name]).max(initial=0.0) > 1e-9:
                gaps = open_joints(compiled, state)
                nearest = np.squeeze(state.joint(name).coordinates)
                raise AssemblyError(
                    f"{mechanism.joints[name].label} cannot reach {np.squeeze(goals[name])}: "
                    + (describe(mechanism, gaps) if gaps else f"the other joints allow {nearest}"),
                    gaps,
                )
    gaps = open_joints(compiled, state)
    if gaps:
        what = f"the mechanism cannot be assembled: {describe(mechanism, gaps)}"
        raise AssemblyError(what + _alone(mechanism, given, gaps), gaps)
    refuse_loop_mismatch(compiled, state)
    warn_of(mechanism, selection)
    return state


def _begun(
    mechanism: Mechanism, state: State, given: State, frozen: Mapping[str, Array], described: bool
) -> tuple[State, Compiled]:
    """A first closed pose: the nearest one, or else, and where joints are wide open, one along a tree of joints.

    What cannot be closed is left as it comes nearest to it. `given` is the same with all bodies as they were given.
    """
    found: list[tuple[State, Compiled]] = []
    velocity = state.velocity, state.angular_velocity
    if not is_wide(mechanism, given):
        selection = select_described_rows(mechanism) if described else select_rows(mechanism, state)
        nearest = build_core(mechanism, frozen=frozen, selection=selection)
        _bring(mechanism, nearest, state, frozen)
        found.append((state, nearest))
        if not open_joints(nearest, state):
            return found[0]
    along = given.copy()
    along.velocity, along.angular_velocity = velocity
    is_closed = close_wide(mechanism, along, frozen)
    selection = select_rows(mechanism, along)
    if not is_closed and selection.loop_mismatch > selection.loop_tolerance:
        # loops that no pose closes say nothing twice
        selection = select_all(mechanism, mechanism.loop_tolerance)
    compiled = build_core(mechanism, frozen=frozen, selection=selection)
    found.append((along.copy(), compiled))
    _bring(mechanism, compiled, along, frozen)
    found.append((along, compiled))
    return min(reversed(found), key=lambda one: _total(open_joints(one[1], one[0])))


def _bring(mechanism: Mechanism, compiled: Compiled, state: State, frozen: Mapping[str, Array]) -> None:
    """Bring a pose onto the enforced rows, with the least motion, and its velocities with it, in place."""
    velocity = state.velocity.copy(), state.angular_velocity.copy()
    if compiled.selection.redundant.any():
        # loops whose directions turn are closed by a walk along the other joints, which must be closed before
        _close(build_core(mechanism, frozen=frozen, selection=compiled.selection.without_redundant()), state)
        state.velocity, state.angular_velocity = velocity
    _close(compiled, state)


def _total(gaps: Mapping[str, tuple[float, float]]) -> float:
    return sum(shift + turn for shift, turn in gaps.values())


def _of(mechanism: Mechanism, guess: State) -> State:
    """A guess for a mechanism: poses and velocities by body name, whatever joints the guess has been made with."""
    rows = []
    for name in mechanism.bodies:
        if name not in guess.mechanism.bodies:
            raise ValueError(f"the guess belongs to another mechanism: it has no body {name!r}")
        rows.append(guess._rows[name])
    joints = mechanism.joints
    turned = {n: a for n, a in guess._angles.items() if n in joints and np.size(a) == len(joints[n].angles)}
    return State(mechanism, *(array[rows] for array in guess._motion), time=guess.time, turned=turned)


def _described(mechanism: Mechanism) -> State:
    """Bodies as they were described, whichever joints are open."""
    bodies = mechanism.bodies.values()
    position = np.reshape([body.position for body in bodies], (-1, 3))
    orientation = np.reshape([body.orientation for body in bodies], (-1, 4))
    return State(mechanism, position, orientation, np.zeros_like(position), np.zeros_like(position))


def is_wide(mechanism: Mechanism, state: State) -> bool:
    """Return whether joints are so far open that the nearest motion may not close them."""
    # what has no loops is compiled with all its rows anyway
    is_tree = not (mechanism.spanning_tree().loops or mechanism.couplings)
    compiled = (
        build_core(mechanism, frozen={}, selection=select_described_rows(mechanism)) if is_tree else all_rows(mechanism)
    )
    gaps, _ = joint_gaps(compiled, state)
    return not ((gaps[:, 0] <= _WIDE * whole_size(state)) & (gaps[:, 1] <= _WIDE)).all()


def _alone(mechanism: Mechanism, state: State, gaps: Mapping[str, tuple[float, float]]) -> str:
    """Which of the open loops cannot be closed even alone, in words."""
    found = open_alone(mechanism, state, list(gaps))
    worst = sorted(found, key=lambda name: -found[name][0] - found[name][1])
    parts = []
    for name in worst[:3]:
        gap, turn, joints = found[name]
        rest = " and ".join(part for part in (_mm(gap), _degrees(turn)) if part)
        movable = "joint" if joints == 1 else f"{joints} joints"
        parts.append(f"{name!r} alone stays open by {rest} at any coordinates of its {movable}")
    more = f", and {len(worst) - 3} more" if len(worst) > 3 else ""
    return f"; {'; '.join(parts)}{more}" if parts else ""


def _mm(length: float) -> str:
    return f"{1e3 * length:.3g} mm" if length > 1e-9 else ""


def _degrees(angle: float) -> str:
    return f"{np.degrees(angle):.3g} degrees" if angle > 1e-9 else ""


def close_nearest(mechanism: Mechanism, selection: RowSelection, state: State) -> State | None:
    """Return the state nearest to another in which all enforced rows are closed, or None."""
    found, compiled = state.copy(), build_core(mechanism, frozen={}, selection=selection)
    _close(compiled, found)
    return None if open_joints(compiled, found) else found


def _close(compiled: Compiled, state: State, iterations: int = _ITERATIONS) -> None:
    """One assembly in place, velocities projected."""
    rates = compiled.signals.rates(state.time)
    counted = compiled.start(compiled.counters, [state])[0]
    compiled.core.assemble(
        iteration_limit=iterations,
        term_start=compiled.start(compiled.terms, [state])[0],
        counted=counted,
        rows=compiled.rows,
        signals=compiled.signals.read(state.time),
        signal_rates=rates,
        position=state.position,
        orientation=state.orientation,
        velocity=state.velocity,
        angular_velocity=state.angular_velocity,
    )
    if iterations:
        state.turned |= compiled.by_joint(counted)


def joint_gaps(compiled: Compiled, state: State) -> tuple[Array, Array]:
    """Return gap (m) and misalignment (rad) of joints and couplings (joint, 2), and the mismatch of redundant ones."""
    mechanism = state.mechanism
    count = mechanism.joint_count + compiled.coupling_count
    gaps, loop_mismatch = (np.zeros((1, count, 2)) for _ in range(2))
    compiled.core.gaps(
        position=state.position,
        orientation=state.orientation,
        term_start=compiled.start(compiled.terms, [state])[0],
        rows=compiled.rows,
        signals=compiled.signals.read(state.time),
        out=gaps,
        loop_mismatch=loop_mismatch,
    )
    own = mechanism.joint_count + len(mechanism.couplings)
    return gaps[0, :own], loop_mismatch[0, :own]


def open_joints(compiled: Compiled, state: State) -> dict[str, tuple[float, float]]:
    """Return gap (m) and misalignment (rad) of every joint and coupling that is not closed, by name."""
    mechanism = state.mechanism
    gaps, _ = joint_gaps(compiled, state)
    # the centers of mass are a part of the mechanism, and sooner measured than all of it
    spread = np.linalg.norm(np.ptp(state.position, axis=0))
    rounding = _ROUNDINGS * np.finfo(float).eps * np.abs(state.position).max(initial=0.0)
    if (gaps[:, 0] <= CLOSED * spread + rounding).all() and (gaps[:, 1] <= CLOSED).all():
        return {}
    # what is not a number is not closed
    wide = ~((gaps[:, 0] <= CLOSED * extent(state) + rounding) & (gaps[:, 1] <= CLOSED))
    names = [*mechanism.joints, *mechanism.couplings]
    return {names[k]: (float(gaps[k, 0]), float(gaps[k, 1])) for k in np.flatnonzero(wide)}


def stands(compiled: Compiled, state: State, fastest: float) -> bool:
    """Return whether a state is valid and closed, and bodies rotate slower than `fastest` (rad/s).

    False means that the detailed checks must follow: those of State, `open_joints`, `refuse_loop_mismatch` and others.
    """
    return bool(stand(compiled, state._alone(), compiled.start(compiled.terms, [state]), fastest)[0])


def stand(
    compiled: Compiled,
    bodies: tuple[Array, ...],
    term_start: Array,
    fastest: float,
    threads: int = 1,
    geometry: MemberGeometry | None = None,
) -> NDArray[np.bool_]:
    """Return the same for many poses (pose,); `bodies` are their positions, orientations, velocities (pose, n, ...)."""
    position, orientation, velocity, angular_velocity = bodies
    found = np.zeros(len(position), dtype=np.int32)
    if compiled.is_plain:
        compiled.core.stands(
            threads=threads,
            position=position,
            orientation=orientation,
            velocity=velocity,
            angular_velocity=angular_velocity,
            term_start=term_start,
            closed=CLOSED,
            roundings=_ROUNDINGS,
            fastest=fastest,
            length=compiled.lengths,
            loop_tolerance=compiled.selection.loop_tolerance,
            out=found,
            geometry=None if geometry is None else geometry.arrays(compiled),
        )
    return found.astype(bool)


def loop_mismatches(compiled: Compiled, state: State) -> Array:
    """Return the mismatch of redundant joints and couplings (joint + coupling,), in rad or relative to their size."""
    _, loop_mismatch = joint_gaps(compiled, state)
    # as a run measures it
    return np.hypot(loop_mismatch[:, 0] / compiled.lengths[: len(loop_mismatch)], loop_mismatch[:, 1])


def refuse_loop_mismatch(compiled: Compiled, state: State) -> None:
    """Raise if redundant joints disagree by more than the mechanism's `loop_tolerance`."""
    loop_tolerance, mechanism = compiled.selection.loop_tolerance, state.mechanism
    if not (compiled.selection.inactive.any() or compiled.selection.inactive_couplings.any()):
        return
    _, loop_mismatch = joint_gaps(compiled, state)
    length = compiled.lengths
    part = loop_mismatches(compiled, state)
    wide = np.flatnonzero(part > loop_tolerance)
    if len(wide) == 0:
        return
    names = [*mechanism.joints, *mechanism.couplings]
    gaps = {names[k]: (float(loop_mismatch[k, 0]), float(loop_mismatch[k, 1])) for k in wide}
    worst = int(part.argmax())
    label = (mechanism.joints.get(names[worst]) or mechanism.couplings[names[worst]]).label
    raise AssemblyError(
        f"{label} contradicts the rest of its loop by {loop_mismatch[worst, 0]:.3g} m, "
        f"{loop_mismatch[worst, 1]:.3g} rad; redundant joints may disagree by {loop_tolerance:g} rad, or relative to "
        f"the size of their bodies ({loop_tolerance * length[worst]:.3g} m here): see loop_tolerance=",
        gaps,
    )


def describe(mechanism: Mechanism, gaps: Mapping[str, tuple[float, float]]) -> str:
    """Return a sentence about the open joints with the largest gaps."""
    worst = sorted(gaps, key=lambda name: -sum(gaps[name]))[:3]
    labels = {name: joint.label for name, joint in mechanism.joints.items()}
    labels |= {name: coupling.label for name, coupling in mechanism.couplings.items()}
    parts = [
        f"{labels[n]} stays open by {gaps[n][0]:.3g} m, {gaps[n][1]:.3g} rad"
        if np.isfinite(gaps[n]).all()
        else f"{labels[n]} has no gap in this pose (a disk that lies flat has no contact point)"
        for n in worst
    ]
    more = f", and {len(gaps) - len(worst)} more" if len(gaps) > len(worst) else ""
    return "; ".join(parts) + more


def _coordinates(mechanism: Mechanism, name: str, value: ArrayLike) -> Array:
    if name not in mechanism.joints:
        raise no_such("joint", name, mechanism, "coordinates: ")
    joint = mechanism.joints[name]
    found = finite(np.reshape(np.asarray(value, dtype=float), -1), (joint.dof,), f"coordinates of {joint.label}")
    doubt_degrees(found[list(joint.angles)], f"{joint.label}: an angle")
    return found
