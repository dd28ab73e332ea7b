"""Columns that matter: found one after another by their correlation with what the others leave."""

import math

import numpy as np

from .pool import Pool
from .terms import Floats

FEW = 6
"""With no more columns than this, none is left out."""
MODERATE = 12
"""With no more columns than this, all are kept if none seems to matter."""
MOST = 60
"""Most columns to keep."""
MOST_TRIPLES = 120
"""With more columns, products of three are not examined."""


def relevant(pool: Pool) -> tuple[int, ...]:
    """Return the columns that y seems to depend on, those found first in front.

    The target and its logarithm are compared with each column, its square and logarithm, and with products of two and
    three columns. The columns of the largest correlation are taken in, a polynomial in the chosen columns is taken out
    of the target, and so on until no correlation is significant.
    """
    count = pool.x.shape[1]
    if count <= FEW:
        return tuple(range(count))
    chosen: list[int] = []
    targets = [pool.y]
    if pool.y.all() and (np.ptp(np.sign(pool.y)) == 0):
        targets.append(np.log(np.abs(pool.y)))
    units = _standard(pool.x)
    for target in targets:
        found: list[int] = []
        while len(found) < min(MOST, count, len(target) // 4):
            rest = _rest(units[:, found], target)
            more = [i for i in _strongest(units, rest, pool.x, found) if i not in found]
            if not more:
                break
            found += more
        chosen += [i for i in found if i not in chosen]
    return tuple(chosen) if chosen or count > MODERATE else tuple(range(count))


def _standard(x: Floats) -> Floats:
    spread = x.std(0)
    standard: Floats = (x - x.mean(0)) / np.where(spread > 0, spread, 1.0)
    return standard


def _rest(units: Floats, target: Floats) -> Floats:
    """Return what a polynomial in the chosen columns leaves of the target, standardized."""
    rows, count = units.shape
    parts = [np.ones((rows, 1)), units]
    for degree in (2, 3):
        if math.comb(count + degree, degree) > rows // 4:
            break
        if degree == 2:
            parts.append((units[:, :, None] * units[:, None, :])[:, *np.triu_indices(count)])
        else:
            pairs = parts[-1]
            parts.append((pairs[:, :, None] * units[:, None, :]).reshape(rows, -1))
    design = np.concatenate(parts, 1)
    left = target - design @ np.linalg.lstsq(design, target, rcond=1e-10)[0]
    size = float(left.std())
    return left / size if size > 1e-9 * float(np.std(target)) else np.zeros(rows)


def _strongest(units: Floats, rest: Floats, x: Floats, found: list[int]) -> list[int]:
    """Return the columns of the most significant correlation with a new column; none if it may be chance."""
    rows, count = units.shape
    if not rest.any():
        return []
    best: tuple[float, list[int]] = (1.0, [])

    def offer(scores: Floats, features: int) -> None:
        nonlocal best
        limit = math.sqrt(2 * math.log(2 * features)) + 1.2
        scores[np.ix_(*[found] * scores.ndim)] = 0.0
        where = int(np.argmax(np.abs(scores)))
        ratio = float(np.abs(scores.flat[where])) / limit
        if ratio > best[0]:
            index = [int(i) for i in np.unravel_index(where, scores.shape)]
            best = (ratio, sorted(set(index)))

    scale = 1 / math.sqrt(rows)
    offer(units.T @ rest * scale, count)
    square = units**2 - 1
    offer(square.T @ rest * scale / np.sqrt((square**2).mean(0) + 1e-300), count)
    positive = np.where((x > 0).all(0), x, 1.0)
    logs = _standard(np.log(positive))
    offer(logs.T @ rest * scale, count)
    pairs = (units * rest[:, None]).T @ units * scale
    np.fill_diagonal(pairs, 0.0)
    offer(pairs, count * (count - 1) // 2)
    if best[0] == 1.0 and count <= MOST_TRIPLES:
        triples = np.einsum("ri,rj,rk->ijk", units * rest[:, None], units, units, optimize=True) * scale
        for i in range(count):
            triples[i, i, :] = triples[i, :, i] = triples[:, i, i] = 0.0
        offer(triples, count**3 // 6)
    return best[1]
