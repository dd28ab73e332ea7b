"""An estimate with its interval, and the checks every statistic makes of its arguments."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the interval around it; NaN stands for what the data cannot tell.

    Nothing was observed: no estimate, no bounds, `Interval(nan)`. One observation: an estimate without
    bounds, `Interval(estimate)`.

    Args:
        estimate: the value shown; NaN when there is none.
        low, high: the bounds; both NaN when there is no interval.

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
        """Whether there is nothing to show."""
        return math.isnan(self.estimate)

    @property
    def has_bounds(self) -> bool:
        """Whether there is an interval to show."""
        return not math.isnan(self.low)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def sample(x: ArrayLike, name: str = "x") -> NDArray[np.float64]:
    """`x` as a 1-D float64 array, or a ValueError that says why it is not a sample."""
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one axis, got shape {values.shape}")
    if not np.isfinite(values).all():
        bad = int(np.count_nonzero(~np.isfinite(values)))
        raise ValueError(f"{name} must hold finite numbers, got {bad} NaN or infinite of {values.size}")
    return values


def tail(level: float) -> float:
    """Probability left out on each side by an interval of this confidence level."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    return (1 - level) / 2
