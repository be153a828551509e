"""Rows that the user writes: the same motions as with built-in joints, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from catena import (
    AssemblyError,
    Ball,
    BodyPose,
    Custom,
    Distance,
    Inertia,
    Joint,
    KnifeEdge,
    Mechanism,
    Planar,
    Revolute,
    RollingBall,
    Simulator,
    State,
    Trajectory,
    VelocityRows,
)
from catena._util import rotation as rot
from laws import SOLVERS, assert_same
from newton_matrix import linearize, moved

POINT = np.array((0.2, 0.1, 0.3))
AXIS = rot.normalised(np.array((0.3, -0.5, 1.0)))


def order(errors: list[float]) -> float:
    """Of two errors, the second at half the step."""
    return float(np.log2(errors[0] / errors[1]))


def simulate(state: State, solver: str = "auto", *, dt: float = 0.01, steps: int = 15) -> Trajectory:
    return Simulator(state.mechanism, dt, solver=solver, tolerance=1e-13, rescue=False).run(steps=steps, state=state)


def skew(v: np.ndarray) -> np.ndarray:
    return np.array(((0, -v[2], v[1]), (v[2], 0, -v[0]), (-v[1], v[0], 0)))


def bodies(gravity: float = 9.81) -> Mechanism:
    m = Mechanism(gravity=(0, 0, -gravity))
    m.add_body("a", Inertia(1.0, np.diag((0.1, 0.14, 0.2))), position=(-0.3, 0.1, 0.2), orientation=(0.8, 0, 0.6, 0))
    turn = rot.normalised(np.array((1.0, 2, 0, 1)))
    m.add_body("b", Inertia(1.5, np.diag((0.2, 0.14, 0.1))), position=(0.4, 0.3, -0.3), orientation=turn)
    m.add_joint(Ball("world", "a", at=(-0.5, 0, 0.3), name="pivot"))
    return m


def anchors(m: Mechanism, at: np.ndarray) -> list[np.ndarray]:
    return [rot.rotate(rot.conjugate(m.bodies[n].orientation), at - m.bodies[n].position) for n in "ab"]


def custom(kind: str, m: Mechanism, *, given: bool) -> Joint:
    """A ball, a hinge or a rod without mass between a and b, by hand."""
    p, q = anchors(m, POINT)
    axis = [rot.rotate(rot.conjugate(m.bodies[n].orientation), AXIS) for n in "ab"]
    side = [rot.rotate(rot.conjugate(m.bodies["a"].orientation), v) for v in np.linalg.svd(AXIS[None])[2][1:]]

    def arms(a: BodyPose, b: BodyPose) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        arm_a, arm_b = rot.rotate(a.orientation, p), rot.rotate(b.orientation, q)
        return arm_a, arm_b, b.position + arm_b - a.position - arm_a

    def gap(a: BodyPose, b: BodyPose) -> np.ndarray:
        span = arms(a, b)[2]
        if kind == "distance":
            return np.array((np.linalg.norm(b.position - a.position) - length,))
        if kind == "ball":
            return span
        turned = rot.rotate(b.orientation, axis[1])
        return np.append(span, [rot.rotate(a.orientation, s) @ turned for s in side])

    def jacobian(a: BodyPose, b: BodyPose) -> np.ndarray:
        arm_a, arm_b, _ = arms(a, b)
        if kind == "distance":
            along = b.position - a.position
            along = along / np.linalg.norm(along)
            return np.concatenate((-along, np.zeros(3), along, np.zeros(3)))[None]
        rows = np.concatenate((-np.eye(3), skew(arm_a), np.eye(3), -skew(arm_b)), axis=1)
        if kind == "ball":
            return rows
        turned = rot.rotate(b.orientation, axis[1])
        for s in side:
            torque = np.cross(turned, rot.rotate(a.orientation, s))
            rows = np.concatenate((rows, np.concatenate((np.zeros(3), -torque, np.zeros(3), torque))[None]))
        return rows

    length = float(np.linalg.norm(m.bodies["b"].position - m.bodies["a"].position))
    return Custom("a", "b", gap, jacobian=jacobian if given else None, name="joint")


def built_in(kind: str) -> Joint:
    if kind == "distance":
        return Distance("a", "b", anchors=((0, 0, 0), (0, 0, 0)), name="joint")
    if kind == "ball":
        return Ball("a", "b", at=POINT, name="joint")
    return Revolute("a", "b", at=POINT, axis=AXIS, name="joint")


def started(m: Mechanism) -> State:
    state = m.state()
    state.velocity[:] = ((0.3, 0.1, 0), (0.2, -0.4, 0.1))
    state.angular_velocity[:] = ((0.5, 1.0, -0.4), (1.0, 0.2, 0.3))
    return m.assemble(state)


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("kind", ["ball", "hinge", "distance"])
def test_the_same_as_a_built_in_joint(kind: str, given: bool) -> None:
    mine, theirs = bodies(), bodies()
    mine.add_joint(custom(kind, mine, given=given))
    theirs.add_joint(built_in(kind))
    assert mine.report().freedom == theirs.report().freedom
    run = simulate(started(theirs))
    first = simulate(started(mine))
    assert_same(first, run)
    np.testing.assert_allclose(first.joint("pivot").force, run.joint("pivot").force, rtol=0, atol=1e-7)
    np.testing.assert_allclose(first.joint("joint").force, run.joint("joint").force, rtol=0, atol=1e-7)
    assert first.drift().max() < 1e-12


@pytest.mark.parametrize("kind", ["ball", "hinge", "distance"])
def test_solvers_agree(kind: str) -> None:
    m = bodies()
    m.add_joint(custom(kind, m, given=True))
    runs = [simulate(started(m), solver, steps=20) for solver in SOLVERS]
    for other in runs[1:]:
        assert_same(other, runs[0])


def test_momentum_of_floating_bodies() -> None:
    """Rows that see only how the two lie to each other keep momentum, with differences as with a Jacobian."""
    for given in (True, False):
        m = bodies(gravity=0.0)
        lone = Mechanism(gravity=(0, 0, 0))
        for body in m.bodies.values():
            lone.add_body(body.name, body.inertia, position=body.position, orientation=body.orientation)
        lone.add_joint(custom("ball", lone, given=given))
        run = simulate(started(lone))
        for momentum in (run.momentum(), run.angular_momentum()):
            # differences of fourth order over 1e-3 rad are off by 1e-13 or so
            np.testing.assert_allclose(
                momentum, momentum[:1].repeat(len(run), 0), rtol=0, atol=1e-12 if given else 1e-9
            )


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("kind", ["ball", "hinge", "distance"])
def test_matrix_is_the_derivative_of_the_residual(kind: str, given: bool) -> None:
    m = bodies()
    m.add_joint(custom(kind, m, given=given))
    simulator = Simulator(m, 0.1)
    state, h = started(m), 1e-5
    rng = np.random.default_rng(2)
    z = np.concatenate((rng.uniform(-0.4, 0.4, 12), rng.normal(size=simulator.plan.core.row_count)))
    matrix = linearize(simulator, state, z)[1]
    matrix[12:, 12:] = 0
    differences = np.empty_like(matrix)
    for k in range(len(z)):
        after, before = (linearize(simulator, state, moved(z, 2, k, s * h))[0] for s in (1, -1))
        differences[:, k] = (after - before) / (2 * h)
    differences[12:, 12:] = 0
    np.testing.assert_allclose(matrix, differences, rtol=0, atol=3e-9)


def bead(kind: str = "custom") -> State:
    """A bead on a parabola z = x^2, y = 0."""
    m = Mechanism()
    m.add_body("bead", Inertia(1.0, 0.01 * np.eye(3)), position=(1, 0, 1))
    m.add_joint(
        Custom(
            "world",
            "bead",
            lambda a, b: (b.position[2] - b.position[0] ** 2, b.position[1]),
            jacobian=lambda a, b: np.stack(
                (np.array((0.0,) * 6 + (-2 * b.position[0], 0, 1, 0, 0, 0)), np.eye(12)[7]),
            ),
            name="wire",
        )
    )
    return m.state()


@pytest.mark.parametrize("higher", [2, 4, 6])
def test_bead_on_a_wire(higher: int) -> None:
    """Its motion by quadrature, from v^2 = 2 g (1 - z); any order."""
    # t = integral of sqrt((1 + 4 x^2) / (2 g (1 - x^2))) dx from x to 1; x = cos(s)
    s = np.linspace(0, np.pi / 2, 4001)
    f = np.sqrt((1 + 4 * np.cos(s) ** 2) / (2 * 9.81))
    time = np.concatenate(((0.0,), np.cumsum((f[1:] + f[:-1]) * (s[1] - s[0]) / 2)))
    fine = Simulator(bead().mechanism, 0.005, order=6, tolerance=1e-14).run(0.8)
    down = fine.time < time[-1]
    exact = np.cos(np.interp(fine.time[down], time, s))
    np.testing.assert_allclose(fine.body("bead").position[down, 0], exact, rtol=0, atol=1e-6)
    errors = []
    for dt in {2: (0.02, 0.01), 4: (0.04, 0.02), 6: (0.04, 0.02)}[higher]:
        run = Simulator(bead().mechanism, dt, order=higher, tolerance=1e-14).run(0.8)
        assert run.drift().max() < 1e-12
        place = run.body("bead").position
        np.testing.assert_allclose(place[:, 2], place[:, 0] ** 2, atol=1e-12)
        errors.append(float(np.abs(place[-1] - fine.body("bead").position[-1]).max()))
    assert order(errors) == pytest.approx(higher, abs=0.4)


@pytest.mark.parametrize("side", ["a", "b"])
def test_differences_are_taken_in_parts_of_the_bodies_size(side: str) -> None:
    """A millimetre of body on a groove with a wavelength of six: derivatives of either end as good as by hand."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("bead", Inertia(1e-3, 1e-9 * np.eye(3)))
    ends = ("bead", "world") if side == "a" else ("world", "bead")

    def groove(a: BodyPose, b: BodyPose) -> float:
        x, _, z = (a if side == "a" else b).position
        return z - 1e-3 * np.sin(1e3 * x)

    joint = m.add_joint(Custom(*ends, groove))
    gradient = joint._gap_and_gradient(*(BodyPose(np.zeros(3), np.array((1.0, 0, 0, 0))) for _ in range(2)))[1]
    expected = np.zeros(12)
    expected[[0, 2] if side == "a" else [6, 8]] = (-1, 1)
    # steps of 3e-4 of the size, fourth order: 1e-14, and rounding of gaps of 1e-7 over them
    np.testing.assert_allclose(gradient[0], expected, rtol=0, atol=1e-9)


def test_poses_that_functions_see() -> None:
    """The world stands still; a body is where it is."""
    seen = []
    m = Mechanism()
    m.add_body("b", Inertia(1.0, np.eye(3)), position=(1, 2, 3))
    m.add_joint(Custom("world", "b", lambda a, b: (seen.append((a, b)), b.position[0] - 1)[1]))
    a, b = seen[0]
    np.testing.assert_array_equal(a.position, 0)
    np.testing.assert_array_equal(a.orientation, (1, 0, 0, 0))
    np.testing.assert_array_equal(b.position, (1, 2, 3))
    half_turn = BodyPose(np.array((1.0, 2.0, 3.0)), np.array((0.0, 0.0, 0.0, 1.0)))
    np.testing.assert_allclose(half_turn.point((1, 0, 0)), (0, 2, 3), atol=1e-15)
    np.testing.assert_allclose(half_turn.direction((1, 0, 1)), (-1, 0, 1), atol=1e-15)


# ---- velocities


def sleigh(kind: str) -> State:
    m = Mechanism(gravity=(0.3, 0, 0))
    inertia = Inertia(1.0, np.diag((0.3, 0.4, 0.5)))
    m.add_body("sleigh", inertia, position=(0.3, 0, 0), velocity=(0.2, 0.6, 0), angular_velocity=(0, 0, 2))
    m.add_joint(Planar("world", "sleigh", axis=(0, 0, 1), at=(0, 0, 0), name="plane"))
    if kind == "built in":
        m.add_joint(KnifeEdge("world", "sleigh", at=(0, 0, 0), along=(1, 0, 0), name="blade"))
        return m.state()

    def rows(a: BodyPose, b: BodyPose) -> np.ndarray:
        across = rot.rotate(b.orientation, np.array((0.0, 1, 0)))
        arm = rot.rotate(b.orientation, np.array((-0.3, 0, 0)))
        return np.concatenate((np.zeros(6), across, np.cross(arm, across)))

    m.add_joint(VelocityRows("world", "sleigh", rows, name="blade"))
    return m.state()


def test_velocity_rows_as_a_blade() -> None:
    run, mine = simulate(sleigh("built in")), simulate(sleigh("mine"))
    for name in ("position", "orientation"):
        np.testing.assert_allclose(getattr(mine, name), getattr(run, name), rtol=0, atol=1e-9)
    np.testing.assert_allclose(mine.joint("blade").force, run.joint("blade").force, rtol=0, atol=1e-7)
    body = mine.body("sleigh")
    across = rot.rotate(body.orientation, np.array((0.0, 1, 0)))
    assert np.abs(np.sum(across * body.point_velocity((-0.3, 0, 0)), axis=1)).max() <= 1e-10
    for solver in SOLVERS:
        assert_same(simulate(sleigh("mine"), solver), mine)


def rolling(kind: str) -> State:
    """A ball off its center of mass on a floating plate, by built-in rolling or by a height and two velocity rows."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("plate", Inertia(3.0, np.diag((0.5, 0.6, 0.8))), position=(0.2, 0.1, -0.1))
    m.add_body("ball", Inertia(1.0, np.diag((0.02, 0.025, 0.03))), position=(0.3, -0.1, 0.28))
    radius, center = 0.3, np.array((0.03, -0.05, 0.02))
    if kind == "built in":
        m.add_joint(RollingBall("plate", "ball", radius=radius, center=center, name="roll"))
    else:

        def rows(a: BodyPose, b: BodyPose) -> np.ndarray:
            e = [rot.rotate(a.orientation, axis) for axis in np.eye(3)]
            contact = b.position + rot.rotate(b.orientation, center) - radius * e[2]
            on = [(np.concatenate((-v, -np.cross(contact - a.position, v))), v) for v in e[:2]]
            return np.array([np.concatenate((w, v, np.cross(contact - b.position, v))) for w, v in on])

        def height(a: BodyPose, b: BodyPose) -> float:
            normal = rot.rotate(a.orientation, np.array((0.0, 0, 1)))
            place = a.position + rot.rotate(a.orientation, np.array((-0.2, -0.1, 0.1)))
            return normal @ (b.position + rot.rotate(b.orientation, center) - place) - radius

        m.add_joint(Custom("plate", "ball", height, name="height"))
        m.add_joint(VelocityRows("plate", "ball", rows, name="roll"))
    state = m.state()
    state.velocity[:] = ((0.1, 0.2, 0.1), (0.5, -0.3, 0))
    state.angular_velocity[:] = ((0.3, 0.2, 0.5), (1, 3, -2))
    return state


def test_velocity_rows_as_a_rolling_ball() -> None:
    # both from velocities that obey
    start = simulate(rolling("mine"), steps=1)[0]
    states = [rolling(kind) for kind in ("built in", "mine")]
    for state in states:
        state.velocity, state.angular_velocity = start.velocity, start.angular_velocity
    run, mine = (simulate(state) for state in states)
    for name in ("position", "orientation"):
        np.testing.assert_allclose(getattr(mine, name), getattr(run, name), rtol=0, atol=1e-9)
    assert mine.mechanism.report().freedom == run.mechanism.report().freedom == 9
    for momentum in (mine.momentum(), mine.angular_momentum()):
        np.testing.assert_allclose(momentum, momentum[:1].repeat(len(mine), 0), rtol=0, atol=1e-11)


@pytest.mark.parametrize("make", [sleigh, rolling])
def test_matrix_is_the_derivative_of_velocity_rows(make: Callable[[str], State]) -> None:
    """The core takes differences of A over 1e-6 m and rad: as good as a Jacobian."""
    state, h = make("mine"), 1e-5
    simulator, count = Simulator(state.mechanism, 0.1), len(state.position)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        z = np.concatenate((rng.uniform(-0.4, 0.4, 6 * count), rng.normal(size=simulator.plan.core.row_count)))
        matrix = linearize(simulator, state, z)[1]
        differences = np.empty_like(matrix)
        for k in range(len(z)):
            after, before = (linearize(simulator, state, moved(z, count, k, s * h))[0] for s in (1, -1))
            differences[:, k] = (after - before) / (2 * h)
        # loop rows are regularised against their multipliers
        matrix[6 * count :, 6 * count :] = 0
        # rounding of A, of size one, over 1e-6
        np.testing.assert_allclose(matrix, differences, rtol=0, atol=3e-9)


def test_prescribed_velocity() -> None:
    """A v = b(t): a wheel whose speed is prescribed turns by its integral, and the effort is J b'."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("wheel", Inertia(1.0, 0.2 * np.eye(3)))
    m.add_joint(Revolute("world", "wheel", axis=(0, 0, 1), at=(0, 0, 0), name="shaft"))
    m.add_joint(
        VelocityRows("world", "wheel", lambda a, b: np.eye(12)[11], value=lambda t: 3 * np.sin(2 * t), name="speed")
    )
    errors = []
    for dt in (0.01, 0.005):
        run = Simulator(m, dt).run(4.0)
        np.testing.assert_allclose(run.joint("shaft").rates[:, 0], 3 * np.sin(2 * run.time), rtol=0, atol=1e-12)
        exact = 1.5 * (1 - np.cos(2 * run.time))
        errors.append(float(np.abs(run.joint("shaft").coordinates[:, 0] - exact).max()))
        np.testing.assert_allclose(run.joint("speed").torque[:, 2], 1.2 * np.cos(2 * run.time), rtol=0, atol=5e-3)
    assert errors[1] < 2e-4
    assert order(errors) == pytest.approx(2, abs=0.1)
    assert m.report().freedom == 0


def test_constant_value() -> None:
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("body", Inertia(1.0, 0.2 * np.eye(3)))
    m.add_joint(VelocityRows("world", "body", lambda a, b: np.eye(12)[6:8], value=(1.0, -2.0), name="speed"))
    run = Simulator(m, 0.01).run(1.0)
    np.testing.assert_allclose(run.body("body").velocity, np.tile((1.0, -2, 0), (101, 1)), atol=1e-12)
    np.testing.assert_allclose(run.body("body").position[-1], (1, -2, 0), atol=1e-10)


# ---- what is refused


def lone() -> Mechanism:
    m = Mechanism()
    m.add_body("b", Inertia(1.0, np.eye(3)), position=(1, 0.5, 0))
    return m


def test_one_row_is_a_row() -> None:
    def slope(a: BodyPose, b: BodyPose) -> np.ndarray:
        return np.eye(12)[6]

    m = Mechanism()
    m.add_body("b", Inertia(1.0, np.eye(3)))
    m.add_joint(Custom("world", "b", lambda a, b: b.position[0], jacobian=slope))
    assert m.report().freedom == 5


def test_wrong_jacobian_names_row_and_column() -> None:
    m = lone()

    def gap(a: BodyPose, b: BodyPose) -> tuple[float, float]:
        return b.position[2], b.position[0] * b.position[1] - 0.5

    def jacobian(a: BodyPose, b: BodyPose) -> np.ndarray:
        rows = np.zeros((2, 12))
        rows[0, 8] = 1
        rows[1, 6], rows[1, 7] = b.position[1], 2 * b.position[0]
        return rows

    with pytest.raises(ValueError, match=r"'k': its jacobian is 2 in row 1, column 7, but differences .* give 1"):
        m.add_joint(Custom("world", "b", gap, jacobian=jacobian, name="k"))

    # turns in the body's frame in place of the world's only show at a turned pose
    def body_frame(a: BodyPose, b: BodyPose) -> np.ndarray:
        return np.concatenate((np.zeros(6), np.zeros(3), np.cross((1, 0, 0), (0, 0, 1))))[None]

    with pytest.raises(ValueError, match=r"'k': its jacobian is .* in row 0, column"):
        m.add_joint(
            Custom(
                "world",
                "b",
                lambda a, b: rot.rotate(b.orientation, np.array((1.0, 0, 0)))[2],
                jacobian=body_frame,
                name="k",
            )
        )
    assert not m.joints


def test_shapes_and_kinds() -> None:
    m = lone()
    refused = {
        "custom joint 'k': gap must be a function of two poses": lambda: Custom("world", "b", 3.0, name="k"),
        "custom joint 'k': jacobian must be a function": lambda: Custom(
            "world", "b", lambda a, b: 0, jacobian=1, name="k"
        ),
        "'k': rows must be a function of two poses": lambda: VelocityRows("world", "b", np.eye(12), name="k"),
        "'k': its function must return 1 to 6 rows, got 7": lambda: m.add_joint(
            Custom("world", "b", lambda a, b: np.zeros(7), name="k")
        ),
        "'k': its function must return 1 to 6 rows, got 0": lambda: m.add_joint(
            Custom("world", "b", lambda a, b: (), name="k")
        ),
        r"'k': jacobian must have shape \(1, 12\), got \(2, 12\)": lambda: m.add_joint(
            Custom("world", "b", lambda a, b: 0.0, jacobian=lambda a, b: np.zeros((2, 12)), name="k")
        ),
        "'k': gap must be finite": lambda: m.add_joint(Custom("world", "b", lambda a, b: np.nan, name="k")),
        "'k': rows must be finite": lambda: m.add_joint(
            VelocityRows("world", "b", lambda a, b: np.full(12, np.inf), name="k")
        ),
        r"'k': value must have shape \(1,\), got \(2,\)": lambda: m.add_joint(
            VelocityRows("world", "b", lambda a, b: np.ones(12), value=(1, 2), name="k")
        ),
    }
    for message, act in refused.items():
        with pytest.raises(ValueError, match=message):
            act()
    assert not m.joints


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["custom", "velocity", "value"])
def test_what_goes_wrong_later(kind: str, solver: str) -> None:
    """Exceptions come out as they are; what is not a number is an error that names the joint."""

    class OwnError(Exception):
        pass

    for bad, error, message in (("raise", OwnError, "mine"), ("nan", ValueError, "joint 'k'")):

        def spoil(late: bool, bad: str = bad) -> float:
            if late and bad == "raise":
                raise OwnError("mine")
            return np.nan if late else 0.0

        m = lone()
        if kind == "custom":
            m.add_joint(
                Custom("world", "b", lambda a, b, f=spoil: b.position[1] - 0.5 + f(b.position[0] > 1.1), name="k")
            )
        elif kind == "velocity":
            m.add_joint(
                VelocityRows("world", "b", lambda a, b, f=spoil: np.eye(12)[7] + f(b.position[0] > 1.1), name="k")
            )
        else:
            m.add_joint(
                VelocityRows("world", "b", lambda a, b: np.eye(12)[7], value=lambda t, f=spoil: f(t > 0.1), name="k")
            )
        state = m.state()
        state.body("b").velocity = (1, 0, 0)
        with pytest.raises(error, match=message):
            Simulator(m, 0.01, solver=solver).run(2.0, state=state)


def test_an_open_custom_joint_is_refused_and_assembled() -> None:
    m = lone()
    m.add_joint(Custom("world", "b", lambda a, b: b.position @ b.position - 4, name="sphere"))
    with pytest.raises(AssemblyError, match=r"custom joint 'sphere' stays open by 2\.75 m"):
        Simulator(m, 0.01).run(steps=1)
    state = m.assemble()
    assert np.linalg.norm(state.body("b").position) == pytest.approx(2, abs=1e-11)
    assert state.joint("sphere").gap < 1e-10


def test_copies_and_changes_of_the_row_count() -> None:
    state = bead()
    again = state.mechanism.copy()
    assert_same(simulate(again.state()), simulate(state), 0)

    m = lone()
    m.add_joint(
        Custom("world", "b", lambda a, b: np.full(1 if b.position[0] < 1.2 else 2, b.position[1] - 0.5), name="k")
    )
    state = m.state()
    state.body("b").velocity = (1, 0, 0)
    with pytest.raises(ValueError, match=r"custom joint 'k': gap must have shape \(1,\), got \(2,\)"):
        Simulator(m, 0.01).run(2.0, state=state)
