r"""Real Neural Power Unit (Heim et al., 2020), original and as modified by Mistry et al. (2022).

.. math::

    z = \exp(W \log r) \odot \cos(W k), \qquad
    r_i = \hat g_i (|x_i| + \epsilon) + 1 - \hat g_i, \qquad k_i = \pi \hat g_i [x_i < 0]

with one gate :math:`\hat g = \mathrm{clamp}(g, 0, 1)` per input, which all outputs share. A weight is the exponent of
its input: 1 multiplies, -1 divides, 1/2 takes the root. A closed gate leaves the input out.
"""

import math

import torch
from torch import Tensor, nn

from .._typing import Device, Dtype, Float
from ._aggregate import at_least_single, check_input, full_precision
from ._clamp import clamp
from ._init import GlorotUniform, Init, Uniform
from ._layer import UnitLayer, choose, matrix, sparsity
from ._reading import Reading
from ._unit import Unit

EPSILON = 2.0**-23
"""Term added to every magnitude, the spacing of float32 at 1; the published runs used it, the paper does not."""
INITS: dict[str, Init] = {
    "default": GlorotUniform(),
    "nau": GlorotUniform(cap=0.5),
    "small": Uniform(0.0, 0.1),
    "fifth": GlorotUniform(factor=0.2),
}
PROJECTIONS = {"none": (), "gate": ("gate",), "weight": ("weight",), "both": ("weight", "gate")}
LIMITS = {"weight": (-1.0, 1.0), "gate": (0.0, 1.0)}
PULLS = ("none", "gate", "both", "both, with 0")


def input_gate(gate: Float[Tensor, " i"], *, straight: bool = False) -> Float[Tensor, " i"]:
    """Clip gates to [0, 1]; with `straight`, the gradient is 1 everywhere instead of 0 outside."""
    clipped = clamp(gate, 0.0, 1.0)
    return gate + (clipped - gate).detach() if straight else clipped


def gated_logs(
    x: Float[Tensor, "*batch i"], gate: Float[Tensor, " i"] | float, epsilon: float
) -> tuple[Float[Tensor, "*batch i"], Float[Tensor, "*batch i"]]:
    """Return logarithm and angle of each input as a complex number, log r and k, with clipped gates applied."""
    log_r = torch.log(gate * (x.abs() + epsilon) + (1 - gate))
    return log_r, math.pi * gate * (x < 0).to(x.dtype)


def real_npu(
    x: Float[Tensor, "*batch i"],
    weight: Float[Tensor, "o i"],
    gate: Float[Tensor, " i"],
    *,
    epsilon: float = EPSILON,
    straight: bool = False,
) -> Float[Tensor, "*batch o"]:
    """Products of signed powers of the inputs, with exponents `weight` and inputs left out by `gate`.

    The result has the common type of the arguments; half precision, and autocast, are computed in float32.

    Args:
        x: the input.
        weight: the exponents.
        gate: the gates, which are clipped to [0, 1].
        epsilon: the term added to magnitudes.
        straight: whether the gradient passes the clip of the gates everywhere.

    Example:
        >>> exponents, gates = torch.tensor([[1.0, -1.0, 2.0]]), torch.tensor([1.0, 1.0, 0.0])
        >>> real_npu(torch.tensor([3.0, -2.0, 5.0]), exponents, gates).round(decimals=4)
        tensor([-1.5000])
    """
    check_input(x, weight)
    dtype, (x, weight, gate) = at_least_single(x, weight, gate)
    with full_precision(x.device):
        log_r, k = gated_logs(x, input_gate(gate, straight=straight), epsilon)
        z = torch.exp(nn.functional.linear(log_r, weight)) * torch.cos(nn.functional.linear(k, weight))
        return z.to(dtype)


def sparsity_of_power(
    weight: Float[Tensor, "o i"], gate: Float[Tensor, " i"], pulls: str = "both"
) -> Float[Tensor, ""]:
    r"""Mean distance of exponents from ±1 and of gates from 0 and 1.

    .. math:: \mathrm{mean}\,\bigl|1 - |w|\bigr| + \mathrm{mean} \min(|g|, |1 - g|)

    Args:
        weight: the exponents.
        gate: the gates, not clipped.
        pulls: "both" for this sum, "gate" for its second term, "both, with 0" for min(|w|, |1 - |w||) in the first,
            "none" for 0.

    Example:
        >>> sparsity_of_power(torch.tensor([[1.0, -0.5]]), torch.tensor([0.75, 0.0]))
        tensor(0.3750)
    """
    total = weight.new_zeros(())
    if pulls == "both":
        total = total + (1 - weight.abs()).abs().mean()
    elif pulls == "both, with 0":
        total = total + sparsity(weight, signed=True)
    return total if pulls == "none" else total + torch.minimum(gate.abs(), (1 - gate).abs()).mean()


class RealNPU(UnitLayer):
    """Products of powers of inputs, with the sign of negative inputs, and one gate per input.

    The exponents are free and no regularizer pulls them to integers by default; the published runs add the L1 norm of
    all parameters to the loss. `project="both", sparse="both", init="nau"` is the unit as modified for division.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        init: "default" draws W as Glorot and Bengio propose; "nau" within [-0.5, 0.5]; "small" from U[0, 0.1], as
            the authors did with 100 inputs; "fifth" from a fifth of the default range, as they did for a differential
            equation. Gates are 1/2 initially.
        project: parameters that are projected after every optimizer step, W into [-1, 1] and the gates into [0, 1]:
            "none", "gate", "weight" or "both".
        sparse: terms of `sparsity()`, as in `sparsity_of_power`: "none", "gate", "both" or "both, with 0".
        epsilon: the term added to magnitudes. It dominates the error for inputs near 0; the paper has none.
        straight: whether the gradient passes the clip of the gates everywhere. By default, as in the published runs, it
            is 0 outside [0, 1], so that a gate that leaves the range does not return.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> npu = RealNPU(2, 1)
        >>> _ = npu.weight.data.copy_(torch.tensor([[1.0, -1.0]])), npu.gate.data.fill_(1.0)
        >>> npu(torch.tensor([-6.0, 3.0])).round(decimals=4)
        tensor([-2.], grad_fn=...)
    """

    start = 0.5

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        init: str = "default",
        project: str = "none",
        sparse: str = "none",
        epsilon: float = EPSILON,
        straight: bool = False,
        device: Device = None,
        dtype: Dtype = None,
    ) -> None:
        super().__init__(in_features, out_features)
        self.rule = choose("init", init, INITS)
        choose("project", project, PROJECTIONS)
        choose("sparse", sparse, dict.fromkeys(PULLS))
        self.init, self.project, self.sparse, self.epsilon, self.straight = init, project, sparse, epsilon, straight
        self.weight = matrix(out_features, in_features, device, dtype)
        self.gate = nn.Parameter(torch.empty(in_features, device=device, dtype=dtype))
        self.reset_parameters()

    def weights(self) -> dict[str, Tensor]:
        """Return the exponents times their gates."""
        return {"weight": self.weight * clamp(self.gate, 0.0, 1.0)}

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return the parameters to project into a range after every optimizer step, with that range."""
        return {name: LIMITS[name] for name in PROJECTIONS[self.project]}

    def sparsity(self) -> Float[Tensor, ""]:
        """Return `sparsity_of_power`, with the terms of `sparse`."""
        return sparsity_of_power(self.weight, self.gate, self.sparse)

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return the exponents times their gates."""
        return Reading.products(self.weights()["weight"], grid=2)

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return real_npu(x, self.weight, self.gate, epsilon=self.epsilon, straight=self.straight)


unit = Unit(RealNPU, name="RealNPU", label="RealNPU", paper="Heim et al. (2020)")
modified_unit = Unit(
    RealNPU,
    name="RealNPUModified",
    label="RealNPU (modified)",
    paper="Mistry et al. (2022)",
    options={"init": "nau", "project": "both", "sparse": "both"},
)
