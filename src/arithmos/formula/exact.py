"""Whether a rounded network is a formula: both are evaluated at random integers, in exact arithmetic.

Weights and biases are rounded to the nearest integer, exponents of exp-log layers to the nearest multiple of ½, and a
gate to open or closed if it is on one side of ½ on all rows that it is asked about; a gate that is not has no formula.
Absolute values and maxima are kept. The ε of exp-log layers is left out: with it no network is any formula.

The integers have the signs of the inputs that the network is meant for: |s| is s where sums are positive, and is not
where they are not.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..nn._parts import ExpLog, Product, Sum
from .network import Array, Branch, Stage

POINTS = 4
"""Integer points at which two formulas must agree."""
LARGEST = 999
"""Largest magnitude of an integer: two different polynomials of degree d agree at a point by a chance of d in 999."""

Exact = Any
"""An integer, a fraction, or a number of SymPy's where there are roots."""


def points(low: Sequence[float] | Array, high: Sequence[float] | Array) -> NDArray[np.int64]:
    """Random integers `[points, inputs]`, of the signs that inputs between `low` and `high` have."""
    rng = np.random.Generator(np.random.Philox(key=20200101))
    low, high = np.asarray(low), np.asarray(high)
    magnitudes = rng.integers(1, LARGEST, (POINTS, len(low)), endpoint=True)
    either = rng.choice([-1, 1], magnitudes.shape)
    return magnitudes * np.where(low >= 0, 1, np.where(high <= 0, -1, either))


def choices(gate: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which gates are open, and which are on one side of ½ on all rows; `gate` is `[..., rows, out]`."""
    is_open: NDArray[np.bool_] = np.all(gate > 0.5, axis=-2)
    return is_open, is_open | np.all(gate < 0.5, axis=-2)


def values(stages: Sequence[Stage], gates: Sequence[NDArray[np.bool_] | None], x: Array) -> Array:
    """What a network with exact weights and open or closed gates gives, `[points, out]`, at integers `[points, in]`.

    Raises:
        ZeroDivisionError: there is a power of 0 with a negative exponent.
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
    """The outputs of a branch that are used, `[points, used]`."""
    weight: Array = _exact(branch.weight[used])
    match branch.leaf.aggregation:
        case Sum():
            z = x @ weight.T
        case Product():
            z = _outputs([[w * x[:, i] + 1 - w for i, w in enumerate(row) if w] for row in weight], x)
        case ExpLog():
            whole = _outputs([[_power(x[:, i], w) for i, w in enumerate(row) if w % 1 == 0] for row in weight], x)
            halves = _outputs([[_power(x[:, i], 2 * w) for i, w in enumerate(row) if w % 1] for row in weight], x)
            z = whole * np.reshape([root(value) for value in halves.flat], whole.shape)
    if branch.bias is not None:
        z = z + _exact(branch.bias[used])
    match branch.leaf.activation:
        case "relu":
            z = np.maximum(z, 0)
        case "relu6":
            z = np.minimum(np.maximum(z, 0), 6)
    return z


def _outputs(factors: Sequence[Sequence[Array]], x: Array) -> Array:
    """The product of the factors of each output."""
    products = np.ones((len(x), len(factors)), object)
    for o, row in enumerate(factors):
        products[:, o] = prod(row, start=products[:, o])
    return products


def _power(x: Array, exponent: int | Fraction) -> Array:
    powers: Array = np.abs(_fraction(x)) ** int(exponent)
    return powers


def root(value: Exact) -> Exact:
    """The square root of a number that is not negative; a fraction if it can be."""
    if isinstance(value, int | Fraction):
        top, bottom = isqrt(value.numerator), isqrt(value.denominator)
        if top**2 == value.numerator and bottom**2 == value.denominator:
            return Fraction(top, bottom)
    import sympy

    return sympy.sqrt(value)


_exact = np.frompyfunc(lambda value: int(value) if value % 1 == 0 else Fraction(value), 1, 1)
_fraction = np.frompyfunc(lambda value: Fraction(value) if isinstance(value, int) else value, 1, 1)


def same(one: Exact, other: Exact) -> bool:
    """Whether two exact numbers are the same number."""
    difference = one - other
    if isinstance(difference, int | Fraction):
        return difference == 0
    parts = difference.evalf(2).as_real_imag()
    if any(part.is_Float and part._prec > 1 for part in parts):  # to some digits it is not 0
        return False
    return bool(difference == 0) or bool(difference.equals(0))
