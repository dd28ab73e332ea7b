"""Weights that runs keep: effective ones where all units are those of `UNITS`, otherwise the parameters as they are."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..nn import UNITS
from ..spec import Layer
from .contract import Floats

Shape = tuple[int, ...]

_BESIDE = {"bias": "bias", "gate": "gate.weight"}
"""Parameters that belong to the effective weights besides the matrices of `weights()`."""


def layer_weights(layer: nn.Module) -> dict[str, Tensor]:
    """Return the effective weights of a layer by name: its matrices, then its bias or the matrix of its gate."""
    own = dict(layer.named_parameters())
    matrices: dict[str, Tensor] = layer.weights()  # type: ignore[operator]
    return matrices | {name: own[key] for name, key in _BESIDE.items() if key in own}


def are_effective(layers: Sequence[Layer]) -> bool:
    """Return whether a run of these layers keeps effective weights."""
    return all(not layer.own and layer.name in UNITS for layer in layers)


def layout(layers: Sequence[Layer], sizes: Sequence[int]) -> list[dict[str, Shape]]:
    """Return names and shapes of the kept weights of each layer, in order."""
    effective = are_effective(layers)
    built = [layer.blank(*size) for layer, size in zip(layers, pairwise(sizes), strict=True)]
    kept = (layer_weights(one) if effective else dict(one.named_parameters()) for one in built)
    return [{name: tuple(array.shape) for name, array in arrays.items()} for arrays in kept]


def filled(layers: Sequence[Layer], sizes: Sequence[int], parameters: NDArray[np.floating]) -> list[nn.Module]:
    """Return layers with given parameters, flat and in the order of the layers, in float64."""
    built = [layer.blank(*size).double() for layer, size in zip(layers, pairwise(sizes), strict=True)]
    values = torch.from_numpy(parameters.astype(np.float64))
    nn.utils.vector_to_parameters(values, (parameter for layer in built for parameter in layer.parameters()))
    return built


@torch.no_grad()
def kept_weights(layers: Sequence[Layer], sizes: Sequence[int], parameters: Floats) -> Floats:
    """Return the weights that a run keeps of its parameters, both flat and in the order of the layers."""
    if not are_effective(layers):
        return parameters
    arrays = [array for layer in filled(layers, sizes, parameters) for array in layer_weights(layer).values()]
    return torch.cat([array.flatten() for array in arrays]).numpy().astype(parameters.dtype)
