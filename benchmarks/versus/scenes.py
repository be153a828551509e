"""The scenes that every engine runs, as plain data: a tree of links, joints that close loops, and where it starts.

World z is up. A link's frame sits at its center of mass, along its principal axes. All hinges turn about x, which is
the same in the world and in every link that a hinge carries. Needs numpy only: every engine has its own interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import atan2, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Vector = tuple[float, float, float]
GRAVITY = 9.81
ZERO: Vector = (0.0, 0.0, 0.0)


class Bodies(NamedTuple):
    """What every engine gives back, in the world: centers of mass (n, 3), rotations (n, 3, 3), and their velocities."""

    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array


@dataclass(frozen=True)
class Link:
    """A body and the joint that hangs it on its parent (-1: the world)."""

    parent: int
    hook: Vector  # the joint's point, in the parent's frame
    grip: Vector  # the same point in the own frame
    mass: float
    moments: Vector
    turn: Vector = ZERO  # rotation vector against the parent at the start
    spin: Vector = ZERO  # angular velocity against the parent at the start, in the own frame


@dataclass(frozen=True)
class Loop:
    """A joint between links a and b (-1: the world) that closes a loop; its point in both frames."""

    a: int
    at_a: Vector
    b: int
    at_b: Vector


@dataclass
class Scene:
    """Links, parents first, and loops; all joints are of one kind, "revolute" or "ball"."""

    name: str
    size: int
    joint: str
    links: list[Link] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)

    # ---- for engines in joint coordinates, whose link frames sit at the joint

    def anchor(self, i: int) -> Array:
        """Joint point of link i, measured from the joint of its parent."""
        return self.from_joint(self.links[i].parent, self.links[i].hook)

    def from_joint(self, i: int, point: Vector) -> Array:
        """A point of link i (-1: the world), measured from the link's joint."""
        return np.array(point) - (self.links[i].grip if i >= 0 else ZERO)

    def center(self, i: int) -> Array:
        """Centre of mass of link i, measured from its joint."""
        return -np.array(self.links[i].grip)

    # ---- for engines in maximal coordinates

    def start(self) -> Bodies:
        """Every link at the start."""
        out = Bodies(*(np.zeros((len(self.links), *shape)) for shape in ((3,), (3, 3), (3,), (3,))))
        for i, link in enumerate(self.links):
            x, turn, v, w = (a[link.parent] for a in out) if link.parent >= 0 else _WORLD
            arm = turn @ link.hook
            out.rotation[i] = turn @ matrix(link.turn)
            out.angular_velocity[i] = w + out.rotation[i] @ link.spin
            back = out.rotation[i] @ link.grip
            out.position[i] = x + arm - back
            out.velocity[i] = v + np.cross(w, arm) - np.cross(out.angular_velocity[i], back)
        return out

    # ---- from hinge angles

    def at(self, angle: Array, rate: Array) -> Bodies:
        """Every link of a scene of hinges, from their angles and rates."""
        turned = [
            replace(link, turn=(float(q), 0.0, 0.0), spin=(float(v), 0.0, 0.0))
            for link, q, v in zip(self.links, angle, rate, strict=True)
        ]
        return replace(self, links=turned).start()

    # ---- what a run is judged by

    def energy(self, b: Bodies) -> float:
        """Kinetic plus potential energy in J."""
        mass, moments = np.array([k.mass for k in self.links]), np.array([k.moments for k in self.links])
        local = np.einsum("nji,nj->ni", b.rotation, b.angular_velocity)
        kinetic = 0.5 * (mass @ (b.velocity**2).sum(axis=1) + (moments * local**2).sum())
        return float(kinetic + GRAVITY * mass @ b.position[:, 2])

    def energy_scale(self) -> float:
        """Energy in J from hanging straight to stretched out horizontally, plus that of the motion at the start."""
        reach: list[float] = []
        drop = 0.0
        for link in self.links:
            reach.append((reach[link.parent] + _norm(self.anchor(len(reach)))) if link.parent >= 0 else 0.0)
            drop += link.mass * GRAVITY * (reach[-1] + _norm(link.grip))
        start = self.start()
        resting = Bodies(start.position, start.rotation, 0 * start.velocity, 0 * start.angular_velocity)
        return drop + self.energy(start) - self.energy(resting)

    def gap(self, b: Bodies) -> float:
        """Distance in m by which the worst joint is open, loops included."""

        def point(i: int, local: Vector) -> Array:
            return b.position[i] + b.rotation[i] @ local if i >= 0 else np.array(local)

        pairs = [(i, k.grip, k.parent, k.hook) for i, k in enumerate(self.links)]
        pairs += [(k.a, k.at_a, k.b, k.at_b) for k in self.loops]
        return max(_norm(point(a, at_a) - point(p, at_b)) for a, at_a, p, at_b in pairs)


_WORLD = (np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))


def _norm(v: object) -> float:
    return float(np.linalg.norm(v))  # type: ignore[arg-type]


def matrix(v: Vector) -> Array:
    """Rotation matrix of a rotation vector."""
    angle = _norm(v)
    x, y, z = np.array(v) / angle if angle else ZERO
    k = np.array(((0, -z, y), (z, 0, -x), (-y, x, 0)))
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def quaternion(v: Vector) -> Array:
    """Unit quaternion (w, x, y, z) of a rotation vector."""
    angle = _norm(v)
    return np.array((np.cos(angle / 2), *(np.sinc(angle / 2 / pi) / 2 * np.array(v))))


# ---- the scenes; links of the standard work are boxes of 0.1 x 0.1 x 1 m and 1 kg


def _box(parent: int, hook: Vector, turn: Vector, spin: Vector = ZERO, length: float = 1.0) -> Link:
    across, along = (0.1**2 + length**2) / 12, 2 * 0.1**2 / 12
    moments = (length * across, length * across, length * along)
    return Link(parent, hook, (0.0, 0.0, length / 2), length, moments, turn, spin)


_UP, _DOWN = (0.0, 0.0, 0.5), (0.0, 0.0, -0.5)


def _string(angles: list[float]) -> list[Link]:
    """Boxes one below the other, each at an angle from straight down."""
    before = [0.0, *angles]
    return [_box(i - 1, _DOWN if i else ZERO, (a - before[i], 0.0, 0.0)) for i, a in enumerate(angles)]


def chain(n: int, joint: str) -> Scene:
    """Straight chain at 45 degrees, at rest."""
    return Scene("chain", n, joint, _string([pi / 4] * n))


def horizontal_chain(n: int, joint: str) -> Scene:
    """Straight chain released from the horizontal."""
    return Scene("horizontal_chain", n, joint, _string([pi / 2] * n))


def closed_chain(n: int, joint: str, back: float = 5 * pi / 4) -> Scene:
    """Chain of an odd number of links from the origin to a second anchor, in a U that leans, at rest."""
    side = (n - 1) // 2
    scene = Scene("closed_chain", n, joint, _string([pi / 4] * side + [pi / 2] + [back] * side))
    end = scene.start()
    foot = end.position[-1] + end.rotation[-1] @ _DOWN
    scene.loops.append(Loop(n - 1, _DOWN, -1, tuple(foot.tolist())))
    return scene


def leaning_chain(n: int, joint: str) -> Scene:
    """Closed chain whose halves differ, so that no symmetry keeps the loop closed."""
    scene = closed_chain(n, joint, back=10 * pi / 9)
    scene.name = "leaning_chain"
    return scene


def segmented_chain(k: int, joint: str) -> Scene:
    """Rhombi of four links, each hung on the lower corner of the one before, at rest."""
    scene = Scene("segmented_chain", k, joint)
    before, above = -1, 0.0
    for s in range(k):
        lean = pi / 2 if s == k - 1 else pi / 4
        wide, narrow = lean + pi / 8, lean - pi / 8
        a = 4 * s
        scene.links += [
            _box(before, _DOWN if s else ZERO, (wide - above, 0.0, 0.0)),
            _box(a, _DOWN, (narrow - wide, 0.0, 0.0)),
            _box(a, _UP, (narrow - wide, 0.0, 0.0)),
            _box(a + 2, _DOWN, (wide - narrow, 0.0, 0.0)),
        ]
        scene.loops.append(Loop(a + 1, _DOWN, a + 3, _DOWN))
        before, above = a + 3, wide
    return scene


def double_ball(n: int, joint: str) -> Scene:
    """Two links on ball joints, out of any plane, both spinning about themselves."""
    first = _box(-1, ZERO, (pi / 4, 0.0, 0.0), (0.0, 1.0, 5.0))
    return Scene("double_ball", 2, "ball", [first, _box(0, _DOWN, (0.3, 0.4, 0.5), (1.0, -2.0, 8.0))])


def four_bar(n: int, joint: str) -> Scene:
    """The drift mechanism of the publication: bars of 1, sqrt(1/2) and 1 m, 1 kg per m, over 1 m of ground, at rest."""
    # the third bar stands upright on (0, 1, 0), the first reaches from the origin to the coupler's other end
    short = sqrt(0.5)
    far = sqrt(2.0)
    along = (1.0 + far**2 - short**2) / (2 * far)
    off = sqrt(1.0 - along**2)
    y, z = (along - off) / far, (along + off) / far
    first, second = atan2(y, -z), atan2(1.0 - y, z - 1.0)
    links = [
        _box(-1, ZERO, (first, 0.0, 0.0)),
        _box(0, _DOWN, (second - first, 0.0, 0.0), length=short),
        _box(1, (0.0, 0.0, -short / 2), (-second, 0.0, 0.0)),
    ]
    return Scene("four_bar", 3, "revolute", links, [Loop(2, _DOWN, -1, (0.0, 1.0, 0.0))])


def heavy_top(n: int, joint: str) -> Scene:
    """The heavy top of Bruels and Cardona, which turns at 150 rad/s."""
    spin = (0.0, 150.0, -4.61538)
    top = Link(-1, ZERO, (0.0, -1.0, 0.0), 15.0, (0.234375, 0.46875, 0.234375), ZERO, spin)
    return Scene("heavy_top", 1, "ball", [top])


SCENES: dict[str, Callable[[int, str], Scene]] = {
    make.__name__: make
    for make in (
        chain,
        horizontal_chain,
        closed_chain,
        leaning_chain,
        segmented_chain,
        double_ball,
        four_bar,
        heavy_top,
    )
}
