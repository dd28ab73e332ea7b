"""Shorter forms of a formula: polynomials factored, powers of products multiplied out, signs in front."""

import math
from collections.abc import Sequence
from fractions import Fraction

from .numbers import exactly
from .terms import (
    Column,
    Floats,
    Node,
    PowerProduct,
    TermSum,
    complexity,
    constant,
    numbers,
    product,
    renumbered,
    scaled,
    used,
    values,
    without_zeros,
)

MOST_TERMS = 60
MOST_DEGREE = 12
MOST_LOGARITHM = 100.0
"""Largest logarithm of a number that is multiplied into a sum."""
LARGEST_DENOMINATOR = 1000
MOST_MULTIPLE = 24
"""Largest factor by which the coefficients of a sum are multiplied to make them integers."""


def tidy(node: Node, x: Floats) -> Node:
    """Return a shorter form of a formula that has the same values on the given rows."""
    if isinstance(node, Column):
        return node
    if isinstance(node, PowerProduct):
        pairs = []
        for factor, power in zip(node.factors, node.exponents, strict=True):
            pairs += _spread(tidy(factor, x), power, x)
        outer, whole = _sign(pairs), []
        for base, power in pairs:
            size, inner = _integral(_positive(base, power))
            outer *= size**power
            whole.append((inner, power))
        return _plain_scale(product(whole, outer))
    inner = without_zeros(TermSum(node.coefficients, tuple(tidy(term, x) for term in node.terms), node.constant))
    return _plain_scale(_grouped(inner)) if isinstance(inner, TermSum) else inner


def variants(node: Node) -> list[Node]:
    """Return a formula with its constants split in other ways between its sums and the number in front.

    In 9.81*x1*(0.05*x2**2 + x3) one number is simple, in x1*(0.5*x2**2 + 9.81*x3) both are.
    """
    scale, inner = _split(node)
    if not isinstance(inner, PowerProduct):
        return [node]
    pairs = []
    for base, power in zip(inner.factors, inner.exponents, strict=True):
        if isinstance(base, TermSum) and base.terms and (first := base.coefficients[0]):
            unit = first if power % 1 == 0 else abs(first)
            scale *= math.copysign(abs(unit) ** power, 1.0 if power % 2 == 0 else unit)
            base = TermSum((first / unit, *(c / unit for c in base.coefficients[1:])), base.terms, base.constant / unit)
        pairs.append((base, power))
    plain = product(pairs, scale)
    return [node, plain, *_multiplied(plain)]


def _split(node: Node) -> tuple[float, Node]:
    """Return the number in front of a formula and the rest."""
    if isinstance(node, TermSum) and len(node.terms) == 1 and not node.constant:
        return node.coefficients[0], node.terms[0]
    return 1.0, node


def _multiplied(node: Node) -> list[Node]:
    """Return the formula with its leading number multiplied into one of its sums, for each of them."""
    scale, inner = _split(node)
    if scale in (0, 1) or not isinstance(inner, PowerProduct):
        return []
    found: list[Node] = []
    for chosen, (base, power) in enumerate(zip(inner.factors, inner.exponents, strict=True)):
        fits = abs(math.log(abs(scale))) < MOST_LOGARITHM * abs(power)  # for x**0.001 it would overflow
        if isinstance(base, TermSum) and fits and (scale > 0 or power in (1, -1)):
            size = math.copysign(abs(scale) ** (1 / power), scale)
            factors = [scaled(size, f) if k == chosen else f for k, f in enumerate(inner.factors)]
            found.append(product([*zip(factors, inner.exponents, strict=True)]))
    return found


def _turned(node: Node) -> list[Node]:
    """Return a product with a minus sign in front with one of its differences turned, as in 1 - x1."""
    scale, inner = _split(node)
    if scale > 0 or not isinstance(inner, PowerProduct):
        return []
    found: list[Node] = []
    for chosen, (base, power) in enumerate(zip(inner.factors, inner.exponents, strict=True)):
        if isinstance(base, TermSum) and base.constant and power % 2 == 1:
            factors = [scaled(-1.0, f) if k == chosen else f for k, f in enumerate(inner.factors)]
            found.append(scaled(-scale, PowerProduct(tuple(factors), inner.exponents)))
    return found


def _plain_scale(node: Node) -> Node:
    """Return a number times a product in its shortest form, with as few minus signs as possible."""
    made = [renumbered(other, map(exactly, numbers(other))) for other in [*_turned(node), *_multiplied(node)]]
    return min([node, *made], key=lambda one: (complexity(one), sum(number < 0 for number in numbers(one))))


def _spread(node: Node, power: float, x: Floats) -> list[tuple[Node, float]]:
    """Return a power of a product as powers of its factors, if these are positive on the rows."""
    if isinstance(node, TermSum) and len(node.terms) == 1 and not node.constant and node.coefficients[0] > 0:
        return [(constant(node.coefficients[0]), power), *_spread(node.terms[0], power, x)]
    if isinstance(node, PowerProduct) and (
        power % 1 == 0 or all((values(factor, x) > 0).all() for factor in node.factors)
    ):
        return [(factor, inner * power) for factor, inner in zip(node.factors, node.exponents, strict=True)]
    return [(node, power)]


def _integral(node: Node) -> tuple[float, Node]:
    """Return a sum as a positive number times a sum with integer coefficients, if that is no longer."""
    if not isinstance(node, TermSum) or not node.terms:
        return 1.0, node
    numbers = (*node.coefficients, node.constant)
    scale = abs(node.coefficients[0])
    ratios = [_ratio(number / scale) for number in numbers]
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < len(ratios) or (bottom := math.lcm(*(ratio.denominator for ratio in known))) > MOST_MULTIPLE:
        return 1.0, node
    unit = math.gcd(*(int(ratio * bottom) for ratio in known))
    whole = [float(ratio * bottom / unit) for ratio in known]
    made = TermSum(tuple(whole[:-1]), node.terms, whole[-1])
    size = scale * unit / bottom
    return (size, made) if complexity(made) + (size != 1) <= complexity(node) else (1.0, node)


def _negative(node: Node) -> bool:
    """Return whether a sum is better written with the opposite sign."""
    if not isinstance(node, TermSum) or not node.terms:
        return False
    signs = [c < 0 for c in (*node.coefficients, node.constant) if c]
    return 2 * sum(signs) > len(signs) or (2 * sum(signs) == len(signs) and signs[0])


def _positive(node: Node, power: float) -> Node:
    return scaled(-1.0, node) if power % 1 == 0 and _negative(node) else node


def _sign(pairs: Sequence[tuple[Node, float]]) -> float:
    flips = sum(int(power) for node, power in pairs if power % 1 == 0 and _negative(node))
    return -1.0 if flips % 2 else 1.0


def _grouped(node: TermSum) -> Node:
    """Factor a polynomial, or each of the groups of its terms that share no column."""
    short = _factored(node)
    if short is not node:
        return short
    groups: list[tuple[set[int], list[int]]] = []
    for number, term in enumerate(node.terms):
        columns = used(term)
        apart = [group for group in groups if not group[0] & columns]
        joined = [group for group in groups if group[0] & columns]
        columns = columns.union(*(names for names, _ in joined))
        groups = [*apart, (columns, [*(n for _, numbers in joined for n in numbers), number])]
    if len(groups) < 2:
        return node
    parts = []
    for _, chosen in groups:
        chosen = sorted(chosen)
        part = TermSum(tuple(node.coefficients[n] for n in chosen), tuple(node.terms[n] for n in chosen))
        parts.append(_factored(part) if len(chosen) > 1 else part)
    made = without_zeros(TermSum((1.0,) * len(parts), tuple(parts), node.constant))
    return made if complexity(made) < complexity(node) else node


def _factored(node: TermSum) -> Node:
    """Return a polynomial as a product of polynomials, if it is one with rational ratios of coefficients."""
    monomials = [_exponents(term) for term in node.terms]
    columns = sorted({i for powers in monomials if powers is not None for i in powers})
    table = [powers for powers in monomials if powers is not None]
    if len(table) < len(monomials) or len(table) < 2 - bool(node.constant) or len(table) > MOST_TERMS:
        return node
    if any(sum(powers.values()) > MOST_DEGREE for powers in table):
        return node
    scale = node.coefficients[0]
    ratios = [_ratio(c / scale) for c in (*node.coefficients, node.constant)]
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < len(ratios):
        return node
    import sympy

    symbols = [sympy.Symbol(f"c{i}") for i in columns]
    rows = {tuple(powers.get(i, 0) for i in columns): ratio for powers, ratio in zip(table, known[:-1], strict=True)}
    if known[-1]:
        rows[(0,) * len(columns)] = known[-1]
    whole = sympy.Poly({k: sympy.Rational(v.numerator, v.denominator) for k, v in rows.items()}, *symbols)
    content, factors = whole.factor_list()
    if len(factors) == 1 and factors[0][1] == 1:
        return node
    parts = [(_polynomial(factor.terms(), columns), float(power)) for factor, power in factors]
    made = scaled(
        scale * float(content), product([(_positive(part, power), power) for part, power in parts], _sign(parts))
    )
    return made if complexity(made) < complexity(node) else node


def _ratio(value: float) -> Fraction | None:
    near = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return near if abs(near - Fraction(value)) <= abs(value) * 1e-13 else None


def _exponents(node: Node) -> dict[int, int] | None:
    """Return the exponents of a monomial, or None if the formula is not one."""
    if isinstance(node, Column):
        return {node.index: 1}
    if not isinstance(node, PowerProduct):
        return None
    found = {}
    for factor, power in zip(node.factors, node.exponents, strict=True):
        if not isinstance(factor, Column) or power % 1 or power < 0:
            return None
        found[factor.index] = int(power)
    return found


def _polynomial(terms: "Sequence[tuple[tuple[int, ...], object]]", columns: Sequence[int]) -> Node:
    coefficients, nodes, offset = [], [], 0.0
    for powers, coefficient in terms:
        if any(powers):
            coefficients.append(float(coefficient))  # type: ignore[arg-type]
            nodes.append(product([(Column(i), float(p)) for i, p in zip(columns, powers, strict=True) if p]))
        else:
            offset = float(coefficient)  # type: ignore[arg-type]
    if len(nodes) == 1 and not offset:
        return scaled(coefficients[0], nodes[0])
    return TermSum(tuple(coefficients), tuple(nodes), offset)
