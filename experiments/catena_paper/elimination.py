"""What a sparse factorization costs, counted: the order that the paper gives to loops, against catena's own.

Nodes are links (6 unknowns) and joints (their rows). Eliminating one joins all its later neighbours, and costs
s^3 + 2 s^2 o + s o^2 multiplications, where s are its own unknowns and o those of the neighbours. The paper stacks all
joints that close loops into one node at the end, which is factorized densely.
"""

from __future__ import annotations

from collections.abc import Mapping

import catena as ct

# a loop of hinges in one plane: of the five rows that close it three say what the others said
PLANE_LOOP_ROWS = 2


def stacked_work(mechanism: ct.Mechanism) -> float:
    """Multiplications of one factorization of a plane mechanism of hinges in the paper's order."""
    tree = mechanism.spanning_tree()
    size: dict[str, int] = {}
    neighbours: dict[str, set[str]] = {"loops": set()}
    order: list[str] = []
    for branch in reversed(tree.branches):
        body, joint = f"body {branch.child.name}", f"joint {branch.joint.name}"
        size |= {body: 6, joint: branch.joint.row_count}
        neighbours.setdefault(body, set()).add(joint)
        neighbours.setdefault(joint, set()).add(body)
        if not branch.parent.is_world:
            _join(neighbours, joint, f"body {branch.parent.name}")
        order += [body, joint]
    for joint_ in tree.loops:
        for end in (joint_.a, joint_.b):
            if not end.is_world:
                _join(neighbours, "loops", f"body {end.name}")
    if tree.loops:
        size["loops"] = PLANE_LOOP_ROWS * len(tree.loops)
        order.append("loops")
    return work(order, neighbours, size)


def work(order: list[str], neighbours: Mapping[str, set[str]], size: Mapping[str, int]) -> float:
    """Multiplications of an elimination in that order."""
    left = {node: set(found) for node, found in neighbours.items()}
    total = 0.0
    for node in order:
        later = left.pop(node)
        own, others = size[node], sum(size[other] for other in later)
        total += own**3 + 2 * own**2 * others + own * others**2
        for other in later:
            left[other] |= later
            left[other] -= {node, other}
    return total


def _join(neighbours: dict[str, set[str]], a: str, b: str) -> None:
    neighbours.setdefault(a, set()).add(b)
    neighbours.setdefault(b, set()).add(a)
