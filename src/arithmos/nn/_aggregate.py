"""Sum and exp-log: two of the three aggregations from effective weights and an input to an output."""

import contextlib
import functools
from collections.abc import Callable
from typing import ParamSpec

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import handle_torch_function, has_torch_function

from .._typing import Float

EPSILON = 1e-7
"""Term added to every magnitude before its logarithm is taken."""

P = ParamSpec("P")


def overridable(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Let types that override torch's functions override this one too, so that `torch.fx` records it as one call."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        if has_torch_function(args):
            overridden: Tensor = handle_torch_function(call, args, *args, **kwargs)
            return overridden
        return function(*args, **kwargs)

    return call


def check_input(x: Tensor, weight: Tensor) -> None:
    if not x.is_floating_point():
        raise TypeError(f"the input must be a floating-point tensor, got {x.dtype}; convert it, e.g. with x.float()")
    if x.dim() == 0 or x.shape[-1] != weight.shape[-1]:
        raise ValueError(
            f"the last axis of the input must have size in_features = {weight.shape[-1]}, "
            f"got an input of shape {tuple(x.shape)}"
        )


def full_precision(device: torch.device) -> contextlib.AbstractContextManager[None]:
    """Disable autocast, in a context only where it is on, so that exporters need not know about it."""
    if device.type != "meta" and torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return contextlib.nullcontext()


def at_least_single(*tensors: Tensor) -> tuple[torch.dtype, list[Tensor]]:
    """Return the common type of the tensors, and the tensors in it, or in float32 if it is a half type."""
    dtype = tensors[0].dtype
    for tensor in tensors[1:]:
        dtype = torch.promote_types(dtype, tensor.dtype)
    working = torch.promote_types(dtype, torch.float32)
    return dtype, [tensor.to(working) for tensor in tensors]


@overridable
def linear(
    x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], bias: Float[Tensor, " o"] | None = None
) -> Float[Tensor, "*batch o"]:
    r"""Weighted sums, :math:`z_o = \sum_i w_{oi} x_i + b_o`.

    Example:
        >>> linear(torch.tensor([2.0, 3.0]), torch.tensor([[1.0, -1.0]]))
        tensor([-1.])
    """
    check_input(x, weight)
    return F.linear(x, weight, bias)


@overridable
def exp_log(
    x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], *, epsilon: float = EPSILON
) -> Float[Tensor, "*batch o"]:
    r"""Products of powers of magnitudes, :math:`z_o = \exp \sum_i w_{oi} \log(|x_i| + \epsilon)`.

    The result has the common type of `x` and `weight`; half precision, and autocast, are computed in float32.

    Example:
        >>> exp_log(torch.tensor([2.0, -3.0]), torch.tensor([[1.0, 2.0], [1.0, -1.0]]))
        tensor([18.0000,  0.6667])
    """
    check_input(x, weight)
    dtype, (x, weight) = at_least_single(x, weight)
    with full_precision(x.device):
        return F.linear(torch.log(x.abs() + epsilon), weight).exp().to(dtype)
