"""The same motion by MuJoCo: its Runge-Kutta rule with short steps, without contacts and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import catena as ct
from catena._util import rotation as rot


class Reference:
    """A model of MuJoCo beside the mechanism that was read from the same file."""

    def __init__(self, source: Path | mujoco.MjModel, mechanism: ct.Mechanism, dt: float = 1e-4) -> None:
        self.mechanism = mechanism
        # what MuJoCo has to say it would write to a file in the current folder
        mujoco.set_mju_user_warning(lambda _: None)
        model = self.model = mujoco.MjModel.from_xml_path(str(source)) if isinstance(source, Path) else source
        mujoco.set_mju_user_warning(None)
        model.opt.timestep = dt
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        flags = mujoco.mjtDisableBit
        model.opt.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT)
        self.data = mujoco.MjData(model)
        kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
        self.joints = {
            model.joint(k).name or f"joint{k}": k for k in range(model.njnt) if int(model.jnt_type[k]) in kinds
        }

    def start(self, rng: np.random.Generator, angle: float, rate: float) -> ct.State:
        """Set both to the same random coordinates and rates, and return the mechanism's state."""
        model, data, state = self.model, self.data, self.mechanism.state()
        for name in self.joints:
            state.joint(name).coordinates = [rng.uniform(-angle, angle)]
        for name in self.joints:
            state.joint(name).rates = [rng.uniform(-rate, rate)]
        for name, k in self.joints.items():
            at = model.jnt_qposadr[k]
            data.qpos[at] = model.qpos0[at] + state.joint(name).coordinates[0]
            data.qvel[model.jnt_dofadr[k]] = state.joint(name).rates[0]
        for k in np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)):
            name = model.body(model.jnt_bodyid[k]).name or f"body{model.jnt_bodyid[k]}"
            at, dof = model.jnt_qposadr[k], model.jnt_dofadr[k]
            body, (position, orientation) = state.body(name), state.frame(name)
            data.qpos[at : at + 7] = (*position, *orientation)
            data.qvel[dof : dof + 3] = body.point_velocity(self.mechanism.frames[name].position)
            data.qvel[dof + 3 : dof + 6] = rot.rotate(rot.conjugate(orientation), body.angular_velocity)
        mujoco.mj_forward(model, data)
        return state

    def control(self, rng: np.random.Generator, size: float) -> dict[str, float]:
        """Random controls, and what they are as inputs of the mechanism."""
        model, inputs = self.model, {}
        for k in range(model.nu):
            self.data.ctrl[k] = control = rng.uniform(-size, size)
            gear, joint = model.actuator_gear[k, 0], model.actuator_trnid[k, 0]
            force = self.mechanism.forces[model.actuator(k).name or f"actuator{k}"]
            if isinstance(force, ct.Motor):
                inputs[force.name] = gear * model.actuator_gainprm[k, 0] * control
            else:
                zero = model.qpos0[model.jnt_qposadr[joint]] if force.input == "target" else 0.0
                inputs[force.name] = control / gear - zero
        return inputs

    def run(self, duration: float) -> None:
        for _ in range(round(duration / self.model.opt.timestep)):
            mujoco.mj_step(self.model, self.data)

    def differences(self, state: Any) -> dict[str, float]:
        """By how much joints (rad, m) and origins of bodies (m) are elsewhere in a state of the mechanism."""
        model, data = self.model, self.data
        mujoco.mj_forward(model, data)
        found = {}
        for name, k in self.joints.items():
            at = model.jnt_qposadr[k]
            found[name] = abs(state.joint(name).coordinates[0] - data.qpos[at] + model.qpos0[at])
        for k in range(1, model.nbody):
            name = model.body(k).name or f"body{k}"
            found[f"body {name}"] = float(np.linalg.norm(state.frame(name)[0] - data.xpos[k]))
        return found
