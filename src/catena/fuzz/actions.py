"""Couplings and forces of the campaign's members, drawn for a mechanism that has its joints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..describe.body_forces import Bushing, PointSpring
from ..describe.couplings import Coupling, Differential, Gear, Mimic, PrescribedMotion, Rack
from ..describe.joint_forces import Armature, Damper, Friction, Motor, Servo, Spring
from ..describe.limits import Limits
from ..describe.mechanism import Mechanism

_ANGLES = ("angle", "first", "second")


def add_couplings(m: Mechanism, rng: np.random.Generator, length: float, rate: float) -> None:
    """One or two couplings of named coordinates, all zero in the described pose; drives as fast as `rate` (rad/s)."""
    named = [(joint.name, name) for joint in m.joints.values() for name in joint.names if name]
    turns = [item for item in named if item[1] in _ANGLES]
    slides = [item for item in named if item[1] not in _ANGLES]
    for _ in range(rng.integers(1, 3)):
        ratio = float(rng.choice([-1, 1]) * 10 ** rng.uniform(-1, 1))
        kind = int(rng.integers(5))
        turns = [turns[k] for k in rng.permutation(len(turns))]
        coupling: Coupling | None = None
        if kind == 0 and len(turns) >= 2:
            coupling = Gear(turns[0], turns[1], ratio)
        elif kind == 1 and turns and slides:
            coupling = Rack(turns[0], slides[int(rng.integers(len(slides)))], ratio * length)
        elif kind == 2 and len(turns) >= 3:
            coupling = Differential(turns[0], turns[1], turns[2], balance=float(rng.uniform(0.2, 0.8)))
        elif kind == 3 and len(turns) >= 2:
            coupling = Mimic(turns[0], turns[1], factor=ratio)
        elif kind == 4 and named:
            driven = named[int(rng.integers(len(named)))]
            amplitude = float(rng.uniform(0.2, 2)) * (1.0 if driven in turns else length)
            coupling = PrescribedMotion(driven, swing(amplitude, rate, float(rng.uniform(0, 6))))
        if coupling is not None and coupling.name not in m.couplings:
            m.add_coupling(coupling)


def add_limits(m: Mechanism, rng: np.random.Generator, length: float, way: float) -> None:
    """Limits on half of the named coordinates, around where they begin, about as wide as the way that they go (rad)."""
    start = m.state()
    for joint in m.joints.values():
        limits = {}
        for k, name in enumerate(joint.names):
            if not name or rng.random() < 0.5:
                continue
            unit = 1.0 if name in _ANGLES else length
            at = float(start.joint(joint.name).coordinates[k])
            below, above = unit * max(way, 1e-6) * 10 ** rng.uniform(-2, 0.3, size=2)
            restitution = float(rng.choice([0.0, 0.0, 0.5, 0.9, 1.0, 1.0]))
            limits[name] = Limits(at - below, at + above, restitution=restitution)
        if limits:
            joint.limits = limits


def swing(amplitude: float, rate: float, phase: float) -> Callable[[float], float]:
    """A smooth function of time that is zero at zero and never faster than amplitude times rate."""
    return lambda t: amplitude * float(np.sin(rate * t + phase) - np.sin(phase))


def add_laws(m: Mechanism, rng: np.random.Generator, length: float, pace: float, dt: float, calm: bool) -> None:
    """One to three forces, their time constants drawn against the step, for the lighter of the two bodies."""
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.35:
            _between(m, rng, length, dt, calm)
        else:
            _on_joint(m, rng, length, pace, dt, calm)


def _on_joint(m: Mechanism, rng: np.random.Generator, length: float, pace: float, dt: float, calm: bool) -> None:
    named = [(joint, name) for joint in m.joints.values() for name in joint.names if name]
    if not named:
        return
    joint, name = named[int(rng.integers(len(named)))]
    turns = name in _ANGLES
    inertia = _light(m, joint.a.name, joint.b.name, turns)
    unit = 1.0 if turns else length
    rate = 10 ** rng.uniform(-3, -1 if calm else 0) / dt
    fading = 10 ** rng.uniform(-3, -1 if calm else 0.5) / dt
    kind = int(rng.integers(7))
    if kind <= 1:
        rest, damping = unit * float(rng.normal(scale=0.3)), inertia * fading * kind * float(rng.integers(2))
        implicit, stiffness = bool(rng.random() < 0.2), inertia * rate**2
        m.add_force(Spring(joint, stiffness, rest_length=rest, damping=damping, implicit=implicit, coordinate=name))
    elif kind == 2:
        m.add_force(Damper(joint, inertia * fading, coordinate=name))
    elif kind == 3:
        push = inertia * unit * rate * max(pace, 1e-3) / dt
        m.add_force(Motor(joint, push if rng.random() < 0.5 else swing(push, rate, 1.0), coordinate=name))
    elif kind == 4:
        target, limit = unit * float(rng.normal(scale=0.3)), inertia * unit * rate**2 * 10 ** rng.uniform(-2, 2)
        m.add_force(
            Servo(joint, kp=inertia * rate**2, kd=inertia * fading, target=target, effort_limit=limit, coordinate=name)
        )
    elif kind == 5:
        speed = unit * pace / dt
        threshold = speed * 10 ** rng.uniform(-2, 0)
        m.add_force(Friction(joint, inertia * speed * rate, threshold=threshold, coordinate=name))
    else:
        m.add_force(Armature(joint, inertia * 10 ** rng.uniform(-2, 2), coordinate=name))


def _between(m: Mechanism, rng: np.random.Generator, length: float, dt: float, calm: bool) -> None:
    a, b = (str(name) for name in rng.choice([m.world.name, *m.bodies], size=2, replace=False))
    rate = 10 ** rng.uniform(-3, -1 if calm else 0) / dt
    fading = 10 ** rng.uniform(-3, -1) / dt * float(rng.random() < 0.3)
    mass, turned = _light(m, a, b, False), _light(m, a, b, True)
    points = [
        (np.zeros(3) if name == m.world.name else m.bodies[name].position) + 0.3 * length * rng.normal(size=3)
        for name in (a, b)
    ]
    # at the end of an arm a body is lighter
    arms = [
        float(np.linalg.norm(point - m.bodies[name].position))
        for name, point in zip((a, b), points, strict=True)
        if name != m.world.name
    ]
    mass = 1 / (1 / mass + max(arms) ** 2 / turned)
    if rng.random() < 0.6:
        natural = float(np.linalg.norm(points[1] - points[0])) * float(rng.uniform(0.7, 1.3))
        m.add_force(PointSpring(a, b, mass * rate**2, points=points, rest_length=natural, damping=mass * fading))
    else:
        at = points[0]
        far = max(float(np.linalg.norm(at - m.bodies[n].position)) for n in (a, b) if n != m.world.name)
        mass = 1 / (1 / mass + far**2 / turned)
        m.add_force(
            Bushing(
                a,
                b,
                at=at,
                stiffness=mass * rate**2,
                damping=mass * fading,
                turn_stiffness=turned * rate**2,
                turn_damping=turned * fading,
            )
        )


def _light(m: Mechanism, a: str, b: str, turns: bool) -> float:
    """Mass (kg) or smallest moment of inertia (kg m^2) of the lighter body."""
    bodies = [m.bodies[name].inertia for name in (a, b) if name != m.world.name]
    return float(min(np.linalg.eigvalsh(body.tensor)[0] if turns else body.mass for body in bodies))
