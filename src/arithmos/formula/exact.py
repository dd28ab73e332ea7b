"""Compare a rounded network with a formula at random integers, in exact arithmetic.

Weights and biases are rounded to the nearest integer and exponents of layers that take roots to the nearest multiple of
½. A gate is open or closed if it stays on one side of ½ on all given rows; otherwise the network has no formula.
Absolute values and maxima are kept. The ε of logarithms is dropped: with it, no network equals a formula.

Units since 2020 read themselves as sums or as products of powers, of which the real part is the output: a root of a
negative number is 0.

The integers have the signs of the inputs that the network is meant for: |s| equals s only where sums are positive.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .stages import Array, Branch, Stage

POINTS = 4
"""Number of integer points at which two formulas must agree."""
LARGEST = 999
"""Largest magnitude of an integer; different polynomials of degree d agree at a point with a chance of d in 999."""

Exact = Any
"""Integer, fraction or, where there are roots, SymPy number."""


def points(low: Sequence[float] | Array, high: Sequence[float] | Array) -> NDArray[np.int64]:
    """Draw random integers `[points, inputs]` with the signs of inputs between `low` and `high`."""
    rng = np.random.Generator(np.random.Philox(key=20200101))
    low, high = np.asarray(low), np.asarray(high)
    magnitudes = rng.integers(1, LARGEST, (POINTS, len(low)), endpoint=True)
    either = rng.choice([-1, 1], magnitudes.shape)
    return magnitudes * np.where(low >= 0, 1, np.where(high <= 0, -1, either))


def choices(gate: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which gates are open and which stay on one side of ½ on all rows of `gate`, `[..., rows, out]`."""
    is_open: NDArray[np.bool_] = np.all(gate > 0.5, axis=-2)
    return is_open, is_open | np.all(gate < 0.5, axis=-2)


def values(stages: Sequence[Stage], gates: Sequence[NDArray[np.bool_] | None], x: Array) -> Array:
    """Evaluate a network with exact weights and open or closed gates at integers; `[points, in]` to `[points, out]`.

    Raises:
        ZeroDivisionError: 0 has a negative exponent.
    """
    x = x.astype(object)
    for stage, is_open in zip(stages, gates, strict=True):
        add = np.ones(stage.out_features, bool) if is_open is None else is_open
        z = np.empty((len(x), stage.out_features), object)
        for branch, used in zip(stage.branches, (add, ~add), strict=False):
            z[:, used] = _aggregate(branch, used, x)
        x = z
    return x


def _aggregate(branch: Branch, used: NDArray[np.bool_], x: Array) -> Array:
    """Return the used outputs of a branch, `[points, used]`."""
    weight: Array = _exact(branch.weight[used])
    match branch.aggregation:
        case "sum":
            z = x @ weight.T
        case "product":
            z = _outputs([[w * x[:, i] + 1 - w for i, w in enumerate(row) if w] for row in weight], x)
        case "exp-log" | "power":
            whole = _outputs([[_power(x[:, i], w) for i, w in enumerate(row) if w % 1 == 0] for row in weight], x)
            halves = _outputs([[_power(x[:, i], 2 * w) for i, w in enumerate(row) if w % 1] for row in weight], x)
            z = whole * np.reshape([root(value) for value in halves.flat], whole.shape)
            if branch.aggregation == "power":
                z = z * _cosine(np.array(x < 0, bool).astype(int).astype(object) @ weight.T)
    if branch.bias is not None:
        z = z + _exact(branch.bias[used])
    match branch.activation:
        case "relu":
            z = np.maximum(z, 0)
        case "relu6":
            z = np.minimum(np.maximum(z, 0), 6)
    return z


def _outputs(factors: Sequence[Sequence[Array]], x: Array) -> Array:
    """Return the product of the factors of each output."""
    products = np.ones((len(x), len(factors)), object)
    for o, row in enumerate(factors):
        products[:, o] = prod(row, start=products[:, o])
    return products


def _power(x: Array, exponent: int | Fraction) -> Array:
    powers: Array = np.abs(_fraction(x)) ** int(exponent)
    return powers


def root(value: Exact) -> Exact:
    """Return the square root of a non-negative number, as a fraction if possible."""
    if isinstance(value, int | Fraction):
        top, bottom = isqrt(value.numerator), isqrt(value.denominator)
        if top**2 == value.numerator and bottom**2 == value.denominator:
            return Fraction(top, bottom)
    import sympy

    return sympy.sqrt(value)


_cosine = np.frompyfunc(lambda turns: 0 if turns % 1 else 1 - 2 * int(turns % 2), 1, 1)
"""cos πt, where t is a multiple of ½: the sum of the exponents of negative inputs."""
_exact = np.frompyfunc(lambda value: int(value) if value % 1 == 0 else Fraction(value), 1, 1)
_fraction = np.frompyfunc(lambda value: Fraction(value) if isinstance(value, int) else value, 1, 1)


def same(one: Exact, other: Exact) -> bool:
    """Return whether two exact numbers are equal."""
    difference = one - other
    if isinstance(difference, int | Fraction):
        return difference == 0
    parts = difference.evalf(2).as_real_imag()
    if any(part.is_Float and part._prec > 1 for part in parts):  # it differs from 0 in some digit
        return False
    return bool(difference == 0) or bool(difference.equals(0))
