"""Derived quantities of a finished run: energy, momentum, gaps, reactions.

The first axis of arrays is `step`. Functions that concern a whole mechanism take the Trajectory. Velocities are those
at the nodes (see `Trajectory`), so energies and momenta combine positions and velocities of the same time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._util.rotation import Array, conjugate, cross, rotate
from ..assemble.core import build_core
from ..assemble.redundancy import select_described_rows
from ..describe.custom import VelocityRows
from ..describe.forces import WORKING
from ..describe.limits import stops_of
from ..kinematics.geometry import extent, gaps, measure_rows, poses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..describe.couplings import Coupling
    from ..describe.measures import Measure
    from ..describe.mechanism import Mechanism
    from ..kinematics.member_geometry import MemberGeometry
    from .trajectory import Trajectory


# what joints of exact numbers disagree by, at most (parts of the mechanism's size, rad)
_ROUNDING = 1e-9


def masses(mechanism: Mechanism) -> Array:
    """Mass of every body (n,) in kg."""
    return np.array([body.inertia.mass for body in mechanism.bodies.values()])


def body_momenta(run: Trajectory) -> tuple[Array, Array]:
    """Linear momentum (step, n, 3), and angular momentum about each center of mass (step, n, 3), world frame."""
    tensors = np.reshape([body.inertia.tensor for body in run.mechanism.bodies.values()], (-1, 3, 3))
    local = rotate(conjugate(run.orientation), run.angular_velocity)
    spin = rotate(run.orientation, np.einsum("nij,snj->sni", tensors, local))
    return masses(run.mechanism)[:, None] * run.velocity, spin


def kinetic_energy(run: Trajectory) -> Array:
    """Kinetic energy (step,) in J, including rotors."""
    linear, spin = body_momenta(run)
    twice: Array = np.einsum("sni,sni->s", linear, run.velocity) + np.einsum("sni,sni->s", spin, run.angular_velocity)
    for force in run.mechanism.forces.values():
        for part in force.parts:
            if part.law["inertia"] > 0:
                twice = twice + part.law["inertia"] * measured_rate(run, part.measure) ** 2
    return 0.5 * twice


def potential_energy(run: Trajectory) -> Array:
    """Potential energy of gravity, zero at the origin, and of springs (step,) in J."""
    heavy = [body.has_gravity for body in run.mechanism.bodies.values()]
    energy: Array = -np.einsum("n,sni,i->s", masses(run.mechanism) * heavy, run.position, run.mechanism.gravity)
    for force in run.mechanism.forces.values():
        for part in force.parts:
            if part.law["stiffness"] > 0:
                longer = measured(run, part.measure) - part.law["rest_length"]
                slack = part.law["side"] * longer < 0
                energy = energy + 0.5 * part.law["stiffness"] * np.where(slack, 0.0, longer) ** 2
    return energy


def measured(run: Trajectory, measure: Measure) -> Array:
    """Measure of a force or coupling (step,): angle (rad, including full turns), displacement or distance (m)."""
    gap = measure_rows(run, measure)[0][:, 0]
    if measure.is_angle:
        joint = run.mechanism.joints[measure.joint]
        # a screw has no angles to count: its displacement tells the turns
        if joint.angles:
            recent = run.counted(measure.joint)[:, joint.angles.index(measure.index)]
        else:
            recent = run.joint(measure.joint).coordinates[:, measure.index]
        gap = gap + 2 * np.pi * np.round((recent - gap) / (2 * np.pi))
    return gap


def measured_rate(run: Trajectory, measure: Measure) -> Array:
    """Rate (step,) of a measure."""
    _, wrench, point = measure_rows(run, measure)
    total = np.zeros(len(run))
    for sign, name in ((-1.0, measure.a), (1.0, measure.b)):
        if name == run.mechanism.world.name:
            continue
        body = run.body(name)
        velocity = body.velocity + cross(body.angular_velocity, point - body.position)
        total += sign * np.sum(wrench[:, 0, :3] * velocity + wrench[:, 0, 3:] * body.angular_velocity, axis=1)
    return total


class JointSpace:
    """Joint coordinates and rates as arrays, for objects with recorded bodies."""

    @property
    def coordinates(self) -> Array:
        """Joint coordinates (..., step, coordinate) by `mechanism.coordinates`; rad, including full turns, or m."""
        return self._joint_motion()[0]

    @property
    def rates(self) -> Array:
        """Joint rates (..., step, coordinate) by `mechanism.coordinates`; rad/s or m/s."""
        return self._joint_motion()[1]

    def _joint_motion(self) -> tuple[Array, Array]:
        raise NotImplementedError


def joint_motion(
    mechanism: Mechanism,
    time: Array,
    bodies: tuple[Array, Array, Array, Array],
    near: Mapping[str, Array],
    geometry: MemberGeometry | None = None,
) -> tuple[Array, Array]:
    """Coordinates and rates (step, coordinate) of all joints, in the order of mechanism.coordinates.

    `bodies` are positions, orientations, velocities and angular velocities (step, n, ...). `near` contains angles
    (step, k) by joint; full turns are counted relative to them. With members' own geometry there are as many steps of
    each in turn.
    """
    compiled = build_core(mechanism)
    counted = np.zeros((len(time), len(compiled.counters)))
    for name, place in compiled.counter_places.items():
        if name in near:
            counted[:, place] = near[name]
    signals, signal_rates = compiled.signals.over(time)
    position, orientation, velocity, spin = (np.ascontiguousarray(array) for array in bodies)
    coordinates, rates = (np.empty((len(time), compiled.core.coordinate_count)) for _ in range(2))
    compiled.core.coordinates(
        position=position,
        orientation=orientation,
        velocity=velocity,
        angular_velocity=spin,
        counted=counted,
        signals=signals,
        signal_rates=signal_rates,
        coordinates=coordinates,
        rates=rates,
        geometry=None if geometry is None else geometry.arrays(compiled),
    )
    return coordinates, rates


def energy(run: Trajectory) -> Array:
    """Kinetic plus potential energy (step,) in J."""
    return kinetic_energy(run) + potential_energy(run)


def energy_error(kinetic: Array, potential: Array) -> Array:
    """See Trajectory.energy_error; it is computed from the energies (step,) alone."""
    total = kinetic + potential
    error: Array = np.abs(total - total[:1])
    moving = np.maximum(kinetic, np.abs(potential - potential[:1]))
    fair = error < 0.5 * moving
    if not fair.any():
        fair[:] = True
    # where all that moves is fed in, only nodes that stand still are fair
    for nodes in (fair, slice(None)):
        scale = moving[nodes].max(initial=0.0)
        rounding = np.finfo(float).eps * np.abs(total[nodes]).max(initial=0.0)
        if scale > 1e3 * rounding:
            error /= scale
            return error
    return np.zeros(len(total))


def keeps_energy(run: Trajectory) -> bool:
    """Whether no recorded element supplies or dissipates energy, so that every change of the energy is an error.

    Gravity, springs and rotors conserve energy, and so do hard limits unless impacts have taken some, or, of a single
    node, could. Series of poses that no run computed do not. The effect of run(loads=) is not recorded.
    """
    m = run.mechanism
    is_led = any(coupling.function is not None for coupling in m.couplings.values()) or any(
        joint.ground is not None or (isinstance(joint, VelocityRows) and joint._is_led) for joint in m.joints.values()
    )
    was_told = any(given is not None and given.any() for given in (run.control, run.inputs))
    parts = [part for force in m.forces.values() for part in force.parts]
    is_slowed = any(force.slows for force in m.forces.values())
    # poses that inverse kinematics or a mode put in a row
    is_no_run = len(run) > 1 and not run.made.iterations.size
    return not (
        is_led
        or is_no_run
        or was_told
        or is_slowed
        or _limits_take_energy(run)
        or any(part.functions or any(part.law[key] for key in WORKING) for part in parts)
    )


def _limits_take_energy(run: Trajectory) -> bool:
    stops = [stop.limits for stop in stops_of(run.mechanism)]
    if len(run) < 2:
        return any(not limits.hard or limits.restitution < 1 for limits in stops)
    if any(not limits.hard for limits in stops) or run.made.impacts is None:
        return True
    lost = abs(sum(impact.loss for impact in run.impacts))
    return lost > 1e-9 * float(run.kinetic_energy().max())


def momentum(run: Trajectory) -> Array:
    """Linear momentum (step, 3) in kg m/s."""
    total: Array = body_momenta(run)[0].sum(axis=1)
    return total


def angular_momentum(run: Trajectory, about: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Array:
    """Angular momentum (step, 3) about a fixed world point, in kg m^2/s."""
    linear, spin = body_momenta(run)
    total: Array = (spin + cross(run.position - np.asarray(about, dtype=float), linear)).sum(axis=1)
    return total


def active_gaps(run: Trajectory) -> tuple[Array, Array, NDArray[np.bool_]] | None:
    """Gaps (step, joint, 2) in m and rad of the enforced rows, of the redundant rows, and which joints have the latter.

    None if no joint of the mechanism is redundant.
    """
    mechanism = run.mechanism
    if not mechanism.spanning_tree().loops:
        return None
    selection = run.made.selection or select_described_rows(mechanism)
    if not selection.inactive.any():
        return None
    compiled = build_core(mechanism, selection=selection)
    count = mechanism.joint_count + len(mechanism.couplings)
    gap, loop_mismatch = np.empty((len(run), count, 2)), np.empty((len(run), count, 2))
    compiled.core.gaps(
        position=np.ascontiguousarray(run.position),
        orientation=np.ascontiguousarray(run.orientation),
        term_start=np.zeros(len(compiled.terms)),
        rows=compiled.rows,
        # redundant joints do not depend on time
        signals=np.zeros(compiled.signals.count),
        out=gap,
        loop_mismatch=loop_mismatch,
    )
    joints = mechanism.joint_count
    return gap[:, :joints], loop_mismatch[:, :joints], selection.inactive > 0


def loop_mismatch(run: Trajectory) -> Array:
    """Disagreement of redundant joints (step, joint, 2), in m and rad; zero for the others."""
    enforced = active_gaps(run)
    return np.zeros((len(run), run.mechanism.joint_count, 2)) if enforced is None else enforced[1]


def loop_mismatch_sentence(run: Trajectory) -> str:
    """Message about loops whose joints disagree at the last node by more than rounding; empty if none do."""
    if not len(run) or not run.mechanism.joints:
        return ""
    found = loop_mismatch(run[-1:])[0]
    worst = int(np.argmax(np.maximum(found[:, 0] / extent(run[-1]), found[:, 1])))
    if found[worst, 0] <= _ROUNDING * extent(run[-1]) and found[worst, 1] <= _ROUNDING:
        return ""
    name = list(run.mechanism.joints)[worst]
    return (
        f"redundant joints of a loop disagree by {found[worst, 0]:.2g} m and {found[worst, 1]:.2g} "
        f"rad, the most at joint {name!r}: their dimensions are rounded"
    )


def coupling_gap(run: Trajectory, coupling: Coupling) -> Array:
    """Gap of a coupling (step,): the sum of its terms minus the prescribed value."""
    gap = np.full(len(run), -coupling.offset)
    for term in coupling.terms:
        gap += term.coefficient * measured(run, term.measure)
    if coupling.function is not None:
        gap -= np.array([float(coupling.function(float(t))) for t in run.time])
    return gap


def drift(run: Trajectory) -> Array:
    """Gap of every joint (step, joint) in m; joints in the order of the mechanism."""
    return _per_joint(run, 0)


def misalignment(run: Trajectory) -> Array:
    """Angular gap of every joint (step, joint) in rad."""
    return _per_joint(run, 1)


def _per_joint(run: Trajectory, which: int) -> Array:
    enforced = active_gaps(run)
    columns = [
        enforced[0][:, k, which] if enforced is not None and enforced[2][k] else gaps(joint, *poses(run, joint))[which]
        for k, joint in enumerate(run.mechanism.joints.values())
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((len(run), 0))
