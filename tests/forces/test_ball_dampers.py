"""Dampers of joints that turn about any axis: one torque against the angular velocity of b against a."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from catena import (
    Ball,
    Bushing,
    Damper,
    Drag,
    Free,
    Mechanism,
    Revolute,
    Simulator,
    Spring,
    Universal,
    box,
    scenes,
    sphere,
)
from laws import SOLVERS, assert_batches_agree_with_runs, assert_solvers_agree

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


every_solver = pytest.mark.parametrize("solver", SOLVERS)


def damped(m: Mechanism, damping: float = 0.05) -> Mechanism:
    """A damper on every joint."""
    for joint in list(m.joints):
        m.add_force(Damper(joint, damping))
    return m


def two_stones(damping: float = 0.002, joint: type[Ball | Free] = Ball) -> Mechanism:
    """Two round bodies on one point, where both have their center: all that turns them is the damper."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("near", sphere(0.1, mass=2.0), angular_velocity=(1.5, 2, -1))
    m.add_body("far", sphere(0.15, mass=1.0), angular_velocity=(-1, 0.5, 1))
    m.add_joint(joint("near", "far", at=(0, 0, 0), name="socket"))
    m.add_force(Damper("socket", damping, name="grease"))
    return m


def doll(damping: float = 0.05) -> Mechanism:
    """A trunk that floats, with limbs on balls, hinges and a cross joint; one arm describes its ball the other way."""
    m = Mechanism()
    m.add_body("trunk", box((0.3, 0.2, 0.6), mass=10.0), velocity=(1, 0.5, 0), angular_velocity=(0.4, 1.0, -0.6))
    for side, sign in (("left", -1), ("right", 1)):
        arm, hand = f"{side} arm", f"{side} hand"
        m.add_body(arm, box((0.4, 0.1, 0.1), mass=2.0), position=(0.35 * sign, 0, 0.25), angular_velocity=(0, 2, sign))
        m.add_body(hand, box((0.2, 0.1, 0.05), mass=0.5), position=(0.65 * sign, 0, 0.25))
        m.add_body(f"{side} thumb", box((0.2, 0.1, 0.1), mass=0.5), position=(0.85 * sign, 0, 0.25))
        m.add_joint(Ball(*(("trunk", arm) if sign > 0 else (arm, "trunk")), at=(0.15 * sign, 0, 0.25)))
        if sign > 0:
            m.add_joint(Revolute(arm, hand, axis=(0, 1, 0), at=(0.55 * sign, 0, 0.25)))
        else:
            m.add_joint(Universal(arm, hand, axes=((0, 1, 0), (0, 0, 1)), at=(0.55 * sign, 0, 0.25)))
        m.add_joint(Ball(hand, f"{side} thumb", at=(0.75 * sign, 0, 0.25)))
    return damped(m, damping)


def ring(damping: float = 0.02) -> Mechanism:
    """Six rods in a ring that floats, a ball with a damper at every corner: one of them closes a loop."""
    m = Mechanism(gravity=(0, 0, 0))
    angles = np.arange(7) * np.pi / 3
    corners = np.stack((np.cos(angles), np.sin(angles), 0 * angles), axis=1)
    rng = np.random.default_rng(3)
    for k in range(6):
        a, b = corners[k], corners[k + 1]
        half = 0.5 * np.arctan2(*(b - a)[1::-1])
        m.add_body(
            f"rod{k}",
            box((1.0, 0.1, 0.1), mass=1.0),
            position=(a + b) / 2,
            orientation=(np.cos(half), 0, 0, np.sin(half)),
            velocity=0.3 * rng.normal(size=3),
        )
    for k in range(6):
        m.add_joint(Ball(f"rod{k}", f"rod{(k + 1) % 6}", at=corners[k + 1]))
    return damped(m, damping)


def bridge() -> Mechanism:
    """Planks that hang in an arc between two banks, on balls."""
    angle = np.linspace(-1.0, 1.0, 7)
    joints = 2.0 * np.stack((np.sin(angle), 0 * angle, -np.cos(angle)), axis=1)
    m, before = Mechanism(), "world"
    for k, (a, b) in enumerate(pairwise(joints)):
        half = -0.5 * np.arctan2(*(b - a)[2::-2])
        m.add_body(
            f"plank{k}",
            box((float(np.linalg.norm(b - a)), 0.3, 0.05), mass=1.0),
            position=0.5 * (a + b),
            orientation=(np.cos(half), 0, np.sin(half), 0),
            velocity=(0, 0.5 * k, 0),
        )
        m.add_joint(Ball(before, f"plank{k}", at=a))
        before = f"plank{k}"
    m.add_joint(Ball(before, "world", at=joints[-1]))
    return damped(m, 0.2)


def scenes_with_grease() -> dict[str, Mechanism]:
    spinning = scenes.pendulum(4, "ball", angle=0.8)
    spinning.bodies["link2"].angular_velocity = (0, 0, 0)
    delta = scenes.delta_robot()
    for name, joint in list(delta.joints.items()):
        if isinstance(joint, Ball):
            delta.add_force(Damper(name, 0.01))
    return {
        "chain": damped(spinning),
        "doll": doll(),
        "ring": ring(),
        "bridge": bridge(),
        "stones": two_stones(),
        "free stones": two_stones(joint=Free),
        "delta robot": delta,
    }


# ---- closed forms


@every_solver
@pytest.mark.parametrize("joint", [Ball, Free])
def test_two_bodies_come_to_turn_as_one(solver: str, joint: type[Ball | Free]) -> None:
    """The difference of their spins decays by c (1/J1 + 1/J2), about every axis; their momentum stays."""
    c, near, far = 0.002, 0.4 * 2.0 * 0.1**2, 0.4 * 1.0 * 0.15**2
    errors = []
    for dt in (0.02, 0.01):
        run = Simulator(two_stones(c, joint), dt, solver=solver).run(duration=2.0)
        spin = run.angular_velocity[:, 1] - run.angular_velocity[:, 0]
        decay = np.exp(-c * (1 / near + 1 / far) * run.time)[:, None]
        errors.append(abs(spin - decay * spin[0]).max())
        momentum = near * run.angular_velocity[:, 0] + far * run.angular_velocity[:, 1]
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-13)
        np.testing.assert_array_equal(run.substeps, 1)
    assert errors[1] < 1e-3
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_a_damper_to_the_world_is_drag() -> None:
    ends = []
    for law in ("damper", "damper the other way", "drag"):
        m = Mechanism()
        m.add_body("bob", box((0.2, 0.1, 0.5), mass=1.0), position=(0, 0, -0.25), angular_velocity=(1, 2, 3))
        m.add_joint(Ball(*(("world", "bob") if law == "damper" else ("bob", "world")), at=(0, 0, 0), name="hook"))
        m.add_force(Drag("bob", angular=0.05) if law == "drag" else Damper("hook", 0.05))
        ends.append(Simulator(m, 0.005).run(steps=100))
    for run in ends[1:]:
        np.testing.assert_allclose(run.position, ends[0].position, atol=1e-13)


def test_a_turn_about_one_axis_is_that_of_a_hinge() -> None:
    """A chain in a plane, on balls or on hinges, with the same dampers: the same to the order of the scheme."""
    gaps = []
    for dt in (0.01, 0.005):
        ends = []
        for joint in ("ball", "revolute"):
            m = damped(scenes.pendulum(3, joint, angle=0.8), 0.3)
            ends.append(Simulator(m, dt).run(duration=1.0).position[-1])
        gaps.append(abs(ends[1] - ends[0]).max())
    assert gaps[1] < 2e-4
    assert gaps[0] / gaps[1] > 3.5


def test_what_has_the_same_law_agrees() -> None:
    """A bushing damps small turns against each other as a damper does: two fine runs of a chain that is hardly bent."""
    ends = []
    for law in ("damper", "bushing"):
        m = scenes.pendulum(3, "ball", angle=0.0)
        m.bodies["link3"].angular_velocity = (0.02, 0.01, 0)
        for name, joint in list(m.joints.items()):
            if joint.a.is_world:
                continue
            at = joint.a.position + np.array((0, 0, joint.anchor_a[2]))
            m.add_force(
                Damper(name, 0.5) if law == "damper" else Bushing(joint.a.name, joint.b.name, at=at, turn_damping=0.5)
            )
        ends.append(Simulator(m, 0.001).run(duration=0.5))
    scale = abs(ends[0].position[-1] - ends[0].position[0]).max()
    # twice the sine of half an angle of some 0.02 rad in place of the angle, squared
    np.testing.assert_allclose(ends[0].position[-1], ends[1].position[-1], atol=1e-3 * scale)


# ---- the same whoever computes it


@pytest.mark.parametrize("scene", list(scenes_with_grease()))
def test_solvers_agree(scene: str) -> None:
    assert_solvers_agree(scenes_with_grease()[scene])


@pytest.mark.parametrize("scene", list(scenes_with_grease()))
def test_batches_agree_with_runs(scene: str) -> None:
    assert_batches_agree_with_runs(scenes_with_grease()[scene])


def test_no_rows_are_made_of_it() -> None:
    """A chain of balls with dampers costs the solver what it costs without, as one of hinges does."""
    plain, grease = scenes.pendulum(20, "ball"), damped(scenes.pendulum(20, "ball"))
    works = [Simulator(m, 0.01).plan.core.articulated_work for m in (plain, grease)]
    assert works[0] == works[1]
    assert Simulator(grease, 0.01).run(steps=2).multipliers.shape[1] == 60


def test_newton_needs_no_more_increments() -> None:
    """The elimination has all of its derivatives: a run takes as many increments with dampers as without."""
    counts = []
    for m in (scenes.pendulum(8, "ball", angle=0.8), damped(scenes.pendulum(8, "ball", angle=0.8))):
        counts.append(int(Simulator(m, 0.005).run(steps=200).iterations.sum()))
    assert counts[1] <= 1.05 * counts[0]


@pytest.mark.parametrize("order", [4, 6])
def test_higher_orders(order: int) -> None:
    """Their steps backwards feed what dampers take: soft ones keep the order, stiff ones halve steps."""
    m = damped(scenes.pendulum(2, "ball", angle=0.8), 0.02)
    exact = Simulator(m, 0.0005, order=order).run(duration=0.5).position[-1]
    error = [abs(Simulator(m, dt, order=order).run(duration=0.5).position[-1] - exact).max() for dt in (0.02, 0.01)]
    assert error[0] / error[1] > 0.7 * 2**order
    stiff = damped(scenes.pendulum(2, "ball", angle=0.8), 10.0)
    run = Simulator(stiff, 0.05, order=order).run(duration=0.5)
    assert run.status.ok
    plain = Simulator(stiff, 0.0005).run(duration=0.5)
    np.testing.assert_allclose(run.position[-1], plain.position[-1], atol=1e-6)


def test_an_accuracy_is_kept_by_plain_steps() -> None:
    m = damped(scenes.pendulum(2, "ball", angle=0.8), 0.2)
    run = Simulator(m, accuracy=1e-5).run(duration=1.0)
    exact = Simulator(m, 0.0002).run(duration=1.0)
    assert run.info.order == 2
    # of the mechanism's size, some 2 m; the finer run errs by less than 1e-6
    np.testing.assert_allclose(run.position[-1], exact.position[-1], atol=2e-5)


# ---- energy and momentum


@pytest.mark.parametrize("make", [doll, ring, bridge])
def test_what_dampers_take_is_what_is_lost(make: object) -> None:
    errors = []
    for dt in (0.01, 0.005):
        run = Simulator(make(), dt).run(duration=1.0)  # type: ignore[operator]
        work = sum(run.force(name).work for name in run.mechanism.forces)
        assert (np.diff(work) <= 0).all()
        assert work[-1] < -1e-3
        errors.append(abs(run.energy() - run.energy()[0] - work).max())
        power = sum(run.force(name).power for name in run.mechanism.forces)
        assert (power <= 0).all()
    assert 3.0 < errors[0] / errors[1] < 5.0


@every_solver
def test_energy_only_falls(solver: str) -> None:
    """Without gravity all energy is kinetic, and every step takes some of it, however stiff the dampers."""
    for damping in (0.1, 1e4):
        m = doll(damping)
        m.gravity = (0, 0, 0)
        run = Simulator(m, 0.002, solver=solver).run(steps=300)
        energy = run.energy()
        assert (np.diff(energy) < 1e-9 * energy[0]).all()
        assert energy[-1] < 0.99 * energy[0]


@pytest.mark.parametrize("make", [doll, ring, two_stones])
def test_momentum_is_kept(make: object) -> None:
    m = make()  # type: ignore[operator]
    m.gravity = (0, 0, 0)
    run = Simulator(m, 0.005).run(steps=400)
    for value in (run.momentum(), run.angular_momentum()):
        # Newton's tolerance, carried over from step to step
        np.testing.assert_allclose(value, np.broadcast_to(value[0], value.shape), atol=1e-9)


def test_stiff_dampers_hold() -> None:
    """However large, they feed nothing: a chain becomes a rod that swings about its hook."""
    m = scenes.pendulum(5, "ball", angle=1.0)
    for name, joint in list(m.joints.items()):
        if not joint.a.is_world:
            m.add_force(Damper(name, 1e6))
    run = Simulator(m, 0.01).run(duration=2.0)
    assert run.status.ok
    # links do not turn against each other: all points stay on a line from the hook
    line = run.position[-1, 4] / np.linalg.norm(run.position[-1, 4])
    np.testing.assert_allclose(np.cross(run.position[-1], line), 0, atol=1e-3)
    assert run.energy().max() - run.energy()[0] < 1e-3 * abs(run.kinetic_energy()).max()


# ---- as a part of mechanisms


def test_what_is_told_of_it() -> None:
    run = Simulator(two_stones(0.1), 0.01).run(steps=10)
    grease = run.force("grease")
    assert grease.rate.shape == grease.effort.shape == (11, 3)
    np.testing.assert_allclose(grease.effort, -0.1 * grease.rate)
    np.testing.assert_allclose(grease.rate, run.joint("socket").rates, atol=1e-12)
    with pytest.raises(ValueError, match="no coordinate"):
        grease.coordinate  # noqa: B018
    assert repr(run.mechanism.forces["grease"]) == "Damper('grease', damping=0.1)"
    live = Simulator(two_stones(0.1), 0.01).start()
    assert live.force("grease").power[0] < 0


def test_a_cross_joint_is_damped_about_both_axes() -> None:
    def cardan() -> Mechanism:
        m = Mechanism()
        m.add_body("near", box((0.2, 0.1, 0.5), mass=1.0), position=(0, 0, -0.25), angular_velocity=(1, 2, 0))
        m.add_body("far", box((0.1, 0.1, 0.5), mass=1.0), position=(0, 0, -0.75))
        m.add_joint(Ball("world", "near", at=(0, 0, 0)))
        m.add_joint(Universal("near", "far", axes=((1, 0, 0), (0, 1, 0)), at=(0, 0, -0.5), name="cross"))
        return m

    whole, one_by_one = cardan(), cardan()
    whole.add_force(Damper("cross", 0.1))
    for coordinate in ("first", "second"):
        one_by_one.add_force(Damper("cross", 0.1, coordinate=coordinate, name=coordinate))
    runs = [Simulator(m, 0.005).run(steps=100) for m in (whole, one_by_one)]
    np.testing.assert_array_equal(runs[0].position, runs[1].position)
    assert runs[0].force("damper on cross").effort.shape == (101, 2)


def test_files_copies_and_additions(tmp_path: Path) -> None:
    m = doll()
    m.save(tmp_path / "doll.json")
    other = Mechanism.load(tmp_path / "doll.json")
    both = Mechanism()
    both.add(m, prefix="my ")
    ends = [Simulator(each, 0.01).run(steps=20).position[-1] for each in (m, other, m.copy(), both)]
    for end in ends[1:]:
        np.testing.assert_array_equal(end, ends[0])
    with pytest.raises(ValueError, match="damper"):
        m.remove_joint("trunk-right arm")
    m.remove_body("right arm", cascade=True)
    assert "damper on trunk-right arm" not in m.forces
    assert Simulator(m, 0.01).run(steps=1).status.ok


def test_several_dampers_on_one_ball_add_up() -> None:
    one, two = two_stones(0.002), two_stones(0.0005)
    two.add_force(Damper("socket", 0.0015, name="more grease"))
    ends = [Simulator(m, 0.01).run(steps=50).angular_velocity[-1] for m in (one, two)]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-13)


def test_dampers_that_cannot_be() -> None:
    m = two_stones()
    with pytest.raises(ValueError, match="must not be negative"):
        m.add_force(Damper("socket", -1.0))
    with pytest.raises(ValueError, match="a Damper acts on a ball joint as a whole"):
        m.add_force(Spring("socket", 1.0))
    with pytest.raises(ValueError, match="no single coordinate"):
        m.add_force(Damper("socket", 1.0, coordinate="angle", name="other"))
    with pytest.raises(ValueError, match="same parameters for all members"):
        Simulator(m, 0.01).run_batch(
            states=[m.state()] * 2, steps=1, force_parameters={"grease": {"damping": [1.0, 2.0]}}
        )
    moving = Mechanism()
    moving.add_body("bob", sphere(0.1, mass=1.0))
    moving.add_joint(Ball("world", "bob", at=(0, 0, 0), name="hook")).ground = lambda t: (0.1 * t, 0, 0)
    moving.add_force(Damper("hook", 0.1))
    with pytest.raises(ValueError, match="moving ground"):
        Simulator(moving, 0.01)
