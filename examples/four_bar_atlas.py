"""An atlas of coupler curves: 10 000 four-bars of random lengths in one batch, each driven through a turn of its crank.

Linkages whose loop cannot be closed are reported, and Grashof's rule tells which cranks go all the way round.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

count, ground, dt = 10_000, 1.0, 0.005
rng = np.random.default_rng(4)
bars = rng.uniform(0.2, 2.4, (count, 3))  # crank, coupler, rocker (m); the frame is 1 m long

m = ct.scenes.four_bar(ground=ground, gravity=(0, 0, 0))
m.add_force(ct.Servo("joint1", kd=200.0, target_rate=-2 * np.pi, name="crank"))  # one turn per second
simulator = ct.Simulator(m, dt, on_failure="stop", on_inaccurate="ignore")
batch = simulator.run_batch(
    steps=240, states=count, lengths={f"link{k + 1}": bars[:, k] for k in range(3)}, record_every=2
)

# the longest bar must be shorter than the three others together
four = np.sort(np.column_stack((bars, np.full(count, ground))), axis=1)
closes = four[:, 3] < four[:, :3].sum(axis=1)
opened = [k for k in np.flatnonzero(batch.failed) if batch.status[k].reason == "open"]
assert opened == np.flatnonzero(~closes).tolist()
print(f"{len(opened)} of {count} linkages cannot be closed, such as {opened[0]}: {batch.status[opened[0]].message}")

# Grashof: the shortest and the longest bar together are shorter than the others; the crank or the frame is the shortest
grashof = closes & (four[:, 0] + four[:, 3] < four[:, 1] + four[:, 2])
turns = grashof & (np.minimum(bars[:, 0], ground) == four[:, 0])
angle = batch.joint("joint1").angle
turned = np.nan_to_num(np.ptp(angle, axis=1)) > 2 * np.pi
print(f"{np.count_nonzero(turned)} cranks went all the way round; Grashof's rule says {np.count_nonzero(turns)}")
# within 2 mm of the limit, a step may pass the few degrees that are out of reach
clear = np.abs(four[:, 0] + four[:, 3] - four[:, 1] - four[:, 2]) > 2e-3
assert (turned == turns)[clear].all()


if __name__ == "__main__":
    # a point of the coupler, off its middle
    w, x, y, z = np.moveaxis(batch.orientation[:, :, 1], -1, 0)
    side = np.stack((1 - 2 * (x * x + z * z), 2 * (y * z + w * x)), axis=-1)  # its y axis in the plane
    curve = batch.position[:, :, 1, 1:] + 0.4 * bars[:, 1, None, None] * side
    figure = Figure(figsize=(9, 6), layout="constrained")
    shown = np.flatnonzero(turned & (bars[:, 0] == four[:, 0]))[:96]
    for k, ax in zip(shown, figure.subplots(8, 12).ravel(), strict=True):
        one = angle[k] - angle[k, 0] >= -2 * np.pi
        ax.plot(*curve[k, one].T, color="C0", linewidth=1)
        ax.set_aspect("equal", adjustable="datalim")
        ax.axis("off")
    figure.suptitle(f"Coupler curves of {len(shown)} crank-rockers")
    figure.savefig("four_bar_atlas.png")
