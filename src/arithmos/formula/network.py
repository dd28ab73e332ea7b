"""Networks as formulas and effective weights, from which expressions, judges and exports are made."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ..engines.weights import are_effective, filled, layer_weights, layout
from ..nn.recurrent import Recurrent
from ..spec import Layer
from .forms import Activation, Aggregation, LayerForm, form, layer_form

Array = NDArray[Any]
"""Floats, or exact numbers as objects."""


@dataclass(frozen=True)
class Branch:
    """Weight matrix with the operation it enters.

    Args:
        name: "weight"; "add" or "mul" in a gated unit.
        aggregation: the operation.
        weight: effective weights, `out x in`.
        bias: bias added before the activation, if any.
        activation: function of the result.
    """

    name: str
    aggregation: Aggregation
    weight: Array
    bias: Array | None = None
    activation: Activation = "none"

    @property
    def grid(self) -> int:
        """Steps per integer on which weights are rounded: exponents may be halves, since √z is |z|^½."""
        return 2 if self.aggregation == "exp-log" else 1


@dataclass(frozen=True)
class Stage:
    """Layer with its weights.

    Args:
        name: its position and unit, such as "layer 1, NAU".
        branches: one, or a sum and a product in a gated unit.
        gate: weights of the gate in a gated unit.
        initial: value of every element of the initial state in a recurrent layer.
    """

    name: str
    branches: tuple[Branch, ...]
    gate: Array | None = None
    initial: float | None = None

    @property
    def out_features(self) -> int:
        """Number of outputs."""
        return int(self.branches[0].weight.shape[-2])

    @property
    def in_features(self) -> int:
        """Number of inputs, without the state of a recurrent layer."""
        width = int(self.branches[0].weight.shape[-1])
        return width if self.initial is None else width - self.out_features


@dataclass(frozen=True)
class Rounding:
    """Number that was replaced by an exact one.

    Args:
        where: position of the number, such as "layer 1, NAU, weight[0, 3]", counted from 0 as in the array.
        value: its value.
        exact: the exact number.
    """

    where: str
    value: float
    exact: Fraction

    @property
    def distance(self) -> float:
        """Distance by which it was moved."""
        return abs(self.value - float(self.exact))


def of_module(model: nn.Module) -> tuple[Stage, ...]:
    """Return the stages of a layer or of a `torch.nn.Sequential` of layers, including `Recurrent` cells.

    Raises:
        TypeError: a layer has none of the known forms.
        ValueError: a layer does not fit the one before it, or a weight is not finite.
    """
    stages = [_stage(module, number) for number, module in enumerate(_modules(model), 1)]
    if not stages:
        raise ValueError(f"model must have at least one layer, got {type(model).__name__} without any")
    return check(stages)


def _modules(model: nn.Module) -> Iterator[nn.Module]:
    if isinstance(model, nn.Sequential):
        for module in model:
            yield from _modules(module)
    else:
        yield model


def _stage(module: nn.Module, number: int) -> Stage:
    if isinstance(module, Recurrent):
        return replace(_stage(module.unit, number), initial=module.initial)
    twin = copy.deepcopy(module).cpu().double()
    name = f"layer {number}, {type(module).__name__}"
    return _assemble(name, _known(name, form(twin)), _arrays(twin))


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
    names = [f"layer {number}, {layer.name}" for number, layer in enumerate(layers, 1)]
    forms = list(map(_known, names, _forms(layers, sizes)))
    arrays = _cut(flat, shapes) if are_effective(layers) else _computed(layers, sizes, flat)
    return check([_assemble(*one) for one in zip(names, forms, arrays, strict=True)])


def readable(layers: Sequence[Layer], sizes: Sequence[int]) -> bool:
    """Return whether all layers have forms that are known."""
    return None not in _forms(layers, sizes)


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


def _known(name: str, found: LayerForm | None) -> LayerForm:
    if found is None:
        raise TypeError(
            f"{name}, has no known formula: it must be a sum, product or exp-log of its inputs with the matrix of its "
            "weights(), or a gated choice of two"
        )
    return found


def _assemble(name: str, found: LayerForm, arrays: Mapping[str, Array]) -> Stage:
    first, *rest = found.aggregations
    if not rest:
        [weight] = (array for key, array in arrays.items() if key != "bias")
        return Stage(name, (Branch("weight", first, weight, arrays.get("bias"), found.activation),))
    add = Branch("add", first, arrays["add"])
    return Stage(name, (add, Branch("mul", rest[0], arrays.get("mul", arrays["add"]))), arrays["gate"])


def check(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Return the stages, or raise if one does not fit the one before it or a number is not finite."""
    for before, after in pairwise(stages):
        if before.out_features != after.in_features:
            raise ValueError(
                f"{after.name}, must take the {before.out_features} values that {before.name}, gives; "
                f"got {after.in_features}"
            )
    for stage in stages:
        for name, array in _named(stage):
            if not np.isfinite(array).all():
                place = [int(index) for index in np.argwhere(~np.isfinite(array))[0]]
                raise ValueError(f"weights must be finite, got {array[*place]} in {stage.name}, {name}{place}")
    return tuple(stages)


def _named(stage: Stage) -> Iterator[tuple[str, Array]]:
    for branch in stage.branches:
        yield branch.name, branch.weight
        if branch.bias is not None:
            yield "bias", branch.bias
    if stage.gate is not None:
        yield "gate", stage.gate


def snapped(stages: Sequence[Stage], snap: float) -> tuple[tuple[Stage, ...], tuple[Rounding, ...]]:
    """Return the network with exact fractions in place of weights within `snap` of one, and the list of roundings.

    Weights and biases are rounded to integers, exponents of exp-log layers to multiples of ½. Weights of gates are
    kept.
    """
    if not 0 <= snap <= 0.5:
        raise ValueError(f"snap must be from 0 to 0.5, got {snap}")
    made: list[Rounding] = []

    def exact(array: Array, grid: int, where: str) -> Array:
        result = array.astype(object)
        for place in np.ndindex(array.shape):
            value = float(array[place])
            nearest = Fraction(round(value * grid), grid)
            if abs(value - float(nearest)) <= snap:
                result[place] = nearest
                if value != nearest:
                    made.append(Rounding(f"{where}{[*place]}", value, nearest))
        return result

    def branch(old: Branch, stage: Stage) -> Branch:
        weight = exact(old.weight, old.grid, f"{stage.name}, {old.name}")
        bias = None if old.bias is None else exact(old.bias, 1, f"{stage.name}, bias")
        return replace(old, weight=weight, bias=bias)

    found = tuple(replace(stage, branches=tuple(branch(b, stage) for b in stage.branches)) for stage in stages)
    return found, tuple(made)
