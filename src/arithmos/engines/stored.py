"""Networks of stored specs, read from their canonical JSON."""

from dataclasses import dataclass
from math import prod

from ..spec import Layer, Spec
from ..spec.stored import networks
from ..tasks import Task, UniformDraws
from .weights import layout


@dataclass(frozen=True)
class Described:
    """Networks of a spec.

    Args:
        layers: layers from input to output.
        sizes: width of the input, between the layers, and of the output.
        task: their task; None if the spec does not hold it in full, such as a user's data.
    """

    layers: tuple[Layer, ...]
    sizes: tuple[int, ...]
    task: Task | None

    @property
    def draws(self) -> UniformDraws | None:
        """The inputs of the task if it is an operation on uniform ones: the exact judge knows no others."""
        draws = None if self.task is None else self.task.draws(0)
        return draws if isinstance(draws, UniformDraws) else None

    @property
    def arrays(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the weights that a run keeps, in order."""
        layers = enumerate(zip(self.layers, layout(self.layers, self.sizes), strict=True), 1)
        return [
            (f"layer {number}, {layer.name}, {name}", shape)
            for number, (layer, arrays) in layers
            for name, shape in arrays.items()
        ]

    @property
    def length(self) -> int:
        """Number of weights that a run keeps."""
        return sum(prod(shape) for _, shape in self.arrays)


def described(spec: Spec | str) -> Described:
    """Read the networks of a spec, or of its canonical JSON.

    Raises:
        ValueError: the JSON names a layer, or a version of one, that this version of arithmos does not have, or is not
        that
            of a spec.
    """
    if isinstance(spec, Spec):
        return Described(spec.model.layers, spec.sizes, spec.task)
    return Described(*networks(spec))
