"""What springs, dampers, motors, servos and friction exert, as a run shows it."""

from __future__ import annotations

import numpy as np
import pytest

from catena import (
    Armature,
    Bushing,
    Damper,
    Friction,
    Inertia,
    Live,
    Mechanism,
    Motor,
    PointSpring,
    Prismatic,
    Revolute,
    Servo,
    Simulator,
    Spring,
    Trajectory,
    box,
    scenes,
)

MASS = 2.0


def slider(velocity: float = 0.0) -> Mechanism:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("sledge", Inertia(MASS, 0.1 * np.eye(3)), velocity=(velocity, 0, 0))
    m.add_joint(Prismatic("world", "sledge", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    return m


def test_a_spring_and_its_damper() -> None:
    """By place and rate; together they are what the sledge's acceleration needs."""
    m = slider(1.0)
    m.add_force(Spring("rail", 8.0, rest_length=0.3, name="spring"))
    m.add_force(Spring("rail", 5.0, damping=0.7, implicit=True, name="soft"))
    run = Simulator(m, 0.01).run(2.0)
    x, v = run.position[:, 0, 0], run.velocity[:, 0, 0]
    np.testing.assert_allclose(run.force("spring").effort, -8 * (x - 0.3), rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.force("spring").power, -8 * (x - 0.3) * v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.force("soft").effort, -5 * x - 0.7 * v, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.force("soft").coordinate, x, rtol=0, atol=1e-15)
    np.testing.assert_allclose(run.force("soft").rate, v, rtol=0, atol=1e-15)

    # Newton's law, of second order: (w dt)^2/6 of 2 m/s^2, w = 2.5 rad/s
    total = run.force("spring").effort + run.force("soft").effort
    np.testing.assert_allclose((v[2:] - v[:-2]) / 0.02, total[1:-1] / MASS, rtol=0, atol=5e-4)


def test_motor_servo_and_friction() -> None:
    m = slider(0.2)
    m.add_force(Motor("rail", lambda t: 3 * np.cos(t), name="motor"))
    m.add_force(Servo("rail", kp=30.0, kd=4.0, target=np.sin, effort_limit=2.5, name="servo"))
    m.add_force(Servo("rail", kd=0.5, target_rate=0.4, name="speed"))
    m.add_force(Friction("rail", 0.5, threshold=0.05, name="rub"))
    run = Simulator(m, 0.01).run(3.0)
    t, x, v = run.time, run.position[:, 0, 0], run.velocity[:, 0, 0]
    np.testing.assert_allclose(run.force("motor").effort, 3 * np.cos(t), rtol=0, atol=1e-13)
    servo = 30 * (np.sin(t) - x) + 4 * (np.cos(t) - v)
    assert (np.abs(servo) > 2.5).any()
    assert (np.abs(servo) < 2.5).any()
    # the target's rate by differences over 0.1 ms
    np.testing.assert_allclose(run.force("servo").effort, np.clip(servo, -2.5, 2.5), rtol=0, atol=1e-7)
    np.testing.assert_allclose(run.force("speed").effort, 0.5 * (0.4 - v), rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.force("rub").effort, -0.5 * np.tanh(v / 0.05), rtol=0, atol=1e-13)
    assert run.force("rub").power.max() <= 0


def work(run: Trajectory, name: str) -> float:
    power = run.force(name).power
    return float(np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(run.time)))


def test_power_is_what_the_energy_changes_by() -> None:
    """Of a chain with forces between points, in a joint over several turns, and along all directions of a bushing."""
    m = scenes.pendulum(2, "revolute", angle=1.0)
    m.add_body("block", box((0.1, 0.2, 0.3), mass=1.0), position=(0.3, 0, 0), velocity=(0, 0.2, 0.1))
    m.add_body("wheel", box((0.2, 0.2, 0.1), mass=1.0), position=(2, 0, 0))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(2, 0, 0), name="shaft"))
    m.add_force(PointSpring("link1", "link2", 3.0, anchors=((0.1, 0, 0), (0, 0.1, 0)), damping=0.4, name="strut"))
    m.add_force(
        Bushing("world", "block", at=(0.3, 0, 0), stiffness=(40, 0, 30), damping=2.0, turn_damping=0.1, name="pad")
    )
    m.add_force(Damper("joint1", 0.3, name="oil"))
    m.add_force(Motor("shaft", 0.2, name="motor"))
    m.add_force(Damper("shaft", 0.005, name="air"))
    run = Simulator(m, 0.002, order=4).run(3.0)
    assert run.force("motor").coordinate[-1] > 2 * np.pi
    assert run.force("pad").effort.shape == (len(run), 6)
    # kinetic energy and weight: the potential energy of springs is theirs
    stored = 0.5 * 3.0 * (run.force("strut").coordinate - m.forces["strut"].parts[0].law["rest_length"]) ** 2
    pad = run.force("pad").coordinate[:, [0, 2]]
    stored = stored + 0.5 * np.sum(np.array((40, 30)) * pad**2, axis=1)
    mechanical = run.energy() - stored
    gained = mechanical[-1] - mechanical[0]
    assert abs(gained) > 0.1
    # the trapezoidal rule over steps of 2 ms
    assert sum(work(run, name) for name in m.forces) == pytest.approx(gained, abs=1e-4)


def test_what_has_no_effort_says_so() -> None:
    m = slider()
    m.add_force(Armature("rail", 0.5, name="rotor"))
    run = Simulator(m, 0.01).run(steps=2)
    with pytest.raises(ValueError, match="armature 'rotor' has no effort at a node"):
        _ = run.force("rotor").effort
    with pytest.raises(ValueError, match="no force called 'motor'"):
        run.force("motor")


def test_effort_of_a_part_of_a_run() -> None:
    m = slider(1.0)
    m.add_force(Spring("rail", 8.0, name="spring"))
    run = Simulator(m, 0.01).run(1.0)
    np.testing.assert_array_equal(run[20:50].force("spring").effort, run.force("spring").effort[20:50])


def test_states_and_batches_tell_what_drives_exert() -> None:
    """As the run that they are of does, with inputs that were set and numbers of members' own."""
    m = scenes.pendulum(2, "revolute", angle=0.7)
    m.add_force(Servo("joint2", kp=30.0, kd=2.0, target=0.4, name="knee"))
    m.add_force(Motor("joint1", 1.5, name="hip"))
    simulator = Simulator(m, 0.01)

    def control(t: float, live: Live) -> None:
        live.set(knee=np.sin(t))

    run = simulator.run(steps=20, control=control)
    for k in (0, 7, 20):
        np.testing.assert_array_equal(run[k].efforts, run.efforts[k])
        np.testing.assert_array_equal(run[k].copy().efforts, run.efforts[k])
    np.testing.assert_allclose(m.state().efforts, (30 * 0.4, 1.5), rtol=1e-15)

    laws = {"knee": {"kp": (10.0, 30.0), "target": (0.4, -0.2)}, "hip": {"effort": (1.5, 0.5)}}
    batch = simulator.run_batch(states=2, steps=20, force_parameters=laws)
    assert batch.efforts.shape == (2, 21, 2)
    live = simulator.start_batch(2, force_parameters=laws)
    live.step(20)
    for k in range(2):
        # a member's own numbers are those of a mechanism of its own
        np.testing.assert_array_equal(batch.efforts[k], batch[k].efforts)
        np.testing.assert_array_equal(live.efforts[k], batch.efforts[k, -1])


def test_efforts_of_servos_that_hold_a_speed() -> None:
    """The input is the target rate: kd (target_rate - rate), as the force itself tells, and as described if unset."""
    m = scenes.pendulum(2, "revolute", angle=0.7)
    m.add_force(Servo("joint2", kd=0.5, target_rate=6.0, effort_limit=2.0, name="wheel"))
    np.testing.assert_array_equal(m.state().efforts, (2.0,))
    live = Simulator(m, 0.01).start()
    live.set(wheel=1.0)
    live.step(5)
    np.testing.assert_allclose(live.efforts, 0.5 * (1.0 - live.joint("joint2").rate), rtol=1e-14)
    np.testing.assert_allclose(live.efforts, live.force("wheel").effort, rtol=1e-14)
    batch = Simulator(m, 0.01).run_batch(states=2, steps=5, force_parameters={"wheel": {"target_rate": (1.0, -1.0)}})
    rates = batch.joint("joint2").rates[..., 0]
    np.testing.assert_allclose(batch.efforts[..., 0], 0.5 * (np.array([[1.0], [-1.0]]) - rates), rtol=1e-14)
