"""A network as its parts and effective weights: what expressions, judges and exports are made from."""

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
    """A weight matrix and what is done with it.

    Args:
        name: "weight"; "add" or "mul" in a gated unit.
        leaf: its parts.
        weight: effective weights, `out x in`.
        bias: added before the activation, where there is one.
    """

    name: str
    leaf: Leaf
    weight: Array
    bias: Array | None = None

    @property
    def grid(self) -> int:
        """Steps between two integers at which weights are read: exponents may be halves, since √z is |z|^½."""
        return 2 if isinstance(self.leaf.aggregation, ExpLog) else 1


@dataclass(frozen=True)
class Stage:
    """A layer with its weights.

    Args:
        name: its place and unit, such as "layer 1, NAU".
        branches: one; two, a sum and a product, in a gated unit.
        gate: the gate's weights in a gated unit.
        initial: every element of the first state in a recurrent layer.
    """

    name: str
    branches: tuple[Branch, ...]
    gate: Array | None = None
    initial: float | None = None

    @property
    def out_features(self) -> int:
        """Length of its output."""
        return int(self.branches[0].weight.shape[-2])

    @property
    def in_features(self) -> int:
        """Length of its input, without the state of a recurrent layer."""
        width = int(self.branches[0].weight.shape[-1])
        return width if self.initial is None else width - self.out_features


@dataclass(frozen=True)
class Rounding:
    """A number that was taken for an exact one.

    Args:
        where: which number, such as "layer 1, NAU, weight[0, 3]", counted from 0 as in the array.
        value: what it was.
        exact: what it was taken for.
    """

    where: str
    value: float
    exact: Fraction

    @property
    def distance(self) -> float:
        """How far it was moved."""
        return abs(self.value - float(self.exact))


def of_module(model: nn.Module) -> tuple[Stage, ...]:
    """The stages of a stack of units: one layer, a `torch.nn.Sequential` of them, `Recurrent` cells among them.

    Raises:
        TypeError: there is a layer that does not say what it is made of.
        ValueError: a layer does not take what the one before it gives, or a weight is not finite.
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
        raise TypeError(
            f"{name}, does not say what it is made of; a formula is read from units of arithmos.nn, stacks of them, "
            "and layers with `parts`"
        )
    parameters = [parameter.detach().cpu().double().numpy() for parameter in module.parameters()]
    sizes = parameters[0].shape[::-1]
    return _assemble(name, parts, sizes, effective([parts], sizes, np.concatenate([p.ravel() for p in parameters])))


def of_weights(layers: Sequence[Layer], sizes: Sequence[int], weights: ArrayLike) -> tuple[Stage, ...]:
    """The stages of a network from its effective weights, flat, in the order of `engines.contract.layout`.

    Axes in front of the last one, a network each, stay in front in all arrays.

    Raises:
        TypeError: there is a layer that does not say what it is made of.
        ValueError: there are too many or too few weights, or one is not finite.
    """
    flat = np.asarray(weights, np.float64)
    stages, position = [], 0
    for number, (layer, size) in enumerate(zip(layers, pairwise(sizes), strict=True), 1):
        name, parts = f"layer {number}, {layer.name}", layer.parts
        if parts is None:
            raise TypeError(f"{name}, does not say what it is made of, so its parameters cannot be read as weights")
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
    """The stages, if each takes what the one before it gives and all numbers are finite."""
    for before, after in pairwise(stages):
        if before.out_features != after.in_features:
            raise ValueError(
                f"{after.name}, must take the {before.out_features} values that {before.name}, gives; "
                f"it takes {after.in_features}"
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
    """The same network with exact numbers, as fractions, in place of weights that are within `snap` of one.

    Weights and biases are read as integers, exponents of exp-log layers as multiples of ½. Weights of gates stay as
    they are.
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
