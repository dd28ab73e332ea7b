"""Forms of layers: what a layer computes from its effective weights, found by comparing it with the known formulas."""

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product as pairs
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..engines.trace import identity
from ..engines.weights import layer_weights
from ..nn._aggregate import exp_log, linear
from ..nn._gate import gate, mix
from ..nn._product import product
from ..spec import Layer

Aggregation = Literal["sum", "product", "exp-log", "power"]
"""Operations on the inputs of a layer. A "power" is the real part of a product of powers, without an ε; no layer has it
with any weights, but units read themselves as one."""
Activation = Literal["none", "relu", "relu6"]

_AGGREGATIONS: dict[Aggregation, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": linear,
    "product": product,
    "exp-log": exp_log,
}
_ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"none": torch.clone, "relu": F.relu, "relu6": F.relu6}

ROWS, SCALES = 16, (1.0, 20.0)
"""Number of inputs at which formulas are compared, and their magnitudes: small, and large enough for a ReLU6."""


@dataclass(frozen=True)
class LayerForm:
    """Formula of a layer.

    Args:
        aggregations: one; in a gated layer, those of the open and of the closed gate.
        activation: function of the aggregated value.
    """

    aggregations: tuple[Aggregation, ...]
    activation: Activation = "none"


def form(module: nn.Module) -> LayerForm | None:
    """Return the form of a layer in evaluation mode, or None if it has none of the known ones.

    Example:
        >>> from arithmos.nn import NALU, NMU, RealNPU
        >>> form(NMU(2, 1)), form(NALU(2, 1)).aggregations, form(RealNPU(2, 1))
        (LayerForm(aggregations=('product',), activation='none'), ('sum', 'exp-log'), None)
    """
    if not callable(getattr(module, "weights", None)):
        return None
    generator = torch.Generator().manual_seed(0)
    twin = copy.deepcopy(module).cpu().double().eval()
    with torch.no_grad(), suppress(RuntimeError, TypeError, ValueError):  # weights or input of another shape
        for parameter in twin.parameters():
            parameter.uniform_(0.1, 0.9, generator=generator)
        weights = layer_weights(twin)
        inputs = next(iter(weights.values())).shape[-1]
        x = torch.cat([scale * generic(inputs, generator) for scale in SCALES])
        z = twin(x)
        return next((one for one, values in _candidates(weights, x) if _same(z, values)), None)
    return None


def generic(inputs: int, generator: torch.Generator) -> Tensor:
    """Return inputs of either sign at which formulas are compared, of magnitudes from 0.5 to 2."""
    x = torch.empty(ROWS, inputs, dtype=torch.float64).uniform_(0.5, 2, generator=generator)
    return x * torch.empty_like(x).uniform_(-1, 1, generator=generator).sign()


def _candidates(weights: dict[str, Tensor], x: Tensor) -> Iterator[tuple[LayerForm, Tensor]]:
    """Yield forms that weights of these names can have, with their values."""
    matrices = [name for name in weights if name not in ("bias", "gate")]
    values = {(key, name): rule(x, weights[name]) for key, rule in _AGGREGATIONS.items() for name in matrices}
    if "gate" in weights:
        g, add, mul = gate(x, weights["gate"]), matrices[0], matrices[-1]
        for first, second in pairs(_AGGREGATIONS, repeat=2):
            yield LayerForm((first, second)), mix(g, values[first, add], values[second, mul])
    elif len(matrices) == 1:
        for (key, _), z in values.items():
            biased = z + weights["bias"] if "bias" in weights else z
            for name, activation in _ACTIVATIONS.items():
                yield LayerForm((key,), name), activation(biased)


def _same(found: Tensor, expected: Tensor) -> bool:
    return found.shape == expected.shape and torch.allclose(found, expected, rtol=1e-9, atol=1e-9, equal_nan=True)


_found: dict[tuple[object, ...], LayerForm | None] = {}


def layer_form(layer: Layer, in_features: int, out_features: int) -> LayerForm | None:
    """Return the form of a layer of a spec, found once per process."""
    key = (identity(layer), in_features, out_features)
    if key not in _found:
        _found[key] = form(layer.blank(in_features, out_features))
    return _found[key]
