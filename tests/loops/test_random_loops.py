"""Random mechanisms with loops, redundant ones included: all solvers agree or all refuse, in any units."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from catena import (
    AssemblyError,
    Ball,
    Fixed,
    FixedOrientation,
    Mechanism,
    PointOnLine,
    Revolute,
    SimulationError,
    Simulator,
    State,
    Trajectory,
)
from catena._util import rotation as rot
from laws import SOLVERS
from random_loops import Recipe, Units, build, recipes

# what is put together at random may hold weakly
pytestmark = pytest.mark.filterwarnings("ignore::catena.LoopWarning", "ignore::catena.StuckWarning")


def size_of(state: State) -> float:
    """How far it reaches (m); a body alone has arms too."""
    return float(np.abs(state.position).max()) + 0.1 * sqrt(
        max(body.inertia.tensor.trace() / body.inertia.mass for body in state.mechanism.bodies.values())
    )


def simulate(
    state: State, solver: str, *, dt: float = 0.005, steps: int = 40
) -> Trajectory | SimulationError | AssemblyError:
    """The run, or the refusal; at 1e-13 Newton goes on to the rounding floor."""
    try:
        simulator = Simulator(state.mechanism, dt, solver=solver, tolerance=1e-13, rescue=False)  # type: ignore[arg-type]
        return simulator.run(steps=steps, state=state)
    except (SimulationError, AssemblyError) as refusal:
        return refusal


def assert_sound(run: Trajectory, length: float = 1.0) -> None:
    """Finite, closed, and without a jump in energy."""
    for name in ("position", "orientation", "velocity", "angular_velocity", "multipliers"):
        assert np.isfinite(getattr(run, name)).all(), name
    assert run.drift().max(initial=0) <= 1e-9 * length
    assert run.misalignment().max(initial=0) <= 1e-9
    energy, kinetic = run.energy(), run.kinetic_energy()

    # the ripple is of order (w dt)^2 with w of some rad/s; a wrong root gains or loses a tenth at once
    mass = sum(body.inertia.mass for body in run.mechanism.bodies.values())
    limit = 0.02 * kinetic.max() + 1e-10 * mass * length**2
    assert np.abs(np.diff(energy)).max() <= limit
    assert np.abs(energy - energy[0]).max() <= limit


def assert_reason(refusal: SimulationError | AssemblyError, m: Mechanism) -> None:
    """It says which body or joint is at fault."""
    assert any(repr(name) in str(refusal) for name in (*m.bodies, *m.joints)), str(refusal)


def compare(state: State, length: float = 1.0) -> None:
    results = {solver: simulate(state, solver) for solver in SOLVERS}
    runs = {solver: result for solver, result in results.items() if isinstance(result, Trajectory)}
    for result in results.values():
        if not isinstance(result, Trajectory):
            assert_reason(result, state.mechanism)
    # scalar pivots may give up near a singular pose, with a reason; the other two go on or stop together
    others = {s for s in runs if s != "dense"}
    assert len(others) in (0, 2), {s: str(r) for s, r in results.items() if s not in runs}
    if not runs:
        event("refused")
        return
    size = size_of(state)
    first = runs["articulated"]
    for solver, run in runs.items():
        assert_sound(run, length)
        scale = max(size, np.abs(first.position).max())
        np.testing.assert_allclose(run.position, first.position, rtol=0, atol=1e-8 * scale)
        np.testing.assert_allclose(run.orientation, first.orientation, rtol=0, atol=1e-8)

        # close to a singular pose the one projection of dense does not take its proximal term back: poor velocities
        if solver == "dense":
            continue
        pace = max(np.abs(first.angular_velocity).max(), np.abs(first.velocity).max() / length, 1.0)
        np.testing.assert_allclose(run.velocity, first.velocity, rtol=0, atol=1e-7 * pace * length)
        np.testing.assert_allclose(run.angular_velocity, first.angular_velocity, rtol=0, atol=1e-7 * pace)


COMMON = settings(max_examples=150)


@COMMON
@given(recipes())
def test_solvers_agree_or_refuse(recipe: Recipe) -> None:
    state = build(recipe)
    r = state.mechanism.report(state)
    event(f"freedom {min(r.freedom, 3)}, redundant {r.redundant_count > 0}")
    compare(state)


@COMMON
@given(recipes(most=4))
def test_rank_of_the_report(recipe: Recipe) -> None:
    """Against the singular values of all rows at once, with lengths as they are: all sizes are about 1 m."""
    state = build(recipe)
    m = state.mechanism
    # all numbers at their word: honest values below `loop_tolerance` are not rounding here
    m.loop_tolerance = 0
    rows = []
    index = {name: row for row, name in enumerate(m.bodies)}
    for joint in m.joints.values():
        axes = rot.to_matrix(rot.multiply(joint.a.orientation, joint.frame_a)).T
        place = joint.b.position + rot.rotate(joint.b.orientation, joint.anchor_b)
        part = np.zeros((6, 6 * len(index)))
        for body, sign in ((joint.a, -1), (joint.b, 1)):
            if not body.is_world:
                k = 6 * index[body.name]
                part[:3, k : k + 3] = part[3:, k + 3 : k + 6] = sign * axes
                part[:3, k + 3 : k + 6] = sign * axes @ np.cross(np.eye(3), place - body.position).T
        held = np.linalg.svd(joint.motion)[0][:, joint.dof :] if joint.dof else np.eye(6)
        rows.append(held.T @ part)
    values = np.linalg.svd(np.concatenate(rows), compute_uv=False)

    # nothing between rounding and a real one: otherwise the pose is nearly singular and the rank a matter of taste
    assume(not ((values > 1e-11 * values[0]) & (values < 1e-6 * values[0])).any())
    report = m.report(state)
    assert report.rank == np.count_nonzero(values > 1e-8 * values[0])
    assert report.freedom == 6 * len(index) - report.rank
    assert report.row_count == sum(len(part) for part in rows)


# free to first order only: it locks, and has to in any units
LOCKING = Recipe(
    parents=(None, 0, -1),
    kinds=(Revolute, Fixed, Ball),
    closures=((-1, 2, FixedOrientation, True), (1, 2, PointOnLine, True), (-1, 0, PointOnLine, True)),
    plane=False,
    falls=False,
    seed=44134,
)


@settings(COMMON, max_examples=60)
@given(recipes(most=4))
@example(LOCKING)
@pytest.mark.parametrize("units", [Units(1e-3, 1e-3), Units(1e3, 1e3)], ids=["gram-millimetre", "tonne-kilometre"])
def test_units(units: Units, recipe: Recipe) -> None:
    """Scaled in length and mass, gravity with the length: the same motion, scaled."""
    state, scaled = build(recipe), build(recipe, units)
    plain = {solver: simulate(state, solver) for solver in SOLVERS}
    for solver in SOLVERS:
        one, other = plain[solver], simulate(scaled, solver)
        assert isinstance(other, Trajectory) == isinstance(one, Trajectory), (str(one), str(other))
        if not isinstance(one, Trajectory) or not isinstance(other, Trajectory):
            continue
        assert_sound(other, units.length)
        scale = max(size_of(state), np.abs(one.position).max())
        np.testing.assert_allclose(other.position / units.length, one.position, rtol=0, atol=1e-8 * scale)
        np.testing.assert_allclose(other.orientation, one.orientation, rtol=0, atol=1e-8)


@settings(COMMON, max_examples=40)
@given(recipes(), st.floats(-8, -3))
def test_nearly_closed_states(recipe: Recipe, noise: float) -> None:
    """Shaken by 1e-8 to 1e-3 m and rad: assembled again, or refused with a name; then run."""
    state = build(recipe)
    rng = np.random.default_rng(recipe.seed)
    rough = state.copy()
    rough.position = state.position + rng.normal(scale=10**noise, size=state.position.shape)
    turns = rot.from_rotation_vector(rng.normal(scale=10**noise, size=state.position.shape))
    rough.orientation = rot.normalised(rot.multiply(turns, state.orientation))
    try:
        closed = state.mechanism.assemble(rough)
    except AssemblyError as refusal:
        event("refused")
        assert_reason(refusal, state.mechanism)
        return
    for name in state.mechanism.joints:
        view = closed.joint(name)
        assert max(view.gap, view.misalignment) < 1e-10
    result = simulate(closed, "articulated", steps=5)
    if isinstance(result, Trajectory):
        assert_sound(result)
    else:
        assert_reason(result, state.mechanism)
