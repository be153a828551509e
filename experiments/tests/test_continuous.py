"""Rivals in continuous time: accelerations agree, orders are those claimed, motion is catena's, failures are told."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena._util.rotation import conjugate, cross, from_rotation_vector, normalised, rotate
from catena.validate.case import reference
from catena_paper.continuous import (
    Baumgarte,
    Run,
    accelerations,
    baraff,
    baraff_accelerations,
    minimal,
    operations,
)
from catena_paper.tree import BALL, REVOLUTE, Loops, Tree

DATA = Path(__file__).parent / "data"

LOOPS = {
    "four-bar": ct.scenes.four_bar,
    "hinged chain": lambda: ct.scenes.closed_chain(7, "revolute"),
    "ball chain": lambda: ct.scenes.closed_chain(7, "ball"),
    "two rhombi": lambda: ct.scenes.segmented_chain(2),
    "two rhombi, elbow": lambda: ct.scenes.segmented_chain(2, "elbow"),
    "Bricard": ct.scenes.bricard,
    "ladder": lambda: ct.scenes.ladder(2),
}

NO_LOOPS = Loops(*(np.zeros(0, dtype=np.int32) for _ in range(3)), *(np.zeros((0, 3)) for _ in range(4)))


def random_tree(n: int, seed: int, kinds: tuple[int, ...] = (REVOLUTE, BALL), *, chain: bool = False) -> Tree:
    """Bodies of all shapes on joints in all directions."""
    rng = np.random.default_rng(seed)
    turns = normalised(rng.normal(size=(n, 4)))
    moments = rng.uniform(0.5, 1.0, size=(n, 3))
    frames = np.stack([rotate(turns, np.broadcast_to(e, (n, 3))) for e in np.eye(3)], axis=-1)
    return Tree(
        parent=np.array([i - 1 if chain else rng.integers(-1, i) for i in range(n)], dtype=np.int32),
        kind=rng.choice(kinds, size=n).astype(np.int32),
        rest=normalised(rng.normal(size=(n, 4))),
        axis=normalised(rng.normal(size=(n, 3))),
        at_parent=rng.uniform(-1, 1, size=(n, 3)),
        at_child=rng.uniform(-1, 1, size=(n, 3)),
        mass=rng.uniform(0.5, 2, size=n),
        inertia=np.einsum("nij,nj,nkj->nik", frames, moments, frames),
        gravity=rng.normal(size=3),
        loops=NO_LOOPS,
        row=rng.permutation(n).astype(np.int32),
        name=tuple(f"body{i}" for i in range(n)),
    )


def random_state(tree: Tree, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    parts = [rng.uniform(-3, 3, 1) if kind == REVOLUTE else normalised(rng.normal(size=4)) for kind in tree.kind]
    return np.concatenate(parts), rng.normal(size=tree.rate_offset[-1])


def moving(tree: Tree, m: ct.Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """A state of a mechanism with loops, on its way."""
    state = ct.Simulator(m, dt=0.01).run(steps=30)[-1]
    return tree.coordinates_of(state), tree.rates_of(state)


def start(m: ct.Mechanism) -> tuple[Tree, np.ndarray, np.ndarray]:
    tree, state = Tree.of(m), m.state()
    return tree, tree.coordinates_of(state), tree.rates_of(state)


def spinning(n: int = 3) -> tuple[Tree, np.ndarray, np.ndarray]:
    """A pendulum of ball joints that swings and spins in space."""
    tree = Tree.of(ct.scenes.pendulum(n, "ball"))
    rng = np.random.default_rng(1)
    q = np.concatenate([from_rotation_vector(rng.uniform(-1, 1, 3)) for _ in range(n)])
    return tree, q, rng.uniform(-2, 2, 3 * n)


def joint_accelerations(tree: Tree, q: np.ndarray, v: np.ndarray, stabilization: Baumgarte | None) -> np.ndarray:
    """Accelerations of all joints, and of all joints' points against each other, from those of Baraff's bodies."""
    poses = tree.poses(q, v)
    linear, spin = (part[tree.row] for part in baraff_accelerations(tree, poses, stabilization))
    w, turn = poses.angular_velocity[tree.row], poses.orientation[tree.row]
    w_parent, turn_parent = tree._of_parents(w, 0.0), tree._of_parents(turn, 1.0)
    spin_parent, linear_parent = tree._of_parents(spin, 0.0), tree._of_parents(linear, 0.0)
    relative = rotate(conjugate(turn), spin - spin_parent - cross(w_parent, w - w_parent))
    along = [relative[i] @ tree.axis[[i]].T if kind == REVOLUTE else relative[i] for i, kind in enumerate(tree.kind)]

    arm, arm_parent = rotate(turn, tree.at_child), rotate(turn_parent, tree.at_parent)
    opening = linear + cross(spin, arm) + cross(w, cross(w, arm))
    opening -= linear_parent + cross(spin_parent, arm_parent) + cross(w_parent, cross(w_parent, arm_parent))
    assert np.abs(opening).max() < 1e-9 * (1 + np.abs(linear).max())
    return np.concatenate(along)


def assert_agree(tree: Tree, q: np.ndarray, v: np.ndarray, stabilization: Baumgarte | None = None) -> np.ndarray:
    articulated = accelerations(tree, q, v, "articulated", stabilization)
    composite = accelerations(tree, q, v, "composite", stabilization)
    maximal = joint_accelerations(tree, q, v, stabilization)
    # parts of the largest, times what the mass matrix is ill-conditioned by
    allowed = 1e-10 * (1 + np.abs(articulated).max())
    assert np.abs(composite - articulated).max() < allowed
    assert np.abs(maximal - articulated).max() < allowed
    return articulated


# ---- accelerations


@pytest.mark.parametrize("n", [*range(1, 15), 30])
@pytest.mark.parametrize("kinds", [(REVOLUTE,), (BALL,), (REVOLUTE, BALL)], ids=["hinges", "balls", "both"])
def test_three_algorithms_give_the_same_accelerations_of_random_trees(n: int, kinds: tuple[int, ...]):
    for seed, chain in ((n, True), (n + 100, False)):
        tree = random_tree(n, seed, kinds, chain=chain)
        assert_agree(tree, *random_state(tree, seed))


def point_masses() -> Tree:
    """Two masses of 1 kg on rods of 1 m, the double pendulum to which the paper applied Heun's method."""
    return dataclasses.replace(
        Tree.of(ct.scenes.pendulum(2)),
        rest=np.array([(1.0, 0.0, 0.0, 0.0)] * 2),
        axis=np.array([(1.0, 0.0, 0.0)] * 2),
        at_parent=np.zeros((2, 3)),
        at_child=np.array([(0.0, 0.0, 1.0)] * 2),
        mass=np.ones(2),
        inertia=np.zeros((2, 3, 3)),
    )


def textbook(u: np.ndarray) -> np.ndarray:
    """Rates of absolute angles and of their rates."""
    c, s = np.cos(u[0] - u[1]), np.sin(u[0] - u[1])
    f = (-0.5 * u[3] ** 2 * s - 9.81 * np.sin(u[0]), u[2] ** 2 * s - 9.81 * np.sin(u[1]))
    return np.concatenate((u[2:], np.linalg.solve([[1, 0.5 * c], [c, 1]], f)))


def test_accelerations_of_a_double_pendulum_are_those_of_the_textbook():
    u = np.array((0.3, -1.1, 0.7, -2.0))
    q, v = np.array((u[0], u[1] - u[0])), np.array((u[2], u[3] - u[2]))
    for dynamics in ("articulated", "composite"):
        assert np.cumsum(accelerations(point_masses(), q, v, dynamics)) == pytest.approx(textbook(u)[2:], abs=1e-12)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("stabilization", [None, Baumgarte(15.0, 80.0)], ids=["plain", "stabilized"])
def test_three_algorithms_give_the_same_accelerations_with_loops(name: str, stabilization: Baumgarte | None):
    m = LOOPS[name]()
    tree = Tree.of(m)
    assert_agree(tree, *moving(tree, m), stabilization)


@pytest.mark.parametrize("name", ["four-bar", "ball chain", "two rhombi"])
def test_they_agree_about_loops_that_have_opened(name: str):
    m = LOOPS[name]()
    tree = Tree.of(m)
    q, v = moving(tree, m)
    hinges = tree.coordinate_offset[:-1][tree.kind == REVOLUTE]
    q[hinges] += 1e-3 * np.cos(np.arange(len(hinges)))
    v += 1e-3 * np.sin(np.arange(v.size))
    with_gaps = assert_agree(tree, q, v, Baumgarte())
    assert np.abs(with_gaps - accelerations(tree, q, v)).max() > 1e-3


@pytest.mark.parametrize("name", ["four-bar", "ball chain", "Bricard"])
def test_a_loop_said_twice_changes_nothing(name: str):
    m = LOOPS[name]()
    tree = Tree.of(m)
    q, v = moving(tree, m)
    once = accelerations(tree, q, v)
    fields = dataclasses.fields(Loops)
    twice = dataclasses.replace(
        tree, loops=Loops(*(np.concatenate([getattr(tree.loops, field.name)] * 2) for field in fields))
    )
    assert np.abs(assert_agree(twice, q, v) - once).max() < 1e-8 * np.abs(once).max()


def test_rows_below_the_rank_asked_for_are_left_out():
    tree, q, v = four_bar()
    assert minimal(tree, q, v, 0.001, 200, every=200).gaps().max() < 1e-6
    # of the loop's two rows in the plane one is left
    assert minimal(tree, q, v, 0.001, 200, every=200, rank=0.999).gaps().max() > 1e-3


@pytest.mark.parametrize("closing", ["joint1", "joint2", "joint3", "joint4"])
def test_accelerations_do_not_depend_on_the_joint_that_closes_the_loop(closing: str):
    m = ct.scenes.four_bar()
    state = ct.Simulator(m, dt=0.01).run(steps=30)[-1]
    found = []
    for tree in (Tree.of(m), Tree.of(m, closing=[closing])):
        q, v = tree.coordinates_of(state), tree.rates_of(state)
        assert_agree(tree, q, v)
        found.append(baraff_accelerations(tree, tree.poses(q, v))[1])
    assert np.abs(found[0] - found[1]).max() < 1e-10 * np.abs(found[0]).max()


@pytest.mark.parametrize("turns", [1, 1000, 300_000, 10_000_000])
def test_angles_may_have_turned_often(turns: int):
    tree = random_tree(6, 3, (REVOLUTE,))
    q, v = random_state(tree, 3)
    far = q + 2 * np.pi * turns
    # the angle itself is rounded, more so the larger it is
    allowed = 1e-12 + 1e3 * np.spacing(far.max())
    assert accelerations(tree, far, v) == pytest.approx(accelerations(tree, q, v), rel=allowed, abs=allowed)


# ---- linear time


SHAPES: dict[str, Callable[[int], ct.Mechanism]] = {
    "hinged pendulum": lambda n: ct.scenes.pendulum(n, "revolute"),
    "ball pendulum": lambda n: ct.scenes.pendulum(n, "ball"),
    "hinged closed chain": lambda n: ct.scenes.closed_chain(2 * n + 1, "revolute"),
    "ball closed chain": lambda n: ct.scenes.closed_chain(2 * n + 1, "ball"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_operations_grow_by_the_same_number_with_every_link(name: str):
    counts = np.array([operations(*start(SHAPES[name](n))) for n in (10, 20, 30, 60)])
    per_link = np.diff(counts, axis=0) / np.array([[10], [10], [30]])
    assert (per_link > 0).all()
    # the rank of a loop's small system is a matter of rounding, and so are its few operations
    allowed = 0 if "pendulum" in name else 0.02 * per_link[0]
    assert (np.abs(per_link - per_link[0]) <= allowed).all()


# ---- orders


def error(run: Run, reference: Run) -> float:
    """Of positions, at the worst of the nodes that both recorded."""
    return float(np.abs(run.poses.position - reference.poses.position).max())


def four_bar() -> tuple[Tree, np.ndarray, np.ndarray]:
    return start(ct.scenes.four_bar())


METHODS = {
    "Heun, hinges": (2, lambda *a, **k: minimal(*a, method="heun", **k), lambda: start(ct.scenes.pendulum(3))),
    "Heun, balls": (2, lambda *a, **k: minimal(*a, method="heun", **k), spinning),
    "RK4, hinges": (4, minimal, lambda: start(ct.scenes.pendulum(3))),
    "RKMK4, balls": (4, minimal, spinning),
    "RKMK4, balls, composite": (4, lambda *a, **k: minimal(*a, dynamics="composite", **k), spinning),
    "RK4, four-bar": (4, minimal, four_bar),
    "RK4, stabilized": (4, lambda *a, **k: minimal(*a, stabilization=Baumgarte(), **k), four_bar),
    "Baraff, hinges": (4, baraff, lambda: start(ct.scenes.pendulum(3))),
    "Baraff, balls": (4, baraff, spinning),
    "Baraff, four-bar": (4, baraff, four_bar),
    "Baraff, stabilized": (4, lambda *a, **k: baraff(*a, stabilization=Baumgarte(), **k), four_bar),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_orders_are_those_claimed(name: str):
    order, method, scene = METHODS[name]
    tree, q, v = scene()
    reference = minimal(tree, q, v, 1 / 6400, 6400, every=320)
    errors = [error(method(tree, q, v, 1 / n, n, every=n // 20), reference) for n in (400, 800)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def test_a_ball_joint_that_spins_freely_turns_exactly():
    # along a principal axis the rate stays, and the exponential is all that there is to it: small turns and large ones
    tree = dataclasses.replace(
        Tree.of(ct.scenes.pendulum(1, "ball")), at_child=np.zeros((1, 3)), gravity=np.zeros(3), inertia=np.eye(3)[None]
    )
    axis = np.array((0.6, 0.0, 0.8))
    for angle in (1e-3, 0.3, 0.99, 1.2, 3.0, 20.0):
        run = minimal(tree, np.array((1.0, 0, 0, 0)), angle * axis, 1.0, 5)
        for k, turn in enumerate(run.coordinates):
            assert abs(turn @ from_rotation_vector(k * angle * axis)) == pytest.approx(1, abs=1e-14)
        assert np.abs(run.rates - angle * axis).max() < 1e-13 * max(angle, 1)


# ---- motion


def test_double_pendulum_follows_the_reference():
    case = json.loads((DATA / "double_pendulum.json").read_text())["cases"][0]
    table = dict(zip(case["columns"], np.array(case["trajectory"]).T, strict=True))
    m = ct.Mechanism(gravity=(0, 0, -case["parameters"]["g"]))
    box = ct.box((0.1, 0.1, 1.0), mass=1.0)
    assert box.inertia.tensor[0, 0] == pytest.approx(case["parameters"]["I1"])
    flat = from_rotation_vector((np.pi / 2, 0, 0))
    for k, y in (("1", 0.5), ("2", 1.5)):
        m.add_body(k, box, position=(0, y, 0), orientation=flat)
    m.add_joint(ct.Revolute("world", "1", axis=(1, 0, 0), at=(0, 0, 0)))
    m.add_joint(ct.Revolute("1", "2", axis=(1, 0, 0), at=(0, 1, 0)))
    tree, q, v = start(m)
    places = np.stack((table["com1_x"], table["com1_z"], table["com2_x"], table["com2_z"]), axis=-1).reshape(-1, 2, 2)
    every = round((table["t"][1] - table["t"][0]) / 5e-4)
    steps = every * (len(places) - 1)
    for run, allowed in (
        (minimal(tree, q, v, 5e-4, steps, every=every), 1e-9),
        (minimal(tree, q, v, 5e-4, steps, every=every, dynamics="composite"), 1e-9),
        (minimal(tree, q, v, 5e-4, steps, every=every, method="heun"), 1e-3),
        (baraff(tree, q, v, 5e-4, steps, every=every), 1e-9),
    ):
        assert run.time == pytest.approx(table["t"], abs=1e-12)
        assert np.abs(run.poses.position[..., 1:] - places).max() < allowed


def test_heavy_top_follows_the_reference():
    table = reference("heavy_top")
    columns = dict(zip(table["columns"], np.array(table["trajectory"]).T, strict=True))
    nodes = columns["t"] <= 0.5
    places = np.stack([columns[name][nodes] for name in ("com_x", "com_y", "com_z")], axis=-1)
    tree, q, v = start(ct.scenes.heavy_top())
    every = round(columns["t"][1] / 1e-4)
    for method, allowed in ((minimal, 3e-8), (baraff, 3e-7)):
        run = method(tree, q, v, 1e-4, every * (len(places) - 1), every=every)
        assert np.abs(run.poses.position[:, 0] - places).max() < allowed


@pytest.mark.parametrize("name", ["hinges", "balls", "four-bar", "closed chain"])
def test_motion_is_catenas(name: str):
    if name == "balls":
        m = ct.scenes.pendulum(4, "ball")
        state = m.state()
        for k, joint in enumerate(m.joints):
            state.joint(joint).rates = np.cos(np.arange(3) + k)
    else:
        makers = {"hinges": lambda: ct.scenes.pendulum(4), "four-bar": ct.scenes.four_bar}
        m = makers.get(name, lambda: ct.scenes.closed_chain(5))()
        state = m.state()
    tree = Tree.of(m)
    theirs = ct.Simulator(m, dt=1e-3, order=6).run(steps=1000, state=state, record_every=100)
    for method in (minimal, baraff):
        ours = method(tree, tree.coordinates_of(state), tree.rates_of(state), 1e-3, 1000, every=100)
        assert ours.ok
        # four orders of dt, and what the pendulum multiplies errors by within a second
        assert np.abs(ours.poses.position - theirs.position).max() < 1e-7
        assert np.abs(ours.poses.velocity - theirs.velocity).max() < 1e-6
        assert np.abs(ours.poses.angular_velocity - theirs.angular_velocity).max() < 1e-6
        assert ours.energy() == pytest.approx(theirs.energy(), abs=1e-6)


# ---- what explicit methods do to energy and loops


def test_heun_is_the_one_of_the_paper():
    u = np.array((np.pi / 2, 0.0, 0.0, 0.0))
    run = minimal(point_masses(), np.array((np.pi / 2, -np.pi / 2)), np.zeros(2), 0.01, 300, method="heun")
    for _ in range(300):
        slope = textbook(u)
        u = u + 0.005 * (slope + textbook(u + 0.01 * slope))
    assert np.cumsum(run.coordinates[-1]) == pytest.approx(u[:2], abs=1e-11)
    assert np.cumsum(run.rates[-1]) == pytest.approx(u[2:], abs=1e-11)


def test_heun_gains_energy_and_rk4_loses_little():
    kp = {}
    for method in ("heun", "rk4"):
        run = minimal(
            point_masses(), np.array((np.pi / 2, -np.pi / 2)), np.zeros(2), 0.01, 60_000, every=100, method=method
        )
        energy = run.energy()
        kp[method] = energy[[-1, 300]] - energy[0]
    # steadily, about a joule in a quarter of an hour
    assert 0.5 < kp["heun"][0] < 1.0
    assert kp["heun"][1] == pytest.approx(0.5 * kp["heun"][0], rel=0.2)
    assert -0.02 * kp["heun"][0] < kp["rk4"][0] < 0


@pytest.mark.parametrize("method", [minimal, baraff])
def test_loops_drift_with_the_square_of_time_and_baumgarte_holds_them(method):
    tree, q, v = start(ct.scenes.four_bar())
    free = method(tree, q, v, 0.0025, 16000, every=400).gaps().max(axis=1)
    # a velocity's error adds up to a gap, and velocities' errors add up themselves
    assert 3.5 < free[40] / free[20] < 4.5
    assert free[40] > 1e-4
    # the integrator's error, of fourth order
    finer = method(tree, q, v, 0.00125, 32000, every=800).gaps().max(axis=1)
    assert 12 < free[40] / finer[40] < 20
    held = method(tree, q, v, 0.0025, 16000, every=4, stabilization=Baumgarte()).gaps().max(axis=1)
    assert held.max() < 1e-6
    assert held[2000:].max() < 2 * held[:2000].max()


def test_joints_of_the_tree_open_in_maximal_coordinates_alone():
    tree, q, v = start(ct.scenes.pendulum(5))
    assert minimal(tree, q, v, 0.01, 1000, every=100).gaps().max() < 1e-13
    assert baraff(tree, q, v, 0.01, 1000, every=100).gaps().max() > 1e-5
    assert baraff(tree, q, v, 0.01, 1000, every=100, stabilization=Baumgarte()).gaps().max() < 3e-6


# ---- runs


def test_nodes_are_recorded_at_the_start_in_between_and_at_the_end():
    tree, q, v = start(ct.scenes.pendulum(2))
    for method in (minimal, baraff):
        every_step = method(tree, q, v, 0.01, 10)
        run = method(tree, q, v, 0.01, 10, every=4)
        assert run.time == pytest.approx([0, 0.04, 0.08, 0.1])
        assert np.array_equal(run.poses.position, every_step.poses.position[[0, 4, 8, 10]])
        assert run.ok
        assert run.steps == 10
        assert run.cpu_seconds > 0


@pytest.mark.parametrize("method", [minimal, baraff])
def test_a_run_that_leaves_the_finite_numbers_stops_and_says_where(method):
    tree, q, v = start(ct.scenes.pendulum(3))
    run = method(tree, q, v, 2.0, 1000)
    assert not run.ok
    assert f"step {run.steps + 1} of 1000" in run.message
    assert len(run.time) == run.steps + 1
    assert all(np.isfinite(part).all() for part in run.poses)


def test_wrong_input_is_refused_in_words():
    tree, q, v = start(ct.scenes.pendulum(2))
    with pytest.raises(ValueError, match=r"coordinates must have shape \(2,\)"):
        minimal(tree, q[:1], v, 0.01, 1)
    with pytest.raises(ValueError, match="rates must be finite"):
        baraff(tree, q, v * np.nan, 0.01, 1)
    with pytest.raises(ValueError, match="every at least 1"):
        minimal(tree, q, v, 0.01, 1, every=0)
    with pytest.raises(ValueError, match="'heun' or 'rk4'"):
        minimal(tree, q, v, 0.01, 1, method="euler")
    with pytest.raises(ValueError, match="after their parents"):
        minimal(dataclasses.replace(tree, parent=np.array([1, 0], dtype=np.int32)), q, v, 0.01, 1)
    with pytest.raises(ValueError, match="mass must hold 2 numbers"):
        minimal(dataclasses.replace(tree, mass=np.ones(3)), q, v, 0.01, 1)
