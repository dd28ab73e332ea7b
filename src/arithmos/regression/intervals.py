"""Estimated constants and exponents of a formula, fitted together, with the intervals of their estimates."""

from collections.abc import Iterator

import numpy as np
from scipy import special

from .certificate import Constant
from .refine import estimated, free_numbers, loss_of
from .terms import Bools, Column, Floats, Node, PowerProduct, TermSum, exponents, jacobian, numbers, renumbered, values

LEVEL = 0.95
STEPS = 12
SMALLEST_GAIN = 1e-9
"""Share of the loss that a step must take away for another one."""
LEAST_FREEDOM = 1e-3
"""Smallest share of its residual that a row is taken to have kept from the fit."""
EXPONENT_STEP = 1e-5
"""Step of the difference quotients of exponents."""


def settled(node: Node, x: Floats, y: Floats, w: Floats) -> Node:
    """Return the formula with its estimated constants and exponents at their common least squares."""
    loose = estimated(node)
    loss = loss_of(node, x, y, w)
    for _ in range(STEPS if loose[len(numbers(node)) :].any() else 0):
        step = _step(node, x, y, w, loose)[0]
        for size in (1.0, 0.3, 0.1):
            moved = _moved(node, size * step)
            if (left := loss_of(moved, x, y, w)) < loss:
                break
        else:
            break
        gained, node, loss = 1 - left / loss, moved, left
        if gained < SMALLEST_GAIN:
            break
    return node


def constants(node: Node, x: Floats, y: Floats, w: Floats) -> tuple[Constant, ...]:
    """Return the constants and the estimated exponents of a formula.

    An estimate has the interval that it has if the numbers that were meant are right; a number that was meant has the
    interval that it had if it was estimated with all others.
    """
    loose = estimated(node)
    free = np.concatenate([free_numbers(node), loose[len(numbers(node)) :]])
    found = []
    given, wide = (_intervals(node, x, y, w, chosen) for chosen in (loose, free))
    for value, listed, open_, (near, half), (far, more) in zip(_all(node), free, loose, given, wide, strict=True):
        if listed:
            middle, error = (near, half) if open_ else (far, more)
            found.append(Constant(value, middle - error, middle + error, not open_))
    return tuple(found)


def _intervals(node: Node, x: Floats, y: Floats, w: Floats, chosen: Bools) -> list[tuple[float, float]]:
    """Return middle and half width of each interval, with some numbers free."""
    step, errors = _step(node, x, y, w, chosen)
    spare = max(len(y) - int(chosen.sum()), 1)
    half = float(special.stdtrit(spare, (1 + LEVEL) / 2)) * errors
    return [*zip(_all(_moved(node, step)), half.tolist(), strict=True)]


def _step(node: Node, x: Floats, y: Floats, w: Floats, chosen: Bools) -> tuple[Floats, Floats]:
    """Return the step to the least squares of some numbers, and the standard errors there.

    They are the larger of the usual errors and of those of MacKinnon and White (1985), HC3, which are valid for noise
    of unequal size too, such as noise that is a share of the target, but are uncertain where a few rows decide.
    """
    step, errors = np.zeros(len(chosen)), np.zeros(len(chosen))
    if chosen.any():
        root = np.sqrt(w)
        with np.errstate(all="ignore"):
            value, slopes = jacobian(node, x)
            kept = [slope for slope, free in zip(slopes, chosen, strict=False) if free]
            design = np.stack([*kept, *_exponent_slopes(node, x, chosen[len(slopes) :])], 1) * root[:, None]
            size = np.sqrt((design**2).sum(0))
            if np.isfinite(design).all() and size.all():
                design /= size
                inverse = np.linalg.pinv(design, rcond=1e-12)
                residual = root * (y - value)
                change = inverse @ residual
                left = residual - design @ change
                variance = left @ left / max(len(y) - len(change), 1)
                influence = (design * inverse.T).sum(1)
                robust = inverse * left / np.maximum(1 - influence, LEAST_FREEDOM)
                step[chosen] = change / size
                errors[chosen] = np.sqrt(np.maximum(variance * (inverse**2).sum(1), (robust**2).sum(1))) / size
    return step, errors


def _exponent_slopes(node: Node, x: Floats, chosen: Bools) -> Iterator[Floats]:
    powers = np.array(exponents(node))
    for i in np.flatnonzero(chosen):
        change = EXPONENT_STEP * (np.arange(len(powers)) == i)
        up, down = (_raised(node, iter((powers + sign * change).tolist())) for sign in (1, -1))
        yield (values(up, x) - values(down, x)) / (2 * EXPONENT_STEP)


def _all(node: Node) -> list[float]:
    return [*numbers(node), *exponents(node)]


def _moved(node: Node, step: Floats) -> Node:
    new = (np.array(_all(node)) + step).tolist()
    count = len(numbers(node))
    return _raised(renumbered(node, iter(new[:count])), iter(new[count:]))


def _raised(node: Node, new: Iterator[float]) -> Node:
    """Return the formula with other exponents, taken in the order of `exponents`."""
    if isinstance(node, Column):
        return node
    if isinstance(node, TermSum):
        return TermSum(node.coefficients, tuple(_raised(term, new) for term in node.terms), node.constant)
    powers = tuple(next(new) for _ in node.exponents)
    return PowerProduct(tuple(_raised(factor, new) for factor in node.factors), powers)
