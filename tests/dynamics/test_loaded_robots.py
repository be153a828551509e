"""Robots loaded from files, floating ones included, beside MuJoCo and Pinocchio, which read the same files."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
import mechanisms
from catena import Mechanism, State, scenes
from catena._util.rotation import to_matrix

ROBOTS: dict[str, Callable[[], Mechanism]] = {
    "quadruped": scenes.quadruped,
    "arm": mechanisms.arm,
    "humanoid": scenes.humanoid,
}


def loaded(name: str, path: Path) -> Mechanism:
    with warnings.catch_warnings():
        # servos are no part of a URDF
        warnings.simplefilter("ignore", ct.ModelWarning)
        if path.suffix == ".xml":
            ROBOTS[name]().to_mjcf(path)
            return Mechanism.from_mjcf(path)
        ROBOTS[name]().to_urdf(path)
        return Mechanism.from_urdf(path, floating=name != "arm")


def moving(m: Mechanism, seed: int) -> State:
    """A random pose with random rates of all freedoms; what floats drifts and spins as a whole as well."""
    rng, state = np.random.default_rng(seed), m.state()
    drift, spin = rng.normal(size=(2, 3))
    floats = len(ct.Dynamics(m).names) > len(m.coordinates)
    if floats:
        state.velocity = drift + np.cross(spin, state.position)
        state.angular_velocity = np.broadcast_to(spin, state.velocity.shape)
    state.coordinates = state.coordinates + 0.3 * rng.normal(size=len(m.coordinates))
    state.rates = rng.normal(size=len(m.coordinates))
    return state


def same(found: Any, truth: Any) -> None:
    assert found == pytest.approx(truth, abs=1e-9 * max(1.0, np.abs(truth).max(initial=0.0)))


@pytest.mark.parametrize("name", ROBOTS)
def test_mujoco_agrees(name: str, tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    m = loaded(name, tmp_path / "robot.xml")
    d, state = ct.Dynamics(m), moving(m, 1)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    data, nv, count = mujoco.MjData(model), model.nv, len(d.names)
    rates = d.rates(state)
    # its velocities are `change` times our rates, and its accelerations at constant rates are `drift`
    change, drift = np.zeros((nv, count)), np.zeros(nv)
    for k in range(model.njnt):
        joint = model.joint(k)
        q, v = joint.qposadr[0], joint.dofadr[0]
        if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE:
            body = model.body(joint.bodyid[0]).name
            place, turn = state.frame(body)
            data.qpos[q : q + 3], data.qpos[q + 3 : q + 7] = place, turn
            own, left = d.jacobian(state, body), d.jacobian_rate(state, body)
            back = to_matrix(turn).T
            change[v : v + 6] = np.vstack((own[:3], back @ own[3:]))
            drift[v : v + 6] = np.concatenate((left[:3], back @ left[3:]))
            continue
        column = next(i for i, c in enumerate(d.names) if c.rsplit(".", 1)[0] == joint.name)
        data.qpos[q] = state.joint(joint.name).coordinates[0] + model.qpos0[q]
        change[v, column] = 1.0
    data.qvel[:] = change @ rates
    mujoco.mj_forward(model, data)
    mass = np.zeros((nv, nv))
    mujoco.mj_fullM(model, data, mass)
    given = np.random.default_rng(2).normal(size=count)
    efforts = change.T @ (mass @ (change @ given + drift) + data.qfrc_bias - data.qfrc_passive)
    same(d.mass_matrix(state), change.T @ mass @ change)
    same(d.efforts(state, given), efforts)
    same(d.accelerations(state, efforts), given)
    last = model.body(model.nbody - 1).name
    linear, turning = np.zeros((3, nv)), np.zeros((3, nv))
    mujoco.mj_jacBody(model, data, linear, turning, model.body(last).id)
    same(d.jacobian(state, last), np.vstack((linear, turning)) @ change)
    same(d.center_of_mass(state), data.subtree_com[0])
    mujoco.mj_jacSubtreeCom(model, data, linear, 0)
    same(d.center_jacobian(state), linear @ change)


@pytest.mark.parametrize("name", ROBOTS)
def test_pinocchio_agrees(name: str, tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    m = loaded(name, tmp_path / "robot.urdf")
    d, state = ct.Dynamics(m), moving(m, 1)
    path = str(tmp_path / "robot.urdf")
    model = pin.buildModelFromUrdf(path) if name == "arm" else pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    data, q, count, rates = model.createData(), pin.neutral(model), len(d.names), d.rates(state)
    change, drift = np.zeros((model.nv, count)), np.zeros(model.nv)
    for joint, title in list(zip(model.joints, model.names, strict=True))[1:]:
        v = joint.idx_v
        if joint.nv == 6:
            body = next(iter(c for c in d.names if c.endswith(".vx"))).rsplit(".", 1)[0]
            place, turn = state.frame(body)
            back = to_matrix(turn).T
            q[joint.idx_q : joint.idx_q + 7] = (*place, *turn[[1, 2, 3, 0]])
            own, left = d.jacobian(state, body), d.jacobian_rate(state, body)
            moves = own @ rates
            change[v : v + 6] = np.vstack((back @ own[:3], back @ own[3:]))
            drift[v : v + 6] = np.concatenate((back @ (left[:3] - np.cross(moves[3:], moves[:3])), back @ left[3:]))
            continue
        column = next(i for i, c in enumerate(d.names) if c.rsplit(".", 1)[0] == title)
        angle = state.joint(title).coordinates[0]
        q[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
        change[v, column] = 1.0
    velocity = change @ rates
    upper = np.triu(pin.crba(model, data, q))
    same(d.mass_matrix(state), change.T @ (upper + np.triu(upper, 1).T) @ change)
    given = np.random.default_rng(2).normal(size=count)
    passive = d.bias(state) - change.T @ pin.rnea(model, data, q, velocity, drift)
    # dampers of joints, which it does not know
    assert np.abs(passive[len(m.coordinates) :]).max(initial=0.0) < 1e-9
    same(d.efforts(state, given), change.T @ pin.rnea(model, data, q, velocity, change @ given + drift) + passive)
    same(d.gravity(state), change.T @ pin.computeGeneralizedGravity(model, data, q))
    same(d.center_of_mass(state), pin.centerOfMass(model, data, q))
    same(d.momentum_matrix(state), pin.computeCentroidalMap(model, data, q) @ change)
