"""Disagreements of the two judges: runs that are solved but not exact, or exact but not solved.

One judge asks whether the test error is below a threshold, the other whether the network with rounded weights is the
task's formula. A network with weights that are not integers may be as good as the formula; one that is the formula
once rounded may have been too far from it when it was measured.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..._choices import Format
from ..._formatting import scientific
from ...judging.cells import Cells, Judged, judged
from ...papers import EXPERIMENTS, Experiment
from ...store import Store
from ...tasks import symbol
from .grid import Cell, Grid, to_json

COLUMNS = [
    *["experiment", "operation", "model", "label", "runs", "solved", "exact"],
    *["solved_not_exact", "exact_not_solved", "sparsity_median"],
]


def judges(
    store: Store, experiments: Iterable[Experiment] | None = None, *, criterion: str | None = None
) -> pd.DataFrame:
    """Return the verdicts of the two judges, one row per experiment, operation and model.

    Columns are `experiment`, `operation`, `model`, `label`; `runs` that both have judged, `solved` and `exact` ones,
    `solved_not_exact`, `exact_not_solved`, and `sparsity_median`, the median sparsity error of the exact runs, which
    shows how far their weights were moved.

    Args:
        store: the store of the runs.
        experiments: experiments to include; all by default.
        criterion: name of the thresholds; by default the paper's first.
    """
    chosen = list(EXPERIMENTS.values() if experiments is None else experiments)
    return judges_of(judged(store, chosen, criterion), chosen)


def judges_of(cells: Cells, experiments: Iterable[Experiment]) -> pd.DataFrame:
    """Return the result of `judges` for experiments whose runs are judged."""
    rows = []
    for experiment in experiments:
        groups: dict[tuple[str, str, str], list[Judged]] = {}
        for spec, _, cell in cells.of(experiment):
            groups.setdefault((spec.task.operation, spec.model.name, spec.model.label), []).append(cell)
        rows += [[experiment.name, *names, *_row(group)] for names, group in groups.items()]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame[frame["runs"] > 0].reset_index(drop=True)


def _row(cells: Sequence[Judged]) -> list[Any]:
    runs, solved, exact, both = (
        sum(getattr(cell, name) for cell in cells) for name in ("seen", "seen_solved", "exact", "exact_solved")
    )
    sparsity = np.concatenate([cell.exact_sparsity for cell in cells])
    return [runs, solved, exact, solved - both, exact - both, float(np.median(sparsity)) if sparsity.size else np.nan]


def disagreements(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the result of `judges` in which the two disagree."""
    return frame[(frame["solved_not_exact"] > 0) | (frame["exact_not_solved"] > 0)]


def render_judges(frame: pd.DataFrame, format: Format = "text", *, width: int | None = None) -> str:
    """Render the verdicts of the two judges as text, Markdown, LaTeX, HTML or JSON.

    Args:
        frame: result of `judges`.
        format: "text", "markdown", "latex", "html" or "json".
        width: columns of the terminal that text must fit; any width by default.
    """
    return to_json(frame) if format == "json" else judges_grid(frame).write(format, width)


def judges_grid(frame: pd.DataFrame) -> Grid:
    """Return the verdicts of the two judges as a table, one group per experiment."""
    header = ["Experiment", "Op", "Model", "Runs", "Solved", "Exact", "Solved, not exact", "Exact, not solved"]
    groups = [
        [_line(row) for row in part.itertuples(index=False)] for _, part in frame.groupby("experiment", sort=False)
    ]
    both = frame[["solved_not_exact", "exact_not_solved"]].sum()
    title = f"Two judges: {both.iloc[0]} runs solved and not exact, {both.iloc[1]} exact and not solved"
    notes = [
        "Solved: the test error of the best record is below the threshold. Exact: its network, with the weights "
        "rounded, is the task's formula. Sparsity error: the median of the exact runs, which shows how far the weights "
        "were moved."
    ]
    notes = notes if groups else ["There are no runs to judge."]
    return Grid(title, [*header, "Sparsity error"], groups, notes, optional=["Sparsity error"])


def _line(row: Any) -> list[Cell]:
    counts = (row.runs, row.solved, row.exact, row.solved_not_exact, row.exact_not_solved)
    names = [Cell(row.experiment), Cell(symbol(row.operation), maths=True), Cell(row.label)]
    moved = Cell("—") if np.isnan(row.sparsity_median) else Cell(scientific(row.sparsity_median), maths=True)
    return [*names, *(Cell(str(count)) for count in counts), moved]
