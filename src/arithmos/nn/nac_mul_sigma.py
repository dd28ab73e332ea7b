r"""NAC of logarithms with weights in (0, 1) (Madsen & Johansen, 2020).

.. math:: z = \exp(W \log(|x| + \epsilon)), \qquad W = \sigma(\hat W)

Without negative exponents, a small input cannot make the output explode.
"""

import torch
from torch import Tensor

from .._typing import Device, Dtype, Float
from ._aggregate import exp_log
from ._init import GlorotNormal
from ._layer import UnitLayer, matrix
from ._unit import Unit


def nac_mul_sigma(x: Float[Tensor, "*batch i"], W_hat: Float[Tensor, "o i"]) -> Float[Tensor, "*batch o"]:
    """Products of powers of the inputs' magnitudes, with the exponents sigmoid(W_hat)."""
    return exp_log(x, torch.sigmoid(W_hat))


class NACMulSigma(UnitLayer):
    """Products of magnitudes, with exponents in (0, 1).

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> nac = NACMulSigma(2, 1)
        >>> _ = nac.W_hat.data.fill_(20.0)
        >>> nac(torch.tensor([2.0, -3.0])).round().item()
        6.0
    """

    rule = GlorotNormal()
    identity = 1.0

    def __init__(self, in_features: int, out_features: int, *, device: Device = None, dtype: Dtype = None) -> None:
        super().__init__(in_features, out_features)
        self.W_hat = matrix(out_features, in_features, device, dtype)
        self.reset_parameters()

    def weights(self) -> dict[str, Tensor]:
        return {"weight": torch.sigmoid(self.W_hat)}

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return nac_mul_sigma(x, self.W_hat)


unit = Unit(NACMulSigma, name="NACMulSigma", label="NAC•,σ", paper="Madsen & Johansen (2020)")
