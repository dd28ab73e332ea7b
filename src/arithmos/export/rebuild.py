"""Networks rebuilt from effective weights."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ..formula.network import Branch, Stage, of_weights
from ..nn._parts import Sigmoid, TanhSigmoid
from ..spec import Layer

_SATURATED = 20.0
_NEAREST = 1e-9
"""Distance kept from a bound that a weight's map never reaches; below the resolution of float32."""


def rebuild(layers: Sequence[Layer], sizes: Sequence[int], weights: ArrayLike) -> nn.Sequential:
    """Build a network with given effective weights, such as those of a stored run.

    It computes what the trained network computed, to float32. Where a weight is a function of other parameters,
    tanh(Ŵ)σ(M̂) or σ(Ŵ), these are not the trained ones but some that give the same weight.

    Args:
        layers: from input to output.
        sizes: width of the input, between the layers, and of the output.
        weights: flat weights, in the order of `engines.contract.layout`.

    Raises:
        TypeError: a layer has no `parts`.
        ValueError: the number of weights is wrong, or one is not finite.

    Example:
        >>> network = rebuild([Layer("NAU"), Layer("NACMul")], (2, 1, 1), [1.0, 1.0, -1.0])
        >>> network(torch.tensor([1.0, 3.0])).item()
        0.25
    """
    stages = of_weights(layers, sizes, weights)
    built = []
    for layer, stage in zip(layers, stages, strict=True):
        module = layer.build(stage.in_features, stage.out_features)
        with torch.no_grad():
            for parameter, values in zip(module.parameters(), _parameters(stage), strict=True):
                parameter.copy_(torch.from_numpy(values))
        built.append(module)
    return nn.Sequential(*built)


def _parameters(stage: Stage) -> Iterator[NDArray[np.float64]]:
    """Yield raw parameters in the order of `module.parameters()`."""
    first, *rest = stage.branches
    yield from _raw(first)
    for branch in rest:
        if branch.weight is not first.weight:  # not shared
            yield from _raw(branch)
    if stage.gate is not None:
        yield stage.gate


def _raw(branch: Branch) -> Iterator[NDArray[np.float64]]:
    weight = branch.weight
    match branch.leaf.map:
        case TanhSigmoid():
            yield np.arctanh(np.clip(weight, _NEAREST - 1, 1 - _NEAREST))
            yield np.full_like(weight, _SATURATED)
        case Sigmoid():
            share = np.clip(weight, np.finfo(np.float32).tiny, 1 - _NEAREST)
            yield np.log(share) - np.log1p(-share)
        case _:
            yield weight
    if branch.bias is not None:
        yield branch.bias
