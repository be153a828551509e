"""A ball bounces in a wedge for a hundred seconds and loses nothing; another one jumps about in a swinging box."""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

RADIUS, SLOPE, G = 0.05, 0.9, 9.81  # m, rad of each wall from the vertical, m/s^2


def wedge(restitution):
    """Two walls that meet at the origin, and a ball above them."""
    m = ct.Mechanism()
    m.add_body("ball", ct.sphere(RADIUS, mass=0.1), position=(0.25, 0, 1.2))
    for name, side in (("left", 1), ("right", -1)):
        normal = (side * np.cos(SLOPE), 0, np.sin(SLOPE))
        m.add_contact("ball", radius=RADIUS, normal=normal, restitution=restitution, name=name)
    return m


run = ct.Simulator(wedge(1.0), dt=0.01).run(duration=100)
hits, error = len(run.impacts), np.ptp(run.energy()) / run.energy()[0]
print(f"{hits} bounces, energy kept to {error:.0e} of itself")
print(f"smallest gap at a node {min(run.contact(name).gap.min() for name in run.mechanism.contacts):.0e} m")
assert hits > 150
assert error < 1e-10

# a ball that loses a fifth of its speed at every bounce ends at the bottom, pressed against both walls
tired = ct.Simulator(wedge(0.8), dt=0.01).run(duration=20)
force = tired.contact("left").normal_force[-2]
needed = 0.1 * G / (2 * np.sin(SLOPE))
print(f"at rest each wall pushes with {force:.9f} N, statics says {needed:.9f} N")
assert abs(force - needed) < 1e-9


def cage():
    """A square box that hangs on a rod, and a ball in it: four contacts between two moving bodies."""
    m, middle, half = ct.Mechanism(), np.array((0.9, 0, -0.9)), 0.3
    turn = ct.rod((0, 0, 0), middle, mass=0.5)
    m.add_body("box", turn)
    m.add_joint(ct.Revolute("world", "box", axis=(0, 1, 0), at=(0, 0, 0), name="hinge"))
    m.add_body("ball", ct.sphere(RADIUS, mass=0.2), position=middle + np.array((0.05, 0, 0.1)))
    along, across = middle / np.linalg.norm(middle), np.array((1, 0, 1)) / np.sqrt(2)
    for name, normal in (("far", -along), ("near", along), ("upper", -across), ("lower", across)):
        wall = middle - half * normal
        m.add_contact("ball", "box", radius=RADIUS, point=wall, normal=normal, restitution=0.9, name=name)
    return m


swing = ct.Simulator(cage(), dt=0.005).run(duration=6)
balance = swing.energy() + swing.dissipated()
print(
    f"in the box {len(swing.impacts)} impacts take {swing.dissipated()[-1]:.3f} J, the rest stays within "
    f"{np.abs(balance - balance[0]).max():.0e} J"
)
assert np.abs(balance - balance[0]).max() < 1e-3  # falls with the square of the step

figure = Figure(figsize=(10, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
fine = run.at(np.arange(0, 25, 0.005))
x, z = fine.body("ball").position[:, 0], fine.body("ball").position[:, 2]
left.plot(x, z, linewidth=0.6)
reach = 1.05 * np.abs(x).max()
low = RADIUS / np.sin(SLOPE)
left.plot([-reach, 0, reach], np.abs([-reach, 0, reach]) / np.tan(SLOPE) + low, color="black")
left.set(xlabel="x of the center [m]", ylabel="z [m]", aspect="equal", title="25 s in the wedge")
box, ball = swing.body("box"), swing.body("ball")
seen = swing.at(np.arange(0, 6, 0.005))
inside = [state.body("box").point((0, 0, 0)) for state in swing[::200]]
right.plot(seen.body("ball").position[:, 0], seen.body("ball").position[:, 2], linewidth=0.8, label="ball")
right.plot(seen.body("box").position[:, 0], seen.body("box").position[:, 2], linewidth=0.8, label="middle of the rod")
right.set(xlabel="x [m]", ylabel="z [m]", aspect="equal", title="in a swinging box")
right.legend()
figure.savefig("wedge_billiard.png")
run[:1000].save_html("wedge_billiard")  # a page that plays in any browser
