"""Gate of the gated units: a learned choice, per output, between two values."""

import torch
from torch import Tensor, nn

from .._typing import Device, Dtype, Float
from ._aggregate import linear
from ._init import GlorotUniform, Init
from ._layer import UnitLayer, matrix

GLOROT = GlorotUniform()


def gate(
    x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], bias: Float[Tensor, " o"] | None = None
) -> Float[Tensor, "*batch o"]:
    """Openness of the gate, sigmoid(G x + b), in (0, 1)."""
    return torch.sigmoid(linear(x, weight, bias))


def mix(
    g: Float[Tensor, "*batch g"], add: Float[Tensor, "*batch o"], mul: Float[Tensor, "*batch o"]
) -> Float[Tensor, "*batch o"]:
    """Choose `add` where the gate is open and `mul` where it is closed: g * add + (1 - g) * mul."""
    return g * add + (1 - g) * mul


class SigmoidGate(UnitLayer):
    """Gate matrix G, and its bias if it has one; a module of its own, so that it comes last in the `parameters()`."""

    bias: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        rule: Init = GLOROT,
        biased: bool = False,
        device: Device = None,
        dtype: Dtype = None,
    ) -> None:
        super().__init__(in_features, out_features)
        self.rule = rule
        self.weight = matrix(out_features, in_features, device, dtype)
        bias = nn.Parameter(torch.empty(out_features, device=device, dtype=dtype)) if biased else None
        self.register_parameter("bias", bias)
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the matrix, then the bias, both by one rule."""
        for parameter in self.parameters():
            self.rule.draw_(parameter, generator)

    def weights(self) -> dict[str, Tensor]:
        return {}

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return gate(x, self.weight, self.bias)
