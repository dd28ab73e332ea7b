"""Updates of parameters from sums over the batch, and the weights that are stored for them, as C++.

In most layers each parameter changes by itself, in the thread that has its gradient. In others there are sums over
parameters on the way; there gradients are stored, and every step ends with a barrier.
"""

from collections.abc import Iterable, Sequence

from ...spec import Adam, Penalty, RMSprop
from ..trace import Untraceable
from ..trace.program import REDUCTIONS, Term, apply, is_number, walk_until
from .expressions import STARTS, Given, Statements, function, indented, literal, unrolled, uses
from .layer import Allocator, LayerProgram
from .program import NetworkProgram

AXES = ("oi", "i", "o", "")
_BARRIER = "sync();"


class Updates:
    """Updates of a network.

    Args:
        program: the network.
        optimizer: its optimizer.
        penalties: regularizers of its parameters, beside that of the schedule.
    """

    def __init__(self, program: NetworkProgram, optimizer: Adam | RMSprop, penalties: Sequence[Penalty]) -> None:
        self.program, self.optimizer, self.penalties = program, optimizer, penalties
        self.places = Allocator()
        self.places.used = program.sums
        self.staged = [layer for layer in program.layers if not self._plain(layer)]
        self.owned = self._owned()
        for layer in program.layers:
            roots = [*layer.gradients.values(), *layer.penalties.values(), *layer.stored, *(layer.unit.weights or ())]
            if any(node.op == "others" and "b" not in node.axes for node in walk_until(roots, layer.sums)):
                raise Untraceable(f"{layer.name} multiplies weights over the inputs, which the cuda engine cannot do")
        self.text = self._text()

    def _plain(self, layer: LayerProgram) -> bool:
        """Return whether each parameter changes by itself, and none waits for the norm of all gradients."""
        return layer.plain and not self.optimizer.clip_norm

    def _owned(self) -> list[Term]:
        """Return the parameters that meet inputs of the first layer, if they are the first of all; else none."""
        first = self.program.first
        if not first.wide:
            return []
        owned = [view for view in first.parameters if "i" in view.axes]
        size = sum(first.count(view.axes) for view in owned)
        ends = [first.offsets[view.data.name] + view.data.pieces * first.count(view.axes) for view in owned]
        return owned if self._plain(first) and owned and max(ends) == size else []

    @property
    def each(self) -> int:
        """Owned parameters per input and output."""
        return sum(view.axes == "oi" for view in self.owned)

    @property
    def owned_count(self) -> int:
        """Owned parameters per input."""
        return self.each * self.program.first.sizes["o"] + sum(view.axes == "i" for view in self.owned)

    @property
    def owned_parameters(self) -> int:
        """Owned parameters of all inputs."""
        return sum(self.program.first.count(view.axes) for view in self.owned)

    def _place(self, view: Term) -> str:
        """Return the register of a parameter's moments."""
        same = [other for other in self.owned if other.axes == view.axes]
        number = same.index(view)
        if view.axes == "oi":
            return f"o * {self.each} + {number}"
        return str(self.each * self.program.first.sizes["o"] + number)

    def _text(self) -> list[str]:
        lines: list[str] = []
        for layer in self.program.layers:
            lines += self._weigh(layer)
        lines += function("void prepare(const Shared& s)", self._prepared())
        lines += function("void penalize(Strength& at, u32 t, float validation)", self._penalized())
        if not self.program.small:
            lines += self._descend("oi") + self._descend("i")
        lines += function(
            "void descend_terms(const Shared& s, int tile, const Strength& at)",
            [line for layer in self.program.layers for line in self._terms(layer)],
        )
        lines += function("void finish(const Shared& s, const Strength& at)", self._finished())
        lines += self._moments()
        return lines + self._sparsity()

    def _raw(self, layer: LayerProgram, node: Term) -> str | None:
        """Return an element of a parameter, or the strength of the regularizer."""
        return "at.lambda" if node.op == "strength" else layer.parameter(node)

    def _weight(self, layer: LayerProgram, node: Term, known: Iterable[Term] = ()) -> list[str]:
        """Return what stores a weight; those that are known are read."""

        def given(part: Term) -> str | None:
            return layer.weight(part) if part in known and part is not node else self._raw(layer, part)

        return self._reduced(layer, node, given, layer.weight(node))

    def _reduced(self, layer: LayerProgram, node: Term, given: Given, target: str) -> list[str]:
        own = Statements(given, layer.sizes, uses([node]))
        if node.op not in REDUCTIONS:
            own.set(target, node)
            return own.lines
        own.reduce(node.op, "total", node.args[0])
        lines = own.lines
        for axis in node.data:
            lines = [f"for (int {axis} = 0; {axis} < {layer.sizes[axis]}; ++{axis}) {{", *indented(lines), "}"]
        return [f"float total = {STARTS[node.op]};", *lines, f"{target} = total;"]

    def _weigh(self, layer: LayerProgram) -> list[str]:
        """Return the functions that store the weights of an element, by axes."""
        lines = []
        for axes in AXES:
            own = [node for node in layer.stored if node.axes == axes]
            if own and self._plain(layer):
                body = [line for node in own for line in _scoped(self._weight(layer, node))]
                lines += function(f"void weigh{layer.number}_{axes}(const Shared& s, int o, int i)", body)
        return lines

    def _weighed(self, layer: LayerProgram, axes: str) -> list[str]:
        """Return the call that stores the weights of an element."""
        place = ", ".join(axis if axis in axes else "0" for axis in "oi")
        return [f"weigh{layer.number}_{axes}(s, {place});"] if any(n.axes == axes for n in layer.stored) else []

    def _each(self, layer: LayerProgram, axes: str, lines: list[str], *, last: bool = False) -> list[str]:
        """Return a loop over elements, which are shared by the threads, from the first thread or the last."""
        start = "THREADS - 1 - threadIdx.x" if last else "threadIdx.x"
        inputs = layer.sizes["i"]
        places = {
            "oi": f"const int o = k / {inputs}, i = k % {inputs};",
            "o": "const int o = k, i = 0;",
            "i": "const int o = 0, i = k;",
            "": "const int o = 0, i = 0;",
        }
        head = f"for (int k = {start}; k < {layer.count(axes)}; k += THREADS) {{"
        end = f"    if ({layer.count(axes)} <= THREADS) break;"  # which compilers do not see
        return [head, f"    {places[axes]}", *indented(lines), end, "}"] if lines else []

    def _prepared(self) -> list[str]:
        lines = []
        for layer in self.program.layers:
            if self._plain(layer):
                for axes in AXES:
                    lines += self._each(layer, axes, self._weighed(layer, axes))
            else:
                lines += self._staged_weights(layer)
        return lines

    def _staged_weights(self, layer: LayerProgram) -> list[str]:
        lines, known = [], list[Term]()
        for node in layer.stored:
            known.append(node)
            lines += [*self._each(layer, node.axes, self._weight(layer, node, known)), _BARRIER]
        return lines

    def _update(
        self,
        layer: LayerProgram,
        axes: str,
        totals: dict[Term, str],
        known: list[str],
        *,
        owned: bool = False,
        outputs: bool = False,
    ) -> list[str]:
        """Return the update of the parameters of an element, by sums over the batch.

        All changes of a thread are known before its first step, so that its steps, which mostly wait, go side by side.

        Args:
            layer: the layer.
            axes: axes of the element.
            totals: texts of the sums.
            known: lines that set the sums, and `done`: whether they are complete.
            owned: whether the thread has the moments in registers.
            outputs: whether to update COUNT elements, of the outputs from FROM on.
        """
        views = [view for view in layer.parameters if view.axes == axes] if self._plain(layer) else []

        def given(node: Term) -> str | None:
            return totals[node] if node in totals else self._raw(layer, node)

        def over(lines: list[str]) -> list[str]:
            return unrolled("n", "COUNT", ["const int o = FROM + n;", *lines]) if outputs and lines else lines

        roots = [layer.gradients[view] for view in views if view in layer.gradients]
        own, penalty = Statements(given, layer.sizes, uses(roots)), Statements(given, layer.sizes)
        adding, steps = list[str](), list[str]()
        for number, view in enumerate(views):
            change = f"change{'[n]' if outputs else ''}[{number}]"
            own.lines.append(f"{change} = {own.value(layer.gradients[view]) if view in layer.gradients else '0.0f'};")
            if view in layer.penalties:
                adding.append(f"{change} += {penalty.value(layer.penalties[view])};")
            home = f"owned, {layer.index(view.data)}, {self._place(view)}" if owned else layer.index(view.data)
            steps.append(f"{self._projected(layer, view, f's, {home}, {self._adjusted(layer, view, change)}')};")
        steps += self._weighed(layer, axes) if views else []
        regularize = _if("at.lambda > 0.0f", over([*penalty.lines, *adding] if adding else []))
        return [
            "bool done = tile == TILES - 1;",
            *([f"float change{'[COUNT]' if outputs else ''}[{len(views)}];"] if views else []),
            *over([*known, *_if("done", own.lines)]),
            *_if("done", [*regularize, *over(steps)]),
        ]

    def _projected(self, layer: LayerProgram, view: Term, arguments: str) -> str:
        bounds = layer.unit.bounds.get(view.data.name)
        ends = f", {literal(bounds[0])}, {literal(bounds[1])}" if bounds else ""
        rates = self.optimizer.layer_rates
        rate = f".times({literal(rates[layer.number])})" if rates else ""
        return f"step({arguments}, at.adam{rate}{ends})"

    def _adjusted(self, layer: LayerProgram, view: Term, gradient: str) -> str:
        """Return the gradient of an element with those of the penalties, its magnitude clipped."""
        w, size = f"s.parameters[{layer.index(view.data)}]", view.data.pieces * layer.count(view.axes)
        for k, penalty in enumerate(self.penalties):
            strength = f"at.penalties[{k}]" if penalty.kind == "l1" else f"at.penalties[{k}] / {literal(size)}"
            gradient = f"with_{penalty.kind}({gradient}, {w}, {strength})"
        most = self.optimizer.clip_value
        return f"clamp({gradient}, {literal(-most)}, {literal(most)})" if most else gradient

    def _penalized(self) -> list[str]:
        """Return the strengths of the penalties at a step."""
        lines = []
        for k, own in enumerate(self.penalties):
            strength = f"penalty_at(t, {own.strength!r}, {own.most!r}, {own.every}u, {own.after})"
            waits = f"(double)validation < {own.below!r} ? " if own.below else ""
            lines.append(f"at.penalties[{k}] = {waits}{strength}{' : 0.0f' if waits else ''};")
        return lines

    def _descend(self, axes: str) -> list[str]:
        """Return the update by what a thread has gathered, of the weights of outputs, or of an input alone."""
        layer = self.program.first
        totals = [(k, node) for k, node in enumerate(layer.gathered) if node.axes == axes]
        keep = "false" if self._plain(layer) else "true"
        sums = []
        for k, node in totals:
            source = f"gradient.g{k}[n]" if axes == "oi" else f"gradient.g{k}"
            place = f"{layer.sums[node]} + {layer.flat(axes)}"
            sums += [f"float g{k} = {source};", f"done = all_gathered<{keep}>(s, {place}, tile, g{k});"]
        texts = {node: f"g{k}" for k, node in totals}
        lines = self._update(layer, axes, texts, sums, owned=bool(self.owned), outputs=axes == "oi")
        arguments = "const Shared& s, Owned& owned, int i, int tile, const Gradients& gradient, const Strength& at"
        name, template = ("descend_weights", "int FROM, int COUNT") if axes == "oi" else ("descend_input", "")
        return function(f"void {name}({arguments})", lines, template=template)

    def _terms(self, layer: LayerProgram) -> list[str]:
        """Return the updates by terms of observations: few, so the last threads take them, which have least to do."""
        lines = []
        keep = "false" if self._plain(layer) else "true"
        for axes in AXES:
            if layer.wide and "i" in axes:
                continue
            totals = [(k, node) for k, node in enumerate(layer.terms) if node.axes == axes]
            sums = []
            for k, node in totals:
                place = f"{layer.sums[node] - self.program.gathered} + k"
                sums += [f"float g{k};", f"done = term_total<{keep}>(s, {place}, tile, g{k});"]
            body = self._update(layer, axes, {node: f"g{k}" for k, node in totals}, sums)
            if len(body) > 1:
                lines += self._each(layer, axes, body, last=True)
        return lines

    def _finished(self) -> list[str]:
        homes = {layer.number: dict[Term, int]() for layer in self.staged}
        lines = [line for layer in self.staged for line in self._gradients(layer, homes[layer.number])]
        factor = ""
        if most := self.optimizer.clip_norm:
            lines.append("float squares = 0.0f;")
            for layer in self.staged:
                for view, home in homes[layer.number].items():
                    g = f"s.gradients[{home} + k]"
                    lines += self._each(layer, view.axes, [f"squares += {g} * {g};"])
            lines.append(f"const float factor = norm_factor(block_sum(squares, s.scratch), {literal(most)});")
            factor = "factor * "
        for layer in self.staged:
            for view, home in homes[layer.number].items():
                step = self._projected(layer, view, f"s, {layer.index(view.data)}, {factor}s.gradients[{home} + k]")
                lines += self._each(layer, view.axes, [f"{step};"])
            lines += [_BARRIER, *self._staged_weights(layer)]
        return lines

    def _gradients(self, layer: LayerProgram, homes: dict[Term, int]) -> list[str]:
        """Return what stores the gradients of a layer's parameters, whose places are added to `homes`."""
        lines = []
        places = {node: place for node, place in layer.sums.items()}
        gradients = {}
        for view in layer.parameters:
            parts = [found[view] for found in (layer.gradients, layer.penalties) if view in found]
            gradients[view] = parts[0] if len(parts) == 1 else apply("add", *parts)

        def given(node: Term) -> str | None:
            if node in places:
                return f"s.gradients[{places[node]} + {layer.flat(node.axes)}]"
            return layer.weight(node) if node in layer.stored else self._raw(layer, node)

        known = {**places, **layer.stored}
        for node in walk_until(gradients.values(), known):
            if node.op in REDUCTIONS and node not in known and not is_number(node):
                place = self.places.take(layer.count(node.axes))
                target = f"s.gradients[{place} + {layer.flat(node.axes)}]"
                lines += [*self._each(layer, node.axes, self._reduced(layer, node, given, target)), _BARRIER]
                places[node] = place
        for view, gradient in gradients.items():
            homes[view] = self.places.take(layer.count(view.axes))
            own = Statements(given, layer.sizes, uses([gradient]))
            value = self._adjusted(layer, view, own.value(gradient))
            lines += self._each(layer, view.axes, [*own.lines, f"s.gradients[{homes[view]} + k] = {value};"])
        return [*lines, _BARRIER]

    def _moments(self) -> list[str]:
        """Return the function that moves moments between registers and memory."""
        layer = self.program.first
        weights = [f"move({layer.index(v.data)}, {self._place(v)});" for v in self.owned if v.axes == "oi"]
        inputs = [f"move({layer.index(v.data)}, {self._place(v)});" for v in self.owned if v.axes == "i"]
        loop = ["#pragma unroll", "for (int o = 0; o < OUT; ++o) {", *indented(weights), "}"] if weights else []
        return function("void each_owned(int i, Move move)", [*loop, *inputs], template="class Move")

    def _sparsity(self) -> list[str]:
        """Return the function for a thread's share of the largest sparsity error of the judged weights."""
        lines = ["float largest = 0.0f;"]
        for layer in self.program.layers:
            for node in layer.unit.weights or ():

                def given(part: Term, layer: LayerProgram = layer) -> str | None:
                    return layer.weight(part) if part in layer.stored else self._raw(layer, part)

                own = Statements(given, layer.sizes, uses([node]))
                value = own.value(node)
                own.lines.append(f"largest = larger(largest, sparsity_error({value}));")
                lines += self._each(layer, node.axes, own.lines)
        return function("float sparsity_share(const Shared& s)", [*lines, "return largest;"])


def _if(condition: str, lines: list[str]) -> list[str]:
    return [f"if ({condition}) {{", *indented(lines), "}"] if lines else []


def _scoped(lines: list[str]) -> list[str]:
    return lines if len(lines) == 1 else ["{", *indented(lines), "}"]
