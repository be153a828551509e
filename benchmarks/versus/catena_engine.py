"""catena: the variational integrator of orders 1, 2, 4, 6 and 8; recommended settings are its defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from measure import Engine, NotOfferedError, Variant
from scenes import GRAVITY, Bodies, Scene, quaternion

import catena as ct
from catena._util.rotation import to_matrix

VERSION = ct.__version__
VARIANTS = {
    "order 2": Variant("default; tolerance 1e-10"),
    "order 1": Variant("the publication's scheme; tolerance 1e-10"),
    "order 4": Variant("composition of 5 steps; tolerance 1e-12"),
    "order 6": Variant("composition of 9 steps; tolerance 1e-12"),
    "order 8": Variant("composition of 17 steps; tolerance 1e-12"),
}


class Sim(Engine):
    """A mechanism with whole joints, loops included."""

    def __init__(self, scene: Scene, variant: str, dt: float) -> None:
        m = ct.Mechanism(gravity=(0.0, 0.0, -GRAVITY))
        turns: list[Any] = []
        bodies: list[Any] = []
        kind: dict[str, Any] = {"revolute": ct.Revolute, "ball": ct.Ball}
        extra: dict[str, Any] = {"axis": (1, 0, 0)} if scene.joint == "revolute" else {}
        start = scene.start()
        for i, link in enumerate(scene.links):
            q = quaternion(link.turn)
            turns.append(q if link.parent < 0 else _product(turns[link.parent], q))
            body = m.add_body(
                f"link{i}",
                ct.Inertia(link.mass, link.moments),
                position=start.position[i],
                orientation=turns[i] / np.linalg.norm(turns[i]),
                velocity=start.velocity[i],
                angular_velocity=start.angular_velocity[i],
            )
            parent = bodies[link.parent] if link.parent >= 0 else m.world
            m.add_joint(kind[scene.joint](parent, body, anchors=(link.hook, link.grip), **extra))
            bodies.append(body)
        for loop in scene.loops:
            other = bodies[loop.b] if loop.b >= 0 else m.world
            m.add_joint(kind[scene.joint](other, bodies[loop.a], anchors=(loop.at_b, loop.at_a), **extra))
        try:
            self.simulator = ct.Simulator(m, dt, order=int(variant[-1]), on_failure="stop")  # type: ignore[arg-type]
        except ValueError as error:  # such as a body that turns too far in a step
            raise NotOfferedError(str(error)) from None
        self.described = m.state()
        self.reset()

    def reset(self) -> None:
        """Go back to the start."""
        self.done: Any = None

    def run(self, steps: int) -> None:
        """Take steps and record the ends only."""
        state = self.done[-1] if self.done else None
        self.done = self.simulator.run(steps=steps, state=state, record_every=max(steps, 1))
        if not self.done.status.ok:
            raise RuntimeError(self.done.status.message)

    def bodies(self) -> Bodies:
        """The links now."""
        s = self.done[-1] if self.done else self.described
        return Bodies(s.position, to_matrix(s.orientation), s.velocity, s.angular_velocity)

    def sample(self, steps: int, every: int) -> Iterator[Bodies]:
        """One run, recorded at every so many steps."""
        run = self.simulator.run(steps=steps, record_every=every)
        if not run.status.ok:
            raise RuntimeError(run.status.message)
        for k in range(1, len(run)):
            yield Bodies(run.position[k], to_matrix(run.orientation[k]), run.velocity[k], run.angular_velocity[k])


def _product(a: Any, b: Any) -> Any:
    """Product of two quaternions (w, x, y, z)."""
    return np.array((a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))))


make = Sim
