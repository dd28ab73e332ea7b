"""Stages of a network: layers as operations with their weights, whose numbers can be rounded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .forms import Activation, Aggregation

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
        grid: steps per integer on which weights are rounded; 2 for exponents that may be halves, since √z is |z|^½.
    """

    name: str
    aggregation: "Aggregation"
    weight: Array
    bias: Array | None = None
    activation: "Activation" = "none"
    grid: int = 1


@dataclass(frozen=True)
class Stage:
    """Layer with its weights.

    Args:
        name: its position and unit, such as "layer 1, NAU".
        branches: one, or a sum and a product in a unit that chooses between them.
        gate: weights of the gate in a gated unit.
        initial: value of every element of the initial state in a recurrent layer.
        off: largest difference between layer and stage, relative to 1 plus the magnitude: gates that are neither open
            nor closed are no part of a stage.
    """

    name: str
    branches: tuple[Branch, ...]
    gate: Array | None = None
    initial: float | None = None
    off: float = 0.0

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

    Weights and biases are rounded to integers, exponents of layers that take roots to multiples of ½. Weights of
    gates are kept.
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
