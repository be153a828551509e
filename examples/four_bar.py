"""A four-bar linkage turns for a minute, and a pen on its coupler traces the same closed curve in every turn."""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

a, b, c, d = (0, 0, 0), (0.3, 0, 0), (1.2, 0, 0.4), (0.9, 0, 0)  # metres, world frame
y = (0, 1, 0)

m = ct.Mechanism()
crank = m.add_body("crank", ct.rod(a, b, mass=0.3, radius=0.03))  # a rod between two points knows its own pose
coupler = m.add_body("coupler", ct.rod(b, c, mass=1.0, radius=0.03))
rocker = m.add_body("rocker", ct.rod(c, d, mass=0.5, radius=0.03))
m.add_joint(ct.Revolute(m.world, crank, axis=y, at=a, name="motor"))
m.add_joint(ct.Revolute(crank, coupler, axis=y, at=b))
m.add_joint(ct.Revolute(coupler, rocker, axis=y, at=c))
m.add_joint(ct.Revolute(rocker, m.world, axis=y, at=d))  # closes the loop: nothing special to say
along_x = np.array((1, 0, 1, 0)) / np.sqrt(2)  # cylinders lie along z: a quarter turn about y
m.world.add_shape("cylinder", (0.015, 0.9), position=(0.45, 0, 0), orientation=along_x)  # the ground
m.add_frame("pen", "coupler", position=(-0.3, 0, 0))  # 0.3 m above the middle of the coupler, in its frame
coupler.add_shape("box", (0.3, 0.03, 0.03), position=(-0.15, 0, 0))  # to be seen; the mass stays as it is

report = m.report()
print(report)
assert report.freedom == 1  # Gruebler's count in the plane: 3 bodies * 3 - 4 hinges * 2
assert report.redundant_count == 3  # the same in space gives 3 * 6 - 4 * 5 = -2, which is three too few

run = ct.Simulator(m).run(duration=60, state=m.assemble(rates={"motor": 12.0}))  # rad/s; the other bodies follow
turns, error = np.ptp(run.joint("motor").angle) / (2 * np.pi), run.energy_error().max()

# geometric solution in complex numbers: circles about the crank's end and the rocker's pivot intersect in the knee
x, _, z = run.body("crank").point((0, 0, 0.15)).T
pin, foot = x + 1j * z, 0.9
long, short, far = np.hypot(0.9, 0.4), np.hypot(0.3, 0.4), abs(foot - pin)
along = (long**2 - short**2 + far**2) / (2 * far)
knee = pin + (foot - pin) / far * (along + 1j * np.sqrt(long**2 - along**2))
curve = (pin + knee) / 2 + 0.3j * (knee - pin) / long
x, _, z = run.body("coupler").point((-0.3, 0, 0)).T
miss = np.abs(x + 1j * z - curve).max()
print(f"{turns:.0f} turns; the pen deviates from its curve by {miss:.0e} m at most, energy error {error:.0e}")
assert miss < 1e-12  # joints are closed to rounding
assert error < 1e-3  # ten times the accuracy of 1e-4 that is usual, after 1500 steps

figure = Figure(figsize=(7, 5), layout="constrained")
axis = figure.add_subplot(xlabel="x [m]", ylabel="z [m]", aspect="equal")
axis.plot(x, z, ".", markersize=3, label="the pen, at all nodes of a minute")
for k, color in zip((0, 2, 4, 6), ("#f2a65a", "#6aa97b", "#b07aa1", "#d9695f"), strict=True):
    bars = np.array((0, pin[k], knee[k], foot, np.nan, pin[k], curve[k], knee[k]))
    axis.plot(bars.real, bars.imag, "o-", color=color, markersize=4, label=f"{run.time[k]:.2f} s")
axis.legend(loc="lower right", fontsize="small")
axis.grid(alpha=0.3)
figure.savefig("four_bar.png")
run[:200].save_html("four_bar", traces=["pen"])  # a page that plays in any browser
