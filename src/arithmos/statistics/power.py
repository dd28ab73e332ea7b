"""Power: the chance that a test finds a difference, given the observed values.

Our values are fixed. The random quantity is the number that would have been printed if its runs had differed from ours
by a given amount. Differences count in both directions, and the power is the smaller of the two.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .interval import sample
from .rates import fisher_ps

Floats = NDArray[np.float64]


def fisher_power(k: int, n: int, trials: int, difference: float, level: float) -> float:
    """Chance that Fisher's exact test finds a rate that differs from k/n by `difference`.

    It is exact: the sum of the binomial probabilities of all counts with a p-value of at most `level`. A direction in
    which the other rate would leave [0, 1] does not count; if both would, the other rate is the farther end.

    Args:
        k, n: observed successes and trials.
        trials: trials of the other rate.
        difference: distance of the other rate from k/n.
        level: significance level.

    Example:
        >>> round(fisher_power(100, 100, 100, 0.1, 0.05), 3), round(fisher_power(8, 10, 10, 0.5, 0.05), 3)
        (0.942, 0.383)
    """
    found = np.flatnonzero(fisher_ps(k, n, trials) <= level)
    possible = [rate for rate in (k / n - difference, k / n + difference) if -1e-9 <= rate <= 1 + 1e-9]
    rates = [min(max(rate, 0.0), 1.0) for rate in possible] or [0.0 if 2 * k > n else 1.0]
    return min(float(_binomial(found, trials, rate).sum()) for rate in rates)


def _binomial(k: NDArray[np.intp], n: int, rate: float) -> Floats:
    chosen = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    chances: Floats = np.exp(chosen + special.xlogy(k, rate) + special.xlog1py(n - k, -rate))
    return chances


def prediction_finds(predicted: ArrayLike, numbers: Floats, level: float, error: float = 0.0) -> NDArray[np.bool_]:
    """Mark the numbers whose `prediction_p` is at most `level`.

    Args:
        predicted: the number that each unseen sample gives if nothing differs.
        numbers: numbers that might be printed if something does.
        level: significance level.
        error: largest error of each number.

    Example:
        >>> prediction_finds(range(99), np.array([-5.0, 50.0, 200.0]), 0.05)
        array([ True, False,  True])
    """
    predicted = np.sort(sample(predicted, "predicted"))
    beyond = math.floor(level * (predicted.size + 1) / 2 + 1e-9) - 1  # predicted numbers that may lie farther out
    if beyond < 0:
        return np.zeros(numbers.shape, np.bool_)
    found: NDArray[np.bool_] = (numbers + error < predicted[beyond]) | (numbers - error > predicted[-1 - beyond])
    return found


def smallest_found(power: Callable[[float], float], differences: Sequence[float], chance: float) -> float:
    """Return the first of some increasing differences that is found with at least this chance, or NaN.

    Args:
        power: chance that a difference is found; increasing.
        differences: differences to try.
        chance: required power.

    Example:
        >>> smallest_found(lambda difference: difference**2, [0.5, 0.8, 0.9, 1.0], 0.8)
        0.9
    """
    place = bisect_left(differences, True, key=lambda difference: power(difference) >= chance)
    return differences[place] if place < len(differences) else math.nan
