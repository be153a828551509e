"""What is asked of a member: all three solvers, the laws, each other, and going on from the middle.

A finding is a class, and a sentence with figures. What is refused or stopped with a sentence is none; nor is a motion
in which rounding decides: a start shaken by 1e-13 is simulated too, and its distance bounds what solvers may differ by.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from .._util.rotation import Array, cross
from ..describe.limits import hard_joint_stops, hard_stops
from ..kinematics import geometry
from ..results import analysis
from ..results.trajectory import Trajectory
from ..simulate.simulator import Simulator
from .comparison import bound_of, compare, distance, go_on
from .findings import SOLVERS, End, Findings, finite, simulate, size_of
from .members import Case

_EPS = float(np.finfo(float).eps)

# parts of the size (m) and rad: what a joint may be open by
_GAP = 1e-10

# parts of the fastest velocity: loops that are nearly singular hold to 1e-6
_ROWS = 1e-5
_ENERGY = 0.1
_MOMENTUM = 1e-9

# rad or m at nodes; parts of the kinetic energy at an impact, whose velocities loops near singular poses hold to 1e-6
_PASSED = 2e-12
_GAINED = 1e-6


def examine(case: Case, found: Findings, stage: Callable[[str], None] = lambda name: None) -> None:
    """Run and check everything, and note what is found; `stage` is told what comes next."""
    ends: dict[str, End] = {}
    for solver in SOLVERS:
        stage(solver)
        ends[solver] = simulate(case, solver, case.state, case.steps)
    found.facts |= {"ends": {solver: [end.kind, end.text] for solver, end in ends.items()}}
    found.facts |= {"seconds": {solver: round(end.seconds, 3) for solver, end in ends.items()}}
    runs = {solver: end.run for solver, end in ends.items() if end.run is not None}
    for solver, end in ends.items():
        if end.kind == "error":
            found.add("internal error", f"{solver}: {end.text}")
    _count_pieces(case, runs, found)
    size = size_of(case)
    for solver, run in runs.items():
        if not finite(run):
            found.add("not finite", f"{solver}: a number that is none, status {'ok' if run.status.ok else 'stopped'}")
    runs = {solver: run for solver, run in runs.items() if finite(run)}
    for solver, run in runs.items():
        _gaps(run, size, solver, found)
        _rows(case, run, size, solver, found)
        _limits(run, size, solver, found)
        _impacts(run, solver, found)
        if case.isolated:
            _momentum(run, solver, found)
    if case.conservative:
        stage("energy")
        _energy(case, runs, found)
    stage("shaken")
    bound = bound_of(case, runs, size, found)
    compare(case, ends, runs, size, bound, found)
    if "articulated" in runs and hard_stops(case.mechanism):
        stage("lanes")
        _lanes(case, runs["articulated"], size, bound, found)
    for solver, run in runs.items():
        if ends[solver].kind == "ok":
            stage(f"{solver}, going on")
            go_on(case, solver, run, size, bound, found)


# ---- each run by itself


def _count_pieces(case: Case, runs: dict[str, Trajectory], found: Findings) -> None:
    found.facts["halved"] = {solver: run.halved_count for solver, run in runs.items()}
    found.facts["substeps"] = {solver: int(run.substeps.max(initial=0)) for solver, run in runs.items()}
    # what no solver started has the spin it was to start with
    spins = [np.linalg.norm(run.angular_velocity, axis=2) for run in runs.values()]
    found.facts["spin"] = max((float(np.nanmax(spin)) * case.dt for spin in spins if spin.size), default=case.pace)
    for solver, run in runs.items():
        deep = int(np.count_nonzero(run.substeps >= 64))
        if deep >= 3:
            found.add("halved over and over", f"{solver}: {deep} steps in 64 to {run.substeps.max()} substeps")


def _gaps(run: Trajectory, size: float, solver: str, found: Findings) -> None:
    """Joints and couplings at all nodes."""
    rounding = 64 * _EPS * float(np.abs(run.position).max(initial=0.0))
    names = list(run.mechanism.joints)
    for values, limit, unit in (
        (run.drift(), _GAP * size + rounding, "m"),
        (run.misalignment(), _GAP, "rad"),
    ):
        if values.max(initial=0.0) > limit:
            node, joint = np.unravel_index(int(values.argmax()), values.shape)
            found.add(
                "gap",
                f"{solver}: joint {names[joint]!r} is open by {values.max():.2g} {unit} at node {node}, {size=:.2g}",
            )
    for coupling in run.mechanism.couplings.values():
        gap = np.abs(analysis.coupling_gap(run, coupling))
        terms = [np.abs(term.coefficient * analysis.measured(run, term.measure)).max() for term in coupling.terms]
        unit_size = sum(abs(term.coefficient) * (1.0 if term.measure.is_angle else size) for term in coupling.terms)
        if gap.max(initial=0.0) > _GAP * (unit_size + max(terms)):
            found.add("gap", f"{solver}: {coupling.label} is off by {gap.max():.2g} at node {gap.argmax()}")


def _rows(case: Case, run: Trajectory, size: float, solver: str, found: Findings) -> None:
    """Velocities at all nodes are those that joints and couplings allow; there may be none if the run cannot begin."""
    if len(run) < 2:
        return
    # the start as it was given counts too: what is left of it by a projection that allows nothing is rounding
    fastest = max(
        float(np.linalg.norm(of.velocity, axis=-1).max() + size * np.linalg.norm(of.angular_velocity, axis=-1).max())
        for of in (run, case.state)
    )
    # and what opens a joint by less than it may be open in a step is no motion
    far = size + float(np.abs(run.position).max(initial=0.0))
    limit = _ROWS * fastest + (_GAP * size + 64 * _EPS * far) / run.dt
    for joint in run.mechanism.joints.values():
        if joint.row_count == 0:
            continue
        _, wrench, point = geometry.joint_rows(joint, *geometry.poses(run, joint))
        rate = np.zeros((len(run), joint.row_count))
        for sign, body in ((-1.0, joint.a), (1.0, joint.b)):
            if not body.is_world:
                of = run.body(body.name)
                velocity = of.velocity + cross(of.angular_velocity, point - of.position)
                rate += sign * np.einsum("srk,sk->sr", wrench[..., :3], velocity)
                rate += sign * np.einsum("srk,sk->sr", wrench[..., 3:], of.angular_velocity)
        rate = np.abs(rate[run.time < _holds_until(run)]) * np.where(geometry.row_lengths(joint), 1.0, size)
        if rate.max(initial=0.0) > limit:
            node = int(rate.max(axis=1).argmax())
            text = f"{joint.label} opens at {rate.max() / fastest:.2g} of the fastest velocity at node {node}"
            found.add("velocity rows", f"{solver}: {text}")
    for coupling in run.mechanism.couplings.values():
        total = sum(term.coefficient * analysis.measured_rate(run, term.measure) for term in coupling.terms)
        h = 1e-3 * run.dt
        if coupling.function is not None:
            f = coupling.function
            total = total - np.array([(f(t + h) - f(t - h)) / (2 * h) for t in map(float, run.time)])
        weight = max(abs(term.coefficient) * (1.0 / size if term.measure.is_angle else 1.0) for term in coupling.terms)
        off = (np.abs(total) / weight)[run.time < _holds_until(run)]
        if off.max(initial=0.0) > 10 * limit:
            text = f"{coupling.label} slips at {off.max() / fastest:.2g} of the fastest velocity at node {off.argmax()}"
            found.add("velocity rows", f"{solver}: {text}")


def _holds_until(run: Trajectory) -> float:
    """Time (s) before which velocities keep every row: where a mechanism locks, no velocities do."""
    return float(run.time[-1]) if run.status.reason in ("locked", "diverged", "singular") else np.inf


def _limits(run: Trajectory, size: float, solver: str, found: Findings) -> None:
    """No hard limit is passed at any node."""
    rounding = 64 * _EPS * float(np.abs(run.position).max(initial=0.0)) / size
    for joint, name, limits in hard_joint_stops(run.mechanism):
        values = run.joint(joint.name).coordinates[:, joint.names.index(name)]
        unit = 1.0 if joint.names.index(name) in joint.angles else size
        over = max((limits.beyond(float(value)) for value in values), default=0.0)
        if over > _PASSED * max(unit, 1.0) + rounding * unit:
            found.add("limit passed", f"{solver}: {joint.label} ({name}) by {over:.2g}")


def _impacts(run: Trajectory, solver: str, found: Findings) -> None:
    """Impacts take energy, those of one instant together."""
    taken = np.diff(run.dissipated()[run.time < _holds_until(run)])
    if taken.size and -taken.min() > (_GAINED + 64 * _EPS) * (scale := float(run.kinetic_energy().max())):
        found.add("energy rises", f"{solver}: by {-taken.min() / scale:.2g} of the kinetic energy at an impact")


def _lanes(case: Case, run: Trajectory, size: float, bound: Array, found: Findings) -> None:
    """Members of a batch, which run in lanes where these fit, are single runs."""
    try:
        simulator = Simulator(case.mechanism, case.dt, solver="articulated", order=case.order, on_failure="stop")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            batch = simulator.run_batch(steps=case.steps, states=[case.state] * 3, threads=1)
    except ValueError:
        return
    found.facts["lanes"] = not batch.alone
    if any(not np.array_equal(batch.position[k], batch.position[0], equal_nan=True) for k in (1, 2)):
        found.add("lanes differ", "equal members are not equal")
    apart = distance(run, batch[0], size)
    wide = np.flatnonzero(apart > bound[: len(apart)])
    if len(wide):
        k = int(wide[0])
        found.add("lanes differ", f"{apart[k]:.2g} at node {k}, bound {bound[k]:.2g}")
    if np.isfinite(bound[-1]) and batch.status[0].ok != run.status.ok:
        found.add("lanes differ", f"{batch.status[0].message or 'done'}; alone {run.status.message or 'done'}")
    _limits(batch[0], size, "lanes", found)


def _momentum(run: Trajectory, solver: str, found: Findings) -> None:
    linear, spin = analysis.body_momenta(run)
    arms = np.linalg.norm(run.position, axis=2) * np.linalg.norm(linear, axis=2)
    scales = (np.linalg.norm(linear, axis=2).sum(axis=1).max(), (arms + np.linalg.norm(spin, axis=2)).sum(axis=1).max())
    for name, values, scale in zip(
        ("momentum", "angular momentum"), (run.momentum(), run.angular_momentum()), scales, strict=True
    ):
        off = float(np.abs(values - values[0]).max())
        if scale > 0 and off > _MOMENTUM * scale:
            found.add("momentum", f"{solver}: {name} changes by {off / scale:.2g} of its bodies'")


def _energy_error(run: Trajectory) -> float:
    """Largest change of the energy and what impacts took, in parts of the kinetic energy or change of the potential."""
    kinetic, potential = run.kinetic_energy(), run.potential_energy()
    scale = float(max(kinetic.max(), np.ptp(potential)))
    total = kinetic + potential + run.dissipated()
    mass = float(analysis.masses(run.mechanism).sum())
    # what is slower than this does not bounce
    least = mass * max(1e-10 * (1 + float(np.abs(run.position).max())) / run.dt, 1e-9) ** 2
    if scale <= least or scale <= 1e-9 * np.abs(potential).max():
        return 0.0
    change = total - total[0]
    # what stops take that are caught in a step is no impact that is told
    return float((np.maximum(change, 0) if run.caught_count else np.abs(change)).max() / scale)


def _energy(case: Case, runs: dict[str, Trajectory], found: Findings) -> None:
    """Kept within a tenth; where it is not, a run with an eighth of the step tells whether the step resolves it."""
    errors = {solver: _energy_error(run) for solver, run in runs.items() if len(run) > 1}
    found.facts["energy"] = errors
    # the paper's start is off by the force of one step
    limit = _ENERGY + (1.0 / case.steps if case.order == 1 else 0.0)
    if max(errors.values(), default=0.0) <= limit:
        return
    fine = simulate(case, "articulated", case.state, case.steps, refine=8)
    fine_error = _energy_error(fine.run) if fine.run is not None and finite(fine.run) else float("nan")
    found.facts["energy of an eighth"] = fine_error
    for solver, error in errors.items():
        if error > limit:
            text = f"off by {error:.2g}, with an eighth of the step {fine_error:.2g} ({fine.kind})"
            found.add("energy", f"{solver}: {text}")
