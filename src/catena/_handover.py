"""The way from a mechanism to the compiled core: names become integers here, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import _core
from ._rotation import Array, multiply, rotate
from .couplings import holds
from .custom import BodyPose, GivenRows, VelocityRows
from .joints import FORMS, Joint
from .laws import LAW, Part
from .measures import Measure, angle_measures
from .redundancy import Asked, body_sizes, described_asked, everything
from .signals import Signals

if TYPE_CHECKING:
    from .mechanism import Mechanism
    from .state import State


RowFunction: TypeAlias = Callable[[Array], tuple[Array, Array]]


def default_kernel() -> str:
    """The best kernel of this machine, or the one the environment variable CATENA_KERNEL names."""
    usable = _core.kernels()
    if not usable:
        raise RuntimeError("this build of catena has no kernel that this processor can run")
    return os.environ.get("CATENA_KERNEL") or usable[-1]


@dataclass
class Compiled:
    """What the core is made of, the functions it needs, and what it measures: laws, couplings' terms, joint angles.

    The core itself is made when it is first asked for. `rows` are the user's own, one function for every custom joint:
    poses (14,) of its bodies to gaps (rows,) and gradients (rows, 12).
    """

    arguments: dict[str, Any]
    rows: list[RowFunction]
    signals: Signals
    laws: list[Measure]
    terms: list[Measure]
    counters: list[Measure]
    asked: Asked
    coupling_count: int

    @cached_property
    def core(self) -> _core.Core:
        """The core."""
        return _core.Core(**self.arguments)

    @property
    def work(self) -> dict[str, float]:
        """Estimated multiplications of one Newton iteration by solver."""
        return {"articulated": self.core.articulated_work, "ldu": self.core.ldu_work}

    @property
    def solver(self) -> str:
        """The one with the least estimated work of those that can take it."""
        work = self.work
        return "articulated" if self.asked.turning else min(work, key=lambda name: work[name])

    @staticmethod
    def start(measures: list[Measure], states: Sequence[State]) -> Array:
        """Angles near which the turns of measures are counted (state, measure); zero for what has no turns."""
        result = np.zeros((len(states), len(measures)))
        for k, measure in enumerate(measures):
            if not measure.is_angle:
                continue
            joint = states[0].mechanism.joints[measure.joint]
            for row, state in zip(result, states, strict=True):
                if not joint.angles:
                    # a screw's displacement tells its turns
                    row[k] = state.joint(joint.name).coordinates[measure.index]
                elif joint.name in state.turned:
                    row[k] = state.turned[joint.name][joint.angles.index(measure.index)]
        return result


def start_arrays(compiled: Compiled, states: Sequence[State], counters: list[Measure]) -> Any:
    """States and what is measured in them, as the core takes them, with the axis (state) in front."""
    names = ("position", "orientation", "velocity", "angular_velocity")
    bodies = [np.array([getattr(state, name) for state in states]) for name in names]
    return (*bodies, *(compiled.start(measures, states) for measures in (compiled.laws, compiled.terms, counters)))


def build_core(
    mechanism: Mechanism,
    *,
    kernel: str | None = None,
    frozen: Mapping[str, Array] | None = None,
    asked: Asked | None = None,
) -> Compiled:
    """Compile a mechanism; joints in `frozen` are welded at the given coordinates (dof,), and forces left out.

    `asked` says which rows of loops to ask for, by default those that are found around the described pose: these, and
    nothing welded, are compiled once.
    """
    mechanism = mechanism.snapshot()
    if asked is None:
        asked = described_asked(mechanism)
    kernel = kernel or default_kernel()
    key = kernel, "joints" if frozen is not None or not mechanism.forces else "joints and forces"
    kept = mechanism._known.compiled if not frozen and asked is mechanism._known.asked else {}
    if key not in kept:
        kept[key] = _compile(mechanism, kernel=kernel, frozen=frozen, asked=asked)
    return kept[key]


def all_rows(mechanism: Mechanism) -> Compiled:
    """Compile all rows of all joints, whatever they say twice, and nothing else, once.

    Bodies have a turning inertia of one, and the mass that makes a shift by their size as hard as a turn by 1 rad.
    """
    mechanism, kernel = mechanism.snapshot(), default_kernel()
    key, kept = (kernel, "all rows"), mechanism._known.compiled
    if key not in kept:
        asked, sizes = everything(mechanism, mechanism.fit), body_sizes(mechanism)
        kept[key] = _compile(mechanism, kernel=kernel, frozen={}, asked=asked, sizes=sizes)
    return kept[key]


def _compile(
    mechanism: Mechanism,
    *,
    kernel: str,
    frozen: Mapping[str, Array] | None,
    asked: Asked,
    sizes: Array | None = None,
) -> Compiled:
    rows = {name: row for row, name in enumerate(mechanism.bodies)} | {mechanism.world.name: -1}
    bodies, joints = list(mechanism.bodies.values()), list(mechanism.joints.values())
    places = {name: k for k, name in enumerate(mechanism.joints)}
    signals = Signals()
    parts = [] if frozen is not None else [part for force in mechanism.forces.values() for part in force.parts]
    couplings = list(mechanism.couplings.values())
    # a closing joint of which only some rows are asked keeps them, and its coordinates are held besides
    held = [joints[k] for k in np.flatnonzero(asked.rows >= 0) if joints[k].names and joints[k].name in (frozen or {})]
    couplings += [hold for joint in held for hold in holds(joint, (frozen or {})[joint.name])]
    frozen = {name: value for name, value in (frozen or {}).items() if name not in {joint.name for joint in held}}
    laws = [part.measure for part in parts]
    terms = [term.measure for coupling in couplings for term in coupling.terms]
    counters = [measure for joint in joints for measure in angle_measures(joint)]
    _refuse_moving_ground(mechanism)
    extras = {joint.name: _extras(joint, signals) for joint in joints}
    arguments = dict(
        mass=np.array([body.inertia.mass for body in bodies]) if sizes is None else 1 / sizes**2,
        inertia=np.reshape([np.eye(3) if sizes is not None else body.inertia.tensor for body in bodies], (-1, 3, 3)),
        gravity=np.array([mechanism.gravity if body.has_gravity else np.zeros(3) for body in bodies]).reshape(-1, 3),
        joints=_joint_pairs(joints, rows, frozen),
        joint_extras=np.array(list(extras.values()), dtype=np.int32).reshape(-1, 3),
        measures=_pairs(
            [FORMS[m.code].code for m in (*laws, *terms, *counters)],
            [(rows[m.a], rows[m.b]) for m in (*laws, *terms, *counters)],
            [m.anchors for m in (*laws, *terms, *counters)],
            [m.frames for m in (*laws, *terms, *counters)],
            [0.0] * (len(laws) + len(terms) + len(counters)),
        ),
        laws=np.reshape([[part.law[key] for key in LAW] for part in parts], (-1, len(LAW))).astype(float),
        law_extras=np.array([_law_extras(part, signals, places) for part in parts], dtype=np.int32).reshape(-1, 4),
        coupling_terms=np.array([len(coupling.terms) for coupling in couplings], dtype=np.int32),
        coefficients=np.array([term.coefficient for coupling in couplings for term in coupling.terms], dtype=float),
        offsets=np.array([coupling.offset for coupling in couplings], dtype=float),
        coupling_signals=np.array(
            [-1 if c.function is None else signals.add(c.label, c.function) for c in couplings], dtype=np.int32
        ),
        counter_grounds=np.array([extras[measure.joint][2] for measure in counters], dtype=np.int32),
        signal_count=signals.count,
        asked=asked.arrays(len(couplings)),
        kernel=kernel,
    )
    # a joint that is welded has no rows of its own
    given = [_row_function(joint) for joint in joints if isinstance(joint, GivenRows) and joint.name not in frozen]
    return Compiled(arguments, given, signals, laws, terms, counters, asked, len(couplings))


def _refuse_moving_ground(mechanism: Mechanism) -> None:
    """Forces and couplings measure against the world that stands still."""
    measured = [(f.label, part.measure) for f in mechanism.forces.values() for part in f.parts]
    measured += [(c.label, term.measure) for c in mechanism.couplings.values() for term in c.terms]
    for label, measure in measured:
        if measure.joint and mechanism.joints[measure.joint].ground is not None:
            raise ValueError(f"{label}: {mechanism.joints[measure.joint].label} stands on moving ground")


def _pairs(
    kind: Sequence[int],
    bodies: Sequence[tuple[int, int]],
    anchors: Sequence[Array],
    frames: Sequence[Array],
    parameters: Sequence[float],
) -> Any:
    return (
        np.array(kind, dtype=np.int32),
        np.array(bodies, dtype=np.int32).reshape(-1, 2),
        np.reshape(np.array(anchors, dtype=float), (-1, 2, 3)),
        np.reshape(np.array(frames, dtype=float), (-1, 2, 4)),
        np.array(parameters, dtype=float),
    )


def _joint_pairs(joints: list[Joint], rows: dict[str, int], frozen: Mapping[str, Array]) -> Any:
    kind = [FORMS[joint.code].code for joint in joints]
    anchors = [np.array((joint.anchor_a, joint.anchor_b)) for joint in joints]
    frames = [np.array((joint.frame_a, joint.frame_b)) for joint in joints]
    for k, joint in enumerate(joints):
        if joint.name in frozen:
            # the weld sits where the joint's frame b is at these coordinates
            translation, turn = joint.relative(frozen[joint.name])
            anchors[k][0] += rotate(joint.frame_a, translation)
            frames[k][0] = multiply(joint.frame_a, turn)
            kind[k] = FORMS["fixed"].code
    bodies = [(rows[joint.a.name], rows[joint.b.name]) for joint in joints]
    return _pairs(kind, bodies, anchors, frames, [joint.parameter for joint in joints])


def _extras(joint: Joint, signals: Signals) -> tuple[int, int, int]:
    """Rows of a custom joint, its first signal, and that of moving ground."""
    signal = signals.add(joint.label, joint.value, joint.row_count) if isinstance(joint, VelocityRows) else -1
    ground = -1
    if joint.ground is not None:
        label, pose = f"the ground of {joint.label}", lambda t: np.concatenate(joint.ground_pose(t))
        ground = signals.add(label, pose, 7, joint.ground_rate)
    return joint.row_count, signal, ground


def _law_extras(part: Part, signals: Signals, joints: Mapping[str, int]) -> tuple[int, int, int, int]:
    """Signals of target and force; joint and coordinate that are measured."""

    def place(key: str) -> int:
        function = part.functions.get(key)
        return -1 if function is None else signals.add(f"{key} of joint {part.measure.joint!r}", function)

    measure = part.measure
    return place("target"), place("force"), joints.get(measure.joint, -1), measure.index if measure.joint else -1


def _row_function(joint: GivenRows) -> RowFunction:
    def call(poses: Array) -> tuple[Array, Array]:
        return joint.gap_and_gradient(BodyPose(poses[:3], poses[3:7]), BodyPose(poses[7:10], poses[10:]))

    return call
