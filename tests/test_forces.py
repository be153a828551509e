"""Applied forces and controls."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from catena import Inertia, Load, Mechanism, Simulator, State, Trajectory, scenes
from catena import _rotation as rot

X, _, Z = np.eye(3)
MASS = 2.0


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
    run = Simulator(m, 0.02, solver=solver).run(3.0, force=forms[form])
    t, a = run.time[:, None], gravity + force / MASS

    # the symmetric scheme is exact for a constant force: rounding of 40 m
    np.testing.assert_allclose(run.position[:, 0], v0 * t + a * t**2 / 2, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.velocity[:, 0], v0 + a * t, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.angular_velocity, 0, atol=1e-14)


def test_constant_torque_about_a_principal_axis() -> None:
    run = Simulator(brick(), 0.001).run(1.0, force={"brick": (0, 0, 0, 0, 0, 0.5)})

    # momentum is exact, the angle of second order: (w dt)^2/24 of 1 rad
    np.testing.assert_allclose(run.angular_velocity[:, 0], 0.5 / 0.25 * run.time[:, None] * Z, rtol=0, atol=1e-11)
    angle = rot.z_angle(run.orientation[:, 0])
    np.testing.assert_allclose(angle, run.time**2, rtol=0, atol=1e-6)


def pushed(load: object, **pose: object) -> Trajectory:
    return Simulator(brick(**pose), 0.005).run(1.0, force={"brick": load})


def test_force_at_a_point_carries_its_torque() -> None:
    """A point of the body, so its torque turns with the body while the force does not."""
    tilted = {"orientation": rot.from_rotation_vector((0.3, -0.5, 0.9))}
    force, point = np.array((1.0, 2.0, -0.5)), np.array((0.1, -0.2, 0.3))
    run = pushed(Load(force=force, at=point), **tilted)

    def same(t: float, state: State) -> Mapping[str, Load]:
        arm = rot.rotate(state.orientation[0], point)
        return {"brick": Load(force=force, torque=np.cross(arm, force))}

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
        run = Simulator(brick(), dt).run(steps=steps, force=forces)
        np.testing.assert_allclose(run.velocity[:, 0], expected, rtol=0, atol=1e-13)

    # rows for the torque, one force for all
    run = Simulator(brick(), dt).run(steps=steps, force={"brick": Load(force=X, torque=rows)})
    np.testing.assert_allclose(run.velocity[-1, 0], steps * dt / MASS * X, rtol=0, atol=1e-13)
    spin = run.angular_momentum((0, 0, 0))[-1] - np.cross(run.position[-1, 0], MASS * run.velocity[-1, 0])
    np.testing.assert_allclose(spin, MASS * expected[-1], rtol=0, atol=1e-11)


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_momentum_gained_is_the_impulse(solver: str) -> None:
    """Of a floating chain pushed at one link: the joints inside neither add nor take."""
    state = scenes.spinning_chain(5).state()
    force, torque = np.array((1.0, 2.0, -1.0)), np.array((0.3, 0.0, 0.2))
    simulator = Simulator(state.mechanism, 0.01, solver=solver, tolerance=1e-13)
    run = simulator.run(steps=200, state=state, force={"link3": (*force, *torque)})
    assert run.halved_count == 0
    gained = run.momentum() - run.momentum()[0]
    np.testing.assert_allclose(gained, run.time[:, None] * force, rtol=0, atol=1e-11)

    # torque and force at the link's centre, summed at nodes with half weights at the ends
    rate = torque + np.cross(run.body("link3").position, force)
    impulse = 0.01 * (rate.cumsum(axis=0) - 0.5 * rate - 0.5 * rate[0])
    gained = run.angular_momentum() - run.angular_momentum()[0]
    np.testing.assert_allclose(gained, impulse, rtol=0, atol=1e-10)


# ---- control


def test_control_sees_every_node() -> None:
    m = scenes.tree(3, 2, "revolute", seed=1)
    seen: list[tuple[float, State]] = []

    def watch(t: float, state: State) -> None:
        seen.append((t, state))

    simulator = Simulator(m, 0.01)
    run = simulator.run(steps=30, control=watch)
    plain = simulator.run(steps=30)
    np.testing.assert_array_equal(run.position, plain.position)
    assert len(seen) == 31
    for k, (t, state) in enumerate(seen):
        assert t == state.time == run.time[k]
        np.testing.assert_array_equal(state.position, run.position[k])
        np.testing.assert_allclose(state.velocity, run.velocity[k], rtol=0, atol=1e-14)

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
    Simulator(m, 0.01).run(steps=1, state=state, control=lambda t, s: seen.append(s))  # type: ignore[arg-type]

    # momentum about the hinge stays: m v l/2 = (J + m l^2/4) w
    moment = m.bodies["link1"].inertia.tensor[0, 0]
    w = 0.5 / (moment + 0.25)
    np.testing.assert_allclose(seen[0].angular_velocity[0], (w, 0, 0), rtol=0, atol=1e-13)
    np.testing.assert_allclose(seen[0].velocity[0], (0, 0.5 * w, 0), rtol=0, atol=1e-13)


def test_control_acts_like_the_same_forces_given() -> None:
    rows = np.random.default_rng(2).normal(size=(41, 3))
    m = scenes.pendulum(2, "ball")
    simulator = Simulator(m, 0.01)
    given = simulator.run(steps=40, force={"link2": rows})
    control = simulator.run(steps=40, control=lambda t, state: {"link2": rows[round(t / 0.01)]})
    np.testing.assert_allclose(control.position, given.position, rtol=0, atol=1e-12)

    # both at once add up, constant or not
    both = simulator.run(steps=40, force={"link2": rows / 2}, control=lambda t, s: {"link2": rows[round(t / 0.01)] / 2})
    np.testing.assert_allclose(both.position, given.position, rtol=0, atol=1e-12)
    half = simulator.run(steps=40, force={"link1": X}, control=lambda t, s: {"link1": X})
    whole = simulator.run(steps=40, force={"link1": 2 * X})
    np.testing.assert_allclose(half.position, whole.position, rtol=0, atol=1e-12)


def test_a_spring_as_control_keeps_energy() -> None:
    """A potential at the nodes is variational: 1000 periods, and the energy still only ripples."""
    m, stiffness = brick(), 50.0
    anchor = np.array((0.1, 0.05, 0.0))

    def spring(t: float, state: State) -> Mapping[str, Load]:
        return {"brick": Load(force=-stiffness * state.body("brick").point(anchor), at=anchor)}

    state = m.state()
    state.position = [(0.5, 0.0, -0.3)]
    run = Simulator(m, 0.02).run(steps=20_000, state=state, control=spring)
    stretch = np.linalg.norm(run.body("brick").point(tuple(anchor)), axis=-1)
    energy = run.kinetic_energy() + 0.5 * stiffness * stretch**2
    assert np.ptp(run.kinetic_energy()) > 0.5 * energy[0]

    # ripple of order (w dt)^2 with w = sqrt(50/2) = 5 rad/s, and no trend
    assert np.abs(energy / energy[0] - 1).max() < 0.03
    assert abs(energy[-2000:].mean() / energy[:2000].mean() - 1) < 2e-3


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


def test_the_state_of_a_control_is_its_own() -> None:
    """Writing into it does not move the bodies."""

    def vandal(t: float, state: State) -> None:
        state.position[:] = 7
        state.velocity[:] = 7

    simulator = Simulator(scenes.pendulum(2), 0.01)
    np.testing.assert_array_equal(simulator.run(steps=5, control=vandal).position, simulator.run(steps=5).position)
