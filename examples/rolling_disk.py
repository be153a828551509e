"""A disk rolls around a circle, as the formula of steady rolling predicts; another, half as fast, traces a rosette."""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

r, thick, mass = 0.3, 0.02, 1.0  # m, kg
lean, ring = 0.35, 0.8  # rad from upright; m from the middle of the circle to the center of the disk
up = np.array((-np.sin(lean), 0, np.cos(lean)))  # from where it touches the ground to its center, leaning inwards
axle = np.array((np.cos(lean), 0, np.sin(lean)))
half = (np.pi / 2 - lean) / 2  # a quaternion has half of the turn: about y, from the cylinder's axis z to the axle

# steady rolling: the torque of gravity rotates the angular momentum about the contact point at this rate (rad/s)
across, about = mass * (3 * r**2 + thick**2) / 12, mass * r**2 / 2
pace = np.sqrt(mass * 9.81 * r * np.tan(lean) / ((about + mass * r**2) * ring / r + across * np.sin(lean)))

m = ct.Mechanism()
for name, middle, factor in (("steady", 0.0, 1.0), ("swaying", 1.0, 0.5)):
    disk = m.add_body(
        name,
        ct.cylinder(r, thick, mass=mass),
        position=(middle + ring, 0, r * np.cos(lean)),
        orientation=(np.cos(half), 0, np.sin(half), 0),
        velocity=(0, factor * pace * ring, 0),
        angular_velocity=factor * pace * (np.cos(lean) * up - ring / r * axle),
    )
    disk.add_shape("sphere", (0.04,), position=(0.8 * r, 0, 0), color=(0.8, 0.2, 0.2))  # to see it turn
    m.add_joint(ct.RollingDisk(m.world, disk, radius=r))  # on z = 0, about the body's z, unless told otherwise

run = ct.Simulator(m, accuracy=1e-6).run(t_eval=np.linspace(0, 15, 1801))

x, y, _ = run.body("steady").position.T
miss = np.abs(x + 1j * y - ring * np.exp(1j * pace * run.time)).max()
print(f"{run.time[-1] * pace / (2 * np.pi):.1f} revolutions, largest deviation from the formula {miss:.0e} m")
print(f"energy error {run.energy_error().max():.0e} of the energy in motion")
assert miss < 1e-5 * ring  # ten times the accuracy, as errors add up
assert run.energy_error().max() < 1e-6

figure = Figure(figsize=(9, 5), layout="constrained")
axis = figure.add_subplot(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="where they touch the ground")
for name in m.bodies:
    center = run.body(name).position
    along = run.body(name).point((0, 0, 1)) - center  # the axle
    upwards = (0, 0, 1) - along[:, 2:] * along
    touch = center - r * upwards / np.linalg.norm(upwards, axis=1, keepdims=True)
    axis.plot(touch[:, 0], touch[:, 1], label=name)
axis.legend(loc="upper right")
axis.grid(alpha=0.3)
figure.savefig("rolling_disk.png")
run.save_html("rolling_disk", traces=["steady", "swaying"])  # a page that plays in any browser
