r"""NAC of logarithms with the weights of the NMU (Madsen & Johansen, 2020).

.. math:: z = \exp(W \log(|x| + \epsilon)), \qquad W = \mathrm{clamp}(\hat W, 0, 1)
"""

import torch  # noqa: F401 (for the examples)
from torch import Tensor

from .._typing import Device, Dtype, Float
from ._aggregate import exp_log
from ._clamp import clamp
from ._unit import Unit
from .nmu import Selecting


def nac_mul_nmu(x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"]) -> Float[Tensor, "*batch o"]:
    """Products of powers of the inputs' magnitudes, with the exponents `weight`, clipped to [0, 1]."""
    return exp_log(x, clamp(weight, 0.0, 1.0))


class NACMulNMU(Selecting):
    """Products of magnitudes, with exponents kept in [0, 1].

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        init: "default" draws W from U[0.25, 0.75], as the published runs did; "paper" from U[-0.37, 1.37], which has
            the variance 1/4 that the paper derives. A value outside [0, 1] counts as 0 or 1, and the first projection
            makes it so.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> nac = NACMulNMU(3, 1)
        >>> _ = nac.weight.data.copy_(torch.tensor([[1.0, 0.0, 1.0]]))
        >>> nac(torch.tensor([2.0, 5.0, -3.0])).round().item()
        6.0
    """

    def __init__(
        self, in_features: int, out_features: int, *, init: str = "default", device: Device = None, dtype: Dtype = None
    ) -> None:
        super().__init__(in_features, out_features, init=init, device=device, dtype=dtype)

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return nac_mul_nmu(x, self.weight)


unit = Unit(NACMulNMU, name="NACMulNMU", label="NAC•,NMU", paper="Madsen & Johansen (2020)")
