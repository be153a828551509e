"""Chains and trees of links, open or closed to loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Literal

import numpy as np

from .._util.rotation import Array, cross, from_axis_angle, from_rotation_vector, multiply, normalised, rotate
from ..describe.bodies import Body, World
from ..describe.inertia import Solid, box, rod
from ..describe.joints import Ball, Prismatic, Revolute
from ..describe.mechanism import Mechanism
from ._parts import JointKind, X, at_least
from ._parts import joint as make_joint


def pendulum(
    n: int = 1,
    joint: JointKind = "revolute",
    *,
    angle: float = pi / 4,
    length: float = 1.0,
    width: float = 0.1,
    mass: float = 1.0,
) -> Mechanism:
    """Make a chain of n boxes that hangs from the origin, at rest, with every link at `angle` (rad) from vertical.

    Links are width x width x length (m) with `mass` kg each, rotated by `angle` about world x, which is also the axis
    of revolute joints; at pi/2 the chain lies along +y. The upper joint of a link is at +z of its frame, the lower one
    at -z.
    """
    at_least(1, "pendulum", "n", n)
    half = np.array((0.0, 0.0, 0.5 * length))
    shape = box((width, width, length), mass=mass)
    return _hanging_chain(shape, [angle] * n, joint, upper=half, lower=-half)


def double_pendulum(
    angles: Sequence[float] = (pi / 2, pi / 2), *, length: float = 1.0, size: float = 0.1, mass: float = 1.0
) -> Mechanism:
    """Make the double pendulum of the publication's energy figure: two cubes, `length` below their hinges, at rest.

    The second hinge is at the center of the first cube. `angles` (rad) are those of the two links from vertical, about
    world x. The publication does not give the initial pose; the default is along +y.
    """
    upper = np.array((0.0, 0.0, length))
    shape = box((size, size, size), mass=mass)
    return _hanging_chain(shape, angles, "revolute", upper=upper, lower=np.zeros(3))


def cart_pole(*, length: float = 1.0, cart: float = 1.0, pole: float = 0.1) -> Mechanism:
    """Make a bar of `length` m and `pole` kg, upright and at rest, on a cart of `cart` kg.

    The cart slides along y on the joint "rail". The bar rotates about x on the joint "hinge" at the center of the cart.
    """
    m = Mechanism()
    base = m.add_body("cart", box((0.2, 0.4, 0.2), mass=cart))
    bar = m.add_body("pole", box((0.05, 0.05, length), mass=pole), position=(0.0, 0.0, 0.5 * length))
    m.add_joint(Prismatic(m.world, base, axis=(0.0, 1.0, 0.0), at=(0.0, 0.0, 0.0), name="rail"))
    m.add_joint(Revolute(base, bar, axis=X, at=(0.0, 0.0, 0.0), name="hinge"))
    return m


def spinning_chain(n: int = 5, *, rate: float = 2.0, seed: int = 0) -> Mechanism:
    """Make a floating chain of n boxes on ball joints without gravity, bent in space and rotating.

    The first link rotates at `rate` rad/s and translates. Every other link rotates relative to the first at up to half
    of `rate`, in a random direction given by `seed`. Velocities satisfy the joints; the linear momentum is not zero.
    """
    at_least(1, "spinning_chain", "n", n)
    rng = np.random.default_rng(seed)
    end = np.array((0.0, 0.0, 0.25))
    shape = box((0.1, 0.2, 0.5), mass=1.0)
    m = Mechanism(gravity=(0.0, 0.0, 0.0))
    x, v = np.zeros(3), np.array((0.3, -0.2, 0.5))
    q = from_rotation_vector(rng.uniform(-1, 1, 3))
    w = spin = rate * normalised(rng.normal(size=3))
    before: Body | None = None
    for k in range(1, n + 1):
        if before is not None:
            # from the center of one link over the joint to the center of the next
            arm = rotate(q, -end)
            x, v = x + arm, v + cross(w, arm)
            q = normalised(multiply(q, from_rotation_vector(rng.uniform(-0.6, 0.6, 3))))
            w = spin + 0.5 * rate * rng.uniform(-1, 1) * normalised(rng.normal(size=3))
            arm = rotate(q, -end)
            x, v = x + arm, v + cross(w, arm)
        body = m.add_body(f"link{k}", shape, position=x, orientation=q, velocity=v, angular_velocity=w)
        if before is not None:
            m.add_joint(Ball(before, body, anchors=(-end, end), name=f"joint{k - 1}"))
        before = body
    return m


def tree(depth: int = 3, branching: int = 2, joint: JointKind = "revolute", *, seed: int = 0) -> Mechanism:
    """Make a tree of rods that hangs from the origin, at rest; each rod carries `branching` shorter ones at its end.

    It has `depth` levels; the first is a single rod of 1 m and 1 kg. Directions and revolute axes are random, given by
    `seed`, and distributed in three dimensions.
    """
    at_least(1, "tree", "depth", depth)
    at_least(1, "tree", "branching", branching)
    rng = np.random.default_rng(seed)
    m = Mechanism()
    down = np.array((0.0, 0.0, -1.0))
    level: list[tuple[Body | World, Array, Array]] = [(m.world, np.zeros(3), down)]
    for k in range(depth):
        size = 0.7**k
        above, level = level, []
        for parent, start, heading in above:
            for _ in range(branching if k else 1):
                # lean away from the parent's direction, but go on downwards
                direction = normalised(heading + 0.5 * down + 0.8 * normalised(rng.normal(size=3)))
                end = start + size * direction
                body = m.add_body(f"link{m.body_count + 1}", rod(start, end, mass=size))
                axis = normalised(cross(direction, normalised(rng.normal(size=3))))
                m.add_joint(make_joint(joint, parent, body, axis=axis, at=start, name=f"joint{m.body_count}"))
                level.append((body, end, direction))
    return m


def closed_chain(n: int = 11, joint: JointKind = "revolute", *, asymmetric: bool = False) -> Mechanism:
    """Make the closed chain of the publication: n boxes (n odd) that hang from both ends in an inclined U, at rest.

    Boxes are 0.1 x 0.1 x 1 m and 1 kg: (n - 1)/2 at pi/4 from vertical, the middle one along +y, the others back up to
    the second anchor at (0, 1, 0). All joints have five constraint rows, including those to the world, with axes along
    world x. With `asymmetric`, the second half is inclined by 10/9 pi and the second anchor is at its end, so the two
    halves move differently.
    """
    at_least(3, "closed_chain", "n", n)
    if n % 2 == 0:
        raise ValueError(f"closed_chain: n must be odd, got {n}")
    half = np.array((0.0, 0.0, 0.5))
    side = (n - 1) // 2
    back = 10 * pi / 9 if asymmetric else 5 * pi / 4
    angles = [pi / 4] * side + [pi / 2] + [back] * side
    m = _hanging_chain(box((0.1, 0.1, 1.0), mass=1.0), angles, joint, upper=half, lower=-half)
    last = m.bodies[f"link{n}"]
    end = last.position - rotate(last.orientation, half) if asymmetric else np.array((0.0, 1.0, 0.0))
    m.add_joint(make_joint(joint, m.world, last, axis=X, anchors=(end, -half), name=f"joint{n + 1}"))
    return m


def catenary_chain(n: int = 10, span: float | None = None, joint: JointKind = "revolute") -> Mechanism:
    """Make a chain of n bars of 1 m and 1 kg that hangs from (0, 0, 0) and (0, span, 0), in equilibrium.

    `span` (m) is 0.6 n by default; it must be less than n, and more than 1 if n is odd. The horizontal force H is the
    same in all bars, and each bar carries the weight of the bars below it, so bar i = 1 ... n has the slope -(n/2 - i +
    1/2) m g / H. H follows from the span.
    """
    at_least(2, "catenary_chain", "n", n)
    span, least = 0.6 * n if span is None else float(span), n % 2
    if not least < span < n:
        raise ValueError(f"catenary_chain: span must lie between {least} and {n} m, got {span}")

    # in units of m g: what pulls down on the left end of each bar, and H by Newton's method, which climbs from zero
    # without passing the root, for the span is a concave function of H
    pull = 0.5 * n - np.arange(n) - 0.5
    force = 1e-9
    for _ in range(100):
        tension = np.sqrt(force * force + pull * pull)
        force += (span - float((force / tension).sum())) / float((pull * pull / tension**3).sum())
    angles = pi / 2 - np.arctan2(pull, force)
    half = np.array((0.0, 0.0, 0.5))
    m = _hanging_chain(box((0.1, 0.1, 1.0), mass=1.0), angles, joint, upper=half, lower=-half)
    end = np.array((0.0, span, 0.0))
    m.add_joint(make_joint(joint, m.world, m.bodies[f"link{n}"], axis=X, anchors=(end, -half), name=f"joint{n + 1}"))
    return m


def segmented_chain(k: int = 2, attach: Literal["bottom", "elbow"] = "bottom") -> Mechanism:
    """Make a chain of k rhombi, at rest, each of four boxes of 0.1 x 0.1 x 1 m and 1 kg on revolute joints.

    "bottom": the next rhombus hangs from the lowest corner of the one above. The pose is that of the publication:
    half-angle pi/8, inclined by pi/4, the last one by another pi/4. "elbow": the next rhombus hangs from a side corner,
    so the loops are not connected in series; all are attached to the chain of their first links, which is straight at
    3/8 pi with the rhombi on alternate sides.

    Links of rhombus s are link{s}a to link{s}d: a and b form one side from top to bottom, c and d the other.
    """
    at_least(1, "segmented_chain", "k", k)
    if attach not in ("bottom", "elbow"):
        raise ValueError(f"segmented_chain: attach must be 'bottom' or 'elbow', got {attach!r}")
    half = np.array((0.0, 0.0, 0.5))
    shape = box((0.1, 0.1, 1.0), mass=1.0)
    m = Mechanism()

    def hang(name: str, pivot: Array, angle: float) -> tuple[Body, Array]:
        q = from_axis_angle(X, angle)
        body = m.add_body(name, shape, position=pivot - rotate(q, half), orientation=q)
        return body, pivot - 2 * rotate(q, half)

    def pin(a: Body | World, b: Body, anchors: tuple[Array, Array], name: str) -> None:
        m.add_joint(make_joint("revolute", a, b, axis=X, anchors=anchors, name=name))

    before: Body | World = m.world
    hook = top = np.zeros(3)
    for s in range(1, k + 1):
        if attach == "bottom":
            lean = pi / 2 if s == k else pi / 4
            first, second = lean + pi / 8, lean - pi / 8
        else:
            first, second = 3 * pi / 8, pi / 8 if s % 2 else 5 * pi / 8
        a, elbow = hang(f"link{s}a", top, first)
        b, bottom = hang(f"link{s}b", elbow, second)
        c, other = hang(f"link{s}c", top, second)
        d, _ = hang(f"link{s}d", other, first)
        pin(before, a, (hook, half), f"hook{s}")
        pin(a, b, (-half, half), f"elbow{s}ab")
        pin(a, c, (half, half), f"top{s}")
        pin(c, d, (-half, half), f"elbow{s}cd")
        pin(b, d, (-half, -half), f"bottom{s}")
        hook = -half
        before, top = (d, bottom) if attach == "bottom" else (a, elbow)
    return m


def _hanging_chain(shape: Solid, angles: Sequence[float], joint: JointKind, *, upper: Array, lower: Array) -> Mechanism:
    """Links at the given angles about world x, hung at `upper`, the next one at `lower` of their frame."""
    m = Mechanism()
    before: Body | World = m.world
    pivot = hook = np.zeros(3)
    for k, angle in enumerate(angles, start=1):
        q = from_axis_angle(X, angle)
        position = pivot - rotate(q, upper)
        body = m.add_body(f"link{k}", shape, position=position, orientation=q)
        m.add_joint(make_joint(joint, before, body, axis=X, anchors=(hook, upper), name=f"joint{k}"))
        before, hook, pivot = body, lower, position + rotate(q, lower)
    return m
