r"""Neural accumulator (Trask et al., 2018).

.. math:: z = W x, \qquad W = \tanh(\hat W) \odot \sigma(\hat M)

Both factors of a weight saturate, which pulls it towards -1, 0 and 1: differences and sums of inputs.
"""

import torch
from torch import Tensor

from .._typing import Device, Dtype, Float
from ._aggregate import linear
from ._init import Init, NACRange, Uniform
from ._layer import UnitLayer, choose, matrix
from ._unit import Unit

INITS: dict[str, Init] = {"default": NACRange(), "paper": NACRange(floor=0), "small": Uniform(0.0, 0.1)}


def nac_weight(W_hat: Float[Tensor, "o i"], M_hat: Float[Tensor, "o i"]) -> Float[Tensor, "o i"]:
    """Effective weight of a NAC, tanh(W_hat) * sigmoid(M_hat)."""
    return torch.tanh(W_hat) * torch.sigmoid(M_hat)


def nac_add(
    x: Float[Tensor, "*batch i"], W_hat: Float[Tensor, "o i"], M_hat: Float[Tensor, "o i"]
) -> Float[Tensor, "*batch o"]:
    """Weighted sums of the inputs, with the weights of `nac_weight`."""
    return linear(x, nac_weight(W_hat, M_hat))


class NACAdd(UnitLayer):
    """Sums of inputs with weights that tend to -1, 0 and 1.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        init: "default" draws W_hat and M_hat as the published runs did; "paper" follows the paper's text, which has no
            solution for in_features + out_features up to 4 and raises ValueError there; "small" draws them from
            U[0, 0.1], as Heim et al. (2020) did.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> nac = NACAdd(2, 1)
        >>> _ = nac.W_hat.data.copy_(torch.tensor([[20.0, -20.0]])), nac.M_hat.data.fill_(20.0)
        >>> nac(torch.tensor([5.0, 3.0]))
        tensor([2.], grad_fn=...)
    """

    identity = 0.0

    def __init__(
        self, in_features: int, out_features: int, *, init: str = "default", device: Device = None, dtype: Dtype = None
    ) -> None:
        super().__init__(in_features, out_features)
        self.init = init
        self.rule = choose("init", init, INITS)
        self.W_hat = matrix(out_features, in_features, device, dtype)
        self.M_hat = matrix(out_features, in_features, device, dtype)
        self.reset_parameters()

    def weights(self) -> dict[str, Tensor]:
        return {"weight": nac_weight(self.W_hat, self.M_hat)}

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return nac_add(x, self.W_hat, self.M_hat)


unit = Unit(NACAdd, name="NACAdd", label="NAC₊", paper="Trask et al. (2018)")
