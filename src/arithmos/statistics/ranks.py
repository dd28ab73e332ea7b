"""Wilcoxon's rank-sum test: which of two samples tends to be larger."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .interval import sample

Stratum = tuple[NDArray[np.float64], int]
"""Ranks of a pair of samples, those of y last, and the size of y."""

FEW = 50
"""Largest pair for which p is exact and not approximated."""


def rank_sum(pairs: Iterable[tuple[ArrayLike, ArrayLike]]) -> tuple[float, float]:
    """Share of value pairs in which x is below y, and the one-sided p-value of that share being at most one half.

    This is Wilcoxon's rank-sum test over one or several pairs of samples (x, y): the sum of Mann and Whitney's U over
    the pairs, compared with its distribution if both samples of each pair have the same one; ties count half. If no
    pair has more than 50 values, p is exact; otherwise it is that of the normal distribution with the same mean and
    variance. Pairs with an empty sample are ignored; if no others are left, the share is NaN and p is 1.

    Args:
        pairs: samples x and y of the same conditions, one pair per condition.

    Example:
        >>> share, p = rank_sum([([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])])
        >>> share, round(p, 4)
        (1.0, 0.004)
    """
    samples = [(sample(x), sample(y, "y")) for x, y in pairs]
    strata = [(ranked(np.concatenate([x, y])), y.size) for x, y in samples if x.size and y.size]
    if not strata:
        return math.nan, 1.0
    total = sum(float(ranks[-n:].sum()) for ranks, n in strata)
    least = sum(n * (n + 1) / 2 for _, n in strata)
    compared = sum((ranks.size - n) * n for ranks, n in strata)
    chance = _counted if max(ranks.size for ranks, _ in strata) <= FEW else _approximated
    return (total - least) / compared, chance(strata, total)


def ranked(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value from 1; equal values share the mean of their ranks.

    Example:
        >>> ranked(np.array([3.0, 1.0, 3.0]))
        array([2.5, 1. , 2.5])
    """
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def _counted(strata: list[Stratum], total: float) -> float:
    """Return the share of all assignments of ranks in which those of y add up to `total` or more."""
    chances = np.ones(1)
    for ranks, n in strata:
        doubled = np.rint(2 * ranks).astype(int)  # ties have half ranks
        ways = np.zeros((n + 1, doubled.sum() + 1))  # number of choices by count and sum
        ways[0, 0] = 1
        for value in doubled:
            ways[1:, value:] += ways[:-1, :-value]
        chances = np.convolve(chances, ways[n] / ways[n].sum())
    return float(chances[round(2 * total) :].sum())


def _approximated(strata: list[Stratum], total: float) -> float:
    """Return the same share under a normal approximation."""
    mean = sum(n * (ranks.size + 1) / 2 for ranks, n in strata)
    variance = sum((ranks.size - n) * n * float(ranks.var(ddof=1)) / ranks.size for ranks, n in strata)
    return float(special.ndtr((mean - total) / math.sqrt(variance))) if variance else 0.5
