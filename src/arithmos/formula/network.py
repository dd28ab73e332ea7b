"""Networks as parts and effective weights, from which expressions, judges and exports are made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ..engines.contract import effective, layout
from ..nn._described import keeps_parts
from ..nn._parts import ExpLog, Leaf, Parts
from ..nn._parts import Gate as GateParts
from ..nn.recurrent import Recurrent
from ..spec import Layer

Array = NDArray[Any]
"""Floats, or exact numbers as objects."""


@dataclass(frozen=True)
class Branch:
    """Weight matrix with the operation it enters.

    Args:
        name: "weight"; "add" or "mul" in a gated unit.
        leaf: the parts of the operation.
        weight: effective weights, `out x in`.
        bias: bias added before the activation, if any.
    """

    name: str
    leaf: Leaf
    weight: Array
    bias: Array | None = None

    @property
    def grid(self) -> int:
        """Steps per integer on which weights are rounded: exponents may be halves, since √z is |z|^½."""
        return 2 if isinstance(self.leaf.aggregation, ExpLog) else 1


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
        TypeError: a layer has no `parts`.
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
    parts = getattr(module, "parts", None)
    name = f"layer {number}, {type(module).__name__}"
    if not isinstance(parts, Leaf | GateParts) or not keeps_parts(type(module)):
        raise TypeError(f"{name}, must be a unit of arithmos.nn, a stack of units,or a layer with `parts`")
    parameters = [parameter.detach().cpu().double().numpy() for parameter in module.parameters()]
    sizes = parameters[0].shape[::-1]
    return _assemble(name, parts, sizes, effective([parts], sizes, np.concatenate([p.ravel() for p in parameters])))


def of_weights(layers: Sequence[Layer], sizes: Sequence[int], weights: ArrayLike) -> tuple[Stage, ...]:
    """Return the stages of a network from its flat effective weights, in the order of `engines.contract.layout`.

    Leading axes, one network per entry, stay in front in all arrays.

    Raises:
        TypeError: a layer has no `parts`.
        ValueError: the number of weights is wrong, or one is not finite.
    """
    flat = np.asarray(weights, np.float64)
    stages, position = [], 0
    for number, (layer, size) in enumerate(zip(layers, pairwise(sizes), strict=True), 1):
        name, parts = f"layer {number}, {layer.name}", layer.parts
        if parts is None:
            raise TypeError(f"{name}, must have `parts`; without them its parameters cannot be read as weights")
        count = sum(prod(shape) for _, shape in layout(parts, *size))
        if position + count <= flat.shape[-1]:
            stages.append(_assemble(name, parts, size, flat[..., position : position + count]))
        position += count
    if flat.shape[-1] != position:
        names = ">".join(layer.name for layer in layers)
        raise ValueError(f"weights must be {position} numbers for {names} of sizes {sizes}, got shape {flat.shape}")
    return check(stages)


def _assemble(name: str, parts: Parts, sizes: Sequence[int], flat: Array) -> Stage:
    arrays, position = {}, 0
    for key, shape in layout(parts, sizes[0], sizes[1]):
        arrays[key] = flat[..., position : position + prod(shape)].reshape(*flat.shape[:-1], *shape)
        position += prod(shape)
    if isinstance(parts, Leaf):
        return Stage(name, (Branch("weight", parts, arrays["weight"], arrays.get("bias")),))
    add = Branch("add", parts.add, arrays["add"])
    return Stage(name, (add, Branch("mul", parts.mul, arrays.get("mul", arrays["add"]))), arrays["gate"])


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
