"""Judge a found formula: does it hold on three times the range, and is its form the true one?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
import sympy

from .cases import Case

TOLERANCE = 1e-6
"""Largest error on three times the range, relative to the target there."""
MOST_CONSTANTS = 40
FAR_ROWS = 1000


@dataclass(frozen=True)
class Judgement:
    """What a formula is worth.

    Args:
        recovered: whether it is right: to `TOLERANCE` on three times the range, or once its constants are fitted again
            without noise, which some packages need even without noise because they compute in float32.
        error: root-mean-square error on three times the range, relative to the target there.
        near: root-mean-square error within the range, without noise, relative to the standard deviation of the target.
        constants: the inexact constants as found, and as fitted again.
    """

    recovered: bool
    error: float
    near: float
    constants: list[tuple[float, float]]


def judge(case: Case, predict: Any, texts: list[str]) -> Judgement:
    """Judge a formula by its function and by its text in x1, x2, …."""
    near, inside = case.rows_of(seed=1000, rows=FAR_ROWS)
    far, outside = case.rows_of(seed=1001, rows=FAR_ROWS, far=True)
    error = _error(_values(predict, far), outside, np.sqrt(np.square(outside).mean(0)))
    within = _error(_values(predict, near), inside, inside.std(0))
    if error <= TOLERANCE:
        return Judgement(True, error, within, [])
    fitted = [refit(text, near, inside[:, o], far, outside[:, o]) for o, text in enumerate(texts)]
    right = all(found is not None for found in fitted)
    return Judgement(right, error, within, [pair for found in fitted for pair in found or []])


def _values(predict: Any, x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(predict(x), np.float64).reshape(len(x), -1)


def _error(found: Any, expected: Any, scale: Any) -> float:
    with np.errstate(all="ignore"):
        error = float(np.max(np.sqrt(np.mean((found - expected) ** 2, axis=0)) / scale))
    return error if np.isfinite(error) else float("inf")


def refit(text: str, x: Any, y: Any, far: Any, beyond: Any) -> list[tuple[float, float]] | None:
    """Fit the inexact numbers of a formula again, to rows without noise.

    Returns:
        The numbers before and after; None if the form is wrong: the formula is still off on three times the range, or
        one of its numbers has become useless. An intercept may become 0: some packages always have one.
    """
    symbols = sympy.symbols([f"x{i}" for i in range(1, x.shape[1] + 1)])
    starts: list[float] = []
    found = sympy.sympify(text, locals={symbol.name: symbol for symbol in symbols})
    intercept = next((float(term) for term in sympy.Add.make_args(found) if term.is_Float), None)
    form = _freed(found, starts)
    if len(starts) > MOST_CONSTANTS:
        return None
    free = sympy.symbols(f"c:{len(starts)}")
    used = [(i, symbol) for i, symbol in enumerate(symbols) if symbol in form.free_symbols]
    function = sympy.lambdify([*free, *(symbol for _, symbol in used)], form, "numpy")

    def of(constants: Any, rows: Any) -> Any:
        with np.errstate(all="ignore"):
            values = function(*constants, *(rows[:, i] for i, _ in used))
        return np.nan_to_num(np.broadcast_to(np.real(values), len(rows)), nan=1e9, posinf=1e9, neginf=-1e9)

    size, start = y.std(), np.array(starts)
    after = start
    if len(starts):
        scale = np.abs(start) + 1e-3
        solved = scipy.optimize.least_squares(
            lambda free: (of(free * scale, x) - y) / size,
            start / scale,
            method="lm",
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        )
        after = solved.x * scale
        for number in (number for number, value in enumerate(starts) if value != intercept):
            without = after.copy()
            without[number] = 0.0
            if np.sqrt(np.mean((of(without, x) - of(after, x)) ** 2)) < TOLERANCE * size:
                return None
    if np.sqrt(np.mean((of(after, far) - beyond) ** 2)) > TOLERANCE * np.sqrt(np.mean(beyond**2)):
        return None
    return [(float(one), float(other)) for one, other in zip(start, after, strict=True)]


def _freed(node: Any, values: list[float]) -> Any:
    """Replace every inexact number by a symbol, and note its value."""
    if node.is_Float:
        values.append(float(node))
        return sympy.Symbol(f"c{len(values) - 1}")
    return node.func(*(_freed(part, values) for part in node.args)) if node.args else node
