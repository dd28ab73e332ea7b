r"""Neural Multiplication Unit (Madsen & Johansen, 2020).

.. math:: z_o = \prod_i (w_{oi} x_i + 1 - w_{oi}), \qquad W = \mathrm{clamp}(\hat W, 0, 1)

A weight of 1 multiplies by its input, a weight of 0 leaves the product alone.
"""

import math

from torch import Tensor

from .._typing import Float
from ._clamp import clamp
from ._clipped import Clipped
from ._init import Uniform
from ._product import product
from ._unit import Unit

INITS = {
    "default": Uniform(0.25, 0.75),
    "paper": Uniform((1 - math.sqrt(3)) / 2, (1 + math.sqrt(3)) / 2),
    "unit": Uniform(0.0, 1.0),
    "small": Uniform(0.0, 0.1),
    "near-one": Uniform(0.75, 1.0),
}


def nmu(x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], *, clip: bool = True) -> Float[Tensor, "*batch o"]:
    """Products of the inputs that the weights select; weights are clipped to [0, 1] by default."""
    return product(x, clamp(weight, 0.0, 1.0) if clip else weight)


class Selecting(Clipped):
    """Base of the layers that select inputs by weights in [0, 1]."""

    inits = INITS
    limits = (0.0, 1.0)
    identity = 1.0


class NMU(Selecting):
    """Products of inputs, with weights kept in [0, 1].

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        init: "default" draws W from U[0.25, 0.75], as the published runs did; "paper" from U[-0.37, 1.37], which has
            the variance 1/4 that the paper derives; "unit" from U[0, 1]; "small" from U[0, 0.1]; "near-one" from
            U[0.75, 1], so that no factor starts as good as switched off. A value outside [0, 1] counts as 0 or 1, and
            the first projection makes it so.
        project: whether W is to be projected into [0, 1] after every optimizer step, by `arithmos.constrain` or by
            hand.
        clip: whether the forward pass clips W to [0, 1], which changes nothing if W is projected too.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> import torch
        >>> nmu = NMU(3, 1)
        >>> _ = nmu.weight.data.copy_(torch.tensor([[1.0, 0.0, 1.0]]))
        >>> nmu(torch.tensor([2.0, 5.0, -3.0]))
        tensor([-6.], grad_fn=...)
    """

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return nmu(x, self.weight, clip=self.clip)


unit = Unit(NMU, name="NMU", label="NMU", paper="Madsen & Johansen (2020)")
