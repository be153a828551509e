"""Three solvers and every kernel: one trajectory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catena
from catena import (
    Ball,
    Fixed,
    Free,
    Joint,
    Mechanism,
    Prismatic,
    Revolute,
    Simulator,
    State,
    Trajectory,
    box,
    rod,
    scenes,
)
from catena._util import rotation as rot

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

KINDS: list[type[Joint]] = [Revolute, Prismatic, Ball, Fixed, Free]

# The motions are chaotic: what two solvers leave over in a step grows. At 1e-13 Newton goes on to the rounding floor,
# and the starts below are calm enough: the largest difference measured after 1000 steps is 4e-10 rad/s, at 100 links.
TOLERANCE = 1e-13


def hanging_chain(n: int, joint: str, lean: float) -> State:
    """Links that wind down a helix, leaning by `lean` from the vertical, axes in turn along x and y, all moving."""
    m = Mechanism()
    parent, start = m.world, np.zeros(3)
    for k in range(n):
        end = start + rot.normalised(np.array((lean * np.sin(1.1 * k), lean * np.cos(1.1 * k), -1.0)))
        pose = rod(start, end, mass=1.0).pose
        assert pose is not None
        body = m.add_body(f"link{k}", box((0.1, 0.1, 1.0), mass=1.0), position=pose[0], orientation=pose[1])
        if joint == "revolute":
            m.add_joint(Revolute(parent, body, axis=np.eye(3)[k % 2], at=start))
        else:
            m.add_joint(Ball(parent, body, at=start))
        parent, start = body, end
    state = m.state()
    rng = np.random.default_rng(n)
    for name, j in m.joints.items():
        state.joint(name).rates = 0.3 / n * rng.normal(size=j.dof)
    return state


def assert_same(a: Trajectory, b: Trajectory, atol: float = 1e-9) -> None:
    """Equal at every node, to the 1e-9 that is promised.

    Multipliers against the largest of them, or the rounding floor of forces: a rounding of a position, over dt^2.
    """
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=atol, err_msg=name)
    mass = sum(body.inertia.mass for body in b.mechanism.bodies.values())
    floor = 64 * 2.2e-16 * mass * np.abs(b.position).max() / b.dt**2
    largest = np.abs(b.multipliers).max(initial=0)
    np.testing.assert_allclose(a.multipliers, b.multipliers, rtol=0, atol=atol * largest + floor)


def simulate(state: State, solver: str, *, dt: float = 0.01, steps: int = 1000, **more: object) -> Trajectory:
    simulator = Simulator(state.mechanism, dt, solver=solver, tolerance=TOLERANCE, rescue=False, **more)
    return simulator.run(steps=steps, state=state)


def extent(run: Trajectory) -> np.ndarray:
    """How far the last body moves in x, y, z."""
    return np.ptp(run.position[:, -1], axis=0)


@pytest.mark.parametrize("joint", ["revolute", "ball"])
@pytest.mark.parametrize("n", [1, 2, 10])
def test_chains(n: int, joint: str) -> None:
    state = hanging_chain(n, joint, lean=0.25)
    run = simulate(state, "articulated")
    assert_same(simulate(state, "ldu"), run)
    assert_same(simulate(state, "dense"), run)

    # in three dimensions, unless it is one hinge
    assert np.count_nonzero(extent(run) > 0.005) == (2 if (n, joint) == (1, "revolute") else 3)


@pytest.mark.parametrize("joint", ["revolute", "ball"])
def test_long_chains(joint: str) -> None:
    # 100 links leaning by 0.25 whip about and lose seven more digits
    state = hanging_chain(100, joint, lean=0.03)
    run = simulate(state, "articulated")
    assert_same(simulate(state, "ldu"), run)
    assert (extent(run) > (0.5, 0.5, 0.01)).all()


@pytest.mark.slow
@pytest.mark.parametrize("joint", ["revolute", "ball"])
def test_long_chains_dense(joint: str) -> None:
    state = hanging_chain(100, joint, lean=0.03)
    assert_same(simulate(state, "dense"), simulate(state, "articulated"))


@pytest.mark.parametrize("joint", ["revolute", "ball"])
def test_long_chains_dense_for_a_while(joint: str) -> None:
    state = hanging_chain(100, joint, lean=0.25)
    assert_same(simulate(state, "dense", steps=20), simulate(state, "articulated", steps=20))


def random_tree(seed: int) -> State:
    """Two to seven bodies of full inertia on any joints, either way round, to earlier bodies or the world."""
    rng = np.random.default_rng(seed)
    m = Mechanism(gravity=rng.normal(scale=3, size=3))
    for k in range(rng.integers(2, 8)):
        turn = rot.to_matrix(rot.normalised(rng.normal(size=4)))
        tensor = turn @ np.diag((0.1, 0.12, 0.15)) @ turn.T
        body = m.add_body(
            f"body{k}",
            catena.Inertia(rng.uniform(0.5, 2), tensor),
            position=rng.normal(scale=0.5, size=3),
            orientation=rot.normalised(rng.normal(size=4)),
        )
        ends = [rng.choice(["world", *(f"body{j}" for j in range(k))]), body.name]
        rng.shuffle(ends)
        kind = KINDS[rng.integers(len(KINDS))]
        axis = {"axis": rng.normal(size=3)} if kind in (Revolute, Prismatic) else {}
        if rng.random() < 0.9:
            m.add_joint(kind(*map(str, ends), at=rng.normal(scale=0.5, size=3), name=f"joint{k}", **axis))
    state = m.state()
    for name, joint in m.joints.items():
        state.joint(name).rates = rng.normal(scale=0.5, size=joint.dof)
    return state


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_random_trees(seed: int) -> None:
    state = random_tree(seed)

    # 2 s are a few swings, too short for chaos: the worst of 60 seeds differed by 2e-12
    run = simulate(state, "articulated", dt=0.002)
    for solver in ("ldu", "dense"):
        assert_same(simulate(state, solver, dt=0.002), run)

    # closed to the rounding of poses up to 20 m away
    assert run.drift().max(initial=0) < 1e-11
    assert run.misalignment().max(initial=0) < 1e-11


def test_default_tolerance_stays_within_its_word() -> None:
    """At the default 1e-10 m/s a step is right to 1e-12 m; a calm motion of 1000 steps adds that up."""
    state = hanging_chain(10, "revolute", lean=0.25)
    exact = simulate(state, "articulated")
    for solver in ("auto", "articulated", "ldu", "dense"):
        run = Simulator(state.mechanism, 0.01, solver=solver).run(steps=1000, state=state)
        np.testing.assert_allclose(run.position, exact.position, rtol=0, atol=1e-9)


@pytest.mark.parametrize("solver", ["ldu", "dense"])
def test_violent_motion_takes_the_right_root(solver: str) -> None:
    """A whipping chain: the step equations have more than one solution, the right one is near the last step's."""
    state = scenes.pendulum(10, angle=np.pi / 2).state()
    run = simulate(state, "articulated", steps=530)
    other = simulate(state, solver, steps=530, on_failure="stop")

    # 1e-11 until then; a wrong root is off by 0.1 m and gains 300 J at once
    np.testing.assert_allclose(other.position, run.position[: len(other)], rtol=0, atol=1e-6)
    assert len(other) == len(run)


# ---- kernels


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
@pytest.mark.parametrize("kernel", catena.info()["kernels"])
def test_kernels(kernel: str, solver: str) -> None:
    for state in (hanging_chain(10, "revolute", 0.25), hanging_chain(9, "ball", 0.25), random_tree(5)):
        simulator = Simulator(state.mechanism, 0.005, solver=solver, tolerance=TOLERANCE, kernel=kernel)
        assert simulator.info()["kernel"] == kernel
        assert_same(simulator.run(steps=500, state=state), simulate(state, "articulated", dt=0.005, steps=500))


def test_kernel_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    m = hanging_chain(1, "ball", 0.1).mechanism
    monkeypatch.delenv("CATENA_KERNEL", raising=False)
    assert Simulator(m, 0.01).info()["kernel"] == catena.info()["kernel"] == catena.info()["kernels"][-1]
    first = catena.info()["kernels"][0]
    monkeypatch.setenv("CATENA_KERNEL", first)
    assert Simulator(m, 0.01).info()["kernel"] == catena.info()["kernel"] == first
    assert Simulator(m, 0.01, kernel=catena.info()["kernels"][-1]).info()["kernel"] == catena.info()["kernels"][-1]
    monkeypatch.setenv("CATENA_KERNEL", "abacus")
    with pytest.raises(ValueError, match="no kernel 'abacus'"):
        Simulator(m, 0.01)
