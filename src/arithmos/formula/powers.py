"""The exact judge of single layers of units since 2020, which read themselves as sums and products of powers.

Weights are rounded to integers, exponents of units that can take roots to multiples of ½, and gates to the closer side.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils import vector_to_parameters

from ..nn import NEWER
from ..nn._layer import UnitLayer
from ..nn._reading import Reading
from ..spec import Layer
from .exact import Exact, root, same


def layer_of(layers: Sequence[Layer], sizes: Sequence[int]) -> UnitLayer | None:
    """Return the layer of a network that has one, of a unit that reads itself; None for any other network."""
    if len(layers) != 1 or layers[0].name not in NEWER:
        return None
    layer = layers[0].build(*sizes)
    return layer if isinstance(layer, UnitLayer) else None


def recovered_layers(
    layer: UnitLayer,
    parameters: NDArray[np.float64],
    rows: NDArray[np.float64],
    at: NDArray[np.int64],
    targets: Sequence[Sequence[Exact]],
) -> NDArray[np.bool_]:
    """Test which runs of a layer with one output found the formula exactly.

    Args:
        layer: the layer, whose parameters change.
        parameters: `[runs, parameters]`, in the order of `layer.parameters()`.
        rows: inputs that the layer is meant for.
        at: integer points, `[points, inputs]`.
        targets: the formula of each run at these points; None where it has no value.
    """
    x = torch.from_numpy(rows).to(torch.get_default_dtype())
    found = np.zeros(len(parameters), bool)
    for run, (flat, values) in enumerate(zip(parameters, targets, strict=True)):
        vector_to_parameters(torch.from_numpy(flat).to(x), layer.parameters())
        with torch.no_grad():
            reading = layer.reading(x)
        known = [(point, t) for point, t in zip(at.tolist(), values, strict=True) if t is not None]
        found[run] = bool(known) and all(_agrees(reading, point, t) for point, t in known)
    return found


def _agrees(reading: Reading, point: Sequence[int], target: Exact) -> bool:
    value = value_of(reading, point)
    return value is not None and same(value, target)


def value_of(reading: Reading, point: Sequence[int], output: int = 0) -> Exact | None:
    """Return an output at integers other than 0, with its weights rounded; None if it has no formula.

    Example:
        >>> value_of(Reading.products(torch.tensor([[0.9, -1.1, 0.2]])), [6, -4, 5])
        Fraction(-3, 2)
    """
    grid = reading.grid if reading.product[output] else 1
    scaled = reading.weight[output].double() * grid
    if not torch.isfinite(scaled).all():
        return None
    weights = [Fraction(round(value), grid) for value in scaled.tolist()]
    if not reading.product[output]:
        return sum((w * x for w, x in zip(weights, point, strict=True)), Fraction(0))
    powers = [(w, Fraction(x if reading.signed else abs(x))) for w, x in zip(weights, point, strict=True)]
    if any(w.denominator == 2 and x < 0 for w, x in powers):
        return 0  # the real part of a root
    halves = root(prod((x ** int(2 * w) for w, x in powers if w.denominator == 2), start=Fraction(1)))
    return halves * prod((x ** int(w) for w, x in powers if w.denominator == 1), start=Fraction(1))
