r"""Neural Reciprocal Unit (Mistry et al., 2022).

.. math::

    z_o = \prod_i \bigl(\mathrm{sign}(x_i) |x_i|^{w_{oi}} a_{oi} + 1 - a_{oi}\bigr), \qquad
    a = \tanh^2(1000\,w) \text{ in training}, \quad a = |w| \text{ in evaluation}

A weight of 1 multiplies by its input, -1 divides by it, 0 leaves it out. Training and evaluation are different
functions wherever a weight is none of these.
"""

import math

import torch
from torch import Tensor

from .._typing import Device, Dtype, Float
from ._aggregate import at_least_single, check_input, full_precision
from ._init import GlorotUniform
from ._layer import UnitLayer, matrix, sparsity
from ._reading import Reading
from ._unit import Unit

STEEPNESS = 1000.0


def nru(
    x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], *, training: bool = False, separate: bool = False
) -> Float[Tensor, "*batch o"]:
    """Products and quotients of the inputs that the weights select.

    The result has the common type of `x` and `weight`; half precision, and autocast, are computed in float32.

    Args:
        x: the input.
        weight: the exponents.
        training: whether an input is selected by tanh²(1000 w), instead of |w|.
        separate: whether the sign is a product of its own, of signs to the power of rounded weights, without gradient.

    Example:
        >>> nru(torch.tensor([-6.0, 3.0, 5.0]), torch.tensor([[1.0, -1.0, 0.0]]))
        tensor([-2.])
    """
    check_input(x, weight)
    dtype, (x, weight) = at_least_single(x, weight)
    with full_precision(x.device):
        x = x.unsqueeze(-2)  # [*batch, 1, i]
        used = torch.tanh(STEEPNESS * weight).square() if training else weight.abs()
        power = torch.pow(x.abs(), weight)  # [*batch, o, i]
        if not separate:
            return (torch.sign(x) * power * used + (1 - used)).prod(-1).to(dtype)
        flips = ((x < 0).to(x.dtype) * torch.round(weight.detach())).sum(-1)
        return ((power * used + (1 - used)).prod(-1) * torch.cos(math.pi * flips)).to(dtype)


class NRU(UnitLayer):
    """Products and quotients of inputs, with weights projected into [-1, 1].

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        separate: whether signs are multiplied apart from magnitudes; see `functional.nru`.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> nru = NRU(2, 1).eval()
        >>> _ = nru.weight.data.copy_(torch.tensor([[1.0, -1.0]]))
        >>> nru(torch.tensor([3.0, -2.0]))
        tensor([-1.5000], grad_fn=...)
    """

    rule = GlorotUniform(cap=0.5)

    def __init__(
        self, in_features: int, out_features: int, *, separate: bool = False, device: Device = None, dtype: Dtype = None
    ) -> None:
        super().__init__(in_features, out_features)
        self.separate = separate
        self.weight = matrix(out_features, in_features, device, dtype)
        self.reset_parameters()

    def weights(self) -> dict[str, Tensor]:
        return {"weight": self.weight}

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return the range of W."""
        return {"weight": (-1.0, 1.0)}

    def sparsity(self) -> Float[Tensor, ""]:
        """Return `functional.sparsity` of W, as a NAU does."""
        return sparsity(self.weight, signed=True)

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return the exponents."""
        return Reading.products(self.weight)

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return nru(x, self.weight, training=self.training, separate=self.separate)


unit = Unit(NRU, name="NRU", label="NRU", paper="Mistry et al. (2022)")
