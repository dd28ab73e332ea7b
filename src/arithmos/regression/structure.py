"""Tests for structure left in a residual: dependence on columns that a formula did not explain."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np
from scipy import special

from ..statistics import ranked
from .terms import Floats

LEVEL = 1e-4
"""Significance level of all tests together: the chance that noise alone is taken for structure."""
MOST_ROWS = 600
"""Rows of the kernel test; its time grows with their cube."""
MOST_PAIRED = 8
"""Columns of the formula that other tests take together."""
MOST_JOINT = 24
"""Columns of the formula of which polynomials of degree 2 are fitted."""
MOST_TRIPLED = 16
"""With more columns, products of three are of the formula's columns only."""
LEAST_ROWS = 12


@dataclass(frozen=True)
class Dependence:
    """Dependence of a residual on columns.

    Args:
        test: name of the test.
        columns: indices of the columns; empty if none in particular.
        significance: p value, times the number of tests.
    """

    test: str
    columns: tuple[int, ...]
    significance: float


def structure(
    residual: Floats, x: Floats, weight: Floats, columns: Sequence[int], fitted: Floats, level: float = LEVEL
) -> Dependence | None:
    """Return the most significant dependence of a residual on the columns, or None if there is none.

    The residual is compared with each column and with the fitted values (a trend, a curve, an oscillation: means of
    groups of neighbors), with products of two and three columns, and with all columns that the formula uses at once
    (prediction of each row from the others by a kernel).

    Args:
        residual: `[rows]`.
        x: all columns, `[rows, columns]`.
        weight: weights of the rows.
        columns: indices of the columns to test pairs and the kernel on, the most important first.
        fitted: values of the formula.
        level: significance level of all tests together.
    """
    r = residual * np.sqrt(weight)
    size = float(np.sqrt(np.mean(r**2)))
    if len(r) < LEAST_ROWS or not size > 0 or not np.isfinite(size):
        return None
    r = np.clip(r / size, -6.0, 6.0)
    found = [
        *_single(r, x, fitted),
        *_pairs(r, x, columns[:MOST_PAIRED]),
        *_triples(r, x, columns[:MOST_PAIRED]),
        *_polynomials(r, x, columns),
        *_kernels(r, x, columns[:MOST_PAIRED]),
    ]
    if not found:
        return None
    test, where, p = min(found, key=lambda one: one[2])
    joint = min(1.0, p * len(found))
    return Dependence(test, where, joint) if joint < level else None


def _single(r: Floats, x: Floats, fitted: Floats) -> Iterator[tuple[str, tuple[int, ...], float]]:
    for i in [*range(x.shape[1]), -1]:
        column = fitted if i < 0 else x[:, i]
        where: tuple[int, ...] = () if i < 0 else (i,)
        if not np.ptp(column) > 0:
            continue
        unit = ranked(column)
        unit = (unit - unit.mean()) / unit.std()
        yield "trend", where, _correlated(r, unit)
        yield "curve", where, _correlated(r, unit**2 - 1)
        order = np.argsort(column, kind="stable")
        yield "neighbors", where, _correlated(r[order][1:], r[order][:-1], signed=True)
        yield "groups", where, _groups(r, column)


def _correlated(r: Floats, feature: Floats, signed: bool = False) -> float:
    """Return the significance of a correlation, valid for residuals of unequal size too."""
    product = r * (feature - feature.mean())
    deviation = float(np.sqrt(np.mean(product**2)))
    if not deviation > 0:
        return 1.0
    score = float(product.mean()) / deviation * np.sqrt(len(r))
    tail = special.stdtr(len(r) - 1, -score if signed else -abs(score))
    return float(tail if signed else 2 * tail)


def _groups(r: Floats, column: Floats) -> float:
    """Return the significance of differing means among values of a column, or among groups of neighbors."""
    known, groups = np.unique(column, return_inverse=True)
    if len(known) > max(len(r) // 4, 2):
        groups = np.argsort(np.argsort(column, kind="stable"), kind="stable") * max(3, min(len(r) // 8, 24)) // len(r)
    counts = np.bincount(groups)
    kept = counts > 0
    means = np.bincount(groups, r)[kept] / counts[kept]
    between = float((counts[kept] * (means - r.mean()) ** 2).sum())
    within = float(((r - (np.bincount(groups, r) / np.maximum(counts, 1))[groups]) ** 2).sum())
    k, free = int(kept.sum()) - 1, len(r) - int(kept.sum())
    if k < 1 or free < 3 or not within > 0:
        return 1.0
    return float(special.fdtrc(k, free, between / k / (within / free)))


def _pairs(r: Floats, x: Floats, columns: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...], float]]:
    """Compare with products of a column of the formula and any other."""
    units = np.stack([_unit(x[:, i]) for i in range(x.shape[1])], 1)
    for i in columns:
        for j in range(x.shape[1]):
            if i < j or j not in columns:
                yield "products", (i, j), _correlated(r, units[:, i] * units[:, j])


def _triples(r: Floats, x: Floats, columns: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...], float]]:
    """Compare with products of two columns of the formula and a third one, while these are few."""
    thirds = range(x.shape[1]) if x.shape[1] <= MOST_TRIPLED else columns
    units = {i: _unit(x[:, i]) for i in {*columns, *thirds}}
    chosen = {tuple(sorted({i, j, k})) for i, j in combinations(columns, 2) for k in thirds}
    for triple in sorted(triple for triple in chosen if len(triple) == 3):
        yield "products", triple, _correlated(r, np.prod([units[i] for i in triple], axis=0))


def _polynomials(r: Floats, x: Floats, columns: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...], float]]:
    """Fit polynomials of growing degree to the residual, as far as the rows allow; of degree 2 with more columns."""
    for degree, most, share in ((2, MOST_JOINT, 2), (3, MOST_PAIRED, 5), (4, MOST_PAIRED, 5)):
        part = columns[:most]
        terms = math.comb(len(part) + degree, degree)
        if not len(part) or terms > len(r) // share:
            return
        units = np.stack([_unit(ranked(x[:, i])) for i in part], 1)
        chosen = [c for k in range(degree + 1) for c in combinations_with_replacement(range(len(part)), k)]
        design = np.stack([units[:, list(c)].prod(1) for c in chosen], 1)
        basis, singular, _ = np.linalg.svd(design, full_matrices=False)
        basis = basis[:, singular > 1e-9 * singular[0]]
        free = len(r) - basis.shape[1]
        explained = float(((basis.T @ r) ** 2).sum())
        left = float(r @ r) - explained
        if left > 0:
            f = explained / basis.shape[1] / (left / free)
            yield "polynomials", tuple(part), float(special.fdtrc(basis.shape[1], free, f))


def _unit(column: Floats) -> Floats:
    unit: Floats = (column - column.mean()) / (column.std() or 1.0)
    return unit


def _kernels(r: Floats, x: Floats, columns: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...], float]]:
    """Predict each residual from those of similar rows: ridge regression with a Gaussian kernel, leaving one out."""
    if not len(columns):
        return
    rows = np.arange(len(r)) if len(r) <= MOST_ROWS else np.linspace(0, len(r) - 1, MOST_ROWS).astype(int)
    part = np.stack([_unit(ranked(x[rows, i])) for i in columns], 1)
    distance = ((part[:, None, :] - part[None, :, :]) ** 2).sum(-1)
    middle = float(np.median(distance[distance > 0])) if (distance > 0).any() else 1.0
    target = r[rows] - r[rows].mean()
    for width in (1.0, 0.15):
        kernel = np.exp(-distance / (width * middle))
        values, vectors = np.linalg.eigh(kernel)
        values = np.maximum(values, 0.0)
        for ridge in (1.0, 0.01):
            share = values / (values + ridge)
            smooth = (vectors * share) @ vectors.T
            inside = np.minimum(np.diag(smooth), 1 - 1e-9)
            left_out = (smooth @ target - inside * target) / (1 - inside)
            yield "kernel", tuple(columns), _correlated(target, left_out, signed=True)
