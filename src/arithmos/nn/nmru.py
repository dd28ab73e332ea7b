r"""Neural Multiplicative Reciprocal Unit (Mistry et al., 2022).

.. math::

    z_o = \prod_{i \le 2I} \bigl(w_{oi} |\tilde x_i| + 1 - w_{oi}\bigr)
    \cdot \cos\Bigl(\pi \sum_i w_{oi} [\tilde x_i < 0]\Bigr), \qquad \tilde x = [x, 1/x]

A weight of 1 in the first half multiplies by its input, in the second half divides by it. In training the reciprocals
are :math:`1 / (x + \epsilon)`. Weights 1 for both cancel, which is a spurious solution.
"""

import math

import torch
from torch import Tensor, nn

from .._typing import Device, Dtype, Float
from ._aggregate import at_least_single, check_input, full_precision
from ._init import Uniform
from ._layer import UnitLayer, matrix, sparsity
from ._product import product
from ._reading import Reading, unless
from ._unit import Unit

EPSILON = 2.0**-23
"""Term added to inputs before their reciprocal is taken, in training."""


def nmru(
    x: Float[Tensor, "*batch i"],
    weight: Float[Tensor, "o two_i"],
    gate: Float[Tensor, " two_i"] | None = None,
    *,
    training: bool = False,
    signed: bool = True,
) -> Float[Tensor, "*batch o"]:
    """Products and quotients of the inputs that the weights select.

    The result has the common type of the arguments; half precision, and autocast, are computed in float32.

    Args:
        x: the input.
        weight: weights of the inputs, then of their reciprocals.
        gate: factors of the inputs and reciprocals; 1 if not given.
        training: whether a small term is added to inputs before their reciprocals are taken.
        signed: whether the sign is a cosine of its own; otherwise the inputs keep theirs.

    Example:
        >>> nmru(torch.tensor([-6.0, 3.0]), torch.tensor([[1.0, 0.0, 0.0, 1.0]]))
        tensor([-2.])
    """
    inputs = weight.shape[-1] // 2
    check_input(x, weight[:, :inputs])
    dtype, (x, weight, *gates) = at_least_single(x, weight, *([] if gate is None else [gate]))
    with full_precision(x.device):
        halves = [x, torch.reciprocal(x + EPSILON if training else x)]
        if gates:
            halves = [half * own for half, own in zip(halves, torch.split(gates[0], inputs), strict=True)]
        weights = torch.split(weight, inputs, -1)
        if not signed:
            return (product(halves[0], weights[0]) * product(halves[1], weights[1])).to(dtype)
        z = product(halves[0].abs(), weights[0]) * product(halves[1].abs(), weights[1])
        flips = [nn.functional.linear((half < 0).to(x.dtype), w) for half, w in zip(halves, weights, strict=True)]
        return (z * torch.cos(math.pi * (flips[0] + flips[1]))).to(dtype)


class NMRU(UnitLayer):
    """Products and quotients of inputs, with weights projected into [0, 1].

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        signed: whether signs are multiplied apart from magnitudes, by a cosine.
        gated: whether inputs and reciprocals have learned factors in [0, 1], which are 1/2 initially. A factor of 0
            makes a term of the product 1 - w, and not 1.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> nmru = NMRU(2, 1).eval()
        >>> _ = nmru.weight.data.copy_(torch.tensor([[1.0, 0.0, 0.0, 1.0]]))
        >>> nmru(torch.tensor([3.0, -2.0])), sorted(nmru.weights())
        (tensor([-1.5000], grad_fn=...), ['div', 'mul'])
    """

    rule = Uniform(0.25, 0.75)
    start = 0.5
    gate: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        signed: bool = True,
        gated: bool = False,
        device: Device = None,
        dtype: Dtype = None,
    ) -> None:
        super().__init__(in_features, out_features)
        self.signed, self.gated = signed, gated
        self.weight = matrix(out_features, 2 * in_features, device, dtype)
        gate = nn.Parameter(torch.empty(2 * in_features, device=device, dtype=dtype)) if gated else None
        self.register_parameter("gate", gate)
        self.reset_parameters()

    def weights(self) -> dict[str, Tensor]:
        """Return the weights of the inputs, "mul", and of their reciprocals, "div"."""
        mul, div = torch.split(self.weight, self.in_features, -1)
        return {"mul": mul, "div": div}

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return the ranges of W and of the factors."""
        return {"weight": (0.0, 1.0)} | ({} if self.gate is None else {"gate": (0.0, 1.0)})

    def sparsity(self) -> Float[Tensor, ""]:
        """Return `functional.sparsity` of W, as an NMU does, plus a tenth of that of the factors."""
        total = sparsity(self.weight, signed=False)
        return total if self.gate is None else total + 0.1 * sparsity(self.gate.unsqueeze(0), signed=False)

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return the rounded weights of the inputs less those of their reciprocals; a used factor must be 1."""
        weight = self.weight.round()
        mul, div = torch.split(weight, self.in_features, -1)
        closed = torch.zeros(()) if self.gate is None else (self.gate < 0.5) & (weight != 0)
        return Reading.products(unless(closed.expand_as(weight), mul - div))

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return nmru(x, self.weight, self.gate, training=self.training, signed=self.signed)


unit = Unit(NMRU, name="NMRU", label="NMRU", paper="Mistry et al. (2022)")
plain_unit = Unit(
    NMRU, name="NMRUPlain", label="NMRU (no sign)", paper="Mistry et al. (2022)", options={"signed": False}
)
gated_unit = Unit(NMRU, name="NMRUGated", label="NMRU (gated)", paper="Mistry et al. (2022)", options={"gated": True})
