"""The report: measures what is not measured yet, and writes report.md and report.html with pictures and raw numbers."""

from __future__ import annotations

import base64
import csv
import html
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import catena

from . import drawing, machine, published
from .figure import Figure, Finding, Level, Row, Rows
from .figures import FIGURES
from .progress import Progress

PAPER = (
    "J. Brüdigam and Z. Manchester, “Linear-Time Variational Integrators in Maximal Coordinates”, "
    "Algorithmic Foundations of Robotics XIV (WAFR 2020), Springer 2021, arXiv:2002.11245"
)

_WORDS = {
    "reproduced": "the paper's result is confirmed",
    "better": "confirmed, with a clearly better result",
    "different": "the result differs, for the reason given",
    "not reproduced": "these numbers do not confirm the paper's claim",
    "new": "not in the paper",
    "not measured": "these numbers do not answer this part",
}


def write(
    output: Path,
    *,
    quick: bool = False,
    figures: Sequence[str] | None = None,
    level: Level | None = None,
    silent: bool = False,
) -> int:
    """Write the report of the asked figures, or of all, into a folder; figures measured before are kept."""
    level = level or ("quick" if quick else "full")
    chosen = [_known(letter) for letter in figures] if figures else list(FIGURES.values())
    output.mkdir(parents=True, exist_ok=True)
    for figure in chosen:
        measured(figure, level, output, silent=silent)
    # the report shows all that the folder has at this size, asked for now or earlier
    sections = [
        _section(figure, rows, facts, output)
        for figure in FIGURES.values()
        if (found := kept(figure, level, output)) is not None
        for rows, facts in [found]
    ]
    _replace(output / "report.md", _markdown(sections, level))
    _replace(output / "report.html", _html(sections, level, output))
    if not silent:
        for section in (section for section in sections if section["figure"] in chosen):
            for word, sentence in section["findings"]:
                print(f"({section['figure'].letter}) {word}: {sentence}")
        print(f"{output / 'report.html'}, {output / 'report.md'}")
    return 0


def _known(letter: str) -> Figure:
    if letter not in FIGURES:
        raise ValueError(f"there is no figure {letter!r}; there are {', '.join(FIGURES)}")
    return FIGURES[letter]


# ---- measuring, and what was measured before


def measured(figure: Figure, level: Level, output: Path, *, silent: bool = False) -> Rows:
    """Rows of a figure, read if they are there with the same settings, else measured and written."""
    found = kept(figure, level, output)
    if found is not None:
        if not silent:
            print(f"({figure.letter}) {figure.title}: measured before, kept", file=sys.stderr)
        return found[0]
    sizes = figure.sizes[level]
    with Progress(f"({figure.letter}) {figure.title}", figure.weight(sizes), silent=silent) as bar:
        rows = list(figure.measure(sizes, bar))
    write_rows(output / f"{figure.letter}.csv", rows)
    # the settings come last: without them the rows do not count
    about = {"settings": _settings(figure, level), "machine": machine.facts()}
    _replace(output / f"{figure.letter}.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    return read_rows(output / f"{figure.letter}.csv")


def kept(figure: Figure, level: Level, output: Path) -> tuple[Rows, dict[str, str]] | None:
    """Rows and the machine of a figure measured before with these settings, if there are any."""
    try:
        about = json.loads((output / f"{figure.letter}.json").read_text(encoding="utf-8"))
        rows = read_rows(output / f"{figure.letter}.csv")
    except (OSError, ValueError):
        return None
    if not isinstance(about, dict) or about.get("settings") != _settings(figure, level):
        return None
    return rows, about["machine"]


def _settings(figure: Figure, level: Level) -> dict[str, Any]:
    """What rows depend on, as JSON gives it back."""
    sizes = dict(figure.sizes[level])
    kernel, contestants = machine.kernel(), list(figure.contestants)
    settings: dict[str, Any] = {
        "level": level,
        "version": catena.__version__,
        "kernel": kernel,
        "contestants": contestants,
    }
    settings["sizes"] = sizes
    return dict(json.loads(json.dumps(settings)))


def write_rows(path: Path, rows: Rows) -> None:
    """Write a CSV file with all columns of all rows; an old file stays whole until the new one is."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, *([_text(row.get(key, "")) for key in columns] for row in rows)]
    aside = path.with_suffix(".part")
    with aside.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    os.replace(aside, path)


def read_rows(path: Path) -> Rows:
    """Read a CSV file; what looks like a number is one."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{key: _value(text) for key, text in row.items()} for row in csv.DictReader(file)]


def _text(value: Any) -> Any:
    # seven digits say all that a measurement knows, and read back as the same number
    return f"{value:.7g}" if isinstance(value, float) else value


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _replace(path: Path, text: str) -> None:
    aside = path.with_suffix(".part")
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)


# ---- words


def _section(figure: Figure, rows: Rows, facts: Mapping[str, str], output: Path) -> dict[str, Any]:
    curves = published.load(figure.published)
    picture = output / f"{figure.letter}.png"
    drawing.save(figure.plot(rows, curves), picture)
    return {
        "figure": figure,
        "findings": figure.findings(rows, curves),
        "table": figure.table(rows, curves),
        "picture": picture.name,
        "raw": f"{figure.letter}.csv",
        "machine": "; ".join(facts.values()),
    }


def _introduction(sections: Sequence[Mapping[str, Any]], level: Level) -> list[str]:
    machines = list(dict.fromkeys(section["machine"] for section in sections))
    return [
        f"Every experiment of {PAPER}, repeated by `python -m catena paper{' --quick' * (level == 'quick')}`, "
        "with the integrators of the paper's comparison and some others.",
        "Times are CPU times of one thread of this machine, the best of several rounds in which all integrators take "
        "turns. Published times are from a laptop of 2020, so compare only the shapes of curves, and ratios within "
        "one run.",
        f"Measured on {' and '.join(machines)}." if machines else "Nothing is measured yet.",
    ]


def _markdown(sections: Sequence[Mapping[str, Any]], level: Level) -> str:
    parts = ["# The paper, figure by figure", *_introduction(sections, level)]
    parts.append(_markdown_table([_summary(section) for section in sections]))
    parts.append("\n".join(f"- **{word}**: {meaning}" for word, meaning in _WORDS.items()))
    for section in sections:
        figure: Figure = section["figure"]
        parts += [f"## ({figure.letter}) {figure.title}", figure.setup]
        parts += [f"- **{word}**: {sentence}" for word, sentence in section["findings"]]
        parts += [f"![{figure.title}]({section['picture']})"]
        parts += [figure.caption] if figure.caption else []
        parts += [_markdown_table(section["table"])] if section["table"] else []
        parts += [f"Raw numbers: [{section['raw']}]({section['raw']})"]
    return "\n\n".join(parts) + "\n"


def _summary(section: Mapping[str, Any]) -> Row:
    findings: list[Finding] = section["findings"]
    words = ", ".join(dict.fromkeys(finding.word for finding in findings))
    return {"": f"({section['figure'].letter})", "experiment": section["figure"].title, "found": words}


def _markdown_table(rows: Rows) -> str:
    if not rows:
        return ""
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([_cell(row.get(name, "")) for name in names] for row in rows)]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.3g}"
    return str(value)


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1.5rem; }
img { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.85rem; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #e5e5e5; text-align: left; }
th { border-bottom: 2px solid #bbb; } code { background: #f3f3f3; padding: 0 0.2rem; }
.finding { border-left: 4px solid #999; background: #f7f7f7; padding: 0.5rem 0.9rem; margin: 0.6rem 0; }
.reproduced { border-color: #2a9d5c; } .better { border-color: #0b6fb8; } .new { border-color: #6a4fb3; }
.different { border-color: #e08e1b; } .not { border-color: #c0392b; } .note { color: #666; font-size: 0.85rem; }
"""


def _html(sections: Sequence[Mapping[str, Any]], level: Level, output: Path) -> str:
    parts = ["<h1>The paper, figure by figure</h1>", *(f"<p>{_inline(p)}</p>" for p in _introduction(sections, level))]
    parts.append(_html_table([_summary(section) for section in sections]))
    words = "; ".join(f"<b>{word}</b>: {meaning}" for word, meaning in _WORDS.items())
    parts.append(f'<p class="note">{words}.</p>')
    for section in sections:
        figure: Figure = section["figure"]
        parts.append(f'<h2 id="{figure.letter}">({figure.letter}) {_inline(figure.title)}</h2>')
        parts.append(f"<p>{_inline(figure.setup)}</p>")
        for word, sentence in section["findings"]:
            parts.append(f'<p class="finding {word}"><b>{word}</b>: {_inline(sentence)}</p>')
        data = base64.b64encode((output / section["picture"]).read_bytes()).decode()
        parts.append(f'<img alt="{html.escape(figure.title)}" src="data:image/png;base64,{data}">')
        parts += [f'<p class="note">{_inline(figure.caption)}</p>'] if figure.caption else []
        parts += [_html_table(section["table"])] if section["table"] else []
        parts.append(f'<p class="note">Raw numbers: <a href="{section["raw"]}">{section["raw"]}</a></p>')
    body = "\n".join(parts)
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    title = "<title>catena: the paper, figure by figure</title>"
    whole = f'<html lang="en"><head>{head}{title}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>'
    return f"<!doctype html>\n{whole}\n"


def _inline(text: str) -> str:
    """Escape, and turn pairs of backticks into code."""
    substeps = html.escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if k % 2 else piece for k, piece in enumerate(substeps))


def _html_table(rows: Rows) -> str:
    names = list(rows[0]) if rows else []
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in names)
    lines = ("".join(f"<td>{html.escape(_cell(row.get(name, '')))}</td>" for name in names) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
