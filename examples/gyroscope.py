"""A gyroscope in gimbals, with a weight on its inner ring, precesses at the rate torque / spin angular momentum.

Released without precession, it nutates, and its angular momentum about the vertical stays zero.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

x, y, z, middle = (1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, 0)
spin, weight, arm = 25.0, 0.1, 0.15  # rad/s, kg, m

m = ct.Mechanism()
outer = m.add_body("outer ring", ct.Inertia(0.4, (0.004, 0.008, 0.004)))  # kg, kg m^2 about x, y, z
inner = m.add_body("inner ring", ct.Inertia(0.3, (0.002, 0.002, 0.004)))
rotor = m.add_body("rotor", ct.rod((0, 0.015, 0), (0, -0.015, 0), mass=1.5, radius=0.1))
load = m.add_body("weight", ct.sphere(0.02, mass=weight), position=(0, -arm, 0))
m.add_joint(ct.Revolute(m.world, outer, axis=z, at=middle, name="heading"))
m.add_joint(ct.Revolute(outer, inner, axis=x, at=middle, name="nod"))
m.add_joint(ct.Revolute(inner, rotor, axis=y, at=middle, name="spin"))
m.add_joint(ct.Fixed(inner, load))
rotor.add_shape("box", (0.15, 0.02, 0.034), color=(0.9, 0.9, 0.9))  # looks alone, to see it spin
for body, radius, axis, side in ((outer, 0.19, y, z), (inner, arm, z, x)):  # and rings of 24 bars
    across = np.cross(axis, side)
    for a in np.arange(24) * np.pi / 12:
        place = radius * (np.cos(a) * np.array(side) + np.sin(a) * across)
        turn = (np.cos(a / 2), *(np.sin(a / 2) * np.array(axis)))
        body.add_shape("box", 0.01 + 0.265 * radius * np.abs(across), position=place, orientation=turn)

# with a horizontal axle, the torque of the weight rotates the spin angular momentum; the rings have no effect
momentum = 0.5 * 1.5 * 0.1**2 * spin
expected = weight * 9.81 * arm / momentum
start = m.state()
start.joint("spin").rate = spin
start.joint("heading").rate = expected
simulator = ct.Simulator(m, accuracy=1e-6)
steady = simulator.run(duration=8, state=start)
rate, nod = steady.joint("heading").angle[-1] / 8, np.abs(steady.joint("nod").angle).max()
print(f"precession {rate:.9f} rad/s, formula {expected:.9f} rad/s; nutation {nod:.0e} rad")
assert abs(rate - expected) < 1e-6 * expected  # the accuracy that was asked for
assert nod < 1e-6

start.joint("heading").rate = 0
run = simulator.run(t_eval=np.linspace(0, 8, 961), state=start)
rate, nod = run.joint("heading").angle[-1] / 8, np.abs(run.joint("nod").angle).max()
print(f"released at rest: precession {rate:.3f} rad/s, nutation {nod:.3f} rad")
assert np.abs(run.angular_momentum()[:, 2]).max() < 1e-12 * momentum  # nothing twists about the vertical

figure = Figure(figsize=(8, 3.5), layout="constrained")
axis = figure.add_subplot(xlabel="heading [rad]", ylabel="height of the weight [mm]", xlim=(0, np.pi), ylim=(-22, 5))
for seen, label in ((run, "let go at rest"), (steady, "let go at the formula's rate")):
    axis.plot(seen.joint("heading").angle, 1000 * seen.body("weight").position[:, 2], label=label)
axis.legend(loc="upper right", ncols=2)
axis.grid(alpha=0.3)
figure.savefig("gyroscope.png")
run.save_html("gyroscope")  # a page that plays in any browser
