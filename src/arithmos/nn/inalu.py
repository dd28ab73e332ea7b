r"""Improved NALU (Schlör et al., 2020).

.. math::

    z = g\,a + (1 - g)\,m\,s, \qquad a = W_a x, \qquad
    m = \exp\bigl(\min(W_m \log \max(|x|, 10^{-7}), 20)\bigr), \qquad
    s_o = \prod_i \bigl(\mathrm{sign}(x_i) |w_{oi}| + 1 - |w_{oi}|\bigr)

with weights :math:`\tanh(\hat W) \odot \sigma(\hat M)`, signs by the weights of the product, and a gate
:math:`g = \sigma(\hat g)` per output that does not depend on the input. Heim et al. (2020) compare with one that does,
:math:`g = \sigma(G x)`.
"""

import re

import torch
from torch import Tensor, nn

from .._typing import Device, Dtype, Float
from ._aggregate import at_least_single, check_input, full_precision
from ._init import GlorotUniform, Init, Normal
from ._layer import UnitLayer, choose, matrix
from ._reading import Reading
from ._unit import Unit
from .nac_add import nac_weight

SMALLEST = 1e-7
"""Smallest magnitude of which a logarithm is taken."""
LARGEST = 20.0
"""Largest exponent."""
INITS: dict[str, tuple[Init, Init, Init]] = {
    "original": (Normal(1.0, 0.1), Normal(-1.0, 0.1), Normal(0.0, 0.1)),
    "primer": (Normal(0.88, 0.2), Normal(0.5, 0.2), Normal(0.0, 0.2)),
    "glorot": (GlorotUniform(), GlorotUniform(), GlorotUniform()),
}
"""Rules for W_hat, M_hat and the gate: of the authors' training scripts, the primer by Mistry et al. (2022), and the
library of Heim et al. (2020)."""
NUMBER = r"(-?[0-9]+(?:\.[0-9]+)?)"
MEANS = re.compile(f"g {NUMBER}, M {NUMBER}, W {NUMBER}, sd {NUMBER}")
"""Text of normal distributions about other means, all with one standard deviation."""


def initial_rules(init: str) -> tuple[Init, Init, Init]:
    """Return the rules for W_hat, M_hat and the gate: by their name, or by means and standard deviation.

    Example:
        >>> initial_rules("g 0, M -1, W 1, sd 0.1") == initial_rules("original")
        True
    """
    found = MEANS.fullmatch(init) if isinstance(init, str) else None
    if found is None:
        return choose("init", init, INITS | {"g 0, M -1, W 1, sd 0.1": INITS["original"]})
    gate, m, w, deviation = map(float, found.groups())
    return Normal(w, deviation), Normal(m, deviation), Normal(gate, deviation)


def signed_exp_log(x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"]) -> Float[Tensor, "*batch o"]:
    """Products of powers of the inputs, with signs; at most e^20.

    The result has the common type of `x` and `weight`; half precision, and autocast, are computed in float32.

    Example:
        >>> signed_exp_log(torch.tensor([2.0, -3.0]), torch.tensor([[1.0, 1.0], [1.0, 0.0]])).round(decimals=4)
        tensor([-6.,  2.])
    """
    check_input(x, weight)
    dtype, (x, weight) = at_least_single(x, weight)
    with full_precision(x.device):
        magnitude = torch.where(x.abs() < SMALLEST, SMALLEST, x.abs())
        exponent = nn.functional.linear(torch.log(magnitude), weight)
        m = torch.exp(torch.where(exponent > LARGEST, LARGEST, exponent))
        size = weight.abs()
        s = (torch.sign(x).unsqueeze(-2) * size + (1 - size)).prod(-1)
        return (m * s).to(dtype)


def inalu(
    x: Float[Tensor, "*batch i"],
    add: tuple[Float[Tensor, "o i"], Float[Tensor, "o i"]],
    gate: Float[Tensor, "... o"],
    mul: tuple[Float[Tensor, "o i"], Float[Tensor, "o i"]] | None = None,
) -> Float[Tensor, "*batch o"]:
    """Gated choice between sums and signed products.

    Args:
        x: the input.
        add: W_hat and M_hat of the sum.
        gate: logits of the gates.
        mul: W_hat and M_hat of the product; those of the sum if not given.
    """
    add_weight = nac_weight(*add)
    mul_weight = add_weight if mul is None else nac_weight(*mul)
    check_input(x, add_weight)
    g = torch.sigmoid(gate)
    return g * nn.functional.linear(x, add_weight) + (1 - g) * signed_exp_log(x, mul_weight)


class INALU(UnitLayer):
    """Learned choice, per output, between a sum and a signed product of inputs.

    The published runs also push all parameters away from 0 (`Penalty(kind="pull")`), clip the entries of the gradient
    to ±0.1, and start again when a run stagnates.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        shared: whether the sum and the product have the same weights.
        init: "original" draws W_hat, M_hat and the gate's logits from normal distributions about 1, -1 and 0, as the
            authors' runs did; "primer" about 0.88, 0.5 and 0, as those of Mistry et al. did; "glorot" as Glorot and
            Bengio propose, with an input gate only. A text such as "g 0, M -1, W 1, sd 0.1" sets the means and the
            standard deviation.
        input_gate: whether the gate depends on the input, by a matrix in place of one logit per output.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> inalu = INALU(4, 2)
        >>> inalu(torch.ones(8, 4)).shape, sorted(inalu.weights())
        (torch.Size([8, 2]), ['add', 'mul'])
    """

    W_add: nn.Parameter
    M_add: nn.Parameter
    W_mul: nn.Parameter | None
    M_mul: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        shared: bool = False,
        init: str = "original",
        input_gate: bool = False,
        device: Device = None,
        dtype: Dtype = None,
    ) -> None:
        super().__init__(in_features, out_features)
        initial_rules(init)
        if init == "glorot" and not input_gate:
            raise ValueError("init='glorot' must go with input_gate=True: it is for matrices")
        self.shared, self.init, self.input_gate = shared, init, input_gate
        for name in ("W_add", "M_add", "W_mul", "M_mul"):
            unused = shared and name.endswith("mul")
            self.register_parameter(name, None if unused else matrix(out_features, in_features, device, dtype))
        gate_shape = (out_features, in_features) if input_gate else (out_features,)
        self.gate = nn.Parameter(torch.empty(gate_shape, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw all parameters, in their order."""
        rules = dict(zip(("W", "M", "g"), initial_rules(self.init), strict=True))
        for name, parameter in self.named_parameters():
            rules[name[0]].draw_(parameter, generator)

    def _logits(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "... o"]:
        return nn.functional.linear(x, self.gate) if self.input_gate else self.gate

    def _mul(self) -> tuple[Tensor, Tensor] | None:
        return None if self.W_mul is None or self.M_mul is None else (self.W_mul, self.M_mul)

    def weights(self) -> dict[str, Tensor]:
        mul = self._mul()
        return {"add": nac_weight(self.W_add, self.M_add)} | ({} if mul is None else {"mul": nac_weight(*mul)})

    def gate_value(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        """Return the openness of the gate: 1 for the sum, 0 for the product."""
        return torch.sigmoid(self._logits(x)).expand(*x.shape[:-1], -1)

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return the side that each gate is closer to, for most rows."""
        logits, weights = self._logits(x), self.weights()
        product = logits.flatten(0, -2).median(0).values < 0 if self.input_gate else logits < 0
        chosen = torch.where(product.unsqueeze(-1), weights.get("mul", weights["add"]), weights["add"])
        return Reading(chosen, product, grid=2)

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return inalu(x, (self.W_add, self.M_add), self._logits(x), self._mul())


unit = Unit(INALU, name="INALU", label="iNALU", paper="Schlör et al. (2020)")
shared_unit = Unit(
    INALU, name="INALUShared", label="iNALU (shared)", paper="Schlör et al. (2020)", options={"shared": True}
)
