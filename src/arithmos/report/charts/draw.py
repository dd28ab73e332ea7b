"""Draw the chart of an experiment or of a surface."""

from pathlib import Path
from typing import Any

import pandas as pd

from ...judging.cells import Cells, judged
from ...judging.readings import readings, reads
from ...papers import Experiment, Surface
from ...store import Snapshot, Store
from ..tables.summary import summary_of
from . import contours, figures
from . import digits as digit_figures
from . import runs as portraits
from .gates import gate_counts, gated


def draw(
    item: Experiment | Surface,
    store: str | Path | Store | Snapshot = "runs",
    *,
    criterion: str | None = None,
    estimator: str | None = None,
) -> Any:
    """Draw the figure of an experiment or of a surface.

    The figure of an experiment with an axis has three panels, that of a table its success rates. If all models end in a
    gate, a histogram of the gates follows below.

    Args:
        item: one of `EXPERIMENTS` or `SURFACES`.
        store: the store of the runs; not needed for a surface.
        criterion: name of the thresholds; by default the paper's first.
        estimator: criterion whose estimators of means to use; by default the same.

    Returns:
        An Altair chart.
    """
    if isinstance(item, Surface):
        return portraits.surface(contours.cells(item), contours.lines(item), item)
    store = store if isinstance(store, Store | Snapshot) else Store(store)
    if reads(item):
        return digit_figures.read(readings(store, item), item)
    cells = judged(store, [item], criterion)
    return chart_of(cells, summary_of(cells, item), item, estimator=estimator or criterion)


def chart_of(cells: Cells, frame: pd.DataFrame, experiment: Experiment, *, estimator: str | None = None) -> Any:
    """Draw the figure of an experiment whose runs are judged and summarized."""
    if experiment.axis:
        parts = [part for _, part in frame.groupby("operation", sort=False)]
        apart = len({tuple(part[experiment.axis].unique()) for part in parts}) > 1  # they have different positions
        rows = [figures.sweep(part, experiment, estimator=estimator) for part in (parts if apart else [frame])]
        return figures.stack(*rows) if apart else rows[0]
    rates = figures.success(frame, experiment)
    if gated(experiment):
        return figures.stack(rates, figures.gates(gate_counts(cells, experiment), experiment))
    return rates
