"""Least-squares values of a formula's constants, by the method of Levenberg and Marquardt in float64."""

from dataclasses import dataclass

import numpy as np

from .numbers import is_simple, is_simple_exponent
from .terms import Bools, Floats, Node, exponents, jacobian, numbers, renumbered, values

STEPS = 30
FLOOR = 1e-15
"""Relative residual at which there is nothing left to fit."""


SETTLED = 1e-7
"""Share of the loss that a step must promise to take away."""


@dataclass(frozen=True, eq=False)
class Refined:
    """Formula with least-squares constants.

    Args:
        node: the formula.
        loss: weighted sum of squared residuals.
        errors: standard error of each of its `numbers`, per unit of the residual's standard deviation; 0 for fixed
            ones.
    """

    node: Node
    loss: float
    errors: Floats


def free_numbers(node: Node) -> Bools:
    """Return which constants are to be fitted: all but those that are exactly 0, 1 or -1."""
    return np.array([c not in (0.0, 1.0, -1.0) for c in numbers(node)], bool)


def estimated(node: Node) -> Bools:
    """Return which of the constants, followed by the exponents, are estimates rather than numbers that were meant."""
    return np.array(
        [*(not is_simple(c) for c in numbers(node)), *(not is_simple_exponent(p) for p in exponents(node))], bool
    )


def loss_of(node: Node, x: Floats, y: Floats, w: Floats) -> float:
    """Return the weighted sum of squared residuals; infinite where the formula has no value."""
    residual = values(node, x) - y
    loss = float((w * residual) @ residual)
    return loss if np.isfinite(loss) else np.inf


def refine(node: Node, x: Floats, y: Floats, w: Floats, free: Bools | None = None, steps: int = STEPS) -> Refined:
    """Return the least-squares optimum next to a formula.

    Args:
        node: the formula with its starting constants.
        x, y, w: rows `[rows, columns]`, targets and weights `[rows]`.
        free: which of `numbers(node)` to fit; by default `free_numbers`.
        steps: most steps.
    """
    free = free_numbers(node) if free is None else free
    start = np.array(numbers(node), np.float64)
    root = np.sqrt(w)
    floor = FLOOR**2 * float((w * y) @ y)
    loss = loss_of(node, x, y, w)
    errors = np.zeros(len(start))
    if not free.any() or not np.isfinite(loss):
        return Refined(node, loss, errors)
    damping, current = 1e-6, start
    inverse = np.zeros((0, 0))
    with np.errstate(all="ignore"):
        for _ in range(steps):
            value, slopes = jacobian(node, x)
            design = np.stack([slope for slope, fit in zip(slopes, free, strict=True) if fit], 1) * root[:, None]
            size = np.sqrt((design**2).sum(0))
            size = np.where((size > 0) & np.isfinite(size), size, 1.0)
            if not np.isfinite(design).all():
                break
            _, singular, vectors = np.linalg.svd(np.linalg.qr(design / size, mode="r"))
            vectors = vectors[: len(singular)]
            slope = vectors @ ((design / size).T @ (root * (y - value)))
            inverse = (vectors.T / np.maximum(singular, 1e-12) ** 2) @ vectors / np.outer(size, size)
            if (slope**2 / (singular**2 + 1e-10)).sum() < SETTLED * loss:
                break
            better = None
            for _ in range(8):
                step = vectors.T @ (slope / (singular**2 + damping)) / size
                trial = current.copy()
                trial[free] += step
                moved = renumbered(node, iter(trial.tolist()))
                error = loss_of(moved, x, y, w)
                if error < loss:
                    better = (trial, moved, error)
                    break
                damping = max(damping, 1e-12) * 10
            if better is None:
                break
            gained = 1 - better[2] / loss
            current, node, loss = better
            damping = max(damping / 10, 1e-14)
            if gained < 1e-6 or loss <= floor:
                break
    if inverse.size:
        errors[free] = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return Refined(node, loss, errors)
