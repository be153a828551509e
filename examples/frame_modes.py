"""A frame of three storeys with stiff floors and springy columns: its vibration modes beside the shear building.

The columns of each storey and its floors are loops with redundant hinges. Each mode swings in a page of its own.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

storeys, width, height, floor, column = 3, 4.0, 3.0, 800.0, 1.0  # m and kg
bend = 4e4  # N m/rad at either end of each column
m = ct.Mechanism()
below, y = "world", (0, 1, 0)
for k in range(1, storeys + 1):
    up = k * height
    m.add_body(f"floor{k}", ct.box((width, 3.0, 0.2), mass=floor), position=(0, 0, up))
    for side, x in (("left", -width / 2), ("right", width / 2)):
        foot, head = (x, 0, up - height), (x, 0, up)
        name = f"{side}{k}"
        m.add_body(name, ct.rod(foot, head, mass=column, radius=0.1))
        m.add_joint(ct.Revolute(below, name, axis=y, at=foot, name=f"foot of {name}"))
        m.add_joint(ct.Revolute(name, f"floor{k}", axis=y, at=head, name=f"head of {name}"))
        m.add_force(ct.Spring(f"foot of {name}", bend, damping=150.0))
        m.add_force(ct.Spring(f"head of {name}", bend, damping=150.0))
    below = f"floor{k}"
print(m.report())

rest = m.equilibrium()
modes = ct.Dynamics(m).modes(rest)
print(modes)
for k in range(len(modes)):
    print(f"{modes.frequencies[k]:.3f} Hz, damping ratio {modes.damping[k]:.3f}")

# shear building: stiffness of a storey from its four springs, less what the weights above it take at their height
above = (floor + 2 * column) * np.arange(storeys, 0, -1)
stiffness = 4 * bend / height**2 - 9.81 * above / height
matrix = np.diag(stiffness)
matrix[:-1, :-1] += np.diag(stiffness[1:])
matrix -= np.diag(stiffness[1:], 1) + np.diag(stiffness[1:], -1)
shear = np.sqrt(np.linalg.eigvalsh(matrix / floor)) / (2 * np.pi)
print("shear building without the columns' inertia:", ", ".join(f"{f:.3f} Hz" for f in shear))
assert np.abs(modes.frequencies / shear - 1).max() < 5e-3  # the columns have 0.3 % of the mass

figure = Figure(figsize=(10, 4.5), layout="constrained")
for k, axis in enumerate(figure.subplots(1, storeys, sharey=True)):
    swing = modes.motion(k)
    farthest = int(np.abs(swing.body(f"floor{storeys}").position[:, 0]).argmax())
    for state, color in ((rest, "0.8"), (swing[farthest], "C0")):
        floors = np.array([(0, 0), *(state.body(f"floor{j}").position[[0, 2]] for j in range(1, storeys + 1))])
        for side in (-width / 2, width / 2):
            axis.plot(floors[:, 0] + side, floors[:, 1], "o-", color=color)
        for x, z in floors[1:]:
            axis.plot((x - width / 2, x + width / 2), (z, z), color=color, linewidth=4)
    axis.set(title=f"{modes.frequencies[k]:.2f} Hz", xlabel="x [m]", aspect="equal")
    modes.save_html(k, "frame_modes" if k == 0 else f"frame_modes_{k + 1}")  # pages that play in any browser
figure.savefig("frame_modes.png")
