"""Two servos on the hips of a Minitaur leg, a closed five-bar, move its foot along a stride, within 1 mm."""

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import plot

THIGH, SHIN, GAIN = 0.1, 0.2, 100.0  # m, m, N m/rad
leg = ct.scenes.minitaur_leg()  # as described both thighs lie level
leg.add_frame("foot", "leg front shin", position=(0, 0, 0.5 * SHIN))


def path(t):
    """Return the target of the foot (y, z): straight along the ground, back in the air, and at rest once a second."""
    phase = 2 * np.pi * t - np.sin(2 * np.pi * t)
    return 0.07 * np.cos(phase), -0.23 + 0.06 * np.maximum(0, np.sin(phase)) ** 2


def angles(t):
    """Return both motor angles: the hips are coaxial, so the thighs are symmetric about the line to the foot."""
    y, z = path(t)
    reach, lean = np.hypot(y, z), np.arctan2(y, -z)
    spread = np.arccos((reach**2 + THIGH**2 - SHIN**2) / (2 * reach * THIGH))
    return lean + spread - np.pi / 2, lean - spread + np.pi / 2


motors = ("leg front motor", "leg rear motor")
for k, motor in enumerate(motors):
    leg.add_force(ct.Servo(motor, kp=GAIN, kd=1.0, target=lambda t, k=k: angles(t)[k]))
start = leg.assemble(coordinates=dict(zip(motors, angles(0.0), strict=True)))
run = ct.Simulator(leg, dt=0.002).run(duration=5, state=start)

foot, wanted = run.body("leg front shin").point((0, 0, 0.5 * SHIN))[:, 1:], np.stack(path(run.time), axis=1)
off, gap = np.linalg.norm(foot - wanted, axis=1), run.drift().max()
torque = np.abs([run.force(f"servo on {motor}").effort for motor in motors]).max()
print(f"largest error of the foot {1e3 * off.max():.2f} mm, largest torque {torque:.2f} N m, largest gap {gap:.1e} m")
# the error of a servo is its torque divided by kp, below 4 mrad here, on a leg of at most 0.25 m
assert torque < 0.4
assert off.max() < 0.25 * 0.4 / GAIN
assert gap < 1e-12  # the loop is closed, to rounding

figure = Figure(figsize=(10, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
plot.motion(run[:500], ax=left)
left.plot(*foot[:500].T, color="tab:orange", linewidth=4, label="foot")
left.plot(*wanted[:500].T, "k--", linewidth=1.5, label="wanted")
left.legend(loc="lower right")
right.plot(run.time, 1e3 * off)
right.set(xlabel="time [s]", ylabel="foot off its path [mm]", xlim=(0, 5), ylim=(0, None))
right.grid(alpha=0.3)
figure.savefig("minitaur_leg.png")
run.save_html("minitaur_leg", traces=["foot"])  # a page that plays in any browser
