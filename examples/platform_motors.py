"""Motors of a Stewart platform are sized from its motion, by inverse kinematics and inverse dynamics.

Peak force, speed and power of each leg. Their work equals the change of energy, and a seventh motor relieves the legs.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import plot

m = ct.scenes.stewart_platform((0, 0, 0.8))
legs = [f"leg{k}" for k in range(1, 7)]
for k in range(1, 7):  # crosses instead of balls at the base: the legs cannot spin, six motions are left
    cylinder, at = m.bodies[f"cylinder{k}"], m.joints[f"base{k}"].anchor_a
    along = cylinder.position - at
    across = np.cross(along, (0, 0, 1))
    m.remove_joint(f"base{k}")
    m.add_joint(ct.Universal(m.world, cylinder, axes=(across, np.cross(along, across)), at=at, name=f"base{k}"))

# a circle of 15 cm radius in 1.5 s, up and down at twice the rate; it starts and ends at rest
duration, dt = 3.0, 0.005
time = np.arange(0, duration + dt / 2, dt)
s = time / duration
turn = 4 * np.pi * s**3 * (10 - 15 * s + 6 * s**2)
path = np.stack((0.15 * (1 - np.cos(turn)) - 0.15, 0.15 * np.sin(turn), 0.8 + 0.04 * np.sin(2 * turn)), axis=1)
path[:, 0] -= path[0, 0]
motion = m.reach({"platform": (path, (1, 0, 0, 0))}, dt=dt)  # the legs' lengths follow

dynamics = ct.Dynamics(m, coordinates=[f"{leg}.displacement" for leg in legs])
rates = dynamics.rates(motion)
accelerations = np.gradient(rates, dt, axis=0)
force = dynamics.efforts(motion, accelerations)
power = force * rates
for k, leg in enumerate(legs):
    print(
        f"{leg}: {np.abs(force[:, k]).max():4.0f} N, {np.abs(rates[:, k]).max():.2f} m/s, {power[:, k].max():4.0f} W, "
        f"stroke {1000 * np.ptp(motion.joint(leg).displacement):.0f} mm"
    )
peak = int(power.max(axis=0).argmax())
print(f"the motor of {legs[peak]} needs most: {power.max():.0f} W at {time[power[:, peak].argmax()]:.2f} s")

# work of the motors and energy of the bodies
work = np.concatenate(([0], np.cumsum(0.5 * (power[1:] + power[:-1]).sum(axis=1) * dt)))
missing = np.abs(work - (motion.energy() - motion.energy()[0])).max()
print(f"{np.ptp(work):.1f} J of work, balance {missing:.0e} J")
assert missing < 3e-3 * np.ptp(work)  # velocities and accelerations are differences over 5 ms

# one more motor, at the cross of the first leg: shared with least norm; with five, the motion cannot be made
seven = dynamics.efforts(motion, accelerations, actuated=[f"{leg}.displacement" for leg in legs] + ["base1.first"])
assert (np.linalg.norm(seven, axis=1) <= np.linalg.norm(force, axis=1) + 1e-9).all()
try:
    dynamics.efforts(motion, accelerations, actuated=[f"{leg}.displacement" for leg in legs[:5]])
except ValueError as error:
    print(error)

figure = Figure(figsize=(11, 4.5), layout="constrained")
plot.mechanism(motion[150], names=False, ax=figure.add_subplot(1, 2, 1, projection="3d"))
upper, lower = (figure.add_subplot(2, 2, k, xlim=(0, duration)) for k in (2, 4))
upper.plot(time, force, label=legs)
lower.plot(time, power)
upper.set(ylabel="force [N]")
lower.set(xlabel="time [s]", ylabel="power [W]")
upper.legend(loc="upper center", ncols=6, fontsize="x-small", handlelength=1, columnspacing=1)
for axis in (upper, lower):
    axis.grid(alpha=0.3)
upper.set_ylim(force.min() - 5, force.max() + 60)
figure.savefig("platform_motors.png")
motion[::4].save_html("platform_motors", traces=["platform"])  # a page that plays in any browser
