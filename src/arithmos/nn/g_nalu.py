r"""Golden-ratio NALU (Rana et al., 2019).

.. math::

    z = g \odot (W x) + (1 - g) \odot \exp(W \log(|x| + \epsilon)), \qquad
    W = \tanh(c \hat W) \odot \sigma(c \hat M), \quad g = \sigma(c\,G x), \quad c = \ln \varphi \approx 0.4812

The paper replaces e by the golden ratio :math:`\varphi` in tanh, sigmoid, exp and log. The last two undo each other, so
it is a NALU with parameters scaled by c.
"""

import math

import torch
from torch import Tensor

from .._typing import Device, Dtype, Float
from ._gate import gate
from ._init import GlorotUniform, NACRange
from ._layer import UnitLayer, matrix
from ._reading import Reading, unless
from ._unit import Unit
from .nac_add import nac_weight
from .nalu import nalu

SLOPE = math.log((1 + math.sqrt(5)) / 2)
"""Logarithm of the golden ratio."""
INIT, GATE_INIT = NACRange(), GlorotUniform()


def g_nalu(
    x: Float[Tensor, "*batch i"],
    W_hat: Float[Tensor, "o i"],
    M_hat: Float[Tensor, "o i"],
    gate_weight: Float[Tensor, "o i"],
) -> Float[Tensor, "*batch o"]:
    """`nalu` with shared weights, of parameters scaled by the logarithm of the golden ratio."""
    return nalu(x, (SLOPE * W_hat, SLOPE * M_hat), SLOPE * gate_weight)


class GNALU(UnitLayer):
    """NALU with flatter slopes of tanh and sigmoid.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> GNALU(4, 2)(torch.ones(8, 4)).shape
        torch.Size([8, 2])
    """

    def __init__(self, in_features: int, out_features: int, *, device: Device = None, dtype: Dtype = None) -> None:
        super().__init__(in_features, out_features)
        self.W_hat = matrix(out_features, in_features, device, dtype)
        self.M_hat = matrix(out_features, in_features, device, dtype)
        self.G = matrix(out_features, in_features, device, dtype)
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the parameters as a NALU does."""
        INIT.draw_(self.W_hat, generator)
        INIT.draw_(self.M_hat, generator)
        GATE_INIT.draw_(self.G, generator)

    def weights(self) -> dict[str, Tensor]:
        return {"add": nac_weight(SLOPE * self.W_hat, SLOPE * self.M_hat)}

    def gate_value(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        """Return the openness of the gate: 1 for the sum, 0 for the product."""
        return gate(x, SLOPE * self.G)

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return the side of each gate, which must be the same for all rows."""
        is_open = (self.gate_value(x) > 0.5).reshape(-1, self.out_features)
        weight = unless(is_open.any(0) & ~is_open.all(0), self.weights()["add"])
        return Reading(weight, ~is_open.any(0), grid=2, signed=False)

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return g_nalu(x, self.W_hat, self.M_hat, self.G)


unit = Unit(GNALU, name="GNALU", label="G-NALU", paper="Rana et al. (2019)")
