"""Formulas that closed form finds: sparse polynomials, ratios, and powers of these.

Each step turns a kind of formula into linear least squares with a dictionary of terms, of which `subsets` chooses some:

- y^q as a polynomial, with negative exponents too, gives reciprocals, roots and powers of sums;
- y = P/Q is linear in the coefficients of y = P - y(Q - 1).

Steps work on a `Target`: the output divided by a power law of some columns, so that the others are fewer.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from .dictionary import ExponentTable, largest_radius, lattice, lattice_size, monomials, polynomial
from .pool import Pool
from .select import EXACT, TermSubset, eliminate, subsets
from .terms import Bools, Column, Floats, Node, TermSum, constant, product, scaled, used, values, without_zeros

OFFERED = 10
"""Subsets that are refined per dictionary."""
POWERS = (1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 1 / 3, 2 / 3)
"""Powers of the target that are tried as polynomials."""


@dataclass(frozen=True, eq=False)
class Target:
    """Values to be explained by some of the columns.

    Args:
        t: values, `[rows]`.
        slope: size of the change of the output per change of the value, `[rows]`.
        columns: columns to use.
        wrap: formula of the output from one of the value.
    """

    t: Floats
    slope: Floats
    columns: tuple[int, ...]
    wrap: Callable[[Node], Node] = field(repr=False)


def whole(pool: Pool, columns: Sequence[int]) -> Target:
    """Return the output itself as a target."""
    return Target(pool.y, np.ones(len(pool.y)), tuple(columns), lambda node: node)


def divided(pool: Pool, target: Target, law: Node, without: Collection[int]) -> Target | None:
    """Return the target divided by a formula, for the columns other than some."""
    size = values(law, pool.x)
    if not np.isfinite(size).all() or not size.all():
        return None
    rest = tuple(i for i in target.columns if i not in without)
    return Target(
        target.t / size, target.slope * np.abs(size), rest, lambda node: target.wrap(product([(law, 1.0), (node, 1.0)]))
    )


def reduced(pool: Pool, target: Target, scale: float, term: Node) -> Target:
    """Return the target without a term, for the columns that do not occur in it."""
    rest = tuple(i for i in target.columns if i not in used(term))
    return Target(
        target.t - scale * values(term, pool.x),
        target.slope,
        rest,
        lambda node: target.wrap(without_zeros(TermSum((scale, 1.0), (term, node)))),
    )


def raised(target: Target, power: float) -> Target | None:
    """Return a power of the target, or None if it does not determine the target."""
    if power == 1:
        return target
    t, sign = target.t, 1.0
    if power != -1:
        if (t < 0).any() and (t > 0).any():
            return None
        sign = -1.0 if (t < 0).any() else 1.0
    if power < 0 and not t.all():
        return None
    with np.errstate(all="ignore"):
        moved = (sign * t) ** power
        slope = target.slope * np.abs(t) ** (1 - power) / abs(power)
    limit = 10 * np.median(slope)
    slope = np.minimum(slope, limit) if limit > 0 else slope
    if not np.isfinite(moved).all() or not np.isfinite(slope).all():
        return None
    return Target(moved, slope, target.columns, lambda node: target.wrap(scaled(sign, product([(node, 1 / power)]))))


def shifted(target: Target, offset: float) -> Target:
    """Return the target less a number."""
    return Target(target.t - offset, target.slope, target.columns, lambda node: target.wrap(scaled(1.0, node, offset)))


def polynomials(pool: Pool, target: Target, most: int, terms: int, step: float = 1.0) -> None:
    """Offer sums of monomials with positive and negative exponents.

    Args:
        pool: rows and candidates.
        target: what is explained.
        most: size of the dictionary.
        terms: most terms of a sum.
        step: unit of the exponents: 0.5 for square roots of columns.
    """
    x = pool.x[:, list(target.columns)]
    if step != 1 and (x <= 0).any():
        return
    table = laurent(x, most)
    design = monomials(x**step if step != 1 else x, table)
    columns = [Column(i) for i in target.columns]
    found = subsets(design, target.t, np.sqrt(pool.w) * target.slope, terms)
    for subset in promising(found, len(x)):
        for offset in {subset.offset, 0.0}:
            node = polynomial(table[subset.terms], subset.coefficients, offset, columns, step)
            pool.offer(target.wrap(node))


def ratios(pool: Pool, target: Target, most: int, terms: int) -> None:
    """Offer ratios of sums of monomials."""
    x = pool.x[:, list(target.columns)]
    table = laurent(x, most // 2)
    plain = monomials(x, table)
    design = np.concatenate([plain, plain * target.t[:, None]], 1)
    columns = [Column(i) for i in target.columns]
    found = subsets(design, target.t, np.sqrt(pool.w) * target.slope, terms)
    for subset in promising(found, len(x)):
        below = subset.terms >= len(table)
        if not below.any():
            continue
        top: Node
        if (~below).any():
            chosen = subset.terms[~below]
            top = polynomial(table[chosen], subset.coefficients[~below], subset.offset, columns)
        elif subset.offset:
            top = constant(subset.offset)
        else:
            continue
        bottom = polynomial(table[subset.terms[below] - len(table)], -subset.coefficients[below], 1.0, columns)
        pool.offer(target.wrap(product([(top, 1.0), (bottom, -1.0)])))


def dense_polynomials(pool: Pool, target: Target, terms: int) -> None:
    """Offer polynomials by elimination from all monomials of a degree."""
    x = pool.x[:, list(target.columns)]
    columns = [Column(i) for i in target.columns]
    for degree in (1, 2, 3, 4):
        if lattice_size(x.shape[1], degree, 0) > min(len(x) // 2, 220):
            return
        table = lattice(x.shape[1], degree, np.zeros(x.shape[1], bool))
        found = eliminate(monomials(x, table), target.t, np.sqrt(pool.w) * target.slope, terms)
        for subset in promising(found, len(x))[:4]:
            node = polynomial(table[subset.terms], subset.coefficients, subset.offset, columns)
            pool.offer(target.wrap(node))
        if found and found[0].residual < EXACT:
            return


DEGREES = ((1, 1), (2, 1), (1, 2), (2, 2), (3, 2), (2, 3), (3, 3), (4, 2), (4, 4))


def dense_ratios(pool: Pool, target: Target, terms: int) -> None:
    """Offer ratios by elimination from all monomials of two degrees.

    P - tQ = 0 holds for the right singular vector of [P, -tQ] that belongs to the smallest singular value.
    """
    x = pool.x[:, list(target.columns)]
    columns = [Column(i) for i in target.columns]
    count = x.shape[1]
    weight = np.sqrt(pool.w) * target.slope
    for above, below in DEGREES:
        size = lattice_size(count, above, 0) + lattice_size(count, below, 0) + 2
        if size > min(len(x) // 2, 170):
            continue
        none = np.zeros((1, count), np.int64)
        tables = [np.vstack([none, lattice(count, d, np.zeros(count, bool))]) for d in (above, below)]
        top, bottom = (monomials(x, table) for table in tables)
        design = np.concatenate([top, -bottom * target.t[:, None]], 1)
        scale = np.sqrt(((design * weight[:, None]) ** 2).mean(0))
        if not (np.isfinite(scale).all() and scale.all()):
            continue
        _, singular, vectors = np.linalg.svd(np.linalg.qr(design * weight[:, None] / scale, mode="r"))
        exact = singular[-1] < 1e-11 * singular[0]
        first = len(tables[0])
        pivot = first + int(np.argmax(np.abs(vectors[-1][first:])))
        others = np.delete(np.arange(design.shape[1]), pivot)
        found = eliminate(design[:, others], -design[:, pivot], weight, terms, offset=False)
        for subset in promising(found, len(x))[:4]:
            chosen = others[subset.terms]
            up = chosen < first
            if not up.any():
                continue
            rows = np.vstack([tables[1][[pivot - first]], tables[1][chosen[~up] - first]])
            above_node = _plain(tables[0][chosen[up]], subset.coefficients[up], columns)
            below_node = _plain(rows, np.concatenate([[1.0], subset.coefficients[~up]]), columns)
            pool.offer(target.wrap(product([(above_node, 1.0), (below_node, -1.0)])))
        if exact:
            return


def _plain(table: np.ndarray, coefficients: Floats, columns: Sequence[Node]) -> Node:
    """Return a polynomial whose constant term is among the monomials."""
    zero = ~table.any(1)
    if zero.all():
        return constant(float(coefficients.sum()))
    return polynomial(table[~zero], coefficients[~zero], float(coefficients[zero].sum()), columns)


def laurent(x: Floats, most: int) -> ExponentTable:
    """Return the exponents of at most about `most` monomials, negative ones where the columns allow it."""
    count = x.shape[1]
    size = np.abs(x)
    negative: Bools = size.min(0) > 1e-9 * size.max(0)
    tables = []
    for allowed, degree in ((negative, 6), (np.zeros(count, bool), 6)):
        radius = largest_radius(count, int(allowed.sum()), most // 2, degree)
        tables.append(lattice(count, radius, allowed))
    return np.unique(np.concatenate(tables), axis=0)


def promising(found: Sequence[TermSubset], rows: int) -> list[TermSubset]:
    """Return the subsets with the shortest description."""
    exact = [one for one in found if one.residual < EXACT]
    if exact:
        return sorted(exact, key=lambda one: len(one.terms))[:3]

    def bits(one: TermSubset) -> float:
        return rows * math.log2(max(one.residual, 1e-15)) + len(one.terms) * (0.5 * math.log2(rows) + 8)

    return sorted(found, key=bits)[:OFFERED]
