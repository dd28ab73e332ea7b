"""An observation's way through the network and back, in the registers of its thread, as C++."""

from collections.abc import Iterable

from ..trace.program import INPUT, REDUCTIONS, SEED, Term, walk, walk_until
from .expressions import STARTS, Statements, function, indented, unrolled, uses
from .first import product_of
from .layer import LayerProgram
from .program import NetworkProgram, over_inputs

_INPUTS = "sums.x"
"""Inputs of a network that is in registers."""


class _Registers:
    """Statements of a layer for one observation; values of outputs and inputs are arrays.

    Args:
        layer: the layer.
        names: arrays, or for the first layer sums, by node.
        prefix: prefix of the names of arrays.
    """

    def __init__(self, layer: LayerProgram, names: dict[Term, str], prefix: str) -> None:
        self.layer, self.names, self.prefix = layer, names, prefix
        self.lines: list[str] = []

    def given(self, node: Term) -> str | None:
        """Return the element of a value that is known."""
        if node in self.names:
            return self.names[node] + "".join(f"[{axis}]" for axis in node.axes if axis != "b")
        return self.layer.read(node)

    def over(self, axes: str, lines: list[str]) -> list[str]:
        """Return loops over axes."""
        for axis in "io":
            if axis in axes:
                lines = unrolled(axis, self.layer.sizes[axis], lines)
        return lines

    def compute(self, roots: Iterable[Term]) -> None:
        """Add what computes the roots, but for terms of sums over the batch."""
        roots = [root for root in roots if root not in self.names]
        self.used = uses(roots)
        for node in walk_until(roots, self.names | dict.fromkeys(self.layer.stored)):
            if node in self.names or node.leaf or node.boolean or "b" not in node.axes:
                continue
            if node.axes != "boi" or node.op == "others":
                self._add(node)

    def _add(self, node: Term) -> None:
        name = f"{self.prefix}{node.op}{len(self.names)}"
        own = node.axes.replace("b", "")
        shape = "".join(f"[{self.layer.sizes[axis]}]" for axis in own)
        element = name + "".join(f"[{axis}]" for axis in own)
        self.lines.append(f"float {name}{shape};")
        statements = Statements(self.given, self.layer.sizes, self.used)
        if node.op in REDUCTIONS:
            statements.reduce(node.op, "total", node.args[0])
            lines = self.over(node.data, statements.lines)
            lines = [f"float total = {STARTS[node.op]};", *lines, f"{element} = total;"]
            self.lines += self.over(own, lines) if own else ["{", *indented(lines), "}"]
        elif node.op == "others":
            self.lines += self.over(own.replace("i", ""), self._scan(node, element))
        else:
            statements.set(element, node)
            self.lines += self.over(own, statements.lines) if own else ["{", *indented(statements.lines), "}"]
        self.names[node] = name

    def _scan(self, node: Term, element: str) -> list[str]:
        """Return what gives each factor the product of those before it, and then of those after it."""
        factor, adjoint = node.args
        start, each = (Statements(self.given, self.layer.sizes, self.used) for _ in range(2))
        start.set("float before", adjoint)
        text = each.value(factor)
        inputs = self.layer.sizes["i"]
        down = ["#pragma unroll", f"for (int i = {inputs - 1}; i >= 0; --i) {{"]
        return [
            *start.lines,
            *unrolled("i", inputs, [*each.lines, f"{element} = before;", f"before *= {text};"]),
            "float after = 1.0f;",
            *down,
            *indented([*each.lines, f"{element} *= after;", f"after *= {text};"]),
            "}",
        ]

    def set(self, target: str, node: Term, axes: str, *, add: bool = False) -> list[str]:
        """Return loops over axes that set elements to a node, or add it; it may be one computed on the way."""
        own = Statements(self.given, self.layer.sizes, uses([node]))
        if add:
            own.reduce("sum", target, node)
        else:
            own.set(target, node)
        return self.over(axes, own.lines) or ["{", *indented(own.lines), "}"]


def _sums(layer: LayerProgram, root: Term) -> dict[Term, str]:
    return {node: f"sums.s{k}" for k, node in enumerate(over_inputs(root))}


def training_function(program: NetworkProgram) -> list[str]:
    """Return the function that takes an observation forward and back, and leaves rows and terms.

    It returns whether a product over the inputs is 0 for an observation of the warp.
    """
    layers, lines = [], ["const int b = at.b;", "bool any = false;"]
    arrays = {INPUT: _INPUTS}
    for layer in program.layers:
        own = _sums(layer, layer.unit.training) if layer.wide else {INPUT: arrays[INPUT]}
        made = _Registers(layer, own, f"l{layer.number}_")
        drawn = [node for node in walk([layer.unit.training]) if node.op == "noise"]
        for node in sorted(drawn, key=lambda node: node.data):
            if not (layer.wide and "i" in node.axes):
                name, count = f"l{layer.number}_noise{node.data}", layer.count(node.axes.strip("b"))
                made.lines += [f"float {name}[{count}];", f"at.noise({layer.noise(node)}, {name});"]
                made.names[node] = name
        made.compute([layer.unit.training])
        lines += [f"// Layer {layer.number}, {layer.name}.", *made.lines]
        made.lines = []
        arrays[INPUT] = made.names[layer.unit.training]
        layers.append(made)
    y = arrays[INPUT]
    lines += ["// The error and its gradient, and back.", "float dy[OUTPUTS];"]
    lines += unrolled("o", "OUTPUTS", [f"dy[o] = at.scale * ({y}[o] - target[o]);"])
    seed: str | None = "dy"
    for made in reversed(layers):
        layer = made.layer
        if seed is None:
            lines += [f"float zero{layer.number}[{layer.sizes['o']}] = {{}};"]
            seed = f"zero{layer.number}"
        made.names[SEED] = seed
        terms, rows = layer.terms, program.rows if layer.wide else {}
        dx = [] if layer.input_gradient is None else [layer.input_gradient]
        made.compute([*(node.args[0] for node in terms), *row_nodes(rows), *dx])
        lines += [f"// Layer {layer.number}, {layer.name}.", *made.lines]
        for node in terms:
            place = f"terms[{layer.sums[node] - program.gathered} + {layer.flat(node.axes)}]"
            lines += made.set(place, node.args[0], node.axes, add=program.small)
        lines += _left(program, made)
        seed = None
        for node in dx:
            seed = f"l{layer.number}_dx"
            lines += [f"float {seed}[{layer.sizes['i']}];", *made.set(f"{seed}[i]", node, "i")]
    signature = (
        "bool train_observation(const TrainingSums& sums, const float* w, const float* p, const float* batch, "
        "const float (&target)[OUTPUTS], const Observation& at, float* terms, float* deltas, u32* zeros)"
    )
    return function(signature, [*lines, "return any;"])


def row_nodes(rows: Iterable[Term]) -> list[Term]:
    """Return the nodes that must be known before rows are left."""
    found = []
    for node in rows:
        found += [node.args[1], product_of(node)] if node.op == "others" else [node]
    return [node for node in found if not node.leaf]


def _left(program: NetworkProgram, made: _Registers) -> list[str]:
    """Return what leaves rows for the second half."""
    if not made.layer.wide:
        return []
    lines, marks = list[str](), list[str]()
    for node, place in program.rows.items():
        own = Statements(made.given, made.layer.sizes)
        axes = node.axes.strip("bi")
        at = f"deltas + b * ROW_PITCH + {place}{' + o' if axes else ''}"
        if node.op == "others":
            adjoint, product = own.value(node.args[1]), own.value(product_of(node))
            zero, mark = f"{product} == 0.0f", f"{program.zeros[node]}{' + o' if axes else ''}"
            rest = f"product_of_others{place}(w, p, batch, b, o)"
            own.lines.append(f"at.leave({at}, {adjoint} * ({zero} ? {rest} : {product}));")
            marks += made.over(axes, [f"any |= mark(zeros + {mark}, {zero});"])
        else:
            own.lines.append(f"at.leave({at}, {own.value(node)});")
        lines += made.over(axes, own.lines) or own.lines
    return [*marks, "if (at.leaves) {", *indented(lines), "}"] if lines else []


def judging_function(program: NetworkProgram) -> list[str]:
    """Return the function that takes an observation forward in evaluation mode, and returns the sum of its gate."""
    lines: list[str] = []
    name = _INPUTS
    for layer in program.layers:
        unit = layer.unit
        made = _Registers(layer, _sums(layer, unit.evaluation) if layer.wide else {INPUT: name}, f"l{layer.number}_")
        gate = unit.gate if layer is program.last else None
        made.compute([unit.evaluation, *([] if gate is None else [gate])])
        lines += [f"// Layer {layer.number}, {layer.name}.", *made.lines]
        name = made.names[unit.evaluation]
        if gate is not None:
            lines += ["float gates = 0.0f;", *unrolled("o", "OUTPUTS", [f"gates += {made.names[gate]}[o];"])]
    lines += unrolled("o", "OUTPUTS", [f"y[o] = {name}[o];"])
    lines.append(f"return {'gates' if program.last.unit.gate is not None else '0.0f'};")
    same = program.small or program.first.unit.training is program.first.unit.evaluation
    sums = "TrainingSums" if same else "JudgingSums"
    signature = f"float judge_observation(const {sums}& sums, const float* w, const float* p, float (&y)[OUTPUTS])"
    return function(signature, lines)
