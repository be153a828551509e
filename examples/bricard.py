"""The Bricard linkage moves, although a count of freedoms says that it cannot: one of its 30 equations is redundant.

It swings through a flat, triangular pose, and its angles follow the formula of Chen, You and Tarnai.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import plot

corners = ((0, 0, 0), (0, 1, 0), (0, 1, -1), (1, 1, -1), (1, 0, -1), (1, 0, 0))  # m; six edges of a cube
x, y, z = np.eye(3)

m = ct.Mechanism()
bars = [m.add_body(f"bar{k + 1}", ct.rod(corners[k], corners[k + 1], mass=1.0, radius=0.04)) for k in range(5)]
ends = [m.world, *bars, m.world]  # the sixth bar is the ground, from the last corner to the first
along_x = np.array((1, 0, 1, 0)) / np.sqrt(2)  # cylinders lie along z: a quarter turn about y
m.world.add_shape("cylinder", (0.02, 1), position=(0.5, 0, 0), orientation=along_x)  # grey by default
for k, axis in enumerate((z, x, y, z, x, y)):
    m.add_joint(ct.Revolute(ends[k], ends[k + 1], axis=axis, at=corners[k]))
report = m.report()
print(report)
assert report.row_count == 6 * report.body_count  # as many equations as unknowns: nothing should move
assert report.freedom == 1  # but it does

run = ct.Simulator(m).run(t_eval=np.linspace(0, 10, 601))

# cosines of the angles between neighbours; threefold symmetry makes every other one equal
along = [run.body(bar).point((0, 0, 0.5)) - run.body(bar).point((0, 0, -0.5)) for bar in bars]
along.append(np.broadcast_to((-1.0, 0, 0), along[0].shape))
cosines = np.array([np.sum(along[k - 1] * along[k], axis=1) for k in range(6)])
unequal = max(np.ptp(cosines[::2], axis=0).max(), np.ptp(cosines[1::2], axis=0).max())
a, b = cosines[:2]
miss = np.abs(a + b + a * b).max()  # Int. J. Solids Struct. 42 (2005) 2287, with axes at right angles
print(f"asymmetry {unequal:.0e}, deviation from the formula {miss:.0e}, energy error {run.energy_error().max():.0e}")
assert unequal < 1e-12  # joints are closed to rounding
assert miss < 1e-12
assert run.energy_error().max() < 1e-4  # the accuracy that is usual

figure = Figure(figsize=(10, 4.5), layout="constrained")
plot.mechanism(run[30], names=False, ax=figure.add_subplot(1, 2, 1, projection="3d"))
axis = figure.add_subplot(1, 2, 2, xlabel="time [s]", ylabel="angle between neighbours [deg]", xlim=(0, 10))
for k, label in enumerate(("at joints 1, 3, 5", "at joints 2, 4, 6")):
    axis.plot(run.time, np.degrees(np.arccos(np.clip(cosines[k], -1, 1))), label=label)
axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
axis.grid(alpha=0.3)
figure.savefig("bricard.png")
run.save_html("bricard")  # a page that plays in any browser
