"""Precision of data: how far values may lie from a formula that is right, because they were rounded."""

import numpy as np

from .terms import Floats, Node, used, values

ROUNDING = 2e-13
"""Relative rounding error that float64 arithmetic may cause, per row."""
STEP = 1e-7
MOST_DIGITS = 12
"""Values with more significant digits count as float64 numbers that were not rounded."""


def resolution(column: Floats) -> Floats:
    """Return half of the last digit that the values of a column were written with; 0 if they were not rounded.

    Values that all have a few decimals were rounded to the last one; values that all have a few significant digits, to
    those; values that are all float32 numbers, to float32.

    Example:
        >>> resolution(np.array([12.34, 0.5, 7.0])).tolist()
        [0.005, 0.005, 0.005]
        >>> resolution(np.array([1 / 3, 2 / 7])).tolist()
        [0.0, 0.0]
    """
    size = np.abs(column)
    largest = float(size.max(initial=0.0))
    if largest == 0:
        return np.zeros(len(column))
    for decimals in range(-3, 10):
        unit = 10.0**-decimals
        if unit * 1e-3 > largest:
            continue
        if unit < 10.0**-MOST_DIGITS * largest:
            break
        if np.array_equal(np.round(column, decimals), column):
            return np.full(len(column), unit / 2)
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log10(np.where(size > 0, size, 1.0)))
    for digits in range(3, MOST_DIGITS):
        if all(float(f"{value:.{digits - 1}e}") == value for value in column[:200].tolist()):
            return np.asarray(0.5 * 10.0 ** (exponent - digits + 1))
    if np.array_equal(column.astype(np.float32).astype(np.float64), column):
        return np.asarray(size * 2.0**-24)
    return np.zeros(len(column))


def rounding(node: Node, x: Floats, y: Floats) -> Floats:
    """Return how far each value may lie from a formula because of float64 arithmetic."""
    base = values(node, x)
    allowed = ROUNDING * np.abs(y)
    for i in sorted(used(node)):
        moved = x.copy()
        moved[:, i] *= 1 + STEP
        allowed += np.abs(values(node, moved) - base) / STEP * ROUNDING
    return allowed
