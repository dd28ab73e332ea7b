r"""Mass-conserving layer (Hoedt et al., 2021), and its products (Mistry, 2023).

.. math:: z = o \odot (J x), \qquad J = \mathrm{softmax}_o(R), \qquad o = \sigma(v + b)

Every input is distributed over the outputs, so one output can only be the sum of all inputs, times a factor. As a
product: :math:`z = \exp(\mathrm{MCFC}(\log x) + c)`, for positive inputs.
"""

import torch
from torch import Tensor, nn

from .._typing import Device, Dtype, Float
from ._aggregate import at_least_single, check_input, full_precision
from ._layer import UnitLayer, matrix
from ._reading import Reading, unless
from ._unit import Unit


def mcfc(
    x: Float[Tensor, "*batch i"], junction: Float[Tensor, "o i"], out: Float[Tensor, " o"], bias: Float[Tensor, " o"]
) -> Float[Tensor, "*batch o"]:
    """Shares of the inputs, by a softmax over the outputs, times one factor per output.

    Example:
        >>> mcfc(torch.tensor([2.0, 3.0]), torch.zeros(1, 2), torch.zeros(1), torch.zeros(1))
        tensor([2.5000])
    """
    check_input(x, junction)
    return torch.sigmoid(out + bias) * nn.functional.linear(x, torch.softmax(junction, 0))


def mul_mcfc(
    x: Float[Tensor, "*batch i"],
    junction: Float[Tensor, "o i"],
    out: Float[Tensor, " o"],
    bias: Float[Tensor, " o"],
    shift: Float[Tensor, " o"],
) -> Float[Tensor, "*batch o"]:
    """Exponential of `mcfc` of the logarithms of the inputs, plus a shift.

    Half precision, and autocast, are computed in float32.

    Example:
        >>> zero = torch.zeros(1)
        >>> mul_mcfc(torch.tensor([4.0, 9.0]), torch.zeros(1, 2), zero, zero, zero).round(decimals=4)
        tensor([6.])
    """
    check_input(x, junction)
    dtype, (x, junction, out, bias, shift) = at_least_single(x, junction, out, bias, shift)
    with full_precision(x.device):
        return torch.exp(mcfc(torch.log(x), junction, out, bias) + shift).to(dtype)


class MCFC(UnitLayer):
    """Sums of shares of the inputs.

    The published runs train with the sparsity loss below; it is what opens the output's factor.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> MCFC(4, 2)(torch.ones(8, 4)).shape
        torch.Size([8, 2])
    """

    def __init__(self, in_features: int, out_features: int, *, device: Device = None, dtype: Dtype = None) -> None:
        super().__init__(in_features, out_features)
        self.junction = matrix(out_features, in_features, device, dtype)
        self.out = nn.Parameter(torch.empty(out_features, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(out_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw an orthogonal junction and output factors of norm 1; the bias is 0."""
        nn.init.orthogonal_(self.junction, generator=generator)
        with torch.no_grad():
            self.out.normal_(generator=generator)
            self.out.div_(self.out.norm())
        nn.init.zeros_(self.bias)

    def weights(self) -> dict[str, Tensor]:
        """Return the shares times the factors of the outputs."""
        return {"weight": torch.softmax(self.junction, 0) * torch.sigmoid(self.out + self.bias).unsqueeze(-1)}

    def sparsity(self) -> Float[Tensor, ""]:
        """Return the negative mean square of each parameter, which drives sigmoid and softmax to 0 and 1."""
        return -(self.junction.square().mean() + self.out.square().mean() + self.bias.square().mean())

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return the shares times the factors of the outputs."""
        return Reading.sums(self.weights()["weight"])

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return mcfc(x, self.junction, self.out, self.bias)


class MulMCFC(MCFC):
    """Products of powers of positive inputs, with shares as exponents.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes. The
        output for an input below 0 is NaN.

    Example:
        >>> MulMCFC(4, 2)(torch.ones(8, 4))[0].tolist()
        [1.0, 1.0]
    """

    def __init__(self, in_features: int, out_features: int, *, device: Device = None, dtype: Dtype = None) -> None:
        super().__init__(in_features, out_features, device=device, dtype=dtype)
        self.shift = nn.Parameter(torch.zeros(out_features, device=device, dtype=dtype))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the parameters of an `MCFC`; the shift is 0."""
        super().reset_parameters(generator)
        if "shift" in self._parameters:  # not yet when the parameters of the base are drawn
            nn.init.zeros_(self.shift)

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return the exponents of the outputs whose shift is rounded to 0."""
        return Reading.products(unless(self.shift.round() != 0, self.weights()["weight"]), grid=2)

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return mul_mcfc(x, self.junction, self.out, self.bias, self.shift)


unit = Unit(MCFC, name="MCFC", label="MC-FC", paper="Hoedt et al. (2021)")
mul_unit = Unit(MulMCFC, name="MulMCFC", label="MulMC-FC", paper="Mistry (2023)")
