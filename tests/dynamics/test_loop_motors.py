"""Inverse dynamics through loops of whole, redundant joints: what motors exert, put back, gives the motion again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import catena as ct
from catena import Mechanism, State, scenes


def platform() -> Mechanism:
    """A Stewart platform whose legs cannot spin: universal joints at the base."""
    m = scenes.stewart_platform((0.05, -0.02, 0.8))
    for k in range(1, 7):
        old, leg = m.joints[f"base{k}"], m.bodies[f"cylinder{k}"]
        along = np.array(m.bodies[f"piston{k}"].position) - leg.position
        across = np.cross(along, (0.0, 0.0, 1.0))
        m.remove_joint(f"base{k}")
        m.add_joint(
            ct.Universal("world", leg, axes=(across, np.cross(along, across)), at=old.anchor_a, name=f"base{k}")
        )
    return m


def delta() -> Mechanism:
    """A delta robot whose rods cannot spin: universal joints at the elbows."""
    m = scenes.delta_robot((0.25, 0.3, 0.4))
    for k in (1, 2, 3):
        for side in "ab":
            elbow = m.state().body(f"arm{k}").point(m.joints[f"elbow{k}{side}"].anchor_a)
            along = np.array(m.bodies[f"rod{k}{side}"].position) - elbow
            across = np.cross(along, (0.0, 0.0, 1.0))
            m.remove_joint(f"elbow{k}{side}")
            axes = (across, np.cross(along, across))
            m.add_joint(ct.Universal(f"arm{k}", f"rod{k}{side}", axes=axes, at=elbow, name=f"elbow{k}{side}"))
    return m


def squeezer() -> Mechanism:
    m = scenes.andrews_squeezer()
    m.remove_force("motor")
    return m


# mechanisms, the joints with motors, how far these move in rad or m, and seconds in which they do
MACHINES: dict[str, tuple[Callable[[], Mechanism], list[str], float, float]] = {
    "four-bar": (scenes.four_bar, ["joint1"], 0.5, 1.0),
    "Stewart platform": (platform, [f"leg{k}" for k in range(1, 7)], 0.05, 1.0),
    "delta robot": (delta, ["motor1", "motor2", "motor3"], 0.3, 1.0),
    "Minitaur leg": (scenes.minitaur_leg, ["leg front motor", "leg rear motor"], 0.3, 1.0),
    "Andrews' squeezer": (squeezer, ["O"], 0.4, 0.01),
}


def recorded(name: str, count: int) -> tuple[Mechanism, ct.Trajectory, np.ndarray, list[str], float]:
    """The machine, its motion at count + 1 nodes as drives make it, and accelerations of the driven coordinates."""
    make, motors, reach, duration = MACHINES[name]
    m = make()
    where = {joint: m.joints[joint].names[0] for joint in motors}
    driven, fast, start = m.copy(), 4.0 / duration, m.state()
    pushes = reach * np.linspace(1.0, 0.4, len(motors))
    for k, joint in enumerate(motors):
        zero = start.joint(joint).coordinates[0]
        driven.add_coupling(
            ct.PrescribedMotion(
                joint,
                lambda t, zero=zero, push=pushes[k], phase=k: zero + push * (np.sin(fast * t + phase) - np.sin(phase)),
            )
        )
    dt = duration / count
    run = ct.Simulator(driven, dt, on_inaccurate="ignore").run(steps=count, state=driven.assemble())
    phase = fast * run.time[:, None] + np.arange(len(motors))
    return m, run, -pushes * fast**2 * np.sin(phase), [f"{j}.{where[j]}" for j in motors], dt


def states_of(m: Mechanism, run: ct.Trajectory) -> list[State]:
    """The nodes of a run of a driven copy, as states of the mechanism itself."""
    found = []
    for k in range(len(run)):
        state = m.state()
        state.position, state.orientation = run.position[k], run.orientation[k]
        state.velocity, state.angular_velocity = run.velocity[k], run.angular_velocity[k]
        found.append(state)
    return found


@pytest.mark.parametrize("name", MACHINES)
def test_a_recorded_motion_comes_again(name: str) -> None:
    """Its efforts as motors give it again: half the step, a quarter of the error."""
    misses = []
    for count in (100, 200):
        m, run, accelerations, names, dt = recorded(name, count)
        d, states = ct.Dynamics(m, names), states_of(m, run)
        efforts = np.array([d.efforts(state, a) for state, a in zip(states, accelerations, strict=True)])
        for k, coordinate in enumerate(names):
            exerted = partial(_at, efforts[:, k], dt)
            m.add_force(ct.Motor(coordinate.split(".")[0], exerted, name=f"motor{k}"))
        again = ct.Simulator(m, dt, on_inaccurate="ignore").run(steps=count, state=m.assemble(states[0]))
        misses.append(np.abs(again.position - run.position).max())
    assert misses[1] < 3e-3 * np.ptp(run.position)
    assert 3.5 < misses[0] / misses[1] < 4.6


def _at(table: np.ndarray, dt: float, t: float) -> float:
    """Between nodes on a parabola, as orders above need; at nodes the table itself."""
    k = min(max(round(t / dt), 1), len(table) - 2)
    x = t / dt - k
    before, here, after = table[k - 1 : k + 2]
    return float(here + 0.5 * x * (after - before) + 0.5 * x * x * (after - 2 * here + before))


def test_six_seven_and_five_motors() -> None:
    """Exact, of least norm, and refused by name."""
    m, run, accelerations, legs, _ = recorded("Stewart platform", 20)
    d, state, wanted = ct.Dynamics(m, legs), states_of(m, run)[10], accelerations[10]
    exact = d.efforts(state, wanted)
    assert d.efforts(state, wanted, actuated=legs) == pytest.approx(exact, abs=1e-9)
    assert d.accelerations(state, exact) == pytest.approx(wanted, abs=1e-10)
    more = [*legs, "base1.first"]
    shared = d.efforts(state, wanted, actuated=more)
    rows = rates_of(m, state, more, legs)
    # they do the same work at every motion of the platform, and none of them is wasted
    assert rows.T @ shared == pytest.approx(exact, abs=1e-9 * np.abs(exact).max())
    waste = np.linalg.svd(rows.T)[2][6]
    assert abs(waste @ shared) < 1e-9 * np.abs(exact).max()
    assert np.linalg.norm(shared) < np.linalg.norm(exact)
    with pytest.raises(ValueError, match=r"motors at leg1\.displacement, .* cannot make this motion"):
        d.efforts(state, wanted, actuated=legs[:5])


def rates_of(m: Mechanism, state: State, coordinates: list[str], independent: list[str]) -> np.ndarray:
    """Rates (coordinate, f) of some coordinates for unit rates of the independent ones, by closing each motion."""
    columns = []
    for k in range(len(independent)):
        rates = {name.split(".")[0]: float(k == j) for j, name in enumerate(independent)}
        moving = m.assemble(state, rates=rates)
        columns.append([moving.rates[m.coordinates.index(name)] for name in coordinates])
    return np.array(columns).T
