r"""Neural Multiplication Unit (Madsen & Johansen, 2020).

.. math:: z_o = \prod_i (w_{oi} x_i + 1 - w_{oi}), \qquad W = \mathrm{clamp}(\hat W, 0, 1)

A weight of 1 multiplies by its input, a weight of 0 leaves the product alone.
"""

import math

import torch
from torch import Tensor

from .._typing import Float
from ._clamp import clamp
from ._init import Uniform
from ._layer import UnitLayer, choose, matrix
from ._parts import Clamp, Leaf, Product
from ._product import product
from ._unit import Unit

INITS = {
    "default": Uniform(0.25, 0.75),
    "paper": Uniform((1 - math.sqrt(3)) / 2, (1 + math.sqrt(3)) / 2),
    "unit": Uniform(0.0, 1.0),
}


def nmu(x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], *, clip: bool = True) -> Float[Tensor, "*batch o"]:
    """Products of the inputs that the weights select; weights are clipped to [0, 1] by default."""
    return product(x, clamp(weight, 0.0, 1.0) if clip else weight)


class NMU(UnitLayer):
    """Products of inputs, with weights kept in [0, 1].

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        init: "default" draws W from U[0.25, 0.75], as the published runs did; "paper" from U[-0.37, 1.37], which has
            the variance 1/4 that the paper derives; "unit" from U[0, 1]. A value outside [0, 1] counts as 0 or 1, and
            the first projection makes it so.
        project: whether W is to be projected into [0, 1] after every optimizer step, by `arithmos.constrain` or by
            hand.
        clip: whether the forward pass clips W to [0, 1], which changes nothing if W is projected too.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> nmu = NMU(3, 1)
        >>> _ = nmu.weight.data.copy_(torch.tensor([[1.0, 0.0, 1.0]]))
        >>> nmu(torch.tensor([2.0, 5.0, -3.0]))
        tensor([-6.], grad_fn=...)
    """

    parts = Leaf(Clamp(0.0, 1.0), Product(), INITS["default"], sparsity="unsigned")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        init: str = "default",
        project: bool = True,
        clip: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features)
        self.init, self.project, self.clip = init, project, clip
        self.parts = Leaf(Clamp(0.0, 1.0, project, clip), Product(), choose("init", init, INITS), sparsity="unsigned")
        self.weight = matrix(out_features, in_features, device, dtype)
        self.reset_parameters()

    def weights(self) -> dict[str, Tensor]:
        return {"weight": clamp(self.weight, 0.0, 1.0) if self.clip else self.weight}

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return nmu(x, self.weight, clip=self.clip)


unit = Unit(NMU, name="NMU", label="NMU", parts=NMU.parts, paper="Madsen & Johansen (2020)")
