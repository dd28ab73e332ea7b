"""Test of a formula on noisy targets."""

import math

from torch import Tensor

from .._typing import Float

UNEXPLAINED = 0.2
"""Largest share of the variance of the targets that can be noise."""


def compatible(
    fitted: float, whole: Float[Tensor, " r"], held: Float[Tensor, " c"], parameters: int, variance: float
) -> float:
    """Return the standard deviation of the noise if it explains the errors of a rounded formula, or NaN.

    Args:
        fitted: sum of squares of the fit before rounding.
        whole: errors of the formula on the fitted rows.
        held: errors of the formula on other rows.
        parameters: number of fitted parameters.
        variance: variance of the targets.

    Example:
        >>> import torch
        >>> error = torch.randn(100, generator=torch.Generator().manual_seed(0))
        >>> 0.8 < compatible(0.9 * error.square().sum().item(), error, error[:20], parameters=10, variance=50.0) < 1.2
        True
        >>> compatible(1e-3, error, error[:20], parameters=10, variance=50.0)
        nan
    """
    freedom = len(whole) - parameters
    if freedom <= 0:
        return math.nan
    noise = fitted / freedom
    added = (whole.square().sum().item() - fitted) / parameters
    good = noise <= UNEXPLAINED * variance and added <= noise * (1 + 4 * math.sqrt(2 / parameters + 2 / freedom))
    if good and len(held):
        good = held.square().mean().item() <= noise * (1 + 4 * math.sqrt(2 / len(held) + 2 / freedom))
    return math.sqrt(noise) if good else math.nan
