"""What the canonical JSON of a stored spec says of its networks."""

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from ..spec import Layer, Spec
from ..spec.stored import networks
from ..tasks import Task, Uniform
from .contract import layout


@dataclass(frozen=True)
class Described:
    """What a spec says of its networks.

    Args:
        layers: from input to output.
        sizes: width of the input, between the layers, and of the output.
        task: what they learn; None if it is not told in full, such as a user's data.
    """

    layers: tuple[Layer, ...]
    sizes: tuple[int, ...]
    task: Task | None

    @property
    def draws(self) -> Uniform | None:
        """How the task draws its inputs, if it is an operation on uniform ones: the exact judge knows no others."""
        draws = None if self.task is None else self.task.draws(0)
        return draws if isinstance(draws, Uniform) else None

    @property
    def arrays(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the effective weights, in order; none if a layer does not say what it is made of."""
        found = []
        for number, (layer, size) in enumerate(zip(self.layers, pairwise(self.sizes), strict=True), 1):
            if layer.parts is None:
                return []
            found += [(f"layer {number}, {layer.name}, {name}", shape) for name, shape in layout(layer.parts, *size)]
        return found

    @property
    def length(self) -> int:
        """How many effective weights there are; 0 if a layer does not say what it is made of."""
        return sum(prod(shape) for _, shape in self.arrays)


def described(spec: Spec | str) -> Described:
    """A spec, or the canonical JSON of one, as far as the layers of its networks are concerned.

    Raises:
        ValueError: the JSON names a layer, or a version of one, that this arithmos does not have, or is not that of a
            spec.
    """
    if isinstance(spec, Spec):
        return Described(spec.model.layers, spec.sizes, spec.task)
    return Described(*networks(spec))
