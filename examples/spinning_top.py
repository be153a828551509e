"""A fast top on a ball joint precesses: its spin and its angular momentum about the vertical are constant."""

import numpy as np

import catena as ct
from catena import plot

m = ct.Mechanism()
tilt, arm, spin_rate = 0.4, 0.3, 400.0  # rad from the vertical, m from tip to center, rad/s
up = np.array((np.sin(tilt), 0.0, np.cos(tilt)))
lean = (np.cos(tilt / 2), 0.0, np.sin(tilt / 2), 0.0)  # body z along `up`
top = m.add_body(
    "top", ct.cylinder(0.15, 0.05, mass=1.0), position=arm * up, orientation=lean, angular_velocity=spin_rate * up
)
m.add_joint(ct.Ball(m.world, top, at=(0, 0, 0), name="tip"))

run = ct.Simulator(m, accuracy=1e-6).run(duration=10)

spin = run.angular_velocity_body[:, 0, 2]
vertical = run.angular_momentum()[:, 2]
print(f"spin changes by {np.ptp(spin):.1e} rad/s, vertical angular momentum by {np.ptp(vertical):.1e} kg m^2/s")
assert np.ptp(spin) < 1e-9 * spin[0]
assert np.ptp(vertical) < 1e-11 * vertical[0]

# a fast top precesses slowly, at m g arm / (spin angular momentum)
turned = np.unwrap(np.arctan2(run.position[:, 0, 1], run.position[:, 0, 0]))
rate = turned[-1] / run.time[-1]
expected = 1.0 * 9.81 * arm / (0.5 * 1.0 * 0.15**2 * spin_rate)
print(f"precession {rate:.3f} rad/s, fast-top formula {expected:.3f}")
assert abs(rate - expected) < 0.02 * expected

figure = plot.mechanism(run[0], names=False)
figure.axes[0].plot(*run.position[:, 0].T)  # the way of its center
figure.savefig("spinning_top.png")
run.save_html("spinning_top", traces=["top"])  # a page that plays in any browser
