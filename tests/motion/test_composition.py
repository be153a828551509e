"""Orders 2, 4, 6 and 8: measured in space, with loops and with dampers; small oscillations; what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

from catena import (
    Damper,
    Friction,
    Inertia,
    Mechanism,
    Motor,
    PointSpring,
    Prismatic,
    Servo,
    Simulator,
    Spring,
    State,
    Trajectory,
    scenes,
)
from catena._util import rotation as rot
from catena.validate.case import reference

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

every_order = pytest.mark.parametrize("order", [2, 4, 6, 8])

# as tight as rounding lets Newton's method go: only the step counts
TIGHT = 1e-14


def distance(state: State, other: State) -> np.ndarray:
    """Largest difference in position, orientation, velocity and angular velocity (4,)."""
    turn = rot.rotation_vector(rot.multiply(rot.conjugate(other.orientation), state.orientation))
    pairs = (state.position - other.position, turn, state.velocity - other.velocity)
    return np.array([np.abs(d).max() for d in (*pairs, state.angular_velocity - other.angular_velocity)])


# ---- four motions: where they start, and where they are when


def ball_pendulum() -> State:
    """Two boxes on ball joints, swinging in space, both spinning about themselves."""
    state = scenes.pendulum(2, "ball", angle=0.7).state()
    state.joint("joint1").rates = (0.5, 1.0, 3.0)
    state.joint("joint2").rates = (-1.0, 0.7, 2.0)
    return state


def finest(start: State, time: float, dt: float) -> State:
    return Simulator(start.mechanism, dt, order=6, tolerance=TIGHT).run(time, state=start)[-1]


def heavy_top_at(start: State, time: float) -> State:
    row = next(r for r in reference("heavy_top")["trajectory"] if abs(r[0] - time) < 1e-9)
    q, center = np.array(row[1:5]), np.array(row[8:11])
    spin = rot.rotate(q, np.array(row[5:8]))
    return State(start.mechanism, [center], [q], [np.cross(spin, center)], [spin])


def free_body_at(start: State, time: float) -> State:
    row = next(r for r in reference("torque_free_body")["cases"][0]["trajectory"] if abs(r[0] - time) < 1e-9)
    q = np.array(row[4:8])
    return State(start.mechanism, np.zeros((1, 3)), [q], np.zeros((1, 3)), [rot.rotate(q, np.array(row[1:4]))])


# start, time, steps, the state then, and a bound for the largest error of order 6 at the smallest step: measured, twice
Case = tuple[Callable[[], State], float, tuple[float, ...], Callable[[State, float], State], float]
CASES: dict[str, Case] = {
    "ball pendulum": (ball_pendulum, 0.8, (0.04, 0.02, 0.01), lambda s, t: finest(s, t, 0.00125), 3e-9),
    "heavy top": (lambda: scenes.heavy_top().state(), 0.1, (2e-3, 1e-3, 5e-4), heavy_top_at, 1e-8),
    "free body": (lambda: scenes.free_body().state(), 10.0, (0.2, 0.1, 0.05), free_body_at, 4e-9),
    # at 0.7 s it jumps to 8 rad/s: at 20 ms slopes are not yet those of small steps (4.3 for order 4)
    "four-bar": (
        lambda: scenes.four_bar().assemble(),
        1.0,
        (0.01, 0.005, 0.0025),
        lambda s, t: finest(s, t, 5e-4),
        2e-9,
    ),
}
# steps at which the errors of order 8 are above rounding
INACCURATE = {
    "ball pendulum": (0.16, 0.08, 0.04),
    "heavy top": (5e-3, 2.5e-3, 1.25e-3),
    "free body": (0.4, 0.2, 0.1),
    "four-bar": (0.04, 0.02, 0.01),
}


@every_order
@pytest.mark.parametrize("case", CASES)
def test_measured_order(case: str, order: int) -> None:
    make, time, steps, exact, bound = CASES[case]
    if order == 8:
        steps = INACCURATE[case]
    start = make()
    then = exact(start, time)
    errors = []
    for dt in steps:
        run = Simulator(start.mechanism, dt, order=order, tolerance=TIGHT, rescue=False).run(time, state=start)
        assert run.time[-1] == pytest.approx(time, abs=1e-12)
        errors.append(distance(run[-1], then))

        # every joint is closed at every substep, whatever the order
        assert run.drift().max(initial=0) <= 1e-12
        assert run.misalignment().max(initial=0) <= 1e-12

    found = np.array(errors)
    for what, column in zip(("position", "orientation", "velocity", "spin"), found.T, strict=True):
        if case == "free body" and what in ("position", "velocity"):
            assert column.max() == 0
            continue
        slope = np.polyfit(np.log(steps), np.log(column), 1)[0]
        # at the coarse steps of order 8 the next term, of order 10, is seen as well
        assert slope == pytest.approx(order, abs=0.3 if order == 8 else 0.1), (what, column)
    if order == 6:
        assert found[-1].max() < bound


@every_order
def test_energy_band_falls_with_the_order(order: int) -> None:
    start = ball_pendulum()
    bands = []
    for dt in (0.04, 0.02):
        run = Simulator(start.mechanism, dt, order=order, tolerance=TIGHT).run(20.0, state=start)
        bands.append(np.ptp(run.energy()))

    # over 20 s, in which the motion is chaotic, extremes are hit by chance: half an order
    assert np.log2(bands[0] / bands[1]) > order - 0.5
    assert bands[0] < {2: 5.0, 4: 0.1, 6: 0.02, 8: 0.01}[order]


@every_order
def test_orders_keep_momentum_and_go_back(order: int) -> None:
    m = scenes.spinning_chain(3)
    run = Simulator(m, 0.02, order=order, tolerance=TIGHT).run(2.0)
    for momentum in (run.momentum(), run.angular_momentum()):
        # up to seventeen substeps a step, each with a rounding or two
        np.testing.assert_allclose(momentum, momentum[:1].repeat(len(run), 0), rtol=0, atol=1e-12)

    # symmetric: reversed velocities lead back, to what rounding has grown to
    last = run[-1]
    back = State(m, last.position, last.orientation, -last.velocity, -last.angular_velocity)
    first = Simulator(m, 0.02, order=order, tolerance=TIGHT).run(2.0, state=back)[-1]
    np.testing.assert_allclose(first.position, run[0].position, rtol=0, atol=1e-10)
    np.testing.assert_allclose(first.velocity, -run[0].velocity, rtol=0, atol=1e-10)


@every_order
@pytest.mark.parametrize("scene", ["ball pendulum", "four-bar"])
def test_solvers_agree_at_every_order(scene: str, order: int) -> None:
    start = ball_pendulum() if scene == "ball pendulum" else scenes.four_bar().assemble()

    def go(solver: str) -> Trajectory:
        simulator = Simulator(start.mechanism, 0.01, order=order, solver=solver, tolerance=TIGHT)
        return simulator.run(steps=100, state=start)

    run = go("articulated")
    for solver in ("ldu", "dense"):
        other = go(solver)

        # a second of motion, Newton's last increments
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            np.testing.assert_allclose(getattr(other, name), getattr(run, name), rtol=0, atol=1e-10)


# ---- forces


def conservative(m: Mechanism) -> None:
    m.add_force(Spring("joint1", 5.0, rest_length=0.3))
    m.add_force(PointSpring("world", "link2", 8.0, points=((0, 1, 0), m.bodies["link2"].position)))


def damped(m: Mechanism) -> None:
    conservative(m)
    m.add_force(Damper("joint1", 0.4))
    m.add_force(Servo("joint2", kp=3.0, kd=0.3, target=0.5))


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("forces", [conservative, damped])
def test_forces_keep_the_order(forces: Callable[[Mechanism], None], order: int) -> None:
    """Springs at the nodes and linear dampers and servos on the intervals: order 4 stays order 4."""
    m = scenes.pendulum(2, angle=0.7)
    forces(m)
    start, steps = m.state(), (0.02, 0.01, 0.005)
    then = finest(start, 1.0, 0.00125)
    errors = []
    for dt in steps:
        errors.append(distance(Simulator(m, dt, order=order, tolerance=TIGHT).run(1.0, state=start)[-1], then))
    slopes = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    np.testing.assert_allclose(slopes, order, rtol=0, atol=0.15)


@every_order
def test_damped_oscillator_at_every_order(order: int) -> None:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("body", Inertia(2.0, np.eye(3)))
    m.add_joint(Prismatic("world", "body", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_force(Spring("rail", 30.0, rest_length=0.4, damping=0.8))
    root = np.roots((2.0, 0.8, 30.0))[0]
    time = 1.6
    exact = 0.4 * (1 - ((np.conj(root) * np.exp(root * time)) / (np.conj(root) - root) * 2).real)
    steps = (0.2, 0.1, 0.05) if order == 8 else (0.1, 0.05, 0.025)
    errors = [abs(Simulator(m, dt, order=order, tolerance=TIGHT).run(time).position[-1, 0, 0] - exact) for dt in steps]

    # orders 6 and 8 too, as the system is linear; coarse steps, so that errors stay above rounding
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order, abs=0.2), errors


@pytest.mark.parametrize("order", [4, 6])
def test_friction_under_composition_stays_stable(order: int) -> None:
    """Some substeps go backwards, where friction feeds energy; over a whole step it takes it."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("body", Inertia(2.0, np.eye(3)), velocity=(1.5, 0, 0))
    m.add_joint(Prismatic("world", "body", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_force(Friction("rail", 4.0, threshold=0.05))
    run = Simulator(m, 0.002, order=order).run(2.0)
    energy = run.kinetic_energy()
    assert np.diff(energy).max() < 1e-12
    assert energy[-1] < 1e-6 * energy[0]


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_friction_that_could_turn_the_motion_round(solver: Literal["articulated", "ldu", "dense"]) -> None:
    """A step backwards has several solutions then, of which the guess would choose: going on must find the same one."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("body", Inertia(2.0, np.eye(3)))
    m.add_joint(Prismatic("world", "body", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_force(Friction("rail", 20.0, threshold=0.01))
    m.add_force(Motor("rail", lambda t: 40 * np.sin(20 * t)))
    simulator = Simulator(m, 0.01, order=4, solver=solver)
    run = simulator.run(steps=60)
    for node in range(5, 55, 5):
        on = simulator.run(steps=1, state=run[node])
        # one step amplifies rounding by no more than a thousand
        np.testing.assert_allclose(on.position[1], run.position[node + 1], rtol=0, atol=1e-12)


# ---- small oscillations


@every_order
@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_small_oscillations_of_a_chain(n: int, order: int) -> None:
    """All n frequencies at once: samples s apart obey q(t + s) + q(t - s) = C q(t), C with eigenvalues 2 cos(w s)."""
    exact = np.array(reference("n_pendulum_frequencies")["boxes_0.1x0.1x1"]["omega"][str(n)])
    m = scenes.pendulum(n, angle=0.0)
    state = m.state()
    rng = np.random.default_rng(n)
    for name in m.joints:
        # nonlinear terms are of the order of the angle squared, 1e-10
        state.joint(name).coordinates = 1e-5 * rng.normal(size=1)
    apart = 0.1
    errors = []
    for dt in (0.02, 0.01):
        run = Simulator(m, dt, order=order, tolerance=TIGHT).run(20.0, state=state)
        angles = 2 * run.orientation[:: round(apart / dt), :, 1]
        map_, *_ = np.linalg.lstsq(angles[1:-1], angles[2:] + angles[:-2], rcond=None)
        found = np.sort(np.arccos(np.sort(np.linalg.eigvals(map_).real)[::-1] / 2) / apart)
        errors.append(np.abs(found - exact))
        if order == 2:
            # the scheme's own frequency is known: sin(w' dt/2) = w dt/2; rounding 1e-11 over the smallest (w s)^2
            np.testing.assert_allclose(found, 2 / dt * np.arcsin(exact * dt / 2), rtol=1e-6)

    # the fastest mode shows the order best, as long as its error is above what rounding leaves
    if order == 8:
        assert errors[1].max() < 5e-9
    elif errors[1][-1] > 1e-9:
        assert np.log2(errors[0][-1] / errors[1][-1]) == pytest.approx(order, abs=0.3), errors
    assert errors[1][-1] > 1e-9 or order == 8 or (order, n) in ((6, 1), (6, 2))
    assert (errors[1] <= exact * {2: 1.1 * (exact * dt) ** 2 / 24, 4: 1e-4, 6: 1e-4, 8: 1e-4}[order] + 1e-6).all()


# ---- what goes together


@every_order
def test_orders_and_tolerances(order: int) -> None:
    simulator = Simulator(scenes.pendulum(1), 0.01, order=order)
    assert simulator.info()["order"] == order
    assert simulator.tolerance == (1e-10 if order == 2 else 1e-12)


@pytest.mark.parametrize("order", [0, 3, 5, 10, -2, 2.5, "4"])
def test_bad_order(order: object) -> None:
    with pytest.raises(ValueError, match="order must be one of 1, 2, 4, 6, 8"):
        Simulator(scenes.pendulum(1), 0.01, order=order)
