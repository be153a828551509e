"""Reactions of joints: statics, Newton's law of a moving link, the same from every solver."""

from __future__ import annotations

import numpy as np
import pytest

from catena import (
    Armature,
    Ball,
    Damper,
    Fixed,
    Inertia,
    Load,
    Mechanism,
    Mimic,
    Motor,
    PrescribedMotion,
    Prismatic,
    Revolute,
    RollingBall,
    Screw,
    Servo,
    Simulator,
    box,
    cylinder,
    scenes,
    sphere,
)
from laws import SOLVERS

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

Y, Z = np.eye(3)[1:]


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_hanging_chain_carries_the_weight_below(solver: str) -> None:
    run = Simulator(scenes.pendulum(6, angle=0.0), 0.01, solver=solver, tolerance=1e-13).run(steps=5)
    for k in range(6):
        joint = run.joint(f"joint{k + 1}")

        # the joint holds its body b up; Newton's rounding floor, 2e-11 m/s for 6 m, over dt
        np.testing.assert_allclose(joint.force, np.broadcast_to((6 - k) * 9.81 * Z, (6, 3)), rtol=0, atol=1e-8)
        np.testing.assert_allclose(joint.torque, 0, atol=1e-8)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_cantilever_and_slider(solver: str, flipped: bool) -> None:
    """Statics: a beam welded to the wall bends it by weight times arm; a slider carries all but its axis."""
    m = Mechanism()
    m.add_body("beam", box((1.0, 0.1, 0.1), mass=3.0), position=(0.5, 0, 0))
    m.add_body("sledge", box((0.1, 0.1, 0.1), mass=2.0), position=(0.8, 0, 0.5))
    wall, rail = ("beam", m.world) if flipped else (m.world, "beam"), ("beam", "sledge")
    m.add_joint(Fixed(*wall, at=(0, 0, 0), name="wall"))
    m.add_joint(Prismatic(*(rail[::-1] if flipped else rail), axis=(1, 0, 0), at=(0.8, 0, 0), name="rail"))
    run = Simulator(m, 0.01, solver=solver, tolerance=1e-13).run(steps=5, loads={"sledge": Load(force=4 * Y)})
    sign = -1.0 if flipped else 1.0
    wall_force = -np.array((0, 4.0, -5 * 9.81))
    arm, load = np.array((0.8, 0, 0.5)), np.array((0, 4.0, -2 * 9.81))
    wall_torque = -np.cross(arm, load) - np.cross((0.5, 0, 0), (0, 0, -3 * 9.81))
    rail_torque = -np.cross((0, 0, 0.5), load)

    # nothing moves: forces to the rounding of positions of 1 m over dt^2
    for name, force, torque in (("wall", wall_force, wall_torque), ("rail", -load, rail_torque)):
        np.testing.assert_allclose(run.joint(name).force, np.broadcast_to(sign * force, (6, 3)), rtol=0, atol=1e-9)
        np.testing.assert_allclose(run.joint(name).torque, np.broadcast_to(sign * torque, (6, 3)), rtol=0, atol=1e-9)


def test_reactions_balance_the_motion() -> None:
    """Newton's law of one link of a moving tree: momentum gained between two nodes against all that acts at both."""
    m = scenes.tree(3, 2, "revolute", seed=1)
    dt = 1e-3
    run = Simulator(m, dt, tolerance=1e-13).run(1.0)
    row = run.row("link2")
    mass = m.bodies["link2"].inertia.mass
    acting = np.broadcast_to(mass * m.gravity, (len(run), 3)).copy()
    for name, joint in m.joints.items():
        acting += run.joint(name).force * ((joint.b.name == "link2") - (joint.a.name == "link2") * 1.0)
    mean = mass * (run.velocity[2:, row] - run.velocity[:-2, row]) / (2 * dt)

    # mean force over two steps, of second order
    scale = np.abs(acting).max()
    np.testing.assert_allclose(mean[1:], acting[2:-1], rtol=0, atol=1e-3 * scale)
    assert np.ptp(acting, axis=0).max() > 1


@pytest.mark.parametrize("solver", ["ldu", "dense"])
def test_multipliers_do_not_depend_on_the_solver(solver: str) -> None:
    m = Mechanism()
    m.add_body("cart", box((0.4, 0.2, 0.1), mass=2.0))
    m.add_body("arm", box((0.1, 0.1, 1.0), mass=1.0), position=(0, 0, -0.5))
    m.add_body("tip", box((0.2, 0.1, 0.1), mass=0.5), position=(0, 0, -1.0))
    m.add_body("bob", box((0.1, 0.1, 0.6), mass=0.5), position=(0.1, 0.05, -1.3))
    m.add_joint(Prismatic("cart", m.world, axis=(1, 0, 0), at=(0, 0, 0)))
    m.add_joint(Revolute("cart", "arm", axis=(0, 1, 0), at=(0, 0, 0)))
    m.add_joint(Fixed("tip", "arm", at=(0, 0, -1)))
    m.add_joint(Ball("bob", "tip", at=(0.1, 0.05, -1)))
    state = m.state()
    state.joint("cart-arm").rate = 2.0
    state.joint("bob-tip").rates = (0.5, 1.0, 2.0)
    runs = [Simulator(m, 0.01, solver=s, tolerance=1e-13).run(2.0, state=state) for s in ("articulated", solver)]
    assert runs[0].multipliers.shape == (201, 5 + 5 + 6 + 3)
    assert np.abs(runs[0].multipliers).max(axis=0).min() > 1e-3

    # forces of 50 N, rounding of 1 m over dt^2 times what 200 steps make of it
    np.testing.assert_allclose(runs[1].multipliers, runs[0].multipliers, rtol=0, atol=1e-7)


# ---- orders above 2


def falling_order(errors: list[float]) -> float:
    return float(np.log2(errors[0] / errors[1]))


@pytest.mark.parametrize(("order", "dt", "floor"), [(4, 0.05, 1e-3), (6, 0.05, 3e-5), (8, 0.1, 4e-7)])
def test_tension_of_a_pendulum_has_the_order_of_its_motion(order: int, dt: float, floor: float) -> None:
    """From the energy: m w^2 l/2 + m g cos(angle) along the rod, w^2 by how far it has fallen."""
    m = scenes.pendulum(1, "revolute", angle=1.2)
    inertia = m.bodies["link1"].inertia
    moment = inertia.tensor[0, 0] + inertia.mass / 4
    cosine = -2 * Simulator(m, 0.0025, order=8).run(2.0).position[:, 0, 2]
    tension = inertia.mass * 9.81 * (inertia.mass / (2 * moment) * (cosine - np.cos(1.2)) + cosine)
    errors = []
    for step in (dt, dt / 2):
        run = Simulator(m, step, order=order, rescue=False).run(2.0)
        found = -2 * np.sum(run.joint("joint1").force * run.position[:, 0], axis=1)
        errors.append(np.abs(found - tension[:: round(step / 0.0025)]).max())
    assert errors[0] < floor
    assert falling_order(errors) == pytest.approx(order, abs=0.3)


def test_effort_of_a_drive_is_known_at_every_node() -> None:
    """The motion is prescribed, so nothing but the reaction is in question: four orders better than the second."""
    worst = {}
    for order in (2, 4, 6, 8):
        m = scenes.pendulum(1, "revolute", angle=0.0)
        m.add_coupling(PrescribedMotion("joint1", lambda t: 0.5 * np.sin(2 * t), name="drive"))
        run = Simulator(m, 0.05, order=order).run(2.0, state=m.assemble())
        inertia = m.bodies["link1"].inertia
        moment = inertia.tensor[0, 0] + inertia.mass / 4
        angle = 0.5 * np.sin(2 * run.time)
        wanted = -4 * moment * angle + inertia.mass * 9.81 / 2 * np.sin(angle)
        worst[order] = np.abs(run.coupling("drive").effort - wanted).max()
    assert worst[2] > 1e-4
    # order 4: h^4 of steps of 25 ms; then rounding over the square of the shortest of them
    assert worst[4] < 1e-7
    assert max(worst[6], worst[8]) < 1e-9


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_reactions_in_a_loop_are_of_fourth_order(solver: str) -> None:
    m = scenes.four_bar()
    fine = Simulator(m, 0.0025, order=8).run(1.0, record_every=20)
    errors = []
    for dt in (0.0125, 0.00625):
        run = Simulator(m, dt, order=4, solver=solver).run(1.0, record_every=round(0.05 / dt))
        errors.append(max(np.abs(run.joint(n).force - fine.joint(n).force).max() for n in m.joints))
    # of 90 N
    assert errors[0] < 0.02
    assert falling_order(errors) == pytest.approx(4, abs=0.3)


def loaded() -> Mechanism:
    """A driven rotor, a pendulum with a damper, a servo that follows a function and a rotor, a ball that rolls."""
    m = scenes.pendulum(3, "revolute", angle=0.7)
    m.add_force(Damper("joint1", 0.2))
    m.add_force(Servo("joint2", kp=3.0, kd=0.2, target=lambda t: 0.3 * np.sin(t)))
    m.add_force(Armature("joint3", 0.05))
    m.add_coupling(Mimic("joint2", "joint3", factor=0.5, offset=0.0))
    m.add_body("ball", sphere(0.1, mass=0.5), position=(1, 0, 0.1), velocity=(0.2, 0.5, 0))
    m.add_joint(RollingBall("world", "ball", radius=0.1, name="roll"))
    m.add_body("rotor", cylinder(0.05, 0.1, mass=0.2), position=(0, 3, 1))
    m.add_joint(Revolute("world", "rotor", axis=Z, at=(0, 3.1, 1), name="shaft"))
    m.add_coupling(PrescribedMotion("shaft", lambda t: 5 * t - np.sin(5 * t)))
    return m


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
@pytest.mark.parametrize("order", [4, 6, 8])
def test_recording_leaves_the_motion_as_it_is(order: int, solver: str) -> None:
    """To the bit: reactions are found on the side."""
    m = loaded()
    simulator = Simulator(m, 0.01, order=order, solver=solver)
    all_nodes, few = (simulator.run(steps=20, state=m.assemble(), record_every=k) for k in (1, 20))
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(all_nodes, name)[[0, -1]], getattr(few, name))
    np.testing.assert_array_equal(all_nodes.iterations, few.iterations)


@pytest.mark.parametrize("order", [4, 6])
def test_reactions_beside_forces_of_all_kinds(order: int) -> None:
    """Those of small steps of second order, which have no such device."""
    m = loaded()
    run = Simulator(m, 0.02, order=order).run(0.2, state=m.assemble())
    errors = []
    for dt in (0.002, 0.001):
        small = Simulator(m, dt, tolerance=1e-12).run(0.2, state=m.assemble(), record_every=round(0.02 / dt))
        errors.append(np.abs(small.multipliers - run.multipliers).max())
    assert errors[1] < 1e-3 * np.abs(run.multipliers).max()
    assert falling_order(errors) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("order", [2, 4])
def test_reactions_under_a_control_that_jumps(order: int) -> None:
    """Where a held force changes, the reaction is the mean of its two sides; at the first node there is one side."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("cart", box((0.1, 0.1, 0.1), mass=2.0))
    m.add_joint(Prismatic("world", "cart", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    push = [1.0, 3.0, -2.0, 4.0]
    run = Simulator(m, 0.01, order=order).run(steps=3, control=lambda t, s: {"cart": push[round(t / 0.01)] * Y})
    np.testing.assert_allclose(run.joint("rail").force[:, 1], (-1, -2, -0.5, -1), rtol=0, atol=1e-9)


def test_reactions_where_no_short_step_goes_backwards() -> None:
    """A damper too stiff for that: those of the first substep, which rescue has made small, are taken instead."""
    m = scenes.pendulum(1, "revolute", angle=1.2)
    m.add_force(Damper("joint1", 50.0))
    run = Simulator(m, 0.05, order=4).run(1.0)
    assert run.substeps.min() > 1
    fine = Simulator(m, 0.0005).run(1.0, record_every=100)
    # of 10 N; at the first node the damper has not set in yet
    np.testing.assert_allclose(run.joint("joint1").force[1:], fine.joint("joint1").force[1:], rtol=0, atol=0.01)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("order", [2, 4])
def test_forces_along_a_screw_are_not_among_its_reactions(order: int, flipped: bool) -> None:
    """What acts along its freedom is neither across its rows nor along them: all solvers take it off alike."""
    m = Mechanism()
    m.add_body("arm", box((0.2, 0.3, 0.5), mass=2.0))
    m.add_body("nut", box((0.3, 0.2, 0.1), mass=1.0), position=(0.5, 0.1, 0.2))
    m.add_joint(Revolute("world", "arm", axis=(0, 1, 0), at=(0, 0, 0.3), name="hinge"))
    ends = ("nut", "arm") if flipped else ("arm", "nut")
    m.add_joint(Screw(*ends, axis=(1, 0.3, 0.2), at=(0.3, 0, 0.1), pitch=0.4, name="screw"))
    m.add_force(Damper("screw", 0.3))
    m.add_force(Motor("screw", 0.7))
    m.add_force(Armature("screw", 0.2))
    runs = [Simulator(m, 0.01, order=order, solver=solver, tolerance=1e-13).run(steps=20) for solver in SOLVERS]
    for other in runs[1:]:
        # of 30 N; Newton's last increments over dt, weighed by up to six
        np.testing.assert_allclose(other.multipliers, runs[0].multipliers, rtol=0, atol=1e-8)


# ---- of joints that are redundant


@pytest.mark.filterwarnings("ignore::catena.StuckWarning")
@pytest.mark.parametrize("length", [0.03, 1.0, 30.0])
@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_smallest_reactions_of_a_beam_between_two_walls(solver: str, length: float) -> None:
    """Of all that carry it, those with the least sum of squares of forces, and of torques over the size.

    A beam of weight W welded at x = 0 and x = L, its center at c, has f1 + f2 = W, L f2 + 2 t = W c by symmetry of the
    torques, and f1^2 + f2^2 + 2 t^2 / L^2 is least where f2 = W/2 + K/(5 L) and t = 2 K/5, K = W (c - L/2).
    """
    m = Mechanism()
    center = 0.2 * length
    m.add_body("beam", Inertia(3.0, 0.1 * length**2 * np.eye(3)), position=(center, 0, 0))
    m.add_joint(Fixed("world", "beam", at=(0, 0, 0), name="left"))
    m.add_joint(Fixed("world", "beam", at=(length, 0, 0), name="right"))
    assert m.report().redundant_count == 6
    run = Simulator(m, 0.01, solver=solver).run(steps=3)
    weight = 3.0 * 9.81
    excess = weight * (center - length / 2)
    right, torque = weight / 2 + excess / (5 * length), 2 * excess / 5
    for name, force in (("left", weight - right), ("right", right)):
        # nothing moves: rounding of the places over dt^2
        atol = 1e-10 * (1 + length)
        np.testing.assert_allclose(run.joint(name).force, np.tile((0, 0, force), (4, 1)), rtol=1e-9, atol=atol)
        np.testing.assert_allclose(
            run.joint(name).torque, np.tile((0, -torque, 0), (4, 1)), rtol=1e-9, atol=atol * length
        )


# ---- at the last node, beyond which there may be no step


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_last_reaction_of_a_wheel_too_fast_for_its_step(solver: str, steps: int) -> None:
    """Every step is halved; the one after the last node, too, for which nobody asked: m w^2 r towards the axle."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("wheel", box((0.2, 0.1, 0.3), mass=2.0), position=(0.1, 0, 0))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="axle"))
    state = m.state()
    state.joint("axle").rate = 80.0
    run = Simulator(m, 0.01, solver=solver).run(steps=steps, state=state)
    assert (run.substeps > 1).sum() == steps
    pull = -2.0 * 80.0**2 * run.body("wheel").position
    # pieces of 0.2 rad: second order in that
    np.testing.assert_allclose(run.joint("axle").force, pull, rtol=0, atol=0.02 * 1280)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_last_reaction_where_no_step_goes_on(solver: str) -> None:
    """A drive that jumps right after the end: what it exerts there is known from the interval before."""

    def driven(jump: float) -> Mechanism:
        m = scenes.pendulum(1, angle=0.0)
        m.add_coupling(PrescribedMotion("joint1", lambda t: 0.3 * t + (jump if t > 0.2 + 1e-9 else 0.0), name="drive"))
        return m

    smooth, torn = (Simulator(driven(jump), 0.01, solver=solver).run(steps=20) for jump in (0.0, 1.0))
    np.testing.assert_allclose(torn.position, smooth.position, rtol=0, atol=1e-9)
    # first order in dt
    np.testing.assert_allclose(torn.joint("joint1").force, smooth.joint("joint1").force, rtol=0, atol=0.1)
    np.testing.assert_allclose(torn.coupling("drive").effort, smooth.coupling("drive").effort, rtol=0, atol=0.1)
