"""Clipping of weights."""

import torch
from torch import Tensor


def clamp(weight: Tensor, low: float, high: float) -> Tensor:
    """Clip weights to [low, high], with slope 1 on the bounds and 0 outside.

    `torch.clamp` gives the same values, but its slope on a bound is 1 in some versions of torch and 0 in others (2.15).
    With 0, a weight that was projected onto a bound would never leave it again.

    Args:
        weight: weights of any shape.
        low: the lower bound.
        high: the upper bound.

    Example:
        >>> weight = torch.tensor([-0.5, 0.0, 0.5, 1.0, 1.5], requires_grad=True)
        >>> clamp(weight, 0.0, 1.0).sum().backward()
        >>> weight.grad
        tensor([0., 1., 1., 1., 0.])
    """
    return torch.where(weight < low, low, torch.where(weight > high, high, weight))
