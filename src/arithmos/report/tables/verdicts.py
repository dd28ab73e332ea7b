"""Tables of verdicts: their counts, and every published number with its verdict."""

import math
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

import pandas as pd

from ..._choices import Format
from ..._formatting import percent, scientific
from ..._frames import records
from ...papers import EXPERIMENTS, OWN, PAPERS, Experiment, Finding
from ...papers.verdicts import WORDS, is_rate, matrix
from ...tasks import symbol
from .grid import Cell, Grid, to_json

MEASURES = {
    "success_rate": ("Success rate", percent),
    "exact_rate": ("Exact", percent),
    "solved_at_median": ("Solved at, median", scientific),
    "solved_at_mean": ("Solved at, mean", scientific),
    "sparsity_mean": ("Sparsity error", scientific),
    "gate_multiplies": ("Gate at 0", percent),
    "gate_adds": ("Gate at 1", percent),
}
"""Measures, with their titles and formats."""


def measure(name: str) -> tuple[str, Callable[[float], str]]:
    """Return the title and the format of a measure; a paper may have measures of its own."""
    return MEASURES.get(name, (name.replace("_", " ").capitalize(), percent if is_rate(name) else scientific))


FINDS = (
    "Finds: the smallest difference, in either direction, that the test would have found with a chance of 80%, in "
    "percentage points or as a factor. None: not even a tenfold difference, or no rate at all."
)

Row = Mapping[str, Any]


def render_verdicts(
    frame: pd.DataFrame, format: Format = "text", *, every: bool = True, width: int | None = None
) -> str:
    """Render the matrix of verdicts and, below it, the numbers of each experiment.

    Args:
        frame: result of `verdicts`.
        format: "text", "markdown", "latex", "html" or "json"; JSON holds the rows.
        every: whether to show all numbers, or only those that differ.
        width: columns of the terminal that text must fit; any width by default.
    """
    if format == "json":
        return to_json(frame)
    shown = frame if every else frame[frame["verdict"] == "differs"]
    matrices = [matrix_grid(part) for _, part in frame.groupby("paper", sort=False)] or [matrix_grid(frame)]
    tables = [*matrices, *[verdict_grid(part) for _, part in shown.groupby(["paper", "experiment"], sort=False)]]
    return "\n\n".join(table.write(format, width) for table in tables)


def matrix_grid(frame: pd.DataFrame) -> Grid:
    """Count the published numbers of a paper by verdict: one row per experiment, and their sums."""
    counts, words = matrix(frame), words_of(frame)
    header = ["Experiment", "Numbers", *[word.capitalize() for word in words], "0% in print", *words]
    columns = ["experiment", "numbers", *words, "zero numbers", *[f"zero {word}" for word in words]]
    rows = [*counts[columns].to_numpy(object), ["All", *counts[columns[1:]].sum()]] if len(counts) else []
    cells = [[Cell(str(value)) for value in row] for row in rows]
    notes = [
        "Published success rates of 0% are counted separately, on the right: agreeing on failure is easy.",
        "Differs: by the Benjamini–Hochberg procedure at 5% among the numbers of one kind in an experiment. Success "
        "rates and gates are compared by Fisher's exact test; medians, means and sparsity errors by the position of "
        "the printed number in the distribution that our runs predict for it, by the same estimator. Agrees: does not "
        "differ, although a difference of 50 points, or a twofold one, would have been found with a chance of at least "
        "80%. Cannot tell: it would not have been found. Too few runs: fewer than published.",
    ]
    title = "Verdicts on the published numbers"
    if len(frame):
        title += f" of {PAPERS[frame['paper'].iloc[0]].reference}"
    notes = [*notes, *not_run(frame)] if cells else ["Nothing is published."]
    return Grid(title, header, [cells[:-1], cells[-1:]] if cells else [], notes, optional=words)


def not_run(frame: pd.DataFrame) -> list[str]:
    """Return a line for each group of numbers that were not run for a known reason: their place, count and reason."""
    known = frame[(frame["verdict"] == "not run") & (frame["note"] != "")]
    counts: dict[tuple[str, str], int] = {}
    for paper, name, reason in known[["paper", "experiment", "note"]].to_numpy(object):
        group = place_of(paper, name)[0] or name, reason
        counts[group] = counts.get(group, 0) + 1
    return [
        f"Not run: {place}, {count} number{'s' if count > 1 else ''}; {reason}."
        for (place, reason), count in counts.items()
    ]


def place_of(paper: str, name: str) -> tuple[str, str, str]:
    """Return item, title and axis of an experiment, or of a table that no experiment has."""
    own = PAPERS[paper]
    for experiment in own.experiments:
        if experiment.name == name:
            return experiment.item, experiment.title, experiment.axis
    group = next(one for one in own.not_run if one.name == name)
    axis = "at" if group.published is not None and "at" in group.published.table else ""
    return group.item, f"{name}, not run", axis


def words_of(frame: pd.DataFrame) -> list[str]:
    """Return the verdicts that occur, in their order."""
    return [word for word in WORDS if (frame["verdict"] == word).any()]


def verdict_grid(frame: pd.DataFrame) -> Grid:
    """Return the table of one experiment's published numbers, ours and the verdicts."""
    rows = records(frame)
    paper, name = PAPERS[rows[0]["paper"]], rows[0]["experiment"]
    item, title, axis = place_of(paper.key, name)
    place = [axis.replace("_", " ").capitalize()] if axis else []
    header = ["Op", "Model", *place, "Number", "Published", "Solved", "Ours", "Solved", "p", "Finds", "Verdict", "Note"]
    together = "model" if axis else "operation"
    groups = [[_line(row, bool(axis)) for row in part] for _, part in groupby(rows, key=lambda row: row[together])]
    concerned = [found for found in paper.findings if any(found.concerns(row) for row in rows)]
    notes = [FINDS, *[written(found, EXPERIMENTS[f"{paper.key}/{name}"]) for found in concerned]]
    return Grid(f"{item}: {title}", header, groups, notes, optional=["Note", "Solved", "p", "Finds"])


def _line(row: Row, placed: bool) -> list[Cell]:
    at = row["at"] if isinstance(row["at"], str) else f"{row['at']:g}"
    place = [Cell(at, maths=True)] if placed else []
    names = [Cell(symbol(row["operation"]), maths=True), Cell(row["label"]), *place]
    theirs = [number(row, "published"), Cell(f"{row['published_k']}/{row['published_n']}")]
    ours = [number(row, "ours"), Cell(f"{row['k']}/{row['n']}")]
    p = "" if math.isnan(row["p"]) else "<0.001" if row["p"] < 0.001 else f"{row['p']:.2g}"
    outcome = [Cell(p, maths=True), Cell(finds(row)), Cell(row["verdict"]), Cell(row["note"])]
    return [*names, Cell(measure(row["measure"])[0]), *theirs, *ours, *outcome]


def number(row: Row, name: str) -> Cell:
    """Return a number of a row, "published" or "ours", with its bounds."""
    write = measure(row["measure"])[1]
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if math.isnan(value):
        return Cell("—")
    if math.isnan(low):
        return Cell(write(value), maths=True)
    # Points and bars read off a drawing are rounded separately, which may put a bound on the wrong side.
    return Cell(write(value), write(max(0.0, high - value)), write(max(0.0, value - low)), maths=True)


def finds(row: Row) -> str:
    """Return the smallest difference that would have been found; empty if nothing was tested."""
    if math.isnan(row["p"]):
        return ""
    if math.isnan(row["finds"]):
        return "none"
    return f"{100 * row['finds']:.0f} points" if is_rate(row["measure"]) else f"{row['finds']:g}-fold"


def written(found: Finding, experiment: Experiment) -> str:
    """Return a finding on an experiment, with the cells it is about."""
    labels = {spec.model.name: spec.model.label for spec in experiment.specs}
    place = f"{found.at:g}" if isinstance(found.at, float) else found.at
    about = [labels.get(found.model, ""), symbol(found.operation), f"at {place}" if place is not None else ""]
    about += [measure(found.measure)[0].lower() if found.measure else "", OWN if found.own else ""]
    where = ", ".join(word for word in about if word)
    return f"{where}: {found.text}" if where else found.text
