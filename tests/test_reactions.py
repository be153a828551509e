"""Reactions of joints: statics, Newton's law of a moving link, the same from every solver."""

from __future__ import annotations

import numpy as np
import pytest

from catena import Ball, Fixed, Load, Mechanism, Prismatic, Revolute, Simulator, box, scenes

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
    run = Simulator(m, 0.01, solver=solver, tolerance=1e-13).run(steps=5, force={"sledge": Load(force=4 * Y)})
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
