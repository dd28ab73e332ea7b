r"""Units with nothing left to learn: the reference that a learned cell is measured against.

.. math:: z = \prod_i x_i, \qquad z = \sum_i x_i

As the cell of a sequence they accumulate its inputs without error.
"""

import torch  # noqa: F401 (for the examples)
from torch import Tensor, nn

from .._typing import Float
from ._unit import Unit


class _Solved(nn.Module):
    """Unit of one output and no parameters; `identity` is the state that leaves its first input unchanged."""

    identity: float

    def __init__(self, in_features: int, out_features: int = 1) -> None:
        if out_features != 1:
            raise ValueError(f"out_features must be 1 for {type(self).__name__}, got {out_features}")
        super().__init__()
        self.in_features, self.out_features = in_features, out_features


class SolvedAdd(_Solved):
    """Sum of the inputs.

    Example:
        >>> SolvedAdd(2)(torch.tensor([[2.0, 3.0]]))
        tensor([[5.]])
    """

    identity = 0.0

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return x.sum(-1, keepdim=True)


class SolvedMul(_Solved):
    """Product of the inputs.

    Example:
        >>> SolvedMul(2)(torch.tensor([[2.0, 3.0]]))
        tensor([[6.]])
    """

    identity = 1.0

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        first, *others = x.unbind(-1)
        for other in others:
            first = first * other
        return first.unsqueeze(-1)


add_unit = Unit(SolvedAdd, name="SolvedAdd", label="solved +", paper="Madsen & Johansen (2020)")
mul_unit = Unit(SolvedMul, name="SolvedMul", label="solved ×", paper="Madsen & Johansen (2020)")
