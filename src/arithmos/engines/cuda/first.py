"""The first layer, which has as many inputs as the task: its reductions, and the gradients of its weights, as C++."""

from collections.abc import Callable

from ..trace.program import INPUT, ONE, ZERO, Term, lower_bound, reduced, remade, walk
from .expressions import STARTS, Statements, function, indented, unrolled, uses
from .layer import LayerProgram
from .program import NetworkProgram, gathering, over_inputs

_COUNT = "constexpr int COUNT = OUT - FROM < OUT_TILE ? OUT - FROM : OUT_TILE;"


class _Groups:
    """Values of inputs in groups of four, each a `float4` with lanes c, made once for all outputs."""

    near_log = "finite_log({0})"

    def __init__(self, program: NetworkProgram, roots: list[Term]) -> None:
        self.program, self.layer = program, program.first
        self.used = uses(roots)
        self.shared = {arg for node in walk(roots) if node.axes == "boi" for arg in node.args if arg.axes == "bi"}
        self.lines: list[str] = []
        self.names: dict[Term, str] = {}
        self.weights: dict[Term, str] = {}

    def leaf(self, node: Term) -> str | None:
        """Return a value that is neither an input nor computed from one; None if it is none of these."""
        if node in self.layer.stored:
            return self.stored(node) if "i" in node.axes else f"w[{self.layer.stored[node]}]"
        return self.layer.parameter(node, "p")

    def of_output(self, node: Term) -> str | None:
        """Return lane c of a value for output FROM + o; None if it is computed where it is needed."""
        if "o" not in node.axes:
            return self.known(node)
        if node in self.layer.stored:
            return self.stored(node) if "i" in node.axes else f"w[{self.layer.stored[node]} + FROM + o]"
        return self.layer.parameter(node, "p", "FROM + o")

    def stored(self, node: Term) -> str:
        """Return lane c of a stored weight of the inputs, or of output FROM + o and the inputs."""
        name = self.weights.setdefault(node, f"weight{len(self.weights)}")
        return f"part({name}[o], c)" if "o" in node.axes else f"part({name}, c)"

    def reads(self) -> list[str]:
        """Return the lines that read the stored weights, of all outputs."""
        lines = []
        for node, name in self.weights.items():
            at = f"w + {self.layer.stored[node]}"
            if "o" in node.axes:
                read = f"{name}[o] = load4({at} + (FROM + o) * {self.layer.stride} + 4 * j);"
                lines += [f"float4 {name}[COUNT];", *unrolled("o", "COUNT", [read])]
            else:
                lines.append(f"const float4 {name} = load4({at} + 4 * j);")
        return lines

    def kept(self, node: Term, computed: str) -> str:
        """Return the expression of a group that is kept for the second half."""
        raise NotImplementedError

    def known(self, node: Term) -> str | None:
        """Return lane c of a value without outputs; None if it is computed where it is needed."""
        if "o" in node.axes:
            return None
        if node is INPUT:
            return "part(x, c)"
        if (found := self.leaf(node)) is not None:
            return found
        if node.axes == "bi" and (node in self.program.planes or node in self.shared or self.used[node] > 1):
            return self.group(node)
        return None

    def group(self, node: Term) -> str:
        """Return lane c of a group that is computed here."""
        if node not in self.names:
            own = Statements(
                lambda part: None if part is node else self.known(part), self.layer.sizes, self.used, self.near_log
            )
            value = own.form(node)
            text = f"each([&](int c) {{ {' '.join([*own.lines, f'return {value};'])} }})"
            self.load(node, self.kept(node, text) if node in self.program.planes else text)
        return f"part({self.names[node]}, c)"

    def load(self, node: Term, text: str) -> str:
        """Return lane c of a group that an expression gives."""
        if node not in self.names:
            self.names[node] = f"{node.op}{len(self.names)}_"
            self.lines.append(f"const float4 {self.names[node]} = {text};")
        return f"part({self.names[node]}, c)"


class _Forward(_Groups):
    """Reductions of an observation: one loop over its inputs."""

    near_log = "near_log<Inputs>(w, {0})"

    def __init__(self, program: NetworkProgram, root: Term) -> None:
        self.reductions = over_inputs(root)
        super().__init__(program, self.reductions)

    def leaf(self, node: Term) -> str | None:
        if node.op == "noise":
            return self.load(
                node, f"inputs[n].template noise<{self.program.planes[node]}>(j, {self.layer.noise(node)})"
            )
        return super().leaf(node)

    def kept(self, node: Term, computed: str) -> str:
        return f"inputs[n].template kept<{self.program.planes[node]}>(j, [&] {{ return {computed}; }})"

    def text(self) -> list[str]:
        """Return the lines of the function."""
        sizes = self.layer.sizes
        wide = [(k, node) for k, node in enumerate(self.reductions) if "o" in node.axes]
        single = [(k, node) for k, node in enumerate(self.reductions) if "o" not in node.axes]
        loop, once = Statements(self.of_output, sizes, self.used), Statements(self.known, sizes, self.used)
        for k, node in wide:
            loop.reduce(node.op, f"s{k}[n][o][c % CHAINS]", node.args[0], there=self._there(node))
        for k, node in single:
            once.reduce(node.op, f"s{k}[n][c % CHAINS]", node.args[0], there=self._there(node))
        starts = unrolled("o", "COUNT", unrolled("c", "CHAINS", [f"s{k}[n][o][c] = {STARTS[m.op]};" for k, m in wide]))
        starts += unrolled("c", "CHAINS", [f"s{k}[n][c] = {STARTS[m.op]};" for k, m in single])
        each = [
            "const float4 x = inputs[n](j);",
            *self.lines,
            *_if_first(unrolled("c", 4, once.lines)),
            *unrolled("o", "COUNT", unrolled("c", 4, loop.lines)),
        ]
        return [
            _COUNT,
            *(f"float s{k}[N][COUNT][CHAINS];" for k, _ in wide),
            *(f"float s{k}[N][CHAINS];" for k, _ in single),
            *unrolled("n", "N", starts),
            "#pragma unroll UNROLL",
            "for (int j = first; j < COLUMNS; j += STRIDE) {",
            *indented(self.reads()),
            *indented(unrolled("n", "N", each)),
            "}",
            *unrolled("o", "COUNT", [line for k, node in wide for line in _shared(node, f"s{k}", "[o]", "[FROM + o]")]),
            *_if_first([line for k, node in single for line in _shared(node, f"s{k}")]),
        ]

    def _there(self, reduction: Term) -> str:
        """Return the condition that an input is not beyond the last; empty if that changes nothing."""
        inputs = self.layer.sizes["i"]
        return "" if inputs % 4 == 0 or neutral(reduction, self.layer) else f"4 * j + c < {inputs}"


class _Backward(_Groups):
    """Gradients of the weights of a group of four inputs: one loop over the thread's observations of a tile."""

    def __init__(self, program: NetworkProgram) -> None:
        self.totals = program.first.gathered
        super().__init__(program, [node.args[0] for node in self.totals])
        self.rows: dict[Term, str] = {}
        self.factors: dict[Term, str] = {}
        self.sums: dict[Term, str] = {}

    def leaf(self, node: Term) -> str | None:
        program = self.program
        if node in self.sums:
            return f"{self.sums[node]}[c]"
        if node in program.planes:
            return self.load(node, f"load4(at + {program.planes[node]} * PLANE)")
        if node in program.rows and node.axes == "b":
            return f"row[{program.rows[node]}]"
        return super().leaf(node)

    def of_output(self, node: Term) -> str | None:
        if node.op == "others":
            return f"{self.factors.setdefault(node, f'others{len(self.factors)}')}[c]"
        if "o" in node.axes and node in self.program.rows:
            return f"{self.rows.setdefault(node, f'delta{len(self.rows)}')}[o]"
        return super().of_output(node)

    def text(self) -> list[str]:
        """Return the lines of the function."""
        layer, sizes, program = self.layer, self.layer.sizes, self.program
        wide = [(k, node) for k, node in enumerate(self.totals) if "o" in node.axes]
        single = [(k, node) for k, node in enumerate(self.totals) if "o" not in node.axes]
        nodes = gathering(layer, program.planes)
        crossed = [node for node in nodes if node.op == "sum" and node.data == "o" and "i" in node.axes]
        loop = Statements(self.of_output, sizes, self.used)
        for k, node in wide:
            loop.reduce("sum", f"sums.g{k}[o][c]", node.args[0])
        for number, node in enumerate(crossed):
            loop.reduce("sum", f"crossed{number}[c]", node.args[0])
            self.sums[node] = f"crossed{number}"
        scans = self._scans()
        early = list(self.lines)
        once = Statements(self.known, sizes, self.used)
        for k, node in single:
            once.reduce("sum", f"sums.g{k}[c]", node.args[0])
        late = self.lines[len(early) :]
        rows = [
            line
            for node, name in self.rows.items()
            for line in (f"float {name}[COUNT];", f"load(row + {program.rows[node]} + FROM, {name});")
        ]
        return [
            _COUNT,
            *self.reads(),
            "own.each([&](int b) {",
            "    const float *at = batch + b * PITCH + 4 * j, *row = deltas + b * ROW_PITCH;",
            "    const float4 x = load4(at);",
            *indented(rows),
            *indented(early),
            *(f"    float crossed{k}[4] = {{}};" for k in range(len(crossed))),
            *indented(unrolled("o", "COUNT", [*scans, *unrolled("c", 4, loop.lines)])),
            *indented(_if_first([*late, *unrolled("c", 4, once.lines)])),
            "});",
        ]

    def joined(self) -> list[str]:
        """Return the lines that join the sums of the parts of a batch."""
        lines = self._totals(lambda k, place: f"own.total(sums.g{k}, {place})")
        return [_COUNT, "Gradients total;", *lines, "return total;"]

    def collection(self) -> list[str]:
        """Return the lines that set the sums of an input to those over all parts of the batch."""
        return ["constexpr int FROM = 0, COUNT = OUT;", *self._totals(lambda _, place: f"collected(batch, i, {place})")]

    def _totals(self, value: Callable[[str, str], str]) -> list[str]:
        """Return the lines that set each sum to a value of its array and its place among the sums of an input."""
        wide, single = list[str](), list[str]()
        for k, node in enumerate(self.totals):
            if "o" in node.axes:
                wide.append(f"total.g{k}[o] = {value(f'{k}[o]', f'{len(wide)} * COUNT + o')};")
        for k, node in enumerate(self.totals):
            if "o" not in node.axes:
                single.append(f"total.g{k} = {value(str(k), f'{len(wide)} * COUNT + {len(single)}')};")
        return [*unrolled("o", "COUNT", wide), *_if_first(single)]

    def _scans(self) -> list[str]:
        """Return the lines that give each factor of a product the gradient times the product of the others."""
        lines = []
        for node, name in list(self.factors.items()):
            own = Statements(self.of_output, self.layer.sizes, self.used)
            own.set(f"{name}[c]", node.args[0])
            scaled = self.rows.setdefault(node, f"scaled{len(self.rows)}")
            zero = f"ZEROS && marked(zeros + {self.program.zeros[node]} + FROM + o, b)"
            lines += [
                f"float {name}[4];",
                *unrolled("c", 4, own.lines),
                f"divide_by_factors({name}, {scaled}[o], {zero});",
            ]
        return lines


def _if_first(lines: list[str]) -> list[str]:
    return ["if constexpr (FROM == 0) {", *indented(lines), "}"] if lines else []


def _shared(node: Term, name: str, at: str = "", place: str = "") -> list[str]:
    """Return the lines that set a sum to that of its chains and of the threads that share observations."""
    own = f"{name}[n]{at}"
    chains = f"CHAINS == 1 ? {own}[0] : {node.op}_of({own}[0], {own}[CHAINS - 1])"
    set_all = unrolled("n", "N", [f"own_{name}[n] = {chains};"])
    return [
        f"float own_{name}[N];",
        *set_all,
        f"sums[0].{name}{place} = shared_total<STRIDE, {node.op}_of>(own_{name});",
    ]


def neutral(reduction: Term, layer: LayerProgram) -> bool:
    """Return whether a term is 0 in a sum, or 1 in a product, where stored weights are 0, for any finite input."""
    found: dict[Term, Term] = {}
    for node in walk(reduction.args):
        args = [found[arg] for arg in node.args]
        zero = node.op == "mul" and ZERO in args and all(map(_finite, args))
        found[node] = ZERO if zero or (node in layer.stored and "i" in node.axes) else remade(node, *args)
    return found[reduction.args[0]] is {"sum": ZERO, "prod": ONE}.get(reduction.op)


def _finite(node: Term) -> bool:
    """Return whether a value is finite for any finite input of moderate size."""
    if node.op == "log":
        return lower_bound(node.args[0]) > 0 and _finite(node.args[0])
    return node.op in ("const", "input", "add", "sub", "mul", "neg", "abs", "sign") and all(map(_finite, node.args))


def _struct(name: str, nodes: list[Term], count: str, prefix: str, of_group: str = "") -> list[str]:
    members = [f"{prefix}{k}[{count}]" if "o" in node.axes else f"{prefix}{k}" for k, node in enumerate(nodes)]
    return [f"struct {name} {{", *(f"    float {member}{of_group};" for member in members), "};", ""]


def reduction_functions(program: NetworkProgram, root: Term, kind: str) -> list[str]:
    """Return the reductions of the first layer: their sums, and the loop.

    Args:
        program: the network.
        root: output of its first layer.
        kind: "Training" or "Judging", which begins their names.
    """
    made = _Forward(program, root)
    sums = f"{kind}Sums"
    return [
        *_struct(sums, made.reductions, "OUT", "s"),
        *function(
            f"void reduce(const float* w, const float* p, int first, const Inputs (&inputs)[N], {sums} (&sums)[1])",
            made.text(),
            template="int FROM, int STRIDE, class Inputs, int N",
        ),
    ]


def input_functions() -> list[str]:
    """Return, in place of reductions, what leaves the inputs of a small network in registers."""
    loop = unrolled("c", 4, ["sums[n].x[4 * j + c] = part(x, c);"])
    return [
        "struct TrainingSums {",
        "    float x[4 * COLUMNS];",
        "};",
        "",
        *function(
            "void reduce(const float*, const float*, int, const Inputs (&inputs)[N], TrainingSums (&sums)[N])",
            unrolled("n", "N", unrolled("j", "COLUMNS", ["const float4 x = inputs[n](j);", *loop])),
            template="int FROM, int STRIDE, class Inputs, int N",
        ),
        "using JudgingSums = TrainingSums;",
    ]


def gradient_functions(program: NetworkProgram) -> list[str]:
    """Return the gradients of the weights of the inputs, and what a product of zero needs."""
    made = _Backward(program)
    signature = (
        "void gather(const float* w, const float* p, const float* batch, const float* deltas, const u32* zeros, int j, "
        "const Part& own, PartSums& sums)"
    )
    lines = _struct("PartSums", made.totals, "OUT_TILE", "g", "[4]") + _struct(
        "Gradients", made.totals, "OUT_TILE", "g"
    )
    for node, place in program.rows.items():
        if node.op == "others":
            lines += _zero_function(program, node, place)
    return [
        *lines,
        *function(signature, made.text(), template="int FROM, bool ZEROS, class Part"),
        *function(
            "Gradients join(const Part& own, const PartSums& sums)", made.joined(), template="int FROM, class Part"
        ),
        *function("void collect(const float* batch, int i, Gradients& total)", made.collection()),
    ]


def _zero_function(program: NetworkProgram, node: Term, place: int) -> list[str]:
    """Return the function for a product that is zero: the product of its factors but for one zero."""
    layer = program.first

    def given(part: Term) -> str | None:
        if part in program.planes:
            return f"batch[{program.planes[part]} * PLANE + b * PITCH + i]"
        return layer.read(part)

    own = Statements(given, layer.sizes, uses([node.args[0]]))
    own.set("const float factor", node.args[0])
    body = ["int zeros = 0;", "float product = 1.0f;", f"for (int i = 0; i < {layer.sizes['i']}; ++i) {{"]
    body += indented([*own.lines, "if (factor == 0.0f)", "    ++zeros;", "else", "    product *= factor;"])
    body += ["}", "return zeros == 1 ? product : 0.0f;"]
    signature = f"float product_of_others{place}(const float* w, const float* p, const float* batch, int b, int o)"
    return function(signature, body, inline=False)


def product_of(node: Term) -> Term:
    """Return the product whose factors an "others" node is about."""
    return reduced("prod", node.args[0], "i")
