"""A bead slides around in a bowl and traces a rosette. The bowl is a custom joint, written in Python."""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

P, G, MASS = 0.5, 9.81, 0.2  # m: how wide the bowl z = (x^2 + y^2) / (2 P) is; m/s^2, kg


def gap(world, bead):
    """Return the height of the bead above the bowl (m), the only function that a custom joint needs."""
    x, y, z = bead.position
    return z - (x * x + y * y) / (2 * P)


def jacobian(world, bead):
    """Return derivatives for displacement and rotation of the world and the bead: optional, but ten times as fast."""
    x, y, _ = bead.position
    return [(0, 0, 0, 0, 0, 0, -x / P, -y / P, 1, 0, 0, 0)]


m = ct.Mechanism()
m.add_body("bead", ct.sphere(0.05, mass=MASS), position=(1, 0, 1 / (2 * P)), velocity=(0, 1.2, 0))
m.add_joint(ct.Custom("world", "bead", gap, jacobian=jacobian, name="bowl"))
run = ct.Simulator(m, dt=0.02, order=4).run(duration=10)


def motion(s):
    """Equations of motion for comparison: the bowl pushes 1 kg upward with `push` N, and inward by its slope."""
    xy, v = s
    push = (G + v @ v / P) / (1 + xy @ xy / P**2)
    return np.array((v, -push * xy / P))


s, h, paper = np.array(((1, 0), (0, 1.2))), 0.002, []
for _ in run.time:
    paper.append(s[0])
    for _ in range(10):  # Runge and Kutta's rule, ten steps for one
        k1 = motion(s)
        k2 = motion(s + h / 2 * k1)
        k3 = motion(s + h / 2 * k2)
        s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + motion(s + h * k3))
off, spin = np.linalg.norm(run.position[:, 0, :2] - paper, axis=1).max(), run.angular_momentum()[:, 2]
print(f"error {off:.0e} m, gap {run.drift().max():.0e} m, spin changes by {np.ptp(spin) / spin[0]:.0e} of itself")
assert off < 1e-4  # the steps' own errors, `run.error`, add up to 5e-5
assert run.drift().max() < 1e-12
assert np.ptp(spin) < 1e-12 * spin[0]  # the bowl is round: angular momentum stays, to rounding

figure = Figure(figsize=(6, 6), layout="constrained")
axis = figure.add_subplot(projection="3d", xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
r, turn = np.meshgrid(np.linspace(0, 1.1, 12), np.linspace(0, 2 * np.pi, 37))
axis.plot_wireframe(r * np.cos(turn), r * np.sin(turn), r**2 / (2 * P), color="lightgrey", linewidth=0.5)
axis.plot(*run.position[:, 0].T)
figure.savefig("custom_joint.png")
run.save_html("custom_joint", traces=["bead"])  # a page that plays in any browser
