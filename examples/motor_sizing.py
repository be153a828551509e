"""A press turns at a constant 120 rpm: the required motor torque, and the forces in its bearings.

Both are written to a table; the torque agrees with the principle of virtual work.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

short, long, speed = 0.1, 0.35, 2 * np.pi * 120 / 60  # crank and rod in m, rad/s
turn, press, y = 2 * np.pi / speed, 800.0, (0, -1, 0)  # s, N, and the axis of all hinges
pin, wrist = (short, 0, 0), (short + long, 0, 0)

m = ct.Mechanism()
crank = m.add_body("crank", ct.rod((0, 0, 0), pin, mass=3.0, radius=0.02))
rod = m.add_body("rod", ct.rod(pin, wrist, mass=2.0, radius=0.015))
slide = m.add_body("slide", ct.box((0.1, 0.08, 0.06), mass=15.0), position=wrist)
m.add_joint(ct.Revolute(m.world, crank, axis=y, at=(0, 0, 0), name="shaft"))
m.add_joint(ct.Revolute(crank, rod, axis=y, at=pin, name="crank pin"))
m.add_joint(ct.Revolute(rod, slide, axis=y, at=wrist, name="wrist pin"))
m.add_joint(ct.Prismatic(m.world, slide, axis=(1, 0, 0), at=wrist, name="guide"))
m.add_coupling(ct.PrescribedMotion("shaft", lambda t: speed * t, name="motor"))
load = ct.Load(force=lambda t: (-press * (np.sin(speed * t) < 0), 0, 0))  # resists the slide on its way out

run = ct.Simulator(m, dt=turn / 360).run(duration=10 * turn, state=m.assemble(), loads={"slide": load})
torque = run.coupling("motor").effort[:360]  # of the first turn, in steps of a degree
bearings = {name: np.linalg.norm(run.joint(name).force[:360], axis=1) for name in m.joints}
table = np.column_stack((np.arange(360), torque, *bearings.values()))
header = ",".join(("crank angle [deg]", "torque [N m]", *(f"{name} [N]" for name in bearings)))
np.savetxt("motor_sizing.csv", table, "%.3f", ",", header=header, comments="")
power, rms = speed * torque.mean(), np.sqrt((torque**2).mean())
print(f"torque up to {torque.max():.1f} N m, {rms:.1f} N m rms, mean power {power:.2f} W")
print("largest bearing forces:", ", ".join(f"{force.max():.0f} N ({name})" for name, force in bearings.items()))

# virtual work: the torque is the energy gained by the mechanism and by the load per radian of the crank
a = np.linspace(0, 2 * np.pi, 36001)
lean, height = np.arcsin(short / long * np.sin(a)), short / 2 * np.sin(a)  # of the rod; the crank's is the same
reach = short * np.cos(a) + long * np.cos(lean)
paths = (reach - long / 2 * np.cos(lean), height, lean, reach)  # middle of the rod, lean of the rod, slide
along, up, tilt, out = np.gradient(paths, a, axis=1, edge_order=2)
motion = speed**2 / 2 * (2 * (along**2 + up**2) + 2 * (3 * 0.015**2 + long**2) / 12 * tilt**2 + 15 * out**2)
formula = np.gradient(motion + 9.81 * (3 + 2) * height, a, edge_order=2) + press * (np.sin(a) < 0) * out
miss = np.abs(torque - formula[:-1:100]).max()
print(f"virtual work gives the same torque within {miss:.0e} N m; 800 N over 0.2 m twice a second are 320 W")
assert miss < 1e-4 * torque.max()  # steps of a degree err by less than its square, 3e-4
assert abs(power - 320) < 1e-4 * 320  # likewise, as a mean over nodes

figure = Figure(figsize=(8, 5.5), layout="constrained")
upper, lower = figure.subplots(2, 1, sharex=True)
upper.plot(torque, label="run")
upper.plot(np.arange(0, 360, 10), formula[:-1:1000], "o", markersize=4, color="black", label="virtual work")
upper.set(ylabel="torque [N m]", xlim=(0, 360), xticks=range(0, 361, 45))
for name, force in bearings.items():
    lower.plot(force, label=name)
lower.set(xlabel="crank angle [deg]", ylabel="force [N]")
for axis in (upper, lower):
    axis.legend(loc="upper left", fontsize="small")
    axis.grid(alpha=0.3)
figure.savefig("motor_sizing.png")
run.save_html("motor_sizing")  # a page that plays in any browser
