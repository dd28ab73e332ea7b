"""Matrices of success rates: models in rows, experiments or positions on an axis in columns, best models first."""

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pandas as pd

from ... import statistics
from ..._formatting import percent
from ...papers import Experiment
from ...statistics import Interval
from .grid import Cell

ALL = ""
"""Column of all ranges together."""


@dataclass(frozen=True)
class Rate:
    """Success rate of a model in a column.

    Args:
        n: number of runs; of several ranges, the least number in one of them for each.
        k: number of solved runs; of ranges with more runs than the least, in proportion.
        best: whether no other model of the column has a higher rate.
        spec_id: spec of the runs; empty if there are several.
    """

    n: int
    k: int
    best: bool = False
    spec_id: str = ""

    @property
    def interval(self) -> Interval:
        """The rate with its 95 % interval."""
        return statistics.wilson(self.k, self.n)

    @property
    def cell(self) -> Cell:
        """The rate as text."""
        rate = self.interval
        plus, minus = (percent(abs(bound - rate.estimate)) for bound in (rate.high, rate.low))
        return Cell(percent(rate.estimate), plus, minus, best=self.best, maths=True)


@dataclass(frozen=True)
class Rates:
    """Matrix of success rates.

    Args:
        columns: titles of the columns, by the name of the experiment or by position.
        rows: label of each model with its rates; None where it has no runs.
        groups: titles of groups of columns, each with what remains of the titles of its columns; empty for none.
    """

    columns: Mapping[Hashable, str]
    rows: Sequence[tuple[str, Sequence[Rate | None]]]
    groups: Sequence[tuple[str, Sequence[str]]] = ()

    @property
    def titles(self) -> list[str]:
        """Titles of the columns, below those of their groups."""
        return [title for _, titles in self.groups for title in titles] or [*self.columns.values()]


def rates(cells: pd.DataFrame, columns: Mapping[Hashable, str]) -> Rates:
    """Return the matrix of some cells, the models with the highest mean rates first.

    Args:
        cells: `label`, `column`, `n`, `k` and `spec_id`, one row per cell; several of one model in a column are pooled,
            each as if it had as many runs as the one with the fewest, so that all count alike.
        columns: titles of the columns, in order.
    """
    counts: dict[tuple[str, Hashable], tuple[int, int, str]] = {}
    for (label, column), part in cells[cells["n"] > 0].groupby(["label", "column"], sort=False):
        spec_id = str(part["spec_id"].iloc[0]) if len(part) == 1 else ""
        least = int(part["n"].min())
        solved = float((part["k"] * least / part["n"]).sum())
        counts[str(label), column] = least * len(part), round(solved), spec_id
    shares: dict[str, list[float]] = {}
    most: dict[Hashable, float] = {}
    for (label, column), (n, k, _) in counts.items():
        shares.setdefault(label, []).append(k / n)
        most[column] = max(most.get(column, 0.0), k / n)

    def rate(label: str, column: Hashable) -> Rate | None:
        if (label, column) not in counts:
            return None
        n, k, spec_id = counts[label, column]
        return Rate(n, k, k > 0 and k / n == most[column], spec_id)

    labels = sorted(shares, key=lambda label: -float(np.mean(shares[label])))
    return Rates(columns, [(label, [rate(label, column) for column in columns]) for label in labels])


def rates_by_place(frame: pd.DataFrame, experiment: Experiment) -> Rates | None:
    """Return the matrix of an experiment along its axis, if that has ranges; None for one with published numbers.

    Its first column has the rates of models with runs in every range.

    Args:
        frame: summary of the experiment.
        experiment: the experiment.
    """
    if experiment.published or not experiment.axis or frame["label"].nunique() < 2 or not frame["n"].sum():
        return None
    places = [*dict.fromkeys(frame[experiment.axis])]
    if not all(isinstance(place, str) for place in places):
        return None
    ranges = frame.assign(column=frame[experiment.axis])
    seen = ranges[ranges["n"] > 0].groupby("label")["column"].nunique()
    whole = ranges[ranges["label"].isin(seen.index[seen == len(places)])].assign(column=ALL)
    return rates(pd.concat([whole, ranges]), {ALL: "All ranges", **{place: place for place in places}})


def rates_by_experiment(summaries: Mapping[str, pd.DataFrame], experiments: Iterable[Experiment]) -> Rates | None:
    """Return the matrix of all experiments without published numbers, with the models that several of them have.

    Args:
        summaries: summary of each experiment, by its name.
        experiments: the experiments.
    """
    own = [one for one in experiments if not one.published]
    if len(own) < 2:
        return None
    cells = pd.concat([summaries[one.name].assign(column=one.name) for one in own])
    shared = cells.groupby("label")["column"].nunique()
    cells = cells[cells["label"].isin(shared.index[shared > 1]) & (cells["n"] > 0)]
    columns: dict[Hashable, str] = {one.name: one.item for one in own if one.name in set(cells["column"])}
    if len(columns) < 2:
        return None
    groups = grouped(columns.values())
    useful = all(name for name, _ in groups) and len(groups) < len(columns)
    return dataclasses.replace(rates(cells, columns), groups=groups if useful else [])


def grouped(titles: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return titles such as "+, 2 inputs" in groups by what follows the comma, each with what stands before it."""
    parts = [title.partition(", ") for title in titles]
    return [(name, [first for first, _, _ in part]) for name, part in groupby(parts, key=lambda part: part[2])]
