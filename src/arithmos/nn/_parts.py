"""Parts of a unit: a weight map and an aggregation.

A unit names its parts as plain values. The torch layers write the same maths out by hand, one readable file each; the
fused engines know only the parts, so a new unit made of known parts is fast without a line of kernel code.
"""

from dataclasses import dataclass
from typing import Literal

from ._init import GlorotUniform, Init

EPSILON = 1e-7
"""Term added to every magnitude before its logarithm is taken."""


@dataclass(frozen=True)
class Free:
    """Map with W as the parameter itself."""


@dataclass(frozen=True)
class Clamp:
    """Map with W as a parameter kept in [low, high].

    Args:
        low: smallest value.
        high: largest value.
        project: whether the parameter is projected into the range after every optimizer step.
        clip: whether the forward pass clips the parameter, with the gradient of a clip: 1 on the bounds, 0 outside.
    """

    low: float
    high: float
    project: bool = True
    clip: bool = True


@dataclass(frozen=True)
class TanhSigmoid:
    """Map W = tanh(W_hat) * sigmoid(M_hat): two parameters per weight, pulled towards -1, 0 and 1."""


@dataclass(frozen=True)
class Sigmoid:
    """Map W = sigmoid(W_hat), in (0, 1)."""


@dataclass(frozen=True)
class Sum:
    """Aggregation z_o = sum_i w_oi x_i, plus the bias if there is one."""


@dataclass(frozen=True)
class ExpLog:
    """Aggregation z_o = exp(sum_i w_oi log(|x_i| + epsilon))."""


@dataclass(frozen=True)
class Product:
    """Aggregation z_o = prod_i (w_oi x_i + 1 - w_oi)."""


WeightMap = Free | Clamp | TanhSigmoid | Sigmoid
Aggregation = Sum | ExpLog | Product
Activation = Literal["none", "relu", "relu6"]


@dataclass(frozen=True)
class Leaf:
    """Weight map and aggregation, with everything else that determines how the layer trains.

    Args:
        map: map from parameters to the effective weight W, of shape `out x in`.
        aggregation: map from W and the input to the output.
        init: rule for the initial values of each parameter of the map.
        activation: function applied to the aggregated value.
        bias: whether to add a learned vector, initially 0, before the activation.
        sparsity: regularizer of the map's first parameter p, min(|p|, |1 - |p||) if "signed", min(|p|, |1 - p|) if
            "unsigned"; useful if the parameter is the weight itself, as in `Free` and `Clamp`.

    Its parameters, in the order of `module.parameters()`: W_hat and M_hat for `TanhSigmoid`, one matrix
    for the other maps, then the bias.
    """

    map: WeightMap
    aggregation: Aggregation
    init: Init
    activation: Activation = "none"
    bias: bool = False
    sparsity: Literal["none", "signed", "unsigned"] = "none"


@dataclass(frozen=True)
class Gate:
    """Learned choice between two leaves: z = g * add(x) + (1 - g) * mul(x), with g = sigmoid(G x).

    Its parameters, in the order of `module.parameters()`: those of add, those of mul unless shared, then G.
    """

    add: Leaf
    mul: Leaf
    shared: bool = False
    init: Init = GlorotUniform()  # noqa: RUF009 (frozen, safe to share)


Parts = Leaf | Gate
