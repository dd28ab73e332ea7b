"""Tables of text and their formats: aligned text, Markdown, LaTeX with booktabs, HTML."""

import html
import json
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ..._text import TEX

Format = Literal["text", "markdown", "latex", "html", "json"]

_PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_MATHS = {"·": r" \cdot ", "−": "-", "×": r"\times ", "√z": r"\sqrt{z}", "∪": r" \cup ", "∞": r"\infty ", "%": r"\%"}
_WORDS = {
    **TEX,
    "•": r"$_{\bullet}$",
    "₊": r"$_{+}$",
    "σ": r"$\sigma$",
    "−": r"$-$",
    "·": r"$\cdot$",
    "½": r"$\frac{1}{2}$",
    "—": "---",
    "…": r"\ldots{}",
    "[": "{[}",  # after the end of a row it would start an option
}
_MARKDOWN = str.maketrans({"<": "&lt;", "&": "&amp;", **{character: "\\" + character for character in "\\`*_[|"}})


@dataclass(frozen=True)
class Cell:
    """Cell of a table.

    Args:
        value: its text.
        plus, minus: distances of its interval's bounds, as text.
        best: whether it is the best of its group.
        maths: whether it is a number or a symbol, not words.
    """

    value: str = ""
    plus: str = ""
    minus: str = ""
    best: bool = False
    maths: bool = False

    @property
    def plain(self) -> str:
        """The cell as one line of text."""
        return f"{self.value} +{self.plus} −{self.minus}" if self.plus else self.value


@dataclass(frozen=True)
class Grid:
    """Table of text.

    Args:
        title: title of the table.
        header: names of its columns.
        groups: groups of rows.
        notes: notes below the table.
    """

    title: str
    header: Sequence[str]
    groups: Sequence[Sequence[Sequence[Cell]]]
    notes: Sequence[str] = ()

    def write(self, format: Format) -> str:
        """Render the table in one of `FORMATS`."""
        return FORMATS[format](self)


def to_json(frame: pd.DataFrame) -> str:
    """Return a frame as a JSON list of rows; missing and non-finite values become null."""
    known = frame.replace([np.inf, -np.inf], np.nan).astype(object)
    rows = known.where(known.notna(), None).to_dict("records")
    return json.dumps(rows, ensure_ascii=False, indent=1, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be written as JSON")


def text(grid: Grid) -> str:
    """Render a table as aligned text."""
    cells = [[[cell.plain for cell in row] for row in group] for group in grid.groups]
    lines = [list(grid.header), *[row for group in cells for row in group]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def line(row: Sequence[str]) -> str:
        return "  ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=True)).rstrip()

    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    body = [text for group in cells for text in ("", *map(line, group))][1:]
    notes = [textwrap.fill(note, max(80, len(rule))) for note in grid.notes]
    return "\n".join([grid.title, "", line(list(grid.header)), rule, *body, rule, *notes])


def markdown(grid: Grid) -> str:
    """Render a table as a Markdown pipe table."""

    def escaped(value: str) -> str:
        return value.translate(_MARKDOWN)

    def cell(cell: Cell) -> str:
        value = escaped(cell.value)
        return escaped(cell.plain).replace(value, f"**{value}**", 1) if cell.best else escaped(cell.plain)

    def line(values: Sequence[str]) -> str:
        return f"| {' | '.join(values)} |"

    rows = [line([cell(c) for c in row]) for group in grid.groups for row in group]
    notes = [f"\n{escaped(note)}" for note in grid.notes]
    header = [line([escaped(name) for name in grid.header]), line(["---"] * len(grid.header))]
    return "\n".join([f"**{escaped(grid.title)}**", "", *header, *rows, *notes])


def latex(grid: Grid) -> str:
    """Render a table as a LaTeX tabular with booktabs."""

    def cell(cell: Cell) -> str:
        if not (cell.maths and cell.value):
            return rf"\textbf{{{_words(cell.value)}}}" if cell.best else _words(cell.value)
        value = rf"\mathbf{{{_maths(cell.value)}}}" if cell.best else _maths(cell.value)
        return f"${{{value}}}^{{+{_maths(cell.plus)}}}_{{-{_maths(cell.minus)}}}$" if cell.plus else f"${value}$"

    def line(values: Sequence[str]) -> str:
        return " & ".join(values) + r" \\"

    groups = ["\n".join(line([cell(c) for c in row]) for row in group) for group in grid.groups]
    return "\n".join(
        [
            f"% {grid.title}",
            *[f"% {note}" for note in grid.notes],
            rf"\begin{{tabular}}{{{'l' * len(grid.header)}}}",
            r"\toprule",
            line([_words(name) for name in grid.header]),
            r"\midrule",
            "\n\\midrule\n".join(groups),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _words(value: str) -> str:
    return "".join(_WORDS.get(character, character) for character in value)


def _maths(value: str) -> str:
    for symbol, command in _MATHS.items():
        value = value.replace(symbol, command)
    return re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda power: f"^{{{power[0].translate(_PLAIN)}}}", value).strip()


def as_html(grid: Grid) -> str:
    """Render a table as an HTML table element with its caption and a paragraph of notes."""

    def cell(cell: Cell) -> str:
        value = html.escape(cell.value)
        value = f"<strong>{value}</strong>" if cell.best else value
        bounds = (
            f' <span class="bounds">+{html.escape(cell.plus)} −{html.escape(cell.minus)}</span>' if cell.plus else ""
        )
        return f"<td>{value}{bounds}</td>"

    header = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in grid.header)
    bodies = [
        "\n".join(["<tbody>", *[f"<tr>{''.join(cell(c) for c in row)}</tr>" for row in group], "</tbody>"])
        for group in grid.groups
    ]
    return "\n".join(
        [
            "<table>",
            f"<caption>{html.escape(grid.title)}</caption>",
            f"<thead><tr>{header}</tr></thead>",
            *bodies,
            "</table>",
            *[f"<p>{html.escape(note)}</p>" for note in grid.notes],
        ]
    )


FORMATS: dict[str, Callable[[Grid], str]] = {"text": text, "markdown": markdown, "latex": latex, "html": as_html}
"""Renderers by format; JSON is written from the values by `to_json`."""
