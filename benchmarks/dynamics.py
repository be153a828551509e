"""What mass matrix, efforts and accelerations cost through Python, beside Pinocchio in the same run.

Chains of hinges about alternating axes; CPU time of a call, best of many, the ways in turn. Then 1000 nodes of a motion
in one call beside a loop over Pinocchio's `rnea`, a closed chain beside its `constraintDynamics`, and a control loop
with computed torque beside a plain one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import machine
import numpy as np

import catena as ct

ROUNDS, CALLS = 25, 200
ROWS = ["what,live_us,arrays_us,pinocchio_us,plain_step_us,computed_torque_step_us"]
OFFSET = np.array((0.1, 0.05, -0.4))


def chain(count: int) -> tuple[ct.Mechanism, Any, Any]:
    """The same chain for catena and for Pinocchio."""
    import pinocchio

    m, model = ct.Mechanism(), pinocchio.Model()
    last, place, parent = "world", np.zeros(3), 0
    for k in range(count):
        name = f"link{k}"
        body = m.add_body(name, ct.box((0.1, 0.2, 0.4), mass=1 + 0.1 * k), position=place + OFFSET / 2)
        m.add_joint(ct.Revolute(last, name, axis=np.eye(3)[k % 3], at=place, name=f"joint{k}"))
        hinge = (pinocchio.JointModelRX, pinocchio.JointModelRY, pinocchio.JointModelRZ)[k % 3]()
        shift = pinocchio.SE3(np.eye(3), OFFSET if k else np.zeros(3))
        parent = model.addJoint(parent, hinge, shift, f"joint{k}")
        own = pinocchio.Inertia(body.mass, OFFSET / 2, np.array(body.inertia.tensor))
        model.appendBodyToJoint(parent, own, pinocchio.SE3.Identity())
        last, place = name, place + OFFSET
    return m, model, model.createData()


def microseconds(ways: dict[str, Callable[[], object]], calls: int = CALLS) -> dict[str, float]:
    """Of each way, the best of many rounds."""
    best = dict.fromkeys(ways, np.inf)
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begun = time.thread_time()
            for _ in range(calls):
                way()
            best[name] = min(best[name], (time.thread_time() - begun) / calls)
    return {name: 1e6 * seconds for name, seconds in best.items()}


def tell(what: str, found: dict[str, float]) -> None:
    """Print a row of results, and keep it."""
    print(f"{what:40}" + "".join(f"  {way} {us:7.2f} us" for way, us in found.items()))
    names = ("live", "arrays", "pinocchio", "plain", "computed torque")
    ROWS.append(",".join([f'"{what}"', *(f"{found[name]:.2f}" if name in found else "" for name in names)]))


def functions(count: int) -> None:
    """One pose at a time."""
    import pinocchio as pin

    m, model, data = chain(count)
    rng = np.random.default_rng(count)
    q, v, a = rng.normal(size=(3, count))
    d, state = ct.Dynamics(m), m.state()
    state.coordinates, state.rates = q, v
    live = ct.Simulator(m, 1e-3).start(state)
    for name, ours, arrays, theirs in (
        ("mass matrix", lambda: d.mass_matrix(live), lambda: d.mass_matrix((q, v)), lambda: pin.crba(model, data, q)),
        ("efforts", lambda: d.efforts(live, a), lambda: d.efforts((q, v), a), lambda: pin.rnea(model, data, q, v, a)),
        (
            "accelerations",
            lambda: d.accelerations(live, a),
            lambda: d.accelerations((q, v), a),
            lambda: pin.aba(model, data, q, v, a),
        ),
    ):
        tell(f"{name}, {count} hinges", microseconds({"live": ours, "arrays": arrays, "pinocchio": theirs}))
    rows = rng.normal(size=(3, 1000, count))

    def loop() -> None:
        for q, v, a in zip(*rows, strict=True):
            pin.rnea(model, data, q, v, a)

    found = microseconds({"arrays": lambda: d.efforts((rows[0], rows[1]), rows[2]), "pinocchio": loop}, calls=1)
    tell(f"efforts of 1000 nodes, {count} hinges", found)


def closed(count: int = 11) -> None:
    """Accelerations of a chain that a ball joint closes."""
    import pinocchio as pin

    m, model, data = chain(count)
    bent, last = m.state(), f"link{count - 1}"
    bent.coordinates = np.random.default_rng(1).normal(size=count)
    end = bent.body(last).point(OFFSET / 2)
    loop = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, count, pin.SE3(np.eye(3), OFFSET))
    loop.joint2_placement = pin.SE3(np.eye(3), end)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(loop)
    datas.append(loop.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    m.add_joint(ct.Ball(last, "world", anchors=(OFFSET / 2, end), name="closing"))
    start = m.state()
    start.position, start.orientation = bent.position, bent.orientation
    d, live = ct.Dynamics(m), ct.Simulator(m, 1e-3).start(m.assemble(start))
    live.step(100)
    settings, none = pin.ProximalSettings(1e-12, 1e-12, 10), np.zeros(count)
    q, v = live.coordinates[:count].copy(), live.rates[:count].copy()
    found = microseconds(
        {
            "live": lambda: d.accelerations(live),
            "pinocchio": lambda: pin.constraintDynamics(model, data, q, v, none, models, datas, settings),
        },
        calls=50,
    )
    theirs = data.ddq[[m.coordinates.index(name) for name in d.names]]
    assert np.abs(d.accelerations(live) - theirs).max() < 1e-6 * np.abs(theirs).max()
    tell(f"accelerations, closed chain of {count} hinges", found)
    tell("accelerations of its bodies", microseconds({"live": live.accelerations}, calls=50))


def control(count: int = 10) -> None:
    """Computed torque on a live mechanism, beside a loop that holds its efforts."""
    m, _, _ = chain(count)
    for k in range(count):
        m.add_force(ct.Motor(f"joint{k}", 0.0, name=f"motor{k}"))
    d, simulator = ct.Dynamics(m), ct.Simulator(m, 1e-3, on_inaccurate="ignore")
    plain, held = simulator.start(), simulator.start()
    goal = plain.coordinates.copy()

    def control_step() -> None:
        held.inputs[:] = d.efforts(held, 100.0 * (goal - held.coordinates) - 20.0 * held.rates)
        held.step()

    found = microseconds({"plain": plain.step, "computed torque": control_step})
    tell(f"step of a control loop, {count} hinges", found)


if __name__ == "__main__":
    for links in (10, 50):
        functions(links)
    closed()
    control()
    machine.folder().mkdir(parents=True, exist_ok=True)
    (machine.folder() / "dynamics.csv").write_text("\n".join(ROWS) + "\n")
