"""Finish a trained network: find the nearest least-squares optimum in float64 and the exact weights next to it.

Training ends near a function, not on it: Adam is slow where sums of many columns are alike. A damped Gauss-Newton
method (Levenberg-Marquardt) covers the rest in a few steps of linear algebra. It works on unbounded weights, so the
factors of a product may share its scale in any way; `snap` removes that scale.
"""

import math
from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np
import scipy.linalg
import scipy.stats
from numpy.typing import NDArray

from .products import Floats, Products, ordered

STEPS = 30
MOST_WEIGHTS = 800
"""Largest number of weights to refine; a step costs the cube of that number."""

EXACT = 1e-6
"""Relative root-mean-square residual below which a formula is exact: float32 precision."""

MOST_TERMS = 2 * 10**7
"""Most entries of the design matrix in `unexplained`: 160 MB."""

SIGNIFICANT = 0.001
"""Significance level of `unexplained`: the chance that noise alone is taken for structure."""


def refine(factors: Sequence[Floats], intercept: float | None, x: Floats, y: Floats) -> Products:
    """Return the least-squares optimum next to products of sums, with all weights free.

    Args:
        factors: starting point, one `[k, i]` matrix per product.
        intercept: starting value, or None for a formula without one.
        x: `[rows, i]`.
        y: `[rows]`.
    """
    shapes = [w.shape for w in factors]
    ends = np.cumsum([0, *(w.size for w in factors)])
    free = np.concatenate([*(w.ravel() for w in factors), [] if intercept is None else [intercept]])

    def unpack(p: Floats) -> Products:
        parts = [p[a:b].reshape(shape) for a, b, shape in zip(ends[:-1], ends[1:], shapes, strict=True)]
        return Products(tuple(parts), np.ones(len(parts)), 0.0 if intercept is None else float(p[-1]))

    floor = (EXACT * 1e-4) ** 2 * float(y @ y)
    damping, found = 1e-3, unpack(free)
    residual = found(x) - y
    loss = float(residual @ residual)
    for _ in range(STEPS):
        if not np.isfinite(loss) or loss <= floor:
            break
        jacobian = _jacobian(found, x, intercept is not None)
        size = np.sqrt((jacobian**2).sum(0))
        size = np.where(size > 0, size, 1.0)
        jacobian /= size
        values, vectors = np.linalg.eigh(jacobian.T @ jacobian)
        slope = vectors.T @ (jacobian.T @ residual)
        for _ in range(6):
            step = vectors @ (slope / (np.maximum(values, 0.0) + damping)) / size
            trial = unpack(free - step)
            error = trial(x) - y
            better = float(error @ error)
            if better < loss:
                break
            damping *= 10
        else:
            break
        gained = 1 - better / loss
        free, found, residual, loss = free - step, trial, error, better
        damping = max(damping / 10, 1e-13)
        if gained < 1e-4:
            break
    return found


def _jacobian(products: Products, x: Floats, intercept: bool) -> Floats:
    blocks = []
    for w in products.factors:
        z = x @ w.T
        for k in range(len(w)):
            blocks.append(np.delete(z, k, 1).prod(1)[:, None] * x)
    return np.concatenate([*blocks, *([np.ones((len(x), 1))] if intercept else [])], 1)


def snap(factors: Floats) -> tuple[Floats, float]:
    """Round the factors of a product to -1, 0 and 1, up to a scale per factor; also return the largest rounding."""
    size = np.abs(factors)
    half = size.max(1, keepdims=True) / 2
    scale = np.nanmedian(np.where(size >= half, size, np.nan), 1, keepdims=True)
    scaled = factors / np.where(scale > 0, scale, 1.0)
    whole = np.clip(np.rint(scaled), -1, 1)
    return whole, float(np.abs(scaled - whole).max())


def settle(factors: Sequence[Floats], x: Floats, y: Floats, *, intercept: bool) -> Products:
    """Fit the coefficients of products by least squares and drop the terms that the data do not support.

    Terms that contribute least are dropped first, half of them at once where possible, as long as the Bayesian
    information criterion falls.
    """
    kept = sorted({w.tobytes(): w for w in map(ordered, factors) if (w != 0).any(1).all()}.items())
    products = [w for _, w in kept]
    design = np.column_stack(
        [Products(products, np.ones(len(kept))).terms(x), *([np.ones(len(x))] if intercept else [])]
    )
    names = _independent(design)
    coefficients, loss = _solve(design[:, names], y)
    count = len(names) // 2
    while len(names):
        # Dropping a column adds its squared coefficient, divided by its diagonal entry of the inverse, to the loss.
        size = np.sqrt((design[:, names] ** 2).mean(0))
        inverse = np.linalg.pinv((design[:, names] / size).T @ (design[:, names] / size), hermitian=True)
        missed_least = np.argsort((coefficients * size) ** 2 / np.diag(inverse), kind="stable")
        fewer = np.delete(names, missed_least[: max(1, count)])
        trial, more = _solve(design[:, fewer], y)
        if len(y) * np.log(more / loss) <= (len(names) - len(fewer)) * np.log(len(y)):
            names, coefficients, loss = fewer, trial, more
        elif count <= 1:
            break
        count = min(count // 2, len(names) // 2)
    constant = names == len(kept)
    chosen = tuple(products[j] for j in names[~constant])
    return Products(chosen, coefficients[~constant], float(coefficients[constant].sum()))


def _independent(design: Floats) -> NDArray[np.intp]:
    """Return the indices of linearly independent columns, without those that are zero."""
    size = np.sqrt((design**2).mean(0))
    names = np.flatnonzero((size > 0) & np.isfinite(size))
    if not len(names):
        return names
    triangle, order = scipy.linalg.qr(design[:, names] / size[names], mode="r", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    return np.sort(names[order[: np.count_nonzero(pivots > 1e-9 * pivots[0])]])


def _solve(design: Floats, y: Floats) -> tuple[Floats, float]:
    """Return coefficients and the sum of squared residuals, with a floor at float precision."""
    size = np.sqrt((design**2).mean(0))
    coefficients = np.linalg.lstsq(design / size, y, rcond=None)[0] / size
    rest = design @ coefficients - y
    return coefficients, float(rest @ rest) + (EXACT * 1e-2) ** 2 * float(y @ y) + np.finfo(float).tiny


def flip(formula: Products, x: Floats, y: Floats, most: int = 100) -> Products:
    """Change one weight at a time to another of -1, 0 and 1, the most helpful first, until no change helps."""
    for _ in range(most):
        residual = formula(x) - y
        best, place = -1e-9 * float(residual @ residual), None
        for j, w in enumerate(formula.factors):
            if len(w) == 1:
                continue
            z = x @ w.T
            for k in range(len(w)):
                effect = (formula.coefficients[j] * np.delete(z, k, 1).prod(1))[:, None] * x
                slope, bend = effect.T @ residual, (effect**2).sum(0)
                for value in (-1.0, 0.0, 1.0):
                    change = value - w[k]
                    gain = np.where(change != 0, 2 * change * slope + change**2 * bend, np.inf)
                    i = int(gain.argmin())
                    if gain[i] < best:
                        best, place = float(gain[i]), (j, k, i, value)
        if place is None:
            break
        j, k, i, value = place
        factors = [w.copy() for w in formula.factors]
        factors[j][k, i] = value
        formula = Products(tuple(factors), formula.coefficients, formula.intercept)
    return formula


def expand(formula: Products, most: int = 64) -> Products:
    """Multiply out the products, or return the formula unchanged if that takes more than `most` terms.

    Weights below a thousandth of the largest in their factor are dropped.
    """
    total: dict[tuple[int, ...], float] = {}
    for w, c in zip(formula.factors, formula.coefficients, strict=True):
        terms: dict[tuple[int, ...], float] = {(): float(c)}
        for row in w:
            grown: dict[tuple[int, ...], float] = {}
            for columns, value in terms.items():
                for i in np.flatnonzero(np.abs(row) > 1e-3 * np.abs(row).max()):
                    name = tuple(sorted((*columns, int(i))))
                    grown[name] = grown.get(name, 0.0) + value * float(row[i])
            terms = grown
            if len(terms) > most:
                return formula
        for name, value in terms.items():
            total[name] = total.get(name, 0.0) + value
    kept = {name: value for name, value in total.items() if abs(value) > 1e-9}
    identity = np.eye(formula.factors[0].shape[1] if kept else 1)
    return Products([ordered(identity[list(name)]) for name in kept], np.array([*kept.values()]), formula.intercept)


def unexplained(formula: Products, x: Floats, y: Floats) -> bool:
    """Test whether the residual depends on the columns: an F test against products of up to four columns.

    The products are those of all columns or, where there are too many for the rows, of the columns in the formula.
    """
    names: list[tuple[int, ...]] = []
    varying = np.flatnonzero(np.ptp(x, axis=0) > 0).tolist()
    for size in (1, 2, 3, 4):
        for chosen in (varying, formula.used.tolist()):
            if len(names) + math.comb(len(chosen) + size - 1, size) <= min(len(y) // 3, MOST_TERMS // len(y)):
                names += combinations_with_replacement(chosen, size)
                break
    design = np.column_stack([np.ones(len(x)), *(x[:, list(name)].prod(1) for name in names)])
    design = design[:, _independent(design)]
    free = len(y) - design.shape[1]
    residual = formula(x) - y
    left = _solve(design, residual)[1]
    gained = max(float(residual @ residual) - left, 0.0) / design.shape[1]
    return bool(scipy.stats.f.sf(gained / (left / free), design.shape[1], free) < SIGNIFICANT)


def refit(formula: Products, x: Floats, y: Floats) -> Products:
    """Refit the constants that are not integers by least squares."""
    numbers = np.array([*formula.coefficients, formula.intercept])
    loose = numbers != np.rint(numbers)
    if not loose.any():
        return formula
    design = np.column_stack([formula.terms(x), np.ones(len(x))])
    numbers[loose], _ = _solve(design[:, loose], y - design[:, ~loose] @ numbers[~loose])
    return Products(formula.factors, numbers[:-1], float(numbers[-1]))
