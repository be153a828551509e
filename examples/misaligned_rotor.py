"""Monte Carlo simulation: how eccentricity and tilt of a rotor affect the load of a bearing at 6000 rpm.

The loads follow from the rates of change of the rotor's momentum, and agree with the formulas for a rigid rotor.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

mass, radius, width, half = 2.0, 0.1, 0.02, 0.15  # kg, m; the bearings are `half` to either side of the disk
speed = 2 * np.pi * 6000 / 60  # rad/s
axial, transverse = mass * radius**2 / 2, mass * (3 * radius**2 + width**2) / 12  # moments of inertia, kg m^2


def rotor(numbers):
    """Make a disk on a hinge along z, off its axis by `offset` (m) along x and rotated by the angles `tilt` (rad)."""
    tilt = np.array([*numbers["tilt"], 0.0])
    angle = np.linalg.norm(tilt)
    turn = np.array([np.cos(angle / 2), *(np.sin(angle / 2) * tilt / angle)])
    m = ct.Mechanism(gravity=(0, 0, 0))
    disk = ct.cylinder(radius, width, mass=mass)
    body = m.add_body("disk", disk, position=(numbers["offset"], 0, 0), orientation=turn)
    m.add_joint(ct.Revolute(m.world, body, axis=(0, 0, 1), at=(0, 0, 0), name="shaft"))
    return m


def draw(rng, members):
    """Return random errors of some members."""
    return {"offset": np.abs(rng.normal(0, 20e-6, members)), "tilt": rng.normal(0, 1e-3, (members, 2))}


def setup(numbers):
    """Start all members at full speed."""
    return {"rates": np.full((len(numbers["offset"]), 1), speed)}


def keep(batch):
    """Return the largest load of the upper bearing (N) over a turn."""
    w, x, y, z = np.moveaxis(batch.orientation[:, :, 0], -1, 0)
    normal = np.stack((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)), axis=-1)  # of the disk
    spin = batch.angular_velocity[:, :, 0]
    along = np.sum(normal * spin, axis=-1, keepdims=True)
    turning = transverse * spin + (axial - transverse) * along * normal
    force, couple = (np.diff(p, axis=1) / batch.dt for p in (mass * batch.velocity[:, :, 0], turning))
    # the moment about x causes forces along y, that about y along x
    load = force[..., :2] / 2 + np.stack((couple[..., 1], -couple[..., 0]), axis=-1) / (2 * half)
    return {"load": np.linalg.norm(load, axis=-1).max(axis=1)}


nominal = rotor({"offset": 0.0, "tilt": (1e-3, 0.0)})
simulator = ct.Simulator(nominal, dt=5e-5)  # 200 steps per turn
sweep = ct.Sweep(
    simulator, draw=draw, members=600, build=rotor, setup=setup, keep=keep, duration=0.01, seed=1, chunk=100
)

if __name__ == "__main__":
    print(sweep.run("misaligned_rotor"))
    numbers = sweep.numbers(0, len(sweep))
    load = np.concatenate([np.load(f"misaligned_rotor/chunk-{k:06d}.npz")["load"] for k in range(6)])

    # in the rotating frame, both parts are constant: a radial force, and the moment due to the tilt
    leans = numbers["tilt"]
    angle = np.linalg.norm(leans, axis=1)
    pull = mass * numbers["offset"] * speed**2 / 2
    couple = (axial - transverse) * np.sin(angle) * np.cos(angle) * speed**2 / (2 * half)
    lean = np.stack((leans[:, 1], -leans[:, 0]), axis=1) / angle[:, None]  # where the normal leans
    formula = np.linalg.norm(np.stack((pull, 0 * pull), axis=1) - couple[:, None] * lean, axis=1)
    off = np.abs(load - formula).max() / formula.max()
    print(f"load up to {load.max():.0f} N, 95 % below {np.quantile(load, 0.95):.1f} N, relative error {off:.1e}")
    # order 2, steps of 2 pi / 200 rad: errors are about an eighth of the square of that, 1.2e-4
    assert off < 2.5e-4

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    dots = left.scatter(1e6 * numbers["offset"], 1e3 * angle, c=load, s=12, cmap="viridis")
    figure.colorbar(dots, ax=left, label="load of the bearing [N]")
    left.set(xlabel="eccentricity [µm]", ylabel="tilt [mrad]")
    right.plot(np.sort(load), np.arange(1, len(load) + 1) / len(load), "k")
    right.axhline(0.95, color="tab:orange", linestyle="--", label="95 %")
    right.set(xlabel="load of the bearing [N]", ylabel="share of rotors with less", ylim=(0, 1), xlim=(0, None))
    right.legend()
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.savefig("misaligned_rotor.png")
