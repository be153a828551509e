"""Members of the campaign: random mechanisms, each the same on every machine for its seed and number.

A third are calm: sizes of about a metre, steps that resolve the motion. The others span masses over six decades, sizes
over four, steps of 10 us to 50 ms and spins up to the limit |w| dt = 2, evenly in their logarithms, so that most are
calm as well. Every joint is placed at the described pose, so loops are closed by their making; then velocities are
drawn, projected onto what the joints allow, and scaled to the spin wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._util.rotation import Array, normalised, rotate, to_matrix
from ..describe.constraints import ConstantVelocity, Distance, FixedOrientation, ParallelAxes, PointOnLine, PointOnPlane
from ..describe.inertia import Inertia
from ..describe.joint import FORMS, Joint
from ..describe.joints import Ball, Cylindrical, Fixed, Free, Planar, Prismatic, Revolute, Screw, Universal
from ..describe.limits import hard_stops
from ..describe.mechanism import Mechanism
from ..describe.rolling import KnifeEdge, RollingBall, RollingDisk
from ..kinematics.state import State
from .actions import add_couplings, add_laws, add_limits

Order = Literal[1, 2, 4, 6, 8]

TREE: tuple[type[Joint], ...] = (Revolute, Ball, Universal, Prismatic, Cylindrical, Planar, Screw, Fixed)
CLOSURES: tuple[type[Joint], ...] = (
    Distance,
    PointOnPlane,
    PointOnLine,
    ParallelAxes,
    FixedOrientation,
    ConstantVelocity,
    *TREE,
)
FAMILIES = ("tree", "graph", "linkage", "parallelogram", "rolling", "floating")
_SHARES = (0.25, 0.27, 0.16, 0.06, 0.14, 0.12)


@dataclass(frozen=True)
class Case:
    """One member: what to simulate and how; `pace` is the largest |w| dt it starts with."""

    seed: int
    index: int
    family: str
    calm: bool
    mechanism: Mechanism
    state: State
    dt: float
    order: Order
    steps: int
    pace: float

    @property
    def conservative(self) -> bool:
        """Whether energy is kept but for what impacts take: no dampers, servos, friction, motors or drives."""
        lossy = ("damping", "kp", "kd", "friction", "effort", "implicit")
        parts = [part for force in self.mechanism.forces.values() for part in force.parts]
        driven = any(coupling.function is not None for coupling in self.mechanism.couplings.values())
        driven |= any(force.slows for force in self.mechanism.forces.values())
        return not driven and not any(part.functions or any(part.law[key] for key in lossy) for part in parts)

    @property
    def isolated(self) -> bool:
        """Whether momentum is kept: no gravity, and nothing holds on to the world."""
        m = self.mechanism
        ends = [body.name for joint in m.joints.values() if joint.row_count > 0 for body in (joint.a, joint.b)]
        measures = [part.measure for force in m.forces.values() for part in force.parts]
        measures += [term.measure for coupling in m.couplings.values() for term in coupling.terms]
        ends += [name for measure in measures for name in (measure.a, measure.b)]
        ends += [m.world.name for force in m.forces.values() for _ in force._resistances]
        slowed = [m.joints[rotary.joint] for force in m.forces.values() for rotary in force._rotaries]
        ends += [body.name for joint in slowed for body in (joint.a, joint.b)]
        return not m.gravity.any() and m.world.name not in ends

    @property
    def text(self) -> str:
        """One line about it."""
        m = self.mechanism
        kinds = [joint.code for joint in m.joints.values()]
        kinds += [type(item).__name__ for item in (*m.couplings.values(), *m.forces.values())]
        kinds += ["limit" for _ in hard_stops(m)]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        masses = [body.inertia.mass for body in m.bodies.values()]
        return (
            f"{'calm ' if self.calm else ''}{self.family}, {m.body_count} bodies of {min(masses):.2g} to "
            f"{max(masses):.2g} kg, {counts or 'no joints'}, gravity {np.linalg.norm(m.gravity):.3g} m/s^2, "
            f"dt {self.dt:.3g} s, order {self.order}, {self.steps} steps, |w| dt {self.pace:.2g} at first"
        )


def member(seed: int, index: int, *, limited: bool = False) -> Case:
    """The member of that number; a ValueError if what was drawn cannot be built.

    With `limited`, half of its coordinates have hard limits, which it reaches within its steps.
    """
    maker = _Maker(np.random.default_rng(np.random.SeedSequence([seed, index])))
    case = maker.case(seed, index)
    if limited:
        add_limits(case.mechanism, maker.rng, maker.length, case.pace * case.steps)
    return case


class _Maker:
    """Draws one member; all lengths are in terms of `length` (m), all masses in terms of `mass` (kg)."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.calm = bool(rng.random() < 1 / 3)
        self.family = str(rng.choice(FAMILIES, p=_SHARES))
        self.length = 10 ** (rng.uniform(-0.5, 0.5) if self.calm else rng.uniform(-2, 2))
        self.mass = 10 ** (rng.uniform(-1, 1) if self.calm else rng.uniform(-2, 2))
        self.decades = 3.0 if rng.random() < (0.15 if self.calm else 0.35) else 0.4
        self.dt = 10 ** (rng.uniform(-4, -2) if self.calm else rng.uniform(-5, np.log10(0.05)))
        self.pace = 10 ** (rng.uniform(-4, -1.3) if self.calm else rng.uniform(-4, np.log10(1.9)))
        self.order: Order = rng.choice([1, 2, 2, 2, 4, 4, 6, 8]).item()
        self.steps = int(rng.integers(5, 61))
        falls = self.family != "floating" and rng.random() < 0.6
        self.mechanism = Mechanism(gravity=self._gravity() if falls else np.zeros(3))
        self.turn = normalised(rng.normal(size=4))
        self.places: list[tuple[Array, Array]] = []

    def case(self, seed: int, index: int) -> Case:
        """Build, set in motion, and say what it is."""
        getattr(self, f"_{self.family}")()
        if self.rng.random() < 0.25:
            add_couplings(self.mechanism, self.rng, self.length, self.pace / self.dt)
        if self.rng.random() < 0.45:
            add_laws(self.mechanism, self.rng, self.length, self.pace, self.dt, self.calm)
        state = self._moving()

        # the dense solver takes time with the cube of the size: fewer steps where they are dear
        work = self.mechanism.body_count**3 * {1: 1, 2: 1, 4: 5, 6: 9, 8: 17}[self.order]
        steps = max(5, min(self.steps, int(2e5 / work)))
        pace = float(np.linalg.norm(state.angular_velocity, axis=1).max() * self.dt)
        return Case(seed, index, self.family, self.calm, self.mechanism, state, self.dt, self.order, steps, pace)

    # ---- numbers

    def _gravity(self) -> Array:
        if self.calm:
            # a pendulum of the smallest size there is swings slowly against the step
            self.dt = min(self.dt, 0.03 * float(np.sqrt(0.3 * self.length / 9.81)))
        down = np.array((0.0, 0.0, -1.0))
        return 9.81 * (down if self.rng.random() < 0.7 else self._direction())

    def _direction(self) -> Array:
        return normalised(self.rng.normal(size=3))

    def _size(self) -> float:
        return float(self.length * 10 ** self.rng.uniform(-0.4, 0.4))

    def _inertia(self, size: float) -> Inertia:
        """That of a box of some shape, thin ones among them, turned any way."""
        mass = self.mass * 10 ** self.rng.uniform(-self.decades, self.decades)
        edges = size * 10 ** self.rng.uniform(-1.0, 0.0, size=3)
        squares = edges**2
        axes = to_matrix(normalised(self.rng.normal(size=4)))
        return Inertia(mass, axes @ np.diag(mass / 12 * (squares.sum() - squares)) @ axes.T)

    def _body(self, position: Array, size: float | None = None) -> str:
        name = f"body{self.mechanism.body_count}"
        turned = normalised(self.rng.normal(size=4))
        inertia = self._inertia(self._size() if size is None else size)
        self.mechanism.add_body(name, inertia, position=position, orientation=turned)
        return name

    def _count(self, least: int = 1) -> int:
        """Small ones are the likeliest."""
        return int(least + np.floor((13 - least) * self.rng.random() ** 1.7))

    # ---- joints

    def _join(self, a: str, b: str, kind: type[Joint], at: Array, axis: Array) -> None:
        """A joint of that kind, closed in the described pose."""
        if self.rng.random() < 0.5:
            a, b = b, a
        name = f"joint{self.mechanism.joint_count}"
        self.places.append((at, axis))
        joint: Joint
        if kind is Distance:
            away = at + self._size() * self._direction()
            joint = Distance(a, b, points=(at, away), name=name)
        elif kind is Screw:
            pitch = self.length * 10 ** self.rng.uniform(-2, 0) * self.rng.choice([-1, 1])
            joint = Screw(a, b, at=at, axis=axis, pitch=pitch, name=name)
        elif kind is Universal:
            across = np.cross(axis, self._direction())
            joint = Universal(a, b, at=at, axes=(axis, across), name=name)
        elif kind in (Ball, Fixed, Free, FixedOrientation):
            joint = kind(a, b, at=at, name=name)
        else:
            joint = kind(a, b, at=at, axis=axis, name=name)  # type: ignore[call-arg]
        self.mechanism.add_joint(joint)

    def _carried(self, parent: str) -> str:
        """One more body, on a joint to its parent."""
        m, size = self.mechanism, self._size()
        base = np.zeros(3) if parent == m.world.name else m.bodies[parent].position
        at = base + self._size() * self._direction()
        name = self._body(at + size * self._direction(), size)
        shares = np.array((6, 3, 2, 2, 2, 1, 1, 1), dtype=float)
        kind = TREE[self.rng.choice(len(TREE), p=shares / shares.sum())]
        self._join(parent, name, kind, at, self._direction())
        return name

    def _grow(self, roots: list[str], count: int) -> None:
        """A tree on the roots, long rather than bushy."""
        names = list(roots)
        for _ in range(count):
            near = names[-1] if self.rng.random() < 0.6 else str(self.rng.choice(names))
            names.append(self._carried(near))

    # ---- families

    def _tree(self) -> None:
        self._grow([self.mechanism.world.name], self._count())

    def _floating(self) -> None:
        for _ in range(self.rng.integers(1, 3)):
            root = self._body(self._size() * self._direction())
            self._grow([root], int(self.rng.integers(0, 5)))
        names = list(self.mechanism.bodies)
        if self.rng.random() < 0.3:
            self._join(self.mechanism.world.name, names[0], Free, np.zeros(3), self._direction())
        if len(names) > 1 and self.rng.random() < 0.5:
            self._close(names, 1)

    def _graph(self) -> None:
        m = self.mechanism
        if self.rng.random() < 0.3:
            self._body(self._size() * self._direction())
        self._grow([m.world.name], min(self._count(2), 12 - m.body_count))
        self._close([m.world.name, *m.bodies], int(self.rng.integers(1, 4)))

    def _close(self, names: list[str], count: int) -> None:
        """Joints between any two, mostly such that some freedom is left."""
        m = self.mechanism
        for _ in range(count):
            a, b = (str(name) for name in self.rng.choice(names, size=2, replace=False))
            held = sum(joint.row_count for joint in m.joints.values())
            room = 6 * m.body_count - held
            light = [kind for kind in CLOSURES if len(FORMS[kind.code].lengths) < room]
            fitting = light if light and self.rng.random() < 0.9 else list(CLOSURES)
            kind = fitting[int(self.rng.integers(len(fitting)))]
            at, axis = self._size() * self._direction(), self._direction()
            if self.places and self.rng.random() < 0.3:
                # on the point and axis of another: redundant where they join the same bodies
                at, axis = self.places[int(self.rng.integers(len(self.places)))]
            self._join(a, b, kind, at, axis)

    def _linkage(self) -> None:
        """Polygons of rods in one plane, the hinges across it redundant; further ones stand on the first."""
        m, normal = self.mechanism, rotate(self.turn, np.array((1.0, 0.0, 0.0)))
        base, start = m.world.name, np.zeros(3)
        for _ in range(self.rng.integers(1, 4)):
            count = int(self.rng.integers(3, 6))
            if m.body_count + count > 12:
                break
            corners = [start, *(start + self._in_plane() for _ in range(count))]
            first = base
            for k in range(count):
                name = self._body(
                    0.5 * (corners[k] + corners[k + 1]), float(np.linalg.norm(corners[k + 1] - corners[k]))
                )
                self._join(first, name, Revolute, corners[k], normal)
                first = name
            self._join(first, base, Revolute, corners[-1], normal)
            base, start = first, corners[-2]

    def _in_plane(self) -> Array:
        angle = self.rng.uniform(0, 2 * np.pi)
        return self._size() * rotate(self.turn, np.array((0.0, np.cos(angle), np.sin(angle))))

    def _parallelogram(self) -> None:
        """Two cranks of one length and a coupler, all on one line: the singular pose."""
        m, normal = self.mechanism, rotate(self.turn, np.array((1.0, 0.0, 0.0)))
        along, across = (rotate(self.turn, np.array(v)) for v in ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
        crank, base = self._size(), self._size()
        angle = 0.0 if self.rng.random() < 0.7 else self.rng.uniform(0, 6)
        arm = crank * (np.cos(angle) * along + np.sin(angle) * across)
        foot, far = np.zeros(3), base * along
        for at, end in ((foot, arm), (far, far + arm)):
            self._join(m.world.name, self._body(0.5 * (at + end), crank), Revolute, at, normal)
        coupler = self._body(0.5 * (arm + far + arm), base)
        self._join("body0", coupler, Revolute, arm, normal)
        self._join("body1", coupler, Revolute, far + arm, normal)
        # both cranks turn alike: of the two motions that leave the line this one is meant
        spin = self.pace / self.dt * normal
        for name in ("body0", "body1"):
            body = m.bodies[name]
            body.angular_velocity = spin
            body.velocity = np.cross(spin, 0.5 * arm)
        m.bodies[coupler].velocity = np.cross(spin, arm)

    def _rolling(self) -> None:
        """Balls, disks and blades on planes of the world or of a table, and what hangs on them."""
        m = self.mechanism
        for k in range(self.rng.integers(1, 4)):
            plane, normal, radius = m.world.name, self._direction(), self._size()
            if m.gravity.any() and self.rng.random() < 0.7:
                normal = -normalised(m.gravity)
            at = self._size() * self._direction()
            if self.rng.random() < 0.2:
                plane = self._carried(plane)
            kind = int(self.rng.choice([0, 0, 1, 1, 2]))
            name = f"roll{k}"
            if kind == 0:
                ball = self._body(at + radius * normal, radius)
                m.add_joint(RollingBall(plane, ball, radius=radius, at=at, normal=normal, name=name))
            elif kind == 1:
                ball = self._body(at, radius)
                axis = self._direction()
                lean = float(rotate(m.bodies[ball].orientation, axis) @ normal)
                m.bodies[ball].position = at + radius * np.sqrt(1 - lean**2) * normal
                m.add_joint(RollingDisk(plane, ball, radius=radius, axis=axis, at=at, normal=normal, name=name))
            else:
                ball = self._body(at + radius * self._direction(), radius)
                self._join(plane, ball, Planar, at, normal)
                along = np.cross(normal, self._direction())
                m.add_joint(KnifeEdge(plane, ball, at=at, along=along, normal=normal, name=name))
            self._grow([ball], int(self.rng.integers(0, 3)))

    # ---- motion

    def _moving(self) -> State:
        """Random velocities, those that the joints allow, as fast as wanted."""
        m, rng = self.mechanism, self.rng
        state = m.state()
        wanted = self.pace / self.dt
        if not state.velocity.any():
            state.velocity = self.length * wanted * rng.normal(size=state.velocity.shape)
            state.angular_velocity = wanted * rng.normal(size=state.velocity.shape)
        state = m.assemble(state)
        if any(coupling.function is not None for coupling in m.couplings.values()):
            return state
        speed = np.linalg.norm(state.velocity, axis=1).max() / self.length
        fastest = max(np.linalg.norm(state.angular_velocity, axis=1).max(), 0.1 * speed)
        # what can hardly move is left to stand: its velocities are those of rounding
        if fastest > 1e-4 * wanted:
            state.velocity = state.velocity * (wanted / fastest)
            state.angular_velocity = state.angular_velocity * (wanted / fastest)
        return state
