r"""Mean of sparsity errors, which lie in [0, ½], by a beta distribution of twice their values.

There are two estimators. `beta_mean` is the intended one. `beta_mean_as_released` is the one behind the published
tables: it did not double the data, so its result is half the mean, except where it fell back to Student's t, whose
result is the mean. On the runs behind five cells of the published table of all models:

    cell          sample mean   beta_mean                        beta_mean_as_released
    +   NAC₊      0.4537        0.4536 [0.4397, 0.4639]          0.2266 [0.2201, 0.2331]
    +   NAU       3.187e-5      3.187e-5 [2.223e-5, 4.799e-5]    3.187e-5 [1.893e-5, 4.481e-5]
    ×   NMU       4.206e-7      4.206e-7 [4.002e-7, 4.424e-7]    4.206e-7 [3.913e-7, 4.498e-7]
    z²  NAC•,σ    0.03553       0.03553 [0.03467, 0.03641]       0.01776 [0.01734, 0.0182]
    −   Linear    0.4343        0.4343 [0.1702, 0.6984]          0.1761 [0.1181, 0.2482]

With y in (0, 1), shapes mv and (1 − m)v and ȳ the sample mean, the log-likelihood is, up to a constant,

    n [S(v) − S(mv) − S((1 − m)v) − v d(m)],    S(z) = lnΓ(z) − z ln z + z,
    d(m) = m (ln ȳ − mean ln y) + (1 − m)(ln(1 − ȳ) − mean ln(1 − y)) + KL(m‖ȳ).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ._stirling import digamma_rest, log_gamma_rest
from .gamma import log_mean_gap, nearly_equal
from .interval import Interval, non_negative, tail
from .location import student_t

_RELEASED_CLIP = 1e-16
_RELEASED_SPREAD = 1e-10
# Below this, the released code's numerical second derivative steps to a negative mean and gives no standard error.
_RELEASED_SMALLEST = math.sqrt(2.0**-52 / 7e-7)


def beta_mean(x: ArrayLike, level: float = 0.95) -> Interval:
    """Maximum-likelihood mean of x when 2x has a beta distribution, with its profile-likelihood interval.

    The estimate is near the sample mean if a beta distribution describes the values. If it does not (solved runs of two
    kinds), the estimate is off; use the median then.

    For equal values the likelihood is unbounded, and the interval has no bounds. Values of 0, of ½, and those beyond ½
    that unconstrained weights give do not fit a beta distribution: the result is the sample mean with Student's t,
    within [0, ½] if the values are.

    Args:
        x: the values, none negative.
        level: confidence level.

    Example:
        >>> beta_mean([0.01, 0.02, 0.04])
        Interval(estimate=0.0233..., low=0.0111..., high=0.0576...)
    """
    x, drop = non_negative(x), float(special.chdtri(1, 2 * tail(level)))
    if x.size < 2 or not (x.min() > 0 and x.max() < 0.5):
        return student_t(x, level, low=0.0, high=math.inf if x.size and x.max() > 0.5 else 0.5)
    if nearly_equal(x):
        return Interval(float(x.mean()))
    return _half(_fit(2 * x, drop))


def beta_mean_as_released(x: ArrayLike, level: float = 0.95) -> Interval:
    """Mean and interval of sparsity errors, computed as for the published tables.

    `beta_mean` was intended. The values, clipped to [1e-16, ½ − 1e-16], were not doubled before the fit, but the fitted
    mean was halved. The result is Student's t of the values, within [0, ½], if their standard deviation is at most
    1e-10, if there are fewer than two, or if the halved mean is below 1.8e-5, where the released code finds no standard
    error.

    Args:
        x: the values, none negative.
        level: confidence level.

    Example:
        >>> beta_mean_as_released([0.01, 0.02, 0.04])
        Interval(estimate=0.0116..., low=0.0056..., high=0.0297...)
    """
    x, drop = non_negative(x), float(special.chdtri(1, 2 * tail(level)))
    cut = np.clip(x, _RELEASED_CLIP, 0.5 - _RELEASED_CLIP)
    if x.size > 1 and cut.std(ddof=1) > _RELEASED_SPREAD:
        fit = _half(_fit(cut, drop))
        if fit.estimate > _RELEASED_SMALLEST:
            return fit
    return student_t(x, level, low=0.0, high=0.5)


@dataclass(frozen=True, slots=True)
class _Point:
    """Mean m with its best v: the profile log-likelihood and slope there."""

    mean: float
    log_likelihood: float
    slope: float


def _fit(y: NDArray[np.float64], drop: float) -> Interval:
    """Return the maximum-likelihood mean of a beta sample, bounded where 2ℓ has dropped by `drop`."""
    if y.mean() > 0.5:  # near 1, 1 − m keeps more digits than m
        mirrored = _fit(1 - y, drop)
        return Interval(1 - mirrored.estimate, 1 - mirrored.high, 1 - mirrored.low)
    mean, gap, gap_rest = float(y.mean()), log_mean_gap(y), log_mean_gap(1 - y)

    @cache  # root finding revisits the points of the bracket search
    def at(eta: float) -> _Point:
        """Return the profile at ln(m/(1 − m)) = ln(ȳ/(1 − ȳ)) + eta, which keeps digits where m − ȳ has none."""
        growth = 1 + mean * math.expm1(eta)
        m, rest = mean * math.exp(eta) / growth, (1 - mean) / growth
        d = m * gap + rest * gap_rest + m * eta - math.log1p(mean * math.expm1(eta))

        def slope(log_v: float) -> float:
            v = math.exp(log_v)
            return m * digamma_rest(m * v) + rest * digamma_rest(rest * v) - digamma_rest(v) - d

        # The terms beside d lie between 1/2v and 1/v, as each φ does.
        v = math.exp(_root(slope, -math.log(2.1 * d), -math.log(0.95 * d)))
        a, b = m * v, rest * v
        return _Point(
            m,
            y.size * (log_gamma_rest(v) - log_gamma_rest(a) - log_gamma_rest(b) - v * d),
            digamma_rest(a) - digamma_rest(b) - gap + gap_rest - eta,
        )

    # The profile has one peak: the log-likelihood is concave in (a, b), and m is their ratio.
    step = math.sqrt(2 * (gap + gap_rest) / y.size)
    peak = _outward(lambda eta: at(eta).slope, 0.0, step if at(0.0).slope >= 0 else -step)
    top = at(peak)

    def rise(eta: float) -> float:
        return drop - 2 * (top.log_likelihood - at(eta).log_likelihood)

    return Interval(top.mean, at(_outward(rise, peak, -step)).mean, at(_outward(rise, peak, step)).mean)


def _outward(f: Callable[[float], float], start: float, step: float) -> float:
    """Return where f changes sign, searching from `start` by doubling steps."""
    sign = math.copysign(1, f(start))
    while sign * f(start + step) > 0:
        start, step = start + step, 2 * step
    return _root(f, start, start + step)


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    return float(scipy.optimize.brentq(f, low, high, xtol=1e-14, rtol=1e-14))


def _half(interval: Interval) -> Interval:
    return Interval(interval.estimate / 2, interval.low / 2, interval.high / 2)
