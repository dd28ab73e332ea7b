r"""Solutions of quadratic equations in the output: a root with something outside of it.

.. math:: y^2 = B y + C \quad\Longrightarrow\quad y = \tfrac{B}{2} \pm \sqrt{\tfrac{B^2}{4} + C}

B and C are sums of monomials. The equation is linear in their coefficients.
"""

from collections import defaultdict

import numpy as np

from .dictionary import ExponentTable, monomials, polynomial
from .ladder import Target, laurent, promising
from .pool import Pool
from .select import TermSubset, subsets
from .terms import Bools, Column, Node, TermSum, constant, product, values, without_zeros

CANCELLED = (1e-6, 0.1)
"""Coefficients of B²/4 + C, relative to the parts they are sums of, that are taken to be zero."""


def quadratics(pool: Pool, target: Target, most: int, terms: int) -> None:
    """Offer solutions of quadratic equations whose coefficients are sums of monomials.

    Args:
        pool: rows and candidates.
        target: what is explained.
        most: size of the dictionary.
        terms: most terms of the equation.
    """
    x, t = pool.x[:, list(target.columns)], target.t
    table = np.vstack([np.zeros((1, x.shape[1]), np.int64), laurent(x, most // 2)])
    plain = monomials(x, table)
    design = np.concatenate([plain[:, 1:], plain * t[:, None]], 1)
    rows = np.vstack([table[1:], table])
    first = len(table) - 1
    weight = np.sqrt(pool.w) * target.slope / np.maximum(np.abs(t), np.sqrt(np.mean(t**2)))
    for subset in promising(subsets(design, t**2, weight, terms), len(t)):
        linear = subset.terms >= first
        if linear.any():
            for tolerance in CANCELLED:
                _offer(pool, target, rows, subset, linear, tolerance)


def _offer(
    pool: Pool, target: Target, rows: ExponentTable, subset: TermSubset, linear: Bools, tolerance: float
) -> None:
    columns = [Column(i) for i in target.columns]
    half = [(rows[j], c / 2) for j, c in zip(subset.terms[linear], subset.coefficients[linear], strict=True)]
    rest = [(rows[j], c) for j, c in zip(subset.terms[~linear], subset.coefficients[~linear], strict=True)]
    parts: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for e, a in half:
        for f, b in half:
            parts[tuple(e + f)].append(a * b)
    for e, c in rest:
        parts[tuple(e)].append(c)
    parts[(0,) * rows.shape[1]].append(subset.offset)
    kept = {e: sum(c) for e, c in parts.items() if abs(sum(c)) > tolerance * sum(map(abs, c))}
    if not any(any(e) for e in kept):
        return
    outside, inside = _sum({tuple(e): c for e, c in half}, columns), _sum(kept, columns)
    sign = 1.0 if np.median(target.t - values(outside, pool.x)) > 0 else -1.0
    whole = without_zeros(TermSum((1.0, sign), (outside, product([(inside, 0.5)]))))
    pool.offer(target.wrap(whole), steps=20)


def _sum(parts: dict[tuple[int, ...], float], columns: list[Column]) -> Node:
    zero = (0,) * len(columns)
    table = np.array([e for e in parts if any(e)], np.int64).reshape(-1, len(columns))
    if not len(table):
        return constant(parts[zero])
    return polynomial(table, np.array([c for e, c in parts.items() if any(e)]), parts.get(zero, 0.0), columns)
