"""Network of traced units for the kernel: what is computed where, and where it is stored.

In the first half of an iteration a thread has an observation: it reduces the terms of the first layer over the inputs,
and computes everything else of the network in registers. In the second half it has an input of the first layer. Between
them, values of observations and outputs are in shared memory, as rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from torch import nn

from ..trace import UnitProgram, Untraceable
from ..trace.derive import gradients
from ..trace.forward import INPUT, Draw
from ..trace.program import ONE, REDUCTIONS, Term, View, apply, leaf, reduced, rewritten, walk
from .expressions import EXPENSIVE, is_number, uses

SEED = leaf("seed", None, "bo")
STRENGTH = leaf("strength")


class Allocator:
    """Counter of positions that are taken."""

    def __init__(self) -> None:
        self.used = 0

    def take(self, count: int, align: int = 1) -> int:
        self.used = -(-self.used // align) * align
        self.used += count
        return self.used - count


@dataclass(frozen=True)
class NoiseCall:
    """NoiseCall of a layer: the call of `arithmos.nn.noise` in an iteration, and its range."""

    call: int
    draw: Draw

    @property
    def width(self) -> float:
        """Width of its range, as float32 has it."""
        return float(np.float32(self.draw.high) - np.float32(self.draw.low))


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
        noises: its noise.
        stored: positions in shared memory of values that depend on parameters alone.
        sums: sums over the batch, with their positions among the gradients.
    """

    number: int
    name: str
    sizes: dict[str, int]
    unit: UnitProgram
    offsets: dict[str, int]
    gradients: dict[Term, Term]
    penalties: dict[Term, Term]
    input_gradient: Term | None
    noises: list[NoiseCall]
    stored: dict[Term, int] = field(default_factory=dict)
    sums: dict[Term, int] = field(default_factory=dict)

    @property
    def first(self) -> bool:
        """Whether it is the first layer, whose inputs are many."""
        return self.number == 0

    @property
    def stride(self) -> int:
        """Distance between the rows of a stored matrix: in the first layer, a multiple of four."""
        return -(-self.sizes["i"] // 4) * 4 if self.first else self.sizes["i"]

    def count(self, axes: str) -> int:
        """Return the number of elements of a value with these axes, in an array without gaps."""
        return prod(self.sizes[axis] for axis in axes)

    def extent(self, axes: str) -> int:
        """Return the space of a stored value with these axes."""
        return (self.sizes["o"] if "o" in axes else 1) * (self.stride if "i" in axes else 1)

    def at(self, axes: str, o: str = "o", i: str = "i") -> str:
        """Return the place of an element of a stored value."""
        places = [f"{o} * {self.stride}" if "i" in axes else o] if "o" in axes else []
        return " + ".join([*places, *([i] if "i" in axes else [])]) or "0"

    def flat(self, axes: str, o: str = "o", i: str = "i") -> str:
        """Return the place of an element of an array without gaps."""
        places = [f"{o} * {self.sizes['i']}" if "i" in axes else o] if "o" in axes else []
        return " + ".join([*places, *([i] if "i" in axes else [])]) or "0"

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
        return [node for node in self.sums if self.first and "i" in node.axes]

    @property
    def terms(self) -> list[Term]:
        """Sums over the batch of what the threads of the observations compute."""
        return [node for node in self.sums if not (self.first and "i" in node.axes)]

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


def walk_until(roots: Iterable[Term], known: Mapping[Term, object]) -> list[Term]:
    """Return the nodes below the roots, and the roots, but nothing below known ones, each after its arguments."""
    found: dict[Term, None] = {}

    def visit(node: Term) -> None:
        if node not in found:
            if node not in known:
                for arg in node.args:
                    visit(arg)
            found[node] = None

    for root in roots:
        visit(root)
    return list(found)


@dataclass
class NetworkProgram:
    """Network for the kernel.

    Args:
        layers: its layers.
        sizes: widths of the input, between the layers, and of the output.
        parameters: number of its parameters.
        constants: number of elements of its buffers.
        stored: elements of stored values that depend on parameters alone.
        sums: number of sums over the batch; `gathered` of them come first.
        rows: values of observations that the second half reads, with the positions of their rows.
        planes: values of observations and inputs that are kept for the second half, with the number of their plane.
    """

    layers: list[LayerProgram]
    sizes: Sequence[int]
    parameters: int
    constants: int
    stored: int = 0
    gathered: int = 0
    sums: int = 0
    rows: dict[Term, int] = field(default_factory=dict)
    row_count: int = 0
    planes: dict[Term, int] = field(default_factory=dict)

    @property
    def terms(self) -> int:
        """Number of sums over the batch that are of observations."""
        return self.sums - self.gathered

    @property
    def first(self) -> LayerProgram:
        """The first layer."""
        return self.layers[0]

    @property
    def last(self) -> LayerProgram:
        """The last layer."""
        return self.layers[-1]

    @property
    def reductions(self) -> list[Term]:
        """Reductions over the inputs in the first layer, in training mode."""
        return over_inputs(self.first.unit.training)


def over_inputs(root: Term) -> list[Term]:
    """Return the reductions over the inputs of a first layer's output.

    Raises:
        Untraceable: one of them depends on another.
    """
    found = [node for node in walk([root]) if node.op in REDUCTIONS and "i" in node.data and "b" in node.args[0].axes]
    for node in found:
        if any("b" in part.axes and "i" not in part.axes for part in walk(node.args)):
            raise Untraceable(
                "in the first layer, the cuda engine cannot take a sum or product over inputs that depends on another, "
                "or on noise per output"
            )
    return found


def write(
    units: Sequence[UnitProgram],
    network: nn.Sequential,
    sizes: Sequence[int],
    batch: int,
    *,
    regularized: bool,
    keep: bool,
) -> NetworkProgram:
    """Return the program of a network.

    Args:
        units: programs of its layers, from input to output.
        network: the network, for the shapes of its parameters.
        sizes: widths of the input, between the layers, and of the output.
        batch: observations of a batch.
        regularized: whether it trains with the sparsity regularizer.
        keep: whether logarithms and the like of inputs are kept for the second half, and not computed again.
    """
    trained, buffers = Allocator(), Allocator()
    offsets = [{name: trained.take(p.numel()) for name, p in module.named_parameters()} for module in network]
    for own, module in zip(offsets, network, strict=True):
        own |= {name: trained.used + buffers.take(b.numel()) for name, b in module.named_buffers()}
    layers, calls = [], 0
    for number, (unit, own) in enumerate(zip(units, offsets, strict=True)):
        widths = {"b": batch, "o": sizes[number + 1], "i": sizes[number]}
        noises = [NoiseCall(calls + k, draw) for k, draw in enumerate(unit.draws)]
        calls += len(noises)
        layers.append(_layer(number, network[number], widths, unit, own, noises, regularized=regularized))
    program = NetworkProgram(layers, sizes, trained.used, buffers.used)
    stored, sums = Allocator(), Allocator()
    for layer in layers:
        _store(layer, stored)
    for layer in layers:
        layer.sums = {node: 0 for node in _sums([*layer.gradients.values()])}
    for gathered in (True, False):
        for layer in layers:
            for node in layer.gathered if gathered else layer.terms:
                layer.sums[node] = sums.take(layer.count(node.axes))
        if gathered:
            program.gathered = sums.used
    program.stored, program.sums = stored.used, sums.used
    _between(program, keep=keep)
    return program


def _layer(
    number: int,
    module: nn.Module,
    sizes: dict[str, int],
    unit: UnitProgram,
    offsets: dict[str, int],
    noises: list[NoiseCall],
    *,
    regularized: bool,
) -> LayerProgram:
    roots = [unit.training, unit.evaluation, *([] if unit.gate is None else [unit.gate])]
    found = rewritten(roots, _factored)
    unit = UnitProgram(
        found[unit.training],
        found[unit.evaluation],
        None if unit.gate is None else found[unit.gate],
        unit.weights,
        unit.sparsity,
        unit.bounds,
        unit.draws,
    )
    trained = {name for name, parameter in module.named_parameters() if parameter.requires_grad}
    used = walk([unit.training, unit.sparsity])
    wanted = [node for node in used if node.op == "parameter" and node.data.name in trained]
    own = gradients({unit.training: SEED}, [*wanted, *([INPUT] if number else [])])
    dx = own.pop(INPUT, None)
    split = rewritten(own.values(), lambda node: _apart(node, first=number == 0))
    own = _merged({view: split[value] for view, value in own.items()})
    penalties = gradients({unit.sparsity: STRENGTH}, wanted) if regularized else {}
    return LayerProgram(number, type(module).__name__, sizes, unit, offsets, own, penalties, dx, noises)


def _factored(node: Term) -> Term:
    """Rewrite factors w x + (1 - w) as w (x - 1) + 1, with one operation less for each of them."""
    if node.op == "sum" and node.data == "oi" and node.args[0].axes == "boi":
        return reduced("sum", reduced("sum", node.args[0], "i"), "o")
    if node.op != "prod" or node.args[0].op != "add":
        return node
    for product, rest in (node.args[0].args, node.args[0].args[::-1]):
        if product.op == "mul" and rest.op == "sub" and rest.args[0] is ONE and rest.args[1] in product.args:
            w = rest.args[1]
            x = product.args[1] if product.args[0] is w else product.args[0]
            if w is not x:
                factor = apply("add", apply("mul", w, apply("sub", x, ONE)), ONE)
                return reduced("prod", factor, node.data)
    return node


def _apart(node: Term, *, first: bool) -> Term:
    """Split a sum over the batch and other axes into two.

    A thread has all outputs of its observation, and all inputs but those of the first layer, whose sums come last.
    """
    if node.op != "sum" or "b" not in node.data or len(node.data) == 1:
        return node
    rest, [arg] = node.data.replace("b", ""), node.args
    if first and "i" in arg.axes:
        return reduced("sum", reduced("sum", arg, "b"), rest)
    return reduced("sum", reduced("sum", arg, rest), "b")


def _merged(found: dict[Term, Term]) -> dict[Term, Term]:
    """Turn sums of two sums over the batch into one, if nothing else needs them."""
    used = uses(found.values())
    counted: dict[Term, int] = {}

    def rule(node: Term) -> Term:
        if node.op == "add" and all(
            arg.op == "sum" and arg.data == "b" and counted.get(arg, 0) == 1 for arg in node.args
        ):
            merged = reduced("sum", apply("add", node.args[0].args[0], node.args[1].args[0]), "b")
            counted[merged] = 1
            return merged
        return node

    counted.update(used)
    made = rewritten(found.values(), rule)
    return {view: made[value] for view, value in found.items()}


def _store(layer: LayerProgram, places: Allocator) -> None:
    """Give places to values that depend on parameters alone, where those of observations are computed from them."""
    unit = layer.unit
    roots = [unit.training, unit.evaluation, *([] if unit.gate is None else [unit.gate]), *layer.gradients.values()]
    roots += [layer.input_gradient] if layer.input_gradient is not None else []
    found: dict[Term, None] = {}
    for node in walk(roots):
        if "b" in node.axes or (node.op in REDUCTIONS and "b" in node.data):
            found |= dict.fromkeys(arg for arg in node.args if "b" not in arg.axes and not is_number(arg))
    for node in walk([*found, *(unit.weights or ()), *layer.gradients.values(), *layer.penalties.values()]):
        if node.op in REDUCTIONS and "b" not in node.args[0].axes and not _depends(node, ("seed", "strength")):
            found[node] = None
    for node in walk(found):
        if node in found and not is_direct(layer, node):
            layer.stored[node] = places.take(layer.extent(node.axes), 4 if layer.first else 1)


def _depends(node: Term, leaves: tuple[str, ...]) -> bool:
    return any(part.op in leaves for part in walk([node]))


def is_direct(layer: LayerProgram, node: Term) -> bool:
    """Return whether a value is read from the parameters: in the first layer, rows are padded to multiples of four."""
    return node.op in ("parameter", "buffer") and not (layer.first and "i" in node.axes)


def _sums(roots: Iterable[Term]) -> list[Term]:
    """Return sums over the batch."""
    return [node for node in walk(roots) if node.op == "sum" and node.data == "b"]


def _between(program: NetworkProgram, *, keep: bool) -> None:
    """Find what the second half needs of the first, and give it places."""
    first, places = program.first, Allocator()
    forward = set(walk([first.unit.training]))
    program.planes[INPUT] = 0
    for node in forward:
        if node.op == "noise" and "i" in node.axes:
            program.planes[node] = len(program.planes)
    for node in gathering(first, program.planes):
        if "i" not in node.axes or node.op == "others":
            program.rows[node] = places.take(first.count(node.axes.strip("bi")) * (2 if node.op == "others" else 1))
        elif keep and node.axes == "bi" and node.op in EXPENSIVE and node in forward:
            program.planes[node] = len(program.planes)
    program.row_count = places.used


def gathering(first: LayerProgram, planes: Mapping[Term, int]) -> list[Term]:
    """Return the nodes of observations that the second half reads or computes, each after its arguments."""
    found: dict[Term, None] = {}

    def visit(node: Term) -> None:
        if node in found or "b" not in node.axes:
            return
        if "i" in node.axes and node not in planes:
            for arg in node.args[:1] if node.op == "others" else node.args:
                visit(arg)
        found[node] = None

    for total in first.gathered:
        visit(total.args[0])
    return list(found)
