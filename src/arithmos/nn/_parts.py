"""The parts a unit is made of: a unit is a weight map times an aggregation.

A unit names its parts as plain values. The torch layers write the same maths out by hand, one readable file
each; the fused engines know the parts only, so a new unit made of known parts is fast with no kernel line.
"""

from dataclasses import dataclass
from typing import Literal

from ._init import GlorotUniform, Init

EPSILON = 1e-7
"""Added to every magnitude before its logarithm is taken."""


@dataclass(frozen=True)
class Free:
    """W is the parameter itself."""


@dataclass(frozen=True)
class Clamp:
    """W is a parameter kept in [low, high].

    Args:
        low: smallest value.
        high: largest value.
        project: the parameter is put back into the range after every optimizer step.
        clip: the forward pass clips the parameter, with the gradient of a clip: 1 on the boundary, 0 outside.
    """

    low: float
    high: float
    project: bool = True
    clip: bool = True


@dataclass(frozen=True)
class TanhSigmoid:
    """W = tanh(W_hat) * sigmoid(M_hat): two parameters a weight, pulled towards -1, 0 and 1."""


@dataclass(frozen=True)
class Sigmoid:
    """W = sigmoid(W_hat), in (0, 1)."""


@dataclass(frozen=True)
class Sum:
    """z_o = sum_i w_oi x_i, plus the bias where there is one."""


@dataclass(frozen=True)
class ExpLog:
    """z_o = exp(sum_i w_oi log(|x_i| + epsilon))."""


@dataclass(frozen=True)
class Product:
    """z_o = prod_i (w_oi x_i + 1 - w_oi)."""


WeightMap = Free | Clamp | TanhSigmoid | Sigmoid
Aggregation = Sum | ExpLog | Product
Activation = Literal["none", "relu", "relu6"]


@dataclass(frozen=True)
class Leaf:
    """A weight map and an aggregation, and all else that decides how such a layer trains.

    Args:
        map: from parameters to the effective weight W, of shape `out x in`.
        aggregation: from W and the input to the output.
        init: how each parameter of the map starts.
        activation: applied to the aggregated value.
        bias: adds a learned vector, which starts at 0, before the activation.
        sparsity: the regularizer of the map's first parameter p, min(|p|, |1 - |p||) if "signed", min(|p|, |1 - p|) if
            "unsigned"; of use where the parameter is the weight itself, as in `Free` and `Clamp`.

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
    """z = g * add(x) + (1 - g) * mul(x), with g = sigmoid(G x): a learned choice between two leaves.

    Its parameters, in the order of `module.parameters()`: those of add, those of mul unless shared, then G.
    """

    add: Leaf
    mul: Leaf
    shared: bool = False
    init: Init = GlorotUniform()  # noqa: RUF009 (frozen, safe to share)


Parts = Leaf | Gate
