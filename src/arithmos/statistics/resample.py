"""Intervals by resampling, each determined by its generator."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .interval import Interval, sample, tail

# Values drawn at once: 8 MiB of indices.
_CHUNK = 1 << 20


def bootstrap(
    x: ArrayLike,
    statistic: Callable[..., NDArray[np.float64]],
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 2000,
) -> Interval:
    """Statistic of x with the percentile interval of its values over resamples of x.

    Args:
        x: the values; without any there is no estimate, with one there are no bounds.
        statistic: a function called as `statistic(values, axis=-1)`, such as `np.mean`.
        rng: the generator; the same seed gives the same interval.
        level: confidence level.
        resamples: number of resamples.

    Example:
        >>> bootstrap([1.0, 2.0, 4.0], np.mean, rng=np.random.default_rng(0))
        Interval(estimate=2.333..., low=1.0, high=4.0)
    """
    x, alpha = sample(x), tail(level)
    if x.size < 2:
        return Interval(float(statistic(x, axis=-1)) if x.size else math.nan)
    rows = max(1, _CHUNK // x.size)
    values = np.concatenate(
        [
            statistic(x[rng.integers(x.size, size=(min(rows, resamples - i), x.size))], axis=-1)
            for i in range(0, resamples, rows)
        ]
    )
    low, high = np.quantile(values, (alpha, 1 - alpha))
    return Interval(float(statistic(x, axis=-1)), float(low), float(high))


def median_difference(
    x: ArrayLike,
    y: ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 10_000,
) -> Interval:
    """Difference median(x) − median(y) of independent samples with its bootstrap percentile interval.

    Args:
        x, y: the values; if either is empty there is no estimate, if either has one value there are no bounds.
        rng: the generator; the same seed gives the same interval.
        level: confidence level.
        resamples: number of resamples.

    Example:
        >>> median_difference([5.0, 6.0, 7.0], [1.0, 2.0, 3.0], rng=np.random.default_rng(0))
        Interval(estimate=4.0, low=2.0, high=6.0)
    """
    x, y, alpha = np.sort(sample(x)), np.sort(sample(y, "y")), tail(level)
    if not (x.size and y.size):
        return Interval(math.nan)
    estimate = float(np.median(x) - np.median(y))
    if x.size < 2 or y.size < 2:
        return Interval(estimate)
    differences = _resampled_medians(x, resamples, rng) - _resampled_medians(y, resamples, rng)
    low, high = np.quantile(differences, (alpha, 1 - alpha))
    return Interval(estimate, float(low), float(high))


def _resampled_medians(ordered: NDArray[np.float64], resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw medians of resamples of an ordered sample, without drawing the resamples.

    A resample of n is xₘ with m = ⌊nU⌋ for n uniform U, and its order statistics are those of the U. The middle one is
    beta-distributed; for an even n, the next is the least of the n/2 uniforms above it.
    """
    n = ordered.size
    lower = rng.beta((n + 1) // 2, n // 2 + 1, resamples)
    upper = lower if n % 2 else lower + (1 - lower) * rng.beta(1, n // 2, resamples)
    at = [np.minimum((n * u).astype(np.intp), n - 1) for u in (lower, upper)]
    middle: NDArray[np.float64] = (ordered[at[0]] + ordered[at[1]]) / 2
    return middle
