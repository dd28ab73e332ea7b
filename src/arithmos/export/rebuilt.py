"""Networks rebuilt from effective weights."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ..engines.weights import are_effective, filled
from ..formula.network import of_weights
from ..formula.stages import Branch
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
        weights: flat weights, in the order of `engines.weights.layout`.

    Raises:
        TypeError: a layer has none of the known forms.
        ValueError: the number of weights is wrong, or one is not finite.

    Example:
        >>> network = rebuild([Layer("NAU"), Layer("NACMul")], (2, 1, 1), [1.0, 1.0, -1.0])
        >>> network(torch.tensor([1.0, 3.0])).item()
        0.25
    """
    stages = of_weights(layers, sizes, weights)
    if not are_effective(layers):
        return nn.Sequential(*(layer.float() for layer in filled(layers, sizes, np.asarray(weights))))
    built = []
    for layer, stage in zip(layers, stages, strict=True):
        module = layer.build(stage.in_features, stage.out_features)
        given = {name: values for branch in stage.branches for name, values in _raw(branch, module)}
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                parameter.copy_(torch.from_numpy(stage.gate if name == "gate.weight" else given[name]))
        built.append(module)
    return nn.Sequential(*built)


def _raw(branch: Branch, module: nn.Module) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield names and values of parameters that give the weights of a branch."""
    weight, prefix = branch.weight, "" if branch.name == "weight" else f"{branch.name}."
    names = {name for name, _ in module.named_parameters()}
    if f"{prefix}M_hat" in names:
        yield f"{prefix}W_hat", np.arctanh(np.clip(weight, _NEAREST - 1, 1 - _NEAREST))
        yield f"{prefix}M_hat", np.full_like(weight, _SATURATED)
    elif f"{prefix}W_hat" in names:
        share = np.clip(weight, np.finfo(np.float32).tiny, 1 - _NEAREST)
        yield f"{prefix}W_hat", np.log(share) - np.log1p(-share)
    else:
        yield f"{prefix}weight", weight
    if branch.bias is not None:
        yield "bias", branch.bias
