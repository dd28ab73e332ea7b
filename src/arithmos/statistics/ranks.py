"""Which of two samples tends to be larger, by ranks alone."""

import math
from collections.abc import Iterable

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .interval import sample

Stratum = tuple[NDArray[np.float64], int]
"""Ranks of a pair of samples, those of y last, and how many these are."""

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
    strata = [(scipy.stats.rankdata(np.concatenate([x, y])), y.size) for x, y in samples if x.size and y.size]
    if not strata:
        return math.nan, 1.0
    total = sum(float(ranks[-n:].sum()) for ranks, n in strata)
    least = sum(n * (n + 1) / 2 for _, n in strata)
    compared = sum((ranks.size - n) * n for ranks, n in strata)
    chance = _counted if max(ranks.size for ranks, _ in strata) <= FEW else _approximated
    return (total - least) / compared, chance(strata, total)


def _counted(strata: list[Stratum], total: float) -> float:
    """Share of all ways to deal ranks out in which those of y add up to a total or more."""
    chances = np.ones(1)
    for ranks, n in strata:
        doubled = np.rint(2 * ranks).astype(int)  # of equal values they are halves
        ways = np.zeros((n + 1, doubled.sum() + 1))  # to choose so many of them with such a sum
        ways[0, 0] = 1
        for value in doubled:
            ways[1:, value:] += ways[:-1, :-value]
        chances = np.convolve(chances, ways[n] / ways[n].sum())
    return float(chances[round(2 * total) :].sum())


def _approximated(strata: list[Stratum], total: float) -> float:
    """The same, as if their sum were normally distributed."""
    mean = sum(n * (ranks.size + 1) / 2 for ranks, n in strata)
    variance = sum((ranks.size - n) * n * float(ranks.var(ddof=1)) / ranks.size for ranks, n in strata)
    return float(special.ndtr((mean - total) / math.sqrt(variance))) if variance else 0.5
