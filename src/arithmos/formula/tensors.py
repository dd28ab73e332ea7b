"""SymPy expressions as functions of tensors."""

from collections.abc import Callable, Sequence

import sympy
import torch

from .callables import Functions, check_width, evaluate

TORCH: Functions = {
    sympy.Abs: torch.abs,
    sympy.cos: torch.cos,
    sympy.exp: torch.exp,
    sympy.sign: torch.sign,
    sympy.Max: lambda one, other: torch.clamp(other, min=one) if isinstance(one, float) else torch.maximum(one, other),
    sympy.Min: lambda one, other: torch.clamp(other, max=one) if isinstance(one, float) else torch.minimum(one, other),
}


def torch_function(
    outputs: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a differentiable function from tensors `(*, inputs)` to tensors `(*, outputs)`."""

    def function(x: torch.Tensor) -> torch.Tensor:
        if not x.is_floating_point():
            raise TypeError(f"the input must be a floating-point tensor, got {x.dtype}; convert it with x.float()")
        check_width(tuple(x.shape), len(symbols))
        values = evaluate(outputs, {symbol: x[..., i] for i, symbol in enumerate(symbols)}, TORCH)
        return torch.stack(
            [torch.as_tensor(v, dtype=x.dtype, device=x.device).expand(x.shape[:-1]) for v in values], -1
        )

    return function
