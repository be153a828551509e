"""A governor with stiff springs: the slider oscillates at 1 Hz, and angular momentum about the shaft is conserved."""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

mechanism = ct.scenes.flyball_governor()
run = ct.Simulator(mechanism, dt=0.001).run(duration=10, record_every=10)

height = run.body("slider").position[:, 2]
for t, z in zip(run.time[:121:10], height[:121:10], strict=True):
    print(f"{t:4.1f} s  {z:.4f} m")

# the published figure of this benchmark shows about 0.50 to 0.743 m, and a period of about 1.02 s
low, high = height.min(), height.max()
middle = 0.5 * (low + high)
rising = run.time[1:][(height[:-1] < middle) & (height[1:] >= middle)]
period = np.diff(rising).mean()
print(f"the slider moves between {low:.3f} and {high:.3f} m with a period of {period:.2f} s")
assert abs(low - 0.500) < 1e-3
assert abs(high - 0.743) < 1e-3
assert abs(period - 1.02) < 0.01

spin = run.angular_momentum()[:, 2]
print(f"angular momentum about the shaft changes by {np.ptp(spin) / spin[0]:.1e}, relatively")
assert np.ptp(spin) < 1e-10 * spin[0]

figure = Figure(figsize=(7, 3.5), layout="constrained")
axis = figure.add_subplot(xlabel="time [s]", ylabel="height of the slider [m]", xlim=(0, 10))
axis.plot(run.time, height)
axis.grid(alpha=0.3)
figure.savefig("governor.png")
run.save_html("governor")  # a page that plays in any browser
