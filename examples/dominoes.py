"""A row of dominoes topples: hinges with hard limits, contacts from each to the next, and a wave of constant speed."""

from math import pi

import numpy as np
from matplotlib.figure import Figure

import catena as ct

COUNT, HEIGHT, THICKNESS, WIDTH, SPACING = 16, 0.048, 0.0075, 0.024, 0.0275  # m

m = ct.Mechanism()
length = COUNT * SPACING + HEIGHT
m.world.add_shape("box", (length + 0.03, 0.07, 0.006), position=(0.5 * length - 0.02, 0, -0.003))
for k in range(COUNT):
    x, name = k * SPACING, f"domino {k + 1}"
    m.add_body(name, ct.box((THICKNESS, WIDTH, HEIGHT), mass=0.01), position=(x, 0, 0.5 * HEIGHT))
    # it tips over its front edge; it cannot tip backward, nor farther than flat on the table
    edge = m.add_joint(ct.Revolute("world", name, axis=(0, 1, 0), at=(x + 0.5 * THICKNESS, 0, 0), name=f"edge {k + 1}"))
    edge.limits = ct.Limits(0, pi / 2)
for k in range(COUNT - 1):
    # its upper front edge touches the back of the next one
    front, back = k * SPACING + 0.5 * THICKNESS, (k + 1) * SPACING - 0.5 * THICKNESS
    place = {"at": (front, 0, HEIGHT), "point": (back, 0, 0), "normal": (-1, 0, 0)}
    m.add_contact(f"domino {k + 1}", f"domino {k + 2}", **place, name=f"hit {k + 1}")

state = m.state()
state.joint("edge 1").rate = 6.0  # rad/s: a push
run = ct.Simulator(m, dt=0.001).run(duration=0.9, state=state)
print(run)

# no limit is passed and no domino enters another, and what energy is lost is that of the impacts
angles = np.stack([run.joint(f"edge {k + 1}").angle for k in range(COUNT)], axis=1)
gaps = np.stack([run.contact(f"hit {k + 1}").gap for k in range(COUNT - 1)], axis=1)
total = run.energy() + run.dissipated()
print(f"limits passed by {max(angles.max() - pi / 2, -angles.min()):.0e} rad, contacts by {max(-gaps.min(), 0):.0e} m")
print(f"{1e3 * run.dissipated()[-1]:.1f} mJ go into impacts; energy plus that changes by {1e6 * np.ptp(total):.1f} uJ")
assert max(angles.max() - pi / 2, -angles.min()) <= 1e-12
assert gaps.min() > -1e-12
assert np.ptp(total) < 2e-6

# how long it takes from each domino to the next: whatever the push, the wave finds a speed of its own
hits = [next(i.time for i in run.impacts if i.name == f"hit {k + 1}") for k in range(COUNT - 1)]
strong = m.state()
strong.joint("edge 1").rate = 9.0
harder = ct.Simulator(m, dt=0.001).run(duration=0.9, state=strong)
harder = [next(i.time for i in harder.impacts if i.name == f"hit {k + 1}") for k in range(COUNT - 1)]
print(
    f"from one to the next: {1e3 * (hits[1] - hits[0]):.1f} ms at first, {1e3 * (hits[-1] - hits[-2]):.2f} ms at last"
)
assert abs((hits[-1] - hits[-2]) / (harder[-1] - harder[-2]) - 1) < 1e-4

figure = Figure(figsize=(7, 3.5), layout="constrained")
axis = figure.add_subplot(xlabel="time [s]", ylabel="angle of each domino [rad]", xlim=(0, 0.8))
axis.plot(run.time, angles, linewidth=1.2)
axis.axhline(pi / 2, color="0.4", linewidth=0.8, linestyle="--")
figure.savefig("dominoes.png", dpi=130)
run.save_html("dominoes")  # a page that plays in any browser
