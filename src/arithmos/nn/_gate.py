"""Gate of the gated units: a learned choice, per output, between two values."""

import torch
from torch import Tensor

from .._typing import Device, Dtype, Float
from ._aggregate import linear
from ._init import GlorotUniform
from ._layer import UnitLayer, matrix


def gate(x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"]) -> Float[Tensor, "*batch o"]:
    """Openness of the gate, sigmoid(G x), in (0, 1)."""
    return torch.sigmoid(linear(x, weight))


def mix(
    g: Float[Tensor, "*batch o"], add: Float[Tensor, "*batch o"], mul: Float[Tensor, "*batch o"]
) -> Float[Tensor, "*batch o"]:
    """Choose `add` where the gate is open and `mul` where it is closed: g * add + (1 - g) * mul."""
    return g * add + (1 - g) * mul


class SigmoidGate(UnitLayer):
    """Gate matrix G; a module of its own, so that it comes last in the `parameters()` of the unit."""

    rule = GlorotUniform()

    def __init__(self, in_features: int, out_features: int, *, device: Device = None, dtype: Dtype = None) -> None:
        super().__init__(in_features, out_features)
        self.weight = matrix(out_features, in_features, device, dtype)
        self.reset_parameters()

    def weights(self) -> dict[str, Tensor]:
        return {}

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return gate(x, self.weight)
