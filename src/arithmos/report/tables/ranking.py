"""The ranking of all units: a matrix of success rates, by operation or by range."""

import dataclasses
import math
from collections.abc import Collection, Hashable, Iterable
from functools import lru_cache
from importlib import resources

import numpy as np
import pandas as pd

from ..._choices import RULES, Format, Rule
from ...judging.exact import with_verdicts
from ...judging.runs import of_one_engine, solved
from ...papers import Experiment
from ...store import Store
from .grid import Cell, Grid, to_json
from .rates import Rate, grouped, rates

KEYS = ["contest", "operation", "inputs", "model", "label", "at"]
COLUMNS = [*KEYS, "engine", "runs", *RULES]
MEASURED = ["thresholds", "best_test", "end_test", "exact"]
SHIPPED = "ranking.csv"
NOTES: dict[Rule, str] = {
    "epsilon": "Solved: the test error of the best record is below that of a module with an error of 10⁻⁵ in every "
    "weight.",
    "absolute": "Solved: the test error of the best record is below 10⁻⁵.",
    "last": "Solved: the test error of the last record is below that of a module with an error of 10⁻⁵ in every "
    "weight.",
    "exact": "Solved: with its weights rounded, the layer of the best record is the formula.",
}


def ranking(store: Store, experiments: Iterable[Experiment]) -> pd.DataFrame:
    """Return the solved runs of each cell of the ranking: `COLUMNS`, one row per contest, model and range.

    Exact runs are missing where the exact judge cannot read the network.

    Args:
        store: the store of the runs.
        experiments: experiments of the papers `ranking` and `behind`, or some of the user's made of them.
    """
    stored = store.snapshot(MEASURED)
    rows = []
    for experiment in experiments:
        found = stored.load(specs=[spec.id for spec in experiment.specs], columns=MEASURED)
        runs = with_verdicts(stored, of_one_engine(found, experiment.seeds))
        for spec, at in experiment.places():
            own = runs[runs["spec_id"] == spec.id]
            if own.empty:
                continue
            limits = {name: own[f"threshold_{name}"].to_numpy(np.float64) for name in spec.task.criteria}
            best, end = (own[name].to_numpy(np.float64) for name in ("best_test", "end_test"))
            verdicts = own["exact"].to_numpy(np.float64, na_value=np.nan)
            exact = math.nan if np.isnan(verdicts).all() else np.nansum(verdicts)
            by_error = [
                solved(best, limits["epsilon"]),
                solved(best, limits["absolute"]),
                solved(end, limits["epsilon"]),
            ]
            names = [experiment.item, spec.task.operation, spec.task.input_size, spec.model.name, spec.model.label]
            rows.append([*names, at, own["engine"].iloc[0], len(own), *(int(one.sum()) for one in by_error), exact])
    return pd.DataFrame(rows, columns=COLUMNS).astype({"exact": "Int64"})


@lru_cache(maxsize=1)
def shipped() -> pd.DataFrame:
    """Return the ranking by the runs of this project, which comes with the package."""
    with resources.files(__package__).joinpath(SHIPPED).open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype={"exact": "Int64"})[COLUMNS]


def joined(own: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of both, those of the first where both have one."""
    frames = [frame for frame in (own, other) if not frame.empty]
    both = pd.concat(frames) if frames else own
    return both.drop_duplicates(KEYS).reset_index(drop=True)


def render_ranking(
    frame: pd.DataFrame, format: Format = "text", *, rule: Rule = "epsilon", width: int | None = None
) -> str:
    """Render a ranking as text, Markdown, LaTeX, HTML or JSON.

    Args:
        frame: result of `ranking`.
        format: "text", "markdown", "latex", "html" or "json".
        rule: which runs are solved.
        width: columns of the terminal that text must fit; any width by default.
    """
    return to_json(frame) if format == "json" else ranking_grid(frame, rule).write(format, width)


def ranking_grid(frame: pd.DataFrame, rule: Rule = "epsilon") -> Grid:
    """Return the ranking as a table: contests in columns, or the ranges of the only one; the best units first."""
    frame = frame[frame[rule].notna()]
    contests = [*dict.fromkeys(frame["contest"])]
    groups = grouped(contests)
    columns: dict[Hashable, str] = dict(zip(contests, contests, strict=True))
    keys, title = frame["contest"], "Share of solved runs over all ranges"
    if len(groups) == 1:
        [(group, symbols)] = groups
        columns, title = dict(zip(contests, symbols, strict=True)), f"{title}, {group}"
    if len(contests) == 1:
        columns, keys = {at: str(at) for at in frame["at"]}, frame["at"]
        title = f"Share of solved runs on {contests[0]}"
    cells = frame.assign(column=keys, n=frame["runs"], k=frame[rule], spec_id="")
    ranges = cells.groupby("column")["at"].transform("nunique")
    whole = cells.groupby(["column", "label"])["at"].transform("nunique") == ranges
    found = rates(cells[whole], columns)
    uneven = [len({one.n for _, row in found.rows if (one := row[place])}) > 1 for place in range(len(columns))]
    rows = [
        [Cell(label), *(_cell(one, counted) for one, counted in zip(row, uneven, strict=True))]
        for label, row in found.rows
    ]
    note = (
        NOTES[rule] + " With 95 % intervals. A dash: not run in every range, not judged, or the unit cannot compute it."
    )
    if any(uneven):
        note += (
            " In parentheses: the number of runs, where those of a column differ. All ranges count alike: as if each "
        )
        note += "had as many runs as the one with the fewest."
    return Grid(title, ["Unit", *columns.values()], [rows], [note if rows else "There are no runs to rank."])


def _cell(rate: Rate | None, counted: bool) -> Cell:
    """Return a rate as text, with its number of runs if the others of the column have another."""
    if rate is None:
        return Cell("—")
    return dataclasses.replace(rate.cell, value=f"{rate.cell.value} ({rate.n:,})") if counted else rate.cell


def of_models(frame: pd.DataFrame, models: Collection[str] | None) -> pd.DataFrame:
    """Return the cells of some models, by name; all by default."""
    return frame if models is None else frame[frame["model"].isin(models)].reset_index(drop=True)
