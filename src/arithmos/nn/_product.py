"""The product of interpolated inputs, the third aggregation, without a tensor of batch x out x in.

A product by halves, (f_1 f_5)(f_2 f_6) ..., needs no division to be differentiated: the gradient of a factor
is the product of the others, whether or not some are zero. A large batch goes through in pieces that stay in
the cache, and the backward pass makes the factors again instead of keeping them.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import FunctionCtx

from .._typing import Float
from ._aggregate import at_least_single, check_input, full_precision

WHOLE = 2**22
"""Up to so many factors are multiplied in one piece."""

PIECE = {"cpu": 2**18, "cuda": 2**24}
"""Factors in one piece of a larger problem, about what the cache of the device holds."""


def product(x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"]) -> Float[Tensor, "*batch o"]:
    r"""Products of the inputs that the weights select, :math:`z_o = \prod_i (w_{oi} x_i + 1 - w_{oi})`.

    The result has the common type of `x` and `weight`; half precision is computed in float32. Memory grows
    with batch x in + batch x out + out x in only, except where torch transforms or compiles the function
    (`torch.func`, `torch.compile`, `torch.export`, forward-mode derivatives) or differentiates it twice:
    there all factors are kept.

    Example:
        >>> product(torch.tensor([2.0, 3.0, 5.0]), torch.tensor([[1.0, 0.0, 1.0], [0.5, 0.0, 0.0]]))
        tensor([10.0000,  1.5000])
    """
    check_input(x, weight)
    dtype, (x, weight) = at_least_single(x, weight)
    if x.numel() * weight.shape[0] <= WHOLE or _transformed(x, weight):
        return _whole(x, weight).to(dtype)
    z: Tensor = _Pieces.apply(x.reshape(-1, x.shape[-1]), weight)  # type: ignore[no-untyped-call]
    return z.view(*x.shape[:-1], weight.shape[0]).to(dtype)


def _transformed(x: Tensor, weight: Tensor) -> bool:
    return (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or any(forward_ad.unpack_dual(t).tangent is not None for t in (x, weight))  # type: ignore[no-untyped-call]
    )


def _whole(x: Tensor, weight: Tensor) -> Tensor:
    z = weight * x.unsqueeze(-2) + (1 - weight)  # [*batch, o, i]
    while (n := z.shape[-1]) > 1:
        left, right = torch.split(z, [n - n // 2, n // 2], -1)
        if n % 2:
            left, middle = torch.split(left, [n // 2, 1], -1)
            z = torch.cat([left * right, middle], -1)
        else:
            z = left * right
    return z.squeeze(-1)


def _pieces(x: Tensor, weight: Tensor) -> int:
    """Rows of x in one piece."""
    return max(1, PIECE.get(x.device.type, PIECE["cuda"]) // weight.numel())


def _factors(x: Tensor, weight: Tensor) -> Tensor:
    """The factors with the axis of the inputs in front, so that halves of it are contiguous: [i, b, o]."""
    w = weight.t().unsqueeze(1)  # [i, 1, o]
    return torch.addcmul(1 - w, w, x.t().unsqueeze(-1))


def _others(factors: Tensor, grad: Tensor) -> Tensor:
    """The gradient of each factor: `grad` [b, o] times the product of the other factors, [i, b, o]."""
    levels = [factors]
    while (n := len(levels[-1])) > 1:
        f, half = levels[-1], n // 2
        above = torch.empty_like(f[half:])
        torch.mul(f[:half], f[n - half :], out=above[:half])
        above[half:] = f[half : n - half]
        levels.append(above)
    others = grad.unsqueeze(0)
    for f in reversed(levels[:-1]):
        n, half = len(f), len(f) // 2
        below = torch.empty_like(f)
        torch.mul(others[:half], f[n - half :], out=below[:half])
        torch.mul(others[:half], f[:half], out=below[n - half :])
        below[half : n - half] = others[half:]
        others = below
    return others


class _Pieces(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        z = x.new_empty(len(x), len(weight))
        rows = _pieces(x, weight)
        for x_piece, z_piece in zip(torch.split(x, rows), torch.split(z, rows), strict=True):
            f = _factors(x_piece, weight)
            while (n := len(f)) > 1:
                f[: n // 2].mul_(f[n - n // 2 :])
                f = f[: n - n // 2]
            z_piece.copy_(f[0])
        return z

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        if torch.is_grad_enabled():  # asked for a graph of the gradient
            grads = torch.autograd.grad(
                _whole(x, weight), (x, weight), grad, create_graph=True, allow_unused=True
            )
            return grads[0], grads[1]
        grad_x, grad_weight = torch.empty_like(x), torch.zeros_like(weight.t())
        w, rows = weight.t().unsqueeze(-1), _pieces(x, weight)  # [i, o, 1]
        with full_precision(x.device):
            for x_piece, g, out in zip(*(torch.split(t, rows) for t in (x, grad, grad_x)), strict=True):
                others = _others(_factors(x_piece, weight), g)
                out.copy_(torch.bmm(others, w).squeeze(-1).t())
                grad_weight += torch.bmm((x_piece - 1).t().unsqueeze(1), others).squeeze(1)
        return grad_x, grad_weight.t()
