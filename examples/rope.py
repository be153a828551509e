"""A rope of 200 links with a weight at its end is released at an angle: waves travel along it while it swings."""

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import plot

LINKS, LENGTH, ROPE, WEIGHT, G = 200, 10.0, 4.0, 2.0, 9.81  # m, kg, kg, m/s^2


def rope(angle):
    """Make a straight rope at an angle (rad) from vertical, at rest."""
    m = ct.scenes.pendulum(LINKS, "ball", angle=angle, length=LENGTH / LINKS, width=0.06, mass=ROPE / LINKS)
    m.add_body("weight", ct.sphere(0.3, mass=WEIGHT), position=(0, LENGTH * np.sin(angle), -LENGTH * np.cos(angle)))
    m.add_joint(ct.Fixed(f"link{LINKS}", "weight"))
    return m


# at rest, every joint carries the weight below it, to rounding
rest = ct.Simulator(rope(0.0), dt=0.002).run(steps=10)
carried = np.array([rest.joint(f"joint{k + 1}").force[-1, 2] for k in range(LINKS)])
below = G * (WEIGHT + ROPE * (1 - np.arange(LINKS) / LINKS))
print(f"at rest, joint forces equal the weight below them within {np.abs(carried - below).max():.0e} N")
assert np.abs(carried - below).max() < 1e-8

run = ct.Simulator(rope(0.8), dt=0.002).run(duration=8)
gap, error = run.drift().max(), run.energy_error().max()
print(f"largest gap {gap:.1e} m, energy error {error:.1e} of the energy in motion")
assert gap < 1e-12
assert error < 1e-5  # falls with the square of the step; 2 ms resolve all but the shortest waves

# in motion, the top joint carries the weight and the rate of change of momentum; finite differences over 2 ms
top = run.joint("joint1").force
needed = np.gradient(run.momentum(), run.time, axis=0) + np.array((0, 0, G * (ROPE + WEIGHT)))
off = np.abs(top - needed)[1:-1].max()
print(f"largest force at the top {np.linalg.norm(top, axis=1).max():.0f} N, from momentum within {off:.0e} N")
assert off < 1e-3 * G * (ROPE + WEIGHT)

figure = Figure(figsize=(10, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
plot.motion(run[:1600], ax=left)
right.plot(run.time, np.linalg.norm(top, axis=1), label="force at the top")
right.axhline(G * (ROPE + WEIGHT), color="black", linestyle="--", label="weight of it all")
right.set(xlabel="time [s]", ylabel="force [N]", xlim=(0, 8), ylim=(0, None))
right.grid(alpha=0.3)
right.legend()
figure.savefig("rope.png")
run[::16].save_html("rope")  # a page that plays in any browser
