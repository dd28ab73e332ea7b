"""`summarize`: one row a spec of an experiment, with every number of a table's cell and its published neighbour."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ... import statistics
from ...judging.cells import Cells, Floats, Judged, judged
from ...judging.cells import Criterion as Criterion
from ...papers import Experiment
from ...statistics import Interval
from ...store import Store

COMPARED = 0.99
"""Level of the interval in which a published median is looked for."""


def summarize(store: Store, experiment: Experiment, *, criterion: Criterion = "released") -> pd.DataFrame:
    """What the runs in a store say about an experiment: a row a spec, in the order of the catalogue.

    A run is solved when its test error at the best record is below the threshold. Solved-at steps and sparsity errors
    are those of solved runs. A cell is made by one engine, the one with most of the experiment's seeds; runs of others
    are not mixed in. What the runs cannot tell is NaN.

    `operation`, `model`, `label`, the experiment's axis if it has one, `spec_id`, `engine`, `criterion`; `n` runs, `k`
    of them solved, `ended_early` of them cut by NaN; `seen` of them by the exact judge, and `exact` of these the task's
    formula once their weights are rounded. Then, each with its bounds `_low` and `_high`: `success_rate`, `exact_rate`,
    `solved_at_median`, `solved_at_mean`, `sparsity_mean`, and the last two by the estimators behind the printed
    numbers, `solved_at_mean_released` and `sparsity_mean_released`.

    Where there are published values they follow as `published_n` and so on, and the comparison with them: `success_p`,
    Fisher's exact test of the success rates, and `median_difference`, ours less the published one, with its 99 %
    interval, and `median_agrees`, whether 0 lies within.

    Args:
        store: where the runs are.
        experiment: what they are of.
        criterion: the thresholds behind the published decisions, or those of the task's own subsets.
    """
    return summary_of(judged(store, [experiment], criterion), experiment)


def summary_of(cells: Cells, experiment: Experiment) -> pd.DataFrame:
    """What `summarize` makes of an experiment whose runs are judged."""
    rows = []
    for spec, at, cell in cells.of(experiment):
        row = experiment.describe(spec, at) | {"criterion": cells.criterion} | _measure(cell)
        if experiment.published:
            row |= _beside(cell, experiment.printed(spec, at))
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


def _measure(cell: Judged) -> dict[str, Any]:
    counts = {"engine": cell.engine, "n": cell.n, "k": cell.k, "ended_early": cell.ended_early}
    counts |= {"seen": cell.seen, "exact": cell.exact}
    counts |= {"threshold": cell.threshold, "note": cell.note} if cell.note else {}
    return counts | {
        **_columns("success_rate", cell.success_rate),
        **_columns("exact_rate", cell.exact_rate),
        **_columns("solved_at_median", cell.solved_at_median),
        **_columns("solved_at_mean", cell.solved_at_mean),
        **_columns("solved_at_mean_released", cell.solved_at_mean_released),
        **_columns("sparsity_mean", cell.sparsity_mean),
        **_columns("sparsity_mean_released", cell.sparsity_mean_released),
    }


def _columns(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _beside(cell: Judged, printed: Mapping[str, Any]) -> dict[str, Any]:
    """The published values of a cell, and how ours compare; NaN throughout where nothing was published."""
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
    """Our median less the published one, of which no more than its two digits and its number of runs is known.

    If nothing differs, the published median lies within our prediction interval, give or take its rounding; seen from
    where it lies, that interval is one of the difference.
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
