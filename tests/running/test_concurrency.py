"""Threads: functions of time and the user's own rows are asked by many threads at once, and every run gets its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import sin

import numpy as np
import pytest

from catena import BodyPose, Custom, Load, Mechanism, Motor, Simulator, State, VelocityRows, box, scenes

THREADS = 4


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """The interpreter changes threads whenever it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def motored() -> Mechanism:
    """Several functions of time, so that one is read before the other."""
    m = scenes.pendulum(2)
    for joint in m.joints:
        for _ in range(3):
            m.add_force(Motor(joint, lambda t: sum(0.1 * sin((20 + k) * t) for k in range(20))))
    return m


def rod() -> Mechanism:
    m = Mechanism()
    m.add_body("rod", box((1.0, 0.1, 0.1), mass=1.0), position=(0.5, 0, 0), velocity=(0, 0.3, 0))
    return m


def jointed() -> Mechanism:
    """The rod's center stays at its distance, by a function of the user's own."""
    m = rod()

    def jacobian(a: BodyPose, b: BodyPose) -> np.ndarray:
        row = np.zeros((1, 12))
        row[0, 6:9] = b.position / np.linalg.norm(b.position)
        return row

    m.add_joint(Custom(m.world, "rod", lambda a, b: [np.linalg.norm(b.position) - 0.5], jacobian=jacobian, name="own"))
    return m


def bladed() -> Mechanism:
    """The rod does not move across itself, but for what a function of time says, by rows on its velocity."""
    m = rod()

    def rows(a: BodyPose, b: BodyPose) -> np.ndarray:
        w, x, y, z = b.orientation
        found = np.zeros((1, 12))
        found[0, 6:9] = (2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x))
        return found

    m.add_joint(VelocityRows(m.world, "rod", rows, value=lambda t: sin(3 * t), name="blade"))
    return m


SCENES: dict[str, Callable[[], Mechanism]] = {"function of time": motored, "own rows": jointed, "velocity rows": bladed}
STEPS = {"function of time": 200, "own rows": 100, "velocity rows": 15}


def starts(m: Mechanism, count: int) -> list[State]:
    result = []
    for k in range(count):
        state = m.state()
        state.angular_velocity[:, 2] += 0.4 * k
        state.velocity[:, 1] += 0.3 * k
        result.append(state)
    return result


@pytest.mark.parametrize("scene", SCENES)
def test_threads_of_a_batch_do_not_share_what_functions_return(scene: str) -> None:
    m = SCENES[scene]()
    sim = Simulator(m, 0.01)
    states = starts(m, 3 * THREADS)
    alone = sim.run_batch(states=states, steps=STEPS[scene], threads=1)
    together = sim.run_batch(states=states, steps=STEPS[scene], threads=THREADS)
    np.testing.assert_array_equal(together.position, alone.position)
    np.testing.assert_array_equal(together.velocity, alone.velocity)


@pytest.mark.parametrize("scene", SCENES)
def test_runs_of_one_simulator_at_once(scene: str) -> None:
    m = SCENES[scene]()
    sim = Simulator(m, 0.01)
    states = starts(m, THREADS)
    expected = [sim.run(steps=STEPS[scene], state=state) for state in states]
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda state: sim.run(steps=STEPS[scene], state=state), states))
    for run, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(run.position, wanted.position)
        np.testing.assert_array_equal(run.multipliers, wanted.multipliers)


def test_an_error_belongs_to_the_run_it_happened_in() -> None:
    """One of two runs at once fails in its own load; the other goes on."""
    m = motored()
    sim = Simulator(m, 0.01)
    meet = threading.Barrier(2, timeout=600)

    def bad(t: float) -> tuple[float, float, float]:
        meet.wait()
        raise ZeroDivisionError("mine")

    def good(t: float) -> tuple[float, float, float]:
        if t == 0 and not meet.broken and meet.n_waiting <= 1 and not waited:
            waited.append(1)
            meet.wait()
        return (0.0, 0.0, 0.1)

    waited: list[int] = []
    expected = sim.run(steps=50, loads={"link1": Load(force=lambda t: (0.0, 0.0, 0.1))})
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(sim.run, steps=50, loads={"link1": Load(force=bad)})
        other = pool.submit(sim.run, steps=50, loads={"link1": Load(force=good)})
        with pytest.raises(ZeroDivisionError, match="mine"):
            one.result()
        np.testing.assert_array_equal(other.result().position, expected.position)


def test_an_error_in_one_member_ends_the_batch_soon() -> None:
    m = scenes.pendulum(2)
    asked = []

    def torque(t: float) -> float:
        asked.append(t)
        if len(asked) > 100:
            raise ZeroDivisionError("enough")
        return 0.0

    m.add_force(Motor("joint1", torque))
    with pytest.raises(ZeroDivisionError, match="enough"):
        Simulator(m, 0.01).run_batch(states=8, steps=100_000, threads=2)
    assert len(asked) < 200


def test_welded_custom_joints_keep_the_functions_of_the_others() -> None:
    """Where one custom joint is held fixed in an assembly, the next one is asked for its own rows."""
    m = rod()
    m.add_joint(Custom(m.world, "rod", lambda a, b: b.position - (0.5, 0, 0), name="own"))
    m.add_body("tip", box((0.2, 0.1, 0.1), mass=0.3), position=(1.1, 0, 0.001))
    m.add_joint(Custom("rod", "tip", lambda a, b: b.position - a.position - (0.6, 0, 0), name="next"))
    state = m.assemble(fixed=["own"])
    assert state.joint("next").gap < 1e-9
    np.testing.assert_allclose(state.body("rod").position, (0.5, 0, 0), atol=1e-12)
