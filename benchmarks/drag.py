"""What air and grease cost: a ragdoll and a bridge of planks on balls, with drag on every body, dampers in every ball.

Beside them, where it takes no minutes, the same by bushings, whose rows are loops to the solver: to the world on every
body, and between the two bodies of every ball. CPU time of a step, best of many, all ways in turn in one run.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from catena import AccuracyWarning, Ball, Bushing, Damper, Drag, Mechanism, Simulator, box
from catena._util.rotation import rotate

DT, ROUNDS = 0.002, 15


def ragdoll() -> Mechanism:
    m = Mechanism()
    m.add_body("trunk", box((0.3, 0.2, 0.6), mass=20.0), angular_velocity=(0.3, 0.2, 0.1))

    def limb(parent: str, name: str, at: tuple[float, ...], size: tuple[float, ...], mass: float) -> None:
        along = np.array(size) * (np.array(size) == max(size)) * np.sign(np.array(at) + 1e-9)
        m.add_body(name, box(size, mass=mass), position=at + 0.5 * along)
        m.add_joint(Ball(parent, name, at=at))

    limb("trunk", "head", (0, 0, 0.3), (0.15, 0.15, 0.25), 4.0)
    for side, x in (("left", -1), ("right", 1)):
        limb("trunk", f"{side} upper arm", (0.15 * x, 0, 0.25), (0.3, 0.08, 0.08), 2.0)
        limb(f"{side} upper arm", f"{side} forearm", (0.45 * x, 0, 0.25), (0.3, 0.07, 0.07), 1.5)
        limb(f"{side} forearm", f"{side} hand", (0.75 * x, 0, 0.25), (0.1, 0.07, 0.03), 0.5)
        limb("trunk", f"{side} thigh", (0.1 * x, 0, -0.3), (0.1, 0.1, 0.4), 6.0)
        limb(f"{side} thigh", f"{side} shank", (0.1 * x, 0, -0.7), (0.1, 0.1, 0.4), 4.0)
        limb(f"{side} shank", f"{side} foot", (0.1 * x, 0, -1.1), (0.1, 0.2, 0.06), 1.0)
    return m


def bridge(planks: int = 200) -> Mechanism:
    """Planks that hang in an arc between two banks."""
    angle = np.linspace(-0.6, 0.6, planks + 1)
    joints = 18.0 * np.stack((np.sin(angle), 0 * angle, -np.cos(angle)), axis=1)
    m, before = Mechanism(), "world"
    for k, (a, b) in enumerate(pairwise(joints)):
        way, name = b - a, f"plank {k}"
        half = -0.5 * np.arctan2(way[2], way[0])
        turn = (np.cos(half), 0, np.sin(half), 0)
        plank = box((float(np.linalg.norm(way)), 1.0, 0.03), mass=1.0)
        m.add_body(name, plank, position=0.5 * (a + b), orientation=turn)
        m.add_joint(Ball(before, name, at=a))
        before = name
    m.add_joint(Ball(before, "world", at=joints[-1]))
    return m


def with_drag(m: Mechanism) -> Mechanism:
    for body in m.bodies:
        m.add_force(Drag(body, 0.5, 0.02))
    return m


def with_bushings(m: Mechanism) -> Mechanism:
    for name, body in m.bodies.items():
        m.add_force(Bushing("world", name, at=body.position, damping=0.5, turn_damping=0.02))
    return m


def with_dampers(m: Mechanism) -> Mechanism:
    for joint in list(m.joints):
        m.add_force(Damper(joint, 0.02))
    return m


def with_rubber(m: Mechanism) -> Mechanism:
    for joint in list(m.joints.values()):
        at = joint.a.position + rotate(joint.a.orientation, joint.anchor_a)
        m.add_force(Bushing(joint.a, joint.b, at=at, turn_damping=0.02))
    return m


def compare(make: Callable[[], Mechanism], steps: int, *, bushings: bool) -> None:
    ways = {"without": make(), "drag": with_drag(make()), "dampers": with_dampers(make())}
    if bushings:
        ways |= {"bushings to the world": with_bushings(make()), "bushings in balls": with_rubber(make())}
    simulators = {name: Simulator(m, DT) for name, m in ways.items()}
    best = dict.fromkeys(simulators, np.inf)
    for _ in range(ROUNDS):
        for name, simulate in simulators.items():
            begun = time.process_time()
            simulate.run(steps=steps, record_every=steps)
            best[name] = min(best[name], (time.process_time() - begun) / steps)
    for name, seconds in best.items():
        print(f"  {name:22}{1e6 * seconds:9.2f} us, {seconds / best['without']:6.2f} times")


def main() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)
    print("ragdoll of 14 bodies")
    compare(ragdoll, 500, bushings=True)
    print("bridge of 200 planks")
    compare(bridge, 100, bushings=False)


if __name__ == "__main__":
    main()
