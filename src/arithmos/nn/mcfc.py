r"""Mass-conserving layer (Hoedt et al., 2021), and its products (Mistry, 2023).

.. math:: z = o \odot (J x), \qquad J = \mathrm{softmax}_o(R), \qquad o = \sigma(v + b)

Every input is distributed over the outputs, so one output can only be the sum of all inputs, times a factor. As a
product: :math:`z = \exp(\mathrm{MCFC}(\log x) + c)`, for positive inputs. With signs it takes magnitudes, and
multiplies by :math:`\prod_i (J_{oi} \mathrm{sign}(x_i) + 1 - J_{oi})`, as the iNALU does, or by
:math:`\cos(\pi \sum_i J_{oi} \hat g_i [x_i < 0])` with a gate per input, as the RealNPU does.
"""

import math

import torch
from torch import Tensor, nn

from .._typing import Device, Dtype, Float
from ._aggregate import at_least_single, check_input, full_precision
from ._layer import UnitLayer, choose, matrix, sparsity
from ._product import product
from ._reading import Reading, unless
from ._unit import Unit
from .real_npu import input_gate

SIGNS = ("none", "product", "cosine")
"""Signs of the products of `MulMCFC`."""
SMALLEST = 2.0**-100
"""Smallest magnitude of which a logarithm is taken. Without it, an input of 0 would have no gradient."""


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
    gate: Float[Tensor, " i"] | None = None,
    *,
    signed: bool = False,
) -> Float[Tensor, "*batch o"]:
    """Exponential of `mcfc` of the logarithms of the inputs, plus a shift.

    Half precision, and autocast, are computed in float32.

    Args:
        x: the input.
        junction: logits of the shares.
        out: logits of the factors of the outputs.
        bias: a second term of these.
        shift: the term added to the logarithm.
        gate: gates of the signs, which are clipped to [0, 1]; without them signs are multiplied.
        signed: whether the product has the signs of the inputs; otherwise these must be positive.

    Example:
        >>> zero = torch.zeros(1)
        >>> mul_mcfc(torch.tensor([4.0, 9.0]), torch.zeros(1, 2), zero, zero, zero).round(decimals=4)
        tensor([6.])
    """
    check_input(x, junction)
    dtype, (x, junction, out, bias, shift) = at_least_single(x, junction, out, bias, shift)
    with full_precision(x.device):
        magnitude = torch.where(x.abs() < SMALLEST, SMALLEST, x.abs()) if signed else x
        z = torch.exp(mcfc(torch.log(magnitude), junction, out, bias) + shift)
        if signed:
            z = z * _sign(x, torch.softmax(junction, 0), gate)
        return z.to(dtype)


def _sign(
    x: Float[Tensor, "*batch i"], share: Float[Tensor, "o i"], gate: Float[Tensor, " i"] | None
) -> Float[Tensor, "*batch o"]:
    """Return the sign of a product: that of the iNALU, and with gates that of the RealNPU."""
    if gate is None:
        return product(torch.sign(x), share)
    angle = math.pi * input_gate(gate.to(x.dtype)) * (x < 0).to(x.dtype)
    return torch.cos(nn.functional.linear(angle, share))


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
    """Products of powers of inputs, with shares as exponents.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        sign: "none" for positive inputs; "product" and "cosine" for signs as in the iNALU and in the RealNPU, the
            latter with a learned gate per input, which is 1/2 initially.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes. Without
        signs, the output for an input below 0 is NaN.

    Example:
        >>> MulMCFC(4, 2)(torch.ones(8, 4))[0].tolist()
        [1.0, 1.0]
    """

    gate: nn.Parameter | None

    def __init__(
        self, in_features: int, out_features: int, *, sign: str = "none", device: Device = None, dtype: Dtype = None
    ) -> None:
        super().__init__(in_features, out_features, device=device, dtype=dtype)
        choose("sign", sign, dict.fromkeys(SIGNS))
        self.sign = sign
        self.shift = nn.Parameter(torch.zeros(out_features, device=device, dtype=dtype))
        gate = nn.Parameter(torch.full((in_features,), 0.5, device=device, dtype=dtype)) if sign == "cosine" else None
        self.register_parameter("gate", gate)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the parameters of an `MCFC`; the shift is 0 and gates are 1/2."""
        super().reset_parameters(generator)
        if "shift" in self._parameters:  # not yet when the parameters of the base are drawn
            nn.init.zeros_(self.shift)
        gate = self._parameters.get("gate")
        if gate is not None:
            nn.init.constant_(gate, 0.5)

    def sparsity(self) -> Float[Tensor, ""]:
        """Return that of an `MCFC`, plus a tenth of `functional.sparsity` of the gates."""
        total = super().sparsity()
        return total if self.gate is None else total + 0.1 * sparsity(self.gate.unsqueeze(0), signed=False)

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return the exponents of the outputs whose shift is rounded to 0; gates must be open."""
        wrong = self.shift.round() != 0 if self.gate is None else (self.shift.round() != 0) | (self.gate < 0.5).any()
        return Reading.products(unless(wrong, self.weights()["weight"]), grid=2)

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return mul_mcfc(x, self.junction, self.out, self.bias, self.shift, self.gate, signed=self.sign != "none")


unit = Unit(MCFC, name="MCFC", label="MC-FC", paper="Hoedt et al. (2021)")
mul_unit = Unit(MulMCFC, name="MulMCFC", label="MulMC-FC", paper="Mistry (2023)")
inalu_unit = Unit(
    MulMCFC,
    name="MulMCFCSignINALU",
    label="MulMC-FC (sign of iNALU)",
    paper="Mistry (2023)",
    options={"sign": "product"},
)
real_npu_unit = Unit(
    MulMCFC,
    name="MulMCFCSignRealNPU",
    label="MulMC-FC (sign of RealNPU)",
    paper="Mistry (2023)",
    options={"sign": "cosine"},
)
