"""The hand of an arm with seven joints draws a circle: inverse kinematics within the limits of the joints.

The hand stays upright, and the remaining freedom keeps each pose near the one before.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import plot

m, last, at = ct.Mechanism(), "world", np.zeros(3)
# axis of each joint, length of its link upward in the described pose (m), and limits (rad)
table = (
    ((0, 0, 1), 0.34, 2.9),
    ((0, 1, 0), 0.20, 2.0),
    ((0, 0, 1), 0.20, 2.9),
    ((0, 1, 0), 0.20, 2.0),
    ((0, 0, 1), 0.20, 2.9),
    ((0, 1, 0), 0.08, 2.0),
    ((0, 0, 1), 0.12, 3.0),
)
for k, (axis, long, most) in enumerate(table, start=1):
    end = at + np.array((0, 0, long))
    m.add_body(f"link{k}", ct.rod(at, end, mass=2.0, radius=0.04))
    m.add_joint(ct.Revolute(last, f"link{k}", axis=axis, at=at, name=f"joint{k}"))
    m.joints[f"joint{k}"].limits = ct.Limits(-most, most)
    last, at = f"link{k}", end
m.add_frame("hand", last, position=at - m.bodies[last].position)

# a pose to begin with: arm bent, hand down
start = m.state()
start.coordinates = (0, 0.65, 0, 1.6, 0, 0.9, 0)
down = (0, 0, 1, 0)  # half a turn about y
dt, count = 0.02, 201
phase = np.linspace(0, 2 * np.pi, count)
circle = np.stack((0.55 + 0.1 * np.cos(phase), 0.1 * np.sin(phase), np.full(count, 0.2)), axis=1)
run = m.reach({"hand": (circle, down)}, start, dt=dt)

place, turn = run.frame("hand")
gap, tilt = np.abs(place - circle).max(), np.abs(np.abs(turn @ down) - 1).max()
print(f"the hand is within {gap:.0e} m of the circle, and upright to {tilt:.0e}")
assert gap < 1e-8
low, high = run.coordinates.min(axis=0), run.coordinates.max(axis=0)
fastest = np.degrees(np.abs(run.rates).max(axis=0))
for name, least, most, fast in zip(m.joints, np.degrees(low), np.degrees(high), fastest, strict=True):
    print(f"{name}: {least:6.1f} to {most:6.1f} degrees, up to {fast:.0f} degrees per second")
assert all(-row[2] - 1e-9 <= a and b <= row[2] + 1e-9 for row, a, b in zip(table, low, high, strict=True))
assert np.abs(np.diff(run.coordinates, axis=0)).max() < 0.05  # no jumps from one solution to another

# what is out of reach is said, with the distance
try:
    m.reach({"hand": ((1.5, 0, 0.2), down)}, start)
except ct.ReachError as error:
    print(error)

figure = Figure(figsize=(11, 4.5), layout="constrained")
scene = figure.add_subplot(1, 2, 1, projection="3d")
plot.mechanism(run[25], names=False, ax=scene)
scene.plot(*circle.T, color="C3")
axis = figure.add_subplot(1, 2, 2, xlabel="time [s]", ylabel="joint angle [degrees]", xlim=(0, run.time[-1]))
axis.plot(run.time, np.degrees(run.coordinates), label=list(m.joints))
axis.legend(loc="upper right", ncols=2, fontsize="small")
axis.grid(alpha=0.3)
figure.savefig("drawing_arm.png")
run[::2].save_html("drawing_arm", traces=["link7"])  # a page that plays in any browser
