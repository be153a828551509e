"""Drag of bodies: linear in their velocities, part of the body's own balance, whatever it hangs on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from catena import Ball, Bushing, Drag, Inertia, Mechanism, Revolute, Simulator, box, scenes, sphere
from laws import SOLVERS, assert_batches_agree_with_runs, assert_solvers_agree

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


every_solver = pytest.mark.parametrize("solver", SOLVERS)


def free(linear: object = 0.0, angular: object = 0.0, gravity: object = (0, 0, 0)) -> Mechanism:
    m = Mechanism(gravity=gravity)
    m.add_body("stone", sphere(0.1, mass=2.0), velocity=(3, -1, 2), angular_velocity=(1.5, 2, -1))
    m.add_force(Drag("stone", linear, angular, name="air"))
    return m


def airy(m: Mechanism, linear: object = 0.4, angular: object = 0.02) -> Mechanism:
    for body in list(m.bodies):
        m.add_force(Drag(body, linear, angular))
    return m


def doll() -> Mechanism:
    """A trunk that floats, with limbs on balls and hinges."""
    m = Mechanism()
    m.add_body("trunk", box((0.3, 0.2, 0.6), mass=10.0), velocity=(1, 0.5, 0), angular_velocity=(0.4, 1.0, -0.6))
    for side, sign in (("left", -1), ("right", 1)):
        m.add_body(f"{side} arm", box((0.4, 0.1, 0.1), mass=2.0), position=(0.35 * sign, 0, 0.25))
        m.add_body(f"{side} hand", box((0.2, 0.1, 0.05), mass=0.5), position=(0.65 * sign, 0, 0.25))
        m.add_joint(Ball("trunk", f"{side} arm", at=(0.15 * sign, 0, 0.25)))
        m.add_joint(Revolute(f"{side} arm", f"{side} hand", axis=(0, 1, 0), at=(0.55 * sign, 0, 0.25)))
    return airy(m, (0.5, 1.0, 2.0), (0.05, 0.02, 0.01))


# ---- closed forms


@every_solver
def test_a_free_body_slows_down_by_the_trapezoidal_rule(solver: str) -> None:
    """Every step takes the factor (1 - a)/(1 + a), a = c dt/(2 m): of second order, and of size one at most."""
    for c in (0.7, 1e5):
        run = Simulator(free(c), 0.01, solver=solver).run(steps=50)
        a = c * 0.01 / (2 * 2.0)
        expected = ((1 - a) / (1 + a)) ** np.arange(51)[:, None] * run.velocity[0, 0]
        # rounding of positions over dt
        np.testing.assert_allclose(run.velocity[:, 0], expected, atol=1e-12)
        np.testing.assert_array_equal(run.substeps, 1)


@every_solver
def test_spins_decay_about_every_axis(solver: str) -> None:
    k, inertia = 0.03, 0.4 * 2.0 * 0.1**2
    errors = []
    for dt in (0.02, 0.01):
        run = Simulator(free(angular=k), dt, solver=solver).run(duration=1.0)
        exact = np.exp(-k / inertia * run.time)[:, None] * run.angular_velocity[0, 0]
        errors.append(abs(run.angular_velocity[:, 0] - exact).max())
    assert errors[1] < 0.01
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_drag_along_one_axis_of_the_body() -> None:
    """A blade that is turned about z by 30 degrees: what goes along its own y alone is slowed down."""
    m = Mechanism(gravity=(0, 0, 0))
    turn = (np.cos(np.pi / 12), 0, 0, np.sin(np.pi / 12))
    m.add_body("blade", box((1.0, 0.1, 0.1), mass=1.0), orientation=turn, velocity=(1, 0, 0))
    m.add_force(Drag("blade", (0, 50.0, 0)))
    end = Simulator(m, 0.001).run(duration=2.0).velocity[-1, 0]
    along = np.array((np.cos(np.pi / 6), np.sin(np.pi / 6), 0))
    np.testing.assert_allclose(end, along[0] * along, atol=1e-12)


@every_solver
def test_terminal_velocity(solver: str) -> None:
    run = Simulator(free(4.0, 0.1, (0, 0, -9.81)), 0.01, solver=solver).run(duration=15.0)
    np.testing.assert_allclose(run.velocity[-1, 0], (0, 0, -2.0 * 9.81 / 4.0), atol=1e-10)


def test_stiff_drag_holds() -> None:
    """However large, it feeds nothing: what rings from node to node never grows."""
    m = airy(scenes.pendulum(5, "ball", angle=1.0), 1e7, 1e5)
    run = Simulator(m, 0.01).run(duration=2.0)
    assert run.status.ok
    np.testing.assert_allclose(run.position[-1], run.position[0], atol=1e-4)
    assert run.kinetic_energy()[1:].max() < 1e-3


# ---- the same whoever computes it


def hung_on_a_cross() -> Mechanism:
    """A cardan joint of two hinges, whose cross has no mass but drag."""
    m = Mechanism()
    m.add_body("cross", Inertia.massless())
    m.add_body("bob", box((0.2, 0.1, 1.0), mass=1.0), position=(0, 0, -0.5), angular_velocity=(1.0, 0.5, 0))
    m.add_joint(Revolute("world", "cross", axis=(1, 0, 0), at=(0, 0, 0)))
    m.add_joint(Revolute("cross", "bob", axis=(0, 1, 0), at=(0, 0, 0)))
    return airy(m, 0.3, 0.2)


def scenes_with_air() -> dict[str, Mechanism]:
    sway = (0.3, 0.6, 0.9), (0.01, 0.02, 0.03)
    return {
        "doll": doll(),
        "chain": airy(scenes.pendulum(4, "ball", angle=0.8), *sway),
        "four-bar": airy(scenes.four_bar(), *sway),
        "hinges": airy(scenes.pendulum(4, "revolute", angle=0.8), *sway),
        "massless cross": hung_on_a_cross(),
        "delta robot": airy(scenes.delta_robot(), *sway),
    }


@pytest.mark.parametrize("scene", list(scenes_with_air()))
def test_solvers_agree(scene: str) -> None:
    assert_solvers_agree(scenes_with_air()[scene])


@pytest.mark.parametrize("scene", list(scenes_with_air()))
def test_batches_agree_with_runs(scene: str) -> None:
    assert_batches_agree_with_runs(scenes_with_air()[scene])


def test_drag_against_a_straight_motion_is_a_bushing_to_the_world() -> None:
    ends = []
    for law in ("drag", "bushing"):
        m = scenes.pendulum(3, "ball", angle=0.8)
        for name, body in list(m.bodies.items()):
            middle = body.position
            m.add_force(Drag(name, 0.8) if law == "drag" else Bushing("world", name, at=middle, damping=0.8))
        ends.append(Simulator(m, 0.005).run(steps=100))
    np.testing.assert_allclose(ends[0].position, ends[1].position, atol=1e-9)
    np.testing.assert_allclose(ends[0].velocity, ends[1].velocity, atol=1e-7)


def test_no_rows_are_made_of_it() -> None:
    """A chain with air costs the solver what it costs without."""
    plain, air = scenes.pendulum(20, "ball"), airy(scenes.pendulum(20, "ball"))
    works = [Simulator(m, 0.01).plan.core.articulated_work for m in (plain, air)]
    assert works[0] == works[1]
    assert Simulator(air, 0.01).run(steps=2).multipliers.shape[1] == 60


@pytest.mark.parametrize("order", [4, 6])
def test_higher_orders(order: int) -> None:
    """Their steps backwards feed what drag takes: soft drag is taken with its order, stiff drag by halved steps."""
    m = airy(scenes.pendulum(2, "ball", angle=0.8), 0.3, 0.02)
    exact = Simulator(m, 0.0005, order=order).run(duration=0.5).position[-1]
    error = [abs(Simulator(m, dt, order=order).run(duration=0.5).position[-1] - exact).max() for dt in (0.02, 0.01)]
    assert error[0] / error[1] > 0.7 * 2**order
    stiff = airy(scenes.pendulum(2, "ball", angle=0.8), 300.0, 10.0)
    run = Simulator(stiff, 0.05, order=order).run(duration=0.5)
    assert run.status.ok
    plain = Simulator(stiff, 0.0005).run(duration=0.5)
    np.testing.assert_allclose(run.position[-1], plain.position[-1], atol=1e-6)


def test_an_accuracy_is_kept_by_plain_steps() -> None:
    """As where anything else dissipates: steps backwards would have to feed what drag takes."""
    m = airy(scenes.pendulum(2, "ball", angle=0.8), 3.0, 0.2)
    run = Simulator(m, accuracy=1e-5).run(duration=1.0)
    exact = Simulator(m, 0.0002).run(duration=1.0)
    assert run.info.order == 2
    # of the mechanism's size, some 2 m; the finer run errs by less than 1e-6
    np.testing.assert_allclose(run.position[-1], exact.position[-1], atol=2e-5)


# ---- energy and momentum


@pytest.mark.parametrize("make", [doll, lambda: airy(scenes.four_bar(), 3.0, 0.3)])
def test_what_drag_takes_is_what_is_lost(make: object) -> None:
    errors = []
    for dt in (0.01, 0.005):
        run = Simulator(make(), dt).run(duration=1.0)  # type: ignore[operator]
        work = sum(run.force(name).work for name in run.mechanism.forces)
        assert (np.diff(work) <= 0).all()
        assert work[-1] < -0.01
        errors.append(abs(run.energy() - run.energy()[0] - work).max())
        power = sum(run.force(name).power for name in run.mechanism.forces)
        assert (power <= 0).all()
    assert 3.0 < errors[0] / errors[1] < 5.0


def test_momentum_is_lost_to_the_air_alone() -> None:
    """The change of momentum over a step is the impulse of drag, half of it at either end, along the axes there."""
    m = doll()
    m.gravity = (0, 0, 0)
    run = Simulator(m, 0.005).run(steps=200)
    lost = np.zeros((200, 3))
    for row, name in enumerate(m.bodies):
        v = np.diff(run.position[:, row], axis=0) / 0.005
        resistance = m.forces[f"drag on {name}"]._resistances[0].numbers[:3]
        for q in (run.orientation[:-1, row], run.orientation[1:, row]):
            turned = np.array([rotation(turn) for turn in q])
            lost -= 0.0025 * np.einsum("sij,j,skj,sk->si", turned, resistance, turned, v)
    # Newton's tolerance, carried over from step to step
    np.testing.assert_allclose(np.diff(run.momentum(), axis=0), lost, atol=1e-10)


def rotation(q: np.ndarray) -> np.ndarray:
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


# ---- as a part of mechanisms


def test_what_is_told_of_it() -> None:
    run = Simulator(free((1, 2, 3), 0.1), 0.01).run(steps=10)
    air = run.force("air")
    assert air.rate.shape == air.effort.shape == (11, 6)
    np.testing.assert_allclose(air.effort, -np.array((1, 2, 3, 0.1, 0.1, 0.1)) * air.rate)
    with pytest.raises(ValueError, match="no coordinate"):
        air.coordinate  # noqa: B018
    assert repr(run.mechanism.forces["air"]) == "Drag('air', linear=(1, 2, 3), angular=0.1)"
    live = Simulator(free(1.0), 0.01).start()
    assert live.force("air").power[0] < 0


def test_files_copies_and_additions(tmp_path: Path) -> None:
    m = doll()
    m.save(tmp_path / "doll.json")
    other = Mechanism.load(tmp_path / "doll.json")
    both = Mechanism()
    both.add(m, prefix="my ")
    ends = [Simulator(each, 0.01).run(steps=20).position[-1] for each in (m, other, m.copy(), both)]
    for end in ends[1:]:
        np.testing.assert_array_equal(end, ends[0])
    m.remove_body("left hand", cascade=True)
    assert "drag on left hand" not in m.forces
    m.remove_force("drag on left arm")
    assert Simulator(m, 0.01).run(steps=1).status.ok


def test_drag_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        Drag("a", -1.0)
    with pytest.raises(ValueError, match="give it"):
        Drag("a")
    with pytest.raises(ValueError, match="angular"):
        Drag("a", angular=(1, 2))
    with pytest.raises(ValueError, match="no body called 'moon'"):
        free(1.0).add_force(Drag("moon", 1.0))
    m = free(1.0)
    with pytest.raises(ValueError, match="same parameters for all members"):
        Simulator(m, 0.01).run_batch(states=[m.state()] * 2, steps=1, force_parameters={"air": {"damping": [1.0, 2.0]}})
