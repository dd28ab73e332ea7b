"""Tests of a printed number, whose own values are unknown, against the observed values.

All rest on one assumption: both sets of values come from the same distribution, whatever it is. Then every interleaving
of N observed and n unseen values is equally likely: an unseen value falls into each of the N + 1 gaps between the
observed ones with equal chance, the first and the last gap included, and later ones accumulate as in Pólya's urn.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .interval import sample
from .location import median_below

DRAWS = 2500
"""Number of unseen samples to draw: enough for a p-value of 0.0008."""

_NEWTON_STEPS = 30

Floats = NDArray[np.float64]


def median_p(x: ArrayLike, printed: float, n: int, error: float = 0.0) -> float:
    """Two-sided p-value of a printed median of n unseen values.

    It is 2α for the smallest α at which `printed` leaves the interval of `median_prediction` of level 1 − 2α.

    Args:
        x: the observed values.
        printed: the median of the unseen values.
        n: number of unseen values.
        error: largest error of the printed number.

    Example:
        >>> round(median_p(range(1, 101), 35, 100), 3), median_p(range(1, 101), 35, 100, error=20)
        (0.045, 1.0)
    """
    return float(median_ps(x, np.array([printed]), n, error)[0])


def median_ps(x: ArrayLike, printed: Floats, n: int, error: float = 0.0) -> Floats:
    """Return `median_p` of many numbers at once."""
    x = np.sort(sample(x))
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    if not x.size:
        return np.full(printed.shape, math.nan)
    r = np.arange(1, x.size + 1)
    beyond = np.append(median_below(n, r, x.size), 1.0)
    below = beyond[np.searchsorted(x, printed + error, side="right")]  # observed values that are surely not above it
    above = beyond[x.size - np.searchsorted(x, printed - error, side="left")]
    smaller: Floats = np.minimum(1.0, 2 * np.minimum(below, above))
    return smaller


def unseen(x: ArrayLike, n: int, low: float, high: float, seed: int = 0) -> Floats:
    """Draw samples of n unseen values, `[DRAWS, n]`, each value uniform within its gap between observed ones.

    Args:
        x: the observed values.
        n: size of an unseen sample.
        low, high: start of the first gap and end of the last, unless observed values lie beyond.
        seed: the same seed gives the same samples.
    """
    x = np.sort(sample(x))
    if not x.size or n < 1:
        raise ValueError(f"x must hold a value and n be at least 1, got {x.size} values and n = {n}")
    edges = np.concatenate([[min(low, x[0])], x, [max(high, x[-1])]])
    gap = _urn(x.size + 1, n, seed)
    drawn = np.random.default_rng(seed).random(gap.shape)
    drawn *= np.diff(edges).take(gap)
    drawn += edges.take(gap)
    return drawn


@lru_cache(maxsize=64)
def _urn(gaps: int, n: int, seed: int) -> NDArray[np.intp]:
    """Draw the gaps that n values fall into, `[DRAWS, n]`: a random gap, or that of an earlier value."""
    rng, rows = np.random.default_rng(seed), np.arange(DRAWS)
    picked = np.empty((DRAWS, n), np.intp)
    for j in range(n):
        ball = rng.integers(gaps + j, size=DRAWS)
        picked[:, j] = np.where(ball < gaps, ball, picked[rows, np.maximum(ball - gaps, 0)])
    return picked


def prediction_p(predicted: ArrayLike, printed: float, error: float = 0.0) -> float:
    """Two-sided p-value of a printed number among the numbers of unseen samples.

    Args:
        predicted: the number that each unseen sample gives.
        printed: the printed number.
        error: largest error of the printed number.

    Example:
        >>> prediction_p(range(99), 10)
        0.24
    """
    predicted = sample(predicted, "predicted")
    below = np.count_nonzero(predicted <= printed + error)
    above = np.count_nonzero(predicted >= printed - error)
    return min(1.0, 2 * (1 + int(min(below, above))) / (1 + predicted.size))


def fixed_variance_mean(x: Floats) -> Floats:
    """Mean of a gamma distribution whose variance is the sample variance, by maximum likelihood along the last axis.

    This is what `gamma_mean_as_released` approaches by steps, for many samples at once. With k = μ²/s² it is the root
    in μ of 2 (ln k − ψ(k) + mean ln x − ln μ) − x̄/μ + 1.

    Args:
        x: samples of at least two positive values.
    """
    mean, variance, log = x.mean(axis=-1), x.var(axis=-1, ddof=1), np.log(x).mean(axis=-1)
    variance = np.maximum(variance, 1e-12 * mean**2)  # equal values: the mean itself
    t = np.log(mean)
    for _ in range(_NEWTON_STEPS):
        k = np.exp(2 * t) / variance
        ratio = mean * np.exp(-t)
        value = 2 * (np.log(k) - special.psi(k) + log - t) - ratio + 1
        slope = ratio - 2 - 2 / k * (1 + 1 / (1 + 3 * k))  # within 5 %, and much faster than with ψ′
        step = np.clip(-value / np.minimum(slope, -0.5), -0.5, 0.5)
        t = t + step
        if np.abs(step).max(initial=0.0) < 1e-6:
            break
    found: Floats = np.exp(t)
    return found


def latest(mean: float, half_width: float, n: int) -> float:
    """Upper bound of the values behind a mean and its interval by `gamma_mean_as_released`.

    None of n values is more than s√n away from their mean, and the interval determines s: it reaches 1.96 μ/√n · c to
    either side, where c is between 0.7 and 1 times s/μ while that is small, and tends to ½ as it grows. From c = 0.45
    on there is no bound.

    Args:
        mean: the printed mean.
        half_width: half the width of its 95 % interval; NaN if there is none.
        n: number of values.
    """
    c = half_width * math.sqrt(n) / (1.96 * mean)
    return mean * (1 + c / 0.7 * math.sqrt(n)) if c < 0.45 else math.inf
