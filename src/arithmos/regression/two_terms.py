"""Sums of two terms, each a monomial times a power of a sum, such as R*T/(V - b) - a/V**2: all pairs are tried."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from .dictionary import largest_radius, lattice, lattice_size, monomial, monomials, sums
from .ladder import Target
from .pool import BITS_PER_SYMBOL, Pool
from .terms import Bools, Column, Floats, Node, TermSum, complexity, product, scaled, values

POWERS = (-1.0, -0.5, 0.5, -2.0)
"""Powers of sums."""
MOST_MONOMIALS = 700
MOST_TERMS = 5000
BASES = 80
"""Columns and sums of columns that powers are taken of, about."""
VARIED = 1e-6
"""Smallest deviation of a term, relative to its size."""
LARGEST_RADIUS = 5
BLOCK = 500
"""Terms that are paired with all others at a time."""
OFFERED = 12
LEAST_DIFFERENCE = 1e-4
"""Share of a term's variance that another one must leave."""
SMALLEST = 1e-12
"""Share of the variance left that can be told from nothing."""


def two_terms(pool: Pool, target: Target) -> None:
    """Offer the best sums of two terms, with and without an offset."""
    nodes: list[Node] = []
    columns: list[Floats] = []
    weight = np.sqrt(pool.w) * target.slope
    unit = weight / np.sqrt(weight @ weight)
    t = target.t * weight
    t = t - unit * (unit @ t)
    with np.errstate(all="ignore"):
        for node, value in _terms(pool, target):
            nodes.append(node)
            columns.append(value)
        if len(nodes) < 2 or not (t @ t) > 0:
            return
        design = np.stack(columns, 1) * weight[:, None]
        whole = np.sqrt((design**2).sum(0))
        design -= np.outer(unit, unit @ design)
        size = np.sqrt((design**2).sum(0))
    varied = np.flatnonzero(np.isfinite(size) & (size > VARIED * whole))
    costs = BITS_PER_SYMBOL * np.array([complexity(nodes[k]) for k in varied.tolist()], np.float64)
    for i, j in _best_pairs(design[:, varied] / size[varied], t / np.sqrt(t @ t), costs):
        chosen = (int(varied[i]), int(varied[j]))
        terms = tuple(nodes[k] for k in chosen)
        part = np.column_stack([*(columns[k] for k in chosen), np.ones(len(t))])
        for count in (3, 2):  # with an offset and without
            scale = np.sqrt((part[:, :count] ** 2).mean(0))
            fitted = np.linalg.lstsq(part[:, :count] / scale * weight[:, None], target.t * weight, rcond=None)[0]
            first, second, offset = [*(fitted / scale).tolist(), 0.0][:3]
            pool.offer(target.wrap(TermSum((first, second), terms, offset)))


def _terms(pool: Pool, target: Target) -> Iterator[tuple[Node, Floats]]:
    """Yield terms that have a value on every row, with their values."""
    x = pool.x[:, list(target.columns)]
    names = [Column(i) for i in target.columns]
    negative: Bools = np.logical_or((x > 0).all(0), (x < 0).all(0))
    radius = largest_radius(len(names), int(negative.sum()), MOST_MONOMIALS, LARGEST_RADIUS)
    table = lattice(len(names), radius, negative)
    plain = monomials(x, table)
    for row, value in zip(table, plain.T, strict=True):
        if np.isfinite(value).all():
            yield monomial(row.tolist(), names), value
    enough = 1 + lattice_size(len(names), 2, int(negative.sum()))
    powers = [*islice(_powers(pool, target), max(MOST_TERMS // enough, 1))]
    few = MOST_TERMS // max(len(powers), 1)
    for node, power in powers:
        yield node, power
        for row, value in zip(table[:few], plain.T[:few], strict=True):
            made = value * power
            if np.isfinite(made).all():
                yield product([(monomial(row.tolist(), names), 1.0), (node, 1.0)]), made


def _powers(pool: Pool, target: Target) -> Iterator[tuple[Node, Floats]]:
    """Yield powers of sums of columns with their values."""
    for base in sums(target.columns, BASES):
        value = values(base, pool.x)
        if isinstance(base, Column) or not pool.agrees(base) or not value.all():
            continue
        if (value < 0).all():
            base, value = scaled(-1.0, base), -value
        for power in POWERS:
            if power % 1 == 0 or (value > 0).all():
                yield product([(base, power)]), value**power


def _best_pairs(design: Floats, t: Floats, costs: Floats) -> list[tuple[int, int]]:
    """Return the pairs of terms with the shortest description of terms and residual.

    Args:
        design: terms, centered and of length 1, `[rows, terms]`.
        t: target, centered and of length 1.
        costs: bits to write down each term.
    """
    slopes = t @ design
    best: list[tuple[float, int, int]] = []
    limit = np.inf
    for first in range(0, max(design.shape[1] - 1, 0), BLOCK):
        block = slice(first, first + BLOCK)
        common = design[:, block].T @ design[:, first:]  # [block, later terms]
        room = 1 - common**2
        a, b = slopes[block, None], slopes[None, first:]
        with np.errstate(all="ignore"):
            explained = (a**2 + b**2 - 2 * a * b * common) / room
        left = np.where(room > LEAST_DIFFERENCE, np.maximum(1 - explained, SMALLEST), 1.0)
        scores = len(t) / 2 * np.log2(left) + costs[block, None] + costs[None, first:]
        scores[np.tril_indices(scores.shape[0], m=scores.shape[1])] = np.inf
        for i, j in np.argwhere(scores < limit).tolist() if len(best) else _smallest(scores):
            best.append((float(scores[i, j]), first + i, first + j))
        best = sorted(best)[:OFFERED]
        limit = best[-1][0] if best else np.inf
    return [(i, j) for _, i, j in best]


def _smallest(scores: Floats) -> list[list[int]]:
    """Return the indices of the smallest finite scores."""
    chosen = np.argpartition(scores, min(OFFERED, scores.size - 1), axis=None)[:OFFERED]
    return [[*divmod(k, scores.shape[1])] for k in chosen.tolist() if np.isfinite(scores.flat[k])]
