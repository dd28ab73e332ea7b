"""Columns that enter as a power or as a term of their own: found by tests that need no formula of the others."""

import math
from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement

import numpy as np
from scipy import special

from .dictionary import sums
from .pool import Pool
from .terms import Column, Floats, Node, TermSum, product, used, values

LEAST_ROWS = 25
ALONE = 2.0
"""Largest ratio of variances left with and without a term that stands alone."""
SAME_SIGN = 0.99
"""Smallest excess of rows of equal over those of opposite sign, weighted by the size of the target."""
MOST_SUMS = 400
INDEPENDENT = (1e-6, 1e-3, 1e-3)
"""Significance at which a column is taken to interact with others, with each kind of weights."""


def powers_of(pool: Pool, columns: tuple[int, ...], most_terms: int = 300) -> list[dict[int, float]]:
    """Return the columns that y seems proportional to a power of, with that power; 0 for those without influence.

    log|y| is regressed on the logarithms of all columns, their squares and products. A column enters as a power if none
    of its squares and products has an effect, whatever the others do.

    Returns:
        Different answers, at most three: with weights for noise, with fewer differences of weight for rows that no
        polynomial fits, and with large weights for small values, for a denominator that comes near zero.
    """
    size = np.abs(pool.y)
    count = len(columns)
    usual = min(len(size) // 3, most_terms)
    if len(size) < LEAST_ROWS or not size.all() or count + count * (count + 1) // 2 >= usual:
        return []
    found: list[dict[int, float]] = []
    weights = (size, np.minimum(size, np.median(size)), size**-0.5)
    for weight, level in zip(weights, INDEPENDENT, strict=True):
        powers = _powers_by(pool, columns, np.sqrt(pool.w) * weight, level)
        if powers and powers not in found:
            found.append(powers)
    return found


def _powers_by(pool: Pool, columns: tuple[int, ...], weight: Floats, level: float) -> dict[int, float]:
    x, y = pool.x[:, list(columns)], pool.y
    usable = (x != 0).all(0)
    logs = np.log(np.abs(np.where(x != 0, x, 1.0)))
    logs = logs - logs.mean(0)
    spread = logs.std(0)
    usable &= spread > 0
    z = np.log(np.abs(y))
    weight = weight / np.sqrt(np.mean(weight**2))
    count = len(columns)
    crossing = (x.min(0) < 0) & (x.max(0) > 0)
    names: list[frozenset[int]] = [frozenset({i}) for i in range(count)]
    unit = logs / np.maximum(spread, 1e-300)
    parts = [*unit.T]
    for i in range(count):
        for j in range(i, count):
            names.append(frozenset({i, j}) | ({-1} if i == j else set()))
            parts.append(unit[:, i] * unit[:, j])
    for i in np.flatnonzero(crossing).tolist():
        names.append(frozenset({i, -1}))
        parts.append(x[:, i] / x[:, i].std())
    design = np.column_stack([np.ones(len(y)), *parts])
    full = _residual(design, z, weight)
    found: dict[int, float] = {}
    for i in range(count):
        if not usable[i]:
            continue
        mixed = np.array([False, *(i in name and len(name) > 1 for name in names)])
        reduced, solution, errors = _solve(design[:, ~mixed], z, weight)
        k, free = int(mixed.sum()), len(y) - design.shape[1]
        f = max(reduced - full, 0.0) / k / (full / free) if full > 0 else 0.0
        if full > 1e-20 * len(y) and special.fdtrc(k, free, f) < level:
            continue
        power = solution[1 + i] / spread[i]
        error = errors[1 + i] / spread[i]
        near = round(2 * power) / 2
        if abs(power - near) <= max(4 * error, 1e-6) and error < 0.2:
            found[columns[i]] = near
    return found


def differences_of(pool: Pool, columns: tuple[int, ...], most: int = 2) -> list[Node]:
    """Return sums of columns that have the sign of y, or the opposite sign, on nearly all rows."""
    size = pool.w * np.abs(pool.y)
    found = []
    for node in sums(columns, MOST_SUMS):
        value = values(node, pool.x)
        if isinstance(node, TermSum) and (value < 0).any() and (value > 0).any():
            share = abs(float(size @ np.sign(value * pool.y))) / float(size.sum())
            if share > SAME_SIGN:
                found.append((-share, node))
    return [node for _, node in sorted(found, key=lambda one: one[0])[:most]]


def addends_of(pool: Pool, columns: tuple[int, ...], most: int = 3) -> list[tuple[float, Node]]:
    """Return terms of one or two columns, with coefficients, that seem to be added to a formula of the other columns.

    y is fitted by each term and a polynomial in the other columns. The term stands alone if a polynomial in all columns
    leaves about as much.
    """
    y, root = pool.y, np.sqrt(pool.w)
    whole = _powers(pool.x, columns, len(y) // 4)
    if len(columns) < 2 or whole.shape[1] <= len(columns) + 1:
        return []
    limit = ALONE * _residual(whole, y, root) / (len(y) - whole.shape[1])
    found = []
    for term in _terms(columns):
        rest = tuple(i for i in columns if i not in used(term))
        value = values(term, pool.x)
        if rest and np.isfinite(value).all():
            design = np.column_stack([_powers(pool.x, rest, len(y) // 4), value / value.std()])
            loss, solution, errors = _solve(design, y, root)
            if loss / (len(y) - design.shape[1]) < limit and abs(solution[-1]) > 5 * errors[-1]:
                found.append((loss, float(solution[-1] / value.std()), term))
    return [(scale, term) for _, scale, term in sorted(found, key=lambda one: one[0])[:most]]


def _terms(columns: tuple[int, ...]) -> Iterator[Node]:
    """Yield simple terms of one and of two columns."""
    for i in columns:
        for power in (1.0, 2.0, 0.5, -1.0):
            yield product([(Column(i), power)])
    for i, j in combinations(columns, 2):
        for p, q in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0)):
            yield product([(Column(i), p), (Column(j), q)])


def _powers(x: Floats, columns: tuple[int, ...], most: int, degree: int = 4) -> Floats:
    """Return the monomials of the largest degree for which there are at most `most`, `[rows, terms]`."""
    part = x[:, list(columns)]
    part = (part - part.mean(0)) / part.std(0)
    while degree > 1 and math.comb(len(columns) + degree, degree) > min(most, 150):
        degree -= 1
    chosen = [c for k in range(degree + 1) for c in combinations_with_replacement(range(len(columns)), k)]
    return np.stack([part[:, list(c)].prod(1) for c in chosen], 1)


def _residual(design: Floats, z: Floats, weight: Floats) -> float:
    return _solve(design, z, weight)[0]


def _solve(design: Floats, z: Floats, weight: Floats) -> tuple[float, Floats, Floats]:
    """Return the remaining sum of squares, the coefficients and their standard errors."""
    a = design * weight[:, None]
    u, singular, v = np.linalg.svd(a, full_matrices=False)
    keep = singular > 1e-10 * singular[0]
    solution = v[keep].T @ ((u[:, keep].T @ (z * weight)) / singular[keep])
    rest = a @ solution - z * weight
    loss = float(rest @ rest)
    variance = loss / max(len(z) - int(keep.sum()), 1)
    errors = np.sqrt(((v[keep] / singular[keep, None]) ** 2).sum(0) * variance)
    return loss, solution, errors
