"""Columns that matter, and columns that enter as a power: found by tests that need no formula."""

import numpy as np
import scipy.stats

from .pool import Pool
from .terms import Floats

LEAST_ROWS = 25
INDEPENDENT = 1e-3
"""Significance at which a column is taken to interact with others."""


def powers_of(pool: Pool, columns: tuple[int, ...], most_terms: int = 300) -> dict[int, float]:
    """Return the columns that y seems proportional to a power of, with that power; 0 for those without influence.

    log|y| is regressed on the logarithms of all columns, their squares and products. A column enters as a power if none
    of its squares and products has an effect, whatever the others do.
    """
    x, y = pool.x[:, list(columns)], pool.y
    if len(y) < LEAST_ROWS or not y.all():
        return {}
    usable = (x != 0).all(0)
    found: dict[int, float] = {}
    logs = np.log(np.abs(np.where(x != 0, x, 1.0)))
    logs = logs - logs.mean(0)
    spread = logs.std(0)
    usable &= spread > 0
    z = np.log(np.abs(y))
    weight = np.sqrt(pool.w) * np.minimum(np.abs(y), 3 * np.median(np.abs(y)))
    weight /= np.sqrt(np.mean(weight**2))
    count = len(columns)
    crossing = (x.min(0) < 0) & (x.max(0) > 0)
    names: list[frozenset[int]] = [frozenset({i}) for i in range(count)]
    parts = [logs[:, i] / max(spread[i], 1e-300) for i in range(count)]
    limit = min(len(y) // 3, most_terms)
    if count + count * (count + 1) // 2 < limit:
        unit = np.stack(parts, 1)
        for i in range(count):
            for j in range(i, count):
                names.append(frozenset({i, j}) | ({-1} if i == j else set()))
                parts.append(unit[:, i] * unit[:, j])
        for i in np.flatnonzero(crossing).tolist():
            names.append(frozenset({i, -1}))
            parts.append(x[:, i] / x[:, i].std())
    else:
        return {}
    design = np.column_stack([np.ones(len(y)), *parts])
    full = _residual(design, z, weight)
    for i in range(count):
        if not usable[i]:
            continue
        mixed = np.array([False, *(i in name and len(name) > 1 for name in names)])
        reduced, solution, errors = _solve(design[:, ~mixed], z, weight)
        k, free = int(mixed.sum()), len(y) - design.shape[1]
        f = max(reduced - full, 0.0) / k / (full / free) if full > 0 else 0.0
        if full > 1e-20 * len(y) and scipy.stats.f.sf(f, k, free) < INDEPENDENT:
            continue
        power = solution[1 + i] / spread[i]
        error = errors[1 + i] / spread[i]
        near = round(2 * power) / 2
        if abs(power - near) <= max(4 * error, 1e-6) and error < 0.2:
            found[columns[i]] = near
    return found


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
