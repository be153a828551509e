"""The way from a mechanism to the compiled core: names become integers here, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._util.rotation import Array, multiply, rotate
from ..describe.couplings import holds, sum_of
from ..describe.custom import BodyPose, GivenRows, VelocityRows
from ..describe.forces import NUMBERS, Part
from ..describe.joint import FORMS, Joint
from ..describe.limits import joint_stops, law_parts
from ..describe.measures import Measure, angle_measures, closing_costs
from ..describe.signals import Signals
from ..kinematics.unwrap import ByJoint
from .row_selection import RowSelection, body_sizes, select_all
from .shapes import ShapeSet, shape_set

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism
    from ..kinematics.state import State


RowFunction: TypeAlias = Callable[[Array], tuple[Array, Array]]
Ints: TypeAlias = NDArray[np.int32]


class Arguments(TypedDict):
    """What a core is made of; measures are those of laws, then of couplings' terms, then of joint angles."""

    mass: Array
    inertia: Array
    massless: Ints
    gravity: Array
    drag: Array
    joint_kind: Ints
    joint_bodies: Ints
    joint_anchors: Array
    joint_frames: Array
    joint_parameter: Array
    joint_rows: Ints
    joint_cost: Ints
    joint_damping: Array
    joint_signal: Ints
    joint_ground: Ints
    measure_kind: Ints
    measure_bodies: Ints
    measure_anchors: Array
    measure_frames: Array
    law_numbers: Array
    law_target: Ints
    law_force: Ints
    law_joint: Ints
    law_coordinate: Ints
    law_sum: Ints
    coupling_terms: Ints
    term_coefficient: Array
    term_joint: Ints
    coupling_offset: Array
    coupling_signal: Ints
    counter_ground: Ints
    counter_joint: Ints
    signal_count: int
    selection: _core.RowSelectionArrays
    kernel: str


# of whatever is compiled while a plan is carried out that names its kernel
_planned_kernel: ContextVar[str] = ContextVar("planned kernel", default="")


def default_kernel() -> str:
    """The kernel of the plan that is carried out, or that of this machine."""
    return _planned_kernel.get() or machine_kernel()


def machine_kernel() -> str:
    """The best kernel of this machine, or the one the environment variable CATENA_KERNEL names."""
    return os.environ.get("CATENA_KERNEL") or _best_kernel()


@contextmanager
def planned_kernel(name: str) -> Iterator[None]:
    """Let the kernel of a plan be the default, whatever this machine would choose."""
    token = _planned_kernel.set(name)
    try:
        yield
    finally:
        _planned_kernel.reset(token)


# a virtual machine takes its time to say what its processor can do
@cache
def _best_kernel() -> str:
    usable = _core.kernels()
    if not usable:
        raise RuntimeError(
            "this build of catena has no kernel that this processor can run: it was made for a newer one. Install it "
            "on this machine, or with -C cmake.define.CATENA_KERNELS='v1;v3;v4' for all"
        )
    return usable[-1]


@dataclass
class Compiled:
    """What the core is made of, the functions it needs, and what it measures: laws, couplings' terms, joint angles.

    The core itself is made when it is first asked for. `rows` are the user's own, one function for every custom joint:
    poses (14,) of its bodies to gaps (rows,) and gradients (rows, 12).
    """

    arguments: Arguments
    rows: list[RowFunction]
    signals: Signals
    laws: list[Measure]
    terms: list[Measure]
    counters: list[Measure]
    selection: RowSelection
    coupling_count: int
    names: tuple[tuple[str, ...], tuple[str, ...]]  # of bodies and joints
    inputs: dict[str, tuple[int, int]]  # by the name of a force: its law, and which of the law's numbers
    shapes: ShapeSet | None = None  # that collide, and the law of the first of their contacts
    first_shape_law: int = 0
    loose_in_tree: list[str] | None = None  # massless bodies that the joint-space solver cannot hold, once looked for

    @cached_property
    def input_places(self) -> Ints:
        """Law and number (input, 2) of every input."""
        return _ints(k for place in self.inputs.values() for k in place).reshape(-1, 2)

    @cached_property
    def digest(self) -> str:
        """Of all numbers that the core was made of, by which it is known again in another process."""
        found = sha256(repr(self.names).encode())
        for name, value in (*self.arguments.items(), *vars(self.selection).items()):
            if name not in ("selection", "kernel"):
                found.update(f"{name}:{value.tobytes().hex() if isinstance(value, np.ndarray) else value!r};".encode())
        if self.shapes is not None:
            found.update(self.shapes.digest)
        return found.hexdigest()

    @cached_property
    def core(self) -> _core.Core:
        """The core."""
        core = _core.Core(**self.arguments)
        if self.shapes is not None:
            self.shapes.furnish(core, self.first_shape_law)
        return core

    @property
    def work(self) -> dict[str, float]:
        """Estimated multiplications of one Newton iteration by solver."""
        return {"articulated": self.core.articulated_work, "ldu": self.core.ldu_work}

    @property
    def solver(self) -> str:
        """The one with the least estimated work of those that can take it."""
        work = self.work
        if self.loose_in_tree:
            return "ldu"
        return "articulated" if self.selection.turning else min(work, key=lambda name: work[name])

    @cached_property
    def counter_places(self) -> dict[str, slice]:
        """Where the counters of every joint stand."""
        places: dict[str, slice] = {}
        for place, measure in enumerate(self.counters):
            first = places[measure.joint].start if measure.joint in places else place
            places[measure.joint] = slice(first, place + 1)
        return places

    def by_joint(self, counted: Array) -> ByJoint:
        """Counted angles (..., counter) by joint name."""
        return ByJoint(counted, self.counter_places)

    def near(self, places: Mapping[str, slice], coordinates: Array) -> ByJoint:
        """Angles near which turns are counted where joints have coordinates (..., coordinate), by joint name."""
        columns = [places[measure.joint].start + measure.index for measure in self.counters]
        return self.by_joint(coordinates[..., columns])

    def start(self, measures: list[Measure], states: Sequence[State]) -> Array:
        """Angles near which the turns of measures are counted (state, measure); zero for what has no turns."""
        if not measures:
            return np.zeros((len(states), 0))
        return self._started(measures, states, self._counted(states))

    def starts(self, states: Sequence[State]) -> dict[str, Array]:
        """The same of all measures, by the name of the core's arrays."""
        counted = self._counted(states)
        return {name: self._started(measures, states, counted) for name, measures in self._measures.items()}

    def starts_resumed(self, state: State) -> dict[str, Array]:
        """The same where a checkpoint has all but the counted angles."""
        return self._nothing | {"counter_start": self._counted([state])[:, :-1]}

    @cached_property
    def _nothing(self) -> dict[str, Array]:
        return {"law_start": np.zeros((1, len(self.laws))), "term_start": np.zeros((1, len(self.terms)))}

    @cached_property
    def is_plain(self) -> bool:
        """Whether the core alone can tell that a state holds: no massless bodies, or screws."""
        return not self.arguments["massless"].any() and not any(screws for _, screws in self._turns.values())

    @cached_property
    def lengths(self) -> Array:
        """What gaps of joints and couplings (joint + coupling,) are measured by where they are redundant (m, or 1)."""
        return np.concatenate((self.selection.length, np.ones(self.coupling_count)))

    @property
    def _measures(self) -> dict[str, list[Measure]]:
        return {"law_start": self.laws, "term_start": self.terms, "counter_start": self.counters}

    @cached_property
    def _turns(self) -> dict[int, tuple[NDArray[np.intp], list[tuple[int, Measure]]]]:
        """Of each list of measures: their counters, behind which is one for what has no turns; measures of screws."""
        counters = {(measure.joint, measure.index): k for k, measure in enumerate(self.counters)}
        found = {}
        for measures in self._measures.values():
            own = [counters.get((m.joint, m.index), -1) if m.is_angle else -1 for m in measures]
            screws = [(k, m) for k, m in enumerate(measures) if m.is_angle and own[k] < 0]
            found[id(measures)] = np.array(own, dtype=np.intp), screws
        return found

    def _counted(self, states: Sequence[State]) -> Array:
        counted = np.zeros((len(states), len(self.counters) + 1))
        for row, state in zip(counted, states, strict=True):
            state._count_into(row, self.counter_places)
        return counted

    def _started(self, measures: list[Measure], states: Sequence[State], counted: Array) -> Array:
        counter, screws = self._turns[id(measures)]
        result: Array = counted[:, counter] if measures else np.zeros((len(states), 0))
        for k, measure in screws:
            # their displacement tells the turns
            result[:, k] = [state.joint(measure.joint).coordinates[measure.index] for state in states]
        return result

    def starts_at(self, places: Mapping[str, slice], coordinates: Array) -> dict[str, Array]:
        """The same where joints have coordinates (state, coordinate)."""
        found = {}
        for name, measures in self._measures.items():
            column = found[name] = np.zeros((len(coordinates), len(measures)))
            for k, measure in enumerate(measures):
                if measure.is_angle:
                    column[:, k] = coordinates[:, places[measure.joint].start + measure.index]
        return found


def start_arrays(compiled: Compiled, states: Sequence[State], *, resumes: bool = False) -> dict[str, Array]:
    """States and what is measured in them, with the axis (state) in front: what a _core.Start is made of.

    Of a single one that `resumes`, all that forces and couplings measure is in its checkpoint.
    """
    if len(states) == 1:
        position, orientation, velocity, spin = states[0]._alone()
    else:
        position, orientation, velocity, spin = (
            np.array([getattr(state, name) for state in states])
            for name in ("position", "orientation", "velocity", "angular_velocity")
        )
    bodies = {"position": position, "orientation": orientation, "velocity": velocity, "angular_velocity": spin}
    return bodies | (compiled.starts_resumed(states[0]) if resumes else compiled.starts(states))


def all_rows(mechanism: Mechanism) -> Compiled:
    """Compile all rows of all joints, whatever they say twice, and nothing else, once.

    Bodies have a turning inertia of one, and the mass that makes a shift by their size as hard as a turn by 1 rad.
    """
    mechanism, kernel = mechanism.snapshot(), default_kernel()
    key, kept = (kernel, "all rows"), mechanism._known.compiled
    if key not in kept:
        selection, sizes = select_all(mechanism, mechanism.loop_tolerance), body_sizes(mechanism)
        kept[key] = compile_rows(mechanism, kernel=kernel, frozen={}, selection=selection, sizes=sizes)
    return kept[key]


def compile_rows(
    mechanism: Mechanism,
    *,
    kernel: str,
    frozen: Mapping[str, Array] | None,
    selection: RowSelection,
    sizes: Array | None = None,
) -> Compiled:
    """Compile a mechanism with the selected rows; `frozen` as in `build_core`, `sizes` as in `all_rows`."""
    rows = {name: row for row, name in enumerate(mechanism.bodies)} | {mechanism.world.name: -1}
    bodies, joints = list(mechanism.bodies.values()), list(mechanism.joints.values())
    places = {name: k for k, name in enumerate(mechanism.joints)}
    signals = Signals()
    parts = [] if frozen is not None else law_parts(mechanism)
    drag = np.zeros((0, 6)) if frozen is not None else _drag(mechanism)
    damping = np.zeros(len(joints)) if frozen is not None else _rotary(mechanism)
    couplings = list(mechanism.couplings.values())
    # a closing joint of which only some rows are enforced keeps them, and its coordinates are held besides
    frozen = frozen or {}
    held = [joints[k] for k in np.flatnonzero(selection.rows >= 0) if joints[k].names and joints[k].name in frozen]
    couplings += [hold for joint in held for hold in holds(joint, frozen[joint.name])]
    frozen = {name: value for name, value in frozen.items() if name not in {joint.name for joint in held}}
    # sums that laws bound come last
    sums = {k: len(couplings) + place for place, k in enumerate(k for k, part in enumerate(parts) if part.terms)}
    couplings += [sum_of(parts[k].terms) for k in sums]
    laws = [part.measure for part in parts]
    terms = [term.measure for coupling in couplings for term in coupling.terms]
    counters = [measure for joint in joints for measure in angle_measures(joint)]
    measures = [*laws, *terms, *counters]
    _refuse_moving_ground(mechanism)
    grounds = {joint.name: _ground(joint, signals) for joint in joints}
    welds = [_welded(joint, frozen.get(joint.name)) for joint in joints]
    arguments = Arguments(
        mass=np.array([body.inertia.mass for body in bodies]) if sizes is None else 1 / sizes**2,
        inertia=np.reshape([np.eye(3) if sizes is not None else body.inertia.tensor for body in bodies], (-1, 3, 3)),
        massless=_ints(body.mass == 0 for body in bodies),
        gravity=np.array([mechanism.gravity if body.has_gravity else np.zeros(3) for body in bodies]).reshape(-1, 3),
        drag=drag,
        joint_kind=_ints(FORMS["fixed" if joint.name in frozen else joint.code].code for joint in joints),
        joint_bodies=_ints(rows[body.name] for joint in joints for body in (joint.a, joint.b)).reshape(-1, 2),
        joint_anchors=np.array([anchors for anchors, _ in welds], dtype=float).reshape(-1, 2, 3),
        joint_frames=np.array([frames for _, frames in welds], dtype=float).reshape(-1, 2, 4),
        joint_parameter=np.array([joint.parameter for joint in joints], dtype=float),
        joint_rows=_ints(joint.row_count for joint in joints),
        joint_cost=_ints(closing_costs(mechanism).values()),
        joint_damping=damping,
        joint_signal=_ints(_signal(joint, signals) for joint in joints),
        joint_ground=_ints(grounds.values()),
        measure_kind=_ints(FORMS[m.code].code for m in measures),
        measure_bodies=_ints(rows[name] for m in measures for name in (m.a, m.b)).reshape(-1, 2),
        measure_anchors=np.array([m.anchors for m in measures], dtype=float).reshape(-1, 2, 3),
        measure_frames=np.array([m.frames for m in measures], dtype=float).reshape(-1, 2, 4),
        law_numbers=np.array([[part.law[key] for key in NUMBERS] for part in parts], dtype=float).reshape(
            -1, len(NUMBERS)
        ),
        law_target=_ints(_function(part, "target", signals) for part in parts),
        law_force=_ints(_function(part, "effort", signals) for part in parts),
        law_joint=_ints(-1 if part.terms else places.get(part.measure.joint, -1) for part in parts),
        law_coordinate=_ints(m.index if m.joint else -1 for m in laws),
        law_sum=_ints(sums.get(k, -1) for k in range(len(parts))),
        coupling_terms=_ints(len(coupling.terms) for coupling in couplings),
        term_coefficient=np.array([term.coefficient for c in couplings for term in c.terms], dtype=float),
        # where rows are examined every coupling is one
        term_joint=_ints(-1 if sizes is not None else places.get(m.joint, -1) for m in terms),
        coupling_offset=np.array([coupling.offset for coupling in couplings], dtype=float),
        coupling_signal=_ints(-1 if c.function is None else signals.add(c.label, c.function) for c in couplings),
        counter_ground=_ints(grounds[m.joint] for m in counters),
        counter_joint=_ints(places[m.joint] for m in counters),
        signal_count=signals.count,
        selection=selection.arrays(len(couplings)),
        kernel=kernel,
    )
    # a joint that is welded has no rows of its own
    given = [_row_function(joint) for joint in joints if isinstance(joint, GivenRows) and joint.name not in frozen]
    names, inputs = (tuple(mechanism.bodies), tuple(mechanism.joints)), _inputs(mechanism, parts)
    touching = sum(contact.slots for contact in mechanism.shape_contacts) if parts else 0
    shapes = shape_set(mechanism) if touching else None
    return Compiled(
        *(arguments, given, signals, laws, terms, counters, selection, len(couplings), names, inputs),
        *(shapes, len(parts) - touching),
    )


def _drag(mechanism: Mechanism) -> Array:
    """All resistances on every body (body, 6); none at all if there are none."""
    found = [(r.body, r.numbers) for force in mechanism.forces.values() for r in force._resistances]
    # the world does not turn: a damper to it is drag
    for joint, damping in _rotaries(mechanism):
        if joint.a.is_world or joint.b.is_world:
            found.append(((joint.b if joint.a.is_world else joint.a).name, np.repeat((0.0, damping), 3)))
    drag, rows = np.zeros((mechanism.body_count if found else 0, 6)), mechanism.rows()
    for body, numbers in found:
        drag[rows[body]] += numbers
    return drag


def _rotary(mechanism: Mechanism) -> Array:
    """Against turns of the two bodies of every joint (joint,), neither of which is the world."""
    total = dict.fromkeys(mechanism.joints, 0.0)
    for joint, damping in _rotaries(mechanism):
        if not joint.a.is_world and not joint.b.is_world:
            total[joint.name] += damping
    return np.array(list(total.values()), dtype=float)


def _rotaries(mechanism: Mechanism) -> list[tuple[Joint, float]]:
    found = [rotary for force in mechanism.forces.values() for rotary in force._rotaries]
    return [(mechanism.joints[rotary.joint], rotary.damping) for rotary in found]


def _inputs(mechanism: Mechanism, parts: list[Part]) -> dict[str, tuple[int, int]]:
    numbers = list(NUMBERS)
    places = {id(part): k for k, part in enumerate(parts)}
    return {
        name: (places[id(force.parts[0])], numbers.index(force.input))
        for name, force in mechanism.forces.items()
        if force.input and parts
    }


def _refuse_moving_ground(mechanism: Mechanism) -> None:
    """Forces and couplings measure against the world that stands still."""
    measured = [(f.label, m.joint) for f in mechanism.forces.values() for part in f.parts for m in part.measures]
    measured += [(f.label, rotary.joint) for f in mechanism.forces.values() for rotary in f._rotaries]
    measured += [(c.label, term.measure.joint) for c in mechanism.couplings.values() for term in c.terms]
    measured += [(f"limits of {name!r}", joint.name) for joint, name, _ in joint_stops(mechanism)]
    for label, joint in measured:
        if joint and mechanism.joints[joint].ground is not None:
            raise ValueError(
                f"{label}: {mechanism.joints[joint].label} has a moving ground; forces, couplings and limits need "
                "ground at rest"
            )


def _ints(numbers: Iterable[int]) -> Ints:
    return np.array(list(numbers), dtype=np.int32)


def _welded(joint: Joint, coordinates: Array | None) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Anchors and frames of a joint, or of the weld that sits where its frame b is at the given coordinates."""
    anchor, frame = joint.anchor_a, joint.frame_a
    if coordinates is not None:
        translation, turn = joint.relative(coordinates)
        anchor, frame = anchor + rotate(frame, translation), multiply(frame, turn)
    return (anchor, joint.anchor_b), (frame, joint.frame_b)


def _signal(joint: Joint, signals: Signals) -> int:
    """Where the values of velocity rows begin."""
    return signals.add(joint.label, joint.value, joint.row_count) if isinstance(joint, VelocityRows) else -1


def _ground(joint: Joint, signals: Signals) -> int:
    """Where the pose of moving ground begins."""
    if joint.ground is None:
        return -1
    label, pose = f"the ground of {joint.label}", lambda t: np.concatenate(joint.ground_pose(t))
    return signals.add(label, pose, 7, joint.ground_rate)


def _function(part: Part, key: str, signals: Signals) -> int:
    """Where the function of time is that stands in place of a law's number."""
    function = part.functions.get(key)
    return -1 if function is None else signals.add(f"{key} of joint {part.measure.joint!r}", function)


def _row_function(joint: GivenRows) -> RowFunction:
    def call(poses: Array) -> tuple[Array, Array]:
        return joint._gap_and_gradient(BodyPose(poses[:3], poses[3:7]), BodyPose(poses[7:10], poses[10:]))

    return call
