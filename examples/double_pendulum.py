"""Chaos: two double pendulums start 1e-9 rad apart, move together for eleven seconds, and then separate.

The distance between them grows by a factor of almost five every second; their energies are conserved.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import plot

elbow, tip = (0.6, 0, 0.8), (1.2, 0, 1.6)  # metres: both rods point up, at rest
one = ct.Mechanism()
upper = one.add_body("upper", ct.rod((0, 0, 0), elbow, mass=1.0))
lower = one.add_body("lower", ct.rod(elbow, tip, mass=1.0))
one.add_joint(ct.Revolute(one.world, upper, axis=(0, 1, 0), at=(0, 0, 0), name="shoulder"))
one.add_joint(ct.Revolute(upper, lower, axis=(0, 1, 0), at=elbow, name="elbow"))

m = ct.Mechanism()
m.add(one)
m.add(one, prefix="other ", at=(0, 0.5, 0))  # a copy, half a metre behind
start = m.state()
start.joint("other shoulder").angle = 1e-9  # moves all that hangs on it

# no accuracy can be reached in chaotic motion, so set dt; the error of a step of order 8 is 1e-13
run = ct.Simulator(m, dt=0.005, order=8).run(duration=15, state=start)

end = (0, 0, 0.5)  # of the lower rods, in their frames: z runs along a rod, from its center
apart = np.linalg.norm(run.body("other lower").point(end) - run.body("lower").point(end) - (0, 0.5, 0), axis=1)
parted = run.time[np.argmax(apart > 0.1)]
factor = (0.1 / apart[0]) ** (1 / parted)
print(f"10 cm apart after {parted:.2f} s; until then the distance grew by a factor of {factor:.1f} per second")
# reference: SciPy's DOP853 in two angles, with a tolerance of 1e-13, gives 11.47 s; an error of a tenth of 1e-9 rad
# shifts this time by less than 0.1 s, the time in which the distance grows by a tenth
assert abs(parted - 11.47) < 0.1

error = run.energy_error().max()
print(f"energy error {error:.0e} of the energy in motion")
assert error < 1e-9  # and it does not grow

figure = Figure(figsize=(10, 4.2), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
plot.motion(run[: np.argmax(run.time > 1.5)], ax=left)
right.semilogy(run.time, apart, label="of the two ends")
right.semilogy((0, parted), (apart[0], 0.1), "--", color="grey", label=f"{factor:.1f}-fold every second")
right.set(xlabel="time [s]", ylabel="distance [m]", xlim=(0, 15), ylim=(1e-10, 10))
right.legend(loc="lower right")
right.grid(alpha=0.3)
figure.savefig("double_pendulum.png")
run.save_html("double_pendulum")  # a page that plays in any browser
