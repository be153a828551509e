"""Limits in batches: members in lanes are single runs that stop, each at limits of its own, however they are run."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest

import catena as ct
from catena import Limits, Mechanism, Simulator

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

G = 9.81


def rod(restitution: float = 0.0) -> Mechanism:
    """A rod of 1 m and 1 kg that falls from 0.2 rad below the horizontal; its angle is measured from there."""
    m = Mechanism()
    m.add_body("rod", ct.rod((0, 0, 0), (cos(0.2), 0, -sin(0.2)), mass=1.0))
    m.add_joint(ct.Revolute("world", "rod", axis=(0, 1, 0), at=(0, 0, 0), name="hinge"))
    m.joints["hinge"].limits = Limits(-1.0, 1.0, restitution=restitution)
    return m


def arm(restitution: float, *, flipped: bool = False) -> Mechanism:
    """A slide, a hinge, a cylindrical joint, a universal one and a fork, with limits on every coordinate."""
    m, last, at = Mechanism(), "world", np.zeros(3)
    joints = (
        lambda a, b, p, name: ct.Prismatic(a, b, axis=(1, 0, 0), at=p, name=name),
        lambda a, b, p, name: ct.Revolute(a, b, axis=(0, 1, 0), at=p, name=name),
        lambda a, b, p, name: ct.Cylindrical(a, b, axis=(0, 1, 0), at=p, name=name),
        lambda a, b, p, name: ct.Universal(a, b, at=p, axes=((0, 1, 0), (1, 0, 0)), name=name),
    )
    for k, join in enumerate(joints):
        name, end = f"link{k}", at + np.array((0.4, 0.1 * k, 0.1))
        m.add_body(name, ct.rod(at, end, mass=1.0))
        ends = (name, last) if flipped else (last, name)
        joint = m.add_joint(join(*ends, at, f"joint{k}"))
        joint.limits = {key: Limits(-0.2, 0.15, restitution=restitution) for key in joint.names}
        last, at = name, end
    m.add_body("fork", ct.rod(at, at + np.array((0.3, 0, 0)), mass=0.5))
    m.add_joint(ct.Revolute("link1", "fork", axis=(0, 1, 0), at=m.bodies["link1"].position, name="side"))
    m.joints["side"].limits = Limits(-0.3, 0.3, restitution=restitution)
    return m


def laws() -> Mechanism:
    """The same with a law on some of the limited coordinates."""
    m = arm(0.5)
    m.add_force(ct.Damper("joint1", 0.2))
    m.add_force(ct.Armature("joint0", 0.3))
    m.add_force(ct.Servo("side", kp=30.0, kd=2.0, target=0.8))
    m.add_force(ct.Friction("joint1", 0.1))
    return m


def beside_a_loop() -> Mechanism:
    """A four-bar that runs in lanes, with a limited rod on its coupler, through which no loop passes."""
    m = ct.scenes.four_bar()
    name = list(m.bodies)[1]
    at = m.bodies[name].position
    m.add_body("rod", ct.rod(at, at + np.array((0.3, 0.0, 0.1)), mass=0.5))
    axis = m.joints["joint1"].axis if hasattr(m.joints["joint1"], "axis") else (0, 1, 0)
    m.add_joint(ct.Revolute(name, "rod", axis=axis, at=at, name="side"))
    m.joints["side"].limits = Limits(-0.3, 0.2, restitution=0.5)
    return m


SCENES = {
    "rod": lambda: rod(0.0),
    "rod that bounces": lambda: rod(0.8),
    "arm": lambda: arm(0.0),
    "arm that bounces": lambda: arm(0.6),
    "flipped": lambda: arm(0.3, flipped=True),
    "laws": laws,
    "beside a loop": beside_a_loop,
}


def starts(m: Mechanism, count: int) -> np.ndarray:
    """Rates of all coordinates, other ones in every member."""
    return np.random.default_rng(3).uniform(-1, 1, (count, len(m.coordinates)))


def over(batch: ct.Batch, k: int) -> float:
    """By how much a member passes limits at nodes."""
    most, m = -np.inf, batch.mechanism
    for name, joint in m.joints.items():
        for key, limits in joint.limits.items():
            q = batch[k].joint(name).coordinates[:, joint.names.index(key)]
            most = max(most, q.max() - limits.upper, limits.lower - q.min())
    return most


@pytest.mark.parametrize("scene", SCENES)
def test_members_in_lanes_are_single_runs(scene: str) -> None:
    m = SCENES[scene]()
    simulator, rates = Simulator(m, 0.004), starts(m, 11)
    if scene == "beside a loop":
        batch = simulator.run_batch(steps=150, states=11)
        state = [m.state()] * 11
    else:
        batch = simulator.run_batch(steps=150, coordinates=np.zeros_like(rates), rates=rates)
        state = [batch[k][0] for k in range(11)]
    assert not batch.alone
    impacts = 0
    for k in (0, 4, 10):
        alone = simulator.run(steps=150, state=state[k])
        impacts += len(alone.impacts)
        np.testing.assert_allclose(batch.position[k], alone.position, rtol=0, atol=1e-8)
        np.testing.assert_allclose(batch.velocity[k], alone.velocity, rtol=0, atol=1e-6)
        assert over(batch, k) <= 1e-12
    assert impacts > 0


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_velocities_at_nodes_go_into_no_stop(restitution: float) -> None:
    """Where something stands at its stop, after bounces too."""
    m = arm(restitution)
    state = m.state()
    for name, joint in m.joints.items():
        state.joint(name).rates = np.full(len(joint.names), 0.7)
    run = Simulator(m, 0.004).run(steps=200, state=state)
    stands = 0
    for name, joint in m.joints.items():
        for key, limits in joint.limits.items():
            k = joint.names.index(key)
            q, rate = run.joint(name).coordinates[:, k], run.joint(name).rates[:, k]
            high, low = q > limits.upper - 2e-13, q < limits.lower + 2e-13
            stands += np.count_nonzero(high | low)
            assert (rate[high] < 1e-9).all()
            assert (rate[low] > -1e-9).all()
    assert stands > 50


@pytest.mark.parametrize("scene", ["arm", "arm that bounces", "laws"])
def test_neighbors_threads_and_cuts_change_no_bit(scene: str) -> None:
    m = SCENES[scene]()
    simulator, rates = Simulator(m, 0.004), starts(m, 19)
    zero = np.zeros_like(rates)
    whole = simulator.run_batch(steps=120, coordinates=zero, rates=rates, threads=1)
    assert not whole.alone
    some = simulator.run_batch(steps=120, coordinates=zero[5:8], rates=rates[5:8], threads=2)
    np.testing.assert_array_equal(some.position, whole.position[5:8])
    np.testing.assert_array_equal(some.velocity, whole.velocity[5:8])
    live = simulator.start_batch(coordinates=zero, rates=rates)
    for count in (1, 36, 3, 80):
        live.step(count)
    np.testing.assert_array_equal(live.position, whole.position[:, -1])
    np.testing.assert_array_equal(live.velocity, whole.velocity[:, -1])
    # members that begin anew between others
    live.reset([2, 3])
    live.step(120)
    np.testing.assert_array_equal(live.position[2:4], whole.position[2:4, -1])


def test_members_rest_on_their_stops_in_lanes() -> None:
    """For a thousand steps, where every step is one solve: they do not leave the lanes."""
    simulator = Simulator(rod(0.0), 0.005)
    batch = simulator.run_batch(steps=1000, states=9, record_every=1000)
    assert not batch.alone
    np.testing.assert_allclose(batch[0].joint("hinge").angle[-1], 1.0, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(batch.velocity[:, -1], 0.0)
    assert (batch.iterations[:, 600:] == 1).all()


@pytest.mark.parametrize("beyond", [3e-12, 5e-10])
def test_members_in_lanes_pass_no_limit_by_a_little(beyond: float) -> None:
    """A node would lie just beyond the limit, after turns that are summed up over 20 000 steps."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("rod", ct.rod((0, 0, 0), (1, 0, 0), mass=1.0))
    m.add_joint(ct.Revolute("world", "rod", axis=(0, 1, 0), at=(0, 0, 0), name="hinge"))
    m.joints["hinge"].limits = Limits(-100.0, 100.0)
    rates = np.random.default_rng(0).uniform(0.2, 0.3, (48, 1))
    simulator, steps = Simulator(m, 0.004), 20_000

    def angles(limits: dict | None) -> np.ndarray:
        batch = simulator.run_batch(
            steps=steps, coordinates=np.zeros_like(rates), rates=rates, record_every=steps, limits=limits
        )
        assert not batch.alone
        return batch.joint("hinge").coordinates[:, -1, 0]

    upper = angles(None) - beyond
    assert (angles({"hinge": {"upper": upper}}) - upper).max() < 1e-12


def test_members_let_go_of_their_stops() -> None:
    """A motor that lifts the rod off its stop, switched on in one member."""
    m = rod(0.0)
    m.add_force(ct.Motor("hinge", 0.0, name="motor"))
    live = Simulator(m, 0.005).start_batch(9)
    alone = Simulator(m, 0.005).start()
    for batch in (live, alone):
        batch.step(400)
    live.set(motor=np.where(np.arange(9) == 4, -8.0, 0.0))
    alone.set(motor=-8.0)
    for batch in (live, alone):
        batch.step(60)
    assert live.coordinates[4, 0] < 0.5
    assert live.coordinates[4, 0] == pytest.approx(alone.coordinates[0], abs=1e-10)
    np.testing.assert_allclose(np.delete(live.coordinates[:, 0], 4), 1.0, rtol=0, atol=1e-12)


def test_a_member_that_starts_beyond_its_limits_fails_alone() -> None:
    m = rod(0.0)
    angles = np.array([[0.0], [1.3], [0.5]])
    simulator = Simulator(m, 0.005, on_failure="stop")
    batch = simulator.run_batch(steps=50, coordinates=angles)
    assert [status.ok for status in batch.status] == [True, False, True]
    assert "'hinge' (angle) starts 0.3 beyond its limits" in batch.status[1].message
    live = simulator.start_batch(coordinates=angles)
    assert live.failed.tolist() == [False, True, False]
    live.step(50)
    np.testing.assert_array_equal(live.position[::2], batch.position[::2, -1])


# ---- limits of a member's own


@pytest.mark.parametrize("order", [2, 4])
def test_members_have_limits_of_their_own(order: int) -> None:
    m, upper, bounce = rod(0.0), np.linspace(0.3, 1.1, 9), np.linspace(0.0, 0.8, 9)
    simulator = Simulator(m, 0.005, order=order)
    batch = simulator.run_batch(steps=300, states=9, limits={"hinge": {"upper": upper, "restitution": bounce}})
    live = simulator.start_batch(9, limits={"hinge": {"upper": upper, "restitution": bounce}})
    live.step(300)
    np.testing.assert_array_equal(live.position, batch.position[:, -1])
    for k in (0, 3, 8):
        m.joints["hinge"].limits = Limits(-1.0, upper[k], restitution=bounce[k])
        alone = Simulator(m, 0.005, order=order).run(steps=300)
        np.testing.assert_allclose(batch.position[k], alone.position, rtol=0, atol=1e-9)
        assert batch[k].mechanism.joints["hinge"].limits == m.joints["hinge"].limits
        assert batch[k].joint("hinge").angle.max() == pytest.approx(upper[k], abs=2e-2)


def test_members_have_soft_limits_of_their_own() -> None:
    m, stiffness = rod(0.0), np.array([200.0, 2000.0, 20000.0])
    m.joints["hinge"].limits = {"angle": Limits(-1.0, 1.0, stiffness=100.0, damping=1.0)}
    batch = Simulator(m, 0.001).run_batch(steps=800, states=3, limits={"hinge": {"angle": {"stiffness": stiffness}}})
    for k in range(3):
        m.joints["hinge"].limits = Limits(-1.0, 1.0, stiffness=stiffness[k], damping=1.0)
        alone = Simulator(m, 0.001).run(steps=800)
        np.testing.assert_allclose(batch.position[k], alone.position, rtol=0, atol=1e-9)


def test_files_and_chunks_keep_members_limits(tmp_path) -> None:
    upper = np.linspace(0.3, 1.1, 5)
    simulator = Simulator(rod(0.0), 0.005)
    batch = simulator.run_batch(steps=100, states=5, limits={"hinge": {"upper": upper}})
    batch.save(tmp_path / "batch.npz")
    again = ct.Batch.load(tmp_path / "batch.npz")
    assert again[3].mechanism.joints["hinge"].limits.get("angle") == Limits(-1.0, upper[3])
    joined = ct.join([batch, simulator.run_batch(steps=100, states=2)])
    assert joined[6].mechanism.joints["hinge"].limits.get("angle") == Limits(-1.0, 1.0)
    kept = simulator.run_batch(
        steps=100, states=5, limits={"hinge": {"upper": upper}}, keep=lambda part: {"end": part.position[:, -1]}
    )
    np.testing.assert_array_equal(kept["end"], batch.position[:, -1])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"knee": {"upper": np.ones(3)}}, "knee"),
        ({"hinge": {"upper": np.ones(2)}}, r"shape \(3,\)"),
        ({"hinge": {"stiffness": np.ones(3)}}, "hard limits of .* have no 'stiffness', only lower, upper, restitution"),
        ({"hinge": {"upper": np.array([1.0, -2.0, 1.0])}}, "member 1: limits: lower -1 is above upper -2"),
        ({"hinge": {"restitution": np.array([1.0, 0.0, 2.0])}}, "member 2: .*between 0 and 1"),
        ({"hinge": {"upper": np.array([1.0, 0.0, np.nan])}}, "member 2: .*must be a number"),
        ({"free": {"upper": np.ones(3)}}, "no limits of 'angle', so its members cannot"),
        ({"hinge": 3.0}, "must be a mapping"),
    ],
)
def test_limits_of_members_that_make_no_sense(limits, message: str) -> None:
    m = rod(0.0)
    m.add_body("other", ct.box((0.1, 0.1, 0.1), mass=1.0), position=(1.0, 0, 0))
    m.add_joint(ct.Revolute("rod", "other", axis=(0, 1, 0), at=(1.0, 0, 0), name="free"))
    with pytest.raises(ValueError, match=message):
        Simulator(m, 0.005).run_batch(steps=1, states=3, limits=limits)
