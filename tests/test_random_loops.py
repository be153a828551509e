"""Random mechanisms with loops, redundant ones included: all solvers agree or all refuse, in any units."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from catena import (
    AssemblyError,
    Ball,
    Cylindrical,
    Fixed,
    FixedOrientation,
    Inertia,
    Joint,
    Mechanism,
    ParallelAxes,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    SimulationError,
    Simulator,
    State,
    Trajectory,
)
from catena._util import rotation as rot

# what is put together at random may hold weakly
pytestmark = pytest.mark.filterwarnings("ignore::catena.LoopWarning", "ignore::catena.StuckWarning")

SOLVERS = ["articulated", "ldu", "dense"]
TREE: list[type[Joint]] = [Ball, Revolute, Prismatic, Fixed, Cylindrical, Planar]
CLOSURES: list[type[Joint]] = [PointOnPlane, PointOnLine, ParallelAxes, FixedOrientation, *TREE]
WITH_AXIS = (Revolute, Prismatic, Cylindrical, Planar, PointOnLine, PointOnPlane, ParallelAxes)


@dataclass(frozen=True)
class Units:
    """What a length of 1 and a mass of 1 are, in m and kg; times stay."""

    length: float = 1.0
    mass: float = 1.0


@dataclass(frozen=True)
class Recipe:
    """A mechanism in words: what carries each body, and what closes loops."""

    parents: tuple[int | None, ...]  # of each body; -1 is the world, None floats
    kinds: tuple[type[Joint], ...]  # of the tree joints
    closures: tuple[tuple[int, int, type[Joint], bool], ...]  # a, b, kind, whether on the axis and point of the first
    plane: bool  # all axes parallel, all points and centers in one plane across them
    falls: bool  # with gravity
    seed: int


@st.composite
def recipes(draw: st.DrawFn, most: int = 6) -> Recipe:
    n = draw(st.integers(2, most))
    parents = tuple(draw(st.sampled_from([None, *range(-1, k)])) for k in range(n))
    kinds = tuple(draw(st.sampled_from(TREE)) for _ in range(n))
    closures = []
    for _ in range(draw(st.integers(1, 3))):
        a = draw(st.integers(-1, n - 2))
        b = draw(st.integers(a + 1, n - 1))
        closures.append((a, b, draw(st.sampled_from(CLOSURES)), draw(st.booleans())))
    plane, falls = draw(st.booleans()), draw(st.booleans())
    return Recipe(parents, kinds, tuple(closures), plane, falls, draw(st.integers(0, 2**16)))


SI = Units()


def build(recipe: Recipe, units: Units = SI) -> State:
    """All joints closed by their making, for each is placed at one world point; velocities random, then projected."""
    rng = np.random.default_rng(recipe.seed)
    turn = rot.normalised(rng.normal(size=4))
    down = rot.rotate(turn, rng.normal(size=3) * ((0, 3, 3) if recipe.plane else (2, 2, 2)))
    m = Mechanism(gravity=units.length * down if recipe.falls else np.zeros(3))

    def point(scale: float = 0.5) -> np.ndarray:
        local = rng.normal(scale=scale, size=3)
        if recipe.plane:
            local[0] = 0
        return rot.rotate(turn, local)

    def axis(kind: type[Joint]) -> np.ndarray:
        if not recipe.plane:
            return rng.normal(size=3)
        sliding = kind in (Prismatic, PointOnPlane)
        return rot.rotate(turn, np.array((0.0, *rng.normal(size=2)) if sliding else (1.0, 0.0, 0.0)))

    places: list[tuple[np.ndarray, np.ndarray]] = []

    def join(a: int, b: int, kind: type[Joint], name: str, again: bool = False) -> None:
        place, way = point(), axis(kind)
        if again and places:
            place, way = places[0]
        places.append((place, way))
        ends = ["world" if k < 0 else f"body{k}" for k in (a, b)]
        if rng.random() < 0.5:
            ends.reverse()
        more = {"axis": way} if kind in WITH_AXIS else {}
        m.add_joint(kind(*ends, at=units.length * place, name=name, **more))

    for k in range(len(recipe.parents)):
        spread = rot.to_matrix(rot.normalised(rng.normal(size=4)))
        tensor = spread @ np.diag((0.1, 0.12, 0.15)) @ spread.T
        inertia = Inertia(units.mass * rng.uniform(0.5, 2), units.mass * units.length**2 * tensor)
        turned = rot.normalised(rng.normal(size=4))
        m.add_body(f"body{k}", inertia, position=units.length * point(), orientation=turned)
    for k, (parent, kind) in enumerate(zip(recipe.parents, recipe.kinds, strict=True)):
        if parent is not None:
            join(parent, k, kind, f"joint{k}")
    for k, (a, b, kind, again) in enumerate(recipe.closures):
        join(a, b, kind, f"loop{k}", again)
    state = m.state()
    state.velocity = units.length * rng.normal(scale=0.3, size=state.velocity.shape)
    state.angular_velocity = rng.normal(scale=0.3, size=state.velocity.shape)
    return m.assemble(state)


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
