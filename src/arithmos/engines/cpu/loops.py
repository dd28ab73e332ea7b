"""Loops of Numba for nodes of a program: one function for nodes with the same axes.

Values without the axis b are flat arrays, with it `[i, lanes]`, `[o, lanes]` or `[lanes]`. Values with all three axes,
and conditions, are never stored: every loop that needs one computes it again, in registers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..trace.program import AXES, COMPARISONS, Term, View, is_number, lower_bound, walk

SMALLEST = 2.0**-126
"""Smallest number whose logarithm needs no special case."""

_FORMS = {
    **{name: f"maths.{name}({{0}})" for name in ("exp", "tanh", "sigmoid", "cos", "sin", "sign", "round")},
    "neg": "-{0}",
    "abs": "abs({0})",
    "sqrt": "np.sqrt({0})",
    "floor": "np.floor({0})",
    "reciprocal": "float32(1.0) / {0}",
    "detach": "{0}",
    "copy": "{0}",
    "not": "not {0}",
    **{name: f"{{0}} {sign} {{1}}" for name, sign in COMPARISONS.items()},
    **{name: f"{{0}} {sign} {{1}}" for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))},
    "pow": "maths.power({0}, {1})",
    "min": "maths.smaller({0}, {1})",
    "max_of": "maths.larger({0}, {1})",
    "and": "{0} and {1}",
    "or": "{0} or {1}",
    "where": "{1} if {0} else {2}",
}
_STARTS = {"sum": "float32(0.0)", "prod": "float32(1.0)", "max": "float32(-inf)"}
_STEPS = {"sum": "{0} += {1}", "prod": "{0} *= {1}", "max": "{0} = maths.larger({0}, {1})"}
_PLACES = {"": "0", "o": "o", "i": "i", "oi": "o * n_i + i", "b": "b", "bo": "o, b", "bi": "i, b"}


def inlined(node: Term) -> bool:
    """Return whether a node is computed wherever it is needed, and never stored."""
    if node.leaf:
        return False
    return node.axes == AXES or node.boolean or is_number(node, ("const", "size", "strength"))


def place(array: str, axes: str) -> str:
    """Return the element of an array with these axes, in loops over o, i and b."""
    return f"{array}[{_PLACES[axes]}]"


def element(view: View, array: str) -> str:
    """Return the element of a parameter or buffer, in loops over o and i."""
    terms: list[str] = []
    stride = ""
    for axis in reversed([axis for axis in view.dims if axis]):
        long, index = f"n_{axis}", axis
        if axis == "i" and view.pieces > 1:
            long, index = f"{view.pieces} * n_i", f"({view.piece} * n_i + i)"
        terms.insert(0, stride + index)
        stride += f"{long} * "
    return f"{array}[{' + '.join(terms) or '0'}]"


def indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@dataclass
class Nest:
    """Loops over some axes, as a function.

    Args:
        name: name of the function.
        axes: axes of the loops.
        nodes: elementwise nodes with these axes that are computed here, in order.
        reductions: nodes that reduce values with these axes.
        gradients: elements to set, as text, with the node to set them to.
        added: whether gradients are added to what is there.
    """

    name: str
    axes: str
    nodes: list[Term] = field(default_factory=list)
    reductions: list[Term] = field(default_factory=list)
    gradients: list[tuple[View, str, Term]] = field(default_factory=list)
    added: bool = False

    @property
    def roots(self) -> list[Term]:
        """The nodes whose values are needed in the innermost loop."""
        return [*self.nodes, *(node.args[0] for node in self.reductions), *(node for *_, node in self.gradients)]

    def inside(self, roots: Sequence[Term]) -> list[Term]:
        """Return the nodes below the roots that are computed in the innermost loop, each after its arguments."""
        own = set(self.nodes)

        def here(node: Term) -> bool:
            return node in own or inlined(node)

        return list(filter(here, walk(roots, lambda node: node.args if here(node) else ())))

    def read(self, roots: Sequence[Term]) -> list[Term]:
        """Return the nodes that must be read for the roots to be computed; constants are none of them."""
        inside = self.inside(roots)
        wanted = dict.fromkeys([arg for node in inside for arg in node.args] + list(roots))
        return [node for node in wanted if node not in inside and node.op != "const"]


@dataclass
class NestText:
    """Text of a nest.

    Args:
        text: the function.
        arguments: names of its arguments: `n_o`, `n_i`, `strength` and arrays.
        scratch: axes of the arrays that it needs as scratch, by name.
    """

    text: str
    arguments: list[str]
    scratch: dict[str, str]


class _Writer:
    def __init__(self, nest: Nest, stored: Mapping[Term, str]) -> None:
        self.nest, self.stored = nest, stored
        self.names: dict[Term, str] = {}
        self.used: dict[str, None] = {}
        self.header: dict[str, dict[str, None]] = {"": {}, "o": {}}
        self.scratch: dict[str, str] = {}

    @property
    def flat(self) -> bool:
        """Whether one loop over all elements does: all arrays are `[o i]` or single numbers."""
        nest = self.nest
        views = [view for view, *_ in nest.gradients]
        views += [node.data for node in nest.read(nest.roots) if isinstance(node.data, View)]
        return (
            nest.axes == "oi"
            and all(reduction.data == "oi" for reduction in nest.reductions)
            and all(node.axes in ("", "oi") for node in nest.read(nest.roots))
            and all(view.natural and view.dims.count("") == len(view.dims) - 2 for view in views if any(view.dims))
        )

    def use(self, name: str) -> str:
        self.used[name] = None
        return name

    def of(self, node: Term) -> str:
        """Return a constant, or the name of a value."""
        if node.op == "const":
            return f"float32({node.data!r})"
        return self.names.setdefault(node, f"v{len(self.names)}")

    def at(self, array: str, axes: str) -> str:
        return f"{self.use(array)}[k]" if self.flat and axes == "oi" else place(self.use(array), axes)

    def loaded(self, node: Term) -> str:
        """Return the line that reads a value."""
        if node.op == "size":
            return f"{self.of(node)} = float32({self.use('n_' + node.data)})"
        if node.op == "strength":
            return f"{self.of(node)} = float32({self.use('strength')})"
        array = self.stored[node]
        view = isinstance(node.data, View) and not self.flat
        return f"{self.of(node)} = {element(node.data, self.use(array)) if view else self.at(array, node.axes)}"

    def computed(self, node: Term) -> str:
        """Return the line that computes a value."""
        form = _FORMS.get(node.op, "")
        if node.op == "log":
            form = f"maths.{self.log_of(node.args[0])}({{0}})"
        args = [self.of(arg) for arg in node.args]
        return f"{self.of(node)} = {form.format(*args)}"

    def log_of(self, node: Term) -> str:
        """Return the logarithm that suffices for a value."""
        if lower_bound(node) < SMALLEST:
            return "full_log"
        return "finite_log" if self.finite(node) else "log"

    def finite(self, node: Term) -> bool:
        """Return whether a value is known to be finite: as inputs of the network are, and so their magnitudes."""
        if node.op == "add":
            value, number = node.args
            return self.finite(value) and number.op == "const" and abs(number.data) <= 1
        return self.stored.get(node) == "x" or (node.op == "abs" and self.finite(node.args[0]))

    def passed(
        self,
        roots: Sequence[Term],
        effects: Callable[[], list[str]],
        range_: str = "range(n_i)",
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        special: Mapping[Term, list[str]] | None = None,
    ) -> list[str]:
        """Return the loops over i and b that compute roots, followed by effects."""
        axes, loads = self.nest.axes, dict[str, list[str]]({"i": [], "b": []})
        for node in self.nest.read(roots):
            depth = "b" if "b" in node.axes else "i" if "i" in node.axes else ""
            if depth:
                loads[depth].append(self.loaded(node))
            else:
                self.header[node.axes][self.loaded(node)] = None
        inner = [
            line for node in self.nest.inside(roots) for line in (special or {}).get(node) or [self.computed(node)]
        ]
        inner += effects()
        if "b" in axes:
            inner = [*before, "for b in range(LANES):", *indented(loads["b"] + inner), *after]
        if self.flat:
            return [*before, "for k in range(n_o * n_i):", *indented(loads["i"] + inner), *after]
        return [f"for i in {range_}:", *indented(loads["i"] + inner)] if "i" in axes else inner

    def text(self) -> NestText:
        nest = self.nest
        before: list[str] = []
        after: list[str] = []
        scans = [node for node in nest.inside(nest.roots) if node.op == "others"]
        body: list[str] = []
        special: dict[Term, list[str]] = {}
        for number, node in enumerate(scans):
            lines, special[node] = self._scan(number, node)
            body += lines
        range_ = "range(n_i - 1, -1, -1)" if scans else "range(n_i)"
        sums = self._accumulators(before, after)
        body += self.passed(nest.roots, lambda: self._effects(sums), range_, before, after, special)
        if "o" in nest.axes and not self.flat:
            body = ["for o in range(n_o):", *indented([*self.header["o"], *body])]
        starts = [line for node in nest.reductions for line in self._start(node)]
        sizes = {f"n_{axis}" for axis in nest.axes if axis != "b"} | ({"n_o", "n_i"} if self.flat else set())
        joined = "\n".join([*starts, *body])
        sizes |= {name for name in ("n_o", "n_i") if name in self.used or f"{name} " in joined or f"({name})" in joined}
        scalars = [name for name in ("n_o", "n_i", "strength") if name in sizes or name in self.used]
        arguments = scalars + [name for name in self.used if name not in ("n_o", "n_i", "strength")]
        lines = [f"def {nest.name}({', '.join(arguments)}):", *indented(["apart()", *starts, *self.header[""], *body])]
        return NestText("\n".join(lines) + "\n", arguments, self.scratch)

    def _start(self, node: Term) -> list[str]:
        """Return the loops that give a reduction its first value; sums over b start once per batch."""
        if "b" in node.data:
            return []
        lines = [f"{place(self.use(self.stored[node]), node.axes)} = {_STARTS[node.op]}"]
        for axis in "bio":
            if axis in node.axes:
                lines = [f"for {axis} in range({'LANES' if axis == 'b' else 'n_' + axis}):", *indented(lines)]
        return lines

    def _accumulators(self, before: list[str], after: list[str]) -> dict[Term, str]:
        """Return names of numbers that add up in the innermost loop, and fill the lines around that loop."""
        found = {}
        for number, node in enumerate(self.nest.reductions):
            if "b" in node.data or self.flat:
                found[node] = f"s{number}"
                before.append(f"s{number} = {_STARTS[node.op]}")
                after.append(_STEPS[node.op].format(place(self.use(self.stored[node]), node.axes), f"s{number}"))
        return found

    def _effects(self, sums: Mapping[Term, str]) -> list[str]:
        """Return the lines that store and reduce what was computed."""
        nest = self.nest
        lines = [f"{self.at(self.stored[n], n.axes)} = {self.of(n)}" for n in nest.nodes if n in self.stored]
        for node in nest.reductions:
            target = sums.get(node) or place(self.use(self.stored[node]), node.axes)
            lines.append(_STEPS[node.op].format(target, self.of(node.args[0])))
        for view, array, node in nest.gradients:
            target = self.at(array, "oi") if self.flat else element(view, self.use(array))
            lines.append(f"{target} {'+=' if nest.added else '='} {self.of(node)}")
        return lines

    def _scan(self, number: int, node: Term) -> tuple[list[str], list[str]]:
        """Return the loops before those over factors from the last to the first, and the lines within them.

        The former give each factor the product of those before it; the latter keep the product of those after it, and
        so no division is needed.
        """
        factor, adjoint = node.args
        lanes = "b" if "b" in self.nest.axes else ""
        before = self.use(f"{self.nest.name}_before{number}")
        rest = self.use(f"{self.nest.name}_after{number}")
        self.scratch |= {before: lanes + "i", rest: lanes}
        here, after = place(before, lanes + "i"), place(rest, lanes)

        def over_lanes(lines: list[str], count: str = "LANES") -> list[str]:
            return [f"for b in range({count}):", *indented(lines)] if lanes else lines

        read: list[str] = []
        if adjoint.op != "const":
            if "b" in adjoint.axes:
                read = [self.loaded(adjoint)]
            else:
                self.header[adjoint.axes][self.loaded(adjoint)] = None
        # The product so far has a place of its own, which LLVM keeps in registers.
        lines = over_lanes([f"{after} = float32(1.0)"])
        lines += self.passed([factor], lambda: [f"{here} = {after}", f"{after} *= {self.of(factor)}"])
        # A loop of a known length this short LLVM would unroll before it came to vectors.
        lines += over_lanes([*read, f"{after} = {self.of(adjoint)}"], f"{rest}.size")
        return lines, [f"{self.of(node)} = {here} * {after}", f"{after} *= {self.of(factor)}"]


def write_nest(nest: Nest, stored: Mapping[Term, str]) -> NestText:
    """Return the text of a nest.

    Args:
        nest: the nest.
        stored: names of the arrays of nodes and leaves that are stored.
    """
    return _Writer(nest, stored).text()
