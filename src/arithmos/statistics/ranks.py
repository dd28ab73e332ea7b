"""Which of two samples tends to be larger, by ranks alone."""

import math
from collections.abc import Iterable

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .interval import sample

FEW = 50
"""Values of a pair up to which p is counted and not approximated."""


def rank_sum(pairs: Iterable[tuple[ArrayLike, ArrayLike]]) -> tuple[float, float]:
    """How often a value of x is below one of y, and the one-sided p-value that it is no more often than not.

    Wilcoxon's rank-sum test over one or several pairs of samples (x, y): the sum of Mann and Whitney's U over the pairs
    against what it is if each pair has one distribution, equal values counted half. Where no pair has more than 50
    values, p is the share of all ways to deal them out that give as much; otherwise that of the normal distribution
    with the same mean and variance. Pairs with an empty sample tell nothing; without any other the share is NaN, and p
    is 1.

    Args:
        pairs: samples x and y of the same conditions, one pair for each condition.

    Example:
        >>> share, p = rank_sum([([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])])
        >>> share, round(p, 4)
        (1.0, 0.004)
    """
    samples = [(sample(x), sample(y, "y")) for x, y in pairs]
    samples = [(x, y) for x, y in samples if x.size and y.size]
    if not samples:
        return math.nan, 1.0
    ranks = [scipy.stats.rankdata(np.concatenate(pair)) for pair in samples]
    counts = [(x.size, y.size) for x, y in samples]
    total = sum(float(rank[m:].sum()) for rank, (m, _) in zip(ranks, counts, strict=True))
    least = sum(n * (n + 1) / 2 for _, n in counts)
    chance = _counted if max(rank.size for rank in ranks) <= FEW else _approximated
    return (total - least) / sum(m * n for m, n in counts), chance(ranks, counts, total)


def _counted(ranks: list[NDArray[np.float64]], counts: list[tuple[int, int]], total: float) -> float:
    """Share of all ways to deal ranks out in which those of y add up to a total or more."""
    chances = np.ones(1)
    for rank, (_, n) in zip(ranks, counts, strict=True):
        doubled = np.rint(2 * rank).astype(int)  # of equal values they are halves
        ways = np.zeros((n + 1, doubled.sum() + 1))  # to choose so many of them with such a sum
        ways[0, 0] = 1
        for value in doubled:
            ways[1:, value:] += ways[:-1, :-value]
        chances = np.convolve(chances, ways[n] / ways[n].sum())
    return float(chances[round(2 * total) :].sum())


def _approximated(ranks: list[NDArray[np.float64]], counts: list[tuple[int, int]], total: float) -> float:
    mean = sum(n * (m + n + 1) / 2 for m, n in counts)
    variance = sum(m * n * float(rank.var(ddof=1)) / (m + n) for rank, (m, n) in zip(ranks, counts, strict=True))
    return float(special.ndtr((mean - total) / math.sqrt(variance))) if variance else 0.5
