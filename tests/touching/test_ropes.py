"""Ropes, limits of ball joints and of sums of coordinates: one-sided, exact at nodes, forces of statics."""

from __future__ import annotations

from math import cos, sin, sqrt

import numpy as np
import pytest

import catena as ct
from catena import Limits, Mechanism, Simulator

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

G = 9.81
SOLVERS = ("articulated", "ldu", "dense")
ORDERS = (1, 2, 4, 6, 8)


# ---- ropes


def tether(restitution: float = 0.0) -> Mechanism:
    """A weight that falls beside the point it is tied to, until its rope is taut."""
    m = Mechanism()
    m.add_body("weight", ct.sphere(0.1, mass=2.0), position=(0.6, 0, 0))
    m.add_force(ct.Rope("world", "weight", anchors=np.zeros((2, 3)), length=1.0, restitution=restitution, name="rope"))
    return m


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_a_rope_is_never_longer(restitution: float, solver: str, order: int) -> None:
    run = Simulator(tether(restitution), 0.01, solver=solver, order=order, on_inaccurate="ignore").run(2.0)
    assert np.linalg.norm(run.position[:, 0], axis=1).max() - 1 <= 1e-12
    assert run.impacts[0].name == "rope"
    # the weight falls 0.8 m straight down before its rope is taut
    if order > 1:
        assert run.impacts[0].time == pytest.approx(sqrt(2 * 0.8 / G), abs=1e-10)
        assert run.impacts[0].approach == pytest.approx(0.8 * sqrt(2 * G * 0.8), abs=1e-9)
        assert run.impacts[0].leaving == pytest.approx(-restitution * run.impacts[0].approach, abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_rope_pulls_as_a_pendulum_does(solver: str) -> None:
    """From the side, taut from the start: the motion and the pull are those of a rod."""
    m, rod = Mechanism(), Mechanism()
    place = (sin(1.2), 0, -cos(1.2))
    for each in (m, rod):
        each.add_body("weight", ct.sphere(0.1, mass=2.0), position=place)
    m.add_force(ct.Rope("world", "weight", anchors=np.zeros((2, 3)), name="rope"))
    rod.add_joint(ct.Distance("world", "weight", anchors=np.zeros((2, 3)), name="rod"))
    run, same = (Simulator(each, 0.005, solver=solver).run(2.0) for each in (m, rod))
    np.testing.assert_allclose(run.position, same.position, atol=1e-9)
    pull = run.force("rope").effort[:-1]
    np.testing.assert_allclose(-pull, np.linalg.norm(same.joint("rod").force[:-1], axis=1), atol=1e-6)
    assert (pull < 0).all()
    assert run.force("rope").work[-1] == 0


def test_a_slack_rope_is_not_there() -> None:
    m = tether()
    m.bodies["weight"].position = (0, 0, 0.5)
    m.bodies["weight"].velocity = (0, 0, 1.0)
    run = Simulator(m, 0.01).run(0.3)
    np.testing.assert_allclose(run.position[:, 0, 2], 0.5 + run.time - 0.5 * G * run.time**2, atol=1e-12)
    assert not run.impacts
    assert not run.force("rope").effort.any()


def test_a_rope_may_begin_where_its_points_coincide() -> None:
    """Let go at the point it is tied to, a weight falls freely until the rope is taut."""
    m = Mechanism()
    m.add_body("weight", ct.sphere(0.1, mass=2.0))
    m.add_force(ct.Rope("world", "weight", anchors=np.zeros((2, 3)), length=1.0, restitution=1.0, name="rope"))
    for solver in SOLVERS:
        run = Simulator(m, 0.01, solver=solver).run(1.0)
        assert run.impacts[0].time == pytest.approx(sqrt(2 / G), abs=1e-10)
        assert np.abs(run.energy()).max() < 1e-9


def test_two_bodies_on_a_rope_keep_their_momentum() -> None:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("a", ct.box((0.2, 0.1, 0.1), mass=1.0), velocity=(-1, 0.2, 0))
    m.add_body("b", ct.box((0.2, 0.1, 0.1), mass=3.0), position=(0.5, 0, 0), angular_velocity=(0, 0, 2.0))
    m.add_force(ct.Rope("a", "b", anchors=((0.1, 0, 0), (-0.1, 0.05, 0)), length=0.8))
    run = Simulator(m, 0.005).run(2.0)
    assert run.impacts
    np.testing.assert_allclose(run.momentum(), np.broadcast_to(run.momentum()[0], (len(run), 3)), atol=2e-14)
    np.testing.assert_allclose(
        run.angular_momentum(), np.broadcast_to(run.angular_momentum()[0], (len(run), 3)), atol=2e-14
    )


# ---- ball joints


def hip(**limits: Limits) -> Mechanism:
    """A rod that hangs on a ball joint and is thrown about."""
    m = Mechanism()
    m.add_body("thigh", ct.box((0.1, 0.2, 0.6), mass=3.0), position=(0, 0, -0.3), angular_velocity=(4.0, 1.5, 5.0))
    m.add_joint(ct.Ball("world", "thigh", at=(0, 0, 0), name="hip"))
    m.joints["hip"].limits = limits
    return m


def turns(run: ct.Trajectory) -> dict[str, np.ndarray]:
    """Swing, twist and rotation at all nodes, from quaternions."""
    w, x, y, z = run.orientation[:, 0].T
    return {
        "swing": 2 * np.arctan2(np.hypot(x, y), np.hypot(w, z)),
        "twist": (2 * np.arctan2(z, w) + np.pi) % (2 * np.pi) - np.pi,
        "rotation": 2 * np.arctan2(np.sqrt(x**2 + y**2 + z**2), np.abs(w)),
    }


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "limits",
    [
        {"swing": (-np.inf, 0.15)},
        {"twist": (-0.5, 0.3)},
        {"rotation": (-np.inf, 0.7)},
        {"swing": (-np.inf, 0.1), "twist": (-0.2, 0.2)},
    ],
)
@pytest.mark.parametrize("restitution", [0.0, 0.8])
def test_a_ball_joint_stays_in_its_cone(restitution: float, limits, solver: str, order: int) -> None:
    given = {name: Limits(*pair, restitution=restitution) for name, pair in limits.items()}
    run = Simulator(hip(**given), 0.004, solver=solver, order=order, on_inaccurate="ignore").run(1.0)
    found = turns(run)
    assert {impact.coordinate for impact in run.impacts} == set(limits)
    for name, (lower, upper) in limits.items():
        assert found[name].max() <= upper + 1e-12
        assert found[name].min() >= lower - 1e-12
    assert run.drift().max() < 1e-12


@pytest.mark.parametrize("name", ["swing", "twist", "rotation"])
def test_turns_lose_what_their_impacts_say(name: str) -> None:
    pair = {"swing": (-np.inf, 0.15), "twist": (-0.5, 0.3), "rotation": (-np.inf, 0.5)}[name]
    run = Simulator(hip(**{name: Limits(*pair, restitution=0.7)}), 0.001, order=4).run(0.6)
    assert run.impacts
    balance = run.energy() + run.dissipated()
    assert np.abs(balance - balance[0]).max() < 1e-6
    for impact in run.impacts:
        assert impact.leaving == pytest.approx(-0.7 * impact.approach, abs=1e-9)


def test_a_cone_holds_a_weight_as_statics_says() -> None:
    """A rod that leans against its cone: the torque is that of its weight."""
    m = Mechanism()
    m.add_body("rod", ct.rod((0, 0, 0), (0, 0, 1.0), mass=2.0))
    m.add_joint(ct.Ball("world", "rod", at=(0, 0, 0), name="foot"))
    m.joints["foot"].limits = {"swing": Limits(upper=0.6)}
    state = m.state()
    state.joint("foot").coordinates = (0.0, 0.6, 0.0)
    run = Simulator(m, 0.01).run(0.5, state=state)
    assert np.abs(run.position - run.position[0]).max() < 1e-9
    np.testing.assert_allclose(run.joint("foot").stop[5:-1], -2.0 * G * 0.5 * sin(0.6), atol=1e-6)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"swing": Limits(0.1, 0.5)}, "the swing has an upper limit between 0.001 and pi, and no lower one"),
        ({"swing": Limits(upper=4.0)}, "the swing has an upper limit"),
        ({"twist": Limits(-4.0, 0.5)}, "limits of the twist must lie between -pi and pi"),
        ({"angle": Limits(-0.1, 0.5)}, "has no coordinate 'angle'; its named coordinates: 'swing' and 'twist' and"),
    ],
)
def test_limits_that_a_ball_joint_cannot_have(limits, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        hip(**limits)


# ---- sums of coordinates


def finger(restitution: float = 0.0) -> Mechanism:
    """Three hinges whose angles together are limited, as by a tendon."""
    m = ct.scenes.pendulum(3, "revolute", angle=0.4)
    m.add_force(
        ct.SumLimits(
            [("joint1", 1.0), ("joint2", 1.0), ("joint3", 0.5)],
            Limits(-0.3, 0.8, restitution=restitution),
            name="tendon",
        )
    )
    return m


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("restitution", [0.0, 0.7])
def test_a_sum_stays_within_its_limits(restitution: float, solver: str, order: int) -> None:
    run = Simulator(finger(restitution), 0.005, solver=solver, order=order, on_inaccurate="ignore").run(3.0)
    total = run.coordinates @ (1.0, 1.0, 0.5)
    assert run.impacts
    assert {impact.name for impact in run.impacts} == {"tendon"}
    assert total.max() <= 0.8 + 1e-12
    assert total.min() >= -0.3 - 1e-12


def test_a_sum_takes_what_it_says() -> None:
    run = Simulator(finger(0.5), 0.002, order=4).run(2.0)
    balance = run.energy() + run.dissipated()
    assert run.dissipated()[-1] > 0.01
    assert np.abs(balance - balance[0]).max() < 1e-6


def test_a_sum_of_one_is_a_limit() -> None:
    plain, summed = (ct.scenes.pendulum(2, "revolute", angle=0.9) for _ in range(2))
    plain.joints["joint2"].limits = Limits(-0.2, 0.3)
    summed.add_force(ct.SumLimits([("joint2", 2.0)], Limits(-0.4, 0.6), name="twice"))
    runs = [Simulator(m, 0.005).run(2.0) for m in (plain, summed)]
    np.testing.assert_allclose(runs[0].position, runs[1].position, atol=1e-8)
    np.testing.assert_allclose(runs[0].joint("joint2").stop, 2 * runs[1].force("twice").effort, atol=1e-4)


def test_a_sum_counts_turns() -> None:
    """Two wheels that may turn against each other by three turns and no more."""
    m = Mechanism(gravity=(0, 0, 0))
    for k, spin in enumerate((9.0, -3.0)):
        m.add_body(f"wheel{k}", ct.cylinder(0.2, 0.1, mass=1.0), position=(k, 0, 0), angular_velocity=(0, 0, spin))
        m.add_joint(ct.Revolute("world", f"wheel{k}", axis=(0, 0, 1), at=(k, 0, 0), name=f"axle{k}"))
    m.add_force(ct.SumLimits([("axle0", 1.0), ("axle1", -1.0)], Limits(upper=6 * np.pi, restitution=1.0)))
    run = Simulator(m, 0.01, order=8).run(3.0)
    assert run.impacts[0].time == pytest.approx(6 * np.pi / 12, abs=1e-9)
    assert (run.coordinates @ (1.0, -1.0)).max() <= 6 * np.pi + 1e-11
    # equal wheels: the impact sets both to the speeds of which the sum is kept and the difference turned round
    np.testing.assert_allclose(run.rates[-1], (-3.0, 9.0), atol=1e-9)


# ---- the parts of a mechanism


def all_of_them() -> Mechanism:
    m = Mechanism()
    m.add(finger(0.3))
    m.add(hip(swing=Limits(upper=0.1), twist=Limits(-0.3, 0.3)), prefix="right ", at=(0, 2, 0))
    m.add(tether(0.2), at=(0, 4, 0))
    return m


def test_they_survive_copies_and_files(tmp_path) -> None:
    m = all_of_them()
    run = Simulator(m, 0.005).run(1.0)
    assert {impact.name for impact in run.impacts} == {"rope", "tendon", "right hip"}
    m.save(tmp_path / "m.json")
    run.save(tmp_path / "run.npz")
    again = ct.Trajectory.load(tmp_path / "run.npz")
    assert again.impacts == run.impacts
    np.testing.assert_array_equal(again.force("rope").effort, run.force("rope").effort)
    for other in (m.copy(), m.snapshot(), Mechanism.load(tmp_path / "m.json"), again.mechanism):
        np.testing.assert_array_equal(Simulator(other, 0.005).run(1.0).position, run.position)


def test_runs_that_are_cut_are_the_same_bit_for_bit() -> None:
    simulator = Simulator(all_of_them(), 0.005)
    whole = simulator.run(steps=200)
    rest = simulator.run(steps=117, state=simulator.run(steps=83)[-1])
    np.testing.assert_array_equal(rest.position[-1], whole.position[-1])


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="length must be positive"):
        ct.Rope("world", "a", anchors=np.zeros((2, 3)), length=0.0)
    with pytest.raises(ValueError, match="give points= "):
        ct.Rope("world", "a")
    with pytest.raises(ValueError, match="limits must be Limits"):
        ct.SumLimits([("a", 1.0)], Limits())
    m = finger()
    with pytest.raises(ValueError, match="is used by"):
        m.remove_joint("joint2")
    tied = tether()
    tied.bodies["weight"].position = (0, 0, -1.1)
    with pytest.raises(ct.SimulationError, match=r"rope 'rope' starts 0.1 beyond its limits; start from"):
        Simulator(tied, 0.01).run(0.1)


# ---- models

MJCF = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
<body name="head" pos="0 0 2"><joint name="neck" type="ball" range="0 40" {soft}/>
<geom size="0.1" pos="0.1 0 0.3"/></body>
<body name="one" pos="1 0 1"><joint name="first" axis="0 1 0" ref="10"/><geom size="0.1" pos="0.3 0 0"/>
<body name="two" pos="0.5 0 0"><joint name="second" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body></body>
</worldbody><tendon><fixed name="cord" limited="true" range="-0.2 0.5">
<joint joint="first" coef="1"/><joint joint="second" coef="-0.5"/></fixed></tendon></mujoco>"""


def test_models_bring_ranges_of_balls_and_tendons(tmp_path) -> None:
    """Read, held, written and read again; `limits="ignore"` runs without them."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "model.xml"
    path.write_text(MJCF.format(soft=""))
    m = Mechanism.from_mjcf(path)
    assert m.joints["neck"].limits["rotation"].upper == pytest.approx(np.deg2rad(40))
    m.to_mjcf(tmp_path / "again.xml")
    again = Mechanism.from_mjcf(tmp_path / "again.xml")
    theirs = mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml"))
    assert theirs.jnt_range[0] == pytest.approx((0, np.deg2rad(40)))
    for each in (m, again):
        run = Simulator(each, 0.005).run(1.5)
        # the coordinates of a file begin at its `ref`, those of a tendon there as well
        total = run.joint("first").angle - 0.5 * run.joint("second").angle
        assert total.max() <= 0.5 - np.deg2rad(10) + 1e-12
        assert total.min() >= -0.2 - np.deg2rad(10) - 1e-12
        assert np.linalg.norm(run.joint("neck").coordinates, axis=1).max() <= np.deg2rad(40) + 1e-12
        assert {impact.name for impact in run.impacts} == {"neck", "cord"}
    assert not Simulator(m, 0.005, limits="ignore").run(1.5).impacts


def test_softness_of_limits_in_models_is_noted(tmp_path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "model.xml"
    path.write_text(MJCF.format(soft='solreflimit="0.1 1"'))
    with pytest.warns(ct.ModelWarning, match=r"not read: solreflimit, as limits are hard \(neck\)"):
        Mechanism.from_mjcf(path)
