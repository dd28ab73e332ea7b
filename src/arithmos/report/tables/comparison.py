"""Table of an experiment: each number of ours with the published one and the verdict, one row per cell."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from ..._frames import records
from ...papers import Experiment
from ...tasks import symbol
from ..charts.figures import AXES
from .grid import Cell
from .summary import estimated
from .verdicts import finds, measure, number

Row = Mapping[str, Any]

ALWAYS = ("success_rate", "solved_at_median", "solved_at_mean", "sparsity_mean")
"""Measures of every cell; gates are shown if they were published, exact rates if they were judged."""


@dataclass(frozen=True)
class Number:
    """Number of ours, the published one, the verdict, the smallest difference found, and a note; any may be empty."""

    ours: Cell
    published: Cell | None = None
    verdict: str = ""
    finds: str = ""
    note: str = ""


@dataclass(frozen=True)
class Line:
    """Cell of an experiment: its names, spec, runs and numbers."""

    names: tuple[str, ...]
    spec_id: str
    runs: str
    engine: str
    numbers: tuple[Number, ...]

    @property
    def name(self) -> str:
        """The names on one line."""
        return " ".join(name for name in self.names if name)


@dataclass(frozen=True)
class ComparisonTable:
    """Groups of lines below the names of their columns."""

    names: tuple[str, ...]
    measures: tuple[str, ...]
    groups: tuple[tuple[Line, ...], ...]

    @property
    def lines(self) -> list[Line]:
        """All lines of all groups."""
        return [line for group in self.groups for line in group]

    @property
    def names_of_specs(self) -> dict[str, str]:
        """Name of each spec's cell; of a spec with several cells, the part that they share."""
        names: dict[str, tuple[str, ...]] = {}
        for line in self.lines:
            other = names.get(line.spec_id, line.names)
            names[line.spec_id] = tuple(one for one, two in zip(line.names, other, strict=False) if one == two)
        return {spec: " ".join(name for name in parts if name) for spec, parts in names.items()}


def comparison_table(frame: pd.DataFrame, verdicts: pd.DataFrame, experiment: Experiment) -> ComparisonTable:
    """Return the table of an experiment.

    Args:
        frame: result of `summarize` for the experiment.
        verdicts: its rows of the result of `verdict.verdicts`.
        experiment: the experiment.
    """
    axis = experiment.axis
    judged = {(row["model"], row["operation"], row["at"], row["measure"]): row for row in records(verdicts)}
    exact = ["exact_rate"] if frame["seen"].any() else []
    measures = [
        ALWAYS[0],
        *exact,
        *ALWAYS[1:],
        *[name for name in dict.fromkeys(verdicts["measure"]) if name not in ALWAYS],
    ]

    def line(row: Row) -> Line:
        place = row[axis] if axis else ""
        names = [symbol(row["operation"]), row["label"], *([_place(place)] if axis else [])]
        key = (row["model"], row["operation"], place)
        numbers = [_number(row, measure, judged.get((*key, measure))) for measure in measures]
        runs = f"{row['n']}" if row["n"] == experiment.seeds else f"{row['n']} of {experiment.seeds}"
        return Line(tuple(names), row["spec_id"], runs, row["engine"], tuple(numbers))

    together = "model" if axis else "operation"
    groups = [tuple(map(line, group)) for _, group in groupby(records(frame), key=lambda row: row[together])]
    header = ["Operation", "Model", *([AXES.get(axis, axis.replace("_", " ").capitalize())] if axis else [])]
    return ComparisonTable(tuple(header), tuple(measure(name)[0] for name in measures), tuple(groups))


def _number(row: Row, measure: str, judged: Row | None) -> Number:
    """Return a number by the estimator of the published one or, if none was published, of the criterion."""
    if judged is not None:
        cells = number(judged, "ours"), number(judged, "published")
        return Number(*cells, judged["verdict"], finds(judged), judged["note"])
    name = estimated(measure, row["criterion"], row)
    names = {"": name, "_low": f"{name}_low", "_high": f"{name}_high"}
    ours = {f"ours{side}": row.get(column, math.nan) for side, column in names.items()}
    return Number(number({"measure": measure, **ours}, "ours"))


def _place(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
