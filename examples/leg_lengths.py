"""Design of experiments: find lengths of thigh and shin that give a long stride with little torque at the hip.

A Latin hypercube of 200 designs, each with its own mechanism, and the Pareto front of stride and torque.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

period, axis = 0.8, (1, 0, 0)  # s, and the axis of both hinges


def leg(numbers):
    """Make a leg that hangs straight down from its hip; servos move hip and knee through a stride."""
    thigh, shin = float(numbers["thigh"]), float(numbers["shin"])
    knee, ankle = (0, 0, -thigh), (0, 0, -thigh - shin)
    m = ct.Mechanism()
    upper = m.add_body("thigh", ct.rod((0, 0, 0), knee, mass=5.0 * thigh, radius=0.03))
    lower = m.add_body("shin", ct.rod(knee, ankle, mass=2.0 * shin, radius=0.02))
    foot = m.add_body("foot", ct.sphere(0.03, mass=0.3), position=ankle)
    m.add_joint(ct.Revolute(m.world, upper, axis=axis, at=(0, 0, 0), name="hip"))
    m.add_joint(ct.Revolute(upper, lower, axis=axis, at=knee, name="knee"))
    m.add_joint(ct.Fixed(lower, foot, at=ankle, name="ankle"))
    m.add_force(ct.Servo("hip", kp=400.0, kd=20.0, target=swing, name="hip motor"))
    m.add_force(ct.Servo("knee", kp=400.0, kd=10.0, target=bend, name="knee motor"))
    return m


def swing(t):
    """Return the target angle of the hip (rad)."""
    return 0.3 * (1 - np.cos(2 * np.pi * t / period))


def bend(t):
    """Return the target angle of the knee (rad)."""
    return -0.4 * (1 - np.cos(2 * np.pi * t / period))


def keep(batch):
    """Return the stride of the foot (m) and the largest torque of the hip motor (N m)."""
    y = batch.position[:, :, 2, 1]
    torque = [np.abs(run.force("hip motor").effort).max() for run in batch]
    return {"stride": y.max(axis=1) - y.min(axis=1), "torque": torque}


ranges = {"thigh": (0.15, 0.45), "shin": (0.15, 0.45)}
sweep = ct.Sweep(
    ct.Simulator(leg({"thigh": 0.3, "shin": 0.3}), dt=0.004),
    table=ct.sample(ranges, 200, "latin_hypercube", seed=2),
    build=leg,
    keep=keep,
    duration=period,
    chunk=50,
)

if __name__ == "__main__":
    print(sweep.run("leg_lengths"))
    results = ct.open_sweep("leg_lengths").load()
    stride, torque = results.stride.values, results.torque.values
    beaten = (stride[:, None] < stride) & (torque[:, None] > torque)
    front = np.flatnonzero(~beaten.any(axis=1))
    front = front[np.argsort(stride[front])]
    print(f"{len(front)} of {len(stride)} designs are on the front, with strides to {stride.max():.2f} m")
    # along the front, a longer stride takes more torque
    assert np.all(np.diff(torque[front]) > 0)

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(torque, stride, ".", color="0.7", label="designs")
    left.plot(torque[front], stride[front], "o-", color="tab:orange", markersize=4, label="Pareto front")
    left.set(xlabel="largest torque of the hip [N m]", ylabel="stride of the foot [m]")
    left.legend()
    dots = right.scatter(results.thigh, results.shin, c=stride / torque, s=14, cmap="viridis")
    right.plot(
        results.thigh[front], results.shin[front], "o", color="tab:orange", fillstyle="none", label="on the front"
    )
    right.set(xlabel="thigh [m]", ylabel="shin [m]")
    right.legend()
    figure.colorbar(dots, ax=right, label="stride per torque [1/N]")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig("leg_lengths.png")
