"""A run that is cut anywhere and gone on with, in one run, step by step or from a file, is the same bit for bit."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from math import cos, sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from catena import (
    Ball,
    Custom,
    Damper,
    Friction,
    Mechanism,
    Motor,
    PrescribedMotion,
    Servo,
    Simulator,
    State,
    Trajectory,
    VelocityRows,
    box,
    scenes,
)
from golden_scenes import SCENES as GOLDEN

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

ARRAYS = ("time", "position", "orientation", "velocity", "angular_velocity", "multipliers")
STEPS, CUTS = 90, (0, 1, 7, 41, 90)


def driven() -> Mechanism:
    """Functions of time everywhere: a drive, a motor, a servo's target, ground that moves, and couplings."""
    m = scenes.pendulum(4, "revolute", angle=0.5)
    m.add_force(Motor("joint2", lambda t: 0.3 * sin(5 * t)))
    m.add_force(Servo("joint3", kp=20.0, kd=2.0, target=lambda t: 0.4 * cos(3 * t)))
    m.add_coupling(PrescribedMotion("joint4", lambda t: 0.2 * sin(7 * t)))
    m.joints["joint1"].ground = lambda t: (0.1 * sin(4 * t), 0.0, 0.05 * cos(3 * t) - 0.05)
    return m


def given_rows() -> Mechanism:
    m = Mechanism()
    m.add_body("a", box((0.1, 0.1, 1.0), mass=1.0), position=(0, 0, -0.5))
    m.add_body("b", box((0.1, 0.1, 0.1), mass=0.5), position=(0.0, 0, -1.3))
    m.add_joint(Ball("world", "a", at=(0, 0, 0), name="top"))
    m.add_joint(Custom("a", "b", lambda a, b: [np.linalg.norm(b.position - a.position) - 0.8], name="string"))
    m.add_joint(
        VelocityRows("world", "b", lambda a, b: np.array([[0, 0, 0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0]]), name="rail")
    )
    return m


def violent() -> Mechanism:
    """Steps that have to be halved, with friction and many turns."""
    m = scenes.pendulum(3, "revolute", angle=2.5)
    m.add_force(Friction("joint1", 0.2, threshold=1e-3))
    m.add_force(Damper("joint2", 0.01))
    m.bodies["link2"].angular_velocity = (0, 30, 0)
    return m


MORE: dict[str, tuple[Callable[[], Mechanism], float, dict[str, Any]]] = {
    "paper's scheme": (lambda: scenes.pendulum(3, "revolute", angle=1.0), 0.01, {"order": 1}),
    "order 6": (lambda: scenes.pendulum(2, "ball", angle=1.0), 0.02, {"order": 6}),
    "order 8": (lambda: scenes.four_bar(), 0.02, {"order": 8}),
    "functions of time": (driven, 0.01, {}),
    "functions of time, order 4": (driven, 0.01, {"order": 4}),
    "functions of time by ldu": (driven, 0.01, {"solver": "ldu"}),
    "halved steps": (violent, 0.04, {}),
    "halved steps of order 4": (violent, 0.04, {"order": 4}),
    "halved steps by dense": (violent, 0.04, {"solver": "dense"}),
    "custom rows": (given_rows, 0.01, {}),
    "servos, order 4": (lambda: scenes.humanoid(hung=True), 0.01, {"order": 4}),
    "servos, order 8": (lambda: scenes.humanoid(hung=True), 0.002, {"order": 8}),
    "delta robot": (scenes.delta_robot, 0.005, {}),
    "strandbeest": (lambda: scenes.strandbeest(1), 0.005, {}),
}
SCENES = GOLDEN | MORE
every_scene = pytest.mark.parametrize("scene", SCENES)


def simulator(scene: str) -> Simulator:
    make, dt, settings = SCENES[scene]
    return Simulator(make(), dt, on_failure="stop", **settings)


def same(a: Trajectory, b: Trajectory, nodes: slice, names: tuple[str, ...] = ARRAYS) -> None:
    for name in names:
        np.testing.assert_array_equal(getattr(a, name)[nodes], getattr(b, name), err_msg=name)
    for joint, angles in a.turned.items():
        np.testing.assert_array_equal(angles[nodes], b.turned[joint])


@every_scene
def test_runs_that_are_cut(scene: str) -> None:
    simulate = simulator(scene)
    whole = simulate.run(steps=STEPS)
    assert whole.status.ok
    if scene.startswith("halved"):
        assert whole.halved_count > 3
    state = None
    for begin, end in pairwise(CUTS):
        part = simulate.run(steps=end - begin, state=state)
        same(whole, part, slice(begin, end + 1))
        np.testing.assert_array_equal(part.iterations, whole.iterations[begin:end])
        np.testing.assert_array_equal(part.substeps, whole.substeps[begin:end])
        state = part[-1]


@every_scene
def test_step_by_step(scene: str) -> None:
    simulate = simulator(scene)
    whole = simulate.run(steps=STEPS)
    live = simulate.start()
    for step in range(1, STEPS + 1):
        live.step()
        for name in ARRAYS[:5]:
            np.testing.assert_array_equal(getattr(live, name), getattr(whole, name)[step], err_msg=name)
        if step == 30:
            other = live.copy()
    other.step(STEPS - 30)
    assert other.time == live.time
    np.testing.assert_array_equal(other.position, live.position)
    np.testing.assert_array_equal(other.velocity, live.velocity)
    # and back into runs; reactions of higher orders are guessed from those of earlier nodes, for which nobody asked
    same(simulate.run(steps=STEPS + 5), simulate.run(steps=5, state=live.state()), slice(STEPS, None), ARRAYS[:5])


@pytest.mark.parametrize("order", [4, 6, 8])
def test_step_by_step_where_steps_backwards_are_refused(order: int) -> None:
    """A run takes short ones for its reactions, which friction refuses; nothing of that enters the motion."""
    m = scenes.pendulum(3, "revolute", angle=0.5)
    for joint in m.joints:
        m.add_force(Friction(joint, 0.3))
    simulate = Simulator(m, 0.01, order=order)
    whole = simulate.run(steps=20)
    live = simulate.start()
    for step in range(1, 21):
        live.step()
        np.testing.assert_array_equal(live.position, whole.position[step])
        np.testing.assert_array_equal(live.velocity, whole.velocity[step])


@every_scene
def test_velocities_are_the_same_whenever_they_are_read(scene: str) -> None:
    """They are found when somebody reads them; what else is asked at the node, and what is kept, changes nothing."""
    simulate = simulator(scene)
    whole = simulate.run(steps=40)
    live = simulate.start()
    kept = None
    for step in range(1, 41):
        live.step()
        if step % 5 == 0:
            live.multipliers()
        if step % 7 == 0 and step < 40:
            live.accelerations()
        if step == 22:
            kept = live.angular_velocity[:1]
        if step % 3 == 0:
            np.testing.assert_array_equal(live.velocity, whole.velocity[step])
        if kept is not None:
            np.testing.assert_array_equal(kept, whole.angular_velocity[step, :1])
        if step == 30:
            kept = None
    np.testing.assert_array_equal(live.position, whole.position[-1])
    np.testing.assert_array_equal(live.velocity, whole.velocity[-1])


@every_scene
def test_from_any_checkpoint(scene: str) -> None:
    simulate = simulator(scene)
    whole = simulate.run(steps=STEPS, record_every=7, checkpoints=True)
    for node in (0, 3, 9):
        rest = simulate.run(steps=STEPS - 7 * node, state=whole[node], record_every=7)
        same(whole, rest, slice(node, None))


@pytest.mark.parametrize(
    "scene", [name for name in SCENES if "function" not in name and name not in ("joints", "custom rows")]
)
def test_in_another_process(scene: str, tmp_path: Path) -> None:
    """Functions cannot be written, so scenes that have some are not tried."""
    simulate = simulator(scene)
    whole, part = simulate.run(steps=60), simulate.run(steps=33)
    part.save(tmp_path / "part.npz")
    settings = dict(SCENES[scene][2])
    code = f"""
from catena import Simulator, Trajectory
part = Trajectory.load("part.npz")
Simulator(part.mechanism, {simulate.dt!r}, **{settings!r}).run(steps=27, state=part[-1]).save("rest.npz")
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=600)
    same(whole, Trajectory.load(tmp_path / "rest.npz"), slice(33, None))


def test_pickled_states() -> None:
    simulate = simulator("forces")
    whole, part = simulate.run(steps=40), simulate.run(steps=11)
    again = pickle.loads(pickle.dumps(simulate))
    same(whole, again.run(steps=29, state=pickle.loads(pickle.dumps(part[-1]))), slice(11, None))


def test_a_changed_state_is_another() -> None:
    simulate = simulator("hinges")
    state = simulate.run(steps=10)[-1]
    state.joint("joint2").rate += 1.0
    assert simulate.run(steps=0, state=state)[0].joint("joint2").rate == pytest.approx(state.joint("joint2").rate)


def test_a_state_goes_on_in_other_simulators() -> None:
    """With another step or solver there is nothing to be the same as: the motion is, to the scheme's order."""
    m = scenes.pendulum(3, "revolute", angle=0.5)
    state = Simulator(m, 0.001).run(0.1)[-1]
    exact = Simulator(m, 0.001, order=6).run(0.1, state=state)[-1]
    for other in (Simulator(m, 0.0005), Simulator(m, 0.002), Simulator(m, 0.001, solver="ldu")):
        found = other.run(0.1, state=state)
        assert found.time[-1] == pytest.approx(0.2)
        # second order: 2e-6 s^2 times accelerations of a few tens of m/s^2
        np.testing.assert_allclose(found.position[-1], exact.position, rtol=0, atol=3e-5)


@pytest.mark.parametrize("first", [None, {"link1": (3.0, 0, 0)}])
@pytest.mark.parametrize("then", [None, {"link1": (-5.0, 1.0, 2.0)}, {"link2": (1.0, 0, 0)}])
def test_forces_that_change_at_the_cut(first: Any, then: Any) -> None:
    """What acted before the node acts there for its half of the interval, and no longer: as if held."""
    simulate = simulator("hinges")
    part = simulate.run(steps=10, loads=first)
    rest = simulate.run(steps=10, loads=then, state=part[-1])
    node = part[-1]
    arrays = (node.position, node.orientation, node.velocity, node.angular_velocity)
    moved = simulate.run(steps=10, loads=then, state=State(node.mechanism, *arrays, time=node.time))
    # to the tolerance of Newton's method, 1e-10 m/s, over 0.1 s
    np.testing.assert_allclose(rest.position, moved.position, rtol=0, atol=1e-9)


def test_a_force_that_goes_on() -> None:
    simulate = simulator("hinges")
    force = {"link2": (1.0, 2.0, 3.0)}
    whole = simulate.run(steps=40, loads=force)
    part = simulate.run(steps=15, loads=force)
    same(whole, simulate.run(steps=25, loads=force, state=part[-1]), slice(15, None))


def test_failed_runs_stand_where_they_stopped() -> None:
    m = scenes.pendulum(1, "revolute", angle=1.0)
    m.bodies["link1"].angular_velocity = (0, 3, 0)
    failed = Simulator(m, 0.05, on_failure="stop", rescue=False, max_iterations=1).run(steps=50)
    assert not failed.status.ok
    node = failed[-1]
    rest = Simulator(m, 0.05).run(steps=5, state=node)
    np.testing.assert_array_equal(rest.position[0], node.position)
    assert rest.status.ok


@pytest.mark.parametrize("rate", [5.0, 40.0, 100.0, 200.0])
def test_a_rod_that_whips_round_goes_on_from_the_poses_and_velocities_of_its_nodes(rate: float) -> None:
    """At order 6, where its steps are halved too: to rounding, though nothing but the four arrays is carried."""
    m = Mechanism()
    spin, center = rate * np.array((0.1, 1.0, 0.05)), np.array((0.0, 0.0, -0.5))
    rod = box((0.05, 0.05, 1.0), mass=1.0)
    m.add_body("rod", rod, position=center, velocity=np.cross(spin, center), angular_velocity=spin)
    m.add_joint(Ball("world", "rod", at=(0, 0, 0)))
    simulator = Simulator(m, 0.005, order=6)
    whole = simulator.run(steps=120)
    assert (whole.substeps.max() > 1) == (rate > 60)
    for node in range(5, 120, 13):
        state = m.state()
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            setattr(state, name, getattr(whole, name)[node])
        rest = simulator.run(steps=120 - node, state=state)
        np.testing.assert_array_equal(rest.substeps, whole.substeps[node:])
        # rounding of a turn, which grows no faster than the time and the rate
        np.testing.assert_allclose(rest.position, whole.position[node:], rtol=0, atol=1e-11)
