"""Network of traced units for the kernel: what is computed where, and where it is stored.

In the first half of an iteration a thread has an observation: it reduces the terms of the first layer over the inputs,
and computes everything else of the network in registers. In the second half it has a part of the observations for four
inputs of the first layer. Between them, values of observations and outputs are in shared memory, a row per observation.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torch import nn

from ..trace import UnitProgram, Untraceable
from ..trace.derive import gradients
from ..trace.program import INPUT, ONE, REDUCTIONS, SEED, STRENGTH, Term, apply, is_number, reduced, rewritten, walk
from .expressions import EXPENSIVE, uses
from .layer import Allocator, LayerProgram


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
        rows: values of observations that the second half reads, with their positions in the row of an observation.
        zeros: products whose factors the second half needs, with their positions among the marks of those that are 0.
        zero_count: number of these marks of an observation.
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
    zeros: dict[Term, int] = field(default_factory=dict)
    zero_count: int = 0
    planes: dict[Term, int] = field(default_factory=dict)

    @property
    def row_align(self) -> int:
        """Values of outputs in a row that are read at a time."""
        return next(size for size in (4, 2, 1) if self.sizes[1] % size == 0)

    @property
    def row_pitch(self) -> int:
        """Distance between the rows of observations: an odd number of reads, so that they are in different banks."""
        return self.row_align * (-(-self.row_count // self.row_align) | 1)

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
    def small(self) -> bool:
        """Whether a thread has all of the network in registers."""
        return not self.first.wide

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
    small: bool = False,
) -> NetworkProgram:
    """Return the program of a network.

    Args:
        units: programs of its layers, from input to output.
        network: the network, for the shapes of its parameters.
        sizes: widths of the input, between the layers, and of the output.
        batch: observations of a batch.
        regularized: whether it trains with the sparsity regularizer.
        keep: whether logarithms and the like of inputs are kept for the second half, and not computed again.
        small: whether a thread has all of the network in registers, so that there is no second half.
    """
    trained, buffers = Allocator(), Allocator()
    offsets = [{name: trained.take(p.numel()) for name, p in module.named_parameters()} for module in network]
    for own, module in zip(offsets, network, strict=True):
        own |= {name: trained.used + buffers.take(b.numel()) for name, b in module.named_buffers()}
    layers, calls = [], 0
    for number, (unit, own) in enumerate(zip(units, offsets, strict=True)):
        widths = {"b": batch, "o": sizes[number + 1], "i": sizes[number]}
        layers.append(
            _layer(
                number, network[number], widths, unit, own, calls, wide=not (number or small), regularized=regularized
            )
        )
        calls += len(unit.draws)
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
    calls: int,
    *,
    wide: bool,
    regularized: bool,
) -> LayerProgram:
    found = rewritten(_outputs(unit), _factored)
    gate = None if unit.gate is None else found[unit.gate]
    unit = replace(unit, training=found[unit.training], evaluation=found[unit.evaluation], gate=gate)
    trained = {name for name, parameter in module.named_parameters() if parameter.requires_grad}
    used = walk([unit.training, unit.sparsity])
    wanted = [node for node in used if node.op == "parameter" and node.data.name in trained]
    own = gradients({unit.training: SEED}, [*wanted, *([INPUT] if number else [])])
    dx = own.pop(INPUT, None)
    split = rewritten(own.values(), lambda node: _apart(node, wide=wide))
    own = _merged({view: split[value] for view, value in own.items()})
    penalties = gradients({unit.sparsity: STRENGTH}, wanted) if regularized else {}
    return LayerProgram(number, type(module).__name__, sizes, unit, offsets, own, penalties, dx, calls, wide=wide)


def _outputs(unit: UnitProgram) -> list[Term]:
    return [unit.training, unit.evaluation, *([] if unit.gate is None else [unit.gate])]


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


def _apart(node: Term, *, wide: bool) -> Term:
    """Split a sum over the batch and other axes into two.

    A thread has all outputs of its observation, and all inputs but those of a wide layer, whose sums come last.
    """
    if node.op != "sum" or "b" not in node.data or len(node.data) == 1:
        return node
    rest, [arg] = node.data.replace("b", ""), node.args
    if wide and "i" in arg.axes:
        return reduced("sum", reduced("sum", arg, "b"), rest)
    return reduced("sum", reduced("sum", arg, rest), "b")


def _merged(found: dict[Term, Term]) -> dict[Term, Term]:
    """Turn sums of two sums over the batch into one, if nothing else needs them."""
    counted = uses(found.values())

    def rule(node: Term) -> Term:
        if node.op == "add" and all(arg.op == "sum" and arg.data == "b" and counted[arg] == 1 for arg in node.args):
            merged = reduced("sum", apply("add", node.args[0].args[0], node.args[1].args[0]), "b")
            counted[merged] = 1
            return merged
        return node

    made = rewritten(found.values(), rule)
    return {view: made[value] for view, value in found.items()}


def _store(layer: LayerProgram, places: Allocator) -> None:
    """Give places to values that depend on parameters alone, where those of observations are computed from them."""
    unit = layer.unit
    roots = [*_outputs(unit), *layer.gradients.values()]
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
            layer.stored[node] = places.take(layer.extent(node.axes), 4 if layer.wide else 1)


def _depends(node: Term, leaves: tuple[str, ...]) -> bool:
    return any(part.op in leaves for part in walk([node]))


def is_direct(layer: LayerProgram, node: Term) -> bool:
    """Return whether a value is read from the parameters: in a wide layer, rows are padded to multiples of four."""
    return node.op in ("parameter", "buffer") and not (layer.wide and "i" in node.axes)


def _sums(roots: Iterable[Term]) -> list[Term]:
    """Return sums over the batch."""
    return [node for node in walk(roots) if node.op == "sum" and node.data == "b"]


def _between(program: NetworkProgram, *, keep: bool) -> None:
    """Find what the second half needs of the first, and give it places."""
    first, places, zeros = program.first, Allocator(), Allocator()
    forward = set(walk([first.unit.training]))
    program.planes[INPUT] = 0
    if program.small:
        return
    for node in forward:
        if node.op == "noise" and "i" in node.axes:
            program.planes[node] = len(program.planes)
    for node in gathering(first, program.planes):
        if "i" not in node.axes or node.op == "others":
            count = first.count(node.axes.strip("bi"))
            program.rows[node] = places.take(count, program.row_align if count > 1 else 1)
            if node.op == "others":
                program.zeros[node] = zeros.take(count)
        elif keep and node.axes == "bi" and node.op in EXPENSIVE and node in forward:
            program.planes[node] = len(program.planes)
    program.row_count, program.zero_count = places.used, zeros.used


def gathering(first: LayerProgram, planes: Mapping[Term, int]) -> list[Term]:
    """Return the nodes of observations that the second half reads or computes, each after its arguments."""

    def below(node: Term) -> Sequence[Term]:
        if not {"b", "i"} <= {*node.axes} or node in planes:
            return ()
        return node.args[:1] if node.op == "others" else node.args

    return [node for node in walk((total.args[0] for total in first.gathered), below) if "b" in node.axes]
