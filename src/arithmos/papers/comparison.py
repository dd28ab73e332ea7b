"""Comparison of our numbers with published ones: the same estimator on our runs, and a p-value.

The tests assume only that the published runs and ours have the same distribution:

success rate
    Fisher's exact test of the counts.
median of solved-at
    the position of the printed median among our runs, which is beta-binomial for any distribution
    (`statistics.median_p`).
mean of solved-at, sparsity error
    the estimator is applied to samples of the published size, drawn from our runs as from Pólya's urn
    (`statistics.unseen`); p is twice the share of them beyond the printed number. Printed intervals cannot be used for
    this. They assume a known variance; where a few late runs dominate it, more than half of all true repetitions would
    be found to differ.

Each test knows its power, the chance that it finds runs which differ from ours: rates by some points, or steps and
errors by some factor. For rates that is exact. For the others, the numbers to be found are those of the unseen
samples, multiplied by the factor.

A paper whose numbers come from other estimators brings comparisons of its own.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .. import statistics
from ..judging.cells import Floats, Judged
from ..statistics import Interval
from .power import TIMES
from .published import Published

UNTESTABLE = 0.05
"""Smallest p-value that must be possible; if even the farthest number has a larger one, nothing can be told."""

REACHES = TIMES.limit, TIMES.steps[-1]
"""Factors for which unseen samples are drawn; a power uses the first that is at least its own factor."""

Printed = Mapping[str, Any]
Power = Callable[[float, float], float]
"""Chance of finding a difference, in points or as a factor, at a level."""


@dataclass(frozen=True)
class Compared:
    """Our number, the p-value of the printed one, and obstacles to the comparison.

    Args:
        ours: our number by the estimator of the printed one, with its 95 % interval.
        p: the p-value; NaN if there is too little data.
        note: the reason for that, or a known fault of the printed number.
        power: power of the test; None if there is too little data.
    """

    ours: Interval
    p: float = math.nan
    note: str = ""
    power: Power | None = None


Comparison = Callable[[Judged, Printed, Published, int], Compared]
"""Function that compares a cell of our runs with its published values, given their table and the iterations."""


def success_rate(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare success rates by Fisher's exact test."""
    return rates(cell, cell.success_rate, cell.k, printed["k"], printed["n"])


def rates(cell: Judged, ours: Interval, own: int, k: int, n: int) -> Compared:
    """Compare `own` of our runs with `k` of `n` by Fisher's exact test."""
    if not cell.n:
        return Compared(ours)
    p = float(statistics.fisher_ps(own, cell.n, n)[k])
    return Compared(ours, p, power=lambda difference, level: statistics.fisher_power(own, cell.n, n, difference, level))


def solved_at_median(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare medians by the position of the printed one among our runs."""
    return median(cell, printed, iterations, off=lambda times: 0.0)


def median(cell: Judged, printed: Printed, iterations: int, off: Callable[[float], float]) -> Compared:
    """Compare medians; `off` gives the largest error of a number multiplied by a factor."""
    most = float(iterations)
    return medians(cell.solved_at, printed["solved_at_median"], printed["k"], most, cell.solved_at_median, off)


def medians(x: Floats, value: float, k: int, most: float, ours: Interval, off: Callable[[float], float]) -> Compared:
    """Compare the median of some values with a printed one of k values; unseen ones are at most `most`."""
    if not x.size or statistics.median_p(x, -math.inf, k) > UNTESTABLE:
        return Compared(ours, note=too_few(x, k))

    unseen = np.median(statistics.unseen(x, k, 0.0, most), axis=1)

    def p(medians: Floats, times: float) -> Floats:
        return statistics.median_ps(x, medians, k, off(times))

    def power(times: float, level: float) -> float:
        return min(float(np.mean(p(factor * unseen, factor) <= level)) for factor in (times, 1 / times))

    return Compared(ours, float(p(np.array([value]), 1.0)[0]), power=power)


def solved_at_mean(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare means of solved-at steps."""
    return mean(cell.solved_at, printed, "solved_at_mean", float(iterations), cell.solved_at_mean)


def sparsity_mean(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare means of sparsity errors."""
    return mean(cell.sparsity, printed, "sparsity_mean", 0.5, cell.sparsity_mean)


def mean(x: Floats, printed: Printed, measure: str, most: float, ours: Interval, off: float = 0.0) -> Compared:
    """Compare sample means; unseen values are at most `most`, and the printed number may be off by `off`."""
    k = printed["k"]
    if not testable(x, k):
        return Compared(ours, note=too_few(x, k))

    @cache
    def predicted(times: float) -> Floats:
        means: Floats = statistics.unseen(x, k, 0.0, max(most, float(x.max()))).mean(axis=1)
        return means

    p = statistics.prediction_p(predicted(1.0), printed[measure], off)
    return Compared(ours, p, power=power_of([predicted], off=lambda times: off))


def power_of(readings: Sequence[Callable[[float], Floats]], off: Callable[[float], float]) -> Power:
    """Return the power of a test that finds numbers beyond the predicted ones of each reading.

    Args:
        readings: the numbers of unseen samples if the printed number, and its interval, were larger by a factor.
        off: largest error of such a number.
    """

    def found(times: float, reach: float, level: float) -> float:
        numbers = times * np.concatenate([predicted(1.0) for predicted in readings])
        by_each = [statistics.prediction_finds(predicted(reach), numbers, level, off(times)) for predicted in readings]
        return float(np.mean(np.all(by_each, axis=0)))

    def power(times: float, level: float) -> float:
        reach = next((reach for reach in REACHES if times <= reach), times)
        return min(found(times, reach, level), found(1 / times, 1 / reach, level))

    return power


def testable(x: Floats, k: int) -> bool:
    """Return whether k unseen values that all lie beyond ours would be found to differ."""
    return bool(x.size) and 2 / math.comb(x.size + k, k) <= UNTESTABLE


def too_few(x: Floats, k: int) -> str:
    """Return why there is too little to tell."""
    return f"{x.size} solved runs against {k} published are too few" if x.size else "none of our runs is solved"


COMPARISONS: Mapping[str, Comparison] = {
    "success_rate": success_rate,
    "solved_at_median": solved_at_median,
    "solved_at_mean": solved_at_mean,
    "sparsity_mean": sparsity_mean,
}
"""Comparison of each measure for papers without their own."""
