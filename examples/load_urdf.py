"""A four-bar linkage is read from a URDF file with a loop, posed by its crank angle, and released; it keeps turning."""

from pathlib import Path

import numpy as np

import catena as ct
from catena import plot

GROUND, CRANK, ROD, ROCKER = 0.7, 0.3, 0.6, 0.5  # m


def link(name, length, mass):
    """Return a bar along x from its joint."""
    middle, i = f'<origin xyz="{length / 2} 0 0"/>', mass * length**2 / 12
    return f"""<link name="{name}">
    <inertial>{middle}<mass value="{mass}"/><inertia ixx="1e-4" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual>{middle}<geometry><box size="{length} 0.04 0.04"/></geometry></visual></link>"""


def hinge(name, parent, child, x, pitch):
    """Return a joint about y, at x of its parent."""
    return f"""<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{x} 0 0" rpy="0 {pitch} 0"/><axis xyz="0 1 0"/></joint>"""


# the angles are approximate: in the file's pose, the loop is open by a few centimeters
Path("four_bar.urdf").write_text(f"""<robot name="four_bar"><link name="world"/>
  {link("crank", CRANK, 0.3)} {link("rod", ROD, 0.6)} {link("rocker", ROCKER, 0.5)}
  {hinge("motor", "world", "crank", 0, -1.2)} {hinge("elbow", "crank", "rod", CRANK, 1.0)}
  {hinge("pivot", "world", "rocker", GROUND, -1.4)}
  <loop_joint name="knee" type="revolute"><link1 link="rod" xyz="{ROD} 0 0" rpy="0 0 0"/>
    <link2 link="rocker" xyz="{ROCKER} 0 0" rpy="0 0 0"/><axis xyz="0 1 0"/></loop_joint>
</robot>""")
m = ct.Mechanism.from_urdf("four_bar.urdf")
start = m.assemble(coordinates={"motor": 1.2 - np.pi / 2}, rates={"motor": 6.0})  # closed, the crank straight up, rad/s
print(m.report(start))
run = ct.Simulator(m).run(t_eval=np.linspace(0, 5, 301), state=start)
gap, error = run.drift().max(), run.energy_error().max()
assert error < 1e-3  # ten times the accuracy of 1e-4 that is asked for if nothing is said

# the knee must be at the intersection of two circles: one about the end of the crank, one about the pivot
crank = run.joint("motor").angle - 1.2
end = CRANK * np.exp(-1j * crank)  # x + i z
way = GROUND - end
along = (ROD**2 - ROCKER**2 + abs(way) ** 2) / (2 * abs(way))
circles = end + (along + 1j * np.sqrt(ROD**2 - along**2)) * way / abs(way)
knee = run.body("rocker").point((ROCKER / 2, 0, 0)) @ (1, 0, 1j)
off = abs(knee - circles).max()
print(f"{np.ptp(crank) / (2 * np.pi):.1f} turns, gap {gap:.0e} m, energy error {error:.0e}, knee error {off:.0e} m")
assert off < 1e-12  # joints are closed to rounding

plot.motion(run[:39]).savefig("load_urdf.png")  # the first turn
run.save_html("load_urdf")  # a page that plays in any browser
