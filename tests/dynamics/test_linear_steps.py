"""Linear models of steps: against differences of steps, as maps that keep phase volume, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import catena as ct
from catena import Mechanism, Simulator, State
from catena._util.rotation import Array, conjugate, from_rotation_vector, multiply, rotation_vector
from random_trees import KINDS, floating, random_tree, somewhere

# what coordinates a random tree needs to be moved through them
COORDINATED = tuple(kind for kind in KINDS if kind != "Fixed")


def rotations(m: Mechanism) -> Iterator[slice]:
    """Where rotation vectors stand among the coordinates."""
    for name, place in m.coordinate_places().items():
        if m.joints[name].code in ("ball", "free"):
            yield slice(place.stop - 3, place.stop)


def moved(m: Mechanism, coordinates: Array, by: Array) -> Array:
    found = coordinates + by
    for place in rotations(m):
        turn = multiply(from_rotation_vector(by[place]), from_rotation_vector(coordinates[place]))
        found[place] = rotation_vector(turn)
    return found


def apart(m: Mechanism, coordinates: Array, others: Array) -> Array:
    found = coordinates - others
    for place in rotations(m):
        turn = multiply(from_rotation_vector(coordinates[place]), conjugate(from_rotation_vector(others[place])))
        found[place] = rotation_vector(turn)
    return found


def by_differences(simulator: Simulator, state: State, inputs: Array) -> Array:
    """(2 f, 2 f + i): of fourth order, over 1e-3: good to about 1e-10."""
    m, f = simulator.mechanism, len(state.coordinates)

    def ends_at(by: Array) -> tuple[Array, Array]:
        start = state.copy()
        start.coordinates = moved(m, state.coordinates, by[:f])
        start.rates = state.rates + by[f : 2 * f]
        live = simulator.start(start)
        live.inputs[:] = inputs + by[2 * f :]
        live.step()
        return live.coordinates.copy(), live.rates.copy()

    origin, _ = ends_at(np.zeros(2 * f + len(inputs)))

    def change(by: Array) -> Array:
        coordinates, rates = ends_at(by)
        return np.concatenate((apart(m, coordinates, origin), rates))

    units = 1e-3 * np.eye(2 * f + len(inputs))
    columns = [(8 * (change(e) - change(-e)) - (change(2 * e) - change(-2 * e))) / 12e-3 for e in units]
    return np.stack(columns, axis=1)


def agrees(m: Mechanism, state: State, *, order: int = 2, steps: int = 0) -> None:
    simulator = ct.Simulator(m, dt=0.01, order=order, tolerance=1e-13, on_inaccurate="ignore")
    live = simulator.start(state)
    live.step(steps)
    model = live.linearize()
    truth = by_differences(simulator, live.state(), live.inputs.copy())
    found = np.hstack((model.A, model.B))
    assert np.abs(found - truth).max() <= 1e-8 * np.abs(truth).max()


@pytest.mark.parametrize("seed", range(16))
def test_random_trees(seed: int) -> None:
    m = random_tree(seed, COORDINATED)
    if floating(m):
        # differences need coordinates: welded to the world instead
        for body in (b for b in m.bodies if not any(j.b.name == b for j in m.joints.values())):
            m.add_joint(ct.Free("world", body))
    agrees(m, somewhere(m, seed), order=(2, 4)[seed % 2])


def moving_arm(*forces: object) -> tuple[Mechanism, State]:
    m = ct.scenes.pendulum(3, "revolute", angle=0.0)
    for force in forces:
        m.add_force(force)
    state = m.state()
    state.coordinates, state.rates = (0.3, 0.6, 0.9), (1.0, -2.0, 3.0)
    return m, state


FORCES: dict[str, Callable[[], tuple[Mechanism, State]]] = {
    "springs": lambda: moving_arm(ct.Spring("joint1", 4.0, rest_length=0.2, damping=0.7), ct.Friction("joint3", 0.8)),
    "implicit": lambda: moving_arm(ct.Spring("joint2", 400.0, implicit=True), ct.Damper("joint1", 20.0)),
    "rotors": lambda: moving_arm(ct.Armature("joint1", 0.4), ct.Armature("joint3", 0.3)),
    "inputs": lambda: moving_arm(
        ct.Motor("joint1", 0.4), ct.Servo("joint2", kp=30.0, kd=5.0, target=0.4), ct.Motor("joint3", -0.3)
    ),
    "saturated": lambda: moving_arm(ct.Servo("joint2", kp=30.0, kd=5.0, target=4.0, effort_limit=0.1)),
    "soft stop": lambda: limited(ct.Limits(-1.0, 0.1, stiffness=300.0, damping=2.0)),
}


def limited(limits: ct.Limits) -> tuple[Mechanism, State]:
    m, state = moving_arm()
    m.joints["joint2"].limits = limits
    return m, state


@pytest.mark.parametrize("kind", FORCES)
@pytest.mark.parametrize("steps", [0, 5])
def test_forces(kind: str, steps: int) -> None:
    agrees(*FORCES[kind](), steps=steps)


def test_massless_cross() -> None:
    m = ct.Mechanism()
    m.add_body("cross", ct.Inertia.massless())
    m.add_body("rod", ct.box((0.1, 0.2, 1.0), mass=1.0), position=(0, 0, -0.5))
    m.add_joint(ct.Revolute("world", "cross", axis=(1, 0, 0), at=(0, 0, 0), name="a"))
    m.add_joint(ct.Revolute("cross", "rod", axis=(0, 1, 0), at=(0, 0, 0), name="b"))
    state = m.state()
    state.coordinates, state.rates = (0.3, 0.6), (1.0, -2.0)
    agrees(m, state)


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_phase_volume_is_kept(order: int) -> None:
    """Steps are symplectic: coordinates and momenta keep their volume, and rates change it as the mass matrix does."""
    m = random_tree(3, ("Revolute", "Prismatic", "Universal"))
    for name in list(m.forces):
        m.remove_force(name)
    simulator, dynamics = ct.Simulator(m, dt=0.01, order=order, on_inaccurate="ignore"), ct.Dynamics(m)
    live = simulator.start(somewhere(m, 3))
    before = np.linalg.slogdet(dynamics.mass_matrix(live))
    volume = np.linalg.slogdet(live.linearize().A)
    live.step()
    after = np.linalg.slogdet(dynamics.mass_matrix(live))
    assert volume.sign == 1
    assert volume.logabsdet == pytest.approx(before.logabsdet - after.logabsdet, abs=1e-11)


def test_a_step_is_as_the_continuous_model_says() -> None:
    m, state = moving_arm(ct.Motor("joint2", 0.0))
    exact = ct.Dynamics(m).linearize(state)
    model = ct.Simulator(m, dt=1e-4).linearize(state)
    assert model.states == exact.states
    assert model.inputs == exact.inputs
    assert model.dt == 1e-4
    # the midpoint between both ends of the step is off by a part of dt
    assert np.abs((model.A - np.eye(6)) / 1e-4 - exact.A).max() < 1e-2 * np.abs(exact.A).max()
    assert np.abs(model.B / 1e-4 - exact.B).max() < 1e-2 * np.abs(exact.B).max()


def test_what_runs_is_left_as_it_is() -> None:
    m, state = moving_arm(ct.Motor("joint1", 0.4), ct.Servo("joint3", kp=30.0, kd=1.0))
    simulator = ct.Simulator(m, dt=0.01, on_inaccurate="ignore")
    alone, watched = simulator.start(state), simulator.start(state)
    for k in range(20):
        for live in (alone, watched):
            live.inputs[:] = np.sin(k), np.cos(k)
        watched.linearize()
        alone.step()
        watched.step()
        assert np.array_equal(alone.coordinates, watched.coordinates)
        assert np.array_equal(alone.rates, watched.rates)


def test_what_floats_without_coordinates() -> None:
    m = ct.Mechanism(gravity=(0, 0, 0))
    m.add_body("box", ct.box((0.1, 0.2, 0.3), mass=2.0))
    model = ct.Simulator(m, dt=0.5, solver="articulated").linearize()
    assert model.states[:6] == ("box.vx", "box.vy", "box.vz", "box.wx", "box.wy", "box.wz")
    one = np.eye(6)
    assert pytest.approx(np.block([[one, 0.5 * one], [0 * one, one]]), abs=1e-14) == model.A


def test_refusals() -> None:
    loop = ct.scenes.four_bar()
    with pytest.raises(ValueError, match=r"closed loops.*here revolute joint '"):
        ct.Simulator(loop, dt=0.01).linearize()
    m, state = moving_arm(ct.Drag("link2", 0.1, 0.1))
    with pytest.raises(ValueError, match="drag 'drag"):
        ct.Simulator(m, dt=0.01).linearize(state)
    m, state = moving_arm(ct.PointSpring("world", "link3", 10.0, points=((0, 0, 1), (0, 0, -2)), name="string"))
    with pytest.raises(ValueError, match="'string'"):
        ct.Simulator(m, dt=0.01).linearize(state)
    m, state = moving_arm()
    with pytest.raises(ValueError, match="solver='ldu'"):
        ct.Simulator(m, dt=0.01, solver="ldu").linearize(state)
    with pytest.raises(ValueError, match="order=1"):
        ct.Simulator(m, dt=0.01, order=1).linearize(state)
    state.rates = (200.0, -300.0, 0.0)
    with pytest.raises(ValueError, match="use a smaller dt"):
        ct.Simulator(m, dt=0.1).linearize(state)


def test_a_held_limit_is_named() -> None:
    m, state = limited(ct.Limits(0.6, 1.0))
    state.rates = (0.0, 0.0, 0.0)
    live = ct.Simulator(m, dt=0.01).start(state)
    while live.joint("joint2").stop == 0:
        live.step()
    with pytest.raises(ValueError, match="a hard limit acts"):
        live.linearize()


@pytest.mark.parametrize("joint", [1, 13, 24])
def test_a_single_input_of_a_long_chain(joint: int) -> None:
    """More freedoms than columns in a register: what one motor does is the same as where all joints have motors."""
    one, all_joints = (ct.scenes.pendulum(24, "revolute", angle=0.3) for _ in range(2))
    one.add_force(ct.Motor(f"joint{joint}", 0.0))
    for name in all_joints.joints:
        all_joints.add_force(ct.Motor(name, 0.0))
    alone, together = (ct.Simulator(m, dt=0.001).linearize().B for m in (one, all_joints))
    assert np.abs(alone[:, 0] - together[:, joint - 1]).max() <= 1e-12 * np.abs(together).max()


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("above", [0.0099, 0.00999, 0.01])
def test_a_step_with_an_impact_is_refused(order: int, above: float) -> None:
    m = ct.Mechanism(gravity=(0, 0, 0))
    m.add_body("slider", ct.sphere(0.1, mass=1.0))
    m.add_joint(ct.Prismatic("world", "slider", axis=(0, 0, 1), at=(0, 0, 0), name="rail"))
    m.joints["rail"].limits = ct.Limits(lower=0.0, restitution=0.5)
    state = m.state()
    state.coordinates, state.rates = (above,), (-1.0,)
    simulator = ct.Simulator(m, dt=0.01, order=order)
    with pytest.raises(ValueError, match="a hard limit acts"):
        simulator.linearize(state)
    state.coordinates = (0.0101,)
    assert pytest.approx(np.array(((1, 0.01), (0, 1))), abs=1e-12) == simulator.linearize(state).A
