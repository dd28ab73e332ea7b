"""`Reading`: what a layer computes once its weights are rounded."""

from dataclasses import dataclass

import torch
from torch import Tensor

from .._typing import Float


@dataclass(frozen=True)
class Reading:
    """Outputs as sums, or as products of powers of the inputs.

    Args:
        weight: coefficients of the sums, or exponents; NaN for an output that is neither.
        product: whether each output is a product.
        grid: steps per integer on which exponents are rounded: 2 for a unit that can take roots.
        signed: whether a product has the signs of the inputs; otherwise it is one of magnitudes.
    """

    weight: Float[Tensor, "o i"]
    product: Tensor
    grid: int = 1
    signed: bool = True

    @staticmethod
    def sums(weight: Float[Tensor, "o i"]) -> "Reading":
        """Return the reading of a layer of sums."""
        return Reading(weight, torch.zeros(len(weight), dtype=torch.bool))

    @staticmethod
    def products(weight: Float[Tensor, "o i"], grid: int = 1) -> "Reading":
        """Return the reading of a layer of products."""
        return Reading(weight, torch.ones(len(weight), dtype=torch.bool), grid)


def unless(wrong: Tensor, weight: Float[Tensor, "o i"]) -> Float[Tensor, "o i"]:
    """Return the weights, with NaN in the rows of outputs that have no formula."""
    return weight.masked_fill(wrong.reshape(len(weight), -1).any(-1, keepdim=True), torch.nan)
