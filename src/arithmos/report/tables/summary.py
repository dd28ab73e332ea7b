"""`summarize`: one row per spec of an experiment, with all numbers of a table's cell and the published ones."""

import math
from collections.abc import Container, Mapping
from typing import Any

import pandas as pd

from ... import statistics
from ...judging.cells import Cells, Floats, Judged, judged
from ...papers import Criterion, Experiment, criteria_of
from ...statistics import Interval
from ...store import Store

MEASURES = ("success_rate", "exact_rate", "solved_at_median", "solved_at_mean", "sparsity_mean")
COMPARED = 0.99
"""Level of the prediction interval for a published median."""


def summarize(store: Store, experiment: Experiment, *, criterion: str | None = None) -> pd.DataFrame:
    """Summarize the stored runs of an experiment, one row per spec, in the order of the catalogue.

    A run is solved if its test error at the best record is below the threshold. Solved-at steps and sparsity errors are
    those of solved runs. Each cell uses the runs of one engine, the one with most of the experiment's seeds. What the
    runs cannot tell is NaN.

    Columns are `operation`, `model`, `label`, the experiment's axis if it has one, `spec_id`, `engine`, `criterion`;
    `n` runs, `k` solved ones, `ended_early` ones ended by NaN; `seen` by the exact judge, and `exact` ones, which are
    the task's formula once their weights are rounded. Then, each with its bounds `_low` and `_high`: `success_rate`,
    `exact_rate`, `solved_at_median`, `solved_at_mean`, `sparsity_mean`, and measures by estimators of the
    paper's own, with the name of the criterion that they go with at the end.

    Published values follow as `published_n` and so on, with their comparison: `success_p`, Fisher's exact test of the
    success rates; `median_difference`, ours minus the published one, with its 99 % interval; and `median_agrees`,
    whether that interval contains 0.

    Args:
        store: the store of the runs.
        experiment: the experiment.
        criterion: name of the thresholds; by default the paper's first.
    """
    return summary_of(judged(store, [experiment], criterion), experiment)


def summary_of(cells: Cells, experiment: Experiment) -> pd.DataFrame:
    """Return the result of `summarize` for an experiment whose runs are judged."""
    rows = []
    for spec, at, cell in cells.of(experiment):
        row = experiment.describe(spec, at) | {"criterion": cells.criterion_of(experiment)}
        row |= _measure(cell, criteria_of(experiment))
        if experiment.published:
            row |= _with_published(cell, experiment.printed(spec, at))
        rows.append(row)
    frame = pd.DataFrame(rows)
    counts = [
        "n",
        "k",
        "ended_early",
        "seen",
        "exact",
        *[name for name in ("published_n", "published_k") if name in frame],
    ]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def _measure(cell: Judged, criteria: Mapping[str, Criterion]) -> dict[str, Any]:
    counts = {"engine": cell.engine, "n": cell.n, "k": cell.k, "ended_early": cell.ended_early}
    counts |= {"seen": cell.seen, "exact": cell.exact if cell.seen else pd.NA}
    counts |= {"threshold": cell.threshold, "note": cell.note} if cell.note else {}
    for measure in MEASURES:
        counts |= _columns(measure, getattr(cell, measure))
        for name, criterion in criteria.items():
            if measure in criterion.estimators:
                counts |= _columns(f"{measure}_{name}", cell.by(criterion.estimators[measure]))
    return counts


def estimated(measure: str, criterion: str, columns: Container[str]) -> str:
    """Return the column of a measure by the estimator that goes with a criterion."""
    own = f"{measure}_{criterion}"
    return own if own in columns else measure


def _columns(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _with_published(cell: Judged, printed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the published values of a cell and their comparison with ours; all NaN if nothing was published."""
    names = ["n", "k", *_with_bounds("success_rate"), "solved_at_median"]
    names += [*_with_bounds("solved_at_mean"), *_with_bounds("sparsity_mean")]
    columns = {f"published_{name}": printed.get(name, math.nan) for name in names}
    p = statistics.fisher_exact(cell.k, cell.n, printed["k"], printed["n"]) if printed and cell.n else math.nan
    difference = _median_difference(cell.solved_at, printed)
    agrees = (0 in difference) if difference.has_bounds else None
    return columns | {"success_p": p} | _columns("median_difference", difference) | {"median_agrees": agrees}


def _with_bounds(measure: str) -> tuple[str, str, str]:
    return measure, f"{measure}_low", f"{measure}_high"


def _median_difference(solved_at: Floats, printed: Mapping[str, Any]) -> Interval:
    """Return our median minus the published one, of which only two digits and the number of runs are known.

    If nothing differs, the published median lies within our prediction interval, up to its rounding; relative to the
    published median, that interval is one of the difference.
    """
    median = printed.get("solved_at_median", math.nan)
    if not solved_at.size or math.isnan(median):
        return Interval(math.nan)
    predicted = statistics.median_prediction(solved_at, printed["k"], COMPARED)
    if not predicted.has_bounds:
        return Interval(predicted.estimate - median)
    rounding = 0.5 * 10 ** (math.floor(math.log10(median)) - 1)
    low, high = predicted.low - rounding, predicted.high + rounding
    return Interval(predicted.estimate - median, low - median, high - median)
