"""Our number beside a published one: the same estimator of our runs, and a p-value that both come from the same.

No test assumes more than that the published runs and ours have one distribution:

success rate
    Fisher's exact test of the counts.
median of solved-at
    where the printed median lies among our runs; that is beta-binomial whatever the distribution
    (`statistics.median_p`).
mean of solved-at, sparsity error
    samples of as many runs as were published are drawn from ours as from Pólya's urn (`statistics.unseen`), and the
    estimator applied to each: the share of them beyond the printed number, doubled. Intervals in print do not serve for
    this. They take the variance for known; where a few late runs decide it, more than half of all true repetitions
    would be found to differ.

Each test knows its power, the chance that it finds a number of runs that differ from ours: rates by so many points, or
steps and errors that are so many times as large or as small. Of rates that is exact. Of the others the numbers to be
found are those of the unseen samples, multiplied.

A paper whose numbers were made by other estimators brings comparisons of its own.
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
"""Where even the farthest number would have a larger p-value than this, there is nothing to be told."""

REACHES = TIMES.limit, TIMES.steps[-1]
"""How many times as large a number is looked for: in one step up to the first, in another up to the second."""

Printed = Mapping[str, Any]
Power = Callable[[float, float], float]
"""Chance that a difference is found at a level: of rates, or so many times as large or as small."""


@dataclass(frozen=True)
class Compared:
    """Our number, the p-value of the printed one, and what hinders the comparison.

    Args:
        ours: by the estimator of the printed number, with its 95 % interval.
        p: NaN if there is too little to tell.
        note: why, or what is known to be wrong with the printed number.
        power: chance that the test finds a difference; none if there is too little to tell.
    """

    ours: Interval
    p: float = math.nan
    note: str = ""
    power: Power | None = None


Comparison = Callable[[Judged, Printed, Published, int], Compared]
"""Compares a cell of our runs with its published values, given the table that they are of and the iterations."""


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
    """Compare medians by the place of the printed one among our runs."""
    return median(cell, printed, iterations, off=lambda times: 0.0)


def median(cell: Judged, printed: Printed, iterations: int, off: Callable[[float], float]) -> Compared:
    """Compare medians; `off` says how far a number, so many times as large, may be from the true one."""
    x, value, k = cell.solved_at, printed["solved_at_median"], printed["k"]
    ours = cell.solved_at_median
    if not x.size or statistics.median_p(x, -math.inf, k) > UNTESTABLE:
        return Compared(ours, note=too_few(x, k))

    unseen = np.median(statistics.unseen(x, k, 0.0, float(iterations)), axis=1)

    def p(medians: Floats, times: float) -> Floats:
        return statistics.median_ps(x, medians, k, off(times))

    def power(times: float, level: float) -> float:
        return min(float(np.mean(p(factor * unseen, factor) <= level)) for factor in (times, 1 / times))

    return Compared(ours, float(p(np.array([value]), 1.0)[0]), power=power)


def solved_at_mean(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare means of solved-at steps."""
    return _mean(cell.solved_at, printed, "solved_at_mean", float(iterations), cell.solved_at_mean)


def sparsity_mean(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare means of sparsity errors."""
    return _mean(cell.sparsity, printed, "sparsity_mean", 0.5, cell.sparsity_mean)


def _mean(x: Floats, printed: Printed, measure: str, most: float, ours: Interval) -> Compared:
    """Compare sample means; unseen values are `most` at most."""
    k = printed["k"]
    if not testable(x, k):
        return Compared(ours, note=too_few(x, k))

    @cache
    def predicted(times: float) -> Floats:
        means: Floats = statistics.unseen(x, k, 0.0, max(most, float(x.max()))).mean(axis=1)
        return means

    p = statistics.prediction_p(predicted(1.0), printed[measure], 0.0)
    return Compared(ours, p, power=power_of([predicted], off=lambda times: 0.0))


def power_of(readings: Sequence[Callable[[float], Floats]], off: Callable[[float], float]) -> Power:
    """Power of a test that finds what is beyond the predicted numbers of each reading.

    Args:
        readings: the numbers of unseen samples if the printed number, and its interval, were so many times as large.
        off: how far such a number may be from the true one.
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
    """Whether k unseen values that all lie beyond ours would be seen to differ."""
    return bool(x.size) and 2 / math.comb(x.size + k, k) <= UNTESTABLE


def too_few(x: Floats, k: int) -> str:
    """Say why there is too little to tell."""
    return f"{x.size} solved runs beside {k} published tell nothing" if x.size else "none of our runs is solved"


COMPARISONS: Mapping[str, Comparison] = {
    "success_rate": success_rate,
    "solved_at_median": solved_at_median,
    "solved_at_mean": solved_at_mean,
    "sparsity_mean": sparsity_mean,
}
"""How each measure is compared where a paper does not say otherwise."""
