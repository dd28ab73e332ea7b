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

Each test knows its power, the chance that it finds a number of runs that differ from ours: rates by so many points, or
steps and errors that are so many times as large or as small. Of rates that is exact. Of the others the numbers to be
found are those of the unseen samples, multiplied, with the relative width of the printed interval.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ... import statistics
from ...judging.cells import Floats, Judged
from ...statistics import Interval
from ..power import TIMES
from .faults import SEEDS_OF_FIGURES, error, readings

GATE_BINS = 24
"""Centers of the bins of the published histogram of gates are 0/24, 1/24, … 24/24."""

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
        note: why, or what else to know of the comparison.
        power: chance that the test finds a difference; none if there is too little to tell.
    """

    ours: Interval
    p: float = math.nan
    note: str = ""
    power: Power | None = None


def success_rate(cell: Judged, printed: Printed, name: str, iterations: int) -> Compared:
    """Fisher's exact test; second logs of the same seeds are left out of the printed rate."""
    ours, k, n = cell.success_rate, printed["k"], printed["n"]
    if name.startswith("figure") and n > SEEDS_OF_FIGURES >= k:
        n = SEEDS_OF_FIGURES
    return _rates(cell, ours, cell.k, k, n)


def _gate_share(bin_: int) -> Callable[[Judged, Printed, str, int], Compared]:
    measure = {0: "gate_multiplies", GATE_BINS: "gate_adds"}[bin_]

    def compare(cell: Judged, printed: Printed, name: str, iterations: int) -> Compared:
        k, n = int(np.count_nonzero(np.round(cell.gate * GATE_BINS) == bin_)), printed["n"]
        return _rates(cell, statistics.wilson(k, cell.n), k, round(printed[measure] * n), n)

    return compare


def _rates(cell: Judged, ours: Interval, own: int, k: int, n: int) -> Compared:
    if not cell.n:
        return Compared(ours)
    p = float(statistics.fisher_ps(own, cell.n, n)[k])
    return Compared(ours, p, power=lambda difference, level: statistics.fisher_power(own, cell.n, n, difference, level))


def solved_at_median(cell: Judged, printed: Printed, name: str, iterations: int) -> Compared:
    """The place of the printed median among our runs."""
    x, value, k = cell.solved_at, printed["solved_at_median"], printed["k"]
    ours = cell.solved_at_median
    if not x.size or statistics.median_p(x, -math.inf, k) > UNTESTABLE:
        return Compared(ours, note=_too_few(x, k))

    unseen = np.median(statistics.unseen(x, k, 0.0, float(iterations)), axis=1)

    def p(medians: Floats, times: float) -> Floats:
        return statistics.median_ps(x, medians, k, error(name, "solved_at_median", times * value))

    def power(times: float, level: float) -> float:
        return min(float(np.mean(p(factor * unseen, factor) <= level)) for factor in (times, 1 / times))

    return Compared(ours, float(p(np.array([value]), 1.0)[0]), power=power)


def solved_at_mean(cell: Judged, printed: Printed, name: str, iterations: int) -> Compared:
    """The printed mean among those that the published estimator, its variance fixed, makes of unseen samples."""
    x, value, k = np.maximum(cell.solved_at, 1.0), printed["solved_at_mean"], printed["k"]
    ours = cell.solved_at_mean_released
    if not _testable(x, k):
        return Compared(ours, note=_too_few(x, k))
    reach = (printed["solved_at_mean_high"] - printed["solved_at_mean_low"]) / 2

    @cache
    def means(high: float) -> Floats:
        samples = statistics.unseen(x, k, 0.0, high)
        return statistics.fixed_variance_mean(samples) if k > 1 else samples[:, 0]

    def predicted(times: float) -> Floats:
        latest = statistics.latest(times * value, times * reach, k)
        return means(max(float(x.max()), min(float(iterations), latest)))

    def off(times: float) -> float:
        return error(name, "solved_at_mean", times * value)

    p = statistics.prediction_p(predicted(1.0), value, off(1.0))
    return Compared(ours, p, power=_power([predicted], off))


def sparsity_mean(cell: Judged, printed: Printed, name: str, iterations: int) -> Compared:
    """The printed error among the means of unseen samples, halved as it was; the better of the two if none knows.

    The published fit follows the sample mean by a factor that hardly changes from sample to sample, so it is taken
    from our own runs.
    """
    x, value, k = np.minimum(cell.sparsity, 0.5), printed["sparsity_mean"], printed["k"]
    ours = cell.sparsity_mean_released
    if not _testable(x, k):
        return Compared(ours, note=_too_few(x, k))
    reach = (printed["sparsity_mean_high"] - printed["sparsity_mean_low"]) / 2
    own = ours.estimate / float(x.mean()) if x.any() else 1.0

    def off(times: float) -> float:
        return error(name, "sparsity_mean", times * value)

    least, most = (statistics.unseen(x, k, 0.0, high).mean(axis=1) for high in (0.0, 0.5))

    def means(high: float) -> Floats:
        """Those of unseen samples whose last gap ends there; they grow with it as a line does."""
        share = (high - x.max()) / (0.5 - x.max()) if high > x.max() else 0.0
        unseen: Floats = least + share * (most - least)
        return unseen

    def reading(halved: bool) -> Callable[[float], Floats]:
        factor = own if halved == (own < 0.75) else 0.5 if halved else 1.0

        def predicted(times: float) -> Floats:
            away = off(times)
            largest = times * value + away + (times * reach + away) / 1.96 * k
            return factor * means(0.5 if math.isnan(reach) else min(0.5, largest / factor))

        return predicted

    every = [reading(halved) for halved in readings(value, k, off(1.0))]
    p = max(statistics.prediction_p(predicted(1.0), value, off(1.0)) for predicted in every)
    return Compared(ours, p, power=_power(every, off))


def _power(readings: Sequence[Callable[[float], Floats]], off: Callable[[float], float]) -> Power:
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
