"""Robots: as free as they should be, servos that take them to the pose they stand in, and what the air keeps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from catena import Fixed, Mechanism, Revolute, Servo, Simulator, State, Trajectory, Universal, scenes

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

# scene, bodies, hinges, mass (kg)
ROBOTS: dict[str, tuple[Callable[..., Mechanism], int, int, float]] = {
    "quadruped": (scenes.quadruped, 13, 12, 12.2),
    "humanoid": (scenes.humanoid, 17, 21, 71.7),
    "humanoid of hinges": (lambda **how: scenes.humanoid(universals=False, **how), 22, 21, 73.2),
}
every_robot = pytest.mark.parametrize("robot", ROBOTS)


def make(robot: str, **how: bool) -> Mechanism:
    return ROBOTS[robot][0](**how)


def standing(m: Mechanism) -> State:
    """Every joint where its servos want it."""
    state = m.state()
    for name, joint in m.joints.items():
        laws = [force.parts[0] for force in m.forces.values() if force.parts[0].measure.joint == name]
        assert [part.measure.index for part in laws] == list(range(joint.dof))
        state.joint(name).coordinates = [part.law["target"] for part in laws]
    return state


def moving(m: Mechanism) -> State:
    """Near the standing pose, every joint on its way, and the base too where it can."""
    rng = np.random.default_rng(0)
    state = standing(m)
    for name, joint in m.joints.items():
        state.joint(name).coordinates += 0.1 * rng.normal(size=joint.dof)
    if "stand" not in m.joints:
        spin = rng.normal(size=3)
        state.velocity += rng.normal(size=3) + np.cross(spin, state.position)
        state.angular_velocity += spin
    for name, joint in m.joints.items():
        state.joint(name).rates = rng.normal(size=joint.dof)
    return state


@every_robot
@pytest.mark.parametrize("hung", [False, True])
def test_counts(robot: str, hung: bool) -> None:
    _, bodies, hinges, mass = ROBOTS[robot]
    m = make(robot, hung=hung)
    assert m.body_count == bodies
    assert sum(body.mass for body in m.bodies.values()) == pytest.approx(mass)
    assert m.report().freedom == hinges + (0 if hung else 6)
    assert m.joint_count == bodies - (not hung)
    assert isinstance(m.joints["stand"], Fixed) if hung else "stand" not in m.joints

    # a servo on every hinge, and nothing else
    driven = [(force.parts[0].measure.joint, force.parts[0].measure.index) for force in m.forces.values()]
    assert sorted(driven) == sorted((name, k) for name, joint in m.joints.items() for k in range(joint.dof))
    assert all(isinstance(force, Servo) for force in m.forces.values())


def test_humanoid_has_both_ways_to_cross_hinges() -> None:
    kinds = {name: type(joint) for name, joint in scenes.humanoid().joints.items()}
    assert [name for name, kind in kinds.items() if kind is Universal] == [
        "waist",
        "left ankle",
        "left shoulder",
        "right ankle",
        "right shoulder",
    ]
    assert kinds["left hip yaw"] is kinds["left hip roll"] is kinds["left hip pitch"] is Revolute
    assert list(scenes.humanoid().forces) == list(scenes.humanoid(universals=False).forces)


def angles(run: Trajectory) -> np.ndarray:
    """What every servo sees (step, servo)."""
    return np.stack([run.force(name).coordinate for name in run.mechanism.forces], axis=1)


@every_robot
def test_servos_make_it_stand(robot: str) -> None:
    m = make(robot)
    run = Simulator(m, 2e-3).run(6.0, record_every=10)
    assert run.halved_count == 0
    targets = np.array([force.parts[0].law["target"] for force in m.forces.values()])
    assert np.abs(targets).max() > 0.5

    # nothing pulls on a limb in free fall: what is left is the slow end of the way there
    np.testing.assert_allclose(angles(run)[-1], targets, atol=1e-3)


@every_robot
def test_standing_robot_has_its_feet_below_it(robot: str) -> None:
    m = make(robot)
    state = standing(m)
    tip = {"quadruped": ("shank", (0, 0, -0.1))}.get(robot, ("foot", (-0.05, 0, -0.03)))
    feet = np.array([state.body(name).point(tip[1]) for name in m.bodies if name.endswith(tip[0])])
    hips = np.array([m.bodies[name].position for name in m.bodies if name.endswith("thigh")])
    assert np.ptp(feet[:, 2]) < 1e-15
    np.testing.assert_allclose(feet[:, :2], hips[:, :2], atol=0.01)
    assert feet[0, 2] < -0.25


@every_robot
def test_momentum_in_the_air(robot: str) -> None:
    m = make(robot)
    state = moving(m)
    run = Simulator(m, 2e-3).run(steps=5000, state=state, record_every=10)
    assert run.halved_count == 0
    masses = np.array([body.mass for body in m.bodies.values()])
    fallen = masses.sum() * m.gravity * run.time[:, None]
    momentum = run.momentum() - fallen

    # a step adds its gravity with a rounding of the whole momentum, 1200 and 7000 kg m/s in the end
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-11 * masses.sum())

    # about the center of mass, which is 490 m down by then
    center = masses @ run.position / masses.sum()
    spin = run.angular_momentum() - np.cross(center, run.momentum())
    scale = np.linalg.norm(spin[0])
    assert np.abs(spin - spin[0]).max() < 1e-10 * scale


@every_robot
@pytest.mark.parametrize("hung", [False, True])
def test_energy_is_what_the_servos_feed(robot: str, hung: bool) -> None:
    m = make(robot, hung=hung)
    state = moving(m)
    errors, turnover = [], 0.0
    for dt in (1e-3, 5e-4, 2.5e-4):
        run = Simulator(m, dt).run(0.4, state=state)
        powers = np.array([run.force(name).power for name in m.forces])
        power = powers.sum(axis=0)
        fed = dt * (power.sum() - 0.5 * (power[0] + power[-1]))
        turnover = dt * float(np.abs(powers).sum())
        errors.append(abs(run.energy()[-1] - run.energy()[0] - fed))
    assert turnover > 1.0
    assert errors[-1] < 1e-3 * turnover
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.02)


@every_robot
@pytest.mark.parametrize("hung", [False, True])
def test_solvers_agree(robot: str, hung: bool) -> None:
    m = make(robot, hung=hung)
    state = moving(m)
    runs = [
        Simulator(m, 2e-3, solver=solver, tolerance=1e-12).run(steps=250, state=state)  # type: ignore[arg-type]
        for solver in ("articulated", "ldu", "dense")
    ]
    for other in runs[1:]:
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            np.testing.assert_allclose(getattr(other, name), getattr(runs[0], name), rtol=0, atol=1e-9, err_msg=name)
        for name in m.joints:
            np.testing.assert_allclose(other.joint(name).force, runs[0].joint(name).force, rtol=0, atol=1e-4)


@every_robot
def test_batch_is_the_same(robot: str) -> None:
    m = make(robot)
    states = [m.state(), moving(m)]
    simulator = Simulator(m, 2e-3, tolerance=1e-12)
    batch = simulator.run_batch(states=states, steps=250)
    for k, state in enumerate(states):
        run = simulator.run(steps=250, state=state)
        np.testing.assert_allclose(batch.position[k], run.position, rtol=0, atol=1e-10)
        np.testing.assert_allclose(batch.angular_velocity[k], run.angular_velocity, rtol=0, atol=1e-8)


def test_light_crosses_are_universal_joints() -> None:
    """A cross of a gram on two hinges moves the humanoid as a universal joint does, but for its weight."""
    runs = []
    for universals in (True, False):
        m = scenes.humanoid(hung=True, universals=universals)
        for name, body in m.bodies.items():
            if name.endswith("cross"):
                body.mass = 1e-6
        runs.append(Simulator(m, 1e-3).run(0.5))
    np.testing.assert_allclose(angles(runs[1]), angles(runs[0]), rtol=0, atol=1e-6)
