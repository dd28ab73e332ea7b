"""Tables of text and their formats: aligned text, Markdown, LaTeX with booktabs, HTML."""

import html
import json
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._choices import Format
from ..._text import TEX

if TYPE_CHECKING:
    import pandas as pd

Groups = list[list[list[str]]]
"""Groups of rows of text."""

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
        optional: names of columns that a narrow terminal can do without, the least important first.
    """

    title: str
    header: Sequence[str]
    groups: Sequence[Sequence[Sequence[Cell]]]
    notes: Sequence[str] = ()
    optional: Sequence[str] = ()

    def write(self, format: Format, width: int | None = None) -> str:
        """Render the table in one of `FORMATS`; as text, it fits a terminal of this width."""
        return text(self, width) if format == "text" else FORMATS[format](self)


def to_json(frame: "pd.DataFrame") -> str:
    """Return a frame as a JSON list of rows; missing and non-finite values become null."""
    return plain_rows(frame.to_dict("records"))


def plain_rows(rows: Sequence[Mapping[Any, Any]]) -> str:
    """Return rows of named values as a JSON list; missing and non-finite values become null."""
    return json.dumps([plain(row) for row in rows], ensure_ascii=False, indent=1)


def plain(value: object) -> object:
    """Return a value as JSON can hold it: arrays as lists, missing and non-finite values as None.

    Example:
        >>> import pandas as pd
        >>> plain({"rates": np.array([0.5, np.nan]), "runs": pd.NA})
        {'rates': [0.5, None], 'runs': None}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return None if isinstance(value, float) and not math.isfinite(value) else value
    import pandas as pd  # which made the value

    if value is pd.NA or value is pd.NaT:
        return None
    return value.isoformat() if isinstance(value, pd.Timestamp) else value


def text(grid: Grid, width: int | None = None) -> str:
    """Render a table as aligned text.

    In a terminal that is too narrow, titles of columns are wrapped; then optional columns are left out, then intervals,
    which a note says; then the widest column is wrapped.
    """
    header, groups, notes = _fitted(grid, width)
    widths = _widths(header, groups)
    if width is not None and _total(widths) > width:
        widths = _widths(_longest_words(header), groups)
    if width is not None and _total(widths) > width:
        widest = widths.index(max(widths))
        widths[widest] = max(20, widths[widest] - _total(widths) + width)

    def lines(row: Sequence[str]) -> list[str]:
        sized = zip(row, widths, strict=True)
        wrapped = [[value] if len(value) <= size else textwrap.wrap(value, size) for value, size in sized]
        return [
            "  ".join(f"{value:<{size}}" for value, size in zip(part, widths, strict=True)).rstrip()
            for part in zip_longest(*wrapped, fillvalue="")
        ]

    rule = "─" * _total(widths)
    body = [line for group in groups for line in ("", *(line for row in group for line in lines(row)))][1:]
    filled = [textwrap.fill(note, width or max(80, len(rule))) for note in notes]
    return "\n".join([grid.title, "", *lines(header), rule, *body, rule, *filled])


def _fitted(grid: Grid, width: int | None) -> tuple[list[str], Groups, list[str]]:
    """Return the header, the groups of rows and the notes of what a terminal of this width has room for."""
    header, groups = list(grid.header), [[[cell.plain for cell in row] for row in group] for group in grid.groups]
    left_out: list[str] = []

    def fits() -> bool:
        return width is None or _total(_widths(_longest_words(header), groups)) <= width

    for name in grid.optional:
        if not fits() and name in header:
            left_out.append(name)
            kept = [place for place, other in enumerate(header) if other != name]
            header, groups = [header[place] for place in kept], _chosen(groups, kept)
    if not fits() and any(cell.plus for group in grid.groups for row in group for cell in row):
        kept = [place for place, name in enumerate(grid.header) if name not in left_out]
        groups = _chosen([[[cell.value for cell in row] for row in group] for group in grid.groups], kept)
        left_out.append("intervals")
    note = f"Left out to fit the terminal: {'; '.join(left_out)}. Show all with --wide."
    return header, groups, [*grid.notes, *([note] if left_out else [])]


def _chosen(groups: Groups, columns: Sequence[int]) -> Groups:
    return [[[row[place] for place in columns] for row in group] for group in groups]


def _widths(header: Sequence[str], groups: Groups) -> list[int]:
    return [max(map(len, column)) for column in zip(header, *(row for group in groups for row in group), strict=True)]


def _longest_words(header: Sequence[str]) -> list[str]:
    return [max(name.split() or [""], key=len) for name in header]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


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
