"""An arm follows a fast motion: computed torque beside PD control with the same stiffness.

Inverse dynamics give the torques of the motion, so the controller only has to correct what is left.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import plot

m = ct.Mechanism()
shoulder, elbow, hand = (0, 0, 0.4), (0.5, 0, 0.4), (0.9, 0, 0.4)
m.add_body("column", ct.box((0.15, 0.15, 0.4), mass=10.0), position=(0, 0, 0.2))
m.add_body("upper arm", ct.rod(shoulder, elbow, mass=4.0, radius=0.04))
m.add_body("forearm", ct.rod(elbow, hand, mass=2.5, radius=0.03))
m.add_joint(ct.Revolute(m.world, "column", axis=(0, 0, 1), at=(0, 0, 0), name="turn"))
m.add_joint(ct.Revolute("column", "upper arm", axis=(0, 1, 0), at=shoulder, name="lift"))
m.add_joint(ct.Revolute("upper arm", "forearm", axis=(0, 1, 0), at=elbow, name="bend"))
for joint in ("turn", "lift", "bend"):
    m.add_force(ct.Motor(joint, 0.0, name=f"motor of {joint}"))
m.add_frame("hand", "forearm", position=(0, 0, 0.2))

size, speed = np.array((1.0, 0.5, 0.8)), np.array((2.5, 4.0, 5.0))  # rad, rad/s


def wanted(t):
    """Return coordinates, rates and accelerations of the motion."""
    return size * np.sin(speed * t), size * speed * np.cos(speed * t), -size * speed**2 * np.sin(speed * t)


dynamics = ct.Dynamics(m)
simulator = ct.Simulator(m, dt=0.002)  # the controller acts every 2 ms
stiffness, damping = 100.0, 20.0  # of each joint per unit of its inertia: settles within half a second
inertia = np.diag(dynamics.mass_matrix(m.state()))  # what PD control takes for the arm's inertia


def computed_torque(live, target, rate, acceleration):
    """Return the torques of the motion, and those that correct its error."""
    correction = stiffness * (target - live.coordinates) + damping * (rate - live.rates)
    return dynamics.efforts(live, acceleration + correction)


def pd(live, target, rate, acceleration):
    """Return torques of springs and dampers toward the target."""
    return inertia * (stiffness * (target - live.coordinates) + damping * (rate - live.rates))


def pd_gravity(live, target, rate, acceleration):
    """Return the same, and the torques that hold the weight."""
    return pd(live, target, rate, acceleration) + dynamics.gravity(live)


times = simulator.dt * np.arange(2000)
start = m.state()
start.rates = wanted(0)[1]
errors, torques = {}, {}
for law in (pd, pd_gravity, computed_torque):
    live, error, torque = simulator.start(start), [], []
    for t in times:
        live.inputs[:] = law(live, *wanted(t))
        live.step()
        error.append(wanted(live.time)[0] - live.coordinates)
        torque.append(live.inputs.copy())
    errors[law.__name__], torques[law.__name__] = np.degrees(error), np.array(torque)
largest = {name: np.abs(error).max() for name, error in errors.items()}
for name, error in largest.items():
    print(f"{name:16} largest error {error:6.3f} degrees, up to {np.abs(torques[name]).max():.0f} N m")
assert largest["computed_torque"] < 0.3  # torques are held for 2 ms, during which the motion goes on
assert largest["computed_torque"] < 0.05 * largest["pd_gravity"] < 0.05 * largest["pd"]

figure = Figure(figsize=(11, 4.5), layout="constrained")
plot.mechanism(live.state(), names=False, ax=figure.add_subplot(1, 2, 1, projection="3d"))
axis = figure.add_subplot(
    1, 2, 2, xlabel="time [s]", ylabel="largest joint error [degrees]", yscale="log", ylim=(1e-3, 1e2)
)
for name, label in (("pd", "PD"), ("pd_gravity", "PD and gravity"), ("computed_torque", "computed torque")):
    axis.plot(times, np.abs(errors[name]).max(axis=1), label=label)
axis.legend(loc="center right", fontsize="small")
axis.grid(alpha=0.3)
figure.savefig("computed_torque.png")


def control(t, live):
    """Follow by computed torque."""
    live.inputs[:] = computed_torque(live, *wanted(t))


run = simulator.run(duration=4, state=start, control=control)
run[::10].save_html("computed_torque", traces=["forearm"])  # a page that plays in any browser
