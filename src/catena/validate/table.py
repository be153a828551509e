"""What the problems gave, as text, as Markdown and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .case import GAP, ORDER, Outcome

HEAD = ("problem", "dt (s)", "error", "mark", "order", "gap", "energy", "momentum", "CPU (s)", "passes")
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>catena: validation</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em }}
table {{ border-collapse: collapse; margin-bottom: 2em }}
th, td {{ border-bottom: 1px solid #ccc; padding: 0.3em 0.7em; text-align: left; vertical-align: top }}
td:not(:last-child) {{ white-space: nowrap }}
.no {{ color: #b00020 }}
</style>
<h1>Benchmark problems of the field</h1>
<p>{words}</p>
{tables}
</html>
"""


def words(found: Sequence[Outcome]) -> str:
    """How many pass, and what the columns mean."""
    passed = sum(outcome.passed for outcome in found)
    return (
        f"{passed} of {len(found)} problems pass. The error is the largest over all nodes of the reference. A problem "
        f"passes if its error is below the mark, the order observed from two step sizes is within {ORDER:g} of the "
        f"order of the scheme, all joint gaps stay below {GAP:g} (m or rad), the energy error stays below its mark, "
        "and conserved momenta are constant to rounding."
    )


def row(outcome: Outcome) -> tuple[str, ...]:
    """One problem, as the head says."""
    unit = f" {outcome.unit}" if outcome.unit else ""
    return (
        outcome.title,
        f"{outcome.dt:g}",
        f"{outcome.error:.1e}{unit}",
        f"{outcome.mark:.1e}{unit}",
        "at rest" if outcome.observed_order is None else f"{outcome.observed_order:.2f}",
        f"{outcome.gap:.0e}",
        "" if outcome.energy is None else f"{outcome.energy:.0e}",
        "" if not outcome.kept else f"{max(outcome.kept.values()):.0e}",
        f"{outcome.seconds:.3f}",
        "yes" if outcome.passed else "NO: " + "; ".join(outcome.failures),
    )


def others(found: Iterable[Outcome]) -> list[tuple[str, ...]]:
    """Published figures of other programs beside ours."""
    return [
        (outcome.title, other["program"], f"{other['error']:.1e} {outcome.unit}", other["source"])
        for outcome in found
        for other in outcome.published
    ]


def text(found: Sequence[Outcome]) -> str:
    """For a terminal."""
    rows = [HEAD, *map(row, found)]
    widths = [max(len(cells[k]) for cells in rows) for k in range(len(HEAD) - 1)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(cells, widths, strict=False)), cells[-1]]) for cells in rows]
    return "\n".join([*lines, "", words(found)])


def markdown(found: Sequence[Outcome]) -> str:
    """For the manual."""
    sources = [(outcome.title, outcome.source) for outcome in found]
    return "\n\n".join(
        (
            words(found),
            _markdown(HEAD, map(row, found)),
            "Errors that other programs published or print for the same problems, against the same references. Their "
            "steps and times differ from ours, as each row says:",
            _markdown(_OTHERS, others(found)),
            "Where the problems and their references come from:",
            _markdown(("problem", "source"), sources),
        )
    )


def page(found: Sequence[Outcome]) -> str:
    """A page of its own."""
    sources = [(outcome.title, outcome.source) for outcome in found]
    tables = ((HEAD, map(row, found)), (_OTHERS, others(found)), (("problem", "source"), sources))
    return _PAGE.format(words=escape(words(found)), tables="\n".join(_html(*table) for table in tables))


_OTHERS = ("problem", "program", "error", "source")


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def _html(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td{_mark(cell)}>{escape(cell)}</td>" for cell in cells) + "</tr>" for cells in rows
    )
    return f"<table><tr>{top}</tr>{body}</table>"


def _mark(cell: str) -> str:
    return ' class="no"' if cell.startswith("NO") else ""
