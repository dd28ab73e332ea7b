r"""Formulas as trees of three kinds of nodes: columns, sums with coefficients, and products of powers.

.. math:: b + \sum_j c_j t_j \qquad\text{and}\qquad \prod_k t_k^{p_k}

A tree is evaluated on rows, differentiated with respect to its constants, and written as a SymPy expression.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import sympy

LARGEST_NUMERATOR = 10**6
"""Larger multiples of fractions of π or of a root are written as floats: any large number is near one."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Column:
    """One column of the data."""

    index: int


@dataclass(frozen=True)
class TermSum:
    """Sum of terms with coefficients, plus a constant."""

    coefficients: tuple[float, ...]
    terms: tuple["Node", ...]
    constant: float = 0.0


@dataclass(frozen=True)
class PowerProduct:
    """Product of powers."""

    factors: tuple["Node", ...]
    exponents: tuple[float, ...]


Node = Column | TermSum | PowerProduct


def constant(value: float) -> TermSum:
    """Return a formula that is the same number in every row."""
    return TermSum((), (), float(value))


def scaled(coefficient: float, node: Node, offset: float = 0.0) -> Node:
    """Return `coefficient * node + offset`, without a sum where none is needed."""
    if coefficient == 1 and offset == 0:
        return node
    if isinstance(node, TermSum):
        return TermSum(
            tuple(coefficient * c for c in node.coefficients), node.terms, coefficient * node.constant + offset
        )
    return TermSum((coefficient,), (node,), offset)


def product(factors: Sequence[tuple[Node, float]], outer: float = 1.0) -> Node:
    """Return a number times a product of powers, with nested products multiplied out and equal factors joined."""
    powers: dict[Node, float] = {}

    def add(node: Node, exponent: float) -> None:
        nonlocal outer
        if isinstance(node, PowerProduct):
            if exponent % 1 and any(power % 2 == 0 for power in node.exponents):  # (x**2)**0.5 is |x|
                powers[node] = powers.get(node, 0.0) + exponent
                return
            for inner, power in zip(node.factors, node.exponents, strict=True):
                add(inner, power * exponent)
        elif isinstance(node, TermSum) and len(node.terms) == 1 and node.constant == 0 and node.coefficients[0] > 0:
            outer *= node.coefficients[0] ** exponent
            add(node.terms[0], exponent)
        elif isinstance(node, TermSum) and not node.terms and (node.constant > 0 or exponent % 1 == 0):
            outer *= node.constant**exponent if node.constant or exponent > 0 else math.nan
        else:
            powers[node] = powers.get(node, 0.0) + exponent

    for node, exponent in factors:
        add(node, exponent)
    kept = [(node, power) for node, power in powers.items() if power]
    if not kept:
        return constant(outer)
    if len(kept) == 1 and kept[0][1] == 1:
        return scaled(outer, kept[0][0])
    return scaled(outer, PowerProduct(tuple(n for n, _ in kept), tuple(p for _, p in kept)))


def without_zeros(node: Node) -> Node:
    """Return the formula without terms that have a coefficient of 0, and without sums within sums."""
    if isinstance(node, Column):
        return node
    if isinstance(node, PowerProduct):
        pairs = zip(node.factors, node.exponents, strict=True)
        return product([(without_zeros(factor), p) for factor, p in pairs])
    kept = [(c, without_zeros(t)) for c, t in zip(node.coefficients, node.terms, strict=True) if c]
    if len(kept) == 1 and not node.constant:
        return scaled(kept[0][0], kept[0][1])
    flat_c: list[float] = []
    flat_t: list[Node] = []
    offset = node.constant
    for c, t in kept:
        if isinstance(t, TermSum):
            flat_c += [c * inner for inner in t.coefficients]
            flat_t += t.terms
            offset += c * t.constant
        else:
            flat_c.append(c)
            flat_t.append(t)
    return TermSum(tuple(flat_c), tuple(flat_t), offset)


def values(node: Node, x: Floats) -> Floats:
    """Evaluate a formula on rows; NaN where it has no real value."""
    with np.errstate(all="ignore"):
        return _values(node, x)


def _values(node: Node, x: Floats) -> Floats:
    if isinstance(node, Column):
        return x[:, node.index]
    if isinstance(node, TermSum):
        total = np.full(len(x), node.constant)
        for c, term in zip(node.coefficients, node.terms, strict=True):
            total += c * _values(term, x)
        return total
    result = np.ones(len(x))
    for factor, exponent in zip(node.factors, node.exponents, strict=True):
        result = result * _power(_values(factor, x), exponent)
    return result


def _power(base: Floats, exponent: float) -> Floats:
    if exponent == 1:
        return base
    if exponent == -1:
        return 1 / base
    if exponent == 0.5:
        return np.sqrt(base)
    if exponent % 1 == 0 and abs(exponent) <= 64:
        return base ** int(exponent) if exponent > 0 else 1 / base ** int(-exponent)
    return np.asarray(base**exponent)


def numbers(node: Node) -> list[float]:
    """Return the constants of a formula, coefficients and offsets, in the order of `jacobian` and `renumbered`."""
    if isinstance(node, Column):
        return []
    if isinstance(node, PowerProduct):
        return [number for factor in node.factors for number in numbers(factor)]
    inner = [number for term in node.terms for number in numbers(term)]
    return [*node.coefficients, node.constant, *inner]


def renumbered(node: Node, new: Iterator[float]) -> Node:
    """Return the formula with other constants, taken in the order of `numbers`."""
    if isinstance(node, Column):
        return node
    if isinstance(node, PowerProduct):
        return PowerProduct(tuple(renumbered(factor, new) for factor in node.factors), node.exponents)
    coefficients = tuple(next(new) for _ in node.coefficients)
    offset = next(new)
    return TermSum(coefficients, tuple(renumbered(term, new) for term in node.terms), offset)


def jacobian(node: Node, x: Floats) -> tuple[Floats, list[Floats]]:
    """Return the values and their derivatives with respect to each of `numbers`."""
    if isinstance(node, Column):
        return x[:, node.index], []
    if isinstance(node, TermSum):
        parts = [jacobian(term, x) for term in node.terms]
        total = np.full(len(x), node.constant)
        inner: list[Floats] = []
        for c, (value, slopes) in zip(node.coefficients, parts, strict=True):
            total += c * value
            inner += [c * slope for slope in slopes]
        return total, [*(value for value, _ in parts), np.ones(len(x)), *inner]
    parts = [jacobian(factor, x) for factor in node.factors]
    powers = [_power(value, p) for (value, _), p in zip(parts, node.exponents, strict=True)]
    result = np.ones(len(x))
    for power in powers:
        result = result * power
    slopes = []
    for k, ((value, inner), p) in enumerate(zip(parts, node.exponents, strict=True)):
        if inner:
            others = np.ones(len(x))
            for j, power in enumerate(powers):
                if j != k:
                    others = others * power
            outer = others * (p * _power(value, p - 1) if p != 1 else 1.0)
            slopes += [outer * slope for slope in inner]
    return result, slopes


def exponents(node: Node) -> list[float]:
    """Return the exponents of a formula."""
    if isinstance(node, Column):
        return []
    if isinstance(node, TermSum):
        return [power for term in node.terms for power in exponents(term)]
    return [*node.exponents, *(power for factor in node.factors for power in exponents(factor))]


def used(node: Node) -> set[int]:
    """Return the indices of the columns that occur."""
    if isinstance(node, Column):
        return {node.index}
    parts = node.terms if isinstance(node, TermSum) else node.factors
    return set().union(*(used(part) for part in parts)) if parts else set()


def renamed(node: Node, names: Mapping[int, int]) -> Node:
    """Return the formula with other columns."""
    if isinstance(node, Column):
        return Column(names[node.index])
    if isinstance(node, TermSum):
        return TermSum(node.coefficients, tuple(renamed(term, names) for term in node.terms), node.constant)
    return PowerProduct(tuple(renamed(factor, names) for factor in node.factors), node.exponents)


def complexity(node: Node) -> int:
    """Return the number of columns, constants other than ±1 and exponents other than 1 in the written formula."""
    if isinstance(node, Column):
        return 1
    if isinstance(node, TermSum):
        loose = sum(abs(c) != 1 for c in node.coefficients) + (node.constant != 0 or not node.terms)
        return loose + sum(complexity(term) for term in node.terms)
    written = sum(p not in (1, -1) for p in node.exponents)
    return written + sum(complexity(factor) for factor in node.factors)


def to_sympy(node: Node, symbols: "Sequence[sympy.Symbol]") -> "sympy.Expr":
    """Write a formula in SymPy, with exact numbers where constants are integers, simple fractions or multiples of π."""
    import sympy

    if isinstance(node, Column):
        return symbols[node.index]
    if isinstance(node, TermSum):
        terms = [
            exact_number(c) * to_sympy(t, symbols) for c, t in zip(node.coefficients, node.terms, strict=True) if c
        ]
        return sympy.Add(*terms, exact_number(node.constant))
    return sympy.Mul(
        *(to_sympy(factor, symbols) ** _exponent(p) for factor, p in zip(node.factors, node.exponents, strict=True))
    )


def _exponent(value: float) -> "sympy.Expr":
    import sympy

    near = Fraction(value).limit_denominator(12)
    return sympy.Rational(near.numerator, near.denominator) if abs(near - value) < 1e-12 else sympy.Float(value)


def exact_number(value: float) -> "sympy.Expr":
    """Return a number as an integer, a fraction that is no short decimal, a multiple of π, √2, √3 or √5, or a float."""
    import sympy

    if value == round(value) and abs(value) < 1e15:
        return sympy.Integer(round(value))
    near = Fraction(value).limit_denominator(360)
    if float(near) == value and (10**6 % near.denominator or (near.denominator == 2 and abs(near.numerator) == 1)):
        return sympy.Rational(near.numerator, near.denominator)
    for power in (1, -1, 2, -2):
        near = Fraction(value / math.pi**power).limit_denominator(100)
        if (
            near
            and abs(near.numerator) < LARGEST_NUMERATOR
            and abs(float(near) * math.pi**power - value) <= 4e-16 * abs(value)
        ):
            return sympy.Rational(near.numerator, near.denominator) * sympy.pi**power
    for radicand in (2, 3, 5):
        near = Fraction(value / math.sqrt(radicand)).limit_denominator(8)
        if (
            near
            and abs(near.numerator) < LARGEST_NUMERATOR
            and abs(float(near) * math.sqrt(radicand) - value) <= 4e-16 * abs(value)
        ):
            return sympy.Rational(near.numerator, near.denominator) * sympy.sqrt(radicand)
    return sympy.Float(value)
