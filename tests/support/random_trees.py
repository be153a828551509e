"""Random trees of every kind of joint."""

from __future__ import annotations

from typing import Any

import numpy as np

import catena as ct
from catena import Mechanism, State
from catena._util.rotation import from_rotation_vector

KINDS = ("Revolute", "Prismatic", "Cylindrical", "Screw", "Universal", "Ball", "Planar", "PinInSlot", "Fixed", "Free")
# those that Pinocchio builds of its own parts
COMMON = ("Revolute", "Prismatic", "Cylindrical", "Ball", "Free")


def random_tree(seed: int, kinds: tuple[str, ...]) -> Mechanism:
    """Up to eight bodies, some of which float, with springs, dampers and rotors on some of the joints."""
    rng, m = np.random.default_rng(seed), Mechanism()
    names = ["world"]
    for k in range(int(rng.integers(2, 9))):
        half = rng.normal(size=(3, 3))
        tensor = half @ half.T + 0.2 * np.eye(3)
        name, at = f"b{k}", rng.normal(size=3)
        turn = from_rotation_vector(rng.normal(size=3))
        inertia = ct.Inertia(0.5 + rng.random(), 0.1 * (np.trace(tensor) * np.eye(3) - tensor))
        m.add_body(name, inertia, position=at + 0.5 * rng.normal(size=3), orientation=turn)
        kind = str(rng.choice(kinds))
        parent = "world" if kind == "Free" else str(rng.choice(names))
        axis = rng.normal(size=3)
        joint: Any
        if kind == "Universal":
            joint = ct.Universal(parent, name, axes=(axis, np.cross(axis, rng.normal(size=3))), at=at, name=f"j{k}")
        elif kind == "PinInSlot":
            other = np.cross(axis, rng.normal(size=3))
            joint = ct.PinInSlot(parent, name, axes=(axis, other), at=at, name=f"j{k}")
        elif kind == "Planar":
            joint = ct.Planar(parent, name, axis=axis, at=at, name=f"j{k}")
        elif kind == "Screw":
            joint = ct.Screw(parent, name, axis=axis, pitch=0.1, at=at, name=f"j{k}")
        elif kind in ("Ball", "Fixed"):
            joint = getattr(ct, kind)(parent, name, at=at, name=f"j{k}")
        elif kind == "Free":
            joint = ct.Free(parent, name, at=at, name=f"j{k}") if rng.random() < 0.7 or kinds == COMMON else None
        else:
            joint = getattr(ct, kind)(parent, name, axis=axis, at=at, name=f"j{k}")
        names.append(name)
        if joint is None:
            continue
        m.add_joint(joint)
        if kind in ("Revolute", "Prismatic") and rng.random() < 0.5:
            m.add_force(ct.Spring(f"j{k}", 5.0, damping=0.3))
            m.add_force(ct.Armature(f"j{k}", 0.2))
    return m


def somewhere(m: Mechanism, seed: int) -> State:
    rng, state = np.random.default_rng(seed), m.state()
    # what floats goes on as one
    drift, spin, part = rng.normal(size=3), rng.normal(size=3), parts(m)
    floats = np.array([part[name] != part["world"] for name in m.bodies])[:, None]
    state.velocity = floats * (drift + np.cross(spin, state.position))
    state.angular_velocity = floats * spin
    state.coordinates = state.coordinates + 0.5 * rng.normal(size=len(state.coordinates))
    state.rates = rng.normal(size=len(state.rates))
    return state


def floating(m: Mechanism) -> int:
    """How many parts no joint connects to the world."""
    return len(set(parts(m).values())) - 1


def parts(m: Mechanism) -> dict[str, str]:
    """Of the world and every body, the name of the part to which joints connect it."""
    part = {name: name for name in ("world", *m.bodies)}
    for joint in m.joints.values():
        old, new = part[joint.b.name], part[joint.a.name]
        part.update({name: new for name, own in part.items() if own == old})
    return part
