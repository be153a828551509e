"""Mechanisms that several tests use."""

from __future__ import annotations

import numpy as np

from catena import (
    Armature,
    Ball,
    Damper,
    Fixed,
    Free,
    Inertia,
    Mechanism,
    Motor,
    Prismatic,
    Revolute,
    Screw,
    Spring,
    Universal,
    box,
    capsule,
    cylinder,
    rod,
    scenes,
    sphere,
)


def tree() -> Mechanism:
    """A floating trunk with branches on many joints, a spring and a motor."""
    m = Mechanism(gravity=(0.3, 0.2, -5.0))
    m.add_body("trunk", Inertia(2.0, np.diag((0.2, 0.3, 0.4))), angular_velocity=(0.3, 0.2, -0.4))
    for k, at in enumerate(((0.5, 0, 0), (0, 0.5, 0), (0, 0, 0.5))):
        m.add_body(f"arm{k}", box((0.1, 0.2, 0.4), mass=0.5 + 0.1 * k), position=2 * np.array(at))
    m.add_joint(Revolute("trunk", "arm0", axis=(0.2, 1, 0.3), at=(0.5, 0, 0), name="hinge"))
    m.add_joint(Prismatic("arm1", "trunk", axis=(1, 0.3, 0), at=(0, 0.5, 0), name="slide"))
    m.add_joint(Ball("trunk", "arm2", at=(0, 0, 0.5), name="ball"))
    m.add_body("hand", box((0.2, 0.1, 0.3), mass=0.3), position=(1.4, 0, 0))
    m.add_joint(Revolute("arm0", "hand", axis=(0, 0, 1), at=(1.2, 0, 0), name="wrist"))
    m.add_body("finger", box((0.1, 0.1, 0.2), mass=0.2), position=(1.7, 0, 0))
    m.add_joint(Universal("finger", "hand", axes=((1, 0, 0), (0, 1, 0)), at=(1.6, 0, 0), name="cross"))
    m.add_body("nut", box((0.1, 0.1, 0.2), mass=0.2), position=(0, 1.5, 0))
    m.add_joint(Screw("arm1", "nut", axis=(0, 1, 0), at=(0, 1.4, 0), pitch=0.2, name="thread"))
    m.add_force(Spring("slide", 20.0, rest_length=0.1, name="spring"))
    m.add_force(Motor("wrist", 0.05, name="motor"))
    return m


def slider(force: float = 0.0) -> Mechanism:
    """1 kg on a rail."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("cart", box((0.1, 0.1, 0.1), mass=1.0))
    m.add_joint(Prismatic("world", "cart", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_force(Motor("rail", force, name="push"))
    return m


def arm() -> Mechanism:
    m = scenes.pendulum(3, "revolute", angle=0.8)
    for k in (1, 2, 3):
        m.add_force(Motor(f"joint{k}", 0.0, name=f"motor{k}"))
    m.add_force(Damper("joint2", 0.1))
    m.add_force(Armature("joint1", 0.05))
    return m


def crank_rocker() -> Mechanism:
    """A four-bar whose crank goes round; crank "crank", rocker "rocker"."""
    a, b, c, d = (0, 0, 0), (0.3, 0, 0), (1.2, 0, 0.4), (0.9, 0, 0)
    m = Mechanism()
    for name, ends, mass in (("link1", (a, b), 0.3), ("link2", (b, c), 1.0), ("link3", (c, d), 0.5)):
        m.add_body(name, rod(*ends, mass=mass))
    axis = (0, 1, 0)
    m.add_joint(Revolute("world", "link1", axis=axis, at=a, name="crank"))
    m.add_joint(Revolute("link1", "link2", axis=axis, at=b, name="pin"))
    m.add_joint(Revolute("link2", "link3", axis=axis, at=c, name="knee"))
    m.add_joint(Revolute("link3", "world", axis=axis, at=d, name="rocker"))
    return m


def zoo() -> Mechanism:
    """Every joint and every shape."""
    m = Mechanism(gravity=(0.5, 0.0, -9.0))
    m.add_body("cart", box((0.4, 0.2, 0.1), mass=2.0), velocity=(0.3, 0, 0))
    m.add_body("arm", cylinder(0.05, 1.0, mass=1.0), position=(0, 0, -0.5), orientation=(0.6, 0, 0.8, 0))
    m.add_body("bob", sphere(0.1, mass=0.5), position=(0, 0, -1))
    m.add_body("weld", capsule(0.05, 0.2, mass=0.5), position=(0, 0.1, -1.2))
    m.add_body("odd", Inertia(1.0, (2, 1, 2 / 3), physical=False), angular_velocity=(1, 2, 3), position=(2, 0, 0))
    m.add_joint(Prismatic("cart", m.world, axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_joint(Revolute("cart", "arm", axis=(0, 1, 0), at=(0, 0, 0), name="elbow"))
    m.add_joint(Ball("bob", "arm", at=(0, 0, -1), name="socket"))
    m.add_joint(Fixed("bob", "weld", name="glue"))
    m.add_joint(Free(m.world, "odd", name="air"))
    return m
