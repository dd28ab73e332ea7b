r"""Neural Addition Unit (Madsen & Johansen, 2020).

.. math:: z = W x, \qquad W = \mathrm{clamp}(\hat W, -1, 1)

A weight of 1 adds its input, -1 subtracts it, 0 leaves it out.
"""

from torch import Tensor

from .._typing import Float
from ._aggregate import linear
from ._clamp import clamp
from ._clipped import Clipped
from ._init import GlorotUniform, Init, Uniform
from ._unit import Unit

INITS: dict[str, Init] = {
    "default": GlorotUniform(cap=0.5),
    "paper": GlorotUniform(),
    "small": Uniform(0.0, 0.1),
    "fifth": GlorotUniform(factor=0.2),
}


def nau(x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], *, clip: bool = True) -> Float[Tensor, "*batch o"]:
    """Weighted sums of the inputs, with the weights clipped to [-1, 1] by default."""
    return linear(x, clamp(weight, -1.0, 1.0) if clip else weight)


class NAU(Clipped):
    """Sums and differences of inputs, with weights kept in [-1, 1].

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        init: "default" draws W as Glorot and Bengio propose, but within [-0.5, 0.5], as the published runs did; "paper"
            without that cap; "small" from U[0, 0.1], as Heim et al. (2020) did with 100 inputs; "fifth" from a fifth
            of the range of "paper", as they did for a differential equation.
        project: whether W is to be projected into [-1, 1] after every optimizer step, by `arithmos.constrain` or by
            hand.
        clip: whether the forward pass clips W to [-1, 1], which changes nothing if W is projected too.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> import torch
        >>> nau = NAU(3, 1)
        >>> _ = nau.weight.data.copy_(torch.tensor([[1.0, 0.0, -1.0]]))
        >>> nau(torch.tensor([5.0, 7.0, 3.0]))
        tensor([2.], grad_fn=...)
    """

    inits = INITS
    limits = (-1.0, 1.0)
    identity = 0.0

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return nau(x, self.weight, clip=self.clip)


unit = Unit(NAU, name="NAU", label="NAU", paper="Madsen & Johansen (2020)")
