"""Sums of powers of sums, such as a + √(b² + c²): the best few terms of a dictionary of powers of short sums."""

from collections.abc import Iterator

import numpy as np

from .dictionary import sums
from .ladder import Target, promising
from .pool import Pool
from .select import subsets
from .terms import Column, Floats, Node, TermSum, product, scaled, values

POWERS = (1.0, 2.0, 0.5, -1.0, -0.5, -2.0, 3.0, 1 / 3, -1 / 3, 1.5, -1.5)
"""Powers of sums; the first are tried with more columns."""


def compounds(pool: Pool, target: Target, most: int, terms: int) -> None:
    """Offer sums of powers of sums of columns.

    Args:
        pool: rows and candidates.
        target: what is explained.
        most: size of the dictionary.
        terms: most terms of a sum.
    """
    nodes: list[Node] = []
    design: list[Floats] = []
    for node in _powers(pool, target, most):
        value = values(node, pool.x)
        if np.isfinite(value).all():
            nodes.append(node)
            design.append(value)
    if not nodes:
        return
    found = subsets(np.stack(design, 1), target.t, np.sqrt(pool.w) * target.slope, terms)
    for subset in promising(found, len(pool.y)):
        chosen = tuple(nodes[j] for j in subset.terms.tolist())
        for offset in {subset.offset, 0.0}:
            pool.offer(target.wrap(TermSum(tuple(subset.coefficients.tolist()), chosen, offset)))


def _powers(pool: Pool, target: Target, most: int) -> Iterator[Node]:
    """Yield powers of sums that have a value on every row, and their products with a column, at most about `most`."""
    bases = [base for base in sums(target.columns, most // 4) if pool.agrees(base)]
    made: list[Node] = []
    for power in POWERS:
        for base in bases:
            value = values(base, pool.x)
            if power % 1 and (value < 0).all():
                base, value = scaled(-1.0, base), -value
            if (power % 1 == 0 or (value > 0).all()) and (power > 0 or value.all()):
                made.append(product([(base, power)]))
        if len(made) + len(bases) > most:
            break
    yield from made
    columns = [(Column(i), p) for i in target.columns for p in (1.0, -1.0)]
    if len(made) * (len(columns) + 1) <= most:
        for column in columns:
            for node in made:
                yield product([column, (node, 1.0)])
