"""Whole weights of a noisy product of two sums: which input belongs to which sum.

Rounding fitted weights one by one wastes what is known. The sum of the two weights of an input is fitted far better
than their difference, and decides which inputs are in one sum only. Which sum that is follows from the squared error,
by moving inputs from one sum to the other, singly and in pairs, until no move reduces it.
"""

import torch
from torch import Tensor

from .._typing import Float


def rounded_together(weights: Float[Tensor, "2 i"]) -> tuple[Float[Tensor, "2 i"], float]:
    """Round two sums, and return them with the largest distance that a sum of two weights was moved.

    Example:
        >>> rounded_together(torch.tensor([[1.0, 1.0, 0.4, 0.2], [1.0, 1.0, 0.6, -0.2]]))[0].tolist()
        [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
    """
    magnitude = weights.abs()
    large = magnitude > magnitude.amax(1, keepdim=True) / 2
    scale = torch.where(large, magnitude, torch.nan).nanmedian(1, keepdim=True).values
    one, other = weights / scale.clamp_min(torch.finfo(weights.dtype).tiny)
    both = (one + other).round().clamp(-2, 2)
    apart = torch.where(both.abs() == 1, torch.where(one.abs() > other.abs(), both, -both), 0.0)
    return torch.stack([both + apart, both - apart]) / 2, (one + other - both).abs().max().item()


def exchanged(
    weights: Float[Tensor, "2 i"], x: Float[Tensor, "r i"], t: Float[Tensor, " r"], variance: float
) -> tuple[Float[Tensor, "2 i"], float]:
    """Move inputs between two sums while that reduces the squared error of their product.

    Args:
        weights: -1, 0 or 1 by sum and input.
        x: inputs.
        t: targets.
        variance: variance of the noise.

    Returns:
        The weights, and the odds that one of their neighbors is right instead.
    """
    weights = weights.clone()
    movable = (weights.abs().sum(0) == 1).nonzero().squeeze(1)
    change = x.new_zeros(0, 0)
    for _ in range(2 * len(movable)):
        change = _changes(weights, movable, x, t)
        place = int(change.argmin())
        if change.flatten()[place] >= 0:
            break
        moved = movable[[*{place // len(movable), place % len(movable)}]]
        weights[:, moved] = weights[:, moved].flip(0)
    return weights, torch.exp(-change / (2 * variance)).triu().sum().item()


def _changes(
    weights: Float[Tensor, "2 i"], movable: Tensor, x: Float[Tensor, "r i"], t: Float[Tensor, " r"]
) -> Float[Tensor, "k k"]:
    """Return how much the squared error grows by moving two inputs, or one on the diagonal.

    Moving a part q of the first sum to the second changes the product by q (a - b) - q².
    """
    a, b = x @ weights.mT[:, 0], x @ weights.mT[:, 1]
    error = a * b - t
    q = x[:, movable] * (weights[0] - weights[1])[movable]  # [r, k]
    delta = q * (a - b).unsqueeze(1) - q.square()
    products = delta.mT @ delta
    single = 2 * (error @ delta) + products.diagonal()
    cross = (delta * q).mT @ q
    both = single.unsqueeze(1) + single + 2 * products + 4 * q.square().mT @ q.square()
    both = both - 4 * (cross + cross.mT + (error.unsqueeze(1) * q).mT @ q)
    return both.diagonal_scatter(single)
