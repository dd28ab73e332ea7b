"""Numbers that were meant: the simplest integer, decimal, fraction or multiple of π within an interval."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

MARGIN_BITS = 3.0
"""Bits by which a number must be simpler than the interval is narrow, so that it is not a coincidence."""

DISTANCE_BITS = 6.5
"""Bits by which normal errors make a number less likely that is three standard errors from its estimate."""

DENOMINATORS = (2, 3, 4, 5, 6, 7, 8, 9, 12, 16)


def meant(value: float, error: float) -> float | None:
    """Return the simplest number within `error` of a value, or None if none is simple enough to be meant.

    Each number has a cost in bits, about the logarithm of how many numbers are as simple, and must be simpler than the
    value is known to: by `MARGIN_BITS`, or by more if it is far from the value. `error` is three standard errors.

    Example:
        >>> meant(2.9999, 0.001), meant(0.3333333, 1e-6), meant(12.56637, 1e-4) == 4 * math.pi
        (3.0, 0.3333333333333333, True)
        >>> meant(2.7182818, 1e-3) is None
        True
    """
    found = likely(value, error)
    return found and found[1]


def likely(value: float, error: float) -> tuple[float, float] | None:
    """Return the evidence in bits for the number that was `meant`, and the number."""
    if value == 0 or not math.isfinite(value) or not math.isfinite(error):
        return None
    known = math.log2(abs(value) / max(error, 2**-48 * abs(value))) + 1
    found = [
        (cost + max(MARGIN_BITS, DISTANCE_BITS * (distance / error) ** 2), number)
        for cost, number in _simple(abs(value), error)
        if (distance := abs(number - abs(value))) <= error
    ]
    if not found:
        return None
    cost, number = min(found)
    return (known - cost, math.copysign(number, value)) if cost <= known else None


@lru_cache(maxsize=4096)
def is_simple(value: float) -> bool:
    """Return whether a constant is a number that was meant rather than an estimate.

    Example:
        >>> is_simple(0.5), is_simple(1.19), is_simple(0.51827182812)
        (True, True, False)
    """
    return value == 0 or meant(value, 4e-16 * abs(value)) is not None


def is_simple_exponent(power: float) -> bool:
    """Return whether an exponent is a fraction of small numbers rather than an estimate.

    Example:
        >>> is_simple_exponent(-1.5), is_simple_exponent(2 / 3), is_simple_exponent(0.7992)
        (True, True, False)
    """
    bottom = Fraction(power).limit_denominator(6).denominator
    return abs(power * bottom - round(power * bottom)) < 1e-9


def exactly(value: float) -> float:
    """Return the simple number that a value is except for rounding, or the value itself.

    Example:
        >>> exactly(1.0000000000000002), exactly(0.30000000000000004), exactly(0.51827182812)
        (1.0, 0.3, 0.51827182812)
    """
    near = meant(value, 8e-16 * abs(value))
    return value if near is None else near


def _simple(value: float, error: float) -> Iterator[tuple[float, float]]:
    """Yield costs and simple numbers near a positive value."""
    if value < 2**50:
        if (whole := round(value)) > 0:
            yield math.log2(whole), float(whole)
        for bottom in DENOMINATORS:
            top = round(value * bottom)
            if top > 0 and math.gcd(top, bottom) == 1:
                yield math.log2(top) + 2 * math.log2(bottom), top / bottom
    for digits in range(1, 9):
        decimal = float(f"{value:.{digits - 1}e}")
        if abs(decimal - value) <= error:
            exponent = math.floor(math.log10(value))
            yield 3.33 * digits + 1 + (0.5 * abs(exponent) if abs(exponent) > 3 else 0), decimal
            break
    for power, cost in ((1, 3.0), (-1, 5.0), (2, 7.0), (-2, 8.0), (0.5, 9.0), (-0.5, 9.0)):
        unit = math.pi**power
        near = Fraction(value / unit).limit_denominator(64)
        if near > 0 and near.numerator < 2**20:
            yield cost + math.log2(near.numerator) + 2 * math.log2(near.denominator), float(near) * unit
    for radicand in (2, 3, 5):
        unit = math.sqrt(radicand)
        near = Fraction(value / unit).limit_denominator(8)
        if near > 0 and near.numerator < 2**10:
            yield 7 + math.log2(near.numerator) + 2 * math.log2(near.denominator), float(near) * unit
