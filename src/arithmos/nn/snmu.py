r"""Stochastic Neural Multiplication Unit (Mistry et al., 2022).

.. math::

    z = \frac{\mathrm{NMU}(x \odot n; W)}{\mathrm{NMU}(n; W)} \text{ in training}, \qquad
    z = \mathrm{NMU}(x; W) \text{ in evaluation}

with new uniform noise n for every element of x at each step. It cancels if all weights are 0 or 1.
"""

from torch import Tensor

from .._typing import Device, Dtype, Float
from ._aggregate import check_input
from ._noise import noise
from ._reading import Reading
from ._unit import Unit
from .nmu import Selecting, nmu


def snmu(
    x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], factors: Float[Tensor, "*batch i"]
) -> Float[Tensor, "*batch o"]:
    """NMU of the inputs times some factors, divided by the NMU of the factors.

    Example:
        >>> import torch
        >>> snmu(torch.tensor([2.0, 3.0]), torch.tensor([[1.0, 0.5]]), torch.tensor([4.0, 2.0]))
        tensor([4.6667])
    """
    return nmu(x * factors, weight) / nmu(factors, weight)


class SNMU(Selecting):
    """NMU that multiplies its inputs by noise in training, and divides its output by the same product of noise.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        low: lower end of the noise.
        high: upper end of the noise.
        batch: whether the noise is from U[1, 1 + 1/sd] instead, with the standard deviation sd of all elements of the
            input.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> import torch
        >>> snmu = SNMU(3, 1)
        >>> _ = snmu.weight.data.copy_(torch.tensor([[1.0, 0.0, 1.0]]))
        >>> snmu(torch.tensor([2.0, 5.0, -3.0])).round(decimals=4)
        tensor([-6.], grad_fn=...)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        low: float = 1.0,
        high: float = 5.0,
        batch: bool = False,
        device: Device = None,
        dtype: Dtype = None,
    ) -> None:
        super().__init__(in_features, out_features, device=device, dtype=dtype)
        if not 0 < low < high:
            raise ValueError(f"low and high must be 0 < low < high, got low={low}, high={high}")
        self.low, self.high, self.batch = low, high, batch

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return the weights, which are exponents once they are 0 or 1."""
        return Reading.products(self.weights()["weight"])

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        if not self.training:
            return nmu(x, self.weight)
        check_input(x, self.weight)
        factors = 1 + noise(x) / x.detach().std() if self.batch else noise(x, self.low, self.high)
        return snmu(x, self.weight, factors)


unit = Unit(SNMU, name="SNMU", label="sNMU", paper="Mistry et al. (2022)")
batch_unit = Unit(SNMU, name="SNMUBatch", label="sNMU (batch)", paper="Mistry et al. (2022)", options={"batch": True})
