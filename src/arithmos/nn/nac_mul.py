r"""Neural accumulator of logarithms (Trask et al., 2018).

.. math:: z = \exp(W \log(|x| + \epsilon)), \qquad W = \tanh(\hat W) \odot \sigma(\hat M)

Products and quotients of magnitudes; the sign of the input is lost.
"""

import torch  # noqa: F401 (for the examples)
from torch import Tensor

from .._typing import Float
from ._aggregate import exp_log
from ._unit import Unit
from .nac_add import NACAdd, nac_weight


def nac_mul(
    x: Float[Tensor, "*batch i"], W_hat: Float[Tensor, "o i"], M_hat: Float[Tensor, "o i"]
) -> Float[Tensor, "*batch o"]:
    """Products of powers of the inputs' magnitudes, with the exponents of `nac_weight`."""
    return exp_log(x, nac_weight(W_hat, M_hat))


class NACMul(NACAdd):
    """Products and quotients of magnitudes, with exponents that tend to -1, 0 and 1.

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
        >>> nac = NACMul(2, 1)
        >>> _ = nac.W_hat.data.copy_(torch.tensor([[20.0, -20.0]])), nac.M_hat.data.fill_(20.0)
        >>> nac(torch.tensor([6.0, -3.0])).round().item()
        2.0
    """

    identity = 1.0

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return nac_mul(x, self.W_hat, self.M_hat)


unit = Unit(NACMul, name="NACMul", label="NAC•", paper="Trask et al. (2018)")
