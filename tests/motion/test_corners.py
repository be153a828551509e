"""Corners where features meet: functions of time, rolling, couplings, turns, and what is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import catena as ct
from catena._util import rotation as rot

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


def shafts(n: int = 2) -> ct.Mechanism:
    m = ct.Mechanism(gravity=(0, 0, 0))
    for k in range(n):
        m.add_body(f"w{k}", ct.Inertia(1.0, 0.1 * np.eye(3)), position=(k, 0, 0))
        m.add_joint(ct.Revolute("world", f"w{k}", axis=(0, 0, 1), at=(k, 0, 0), name=f"s{k}"))
    return m


# ---- rolling


def test_velocity_rows_hold_at_nodes_without_any_function_of_time() -> None:
    m = ct.Mechanism()
    m.add_body("ball", ct.sphere(0.3, mass=1.0), position=(0, 0, 0.3), velocity=(1, 2, 0))
    m.add_joint(ct.RollingBall("world", "ball", radius=0.3))
    run = ct.Simulator(m, 0.01).run(0.1)
    body = run.body("ball")
    assert np.abs(body.velocity + np.cross(body.angular_velocity, (0, 0, -0.3))).max() < 1e-10


def test_node_velocities_on_turning_ground() -> None:
    m = ct.Mechanism()
    m.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0.5, 0, 0.1))
    joint = m.add_joint(ct.RollingBall("world", "ball", radius=0.1))
    joint.ground = lambda t: ((0, 0, 0), (np.cos(1.5 * t), 0, 0, np.sin(1.5 * t)))
    run = ct.Simulator(m, 0.01).run(0.1)
    body = run.body("ball")
    slip = body.velocity + np.cross(body.angular_velocity, (0, 0, -0.1)) - 3 * np.cross((0, 0, 1), body.position)
    assert np.abs(slip).max() < 1e-10


def test_a_flat_disk_is_refused() -> None:
    """open_joints takes NaN for closed; report() ends in LinAlgError; the run says "turns too far"."""
    m = ct.Mechanism()
    m.add_body("coin", ct.cylinder(0.3, 0.01, mass=1.0))
    m.add_joint(ct.RollingDisk("world", "coin", radius=0.3, name="rim"))
    with pytest.raises(ValueError, match="rim"):
        m.report()
    with pytest.raises(ValueError, match="rim"):
        ct.Simulator(m, 0.01).run(0.1)


# ---- turns


def test_assemble_moves_followers_beyond_half_a_turn() -> None:
    m = shafts()
    m.add_coupling(ct.Gear("s0", "s1", 3.0))
    state = m.assemble(coordinates={"s0": 2.0})
    assert state.joint("s1").angle == pytest.approx(6.0)


@pytest.mark.parametrize("first", [3.5, 5.0, -20.0])
def test_assemble_onto_a_drive_beyond_half_a_turn(first: float) -> None:
    m = shafts(1)
    m.add_coupling(ct.PrescribedMotion("s0", lambda t: first + t))
    state = m.assemble()
    assert state.joint("s0").angle == pytest.approx(first)


def test_assemble_onto_an_offset_beyond_half_a_turn() -> None:
    m = shafts()
    m.add_coupling(ct.Gear("s0", "s1", -1.0, offset=7.0))
    state = m.assemble()
    assert state.joint("s0").angle + state.joint("s1").angle == pytest.approx(7.0)


def test_control_sees_counted_turns() -> None:
    m = shafts(1)
    state = m.state()
    state.joint("s0").rate = 2.0
    seen = []
    run = ct.Simulator(m, 0.1).run(5.0, state=state, control=lambda t, s: seen.append(s.joint("s0").angle))
    np.testing.assert_allclose(seen, run.joint("s0").coordinates[: len(seen), 0], atol=1e-9)


def test_turns_on_moving_ground_with_record_every() -> None:
    m = shafts(1)
    m.joints["s0"].ground = lambda t: (0, 0, 0)
    state = m.state()
    state.joint("s0").rate = 7.0
    ends = [
        ct.Simulator(m, 0.01).run(20.0, state=state, record_every=k).joint("s0").coordinates[-1, 0] for k in (1, 250)
    ]
    assert ends[0] == pytest.approx(ends[1])


# ---- ground


def test_ground_under_a_coupled_joint_is_refused() -> None:
    m = shafts()
    m.add_coupling(ct.Gear("s0", "s1", -1.0))
    with pytest.raises(ValueError, match="moving ground"):
        ground_and_compile(m)


def test_ground_under_a_joint_with_a_force_is_refused() -> None:
    m = shafts()
    m.add_force(ct.Spring("s0", 1.0))
    with pytest.raises(ValueError, match="moving ground"):
        ground_and_compile(m)


def ground_and_compile(m: ct.Mechanism) -> None:
    m.joints["s0"].ground = lambda t: ((0, 0, 0), (np.cos(t / 2), 0, 0, np.sin(t / 2)))
    ct.Simulator(m, 0.01)


def test_ground_whose_quaternion_changes_sign() -> None:
    m = ct.Mechanism(gravity=(0, 0, 0))
    m.add_body("b", ct.box((1, 1, 1), mass=1.0))
    m.add_joint(ct.Fixed("world", "b", at=(0, 0, 0), name="f"))

    def turned(t: float) -> tuple[np.ndarray, np.ndarray]:
        q = rot.from_rotation_vector((0, 0, np.pi * t))
        return np.zeros(3), q if q[0] >= 0 else -q

    m.joints["f"].ground = turned
    run = ct.Simulator(m, 0.01).run(2.0)
    np.testing.assert_allclose(run.body("b").angular_velocity, np.tile((0, 0, np.pi), (len(run), 1)), atol=1e-6)


# ---- custom


def test_differences_where_centres_coincide() -> None:
    m = ct.Mechanism(gravity=(0, 0, 0))
    m.add_body("b", ct.sphere(0.3, mass=1.0))
    joint = m.add_joint(ct.Custom("world", "b", lambda a, b: b.position - a.position))
    joint.ground = lambda t: (t**2, 0, 0)
    run = ct.Simulator(m, 0.01).run(1.0)
    np.testing.assert_allclose(run.body("b").position[-1], (1, 0, 0), atol=1e-12)


def test_gradient_where_centres_nearly_coincide() -> None:
    m = ct.Mechanism()
    m.add_body("b", ct.sphere(0.3, mass=1.0), position=(1e-17, 0, 0))
    joint = m.add_joint(ct.Custom("world", "b", lambda a, b: b.position + 0.1))
    gradient = joint._gap_and_gradient(
        *(ct.BodyPose(np.array(p), np.array(rot.IDENTITY)) for p in ((0, 0, 0.0), (1e-17, 0, 0)))
    )[1]
    np.testing.assert_allclose(gradient[:, 6:9], np.eye(3), atol=1e-9)


def test_differences_far_from_the_origin_are_as_exact_as_a_built_in_joint() -> None:
    place, runs = np.array((10.0, 0, 0)), []
    for own in (True, False):
        m = ct.Mechanism()
        m.add_body("b", ct.sphere(0.1, mass=1.0), position=place + np.array((0.05, 0, 0)))
        if own:
            m.add_joint(ct.Custom("world", "b", lambda a, b: np.linalg.norm(b.position - place) - 0.05))
        else:
            m.add_joint(ct.Distance("world", "b", points=(place, place + np.array((0.05, 0, 0)))))
        runs.append(ct.Simulator(m, 0.001).run(1.0))
    np.testing.assert_allclose(runs[0].position, runs[1].position, rtol=0, atol=1e-9)


def test_functions_cannot_write_into_the_mechanism() -> None:
    m = ct.Mechanism()
    m.add_body("b", ct.sphere(0.3, mass=1.0), position=(1, 2, 3))

    def gap(a: ct.BodyPose, b: ct.BodyPose) -> float:
        b.position[:] -= 1.0
        return b.position[0]

    m.add_joint(ct.Custom("world", "b", gap))
    np.testing.assert_array_equal(m.bodies["b"].position, (1, 2, 3))


def test_rows_of_a_wrong_shape_name_the_joint() -> None:
    m = shafts(1)
    with pytest.raises(ValueError, match="joint 'v'"):
        m.add_joint(ct.VelocityRows("world", "w0", lambda a, b: np.ones(5), name="v"))


def test_core_linearize_with_velocity_rows() -> None:
    code = """
import numpy as np, catena as ct
m = ct.Mechanism(); m.add_body("b", ct.sphere(0.3, mass=1.0))
m.add_joint(ct.VelocityRows("world", "b", lambda a, b: np.eye(12)[6]))
sim = ct.Simulator(m, 0.1); c = sim.plan.core; n = c.unknown_count
c.linearize(dt=0.1, kick=0.1, position=np.zeros((1, 3)), orientation=np.array([[1., 0, 0, 0]]),
            velocity=np.zeros((1, 3)), momentum=np.zeros((1, 3)), unknowns=np.zeros(n),
            residual=np.empty(n), matrix=np.empty((n, n)), rows=sim.plan.compiled.rows)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- messages


def test_a_coupling_or_force_is_added_once() -> None:
    m = shafts()
    gear = m.add_coupling(ct.Gear("s0", "s1", 2.0))
    with pytest.raises(ValueError, match="already"):
        m.add_coupling(gear)
    spring = m.add_force(ct.Spring("s0", 2.0))
    with pytest.raises(ValueError, match="already"):
        m.add_force(spring)


def test_couplings_and_joints_share_their_names() -> None:
    m = shafts(1)
    with pytest.raises(ValueError, match="already a joint called 's0'"):
        m.add_coupling(ct.PrescribedMotion("s0", lambda t: t, name="s0"))
    m.add_coupling(ct.PrescribedMotion("s0", lambda t: t, name="crank"))
    with pytest.raises(ValueError, match="already a coupling called 'crank'"):
        m.add_joint(ct.Free("world", "w0", name="crank"))


def test_bushing_of_two_numbers_is_named() -> None:
    with pytest.raises(ValueError, match="bushing 'bushing a-b'"):
        ct.Bushing("a", "b", at=(0, 0, 0), stiffness=(1, 2))


def test_a_function_that_returns_no_number_is_named() -> None:
    m = shafts(1)
    m.add_coupling(ct.PrescribedMotion("s0", lambda t: "x", name="drive"))
    with pytest.raises(ValueError, match="prescribed motion 'drive'"):
        ct.Simulator(m, 0.01).run(steps=1)


@pytest.mark.parametrize("ratio", ["x", None])
def test_a_ratio_that_is_no_number_is_named(ratio: object) -> None:
    with pytest.raises(ValueError, match="gear"):
        ct.Gear("s0", "s1", ratio)


def test_a_driven_mechanism_is_not_locked() -> None:
    m = shafts(1)
    m.add_coupling(ct.PrescribedMotion("s0", lambda t: t))
    assert "cannot move" not in str(m.report())


def test_a_damper_too_stiff_for_order_4_is_named() -> None:
    m = shafts(1)
    m.add_force(ct.Damper("s0", 1e6, name="brake"))
    state = m.state()
    state.joint("s0").rate = 1.0
    with pytest.raises(ct.SimulationError, match="damper 'brake' is too stiff"):
        ct.Simulator(m, 0.01, order=4).run(0.1, state=state)


def test_a_trajectory_outlives_changes_of_its_mechanism() -> None:
    m = shafts()
    m.add_coupling(ct.Gear("s0", "s1", 2.0, name="gear"))
    run = ct.Simulator(m, 0.01).run(0.1)
    m.add_coupling(ct.Gear("s0", "s1", 2.0, name="other"))
    assert len(run.coupling("gear").effort) == len(run)


def test_turns_of_fast_counter_rotation() -> None:
    """Both bodies within |w| dt < 2, their relative turn a step beyond pi: two ways of recording, two answers."""
    m = ct.Mechanism(gravity=(0, 0, 0))
    for name, spin in (("a", 150.0), ("b", -150.0)):
        m.add_body(name, ct.sphere(0.1, mass=1.0), angular_velocity=(0, 0, spin))
    m.add_joint(ct.Revolute("a", "b", axis=(0, 0, 1), at=(0, 0, 0), name="j"))
    ends = [ct.Simulator(m, 0.012).run(steps=100, record_every=k).joint("j").coordinates[-1, 0] for k in (1, 50)]
    assert ends[0] == pytest.approx(ends[1])
