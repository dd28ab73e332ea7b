"""SymPy expressions as functions of arrays, and their evaluation on any kind of values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

Functions = Mapping[type, Callable[..., Any]]

_NUMPY: Functions = {
    sympy.Abs: np.abs,
    sympy.cos: np.cos,
    sympy.exp: np.exp,
    sympy.sign: np.sign,
    sympy.Max: np.maximum,
    sympy.Min: np.minimum,
}


def numpy_function(
    outputs: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]
) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """Return a function from arrays `(*, inputs)` to arrays `(*, outputs)`."""

    def function(x: ArrayLike) -> NDArray[np.float64]:
        x = np.asarray(x, np.float64)
        check_width(x.shape, len(symbols))
        with np.errstate(all="ignore"):
            values = evaluate(outputs, {symbol: x[..., i] for i, symbol in enumerate(symbols)}, _NUMPY)
        return np.stack([np.broadcast_to(np.asarray(value, np.float64), x.shape[:-1]) for value in values], axis=-1)

    return function


def check_width(shape: tuple[int, ...], inputs: int) -> None:
    """Raise unless the last axis of an input has one entry per symbol."""
    if not shape or shape[-1] != inputs:
        raise ValueError(f"the last axis of the input must have size {inputs}, got an input of shape {shape}")


def evaluate(outputs: Sequence[sympy.Expr], values: Mapping[sympy.Symbol, Any], functions: Functions) -> list[Any]:
    """Evaluate expressions at given values of their symbols, common subexpressions once."""
    known: dict[sympy.Expr, Any] = dict(values)

    def value(node: sympy.Expr) -> Any:
        if node not in known:
            known[node] = compute(node)
        return known[node]

    def compute(node: sympy.Expr) -> Any:
        if node.is_number:
            return float(node)
        parts = [value(part) for part in node.args]
        if node.is_Add or node.is_Mul:
            total = parts[0]
            for part in parts[1:]:
                total = total + part if node.is_Add else total * part
            return total
        if node.is_Pow:
            return functions[sympy.exp](parts[1]) if node.base == sympy.E else parts[0] ** parts[1]
        numbers_first = sorted(parts, key=lambda part: not isinstance(part, float))
        return functions[node.func](*numbers_first)

    return [value(output) for output in outputs]
