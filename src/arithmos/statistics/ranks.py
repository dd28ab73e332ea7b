"""Which of two samples tends to be larger, by ranks alone."""

import math
from collections.abc import Iterable

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from .interval import sample


def rank_sum(pairs: Iterable[tuple[ArrayLike, ArrayLike]]) -> tuple[float, float]:
    """How often a value of x is below one of y, and the one-sided p-value that it is no more often than not.

    Wilcoxon's rank-sum test over one or several pairs of samples (x, y): the sum of Mann and Whitney's U over the pairs
    against its mean and variance if each pair has one distribution, equal values counted half. Pairs with an empty
    sample tell nothing; without any other the share is NaN, and p is 1.

    Args:
        pairs: samples x and y of the same conditions, one pair for each condition.

    Example:
        >>> share, p = rank_sum([([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])])
        >>> share, round(p, 4)
        (1.0, 0.0045)
    """
    below = count = mean = variance = 0.0
    for x, y in pairs:
        x, y = sample(x), sample(y, "y")
        if not (x.size and y.size):
            continue
        n = x.size + y.size
        ranks = scipy.stats.rankdata(np.concatenate([x, y]))
        below += float(ranks[x.size :].sum()) - y.size * (y.size + 1) / 2
        count += x.size * y.size
        mean += x.size * y.size / 2
        variance += x.size * y.size * float(ranks.var(ddof=1)) / n
    if not count:
        return math.nan, 1.0
    z = (below - mean) / math.sqrt(variance) if variance else 0.0
    return below / count, float(special.ndtr(-z))
