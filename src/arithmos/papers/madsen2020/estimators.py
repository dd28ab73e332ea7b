"""Our number beside a published one: the same estimator of our runs, and a p-value that both come from the same.

No test assumes more than that the published runs and ours have one distribution:

success rate, gates
    Fisher's exact test of the counts.
median of solved-at
    where the printed median lies among our runs; that is beta-binomial whatever the distribution
    (`statistics.median_p`).
mean of solved-at, sparsity error
    samples of as many runs as were published are drawn from ours as from Pólya's urn (`statistics.unseen`), and the
    published estimator applied to each: the share of them beyond the printed number, doubled. Intervals in print do
    not serve for this. They take the variance for known; where a few late runs decide it, more than half of all true
    repetitions would be found to differ.

A printed number may be off by its rounding, or by the grid of its drawing, to either side (`published.faults.error`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import statistics
from ...judging.cells import Floats, Judged
from ...statistics import Interval
from .faults import SEEDS_OF_FIGURES, error, readings

GATE_BINS = 24
"""Centers of the bins of the published histogram of gates are 0/24, 1/24, … 24/24."""

UNTESTABLE = 0.05
"""Where even the farthest number would have a larger p-value than this, there is nothing to be told."""

Printed = Mapping[str, Any]


@dataclass(frozen=True)
class Compared:
    """Our number, the p-value of the printed one, and what hinders the comparison.

    Args:
        ours: by the estimator of the printed number, with its 95 % interval.
        p: NaN if there is too little to tell.
        note: why, or what else to know of the comparison.
    """

    ours: Interval
    p: float = math.nan
    note: str = ""


def success_rate(cell: Judged, printed: Printed, name: str, iterations: int) -> Compared:
    """Fisher's exact test; where second logs of the same seeds were counted, the note has that without them."""
    ours, k, n = cell.success_rate, printed["k"], printed["n"]
    p, note = statistics.fisher_exact(cell.k, cell.n, k, n) if cell.n else math.nan, ""
    if name.startswith("figure") and n > SEEDS_OF_FIGURES >= k and cell.n:
        better = statistics.fisher_exact(cell.k, cell.n, k, SEEDS_OF_FIGURES)
        note = f"p = {better:.2g} against {k}/{SEEDS_OF_FIGURES}"
    return Compared(ours, p, note)


def _gate_share(bin_: int) -> Callable[[Judged, Printed, str, int], Compared]:
    measure = {0: "gate_multiplies", GATE_BINS: "gate_adds"}[bin_]

    def compare(cell: Judged, printed: Printed, name: str, iterations: int) -> Compared:
        k, n = int(np.count_nonzero(np.round(cell.gate * GATE_BINS) == bin_)), printed["n"]
        p = statistics.fisher_exact(k, cell.n, round(printed[measure] * n), n) if cell.n else math.nan
        return Compared(statistics.wilson(k, cell.n), p)

    return compare


def solved_at_median(cell: Judged, printed: Printed, name: str, iterations: int) -> Compared:
    """The place of the printed median among our runs."""
    x, value = cell.solved_at, printed["solved_at_median"]
    ours = cell.solved_at_median
    if not x.size or statistics.median_p(x, -math.inf, printed["k"]) > UNTESTABLE:
        return Compared(ours, note=_too_few(x, printed["k"]))
    return Compared(ours, statistics.median_p(x, value, printed["k"], error(name, "solved_at_median", value)))


def solved_at_mean(cell: Judged, printed: Printed, name: str, iterations: int) -> Compared:
    """The printed mean among those that the published estimator, its variance fixed, makes of unseen samples."""
    x, value, k = cell.solved_at, printed["solved_at_mean"], printed["k"]
    ours = cell.solved_at_mean_released
    if not _testable(x, k):
        return Compared(ours, note=_too_few(x, k))
    reach = (printed["solved_at_mean_high"] - printed["solved_at_mean_low"]) / 2
    samples = statistics.unseen(np.maximum(x, 1.0), k, 0.0, min(float(iterations), statistics.latest(value, reach, k)))
    means = statistics.fixed_variance_mean(samples) if k > 1 else samples[:, 0]
    return Compared(ours, statistics.prediction_p(means, value, error(name, "solved_at_mean", value)))


def sparsity_mean(cell: Judged, printed: Printed, name: str, iterations: int) -> Compared:
    """The printed error among the means of unseen samples, halved as it was; the better of the two if none knows.

    The published fit follows the sample mean by a factor that hardly changes from sample to sample, so it is taken
    from our own runs.
    """
    x, value, k = np.minimum(cell.sparsity, 0.5), printed["sparsity_mean"], printed["k"]
    ours = cell.sparsity_mean_released
    if not _testable(x, k):
        return Compared(ours, note=_too_few(x, k))
    away = error(name, "sparsity_mean", value)
    reach = (printed["sparsity_mean_high"] - printed["sparsity_mean_low"]) / 2 + away
    largest = math.inf if math.isnan(reach) else value + away + reach / 1.96 * k
    own = ours.estimate / float(x.mean()) if x.any() else 1.0
    p = []
    for halved in readings(value, k, away):
        factor = own if halved == (own < 0.75) else 0.5 if halved else 1.0
        means = factor * statistics.unseen(x, k, 0.0, min(0.5, largest / factor)).mean(axis=1)
        p.append(statistics.prediction_p(means, value, away))
    return Compared(ours, max(p))


def _testable(x: Floats, k: int) -> bool:
    """Whether k unseen values that all lie beyond ours would be seen to differ."""
    return bool(x.size) and 2 / math.comb(x.size + k, k) <= UNTESTABLE


def _too_few(x: Floats, k: int) -> str:
    return f"{x.size} solved runs beside {k} published tell nothing" if x.size else "none of our runs is solved"


COMPARISONS: Mapping[str, Callable[[Judged, Printed, str, int], Compared]] = {
    "success_rate": success_rate,
    "solved_at_median": solved_at_median,
    "solved_at_mean": solved_at_mean,
    "sparsity_mean": sparsity_mean,
    "gate_multiplies": _gate_share(0),
    "gate_adds": _gate_share(GATE_BINS),
}
"""How each measure is compared, given our runs, the published cell, the name of its table or figure, and iterations."""
