"""A robot of catena's scenes as plain data, the same for every engine, and written down for the others.

A link's frame sits at its joint and stands as its body does; coordinates of the tree are those of catena's joints,
which are zero in the described pose, and whose servos act along them one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import catena as ct
from catena._util.rotation import conjugate, multiply, rotate, to_matrix

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PrescribedMotion:
    """A servo: gain (target - q) - kd rate, within the limit."""

    kp: float
    kd: float
    target: float
    limit: float


@dataclass(frozen=True)
class Link:
    """A body, hung on its parent (-1: the world) by hinges one after the other; with none it is welded, or floats."""

    name: str
    joint: str | None  # None: it floats
    parent: int
    place: Array  # of its frame in that of the parent
    turn: Array  # quaternion (w, x, y, z), the same
    mass: float
    center: Array  # of mass
    inertia: Array  # (3, 3) about it
    axes: list[Array] = field(default_factory=list)
    drives: list[PrescribedMotion] = field(default_factory=list)


@dataclass(frozen=True)
class Robot:
    """Links, depth first, and gravity."""

    links: list[Link]
    gravity: Array

    @property
    def drives(self) -> list[PrescribedMotion]:
        """Of all hinges."""
        return [drive for link in self.links for drive in link.drives]

    def mjcf(self, dt: float, integrator: str) -> str:
        """The robot as an MJCF document, servos as position actuators; what it has no need of is switched off."""
        off = " ".join(f'{what}="disable"' for what in ("contact", "constraint", "spring", "damper", "autoreset"))
        option = f'timestep="{dt!r}" gravity="{_text(self.gravity)}" integrator="{integrator}"'
        drives = [
            f'<position joint="{k.name} {j}" kp="{d.kp}" kv="{d.kd}" forcerange="{-d.limit} {d.limit}"/>'
            for k in self.links
            for j, d in enumerate(k.drives)
        ]
        return (
            f'<mujoco><compiler angle="radian"/><option {option}><flag {off}/></option>'
            f"<worldbody>{self._bodies(-1)}</worldbody><actuator>{''.join(drives)}</actuator></mujoco>"
        )

    def _bodies(self, parent: int) -> str:
        text = ""
        for i, k in enumerate(self.links):
            if k.parent != parent:
                continue
            tensor = _text(k.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
            joints = "<freejoint/>" if k.joint is None else ""
            for j, axis in enumerate(k.axes):
                joints += f'<joint type="hinge" name="{k.name} {j}" axis="{_text(axis)}"/>'
            text += (
                f'<body name="{k.name}" pos="{_text(k.place)}" quat="{_text(k.turn)}">{joints}'
                f'<inertial mass="{k.mass!r}" pos="{_text(k.center)}" fullinertia="{tensor}"/>{self._bodies(i)}</body>'
            )
        return text


def _text(numbers: Array) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def describe(m: ct.Mechanism) -> Robot:
    """Read a tree of hinges and universal joints, each of which hangs body b on body a."""
    carried = {joint.b.name: joint for joint in m.joints.values()}
    laws = {(p.measure.joint, p.measure.index): p.law for f in m.forces.values() for p in f.parts}
    base = next(name for name in m.bodies if name not in carried or carried[name].a.is_world)
    links: list[Link] = []

    def add(name: str, parent: int) -> None:
        body, joint = m.bodies[name], carried.get(name)
        if joint is None:
            # its frame is that of the body
            place, turn, center, axes, drives = body.position, body.orientation, np.zeros(3), [], []
        else:
            place = joint.anchor_a + (links[parent].center if parent >= 0 else 0.0)
            turn = multiply(conjugate(joint.a.orientation), body.orientation)
            center = -joint.anchor_b
            axes = [to_matrix(joint.frame_b)[:, k] for k in _COLUMNS[type(joint)]]
            own = [laws[joint.name, k] for k in range(joint.dof)]
            drives = [PrescribedMotion(law["kp"], law["kd"], law["target"], law["effort_limit"]) for law in own]
        me = len(links)
        label = None if joint is None else joint.name
        links.append(Link(name, label, parent, place, turn, body.mass, center, body.inertia.tensor, axes, drives))
        for child, hook in carried.items():
            if hook.a.name == name:
                add(child, me)

    add(base, -1)
    return Robot(links, np.array(m.gravity))


# which of a joint's axes it turns about
_COLUMNS = {ct.Fixed: (), ct.Revolute: (2,), ct.Universal: (0, 1)}


@dataclass(frozen=True)
class Start:
    """Pose and twist of the base, if it floats, in world axes; angles and rates of all hinges."""

    position: Array
    orientation: Array
    velocity: Array
    spin: Array
    angles: Array
    rates: Array

    @property
    def local(self) -> tuple[Array, Array]:
        """Velocity and angular velocity of the base in its own axes."""
        back = conjugate(self.orientation)
        return rotate(back, self.velocity), rotate(back, self.spin)


def start_of(robot: Robot, state: ct.State) -> Start:
    """Read a state of catena."""
    base = state.body(robot.links[0].name)
    joints = [state.joint(link.joint) for link in robot.links if link.joint is not None]
    return Start(
        base.position,
        base.orientation,
        base.velocity,
        base.angular_velocity,
        np.concatenate([joint.coordinates for joint in joints]),
        np.concatenate([joint.rates for joint in joints]),
    )


def moving(m: ct.Mechanism, seed: int = 0) -> ct.State:
    """Every joint a little off where its servos want it and on its way, and the base too where it can."""
    rng = np.random.default_rng(seed)
    state = m.state()
    targets = {(p.measure.joint, p.measure.index): p.law["target"] for f in m.forces.values() for p in f.parts}
    for name, joint in m.joints.items():
        aims = np.array([targets[name, k] for k in range(joint.dof)])
        state.joint(name).coordinates = aims + 0.2 * rng.normal(size=joint.dof)
    if not any(joint.a.is_world for joint in m.joints.values()):
        spin = rng.normal(size=3)
        state.velocity += rng.normal(size=3) + np.cross(spin, state.position)
        state.angular_velocity += spin
    for name, joint in m.joints.items():
        state.joint(name).rates = 2.0 * rng.normal(size=joint.dof)
    return state
