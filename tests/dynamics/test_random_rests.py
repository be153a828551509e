"""Rests of random mechanisms on springs, a third of them with loops, from far; and their vibrations beside runs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import catena as ct
from catena import Mechanism, State
from catena._util.rotation import from_rotation_vector

TREES, LOOPS = range(70), range(70, 100)


def sprung_tree(rng: np.random.Generator) -> Mechanism:
    """Up to six bodies on hinges, slides, cylinders, crosses and balls, each on a spring to a point of the world."""
    m, names = Mechanism(), ["world"]
    for k in range(int(rng.integers(2, 7))):
        name, at = f"b{k}", rng.normal(size=3)
        sides = 0.2 + 0.4 * rng.random(3)
        m.add_body(
            name,
            ct.box(sides, mass=0.5 + rng.random()),
            position=at + 0.4 * rng.normal(size=3),
            orientation=from_rotation_vector(rng.normal(size=3)),
        )
        parent, axis, joint = str(rng.choice(names)), rng.normal(size=3), f"j{k}"
        kind = str(rng.choice(("Revolute", "Prismatic", "Cylindrical", "Universal", "Ball")))
        if kind == "Universal":
            m.add_joint(ct.Universal(parent, name, axes=(axis, np.cross(axis, (1, 2, 3))), at=at, name=joint))
        elif kind == "Ball":
            m.add_joint(ct.Ball(parent, name, at=at, name=joint))
        else:
            m.add_joint(getattr(ct, kind)(parent, name, axis=axis, at=at, name=joint))
        if kind == "Revolute":
            m.add_force(ct.Spring(joint, 5 + 40 * rng.random(), rest_length=rng.normal()))
        elif kind == "Prismatic":
            m.add_force(ct.Spring(joint, 100 + 300 * rng.random(), rest_length=0.3 * rng.normal()))
        hung(m, rng, name)
        names.append(name)
    return m


def sprung_loop(rng: np.random.Generator) -> Mechanism:
    """A ring of four to six bars, whose hinges are whole if it is flat, and balls if it is not."""
    m, count, is_flat = Mechanism(), int(rng.integers(4, 7)), bool(rng.random() < 0.7)
    angles = np.sort(rng.random(count)) + 2 * np.pi * np.arange(count) / count
    corners = np.stack((0 * angles, 0.7 * np.cos(angles), 0.7 * np.sin(angles)), axis=1)
    if not is_flat:
        corners[:, 0] = 0.2 * rng.normal(size=count)
    last = "world"
    for k in range(count):
        name = "world" if k == count - 1 else f"b{k}"
        if name != "world":
            m.add_body(name, ct.rod(corners[k], corners[k + 1], mass=0.5 + rng.random(), radius=0.05))
        if is_flat or k == 0:
            m.add_joint(ct.Revolute(last, name, axis=(1, 0, 0), at=corners[k], name=f"j{k}"))
            m.add_force(ct.Spring(f"j{k}", 3 + 20 * rng.random(), rest_length=rng.normal()))
        else:
            m.add_joint(ct.Ball(last, name, at=corners[k], name=f"j{k}"))
        last = name
    for name in list(m.bodies):
        hung(m, rng, name)
    return m


def hung(m: Mechanism, rng: np.random.Generator, name: str) -> None:
    """On a spring from a point beside the center, which holds rotations as well."""
    above = m.bodies[name].position + np.array((0.3 * rng.normal(), 0.3 * rng.normal(), 0.5 + rng.random()))
    m.add_force(
        ct.PointSpring(
            "world", name, points=(above, 0.2 * rng.normal(size=3)), stiffness=30 + 60 * rng.random(), rest_length=0.2
        )
    )


def made(seed: int) -> tuple[Mechanism, State]:
    """A mechanism, and a pose far from its rest."""
    rng = np.random.default_rng(seed)
    if seed in LOOPS:
        m = sprung_loop(rng)
        return m, m.state()
    m = sprung_tree(rng)
    guess = m.state()
    guess.coordinates = guess.coordinates + 1.5 * rng.normal(size=len(guess.coordinates))
    return m, guess


@pytest.mark.parametrize("seed", [*TREES, *LOOPS])
def test_rests_and_vibrations(seed: int) -> None:
    m, guess = made(seed)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ct.EquilibriumWarning)
        rest = m.equilibrium(guess)
    d = ct.Dynamics(m)
    weight = 9.81 * sum(body.mass for body in m.bodies.values())
    masses = np.array([body.mass for body in m.bodies.values()])
    assert np.abs(d.bias(rest)).max() < 1e-10 * weight
    modes = d.modes(rest)
    assert modes.is_stable == (not [w for w in told if issubclass(w.category, ct.EquilibriumWarning)])
    assert modes.is_stable
    # the swing of one mode alone, set off by its velocities; other modes have no part in its product with the shape
    swings = np.flatnonzero(modes.frequencies > 0.05 * modes.frequencies.max())
    k = int(np.random.default_rng(seed).choice(swings))
    shape, frequency = modes.body_shapes[k], modes.frequencies[k]
    start, small = rest.copy(), 1e-5
    start.velocity, start.angular_velocity = small * shape[:, :3], small * shape[:, 3:]
    dt = 1 / (200 * modes.frequencies.max())
    run = ct.Simulator(m, dt, order=4, on_inaccurate="ignore").run(2.3 / frequency, state=start)
    swing = np.einsum("b,kbi,bi->k", masses, run.position - rest.position, shape[:, :3])
    ups = np.flatnonzero((swing[1:-1] < 0) & (swing[2:] >= 0)) + 1
    crossings = run.time[ups] + dt * swing[ups] / (swing[ups] - swing[ups + 1])
    assert len(crossings) / crossings[-1] == pytest.approx(frequency, rel=1e-4)
