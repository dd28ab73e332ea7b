"""What a test must be able to find before its silence counts as agreement."""

from collections.abc import Sequence
from typing import NamedTuple

POWER = 0.80
"""Chance of being found that a difference must have."""


class Scale(NamedTuple):
    """How a difference is measured: what must be found, and the steps among which the smallest is looked for."""

    limit: float
    steps: Sequence[float]


POINTS = Scale(0.50, [points / 100 for points in range(1, 101)])
"""Of rates: 50 points, as between all runs and every other one."""

TIMES = Scale(2.0, [*(1 + tenths / 10 for tenths in range(1, 10)), *map(float, range(2, 11))])
"""Of medians, means and sparsity errors: twice as large, or half as large."""
