"""The equations of one step and Newton's matrix, against the paper's formulas and central differences.

Unknowns are displacement d and eta (vector part of the step quaternion, world frame) of every link, then multipliers;
columns of the matrix are increments of d, turns phi of the new pose in the world frame, and multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from catena import (
    Armature,
    Ball,
    Bushing,
    Cylindrical,
    Damper,
    Drag,
    Fixed,
    Free,
    Friction,
    Inertia,
    Joint,
    Mechanism,
    PointSpring,
    Prismatic,
    Revolute,
    Screw,
    Servo,
    Simulator,
    Spring,
    State,
)
from catena._util import rotation as rot
from catena.describe.forces import Force
from newton_matrix import linearize, moved

KINDS: list[type[Joint]] = [Revolute, Prismatic, Ball, Fixed, Free]
GRAVITY = np.array((1.0, -2.0, -9.0))


def two_bodies(rng: np.random.Generator) -> Mechanism:
    """Of full inertia, somewhere."""
    m = Mechanism(gravity=GRAVITY)
    for name in ("near", "far"):
        turn = rot.to_matrix(rot.normalised(rng.normal(size=4)))
        tensor = turn @ np.diag((0.3, 0.4, 0.5)) @ turn.T
        pose = {"position": rng.normal(size=3), "orientation": rot.normalised(rng.normal(size=4))}
        m.add_body(name, Inertia(rng.uniform(0.5, 2), tensor), **pose)
    return m


def pair(kind: type[Joint], rng: np.random.Generator, flipped: bool) -> Mechanism:
    """Two bodies of full inertia, joined to each other and to the world by joints of one kind."""
    m = two_bodies(rng)
    for ends in (("world", "near"), ("near", "far")):
        axis = {"axis": rng.normal(size=3)} if kind in (Revolute, Prismatic) else {}
        m.add_joint(kind(*(ends[::-1] if flipped else ends), at=rng.normal(size=3), **axis))
    return m


@dataclass
class Step:
    """A step of a mechanism, from a node with given momenta."""

    simulator: Simulator
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    momentum: np.ndarray
    dt: float = 0.1
    kick: float = 0.07

    def linearize(self, unknowns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residual and matrix."""
        core = self.simulator.plan.core
        residual, matrix = np.empty(core.unknown_count), np.empty((core.unknown_count,) * 2)
        node = {name: getattr(self, name) for name in ("position", "orientation", "velocity", "momentum")}
        core.linearize(dt=self.dt, kick=self.kick, **node, unknowns=unknowns, residual=residual, matrix=matrix)
        return residual, matrix

    def random_unknowns(self, rng: np.random.Generator) -> np.ndarray:
        """Up to half a metre and a fifth of a turn in the step, multipliers of size one."""
        return np.concatenate((rng.uniform(-0.5, 0.5, 12), rng.normal(size=self.simulator.plan.core.row_count)))


def random_step(kind: type[Joint], seed: int, *, closed: bool, flipped: bool = False) -> tuple[Step, np.ndarray]:
    rng = np.random.default_rng((seed, KINDS.index(kind)))
    m = pair(kind, rng, flipped)
    state = m.state()
    for name, joint in m.joints.items():
        state.joint(name).coordinates = rng.uniform(-1.5, 1.5, joint.dof)
    if not closed:
        state.position += rng.normal(scale=0.3, size=(2, 3))
        state.orientation = rot.normalised(rng.normal(size=(2, 4)))
    step = Step(Simulator(m, 0.1), state.position, state.orientation, *rng.normal(size=(2, 2, 3)))
    return step, step.random_unknowns(rng)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_matrix_is_the_derivative_of_the_residual(kind: type[Joint], closed: bool, flipped: bool) -> None:
    h = 1e-5
    for seed in range(5):
        step, z = random_step(kind, seed, closed=closed, flipped=flipped)
        _, matrix = step.linearize(z)
        differences = np.empty_like(matrix)
        for k in range(len(z)):
            after, before = (step.linearize(moved(z, 2, k, s * h))[0] for s in (1, -1))
            differences[:, k] = (after - before) / (2 * h)

        # central differences are off by h^2 times third derivatives of size 10, and by rounding over h
        np.testing.assert_allclose(matrix, differences, rtol=0, atol=3e-9)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_joint_forces_follow_the_gradients_of_the_old_pose(kind: type[Joint], closed: bool, flipped: bool) -> None:
    """G at the old pose acts on the momenta, whatever the new pose: the upper right block is minus its transpose."""
    for seed in range(5):
        step, z = random_step(kind, seed, closed=closed, flipped=flipped)
        still = np.zeros_like(z)
        at_rest, moving = step.linearize(still)[1], step.linearize(z)[1]
        rows = at_rest[12:, :12]

        # the same products in another order: rounding of numbers of size one
        np.testing.assert_allclose(moving[:12, 12:], -rows.T, rtol=0, atol=1e-13)
        assert not at_rest[12:, 12:].any()
        if rows.size:
            assert np.abs(moving[12:, :12] - rows).max() > 1e-2, "the new pose has gradients of its own"


@pytest.mark.parametrize("kind", KINDS)
def test_rows_block_all_but_the_joint_motion(kind: type[Joint]) -> None:
    for seed in range(5):
        step, z = random_step(kind, seed, closed=True)
        residual, matrix = step.linearize(np.zeros_like(z))
        rows = matrix[12:, :12]
        assert len(rows) == 2 * (6 - kind.dof)

        # closed in the state, as far as poses of size one can say
        np.testing.assert_allclose(residual[12:], 0, atol=1e-14)

        # the rows of one joint on one body are orthonormal up to the lever arm: none is lost
        if rows.size:
            assert np.linalg.svd(rows)[1].min() > 0.1

        # what the joints allow, told by the state, is what the rows allow
        m = step.simulator.mechanism
        state = m.state()
        state.position, state.orientation = step.position, step.orientation
        rng = np.random.default_rng(seed)
        for name, joint in m.joints.items():
            state.joint(name).rates = rng.normal(size=joint.dof)
        twist = np.concatenate((state.velocity, state.angular_velocity), axis=1)[step.simulator.plan.core.link_bodies]
        np.testing.assert_allclose(rows @ twist.ravel(), 0, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_body_equation_is_the_papers(kind: type[Joint]) -> None:
    """The discrete Euler-Lagrange equations in stage velocities and the body frame, equal intervals, no joints."""
    for seed in range(5):
        step, z = random_step(kind, seed, closed=False)
        z[12:] = 0
        dt = step.kick = step.dt
        m = step.simulator.mechanism
        w1_body = np.random.default_rng(seed).normal(size=(2, 3))
        tensors = np.array([body.inertia.tensor for body in m.bodies.values()])
        masses = np.array([body.inertia.mass for body in m.bodies.values()])

        # the momentum that arrives: w1 of the interval before, at its end, in the frame of the node
        s1 = np.sqrt(4 / dt**2 - np.sum(w1_body**2, axis=1))[:, None]
        jw1 = np.einsum("nij,nj->ni", tensors, w1_body)
        arriving = dt / 2 * (jw1 * s1 - np.cross(w1_body, jw1))
        step.momentum = rot.rotate(step.orientation, arriving)
        residual, _ = step.linearize(z)

        order = step.simulator.plan.core.link_bodies
        for link, k in enumerate(order):
            d, eta = z[6 * link : 6 * link + 3], z[6 * link + 3 : 6 * link + 6]
            v2, w2 = d / dt, 2 / dt * rot.rotate(rot.conjugate(step.orientation[k]), eta)
            jw2 = tensors[k] @ w2
            s2 = np.sqrt(4 / dt**2 - w2 @ w2)
            translation = masses[k] * ((v2 - step.velocity[k]) / dt - GRAVITY)
            rotation = 0.5 * (jw2 * s2 + np.cross(w2, jw2)) - arriving[k] / dt

            # the library multiplies by dt^2, and stays in the world frame; rounding of numbers up to ten
            force, torque = residual[6 * link : 6 * link + 3], residual[6 * link + 3 : 6 * link + 6]
            np.testing.assert_allclose(force, dt**2 * translation, rtol=0, atol=1e-13)
            np.testing.assert_allclose(torque, dt**2 * rot.rotate(step.orientation[k], rotation), rtol=0, atol=1e-13)


def test_matrix_at_rest_is_the_mass_matrix() -> None:
    step, z = random_step(Ball, 0, closed=True)
    _, matrix = step.linearize(np.zeros_like(z))
    expected = np.zeros((12, 12))
    bodies = list(step.simulator.mechanism.bodies.values())
    for link, k in enumerate(step.simulator.plan.core.link_bodies):
        turn = rot.to_matrix(step.orientation[k])
        expected[6 * link : 6 * link + 3, 6 * link : 6 * link + 3] = bodies[k].inertia.mass * np.eye(3)
        block = slice(6 * link + 3, 6 * link + 6)
        expected[block, block] = turn @ bodies[k].inertia.tensor @ turn.T

    # one rotation of an inertia of size one
    np.testing.assert_allclose(matrix[:12, :12], expected, rtol=0, atol=1e-15)


# ---- rows of forces that are implicit in the step

# numbers of size one, so that no term hides behind another; a step of 0.1 s moves the joint by up to 0.3
LAWS: dict[str, Callable[..., Force]] = {
    "damper": lambda **on: Damper("joint", 0.7, **on),
    "implicit spring": lambda **on: Spring("joint", 30.0, rest_length=0.2, implicit=True, **on),
    "implicit spring and damper": lambda **on: Spring("joint", 30.0, damping=0.7, implicit=True, **on),
    "friction": lambda **on: Friction("joint", 2.0, threshold=3.0, **on),
    "servo": lambda **on: Servo("joint", kp=20.0, kd=0.9, target=0.5, **on),
    "servo of a place": lambda **on: Servo("joint", kp=20.0, target=0.5, **on),
    "servo of a speed": lambda **on: Servo("joint", kd=0.9, target_rate=1.0, **on),
    "servo with a limit": lambda **on: Servo("joint", kp=20.0, kd=0.9, target=0.5, effort_limit=1e3, **on),
    "servo of time": lambda **on: Servo("joint", kp=20.0, kd=0.9, target=lambda t: 0.0, **on),
    "servo at its limit": lambda **on: Servo("joint", kp=20.0, kd=0.9, target=5.0, effort_limit=1.0, **on),
    "rotor": lambda **on: Armature("joint", 0.4, **on),
}
COORDINATES: dict[str, tuple[type[Joint], dict[str, object], str | None]] = {
    "hinge": (Revolute, {}, None),
    "slide": (Prismatic, {}, None),
    "screw": (Screw, {"pitch": 0.8}, None),
    "turn of a cylinder": (Cylindrical, {}, "angle"),
    "shift of a cylinder": (Cylindrical, {}, "displacement"),
}


def differences(simulator: Simulator, state: State, z: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Newton's matrix by central differences of the residual."""
    columns = []
    for k in range(len(z)):
        after, before = (linearize(simulator, state, moved(z, len(state.position), k, s * h))[0] for s in (1, -1))
        columns.append((after - before) / (2 * h))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("coordinate", COORDINATES)
@pytest.mark.parametrize("law", LAWS)
def test_rows_of_laws_are_derivatives(law: str, coordinate: str) -> None:
    """Where the joint is closed: elsewhere the row of an angle is its axis, too."""
    kind, more, which = COORDINATES[coordinate]
    rng = np.random.default_rng(7)
    m = two_bodies(rng)
    m.add_joint(kind("near", "far", at=rng.normal(size=3), axis=rng.normal(size=3), name="joint", **more))
    m.add_force(LAWS[law](coordinate=which))
    simulator = Simulator(m, 0.1)
    core, state = simulator.plan.core, m.state()
    end = state.copy()
    end.joint("joint").coordinates = rng.uniform(0.1, 0.3, kind.dof)
    z = np.zeros(core.unknown_count)
    for link, k in enumerate(core.link_bodies):
        turn = rot.multiply(end.orientation[k], rot.conjugate(state.orientation[k]))
        z[6 * link : 6 * link + 6] = np.concatenate((end.position[k] - state.position[k], np.sign(turn[0]) * turn[1:]))
    z[12:] = rng.normal(size=core.row_count)
    matrix, expected = linearize(simulator, state, z)[1], differences(simulator, state, z)

    # as for joints
    np.testing.assert_allclose(matrix[-1], expected[-1], rtol=0, atol=3e-9)
    slope = np.abs(matrix[-1, :12]).max()
    assert slope == 0 if law == "servo at its limit" else slope > 1e-3


def test_drag_is_derived_in_any_pose() -> None:
    """In the balance of a body, along and about its axes; no rows come with it."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        m = two_bodies(rng)
        rows = Simulator(m, 0.1).plan.core.row_count
        before = linearize(Simulator(m, 0.1), m.state(), np.zeros(12 + rows))[1]
        m.add_force(Drag("near", (0.5, 1, 2), (0.1, 0.3, 0.2)))
        simulator, state = Simulator(m, 0.1), m.state()
        assert simulator.plan.core.row_count == rows
        z = np.concatenate((rng.uniform(-0.3, 0.3, 12), rng.normal(size=rows)))
        matrix, expected = linearize(simulator, state, z)[1], differences(simulator, state, z)
        np.testing.assert_allclose(matrix, expected, rtol=0, atol=3e-9)
        at_rest = linearize(simulator, state, np.zeros(12 + rows))[1]
        assert np.count_nonzero(abs(at_rest - before) > 1e-6) >= 12


def test_rows_of_rotary_dampers_are_derivatives() -> None:
    """Between bodies that no ball of the tree joins, a damper is three rows with its torque as multipliers."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        m = two_bodies(rng)
        m.add_joint(Free("near", "far", name="air"))
        m.add_force(Damper("air", 0.7))
        simulator, state = Simulator(m, 0.1), m.state()
        assert simulator.plan.core.unknown_count == 15
        z = np.concatenate((rng.uniform(-0.3, 0.3, 12), rng.normal(size=3)))
        matrix, expected = linearize(simulator, state, z)[1], differences(simulator, state, z)
        np.testing.assert_allclose(matrix, expected, rtol=0, atol=3e-9)


@pytest.mark.parametrize("kind", ["points", "rubber"])
def test_rows_of_forces_between_bodies_are_derivatives(kind: str) -> None:
    """Along a line between two points, and along and about the axes of a bushing: in any pose."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        m = two_bodies(rng)
        if kind == "points":
            m.add_force(
                PointSpring(
                    "near", "far", 30.0, points=rng.normal(size=(2, 3)), damping=0.7, rest_length=0.5, implicit=True
                )
            )
        else:
            m.add_force(
                Bushing(
                    "near",
                    "far",
                    at=rng.normal(size=3),
                    orientation=rot.normalised(rng.normal(size=4)),
                    stiffness=(10, 20, 30),
                    turn_stiffness=(1, 2, 3),
                    damping=0.5,
                    turn_damping=0.2,
                    implicit=True,
                )
            )
        simulator, state = Simulator(m, 0.1), m.state()
        z = np.concatenate((rng.uniform(-0.3, 0.3, 12), rng.normal(size=simulator.plan.core.row_count)))
        matrix, expected = linearize(simulator, state, z)[1], differences(simulator, state, z)
        np.testing.assert_allclose(matrix, expected, rtol=0, atol=3e-9)
        assert (np.abs(matrix[12:, :12]).max(axis=1) > 1e-3).all()
