"""MuJoCo: its five integrators, contacts off, loops as connect constraints, everything else at its defaults."""

from __future__ import annotations

import mujoco as mj
import numpy as np
from measure import Engine, Variant
from scenes import GRAVITY, Bodies, Scene, quaternion

VERSION = mj.__version__
VARIANTS = {
    "RK4": Variant("Runge-Kutta 4, which its documentation prefers where energy is conserved"),
    "Euler": Variant("semi-implicit Euler, the default"),
    "implicit": Variant("implicit in velocity"),
    "implicitfast": Variant("implicit in velocity without Coriolis terms; without damping the same as Euler"),
    "discrete": Variant("discrete, new in MuJoCo 4"),
    "RK4 stiff": Variant("as RK4, loops with solref 2 dt and solimp 0.9999", trees=False),
}


class Sim(Engine):
    """A model made link by link (XML nests at most 500 deep); mj_step loops natively."""

    def __init__(self, scene: Scene, variant: str, dt: float) -> None:
        spec = mj.MjSpec()
        spec.option.timestep, spec.option.gravity = dt, (0, 0, -GRAVITY)
        spec.option.integrator = getattr(mj.mjtIntegrator, f"mjINT_{variant.split()[0].upper()}")
        # a run that explodes shall stay exploded
        spec.option.disableflags |= mj.mjtDisableBit.mjDSBL_CONTACT | mj.mjtDisableBit.mjDSBL_AUTORESET
        bodies = []
        for i, link in enumerate(scene.links):
            parent = bodies[link.parent] if link.parent >= 0 else spec.worldbody
            body = parent.add_body(name=f"link{i}", pos=scene.anchor(i))
            body.explicitinertial, body.mass, body.inertia = True, link.mass, link.moments
            body.ipos = scene.center(i)
            if scene.joint == "revolute":
                body.add_joint(type=mj.mjtJoint.mjJNT_HINGE, axis=(1, 0, 0))
            else:
                body.add_joint(type=mj.mjtJoint.mjJNT_BALL)
            bodies.append(body)
        for loop in scene.loops:
            connect = spec.add_equality(
                type=mj.mjtEq.mjEQ_CONNECT,
                objtype=mj.mjtObj.mjOBJ_BODY,
                name1=f"link{loop.a}",
                name2=f"link{loop.b}" if loop.b >= 0 else "world",
            )
            if "stiff" in variant:
                connect.solref, connect.solimp = (2 * dt, 1), (0.9999, 0.9999, 0.001, 0.5, 2)
        self.model = spec.compile()
        for k, loop in enumerate(scene.loops):
            self.model.eq_data[k, :3] = scene.from_joint(loop.a, loop.at_a)
            self.model.eq_data[k, 3:6] = scene.from_joint(loop.b, loop.at_b)
        self.data = mj.MjData(self.model)
        hinge = scene.joint == "revolute"
        self.q0 = np.concatenate([[k.turn[0]] if hinge else quaternion(k.turn) for k in scene.links])
        self.v0 = np.concatenate([[k.spin[0]] if hinge else k.spin for k in scene.links])
        self.count = len(scene.links)

    def reset(self) -> None:
        """Go back to the start."""
        mj.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.q0, self.v0

    def run(self, steps: int) -> None:
        """Take steps in one call."""
        if steps:
            mj.mj_step(self.model, self.data, nstep=steps)

    def bodies(self) -> Bodies:
        """The links now."""
        m, d, n = self.model, self.data, self.count
        mj.mj_kinematics(m, d)
        mj.mj_comPos(m, d)
        mj.mj_comVel(m, d)
        v, w, both = np.empty((n, 3)), np.empty((n, 3)), np.empty(6)
        for i in range(n):
            mj.mj_objectVelocity(m, d, mj.mjtObj.mjOBJ_BODY, i + 1, both, 0)
            w[i], v[i] = both[:3], both[3:]
        # moments were given along the link's frame, so that of the inertia is the same
        return Bodies(d.xipos[1:].copy(), d.xmat[1:].reshape(n, 3, 3).copy(), v, w)


make = Sim
