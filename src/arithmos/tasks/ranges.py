"""Ranges of uniform inputs, and the grid of numbers that the random generator draws from them.

An interval from `low` to `high` has 2²³ numbers, `low + k·cell` with a cell of (high - low)/2²³, rounded to float32.
From U[-2, 2], 0 is drawn once in 8.4 million inputs, and makes the target infinite if it is the divisor. `without_zero`
moves such a grid by half a cell.
"""

import math
from fractions import Fraction

import numpy as np

from .. import _checks
from .task import Range

CELLS = 2**23
"""Numbers of an interval that can be drawn."""


def checked(name: str, value: object) -> Range:
    """Return a range of one or two intervals in its plain form, or raise.

    Args:
        name: name of the argument.
        value: its value.
    """
    parts = _checks.pairs(name, value, most=2)
    range_ = tuple((float(_checks.number(name, low)), float(_checks.number(name, high))) for low, high in parts)
    for low, high in range_:
        with np.errstate(over="ignore"):
            width = np.float32(high) - np.float32(low)
        if not (width > 0 and math.isfinite(width)):  # in the arithmetic of the random generator
            raise ValueError(f"{name} must have parts (low, high) with low below high in float32, got ({low}, {high})")
    return range_


def has_zero(range_: Range) -> bool:
    """Return whether 0 can be drawn from a range.

    Example:
        >>> [has_zero(((low, 2.0),)) for low in (-2.0, -1.0, 0.0, 1.0)]
        [True, False, True, False]
    """
    return any(_at_zero(low, high) for low, high in range_)


def without_zero(range_: Range) -> Range:
    """Return a range from which 0 cannot be drawn: intervals whose grid has it are moved by half a cell.

    Example:
        >>> without_zero(((-2.0, 2.0),))
        ((-1.999999761581421, 2.000000238418579),)
    """
    return tuple(_moved(low, high) if _at_zero(low, high) else (low, high) for low, high in range_)


def _at_zero(low: float, high: float) -> bool:
    start, width = _grid(low, high)
    cells = -start * CELLS / width
    return cells.denominator == 1 and 0 <= cells < CELLS


def _moved(low: float, high: float) -> tuple[float, float]:
    half = _grid(low, high)[1] / (2 * CELLS)
    return float(np.float32(low + float(half))), float(np.float32(high + float(half)))


def _grid(low: float, high: float) -> tuple[Fraction, Fraction]:
    """Return the first number and the width of an interval in the arithmetic of the generator."""
    return Fraction(float(np.float32(low))), Fraction(float(np.float32(high) - np.float32(low)))
