"""Product of interpolated inputs, the third aggregation, without a tensor of batch x out x in.

A product by halves, (f_1 f_5)(f_2 f_6) ..., is differentiated without division: the gradient of a factor is the product
of the others, whether or not some are zero. A large batch is processed in pieces that stay in the cache, and the
backward pass recomputes the factors instead of keeping them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import FunctionCtx

from .._typing import Float
from ._aggregate import at_least_single, check_input, full_precision, overridable

PIECE = {"cpu": 2**19, "cuda": 2**25}
"""Number of factors to multiply at a time: a cache's worth, or enough to keep a device busy."""


_plain: ContextVar[bool] = ContextVar("plain", default=False)


@contextmanager
def plain_products() -> Iterator[None]:
    """Let `product` be the formula in one line, for those who read a unit's operations."""
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)


@overridable
def product(x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"]) -> Float[Tensor, "*batch o"]:
    r"""Products of the inputs that the weights select, :math:`z_o = \prod_i (w_{oi} x_i + 1 - w_{oi})`.

    The result has the common type of `x` and `weight`; half precision is computed in float32. Memory grows only with
    batch x in + batch x out + out x in, except where torch transforms or compiles the function (`torch.func`,
    `torch.compile`, `torch.export`, forward-mode derivatives) or differentiates it twice: then all factors are kept.

    Example:
        >>> product(torch.tensor([2.0, 3.0, 5.0]), torch.tensor([[1.0, 0.0, 1.0], [0.5, 0.0, 0.0]]))
        tensor([10.0000,  1.5000])
    """
    check_input(x, weight)
    if not torch.compiler.is_compiling() and _plain.get():  # Dynamo cannot read the variable
        return (weight * x.unsqueeze(-2) + (1 - weight)).prod(-1)
    dtype, (x, weight) = at_least_single(x, weight)
    if _transformed(x, weight) or x.numel() * weight.shape[0] <= _piece(x):
        return _whole(x, weight).to(dtype)
    z: Tensor = _Pieces.apply(x.reshape(-1, x.shape[-1]), weight)  # type: ignore[no-untyped-call]
    return z.view(*x.shape[:-1], weight.shape[0]).to(dtype)


def _piece(x: Tensor) -> int:
    return PIECE.get(x.device.type, PIECE["cuda"])


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


def _transposed(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, int]:
    """Return the input as [i, b, 1], the weights as [i, 1, o], and the size of a piece of b.

    With i in front, the halves of the factors are contiguous.
    """
    rows = max(1, _piece(x) // weight.numel())
    return x.t().contiguous().unsqueeze(2), weight.t().contiguous().unsqueeze(1), rows


def _others(factors: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient of each factor: `grad` [b, o] times the product of the other factors, [i, b, o]."""
    levels = [factors]
    while (n := len(f := levels[-1])) > 1:
        half = n // 2
        above = f[:half] * f[n - half :]
        levels.append(torch.cat([above, f[half : n - half]]) if n % 2 else above)
    others = grad.unsqueeze(0)
    levels.pop()
    while levels:
        f = levels.pop()
        n, half = len(f), len(f) // 2
        above, below = others[:half], torch.empty_like(f)
        torch.mul(above, f[n - half :], out=below[:half])
        torch.mul(above, f[:half], out=below[n - half :])
        if n % 2:
            below[half] = others[half]
        others = below
    return others


class _Pieces(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        z = x.new_empty(len(x), len(weight))
        x, w, rows = _transposed(x, weight)
        for x_piece, z_piece in zip(torch.split(x, rows, 1), torch.split(z, rows), strict=True):
            f = torch.addcmul(1 - w, w, x_piece)  # [i, b, o]
            while (n := len(f)) > 1:
                f[: n // 2].mul_(f[n - n // 2 :])
                f = f[: n - n // 2]
            z_piece.copy_(f[0])
        return z

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        if torch.is_grad_enabled():  # a graph of the gradient is needed
            inputs = [t.view_as(t) for t in (x, weight)]  # as views, one is not upstream of the other
            z = _whole(*inputs)
            wanted = [t for t in inputs if t.requires_grad]
            grads = iter(torch.autograd.grad(z, wanted, grad, create_graph=True))
            grad_x, grad_weight = (next(grads) if t.requires_grad else None for t in inputs)
            return grad_x, grad_weight
        x, w, rows = _transposed(x, weight)
        gx, gw = torch.empty_like(x), torch.zeros_like(w)
        with full_precision(x.device):
            for start in range(0, len(grad), rows):
                x_piece, g = x[:, start : start + rows], grad[start : start + rows]
                others = _others(torch.addcmul(1 - w, w, x_piece), g)  # [i, b, o]
                gx[:, start : start + rows] = torch.bmm(others, w.transpose(1, 2))
                gw += torch.bmm((x_piece - 1).transpose(1, 2), others)
        return gx.squeeze(2).t(), gw.squeeze(1).t()
