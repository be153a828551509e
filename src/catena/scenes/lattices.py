"""Lattices: adjacent loops that share links."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from ..describe.bodies import Body, World
from ..describe.mechanism import Mechanism
from ._parts import JointKind, X, at_least, bar
from ._parts import joint as make_joint


def ladder(k: int = 5, joint: JointKind = "revolute", *, angle: float = pi / 4) -> Mechanism:
    """Make a rope ladder of k rungs on two rails of k links each, at rest, with rails at `angle` (rad) from vertical.

    All links are boxes of 0.1 x 0.1 x 1 m and 1 kg. The rails hang from (0, 0, 0) and (0, 1, 0), and every rung
    connects the lower ends of two rail links. Revolute joints rotate about x, and each of the k squares has one degree
    of freedom. With ball joints, it has three, and each of its links can also rotate about its own axis.
    """
    at_least(1, "ladder", "k", k)
    step = np.array((0.0, sin(angle), -cos(angle)))
    across = np.array((0.0, 1.0, 0.0))
    m = Mechanism()
    above: list[Body | World] = [m.world, m.world]
    for i in range(1, k + 1):
        ends = i * step, i * step + across
        rails = [
            bar(m, f"{side}{i}", end - step, end, width=0.1, mass=1.0)
            for side, end in zip(("left", "right"), ends, strict=True)
        ]
        rung = bar(m, f"rung{i}", *ends, width=0.1, mass=1.0)
        for side, over, rail, end in zip(("left", "right"), above, rails, ends, strict=True):
            m.add_joint(make_joint(joint, over, rail, axis=X, at=end - step, name=f"{side} joint{i}"))
            m.add_joint(make_joint(joint, rail, rung, axis=X, at=end, name=f"{side} pin{i}"))
        above = [*rails]
    return m


def net(rows: int = 4, cols: int = 4, *, angle: float = pi / 4) -> Mechanism:
    """Make a net of bars that hangs from its top row, at rest, inclined by `angle` (rad) from vertical.

    `cols` columns of `rows` bars each hang from (0, c, 0), c = 0, 1, ..., inclined toward +x. In every row below the
    top, cross bars connect the knots of adjacent columns. All bars are boxes of 0.05 x 0.05 x 1 m and 0.25 kg on ball
    joints; the column bar above a knot carries the others that meet there. The meshes are squares of 1 m that shear and
    fold, with three degrees of freedom per knot less one per bar. In addition, every bar can rotate about its own axis.
    The two outer columns carry less than the inner ones, so the net does not stay plane as it swings.
    """
    at_least(1, "net", "rows", rows)
    at_least(2, "net", "cols", cols)
    step = np.array((sin(angle), 0.0, -cos(angle)))
    across = np.array((0.0, 1.0, 0.0))
    m = Mechanism()
    above: list[Body | World] = [m.world] * cols
    for r in range(1, rows + 1):
        knots = [r * step + c * across for c in range(cols)]
        drops = [bar(m, f"drop{r},{c}", knots[c] - step, knots[c], width=0.05, mass=0.25) for c in range(cols)]
        for c in range(cols):
            m.add_joint(make_joint("ball", above[c], drops[c], axis=X, at=knots[c] - step, name=f"knot{r},{c}"))
        for c in range(cols - 1):
            cross = bar(m, f"cross{r},{c}", knots[c], knots[c + 1], width=0.05, mass=0.25)
            m.add_joint(make_joint("ball", drops[c], cross, axis=X, at=knots[c], name=f"left{r},{c}"))
            m.add_joint(make_joint("ball", drops[c + 1], cross, axis=X, at=knots[c + 1], name=f"right{r},{c}"))
        above = [*drops]
    return m
