"""Jacobians of functions of one vector, with no more passes than the smaller side has entries."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import jacrev, vjp, vmap

from .._typing import Float
from .damped import check_memory


def jacobian(
    function: Callable[[Tensor], Tensor], point: Float[Tensor, " p"]
) -> tuple[Float[Tensor, " r"], Float[Tensor, "r p"]]:
    """Return the value of a function and its Jacobian.

    Columns are computed as the derivative of the reverse pass, which is linear, in the direction of each parameter:
    this equals forward mode, and needs no rules beyond those of the reverse pass.

    Example:
        >>> value, matrix = jacobian(lambda p: torch.stack([p[0] * p[1], p[0], p[1]]), torch.tensor([2.0, 3.0]))
        >>> matrix.tolist()
        [[3.0, 2.0], [1.0, 0.0], [0.0, 1.0]]
    """
    value = function(point)
    check_memory(len(value), len(point))
    if len(point) > len(value):
        return value, jacrev(function)(point)
    push = vjp(lambda direction: vjp(function, point)[1](direction)[0], torch.zeros_like(value))[1]
    (columns,) = vmap(push)(torch.eye(len(point), dtype=point.dtype, device=point.device))
    return value, columns.mT
