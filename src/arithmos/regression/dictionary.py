"""Dictionaries of terms: monomials with positive and negative exponents, and sums of a few columns."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .terms import Bools, Column, Floats, Node, PowerProduct, TermSum, complexity, product, scaled

ExponentTable = NDArray[np.int64]

LARGEST_DEGREE = 3
"""Degree of the monomials in sums of two."""


def lattice(columns: int, radius: int, negative: Bools) -> ExponentTable:
    """Return all exponents with a sum of magnitudes from 1 to `radius`, negative ones only where allowed."""
    found: list[list[int]] = []

    def grow(prefix: list[int], left: int) -> None:
        if len(prefix) == columns:
            found.append(prefix)
            return
        low = -left if negative[len(prefix)] else 0
        for e in range(low, left + 1):
            grow([*prefix, e], left - abs(e))

    grow([], radius)
    table = np.array(found, np.int64).reshape(len(found), columns)
    size = np.abs(table).sum(1)
    table = table[size > 0]
    ordered: ExponentTable = table[np.lexsort((*(-np.abs(table)).T, np.abs(table).sum(1)))]
    return ordered


def lattice_size(columns: int, radius: int, negative: int) -> int:
    """Return the number of rows of `lattice` for a number of columns that may have negative exponents."""
    counts = [1] + [0] * radius
    for i in range(columns):
        ways = [1] + [2 if i < negative else 1] * radius
        counts = [sum(counts[a] * ways[s - a] for a in range(s + 1)) for s in range(radius + 1)]
    return sum(counts) - 1


def largest_radius(columns: int, negative: int, most: int, limit: int) -> int:
    """Return the largest radius from 1 to `limit` of a `lattice` with at most `most` rows; 1 if all have more."""
    radius = 1
    while radius < limit and lattice_size(columns, radius + 1, negative) <= most:
        radius += 1
    return radius


def monomials(x: Floats, exponents: ExponentTable) -> Floats:
    """Evaluate monomials on rows, `[rows, terms]`."""
    powers: dict[tuple[int, int], Floats] = {}
    terms = np.ones((len(exponents), len(x)))
    with np.errstate(all="ignore"):
        for row, e in zip(terms, exponents, strict=True):
            for i in np.flatnonzero(e).tolist():
                key = (i, int(e[i]))
                if key not in powers:
                    powers[key] = x[:, i] ** key[1] if key[1] > 0 else 1 / x[:, i] ** -key[1]
                row *= powers[key]
    return terms.T


def monomial(exponents: Sequence[float], columns: Sequence[Node]) -> Node:
    """Return one monomial of the given columns as a formula."""
    return product([(column, float(e)) for column, e in zip(columns, exponents, strict=True) if e])


def polynomial(
    exponents: NDArray[np.generic], coefficients: Floats, offset: float, columns: Sequence[Node], step: float = 1.0
) -> Node:
    """Return a sum of monomials, with their common factor outside where that is shorter.

    Args:
        exponents: `[terms, columns]`, in units of `step`.
        coefficients: one per term.
        offset: constant term.
        columns: what the columns stand for.
        step: unit of the exponents.
    """
    table = np.asarray(exponents, np.float64) * step
    plain = TermSum(tuple(coefficients.tolist()), tuple(monomial(e.tolist(), columns) for e in table), float(offset))
    if len(table) == 1 and not offset:
        return scaled(float(coefficients[0]), plain.terms[0])
    common = table.min(0) if not offset else np.minimum(table.min(0), 0)
    if not common.any():
        return plain
    rest = table - common
    constant = ~rest.any(1)
    inner = TermSum(
        tuple(coefficients[~constant].tolist()),
        tuple(monomial(e.tolist(), columns) for e in rest[~constant]),
        float(coefficients[constant].sum()),
    )
    terms = (monomial((-common).tolist(), columns), *inner.terms)
    inner = TermSum((offset, *inner.coefficients), terms, inner.constant) if offset else inner
    scale = inner.coefficients[0]
    inner = TermSum(tuple(c / scale for c in inner.coefficients), inner.terms, inner.constant / scale)
    lifted = scaled(scale, product([(monomial(common.tolist(), columns), 1.0), (inner, 1.0)]))
    return lifted if complexity(lifted) <= complexity(plain) else plain


def sums(chosen: Sequence[int], most: int) -> Iterator[Node]:
    """Yield columns and sums of a few monomials that often occur as factors, at most about `most`."""
    names: list[Node] = [Column(i) for i in chosen]
    yield from names
    made = columns = len(names)
    kinds = [
        (columns * (columns - 1), _pairs(names)),
        (2 * columns, (TermSum((s,), (c,), 1.0) for c in names for s in (1.0, -1.0))),
        (columns * (columns - 1), _pairs([PowerProduct((c,), (2.0,)) for c in names])),
        (2 * columns, (TermSum((s,), (PowerProduct((c,), (2.0,)),), 1.0) for c in names for s in (1.0, -1.0))),
        (math.comb(columns, 3) * 4, _triples(names)),
        (math.comb(columns, 2) * columns * 2, _products(names)),
        (math.comb(columns, 3) * 4, _triples([PowerProduct((c,), (2.0,)) for c in names])),
        (_coprime_size(columns), _coprime(names)),
    ]
    seen: set[Node] = set()
    for size, nodes in kinds:
        if made + size <= most:
            made += size
            for node in nodes:
                if node not in seen:
                    seen.add(node)
                    yield node


def _pairs(names: Sequence[Node]) -> Iterator[Node]:
    for a, b in combinations(names, 2):
        yield TermSum((1.0, 1.0), (a, b))
        yield TermSum((1.0, -1.0), (a, b))


def _triples(names: Sequence[Node]) -> Iterator[Node]:
    for a, b, c in combinations(names, 3):
        for s in (1.0, -1.0):
            for t in (1.0, -1.0):
                yield TermSum((1.0, s, t), (a, b, c))


def _products(names: Sequence[Node]) -> Iterator[Node]:
    for a, b in combinations(names, 2):
        for c in names:
            if c not in (a, b):
                for s in (1.0, -1.0):
                    yield TermSum((1.0, s), (c, product([(a, 1.0), (b, 1.0)])))


def _coprime_size(columns: int) -> int:
    """Return a bound on the number of sums of two monomials that share no column."""
    return math.comb(math.comb(columns + LARGEST_DEGREE, LARGEST_DEGREE), 2)


def _coprime(names: Sequence[Node]) -> Iterator[Node]:
    """Yield sums and differences of two monomials without a common column, or of one and 1, of a degree above 2."""
    table = lattice(len(names), LARGEST_DEGREE, np.zeros(len(names), bool))
    nodes = [monomial(row.tolist(), names) for row in table]
    for a, b in combinations(range(len(table)), 2):
        if table[[a, b]].sum() > 2 and not (table[a] * table[b]).any():
            yield TermSum((1.0, 1.0), (nodes[a], nodes[b]))
            yield TermSum((1.0, -1.0), (nodes[a], nodes[b]))
    for node in nodes[len(names) :]:
        yield TermSum((1.0,), (node,), 1.0)
        yield TermSum((-1.0,), (node,), 1.0)
