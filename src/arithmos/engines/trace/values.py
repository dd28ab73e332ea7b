"""Tensors of a traced forward pass: which axis each dimension is, and the program of the elements."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .program import Term, apply, ordered, reduced

BATCH, INPUTS, OUTPUTS = 13, 7, 11
"""Sizes at which units are traced: primes, so that no axis is taken for another."""

MOST_PIECES = 8

_NAMES = {"b": "observations", "o": "outputs", "i": "inputs"}


class Untraceable(ValueError):
    """Reason why a unit has no program, on one line."""


def axis_of(length: int, shape: Sequence[int]) -> tuple[str, int]:
    """Return the axis that a dimension of this size must be, and how many times the inputs it is."""
    known = {1: ("", 1), BATCH: ("b", 1), OUTPUTS: ("o", 1)}
    if length in known:
        return known[length]
    if length % INPUTS == 0 and length // INPUTS <= MOST_PIECES:
        return "i", length // INPUTS
    names = {BATCH: "batch", INPUTS: "in", OUTPUTS: "out"}
    shown = ", ".join(names.get(n, str(n)) for n in shape)
    raise Untraceable(f"a tensor of shape ({shown}) has a dimension that is neither inputs nor outputs")


@dataclass(frozen=True)
class Value:
    """Tensor in a traced forward pass.

    Args:
        dims: axis of each dimension; empty for size 1.
        pieces: programs of its elements: one, or several if its axis of inputs is so many times as long.
    """

    dims: tuple[str, ...]
    pieces: tuple[Term, ...]

    @property
    def node(self) -> Term:
        """The program of a tensor in one piece."""
        if len(self.pieces) > 1:
            raise Untraceable("inputs that were concatenated are used other than in sums and products over all of them")
        return self.pieces[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape at the sizes of the trace."""
        sizes = {"": 1, "b": BATCH, "o": OUTPUTS, "i": INPUTS * len(self.pieces)}
        return tuple(sizes[axis] for axis in self.dims)

    def map(self, function: Callable[[Term], Term]) -> "Value":
        """Return the tensor with a function applied to every element."""
        return Value(self.dims, tuple(map(function, self.pieces)))

    def viewed(self, shape: Sequence[int]) -> "Value":
        """Return the tensor with other dimensions of size 1."""
        shape = list(shape)
        if -1 in shape:
            rest = -math.prod(shape)
            shape[shape.index(-1)] = math.prod(self.shape) // rest if rest else 0
        if [n for n in shape if n != 1] != [n for n in self.shape if n != 1]:
            raise Untraceable(f"view from {self.shape} to {tuple(shape)} merges or splits axes")
        own = iter([axis for axis in self.dims if axis])
        return Value(tuple("" if n == 1 else next(own) for n in shape), self.pieces)

    def permuted(self, order: Sequence[int]) -> "Value":
        """Return the tensor with its dimensions in another order."""
        return Value(tuple(self.dims[place] for place in order), self.pieces)

    def expanded(self, shape: Sequence[int]) -> "Value":
        """Return the tensor repeated along dimensions of size 1."""
        dims = ("",) * (len(shape) - len(self.dims)) + self.dims
        if any(n > INPUTS and n % INPUTS == 0 and not axis for n, axis in zip(shape, dims, strict=True)):
            raise Untraceable("expand along concatenated inputs")
        full = (axis or ("" if n == -1 else axis_of(n, shape)[0]) for n, axis in zip(shape, dims, strict=True))
        return Value(tuple(full), self.pieces)

    def reduced(self, op: str, dims: Sequence[int], *, keep: bool) -> "Value":
        """Return the sum, product or maximum over dimensions."""
        places = [place % len(self.dims) for place in dims]
        axes = ordered(self.dims[place] for place in places if self.dims[place])
        if "b" in axes:
            raise Untraceable("it mixes the observations of a batch")
        if op == "prod" and axes not in ("", "i"):
            raise Untraceable(
                f"product over {' and '.join(_NAMES[axis] for axis in axes)}; only over inputs is possible"
            )
        pieces = tuple(reduced(op, piece, axes) for piece in self.pieces)
        if "i" in axes and len(pieces) > 1:
            combine = {"sum": "add", "prod": "mul", "max": "max_of"}[op]
            total = pieces[0]
            for piece in pieces[1:]:
                total = apply(combine, total, piece)
            pieces = (total,)
        kept = ["" if place in places else axis for place, axis in enumerate(self.dims) if keep or place not in places]
        return Value(tuple(kept), pieces)


def combined(function: Callable[..., Term], *values: Value) -> Value:
    """Return an elementwise function of tensors, which are broadcast."""
    length = max(len(value.dims) for value in values)
    padded = [("",) * (length - len(value.dims)) + value.dims for value in values]
    dims = []
    for place in range(length):
        axes = {own[place] for own in padded} - {""}
        if len(axes) > 1:
            raise Untraceable(
                f"{' and '.join(_NAMES[axis] for axis in sorted(axes))} are combined as if they were one axis"
            )
        dims.append(next(iter(axes), ""))
    count = max(len(value.pieces) for value in values)
    pieces = [value.pieces if len(value.pieces) == count else value.pieces * count for value in values]
    return Value(tuple(dims), tuple(function(*args) for args in zip(*pieces, strict=True)))


def joined(values: Sequence[Value], dim: int) -> Value:
    """Return tensors concatenated along their inputs."""
    dims = values[0].dims
    if dims[dim] != "i" or any(value.dims != dims for value in values):
        raise Untraceable("cat along an axis that is not that of the inputs")
    return Value(dims, tuple(piece for value in values for piece in value.pieces))
