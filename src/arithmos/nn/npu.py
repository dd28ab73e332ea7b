r"""Neural Power Unit and its naive form (Heim et al., 2020).

.. math::

    z = \exp(W_r \log r - W_i k) \odot \cos(W_r k + W_i \log r), \qquad
    r_j = \hat g_j (|x_j| + \epsilon) + 1 - \hat g_j, \qquad k_j = \pi \hat g_j [x_j < 0]

the real part of a product of powers with complex exponents :math:`W_r + \mathrm{i} W_i`. Every input has a gate
:math:`\hat g = \mathrm{clamp}(g, 0, 1)`, which the naive form lacks.
"""

import torch
from torch import Tensor, nn

from .._typing import Device, Dtype, Float
from ._aggregate import at_least_single, check_input, full_precision
from ._clamp import clamp
from ._init import GlorotUniform, Init, Uniform
from ._layer import UnitLayer, choose, matrix
from ._reading import Reading, unless
from ._unit import Unit
from .real_npu import EPSILON, gated_logs, input_gate

INITS: dict[str, tuple[Init, float]] = {
    "default": (GlorotUniform(), 0.5),
    "small": (Uniform(0.0, 0.1), 1.0),
    "fifth": (GlorotUniform(factor=0.2), 0.5),
}
"""Rules for the real parts, and initial gates."""


def npu(
    x: Float[Tensor, "*batch i"],
    real: Float[Tensor, "o i"],
    imaginary: Float[Tensor, "o i"],
    gate: Float[Tensor, " i"] | None = None,
    *,
    epsilon: float = EPSILON,
    straight: bool = False,
) -> Float[Tensor, "*batch o"]:
    """Real parts of products of complex powers of the inputs.

    The result has the common type of the arguments; half precision, and autocast, are computed in float32.

    Args:
        x: the input.
        real: real parts of the exponents.
        imaginary: their imaginary parts.
        gate: the gates, which are clipped to [0, 1]; all open if not given.
        epsilon: the term added to magnitudes.
        straight: whether the gradient passes the clip of the gates everywhere.

    Example:
        >>> npu(torch.tensor([-2.0, 4.0]), torch.tensor([[1.0, 0.5]]), torch.zeros(1, 2)).round(decimals=4)
        tensor([-4.])
    """
    check_input(x, real)
    dtype, (x, real, imaginary, *gates) = at_least_single(x, real, imaginary, *([] if gate is None else [gate]))
    with full_precision(x.device):
        log_r, k = gated_logs(x, input_gate(gates[0], straight=straight) if gates else 1.0, epsilon)
        magnitude = nn.functional.linear(log_r, real) - nn.functional.linear(k, imaginary)
        angle = nn.functional.linear(k, real) + nn.functional.linear(log_r, imaginary)
        return (torch.exp(magnitude) * torch.cos(angle)).to(dtype)


class NPU(UnitLayer):
    """Products of complex powers of inputs, of which the real part is the output.

    No regularizer pulls the exponents to integers; the published runs add the L1 norm of all parameters to the loss.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        gated: whether every input has a gate.
        init: "default" draws real parts as Glorot and Bengio propose, with gates of 1/2; "small" from U[0, 0.1], with
            gates of 1, as the authors did with 100 inputs; "fifth" from a fifth of the default range, as they did for
            a differential equation.
        epsilon: the term added to magnitudes; the paper has none.
        straight: whether the gradient passes the clip of the gates everywhere, instead of being 0 outside [0, 1].
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> NPU(4, 2)(torch.ones(8, 4)).shape, sorted(NPU(4, 2, gated=False).weights())
        (torch.Size([8, 2]), ['imaginary', 'real'])
    """

    gate: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        gated: bool = True,
        init: str = "default",
        epsilon: float = EPSILON,
        straight: bool = False,
        device: Device = None,
        dtype: Dtype = None,
    ) -> None:
        super().__init__(in_features, out_features)
        choose("init", init, INITS)
        self.gated, self.init, self.epsilon, self.straight = gated, init, epsilon, straight
        self.real = matrix(out_features, in_features, device, dtype)
        self.imaginary = matrix(out_features, in_features, device, dtype)
        gate = nn.Parameter(torch.empty(in_features, device=device, dtype=dtype)) if gated else None
        self.register_parameter("gate", gate)
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the real parts, make the exponents real, and open all gates by half or, with "small", entirely."""
        rule, opened = INITS[self.init]
        rule.draw_(self.real, generator)
        nn.init.zeros_(self.imaginary)
        if self.gate is not None:
            nn.init.constant_(self.gate, opened)

    def weights(self) -> dict[str, Tensor]:
        """Return both parts of the exponents, times their gates."""
        gate = 1.0 if self.gate is None else clamp(self.gate, 0.0, 1.0)
        return {"real": self.real * gate, "imaginary": self.imaginary * gate}

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return the real parts of the exponents, where the imaginary ones are rounded to 0."""
        weights = self.weights()
        return Reading.products(unless(weights["imaginary"].round() != 0, weights["real"]), grid=2)

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return npu(x, self.real, self.imaginary, self.gate, epsilon=self.epsilon, straight=self.straight)


unit = Unit(NPU, name="NPU", label="NPU", paper="Heim et al. (2020)")
naive_unit = Unit(NPU, name="NaiveNPU", label="naive NPU", paper="Heim et al. (2020)", options={"gated": False})
