"""Applied forces and controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike

from catena import Armature, Damper, Inertia, Live, Load, Mechanism, Servo, Simulator, State, Trajectory, scenes
from catena._util import rotation as rot

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

X, _, Z = np.eye(3)
MASS = 2.0


def wrenches(state: State, loads: Mapping[str, ArrayLike | Load]) -> np.ndarray:
    """Forces and torques (n, 6) on the centers of mass in the world frame."""
    total = np.zeros((state.mechanism.body_count, 6))
    for row, name in enumerate(state.mechanism.bodies):
        if name not in loads:
            continue
        load = loads[name]
        if not isinstance(load, Load):
            given = np.asarray(load, dtype=float)
            load = Load(given[:3], given[3:] if len(given) == 6 else (0, 0, 0))
        turn = rot.to_matrix(state.orientation[row] if load.frame == "body" else np.array(rot.IDENTITY))
        force, torque = turn @ np.asarray(load.force), turn @ np.asarray(load.torque)
        arm = rot.rotate(state.orientation[row], np.asarray(load.at, dtype=float))
        total[row] = [*force, *(torque + np.cross(arm, force))]
    return total


def brick(gravity: object = (0.0, 0.0, 0.0), **pose: object) -> Mechanism:
    m = Mechanism(gravity=gravity)
    m.add_body("brick", Inertia(MASS, (0.1, 0.2, 0.25)), **pose)
    return m


# ---- given forces


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
@pytest.mark.parametrize("form", ["mapping", "six", "load", "array", "array of six"])
def test_constant_force_makes_a_parabola(form: str, solver: str) -> None:
    force, v0, gravity = np.array((1.0, -2.0, 3.0)), np.array((0.5, 1.0, -1.0)), np.array((0, 0, -9.81))
    forms = {
        "mapping": {"brick": force},
        "six": {"brick": (*force, 0, 0, 0)},
        "load": {"brick": Load(force=force)},
        "array": force[None],
        "array of six": np.concatenate((force, np.zeros(3)))[None],
    }
    m = brick(gravity, velocity=v0)
    run = Simulator(m, 0.02, solver=solver).run(3.0, loads=forms[form])
    t, a = run.time[:, None], gravity + force / MASS

    # the symmetric scheme is exact for a constant force: rounding of 40 m
    np.testing.assert_allclose(run.position[:, 0], v0 * t + a * t**2 / 2, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.velocity[:, 0], v0 + a * t, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.angular_velocity, 0, atol=1e-14)


def test_constant_torque_about_a_principal_axis() -> None:
    run = Simulator(brick(), 0.001).run(1.0, loads={"brick": (0, 0, 0, 0, 0, 0.5)})

    # momentum is exact, the angle of second order: (w dt)^2/24 of 1 rad
    np.testing.assert_allclose(run.angular_velocity[:, 0], 0.5 / 0.25 * run.time[:, None] * Z, rtol=0, atol=1e-11)
    angle = rot.z_angle(run.orientation[:, 0])
    np.testing.assert_allclose(angle, run.time**2, rtol=0, atol=1e-6)


def pushed(load: object, **pose: object) -> Trajectory:
    return Simulator(brick(**pose), 0.005).run(1.0, loads={"brick": load})


def test_force_at_a_point_carries_its_torque() -> None:
    """A point of the body, so its torque turns with the body while the force does not."""
    tilted = {"orientation": rot.from_rotation_vector((0.3, -0.5, 0.9))}
    force, point = np.array((1.0, 2.0, -0.5)), np.array((0.1, -0.2, 0.3))
    run = pushed(Load(force=force, at=point), **tilted)

    def same(t: float, state: State) -> Mapping[str, Load]:
        return {"brick": Load(force=force, at=point)}

    other = Simulator(brick(**tilted), 0.005).run(1.0, control=same)

    # the same numbers by another way: Newton's tolerance times dt, over 200 steps
    np.testing.assert_allclose(run.orientation, other.orientation, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.position, other.position, rtol=0, atol=1e-10)
    assert np.linalg.norm(run.angular_velocity[-1]) > 1

    # a force along the arm of a body at rest does not turn it
    still = pushed(Load(force=point, at=point))
    np.testing.assert_allclose(still.angular_velocity, 0, atol=1e-14)


def test_body_frame() -> None:
    """Given in body axes, force and torque turn along: a rocket that spins about its thrust flies straight."""
    tilted = {"orientation": rot.from_rotation_vector((0.3, -0.5, 0.9))}
    axis = rot.rotate(tilted["orientation"], Z)
    run = pushed(Load(force=3 * Z, torque=0.5 * Z, frame="body"), **tilted)
    t = run.time[:, None]
    np.testing.assert_allclose(run.position[:, 0], 3 / MASS * axis * t**2 / 2, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.angular_velocity[:, 0], 0.5 / 0.25 * axis * t, rtol=0, atol=1e-11)

    # across the spin the direction of the force turns with the body
    across = pushed(Load(force=3 * X, torque=5 * Z, frame="body"))
    angle = 5 / 0.25 * across.time**2 / 2
    rate = np.stack((np.cos(angle), np.sin(angle), 0 * angle), axis=1) * 3 / MASS
    dv = 0.005 * (rate.cumsum(axis=0) - 0.5 * rate - 0.5 * rate[0])

    # trapezoidal sum of the exact directions; the angle at 10 rad is off by (w dt)^2/24 of itself
    np.testing.assert_allclose(across.velocity[:, 0], dv, rtol=0, atol=2e-3)


@pytest.mark.parametrize("extra", [0, 1])
def test_one_row_per_step_or_node(extra: int) -> None:
    """Row k acts at node k, over half of the interval on either side; a missing last row repeats the one before."""
    steps, dt = 50, 0.01
    rows = np.random.default_rng(0).normal(size=(steps + extra, 3))
    nodes = rows if extra else np.concatenate((rows, rows[-1:]))
    expected = np.concatenate((np.zeros((1, 3)), np.cumsum(0.5 * dt * (nodes[1:] + nodes[:-1]), axis=0))) / MASS
    for forces in ({"brick": rows}, {"brick": Load(force=rows)}, rows[:, None, :]):
        run = Simulator(brick(), dt).run(steps=steps, loads=forces)
        np.testing.assert_allclose(run.velocity[:, 0], expected, rtol=0, atol=1e-13)

    # rows for the torque, one force for all
    run = Simulator(brick(), dt).run(steps=steps, loads={"brick": Load(force=X, torque=rows)})
    np.testing.assert_allclose(run.velocity[-1, 0], steps * dt / MASS * X, rtol=0, atol=1e-13)
    spin = run.angular_momentum((0, 0, 0))[-1] - np.cross(run.position[-1, 0], MASS * run.velocity[-1, 0])
    np.testing.assert_allclose(spin, MASS * expected[-1], rtol=0, atol=1e-11)


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_momentum_gained_is_the_impulse(solver: str) -> None:
    """Of a floating chain pushed at one link: the joints inside neither add nor take."""
    state = scenes.spinning_chain(5).state()
    force, torque = np.array((1.0, 2.0, -1.0)), np.array((0.3, 0.0, 0.2))
    simulator = Simulator(state.mechanism, 0.004, solver=solver, tolerance=1e-13)
    run = simulator.run(steps=200, state=state, loads={"link3": (*force, *torque)})
    assert run.halved_count == 0
    gained = run.momentum() - run.momentum()[0]
    np.testing.assert_allclose(gained, run.time[:, None] * force, rtol=0, atol=1e-11)

    # torque and force at the link's center, summed at nodes with half weights at the ends
    rate = torque + np.cross(run.body("link3").position, force)
    impulse = 0.004 * (rate.cumsum(axis=0) - 0.5 * rate - 0.5 * rate[0])
    gained = run.angular_momentum() - run.angular_momentum()[0]
    np.testing.assert_allclose(gained, impulse, rtol=0, atol=1e-10)


# ---- control


def test_control_sees_every_node() -> None:
    m = scenes.tree(3, 2, "revolute", seed=1)
    seen: list[tuple[float, State]] = []

    def watch(t: float, live: Live) -> None:
        assert t == live.time
        seen.append((t, live.state()))

    simulator = Simulator(m, 0.01)
    run = simulator.run(steps=30, control=watch)
    plain = simulator.run(steps=30)
    np.testing.assert_array_equal(run.position, plain.position)
    assert len(seen) == 31
    for k, (t, state) in enumerate(seen):
        assert t == state.time == run.time[k]
        np.testing.assert_array_equal(state.position, run.position[k])
        np.testing.assert_array_equal(state.velocity, run.velocity[k])

        # velocities satisfy the joints: the rest of the bodies' motion once the joint rates are taken out
        for name in m.joints:
            rates = state.joint(name).rates
            again = state.copy()
            again.joint(name).rates = rates
            np.testing.assert_allclose(again.velocity, state.velocity, rtol=0, atol=1e-12)
            np.testing.assert_allclose(again.angular_velocity, state.angular_velocity, rtol=0, atol=1e-12)
    assert np.linalg.norm(seen[-1][1].velocity) > 1


def test_control_starts_from_projected_velocities() -> None:
    """Velocities that the joints forbid are gone at the first node, as a plastic impact would have it."""
    m = scenes.pendulum(1, angle=0.0)
    state = m.state()
    state.velocity = [(0.3, 1.0, 0.5)]
    seen: list[State] = []
    Simulator(m, 0.01).run(steps=1, state=state, control=lambda t, live: seen.append(live.state()))  # type: ignore[func-returns-value]

    # momentum about the hinge stays: m v l/2 = (J + m l^2/4) w
    moment = m.bodies["link1"].inertia.tensor[0, 0]
    w = 0.5 / (moment + 0.25)
    np.testing.assert_allclose(seen[0].angular_velocity[0], (w, 0, 0), rtol=0, atol=1e-13)
    np.testing.assert_allclose(seen[0].velocity[0], (0, 0.5 * w, 0), rtol=0, atol=1e-13)


@pytest.mark.parametrize("given", [False, True], ids=["alone", "beside a force per node"])
def test_control_forces_are_held(given: bool) -> None:
    """Half of the impulse of a force acts at either end of its step; what is given per node acts at that node."""
    dt, u = 0.1, np.array((1.0, 2.0, 4.0, -3.0))
    samples = np.array((0.5, -1.0, 2.0, 1.0, 3.0)) if given else np.zeros(5)
    force = {"brick": samples[:, None] * X} if given else None
    seen: list[State] = []

    def push(t: float, live: Live) -> Mapping[str, ArrayLike]:
        seen.append(live.state())
        return {"brick": u[min(len(seen), 4) - 1] * X}

    run = Simulator(brick(), dt).run(steps=4, loads=force, control=push)
    v = np.concatenate(([0.0], np.cumsum(dt * u + 0.5 * dt * (samples[1:] + samples[:-1])))) / MASS
    x = np.concatenate(([0.0], np.cumsum(dt * v[:-1] + 0.5 * dt**2 * (u + samples[:-1]) / MASS)))
    np.testing.assert_allclose(run.velocity[:, 0, 0], v, rtol=0, atol=1e-15)
    np.testing.assert_allclose(run.position[:, 0, 0], x, rtol=0, atol=1e-15)
    np.testing.assert_array_equal([state.velocity for state in seen], run.velocity)
    assert run.control is not None
    np.testing.assert_array_equal(run.control[:, 0], np.outer((*u, u[-1]), (1, 0, 0, 0, 0, 0)))


def pushed_machine() -> Mechanism:
    """A pendulum of three links with a damper, a servo and a rotor, and a brick in flight."""
    m = scenes.pendulum(3, "revolute", angle=0.7)
    m.add_force(Damper("joint1", 0.3))
    m.add_force(Servo("joint2", kp=4.0, kd=0.5, target=0.4))
    m.add_force(Armature("joint2", 0.05))
    m.add_body("brick", Inertia(MASS, (0.1, 0.2, 0.25)), position=(1, 0, 0), angular_velocity=(1, 2, 3))
    return m


def feedback(state: State) -> dict[str, ArrayLike | Load]:
    """In all the forms that there are."""
    return {
        "link1": Load(force=(0.3, 0.2, -0.1), at=(0, 0.1, 0.2), frame="body"),
        "link2": (*(-4.0 * state.body("link2").velocity), 0.1, 0.2, -0.3),
        "brick": Load(force=-2 * state.body("brick").velocity, torque=(0.2, 0.1, 0.0), at=(0.1, 0, 0.2)),
    }


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("sampled", [False, True], ids=["alone", "beside a force per node"])
@pytest.mark.parametrize("order", [2, 4])
def test_a_run_under_control_is_a_loop_of_steps(order: Literal[2, 4], sampled: bool, every: int) -> None:
    steps = 40
    rows = np.random.default_rng(0).normal(size=(steps + 1, 3))
    simulator = Simulator(pushed_machine(), 0.02, order=order)
    states, held = [simulator.mechanism.state()], []
    for k in range(steps + 1):
        held.append(wrenches(states[-1], feedback(states[-1])))
        if k < steps:
            beside: dict[str, ArrayLike | Load] = {"link3": rows[k : k + 2]} if sampled else {}
            states.append(simulator.step(states[-1], loads=feedback(states[-1]) | beside))

    given = {"link3": rows} if sampled else None
    run = simulator.run(steps=steps, loads=given, control=lambda t, state: feedback(state), record_every=every)
    kept = [*range(0, steps, every), steps]
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        # what Newton's tolerance leaves, over 40 steps
        same = [getattr(states[k], name) for k in kept]
        np.testing.assert_allclose(getattr(run, name), same, rtol=0, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(run.control, [held[k] for k in kept], rtol=0, atol=1e-9)
    assert run.halved_count == 0
    assert np.linalg.norm(run.velocity[-1]) > 0.5


def test_forces_are_held_through_halved_steps() -> None:
    """A chain that cracks: its steps are halved, and a constant force from a control stays a constant force."""
    m = scenes.pendulum(12, "ball", angle=1.5)
    simulator = Simulator(m, 0.05, tolerance=1e-12)
    push = {"link12": Load(force=(0.2, 0.5, 0.1), at=(0, 0, 0.2))}
    given = simulator.run(steps=40, loads=push)
    control = simulator.run(steps=40, control=lambda t, state: push)
    assert given.halved_count > 0
    np.testing.assert_array_equal(given.substeps, control.substeps)
    np.testing.assert_allclose(control.position[:30], given.position[:30], rtol=0, atol=1e-7)


@pytest.mark.parametrize("frame", ["world", "body"])
def test_what_a_control_did_is_told_at_the_centre_of_mass(frame: Literal["world", "body"]) -> None:
    force, torque, at = np.array((1.0, -2.0, 0.5)), np.array((0.1, 0.3, -0.2)), np.array((0.2, 0.1, -0.3))
    load = Load(force=force, torque=torque, at=at, frame=frame)
    run = Simulator(brick(angular_velocity=(1, 2, 3)), 0.02).run(steps=30, control=lambda t, state: {"brick": load})
    turn = run.body("brick").orientation
    arm = rot.rotate(turn, at)
    if frame == "body":
        force, torque = rot.rotate(turn, force), rot.rotate(turn, torque)
    assert run.control is not None
    np.testing.assert_allclose(run.control[:, 0, :3], np.broadcast_to(force, (31, 3)), rtol=0, atol=1e-14)
    np.testing.assert_allclose(run.control[:, 0, 3:], torque + np.cross(arm, force), rtol=0, atol=1e-14)


def test_what_a_controller_knows_of_the_model_is_true() -> None:
    """A held force on a free body is the textbook's zero-order hold: feedback is as stable as the textbook says."""
    dt = 0.02
    for stiffness, kp in ((50.0, 0.0), (0.0, 1.5 * MASS / dt), (600.0, 30.0)):
        state = brick().state()
        state.position, state.velocity = [(0.5, 0, 0)], [(-1.0, 0, 0)]

        def control(t: float, s: State, k: float = stiffness, c: float = kp) -> Mapping[str, ArrayLike]:
            return {"brick": -k * s.body("brick").position - c * s.body("brick").velocity}

        run = Simulator(brick(), dt).run(steps=60, state=state, control=control)
        hold = np.array(((1, dt), (0, 1))) + np.outer((dt**2 / 2, dt), (-stiffness, -kp)) / MASS
        expected = np.array([np.linalg.matrix_power(hold, k) @ (0.5, -1.0) for k in range(61)])
        found = np.stack((run.position[:, 0, 0], run.velocity[:, 0, 0]), axis=1)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_run_that_fails_within_a_step_keeps_what_was_held() -> None:
    m = scenes.pendulum(12, "ball", angle=1.5)
    simulator = Simulator(m, 0.05, rescue=False, on_failure="stop")
    load = Load(force=(0.2, 0.5, 0.1), at=(0, 0, 0.2), frame="body")
    run = simulator.run(steps=40, control=lambda t, state: {"link12": load}, record_every=7)
    assert not run.status.ok
    assert run.control is not None
    assert len(run.control) == len(run)
    for k, state in enumerate(run):
        np.testing.assert_allclose(run.control[k], wrenches(state, {"link12": load}), rtol=0, atol=1e-12)


def test_an_exception_in_a_control_comes_through() -> None:
    class OwnError(Exception):
        pass

    def fail(t: float, state: State) -> None:
        if t > 0.05:
            raise OwnError("enough")

    simulator = Simulator(scenes.pendulum(2), 0.01)
    with pytest.raises(OwnError, match="enough"):
        simulator.run(steps=100, control=fail)
    assert len(simulator.run(steps=3)) == 4


def test_a_control_cannot_move_the_bodies() -> None:
    def vandal(t: float, live: Live) -> None:
        live.position[:] = 7

    with pytest.raises(ValueError, match="read-only"):
        Simulator(scenes.pendulum(2), 0.01).run(steps=5, control=vandal)

    def thief(t: float, live: Live) -> None:
        live.step()

    with pytest.raises(RuntimeError, match="in use"):
        Simulator(scenes.pendulum(2), 0.01).run(steps=5, control=thief)
