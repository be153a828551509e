"""Reactions that the motion does not determine: the smallest ones, as a pseudo-inverse of all rows finds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from math import pi
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings

from all_rows import jacobian
from catena import (
    Ball,
    Custom,
    Distance,
    Fixed,
    Gear,
    Mechanism,
    Prismatic,
    Rack,
    Revolute,
    RollingBall,
    RollingDisk,
    Screw,
    Simulator,
    State,
    Trajectory,
    box,
    cylinder,
    scenes,
    sphere,
)
from catena._util import rotation as rot
from catena.kinematics import geometry
from catena.kinematics.nodes import Nodes
from catena.results import reactions
from catena.results.trajectory import single_node
from loop_scenes import SCENES
from random_loops import Recipe, build, recipes

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

X, Y, Z = np.eye(3)

# singular values below this part of the largest are rounding
RANK = 1e-9


def with_multipliers(run: Trajectory, values: np.ndarray) -> Trajectory:
    """The same poses with other multipliers; whatever these are, some are the smallest that exert the same forces."""
    return Trajectory(run.mechanism, replace(run.nodes, multipliers=values), run.made)


def path(states: Iterable[State]) -> Trajectory:
    """Poses that no run has to have gone through, with random multipliers."""
    every = [single_node(state) for state in states]
    nodes = reduce(Nodes.followed_by, (node.nodes for node in every))
    run = Trajectory(every[0].mechanism, replace(nodes, multipliers=np.zeros((len(nodes), 0))), every[0].made)
    return with_multipliers(run, noise(run))


def noise(run: Trajectory) -> np.ndarray:
    m = run.mechanism
    rows = sum(joint.row_count for joint in m.joints.values()) + len(m.couplings)
    return 100 * np.random.default_rng(1).standard_normal((len(run), rows))


def scaled_rows(run: Trajectory, node: int) -> tuple[np.ndarray, np.ndarray]:
    """All rows, those of angles in parts of the mechanism's size, and what their multipliers are multiplied by."""
    m = run.mechanism
    lengths = [geometry.row_lengths(joint) for joint in m.joints.values()]
    lengths.append(np.array([not c.terms[0].measure.is_angle for c in m.couplings.values()], dtype=bool))
    scale = np.where(np.concatenate(lengths), 1.0, 1.0 / geometry.extent(run[0]))
    return jacobian(run[node : node + 1]) / scale[:, None], scale


def ranks(run: Trajectory) -> list[int]:
    return [int(np.linalg.matrix_rank(scaled_rows(run, k)[0], rtol=RANK)) for k in range(len(run))]


def assert_smallest(run: Trajectory, nodes: Sequence[int] | None = None) -> None:
    found = reactions.smallest_multipliers(run)
    for k in range(len(run)) if nodes is None else nodes:
        rows, scale = scaled_rows(run, k)
        given = run.multipliers[k] * scale
        wanted = np.linalg.pinv(rows.T, rcond=RANK) @ (given @ rows)
        np.testing.assert_allclose(found[k] * scale, wanted, rtol=0, atol=1e-8 * np.abs(given).max())


@pytest.mark.parametrize("scene", SCENES)
def test_smallest_in_all_loop_scenes(scene: str) -> None:
    make, dt, _, _ = SCENES[scene]
    run = Simulator(make(), dt).run(steps=60, record_every=20)
    assert_smallest(run)
    assert_smallest(with_multipliers(run, noise(run)), (0, 2))


@pytest.mark.filterwarnings("ignore::catena.LoopWarning")  # some hold directions weakly
@settings(max_examples=100)
@given(recipes())
def test_smallest_in_random_mechanisms(recipe: Recipe) -> None:
    run = path([build(recipe)])
    values = np.linalg.svd(scaled_rows(run, 0)[0], compute_uv=False)
    # a pose that is hardly singular is a matter of taste
    assume(not ((values > 1e-12 * values[0]) & (values < 1e-6 * values[0])).any())
    assert_smallest(run)


# ---- singular poses: the rank changes from node to node


def flat_four_bars(n: int, angle: float) -> State:
    """Cranks turned by an angle from upright; flat at half of pi, where n further freedoms appear."""
    state = scenes.n_four_bar(n).state()
    turn = rot.from_rotation_vector(-angle * Z)
    for k in range(n + 1):
        crank = state.body(f"crank{k}")
        crank.position = k * X + 0.5 * np.array((np.sin(angle), np.cos(angle), 0))
        crank.orientation = rot.multiply(turn, crank.orientation)
    for k in range(1, n + 1):
        state.body(f"coupler{k}").position = (k - 0.5) * X + np.array((np.sin(angle), np.cos(angle), 0))
    return state


@pytest.mark.parametrize("n", [1, 4])
def test_smallest_at_singular_poses_and_near_them(n: int) -> None:
    run = path(flat_four_bars(n, angle) for angle in (0.3, pi / 2, pi / 2 + 1e-6, pi / 2 - 1e-4, pi / 2, 2.0))
    usual = 5 * (3 * n + 1) - n * 3
    assert ranks(run) == [usual, usual - n, usual, usual, usual - n, usual]
    assert_smallest(run)


def test_smallest_through_a_folded_leg() -> None:
    """All four links on one line, passed thirteen times."""
    m = scenes.minitaur_leg((2.5, 2.5))
    m.gravity = (0.0, 0.0, 9.81)
    run = Simulator(m, 0.001).run(3.0)
    folded = np.abs(run.body("leg front thigh").point((0.0, 0.0, 0.05))[:, 1]).argsort()[:5]
    assert_smallest(run, [0, *folded])


def test_smallest_where_a_regular_loop_is_stretched() -> None:
    """Two rods between balls: in a line they can be stressed, and nowhere else."""
    m = Mechanism()
    for k in range(2):
        m.add_body(f"rod{k}", cylinder(0.02, 1.0, mass=1.0), position=(k + 0.5, 0, 0), orientation=rot.z_to(X))
    m.add_joint(Ball("world", "rod0", at=(0, 0, 0)))
    m.add_joint(Ball("rod0", "rod1", at=(1, 0, 0)))
    m.add_joint(Ball("rod1", "world", at=(2, 0, 0), name="end"))
    run = path([m.state()])
    assert ranks(run) == [8]
    assert_smallest(run)
    # one tension goes through all three joints, which have three rows each
    stress = np.reshape(reactions.smallest_multipliers(run) - run.multipliers, (3, 3))
    np.testing.assert_allclose(np.linalg.norm(stress, axis=1), np.linalg.norm(stress[0]), rtol=1e-12)
    assert np.linalg.norm(stress[0]) > 1


# ---- all kinds of rows


def shafts() -> Mechanism:
    """Three shafts in a ring of gears, and a rack that says what one of them says."""
    m = Mechanism()
    for k in range(3):
        m.add_body(f"disk{k}", cylinder(0.1, 0.1, mass=1.0), position=(k, 0, 0))
        ends = ("world", f"disk{k}") if k else (f"disk{k}", "world")
        m.add_joint(Revolute(*ends, axis=Z, at=(k, 0, 0), name=f"s{k}"))
    m.add_body("sledge", box((0.1, 0.1, 0.1), mass=1.0), position=(0, 1, 0))
    m.add_joint(Prismatic("world", "sledge", axis=X, at=(0, 1, 0), name="slide"))
    # s0 is turned round: it counts the other way
    for near, far, ratio in (("s0", "s1", 2.0), ("s1", "s2", -0.5), ("s2", "s0", -1.0)):
        m.add_coupling(Gear(near, far, ratio))
    m.add_coupling(Rack("s1", "slide", 0.3))
    m.add_coupling(Rack("s1", "slide", 0.3, name="again"))
    return m


def own_rows() -> Mechanism:
    """Two bodies of a chain, and the sum of their heights twice: what it exerts on them does not cancel."""
    m = scenes.pendulum(3, "revolute", angle=0.4)
    height = m.bodies["link2"].position[2] + 2 * m.bodies["link3"].position[2]
    for name in ("sum", "again"):
        m.add_joint(Custom("link2", "link3", lambda a, b: [a.position[2] + 2 * b.position[2] - height], name=name))
    return m


def on_moving_ground() -> Mechanism:
    """A door on three hinges, on a wall that shakes and tilts."""
    m = Mechanism()
    m.add_body("door", box((1.0, 0.1, 2.0), mass=5.0), position=(0.5, 0, 1))

    def hinge(name: str, place: np.ndarray) -> None:
        m.add_joint(Revolute("world", "door", axis=Z, at=place, name=name))

        def wall(t: float) -> tuple[np.ndarray, np.ndarray]:
            turn = rot.from_rotation_vector(0.2 * np.sin(t) * X)
            return 0.2 * np.sin(3 * t) * X + rot.rotate(turn, place) - place, turn

        m.joints[name].ground = wall

    for name, height in (("low", 0.0), ("middle", 1.2), ("high", 2.0)):
        hinge(name, height * Z)
    return m


def welded_ball() -> Mechanism:
    m = Mechanism()
    m.add_body("ball", sphere(0.3, mass=1.0), position=(0, 0, 0.3))
    m.add_joint(RollingBall("world", "ball", radius=0.3))
    m.add_joint(Fixed("world", "ball"))
    return m


def two_wheels() -> Mechanism:
    """On one axle, which both keep from slipping along itself."""
    m = Mechanism()
    m.add_body("axle", cylinder(0.05, 1.0, mass=1.0), position=(0, 0, 0.3), orientation=rot.z_to(Y))
    for k, side in enumerate((-0.5, 0.5)):
        m.add_body(f"wheel{k}", cylinder(0.3, 0.02, mass=1.0), position=(0, side, 0.3), orientation=rot.z_to(Y))
        m.add_joint(Revolute("axle", f"wheel{k}", axis=Y, at=(0, side, 0.3)))
        m.add_joint(RollingDisk("world", f"wheel{k}", radius=0.3))
    return m


def floating_ring() -> Mechanism:
    """Four bars in space, a square of parallel hinges and a screw, and a plate that is tied to one of them by rods."""
    m = Mechanism()
    corners = [np.array(p) for p in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0))]
    for k in range(4):
        m.add_body(f"bar{k}", box((0.3, 0.2, 0.1), mass=1.0), position=0.5 * (corners[k] + corners[(k + 1) % 4]))
    for k in range(4):
        ends = (f"bar{k - 1}" if k else "bar3", f"bar{k}")
        kind = {"pitch": 0.2} if k == 2 else {}
        m.add_joint((Screw if k == 2 else Revolute)(*(ends if k % 2 else ends[::-1]), axis=Z, at=corners[k], **kind))
    m.add_body("plate", box((0.5, 0.5, 0.1), mass=1.0), position=(0.5, 0.5, 1))
    for k in range(8):
        turn = np.array((np.cos(k), np.sin(k), 0.1 * k))
        m.add_joint(Distance("bar0", "plate", anchors=(0.3 * turn, 0.2 * turn[[1, 0, 2]]), name=f"rod{k}"))
    return m


KINDS: dict[str, tuple[Callable[[], Mechanism], int]] = {
    "shafts": (shafts, 2),
    "own rows": (own_rows, 1),
    "moving ground": (on_moving_ground, 10),
    "welded ball": (welded_ball, 3),
    "two wheels": (two_wheels, 1),
    "floating ring": (floating_ring, 5),
}


@pytest.mark.filterwarnings("ignore::catena.StuckWarning")
# the rods of the ring hold some directions weakly
@pytest.mark.filterwarnings("ignore::catena.LoopWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_smallest_with_all_kinds_of_rows(kind: str) -> None:
    make, redundant = KINDS[kind]
    m = make()
    run = Simulator(m, 0.01).run(steps=20, record_every=10)
    assert ranks(run) == [run.multipliers.shape[1] - redundant] * 3
    assert_smallest(run)
    assert_smallest(with_multipliers(run, noise(run)))


# ---- runs and parts of them


def test_loaded_and_sliced_runs_have_the_same_reactions(tmp_path: Path) -> None:
    m = scenes.four_bar(gravity=(5.0, 3.0, -6.0))
    run = Simulator(m, 0.01).run(1.0)
    run.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz")
    for name in m.joints:
        np.testing.assert_array_equal(again.joint(name).force, run.joint(name).force)
        np.testing.assert_array_equal(run[:50:7].joint(name).torque, run.joint(name).torque[:50:7])


def test_reactions_leave_the_record_as_it_is() -> None:
    run = Simulator(scenes.four_bar(gravity=(5.0, 3.0, -6.0)), 0.01).run(0.1)
    recorded = run.multipliers.copy()
    _ = run.joint("joint1").force
    np.testing.assert_array_equal(run.multipliers, recorded)
    assert np.abs(reactions.smallest_multipliers(run) - recorded).max() > 0.1


def test_an_error_in_the_users_rows_is_told() -> None:
    m = own_rows()
    run = Simulator(m, 0.01).run(steps=2)

    def fails(*_: object) -> None:
        raise ZeroDivisionError("no such height")

    run.mechanism.joints["sum"]._gap = fails  # type: ignore[attr-defined]
    with pytest.raises(ZeroDivisionError, match="no such height"):
        _ = run.joint("joint1").force
