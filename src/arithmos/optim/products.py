r"""Products of powers of sums: the formulas that an additive unit followed by a multiplicative one can express.

.. math:: y = \prod_h \Bigl(\sum_i w_{hi} x_i\Bigr)^{p_h}

The exponents are given; the weights are free while they are fitted, and whole numbers in the end.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .._typing import Float
from .damped import check_memory

SLACK = 16.0
"""Factor on the error bound of rounding within which targets count as given by a formula."""


def power(z: Tensor, exponent: float) -> Tensor:
    """Return the real part of a power, which for whole exponents is the power itself.

    Example:
        >>> power(torch.tensor([-2.0, 4.0]), -1.0)
        tensor([-0.5000,  0.2500])
        >>> power(torch.tensor([1.0, 4.0]), 0.5)
        tensor([1., 2.])
    """
    if exponent == 1:
        return z
    if float(exponent).is_integer():
        return z ** int(exponent)
    return z.abs() ** exponent * torch.where(z < 0, math.cos(math.pi * exponent), 1.0)


def slope(z: Tensor, exponent: float) -> Tensor:
    """Return the derivative of `power`, which exists at 0 for exponents of 1 and above.

    Example:
        >>> slope(torch.tensor([-2.0, 0.0]), 2.0)
        tensor([-4.,  0.])
    """
    if float(exponent).is_integer():
        return exponent * z ** int(exponent - 1)
    return exponent * z.abs() ** (exponent - 1) * torch.where(z < 0, -math.cos(math.pi * exponent), 1.0)


@dataclass(frozen=True)
class ProductsOfSums:
    """Stack of products to fit: residuals and their derivatives by the weights, for `damped.iterate`.

    Args:
        x: inputs.
        t: targets.
        exponents: one per factor.
    """

    x: Float[Tensor, "s r i"]
    t: Float[Tensor, "s r"]
    exponents: tuple[float, ...]

    def __post_init__(self) -> None:
        check_memory(self.x.shape[1], len(self.exponents) * self.x.shape[2])

    def sums(self, point: Float[Tensor, "s p"]) -> Float[Tensor, "s r h"]:
        return self.x @ point.view(len(point), len(self.exponents), -1).mT

    def residuals(self, point: Float[Tensor, "s p"]) -> Float[Tensor, "s r"]:
        z = self.sums(point)
        factors = [power(z[..., h], p) for h, p in enumerate(self.exponents)]
        return (math.prod(factors[1:], start=factors[0]) - self.t) / self.scale()

    def linearize(self, point: Float[Tensor, "s p"]) -> tuple[Float[Tensor, "s r"], Float[Tensor, "s r p"]]:
        z, scale = self.sums(point), self.scale()
        factors = [power(z[..., h], p) for h, p in enumerate(self.exponents)]
        slopes = []
        for h, p in enumerate(self.exponents):
            slopes.append(math.prod(factors[:h] + factors[h + 1 :], start=slope(z[..., h], p)) / scale)
        residual = (math.prod(factors[1:], start=factors[0]) - self.t) / scale
        jacobian = torch.stack(slopes, 2).unsqueeze(3) * self.x.unsqueeze(2)  # [s, r, h, i]
        return residual, jacobian.flatten(2)

    def scale(self) -> Float[Tensor, "s 1"]:
        """Return the root mean square of the targets, in which residuals are measured."""
        return self.t.square().mean(1, keepdim=True).sqrt().clamp_min(torch.finfo(self.t.dtype).tiny)


def rounded(
    weights: Float[Tensor, "s h i"],
    exponents: tuple[float, ...],
    x: Float[Tensor, "s r i"],
    t: Float[Tensor, "s r"],
    bound: int = 1,
) -> tuple[Float[Tensor, "s h i"], Float[Tensor, " s"]]:
    """Round fitted weights to whole numbers, and return them with the largest distance that a weight was moved.

    A product of several factors leaves a scale and a sign per factor open. The scale is the median of the weights above
    half of the largest. Signs are those with which roots are real and most weights are positive, and the whole has the
    sign of `t`.
    """
    scaled = weights
    if len(exponents) > 1:
        magnitude = weights.abs()
        large = magnitude > magnitude.amax(2, keepdim=True) / 2
        scale = torch.where(large, magnitude, torch.nan).nanmedian(2, keepdim=True).values
        scaled = weights / scale.clamp_min(torch.finfo(weights.dtype).tiny)
    result = scaled.round().clamp(-bound, bound)
    moved = (scaled - result).abs().amax((1, 2))

    z = x @ result.mT  # [s, r, h]
    wanted = torch.where(result.sum(2) < 0, -1.0, 1.0)
    odd = []
    for h, p in enumerate(exponents):
        if not float(p).is_integer():
            wanted[:, h] = torch.where(z[..., h].mean(1) < 0, -1.0, 1.0)
        elif p % 2:
            odd.append(h)
    result, z = result * wanted.unsqueeze(2), z * wanted.unsqueeze(1)
    if odd:
        y = math.prod([power(z[..., h], p) for h, p in enumerate(exponents)], start=torch.ones_like(t))
        result[:, odd[-1]] *= torch.where((y * t).sum(1) < 0, -1.0, 1.0).unsqueeze(1)
    return result + 0.0, moved  # without negative zeros


def errors(
    weights: Float[Tensor, "s h i"],
    exponents: tuple[float, ...],
    x: Float[Tensor, "s r i"],
    t: Float[Tensor, "s r"],
    epsilon: float,
) -> tuple[Float[Tensor, "s r"], Float[Tensor, "s r"]]:
    """Return the error of a formula at each row, and the error that numbers of precision `epsilon` explain."""
    z, near = x @ weights.mT, SLACK * epsilon * (x.abs() @ weights.abs().mT)
    factors = [power(z[..., h], p) for h, p in enumerate(exponents)]
    y = math.prod(factors, start=torch.ones_like(t))
    explained = 2 * SLACK * epsilon * y.abs()
    for h, p in enumerate(exponents):
        own = slope(z[..., h], p).abs() * near[..., h]
        if 0 < p < 1:  # the slope of a root is infinite at 0
            own = torch.fmin(own, near[..., h] ** p)
        explained += math.prod(factors[:h] + factors[h + 1 :], start=own).abs()
    return y - t, explained.where(y.isfinite(), 0.0)
