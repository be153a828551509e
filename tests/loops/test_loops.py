"""Closed loops in motion: redundant rows, singular poses and machines, against references and the laws they keep."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np
import pytest

from catena import Mechanism, PointOnLine, Revolute, Simulator, State, Trajectory, scenes
from catena._util import rotation as rot
from catena.validate.case import reference

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

SOLVERS = ["articulated", "ldu"]
GAP = 1e-10
TURN = rot.normalised(np.array((0.3, 0.5, -0.2, 0.7)))

# the paper's drift mechanism as published, in some other plane, and pushed out of its plane
FOUR_BARS: dict[str, dict[str, Any]] = {
    "plain": {},
    "turned": {"plane": TURN},
    "sideways": {"gravity": (5.0, 3.0, -6.0)},
    "turned sideways": {"plane": TURN, "gravity": (5.0, 3.0, -6.0)},
}


def assert_closed(run: Trajectory) -> None:
    """Finished whole, and every joint closed at every node."""
    assert run.status.ok
    assert run.drift().max() <= GAP
    assert run.misalignment().max() <= GAP


def energy_steps(run: Trajectory) -> np.ndarray:
    """Change of energy from node to node, over the largest kinetic energy."""
    return np.abs(np.diff(run.energy())) / run.kinetic_energy().max()


# ---- the four-bar: 20 rows, rank 17


def reduced_four_bar(**options: Any) -> Mechanism:
    """The same four-bar without redundancy: its last hinge only keeps a point on the hinge line, 17 rows."""
    whole = scenes.four_bar(**options)
    m = Mechanism(gravity=whole.gravity)
    for body in whole.bodies.values():
        assert body.shape is not None
        m.add_body(body.name, body.shape, position=body.position, orientation=body.orientation)
    for name, joint in whole.joints.items():
        place = joint.a.position + rot.rotate(joint.a.orientation, joint.anchor_a)
        axis = rot.rotate(rot.multiply(joint.a.orientation, joint.frame_a), np.array((0.0, 0.0, 1.0)))
        kind = PointOnLine if name == "joint4" else Revolute
        m.add_joint(kind(joint.a.name, joint.b.name, axis=axis, at=place, name=name))
    return m


@pytest.mark.parametrize("solver", [*SOLVERS, "dense"])
@pytest.mark.parametrize("case", FOUR_BARS)
def test_redundant_rows_change_nothing(case: str, solver: str) -> None:
    options = FOUR_BARS[case]

    # what Newton leaves at the default tolerance adds up to a few 1e-9 m in 10 s, so it is tightened
    whole, reduced = (
        Simulator(m, 0.01, solver=solver, tolerance=1e-13).run(30.0)
        for m in (scenes.four_bar(**options), reduced_four_bar(**options))
    )
    assert (whole.multipliers.shape[1], reduced.multipliers.shape[1]) == (20, 17)
    np.testing.assert_allclose(whole.position, reduced.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole.orientation, reduced.orientation, rtol=0, atol=1e-9)

    # with accelerations of 1e3 rad/s^2 the rates are worse by that times the lag
    np.testing.assert_allclose(whole.angular_velocity, reduced.angular_velocity, rtol=0, atol=1e-8)
    assert np.ptp(whole.joint("joint1").coordinates) > 0.5


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("case", FOUR_BARS)
def test_four_bar_for_ten_minutes(case: str, solver: str) -> None:
    run = Simulator(scenes.four_bar(**FOUR_BARS[case]), 0.01, solver=solver).run(600.0)
    assert len(run) == 60_001
    assert_closed(run)
    assert run.halved_count == 0

    # it swings for ever: its energy ripples with (w dt)^2, and keeps its mean to a thousandth of that
    energy = run.energy()
    ripple = np.ptp(energy)
    assert ripple < 0.05 * np.ptp(run.potential_energy())
    slope = np.polyfit(run.time, energy, 1)[0]
    assert abs(slope) * 600 < 5e-3 * ripple
    assert np.ptp(run.potential_energy()[-2000:]) > 0.9 * np.ptp(run.potential_energy())


@pytest.mark.parametrize("case", ["plain", "turned"])
def test_reactions_out_of_the_plane_stay_small(case: str) -> None:
    """What the redundant rows carry is not determined; the smallest reactions, and no growing noise, are reported."""
    options = FOUR_BARS[case] | {"gravity": rot.rotate(TURN, np.array((0, 0, -9.81))) if case == "turned" else None}
    if options["gravity"] is None:
        del options["gravity"]
    run = Simulator(scenes.four_bar(**options), 0.01).run(60.0, record_every=100)
    normal = rot.rotate(TURN, np.array((1.0, 0, 0))) if case == "turned" else np.array((1.0, 0, 0))
    for name in run.mechanism.joints:
        force = run.joint(name).force
        across = np.abs(force @ normal).max()

        # gravity lies in the plane, so nothing pushes across it: rounding of the recorded forces of up to 200 N
        assert across < 1e-9 * np.abs(force).max()
        np.testing.assert_allclose(run.joint(name).torque, 0, atol=1e-9 * np.abs(force).max())


# ---- through singular poses


def top_of(run: Trajectory, crank: int) -> np.ndarray:
    """Joint B of a crank of the N-four-bar, (step, 3)."""
    return run.body(f"crank{crank}").point((0.0, 0.0, 0.5))


def assert_parallel(run: Trajectory, n: int) -> None:
    """On the branch of parallelograms: all cranks point alike; on the other, two differ by up to 2 m."""
    first = top_of(run, 0)
    for i in range(1, n + 1):
        np.testing.assert_allclose(top_of(run, i) - (i, 0, 0), first, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 10, 40])
def test_n_four_bar_against_its_reference(n: int) -> None:
    (case,) = (case for case in reference("n_four_bar")["cases"] if case["N"] == n)
    table = np.array(case["values"])
    assert table[-1, 0] == 10.0
    errors = []
    for dt in (2e-3, 1e-3):
        run = Simulator(scenes.n_four_bar(n), dt).run(10.0)
        assert_closed(run)
        assert run.halved_count == 0
        assert_parallel(run, n)
        nodes = np.rint(table[:, 0] / dt).astype(int)
        np.testing.assert_allclose(run.time[nodes], table[:, 0], atol=1e-12)
        errors.append(np.abs(top_of(run, 0)[nodes, :2] - table[:, 3:5]).max(axis=1))
        assert energy_steps(run).max() < 10 * dt**2

    # about ten passages of the singular pose lie behind it
    assert sum(time < 10 for time in case["singular_passage_times_s_first_10"]) == 10

    # measured 4e-4 m at 1 ms: one third of (w dt)^2 for 7 rad/s, times 10 s
    assert errors[1].max() < 1e-3
    assert errors[0].max() / errors[1].max() == pytest.approx(4, rel=0.02)


@pytest.mark.parametrize(
    ("n", "solver"),
    [
        *((n, solver) for n in (1, 2, 10) for solver in SOLVERS),
        (40, "ldu"),
        # forty loops that meet at the world are not for this solver
        pytest.param(40, "articulated", marks=pytest.mark.slow),
    ],
)
def test_n_four_bar_with_long_steps(n: int, solver: str) -> None:
    run = Simulator(scenes.n_four_bar(n), 0.01, solver=solver).run(10.0)
    assert_closed(run)
    assert run.halved_count == 0
    assert_parallel(run, n)

    # 1e-3 of the kinetic energy a step is the ripple at 7 rad/s; leaving the branch loses more at once
    assert energy_steps(run).max() < 1e-3


@pytest.mark.slow
def test_n_four_bar_40_articulated() -> None:
    run = Simulator(scenes.n_four_bar(40), 0.01, solver="articulated").run(10.0)
    assert_closed(run)
    assert_parallel(run, 40)


def test_bricard_against_its_reference() -> None:
    table = np.array(reference("bricard")["trajectory_10s"])
    errors = []
    for dt in (0.01, 2e-3, 1e-3):
        for solver in SOLVERS:
            run = Simulator(scenes.bricard(), dt, solver=solver).run(10.0)
            assert_closed(run)
            assert run.halved_count == 0
            nodes = np.rint(table[:, 0] / dt).astype(int)
            third = run.body("bar2").point((0.0, 0.0, 0.5))[nodes]
            errors.append(np.abs(third - table[:, 3:]).max())
    long, _, half, half_ldu, whole, whole_ldu = errors

    # measured 1.4e-5 m at 1 ms
    assert whole < 5e-5
    assert long < 5e-3
    assert half / whole == pytest.approx(4, rel=0.02)
    assert half_ldu / whole_ldu == pytest.approx(4, rel=0.02)


# ---- chains of loops, lattices


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("k", range(1, 11))
def test_segmented_chain(k: int, solver: str) -> None:
    """The paper's pose, 10 s: rhombi fold flat on the way."""
    run = Simulator(scenes.segmented_chain(k), 0.01, solver=solver).run(10.0)
    assert_closed(run)

    # a wrong root of the step equations, or a rhombus that turns inside out, gains or loses a tenth at once
    assert energy_steps(run).max() < 0.03
    assert run.energy_error().max() < 0.03


LATTICES: dict[str, tuple[Callable[[], Mechanism], float, float]] = {
    "net": (lambda: scenes.net(6, 6), 0.01, 2.0),
    "ladder": (lambda: scenes.ladder(12), 0.01, 2.0),
    "closed_chain revolute": (lambda: scenes.closed_chain(101, "revolute"), 0.01, 2.0),
    "closed_chain ball": (lambda: scenes.closed_chain(101, "ball"), 0.01, 2.0),
    "elbows": (lambda: scenes.segmented_chain(6, "elbow"), 0.01, 1.0),
    "strandbeest": (lambda: scenes.strandbeest(4, rate=5.0, floating=True), 0.01, 1.0),
    "delta_robot": (scenes.delta_robot, 0.005, 1.0),
    "stewart_platform": (lambda: scenes.stewart_platform((0.1, 0.0, 0.8)), 0.005, 0.5),
    "minitaur": (lambda: scenes.minitaur((1.0, 1.2), hips=0.04), 0.002, 0.5),
}


def distance(one: Trajectory, other: Trajectory) -> float:
    """The most that two runs differ by, in metres or in components of a quaternion."""
    return float(max(np.abs(getattr(other, kind) - getattr(one, kind)).max() for kind in ("position", "orientation")))


def shaken(m: Mechanism, seed: int) -> State:
    """The mechanism's start with velocities changed by rounding, some 1e-15 m/s and rad/s."""
    random = np.random.default_rng(seed)
    state = m.state()
    state.velocity = state.velocity + 1e-15 * random.standard_normal(state.velocity.shape)
    state.angular_velocity = state.angular_velocity + 1e-15 * random.standard_normal(state.velocity.shape)
    return state


@pytest.mark.parametrize("case", LATTICES)
def test_solvers_agree(case: str) -> None:
    make, dt, duration = LATTICES[case]
    m = make()
    simulators = [Simulator(m, dt, solver=solver, tolerance=1e-13) for solver in SOLVERS]
    one, other = (simulator.run(duration) for simulator in simulators)
    assert_closed(one)
    assert_closed(other)
    assert np.abs(one.position[-1] - one.position[0]).max() > 0.05

    # how far rounding goes within one solver: 1e-14 m for most, 1e-11 m for the delta robot, and 1e-9 m for the elbows,
    # which pass close by a singular pose
    rounding = max(distance(one, simulators[0].run(duration, state=shaken(m, seed))) for seed in range(4))
    assert rounding < 1e-7

    # and between two, whose every step is rounded in its own way: measured up to three times that
    assert distance(one, other) < 20 * rounding


# ---- machines


class Motor:
    """Holds the crank of a Strandbeest at a speed (rad/s), with a proportional and an integral part."""

    def __init__(self, speed: float, inertia: float, dt: float) -> None:
        self.speed = speed
        self.speeds: list[float] = []
        self.torque = self.before = 0.0

        # the torque that stops the crank's inertia in one step, and as much of it as leaves the loop well damped
        self.kp = 0.6 * inertia / dt
        self.growth = 0.2 * inertia / dt

    def __call__(self, time: float, state: State) -> dict[str, tuple[float, ...]]:
        now = float(state.body("crank").angular_velocity[0])
        error = self.speed - now
        self.torque += self.kp * (error - self.before) + self.growth * error
        self.before = error
        self.speeds.append(now)
        return {"crank": (0.0, 0.0, 0.0, self.torque, 0.0, 0.0)}


def test_strandbeest_walks_for_a_minute() -> None:
    """Twelve legs on a motor that keeps the crank at 5 rad/s: 36 loops, 108 redundant rows."""
    m = scenes.strandbeest(12, rate=5.0)
    facts = m.report()
    assert (facts.freedom, facts.row_count, len(facts.loops), facts.redundant_count) == (1, 551, 36, 108)
    inertia = 2 * float(Simulator(m, 0.01).run(steps=0).kinetic_energy()[0]) / 5.0**2
    motor = Motor(5.0, inertia, 0.01)
    run = Simulator(m, 0.01).run(60.0, control=motor)
    assert_closed(run)
    assert run.halved_count == 0
    assert len(motor.speeds) == 6001

    # left alone the speed ripples by 8 %, six times a turn; the motor, always a step late, leaves a third of it
    assert np.abs(np.array(motor.speeds[100:]) - 5.0).max() < 0.15
    assert np.ptp(run.potential_energy()[-200:]) > 0.01

    # 48 turns: the crank is where the motor has brought it, and every leg is where a new one would be
    turned = np.unwrap(run.joint("shaft").coordinates[:, 0])
    assert turned[-1] == pytest.approx(5.0 * 60, abs=0.5)
    new = scenes.strandbeest(12, angle=float(turned[-1]))
    np.testing.assert_allclose(run.position[-1], [body.position for body in new.bodies.values()], rtol=0, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_strandbeest_spins_on(solver: str) -> None:
    """Without gravity and motor it keeps its energy."""
    m = scenes.strandbeest(2 if solver == "articulated" else 12, rate=5.0)
    m.gravity = (0.0, 0.0, 0.0)
    run = Simulator(m, 0.01, solver=solver).run(60.0)
    assert_closed(run)
    assert run.energy_error().max() < 5e-3
    assert run.body("crank").angular_velocity[:, 0].min() > 2.0


def crossings(values: np.ndarray) -> int:
    """How often the sign changes."""
    return int(np.count_nonzero(np.diff(np.sign(values[values != 0]))))


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("solver", [*SOLVERS, "dense"])
def test_minitaur_leg_through_its_folded_pose(solver: str, dt: float) -> None:
    """Upside down both thighs fall past each other, shins on thighs: all four links on one line, a third freedom."""
    m = scenes.minitaur_leg((2.5, 2.5))
    m.gravity = (0.0, 0.0, 9.81)
    run = Simulator(m, dt, solver=solver).run(3.0)
    assert_closed(run)
    assert run.halved_count == 0
    knee = run.body("leg front thigh").point((0.0, 0.0, 0.05))
    other = run.body("leg rear thigh").point((0.0, 0.0, 0.05))
    foot = run.body("leg front shin").point((0.0, 0.0, 0.1))

    # thirteen times through, with the foot below: symmetric as it began, on the branch and not round the knees
    assert crossings(knee[:, 1]) == 13
    np.testing.assert_allclose(other, knee * (1, -1, 1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(foot[:, 1], 0, atol=1e-9)
    assert foot[:, 2].max() == pytest.approx(-0.1, abs=2e-6)

    # 20 rad/s: a ripple of (w dt)^2 / 8
    assert run.energy_error().max() < 80 * dt**2


def folding_minitaur() -> State:
    """A Minitaur in space, its thighs 0.6 rad from folded and turning up, its legs unequal in speed."""
    m = scenes.minitaur((2.5, 2.5))
    m.gravity = (0.0, 0.0, 0.0)
    state = m.state()
    for name in m.bodies:
        if name.endswith("thigh"):
            side = 1.0 if "front thigh" in name else -1.0
            state.body(name).angular_velocity = (side * (50.0 if name.startswith("front_left") else 40.0), 0.0, 0.0)

    # the shins, given as at rest, take most of that away
    return m.assemble(state)


@pytest.mark.parametrize("solver", SOLVERS)
def test_minitaur_folds_its_legs(solver: str) -> None:
    state = folding_minitaur()
    run = Simulator(state.mechanism, 0.001, solver=solver).run(1.0, state=state)
    assert_closed(run)
    assert run.halved_count == 0
    for leg in ("front_left", "front_right", "back_left", "back_right"):
        # seen from the body, the knees pass each other
        front, rear = (run.joint(f"{leg} {end} motor").coordinates[:, 0] for end in ("front", "rear"))
        assert crossings(front - rear - (pi - 2.5) * 2) >= 1

    # momentum is kept, and energy but for its ripple
    np.testing.assert_allclose(run.momentum(), run.momentum()[:1].repeat(len(run), axis=0), rtol=0, atol=1e-11)
    spin = run.angular_momentum()
    np.testing.assert_allclose(spin, spin[:1].repeat(len(run), axis=0), rtol=0, atol=1e-11)
    assert run.energy_error().max() < 1e-3


# ---- at rest


@pytest.mark.filterwarnings("ignore::catena.StuckWarning")  # two links between two points are a truss
@pytest.mark.parametrize("solver", [*SOLVERS, pytest.param("dense", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", reference("catenary")["cases"], ids=lambda case: f"N={case['N']}")
def test_hanging_chain_at_rest(case: dict[str, Any], solver: str) -> None:
    """Reactions of all joints against the reference, 1000 steps in which nothing moves."""
    n, weight = case["N"], 9.81
    # 1e-8 N; over 60 m the pose is only closed to 1e-13 m, and 1e-8 of its 507 N is what remains
    atol = 1e-8 if n <= 20 else 5e-6
    m = scenes.catenary_chain(n, case["span"])
    run = Simulator(m, 0.01, solver=solver).run(steps=1000, record_every=500)
    assert np.abs(run.position - run.position[0]).max() < 1e-12
    assert np.abs(run.velocity).max() < 1e-11
    assert case["vertical_force_at_each_support_N"] == pytest.approx(0.5 * n * weight, abs=1e-12)
    for k in range(n + 1):
        # on b: the link after the joint, but at the end the link before it
        side = 1.0 if k < n else -1.0
        wanted = side * np.array((0.0, -case["horizontal_force_N"], (0.5 * n - k) * weight))

        np.testing.assert_allclose(run.joint(f"joint{k + 1}").force, np.tile(wanted, (3, 1)), rtol=0, atol=atol)
        np.testing.assert_allclose(run.joint(f"joint{k + 1}").torque, 0, atol=atol)
    np.testing.assert_allclose(
        [run.body(f"link{k + 1}").point((0, 0, -0.5))[-1, 2] for k in range(n)],
        np.cumsum(np.sin(case["rod_angles"])),
        rtol=0,
        atol=1e-12,
    )


def test_ball_chain_at_rest() -> None:
    """Without redundancy; its links may also spin about themselves, but do not."""
    case = reference("catenary")["cases"][2]
    run = Simulator(scenes.catenary_chain(10, 6.0, "ball"), 0.01).run(steps=1000, record_every=500)
    assert np.abs(run.position - run.position[0]).max() < 1e-12
    assert np.abs(run.orientation - run.orientation[0]).max() < 1e-12
    for k, sign in ((1, 1.0), (11, -1.0)):
        wanted = sign * np.array((0.0, -case["horizontal_force_N"], sign * case["vertical_force_at_each_support_N"]))
        np.testing.assert_allclose(run.joint(f"joint{k}").force, np.tile(wanted, (3, 1)), rtol=0, atol=1e-8)


@pytest.mark.parametrize(("order", "steps"), [(2, 16), (4, 16), (6, 20), (8, 16), (8, 20)])
def test_coarse_steps_through_a_singular_pose_stay_on_the_branch(order: int, steps: int) -> None:
    """A guess that extrapolates too far would lead to another solution of the step, with another energy."""
    m = scenes.four_bar()
    start = m.assemble(coordinates={next(iter(m.joints)): 0.5})
    errors = {
        solver: Simulator(m, 0.6 / steps, order=order, solver=solver).run(steps=steps, state=start).energy_error().max()
        for solver in ("articulated", "ldu")
    }
    # the same solution: the same error, to what tolerances leave
    assert errors["articulated"] == pytest.approx(errors["ldu"], rel=1e-3)
