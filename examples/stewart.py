"""A Stewart platform follows a circular motion with tilt: inverse kinematics prescribes the length of its six legs.

The platform follows to rounding, and the work of the legs equals the change of its energy.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import plot

m = ct.scenes.stewart_platform(position=(0.15, 0, 0.8))  # 13 bodies, 18 joints; nothing drives it yet
below = np.array([m.joints[f"base{k}"].anchor_a for k in range(1, 7)])  # balls of the legs, in the world
above = np.array([m.joints[f"top{k}"].anchor_b for k in range(1, 7)])  # and in the platform's frame


def pose(t):
    """Return the target position (m) and the tilt about x (rad): one revolution in 2 s."""
    a = np.pi * t
    return np.array((0.15 * np.cos(a), 0.15 * np.sin(a), 0.8 + 0.05 * np.sin(2 * a))), 0.2 * np.sin(a)


def lengths(t):
    """Return the lengths of the legs for this pose (m): inverse kinematics."""
    place, nod = pose(t)
    turn = np.array(((1, 0, 0), (0, np.cos(nod), -np.sin(nod)), (0, np.sin(nod), np.cos(nod))))
    return np.linalg.norm(place + above @ turn.T - below, axis=1)


for k, described in enumerate(lengths(0)):  # where displacements are zero
    m.add_coupling(
        ct.PrescribedMotion(f"leg{k + 1}", lambda t, k=k, zero=described: lengths(t)[k] - zero, name=f"drive{k + 1}")
    )
print(m.report())  # six freedoms: each leg can rotate about its own axis
run = ct.Simulator(m, dt=0.01).run(duration=6, state=m.assemble())  # the legs' velocities follow from the drives

place, nod = (np.array(values) for values in zip(*map(pose, run.time), strict=True))
away = np.abs(run.body("platform").position - place).max()
turned = 2 * np.arctan2(run.body("platform").orientation[:, 1], run.body("platform").orientation[:, 0])
print(f"largest error of the platform {away:.0e} m, {np.abs(turned - nod).max():.0e} rad")
assert away < 1e-12  # drives are constraints, as exact as joints
assert np.abs(turned - nod).max() < 1e-12

forces = np.array([run.coupling(f"drive{k}").effort for k in range(1, 7)])
power = sum(force * run.joint(f"leg{k}").rate for k, force in enumerate(forces, start=1))
work = np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(run.time))
missing = np.abs(work - (run.energy()[1:] - run.energy()[0])).max()
print(f"leg forces {forces.min():.0f} to {forces.max():.0f} N; {np.ptp(work):.0f} J of work, balance {missing:.0e} J")
assert missing < 1e-3 * np.ptp(work)  # trapezoids of 10 ms: their width squared times the square of 2 pi a second

figure = Figure(figsize=(11, 4.5), layout="constrained")
plot.mechanism(run[30], names=False, ax=figure.add_subplot(1, 2, 1, projection="3d"))
axis = figure.add_subplot(1, 2, 2, xlabel="time [s]", ylabel="force of a leg [N]", xlim=(0, 4), ylim=(-25, 95))
axis.plot(run.time, forces.T, label=[f"leg{k}" for k in range(1, 7)])
axis.legend(loc="upper center", ncols=6, fontsize="small", handlelength=1)
axis.grid(alpha=0.3)
figure.savefig("stewart.png")
run[::2].save_html("stewart", traces=["platform"])  # a page that plays in any browser
