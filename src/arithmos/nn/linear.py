r"""Linear, and the ordinary layers made of it: the baselines.

.. math::
    z = W x + b, \qquad \max(0, W x + b), \qquad \min(6, \max(0, W x + b)), \qquad \sigma(W x + b), \qquad
    \tanh(W x + b)
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._typing import Device, Dtype, Float
from ._aggregate import linear
from ._init import GlorotUniform, HeUniform, Init
from ._layer import UnitLayer, matrix
from ._unit import Unit


def linear_relu(
    x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], bias: Float[Tensor, " o"] | None = None
) -> Float[Tensor, "*batch o"]:
    """`linear`, with negative results set to 0."""
    return F.relu(linear(x, weight, bias))


def linear_relu6(
    x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], bias: Float[Tensor, " o"] | None = None
) -> Float[Tensor, "*batch o"]:
    """`linear`, with the results kept in [0, 6]."""
    return F.relu6(linear(x, weight, bias))


class Linear(UnitLayer):
    """Affine map, z = W x + b, which starts as Glorot and Bengio propose.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> Linear(4, 2)(torch.ones(8, 4)).shape
        torch.Size([8, 2])
    """

    rule: Init = GlorotUniform()
    identity = 0.0

    def __init__(self, in_features: int, out_features: int, *, device: Device = None, dtype: Dtype = None) -> None:
        super().__init__(in_features, out_features)
        self.weight = matrix(out_features, in_features, device, dtype)
        self.bias = nn.Parameter(torch.empty(out_features, device=device, dtype=dtype))
        self.reset_parameters()

    def weights(self) -> dict[str, Tensor]:
        return {"weight": self.weight}

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return linear(x, self.weight, self.bias)


class LinearTanh(Linear):
    """Hyperbolic tangent of an affine map, with the bias 0 at the start.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> LinearTanh(4, 2)(torch.ones(8, 4)).shape
        torch.Size([8, 2])
    """

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return torch.tanh(linear(x, self.weight, self.bias))


class LinearReLU(Linear):
    """Affine map with negative results set to 0, with initial weights as He et al. propose.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> LinearReLU(4, 2)(torch.ones(8, 4)).shape
        torch.Size([8, 2])
    """

    rule = HeUniform()

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return linear_relu(x, self.weight, self.bias)


class LinearReLU6(Linear):
    """Affine map with results kept in [0, 6], with initial weights as He et al. propose.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> LinearReLU6(4, 2)(torch.ones(8, 4)).shape
        torch.Size([8, 2])
    """

    rule = HeUniform()

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return linear_relu6(x, self.weight, self.bias)


class LinearSigmoid(Linear):
    """Logistic function of an affine map, which starts as Glorot and Bengio propose.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> LinearSigmoid(4, 2)(torch.ones(8, 4)).shape
        torch.Size([8, 2])
    """

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return torch.sigmoid(linear(x, self.weight, self.bias))


linear_unit = Unit(Linear, name="Linear", label="Linear")
tanh_unit = Unit(LinearTanh, name="LinearTanh", label="tanh")
relu_unit = Unit(LinearReLU, name="LinearReLU", label="ReLU", former="ReLU")
sigmoid_unit = Unit(LinearSigmoid, name="LinearSigmoid", label="sigmoid")
relu6_unit = Unit(LinearReLU6, name="LinearReLU6", label="ReLU6", former="ReLU6")
