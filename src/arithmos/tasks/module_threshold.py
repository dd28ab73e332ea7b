r"""Thresholds of a single module: the error of a layer whose weights are all almost right.

A module with an error of ε = 10⁻⁵ in every weight computes, for operands a and b among n inputs,

.. math::

    a \pm b - \varepsilon \sum_i |x_i|, \qquad
    (1 - \varepsilon)^2\, a b \prod_{\text{unused}} (1 - \varepsilon |x_i|), \qquad
    \frac{1 - \varepsilon}{1 + \varepsilon}\, \frac a b \prod_{\text{unused}} (1 - \varepsilon |x_i|)

Operations on one operand follow the same rule, which no publication has: 1/a is divided by 1 + ε, a² multiplied by
(1 − ε)², √a by √(1 − ε), and the second operand is one more unused input.

Its mean squared error on the extrapolation range has a closed form in the moments of |x|. This is the criterion of
Mistry et al. (2022) with the ε that their figures were made with; their later work calls a run solved if its test error
is below 10⁻⁵, whatever the operation and range.
"""

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from .task import DIVIDING, Operation, Range

WEIGHT_ERROR = Fraction(1, 100_000)
ABSOLUTE = 1e-5
"""Threshold that is the same for all operations and ranges."""
MODULE_CRITERIA = ("epsilon", "absolute")


def module_threshold(operation: Operation, inputs: int, extrapolation: Range) -> float:
    """Return the mean squared error of a module with an error of 10⁻⁵ in every weight.

    Args:
        operation: one of `OPERATIONS`.
        inputs: number of inputs, one or two of which are operands.
        extrapolation: range of the test inputs; a divisor must not be 0, and a radicand not negative.

    Example:
        >>> print(f"{module_threshold('mul', 2, ((2.0, 6.0),)):.5e}")
        1.20177e-07
    """
    e, first, second = WEIGHT_ERROR, _moment(1, extrapolation), _moment(2, extrapolation)
    if operation in ("add", "sub"):
        return float(e**2 * (inputs * second + inputs * (inputs - 1) * first**2))
    if operation in DIVIDING and any(low <= 0 <= high for low, high in extrapolation):
        return math.inf
    # Mean square of the target, the factor by which its operands change it, and the number of operands.
    match operation:
        case "mul":
            size, factor, operands = second**2, (1 - e) ** 2, 2
        case "div":
            size, factor, operands = second * _reciprocal_square(extrapolation), (1 - e) / (1 + e), 2
        case "reciprocal":
            size, factor, operands = _reciprocal_square(extrapolation), 1 / (1 + e), 1
        case "squared":
            size, factor, operands = _moment(4, extrapolation), (1 - e) ** 2, 1
        case "root":
            size, factor, operands = first, _root(1 - e), 1
    # The unused inputs multiply the output by a factor of this mean and mean square.
    unused = inputs - operands
    mean, square = (1 - e * first) ** unused, (1 - 2 * e * first + e**2 * second) ** unused
    return float(size * (factor**2 * square - 2 * factor * mean + 1))


def _moment(power: int, range_: Range) -> Fraction:
    """Return the mean of |x| to a power; both parts of a range are equally likely."""
    return _mean(_part_moment(power, Fraction(low), Fraction(high)) for low, high in range_)


def _part_moment(power: int, low: Fraction, high: Fraction) -> Fraction:
    ends = abs(high) ** (power + 1), abs(low) ** (power + 1)
    total = ends[0] + ends[1] if low < 0 < high else abs(ends[0] - ends[1])
    return total / ((power + 1) * (high - low))


def _reciprocal_square(range_: Range) -> Fraction:
    return _mean(1 / (Fraction(low) * Fraction(high)) for low, high in range_)


def _root(value: Fraction) -> Fraction:
    return Fraction(Decimal(value.numerator).sqrt() / Decimal(value.denominator).sqrt())


def _mean(values: Iterable[Fraction]) -> Fraction:
    found = list(values)
    return sum(found, Fraction(0)) / len(found)
