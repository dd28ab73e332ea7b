"""Estimates with intervals, and checks of the arguments of statistics."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Interval:
    """Estimate with an interval; NaN marks what the data cannot tell.

    Without observations there is neither estimate nor bounds: `Interval(nan)`. With one observation there is an
    estimate without bounds: `Interval(estimate)`.

    Args:
        estimate: the estimate, or NaN.
        low, high: the bounds, or NaN for both.

    Example:
        >>> 0.5 in Interval(0.4, 0.3, 0.6)
        True
        >>> Interval(0.4).has_bounds
        False
    """

    estimate: float
    low: float = math.nan
    high: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.low) != math.isnan(self.high):
            raise ValueError(f"low and high must both be given or both be NaN, got {self.low} and {self.high}")
        if self.low > self.high:
            raise ValueError(f"low must not exceed high, got {self.low} and {self.high}")

    @property
    def is_empty(self) -> bool:
        """Whether there is no estimate."""
        return math.isnan(self.estimate)

    @property
    def has_bounds(self) -> bool:
        """Whether there are bounds."""
        return not math.isnan(self.low)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def sample(x: ArrayLike, name: str = "x") -> NDArray[np.float64]:
    """Return `x` as a 1-D float64 array, or raise a ValueError if it is not a sample."""
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one axis, got shape {values.shape}")
    if not np.isfinite(values).all():
        bad = int(np.count_nonzero(~np.isfinite(values)))
        raise ValueError(f"{name} must hold finite numbers, got {bad} NaN or infinite of {values.size}")
    return values


def non_negative(x: ArrayLike) -> NDArray[np.float64]:
    """Return `x` as a sample without negative values, or raise a ValueError."""
    values = sample(x)
    if values.size and values.min() < 0:
        raise ValueError(f"x must not be negative, got {values.min()}")
    return values


def tail(level: float) -> float:
    """Return the probability that an interval of this confidence level leaves out on each side."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    return (1 - level) / 2
