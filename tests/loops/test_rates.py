"""Rates that are asked for in an assembly: joints have them, and all other joints follow."""

from math import pi

import numpy as np
import pytest

import catena as ct
from all_rows import jacobian
from catena._util import rotation as rot
from catena.results.trajectory import single_node

Y = (0, 1, 0)


def four_bar() -> ct.Mechanism:
    a, b, c, d = (0, 0, 0), (0.3, 0, 0.1), (1.2, 0, 0.4), (0.9, 0, 0)
    m = ct.Mechanism()
    for name, ends, mass in (("crank", (a, b), 0.3), ("rod", (b, c), 1.0), ("rocker", (c, d), 0.5)):
        m.add_body(name, ct.rod(*ends, mass=mass))
    for name, one, other, at in (
        ("motor", "world", "crank", a),
        ("elbow", "crank", "rod", b),
        ("knee", "rod", "rocker", c),
        ("foot", "rocker", "world", d),
    ):
        m.add_joint(ct.Revolute(one, other, axis=Y, at=at, name=name))
    return m


def broken(state: ct.State) -> float:
    """The largest velocity across any joint."""
    moving = np.concatenate((state.velocity, state.angular_velocity), axis=1).ravel()
    return float(np.abs(jacobian(single_node(state)) @ moving).max())


def test_a_loop_turns_as_its_crank_is_told():
    m = four_bar()
    state = m.assemble(rates={"motor": 3.0})
    assert state.joint("motor").rate == pytest.approx(3.0, abs=1e-12)
    assert broken(state) < 1e-12
    # the knee opens by as much as the drive of the pose says, to second order in the step
    step = 1e-4
    ahead, behind = (m.assemble(coordinates={"motor": s * step * 3.0}) for s in (1, -1))
    speed = (ahead.joint("knee").angle - behind.joint("knee").angle) / (2 * step)
    assert state.joint("knee").rate == pytest.approx(speed, abs=1e-6)


def test_rates_go_with_a_driven_pose_and_a_guess():
    m = four_bar()
    turned = m.assemble(coordinates={"motor": 1.0}, rates={"foot": -0.7})
    assert turned.joint("motor").angle == pytest.approx(1.0, abs=1e-9)
    assert turned.joint("foot").rate == pytest.approx(-0.7, abs=1e-12)
    again = m.assemble(turned, rates={"motor": 0.0})
    assert np.abs(again.velocity).max() < 1e-12
    np.testing.assert_allclose(turned.position, again.position, atol=1e-15)


def test_other_velocities_change_as_little_as_the_masses_allow():
    # two balls tied by nothing but a gear: the rate that is asked for goes into its own joint and, geared, the other
    m = ct.Mechanism()
    for k in range(3):
        m.add_body(f"disk{k}", ct.cylinder(0.1, 0.1, mass=1.0 + k), position=(k, 0, 0))
        m.add_joint(ct.Revolute("world", f"disk{k}", axis=(0, 0, 1), at=(k, 0, 0), name=f"axle{k}"))
    m.add_coupling(ct.Gear("axle0", "axle1", -2.0))
    guess = m.state()
    guess.joint("axle2").rate = 5.0
    state = m.assemble(guess, rates={"axle1": 3.0})
    rates = [state.joint(f"axle{k}").rate for k in range(3)]
    np.testing.assert_allclose(rates, (-1.5, 3.0, 5.0), atol=1e-12)


@pytest.mark.parametrize("joint", ["ball", "universal", "cylindrical", "planar", "distance", "screw"])
def test_every_kind_of_joint_takes_its_rates(joint):
    m = ct.Mechanism()
    m.add_body("arm", ct.rod((0, 0, 0), (1, 0, 0), mass=1.0))
    m.add_body("hand", ct.box((0.1, 0.2, 0.3), mass=0.5), position=(1.2, 0.1, 0), orientation=(0.8, 0.6, 0, 0))
    m.add_joint(ct.Ball("world", "arm", at=(0, 0, 0), name="shoulder"))
    at = (1, 0, 0)
    kinds = {
        "ball": lambda: ct.Ball("arm", "hand", at=at, name="wrist"),
        "universal": lambda: ct.Universal("arm", "hand", axes=((1, 0, 0), (0, 1, 0)), at=at, name="wrist"),
        "cylindrical": lambda: ct.Cylindrical("arm", "hand", axis=(1, 2, 0), at=at, name="wrist"),
        "planar": lambda: ct.Planar("arm", "hand", axis=(0, 1, 1), at=at, name="wrist"),
        "distance": lambda: ct.Distance("arm", "hand", points=((1, 0, 0), (1.2, 0.1, 0.3)), name="wrist"),
        "screw": lambda: ct.Screw("arm", "hand", axis=(1, 0, 0), at=at, pitch=0.1, name="wrist"),
    }
    wrist = m.add_joint(kinds[joint]())
    rng = np.random.default_rng(3)
    guess = m.state()
    if wrist._is_branch:
        guess.joint("wrist").coordinates = rng.normal(scale=0.3, size=wrist.dof)
    wanted = {"wrist": rng.normal(size=wrist.dof), "shoulder": rng.normal(size=3)}
    state = m.assemble(guess, rates=wanted)
    for name, rates in wanted.items():
        np.testing.assert_allclose(state.joint(name).rates, rates, atol=1e-9)
    assert broken(state) < 1e-11


def test_drives_and_moving_ground_go_on_as_they_must():
    m = four_bar()
    m.add_body("tool", ct.sphere(0.1, mass=0.2), position=(0.3, 0, -0.4))
    m.add_joint(ct.Revolute("crank", "tool", axis=Y, at=(0.3, 0, 0.1), name="hang"))
    m.add_coupling(ct.PrescribedMotion("motor", lambda t: 2 * t, name="drive"))
    state = m.assemble(rates={"hang": -1.0})
    assert state.joint("motor").rate == pytest.approx(2.0, abs=1e-7)
    assert state.joint("hang").rate == pytest.approx(-1.0, abs=1e-9)

    swing = ct.scenes.pendulum(1, "revolute")
    swing.joints["joint1"].ground = lambda t: ((0.3 * t, 0, 0), rot.from_rotation_vector((0, 0.5 * t, 0)))
    state = swing.assemble(rates={"joint1": 2.0})
    assert state.joint("joint1").rate == pytest.approx(2.0, abs=1e-7)


@pytest.mark.parametrize(("joint", "speed", "spin"), [(ct.Revolute, 0.0, 0.5), (ct.Prismatic, 0.3, 0.0)])
def test_rates_are_relative_to_ground_that_moves_along_the_axis(joint, speed, spin):
    m = ct.Mechanism()
    m.add_body("body", ct.sphere(0.1, mass=1.0))
    m.add_joint(joint("world", "body", axis=Y, at=(0, 0, 0), name="joint"))
    m.joints["joint"].ground = lambda t: ((0, speed * t, 0), rot.from_rotation_vector((0, spin * t, 0)))
    state = m.assemble(rates={"joint": 2.0})
    assert state.joint("joint").rate == pytest.approx(2.0, abs=1e-9)
    assert state.velocity[0, 1] == pytest.approx((2.0 + speed) * (speed > 0), abs=1e-9)
    assert state.angular_velocity[0, 1] == pytest.approx((2.0 + spin) * (spin > 0), abs=1e-9)


def test_rates_of_fast_functions_are_of_fourth_order():
    m = ct.Mechanism()
    m.add_body("wheel", ct.cylinder(0.1, 0.1, mass=1.0))
    m.add_joint(ct.Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    m.add_coupling(ct.PrescribedMotion("axle", lambda t: np.sin(200 * t)))
    # differences over 1e-4 s: 200^5 1e-16 / 30 = 1e-6 rad/s, where those of second order would be off by 1e-2
    assert m.assemble().joint("axle").rate == pytest.approx(200, abs=1e-5)


def test_a_long_chain_takes_its_rates():
    m = ct.scenes.pendulum(300, "revolute")
    state = m.assemble(rates={"joint300": 1.0, "joint150": -2.0})
    assert state.joint("joint300").rate == pytest.approx(1.0, abs=1e-9)
    assert state.joint("joint150").rate == pytest.approx(-2.0, abs=1e-9)
    assert broken(state) < 1e-9


@pytest.mark.parametrize(
    ("rates", "sentence"),
    [
        (
            {"motor": 3.0, "knee": 5.0},
            r"'knee' cannot have 5: with 'motor' as requested, the other joints give it -?\d",
        ),
        ({"knee": 1.0, "foot": 1.0, "motor": 9.0}, r"'foot' cannot have 1: with 'knee' as requested"),
        ({"moter": 1.0}, r"rates: there is no joint called 'moter'; did you mean 'motor'\?"),
        ({"motor": (1.0, 2.0)}, r"rates of revolute joint 'motor' must have shape \(1,\)"),
        ({"motor": float("nan")}, "rates of revolute joint 'motor' must be finite"),
        ({"motor": "fast"}, "rates of revolute joint 'motor' must be numbers"),
    ],
)
def test_rates_that_cannot_be_had_are_named(rates, sentence):
    with pytest.raises(ValueError, match=sentence):
        four_bar().assemble(rates=rates)


def test_what_is_driven_cannot_be_given_another_rate():
    m = four_bar()
    m.add_coupling(ct.PrescribedMotion("motor", lambda t: 2 * t))
    with pytest.raises(ValueError, match="'motor' cannot have 1: the other joints give it 2"):
        m.assemble(rates={"motor": 1.0})
    assert m.assemble(rates={"motor": 2.0}).joint("motor").rate == pytest.approx(2.0, abs=1e-7)


def test_a_loop_runs_on_from_its_rate():
    m = four_bar()
    m.gravity = (0, 0, 0)
    run = ct.Simulator(m, 0.005).run(duration=2 * pi / 3, state=m.assemble(rates={"motor": 3.0}))
    assert run.joint("motor").rates[0, 0] == pytest.approx(3.0, abs=1e-9)
    assert run.energy_error().max() < 1e-3
