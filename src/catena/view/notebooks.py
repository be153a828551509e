"""Mechanisms, states, trajectories and reports as text and as small tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from .._util.lookup import how_many
from .._util.rotation import Array

if TYPE_CHECKING:
    from ..describe.joint import BodyLike
    from ..describe.mechanism import Mechanism
    from ..describe.spanning_tree import Branch, SpanningTree
    from ..kinematics.state import State
    from ..results.report import Report
    from ..results.trajectory import Trajectory

Thing = TypeVar("Thing")

# longest list, of a tree or of forces, that is shown in full
_MOST_LINES = 60

# longest table
_MOST_ROWS = 20

# ---- text


def size_of(mechanism: Mechanism) -> str:
    """How many bodies and joints there are, in words."""
    bodies, joints = mechanism.body_count, mechanism.joint_count
    return f"{how_many(bodies, 'body', 'bodies')}, {how_many(joints, 'joint', 'joints')}"


def described(mechanism: Mechanism) -> str:
    """The counts, the tree, what closes loops, forces, couplings and contacts; long lists cut short."""
    tree = mechanism.spanning_tree()
    total = 1 + mechanism.body_count + len(tree.floating) + (1 + len(tree.loops) if tree.loops else 0)
    lines = _cut(_tree_lines(mechanism, tree), total)
    for title, items in (
        ("forces:", mechanism.forces),
        ("couplings:", mechanism.couplings),
        ("contacts:", mechanism.contacts),
    ):
        if items:
            lines += [title, *_cut((f"  {item!r}" for item in items.values()), len(items))]
    return "\n".join(("Mechanism: " + _counts(mechanism, len(tree.loops)), *lines))


def _tree_lines(mechanism: Mechanism, tree: SpanningTree) -> Iterator[str]:
    carried: dict[str, list[Branch]] = {}
    for branch in tree.branches:
        carried.setdefault(branch.parent.name, []).append(branch)

    def lines_under(root: BodyLike, indent: str) -> Iterator[str]:
        yield indent + root.name
        stack = [(1, branch) for branch in reversed(carried.get(root.name, []))]
        while stack:
            depth, branch = stack.pop()
            joint = branch.joint
            yield f"{indent}{'  ' * depth}{branch.child.name}  ({joint.code} {joint.name!r})"
            stack.extend((depth + 1, below) for below in reversed(carried.get(branch.child.name, [])))

    yield from lines_under(mechanism.world, "")
    for root in tree.floating:
        yield "floating:"
        yield from lines_under(root, "  ")
    if tree.loops:
        yield "loops closed by:"
        yield from (f"  {joint.a.name} - {joint.b.name}  ({joint.code} {joint.name!r})" for joint in tree.loops)


def _cut(lines: Iterable[str], total: int) -> list[str]:
    """The first of them, and how many more there are; the others are never made: a long chain indents them far."""
    shown = list(islice(lines, _MOST_LINES))
    return shown if total <= _MOST_LINES else [*shown, f"... {total - _MOST_LINES} more lines"]


def _counts(mechanism: Mechanism, loop_count: int) -> str:
    counts = [_count(mechanism.body_count, "body", "bodies"), _count(mechanism.joint_count, "joint", "joints")]
    for number, one in (
        (loop_count, "loop"),
        (len(mechanism.forces), "force"),
        (len(mechanism.couplings), "coupling"),
        (len(mechanism.contacts), "contact"),
    ):
        if number:
            counts.append(_count(number, one, one + "s"))
    return ", ".join(counts)


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


# ---- tables


def mechanism_table(mechanism: Mechanism) -> str:
    """Bodies with mass and place, and joints with kind and bodies."""
    bodies = [
        (b.name, b.shape.kind if b.shape else "", f"{b.mass:g}", _numbers(b.position)) for b in _first(mechanism.bodies)
    ]
    joints = [(j.name, j.code, j.a.name, j.b.name) for j in _first(mechanism.joints)]
    kinds = (mechanism.forces, mechanism.couplings, mechanism.contacts)
    others = [(item.name, repr(item)) for kind in kinds for item in _first(kind)]
    return (
        _heading("Mechanism: " + _counts(mechanism, len(mechanism.spanning_tree().loops)))
        + _table(("body", "shape", "mass [kg]", "position [m]"), bodies, mechanism.body_count)
        + _table(("joint", "kind", "a", "b"), joints, mechanism.joint_count)
        + _table(("force, coupling or contact", ""), others, sum(map(len, kinds)))
    )


def state_table(state: State) -> str:
    """Where every body is and how it moves."""
    rows = [
        (name, *(_numbers(array[k]) for array in state._motion))
        for k, name in enumerate(islice(state.mechanism.bodies, _MOST_ROWS))
    ]
    heads = ("body", "position [m]", "orientation", "velocity [m/s]", "angular velocity [rad/s]")
    return _heading(f"State at t = {state.time:g} s") + _table(heads, rows, len(state.position))


def trajectory_table(run: Trajectory) -> str:
    """How long, how well, and where every body began and ended."""
    rows = []
    if len(run):
        names = islice(run.mechanism.bodies, _MOST_ROWS)
        rows = [(name, _numbers(run.position[0, k]), _numbers(run.position[-1, k])) for k, name in enumerate(names)]
    return _heading(repr(run)) + _table(
        ("body", "first position [m]", "last position [m]"), rows, run.position.shape[1]
    )


def report_table(report: Report) -> str:
    """The lines of a report."""
    return _heading("Report") + _table((), [tuple(line.split(": ", 1)) for line in str(report).split("\n")], 0)


def _first(items: Mapping[str, Thing]) -> list[Thing]:
    return list(islice(items.values(), _MOST_ROWS))


def _numbers(values: Array) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def _heading(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], total: int) -> str:
    """A table, or nothing where there are no rows; everything is escaped, names are the user's."""
    if not rows:
        return ""
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    head = "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in heads) + "</tr>" if heads else ""
    more = f"<p>... {total - len(rows)} more</p>" if total > len(rows) else ""
    return f"<table>{head}{body}</table>{more}"
