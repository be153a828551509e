"""The balance of energy: what motors, servos and dampers feed in or take is what the mechanism gains or loses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from catena import Damper, Friction, Live, Mechanism, Motor, PointSpring, Servo, Simulator, Spring, Trajectory, scenes
from mechanisms import arm, slider

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


def balance(run: Trajectory) -> float:
    """The largest change of energy that no work accounts for, in parts of the energy in motion."""
    laws = {name: force.parts[0].law for name, force in run.mechanism.forces.items()}
    # springs and rotors have energies of their own
    work = sum(run.force(name).work for name, law in laws.items() if law["stiffness"] == law["inertia"] == 0)
    error = np.abs(run.energy() - run.energy()[0] - work).max()
    return float(error / max(np.ptp(run.kinetic_energy()), np.ptp(run.potential_energy())))


def test_a_cart_by_hand() -> None:
    """1 kg under 2 N for 0.3 s from rest, 0.5 N over the next 0.2 s: 0.18 J, then 0.5 N x 0.13 m."""
    live: list[float] = []

    def control(t: float, node: Live) -> None:
        node.set(push=2.0 if t < 0.299 else 0.5)
        live.append(node.efforts[0])

    run = Simulator(slider(), 0.1).run(steps=5, control=control)
    work = run.force("push").work
    np.testing.assert_allclose(work, (0, 0.02, 0.08, 0.18, 0.18 + 0.5 * 0.0625, 0.18 + 0.5 * 0.13), rtol=1e-12)
    np.testing.assert_allclose(run.energy(), work, rtol=1e-12)
    np.testing.assert_array_equal(run.efforts[:, 0], live)
    np.testing.assert_array_equal(run.efforts[:, 0], run.force("push").effort)


def loop(torque: float = 0.0) -> Mechanism:
    m = scenes.four_bar()
    m.add_force(Motor(next(iter(m.joints)), torque, name="crank"))
    return m


def chain(torque: float = 0.0) -> Mechanism:
    m = scenes.pendulum(3, "revolute", angle=0.8)
    for k, joint in enumerate(m.joints):
        m.add_force(Motor(joint, torque, name=f"motor{k}"))
    return m


@pytest.mark.parametrize("make", [chain, loop])
@pytest.mark.parametrize("order", [2, 4])
def test_constant_inputs_are_as_good_as_none(make: Callable[..., Mechanism], order: int) -> None:
    """A constant torque is the slope of a potential: the balance is bounded as energy is without it."""
    run, free = (Simulator(make(torque), 0.01, order=order).run(10.0) for torque in (0.3, 0.0))
    assert np.abs(run.force(run.mechanism.inputs[0]).work).max() > 0.1
    # other motions, of about the same speed
    assert balance(run) < 4 * balance(free) + 1e-9
    # and it does not grow
    half = run[: len(run) // 2]
    assert balance(run) < 3 * balance(half)


def driven(m: Mechanism, dt: float, every: int) -> Trajectory:
    """Torques that jump every 0.1 s."""
    given = np.random.default_rng(2).normal(size=(100, len(m.inputs)))

    def control(t: float, live: Live) -> None:
        live.inputs[:] = given[round(t / dt) // every]

    return Simulator(m, dt, tolerance=1e-13).run(1.0, control=control)


@pytest.mark.parametrize("make", [chain, loop, arm])
def test_changing_inputs_balance_to_second_order(make: Callable[[], Mechanism]) -> None:
    errors = [balance(driven(make(), 0.02 / 2**k, 5 * 2**k)) for k in range(4)]
    order = np.polyfit(np.log([1, 0.5, 0.25, 0.125]), np.log(errors), 1)[0]
    assert order > 1.8, errors


@pytest.mark.parametrize(
    "add",
    [
        lambda m: m.add_force(Damper("joint1", 0.4)),
        lambda m: m.add_force(Friction("joint2", 0.2, threshold=0.5)),
        lambda m: m.add_force(Servo("joint2", kp=3.0, kd=0.4, target=0.5, effort_limit=2.0)),
        lambda m: m.add_force(Servo("joint2", kp=3.0, kd=0.4, target=lambda t: 0.3 * np.sin(3 * t))),
        lambda m: m.add_force(Motor("joint1", lambda t: 0.5 * np.sin(4 * t))),
    ],
    ids=["damper", "friction", "servo", "moving target", "function of time"],
)
def test_all_that_drives_or_brakes(add: Callable[[Mechanism], None]) -> None:
    errors = []
    for k in range(3):
        m = scenes.pendulum(2, "revolute", angle=0.8)
        add(m)
        run = Simulator(m, 0.01 / 2**k, tolerance=1e-13).run(2.0)
        assert np.ptp(run.energy()) > 0.02
        errors.append(balance(run))
    order = np.polyfit(np.log([1, 0.5, 0.25]), np.log(errors), 1)[0]
    assert order > 1.8, errors


def test_springs_give_back_what_they_took() -> None:
    m = scenes.pendulum(2, "revolute", angle=0.8)
    m.add_force(Spring("joint2", 3.0, rest_length=0.2, name="coil"))
    run = Simulator(m, 0.01).run(2.0)
    stored = 1.5 * (run.force("coil").coordinate - 0.2) ** 2
    # exactly, but for rounding
    np.testing.assert_allclose(run.force("coil").work, stored[0] - stored, rtol=0, atol=1e-12)


def test_a_live_mechanism_tells_forces_and_energies() -> None:
    """What a run records at the same node."""
    m = arm()
    m.add_force(
        PointSpring("world", [*m.bodies][-1], 2.0, name="rope", anchors=((1, 0, 0), (0, 0, 0)), rest_length=0.1)
    )
    simulate = Simulator(m, 0.01)
    live = simulate.start()
    live.step(7)
    node = simulate.run(steps=7)
    assert live.energy() == pytest.approx(node.energy()[-1], rel=1e-13)
    assert live.kinetic_energy() + live.potential_energy() == pytest.approx(live.energy(), rel=1e-13)
    assert live.force("rope").effort[0] == pytest.approx(node.force("rope").effort[-1], rel=1e-12)
    np.testing.assert_allclose(live.efforts, node.efforts[-1], rtol=1e-12)
    for joint in m.joints:
        np.testing.assert_allclose(live.joint(joint).force, node.joint(joint).force[-1], rtol=0, atol=1e-9)
        np.testing.assert_allclose(live.joint(joint).torque, node.joint(joint).torque[-1], rtol=0, atol=1e-9)
    batch = simulate.start_batch(2)
    batch.step(7)
    np.testing.assert_allclose(batch.efforts[1], live.efforts, rtol=1e-9)


def test_accelerations_of_points() -> None:
    """A rod that is let go horizontally falls about its end: 3/2 g at the tip; on the way to second order."""
    m = scenes.pendulum(1, "revolute", angle=np.pi / 2)
    errors: list[tuple[float, float]] = []
    for dt in (0.02, 0.01, 0.005):
        run = Simulator(m, dt).run(0.4)
        rod = run.body("link1")
        tip, swing = rod.point_acceleration((0, 0, -0.5)), rod.angular_acceleration
        assert np.linalg.norm(tip[0]) == pytest.approx(1.5 * 9.81, rel=0.02)
        # of a turning point: across from the angular acceleration, inwards from the speed
        arm = rod.point((0, 0, -0.5)) - rod.point((0, 0, 0.5))
        spin = rod.angular_velocity
        wanted = np.cross(swing, arm) + np.cross(spin, np.cross(spin, arm))
        # Newton's law for the center of mass, 1 kg
        unbalanced = rod.acceleration - (0, 0, -9.81) - run.joint("joint1").force
        errors.append((np.abs(tip - wanted).max(), np.abs(unbalanced).max()))
    assert np.polyfit(np.log([4, 2, 1]), np.log(errors), 1)[0].min() > 1.8, errors
    with pytest.raises(ValueError, match="three recorded nodes"):
        Simulator(m, 0.01).run(steps=1).body("link1").acceleration  # noqa: B018


@pytest.mark.parametrize("order", [4, 8])
def test_work_between_distant_nodes(order: int) -> None:
    """Nodes 50 ms apart, of which few are needed at high orders: work is the integral in between."""
    m = scenes.pendulum(2, "revolute", angle=1.2)
    for joint in m.joints:
        m.add_force(Damper(joint, 0.05, name=f"{joint} damper"))
    m.add_force(Motor("joint1", lambda t: 2.0 * np.sin(3 * t), name="motor"))
    run = Simulator(m, 0.05, order=order).run(2.0)
    # 2 to 5 % where only the nodes were summed
    assert balance(run) < (2e-4 if order == 4 else 1e-6)
