"""Success rates: k solved runs of n."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .interval import Interval, tail


def _check_counts(k: int, n: int, names: str) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{names} must satisfy 0 <= k <= n, got k = {k} and n = {n}")


def wilson(k: int, n: int, level: float = 0.95) -> Interval:
    """Rate k/n with Wilson's score interval, without continuity correction.

    The interval holds the rates p that the score test does not reject: |k/n − p| ≤ z √(p(1 − p)/n).

    Args:
        k: successes.
        n: trials; without any there is no estimate.
        level: confidence level.

    Example:
        >>> wilson(98, 100)
        Interval(estimate=0.98, low=0.92998..., high=0.99449...)
    """
    _check_counts(k, n, "k and n")
    z = -float(special.ndtri(tail(level)))
    if n == 0:
        return Interval(math.nan)
    rate = k / n
    center = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    # At the ends the bound is exactly 0 or 1, which rounding would miss by 1e-17.
    return Interval(rate, 0.0 if k == 0 else center - half, 1.0 if k == n else center + half)


def rate_difference(k1: int, n1: int, k2: int, n2: int, level: float = 0.95) -> Interval:
    """Difference k1/n1 − k2/n2 with Newcombe's interval, built from the two Wilson intervals.

    It is d − √((p₁ − l₁)² + (u₂ − p₂)²) to d + √((u₁ − p₁)² + (p₂ − l₂)²), the independent errors of the two rates
    added as variances are. If either rate has no trials, there is no estimate.

    Args:
        k1, n1: successes and trials of the first rate.
        k2, n2: successes and trials of the second rate.
        level: confidence level.

    Example:
        >>> rate_difference(56, 70, 48, 80)
        Interval(estimate=0.2..., low=0.0524..., high=0.3338...)
    """
    one, two = wilson(k1, n1, level), wilson(k2, n2, level)
    if one.is_empty or two.is_empty:
        return Interval(math.nan)
    difference = one.estimate - two.estimate
    return Interval(
        difference,
        difference - math.hypot(one.estimate - one.low, two.high - two.estimate),
        difference + math.hypot(one.high - one.estimate, two.estimate - two.low),
    )


def fisher_exact(k1: int, n1: int, k2: int, n2: int) -> float:
    """Two-sided p-value of Fisher's exact test that k1 of n1 and k2 of n2 have the same rate.

    Args:
        k1, n1: successes and trials of the first rate.
        k2, n2: successes and trials of the second rate.

    Example:
        >>> round(fisher_exact(98, 100, 31, 100), 3)
        0.0
    """
    _check_counts(k1, n1, "k1 and n1")
    _check_counts(k2, n2, "k2 and n2")
    return float(_fisher(k1, n1, np.array([k2]), n2)[0])


@lru_cache(maxsize=512)
def fisher_ps(k: int, n: int, trials: int) -> NDArray[np.float64]:
    """Two-sided p-values of Fisher's exact test of k of n against every possible count of `trials`.

    Args:
        k, n: successes and trials.
        trials: trials of the other rate, whose counts are 0, 1, … trials.

    Example:
        >>> fisher_ps(3, 3, 3).round(2)
        array([0.1, 0.4, 1. , 1. ])
    """
    _check_counts(k, n, "k and n")
    return _fisher(k, n, np.arange(trials + 1), trials)


def _fisher(k: int, n: int, counts: NDArray[np.int_], trials: int) -> NDArray[np.float64]:
    """Return the p-values of k of n against some counts of `trials`."""
    ours = np.arange(n + 1)[None, :]  # ways to divide the successes of both
    theirs = k + counts[:, None] - ours
    possible = (theirs >= 0) & (theirs <= trials)
    theirs = np.where(possible, theirs, 0)
    log = -sum(special.gammaln(count + 1) for count in (ours, n - ours, theirs, trials - theirs))
    chances = np.where(possible, np.exp(log - np.where(possible, log, -np.inf).max(axis=1, keepdims=True)), 0.0)
    as_likely = chances <= chances[:, [k]] * (1 + 1e-9)
    ps: NDArray[np.float64] = np.where(as_likely, chances, 0.0).sum(axis=1) / chances.sum(axis=1)
    return ps
