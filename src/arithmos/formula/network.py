"""Networks as formulas and effective weights, from which expressions, judges and exports are made."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ..engines.weights import are_effective, filled, layer_weights, layout
from ..nn._layer import UnitLayer
from ..nn.recurrent import Recurrent
from ..spec import Layer
from .exact import choices
from .forms import LayerForm, form, generic, layer_form
from .numeric import forward
from .stages import Array, Branch, Stage, check

OpenGates = NDArray[np.bool_] | None
"""Mask of the outputs of a stage that are sums and not products; None if it has no choice."""


def of_module(model: nn.Module) -> tuple[Stage, ...]:
    """Return the stages of a layer or of a `torch.nn.Sequential` of layers, including `Recurrent` cells.

    Raises:
        TypeError: a layer has none of the known forms.
        ValueError: a layer does not fit the one before it, or a weight is not finite.
    """
    stages = [
        _stage(module, f"layer {number}, {type(getattr(module, 'unit', module)).__name__}")
        for number, module in enumerate(_modules(model), 1)
    ]
    if not stages:
        raise ValueError(f"model must have at least one layer, got {type(model).__name__} without any")
    return check(stages)


def _modules(model: nn.Module) -> Iterator[nn.Module]:
    if isinstance(model, nn.Sequential):
        for module in model:
            yield from _modules(module)
    else:
        yield model


def _stage(module: nn.Module, name: str) -> Stage:
    if isinstance(module, Recurrent):
        return replace(_stage(module.unit, name), initial=module.initial)
    twin = copy.deepcopy(module).cpu().double().eval()
    found = form(twin)
    if found is None and reads_itself(twin):
        return _read(twin, name)
    return _assemble(name, _known(name, found), _arrays(twin))


def reads_itself(layer: nn.Module) -> bool:
    """Return whether a layer reads itself as sums or products of powers, as units since 2020 do."""
    return isinstance(layer, UnitLayer) and type(layer).reading is not UnitLayer.reading


@torch.no_grad()
def _read(layer: nn.Module, name: str) -> Stage:
    """Return the stage of a layer that reads itself, with its difference from the layer."""
    x = generic(layer.in_features, torch.Generator().manual_seed(0))  # type: ignore[arg-type]
    stage, is_open = _reading(layer, name, x.numpy())
    if is_open is not None:
        raise _unknown(name)
    z, own = forward([stage], x.numpy())[0], layer(x).numpy()
    return replace(stage, off=float(np.max(np.abs(z - own) / (1 + np.abs(z)))))


@torch.no_grad()
def _reading(layer: nn.Module, name: str, x: Array) -> tuple[Stage, OpenGates]:
    """Return the stage that a layer reads itself as on inputs, and which outputs are sums if not all are the same."""
    reading = layer.reading(torch.from_numpy(x))  # type: ignore[operator]
    weight, product = reading.weight.numpy(), reading.product.numpy()
    add = Branch("add", "sum", weight)
    mul = Branch("mul", "power" if reading.signed else "exp-log", weight, grid=reading.grid)
    if product.any() and not product.all():
        return Stage(name, (add, mul)), ~product
    return Stage(name, (replace(mul if product.any() else add, name="weight"),)), None


def _arrays(layer: nn.Module) -> dict[str, Array]:
    return {name: array.detach().numpy() for name, array in layer_weights(layer).items()}


def of_weights(layers: Sequence[Layer], sizes: Sequence[int], weights: ArrayLike) -> tuple[Stage, ...]:
    """Return the stages of a network from its flat effective weights, in the order of `engines.weights.layout`.

    Leading axes, one network per entry, stay in front in all arrays.

    Raises:
        TypeError: a layer has none of the known forms.
        ValueError: the number of weights is wrong, or one is not finite.
    """
    flat = np.asarray(weights, np.float64)
    shapes = layout(layers, sizes)
    count = sum(prod(shape) for arrays in shapes for shape in arrays.values())
    if flat.shape[-1] != count:
        units = ">".join(layer.name for layer in layers)
        raise ValueError(f"weights must be {count} numbers for {units} of sizes {sizes}, got shape {flat.shape}")
    names, forms = _names(layers), _forms(layers, sizes)
    if None in forms and flat.ndim == 1:
        return check(list(map(_stage, filled(layers, sizes, flat), names)))
    known = [_known(*one) for one in zip(names, forms, strict=True)]
    arrays = _cut(flat, shapes) if are_effective(layers) else _computed(layers, sizes, flat)
    return check([_assemble(*one) for one in zip(names, known, arrays, strict=True)])


def read_run(
    layers: Sequence[Layer], sizes: Sequence[int], parameters: Array, rows: Array
) -> tuple[list[Stage], list[OpenGates]] | None:
    """Return the stages of a run with units that read themselves, and which of their outputs are sums.

    Args:
        layers: layers of the network.
        sizes: width of the input, between the layers, and of the output.
        parameters: flat parameters of the run.
        rows: inputs that it is meant for, on which gates are examined.

    Returns:
        None if an output has no formula.
    """
    stages: list[Stage] = []
    gates: list[OpenGates] = []
    for name, found, layer in zip(
        _names(layers), _forms(layers, sizes), filled(layers, sizes, parameters), strict=True
    ):
        if found is None:
            stage, is_open = _reading(layer.eval(), name, rows)
            with torch.no_grad():
                rows = layer(torch.from_numpy(rows)).numpy()
        else:
            stage = _assemble(name, found, _arrays(layer))
            rows, [gate] = forward([stage], rows)
            is_open, decided = (None, True) if gate is None else choices(gate)
            if not np.all(decided):
                return None
        if not all(np.isfinite(branch.weight).all() for branch in stage.branches):
            return None
        stages.append(stage)
        gates.append(is_open)
    return stages, gates


def has_forms(layers: Sequence[Layer], sizes: Sequence[int]) -> bool:
    """Return whether all layers have forms that are known."""
    return None not in _forms(layers, sizes)


def readable(layers: Sequence[Layer], sizes: Sequence[int]) -> bool:
    """Return whether all layers have forms that are known, or read themselves."""
    pairs = zip(layers, pairwise(sizes), _forms(layers, sizes), strict=True)
    return all(found is not None or reads_itself(layer.blank(*size)) for layer, size, found in pairs)


def _names(layers: Sequence[Layer]) -> list[str]:
    return [f"layer {number}, {layer.name}" for number, layer in enumerate(layers, 1)]


def _forms(layers: Sequence[Layer], sizes: Sequence[int]) -> list[LayerForm | None]:
    return [layer_form(layer, *size) for layer, size in zip(layers, pairwise(sizes), strict=True)]


def _cut(flat: Array, shapes: Sequence[Mapping[str, tuple[int, ...]]]) -> Iterator[dict[str, Array]]:
    """Yield the arrays of each layer, from effective weights."""
    position = 0
    for layer in shapes:
        arrays = {}
        for name, shape in layer.items():
            arrays[name] = flat[..., position : position + prod(shape)].reshape(*flat.shape[:-1], *shape)
            position += prod(shape)
        yield arrays


def _computed(layers: Sequence[Layer], sizes: Sequence[int], flat: Array) -> Iterator[dict[str, Array]]:
    """Yield the arrays of each layer, computed from parameters."""
    networks = [filled(layers, sizes, row) for row in flat.reshape(-1, flat.shape[-1])]
    for built in zip(*networks, strict=True):
        each = [_arrays(layer) for layer in built]
        leading = flat.shape[:-1]
        yield {name: np.reshape([one[name] for one in each], (*leading, *own.shape)) for name, own in each[0].items()}


def _unknown(name: str) -> TypeError:
    return TypeError(
        f"{name}, has no known formula: it must be a sum, product or exp-log of its inputs with the matrix of its "
        "weights(), or a gated choice of two, or read itself as sums or products of powers"
    )


def _known(name: str, found: LayerForm | None) -> LayerForm:
    if found is None:
        raise _unknown(name)
    return found


def _assemble(name: str, found: LayerForm, arrays: Mapping[str, Array]) -> Stage:
    grids = [2 if aggregation == "exp-log" else 1 for aggregation in found.aggregations]
    first, *rest = found.aggregations
    if not rest:
        [weight] = (array for key, array in arrays.items() if key != "bias")
        return Stage(name, (Branch("weight", first, weight, arrays.get("bias"), found.activation, grids[0]),))
    add = Branch("add", first, arrays["add"], grid=grids[0])
    return Stage(name, (add, Branch("mul", rest[0], arrays.get("mul", arrays["add"]), grid=grids[1])), arrays["gate"])
