"""The scenes whose every bit is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catena import (
    Armature,
    Cylindrical,
    Damper,
    Friction,
    Gear,
    Mechanism,
    Planar,
    PrescribedMotion,
    RollingBall,
    Screw,
    Servo,
    Spring,
    Universal,
    box,
    scenes,
    sphere,
)
from mechanisms import tree


def exact(m: Mechanism) -> Mechanism:
    """All rows of loops asked for: a search for redundant ones would depend on the library for linear algebra."""
    m.loop_tolerance = 0
    return m


def joints() -> Mechanism:
    """A chain of joints of several freedoms, with a gear and a drive, and a ball that rolls."""
    m = Mechanism()
    for k in range(4):
        m.add_body(f"link{k}", box((0.2, 0.3, 0.5), mass=1.0 + 0.25 * k), position=(0.5 * k, 0, -0.5 * k))
    m.add_joint(Universal("world", "link0", axes=((1, 0, 0), (0, 1, 0)), at=(0, 0, 0.25), name="cross"))
    m.add_joint(Cylindrical("link0", "link1", axis=(0, 1, 0), at=(0.25, 0, -0.25), name="cylinder"))
    m.add_joint(Screw("link2", "link1", axis=(1, 0, 0), at=(0.75, 0, -0.75), pitch=0.5, name="screw"))
    m.add_joint(Planar("link2", "link3", axis=(0, 1, 0), at=(1.25, 0, -1.25), name="plane"))
    m.add_coupling(Gear(("cross", "first"), "cylinder", 2.0))
    m.add_coupling(PrescribedMotion(("plane", "x"), lambda t: 0.125 * t * t))
    m.add_body("ball", sphere(0.5, mass=2.0), position=(4, 0, 0.5), angular_velocity=(1, 2, 3))
    m.add_joint(RollingBall("world", "ball", radius=0.5))
    return m


def forces() -> Mechanism:
    m = scenes.pendulum(5, "revolute", angle=0.75)
    m.add_force(Spring("joint1", 4.0, rest_length=0.25))
    m.add_force(Damper("joint2", 0.5))
    m.add_force(Friction("joint3", 0.25, threshold=0.0625))
    m.add_force(Servo("joint4", kp=16.0, kd=1.0, target=0.5, effort_limit=2.0))
    m.add_force(Armature("joint5", 0.125))
    return m


# mechanism, step (s) and the simulator's other settings
SCENES: dict[str, tuple[Callable[[], Mechanism], float, dict[str, Any]]] = {
    "hinges": (lambda: scenes.pendulum(6, "revolute", angle=0.75), 0.01, {}),
    "balls of order 4": (lambda: scenes.pendulum(3, "ball", angle=0.75), 0.01, {"order": 4}),
    "whip": (lambda: scenes.pendulum(8, "ball", angle=1.5), 0.03, {"solver": "articulated"}),
    "floating tree": (tree, 0.02, {}),
    "joints": (joints, 0.01, {}),
    "forces": (forces, 0.01, {}),
    "four-bar by ldu": (lambda: exact(scenes.four_bar()), 0.01, {"solver": "ldu"}),
    "closed chain": (lambda: exact(scenes.closed_chain(9)), 0.05, {"solver": "articulated"}),
    "squeezer": (lambda: exact(scenes.andrews_squeezer()), 0.0003, {"solver": "articulated"}),
    "scissor by dense": (lambda: exact(scenes.scissor(2)), 0.01, {"solver": "dense"}),
}
