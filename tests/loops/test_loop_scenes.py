"""Closed-loop scenes: closed to rounding, free as they should be, and they run."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

import numpy as np
import pytest

from catena import Mechanism, Simulator, scenes
from catena._util import rotation as rot
from catena.scenes.walkers import HolyNumbers
from loop_scenes import SCENES, TURN

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


@pytest.fixture(params=SCENES, scope="module")
def scene(request: pytest.FixtureRequest) -> tuple[Mechanism, float, int, int]:
    make, *rest = SCENES[request.param]
    return make(), *rest


def jacobian(m: Mechanism) -> np.ndarray:
    """Forbidden relative twists of all joints per velocity of the bodies, in the described pose."""
    rows = {name: row for row, name in enumerate(m.bodies)}
    parts = []
    for j in m.joints.values():
        axes = rot.to_matrix(rot.multiply(j.a.orientation, j.frame_a)).T
        point = j.b.position + rot.rotate(j.b.orientation, j.anchor_b)
        part = np.zeros((6, 6 * len(rows)))
        for body, sign in ((j.a, -1), (j.b, 1)):
            if not body.is_world:
                k = 6 * rows[body.name]
                part[:3, k : k + 3] = part[3:, k + 3 : k + 6] = sign * axes
                part[:3, k + 3 : k + 6] = sign * axes @ np.cross(np.eye(3), point - body.position).T
        forbidden = np.linalg.svd(j.motion)[0][:, j.dof :] if j.dof else np.eye(6)
        parts.append(forbidden.T @ part)
    return np.concatenate(parts)


def test_every_joint_is_closed(scene: tuple[Mechanism, float, int, int]) -> None:
    m = scene[0]
    assert m.spanning_tree().loops
    state = m.state()
    for name in m.joints:
        assert state.joint(name).gap < 1e-12
        assert state.joint(name).misalignment < 1e-12

    # no body had to move for that
    np.testing.assert_array_equal(state.position, [body.position for body in m.bodies.values()])


def test_degrees_of_freedom(scene: tuple[Mechanism, float, int, int]) -> None:
    m, _, equations, freedoms = scene
    rows = jacobian(m)
    assert len(rows) == equations
    sizes = np.linalg.svd(rows, compute_uv=False)

    # nothing between rounding and the smallest real one: the pose is regular
    rank = int(np.count_nonzero(sizes > 1e-13 * sizes[0]))
    assert sizes[rank - 1] > 1e-3 * sizes[0]
    assert rows.shape[1] - rank == freedoms

    # and the velocities lie in the joints
    velocity = np.concatenate([(*body.velocity, *body.angular_velocity) for body in m.bodies.values()])
    assert np.abs(rows @ velocity).max() < 1e-12


def test_runs_with_closed_joints(scene: tuple[Mechanism, float, int, int]) -> None:
    m, dt, _, _ = scene
    run = Simulator(m, dt).run(1.0)
    assert run.halved_count == 0
    assert run.drift().max() <= 1e-10
    assert run.misalignment().max() <= 1e-10


def test_repr(scene: tuple[Mechanism, float, int, int]) -> None:
    m = scene[0]
    text = repr(m)
    assert text.startswith(f"Mechanism: {m.body_count} bodies, {m.joint_count} joints, ")
    assert "loops closed by:" in text or "more lines" in text


def length(m: Mechanism, body: str, first: str, second: str) -> float:
    """Distance of two joints on a body."""
    ends = [j.anchor_a if j.a.name == body else j.anchor_b for j in (m.joints[first], m.joints[second])]
    return float(np.linalg.norm(ends[1] - ends[0]))


# ---- linkages


def test_four_bar_is_that_of_the_paper() -> None:
    m = scenes.four_bar()
    for body, angle in zip(m.bodies.values(), (2.842889445268244, 1.633460242378158, pi), strict=True):
        np.testing.assert_allclose(body.orientation, rot.from_axis_angle((1, 0, 0), angle), atol=1e-15)
        assert body.inertia.mass == body.shape.size[2]  # type: ignore[union-attr]
    assert length(m, "link1", "joint1", "joint2") == pytest.approx(1.0, abs=1e-15)
    assert length(m, "link2", "joint2", "joint3") == pytest.approx(sqrt(0.5), abs=1e-15)
    assert length(m, "link3", "joint3", "joint4") == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(m.joints["joint4"].anchor_a, (0, 1, 0), atol=1e-15)
    np.testing.assert_allclose(m.state().body("link3").point((0, 0, -0.5)), (0, 1, 1), atol=1e-15)


def test_four_bar_moves_alike_in_any_plane() -> None:
    down = np.array((0.0, 0.0, -9.81))
    flat = Simulator(scenes.four_bar(), 0.01).run(1.0)
    turned = Simulator(scenes.four_bar(plane=TURN, gravity=rot.rotate(TURN, down)), 0.01).run(1.0)
    np.testing.assert_allclose(turned.position, rot.rotate(TURN, flat.position), atol=1e-9)


def test_n_four_bar_follows_its_reference() -> None:
    # N = 2: at 2 s B0 is here, once round and nearly upright again
    run = Simulator(scenes.n_four_bar(2), 0.001).run(2.0)
    top = run.body("crank0").point((0, 0, 0.5))[-1]
    np.testing.assert_allclose(top, (0.05781579576801143, 0.9983272678634555, 0), atol=2e-4)
    assert run.kinetic_energy()[0] == pytest.approx(1.5, abs=1e-8)


def test_bricard_follows_its_reference() -> None:
    run = Simulator(scenes.bricard(), 0.001).run(0.5)
    third = run.body("bar2").point((0, 0, 0.5))[-1]
    np.testing.assert_allclose(third, (0.7747178080391603, -0.9798150476556575, -0.1999061589534989), atol=1e-5)


def test_slider_crank_turns_as_told() -> None:
    m = scenes.slider_crank(crank=0.2, rod=0.5, offset=0.05, angle=0.4, rate=7.0)
    state = m.state()
    assert length(m, "rod", "crank pin", "wrist pin") == pytest.approx(0.5, abs=1e-15)
    np.testing.assert_allclose(state.body("slider").position[[0, 2]], (0, 0.05), atol=1e-15)
    assert state.joint("shaft").rate == pytest.approx(7.0, abs=1e-13)


# ---- chains


def test_closed_chain_is_that_of_the_paper() -> None:
    m = scenes.closed_chain(5)
    assert list(m.joints) == [f"joint{k}" for k in range(1, 7)]
    d = sqrt(0.5)
    np.testing.assert_allclose(m.state().body("link3").position, (0, 2 * d + 0.5, -2 * d), atol=1e-15)
    np.testing.assert_array_equal(m.joints["joint6"].anchor_a, (0, 1, 0))

    # the symmetric one keeps its middle level, the other does not
    for asymmetric in (False, True):
        run = Simulator(scenes.closed_chain(5, asymmetric=asymmetric), 0.01).run(0.5)
        turn = rot.rotate(run.body("link3").orientation, np.array((0, 0, 1.0)))[-1]
        assert (abs(turn[2]) < 1e-9) != asymmetric


@pytest.mark.filterwarnings("ignore:nothing moves")  # two links between two points are a truss
@pytest.mark.parametrize("n", [2, 3, 10, 101])
def test_catenary_rests(n: int) -> None:
    m = scenes.catenary_chain(n)
    run = Simulator(m, 0.01).run(0.2)
    assert np.abs(run.position - run.position[0]).max() < 1e-12
    forces = run.joint("joint1").force[-1], -run.joint(f"joint{n + 1}").force[-1]
    np.testing.assert_allclose(forces[0][2], 0.5 * 9.81 * n, atol=1e-8)
    np.testing.assert_allclose(forces[0], forces[1] * (1, 1, -1), atol=1e-8)


@pytest.mark.filterwarnings("ignore:nothing moves")  # two links between two points are a truss
@pytest.mark.parametrize(
    ("n", "span", "horizontal", "sag"),
    [(2, 1.0, 2.8319030703751142, 0.8660254037844386), (10, 6.0, 15.981664548217537, 3.655450362994185)],
)
def test_catenary_pulls_as_the_reference(n: int, span: float, horizontal: float, sag: float) -> None:
    m = scenes.catenary_chain(n, span)
    assert Simulator(m, 0.01).run(0.1).joint("joint1").force[-1, 1] == pytest.approx(-horizontal, abs=1e-8)
    assert m.state().body(f"link{n // 2}").point((0, 0, -0.5))[2] == pytest.approx(-sag, abs=1e-13)


def test_segmented_chain_hangs_in_rhombi() -> None:
    m = scenes.segmented_chain(3)
    state = m.state()
    corner = sum(np.array((0, np.sin(t), -np.cos(t))) for t in (3 * pi / 8, pi / 8))
    np.testing.assert_allclose(state.body("link3a").point((0, 0, 0.5)), 2 * corner, atol=1e-14)
    assert m.joints["hook3"].a.name == "link2d"
    elbows = scenes.segmented_chain(3, "elbow")
    assert [elbows.joints[f"hook{s}"].a.name for s in (1, 2, 3)] == ["world", "link1a", "link2a"]
    assert len(elbows.spanning_tree().loops) == 3


# ---- machines


def test_strandbeest_has_the_holy_numbers_and_walks() -> None:
    size, m = HolyNumbers(), scenes.strandbeest(2, rate=2 * pi)
    parts = {
        ("leg1 j", "crank-j", "j-upper"): size.j,
        ("leg2 k", "crank-k", "k-lower"): size.k,
        ("leg1 c", "frame-c", "c-lower"): size.c,
        ("leg2 f", "upper-f", "f-lower"): size.f,
        ("leg1 upper", "frame-upper", "j-upper"): size.b,
        ("leg2 upper", "frame-upper", "upper-f"): size.d,
        ("leg1 upper", "j-upper", "upper-f"): size.e,
        ("leg2 lower", "k-lower", "f-lower"): size.g,
    }
    for (body, one, other), wanted in parts.items():
        leg = body[:4]
        assert length(m, body, f"{leg} {one}", f"{leg} {other}") == pytest.approx(0.01 * wanted, abs=1e-15)

    assert m.state().joint("shaft").rate == pytest.approx(2 * pi, abs=1e-13)
    assert scenes.strandbeest(12).body_count == 2 + 12 * 6


def test_foot_of_the_strandbeest_goes_flat() -> None:
    """Jansen's aim: for over a third of the turn the foot stays within a percent of the leg's height."""
    size = HolyNumbers()
    heights = []
    for angle in np.linspace(0, 2 * pi, 120, endpoint=False):
        m = scenes.strandbeest(1, angle=float(angle))
        lower = m.bodies["leg1 lower"]
        knee, heel = (lower.position + m.joints[f"leg1 {j}"].anchor_b for j in ("k-lower", "f-lower"))
        way = (heel - knee)[1:] / (0.01 * size.g)
        along = (size.i**2 - size.h**2 + size.g**2) / (2 * size.g)
        foot = knee[1:] + 0.01 * (along * way - sqrt(size.i**2 - along**2) * np.array((-way[1], way[0])))
        heights.append(foot[1])
    low = min(heights)
    assert low == pytest.approx(-0.92, abs=0.02)
    assert np.mean(np.array(heights) < low + 0.01) > 1 / 3


def test_delta_robot_keeps_its_platform_level() -> None:
    m = scenes.delta_robot((0.3, 0.2, 0.5))
    for i in (1, 2, 3):
        for side in "ab":
            assert length(m, f"rod{i}{side}", f"elbow{i}{side}", f"wrist{i}{side}") == pytest.approx(1.2, abs=1e-14)
    assert m.bodies["platform"].position[2] < -1.0
    run = Simulator(m, 0.001).run(0.3)
    np.testing.assert_allclose(run.body("platform").orientation, [(1, 0, 0, 0)] * len(run), atol=1e-12)
    assert np.ptp(run.body("platform").position[:, 2]) > 0.3


def test_stewart_platform_stands_where_told() -> None:
    turn = rot.from_axis_angle((1, 2, 3), 0.3)
    m = scenes.stewart_platform((0.1, -0.1, 0.7), turn)
    np.testing.assert_array_equal(m.bodies["platform"].position, (0.1, -0.1, 0.7))
    for i in range(1, 7):
        assert np.linalg.norm(m.joints[f"base{i}"].anchor_a) == pytest.approx(0.6, abs=1e-15)
        assert np.linalg.norm(m.joints[f"top{i}"].anchor_b) == pytest.approx(0.4, abs=1e-15)


def test_minitaur_leg_goes_through_its_stretched_pose() -> None:
    m = scenes.minitaur_leg((1.0, 1.0))
    assert length(m, "leg front thigh", "leg front motor", "leg front knee") == pytest.approx(0.1, abs=1e-15)
    assert length(m, "leg rear shin", "leg rear knee", "leg foot") == pytest.approx(0.2, abs=1e-15)
    run = Simulator(m, 0.001).run(1.0)
    foot = run.body("leg front shin").point((0, 0, 0.1))
    assert foot[:, 2].min() == pytest.approx(-0.3, abs=1e-4)
    np.testing.assert_allclose(foot[:, 1], 0.0, atol=1e-9)
    assert run.drift().max() <= 1e-10


def test_net_does_not_stay_plane() -> None:
    run = Simulator(scenes.net(3, 4), 0.01).run(1.0)
    assert np.ptp(run.position[-1, [run.row(f"drop3,{c}") for c in range(4)], 0]) > 0.01


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scenes.closed_chain(4), "closed_chain: n must be odd, got 4"),
        (lambda: scenes.closed_chain(1), "closed_chain: n must be at least 3"),
        (lambda: scenes.closed_chain(3, "hinge"), "joint must be 'revolute' or 'ball'"),  # type: ignore[arg-type]
        (lambda: scenes.catenary_chain(4, 4.0), "catenary_chain: span must lie between 0 and 4 m, got 4"),
        (lambda: scenes.catenary_chain(3, 0.9), "catenary_chain: span must lie between 1 and 3 m"),
        (lambda: scenes.segmented_chain(0), "segmented_chain: k must be at least 1"),
        (lambda: scenes.segmented_chain(2, "top"), "attach must be 'bottom' or 'elbow'"),  # type: ignore[arg-type]
        (lambda: scenes.four_bar((0.1, 0.1, 1.0)), "bars of 0.1 m and 0.1 m cannot meet over 1.41421 m"),
        (lambda: scenes.four_bar(plane=(1, 1, 0, 0)), "four_bar: plane must be a unit quaternion"),
        (lambda: scenes.n_four_bar(0), "n_four_bar: n must be at least 1"),
        (lambda: scenes.slider_crank(rod=0.1), "slider_crank: a rod of 0.1 m does not reach"),
        (lambda: scenes.scissor(2, angle=0.0), "scissor: angle must lie between 0 and pi/2"),
        (lambda: scenes.ladder(0), "ladder: k must be at least 1"),
        (lambda: scenes.net(1, 1), "net: cols must be at least 2"),
        (lambda: scenes.strandbeest(0), "strandbeest: legs must be at least 1"),
        (lambda: scenes.delta_robot(rod=0.3), "delta_robot: rods of 0.3 m are too short"),
    ],
)
def test_bad_scene(make: Callable[[], Mechanism], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
