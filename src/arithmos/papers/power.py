"""Differences that a test must be able to find before its silence counts as agreement."""

from collections.abc import Sequence
from typing import NamedTuple

POWER = 0.80
"""Required power."""


class Scale(NamedTuple):
    """Scale of differences: the one that must be found, and steps for finding the smallest one."""

    limit: float
    steps: Sequence[float]


POINTS = Scale(0.50, [points / 100 for points in range(1, 101)])
"""Scale of rates: 50 percentage points, as between all runs and every other one."""

TIMES = Scale(2.0, [*(1 + tenths / 10 for tenths in range(1, 10)), *map(float, range(2, 11))])
"""Scale of medians, means and sparsity errors: a factor of two, up or down."""
