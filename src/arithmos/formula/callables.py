"""SymPy expressions as functions of arrays and tensors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy
import torch
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
TORCH: Functions = {
    sympy.Abs: torch.abs,
    sympy.cos: torch.cos,
    sympy.exp: torch.exp,
    sympy.sign: torch.sign,
    sympy.Max: lambda one, other: torch.clamp(other, min=one) if isinstance(one, float) else torch.maximum(one, other),
    sympy.Min: lambda one, other: torch.clamp(other, max=one) if isinstance(one, float) else torch.minimum(one, other),
}


def numpy_function(
    outputs: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]
) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """Return a function from arrays `(*, inputs)` to arrays `(*, outputs)`."""

    def function(x: ArrayLike) -> NDArray[np.float64]:
        x = np.asarray(x, np.float64)
        _check(x.shape, len(symbols))
        with np.errstate(all="ignore"):
            values = evaluate(outputs, {symbol: x[..., i] for i, symbol in enumerate(symbols)}, _NUMPY)
        return np.stack([np.broadcast_to(np.asarray(value, np.float64), x.shape[:-1]) for value in values], axis=-1)

    return function


def torch_function(
    outputs: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a function from tensors `(*, inputs)` to tensors `(*, outputs)`."""

    def function(x: torch.Tensor) -> torch.Tensor:
        if not x.is_floating_point():
            raise TypeError(f"the input must be a floating-point tensor, got {x.dtype}; convert it with x.float()")
        _check(tuple(x.shape), len(symbols))
        values = evaluate(outputs, {symbol: x[..., i] for i, symbol in enumerate(symbols)}, TORCH)
        return torch.stack(
            [torch.as_tensor(v, dtype=x.dtype, device=x.device).expand(x.shape[:-1]) for v in values], -1
        )

    return function


def _check(shape: tuple[int, ...], inputs: int) -> None:
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
