r"""Mean of positive, skewed values such as solved-at steps, by the gamma distribution.

There are two estimators. `gamma_mean` is the maximum-likelihood one. `gamma_mean_as_released` is the one behind the
published tables, whose optimizer left the variance at its starting value. On the runs behind five cells of the
published table of all models:

    cell            gamma_mean                     gamma_mean_as_released
    +   NAC₊        3.016e5 [2.657e5, 3.443e5]     4.925e5 [4.476e5, 5.445e5]
    +   NAU         1.896e5 [1.368e5, 2.733e5]     3.909e5 [3.539e5, 4.346e5]
    ×   NMU         1.502e6 [1.451e6, 1.556e6]     1.521e6 [1.456e6, 1.569e6]
    z²  NAC•,σ      1.919e6 [1.872e6, 1.969e6]     1.938e6 [1.876e6, 1.991e6]
    −   Linear      3.041e6 [1.324e6, 9.589e6]     1.447e6 [8.366e5, 2.147e6]

With shape k, mean μ, u = ln(x̄/μ) and s = ln x̄ − mean(ln x), the log-likelihood is, up to a constant,

    n [−S(k) − k (s + eᵘ − 1 − u)],    S(k) = lnΓ(k) − k ln k + k.
"""

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ._stirling import digamma_rest, log_gamma_rest
from .interval import Interval, non_negative, tail
from .location import student_t

# The released profile searches a grid of a fifth of this and takes a gain of 0.001 for a better fit.
_RELEASED_REACH = math.sqrt(float(special.chdtri(2, 0.005)))
_RELEASED_GAIN = 1e-3
_RELEASED_SPREAD = 1e-5


def gamma_mean(x: ArrayLike, level: float = 0.95) -> Interval:
    """Maximum-likelihood mean of a gamma sample with its profile-likelihood interval.

    The estimate is the sample mean. The bounds are the μ where twice the drop of the log-likelihood, maximal
    over the shape k at each μ, reaches the χ²₁ quantile. The best shape solves φ(k) = s + eᵘ − 1 − u with
    φ(k) = ln k − ψ(k), and there the log-likelihood of a value is h(k) = −S(k) − k φ(k): both bounds share
    the one shape at which h has dropped enough, and differ in the sign of u.

    For equal values the likelihood is unbounded, and the interval has no bounds. With a zero among the values the
    result is Student's t, bounded below by 0.

    Args:
        x: the values, none negative.
        level: confidence level.

    Example:
        >>> gamma_mean([1.0, 2.0, 4.0])
        Interval(estimate=2.333..., low=1.122..., high=6.131...)
    """
    x, drop = non_negative(x), float(special.chdtri(1, 2 * tail(level)))
    if x.size < 2 or not x.min() > 0:
        return student_t(x, level, low=0.0)
    mean = float(x.mean())
    if nearly_equal(x):
        return Interval(mean)
    gap = log_mean_gap(x)
    # 1/2k < φ(k) < 1/k encloses the shape, 1/2 < dh/d(ln k) < 1 the one at the bounds; room for rounding.
    shape = _root(lambda v: digamma_rest(math.exp(v)) - gap, -math.log(2.1 * gap), -math.log(0.9 * gap))
    target = _profile(shape) - drop / (2 * x.size)
    bound = _root(lambda v: _profile(v) - target, shape - 1.1 * drop / x.size, shape - 0.45 * drop / x.size)
    excess = digamma_rest(math.exp(bound)) - digamma_rest(math.exp(shape))
    w = math.sqrt(2 * excess)
    down = _root(lambda u: _expm2(u) - excess, 0.999 * math.log1p(w), 1.001 * w)
    up = _root(lambda u: _expm2(u) - excess, -1.001 * (w + w * w / 2), -0.999 * w)
    return Interval(mean, mean * math.exp(-down), mean * math.exp(-up) if up > -700 else math.inf)


def gamma_mean_as_released(x: ArrayLike, level: float = 0.95) -> Interval:
    """Mean and interval of a gamma sample, computed as for the published tables.

    `gamma_mean` was intended. In fact the variance stays at its starting value, the sample variance s², and μ moves
    only when the profile meets a better point, from which it starts again: from the sample mean, by steps of 0.65
    (−∂²ℓ/∂μ²)^−½, until no point of that grid is better by 0.001 in 2ℓ. The interval is that of the profile at fixed
    s², relative to the last point. With a standard deviation of at most 1e-5 or fewer than two values, the result is
    Student's t, bounded below by 0.

    Args:
        x: the values, none negative.
        level: confidence level.

    Example:
        >>> gamma_mean_as_released([1.0, 1.0, 1.0, 2.0, 9.0])
        Interval(estimate=3.287..., low=1.999..., high=5.113...)
    """
    x, drop = non_negative(x), float(special.chdtri(1, 2 * tail(level)))
    if x.size < 2 or not x.min() > 0 or x.std(ddof=1) <= _RELEASED_SPREAD:
        return student_t(x, level, low=0.0)
    mean, variance, gap = float(x.mean()), float(x.var(ddof=1)), log_mean_gap(x)

    def deviance(mu: float) -> float:
        k = mu * mu / variance
        return 2 * x.size * (log_gamma_rest(k) + k * (gap + _expm2(math.log(mean / mu))))

    def curvature(mu: float) -> float:
        k = mu * mu / variance
        slope = digamma_rest(k) - gap + math.log(mean / mu)
        return x.size / variance * (4 * k * float(special.polygamma(1, k)) - 3 - 2 * slope)

    mu: float | None = mean
    while mu is not None:
        reached = mu
        # Positive at the sample mean; elsewhere it may not be, and the released code stops. Keep the last step.
        if (bend := curvature(reached)) > 0:
            step = _RELEASED_REACH / 5 / math.sqrt(bend)
        mu = _better(deviance, reached, step)
    floor = deviance(reached)
    low, high = reached / 2, reached * 2
    while deviance(low) - floor < drop:
        low /= 2
    while deviance(high) - floor < drop:
        high *= 2
    return Interval(
        reached,
        _root(lambda m: deviance(m) - floor - drop, low, reached),
        _root(lambda m: deviance(m) - floor - drop, reached, high),
    )


def _better(deviance: Callable[[float], float], start: float, step: float) -> float | None:
    """Return the first point that gains enough on the profile's grid around `start`, or None."""
    floor = deviance(start)
    for direction in (-1, 1):
        for i in range(1, 100):
            point = start + direction * i * step
            if point <= 0:
                break
            loss = deviance(point) - floor
            if loss <= -_RELEASED_GAIN:
                return point
            if loss >= _RELEASED_REACH**2:
                break
    return None


def nearly_equal(x: NDArray[np.float64]) -> bool:
    """Return whether the values differ by rounding at most."""
    return bool(x.max() - x.min() <= 1e-12 * x.max())


def log_mean_gap(x: NDArray[np.float64]) -> float:
    """Return the logarithm of the mean minus the mean of the logarithms, accurate for nearly equal values too."""
    mean = x.mean()
    deviation = (x - mean) / mean
    deviation -= deviation.mean()
    spread = np.abs(deviation).max()
    if spread < 1e-5:
        return float((deviation**2 * (1 / 2 - deviation / 3)).mean())
    return float(np.log(mean) - np.log(x).mean()) if spread > 0.5 else float(-np.log1p(deviation).mean())


def _profile(log_shape: float) -> float:
    """Return h(k) = −S(k) − k φ(k), the log-likelihood of one value at its best shape k."""
    k = math.exp(log_shape)
    return -log_gamma_rest(k) - k * digamma_rest(k)


def _expm2(u: float) -> float:
    """Return eᵘ − 1 − u."""
    if abs(u) > 0.01:
        return math.expm1(u) - u
    return u * u / 2 * (1 + u / 3 * (1 + u / 4 * (1 + u / 5 * (1 + u / 6))))


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    return float(scipy.optimize.brentq(f, low, high, xtol=1e-300, rtol=1e-13))
