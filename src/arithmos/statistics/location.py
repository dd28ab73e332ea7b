"""Means and medians with few assumptions: Student's t and order statistics."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .interval import Interval, sample, tail


def student_t(x: ArrayLike, level: float = 0.95, low: float = -math.inf, high: float = math.inf) -> Interval:
    """Sample mean ± t·s/√n, its bounds kept within [low, high].

    Args:
        x: the values; without any there is no estimate, with one there are no bounds.
        level: confidence level.
        low, high: the range the mean is known to lie in.

    Example:
        >>> student_t([1.0, 2.0, 3.0])
        Interval(estimate=2.0, low=-0.484..., high=4.484...)
    """
    x, alpha = sample(x), tail(level)
    if x.size < 2:
        return Interval(float(x[0]) if x.size else math.nan)
    mean = float(x.mean())
    half = -float(special.stdtrit(x.size - 1, alpha)) * float(x.std(ddof=1)) / math.sqrt(x.size)
    return Interval(mean, min(max(mean - half, low), high), min(max(mean + half, low), high))


def upper_mean(x: ArrayLike, level: float = 0.99, freedom: int | None = None) -> float:
    """One-sided upper bound of a mean by Student's t: x̄ + t·s/√n, t the quantile at `level`.

    Args:
        x: the values; NaN with fewer than two.
        level: confidence that the mean lies below.
        freedom: degrees of freedom of t; by default n − 1, the correct number.

    Example:
        >>> round(upper_mean([1.0, 2.0, 3.0]), 3), round(upper_mean([1.0, 2.0, 3.0], freedom=8), 3)
        (6.021, 3.672)
    """
    x = sample(x)
    tail(level)
    if freedom is not None and freedom < 1:
        raise ValueError(f"freedom must be at least 1, got {freedom}")
    if x.size < 2:
        return math.nan
    t = float(special.stdtrit(x.size - 1 if freedom is None else freedom, level))
    return float(x.mean()) + t * float(x.std(ddof=1)) / math.sqrt(x.size)


def median(x: ArrayLike, level: float = 0.95) -> Interval:
    """Sample median with the distribution-free interval between two order statistics.

    The interval is x₍ᵣ₎ to x₍ₙ₊₁₋ᵣ₎ with the largest r for which P(Binomial(n, ½) < r) ≤ (1 − level)/2. It covers with
    at least `level` for any distribution. With too few values (below six at 95 %) there is no such r and no bounds.

    Args:
        x: the values.
        level: confidence level.

    Example:
        >>> median(range(1, 101))
        Interval(estimate=50.5, low=40.0, high=61.0)
    """
    x, alpha = np.sort(sample(x)), tail(level)
    if not x.size:
        return Interval(math.nan)
    below = special.bdtr(np.arange(x.size // 2), x.size, 0.5)  # P(B < r) for r = 1, 2, ...
    return _between(x, int(np.count_nonzero(below <= alpha)))


def median_prediction(x: ArrayLike, n: int, level: float = 0.95) -> Interval:
    """Sample median with the distribution-free interval for the median of `n` further values.

    Use it to compare with a median of which only the number of values is known. Of n further values, the number below
    x₍ᵣ₎ is beta-binomial(n, r, |x| + 1 − r). The bounds are x₍ᵣ₎ and its mirror image, with the largest r for which the
    new median falls below with probability at most (1 − level)/2.

    Args:
        x: the observed values.
        n: number of further values.
        level: probability that the other median lies within the bounds.

    Example:
        >>> median_prediction(range(1, 101), 100)
        Interval(estimate=50.5, low=36.0, high=65.0)
    """
    x, alpha = np.sort(sample(x)), tail(level)
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    if not x.size:
        return Interval(math.nan)
    r = np.arange(1, x.size // 2 + 1)
    below = median_below(n, r, x.size)
    return _between(x, int(np.count_nonzero(below <= alpha)))


def median_below(n: int, r: NDArray[np.int_], size: int) -> NDArray[np.float64]:
    """Chance that the median of `n` further values falls below the r-th of `size` observed ones.

    It is the upper tail of the beta-binomial distribution (n, r, size + 1 − r), from half of the n values on.

    Example:
        >>> median_below(1, np.array([1, 2, 3]), 3)
        array([0.25, 0.5 , 0.75])
    """
    below, r = np.arange((n + 1) // 2, n + 1), r[:, None]
    ways = -special.betaln(below + 1, n - below + 1) - math.log(n + 1)
    log = ways + special.betaln(below + r, n - below + size + 1 - r) - special.betaln(r, size + 1 - r)
    chances: NDArray[np.float64] = np.minimum(np.exp(log).sum(axis=1), 1.0)
    return chances


def _between(ordered: np.ndarray[tuple[int], np.dtype[np.float64]], r: int) -> Interval:
    """Return the median of an ordered sample, bounded by the r-th values from either end (none for r = 0)."""
    estimate = float(np.median(ordered))
    return Interval(estimate, float(ordered[r - 1]), float(ordered[-r])) if r else Interval(estimate)
