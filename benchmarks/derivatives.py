"""What A and B of a step cost through Python, beside Pinocchio and MuJoCo in the same run.

Ours are those of the step that runs, which is solved for as well; Pinocchio's are derivatives of accelerations, and
those themselves; MuJoCo's are one-sided differences of its step. CPU time of a call, best of many, the ways in turn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import machine
import mujoco
import numpy as np
from dynamics import chain, microseconds

import catena as ct

ROWS = ["what,catena_us,pinocchio_us,mujoco_us"]


def mujoco_differences(m: ct.Mechanism) -> Callable[[], object]:
    """MuJoCo's derivatives of a step of the same mechanism, contacts and limits off."""
    with tempfile.TemporaryDirectory() as folder:
        m.to_mjcf(Path(folder) / "model.xml")
        model = mujoco.MjModel.from_xml_path(str(Path(folder) / "model.xml"))
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_CONTACT) | int(off.mjDSBL_LIMIT)
    model.opt.timestep, model.opt.integrator = 0.002, mujoco.mjtIntegrator.mjINT_EULER
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    states, inputs = 2 * model.nv, model.nu
    a, b = np.zeros((states, states)), np.zeros((states, inputs))
    return lambda: mujoco.mjd_transitionFD(model, data, 1e-6, 0, a, b, None, None)


def beside(what: str, m: ct.Mechanism, state: ct.State, other: Callable[[], object] | None = None) -> None:
    """A row of results."""
    live = ct.Simulator(m, dt=0.002, on_inaccurate="ignore", limits="ignore").start(state)
    live.step(5)
    ways = {"catena": live.linearize, "mujoco": mujoco_differences(m)}
    if other is not None:
        ways["pinocchio"] = other
    found = microseconds(ways, calls=20)
    parts = [f"{name} {us:7.1f} us" for name, us in found.items()]
    parts += [f"{found['catena'] / us:.3f} x {name}" for name, us in found.items() if name != "catena"]
    print(f"{what:30}", *parts, sep="  ", flush=True)
    theirs = f"{found['pinocchio']:.2f}" if other is not None else ""
    ROWS.append(f'"{what}",{found["catena"]:.2f},{theirs},{found["mujoco"]:.2f}')


def hinges(count: int) -> None:
    """A chain with a motor in every hinge."""
    import pinocchio as pin

    m, model, data = chain(count)
    for k in range(count):
        m.add_force(ct.Motor(f"joint{k}", 0.0, name=f"motor{k}"))
    rng, state = np.random.default_rng(count), m.state()
    q, v, tau = *(0.1 * rng.normal(size=(2, count))), np.zeros(count)
    state.coordinates, state.rates = q, v

    def theirs() -> Any:
        pin.computeABADerivatives(model, data, q, v, tau)
        return pin.aba(model, data, q, v, tau)

    beside(f"chain of {count} hinges", m, state, theirs)


if __name__ == "__main__":
    for links in (7, 10, 20, 50):
        hinges(links)
    for scene in (ct.scenes.quadruped, ct.scenes.humanoid):
        robot = scene()
        beside(scene.__name__, robot, robot.state())
    machine.folder().mkdir(parents=True, exist_ok=True)
    (machine.folder() / "derivatives.csv").write_text("\n".join(ROWS) + "\n")
