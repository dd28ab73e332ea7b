"""Layers as their parts describe them, in torch: shapes of the parameters, output, bounds, regularizer."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ._aggregate import exp_log, linear
from ._clamp import clamp
from ._gate import gate, mix
from ._init import Init
from ._layer import sparsity
from ._parts import Clamp, ExpLog, Leaf, Parts, Sigmoid, Sum, TanhSigmoid
from ._product import product
from .nac_add import nac_weight

Shape = tuple[int, ...]


def leaves(parts: Parts) -> list[Leaf]:
    """Return the leaves that have their own parameters."""
    return [parts] if isinstance(parts, Leaf) else [parts.add] if parts.shared else [parts.add, parts.mul]


def shapes(parts: Parts, in_features: int, out_features: int) -> list[Shape]:
    """Return the shapes of the parameters, in the order of `module.parameters()`."""
    matrix = (out_features, in_features)
    own = [shape for leaf in leaves(parts) for shape in _shapes(leaf, matrix)]
    return own if isinstance(parts, Leaf) else [*own, matrix]


def inits(parts: Parts) -> list[Init]:
    """Return the initial rules of the matrices, in the order of `module.parameters()`."""
    own = [leaf.init for leaf in leaves(parts) for shape in _shapes(leaf, (1, 1)) if len(shape) == 2]
    return own if isinstance(parts, Leaf) else [*own, parts.init]


def bounds(parts: Parts) -> list[tuple[float, float]]:
    """Return the ranges into which parameters are projected after every step."""
    clamps = [leaf.map for leaf in leaves(parts) if isinstance(leaf.map, Clamp)]
    return [(clamp.low, clamp.high) for clamp in clamps if clamp.project]


def regularizer(parts: Parts, parameters: Sequence[Tensor]) -> Tensor:
    """Return the sparsity loss."""
    total, place = torch.zeros(()), 0
    for leaf in leaves(parts):
        if leaf.sparsity != "none":
            total = total + sparsity(parameters[place], signed=leaf.sparsity == "signed")
        place += _count(leaf)
    return total


def evaluate(parts: Parts, parameters: Sequence[Tensor], x: Tensor) -> Tensor:
    """Return the output."""
    if isinstance(parts, Leaf):
        return _leaf(parts, parameters, x)
    count = _count(parts.add)
    add, mul = parameters[:count], parameters[:count] if parts.shared else parameters[count:-1]
    return mix(gate(x, parameters[-1]), _leaf(parts.add, add, x), _leaf(parts.mul, mul, x))


def keeps_parts(module: type[nn.Module]) -> bool:
    """Return whether the parts of a class describe it, and not only a base class of which it overrides a method."""
    order = module.__mro__

    def owner(name: str) -> int:
        return next((place for place, base in enumerate(order) if name in vars(base)), len(order))

    methods = ("forward", "weights", "bounds", "sparsity", "gate_value")
    return owner("parts") == len(order) or all(owner(name) >= owner("parts") for name in methods)


def misdescribed(layer: nn.Module, parts: Parts, in_features: int, out_features: int) -> str:
    """Return in what a layer differs from its parts; empty if in nothing.

    Output, gradients and regularizer are compared at the layer's parameters and at others, in training and in
    evaluation mode.

    Args:
        layer: the layer; its parameters change.
        parts: the parts that it declares.
        in_features: size of its input.
        out_features: size of its output.
    """
    parameters = list(layer.parameters())
    if getattr(layer, "parts", parts) != parts:
        return "it has others once it is built"
    if [tuple(p.shape) for p in parameters] != shapes(parts, in_features, out_features):
        return "its parameters have other shapes"
    own: dict[str, tuple[float, float]] = getattr(layer, "bounds", dict)()
    if list(own.values()) != bounds(parts):
        return "its bounds() are others"
    generator = torch.Generator().manual_seed(0)
    x = torch.empty(16, in_features).uniform_(-3, 3, generator=generator)
    for drawn in (False, True):
        if drawn:
            with torch.no_grad():
                for parameter in parameters:
                    parameter.uniform_(-1, 1, generator=generator)
                for name, (low, high) in own.items():
                    layer.get_parameter(name).clamp_(low, high)
        for mode in ("training", "evaluation"):
            layer.train(mode == "training").zero_grad()
            twins = [parameter.detach().clone().requires_grad_() for parameter in parameters]
            found, expected = layer(x), evaluate(parts, twins, x)
            if not close(found, expected):
                return f"its output is another in {mode} mode"
            for loss in (found, expected):
                loss.sum().backward()
            if not all(close(_gradient(a), _gradient(b)) for a, b in zip(parameters, twins, strict=True)):
                return f"its gradients are others in {mode} mode"
        sparsity_loss = getattr(layer, "sparsity", lambda: x.new_zeros(()))()
        if not close(sparsity_loss, regularizer(parts, parameters)):
            return "its sparsity() is another"
    return ""


def _gradient(parameter: Tensor) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def close(found: Tensor, expected: Tensor) -> bool:
    """Return whether two tensors are equal up to rounding, relative to the largest of their elements."""
    if found.shape != expected.shape:
        return False
    scale = float(expected.detach().nan_to_num(0.0, 0.0, 0.0).abs().max()) if expected.numel() else 0.0
    return torch.allclose(found, expected.to(found), rtol=1e-4, atol=1e-4 * scale, equal_nan=True)


def _shapes(leaf: Leaf, matrix: Shape) -> list[Shape]:
    matrices = 2 if isinstance(leaf.map, TanhSigmoid) else 1
    return [matrix] * matrices + ([matrix[:1]] if leaf.bias else [])


def _count(leaf: Leaf) -> int:
    return len(_shapes(leaf, (1, 1)))


def _leaf(leaf: Leaf, parameters: Sequence[Tensor], x: Tensor) -> Tensor:
    weight = parameters[0]
    if isinstance(leaf.map, TanhSigmoid):
        weight = nac_weight(parameters[0], parameters[1])
    elif isinstance(leaf.map, Sigmoid):
        weight = weight.sigmoid()
    elif isinstance(leaf.map, Clamp) and leaf.map.clip:
        weight = clamp(weight, leaf.map.low, leaf.map.high)
    if isinstance(leaf.aggregation, Sum):
        z = linear(x, weight, parameters[-1] if leaf.bias else None)
    else:
        z = exp_log(x, weight) if isinstance(leaf.aggregation, ExpLog) else product(x, weight)
    return z if leaf.activation == "none" else F.relu6(z) if leaf.activation == "relu6" else z.relu()
