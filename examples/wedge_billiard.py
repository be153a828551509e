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
assert hits > 150
assert min(run.contact(name).gap.min() for name in run.mechanism.contacts) > -1e-12
assert error < 1e-10

# a ball that loses a fifth of its speed at every bounce ends at the bottom, pressed against both walls
tired = ct.Simulator(wedge(0.8), dt=0.01).run(duration=20)
force = tired.contact("left").normal_force[-2]
needed = 0.1 * G / (2 * np.sin(SLOPE))
print(f"at rest each wall pushes with {force:.9f} N, statics says {needed:.9f} N")
assert abs(force - needed) < 1e-9


def cage():
    """A square box that hangs on a rod, and a ball in it: four contacts between two moving bodies."""
    m = ct.Mechanism()
    box = m.add_body("box", ct.Inertia(0.5, np.diag((0.02, 0.03, 0.02))), position=MIDDLE, orientation=EIGHTH)
    # what is seen of it, along its own axes
    for size, place in (((0.02, 0.2, 0.6), (0.31, 0, 0)), ((0.6, 0.2, 0.02), (0, 0, 0.31))):
        for side in (1, -1):
            box.add_shape("box", size, position=side * np.array(place), color=(0.4, 0.6, 0.8, 0.4))
    m.add_joint(ct.Revolute("world", "box", axis=(0, 1, 0), at=(0, 0, 0), name="hinge"))
    m.add_body("ball", ct.sphere(RADIUS, mass=0.2), position=MIDDLE + 0.15 * ACROSS)
    for name, normal in (("bottom", -ALONG), ("top", ALONG), ("left", ACROSS), ("right", -ACROSS)):
        wall = MIDDLE - HALF * normal
        m.add_contact("ball", "box", radius=RADIUS, point=wall, normal=normal, restitution=0.97, name=name)
    return m


# from the hinge to the middle of the box, and across
ALONG, ACROSS, HALF = np.array((1, 0, -1)) / np.sqrt(2), np.array((1, 0, 1)) / np.sqrt(2), 0.3
MIDDLE = 1.2 * ALONG
EIGHTH = (np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0)  # turn about y
swing = ct.Simulator(cage(), dt=0.002).run(duration=8)
balance = swing.energy() + swing.dissipated()
off = np.abs(balance - balance[0]).max()
print(f"in the box {len(swing.impacts)} impacts take {swing.dissipated()[-1]:.3f} J, what is left errs by {off:.0e} J")
assert off < 1e-4  # falls with the square of the step

figure = Figure(figsize=(10, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
x, _, z = run.position[:2500, 0].T
left.plot(x, z, linewidth=0.6)
ends = np.array((-1.45, 0, 1.45))
left.plot(ends, np.abs(ends) / np.tan(SLOPE) + RADIUS / np.sin(SLOPE), color="black")
left.set(xlabel="x of the center [m]", ylabel="z [m]", aspect="equal", title="25 s between two walls")
# as the box sees it: turned back about the hinge
(x, _, z), angle = swing.body("ball").position.T, swing.joint("hinge").angle
cos, sin = np.cos(angle), np.sin(angle)
turned = np.stack((cos * x - sin * z, 0 * x, sin * x + cos * z), axis=1)
right.plot(turned @ ACROSS, 1.2 - turned @ ALONG, linewidth=0.8)
edge = HALF - RADIUS
right.plot(np.array((-1, 1, 1, -1, -1)) * edge, np.array((-1, -1, 1, 1, -1)) * edge, color="black")
right.set(
    xlabel="across [m]",
    ylabel="toward the hinge [m]",
    aspect="equal",
    title="8 s in a swinging box, seen from it",
)
figure.savefig("wedge_billiard.png")
swing[::10].save_html("wedge_billiard")  # a page that plays in any browser
