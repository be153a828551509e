"""Muscles hold a leg: their forces from gravity torques and moment arms, and the pose at rest with these forces.

With the muscles as springs that have these forces, the leg comes to rest in the pose for which they were found.
"""

from itertools import chain, combinations

import numpy as np
from matplotlib.figure import Figure

import catena as ct

hip, knee, ankle = (0, 0, 0.9), (0, 0, 0.48), (0, 0, 0.05)
leg = ct.Mechanism()
leg.add_body("pelvis", ct.box((0.12, 0.2, 0.15), mass=10.0), position=(0, 0, 0.98))
leg.add_body("thigh", ct.box((0.1, 0.1, 0.42), mass=7.5), position=(0, 0, 0.69))
leg.add_body("shank", ct.box((0.07, 0.07, 0.43), mass=4.5), position=(0, 0, 0.265))
leg.add_joint(ct.Fixed("world", "pelvis", at=(0, 0, 0.98), name="seat"))
leg.add_joint(ct.Revolute("pelvis", "thigh", axis=(0, -1, 0), at=hip, name="hip"))  # positive: forward
leg.add_joint(ct.Revolute("thigh", "shank", axis=(0, 1, 0), at=knee, name="knee"))  # positive: bent

# name: bodies and points of origin and insertion in the upright pose, in m; a straight line between them
muscles = {
    "iliopsoas": ("pelvis", (0.06, 0, 0.98), "thigh", (0.02, 0, 0.80)),
    "rectus femoris": ("pelvis", (0.07, 0, 0.95), "shank", (0.06, 0, 0.42)),
    "vasti": ("thigh", (0.05, 0, 0.70), "shank", (0.055, 0, 0.42)),
    "hamstrings": ("pelvis", (-0.06, 0, 0.88), "shank", (-0.04, 0, 0.42)),
}
dynamics, upright = ct.Dynamics(leg), leg.state()


def offset(body, point):
    """Return a world point of the upright pose in the axes of the body."""
    return np.subtract(point, leg.bodies[body].position)


def lengths_and_arms(state):
    """Return muscle lengths (muscle,) in m, and moment arms (muscle, joint): how much shorter per radian."""
    found, arms = [], []
    for a, point_a, b, point_b in muscles.values():
        line = state.body(b).point(offset(b, point_b)) - state.body(a).point(offset(a, point_a))
        length = np.linalg.norm(line)
        spread = dynamics.jacobian(state, b, offset(b, point_b)) - dynamics.jacobian(state, a, offset(a, point_a))
        found.append(length)
        arms.append(-line / length @ spread[:3])
    return np.array(found), np.array(arms)


def tensions(torques, arms):
    """Return the forces (muscle,) of least norm that give these torques, none of which pushes."""
    least = np.full(len(arms), np.inf)
    for chosen in chain.from_iterable(combinations(range(len(arms)), count) for count in range(2, len(arms) + 1)):
        force = np.zeros(len(arms))
        force[list(chosen)] = np.linalg.lstsq(arms[list(chosen)].T, torques, rcond=None)[0]
        does = force.min() > -1e-9 and np.abs(arms.T @ force - torques).max() < 1e-9
        if does and np.linalg.norm(force) < np.linalg.norm(least):
            least = force
    return least


# the thigh at 40 degrees, the knee more and more stretched
bends = np.radians(np.linspace(80, 5, 76))
rows = []
for bend in bends:
    state = leg.state()
    state.joint("hip").angle, state.joint("knee").angle = np.radians(40), bend
    length, arms = lengths_and_arms(state)
    force = tensions(dynamics.gravity(state), arms)
    assert np.allclose(arms.T @ force, dynamics.gravity(state), atol=1e-9)
    rows.append(force)
rows = np.array(rows)
held, at_rest = 60, []  # at 20 degrees
state.joint("knee").angle = bends[held]
length, arms = lengths_and_arms(state)
torque = dynamics.gravity(state)
print(f"gravity takes {torque[0]:.1f} N m at the hip and {-torque[1]:.1f} N m at the knee")
print("muscles:", ", ".join(f"{name} {force:.0f} N" for name, force in zip(muscles, rows[held], strict=True)))

# as springs of 20 N/mm with these forces in this pose; from upright, the leg comes to rest here
sprung = leg.copy()
for name, force, long in zip(muscles, rows[held], length, strict=True):
    a, point_a, b, point_b = muscles[name]
    if force > 0:
        anchors = (offset(a, point_a), offset(b, point_b))
        sprung.add_force(
            ct.PointSpring(a, b, anchors=anchors, stiffness=2e4, rest_length=long - force / 2e4, name=name)
        )
rest = sprung.equilibrium(sprung.state())
miss = np.abs(rest.coordinates - state.coordinates).max()
modes = ct.Dynamics(sprung).modes(rest)
shakes = ", ".join(f"{f:.1f}" for f in modes.frequencies)
print(f"as springs they hold the leg within {miss:.0e} rad; it shakes at {shakes} Hz")
assert miss < 1e-9
assert modes.is_stable

figure = Figure(figsize=(11, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
for body, ends in (("thigh", (hip, knee)), ("shank", (knee, ankle))):
    left.plot(
        *np.transpose([rest.body(body).point(offset(body, end))[[0, 2]] for end in ends]),
        color="0.75",
        linewidth=18,
        solid_capstyle="round",
    )
left.plot(*leg.bodies["pelvis"].position[[0, 2]], "s", color="0.75", markersize=40)
for name, (a, point_a, b, point_b) in muscles.items():
    ends = rest.body(a).point(offset(a, point_a)), rest.body(b).point(offset(b, point_b))
    left.plot(*np.transpose(ends)[[0, 2]], linewidth=3, label=name)
left.set(xlabel="x [m]", ylabel="z [m]", aspect="equal", title="at rest")
left.legend(fontsize="small")
right.plot(np.degrees(bends), rows, label=list(muscles))
right.set(xlabel="angle of the knee [degrees]", ylabel="force [N]", title="thigh at 40 degrees")
right.grid(alpha=0.3)
figure.savefig("leg_muscles.png")
ct.Simulator(sprung, dt=0.001).run(duration=2, state=sprung.state())[::10].save_html("leg_muscles")  # swings about it
