"""Tables of results in the manner of the paper, with each published row below ours."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from ..._choices import Format
from ..._formatting import percent, scientific
from ..._frames import records
from ...papers import Experiment, criteria_of
from ...tasks import symbol
from .grid import Cell, Grid, to_json
from .summary import estimated

Row = Mapping[str, Any]

_MEASURES = ("success_rate", "solved_at_median", "solved_at_mean", "sparsity_mean")

OPTIONAL = ("Median agrees", "p", "Sparsity error", "Solved at, mean", "Solved at, median", "Threshold")
"""Columns that a narrow terminal can do without, the least important first."""

EXACT = "Exact: the network of the best record is the task's formula once its weights are rounded, however far."


def render(
    frame: pd.DataFrame,
    experiment: Experiment,
    format: Format = "text",
    *,
    width: int | None = None,
    command: str | None = None,
) -> str:
    """Render a summary as text, Markdown, LaTeX (booktabs), HTML or JSON.

    Args:
        frame: result of `summarize` for the experiment.
        experiment: the experiment.
        format: "text", "markdown", "latex", "html" or "json".
        width: columns of the terminal that text must fit; any width by default.
        command: command that makes the runs, for a table without any; by default that of the whole experiment.
    """
    return to_json(frame) if format == "json" else grid(frame, experiment, command).write(format, width)


def grid(frame: pd.DataFrame, experiment: Experiment, command: str | None = None) -> Grid:
    """Return the table of an experiment, with its best values marked."""
    rows = records(frame)
    compared = "published_n" in frame
    header = ["Op", "Model", *([experiment.axis.replace("_", " ").capitalize()] if experiment.axis else [])]
    header += ["Threshold"] if "threshold" in frame else []
    header += ["Source", "Runs", "Success rate", *(["Exact"] if _exact(rows) else [])]
    header += ["Solved at, median", "Solved at, mean", "Sparsity error"]
    header += ["p", "Median agrees"] if compared else []
    together = "model" if experiment.axis else "operation"
    exact = _exact(rows)
    groups = [
        _group(list(group), experiment, compared, exact) for _, group in groupby(rows, key=lambda row: row[together])
    ]
    title = f"{experiment.item}: {experiment.title}" if experiment.item else experiment.title
    notes = _notes(rows, experiment, compared)
    if rows and not any(row["n"] or isinstance(row.get("note"), str) for row in rows):
        notes.append(f"There are no runs yet. Make them with: {command or f'arithmos run {experiment.name}'}")
    return Grid(title, header, groups, notes, OPTIONAL)


def _exact(rows: Sequence[Row]) -> bool:
    """Return whether the exact judge has judged any run."""
    return any(row["seen"] for row in rows)


def _group(rows: Sequence[Row], experiment: Experiment, compared: bool, exact: bool) -> list[list[Cell]]:
    """Return the rows of one operation or curve: ours, each with the published one below it."""
    rates = ["success_rate", *(["exact_rate"] if exact else [])]
    means = [estimated(name, rows[0]["criterion"], rows[0]) for name in ("solved_at_mean", "sparsity_mean")]
    ours = _measured(rows, *rates, "solved_at_median", *means)
    printed = _measured(rows, *(f"published_{name}" for name in _MEASURES)) if compared else ours
    lines = []
    for row, mine, theirs in zip(rows, ours, printed, strict=True):
        names = [Cell(symbol(row["operation"]), maths=True), Cell(row["label"])]
        names += [Cell(_place(row[experiment.axis]), maths=True)] if experiment.axis else []
        names += [_cell(row, "threshold", scientific, None)] if "threshold" in row else []
        made = [Cell(row["engine"] or "—"), Cell(_runs(row["n"], experiment.seeds))]
        lines.append([*names, *made, *mine, *(_comparison(row) if compared else [])])
        if compared and not pd.isna(row["published_n"]):
            made = [Cell("published"), Cell(str(row["published_n"]))]
            theirs = (theirs[0], *([Cell()] if exact else []), *theirs[1:])
            lines.append([*[Cell()] * len(names), *made, *theirs, Cell(), Cell()])
    return lines


def _measured(rows: Sequence[Row], *names: str) -> list[tuple[Cell, ...]]:
    return list(zip(*(_column(rows, name) for name in names), strict=True))


def _column(rows: Sequence[Row], name: str) -> list[Cell]:
    """Return one measure of the rows, with its best values marked: the highest rate, the lowest of the others."""
    success = name.endswith("_rate")
    write, best = (percent, max) if success else (scientific, min)
    known = [row[name] for row in rows if not math.isnan(row[name])]
    target = write(best(known)) if len(rows) > 1 and known and not (success and best(known) == 0) else None
    return [_cell(row, name, write, target) for row in rows]


def _cell(row: Row, name: str, write: Callable[[float], str], target: str | None) -> Cell:
    value, low, high = row[name], row.get(f"{name}_low", math.nan), row.get(f"{name}_high", math.nan)
    if math.isnan(value):
        return Cell("—")
    best = write(value) == target
    if name.endswith("median") or math.isnan(low):
        return Cell(write(value), best=best, maths=True)
    return Cell(write(value), write(high - value), write(value - low), best, maths=True)


def _place(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _runs(n: int, seeds: int) -> str:
    return str(n) if n == seeds else f"{n} of {seeds}"


def _comparison(row: Row) -> list[Cell]:
    p = row["success_p"]
    written = "" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.2g}"
    return [Cell(written, maths=True), Cell({True: "yes", False: "no"}.get(row["median_agrees"], ""))]


def note_on(experiment: Experiment, criterion: str) -> str:
    """Return what decides which runs of an experiment are solved."""
    known = criteria_of(experiment).get(criterion)
    return known.note if known else f"Solved by the threshold {criterion!r}." if criterion else "There is no threshold."


def _notes(rows: Sequence[Row], experiment: Experiment, compared: bool) -> list[str]:
    notes = [note_on(experiment, rows[0]["criterion"])] if rows else []
    if _exact(rows):
        notes.append(EXACT)
    if compared:
        notes.append(
            "p: Fisher's exact test of the success rates. Median agrees: the published median lies within the 99 % "
            "prediction interval of our runs."
        )
    notes += dict.fromkeys(row["note"] for row in rows if isinstance(row.get("note"), str))
    if ended := sum(row["ended_early"] for row in rows):
        notes.append(f"Runs that ended early on NaN: {ended}.")
    return notes
