"""One layer of a network for the kernel: where its parameters, stored weights and sums are."""

from dataclasses import dataclass, field
from math import prod

from ..trace import UnitProgram
from ..trace.program import REDUCTIONS, Term, View, is_number, walk_until
from .expressions import literal


class Allocator:
    """Counter of positions that are taken."""

    def __init__(self) -> None:
        self.used = 0

    def take(self, count: int, align: int = 1) -> int:
        self.used = -(-self.used // align) * align
        self.used += count
        return self.used - count


@dataclass(eq=False)
class LayerProgram:
    """Layer of a network.

    Args:
        number: its number, from 0.
        name: what it is called in comments.
        sizes: sizes of its axes.
        unit: its program, as the kernel computes it.
        offsets: positions of its parameters and buffers among those of the network, by name.
        gradients: gradients of its parameters by views, as far as the loss depends on them.
        penalties: the same of the sparsity regularizer.
        input_gradient: gradient of its inputs; None in the first layer, and if nothing depends on them.
        calls: calls of `arithmos.nn.noise` in the layers before it.
        stored: positions in shared memory of values that depend on parameters alone.
        sums: sums over the batch, with their positions among the gradients.
        wide: whether its inputs are in shared memory, and their weights belong to the threads of the second half; so
            it is in the first layer, unless a thread has all of the network in registers.
    """

    number: int
    name: str
    sizes: dict[str, int]
    unit: UnitProgram
    offsets: dict[str, int]
    gradients: dict[Term, Term]
    penalties: dict[Term, Term]
    input_gradient: Term | None
    calls: int
    stored: dict[Term, int] = field(default_factory=dict)
    sums: dict[Term, int] = field(default_factory=dict)
    wide: bool = False

    @property
    def stride(self) -> int:
        """Distance between the rows of a stored matrix: in a wide layer, a multiple of four."""
        return -(-self.sizes["i"] // 4) * 4 if self.wide else self.sizes["i"]

    def count(self, axes: str) -> int:
        """Return the number of elements of a value with these axes, in an array without gaps."""
        return prod(self.sizes[axis] for axis in axes)

    def extent(self, axes: str) -> int:
        """Return the space of a stored value with these axes."""
        return (self.sizes["o"] if "o" in axes else 1) * (self.stride if "i" in axes else 1)

    def at(self, axes: str, stride: int | None = None) -> str:
        """Return the place of an element of a stored value, or of an array with another distance between rows."""
        row = f"o * {self.stride if stride is None else stride}" if "i" in axes else "o"
        return " + ".join([row] * ("o" in axes) + ["i"] * ("i" in axes)) or "0"

    def flat(self, axes: str) -> str:
        """Return the place of an element of an array without gaps."""
        return self.at(axes, self.sizes["i"])

    def noise(self, node: Term) -> str:
        """Return the call that a noise is, its lower end and its width."""
        draw = self.unit.draws[node.data]
        return f"{self.calls + node.data}, {literal(draw.low)}, {literal(draw.width)}"

    def weight(self, node: Term, array: str = "s.weights") -> str:
        """Return the element of a stored value."""
        return f"{array}[{self.stored[node]} + {self.at(node.axes)}]"

    def parameter(self, node: Term, array: str = "s.parameters", o: str = "o") -> str | None:
        """Return the element of a parameter or buffer; None for other nodes."""
        return f"{array}[{self.index(node.data, o)}]" if node.op in ("parameter", "buffer") else None

    def read(self, node: Term) -> str | None:
        """Return the element of a stored value, a parameter or a buffer, as functions of observations have them."""
        return self.weight(node, "w") if node in self.stored else self.parameter(node, "p")

    def index(self, view: View, o: str = "o", i: str = "i") -> str:
        """Return the position of an element of a parameter or buffer among those of the network."""
        terms: list[str] = []
        stride = 1
        for axis in reversed([axis for axis in view.dims if axis]):
            own = {"o": o, "i": i}[axis]
            if axis == "i" and view.piece:
                own = f"({own} + {view.piece * self.sizes['i']})"
            terms.insert(0, own if stride == 1 else f"{own} * {stride}")
            stride *= self.sizes[axis] * (view.pieces if axis == "i" else 1)
        offset = self.offsets[view.name]
        return " + ".join([*([str(offset)] if offset or not terms else []), *terms])

    @property
    def parameters(self) -> list[Term]:
        """Views of parameters that are trained."""
        return list(dict.fromkeys([*self.gradients, *self.penalties]))

    @property
    def gathered(self) -> list[Term]:
        """Sums over the batch that the second half computes, by the threads of the inputs."""
        return [node for node in self.sums if self.wide and "i" in node.axes]

    @property
    def terms(self) -> list[Term]:
        """Sums over the batch of what the threads of the observations compute."""
        return [node for node in self.sums if not (self.wide and "i" in node.axes)]

    @property
    def plain(self) -> bool:
        """Whether each parameter changes by itself: by sums, and to weights, with the same axes."""

        def alone(node: Term, axes: str) -> bool:
            for part in walk_until([node], self.sums):
                if part.leaf or part in self.sums:
                    if part.axes != axes and part.op != "strength" and not is_number(part):
                        return False
                elif part.op in (*REDUCTIONS, "others"):
                    return False
            return True

        grown = [*self.gradients.items(), *self.penalties.items()]
        return all(alone(value, view.axes) for view, value in grown) and all(
            alone(node, node.axes) for node in self.stored
        )
