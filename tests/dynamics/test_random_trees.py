"""Random trees of every kind of joint: identities among what is found, and Pinocchio where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena as ct
from catena import Mechanism, State
from catena._util.rotation import from_rotation_vector, to_matrix
from random_trees import COMMON, KINDS, floating, random_tree, somewhere

# seeds in each test; all 200 take half a minute
COUNT = 40


@pytest.mark.parametrize("seed", range(COUNT))
def test_identities(seed: int) -> None:
    m = random_tree(seed, KINDS)
    state, d, rng = somewhere(m, seed), ct.Dynamics(m), np.random.default_rng(seed)
    mass, rates = d.mass_matrix(state), d.rates(state)
    assert len(d.names) == sum(joint.dof for joint in m.joints.values()) + 6 * floating(m)
    scale, given = np.abs(mass).max(initial=1.0), rng.normal(size=len(rates))
    assert np.abs(mass - mass.T).max(initial=0.0) <= 1e-13 * scale
    efforts = d.efforts(state, given)
    largest = max(1.0, np.abs(efforts).max(initial=0.0))
    assert mass @ given + d.bias(state) == pytest.approx(efforts, abs=1e-11 * largest)
    condition = np.linalg.cond(mass) if mass.size else 1.0
    assert d.accelerations(state, efforts) == pytest.approx(given, abs=1e-11 + 1e-15 * condition * largest)
    # kinetic energy is that of the bodies and rotors, at these rates
    bodies = list(m.bodies.values())
    spin = [to_matrix(q).T @ w for q, w in zip(state.orientation, state.angular_velocity, strict=True)]
    energy = sum(
        0.5 * body.mass * v @ v + 0.5 * w @ body.inertia.tensor @ w
        for body, v, w in zip(bodies, state.velocity, spin, strict=True)
    )
    places = m.coordinate_places()
    rotors = [force for force in m.forces.values() if isinstance(force, ct.Armature)]
    joint_rates = state.rates
    energy += sum(0.5 * 0.2 * joint_rates[places[force.parts[0].measure.joint].start] ** 2 for force in rotors)
    assert 0.5 * rates @ mass @ rates == pytest.approx(energy, rel=1e-12)
    momentum = d.momentum_matrix(state) @ rates
    linear = sum(body.mass * v for body, v in zip(bodies, state.velocity, strict=True))
    assert momentum[:3] == pytest.approx(linear, abs=1e-12 * max(1.0, np.abs(linear).max()))
    for body, at in ((bodies[-1].name, (0.1, -0.2, 0.3)), (bodies[0].name, (0.0, 0.0, 0.0))):
        found = d.jacobian(state, body, at) @ rates
        row = state.row(body)
        arm = to_matrix(state.orientation[row]) @ at
        velocity = state.velocity[row] + np.cross(state.angular_velocity[row], arm)
        assert found == pytest.approx(np.concatenate((velocity, state.angular_velocity[row])), abs=1e-11)


@pytest.mark.parametrize("seed", range(COUNT))
def test_live_mechanisms_and_arrays_are_answered_alike(seed: int) -> None:
    """The ways of a live mechanism, of coordinates and rates, and of a state give the same."""
    m = random_tree(seed, tuple(kind for kind in KINDS if kind != "Fixed"))
    d, state = ct.Dynamics(m), somewhere(m, seed)
    live = ct.Simulator(m, 1e-3, on_inaccurate="ignore").start(state)
    # velocities of a node are those of its momenta, to rounding
    state = live.state()
    pair = (state.coordinates, state.rates)
    given = np.random.default_rng(seed).normal(size=len(d.names))
    for ask in (
        d.mass_matrix,
        d.rates,
        d.bias,
        lambda x: d.efforts(x, given),
        lambda x: d.accelerations(x, given),
        d.accelerations,
    ):
        truth = ask(state)
        scale = max(1.0, np.abs(truth).max(initial=0.0))
        # twice, as a live mechanism is looked at only once
        for x in (live, live) if floating(m) else (live, live, pair):
            assert ask(x) == pytest.approx(truth, abs=1e-10 * scale)
        if not floating(m):
            rows = ask((np.tile(pair[0], (2, 3, 1)), np.tile(pair[1], (2, 3, 1))))
            assert rows.shape == (2, 3, *truth.shape)
            assert rows[1, 2] == pytest.approx(truth, abs=1e-10 * scale)


@pytest.mark.parametrize("seed", range(COUNT))
def test_pinocchio_agrees(seed: int) -> None:
    """Mass matrix, bias, efforts, accelerations, Jacobians, their rates, center of mass and momentum matrix."""
    pin = pytest.importorskip("pinocchio")
    m = random_tree(seed, COMMON)
    state, d, rng = somewhere(m, seed), ct.Dynamics(m), np.random.default_rng(seed)
    model, joints = pinocchio_model(pin, m)
    data = model.createData()
    q, v, change, drift = at_state(pin, m, model, joints, state)
    count = len(d.names)
    rotors = np.zeros((count, count))
    for name in joints:
        if any(isinstance(f, ct.Armature) and f.parts[0].measure.joint == name for f in m.forces.values()):
            k = m.coordinate_places()[name].start
            rotors[k, k] = 0.2
    upper = np.triu(pin.crba(model, data, q))
    mass = change.T @ (upper + np.triu(upper, 1).T) @ change + rotors

    def same(found: Any, truth: Any) -> None:
        assert found == pytest.approx(truth, abs=1e-9 * max(1.0, np.abs(truth).max(initial=0.0)))

    same(d.mass_matrix(state), mass)
    sprung = np.zeros(count)
    for force in m.forces.values():
        if isinstance(force, ct.Spring):
            k = m.coordinate_places()[force.parts[0].measure.joint].start
            sprung[k] = 5.0 * state.coordinates[k] + 0.3 * state.rates[k]
    still = change.T @ pin.rnea(model, data, q, v, drift) + sprung
    same(d.bias(state), still)
    given = rng.normal(size=count)
    efforts = change.T @ pin.rnea(model, data, q, v, change @ given + drift) + sprung + rotors @ given
    same(d.efforts(state, given), efforts)
    same(d.accelerations(state, efforts), given)
    same(d.gravity(state), change.T @ pin.computeGeneralizedGravity(model, data, q))
    same(d.center_of_mass(state), pin.centerOfMass(model, data, q))
    same(d.momentum_matrix(state), pin.computeCentroidalMap(model, data, q) @ change)
    last = list(m.bodies)[-1]
    frame = model.getFrameId(last)
    pin.computeJointJacobiansTimeVariation(model, data, q, v)
    pin.updateFramePlacements(model, data)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    jacobian = pin.getFrameJacobian(model, data, frame, axes)
    same(d.jacobian(state, last), jacobian @ change)
    pin.forwardKinematics(model, data, q, v, drift)
    rate = pin.getFrameClassicalAcceleration(model, data, frame, axes).vector
    same(d.jacobian_rate(state, last), rate)


def pinocchio_model(pin: Any, m: Mechanism) -> tuple[Any, dict[str, int]]:
    """The same tree, subtree by subtree as it has to be; which joint of the model is which."""
    model, index, joints = pin.Model(), {"world": 0}, {}
    world: dict[str, Any] = {"world": pin.SE3.Identity()}
    waiting = [joint for joint in reversed(m.joints.values()) if joint.a.name == "world"]
    while waiting:
        joint = waiting.pop()
        name, parent = joint.b.name, joint.a.name
        waiting += [other for other in m.joints.values() if other.a.name == name]
        x, frame = joint_frame(m, joint)
        place = pin.SE3(frame, x)
        axis = np.array((0.0, 0.0, 1.0))
        kind = type(joint).__name__
        if kind == "Cylindrical":
            parts = pin.JointModelComposite()
            parts.addJoint(pin.JointModelPrismaticUnaligned(axis))
            parts.addJoint(pin.JointModelRevoluteUnaligned(axis))
        else:
            parts = {
                "Revolute": pin.JointModelRevoluteUnaligned(axis),
                "Prismatic": pin.JointModelPrismaticUnaligned(axis),
                "Ball": pin.JointModelSpherical(),
                "Free": pin.JointModelFreeFlyer(),
            }[kind]
        index[name] = model.addJoint(index[parent], parts, world[parent].actInv(place), joint.name)
        joints[joint.name] = index[name]
        world[name] = place
        body = m.bodies[name]
        own = pin.SE3(to_matrix(body.orientation), body.position)
        model.appendBodyToJoint(
            index[name], pin.Inertia(body.mass, np.zeros(3), np.array(body.inertia.tensor)), place.actInv(own)
        )
        model.addFrame(pin.Frame(name, index[name], 0, place.actInv(own), pin.FrameType.OP_FRAME))
    return model, joints


def joint_frame(m: Mechanism, joint: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where a joint is described, and the axes of its frame in a, in the world."""
    place = m.bodies[joint.a.name] if joint.a.name != "world" else m.world
    turn = to_matrix(place.orientation)
    return place.position + turn @ joint.anchor_a, turn @ to_matrix(joint.frame_a)


def at_state(
    pin: Any, m: Mechanism, model: Any, joints: dict[str, int], state: State
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pinocchio's q and v; the matrix from our rates to v, and what is left of v' where our rates are constant."""
    q, count = pin.neutral(model), len(m.coordinates)
    change, drift = np.zeros((model.nv, count)), np.zeros(model.nv)
    for name, place in m.coordinate_places().items():
        joint = model.joints[joints[name]]
        own, rates = state.coordinates[place], state.rates[place]
        v = slice(joint.idx_v, joint.idx_v + joint.nv)
        kind = type(m.joints[name]).__name__
        if kind == "Cylindrical":
            q[joint.idx_q : joint.idx_q + 2] = own
            change[v, place] = np.eye(2)
        elif kind in ("Ball", "Free"):
            turn = own[-3:]
            quaternion = from_rotation_vector(turn)
            q[joint.idx_q + joint.nq - 4 : joint.idx_q + joint.nq] = quaternion[[1, 2, 3, 0]]
            back = to_matrix(quaternion).T
            if kind == "Ball":
                change[v, place] = back
            else:
                q[joint.idx_q : joint.idx_q + 3] = own[:3]
                change[v, place] = np.block([[back, np.zeros((3, 3))], [np.zeros((3, 3)), back]])
                drift[joint.idx_v : joint.idx_v + 3] = -back @ np.cross(rates[3:], rates[:3])
        else:
            q[joint.idx_q] = own[0]
            change[v, place] = 1.0
    return q, change @ state.rates, change, drift
