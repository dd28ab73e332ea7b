"""Estimators behind the numbers of Madsen & Johansen (2020), with their faults, and their comparison with ours.

The tests are those of `papers.comparison`, with the published estimators. A printed number may be off by its rounding,
or by the grid of its drawing, in either direction (`faults.error`). Numbers to be found have the relative width of the
printed interval.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from ... import statistics
from ...judging.cells import Floats, Judged
from ...statistics import Interval
from ..comparison import Compared, Comparison, Printed, median, power_of, rates, testable, too_few
from ..paper import Criterion
from ..published import Published
from .faults import error, fault, readings

GATE_BINS = 24
"""Number of intervals of the published gate histogram, whose bins are centered at 0/24, 1/24, … 24/24."""


def success_rate(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare success rates by Fisher's exact test, without second logs of the same seeds."""
    k, n, stated = printed["k"], printed["n"], published.stated
    return rates(cell, cell.success_rate, cell.k, k, stated if stated is not None and n > stated >= k else n)


def _gate_share(bin_: int) -> Comparison:
    measure = {0: "gate_multiplies", GATE_BINS: "gate_adds"}[bin_]

    def compare(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
        k, n = int(np.count_nonzero(np.round(cell.gate * GATE_BINS) == bin_)), printed["n"]
        return rates(cell, statistics.wilson(k, cell.n), k, round(printed[measure] * n), n)

    return compare


def solved_at_median(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare medians by the position of the printed one among our runs."""
    value = printed["solved_at_median"]
    return median(cell, printed, iterations, lambda times: error(published, "solved_at_median", times * value))


def solved_at_mean(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare the printed mean with those of unseen samples by the published estimator, whose variance is fixed."""
    x, value, k = np.maximum(cell.solved_at, 1.0), printed["solved_at_mean"], printed["k"]
    ours = cell.by(released_solved_at)
    if not testable(x, k):
        return Compared(ours, note=too_few(x, k))
    reach = (printed["solved_at_mean_high"] - printed["solved_at_mean_low"]) / 2

    @cache
    def means(high: float) -> Floats:
        samples = statistics.unseen(x, k, 0.0, high)
        return statistics.fixed_variance_mean(samples) if k > 1 else samples[:, 0]

    def predicted(times: float) -> Floats:
        latest = statistics.latest(times * value, times * reach, k)
        return means(max(float(x.max()), min(float(iterations), latest)))

    def off(times: float) -> float:
        return error(published, "solved_at_mean", times * value)

    p = statistics.prediction_p(predicted(1.0), value, off(1.0))
    return Compared(ours, p, power=power_of([predicted], off))


def sparsity_mean(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare the printed error with the means of unseen samples, halved as it was; use the better if that is unknown.

    The published fit is the sample mean times a factor that hardly changes from sample to sample, so the factor is
    taken from our own runs.
    """
    x, value, k = np.minimum(cell.sparsity, 0.5), printed["sparsity_mean"], printed["k"]
    ours = cell.by(released_sparsity)
    if not testable(x, k):
        return Compared(ours, note=too_few(x, k))
    reach = (printed["sparsity_mean_high"] - printed["sparsity_mean_low"]) / 2
    own = ours.estimate / float(x.mean()) if x.any() else 1.0

    def off(times: float) -> float:
        return error(published, "sparsity_mean", times * value)

    least, most = (statistics.unseen(x, k, 0.0, high).mean(axis=1) for high in (0.0, 0.5))

    def means(high: float) -> Floats:
        """Return the means of unseen samples whose last gap ends at `high`; they are linear in it."""
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
    return Compared(ours, p, power=power_of(every, off))


def released_solved_at(cell: Judged) -> Interval:
    """Mean of solved-at steps by the released estimator."""
    return statistics.gamma_mean_as_released(cell.solved_at)


def released_sparsity(cell: Judged) -> Interval:
    """Mean of sparsity errors by the released estimator."""
    return statistics.beta_mean_as_released(cell.sparsity)


CRITERIA: Mapping[str, Criterion] = {
    "released": Criterion(
        note="Solved by the thresholds of the published runs. Mean and sparsity error by the estimators behind the "
        "published numbers, which are not sample means.",
        estimators={"solved_at_mean": released_solved_at, "sparsity_mean": released_sparsity},
    ),
    "corrected": Criterion(
        note="Solved by the thresholds of the task's own subsets. Mean and sparsity error by maximum likelihood; the "
        "published ones are not, so compare them with criterion released.",
    ),
}
"""Named thresholds, with the estimators that go with them."""


def _with_fault(measure: str, compare: Comparison) -> Comparison:
    """Add the known fault of the printed number to a comparison."""

    def compared(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
        found = compare(cell, printed, published, iterations)
        notes = fault(published, measure, printed), found.note if cell.n else ""
        return dataclasses.replace(found, note="; ".join(note for note in notes if note))

    return compared


COMPARISONS: Mapping[str, Comparison] = {
    measure: _with_fault(measure, compare)
    for measure, compare in (
        ("success_rate", success_rate),
        ("solved_at_median", solved_at_median),
        ("solved_at_mean", solved_at_mean),
        ("sparsity_mean", sparsity_mean),
        ("gate_multiplies", _gate_share(0)),
        ("gate_adds", _gate_share(GATE_BINS)),
    )
}
"""Comparison of each measure."""
